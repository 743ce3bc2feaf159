"""Check the suffixes of ordinals below and above zero."""

import unittest

from humanize.number import ordinal

EXPECTED = {
    0: "0th",
    1: "1st",
    2: "2nd",
    3: "3rd",
    4: "4th",
    9: "9th",
    11: "11th",
    12: "12th",
    13: "13th",
    22: "22nd",
    101: "101st",
    111: "111th",
    112: "112th",
    1003: "1003rd",
}


class Ordinal(unittest.TestCase):
    def test_positive(self):
        self.assertEqual({number: ordinal(number) for number in EXPECTED}, EXPECTED)

    def test_negative(self):
        for number, text in EXPECTED.items():
            if number:
                self.assertEqual(ordinal(-number), f"-{text}")

    def test_negative_of_both_genders(self):
        self.assertEqual(ordinal(-1, gender="male"), "-1st")
        self.assertEqual(ordinal(-22, gender="female"), "-22nd")

    def test_negative_text(self):
        self.assertEqual(ordinal("-3"), "-3rd")
        self.assertEqual(ordinal("third"), "third")


if __name__ == "__main__":
    unittest.main()
