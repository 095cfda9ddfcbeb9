"""The model of cores that contend for cache lines, on cases whose times are known."""
import unittest

from report import coherence
from report.coherence import Access, Costs, Operation

ADDITION = (Access("load", 7, 30), Access("atomic", 0, 10), Access("load", 8, 10))
LOCKED = (Access("atomic", 0, 10), Access("load", 1, 10), Access("store", 1, 1), Access("store", 0, 5))


class Coherence(unittest.TestCase):
    def close(self, found, expected, share=0.02):
        self.assertLess(abs(found - expected), share * expected, f"{found} is not {expected}")

    def test_one_core_takes_its_own_time_and_no_transfers(self):
        time, transfers = coherence.contended(Operation(ADDITION, 12), 1, Costs(120, 0))
        self.close(time, 12)
        self.assertEqual(transfers, 0)

    def test_lines_that_are_only_loaded_cost_nothing(self):
        loads = tuple(Access("load", line, 5) for line in range(3)) + (Access("store", 9, 1),)
        time, transfers = coherence.contended(Operation(loads, 10, places=10**9), 8, Costs(120, 0))
        self.close(time, 10 / 8)
        self.assertLess(transfers, 0.01)

    def test_a_line_that_each_addition_takes_away_costs_half_of_a_transfer_each(self):
        time, transfers = coherence.contended(Operation((Access("atomic", 0, 1),), 1), 64, Costs(100, 0))
        self.close(transfers, 1)
        self.close(time, 50)

    def test_additions_while_a_core_holds_the_line_need_no_transfer(self):
        time, transfers = coherence.contended(Operation((Access("atomic", 0, 1),), 10), 2, Costs(100, 400))
        self.assertLess(transfers, 0.05)
        self.close(time, 10 * 450 / 400, 0.15)

    def test_the_costs_are_found_that_give_the_measured_times(self):
        bare = (Access("atomic", 0, 1),)
        for costs in (Costs(120, hold, ahead) for hold, ahead in ((0, 0), (50, 12), (300, 30))):
            hot, spread = (coherence.contended(Operation(bare, 6, places), 2, costs)[0] for places in (1, 64))
            again = coherence.calibrated(120, 6, hot, spread, 64)
            self.close(coherence.contended(Operation(bare, 6), 2, again)[0], hot)
            self.close(coherence.contended(Operation(bare, 6, 64), 2, again)[0], spread, 0.1)

    def test_looking_ahead_hides_transfers_of_lines_that_nobody_else_wants_soon(self):
        bare = Operation((Access("atomic", 0, 1),), 10, 1000)
        blind, ahead = (coherence.contended(bare, 2, Costs(100, 0, time))[0] for time in (0, 100))
        self.assertLess(ahead, 0.5 * blind)

    def test_holders_of_a_lock_follow_one_another(self):
        costs = Costs(100, 0)
        few, many = (coherence.contended(Operation(LOCKED, 20, locks=True), cores, costs)[0] for cores in (4, 64))
        self.close(many, few, 0.1)
        self.assertGreater(few, 2 * costs.transfer)  # of the lock, and of what it protects

    def test_many_places_let_the_cores_work_at_once(self):
        hot, apart = (coherence.contended(Operation(LOCKED, 20, places, locks=True), 16, Costs(100, 0))[0] for places in (1, 4096))
        self.assertGreater(hot, 8 * apart)

    def test_a_fence_grows_with_the_logarithm_of_the_ranks(self):
        self.assertEqual([coherence.fence_time(30, 230, ranks) for ranks in (2, 16, 128)], [230, 830, 1430])


if __name__ == "__main__":
    unittest.main()
