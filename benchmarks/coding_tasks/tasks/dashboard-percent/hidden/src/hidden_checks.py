"""Check naturalpercent over its whole range."""

import unittest

from humanize.number import naturalpercent


class NaturalPercent(unittest.TestCase):
    def test_examples(self):
        self.assertEqual(naturalpercent(0.1234), "12.3%")
        self.assertEqual(naturalpercent(0.5, 0), "50%")

    def test_digits(self):
        self.assertEqual(naturalpercent(0.98765, 2), "98.77%")
        self.assertEqual(naturalpercent(0.25, digits=3), "25.000%")

    def test_above_one(self):
        self.assertEqual(naturalpercent(1.5), "150.0%")

    def test_very_small(self):
        self.assertEqual(naturalpercent(0.004), "0.4%")
        self.assertEqual(naturalpercent(0), "0.0%")

    def test_negative(self):
        self.assertEqual(naturalpercent(-0.25), "-25.0%")


if __name__ == "__main__":
    unittest.main()
