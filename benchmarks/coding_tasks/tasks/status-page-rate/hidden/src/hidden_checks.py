"""Check naturalrate at all of its units."""

import unittest

from humanize.number import naturalrate


class NaturalRate(unittest.TestCase):
    def test_per_second(self):
        self.assertEqual(naturalrate(1500, 60), "25.0/s")
        self.assertEqual(naturalrate(60, 60), "1.0/s")
        self.assertEqual(naturalrate(1925, 10), "192.5/s")

    def test_per_minute(self):
        self.assertEqual(naturalrate(48, 60), "48.0/min")
        self.assertEqual(naturalrate(2, 60), "2.0/min")

    def test_per_hour(self):
        self.assertEqual(naturalrate(3, 3600), "3.0/h")
        self.assertEqual(naturalrate(12, 7200), "6.0/h")

    def test_nothing(self):
        self.assertEqual(naturalrate(0, 60), "idle")


if __name__ == "__main__":
    unittest.main()
