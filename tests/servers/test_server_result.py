"""The answer of a tool, in its form on the wire."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_fabric.servers.mcp.jsonrpc import (
    INVALID_PARAMS,
    MAX_ANSWER_CHARS,
    NOTE_CHARS,
    Fault,
    Outcome,
    as_json,
    error,
    line_of,
    whole_text,
    wire,
    within,
)

# As orjson takes it: texts without half a surrogate pair.
TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=15,
)


@pytest.mark.behaviour("MEM-15c")
@settings(max_examples=50)
@given(JSON)
def test_a_value_is_written_as_by_json_stringify_with_two_spaces(value: Any) -> None:
    assert as_json(value) == orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()


def test_lines_that_fit_exactly_are_all_returned_and_those_that_do_not_are_counted() -> None:
    room = MAX_ANSWER_CHARS - NOTE_CHARS
    lines = ["x" * (room // 2 - 1)] * 2  # each line ends with a newline

    assert within(lines, "Ask.") == "\n".join(lines)
    longer = [lines[0], lines[1] + "x", "short"]
    assert within(longer, "Ask.") == f"{lines[0]}\n2 more left out for length: Ask."
    assert within(["ab", "cd"], "Ask.", NOTE_CHARS + 5).startswith("ab\n1 more left out")
    assert within(["ab", "cd"], "Ask.", NOTE_CHARS + 6) == "ab\ncd"
    assert within([], "Ask.") == ""


def test_an_answer_has_structure_and_a_mark_of_failure_only_if_it_needs_them() -> None:
    content = {"content": [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]}

    assert wire(Outcome(("one", "two"))) == content
    assert wire(Outcome(("one", "two"), {})) == {**content, "structuredContent": {}}
    assert wire(Outcome(("one", "two"), failed=True)) == {**content, "isError": True}


def test_an_error_contains_its_data_unless_there_is_none() -> None:
    bare = {"code": INVALID_PARAMS, "message": "no"}

    assert error(Fault(INVALID_PARAMS, "no"), 7) == {"jsonrpc": "2.0", "id": 7, "error": bare}
    assert error(Fault(INVALID_PARAMS, "no", ""), None)["error"] == {**bare, "data": ""}


def test_a_message_is_one_line_of_utf8_even_if_a_text_has_half_a_surrogate_pair() -> None:
    assert line_of({"a": "ä\n"}) == b'{"a": "\xc3\xa4\\n"}\n'
    assert line_of({"a": "\ud83d"}) == b'{"a": "\\ud83d"}\n'


def test_half_a_surrogate_pair_is_replaced_in_texts_and_keys() -> None:
    assert whole_text({"a\ud83d": ["\udc00", "ä🎉", "plain", 7]}) == {
        "a\ufffd": ["\ufffd", "ä🎉", "plain", 7]
    }
