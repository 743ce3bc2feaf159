"""Graphs made by hand, and names that want to be something else."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from hypothesis import strategies as st

HOSTILE = (
    'say "hello"',
    "a]b[c](d){e}",
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "end",
    "subgraph",
    "back\\slash",
    "ends with \\",
    '\\"',
    "two\nlines\r\nand\u2028more",
    "tab\tand\x00null\x1b[31m",
    "&amp; &lt; &#35; #quot;",
    "%%{init: {}}%%",
    "%% no comment",
    "// no comment",
    "a --> b; c",
    'n0["other"]',
    "- list",
    "1. list",
    "`code` **bold** _slanted_",
    "www.example.com",
    "style n0 fill:#f00;",
    "\u200b\u200d",
    "\u202eright to left",
    " ",
    "",
    "名前 имя 🙂 é",
    "x" * 500,
)


def picture_of(
    names: Sequence[str],
    relations: Iterable[tuple[int, str, int]] = (),
    *,
    kinds: Sequence[str] = (),
) -> dict[str, Any]:
    """A picture of these entities, as far as a drawing looks at one."""
    types = kinds or ["component"] * len(names)
    return {
        "entities": [
            {"name": name, "type": kind, "aliases": []}
            for name, kind in zip(names, types, strict=True)
        ],
        "relations": [{"from": a, "to": b, "type": kind} for a, kind, b in relations],
        "left_out": {"entities": 0, "relations": 0},
    }


@st.composite
def graphs(draw: st.DrawFn) -> dict[str, Any]:
    """Any graph, with any text in its names and types."""
    names = draw(st.lists(st.text(), max_size=12))
    kinds = draw(st.lists(st.text(), min_size=len(names), max_size=len(names)))
    number = st.integers(0, max(0, len(names) - 1))
    edges = st.lists(st.tuples(number, st.text(), number), max_size=20 if names else 0)
    return picture_of(names, draw(edges), kinds=kinds)
