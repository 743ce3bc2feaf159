"""Filters of a question: parsed from its text or from an object, combined, and described in words.
A result must match the filter of each field, that is, one of its values. If a field is filtered
both in the question and separately, a result must match both filters.
"""

import re
from collections.abc import Container, Iterable, Mapping
from typing import Any

from memory_fabric.domain_config import domain_name
from memory_fabric.errors import BadInput
from memory_fabric.ingest_protocol import MAX_NAME_CHARS
from memory_fabric.language import times
from memory_fabric.models import ENTITY_TYPES, RECORD_TYPES, SCOPES, TYPE_ALIASES, Filters
from memory_fabric.store.memory import Memory

FILTER_FIELDS = {
    "domain": "domains",
    "expert_domain": "domains",
    "project": "projects",
    "type": "types",
    "agent": "agents",
    "scope": "scopes",
    "session": "sessions",
    "category": "categories",
}
FILTER_NAMES = frozenset((*FILTER_FIELDS, "since", "before", "as_of", "depth"))
TYPES = ENTITY_TYPES.union(RECORD_TYPES)
# The values that each filter accepts, worded for notes on invalid filters.
_MEANINGS = {
    "type": "takes decision, preference, pattern, problem and other types",
    "scope": f"takes {', '.join(SCOPES)}",
    "depth": "takes 1, 2 or 3",
    **dict.fromkeys(("since", "before", "as_of"), "takes a time, such as 2026-01-31 or 7d"),
}
MAX_TYPED_CHARS = 80  # a longer name in a question is probably pasted text
_TOO_LONG = f"takes names of at most {MAX_TYPED_CHARS} characters"
TIMES = ("since", "before")
KEYS = (*FILTER_FIELDS, *TIMES)  # the names of filters that a caller may set (BR-19)
OBJECT = "metadata_filters"
MAX_VALUES = 50
# The name of each filter field in an answer (`expert_domain` for `domains`).
NAMES = {field: name for name, field in FILTER_FIELDS.items()}
_CLOSED = {"type": TYPES, "scope": SCOPES}


def in_text(text: str, now: str) -> tuple[str, Filters, int, tuple[str, ...]]:
    """Return (text without filters, filters, graph depth or 0, notes on invalid filters)."""
    tokens_left: list[str] = []
    unread: list[str] = []
    by_field: dict[str, list[str]] = {}
    scopes: list[str] = []
    # A quoted value may contain spaces, but must directly follow the filter's colon or a comma.
    names, value = "|".join(sorted(FILTER_NAMES)), r'(?:"[^"\n]{1,200}"|[^\s",]+)'
    pattern = rf"(?<!\S)(?:{names}):{value}(?:,{value})*,?(?!\S)|\S+"
    for token in re.findall(pattern, text, re.IGNORECASE):
        name, colon, value = token.partition(":")
        name = name.lower()
        if values := _filter_values(name, value, now) if colon else []:
            by_field.setdefault(FILTER_FIELDS.get(name, name), []).extend(values)
        elif token.lower() == "@global":
            scopes = ["global"]
        else:
            tokens_left.append(token)
            bare = name.removeprefix("-")
            if colon and value.strip('",') and bare in FILTER_NAMES:
                clipped = f"{token[:MAX_TYPED_CHARS]}…" if len(token) > MAX_TYPED_CHARS else token
                why = f"{bare} {_MEANINGS.get(bare, _TOO_LONG)}"
                why = "nothing can be left out by a filter" if token[0] == "-" else why
                unread.append(f"“{clipped}” is no filter and was read as words: {why}")
    if not by_field and not scopes:
        return text, Filters(), 0, tuple(unread)
    depth = int(by_field.pop("depth", ["0"])[-1])
    since, before, as_of = (by_field.pop(name, [""]) for name in ("since", "before", "as_of"))
    unique = {field: tuple(dict.fromkeys(values)) for field, values in by_field.items()}
    filters = Filters(**unique, since=max(since), before=min(before), as_of=min(as_of))
    filters = filters._replace(scopes=tuple(scopes) or filters.scopes)
    return " ".join(tokens_left), filters, depth, tuple(unread)


def _filter_values(name: str, value: str, now: str) -> list[str]:
    if name not in FILTER_NAMES or not value:
        return []
    if name in ("since", "before", "as_of"):
        stamp = time_of(name, value.strip('"'), now)
        return [stamp] if stamp else []
    if name == "depth":
        return [value] if value in ("1", "2", "3") else []
    # After this split, quoted values, which may contain commas, have odd indices.
    parts = value.split('"')
    values = [p for i, text in enumerate(parts) for p in ([text] if i % 2 else text.split(","))]
    values = [part.strip() for part in values if part.strip()]
    if any(len(part) > MAX_TYPED_CHARS for part in values):
        return []
    return closed_values(name, values) if name in ("type", "scope") else values


def time_of(name: str, value: str, now: str) -> str:
    """Return the time given as the value of `since`, `before` or `as_of`; '' if it is invalid."""
    if not value or len(value) > MAX_TYPED_CHARS:
        return ""
    return times.moment(value, now) if name == "as_of" else times.boundary(value, now)


def closed_values(name: str, values: Iterable[str]) -> list[str]:
    """Return types or scopes in canonical spelling; [] if any of the values is unknown."""
    lowered = [value.lower() for value in values]
    allowed: Container[str] = SCOPES
    if name == "type":
        known = TYPES | TYPE_ALIASES.keys()
        singular = (v if v in known else v.removesuffix("s") for v in lowered)
        allowed, lowered = TYPES, [TYPE_ALIASES.get(v, v) for v in singular]
    return lowered if all(value in allowed for value in lowered) else []


def stated(given: Mapping[str, Any], now: str, field: str = OBJECT) -> Filters:
    """Parse filters from an object that maps each filter's name to a text or to a list of
    alternatives. Raises BadInput; it names the invalid filter as `--key` if `field` is `--`, as
    `key` if `field` is '', and otherwise as `field.key`.
    """
    fields: dict[str, list[str]] = {}
    by_field: dict[str, Any] = {}
    for key, value in given.items():
        name = f"--{key}" if field == "--" else f"{field}.{key}".lstrip(".")
        if key not in KEYS:
            raise BadInput(name, f"{name} is no filter.", remedy=f"Known are {', '.join(KEYS)}.")
        if key in TIMES:
            moment = time_of(key, value, now) if isinstance(value, str) else ""
            if not moment:
                remedy = "For example 2026-01-31, 2026-01, 7d, yesterday."
                raise BadInput(name, f"{name} must name a time, not {value!r}.", remedy=remedy)
            by_field[key] = moment
        else:
            fields.setdefault(FILTER_FIELDS[key], []).extend(_values(value, key, name))
    by_field |= {name: tuple(dict.fromkeys(values)) for name, values in fields.items()}
    return Filters(**by_field)


def merged(first: Filters, second: Filters) -> tuple[Filters, tuple[str, ...]]:
    """Combine two filters; also describe each field in which no value can satisfy both."""
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
    since = max(first.since, second.since)
    before = min(filter(None, (first.before, second.before)), default="")
    if since and before and since >= before:
        against.append(f"since={since} and before={before}")
    as_of = min(filter(None, (first.as_of, second.as_of)), default="")
    return Filters(**whole, since=since, before=before, as_of=as_of), tuple(against)


def domains_of(filters: Filters) -> tuple[str, ...]:
    """Return the names under which the domains may be stored: as typed and in normal form."""
    names = (name for typed in filters.domains for name in (typed, domain_name(typed)))
    return tuple(dict.fromkeys(name for name in names if name))


def for_store(filters: Filters, memory: Memory) -> Filters:
    """Return the filters for SQL: without domains, and with case-folded names of projects. If these
    include this project, '' is added, which selects its rows without a project tag.
    """
    own = memory.project.name.casefold() if memory.project else ""
    names = [name.casefold() for name in filters.projects]
    untagged = [""] if own and own in names else []
    return filters._replace(domains=(), projects=tuple(dict.fromkeys((*names, *untagged))))


def as_object(filters: Filters) -> dict[str, Any]:
    """Return the filters that are set, except `as_of`, as a JSON object."""
    pairs: list[tuple[str, Any]] = [(n, list(getattr(filters, f))) for f, n in NAMES.items()]
    pairs += [(name, getattr(filters, name)) for name in TIMES]
    return {name: value for name, value in pairs if value}


def described(filters: Filters) -> str:
    """Return the filters as text, `expert_domain=code_reviewer, type=decision or note`, or ''."""
    parts = as_object(filters).items()
    return ", ".join(f"{k}={v if isinstance(v, str) else _listed(v)}" for k, v in parts)


def _values(value: Any, key: str, name: str) -> list[str]:
    values = value if isinstance(value, list | tuple) else [value]
    if not values or len(values) > MAX_VALUES or not all(isinstance(v, str) for v in values):
        problem = f"{name} must be a text or a list of 1 to {MAX_VALUES} texts."
        raise BadInput(name, problem, remedy="Numbers, objects and empty lists mean nothing there.")
    texts = [text.strip() for text in values]
    if any(not text or len(text) > MAX_NAME_CHARS for text in texts):
        raise BadInput(name, f"{name}: a text must have 1 to {MAX_NAME_CHARS} characters.")
    if FILTER_FIELDS[key] == "domains" and not all(map(domain_name, texts)):
        raise BadInput(name, f"{name}: a domain must have a letter or a digit.")
    if key not in _CLOSED:
        return texts
    closed = closed_values(key, texts)
    if not closed:
        known = f"Known are {', '.join(sorted(_CLOSED[key]))}."
        raise BadInput(name, f"{name} does not know {_listed(texts)}.", remedy=known)
    return closed


def _key(field: str, value: str) -> str:
    if field == "domains":
        return domain_name(value) or value
    return value.casefold() if field in ("projects", "categories") else value


def _listed(values: Iterable[str]) -> str:
    return " or ".join(values)
