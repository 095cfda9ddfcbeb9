"""The extractor of fenced blocks finds all of them, and what is wrong with them."""
import pathlib
import tempfile
import unittest

import commands
import fences

TEXT = """# Title

Text with `code`.

```sh
first command \\
  goes on
second command
```

## Section

<!-- needs: MPICH, Fortran -->
```fortran
call one
```

<!-- not run: costs money -->
```sh
buy
```

```text
output
```
"""


class Blocks(unittest.TestCase):
    def test_all_are_found(self):
        found = fences.blocks_of(TEXT, "a.md")
        self.assertEqual([(block.language, block.section, block.line) for block in found],
                         [("sh", "Title", 5), ("fortran", "Section", 14), ("sh", "Section", 19), ("text", "Section", 23)])
        self.assertEqual(found[0].text, ["first command \\", "  goes on", "second command"])
        self.assertEqual([block.reason for block in found], ["", "", "costs money", ""])
        self.assertEqual(found[1].needs, ("MPICH", "Fortran"))
        self.assertEqual([block.is_executable for block in found], [True, True, True, False])

    def test_a_comment_belongs_to_the_next_block_only(self):
        found = fences.blocks_of("<!-- not run: a -->\ntext\n```sh\nb\n```\n```sh\nc\n```\n", "a.md")
        self.assertEqual([block.reason for block in found], ["", ""])

    def test_fences_without_language_or_end_are_refused(self):
        for text in ("```\nx\n```\n", "```perl\nx\n```\n", "```sh\nx\n"):
            with self.assertRaisesRegex(fences.Malformed, "^a.md:1: "):
                fences.blocks_of(text, "a.md")

    def test_commands_of_comments(self):
        text = "/*\n * What it is.\n *\n * Build: mpicc a.c \\\n *          -o a\n * Run: mpirun -np 2 ./a\n * Run, with more: no\n */\n"
        found = fences.blocks_of_comment(text)
        self.assertEqual([block.text for block in found], [["mpicc a.c \\", "          -o a"], ["mpirun -np 2 ./a"]])


class Commands(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.source = pathlib.Path(directory.name).resolve()

    def run_document(self, text):
        (self.source / "a.md").write_text(text)
        commands.run(self.source, self.source, "a.md", 1)

    def test_stand_on_their_lines_in_one_shell(self):
        self.run_document("```sh\nx=5\n```\ntext\n```sh\n[ $x = 5 ]\n[ $LINENO = 7 ] && [ -d PREFIX ]\n```\n")

    def test_a_failing_one_fails(self):
        with self.assertRaisesRegex(SystemExit, "exit status 1"):
            self.run_document("```sh\ntrue\nfalse\ntrue\n```\n")

    def test_marked_ones_are_left_out(self):
        self.run_document("<!-- not run: for a test -->\n```sh\nfalse\n```\n")


if __name__ == "__main__":
    unittest.main()
