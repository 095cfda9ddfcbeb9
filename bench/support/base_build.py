"""Builds another revision of the library for bench/run --compare, in a directory of its own."""
import io
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
# Settings that decide how fast the code is, taken from the build that is compared.
CACHED = re.compile(r"^((?:CMAKE_BUILD_TYPE|CMAKE_(?:C|CXX)_(?:COMPILER(?:_LAUNCHER)?|FLAGS(?:_[A-Z]+)?)):\w+=.*)$", re.MULTILINE)


def build_revision(revision, this_build, programs):
    """The directory of the build of `revision`, with the benchmark programs of this tree where they can be built there.
    Brings `this_build` up to date, too."""
    commit = git("rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}").decode().strip()
    # Laid out like a checkout and its build, whose results ccache may have.
    source = ROOT / "build" / "compare" / commit[:12]
    build = source / "build" / "release"
    print(f"  building {commit[:12]} in {source}", file=sys.stderr)
    run(["cmake", "--build", this_build, "--target", *programs, "mca_osc_mpix"], this_build)
    unpack(commit, source)
    shutil.rmtree(source / "bench", ignore_errors=True)
    shutil.copytree(ROOT / "bench", source / "bench")
    settings = CACHED.findall((this_build / "CMakeCache.txt").read_text())
    configure = ["cmake", "-S", source, "-B", build, "-G", "Ninja", "-DMPIX_BUILD_TESTS=OFF", "-DMPIX_BUILD_EXAMPLES=OFF",
                 *(f"-D{setting}" for setting in settings)]
    targets = ["cmake", "--build", build, "--target", *programs, "mca_osc_mpix"]
    try:
        run(configure, build)
        run(targets, build)
    except subprocess.CalledProcessError:
        # The interface has changed since: that revision's own programs may measure fewer lines, which are compared.
        print(f"  the benchmarks of this tree cannot be built at {commit[:12]}: its own are compared", file=sys.stderr)
        shutil.rmtree(source / "bench")
        unpack(commit, source, benchmarks=True)
        run(configure, build)
        run(targets, build)
    return build


def git(*arguments):
    done = subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True)
    if done.returncode != 0:
        sys.exit(f"bench/run: {arguments[-1]} is neither a directory with a build nor a revision of this repository"
                 f" {done.stderr.decode().strip()}".rstrip())
    return done.stdout


def unpack(commit, source, benchmarks=False):
    """Unpacks all but the benchmarks, or these alone. Writes only files that differ, so that objects stay valid."""
    with tarfile.open(fileobj=io.BytesIO(git("archive", commit))) as archive:
        for member in archive.getmembers():
            if (member.name.split("/")[0] == "bench") != benchmarks:
                continue
            path = source / member.name
            if member.isdir():
                path.mkdir(parents=True, exist_ok=True)
            elif member.isfile():
                content = archive.extractfile(member).read()
                path.parent.mkdir(parents=True, exist_ok=True)
                if not path.exists() or path.read_bytes() != content:
                    path.write_bytes(content)
                path.chmod(member.mode | 0o600)


def run(command, build):
    build.mkdir(parents=True, exist_ok=True)
    log = build / "compare.log"
    with open(log, "ab") as out:
        done = subprocess.run([str(argument) for argument in command], stdout=out, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        print(f"  {' '.join(str(argument) for argument in command[:3])} failed: {log}", file=sys.stderr)
        raise subprocess.CalledProcessError(done.returncode, command)
