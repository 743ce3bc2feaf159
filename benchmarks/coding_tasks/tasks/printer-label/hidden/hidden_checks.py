"""Check the files that write_label leaves for the spooler."""

import os
import tempfile
import unittest

import xmltodict

LABEL = {"label": {"@size": "A6", "street": "Lange Straße 7", "city": "Łódź", "line": ["1", "2"]}}


class WriteLabel(unittest.TestCase):
    def setUp(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "label.xml")
            xmltodict.write_label(LABEL, path)
            with open(path, "rb") as file:
                self.content = file.read()

    def test_content(self):
        self.assertEqual(xmltodict.parse(self.content), LABEL)

    def test_indented(self):
        lines = self.content.decode().splitlines()
        self.assertTrue(any(line.startswith((" ", "\t")) for line in lines), lines)

    def test_ordinary_line_ends(self):
        self.assertNotIn(b"\r", self.content)

    def test_complete_document(self):
        self.assertTrue(self.content.startswith(b"<?xml"), self.content)


if __name__ == "__main__":
    unittest.main()
