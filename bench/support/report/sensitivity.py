"""Predictions of the contention model under other assumptions, and the conclusions that no longer hold then."""
import dataclasses

from . import coherence

EACH = 150  # operations of a core in a replay
FEW, SOME, MANY = 16, 64, 128  # cores
COUNTERS = 64
FAR = 3  # a transfer to another socket


@dataclasses.dataclass(frozen=True)
class Setting:
    """The operations and the costs. `counter` is one counter, `counters` are many, `lock` is an update under one lock;
    `private` and `both`: of a fence on two cores, see coherence.fence_time."""
    costs: coherence.Costs
    counter: coherence.Operation
    counters: coherence.Operation
    lock: coherence.Operation
    private: float
    both: float

    def with_costs(self, **changed):
        return dataclasses.replace(self, costs=dataclasses.replace(self.costs, **changed))

    def with_transfers(self, factor):
        """Changes the rounds of a fence too, because they are transfers."""
        rounds = (self.both - self.private) * factor
        return dataclasses.replace(self.with_costs(transfer=self.costs.transfer * factor), both=self.private + rounds)

    def with_instructions(self, factor):
        slower = {name: dataclasses.replace(found, alone=found.alone * factor)
                  for name in ("counter", "counters", "lock") for found in (getattr(self, name),)}
        rounds = self.both - self.private
        return dataclasses.replace(self, private=self.private * factor, both=self.private * factor + rounds, **slower)

    def on_sockets(self):
        """In each round of a fence some core writes a line of another socket, and the others wait for it."""
        rounds = (self.both - self.private) * FAR
        return dataclasses.replace(self.with_costs(sockets=2, far=FAR), both=self.private + rounds)


VARIATIONS = {
    "as measured on two cores": lambda setting: setting,
    "a transfer takes half": lambda setting: setting.with_transfers(0.5),
    "a transfer takes double": lambda setting: setting.with_transfers(2),
    "an owner keeps a line half as long": lambda setting: setting.with_costs(hold=setting.costs.hold / 2),
    "an owner keeps a line twice as long": lambda setting: setting.with_costs(hold=setting.costs.hold * 2),
    "a core does not look ahead": lambda setting: setting.with_costs(ahead=0),
    "a core looks twice as far ahead": lambda setting: setting.with_costs(ahead=setting.costs.ahead * 2),
    "instructions take half": lambda setting: setting.with_instructions(0.5),
    "instructions take double": lambda setting: setting.with_instructions(2),
    f"two sockets, {FAR} times as far": lambda setting: setting.on_sockets(),
    "waiting cores leave the line of a lock alone": lambda setting: setting.with_costs(disturbs=False),
}
CONCLUSIONS = {
    "A": (f"an addition to a hot counter takes no longer on {MANY} than on {FEW} cores, within 10 %",
          lambda found: found["counter growth"] <= 1.1),
    "B": (f"on {SOME} cores {COUNTERS} counters are at least twice as fast as one", lambda found: found["gain"] >= 2),
    "C": ("an update under a hot lock takes at least three times as long as one of a hot counter",
          lambda found: found["lock over counter"] >= 3),
    "D": (f"an update under a hot lock takes no longer on {MANY} than on {FEW} cores, within 10 %",
          lambda found: found["lock growth"] <= 1.1),
    "E": (f"MPI_Win_fence takes at most twice as long on {MANY} cores as on {FEW}",
          lambda found: found["fence growth"] <= 2),
}


def figures(setting):
    """{name: number}; times in nanoseconds for each operation of the whole job."""
    def time(operation, cores):
        return coherence.contended(operation, cores, setting.costs, EACH)[0]

    counter, lock = ({cores: time(operation, cores) for cores in (FEW, SOME, MANY)}
                     for operation in (setting.counter, setting.lock))
    fence = {cores: coherence.fence_time(setting.private, setting.both, cores) for cores in (FEW, SOME, MANY)}
    return {"two cores": coherence.contended(setting.counter, 2, setting.costs)[0],
            "counter": counter[SOME], "counter growth": counter[MANY] / counter[FEW],
            "gain": counter[SOME] / time(setting.counters, SOME), "lock": lock[SOME],
            "lock over counter": lock[SOME] / counter[SOME], "lock growth": lock[MANY] / lock[FEW],
            "fence": fence[SOME], "fence growth": fence[MANY] / fence[FEW]}


def broken(found):
    """The letters of the conclusions that do not hold."""
    return [letter for letter, (_, holds) in CONCLUSIONS.items() if not holds(found)]
