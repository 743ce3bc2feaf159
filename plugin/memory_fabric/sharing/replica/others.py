"""Statements of other members, stored as records of others (docs/decisions/0046), and as rows of
the graph with the member's name and the trust `foreign`, unless the user states the same.

Other members' aliases are ignored because they would redirect this user's statements.
"""

import json
import sqlite3
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from memory_fabric import ids, models, text
from memory_fabric.models import CONFIRMED, FOR_TEAM, OTHERS, WHEN, Provenance, Record
from memory_fabric.sharing.replica import heads, wire
from memory_fabric.sharing.replica.heads import ANY_OF, Head
from memory_fabric.store import records, schema
from memory_fabric.store.operations import others as others_effects
from memory_fabric.store.operations import rows, tombstones

Said = dict[str, Any]
BY = Provenance(OTHERS, trust=others_effects.TRUST)
# The key in `meta` for the list of the space's owners, and an SQL condition that selects rules.
OWNERS = "team owners"
RULES = "state = 'theirs' AND kind = 'record' AND instr(value, '\"when\"') > 0"
_OF_RECORDS = wire.key_of(wire.RECORD, "")
# SQL that makes a member's entity this user's own if the user's observations or relations need it.
_OWNED = (
    "UPDATE entities SET said_by = '' WHERE name = ? AND said_by <> '' AND ("
    "EXISTS (SELECT 1 FROM observations AS o WHERE o.entity = entities.id AND o.source <> ?) "
    "OR EXISTS (SELECT 1 FROM relations AS r "
    "WHERE entities.id IN (r.source, r.target) AND r.said_by = ''))"
)
# `INDEXED BY` is needed: otherwise the planner would read all rows in the state 'theirs'.
_CLOSED = (
    "SELECT key FROM team_heads INDEXED BY team_heads_closed WHERE state = 'theirs' "
    "AND kind = 'record' AND value <> '' AND json_extract(value, '$.superseded_by')"
)


def show(
    c: sqlite3.Connection, changed: Mapping[str, Sequence[Head]], was: Mapping[str, Head], name: str
) -> None:
    """Store what other members now state under the `changed` keys, and delete what no member states
    any more. `changed` has all heads of a key, `was` a replaced one. `name` is the project's.
    """
    of_records = {key: changed[key] for key in changed if key.startswith(_OF_RECORDS)}
    is_any = bool(of_records) and _show_records(c, of_records, name)
    graph = _Graph(c)
    for key, register in changed.items():
        if key in of_records:
            continue
        head = _shown(register, "")
        if head is not None:
            graph.show(head)
            is_any = True
        elif named := was.get(key) or next((said for said in register if said.value), None):
            # Drop even if no head was replaced: a withdrawal may omit the ids that it replaces.
            graph.drop(named)
    if is_any:
        others_effects.note_any(c)


def silence(c: sqlite3.Connection) -> None:
    """Remove the tool-call conditions from owners' rules: these rules no longer ask the user."""
    asking = "source = ? AND instr(body, ?) > 0"
    for record, seen in records.find(c, asking, (OTHERS, f'"{FOR_TEAM}"'), -1):
        kept = {k: v for k, v in record.evidence.items() if k not in (WHEN, FOR_TEAM)}
        records.put(c, record._replace(evidence=kept), seen)


def remove_all(c: sqlite3.Connection) -> None:
    """Remove the statements of all members, except records that are also in a shared journal."""
    theirs = "SELECT DISTINCT substr(key, 3) FROM team_heads WHERE state = ? AND kind = ?"
    _drop(c, [id_ for (id_,) in c.execute(theirs, (heads.THEIRS, wire.RECORD))])
    c.execute("DELETE FROM observations WHERE source = ?", (OTHERS,))
    c.execute("DELETE FROM relations WHERE said_by <> ''")
    c.execute(f"DELETE FROM entities AS e WHERE said_by <> '' AND {schema.IS_ORPHAN}")
    # The remaining entities become the user's own, because this user's statements refer to them.
    c.execute("UPDATE entities SET said_by = '' WHERE said_by <> ''")


def refuse_domains(c: sqlite3.Connection, isolated: Collection[str]) -> None:
    """Remove other members' statements in isolated domains, which are never shared."""
    reason = "Its domain is isolated here."
    for head in heads.where(c, "state = ? AND value <> ''", (heads.THEIRS,)):
        if head.stated.get("domain") in isolated:
            heads.put(c, [head._replace(state=heads.REFUSED, value="", payload=reason)])
            if head.kind == wire.RECORD:
                _drop(c, [head.key.removeprefix(_OF_RECORDS)])
            else:
                _Graph(c).drop(head)


def _show_records(
    c: sqlite3.Connection, changed: Mapping[str, Sequence[Head]], project: str
) -> bool:
    """Store or delete the records of the changed keys; return True if any was stored."""
    stored, by = _stored(c, changed), BY._replace(at=ids.timestamp())
    graves = c.execute("SELECT 1 FROM tombstones LIMIT 1").fetchone() is not None
    row = c.execute("SELECT value FROM meta WHERE key = ?", (OWNERS,)).fetchone()
    owners = frozenset(json.loads(row[0])) if row else frozenset[str]()
    records_shown: list[tuple[Record, str]] = []
    unstated = []
    for key, register in changed.items():
        id_ = key.removeprefix(_OF_RECORDS)
        old = stored.get(id_)
        # An owner's rule has priority over another member's record with the same id.
        rules = [head for head in register if head.author in owners and _is_rule(head)]
        author = old.author if old is not None else ""
        head = _shown(rules, author) or _shown(register, author)
        if head is None:
            unstated.append(id_)
            continue
        value: Said = head.stated | {"author": head.shown_author, "origin": models.SHARED_LOG}
        record = others_effects.claimed_record(c, value, project, by, old, any_forgotten=graves)
        if record is not None:
            record = record._replace(evidence=_evidence(head, owners, old))
            records.put(c, record, [])
            records_shown.append((record, value.get("superseded_by", "")))
    new = [record.id for record, _ in records_shown if record.id not in stored]
    for record, successor in (*records_shown, *_closed_by(c, new)):
        if successor:
            others_effects.set_successor(c, record, successor)
    theirs = {id_ for id_, record in stored.items() if others_effects.is_of_others(record)}
    _drop(c, [id_ for id_ in unstated if id_ in theirs])
    return bool(records_shown)


def _is_rule(head: Head) -> bool:
    return head.is_theirs and bool(head.stated.get("when"))


def _evidence(head: Head, owners: Collection[str], old: Record | None) -> Said:
    """Return a record's evidence: its quotation; a rule's condition, if its author is in `owners`;
    and this user's confirmation in `old`, if `what` and `why` are unchanged.
    """
    said: Said = head.stated
    evidence = {models.QUOTATION: said["words"]} if said.get("words") else {}
    if head.author in owners and _is_rule(head):
        evidence |= {WHEN: said["when"], FOR_TEAM: True}
    confirmed = old.evidence.get(CONFIRMED) if old is not None else None
    is_same = old is not None and (old.what, old.why) == (said["what"], said["why"])
    return evidence | ({CONFIRMED: confirmed} if confirmed and is_same else {})


def _closed_by(c: sqlite3.Connection, successors: Sequence[str]) -> list[tuple[Record, str]]:
    keys = [key for (key,) in c.execute(f"{_CLOSED} {ANY_OF}", (json.dumps(successors),))]
    stored = _stored(c, keys)
    closed = []
    for key, register in heads.of_keys(c, keys).items():
        old = stored.get(key.removeprefix(_OF_RECORDS))
        if old is not None and others_effects.is_of_others(old):
            head = _shown(register, old.author)
            if head is not None:
                closed.append((old, str(head.stated.get("superseded_by", ""))))
    return closed


def _stored(c: sqlite3.Connection, keys: Iterable[str]) -> dict[str, Record]:
    ids = json.dumps([key.removeprefix(_OF_RECORDS) for key in keys])
    return {record.id: record for record, _ in records.find(c, f"id {ANY_OF}", (ids,))}


def _shown(register: Sequence[Head], author: str) -> Head | None:
    """Return `author`'s head, else the oldest, so that reusing a record's id replaces nothing."""
    ordered = sorted(register, key=lambda head: head.order)
    current = {head.author: head for head in ordered if head.state == heads.THEIRS}
    candidates = [head for head in current.values() if head.value]
    present = next((head for head in candidates if head.shown_author == author), None)
    return present or min(candidates, key=lambda head: head.order, default=None)


def _drop(c: sqlite3.Connection, ids: Sequence[str]) -> None:
    in_journal = others_effects.held_by_journal(c) if ids else ()
    for id_ in ids:
        if id_ not in in_journal:
            others_effects.drop(c, id_, pinned=True)


class _Graph:
    """Stores other members' statements as rows of the graph."""

    def __init__(self, c: sqlite3.Connection) -> None:
        self._c, self._by = c, BY._replace(at=ids.timestamp())
        self._guard = tombstones.StatementGuard(c, self._by)
        self._entities: dict[str, int | None] = {}

    def show(self, head: Head) -> None:
        """Store the graph row that a head states, unless the user has forgotten this row."""
        value: Said = head.stated
        if not self._is_stated_itself(head, value):
            value["created_at"] = min(value["created_at"] or self._by.at, self._by.at)
            _SHOWING[head.kind](self, value, head.shown_author)

    def drop(self, head: Head) -> None:
        """Remove the row of a withdrawn statement, unless this user makes the same statement."""
        value: Said = head.stated
        if self._is_stated_itself(head, value):
            return
        if head.kind == wire.ENTITY:
            self._remove_orphan(value["name"])
            self._c.execute(_OWNED, (value["name"], OTHERS))
        elif head.kind == wire.OBSERVATION:
            # If entities were merged, the name may be an alias of another entity.
            entity = rows.variant_id(self._c, value["entity"])
            query = "DELETE FROM observations WHERE entity = ? AND text = ? AND source = ?"
            if entity is not None:
                self._c.execute(query, (entity, value["text"], OTHERS))
                self._remove_unstated(value["entity"])
        else:
            source, target = (rows.variant_id(self._c, value[end]) for end in ("from", "to"))
            edge = "source = ? AND type = ? AND target = ?"
            query = f"DELETE FROM relations WHERE {edge} AND said_by <> ''"
            self._c.execute(query, (source, value["relationType"], target))
            for end in ("from", "to"):
                self._remove_unstated(value[end])

    def _is_stated_itself(self, head: Head, value: Said) -> bool:
        """Return True if redaction or truncation gave `value` the key of another stated row."""
        exact = wire.key_in(head.kind, value)
        return exact != head.key and self._is_stated(exact)

    def _is_stated(self, key: str) -> bool:
        return any(head.is_theirs for head in heads.where(self._c, "key = ?", (key,)))

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
            row |= {"trust": BY.trust, "source": OTHERS}
            row |= {name: value[name] for name in ("domain", "created_at")}
            rows.insert_observation(self._c, None, entity, row)

    def _show_relation(self, value: Said, author: str) -> None:
        source, target = (self._entity(value[end], value, author) for end in ("from", "to"))
        if source is None or target is None:
            return
        row = value | {"record": "", "said_by": author}
        if not rows.insert_relation(self._c, None, source, target, row):
            edge = (source, value["relationType"], target)
            self._c.execute(
                "UPDATE relations SET said_by = ?, domain = ?, created_at = ? WHERE source = ? "
                "AND type = ? AND target = ? AND said_by <> ''",
                (author, value["domain"], value["created_at"], *edge),
            )

    def _entity(
        self, name: str, value: Said, author: str, kind: str = rows.UNKNOWN_TYPE
    ) -> int | None:
        """Return the entity's row id; insert a missing row. Return None if the user forgot it."""
        if name not in self._entities:
            # If entities were merged here, the name may be an alias.
            by_alias = "SELECT entity FROM aliases WHERE key = ?"
            row = self._c.execute(by_alias, (text.name_key(name),)).fetchone()
            self._entities[name] = rows.entity_id(self._c, name) or (row[0] if row else None)
        if self._entities[name] is None and not self._guard.refuse_entity(name):
            at = value["created_at"]
            row = {"name": name, "type": kind, "domain": value["domain"], "record": ""}
            row |= {"said_by": author, "created_at": at, "updated_at": at}
            self._entities[name] = rows.insert_entity(self._c, None, row)
        return self._entities[name]

    def _remove_unstated(self, name: str) -> None:
        if not self._is_stated(wire.key_of(wire.ENTITY, name)):
            self._remove_orphan(name)

    def _remove_orphan(self, name: str) -> None:
        """Remove an entity of another member if it has no observations and no relations."""
        theirs = "SELECT 1 FROM entities WHERE name = ? AND said_by <> ''"
        if self._c.execute(theirs, (name,)).fetchone():
            rows.remove(self._c, rows.nothing() | {"entities": rows.orphans(self._c, [name])})
            self._entities.pop(name, None)


_SHOWING: dict[str, Callable[[_Graph, Said, str], None]] = {
    wire.ENTITY: _Graph._show_entity, wire.OBSERVATION: _Graph._show_observation,
    wire.RELATION: _Graph._show_relation,
}  # fmt: skip
