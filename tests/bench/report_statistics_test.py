"""Statistics and formulas of bench/report, with made-up times."""
import os
import random
import unittest

from report import formulas, model, stats, versus


def samples(values, began=0.0):
    return {number: model.Sample(began + 1000 * number, value) for number, value in enumerate(values)}


class Statistics(unittest.TestCase):
    def test_summary_has_median_interval_and_outliers(self):
        found = stats.summary([1, 2, 3, 4, 5, 6, 7, 8, 100])
        # Of nine samples, the second smallest and the eighth enclose the median with 96 % confidence.
        self.assertEqual((found.median, found.low, found.high, found.count), (5, 2, 8, 9))
        self.assertEqual(found.outliers, (100,))

    def test_ratio_is_the_median_of_pairs_and_not_the_ratio_of_medians(self):
        ours, peer = samples([1, 10, 100, 1, 10, 100]), samples([2, 5, 400, 2, 5, 400])
        found = stats.ratio(ours, peer)
        self.assertEqual((found.median, found.low, found.high, found.pairs), (0.5, 0.25, 2, 6))
        self.assertEqual(found.verdict, "unclear")

    def test_verdict_needs_the_whole_interval_on_one_side(self):
        for factor, verdict in ((0.5, "faster"), (2.0, "slower"), (1.0, "no difference")):
            self.assertEqual(stats.ratio(samples([factor] * 6), samples([1.0] * 6)).verdict, verdict)
        self.assertEqual(stats.ratio(samples([0.5] * 5), samples([1.0] * 5)).verdict, "too few pairs")
        one_above = stats.ratio(samples([0.5] * 5 + [1.01]), samples([1.0] * 6))
        self.assertEqual(one_above.verdict, "unclear")
        near = stats.ratio(samples([0.8] * 5 + [1.01]), samples([1.0] * 6))
        self.assertEqual((near.median, near.verdict), (0.8, "no difference"))

    def test_pairs_of_different_minutes_are_left_out(self):
        late = samples([1.0] * 8)
        late[3] = model.Sample(late[3].began + 61, 50.0)
        found = stats.ratio(late, samples([1.0] * 8))
        self.assertEqual((found.pairs, found.discarded, found.high), (7, 1, 1.0))
        self.assertIsNone(stats.ratio(samples([1.0], began=61), samples([1.0])))

    def test_bootstrap_interval_holds_the_ratio_of_medians(self):
        seed = int(os.environ.get("MPIX_TEST_SEED", random.randrange(2**32)))
        print(f"MPIX_TEST_SEED={seed}")
        source = random.Random(seed)
        held = 0
        for _ in range(60):
            ours, peer = ([factor * source.lognormvariate(0, 0.3) for _ in range(20)] for factor in (3.0, 2.0))
            found = stats.unpaired_ratio(ours, peer)
            held += found.low <= 1.5 <= found.high
        # 57 are expected; 40 or fewer come once in a million runs, even if the interval has 90 % confidence only.
        self.assertGreater(held, 40)

    def test_best_peer_is_the_one_with_the_smallest_median(self):
        line = model.Line("f", "put")
        records = [{"run": run, "round": number, "began": 0, "status": 0, "rows": [[*line, value]]}
                   for run, values in (("a", (3, 3, 3)), ("b", (1, 2, 9))) for number, value in enumerate(values)]
        results = model.Results(records)
        self.assertEqual(stats.best_peer(results, line, ["a", "b", "c"]), "b")
        self.assertIsNone(stats.best_peer(results, line, ["c"]))

    def test_a_peer_with_too_few_samples_is_no_best_peer(self):
        line = model.Line("f", "put")
        records = [{"run": run, "round": number, "began": 0, "status": 0, "rows": [[*line, value]]}
                   for run, values in (("whole", [2.0] * 6), ("failed", [1.0])) for number, value in enumerate(values)]
        self.assertEqual(stats.best_peer(model.Results(records), line, ["whole", "failed"]), "whole")

    def test_amounts_are_less_and_not_faster(self):
        def verdict(*name):
            sides = [model.Results([{"run": "r", "round": number, "began": 0, "status": 0, "rows": [[*model.Line(*name), value]]}
                                    for number in range(6)]) for value in (1.0, 2.0)]
            return next(versus.rows(*sides))[6].text

        self.assertEqual([verdict("osu", "put_bw"), verdict("peers", "used_bytes"), verdict("gups", "get page faults"),
                          verdict("accesses", "fence")], ["faster", "less", "less", "less"])


class Formulas(unittest.TestCase):
    SIZES = [2**power for power in range(3, 23)]

    @staticmethod
    def time(size):
        return 2 + 0.001 * min(size, 2048) + 0.01 * max(size - 2048, 0)

    def test_finds_the_constants_of_exact_points(self):
        judged = formulas.judge(formulas.of_bytes, [(size, self.time(size)) for size in self.SIZES])
        for found, expected in zip(judged.formula.constants, (2, 0.001, 0.01, 2048)):
            self.assertAlmostEqual(found / expected, 1, places=6)
        self.assertEqual((judged.within, judged.judged), (10, 10))
        self.assertAlmostEqual(judged.farthest, 1, places=6)

    def test_is_judged_by_points_that_did_not_determine_it(self):
        points = [(size, self.time(size) * (1 if number % 2 == 0 else 2)) for number, size in enumerate(self.SIZES)]
        judged = formulas.judge(formulas.of_bytes, points)
        self.assertEqual((judged.within, judged.judged), (0, 10))
        self.assertAlmostEqual(judged.farthest, 0.5, places=6)

    def test_has_no_negative_constants(self):
        found = formulas.of_count([(1, 5.0), (2, 4.0), (3, 3.0)])
        self.assertEqual(found.constants[1], 0)
        self.assertTrue(3 < found.constants[0] < 5)

    def test_of_segments_counts_segments_and_bytes(self):
        points = [((size, count), 1 + 0.5 * count + 0.002 * count * size) for count in (1, 4, 16, 64) for size in (16, 1024)]
        judged = formulas.judge(formulas.of_segments, points)
        for found, expected in zip(judged.formula.constants, (1, 0.5, 0.002)):
            self.assertAlmostEqual(found, expected, places=6)
        self.assertEqual(judged.within, judged.judged)

    def test_of_few_points_there_is_none(self):
        self.assertIsNone(formulas.judge(formulas.of_bytes, [(8, 1.0), (64, 2.0), (512, 3.0)]))
