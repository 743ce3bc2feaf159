"""Check parse_feed with characters that XML forbids, and without."""

import unittest

from xmltodict import parse, parse_feed


def text_of(content):
    return parse_feed(f"<feed><name>{content}</name></feed>")["feed"]["name"]


class ParseFeed(unittest.TestCase):
    def test_ordinary_feed(self):
        feed = '<feed kind="full"><item>Bolt &amp; nut</item><item>Größe</item><note/></feed>'
        self.assertEqual(parse_feed(feed), parse(feed))

    def test_control_character(self):
        self.assertEqual(text_of("12\x0b3"), "12_3")

    def test_several_control_characters(self):
        self.assertEqual(text_of("a\x00\x01b\x1fc\x08d"), "a__b_c_d")

    def test_white_space_is_kept(self):
        self.assertEqual(text_of("a\tb\nc"), "a\tb\nc")


if __name__ == "__main__":
    unittest.main()
