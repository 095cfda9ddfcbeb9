"""MPI windows at a memory server beside those of ordinary memory, for bench/run --nam."""
import pathlib
import statistics

OURS = "mpix"
TESTS = pathlib.Path(__file__).resolve().parent.parent.parent / "tests" / "nam"

# As in bench/run; the time of ordinary windows is the peer's.
OPERATION_BARS = [(f"{operation} {size} B and flush, at a memory server", ("window", operation, "nam", 1, size), "allocated", None, 1.15)
                  for operation, size in (("put", 8), ("get", 8), ("fetch_and_op", 8), ("put", 65536), ("get", 65536),
                                          ("put", 2 << 20), ("get", 2 << 20))]
BARS = [*OPERATION_BARS,
        ("allocate and free by 4 ranks", ("window", "create_free", "nam", 1, 4096), "allocated", None, 2.0)]
CONNECTION_MS = 50.0


def programs(options):
    """As windows.programs."""
    component = pathlib.Path(options.build_dir).resolve() / "lib" / "mpix-rma" / "openmpi"
    ours = {"OMPI_MCA_mca_base_component_path": f"{component}:SYSTEM_DEFAULT"}
    if options.two_hosts:  # the servers want the cores, too, on which the target's process only waits
        ours["OMPI_MCA_mpi_yield_when_idle"] = "1"
    runs = [(OURS, "bench_windows", ["nam"], ["osc", OURS], ours)]
    if not options.two_hosts:
        runs.append((OURS, "bench_windows", ["nam", "contended"], ["osc", OURS], ours))
    return runs


def binaries(options):
    return str(pathlib.Path(options.build_dir).resolve() / "bin")


def with_server(options, command):
    """The command line beside a server of this host."""
    return [str(TESTS / "with_server.sh"), binaries(options), *command]


def on_two_hosts(options, arguments):
    """The program on two hosts with a server each: that of the target's has what the target's process would have."""
    return [str(TESTS / "on_two_hosts.sh"), binaries(options), "2", "1", *arguments]


def tell_connection(samples):
    times = samples.get(("window", "connect", "nam", 1, 4096), {}).get(OURS)
    if times:
        median = statistics.median(times.values()) / 1000
        print(f"  connection of 4 ranks to a persistent window, and its end: {median:.2f} ms   bar {CONNECTION_MS:.0f} ms  "
              f"{'pass' if median <= CONNECTION_MS else 'MISS'}")
