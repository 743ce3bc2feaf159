"""Check parse_file with plain and compressed files."""

import gzip
import os
import pathlib
import tempfile
import unittest

from xmltodict import parse_file

DOCUMENT = "<a><b>Größe</b></a>"
EXPECTED = {"a": {"b": "Größe"}}


class ParseFile(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def write(self, name, content):
        path = os.path.join(self.folder, name)
        with open(path, "wb") as file:
            file.write(content)
        return path

    def test_plain_file(self):
        path = self.write("a.xml", DOCUMENT.encode())
        self.assertEqual(parse_file(path), EXPECTED)
        self.assertEqual(parse_file(pathlib.Path(path)), EXPECTED)

    def test_compressed_file(self):
        content = gzip.compress(DOCUMENT.encode())
        self.assertEqual(parse_file(self.write("a.xml.gz", content)), EXPECTED)
        self.assertEqual(parse_file(pathlib.Path(self.write("b.xml", content))), EXPECTED)

    def test_plain_file_with_the_other_ending(self):
        self.assertEqual(parse_file(self.write("a.xml.gz", DOCUMENT.encode())), EXPECTED)

    def test_declared_encoding(self):
        text = '<?xml version="1.0" encoding="iso-8859-1"?>' + DOCUMENT
        content = text.encode("iso-8859-1")
        self.assertEqual(parse_file(self.write("a.xml", content)), EXPECTED)
        self.assertEqual(parse_file(self.write("b", gzip.compress(content))), EXPECTED)

    def test_keyword_arguments(self):
        expected = {"a": {"b": ["Größe"]}}
        for content in (DOCUMENT.encode(), gzip.compress(DOCUMENT.encode())):
            path = self.write("a.xml", content)
            self.assertEqual(parse_file(path, force_list=("b",)), expected)


if __name__ == "__main__":
    unittest.main()
