"""Statements of other members about the graph, as rows that name them.

An observation or relation is there once, whoever states it: a row of this user's own is left alone,
one of others has the member's name and the trust `foreign`. Aliases of others are not used: they
would lead what this user says to another entity.
"""

import json
import sqlite3
from collections.abc import Callable, Mapping
from typing import Any

from memory_fabric.models import OTHERS, Provenance
from memory_fabric.sharing.replica import heads, wire
from memory_fabric.sharing.replica.heads import Head
from memory_fabric.store.operations import others as others_effects
from memory_fabric.store.operations import rows, tombstones

Said = dict[str, Any]


class Rows:
    """The rows of one database that other members state."""

    def __init__(self, c: sqlite3.Connection, by: Provenance) -> None:
        self._c, self._by = c, by
        self._guard = tombstones.StatementGuard(c, by)
        self._entities: dict[str, int | None] = {}

    def show(self, said: Head) -> None:
        """Have the row that a head states, unless it was forgotten here."""
        value: Said = json.loads(said.value)
        if self._is_stated_itself(said.key, said.kind, value):
            return
        value["created_at"] = min(value["created_at"] or self._by.at, self._by.at)
        _SHOWN[said.kind](self, value, said.shown_author)

    def drop(self, said: Head) -> None:
        """Remove a row that no member states any more; one of this user's own stays."""
        value: Said = json.loads(said.value)
        if not self._is_stated_itself(said.key, said.kind, value):
            _DROPPED[said.kind](self, value)

    def _is_stated_itself(self, key: str, kind: str, value: Said) -> bool:
        """True if a member states just this row, which another stated by a longer text.

        What was cut or cleaned, so that it became the same, has another key.
        """
        exact = _KEYS[kind](value)
        if exact == key:
            return False
        found = heads.of_keys(self._c, [exact]).get(exact, ())
        return any(head.state == heads.THEIRS and head.value for head in found)

    def _show_entity(self, value: Said, author: str) -> None:
        id_ = self._entity(value["name"], value, author, value["type"])
        if id_ is not None:
            self._c.execute(
                "UPDATE entities SET type = ?, said_by = ?, domain = ?, created_at = ? "
                "WHERE id = ? AND said_by <> ''",
                (value["type"], author, value["domain"], value["created_at"], id_),
            )

    def _show_observation(self, value: Said, author: str) -> None:
        entity = self._entity(value["entity"], value, author)
        if entity is None:
            return
        id_ = rows.text_id(self._c, entity, value["text"])
        if id_ is not None:
            self._c.execute(
                "UPDATE observations SET agent = ?, domain = ?, created_at = ? "
                "WHERE id = ? AND source = ?",
                (author, value["domain"], value["created_at"], id_, OTHERS),
            )
        elif not self._guard.refuse_text(value["entity"], value["text"]):
            row = {"text": value["text"], "record": "", "session": "", "agent": author}
            row |= {"trust": others_effects.TRUST, "source": OTHERS}
            row |= {name: value[name] for name in ("domain", "created_at")}
            rows.insert_observation(self._c, None, entity, row)

    def _show_relation(self, value: Said, author: str) -> None:
        ends = [self._entity(value[end], value, author) for end in ("from", "to")]
        source, target = ends
        if source is None or target is None:
            return
        row = value | {"record": "", "said_by": author}
        if not rows.insert_relation(self._c, None, source, target, row):
            self._c.execute(
                "UPDATE relations SET said_by = ?, domain = ?, created_at = ? WHERE source = ? "
                "AND type = ? AND target = ? AND said_by <> ''",
                (
                    author,
                    value["domain"],
                    value["created_at"],
                    source,
                    value["relationType"],
                    target,
                ),
            )

    def _drop_entity(self, value: Mapping[str, Any]) -> None:
        self._drop_orphan(value["name"], is_said=False)
        # This user's own statements may be about it still.
        self._c.execute(
            "UPDATE entities SET said_by = '' WHERE name = ? AND said_by <> '' AND ("
            "EXISTS (SELECT 1 FROM observations AS o WHERE o.entity = entities.id "
            "AND o.source <> ?) OR EXISTS (SELECT 1 FROM relations AS r "
            "WHERE entities.id IN (r.source, r.target) AND r.said_by = ''))",
            (value["name"], OTHERS),
        )

    def _drop_observation(self, value: Mapping[str, Any]) -> None:
        # By this name or, after entities were merged, as an alias.
        entity = rows.variant_id(self._c, value["entity"])
        if entity is None:
            return
        self._c.execute(
            "DELETE FROM observations WHERE entity = ? AND text = ? AND source = ?",
            (entity, value["text"], OTHERS),
        )
        self._drop_orphan(value["entity"])

    def _drop_relation(self, value: Mapping[str, Any]) -> None:
        ends = [rows.variant_id(self._c, value[end]) for end in ("from", "to")]
        self._c.execute(
            "DELETE FROM relations WHERE source = ? AND type = ? AND target = ? AND said_by <> ''",
            (ends[0], value["relationType"], ends[1]),
        )
        for end in ("from", "to"):
            self._drop_orphan(value[end])

    def _entity(
        self, name: str, value: Said, author: str, kind: str = rows.UNKNOWN_TYPE
    ) -> int | None:
        """Return the entity's row, added under the member's name if needed; None if forgotten."""
        if name not in self._entities:
            self._entities[name] = rows.entity_id(self._c, name)
        if self._entities[name] is None and not self._guard.refuse_entity(name):
            row = {"name": name, "type": kind, "domain": value["domain"], "record": ""}
            row |= {"said_by": author, "created_at": value["created_at"]}
            row["updated_at"] = value["created_at"]
            self._entities[name] = rows.insert_entity(self._c, None, row)
        return self._entities[name]

    def _drop_orphan(self, name: str, *, is_said: bool = True) -> None:
        """Remove an entity of others without statements, unless a member states it itself."""
        if is_said:
            found = heads.of_keys(self._c, [wire.key_of_entity(name)]).values()
            if any(head.state == heads.THEIRS and head.value for some in found for head in some):
                return
        if self._c.execute(
            "SELECT 1 FROM entities WHERE name = ? AND said_by <> ''", (name,)
        ).fetchone():
            rows.remove(self._c, rows.nothing() | {"entities": rows.orphans(self._c, [name])})
            self._entities.pop(name, None)


def remove_all(c: sqlite3.Connection) -> None:
    """Remove every row that only other members state."""
    c.execute("DELETE FROM observations WHERE source = ?", (OTHERS,))
    c.execute("DELETE FROM relations WHERE said_by <> ''")
    c.execute(
        "DELETE FROM entities WHERE said_by <> '' "
        "AND NOT EXISTS (SELECT 1 FROM observations AS o WHERE o.entity = entities.id) "
        "AND NOT EXISTS (SELECT 1 FROM relations AS r WHERE r.source = entities.id) "
        "AND NOT EXISTS (SELECT 1 FROM relations AS r WHERE r.target = entities.id)"
    )
    # This user's own statements are about the others.
    c.execute("UPDATE entities SET said_by = '' WHERE said_by <> ''")


_KEYS: dict[str, Callable[[Said], str]] = {
    wire.ENTITY: lambda value: wire.key_of_entity(value["name"]),
    wire.OBSERVATION: lambda value: wire.key_of_observation(value["entity"], value["text"]),
    wire.RELATION: lambda value: wire.key_of_relation(
        value["from"], value["relationType"], value["to"]
    ),
}
_SHOWN: dict[str, Callable[[Rows, Said, str], None]] = {
    wire.ENTITY: Rows._show_entity,
    wire.OBSERVATION: Rows._show_observation,
    wire.RELATION: Rows._show_relation,
}
_DROPPED: dict[str, Callable[[Rows, Mapping[str, Any]], None]] = {
    wire.ENTITY: Rows._drop_entity,
    wire.OBSERVATION: Rows._drop_observation,
    wire.RELATION: Rows._drop_relation,
}
