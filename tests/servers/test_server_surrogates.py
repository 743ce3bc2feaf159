"""Lone surrogates out of a line of JSON, and nothing else changed."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_fabric.servers.surrogates import whole_surrogates


@pytest.mark.behaviour("MEM-11e")
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (r'"\ud83d"', r'"\ufffd"'),
        (r'"\uDE00 after"', r'"\ufffd after"'),
        (r'"\ud83d\ude00"', r'"\ud83d\ude00"'),
        (r'"\uD83D\uDE00"', r'"\uD83D\uDE00"'),
        (r'"\ud83d\ud83d\ude00"', r'"\ufffd\ud83d\ude00"'),
        (r'"\ude00\ud83d"', r'"\ufffd\ufffd"'),
        (r'"\\ud83d"', r'"\\ud83d"'),
        (r'"\\\ud83d"', r'"\\\ufffd"'),
        (r'"\\\\ud83d"', r'"\\\\ud83d"'),
        (r'"\u00e9\n\ud7ff\ue000"', r'"\u00e9\n\ud7ff\ue000"'),
    ],
)
def test_mem_11_only_a_lone_surrogate_escape_is_replaced(line: str, expected: str) -> None:
    assert whole_surrogates(line) == expected


@given(st.text(st.characters(exclude_categories=[])))
def test_mem_11_every_text_survives_but_for_its_lone_surrogates(text: str) -> None:
    read = json.loads(whole_surrogates(json.dumps(text)))

    read.encode()
    units = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    assert read == units
