"""Runs the sections' programs: round after round, sections and runs in random order, compared runs in turn."""
import os
import random
import time

from . import launch, parse, stats

FIRST_GUESS = 5.0  # seconds of a run before any was timed
MOST_FAILURES = 2  # after which a run is left out


class Runner:
    def __init__(self, store, launcher, seed, tell=print):
        self.store = store
        self.launcher = launcher
        self.seed = seed
        self.tell = tell
        self.total = 0  # rounds
        self.seconds = {}  # (section, run): duration of the last time
        self.failures = {}

    def run(self, planned, rounds, deadline):
        """`planned` is {section name: groups of runs}. Returns whether all rounds were run before `deadline`
        (time.monotonic)."""
        done = {name: self.store.done(name) for name in planned}
        self.total = rounds
        wanted = planned
        for number in range(rounds):
            if number == 1 and self.seconds:  # the first round has shown how long a round takes here
                planned = self.affordable(planned, number, done, deadline)
            order = random.Random(f"{self.seed} {number}")
            groups = [(name, group) for name, groups in planned.items() for group in groups]
            order.shuffle(groups)
            for name, group in groups:
                runs = [run for run in group if self.is_due(name, run, number, done[name])]
                order.shuffle(runs)
                if runs and time.monotonic() + sum(self.guess(name, run) for run in runs) > deadline:
                    self.tell(f"no time for all of round {number + 1} of {rounds}")
                    return False
                for run in runs:
                    left = int(self.time_left(planned, number, done, deadline))
                    self.tell(f"round {number + 1} of {rounds}, {left // 60}:{left % 60:02} left: {name}: {run.key()}")
                    self.run_once(name, run, number, done[name])
        return len(planned) == len(wanted)

    def affordable(self, planned, number, done, deadline):
        """`planned` without its most expensive sections, as long as there is no time for as many rounds of all as decide
        anything."""
        costs = {name: self.seconds_of(name, planned[name], range(number, min(self.total, stats.FEWEST)), done[name])
                 for name in planned}
        kept = dict(planned)
        while len(kept) > 1 and sum(costs[name] for name in kept) > deadline - time.monotonic():
            minutes = sum(costs[name] for name in kept) / 60
            dropped = max(kept, key=costs.get)
            del kept[dropped]
            self.tell(f"{dropped}: left out from here on: {stats.FEWEST} rounds, below which nothing is decided, would take "
                      f"{minutes:.0f} minutes more; --only {dropped} measures it alone")
        return kept

    def skip(self, name, run):
        """Records that the run cannot be started, and why."""
        error = f"skipped: {self.launcher.lacks(run)}"
        self.store.append(name, {"run": run.name, "key": run.key(), "round": 0, "began": time.time(), "seconds": 0, "load": 0,
                                 "command": "", "seed": 0, "status": launch.SKIPPED, "error": error, "rows": []})
        self.tell(f"  {run.name}: {error}")

    def is_due(self, name, run, number, done):
        if self.failures.get((name, run.key()), 0) >= MOST_FAILURES or (run.rounds is not None and number >= run.rounds):
            return False
        return (run.key(), number) not in done

    def guess(self, name, run):
        known = self.seconds.get((name, run.key()))
        return known if known is not None else FIRST_GUESS

    def seconds_of(self, name, groups, rounds, done):
        """Expected time of a section's runs in these rounds. A run that has failed is expected to fail again."""
        expected = 0.0
        for run in (run for group in groups for run in group):
            due = sum(self.is_due(name, run, number, done) for number in rounds)
            failed = self.failures.get((name, run.key()), 0)
            expected += self.guess(name, run) * (min(due, MOST_FAILURES - failed) if failed else due)
        return expected

    def time_left(self, planned, number, done, deadline):
        left = sum(self.seconds_of(name, groups, range(number, self.total), done[name]) for name, groups in planned.items())
        return max(0.0, min(left, deadline - time.monotonic()))

    def run_once(self, name, run, number, done):
        began, started = time.time(), time.monotonic()
        seed = random.Random(f"{self.seed} {number} {name} {run.key()}").randrange(2**31)
        status, output, error = self.launcher.start(run, seed, run.limit)
        rows = parse.PARSERS[run.parse](output) if status == 0 else []
        if status == 0 and not rows:
            status, error = 1, "the program printed no result"
        took = time.monotonic() - started
        self.seconds[(name, run.key())] = took
        self.store.append(name, {"run": run.name, "key": run.key(), "round": number, "began": began, "seconds": round(took, 3),
                                 "load": os.getloadavg()[0], "nice": os.nice(0), "command": self.launcher.shown(run), "seed": seed,
                                 "status": status, "error": error if status else "", "rows": rows})
        if status == 0:
            done.add((run.key(), number))
            return
        # A machine without network namespaces will not have any the next time.
        count = MOST_FAILURES if status == launch.SKIPPED else self.failures.get((name, run.key()), 0) + 1
        self.failures[(name, run.key())] = count
        reason = error.removeprefix("skipped: ")
        self.tell(f"  {run.name}: {'skipped' if status == launch.SKIPPED else f'failed with {status}'}: {reason}")
