"""Check how unparse_batches divides rows among documents."""

import unittest

from xmltodict import parse, unparse_batches


def numbers(document):
    rows = parse(document, force_list=("row",))["rows"]["row"]
    return [int(row["number"]) for row in rows]


def batches(count):
    documents = unparse_batches([{"number": str(number)} for number in range(count)])
    return [numbers(document) for document in documents]


class UnparseBatches(unittest.TestCase):
    def test_few_rows(self):
        self.assertEqual(batches(3), [[0, 1, 2]])

    def test_full_documents(self):
        self.assertEqual([len(batch) for batch in batches(540)], [180, 180, 180])

    def test_one_row_too_many(self):
        sizes = [len(batch) for batch in batches(181)]
        self.assertEqual(len(sizes), 2)
        self.assertLessEqual(max(sizes), 180)

    def test_order(self):
        numbers_in_order = [number for batch in batches(400) for number in batch]
        self.assertEqual(numbers_in_order, list(range(400)))


if __name__ == "__main__":
    unittest.main()
