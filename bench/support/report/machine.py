"""The machine, and the versions of what was measured."""
import hashlib
import json
import os
import pathlib
import platform
import re
import subprocess

from .launch import ROOT
from .model import Run

DESCRIBE = ("import json, sys; sys.path.insert(0, sys.argv[1]); from report import machine; "
            "print(json.dumps(machine.describe(sys.argv[2])))")
START_SECONDS = 120  # a batch system may take its time


def first_line(command):
    """The first line that a command prints; empty if the command fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    lines = (done.stdout or done.stderr).strip().splitlines()
    return lines[0].strip() if done.returncode == 0 and lines else ""


def value_of(pattern, path):
    try:
        found = re.search(pattern, pathlib.Path(path).read_text(errors="replace"), re.MULTILINE)
    except OSError:
        return ""
    return found.group(1).strip() if found else ""


def commit():
    """The commit of the checkout, with "+" where tracked files differ from it."""
    found = first_line(["git", "-C", str(ROOT), "rev-parse", "HEAD"])
    changed = first_line(["git", "-C", str(ROOT), "status", "--porcelain", "--untracked-files=no"])
    return f"{found}{'+' if changed else ''}" if found else "unknown"


def digest(text):
    """Stands for a path or a host name, which a published report does not tell."""
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def changes():
    """A digest of the differences of tracked files from the commit, without documents; empty if there are none."""
    command = ["git", "-C", str(ROOT), "diff", "HEAD", "--binary", "--no-ext-diff", "--no-textconv", "--", ".", ":!docs", ":!*.md"]
    try:
        done = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL)
    except OSError:
        return ""
    return hashlib.sha256(done.stdout).hexdigest()[:12] if done.stdout else ""


def build(build_dir):
    """A digest of the place of a build, with its compiler and options."""
    cache = pathlib.Path(build_dir) / "CMakeCache.txt"
    lines = cache.read_text(errors="replace").splitlines() if cache.exists() else []
    options = [line for line in lines if re.match(r"(CMAKE_(BUILD_TYPE|CXX_COMPILER|C_COMPILER|C(XX)?_FLAGS\w*)|MPIX_\w+):", line)]
    return digest("\n".join([os.path.realpath(build_dir), *options]))


def packages():
    """{Debian package: version} of the installed ones among MPI, UCX, libc, gcc, the libraries of NWChem and those that
    scripts/packages*.txt name."""
    names = {line.strip() for path in sorted((ROOT / "scripts").glob("packages*.txt"))
             for line in path.read_text().splitlines() if line.strip() and not line.startswith("#")}
    names |= {"libopenmpi3", "libucx0", "libc6", "gcc", "g++", "libglobalarrays-dev", "libopenblas0-pthread"}
    try:
        done = subprocess.run(["dpkg-query", "-W", "-f", "${Package} ${Version} ${db:Status-Status}\n", *sorted(names)],
                              capture_output=True, text=True)
    except OSError:
        return {}
    rows = (line.split() for line in done.stdout.splitlines())
    return {row[0]: row[1] for row in rows if len(row) == 3 and row[2] == "installed"}


def caches():
    found = []
    for index in sorted(pathlib.Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        read = {name: (index / name).read_text().strip() for name in ("level", "type", "size", "shared_cpu_list")
                if (index / name).exists()}
        if len(read) == 4:
            found.append(f"L{read['level']} {read['type'].lower()} {read['size']} (processors {read['shared_cpu_list']})")
    return ", ".join(found)


def describe(build_dir):
    """{property: text} in the order of the page. Properties that the system does not report are absent."""
    cache = pathlib.Path(build_dir) / "CMakeCache.txt"
    compiler = value_of(r"^CMAKE_CXX_COMPILER:\w+=(.*)$", cache)
    build_type = value_of(r"^CMAKE_BUILD_TYPE:\w+=(.*)$", cache)
    flags = value_of(rf"^CMAKE_CXX_FLAGS_{build_type.upper()}:\w+=(.*)$", cache) if build_type else ""
    memory = value_of(r"^MemTotal:\s*(\d+) kB", "/proc/meminfo")
    usable, cores = len(os.sched_getaffinity(0)), os.cpu_count()
    virtual = "hypervisor" in value_of(r"^flags\s*:(.*)$", "/proc/cpuinfo").split()
    found = {
        "Processor": value_of(r"^model name\s*:(.*)$", "/proc/cpuinfo") or platform.machine(),
        "Usable cores": f"{usable}" if usable == cores else f"{usable} of {cores}",
        "Caches": caches(),
        "Memory": f"{int(memory) / 2**20:.1f} GiB" if memory else "",
        "Virtual machine": "yes" if virtual else "none seen",
        "System": value_of(r'^PRETTY_NAME="?([^"\n]*)', "/etc/os-release"),
        "Kernel": platform.release(),
        "Compiler": first_line([compiler, "--version"]) if compiler else "",
        "Build": f"{build_type} {flags}".strip(),
        "MPI": first_line(["mpirun.openmpi", "--version"]) or first_line(["mpirun", "--version"]),
        "UCX": first_line(["ucx_info", "-v"]).lstrip("# ") or first_line(["pkg-config", "--modversion", "ucx"]),
        "Python": platform.python_version(),
    }
    return {name: text for name, text in found.items() if text}


def describe_hosts(build_dir, launcher):
    """describe() of the hosts where the launcher starts programs, in which case "Described" says whose properties these are."""
    if not launcher.launched:
        return describe(build_dir)
    command = [*launcher.from_template(Run("machine", "", hosts=2)), "python3", "-c", DESCRIBE, str(ROOT / "bench" / "support"),
               str(pathlib.Path(build_dir).resolve())]
    found, reason = [], ""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=START_SECONDS, stdin=subprocess.DEVNULL)
        found = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        reason = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[0]
    except (OSError, subprocess.TimeoutExpired, ValueError) as error:
        reason = str(error)
    if not found:
        return {"Described": f"the host of bench/report: the launcher started nothing ({reason})", **describe(build_dir)}
    names = dict.fromkeys(name for host in found for name in host)
    return {"Described": "a host of the launcher's" if len(found) == 1 else f"{len(found)} hosts of the launcher's",
            **{name: "; ".join(dict.fromkeys(host.get(name, "unknown") for host in found)) for name in names}}
