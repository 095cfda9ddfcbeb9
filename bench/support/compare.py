"""Two builds of the library side by side, for bench/run --compare: the same programs of both, in turn."""
import csv
import os
import pathlib
import re
import statistics
import subprocess
import sys

# (family, operation, memory, segments, bytes of a segment) of the lines that are shown unless all are asked for.
LINES = [("rma", operation, "allocated", 1, 8) for operation in ("put", "get", "fetch_add", "compare_swap")]
LINES += [("armci", operation, "allocated", 1, 8) for operation in ("put", "get", "acc")]
LINES += [("armci", operation, "allocated", 1024, 16) for operation in ("puts", "gets", "accs")]
LINES_TWO_HOSTS = [("rma", operation, "heap", 1, 8) for operation in ("put", "get", "accumulate", "fetch_add", "compare_swap")]

PROGRAMS = [("bench_rma", ["mpix", "--quick"]), ("bench_armci_mpix", ["--quick"])]
LIBRARIES = re.compile(r"calling init: (\S*/(?:libmpix_\w+|libarmci|mca_osc_mpix)\.so\S*)")


class Build:
    def __init__(self, directory):
        self.directory = pathlib.Path(directory).resolve()
        self.library_directory = self.directory / "lib"
        missing = [name for name, _ in PROGRAMS if not (self.directory / "bench" / name).exists()]
        if missing:
            sys.exit(f"bench/run: {self.directory}/bench has no {', '.join(missing)}: build it first")

    def start(self, command, name, arguments, *variables):
        """Through env, which sets the variables on the other host too. The programs' own run path may lead to the
        directory where they were linked first: LD_LIBRARY_PATH comes before it."""
        component = self.library_directory / "mpix-rma" / "openmpi"
        setting = ["env", f"LD_LIBRARY_PATH={self.library_directory}",
                   f"OMPI_MCA_mca_base_component_path={component}:SYSTEM_DEFAULT:USER_DEFAULT", *variables]
        program = str(self.directory / "bench" / name)
        return subprocess.run(command(name, [*setting, program, *arguments]), stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=300, env=environment())

    def check_libraries(self, command):
        """Ends the comparison unless every library and the component come from this build."""
        for name, arguments in PROGRAMS:
            done = self.start(command, name, arguments, "LD_DEBUG=files")
            loaded = {os.path.realpath(path) for path in LIBRARIES.findall(done.stderr)}
            foreign = [path for path in loaded if not path.startswith(f"{self.library_directory}/")]
            if foreign or not any("mca_osc_mpix" in path for path in loaded):
                sys.exit(f"bench/run: {name} of {self.directory} loads {', '.join(foreign) or 'no component'}")

    def measure(self, command):
        """{key: median of one run}"""
        times = {}
        for name, arguments in PROGRAMS:
            done = self.start(command, name, arguments)
            if done.returncode != 0:
                sys.exit(f"bench/run: {name} of {self.directory} failed with {done.returncode}: {done.stderr.strip()[-300:]}")
            for row in csv.reader(done.stdout.splitlines()):
                if len(row) == 7 and row[2] != "memcpy":
                    family, _, operation, memory, segments, size, time = row
                    times.setdefault((family, operation, memory, int(segments), int(size)), []).append(float(time))
        return {key: statistics.median(values) for key, values in times.items()}


def environment():
    return dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OPENBLAS_NUM_THREADS="1")


def compare(options, command):
    """`command(name, arguments)` is the whole command line of a program."""
    builds = [Build(options.build_dir), Build(options.compare)]
    for build in builds:
        build.check_libraries(command)
    pairs = {}
    for repetition in range(options.repeat or (3 if options.quick else 9)):
        # Each comes first in turn, so that a drift of the machine's pace meets both.
        order = builds if repetition % 2 == 0 else builds[::-1]
        measured = {build: build.measure(command) for build in order}
        this, base = (measured[build] for build in builds)
        for key in this:
            if key in base:
                pairs.setdefault(key, []).append((this[key], base[key]))
        print(f"  repetition {repetition + 1} done", file=sys.stderr)
    lines = LINES_TWO_HOSTS if options.two_hosts else LINES
    report({key: pairs[key] for key in (pairs if options.all else lines) if key in pairs}, builds, options)


def report(pairs, builds, options):
    rows = []
    for key, times in pairs.items():
        ratios = [this / base for this, base in times]
        rows.append([*key, statistics.median(this for this, _ in times), statistics.median(base for _, base in times),
                     statistics.median(ratios), min(ratios), max(ratios)])
    print(f"this: {builds[0].directory}\nbase: {builds[1].directory}\n"
          "microseconds, medians over the repetitions; median and range of the ratios this / base of one repetition each")
    print(f"{'family':<8}{'operation':<18}{'memory':<11}{'size':>12}{'this':>11}{'base':>11}{'ratio':>8}  range")
    for family, operation, memory, segments, size, this, base, ratio, least, most in rows:
        shape = f"{size}" if segments == 1 else f"{segments} x {size}"
        print(f"{family:<8}{operation:<18}{memory:<11}{shape:>12}{this:11.4f}{base:11.4f}{ratio:8.3f}  {least:.3f}..{most:.3f}")
    if options.csv:
        with open(options.csv, "w", newline="") as out:
            writer = csv.writer(out)
            writer.writerow(["family", "operation", "memory", "segments", "segment_bytes", "this_us", "base_us", "ratio",
                             "least_ratio", "most_ratio"])
            writer.writerows(rows)
