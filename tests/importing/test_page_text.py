"""The text of a memory page: its mark, its items, its data and its escapes."""

from __future__ import annotations

from pathlib import Path

from memory_fabric.importing import page, page_restore
from memory_fabric.importing.page import Item

HAND_MADE = """of shop -->
# Memories
- out
text
## Rules

- One
  more

    deep
  *Why:* because
  so
  *2026* <!-- id1 -->
- Two

-
  <!-- id2 -->
* star
  - Inner
    *Why:*
    x
    <!-- o3 -->
- Three
## Notes
- Four
outside
- Five
  <!--  -->
# End
- Six
"""


def test_items_of_a_page_edited_by_hand_end_where_a_reader_sees_their_end() -> None:
    data = '\n{"a": 1}\nnope\n\n{"signature": "s"}\n-->\n{"b": 2}\n'

    found = page.read("\ufeff" + page.MARK + HAND_MADE + page.DATA + data)

    assert found.items == (
        Item("", "out"),
        Item("Rules", "One\nmore\n\n  deep", "because\nso", "id1"),
        Item("Rules", "Two"),
        Item("Rules", "", "", "id2"),
        Item("Rules", "Inner", "\nx", "o3"),
        Item("Rules", "Three"),
        Item("Notes", "Four"),
        Item("Notes", "Five\n<!--  -->"),
        Item("Notes", "Six"),
    )
    assert (found.head, found.data) == ("of shop", ({"a": 1},))
    assert (found.signature, found.torn) == ("s", 1)


def test_only_the_last_comment_with_data_of_a_page_is_read() -> None:
    text = f'{page.MARK}of x -->\n{page.DATA}\n- One\n{page.DATA}\n{{"a": 1}}\n-->\n'

    found = page.read(text)

    assert (found.items, found.data) == ((Item("", "One"),), ({"a": 1},))
    assert page.read("").items == () and page.read("").data == ()


def test_a_page_is_escaped_so_that_names_cannot_end_its_comments_or_lines() -> None:
    assert page.page_name("a-->b") == "a- ->b"
    assert page.inline("<b> & *x*\ny\r") == "&lt;b> &amp; &#42;x&#42; y&#13;"
    assert page.item_lines("- a\n\n 2. b \n3. c", "# d", "<e>", "1a", "  ") == [
        "  - \\- a",
        "",
        "    &#32;2. b&#32;",
        "    3\\. c",
        "    *Why:* \\# d",
        "    *&lt;e>* <!-- 1a -->",
    ]
    assert page.item_lines("a", "", "", "o1") == ["- a", "  <!-- o1 -->"]


def test_only_a_file_that_begins_with_the_mark_is_a_page(tmp_path: Path) -> None:
    texts = {"a.md": page.MARK, "b.md": "\ufeff" + page.MARK, "c.md": " " + page.MARK, "d.md": ""}
    for name, text in texts.items():
        (tmp_path / name).write_text(text, "utf-8")

    assert [name for name in texts if page_restore.is_page(str(tmp_path / name))] == [
        "a.md",
        "b.md",
    ]
    assert not page_restore.is_page(str(tmp_path))
    assert not page_restore.is_page(str(tmp_path / "none.md"))
