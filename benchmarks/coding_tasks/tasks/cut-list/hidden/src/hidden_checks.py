"""Check natural_list with and without a limit."""

import unittest

from humanize.lists import natural_list

COLOURS = ["red", "green", "blue", "white", "black", "grey"]


class NaturalList(unittest.TestCase):
    def test_without_limit(self):
        self.assertEqual(natural_list(COLOURS[:3]), "red, green and blue")
        self.assertEqual(natural_list([]), "")

    def test_list_within_the_limit(self):
        self.assertEqual(natural_list(COLOURS[:3], limit=3), "red, green and blue")
        self.assertEqual(natural_list(COLOURS[:1], limit=3), "red")

    def test_longer_list(self):
        self.assertEqual(natural_list(COLOURS, limit=2), "red, green (+4)")
        self.assertEqual(natural_list(iter(COLOURS[:3]), limit=1), "red (+2)")

    def test_longer_list_by_one(self):
        self.assertEqual(natural_list(COLOURS[:3], limit=2), "red, green and blue")
        self.assertEqual(natural_list(COLOURS[:2], limit=1), "red and green")


if __name__ == "__main__":
    unittest.main()
