"""JSON by the compiled half of the standard library's `json`, as `loads` and `dumps`.

The package `json` brings `re`, and with it `enum`: half a bare start, in every hook. Where the
interpreter has no compiled half, or another than we know, the package itself answers.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

WHITE_SPACE = " \t\n\r"


class _Context:
    """What the compiled scanner asks its maker: the defaults of `json.loads`."""

    strict = True
    object_hook = object_pairs_hook = None
    parse_float, parse_int = float, int
    parse_constant = {
        "NaN": float("nan"),
        "Infinity": float("inf"),
        "-Infinity": -float("inf"),
    }.__getitem__


def loads(text: str) -> Any:
    """The value that the text holds. Raises ValueError for anything but one JSON value."""
    if _scan is None:
        return _package().loads(text)
    stripped = text.strip(WHITE_SPACE)
    try:
        value, end = _scan(stripped, 0)
    except StopIteration as error:
        raise ValueError(f"Expecting value: char {error.value}") from None
    except SystemError:
        # The scanner finds the class of its errors in the package, and only if that is loaded.
        return _package().loads(text)
    if end != len(stripped):
        raise ValueError(f"Extra data: char {end}")
    return value


def dumps(value: Any, *, ensure_ascii: bool = True) -> str:
    """The value as JSON on one line. Raises TypeError for what JSON has no form for."""
    if _scan is None:
        return str(_package().dumps(value, ensure_ascii=ensure_ascii))
    return "".join(_encode[ensure_ascii](value, 0))


def _refuse(value: object) -> object:
    raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")


def _package() -> Any:
    import json  # only beside an interpreter without the compiled half

    return json


_scan: Any = None
_encode: dict[bool, Any] = {}
try:
    import _json

    _compiled: Any = _json
    for _ascii, _quote in ((True, "encode_basestring_ascii"), (False, "encode_basestring")):
        _encode[_ascii] = _compiled.make_encoder(
            None, _refuse, getattr(_compiled, _quote), None, ": ", ", ", False, False, True
        )
    _scan = _compiled.make_scanner(_Context())
except (ImportError, AttributeError, TypeError):
    _scan = None
