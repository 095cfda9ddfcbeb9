"""Runs of programs, their results, and the blocks of the page."""
import dataclasses
import typing


@dataclasses.dataclass(frozen=True)
class Run:
    """One program with its arguments. `name` is unique in the section and says which side of a comparison it is."""
    name: str
    program: str
    arguments: tuple = ()
    environment: tuple = ()  # pairs of name and value
    hosts: int = 1
    ranks: int = 2  # 0: started without an MPI launcher
    rounds: typing.Optional[int] = None  # fewer where repetition shows nothing
    parse: str = "lines"  # how the output is read: see parse.py
    mpi: str = "openmpi"  # or "mpich", whose mpirun starts it
    packages: str = ""  # Debian's, without which there is no such program; the report names the run as skipped
    in_checkout: bool = False  # a script of bench/ and not a program of the build
    in_peers: bool = False  # a program that scripts/peers has built
    bound: bool = True  # to cores, where there are enough
    limit: int = 180  # seconds after which a run that does not end counts as failed
    part: str = ""  # of a program whose lines are measured in several groups, each short enough for a comparison in turn

    def key(self):
        return f"{self.name} [{self.part}]" if self.part else self.name


class Line(typing.NamedTuple):
    """The name of a measured value of a run."""
    family: str
    operation: str
    memory: str = "allocated"
    segments: int = 1
    size: int = 8

    def shape(self):
        return f"{self.size}" if self.segments == 1 else f"{self.segments} x {self.size}"


class Sample(typing.NamedTuple):
    began: float  # seconds since 1970, the start of the run
    value: float


def failure_text(record):
    if record["error"].startswith("skipped: "):
        return record["error"]
    return f"exit status {record['status']}: {record['error']}".rstrip(": ")


class Results:
    """The samples of one section."""

    def __init__(self, records, launched=False):
        self.launched = launched  # whether --launcher chose the hosts
        self.failures = {}  # run: text of its last failure
        self.commands = {}  # run, or run with its part: the command that was started
        self._samples = {}  # (run, Line): {round: Sample}
        for record in records:
            if record["status"] != 0:
                self.failures[record["run"]] = failure_text(record)
                continue
            if self.failures.get(record["run"], "").startswith("skipped: "):
                del self.failures[record["run"]]  # the program has been built since
            for name in (record["run"], record.get("key")):
                self.commands[name] = record.get("command", "")
            for *line, value in record["rows"]:
                self._samples.setdefault((record["run"], Line(*line)), {})[record["round"]] = Sample(record["began"], value)
        self.runs = list(dict.fromkeys(run for run, _ in self._samples))

    def samples(self, run, line):
        """{round: Sample}; empty where nothing was measured."""
        return self._samples.get((run, line), {})

    def values(self, run, line):
        return [sample.value for sample in self.samples(run, line).values()]

    def lines(self, run):
        return [line for other, line in self._samples if other == run]

    def all(self):
        """((run, Line), {round: Sample}) of everything."""
        return self._samples.items()


@dataclasses.dataclass(frozen=True)
class Cell:
    text: str
    order: typing.Optional[float] = None  # what the column sorts by, if not by the text
    style: str = ""
    detail: str = ""  # in small print under the text


@dataclasses.dataclass
class Block:
    """A plot or a table. `command` repeats it, `limits` says what it cannot tell."""
    title: str
    command: str = ""
    limits: str = ""
    text: str = ""
    svg: str = ""
    columns: tuple = ()
    rows: tuple = ()
