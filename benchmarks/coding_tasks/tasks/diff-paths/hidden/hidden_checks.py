"""Check the paths and values of flatten."""

import unittest

from xmltodict import flatten, parse

ORDER = """<order id="7"><note/><customer kind="new">Ann</customer>
<item><sku>a</sku></item><item pos="2"><sku>b</sku><tag>x</tag><tag>y</tag></item></order>"""


class Flatten(unittest.TestCase):
    def setUp(self):
        self.flat = flatten(parse(ORDER))

    def test_elements(self):
        self.assertEqual(self.flat["order/customer/#text"], "Ann")
        self.assertEqual(self.flat["order/item/0/sku"], "a")
        self.assertEqual(self.flat["order/item/1/tag/1"], "y")

    def test_attributes(self):
        self.assertEqual(self.flat["order/@id"], "7")
        self.assertEqual(self.flat["order/item/1/@pos"], "2")

    def test_empty_elements(self):
        self.assertIsNone(self.flat["order/note"])

    def test_nothing_else(self):
        self.assertEqual(len(self.flat), 9)


if __name__ == "__main__":
    unittest.main()
