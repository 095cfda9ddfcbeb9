"""The fenced blocks of a document in Markdown.

A comment in front of a block says why the block is not executed, `<!-- not run: REASON -->`, or what the machine must
have, `<!-- needs: NAME, NAME -->`. Examples in C have commands in their comments.
"""
import dataclasses
import re

FENCE = re.compile(r"^```(\S*)\s*$")
COMMENT = re.compile(r"^<!-- (not run|needs): (.+) -->$")
COMMANDS = ("sh",)
PROGRAMS = {"c": "//", "cpp": "//", "fortran": "!", "python": "#"}
OTHERS = ("text",)


class Malformed(Exception):
    pass


@dataclasses.dataclass
class Block:
    language: str
    section: str  # the heading it stands under
    line: int  # of the fence
    text: list
    reason: str = ""  # why it is not executed
    needs: tuple = ()

    @property
    def is_executable(self):
        return self.language not in OTHERS


def blocks_of(text, name):
    """All blocks, in order. Raises Malformed for a fence without a known language, or without an end."""
    blocks, section, comment, block = [], "", None, None
    for number, line in enumerate(text.splitlines(), 1):
        fence = FENCE.match(line)
        if block is not None:
            if fence:
                blocks.append(block)
                block = None
            else:
                block.text.append(line)
        elif fence:
            if fence[1] not in (*COMMANDS, *PROGRAMS, *OTHERS):
                raise Malformed(f"{name}:{number}: '{fence[1]}' is none of sh, c, cpp, fortran, python, text")
            block = Block(fence[1], section, number, [])
            if comment and comment[1] == "needs":
                block.needs = tuple(comment[2].split(", "))
            elif comment:
                block.reason = comment[2]
        elif line.startswith("#"):
            section = line.lstrip("# ")
        comment = COMMENT.match(line) or (comment if not line else None)
    if block is not None:
        raise Malformed(f"{name}:{block.line}: no end")
    return blocks


def blocks_of_comment(text):
    """The commands after "Build:" and "Run:" in an example's comment, as a block for each."""
    blocks, lines = [], text.splitlines()
    for number, line in enumerate(lines):
        found = re.match(r"^ \* (?:Build|Run): (m?\w+ .*)$", line)
        if not found:
            continue
        command = [found[1]]
        while command[-1].endswith("\\"):
            command.append(lines[number + len(command)].removeprefix(" *"))
        # The line before the command stands for that of a fence.
        blocks.append(Block("sh", "", number, command))
    return blocks
