"""Closed formulas of times: few constants, found on half of the measured points and judged by the other half."""
import typing

TOLERANCE = 0.2  # of the measured time, within which a formula has to be


class Formula(typing.NamedTuple):
    """`text` with its constants; `time(point)` in the unit of the measured times."""
    text: str
    constants: tuple
    time: typing.Callable


class Judged(typing.NamedTuple):
    formula: Formula
    within: int  # of the points that the formula was not fitted to, those within TOLERANCE
    judged: int
    farthest: float  # ratio of the computed to the measured time that is farthest from 1


def solve(rows, wanted):
    """The least squares solution of rows * x = wanted, or None if the rows do not determine it."""
    size = len(rows[0])
    left = [[sum(row[i] * row[j] for row in rows) for j in range(size)] + [sum(row[i] * at for row, at in zip(rows, wanted))]
            for i in range(size)]
    for i in range(size):
        pivot = max(range(i, size), key=lambda row: abs(left[row][i]))
        left[i], left[pivot] = left[pivot], left[i]
        if abs(left[i][i]) < 1e-12:
            return None
        for j in range(size):
            if j != i:
                factor = left[j][i] / left[i][i]
                left[j] = [a - factor * b for a, b in zip(left[j], left[i])]
    return [left[i][size] / left[i][i] for i in range(size)]


def fit(terms, points):
    """Constants >= 0 of sum(constant * term(point)) with the least squares of relative errors; None if there are none.
    Terms whose constant would be negative are left out."""
    used = list(range(len(terms)))
    scales = [max(term(point) for point, _ in points) or 1 for term in terms]
    while used:
        rows = [[terms[i](point) / scales[i] / time for i in used] for point, time in points]
        found = solve(rows, [1.0] * len(points))
        if found is None:
            return None
        if min(found) >= 0:
            constants = [0.0] * len(terms)
            for i, value in zip(used, found):
                constants[i] = value / scales[i]
            return constants
        used.remove(used[min(range(len(used)), key=lambda i: found[i])])
    return None


def errors(formula, points):
    return [formula.time(point) / time for point, time in points]


def farthest(ratios):
    return max(ratios, key=lambda ratio: max(ratio, 1 / ratio) if ratio > 0 else float("inf"))


def of_terms(text, terms, points):
    constants = fit(terms, points)
    if constants is None:
        return None
    return Formula(text, tuple(constants), lambda point: sum(value * term(point) for value, term in zip(constants, terms)))


def of_bytes(points):
    """L + G min(n, N) + H max(n - N, 0): the time of a byte changes once, at one of the measured sizes."""
    best = None
    for knee in sorted(size for size, _ in points)[1:]:
        terms = (lambda n: 1.0, lambda n, knee=knee: float(min(n, knee)), lambda n, knee=knee: float(max(n - knee, 0)))
        if knee == max(size for size, _ in points):
            terms = terms[:2]
        found = of_terms("L + G min(n, N) + H max(n - N, 0)", terms, points)
        if found is None:
            continue
        error = sum((ratio - 1) ** 2 for ratio in errors(found, points))
        if best is None or error < best[0]:
            constants = found.constants if len(found.constants) == 3 else (*found.constants, found.constants[1])
            best = error, Formula(found.text, (*constants, knee), found.time)
    return best[1] if best else None


def of_segments(points):
    """L + S s + G s n; a point is (n, s), bytes of a segment and segments: every other point in this order varies both."""
    return of_terms("L + S s + G s n", (lambda at: 1.0, lambda at: float(at[1]), lambda at: float(at[0] * at[1])), points)


def of_count(points):
    """L + R r, where r is a number of ranks."""
    return of_terms("L + R r", (lambda r: 1.0, float), points)


def judge(find, points):
    """Finds a formula on every other point, and judges it by the points between; None if there is none."""
    ordered = sorted(points)
    formula = find(ordered[0::2]) if len(ordered) >= 4 else None
    if formula is None:
        return None
    ratios = errors(formula, ordered[1::2])
    return Judged(formula, sum(1 - TOLERANCE <= ratio <= 1 + TOLERANCE for ratio in ratios), len(ratios), farthest(ratios))
