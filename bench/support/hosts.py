"""The library on each of its MPI hosts beside the windows of the same MPI library, for bench/run --mpi-hosts."""
import pathlib
import shutil
import statistics

import windows

# (title, label of ours, labels of the MPI's own windows)
GROUPS = [("Open MPI, component", "component", ("osc/sm", "osc/rdma", "osc/ucx")),
          ("Open MPI, public host", "public", ("osc/sm", "osc/rdma", "osc/ucx")),
          ("MPICH, public host", "mpich", ("MPICH",))]

# (operation, bytes, bar): the largest ratio of our time to that of the best windows that the project allows itself.
SAME_HOST = [("put", 8, 0.7), ("get", 8, 0.7), ("fetch_add", 8, 0.6), ("compare_swap", 8, 0.6),
             *((operation, size, 1.0) for operation in ("put", "get") for size in (65536, 262144, 2 << 20))]
TWO_HOSTS = [(operation, 8, 0.9) for operation in ("put", "get", "fetch_add", "compare_swap")]
PUBLIC_OVER_COMPONENT = 1.1
REQUEST_NS = 60


def programs(options):
    """As windows.programs; bench/run leaves out the programs for MPICH where they were not built."""
    quick = ["--quick"] if options.quick else []
    runs = [("component", "bench_rma", ["mpix"] + quick, [], {"MPIX_HOST": "component"}),
            ("public", "bench_rma", ["mpix"] + quick, [], {"MPIX_HOST": "public"})]
    for osc in ("ucx",) if options.two_hosts else ("sm", "rdma", "ucx"):
        # Open MPI 4.1.4's osc/rdma crashes in compare-and-swap.
        crashes = ["--no-compare-swap"] if osc == "rdma" else []
        runs.append((f"osc/{osc}", "bench_rma", ["window"] + crashes + quick, ["osc", osc], {}))
    runs += [(label, "bench_rma_mpich", [kind] + quick, [], {}) for label, kind in (("mpich", "mpix"), ("MPICH", "window"))]
    return runs


def mpich_command(options, arguments):
    if options.two_hosts:
        two_hosts = pathlib.Path(__file__).resolve().parent.parent.parent / "scripts" / "two-hosts"
        return [str(two_hosts), "--mpich", "--", *arguments]
    mpirun = shutil.which("mpirun.mpich") or shutil.which("mpiexec.hydra") or "mpirun.mpich"
    return [mpirun, "-bind-to", "core", "-np", "2", *arguments]


def times_of(samples, operation, size, label):
    return samples.get(("rma", operation, "allocated", 1, size), {}).get(label, {})


def bars(samples, options):
    print("MPIX_RMA on each host beside the windows of its MPI, allocated memory, " +
          ("two hosts" if options.two_hosts else "same host") +
          ": microseconds of ours / of the best windows, ratio (median and range over the repetitions)")
    for title, ours, peers in GROUPS:
        if not times_of(samples, "put", 8, ours):
            continue
        print(title)
        for operation, size, bar in TWO_HOSTS if options.two_hosts else SAME_HOST:
            by = {peer: times_of(samples, operation, size, peer) for peer in peers}
            by = {peer: times for peer, times in by.items() if times}
            if by and times_of(samples, operation, size, ours):
                best = min(by, key=lambda peer: statistics.median(by[peer].values()))
                windows.ratio_line(f"{operation} {size} B", times_of(samples, operation, size, ours), best, by[best], bar)
    if not options.two_hosts:
        between_hosts(samples)


def between_hosts(samples):
    print("Public host over component, and what a request costs")
    for operation in ("put", "fetch_add"):
        component = times_of(samples, operation, 8, "component")
        if component:
            windows.ratio_line(f"{operation} 8 B, public host", times_of(samples, operation, 8, "public"), "component",
                               component, PUBLIC_OVER_COMPONENT)
    for _, ours, _ in GROUPS:
        without, with_request = (times_of(samples, operation, 8, ours) for operation in ("put", "put_request"))
        if without and with_request:
            cost = 1000 * statistics.median(with_request[i] - without[i] for i in with_request if i in without)
            print(f"  a request of an 8-byte put, {ours:<16}{cost:8.1f} ns   bar {REQUEST_NS} ns  "
                  f"{'pass' if cost <= REQUEST_NS else 'MISS'}")
