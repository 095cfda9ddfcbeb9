"""An archive of a report, to send to others: raw results, figures, page, and questions for users."""
import pathlib
import tarfile

SURVEY = pathlib.Path(__file__).resolve().parent / "survey.md"


def write(directory):
    """Returns the archive's path, beside the report's directory."""
    directory = pathlib.Path(directory).resolve()
    if not (directory / "data" / "report.json").exists():
        raise SystemExit(f"bench/report: {directory} has no report to bundle")
    path = directory.with_name(directory.name + ".tar.gz")
    with tarfile.open(path, "w:gz") as archive:
        for name in ("index.html", "settings.json", "raw", "data"):
            if (directory / name).exists():
                archive.add(directory / name, arcname=f"{directory.name}/{name}", filter=anonymous)
        archive.add(SURVEY, arcname=f"{directory.name}/survey.md", filter=anonymous)
    return path


def anonymous(entry):
    """Without the name of the user."""
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    return entry
