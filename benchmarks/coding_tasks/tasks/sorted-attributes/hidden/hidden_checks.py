"""Check the order of attributes and elements that unparse writes."""

import io
import unittest

from xmltodict import unparse

DOCUMENT = {
    "z": {
        "@c": "1",
        "@a": "2",
        "y": [{"@q": "3", "@p": "4", "#text": "5"}, {"@b": "6"}],
        "@b": "7",
        "x": {"w": {"@n": "8", "@m": "9"}},
    }
}
SORTED = '<z a="2" b="7" c="1"><y p="4" q="3">5</y><y b="6"></y><x><w m="9" n="8"></w></x></z>'
AS_GIVEN = '<z c="1" a="2" b="7"><y q="3" p="4">5</y><y b="6"></y><x><w n="8" m="9"></w></x></z>'


def unparsed(**options):
    return unparse(DOCUMENT, full_document=False, **options)


class Unparse(unittest.TestCase):
    def test_sorted(self):
        self.assertEqual(unparsed(sort_attributes=True), SORTED)

    def test_not_sorted(self):
        self.assertEqual(unparsed(), AS_GIVEN)
        self.assertEqual(unparsed(sort_attributes=False), AS_GIVEN)

    def test_sorted_and_indented(self):
        lines = unparsed(sort_attributes=True, pretty=True).split("\n")
        self.assertEqual("".join(line.strip() for line in lines), SORTED)

    def test_sorted_into_a_file(self):
        output = io.StringIO()
        unparsed(sort_attributes=True, output=output)
        self.assertEqual(output.getvalue(), SORTED)


if __name__ == "__main__":
    unittest.main()
