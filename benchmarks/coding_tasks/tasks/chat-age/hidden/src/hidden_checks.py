"""Check the ages that compactdelta writes."""

import unittest

from humanize.time import compactdelta

MINUTE, HOUR, DAY = 60, 3600, 86_400


class CompactDelta(unittest.TestCase):
    def test_below_a_minute(self):
        self.assertEqual([compactdelta(0), compactdelta(59)], ["<1'", "<1'"])

    def test_minutes(self):
        self.assertEqual(compactdelta(MINUTE), "1'")
        self.assertEqual(compactdelta(HOUR - 1), "59'")

    def test_hours(self):
        self.assertEqual(compactdelta(HOUR), "1h")
        self.assertEqual(compactdelta(3 * HOUR + 50 * MINUTE), "3h")

    def test_days(self):
        self.assertEqual(compactdelta(2 * DAY + 20 * HOUR), "2d")
        self.assertEqual(compactdelta(23 * DAY), "23d")


if __name__ == "__main__":
    unittest.main()
