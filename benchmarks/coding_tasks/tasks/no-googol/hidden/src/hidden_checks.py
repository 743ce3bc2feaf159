"""Check intword around and far above a googol."""

import unittest

from humanize.number import intword, scientific

GOOGOL = 10**100


class IntWord(unittest.TestCase):
    def test_googols(self):
        self.assertEqual(intword(GOOGOL), "1.00 x 10¹⁰⁰")
        self.assertEqual(intword(3 * GOOGOL * 100), scientific(3 * GOOGOL * 100))
        self.assertEqual(intword(str(GOOGOL)), scientific(GOOGOL))

    def test_negative_googols(self):
        self.assertEqual(intword(-2 * GOOGOL), "-2.00 x 10¹⁰⁰")

    def test_smaller_values(self):
        self.assertEqual(intword(0), "0")
        self.assertEqual(intword("12400"), "12.4 thousand")
        self.assertEqual(intword(-1_200_000), "-1.2 million")
        self.assertEqual(intword(999_999_999), "1.0 billion")
        self.assertEqual(intword(81 * 10**32), "8.1 decillion")
        self.assertEqual(intword(10**36), "1000.0 decillion")

    def test_no_number(self):
        self.assertEqual(intword("many"), "many")
        self.assertEqual(intword(float("inf")), "+Inf")


if __name__ == "__main__":
    unittest.main()
