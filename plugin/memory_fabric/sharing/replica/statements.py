"""Validation of operations. Statements are limited in length, and secrets are removed."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from memory_fabric.redaction.redact import may_hold_secret
from memory_fabric.sharing.git import claims_read
from memory_fabric.sharing.replica import wire
from memory_fabric.store import write
from memory_fabric.text import encodable, unfenced

Fields = dict[str, Any]
# Maximum lengths of names (of entities, types and relations) and of observation texts.
MAX_NAME_CHARS = claims_read.MAX_PART_CHARS
MAX_TEXT_CHARS = claims_read.MAX_WHAT_CHARS
MAX_ALIASES, MAX_BASE = 20, 2000
# Maximum lengths of texts that an author may choose to share: the quotation, a rule's condition.
_RELEASED = {"words": MAX_TEXT_CHARS, "when": MAX_NAME_CHARS}
_DIGEST_CHARS = 64
# Fields that are validated but not redacted: an id may look like a secret.
_CHECKED = frozenset("id type outcome created_at valid_from valid_to superseded_by".split())


def problem(operation: wire.TeamOperation) -> str:
    """Return the reason why an operation is malformed; '' if it is well-formed."""
    prefix, _, name = operation.key.partition(":")
    if operation.kind == wire.PURGE:
        return "" if prefix in wire.PREFIXES.values() and name else "It names no key to erase."
    if prefix != wire.PREFIXES.get(operation.kind):
        return f"Its key {operation.key[:50]!r} does not fit its kind, {operation.kind}."
    is_digest = len(name) == _DIGEST_CHARS and not name.strip("0123456789abcdef")
    if not (claims_read.is_id(name) if prefix == "r" else is_digest):
        return f"Its key {operation.key[:50]!r} has not the form of one."
    if operation.clock and not wire.is_reading(operation.clock):
        return f"Its clock {operation.clock[:50]!r} has not the form of one."
    if len(operation.base) > MAX_BASE or not all(isinstance(id_, str) for id_ in operation.base):
        return "Its base is no list of ids."
    if operation.value is not None and not isinstance(operation.value, dict):
        return "Its value is no object."
    return ""


def fields(kind: str, key: str, value: Mapping[str, Any]) -> Fields | None:
    """Return another member's statement, redacted; None if it is invalid or its key is wrong."""
    stated = _READERS[kind](value)
    if stated is None or wire.key_in(kind, value) != key:
        return None
    # Redact each field only if the joined texts may contain a secret or code block: few do.
    free = {name: part for name, part in stated.items() if name not in _CHECKED}
    text = "\n".join(_texts(free.values()))
    if may_hold_secret(text) or encodable(unfenced(text)) != text:
        for name, part in free.items():
            stated[name] = write.cleaned({name: part})[name]
    return stated


def own_fields(kind: str, key: str, value: Mapping[str, Any]) -> Fields | None:
    """Return this user's statement from another machine, redacted; None if its key is wrong."""
    as_team = {**value, "scope": "team"} if value.get("scope") == "user" else value
    is_whole = _READERS[kind](as_team) is not None and wire.key_in(kind, value) == key
    return write.cleaned(value) if is_whole else None


def _texts(parts: Iterable[Any]) -> Iterator[str]:
    for part in parts:
        if isinstance(part, str):
            yield part
        elif isinstance(part, list):
            yield from _texts(part)


def _record(value: Mapping[str, Any]) -> Fields | None:
    if not claims_read.is_id(value.get("id")) or not claims_read.is_of_a_team(value):
        return None
    released = {
        name: claims_read.plain_text(value.get(name), most) for name, most in _RELEASED.items()
    }
    record = claims_read.record_of(claims_read.Claim(value["id"], 0, value))
    return record | {name: text for name, text in released.items() if text}


def _entity(value: Mapping[str, Any]) -> Fields | None:
    stated, kind = value.get("aliases"), _name(value.get("type"))
    some = map(_name, stated[:MAX_ALIASES] if isinstance(stated, list) else ())
    return _row(value, name=_name(value.get("name")), type=kind, aliases=list(filter(None, some)))


def _row(value: Mapping[str, Any], **named: Any) -> Fields | None:
    """Return `named` plus `value`'s time and domain, or None if an entry but `aliases` is empty."""
    if not all(part for name, part in named.items() if name != "aliases"):
        return None
    domain = claims_read.name_in(value.get("domain")) or "general"
    return named | {"created_at": claims_read.moment(value.get("created_at")), "domain": domain}


def _name(value: object) -> str:
    return claims_read.plain_text(value, MAX_NAME_CHARS)


def _observation(value: Mapping[str, Any]) -> Fields | None:
    text = claims_read.plain_text(value.get("text"), MAX_TEXT_CHARS)
    return _row(value, entity=_name(value.get("entity")), text=text)


_READERS: dict[str, Callable[[Mapping[str, Any]], Fields | None]] = {
    wire.RECORD: _record, wire.ENTITY: _entity, wire.OBSERVATION: _observation,
    wire.RELATION: lambda value: _row(
        value, **{name: _name(value.get(name)) for name in wire.NAMED_BY[wire.RELATION]}),
    wire.DISMISSAL: lambda value: dict(value) if isinstance(value.get("of"), str) else None,
}  # fmt: skip
