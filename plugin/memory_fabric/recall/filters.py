"""Filters of a question: read from values, combined, and described in words.

A result must match every field, and one of the values of a field. If a field is given both in the
question and separately, both must match.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from memory_fabric.domain_config import domain_name
from memory_fabric.errors import BadInput
from memory_fabric.ingest_protocol import MAX_NAME_CHARS
from memory_fabric.models import SCOPES, Filters, Query
from memory_fabric.recall.agent_domains import WORD, named
from memory_fabric.recall.parse import FILTER_FIELDS, TYPES, closed_values, parse, readable, time_of
from memory_fabric.store.memory import Memory

TIMES = ("since", "before")
# The fields that a caller may give (BR-19).
KEYS = (*FILTER_FIELDS, *TIMES)
OBJECT = "metadata_filters"
MAX_VALUES = 50
# The name of each field in an answer.
NAMES = {
    "domains": "expert_domain",
    "projects": "project",
    "types": "type",
    "agents": "agent",
    "scopes": "scope",
    "sessions": "session",
    "categories": "category",
}
GUESSED = "read as a question about the domain"
TO_SEARCH_ALL = "without the word “domain” in it all domains are searched"
_CLOSED = {"type": TYPES, "scope": SCOPES}


class Asked(NamedTuple):
    """A question with all its filters, those that exclude each other, and notes on its reading."""

    query: Query
    against: str = ""
    notes: tuple[str, ...] = ()


def asked(
    text: str, memory: Memory, now: str, *, beside: Filters | None = None, as_of: str = ""
) -> Asked:
    """Return the question with the filters in it and those given separately (`beside`).

    Without a filter of domains it is limited to a domain that it names explicitly, and to those
    that can be read here, if these are not all.
    """
    query = parse(text, now=now)
    whole, against = merged(query.filters, beside or Filters())
    whole = whole._replace(as_of=as_of or whole.as_of)
    notes = query.unread
    if not whole.domains:
        domain = named(text, memory) if WORD in query.asked.lower() else None
        if domain is not None:
            query = parse(domain.rest, now=now)
            notes = (*notes, f"{GUESSED} {domain.domain} alone; {TO_SEARCH_ALL}")
        whole = whole._replace(domains=(domain.domain,) if domain else memory.domains or ())
    query = query._replace(text=readable(text), filters=whole)
    return Asked(query, "; ".join(against), notes)


def stated(given: Mapping[str, Any], now: str, field: str = OBJECT) -> Filters:
    """Read the filters in an object of names and values: a text, or a list of alternatives.

    `field` is the caller's name of the object, `--` for options, '' for separate fields. Raises
    BadInput that names the key.
    """
    fields: dict[str, list[str]] = {}
    by_field: dict[str, Any] = {}
    for key, value in given.items():
        name = f"--{key}" if field == "--" else f"{field}.{key}".lstrip(".")
        if key not in KEYS:
            raise BadInput(name, f"{name} is no filter.", remedy=f"Known are {', '.join(KEYS)}.")
        if key in TIMES:
            by_field[key] = _moment(value, now, key, name)
        else:
            fields.setdefault(FILTER_FIELDS[key], []).extend(_values(value, key, name))
    by_field |= {name: tuple(dict.fromkeys(values)) for name, values in fields.items()}
    return Filters(**by_field)


def merged(first: Filters, second: Filters) -> tuple[Filters, tuple[str, ...]]:
    """Combine two filters; also return the names of fields in which no value matches both."""
    whole: dict[str, Any] = {}
    against: list[str] = []
    for field, name in NAMES.items():
        ours, theirs = getattr(first, field), getattr(second, field)
        keys = {_key(field, value) for value in theirs}
        common = tuple(value for value in ours if _key(field, value) in keys)
        whole[field] = common if ours and theirs else ours or theirs
        if ours and theirs and not common:
            whole[field] = theirs
            against.append(f"{name}={_listed(ours)} and {name}={_listed(theirs)}")
    since, before = max(first.since, second.since), _earliest((first.before, second.before))
    if since and before and since >= before:
        against.append(f"since={since} and before={before}")
    as_of = _earliest((first.as_of, second.as_of))
    return Filters(**whole, since=since, before=before, as_of=as_of), tuple(against)


def domains_of(filters: Filters) -> tuple[str, ...]:
    """Return the names that the wanted domains may be stored under: as typed, in normal form."""
    names = (name for typed in filters.domains for name in (typed, domain_name(typed)))
    return tuple(dict.fromkeys(name for name in names if name))


def for_store(filters: Filters, memory: Memory) -> Filters:
    """Return the filters for the store.

    Names of projects are folded, with an empty one if untagged rows are meant, too. Domains are
    left out, since the memory itself is scoped to them.
    """
    own = memory.project.name.casefold() if memory.project else ""
    names = [name.casefold() for name in filters.projects]
    untagged = [""] if own and own in names else []
    return filters._replace(domains=(), projects=tuple(dict.fromkeys((*names, *untagged))))


def as_object(filters: Filters) -> dict[str, Any]:
    """Return the filters that are set, without `as_of`, as an object for programs."""
    fields: dict[str, Any] = {
        name: list(getattr(filters, field)) for field, name in NAMES.items()
    } | {name: getattr(filters, name) for name in TIMES}
    return {name: value for name, value in fields.items() if value}


def described(filters: Filters) -> str:
    """Describe the filters: `expert_domain=code_reviewer, type=decision or pattern`, or ''."""
    parts = (
        f"{name}={value if isinstance(value, str) else _listed(value)}"
        for name, value in as_object(filters).items()
    )
    return ", ".join(parts)


def _values(value: Any, key: str, name: str) -> list[str]:
    values = value if isinstance(value, list | tuple) else [value]
    if not values or len(values) > MAX_VALUES or not all(isinstance(v, str) for v in values):
        raise BadInput(
            name,
            f"{name} must be a text or a list of 1 to {MAX_VALUES} texts.",
            remedy="Numbers, objects and empty lists mean nothing there.",
        )
    texts = [text.strip() for text in values]
    if any(not text or len(text) > MAX_NAME_CHARS for text in texts):
        raise BadInput(name, f"{name}: a text must have 1 to {MAX_NAME_CHARS} characters.")
    if FILTER_FIELDS[key] == "domains" and not all(map(domain_name, texts)):
        raise BadInput(name, f"{name}: a domain must have a letter or a digit.")
    if key not in _CLOSED:
        return texts
    closed = closed_values(key, texts)
    if not closed:
        raise BadInput(
            name,
            f"{name} does not know {_listed(texts)}.",
            remedy=f"Known are {', '.join(sorted(_CLOSED[key]))}.",
        )
    return closed


def _moment(value: Any, now: str, key: str, name: str) -> str:
    moment = time_of(key, value, now) if isinstance(value, str) else ""
    if not moment:
        raise BadInput(
            name,
            f"{name} must name a time, not {value!r}.",
            remedy="For example 2026-01-31, 2026-01, 7d, yesterday.",
        )
    return moment


def _key(field: str, value: str) -> str:
    """Return the key that equal values of a field share."""
    if field == "domains":
        return domain_name(value) or value
    return value.casefold() if field in ("projects", "categories") else value


def _earliest(moments: Iterable[str]) -> str:
    return min(filter(None, moments), default="")


def _listed(values: Iterable[str]) -> str:
    return " or ".join(values)
