"""Arguments against a tool's input schema: the few keywords our schemas use, without a library.

A JSON Schema package costs more start-up than all of this server's own code.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

# bool is an int in Python and is not one in JSON; `_is` keeps them apart.
TYPES: Mapping[str, type] = {
    "string": str,
    "array": list,
    "object": dict,
    "boolean": bool,
    "integer": int,
}


def problems(schema: Mapping[str, Any], value: Any, path: str = "") -> Iterator[str]:
    """Yield the errors of a value in the words of the reference server.

    For example `Invalid input: expected string, received number at entities[0].name`.

    Understands type, enum, minimum, maximum, items, properties, required. Keys the schema does not
    name are ignored (MEM-12).
    """
    expected = schema["type"]
    if not _is(expected, value):
        yield _problem(expected, _type_of(value), path)
    elif expected == "object":
        yield from _object_problems(schema, value, path)
    elif expected == "array":
        for position, item in enumerate(value):
            yield from problems(schema["items"], item, f"{path}[{position}]")
    else:
        yield from _value_problems(schema, value, path)


def _object_problems(schema: Mapping[str, Any], value: dict[str, Any], path: str) -> Iterator[str]:
    for name, part in schema.get("properties", {}).items():
        place = f"{path}.{name}" if path else name
        if name in value:
            yield from problems(part, value[name], place)
        elif name in schema.get("required", ()):
            yield _problem(part["type"], "undefined", place)


def _value_problems(schema: Mapping[str, Any], value: Any, path: str) -> Iterator[str]:
    if "enum" in schema and value not in schema["enum"]:
        yield _problem(f"one of {', '.join(schema['enum'])}", f"{value!r:.80}", path)
    if "minimum" in schema and value < schema["minimum"]:
        yield _problem(f"at least {schema['minimum']}", str(value), path)
    if "maximum" in schema and value > schema["maximum"]:
        yield _problem(f"at most {schema['maximum']}", str(value), path)


def _problem(expected: str, received: str, path: str) -> str:
    return f"Invalid input: expected {expected}, received {received} at {path or 'arguments'}"


def _is(expected: str, value: Any) -> bool:
    if isinstance(value, bool):
        return expected == "boolean"
    return isinstance(value, TYPES[expected])


def _type_of(value: Any) -> str:
    """The type's name in JavaScript's words."""
    if value is None:
        return "null"
    kinds = (name for name in ("boolean", "string", "array", "object") if _is(name, value))
    return next(kinds, "number")


def known_part(schema: Mapping[str, Any], value: Any) -> Any:
    """A valid value without the object keys that the schema does not name (MEM-12); of an object
    of which it names none, all.
    """
    if schema["type"] == "array":
        return [known_part(schema["items"], item) for item in value]
    if schema["type"] == "object" and "properties" in schema:
        named = schema["properties"]
        return {name: known_part(named[name], value[name]) for name in named if name in value}
    return value
