"""Check what read_stock makes of the fields of a feed."""

import unittest

from xmltodict import read_stock

ITEM = (
    "<item><article>4711</article><qty>12</qty><price>3.50</price>"
    "<reserved_qty>0</reserved_qty><weight>2</weight><name>Bolt</name></item>"
)
OTHER = "<item><article>0815</article><qty>7</qty><price>10</price></item>"


class ReadStock(unittest.TestCase):
    def setUp(self):
        self.items = read_stock(f"<stock>{ITEM}{OTHER}</stock>")

    def test_items(self):
        self.assertEqual(len(self.items), 2)
        self.assertEqual(self.items[0]["name"], "Bolt")

    def test_single_item(self):
        items = read_stock(f"<stock>{OTHER}</stock>")
        self.assertEqual(items, [{"article": "0815", "qty": 7, "price": "10"}])

    def test_quantities(self):
        values = [self.items[0]["qty"], self.items[0]["reserved_qty"], self.items[1]["qty"]]
        self.assertEqual(values, [12, 0, 7])
        self.assertEqual({type(value) for value in values}, {int})

    def test_other_fields(self):
        values = {key: self.items[0][key] for key in ("article", "price", "weight")}
        self.assertEqual(values, {"article": "4711", "price": "3.50", "weight": "2"})


if __name__ == "__main__":
    unittest.main()
