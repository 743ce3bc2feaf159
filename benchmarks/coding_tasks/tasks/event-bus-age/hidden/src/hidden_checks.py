"""Check naturalage with ages as the event bus sends them."""

import unittest

from humanize.time import naturalage


class NaturalAge(unittest.TestCase):
    def test_minutes_and_hours(self):
        self.assertEqual(naturalage(15_000), "5 minutes ago")
        self.assertEqual(naturalage(360_000), "2 hours ago")

    def test_seconds(self):
        self.assertEqual(naturalage(2_250), "45 seconds ago")

    def test_just_happened(self):
        self.assertEqual(naturalage(0), "now")

    def test_age_that_the_bus_does_not_know(self):
        self.assertEqual(naturalage(-1), "some time ago")


if __name__ == "__main__":
    unittest.main()
