"""Check the records that read_counts returns."""

import unittest

from xmltodict import read_counts


def file_of(*records):
    rows = (f"<count><shelf>{s}</shelf><pieces>{p}</pieces></count>" for s, p in records)
    return f"<counts>{''.join(rows)}</counts>"


class ReadCounts(unittest.TestCase):
    def check(self, *records):
        expected = [{"shelf": shelf, "pieces": pieces} for shelf, pieces in records]
        self.assertEqual(read_counts(file_of(*records)), expected)

    def test_records(self):
        self.check(("A1", "40"), ("A2", "7"), ("B1", "0"))

    def test_same_count_again(self):
        self.check(("A1", "40"), ("A2", "7"), ("A2", "7"))
        self.check(("A1", "40"), ("A1", "40"), ("A2", "7"))

    def test_single_record(self):
        self.check(("A1", "40"))

    def test_no_record(self):
        self.assertEqual(read_counts("<counts></counts>"), [])
        self.assertEqual(read_counts("<counts/>"), [])


if __name__ == "__main__":
    unittest.main()
