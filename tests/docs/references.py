"""Checks that files and functions exist which documents for developers name.

A path stands in backquotes, relative to the project's folder; `*` matches as in a shell. In `NAME` (`PATH`) the file at
PATH contains NAME, without its scope.
"""
import re

DOCUMENTS = ("CONTRIBUTING.md", "docs/internals.md")
SOURCES = (".c", ".cpp", ".h", ".hpp", ".md", ".py", ".txt", ".cmake", ".sh")
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
QUOTED = re.compile(r"`([^`\s]+)`")
NAMED = re.compile(r"`([\w:]+)`\s+\(`([\w./-]+)`")


def is_path(root, text):
    if "/" not in text or not re.fullmatch(r"[\w.*/-]+", text) or text.startswith(("/", "build/")):
        return False
    return (root / text.split("/")[0]).exists() or text.endswith(SOURCES)


def text_of(root, document):
    """Without fenced blocks, of which only the line ends are kept: commands are executed by another test."""
    return FENCED.sub(lambda block: "\n" * block[0].count("\n"), (root / document).read_text())


def faults(root, document):
    text = text_of(root, document)

    def where(found):
        return f"{document}:{text.count(chr(10), 0, found.start()) + 1}"

    for found in QUOTED.finditer(text):
        if is_path(root, found[1]) and not list(root.glob(found[1].rstrip("/"))):
            yield f"{where(found)}: {found[1]} does not exist"
    for found in NAMED.finditer(text):
        name, path = found[1].split("::")[-1], root / found[2]
        if path.is_file() and not re.search(rf"\b{name}\b", path.read_text()):
            yield f"{where(found)}: {found[2]} does not contain {found[1]}"


def check(root):
    return [fault for document in DOCUMENTS for fault in faults(root, document)]
