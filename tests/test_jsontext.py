"""JSON without the package: the same values, the same texts, the same refusals."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_fabric import jsontext

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(VALUES, st.booleans(), st.booleans())
def test_what_is_written_is_what_the_package_writes(
    value: Any, ascii_only: bool, sort_keys: bool
) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, sort_keys=sort_keys)
    assert jsontext.dumps(value, ensure_ascii=ascii_only, sort_keys=sort_keys) == text
    assert jsontext.loads(f" \t\r\n{text}\n") == value


@given(st.text() | st.text(alphabet='{}[]":,0123456789.eE+-truefalsn\\ud8 \n'))
def test_what_is_read_is_what_the_package_reads(text: str) -> None:
    try:
        expected = json.loads(text)
    except ValueError:
        with pytest.raises(ValueError):
            jsontext.loads(text)
        return
    assert repr(jsontext.loads(text)) == repr(expected)


def test_constants_and_tuples_are_read_and_written() -> None:
    assert math.isnan(jsontext.loads("NaN")) and jsontext.loads("-Infinity") == -math.inf
    assert jsontext.dumps((1, ("a",))) == '[1, ["a"]]'


def test_what_json_has_no_form_for_is_refused() -> None:
    with pytest.raises(TypeError):
        jsontext.dumps({"a": {1}})
    with pytest.raises(RecursionError):
        jsontext.loads("[" * 100_000)


def test_a_compiled_half_that_is_made_otherwise_is_refused_at_once() -> None:
    class Otherwise:
        make_scanner = make_encoder = encode_basestring = encode_basestring_ascii = len

    with pytest.raises(TypeError):
        jsontext.compiled(Otherwise)
    with pytest.raises(AttributeError):
        jsontext.compiled(object())


def test_without_the_compiled_half_the_package_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    assert jsontext.loads is not json.loads  # else every hook pays for the package
    monkeypatch.setitem(sys.modules, "_json", None)
    source = Path(jsontext.__file__).read_text("utf-8")
    names: dict[str, Any] = {"__name__": "jsontext_without"}
    exec(compile(source, jsontext.__file__, "exec"), names)
    assert names["loads"] is json.loads and names["dumps"] is json.dumps
