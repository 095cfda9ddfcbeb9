"""Checks that files and functions that documents name exist, that links lead to files, that the index of decisions lists
all decisions, and that the texts of messages are those of the sources.

A path stands in backquotes, relative to the project's folder; `*` matches as in a shell. In `NAME` (`PATH`) the file at
PATH contains NAME, without its scope; in `NAME` (same file) the last file named before does. Messages are what stands in
backquotes in the first column of a table with the heading "message" or "message or state". Numbers, and "..", are left
out of the comparison.
"""
import re

SOURCES = (".c", ".cpp", ".h", ".hpp", ".md", ".py", ".txt", ".cmake", ".sh")
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
QUOTED = re.compile(r"`([^`\s]+)`")
LINK = re.compile(r"\]\(([^)#:\s]+)\)")
MESSAGES = re.compile(r"^\| message(?: or state)? \|.*\n\|[ |-]+\n((?:\|.*\n)+)", re.MULTILINE)
FIRST_CELL = re.compile(r"^\| [^|]*?`([^`]+)`", re.MULTILINE)
VARIABLE = re.compile(r"\.\.+|\b(?:0x)?\d\w*")
# Messages of SQLite, and names of states, which the sources do not have.
OTHER_TEXTS = ("database or disk is full", "database is locked by another process", "expired", "not ready")
INDEX = "docs/decisions/README.md"
NAMED = re.compile(r"`([\w:]+)`\s+\((?:`([\w./-]+)`|same\s+file\))")


def is_path(root, text):
    if "/" not in text or "..." in text or not re.fullmatch(r"[\w.*/-]+", text) or text.startswith(("/", "build/")):
        return False
    return (root / text.split("/")[0]).exists() or text.endswith(SOURCES)


def text_of(root, document):
    """The text without fenced blocks, of which only the line ends are kept: commands are executed by another test."""
    return FENCED.sub(lambda block: "\n" * block[0].count("\n"), (root / document).read_text())


def last_file(root, text):
    """The last path of a file in the text: what "same file" stands for."""
    names = reversed(QUOTED.findall(text))
    return next((name for name in names if is_path(root, name) and (root / name).is_file()), "")


def faults(root, document):
    text = text_of(root, document)

    def where(found):
        return f"{document}:{text.count(chr(10), 0, found.start()) + 1}"

    for found in QUOTED.finditer(text):
        if is_path(root, found[1]) and not list(root.glob(found[1].rstrip("/"))):
            yield f"{where(found)}: {found[1]} does not exist"
    for found in NAMED.finditer(text):
        name, named = found[1].split("::")[-1], found[2] or last_file(root, text[:found.start()])
        path = root / named
        if path.is_file() and not re.search(rf"\b{name}\b", path.read_text()):
            yield f"{where(found)}: {named} does not contain {found[1]}"


def documents(root):
    return [path.relative_to(root) for path in sorted([*root.glob("*.md"), *(root / "docs").rglob("*.md")])]


def broken_links(root):
    for document in documents(root):
        for found in LINK.finditer(text_of(root, document)):
            if not ((root / document).parent / found[1]).exists():
                yield f"{document}: the link {found[1]} leads nowhere"


def unlisted_decisions(root):
    listed = set(LINK.findall((root / INDEX).read_text()))
    for path in sorted((root / INDEX).parent.glob("[0-9]*.md")):
        if path.name not in listed:
            yield f"{INDEX}: {path.name} is missing"


def literals(root):
    """All texts of the sources, adjacent ones as one."""
    sources = (path for layer in root.iterdir() if layer.is_dir() and layer.name not in ("build", "debian", "tests", ".git")
               for path in layer.rglob("*.[ch]*"))
    return "\n".join(re.sub(r'"\s*"', "", path.read_text(errors="replace")) for path in sources if path.is_file())


def unknown_messages(root):
    known = literals(root) + "\n".join(OTHER_TEXTS)
    for document in documents(root):
        for table in MESSAGES.findall(text_of(root, document)):
            for message in FIRST_CELL.findall(table):
                missing = [part for part in VARIABLE.split(message.removeprefix("the catalog: ")) if part.strip() not in known]
                if missing:
                    yield f"{document}: no source has the message '{missing[0].strip()}'"


def check(root):
    return [*(fault for document in documents(root) for fault in faults(root, document)), *broken_links(root),
            *unlisted_decisions(root), *unknown_messages(root)]
