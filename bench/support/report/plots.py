"""Plots as SVG that stands inside the page and takes the page's colour for text and axes."""
import io
import itertools
import math
import re

INK = "#010203"  # replaced by the page's text colour
COLOURS = ("#1f77b4", "#d95f02", "#2ca02c", "#c2338b", "#7f6fd0", "#a6761d", "#17a2b8", "#888888")
MARKERS = "osD^vPX*"
numbers = itertools.count(1)


def pyplot():
    import matplotlib
    matplotlib.use("svg")
    import matplotlib.pyplot
    names = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color", "legend.labelcolor")
    matplotlib.rcParams.update({name: INK for name in names})
    # Texts stay texts, which a reader can search and copy.
    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "report", "font.size": 11, "font.family": "sans-serif",
                                "axes.spines.top": False, "axes.spines.right": False})
    return matplotlib.pyplot


def inline(svg):
    """Removes the prologue, the metadata and the fixed size, and makes the ids unique in the page."""
    prefix = f"plot{next(numbers)}-"
    svg = svg[svg.index("<svg"):]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\s(?:xmlns(?::\w+)?|version|width="[\d.]+pt"|height="[\d.]+pt")(?:="[^"]*")?', "", svg, count=5)
    svg = re.sub(r'\bid="', f'id="{prefix}', svg)
    svg = svg.replace("url(#", f"url(#{prefix}").replace('xlink:href="#', f'href="#{prefix}')
    return svg.replace(INK, "currentColor").strip()


def finish(plt, figure):
    out = io.StringIO()
    figure.savefig(out, format="svg", transparent=True, bbox_inches="tight", metadata={"Date": None})
    plt.close(figure)
    return inline(out.getvalue())


def lines(series, labels, reference=None):
    """`series`: {name: [(x, stats.Summary or stats.Ratio)]}; both axes are logarithmic. Medians are joined, bars are their
    intervals, crosses are outliers. `labels`: x axis, y axis. `reference`: a horizontal line."""
    plt = pyplot()
    from matplotlib import ticker
    figure, axes = plt.subplots(figsize=(7.2, 4.2))
    for index, (name, points) in enumerate(series.items()):
        colour = COLOURS[index % len(COLOURS)]
        found = [(x, at) for x, at in sorted(points, key=lambda point: point[0]) if at.median > 0]
        if not found:
            continue
        xs, middle = [x for x, _ in found], [at.median for _, at in found]
        below = [max(0.0, at.median - at.low) for _, at in found]
        above = [max(0.0, at.high - at.median) for _, at in found]
        axes.errorbar(xs, middle, yerr=(below, above), label=name, color=colour, capsize=2, linewidth=1.4,
                      marker=MARKERS[index % len(MARKERS)], markersize=4, linestyle="-" if index < len(COLOURS) else "--")
        far = [(x, value) for x, at in found for value in getattr(at, "outliers", ()) if value > 0]
        if far:
            axes.plot(*zip(*far), linestyle="", marker="x", markersize=5, color=colour, alpha=0.6)
    if reference is not None:
        axes.axhline(reference, color=INK, linewidth=0.8, linestyle=":")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlabel(labels[0])
    axes.set_ylabel(labels[1])
    ticks = sorted({x for points in series.values() for x, _ in points})
    axes.set_xticks(ticks, tick_texts(ticks))
    axes.yaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5), numticks=12))
    axes.yaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:,.12g}"))
    axes.minorticks_off()
    axes.grid(True, color=INK, alpha=0.12, linewidth=0.6)
    axes.legend(frameon=False, fontsize=9, ncols=1 if len(series) < 5 else 2, loc="upper center", bbox_to_anchor=(0.5, -0.16))
    return finish(plt, figure)


def tick_texts(ticks):
    """Labels on a logarithmic axis; none where the label to the left reaches."""
    span = math.log2(ticks[-1] / ticks[0]) if len(ticks) > 1 else 1
    texts, free = [], ticks[0] / 2
    for x in ticks:
        texts.append(size_text(x) if x >= free else "")
        if texts[-1]:
            free = x * 2 ** (span / 14)
    return texts


def size_text(number):
    for unit, name in ((2**20, " Mi"), (2**10, " Ki")):
        if number >= unit and number % unit == 0:
            return f"{number // unit}{name}"
    return f"{number:,}"
