"""The page: sections, method and machine, in one file that refers to nothing outside."""
import pathlib
import statistics

from . import stats

HERE = pathlib.Path(__file__).resolve().parent


def environment():
    import jinja2
    return jinja2.Environment(loader=jinja2.FileSystemLoader(HERE), autoescape=True, trim_blocks=True, lstrip_blocks=True,
                              undefined=jinja2.StrictUndefined)


def render(content):
    """`content`: title, subtitle, summary (blocks), sections (name, title, blocks), method, properties (title, rows)."""
    import markupsafe
    shown = [block for section in content["sections"] for block in section["blocks"]]
    for block in shown + content["summary"]:
        block.svg = markupsafe.Markup(block.svg)
    inside = {name: markupsafe.Markup((HERE / file).read_text()) for name, file in (("css", "page.css"), ("script", "page.js"))}
    return environment().get_template("page.html").render(content, **inside)


def method(records, description):
    """How the figures were obtained, in sentences."""
    taken = [record for found in records.values() for record in found]
    loads = [record["load"] for record in taken if record["status"] == 0]
    rounds = {name: len({record["round"] for record in found if record["status"] == 0}) for name, found in records.items()}
    found = [
        f"Rounds: {', '.join(f'{name} {count}' for name, count in rounds.items() if count)}. In each, sections, runs and the lines of the attributes are in random order "
        f"(seed {description['seed']}); the sides of a comparison run in turn, one after the other.",
        "A program repeats an operation for about a millisecond, 5 to 15 times, after 10 calls and the calibration as a warm-up, "
        "and reports the median. A sample is that median; the figures are medians of the samples of all rounds.",
        "Intervals hold the true median with 95 % and are pairs of order statistics, whatever the distribution; with fewer than "
        f"{stats.FEWEST} samples they are the range.",
        f"A ratio is the median of the ratios of the rounds; both sides were started within {stats.PAIR_SECONDS} seconds, other "
        "pairs are left out and counted. Below 1 this library, or the call with the attribute, takes less time.",
        f"\"No difference\": the interval includes 1, and its ends differ by a factor of at most {stats.WIDEST}. \"Unclear\": it "
        f"includes 1 and is wider. \"Undecided\": fewer than {stats.FEWEST} pairs.",
        f"Outliers lie more than {stats.FENCE} interquartile ranges beyond the quartiles. They are shown, and no figure leaves "
        "them out.",
    ]
    if loads:
        cores = f", on {description['machine'].get('Usable cores', '?')} cores"
        found.append(f"Load of the {'host of bench/report' if description.get('launcher') else 'machine'} (one-minute average, own "
                     f"programs included): {statistics.median(loads):.1f} in the median, at most {max(loads):.1f}"
                     f"{'' if description.get('launcher') else cores}. Load of others makes times longer and intervals wider.")
    priorities = {record.get("nice", 0) for record in taken}
    if priorities - {0}:
        found.append(f"The programs ran at niceness {', '.join(map(str, sorted(priorities)))}, below 0 before those of others.")
    if description.get("reduced"):
        found.append("Quick mode: few sizes, and rounds until five minutes are over.")
    return found


def failure_rows(results_by_section):
    """A run that failed in one round may have results of others."""
    return [(f"{name}: {run}", f"{text}{' (it has other results)' if run in results.runs else ''}")
            for name, results in results_by_section.items() for run, text in results.failures.items()]


def describe(description):
    """The tables of properties."""
    measured = {"Commit": description["commit"], "Measured": description["measured"], "Command": description["command"]}
    found = [{"title": "This report", "rows": list(measured.items())},
             {"title": "Machine", "rows": list(description["machine"].items())}]
    if description["packages"]:
        found.append({"title": "Packages", "rows": list(description["packages"].items())})
    return found


def build(sections, results_by_section, records, description):
    """The whole page as text. Sections without a block are left out."""
    shown = []
    for section in sections:
        blocks = section.blocks(results_by_section[section.NAME])
        if blocks:
            shown.append({"name": section.NAME, "title": section.TITLE, "blocks": blocks})
    summary = [block for section in sections if hasattr(section, "summary")
               for block in section.summary(results_by_section[section.NAME])]
    properties = describe(description)
    failures = failure_rows(results_by_section)
    if failures:
        properties.insert(1, {"title": "Runs that failed, or were skipped", "rows": failures})
    return render({"title": "MPIX-RMA: evaluation",
                   "subtitle": f"{description['measured']}, commit {description['commit'][:12]}, "
                               f"{description['machine'].get('Processor', 'unknown processor')}",
                   "summary": summary, "sections": shown, "method": method(records, description), "properties": properties})
