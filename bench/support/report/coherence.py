"""A model of cores that contend for cache lines: recorded accesses are replayed on any number of cores.

A core has a line to itself or has to ask for it. A request reaches the owner after half of the time of a transfer; the owner
then gives the line away, but keeps it for `hold` at least; after the other half of the time the line arrives. Requests
are served in the order in which they were made. A core asks for the first line of later operations while it still executes
earlier ones. A core that finds a lock held takes the lock's line away from the holder, if `disturbs`. Lines that an
operation only loads are in all caches, and cost nothing."""
import collections
import dataclasses
import functools
import heapq
import math
import random


@dataclasses.dataclass(frozen=True)
class Access:
    kind: str  # load, store, atomic, or end: the instructions behind the last access
    line: int
    instructions: int  # since the access before


@dataclasses.dataclass(frozen=True)
class Costs:
    """In nanoseconds, as measured on the machine."""
    transfer: float  # of a line from one core to another
    hold: float  # the time for which an owner keeps a line at least
    ahead: float = 0  # the time by which a core looks ahead of what it executes
    sockets: int = 1  # over which the cores are spread evenly
    far: float = 1  # factor for a transfer between sockets
    disturbs: bool = True  # whether a core that waits for a lock takes the lock's line away from the holder

    def between(self, one, other):
        return self.transfer * (self.far if one % self.sockets != other % self.sockets else 1)


@dataclasses.dataclass(frozen=True)
class Operation:
    """What one core does again and again. `places`: the number of places of which each operation draws one. `locks`: its first
    atomic access acquires a lock, and its last access to that line releases the lock."""
    accesses: tuple
    alone: float  # nanoseconds of one operation that nobody disturbs
    places: int = 1
    locks: bool = False


def instructions(accesses):
    return sum(access.instructions for access in accesses)


class Line:
    def __init__(self):
        self.owned = {}  # core: [from, until] of its newest possession
        self.newest = None  # the possession that no request has ended yet
        self.owner = None  # the core that has it

    def has(self, core, now):
        begin, end = self.owned.get(core, (math.inf, 0))
        return begin <= now < end

    def ask(self, core, now, costs):
        """Returns when the line arrives."""
        begin, end = self.owned.get(core, (0, 0))
        if now < begin < end:  # asked for already
            return begin
        arrival = now
        if self.newest is not None:
            transfer = costs.between(self.owner, core)
            leaves = max(now + transfer / 2, self.newest[0] + costs.hold)
            self.newest[1] = leaves
            arrival = leaves + transfer / 2
        self.owner = core
        self.newest = self.owned[core] = [arrival, math.inf]
        return arrival


class Lock:
    def __init__(self):
        self.holder = None
        self.waiting = collections.deque()


def steps_of(operation):
    """(nanoseconds before it, access) of the accesses to lines that the operation writes, and the time after the last one."""
    written = {access.line for access in operation.accesses if access.kind in ("store", "atomic")}
    total = instructions(operation.accesses) or 1
    steps, since, spent = [], 0, 0
    for access in operation.accesses:
        since += access.instructions
        if access.line in written:
            steps.append((operation.alone * since / total, access))
            spent += since
            since = 0
    return steps, operation.alone * (1 - spent / total)


class Replay:
    """`cores` cores that repeat an operation."""

    def __init__(self, operation, cores, costs, seed=1):
        self.operation, self.costs = operation, costs
        self.steps, self.rest = steps_of(operation)
        self.lines = collections.defaultdict(Line)
        self.locks = collections.defaultdict(Lock)
        self.random = random.Random(seed)
        ahead = int(costs.ahead / operation.alone)
        self.places = [collections.deque(self.draw() for _ in range(1 + ahead)) for _ in range(cores)]
        self.transfers = 0
        lock_line = next((access.line for _, access in self.steps if access.kind == "atomic"), None)
        numbers = [number for number, (_, access) in enumerate(self.steps) if access.line == lock_line]
        self.acquires, self.releases = (numbers[0], numbers[-1]) if operation.locks and numbers else (None, None)

    def draw(self):
        return self.random.randrange(self.operation.places)

    def spent(self, nanoseconds):
        """Varies a time a little, because cores in step with each other would meet in the same way each time."""
        return nanoseconds * self.random.uniform(0.75, 1.25)

    def access(self, core, number, now, place):
        """Returns when the access is done."""
        line = self.lines[place, self.steps[number][1].line]
        if line.has(core, now):
            return now
        before = line.newest
        arrival = line.ask(core, now, self.costs)
        self.transfers += before is not None and before is not line.newest
        return arrival

    def begin(self, core, now):
        """Begins an operation of the core, which then looks ahead to one more later operation."""
        places = self.places[core]
        places.popleft()
        places.append(self.draw())
        if len(places) > 1:
            self.access(core, 0, now, places[-1])

    def run(self, operations):
        """Returns the nanoseconds and the transfers per operation of the whole job."""
        queue = [(self.steps[0][0] * self.random.random(), core, 0) for core in range(len(self.places))]
        heapq.heapify(queue)
        done, now = 0, 0.0
        while done < operations:
            now, core, number = heapq.heappop(queue)
            place = self.places[core][0]
            lock = self.locks[place]
            if number == self.acquires and lock.holder not in (None, core):
                if self.costs.disturbs:
                    self.access(core, number, now, place)
                lock.waiting.append(core)
                continue
            if number == self.acquires:
                lock.holder = core
            finished = self.access(core, number, now, place)
            if number == self.releases:
                lock.holder = lock.waiting.popleft() if lock.waiting else None
                if lock.holder is not None:
                    heapq.heappush(queue, (finished, lock.holder, self.acquires))
            following = number + 1
            if following == len(self.steps):
                done += 1
                finished, following = finished + self.spent(self.rest), 0
                self.begin(core, finished)
            heapq.heappush(queue, (finished + self.spent(self.steps[following][0]), core, following))
        return now / operations, self.transfers / operations


@functools.lru_cache(maxsize=None)
def contended(operation, cores, costs, each=500):
    """Nanoseconds and transfers per operation of the whole job. Each core executes at least `each` operations on average."""
    return Replay(operation, cores, costs).run(max(6000, each * cores))


def calibrated(transfer, alone, hot, spread, places):
    """Costs at which two cores with the bare atomic instruction, which takes `alone` by itself, take the measured times: `hot`
    on one place, `spread` on `places` places."""
    bare = Operation((Access("atomic", 0, 1),), alone)
    low, high = 0.0, 64 * transfer
    for _ in range(30):
        hold = (low + high) / 2
        too_short = contended(bare, 2, Costs(transfer, hold))[0] > hot
        low, high = (hold, high) if too_short else (low, hold)
    many = dataclasses.replace(bare, places=places)
    candidates = [Costs(transfer, hold, operations * alone) for operations in range(12)]
    return min(candidates, key=lambda costs: abs(contended(many, 2, costs)[0] - spread))


def fence_time(private, both, ranks):
    """A dissemination barrier. `both`: its time on two cores, of which it spends `private` without the other one; the rest is a
    round, in which a line that the other core has read is written, and a line is read that another core has written."""
    return private + math.ceil(math.log2(ranks)) * (both - private)
