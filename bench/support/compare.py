"""Two builds of the library side by side, for bench/run --compare: the same programs of both, in turn."""
import csv
import dataclasses
import math
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

from base_build import build_revision

LIMIT = 1.03  # a line is slower when the whole interval of its ratio lies above
CONFIDENCE = 0.95
FEWEST_PAIRS = 6  # with fewer the median of the ratios has no interval of this confidence
MOST_PAIRS = 15
SKIPPED = 77  # exit status of scripts/two-hosts on a machine that permits no network namespaces
LIBRARIES = re.compile(r"calling init: (\S*/(?:libmpix_\w+|libarmci|mca_osc_mpix)\.so\S*)")


@dataclasses.dataclass(frozen=True)
class Suite:
    """One program with its arguments."""
    program: str
    arguments: tuple = ()
    two_hosts: bool = False
    storage: str = ""  # of a memory server that serves the windows; empty: no server

    def memory_in_lines(self, memory):
        """The name of the memory in the lines of the suite, from the name that the program prints; None for lines that
        need no server in a suite that has one."""
        if not self.storage:
            return memory
        return f"nam {self.storage}" if memory == "nam" else None

    def pattern(self, key):
        """A regular expression for BENCH_ONLY that matches this line alone. No name contains a special character."""
        return f"{key[1]} {key[2]} {'nam' if self.storage else key[3]} {shape(key)}"


SUITES = [Suite("bench_instructions"),
          Suite("bench_rma", ("mpix", "--for-comparison")),
          Suite("bench_armci_mpix", ("--for-comparison",)),
          Suite("bench_windows", ("--for-comparison",)),
          Suite("bench_rma", ("mpix", "--for-comparison"), two_hosts=True),
          Suite("bench_windows", ("--for-comparison", "--only-allocated"), two_hosts=True),
          Suite("bench_streams", ("mpix",), two_hosts=True),
          Suite("bench_armci_streams_mpix", two_hosts=True)]


class Build:
    def __init__(self, directory):
        self.directory = pathlib.Path(directory).resolve()
        self.library_directory = self.directory / "lib"

    def has(self, suite):
        return (self.directory / "bench" / suite.program).exists()

    def start(self, command, suite, *variables):
        """Starts through env, which sets the variables on the other host too. LD_LIBRARY_PATH precedes the run path
        of the programs, which may lead to another directory."""
        component = self.library_directory / "mpix-rma" / "openmpi"
        setting = ["env", f"LD_LIBRARY_PATH={self.library_directory}",
                   f"OMPI_MCA_mca_base_component_path={component}:SYSTEM_DEFAULT:USER_DEFAULT", *variables]
        program = str(self.directory / "bench" / suite.program)
        return subprocess.run(command(self.directory, suite, [*setting, program, *suite.arguments]), stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=300, env=environment())

    def check_libraries(self, command, suite):
        """Ends the comparison unless every library and the component come from this build."""
        # Into a file for each process: lines of several processes on one stream run into each other.
        with tempfile.TemporaryDirectory() as log_directory:
            done = self.start(command, suite, "LD_DEBUG=files", f"LD_DEBUG_OUTPUT={log_directory}/of",
                              "BENCH_ONLY=none of the lines")
            if done.returncode == SKIPPED and suite.two_hosts:
                return
            files = "".join(path.read_text(errors="replace") for path in pathlib.Path(log_directory).iterdir())
        loaded = {os.path.realpath(path) for path in LIBRARIES.findall(files)}
        foreign = [path for path in loaded if not path.startswith(f"{self.library_directory}/")]
        if foreign or not any("mca_osc_mpix" in path for path in loaded):
            sys.exit(f"bench/run: {suite.program} of {self.directory} loads {', '.join(foreign) or 'no component'}")

    def measure(self, command, suite, only):
        """{line: microseconds, or instructions} of one run; None where the machine cannot run it."""
        done = self.start(command, suite, *([f"BENCH_ONLY={only}"] if only else []))
        if done.returncode == SKIPPED and suite.two_hosts:
            return None
        if done.returncode != 0:
            sys.exit(f"bench/run: {suite.program} of {self.directory} failed with {done.returncode}: "
                     f"{done.stderr.strip()[-300:]}")
        values = {}
        for row in csv.reader(done.stdout.splitlines()):
            if len(row) == 7 and row[2] != "memcpy":
                family, _, operation, memory, segments, size, value = row
                memory = suite.memory_in_lines(memory)
                if memory is not None:
                    key = (2 if suite.two_hosts else 1, family, operation, memory, int(segments), int(size))
                    values.setdefault(key, []).append(float(value))
        return {key: statistics.median(found) for key, found in values.items()}


def environment():
    return dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OPENBLAS_NUM_THREADS="1")


def interval(ratios):
    """The interval of the median: the innermost pair of order statistics that holds the true median with CONFIDENCE,
    whatever the distribution; with fewer than FEWEST_PAIRS ratios, their range."""
    count = len(ratios)
    outside, inner = 2 / 2 ** count, 0  # the probability that the median lies outside, and the places left out at each end
    while inner + 1 < (count + 1) // 2:
        outside += 2 * math.comb(count, inner + 1) / 2 ** count
        if outside > 1 - CONFIDENCE:
            break
        inner += 1
    ordered = sorted(ratios)
    return ordered[inner], ordered[count - 1 - inner]


def verdict(least, most, pairs):
    if pairs < FEWEST_PAIRS:
        return "undecided"
    return "slower" if least > LIMIT else "faster" if most < 1 / LIMIT else ""


def is_count(key):
    return key[1] == "instructions"


def shape(key):
    return f"{key[5]}" if key[4] == 1 else f"{key[4]} x {key[5]}"


class Comparison:
    def __init__(self, builds, command, suites):
        self.builds = builds
        self.command = command
        self.suites = list(suites)
        self.pairs = {}  # line: [(this, base)]
        self.lines_of = {}  # suite: its lines
        self.turn = 0

    def run_pair(self, suite, turn, only):
        """Measures both builds, each first every other time, so that a drift of the machine's speed affects both."""
        measured = {}
        for build in self.builds if turn % 2 == 0 else self.builds[::-1]:
            measured[build] = build.measure(self.command, suite, only)
        this, base = (measured[build] for build in self.builds)
        if this is None or base is None:
            print(f"  {suite.program}, two hosts: not measured, the machine permits no network namespaces", file=sys.stderr)
            return False
        for key in this:
            if key in base:
                self.pairs.setdefault(key, []).append((this[key], base[key]))
                self.lines_of.setdefault(suite, set()).add(key)
        return bool(this)

    def run(self, pairs, deadline, only, patterns=None):
        """`pairs` of runs, or fewer when another would end after `deadline`. Suites without a line are left out from then
        on."""
        longest = 0
        while self.turn < pairs:
            began = time.monotonic()
            if self.turn > 0 and began + longest > deadline:
                print(f"  no time for more than {self.turn} pairs", file=sys.stderr)
                return
            for suite in list(self.suites):
                if not self.run_pair(suite, self.turn, patterns[suite] if patterns else only):
                    self.suites.remove(suite)
            self.turn += 1
            longest = max(longest, time.monotonic() - began)
            print(f"  pair {self.turn} done", file=sys.stderr)

    def suspects(self):
        return {key for key, pairs in self.pairs.items() if not is_count(key) and row(key, pairs)["verdict"] == "slower"}

    def repeat_slower(self, pairs, deadline):
        """Measures the lines that seem slower once more, alone: of many lines a few seem slower by chance. The new
        interval decides if there was time for FEWEST_PAIRS."""
        suspects = self.suspects()
        if not suspects:
            return
        print(f"  {len(suspects)} lines seem slower and are measured again", file=sys.stderr)
        suites = [suite for suite in self.suites if self.lines_of.get(suite, set()) & suspects]
        patterns = {suite: "^(" + "|".join(suite.pattern(key) for key in sorted(self.lines_of[suite] & suspects)) + ")$"
                    for suite in suites}
        again = Comparison(self.builds, self.command, suites)
        again.run(pairs, deadline, None, patterns)
        for key in suspects & again.pairs.keys():
            if len(again.pairs[key]) >= FEWEST_PAIRS:
                self.pairs[key] = again.pairs[key]


def row(key, pairs):
    if is_count(key):
        # Disturbances of a run only add instructions, so the smallest count is taken.
        this, base = min(this for this, _ in pairs), min(base for _, base in pairs)
        ratio = least = most = this / base if base else math.inf
        decision = verdict(least, most, FEWEST_PAIRS)
    else:
        ratios = [this / base for this, base in pairs]
        this, base = (statistics.median(values) for values in zip(*pairs))
        ratio = statistics.median(ratios)
        least, most = interval(ratios)
        decision = verdict(least, most, len(pairs))
    return {"hosts": key[0], "family": key[1], "operation": key[2], "memory": key[3],
            "size": shape(key), "this": this, "base": base, "ratio": ratio, "least": least, "most": most,
            "pairs": len(pairs), "verdict": decision}


def compare(options, command, all_suites=None, targets=()):
    """Compares `all_suites`, by default SUITES; `targets` are built besides their programs. `command(build directory, suite,
    arguments)` is the whole command line of a program. Returns the exit status: 1 when a line is slower, 2 when there was no
    time to find out."""
    all_suites = all_suites or SUITES
    base = pathlib.Path(options.compare)
    if not (base / "bench").is_dir():
        base = build_revision(options.compare, pathlib.Path(options.build_dir),
                              [*sorted({suite.program for suite in all_suites}), *targets])
    began = time.monotonic()
    builds = [Build(options.build_dir), Build(base)]
    suites = [suite for suite in all_suites if suite.two_hosts or not options.two_hosts]
    for suite in list(suites):
        missing = [str(build.directory) for build in builds if not build.has(suite)]
        if missing:
            print(f"  {suite.program}: not in {' and '.join(missing)}/bench, not compared", file=sys.stderr)
            suites.remove(suite)
    for build in builds:
        for suite in {suite.program: suite for suite in reversed(suites)}.values():  # each program once
            build.check_libraries(command, suite)
    comparison = Comparison(builds, command, suites)
    seconds = 60 * options.minutes
    measuring = time.monotonic()
    comparison.run(1, math.inf, options.only)
    each = max(time.monotonic() - measuring, 1e-3)
    pairs = options.repeat or min(MOST_PAIRS, max(FEWEST_PAIRS, FEWEST_PAIRS if options.quick else int(0.7 * seconds / each)))
    deadline = math.inf if options.repeat else began + seconds
    comparison.run(pairs, deadline, options.only)
    comparison.repeat_slower(pairs, deadline)
    rows = [row(key, found) for key, found in comparison.pairs.items()]
    report(rows, builds, time.monotonic() - began)
    write_csv(rows, options.csv)
    verdicts = {found["verdict"] for found in rows}
    return 1 if "slower" in verdicts else 2 if "undecided" in verdicts else 0


def named(hosts):
    return "two hosts" if hosts == 2 else "one host"


def report(rows, builds, seconds):
    if not rows:
        sys.exit("bench/run: no line to compare; --only takes a regular expression for \"family operation memory size\"")
    print(f"this: {builds[0].directory}\nbase: {builds[1].directory}\n"
          f"Median of the ratios this / base of pairs of runs, and its interval ({100 * CONFIDENCE:.0f} %). Slower: all of the\n"
          f"interval above {LIMIT}, seen twice.")
    counts = [found for found in rows if found["family"] == "instructions"]
    if counts:
        print(f"\ninstructions of one small call\n{'interface':<11}{'operation':<19}{'this':>7}{'base':>7}{'more':>7}{'ratio':>8}")
    for found in counts:
        print(f"{found['memory']:<11}{found['operation']:<19}{found['this']:7.0f}{found['base']:7.0f}"
              f"{found['this'] - found['base']:+7.0f}{found['ratio']:8.3f}  {found['verdict']}")
    for hosts in (1, 2):
        times = [found for found in rows if found["hosts"] == hosts and found["family"] != "instructions"]
        if times:
            print(f"\n{named(hosts)}, microseconds\n{'family':<14}{'operation':<17}{'memory':<11}{'size':>12}"
                  f"{'this':>12}{'base':>12}{'ratio':>8}  interval        pairs")
        for found in times:
            print(f"{found['family']:<14}{found['operation']:<17}{found['memory']:<11}{found['size']:>12}{found['this']:12.4f}"
                  f"{found['base']:12.4f}{found['ratio']:8.3f}  {found['least']:.3f}..{found['most']:.3f}{found['pairs']:7}"
                  f"  {found['verdict']}".rstrip())
    slower = [found for found in rows if found["verdict"] == "slower"]
    print(f"\n{len(rows)} lines in {seconds / 60:.1f} minutes, {len(slower)} slower" +
          "".join(f"\n  {named(found['hosts'])}: {found['family']} {found['operation']} "
                  f"{found['memory']} {found['size']} {found['ratio']:.3f} ({found['least']:.3f}..{found['most']:.3f})"
                  for found in slower))


def write_csv(rows, path):
    if not path or not rows:
        return
    with open(path, "w", newline="") as out:
        writer = csv.DictWriter(out, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
