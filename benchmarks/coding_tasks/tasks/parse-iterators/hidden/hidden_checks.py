"""Check everything that parse reads."""

import io
import itertools
import unittest

from xmltodict import parse

CHUNKS = ["<a><b>", "1</b>", "<b>2</b></a>"]
EXPECTED = {"a": {"b": ["1", "2"]}}


class Parse(unittest.TestCase):
    def test_iterators_of_strings(self):
        self.assertEqual(parse(iter(CHUNKS)), EXPECTED)
        self.assertEqual(parse(map(str, CHUNKS)), EXPECTED)
        self.assertEqual(parse(itertools.chain(CHUNKS[:1], CHUNKS[1:])), EXPECTED)

    def test_iterator_of_bytes(self):
        self.assertEqual(parse(iter([chunk.encode() for chunk in CHUNKS])), EXPECTED)

    def test_generator(self):
        self.assertEqual(parse(chunk for chunk in CHUNKS), EXPECTED)

    def test_whole_documents(self):
        document = "".join(CHUNKS)
        self.assertEqual(parse(document), EXPECTED)
        self.assertEqual(parse(document.encode()), EXPECTED)
        self.assertEqual(parse(bytearray(document.encode())), EXPECTED)

    def test_file(self):
        self.assertEqual(parse(io.BytesIO("".join(CHUNKS).encode())), EXPECTED)

    def test_streaming(self):
        items = []
        parse(iter(CHUNKS), item_depth=2, item_callback=lambda _, item: items.append(item) or True)
        self.assertEqual(items, ["1", "2"])


if __name__ == "__main__":
    unittest.main()
