"""Kernels of applications and Global Arrays on ours, on MPI's windows and on the runtimes of Global Arrays, for
bench/run --applications."""
import pathlib
import statistics

import windows

OURS = "mpix"
WINDOWS = "windows on mpix"
RANKS = 2  # that compute
KERNELS = ("stencil", "transpose", "wavefront")
# scripts/peers builds them. MPI-PR keeps a process of each host for progress.
PEERS = pathlib.Path(__file__).resolve().parents[2] / "build" / "peers"
COMEX = (("ComEx MPI-PR", "mpi-pr", 1), ("ComEx MPI-PT", "mpi-pt", 0), ("ComEx MPI-TS", "mpi-ts", 0))
# Runtimes without binding to cores: a thread or a process for progress would have to share one with a rank.
UNBOUND = ("mpi-pr", "mpi-pt")
TUNED = {"ARMCI_RMA_ATOMICITY": "0", "ARMCI_STRIDED_METHOD": "DIRECT"}
# (operation, segments, bytes of a segment) of bench_armci
ARMCI = (("put", 1, 8), ("get", 1, 8), ("acc", 1, 8), ("put", 1, 262144), ("get", 1, 262144), ("acc", 1, 262144),
         ("puts", 1024, 16), ("accs", 1024, 16), ("rmw", 1, 8), ("lock_unlock", 1, 8), ("put_fence", 1, 8))


def comex_program(runtime, name):
    """The program's path below the directory that scripts/peers fills."""
    return f"ga-{runtime}/{name}"


def comex_programs(options, name, arguments):
    paths = {label: pathlib.Path(options.peers) / comex_program(runtime, name) for label, runtime, _ in COMEX}
    return [(label, str(path), arguments, [], {}) for label, path in paths.items() if path.exists()]


def spare_ranks(name):
    """Processes of each host that a program needs besides those that compute."""
    return next((spare for _, runtime, spare in COMEX if f"ga-{runtime}/" in name), 0)


def is_unbound(name):
    return any(f"ga-{runtime}/" in name for runtime in UNBOUND)


def programs(options):
    stock = windows.PEERS_TWO_HOSTS if options.two_hosts else windows.PEERS_ONE_HOST
    runs = [(OURS, "bench_kernels", ["mpix"], [], {}),
            (WINDOWS, "bench_kernels", ["window"], ["osc", OURS], windows.environment_of_ours(options))]
    # In the wavefront a process waits by MPI_Fetch_and_op on its own counter, which never ends on osc/ucx.
    runs += [(f"osc/{osc}", "bench_kernels", ["window"], ["osc", osc],
              {"BENCH_ONLY": "stencil|transpose"} if osc == "ucx" else {}) for osc in stock]
    tuned = ["osc", "ucx"] if options.two_hosts else ["osc", "sm,rdma"]
    for ours, peer, comex, arguments in (("bench_ga_mpix", "bench_ga_armci_mpi", "bench_ga", []),
                                         ("bench_armci_mpix", "bench_armci_mpi", "bench_armci", ["--quick"])):
        runs += [(OURS, ours, arguments, [], {}), ("ARMCI-MPI tuned", peer, arguments, tuned, TUNED)]
        runs += comex_programs(options, comex, arguments)
    return runs


def lines():
    """(name, key) of every line."""
    found = [(kernel, ("kernels", kernel, "allocated", RANKS, 0)) for kernel in KERNELS]
    found.append(("Global Arrays: tasks, get, multiply, accumulate", ("ga", "application", "allocated", RANKS, 0)))
    return found + [(f"ARMCI {operation} {size if segments == 1 else f'{segments} x {size}'} B",
                     ("armci", operation, "allocated", segments, size)) for operation, segments, size in ARMCI]


def bars(samples, options):
    """Every line beside each peer. The bar is 1 for every peer but the windows on this library's component."""
    print("Applications, " + ("two hosts" if options.two_hosts else "same host") +
          ": microseconds of ours, and for each peer its time and the ratio ours / peer (range over the repetitions)")
    if not comex_programs(options, "bench_ga", []):
        print(f"  (no ComEx in {options.peers}: scripts/peers builds it)")
    for name, key in lines():
        by = samples.get(key, {})
        ours = by.get(OURS)
        if not ours:
            print(f"  {name:<50} not measured")
            continue
        print(f"  {name:<50}{statistics.median(ours.values()):12.3f}")
        for peer, times in by.items():
            ratios = [ours[repetition] / times[repetition] for repetition in ours if repetition in times]
            if peer == OURS or not ratios:
                continue
            ratio = statistics.median(ratios)
            print(f"      {peer:<46}{statistics.median(times.values()):12.3f}   {ratio:6.2f} ({min(ratios):.2f}..{max(ratios):.2f})"
                  f"   {'pass' if ratio <= 1.0 or peer == WINDOWS else 'MISS'}")
