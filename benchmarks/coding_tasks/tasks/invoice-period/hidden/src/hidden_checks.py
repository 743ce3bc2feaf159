"""Check the periods that naturalperiod writes."""

import datetime as dt
import unittest

from humanize.time import naturalperiod


class NaturalPeriod(unittest.TestCase):
    def test_within_a_month(self):
        text = naturalperiod(dt.date(2025, 3, 3), dt.date(2025, 3, 9))
        self.assertEqual(text, "03.03.2025 .. 09.03.2025")

    def test_over_the_end_of_a_year(self):
        text = naturalperiod(dt.date(2024, 12, 30), dt.date(2025, 1, 12))
        self.assertEqual(text, "30.12.2024 .. 12.01.2025")

    def test_single_day(self):
        day = dt.date(2025, 3, 3)
        self.assertEqual(naturalperiod(day, day), "03.03.2025")


if __name__ == "__main__":
    unittest.main()
