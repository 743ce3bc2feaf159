"""Markdown of other programs, as blocks with their lines, and the part of YAML that is read."""

from __future__ import annotations

import pytest

from memory_fabric.importing.markdown import Block, frontmatter, parse, plain

HEAD = """---
name: "no-mocks"
description: >
  first line
  # Note: second line
tags: [coffee, 'tea' , ]
paths:
  - src/api
  - "src/web"
metadata:
  type: feedback
  node:  x
url: http://x/y
mark: "
odd: "a'
...
"""
BODY = """Intro goes
over two lines.
# Shop ##
## Commands:
- first
  wrapped
  - nested
- [x] second
1. third
* * *
+ fourth
 - fifth

Text
    - after text
~~~
- code
```
~~~
<!-- one line -->
after comment
<!-- begin
- hidden
end -->
#no heading
"""


def test_frontmatter_is_read_with_quotes_lists_nested_keys_and_text_in_later_lines() -> None:
    assert parse(HEAD).head == {
        "name": "no-mocks",
        "description": "first line # Note: second line",
        "tags": "coffee, tea",
        "paths": "src/api, src/web",
        "metadata": "",
        "metadata.type": "feedback",
        "metadata.node": "x",
        "url": "http://x/y",
        "mark": '"',
        "odd": "\"a'",
    }


@pytest.mark.parametrize(
    ("lines", "values", "first"),
    [
        ([], {}, 0),
        (["a: b", "---"], {}, 0),
        (["---", "a: b"], {}, 0),
        (["---", "---"], {}, 2),
        (["--- ", "- x", "a: b", "---  ", "z"], {"a": "b"}, 4),
    ],
)
def test_frontmatter_begins_in_the_first_line_and_must_end(
    lines: list[str], values: dict[str, str], first: int
) -> None:
    assert frontmatter(lines) == (values, first)


def test_markdown_is_split_into_bullets_and_paragraphs_with_their_lines_and_headings() -> None:
    page = parse("\ufeff" + (HEAD + BODY).replace("\n", "\r\n"))

    def item(line: int, *lines: str) -> Block:
        return Block(" ".join(lines), line, "Commands", True, lines)

    text = ("after text", "after comment", "#no heading")
    assert page.title == "Shop"
    assert page.blocks == (
        Block("Intro goes over two lines.", 17, lines=("Intro goes", "over two lines.")),
        item(21, "first", "wrapped", "nested"),
        item(24, "second"),
        item(25, "third"),
        item(27, "fourth"),
        item(28, "fifth"),
        Block("Text", 30, "Commands", lines=("Text",)),
        item(31, *text),
    )


def test_only_an_item_that_is_indented_by_two_more_spaces_belongs_to_the_item_above() -> None:
    found = parse("  - a\n   - b\n     - c\n      d").blocks

    assert [(block.line, block.lines) for block in found] == [(1, ("a",)), (2, ("b", "c", "d"))]


def test_text_before_an_unclosed_code_block_is_kept() -> None:
    assert parse("").blocks == ()
    assert parse("- Text\n```\ncode").blocks == (Block("Text", 1, "", True, ("Text",)),)


def test_bold_markers_and_links_are_replaced_by_their_text() -> None:
    assert plain(" **a** __b__ [[c]] [d](e) ") == "a b c d"
