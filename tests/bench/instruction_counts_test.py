"""The comparison of instruction counts finds calls that take more, and nothing else."""
import contextlib
import io
import pathlib
import sys
import tempfile
import unittest

import instruction_counts

PUT = ("rma", "put")
GET = ("rma", "get")


def program(**counts):
    """A command that prints these counts as bench_instructions does."""
    lines = "".join(f"instructions,mpix,{call},rma,1,8,{count}.00000\n" for call, count in counts.items())
    return [sys.executable, "-c", f"print({lines!r}, end='')"]


class InstructionCounts(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.path = pathlib.Path(directory.name) / "counts.csv"

    def run_with(self, *arguments):
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            status = instruction_counts.main([*arguments])
        return status, output.getvalue()

    def test_reads_what_it_writes(self):
        instruction_counts.write(self.path, {"b": {PUT: 88, GET: 86}, "a": {PUT: 90}})
        self.assertEqual(instruction_counts.read(self.path), {"a": {PUT: 90}, "b": {PUT: 88, GET: 86}})

    def test_finds_growth_beyond_the_allowance(self):
        self.assertEqual(instruction_counts.compare({PUT: 90, GET: 400}, {PUT: 88, GET: 399}), [])
        self.assertEqual(instruction_counts.compare({PUT: 91, GET: 399}, {PUT: 88, GET: 399}), ["rma put: 91 instructions, 88 recorded"])
        self.assertEqual(instruction_counts.compare({PUT: 88, GET: 408}, {PUT: 88, GET: 399}), ["rma get: 408 instructions, 399 recorded"])

    def test_less_is_no_fault(self):
        self.assertEqual(instruction_counts.compare({PUT: 40}, {PUT: 88}), [])

    def test_missing_call_is_a_fault(self):
        self.assertEqual(instruction_counts.compare({}, {PUT: 88}), ["rma put: not measured"])

    def test_records_and_compares(self):
        self.assertEqual(self.run_with("--write", "GNU 12", str(self.path), *program(put=88))[0], 0)
        self.assertEqual(self.run_with("--write", "GNU 14", str(self.path), *program(put=80))[0], 0)
        self.assertEqual(self.run_with("GNU 12", str(self.path), *program(put=88))[0], 0)
        self.assertEqual(self.run_with("GNU 14", str(self.path), *program(put=88))[0], 1)

    def test_cpp_takes_no_more_than_c(self):
        self.assertEqual(instruction_counts.compare_languages({("c", "put"): 110, ("c++", "put"): 112, PUT: 88}), [])
        self.assertEqual(instruction_counts.compare_languages({("c", "put"): 110, ("c++", "put"): 113}),
                         ["put: 113 instructions in C++, 110 in C"])

    def test_skips_without_counts_of_these_tools_or_of_the_program(self):
        instruction_counts.write(self.path, {f"GNU 12, {instruction_counts.level()}": {PUT: 88}, "GNU 12, another": {PUT: 40}})
        status, output = self.run_with("Clang 19", str(self.path), *program(put=88))
        self.assertEqual(status, instruction_counts.SKIPPED)
        self.assertIn("rma put: 88", output)
        self.assertEqual(self.run_with("GNU 12", str(self.path), *program())[0], instruction_counts.SKIPPED)
        self.assertEqual(self.run_with("GNU 12", str(self.path), *program(put=88))[0], 0)

    def test_program_that_fails_is_a_fault(self):
        with self.assertRaises(SystemExit):
            self.run_with("GNU 12", str(self.path), sys.executable, "-c", "import sys; sys.exit(3)")


if __name__ == "__main__":
    unittest.main()
