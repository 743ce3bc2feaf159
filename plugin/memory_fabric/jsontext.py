"""JSON by the compiled half of the standard library's `json`, as `loads` and `dumps`.

The package `json` imports `re`, and with it `enum`, into every hook. It is the fallback where the
interpreter has no compiled half, or one of another shape.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Loads = Callable[[str], Any]
    Dumps = Callable[..., str]

WHITE_SPACE = " \t\n\r"


class _Defaults:
    """The attributes that the compiled scanner reads: the defaults of `json.loads`."""

    strict = True
    object_hook = object_pairs_hook = None
    parse_float, parse_int = float, int
    parse_constant = {
        "NaN": float("nan"),
        "Infinity": float("inf"),
        "-Infinity": -float("inf"),
    }.__getitem__


def compiled(parts: Any) -> tuple[Loads, Dumps]:
    """Make `loads` and `dumps` from the module `_json`.

    Raises AttributeError or TypeError if the module has another shape.
    """
    scan = parts.make_scanner(_Defaults())

    def encoder(quote: Callable[[str], str], sort_keys: bool) -> Callable[[Any, int], Any]:
        encode: Callable[[Any, int], Any] = parts.make_encoder(
            None, _refuse, quote, None, ": ", ", ", sort_keys, False, True
        )
        return encode

    ascii_only = encoder(parts.encode_basestring_ascii, False)
    any_script = encoder(parts.encode_basestring, False)

    def loads(text: str) -> Any:
        stripped = text.strip(WHITE_SPACE)
        try:
            value, end = scan(stripped, 0)
        except StopIteration as error:
            raise ValueError(f"Expecting value: char {error.value}") from None
        except SystemError:
            # The scanner takes its error class from the package `json`, but only if that is loaded.
            import json

            return json.loads(text)
        if end != len(stripped):
            raise ValueError(f"Extra data: char {end}")
        return value

    def dumps(value: Any, *, ensure_ascii: bool = True, sort_keys: bool = False) -> str:
        encode = ascii_only if ensure_ascii else any_script
        if sort_keys:
            quote = parts.encode_basestring_ascii if ensure_ascii else parts.encode_basestring
            encode = encoder(quote, True)
        return "".join(encode(value, 0))

    return loads, dumps


def _refuse(value: object) -> object:
    raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")


# loads(text): the value that the text holds. Raises ValueError for anything but one JSON value, and
# RecursionError for one nested too deep.
# dumps(value, *, ensure_ascii=True, sort_keys=False): the value on one line. Raises TypeError for
# what has no form.
loads: Loads
dumps: Dumps
try:
    import _json

    loads, dumps = compiled(_json)
except (ImportError, AttributeError, TypeError):
    import json

    loads, dumps = json.loads, json.dumps
