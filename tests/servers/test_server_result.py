"""The answer of a tool, in its form on the wire."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_fabric.servers.mcp.jsonrpc import as_json

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
