"""MPI windows on ours and on Open MPI's own components, for bench/run --windows."""
import pathlib
import statistics

OURS = "mpix"
PEERS_ONE_HOST = ("sm", "rdma", "ucx", "pt2pt")
PEERS_TWO_HOSTS = ("rdma", "ucx", "pt2pt")
KINDS = ("allocated", "created", "dynamic")

# (operation, segments, bytes of a segment, bar on allocated memory). A bar is the largest ratio of our time to that of the
# best component that the project allows itself; on the other kinds of memory it is 1.
SAME_HOST = [("put", 1, 8, 0.7), ("get", 1, 8, 0.7), ("put", 1, 65536, 1.0), ("get", 1, 65536, 1.0),
             ("fetch_and_op", 1, 8, 0.5), ("compare_swap", 1, 8, 0.5), ("accumulate", 1, 8, 0.8),
             ("accumulate_long", 1, 8192, 1.0), ("accumulate", 1, 262144, 0.5),
             ("accumulate_computed", 1, 262144, 1.0), ("get_accumulate", 1, 8192, 0.8),
             ("put", 1024, 16, 0.5), ("get", 1024, 16, 0.3), ("lock_unlock", 1, 8, 0.7)]
LOOP_BAR = 1.2  # of the strided put over a loop of memcpy within one process
SAME_HOST_ONCE = [("contended_lock", "allocated", 4, 8, 0.7), ("post_start", "allocated", 1, 8, 0.8),
                  ("fence", "allocated", 1, 8, 1.0), ("create_free", "allocated", 1, 4096, 1.0),
                  ("create_free", "created", 1, 4096, 1.0)]
TWO_HOSTS = [("put", 1, 8, 0.9), ("get", 1, 8, 0.9), ("accumulate", 1, 8, 0.9), ("fetch_and_op", 1, 8, 0.9),
             ("compare_swap", 1, 8, 0.9), ("put", 1, 2 << 20, 0.95), ("get", 1, 2 << 20, 0.95), ("put", 1024, 16, 0.2),
             ("get", 1024, 16, 0.2), ("lock_put_unlock", 1, 8, 0.7)]
AGAINST_MESSAGE = [(operation, 1, 8, 1.25) for operation in ("put", "get", "accumulate", "fetch_and_op", "compare_swap")]
COMPUTING_US = 1000  # an accumulate to a target that computes for a second


def environment_of_ours(options):
    component = pathlib.Path(options.build_dir).resolve() / "lib" / "mpix-rma" / "openmpi"
    return {"OMPI_MCA_mca_base_component_path": f"{component}:SYSTEM_DEFAULT"}


def programs(options):
    """(label, program, arguments, mca, environment): each component in turn, so that a change of the machine's speed
    affects all of them."""
    quick = ["--quick"] if options.quick else []
    ours = environment_of_ours(options)
    runs = [("am", "bench_am", [], [], {})] if options.two_hosts else []
    for peer in (OURS, *(PEERS_TWO_HOSTS if options.two_hosts else PEERS_ONE_HOST)):
        label = OURS if peer == OURS else f"osc/{peer}"
        # Open MPI 4.1.4's osc/rdma crashes in compare-and-swap.
        crashes = ["--no-compare-swap"] if peer == "rdma" else []
        skip = ["--only-allocated"] if peer == "sm" else []  # osc/sm supports no other windows
        for contended in ([], ["contended"]):
            arguments = [*contended, *quick, *crashes, *skip]
            runs.append((label, "bench_windows", arguments, ["osc", peer], ours if peer == OURS else {}))
    return runs


def cases(options):
    """(key, bar) of every line."""
    lines = TWO_HOSTS if options.two_hosts else SAME_HOST
    found = [(("window", operation, kind, segments, size), bar if kind == "allocated" else max(bar, 1.0))
             for kind in KINDS for operation, segments, size, bar in lines]
    if not options.two_hosts:
        found += [(("window", operation, kind, segments, size), bar)
                  for operation, kind, segments, size, bar in SAME_HOST_ONCE]
    return found


def ratio_line(name, ours, peer_name, peer, bar):
    ratios = [ours[repetition] / peer[repetition] for repetition in ours if repetition in peer]
    ratio = statistics.median(ratios)
    print(f"  {name:<44}{statistics.median(ours.values()):11.3f} / {statistics.median(peer.values()):11.3f} {peer_name:<10}"
          f"= {ratio:6.2f} ({min(ratios):.2f}..{max(ratios):.2f})   bar {bar:4.2f}  {'pass' if ratio <= bar else 'MISS'}")


def bars(samples, options):
    print("MPI windows, " + ("two hosts" if options.two_hosts else "same host") +
          ": microseconds of ours / of the best component, ratio (median and range over the repetitions)")
    for key, bar in cases(options):
        by = samples.get(key, {})
        _, operation, kind, segments, size = key
        name = f"{operation} {size if segments == 1 else f'{segments} x {size}'} B, {kind}"
        peers = {label: statistics.median(times.values()) for label, times in by.items() if label != OURS}
        if OURS not in by or not peers:
            print(f"  {name:<44} not measured")
            continue
        best = min(peers, key=peers.get)
        ratio_line(name, by[OURS], best, by[best], bar)
    put, loop = (samples.get(("window", operation, "allocated", 1024, 16), {}).get(OURS) for operation in ("put", "put_loop"))
    if put and loop and not options.two_hosts:
        ratio_line("put 1024 x 16 B, allocated, against a loop", put, "memcpy", loop, LOOP_BAR)
    message = samples.get(("am", "round_trip", "none", 1, 8), {}).get("am")
    for operation, segments, size, bar in AGAINST_MESSAGE if message else ():
        ours = samples.get(("window", operation, "allocated", segments, size), {}).get(OURS)
        if ours:
            ratio_line(f"{operation} {size} B against a bare active message", ours, "am", message, bar)
    for kind in KINDS:
        times = samples.get(("window", "accumulate_computing", kind, 1, 128), {}).get(OURS)
        if times:
            median = statistics.median(times.values())
            print(f"  accumulate to a target that computes, {kind}: {median:.0f} us   {'pass' if median < COMPUTING_US else 'MISS'}")
