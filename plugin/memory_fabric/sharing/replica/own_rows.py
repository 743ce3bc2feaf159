"""Values of this user's rows as they leave this machine: redacted, and without absolute paths."""

from __future__ import annotations

import json
import os
import re
import sqlite3
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from memory_fabric.models import (
    ALSO,
    CONFIRMED,
    CONTRADICTS,
    EFFECT,
    LIFTED,
    OTHERS,
    QUOTATION,
    UNSAID,
    WHEN,
    Record,
)
from memory_fabric.sharing.replica import wire
from memory_fabric.store import records, write
from memory_fabric.store.operations import rows
from memory_fabric.store.protocols import Memory

Value = dict[str, Any]


# The scope of the records that travel from each kind of database.
SCOPES = {"project": "team", "user": "user"}
# Fields of a line in decisions.jsonl that others read (sharing.git.claims_read).
CLAIMED = (
    "id type what why alternatives constraints tradeoffs entities outcome category domain "
    "confidence created_at valid_from valid_to superseded_by status scope"
).split()
# Fields that count only where it is proved that the operation is one's own.
OWN = "trust source scope confidence pinned generalizable relations status author project".split()
EVIDENCE = (WHEN, ALSO, UNSAID, QUOTATION, CONTRADICTS, EFFECT, LIFTED, CONFIRMED, "noted")
# What may stand before an absolute path: no part of a longer path or word, except for the
# beginning of a URL or an option of one letter (-I/usr/include).
_BEFORE = r"(?:(?<![\w.~/\\-])|(?<=://)|(?<=://localhost)|(?<=://file)|(?<=\s-\w))"
# Ids and times, in which nothing is replaced.
_EXACT = frozenset(("id", "created_at", "valid_from", "valid_to", "superseded_by"))


class Outgoing:
    """The values of rows of one database, as they may be sent."""

    def __init__(self, memory: Memory, kind: str) -> None:
        self._scope = SCOPES[kind]
        self._isolated = memory.settings.domains.isolated
        self._places = places(memory)
        self._words = memory.settings.share_words

    def of(self, c: sqlite3.Connection, kind: str, key: str) -> tuple[str, Value | None]:
        """Return the key of a row in `team_due` on the wire, and its value; None if it has none."""
        return self._READERS[kind](self, c, key)

    def _record(self, c: sqlite3.Connection, id_: str) -> tuple[str, Value | None]:
        found = records.find(c, "id = ?", (id_,))
        said = [
            self._cleaned(_value_of(record, self._words))
            for record, _ in found
            if self._travels(record)
        ]
        return wire.key_of_record(id_), said[0] if said else None

    def _travels(self, record: Record) -> bool:
        return (
            record.scope == self._scope
            and record.status == "active"
            and record.type != "session"
            and record.source != OTHERS
            and record.domain not in self._isolated
        )

    def _entity(self, c: sqlite3.Connection, key: str) -> tuple[str, Value | None]:
        (name,) = json.loads(key)
        own = "e.name = ? AND e.record = '' AND e.said_by = ''"
        found = rows.entities(c, own, (name,))
        return wire.key_of_entity(self._plain(name)), self._first(
            {
                "name": row["name"],
                "type": row["type"],
                "created_at": row["created_at"],
                "domain": row["domain"],
                "aliases": [alias for _, alias in row["aliases"]],
            }
            for row in found
        )

    def _observation(self, c: sqlite3.Connection, key: str) -> tuple[str, Value | None]:
        name, text = json.loads(key)
        own = "e.name = ? AND o.text = ? AND o.record = '' AND o.source <> ?"
        found = rows.observations(c, own, (name, text, OTHERS))
        fields = ("entity", "text", "created_at", "domain")
        return wire.key_of_observation(self._plain(name), self._plain(text)), self._first(
            {field: row[field] for field in fields}
            | {"own": {"trust": row["trust"], "source": row["source"]}}
            for row in found
        )

    def _relation(self, c: sqlite3.Connection, key: str) -> tuple[str, Value | None]:
        source, kind, target = json.loads(key)
        own = "s.name = ? AND r.type = ? AND t.name = ? AND r.record = '' AND r.said_by = ''"
        found = rows.relations(c, own, (source, kind, target))
        fields = ("from", "relationType", "to", "created_at", "domain")
        names = map(self._plain, (source, kind, target))
        return wire.key_of_relation(*names), self._first(
            {field: row[field] for field in fields} for row in found
        )

    def _first(self, values: Any) -> Value | None:
        """Return the first of the values that is of no isolated domain, cleaned."""
        open_ = (value for value in values if value["domain"] not in self._isolated)
        value = next(open_, None)
        return None if value is None else self._cleaned(value)

    def _plain(self, text: str) -> str:
        """Return a text as it is in values: a key is the digest of what its readers see."""
        return str(self._cleaned({"": text})[""])

    def _cleaned(self, value: Mapping[str, Any]) -> Value:
        return write.cleaned(
            {
                name: part if name in _EXACT else without_places(part, self._places)
                for name, part in value.items()
            }
        )

    _READERS: dict[str, Callable[[Outgoing, sqlite3.Connection, str], tuple[str, Value | None]]] = {
        wire.RECORD: _record,
        wire.ENTITY: _entity,
        wire.OBSERVATION: _observation,
        wire.RELATION: _relation,
    }


def _value_of(record: Record, words: bool) -> Value:
    whole = records.as_object(record)
    own = {name: whole[name] for name in OWN}
    own["evidence"] = {key: record.evidence[key] for key in EVIDENCE if key in record.evidence}
    if not words:
        own["evidence"].pop(QUOTATION, None)
    return {name: whole[name] for name in CLAIMED} | {"own": own}


def places(memory: Memory) -> list[tuple[re.Pattern[str], str]]:
    """Return expressions for the folders of this machine, the deepest first, with replacements.

    The project's folder becomes `.`, and a path below it relative; the user's home becomes `~`.
    """
    settings, project = memory.settings, memory.project
    root = project.root if project else ""
    inside = [path for path in {root, settings.project_dir} if path] if project else []
    found = {path: "." for folder in inside for path in _spellings(folder)}
    found |= {path: "~" for path in _spellings(settings.user_home) if path not in found}
    return [
        (re.compile(rf"{_BEFORE}{re.escape(path)}(?P<sep>[/\\])?(?![\w-])?"), instead)
        for path, instead in sorted(found.items(), key=lambda pair: -len(pair[0]))
    ]


def without_places(value: Any, found: list[tuple[re.Pattern[str], str]]) -> Any:
    """Return a value in which no text has an absolute path below these folders."""
    if isinstance(value, str):
        if "/" not in value and "\\" not in value:
            return value
        for pattern, instead in found:
            value = pattern.sub(partial(_shortened, instead), value)
        return value
    if isinstance(value, dict):
        return {key: without_places(part, found) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [without_places(part, found) for part in value]
    return value


def _shortened(instead: str, match: re.Match[str]) -> str:
    after = match.string[match.end() : match.end() + 1]
    if not match["sep"]:
        # Another folder whose name begins alike is no part of this one.
        return match.group() if after and (after.isalnum() or after in "_-") else instead
    if instead == "." and (after.isalnum() or after in "._-"):
        return ""
    return instead + match["sep"]


def _spellings(folder: str) -> list[str]:
    """Return the folder as it is written, and as its links lead to it; never a root."""
    plain = [path.rstrip("/\\") for path in (folder, os.path.realpath(folder)) if folder]
    return [path for path in dict.fromkeys(plain) if path.count("/") + path.count("\\") > 1]
