"""Random accesses to large tables of a neighbour: the first pass over its pages, and later ones, for bench/run --gups."""
import pathlib
import re

import windows

PEERS = ("osc/sm", "osc/rdma")
FIRST_PASS = 0.2  # of the best peer's time, where there are no huge pages
FIRST_PASS_HUGE = 0.06
LATER_PASSES = 0.8
SHMEM_HUGE = pathlib.Path("/sys/kernel/mm/transparent_hugepage/shmem_enabled")


def tables(options):
    """Sizes in MiB; the largest is half of the memory that is available."""
    if options.quick:
        return [64]
    available = int(re.search(r"MemAvailable: +(\d+)", pathlib.Path("/proc/meminfo").read_text()).group(1)) // 1024
    return [64, 1024, available // 2]


def programs(options):
    """As windows.programs."""
    runs = []
    ours = windows.environment_of_ours(options)
    for mebibytes in map(str, tables(options)):
        for operation in ("update", "get"):
            arguments = [operation, mebibytes]
            runs.append((windows.OURS, "bench_gups", ["window", *arguments], ["osc", "mpix"], ours))
            runs += [(peer, "bench_gups", ["window", *arguments], ["osc", peer.removeprefix("osc/")], {}) for peer in PEERS]
            runs.append(("MPIX_RMA", "bench_gups", ["mpix", *arguments], [], {}))
            runs.append(("ARMCI", "bench_gups_armci_mpix", arguments, [], {}))
            runs.append(("ARMCI-MPI", "bench_gups_armci_mpi", arguments, ["osc", "sm"], {"ARMCI_RMA_ATOMICITY": "0"}))
    return runs


def has_huge_pages():
    return SHMEM_HUGE.exists() and re.search(r"\[(always|within_size|advise|force)\]", SHMEM_HUGE.read_text()) is not None


def bars(samples):
    first = FIRST_PASS_HUGE if has_huge_pages() else FIRST_PASS
    print(f"Random accesses to a table of another process: microseconds of ours / of the peer, ratio (median and range over the\n"
          f"repetitions); huge pages of shared memory: {'permitted' if has_huge_pages() else 'none'}")
    for key, by in sorted(samples.items(), key=lambda item: (item[0][4], item[0][1])):
        _, operation, _, _, size = key
        if operation.endswith(("faults", "KiB")):
            continue
        bar = first if operation.endswith("first") else LATER_PASSES
        peers = {peer: by[peer] for peer in PEERS if by.get(peer)}
        best = min(peers, key=lambda peer: min(peers[peer].values()), default=None)
        for label, peer in ((windows.OURS, best), ("MPIX_RMA", best), ("ARMCI", "ARMCI-MPI")):
            if by.get(label) and by.get(peer):
                windows.ratio_line(f"{operation}, {size >> 20} MiB, {'windows' if label == windows.OURS else label}", by[label],
                                   peer, by[peer], bar)
    print("Page faults of the first pass, and page tables in KiB")
    for key, by in sorted(samples.items(), key=lambda item: (item[0][4], item[0][1])):
        if key[1].endswith(("faults", "KiB")):
            print(f"  {key[1]}, {key[4] >> 20} MiB: " +
                  ", ".join(f"{label} {min(values.values()):.0f}" for label, values in by.items()))
