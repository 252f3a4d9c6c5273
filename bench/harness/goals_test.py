"""What the benchmarks say of figures that they could not measure."""

import sys
import unittest
from pathlib import Path
from types import SimpleNamespace

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from harness import fleet, long_life, relay  # noqa: E402
from harness.report import Report, added  # noqa: E402


def at_half_load(**p99):
    """The goal of `relay`, and its rows, from the p99 of each server."""
    report = Report("relay", {}, {})
    results = {
        name: {"cpu_us": 5.0, "rate": 1000.0, "p50_us": 50.0, "p99_us": found, "failures": 0}
        for name, found in p99.items()
    }
    relay.report_half_load(results, 1000.0, report)
    return report.goals[0], report.rows


class Added(unittest.TestCase):
    def test_is_the_difference(self):
        self.assertEqual(added(30.0, 10.0), 20.0)
        self.assertEqual(added(10.0, 10.0), 0.0)

    def test_without_a_figure_is_not_measured(self):
        self.assertIsNone(added(None, 10.0))
        self.assertIsNone(added(10.0, None))

    def test_below_nothing_is_not_measured(self):
        self.assertIsNone(added(10.0, 10.5))


class LongLife(unittest.TestCase):
    def growth(self, hours, resident):
        """What is said of a gateway whose memory at a second is `resident` MiB."""
        report, seconds = Report("soak", {}, {}), hours * 3600
        samples = [
            SimpleNamespace(
                at=at, resident=resident(at) * 2**20, descriptors=9, threads=9, stored=0, files={}
            )
            for at in range(0, int(seconds), 5)
        ]
        long_life.judge(samples, seconds, SimpleNamespace(failed={}), [], report)
        return next(goal for goal in report.goals if "resident" in goal["name"])

    def test_what_is_kept_for_ten_minutes_does_not_count_as_growth(self):
        for hours in (0.4, 2):
            goal = self.growth(hours, lambda at: 100 + min(at / 20, 36))
            self.assertEqual((goal["value"], goal["met"]), (0.0, True), hours)

    def test_what_grows_on_does(self):
        for hours in (0.4, 2):
            goal = self.growth(hours, lambda at: 100 + at / 40)
            self.assertEqual(goal["met"], False, hours)


class HalfLoad(unittest.TestCase):
    def test_is_what_the_gateway_adds(self):
        goal, _ = at_half_load(floor=100.0, gateway=250.0)
        self.assertEqual((goal["value"], goal["met"]), (150.0, True))
        goal, _ = at_half_load(floor=100.0, gateway=2100.0)
        self.assertEqual((goal["value"], goal["met"]), (2000.0, False))

    def test_without_the_floor_has_its_row_and_no_goal_met(self):
        goal, rows = at_half_load(gateway=250.0)
        self.assertIsNone(goal["met"])
        self.assertEqual(
            [(row["variant"], row["per_floor"]) for row in rows], [("gateway half load", None)]
        )

    def test_without_the_gateway_is_not_measured(self):
        goal, rows = at_half_load(floor=100.0)
        self.assertIsNone(goal["met"])
        self.assertEqual(len(rows), 1)

    def test_on_a_busy_machine_is_not_measured(self):
        self.assertIsNone(at_half_load(floor=94_500.0, gateway=100.0)[0]["met"])
        self.assertIsNone(at_half_load(floor=2100.0, gateway=2200.0)[0]["met"])


class Fleet(unittest.TestCase):
    @staticmethod
    def added_p50(local, forwarded):
        report = Report("fleet", {}, {})
        results = {
            (variant, 1): {"cpu_us": 5.0, "rate": 1000.0, "p50_us": p50, "failures": 0}
            for variant, p50 in ((fleet.LOCAL, local), (fleet.AT_HOME, forwarded))
        }
        fleet.set_goals(results, [1], report)
        return next(goal for goal in report.goals if "p50" in goal["name"])

    def test_added_p50(self):
        self.assertEqual(self.added_p50(100.0, 180.0)["value"], 80.0)
        self.assertTrue(self.added_p50(100.0, 180.0)["met"])

    def test_added_p50_below_nothing_is_not_measured(self):
        self.assertIsNone(self.added_p50(180.0, 100.0)["met"])


if __name__ == "__main__":
    unittest.main()
