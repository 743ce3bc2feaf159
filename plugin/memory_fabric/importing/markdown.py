"""A Markdown parser for memories: frontmatter, headings, bullets, paragraphs. Code blocks and
comments are left out. Of YAML, only `key: value`, lists and nested keys (joined by dots) are read.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

_HEADING = re.compile(r"#{1,6}[ \t]")
# The beginning of a list item: a number, or a bullet that may have a check box.
_BULLET = re.compile(r"^(?:[-*+] \s*(?:\[[ xX]\] )?|\d+\. \s*)")
_LINK = re.compile(r"\[([^\[]*?)\]\([^)]{0,1000}\)")  # bounded: many links may be unclosed
CODE = ("```", "~~~")
# A line with at least this many spaces of indentation belongs to the bullet above it.
_NESTED_FROM = 2


class Block(NamedTuple):
    """A bullet or paragraph. `text` joins `lines`, without list markers; `line` counts from 1."""

    text: str
    line: int
    heading: str = ""
    is_bullet: bool = False
    lines: tuple[str, ...] = ()


class Page(NamedTuple):
    """A parsed Markdown text: its frontmatter, its first heading, and its blocks in order."""

    head: dict[str, str]
    title: str
    blocks: tuple[Block, ...]


def parse(text: str) -> Page:
    """Split a Markdown text into its frontmatter and blocks."""
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    head, first = frontmatter(lines)
    title = next((line.strip("# \t") for line in lines[first:] if line.startswith("# ")), "")
    blocks: list[Block] = []
    heading, code, is_comment, base = "", "", False, 0
    lines_of_block: list[str] = []
    began, is_bullet = 0, False
    for number, line in enumerate([*lines[first:], ""], first + 1):
        bare = line.strip()
        if code or bare.startswith(CODE):
            code = bare[:3] if not code else "" if bare.startswith(code) else code
            continue
        if is_comment or bare.startswith("<!--"):
            is_comment = "-->" not in bare
            continue
        is_heading, is_empty = bool(_HEADING.match(bare)), not bare.strip("-*_=# \t")
        indent = len(line) - len(line.lstrip())
        text = _BULLET.sub("", bare)
        starts = text != bare and (not is_bullet or indent < base + _NESTED_FROM)
        if lines_of_block and (is_heading or starts or is_empty):
            texts = tuple(lines_of_block)
            blocks.append(Block(" ".join(texts), began, heading, is_bullet, texts))
            lines_of_block, is_bullet = [], False
        if is_heading:
            heading = bare.strip("# \t").rstrip(":")
        elif not is_empty:
            if not lines_of_block:
                began, is_bullet, base = number, text != bare, indent
            lines_of_block.append(text)
    if lines_of_block:  # the last text, if a code block or comment after it was never closed
        texts = tuple(lines_of_block)
        blocks.append(Block(" ".join(texts), began, heading, is_bullet, texts))
    return Page(head, title, tuple(blocks))


def frontmatter(lines: Sequence[str]) -> tuple[dict[str, str], int]:
    """Return the frontmatter's values by key, and the index of the first line after it."""
    if not lines or lines[0].rstrip() != "---":
        return {}, 0
    end = next((i for i, line in enumerate(lines[1:], 1) if line.rstrip() in ("---", "...")), 0)
    if not end:
        return {}, 0
    values: dict[str, str] = {}
    above = ""
    for line in lines[1:end]:
        bare = line.strip()
        if bare.startswith("- ") and above:
            values[above] = ", ".join(filter(None, (values.get(above, ""), _value(bare[2:]))))
            continue
        key, colon, value = bare.partition(":")
        if not colon or bare.startswith("#"):
            if above and bare:
                values[above] = f"{values.get(above, '')} {bare}".strip()
            continue
        is_nested = line[:1] in " \t" and above
        above = f"{above.split('.')[0]}.{key.strip()}" if is_nested else key.strip()
        # These YAML values mean that the text follows in the next lines.
        values[above] = "" if value.strip() in ("|", ">", "|-", ">-", "|+", ">+") else _value(value)
    return values, end + 1


def _value(text: str) -> str:
    bare = text.strip()
    if len(bare) > 1 and bare[0] == bare[-1] and bare[0] in "\"'":
        return bare[1:-1]
    if bare.startswith("[") and bare.endswith("]"):
        return ", ".join(_value(part) for part in bare[1:-1].split(",") if part.strip())
    return bare


def plain(text: str) -> str:
    """Return Markdown text without bold markers, and with each link replaced by its text."""
    for sign in ("**", "__", "[[", "]]"):
        text = text.replace(sign, "")
    return _LINK.sub(r"\1", text).strip()
