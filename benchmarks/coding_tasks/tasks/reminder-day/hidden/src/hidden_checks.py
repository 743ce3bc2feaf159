"""Check the days that reminder_day writes."""

import datetime as dt
import unittest

from humanize.time import naturalday, reminder_day

TODAY = dt.date(2025, 3, 10)


class ReminderDay(unittest.TestCase):
    def check(self, days, text):
        self.assertEqual(reminder_day(TODAY + dt.timedelta(days=days), TODAY), text)

    def test_days_with_a_name(self):
        self.check(0, "today")
        self.check(1, "tomorrow")
        self.check(-1, "yesterday")

    def test_other_days(self):
        self.check(2, "Mar 12")
        self.check(-2, "Mar 08")
        self.check(30, "Apr 09")

    def test_naturalday_is_as_before(self):
        self.assertEqual(naturalday(dt.date(1990, 1, 5)), "Jan 05")


if __name__ == "__main__":
    unittest.main()
