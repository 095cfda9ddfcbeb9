import pathlib
import tempfile
import unittest

import references


class References(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        (self.root / "engine").mkdir()
        (self.root / "engine" / "peer.cpp").write_text("void Engine::issue();\n")

    def faults_of(self, text):
        (self.root / "a.md").write_text(text)
        return list(references.faults(self.root, "a.md"))

    def test_existing_files_and_functions_pass(self):
        self.assertEqual(self.faults_of("`engine/` and `Engine::issue` (`engine/peer.cpp`), `engine/*.cpp`, `osc/mpix`\n"), [])

    def test_missing_file_is_named_with_its_line(self):
        self.assertEqual(self.faults_of("text\n`engine/gone.cpp`\n"), ["a.md:2: engine/gone.cpp does not exist"])

    def test_file_of_a_missing_folder_is_named(self):
        self.assertEqual(self.faults_of("`proto/direct.cpp`\n"), ["a.md:1: proto/direct.cpp does not exist"])

    def test_missing_function_is_named(self):
        self.assertEqual(self.faults_of("`Engine::lock`\n(`engine/peer.cpp`)\n"),
                         ["a.md:1: engine/peer.cpp does not contain Engine::lock"])

    def test_same_file_is_the_last_one_named(self):
        (self.root / "engine" / "order.cpp").write_text("void fence();\n")
        text = "`engine/peer.cpp`, `fence` (`engine/order.cpp`), `fence` (same file), `issue` (same\nfile)"
        self.assertEqual(self.faults_of(text), ["a.md:1: engine/order.cpp does not contain issue"])

    def test_fenced_blocks_are_left_out(self):
        self.assertEqual(self.faults_of("```sh\n`engine/gone.cpp`\n```\n"), [])

    def test_links_to_missing_files_are_named(self):
        (self.root / "docs" / "decisions").mkdir(parents=True)
        (self.root / "docs" / "decisions" / "README.md").write_text("[a](0001-a.md), [b](https://b.org), [c](#c)\n")
        self.assertEqual(list(references.broken_links(self.root)),
                         ["docs/decisions/README.md: the link 0001-a.md leads nowhere"])

    def test_decisions_missing_in_the_index_are_named(self):
        (self.root / "docs" / "decisions").mkdir(parents=True)
        (self.root / "docs" / "decisions" / "README.md").write_text("[a](0001-a.md)\n")
        for name in ("0001-a.md", "0002-b.md"):
            (self.root / "docs" / "decisions" / name).touch()
        self.assertEqual(list(references.unlisted_decisions(self.root)), ["docs/decisions/README.md: 0002-b.md is missing"])

    def test_messages_without_a_source_are_named(self):
        (self.root / "engine" / "status.cpp").write_text('say("only %zu of %zu bytes lie "\n    "inside");\n')
        (self.root / "a.md").write_text("| message | cause |\n| --- | --- |\n| `only 100 of 104 bytes lie inside` | a |\n"
                                        "| `nothing lies inside` | b |\n")
        self.assertEqual(list(references.unknown_messages(self.root)),
                         ["a.md: no source has the message 'nothing lies inside'"])


if __name__ == "__main__":
    unittest.main()
