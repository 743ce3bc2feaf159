"""Check naturalsize with None, and that numbers are as before."""

import unittest

from humanize.filesize import naturalsize


class NaturalSize(unittest.TestCase):
    def test_unknown_size(self):
        self.assertEqual(naturalsize(None), "n/k")

    def test_unknown_size_in_other_modes(self):
        self.assertEqual(naturalsize(None, binary=True), "n/k")
        self.assertEqual(naturalsize(None, gnu=True), "n/k")
        self.assertEqual(naturalsize(None, format="%.3f"), "n/k")

    def test_numbers(self):
        self.assertEqual(naturalsize(0), "0 Bytes")
        self.assertEqual(naturalsize(3_000_000), "3.0 MB")
        self.assertEqual(naturalsize("3000", binary=True), "2.9 KiB")
        self.assertEqual(naturalsize(3000, gnu=True), "2.9K")


if __name__ == "__main__":
    unittest.main()
