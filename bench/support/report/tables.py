"""Cells, columns and texts that the sections share."""
from . import stats
from .model import Cell

TIME_COLUMNS = ("median, us", "interval, us", "outliers")
BOTH_TIMES = ("ours, us", "interval of ours", "peer, us", "interval of the peer")
RATIO_COLUMNS = ("ratio", "interval of the ratio", "verdict", "pairs")
STYLES = {"faster": "won", "slower": "lost", "no difference": "same", "unclear": "undecided",
          "too few pairs": "undecided"}


def hosts_text(hosts):
    return "one host" if hosts == 1 else "two hosts"


def command(section, results, run):
    """The commands that repeat a figure: the whole section, and one program of it."""
    return f"bench/report --only {section}\n{results.commands.get(run, '')}".rstrip()


def significant(value):
    """Three digits, without an exponent."""
    magnitude = abs(value)
    return f"{value:,.0f}" if magnitude >= 100 else f"{value:.1f}" if magnitude >= 10 else f"{value:.2f}" if magnitude >= 1 else \
        f"{value:.4f}"


def number_cell(value):
    return Cell(f"{value:,.0f}", value)


def times(values):
    """The cells of TIME_COLUMNS."""
    found = stats.summary(values)
    far = ", ".join(significant(value) for value in found.outliers)
    return [Cell(significant(found.median), found.median), Cell(f"{significant(found.least)} to {significant(found.most)}",
                                                               found.least), Cell(far, len(found.outliers))]


def ratio_cells(at):
    """The cells of RATIO_COLUMNS; empty ones without a ratio."""
    if at is None:
        return [Cell("")] * len(RATIO_COLUMNS)
    pairs = f"{at.pairs}" + (f" ({at.discarded} left out)" if at.discarded else "")
    return [Cell(f"{at.median:.2f}", at.median, STYLES[at.verdict]), Cell(f"{at.least:.2f} to {at.most:.2f}", at.least),
            Cell(at.verdict, style=STYLES[at.verdict]), Cell(pairs, at.pairs)]


def ratio_cell(at):
    """Ratio, interval and verdict in one cell."""
    if at is None:
        return Cell("")
    text = f"{at.median:.2f} ({at.least:.2f} to {at.most:.2f})"
    return Cell(text + (", no difference" if at.verdict == "no difference" else ""), at.median, STYLES[at.verdict])
