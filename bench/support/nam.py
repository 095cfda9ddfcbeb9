"""MPI windows at a memory server beside those of ordinary memory, for bench/run --nam."""
import os
import pathlib
import statistics

from compare import Suite

OURS = "mpix"
# Clients on a host other than the server's, without and with encryption of data.
NETWORK, ENCRYPTED = "network", "encrypted"
ON_TWO_HOSTS = ["on two hosts"]  # in place of MCA parameters: on two hosts even without --two-hosts
TESTS = pathlib.Path(__file__).resolve().parent.parent.parent / "tests" / "nam"

# As the bars in bench/run; the peer is the same operation on an allocated window.
OPERATION_BARS = [(f"{operation} {size} B and flush, at a memory server", ("window", operation, "nam", 1, size), "allocated", None, 1.15)
                  for operation, size in (("put", 8), ("get", 8), ("fetch_and_op", 8), ("put", 65536), ("get", 65536),
                                          ("put", 2 << 20), ("get", 2 << 20))]
BARS = [*OPERATION_BARS,
        ("allocate and free by 4 ranks", ("window", "create_free", "nam", 1, 4096), "allocated", None, 2.0)]
CONNECTION_MS = 50.0

# For bench/run --nam --compare: put, get and fetch_and_op on one host, in a grant of each kind of storage.
SUITES = [Suite("bench_windows", ("nam", "--for-comparison"), storage=storage) for storage in ("memory", "file")]
TARGETS = ["mpix-namd", "mpix-nam"]


def programs(options):
    """As windows.programs."""
    component = pathlib.Path(options.build_dir).resolve() / "lib" / "mpix-rma" / "openmpi"
    ours = {"OMPI_MCA_mca_base_component_path": f"{component}:SYSTEM_DEFAULT"}
    if options.two_hosts:  # the servers want the cores, too, on which the target's process only waits
        ours["OMPI_MCA_mpi_yield_when_idle"] = "1"
    runs = [(OURS, "bench_windows", ["nam"], ["osc", OURS], ours)]
    if not options.two_hosts:
        runs.append((OURS, "bench_windows", ["nam", "contended"], ["osc", OURS], ours))
    if os.geteuid() != 0:  # two hosts need root
        return runs
    network = dict(ours, OMPI_MCA_mpi_yield_when_idle="1")
    if not options.two_hosts:
        runs.append((NETWORK, "bench_windows", ["nam"], ON_TWO_HOSTS, network))
    runs.append((ENCRYPTED, "bench_windows", ["nam"], ON_TWO_HOSTS, dict(network, MPIX_NAMD_ENCRYPT="1", MPIX_NAM_ENCRYPT="1")))
    return runs


def binaries(build_dir):
    return str(pathlib.Path(build_dir).resolve() / "bin")


def with_server(build_dir, command, storage="memory"):
    """The command line that runs `command` beside a memory server on this host, from the same build."""
    return ["env", f"LD_LIBRARY_PATH={pathlib.Path(build_dir).resolve() / 'lib'}", f"MPIX_TEST_NAM_OPTIONS=--storage {storage}",
            str(TESTS / "with_server.sh"), binaries(build_dir), *command]


def on_two_hosts(options, arguments):
    """The program on two hosts with a server each; the server on the target's host holds the target's memory."""
    return [str(TESTS / "on_two_hosts.sh"), binaries(options.build_dir), "2", "1", *arguments]


def print_encryption(samples):
    """The price of encryption: each operation of a client on another host with and without."""
    lines = []
    for (family, operation, memory, segments, size), by in sorted(samples.items()):
        encrypted, clear = by.get(ENCRYPTED), by.get(NETWORK) or by.get(OURS)
        if (family, memory, segments) != ("window", "nam", 1) or not encrypted or not clear:
            continue
        times = [statistics.median(each.values()) for each in (encrypted, clear)]
        lines.append(f"  {f'{operation} {size} B and flush, encrypted / not':<62} {times[0]:9.2f} / {times[1]:9.2f} = {times[0] / times[1]:5.2f}")
    if lines:
        print("\nEncryption of data between two hosts (mpix-namd --encrypt), us", *lines, sep="\n")


def tell_connection(samples):
    times = samples.get(("window", "connect", "nam", 1, 4096), {}).get(OURS)
    if times:
        median = statistics.median(times.values()) / 1000
        print(f"  connection of 4 ranks to a persistent window, and its end: {median:.2f} ms   bar {CONNECTION_MS:.0f} ms  "
              f"{'pass' if median <= CONNECTION_MS else 'MISS'}")
