"""Medians, their intervals, and ratios of samples that were taken within the same minute."""
import random
import statistics
import typing

import compare

CONFIDENCE = compare.CONFIDENCE
FEWEST = compare.FEWEST_PAIRS
PAIR_SECONDS = 60  # both sides of a ratio were measured within this time
WIDEST = 1.5  # ratio of the ends of an interval that includes 1; a wider one does not say that there is no difference
FENCE = 1.5  # interquartile ranges beyond the quartiles at which a sample is an outlier (Tukey)
RESAMPLES = 2000


class Summary(typing.NamedTuple):
    median: float
    low: float  # the interval of the median
    high: float
    count: int
    outliers: tuple


class Ratio(typing.NamedTuple):
    median: float
    low: float
    high: float
    pairs: int
    discarded: int  # pairs whose sides were measured more than PAIR_SECONDS apart
    verdict: str


def outliers(values):
    if len(values) < 4:
        return ()
    lower, _, upper = statistics.quantiles(values, n=4, method="inclusive")
    reach = FENCE * (upper - lower)
    return tuple(value for value in values if value < lower - reach or value > upper + reach)


def summary(values):
    """Of at least one value. The outliers are shown, and stay in median and interval."""
    return Summary(statistics.median(values), *compare.interval(values), len(values), outliers(values))


def verdict(low, high, pairs):
    if pairs < FEWEST:
        return "too few pairs"
    if high < 1 or low > 1:
        return "faster" if high < 1 else "slower"
    return "no difference" if high <= WIDEST * low else "unclear"


def ratio(ours, peer):
    """The median of the ratios ours / peer of each round, {round: Sample} each, or None without a pair."""
    common = [number for number in ours if number in peer and peer[number].value > 0]
    near = [number for number in common if abs(ours[number].began - peer[number].began) <= PAIR_SECONDS]
    if not near:
        return None
    ratios = [ours[number].value / peer[number].value for number in near]
    low, high = compare.interval(ratios)
    return Ratio(statistics.median(ratios), low, high, len(near), len(common) - len(near),
                 verdict(low, high, len(near)))


def unpaired_ratio(ours, peer, seed=1):
    """The ratio of the medians of independent samples, with a bootstrap interval: for two reports."""
    source = random.Random(seed)
    medians = [[statistics.median(source.choices(side, k=len(side))) for _ in range(RESAMPLES)] for side in (ours, peer)]
    ratios = sorted(a / b for a, b in zip(*medians) if b > 0)
    if not ratios or statistics.median(peer) <= 0:
        return None
    outside = int(len(ratios) * (1 - CONFIDENCE) / 2)
    low, high = ratios[outside], ratios[-1 - outside]
    count = min(len(ours), len(peer))
    return Ratio(statistics.median(ours) / statistics.median(peer), low, high, count, 0, verdict(low, high, count))


def best_peer(results, line, peers):
    """The name of the peer with the smallest median on this line, or None. A peer with too few samples to decide anything
    counts only where all have too few."""
    measured = {peer: values for peer in peers if (values := results.values(peer, line))}
    enough = {peer: values for peer, values in measured.items() if len(values) >= FEWEST} or measured
    return min(enough, key=lambda peer: statistics.median(enough[peer])) if enough else None
