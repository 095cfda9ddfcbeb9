"""Cells, columns and texts that the sections share."""
from . import stats
from .model import Cell

TIME_COLUMNS = ("median, us", "interval, us", "outliers")
BOTH_TIMES = ("ours, us", "interval of ours", "peer, us", "interval of the peer")
RATIO_COLUMNS = ("ratio", "interval of the ratio", "verdict", "pairs")
LAUNCHED = {1: "The launcher chose the host.",
            2: "The launcher chose the hosts; the report does not say which network joins them."}
STYLES = {"faster": "won", "slower": "lost", "no difference": "same", "unclear": "undecided",
          "too few pairs": "undecided"}


def hosts_text(hosts):
    return "one host" if hosts == 1 else "two hosts"


def limits(results, hosts, here, more=""):
    """`here` is true of the hosts that bench/report takes without a launcher."""
    return f"{LAUNCHED[hosts] if results.launched else here} {more}".rstrip()


def command(section, results, run):
    """The commands that repeat a figure: the whole section, and one program of it."""
    return f"bench/report --only {section}\n{results.commands.get(run, '')}".rstrip()


def significant(value):
    """Three digits from 1 to 100, four decimals below, all digits of the integer above; without an exponent."""
    magnitude = abs(value)
    return f"{value:,.0f}" if magnitude >= 100 else f"{value:.1f}" if magnitude >= 10 else f"{value:.2f}" if magnitude >= 1 else \
        f"{value:.4f}"


def number_cell(value):
    return Cell(f"{value:,.0f}", value)


def times(values):
    """The cells of TIME_COLUMNS."""
    found = stats.summary(values)
    far = ", ".join(significant(value) for value in found.outliers)
    return [Cell(significant(found.median), found.median), Cell(f"{significant(found.low)} to {significant(found.high)}",
                                                               found.low), Cell(far, len(found.outliers))]


def ratio_cells(ratio):
    """The cells of RATIO_COLUMNS; empty ones without a ratio."""
    if ratio is None:
        return [Cell("")] * len(RATIO_COLUMNS)
    pairs = f"{ratio.pairs}" + (f" ({ratio.discarded} left out)" if ratio.discarded else "")
    return [Cell(f"{ratio.median:.2f}", ratio.median, STYLES[ratio.verdict]),
            Cell(f"{ratio.low:.2f} to {ratio.high:.2f}", ratio.low),
            Cell(ratio.verdict, style=STYLES[ratio.verdict]), Cell(pairs, ratio.pairs)]


def ratio_cell(ratio):
    """Ratio and interval in one cell; the style is the verdict."""
    if ratio is None:
        return Cell("")
    return Cell(f"{ratio.median:.2f}", ratio.median, STYLES[ratio.verdict], f"{ratio.low:.2f} to {ratio.high:.2f}")
