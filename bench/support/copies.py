"""Copies from buffers as programs have them: each method forced, the measured choice, memcpy and osc/sm, for
bench/run --copies."""
import statistics

import windows

FORCED = ("library", "vector", "string")
PEER = "osc/sm"
PLAIN = "memcpy"
OVER_BEST_FORCED = 1.05
OVER_PEER = 1.0


def programs(options):
    """As windows.programs; a line of results names the method that was measured."""
    return [(windows.OURS, "bench_copies", ["methods"], ["osc", "mpix"], windows.environment_of_ours(options)),
            (PEER, "bench_copies", [], ["osc", "sm"], {"BENCH_LABEL": PEER})]


def ratios(ours, theirs):
    return [ours[repetition] / theirs[repetition] for repetition in ours if repetition in theirs]


def cell(found):
    return f"{statistics.median(found):5.2f} ({min(found):.2f}..{max(found):.2f})" if found else "-"


def bars(samples):
    print("Copies through a window with flush: microseconds of the measured choice, and its ratios (median and range over the\n"
          f"repetitions) to the best forced method (bar {OVER_BEST_FORCED}), to {PEER} (bar {OVER_PEER}), and to plain memcpy\n"
          f"{'operation':<10}{'buffer':<12}{'size':>9}{'us':>11}  {'over the best forced':<30}{'over ' + PEER:<22}{'over memcpy':<22}")
    missed = {"the best forced method": 0, PEER: 0}
    lines = 0
    for key, by in sorted(samples.items()):
        if key[0] != "copies" or not by.get(windows.OURS):
            continue
        ours = by[windows.OURS]
        forced = [method for method in FORCED if by.get(method)]
        best = min(forced, key=lambda method: statistics.median(by[method].values()), default=None)
        to_best, to_peer, to_plain = (ratios(ours, by.get(label, {})) for label in (best, PEER, PLAIN))
        lines += 1
        missed["the best forced method"] += bool(to_best) and statistics.median(to_best) > OVER_BEST_FORCED
        missed[PEER] += bool(to_peer) and statistics.median(to_peer) > OVER_PEER
        print(f"{key[1]:<10}{key[2]:<12}{key[4]:>9}{statistics.median(ours.values()):11.2f}  "
              f"{str(best) + ' ' + cell(to_best):<30}{cell(to_peer):<22}{cell(to_plain):<22}".rstrip())
    for label, count in missed.items():
        print(f"above the bar against {label}: {count} of {lines} lines")
