"""Check the files that write_order leaves for the import server."""

import os
import tempfile
import unittest

import xmltodict

ORDER = {"order": {"@id": "7", "customer": "Andrée Müller", "line": [{"sku": "A"}, {"sku": "B"}]}}


class WriteOrder(unittest.TestCase):
    def setUp(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "order.xml")
            xmltodict.write_order(ORDER, path)
            with open(path, "rb") as file:
                self.content = file.read()

    def test_content(self):
        self.assertEqual(xmltodict.parse(self.content), ORDER)

    def test_encoding(self):
        self.assertNotIn("é".encode(), self.content)
        self.assertFalse(self.content.startswith(b"\xef\xbb\xbf"))

    def test_line_ends(self):
        self.assertNotIn(b"\n", self.content.replace(b"\r\n", b""))
        self.assertNotIn(b"\r", self.content.replace(b"\r\n", b""))

    def test_last_byte(self):
        self.assertNotIn(self.content[-1:], (b"\n", b"\r"))


if __name__ == "__main__":
    unittest.main()
