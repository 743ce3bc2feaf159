"""Convert this user's rows to values that may be sent: redacted, and without absolute paths. Apply
operations of the user's other machines as if they were made here. For keys, see `wire.key_of`.
"""

import json
import os
import re
import sqlite3
from collections.abc import Callable, Collection, Iterable
from functools import partial
from typing import Any

from memory_fabric import errors, ids, models
from memory_fabric.models import FOR_TEAM, OTHERS, QUOTATION, RELEASED, Operation, Record
from memory_fabric.sharing.replica import heads, wire
from memory_fabric.store import records, write
from memory_fabric.store.base_memory import BaseMemory as Memory
from memory_fabric.store.operations import rows
from memory_fabric.store.projects.identity import worktree_of
from memory_fabric.text import each_text, name_key

Value = dict[str, Any]
# Stands before the kind of a due row that is withdrawn only if no later operation restates it.
FORGOTTEN = "forgotten "
# The scope of the records that each kind of database sends and receives.
SCOPES = {"project": "team", "user": "user"}
# Record fields that other users read from a line of decisions.jsonl (sharing.git.claims_read).
CLAIMED = (
    "id type what why alternatives constraints tradeoffs entities outcome category domain "
    "confidence created_at valid_from valid_to superseded_by status scope"
).split()
# Record fields that a machine accepts only from operations that are proved to be the user's own.
OWN = "trust source scope confidence pinned generalizable relations status author project".split()
EVIDENCE = (
    models.WHEN, models.ALSO, models.UNSAID, QUOTATION, models.CONTRADICTS, models.EFFECT,
    models.LIFTED, models.CONFIRMED, models.RESTATED, "noted", RELEASED, FOR_TEAM,
)  # fmt: skip
# Matches where an absolute path may begin: not inside a longer path or word, except after the
# beginning of a URL or a one-letter option (-I/usr/include).
_BEFORE = r"(?:(?<![\w.~/\\-])|(?<=://)|(?<=://localhost)|(?<=://file)|(?<=\s-\w))"
# Fields with ids and times, in which paths are not replaced.
_EXACT = frozenset(("id", "created_at", "valid_from", "valid_to", "superseded_by"))
# For each kind of graph row, the query and the condition that find a row by its names.
_ROWS: dict[str, tuple[Callable[..., Iterable[Value]], str]] = {
    # An entity that was created for a record is sent separately only if it has aliases.
    wire.ENTITY: (rows.entities, "e.name = ? AND e.said_by = '' AND (e.record = '' OR e.id IN "
                  "(SELECT entity FROM aliases))"),
    wire.OBSERVATION: (rows.observations, "e.name = ? AND o.text = ? AND o.record = '' "
                       f"AND o.source <> '{OTHERS}'"),
    wire.RELATION: (rows.relations, "s.name = ? AND r.type = ? AND t.name = ? AND r.record = '' "
                    "AND r.said_by = ''"),
}  # fmt: skip
_HOLDERS = (
    "SELECT e.name FROM aliases AS a JOIN entities AS e ON e.id = a.entity "
    "WHERE a.key = ? AND e.name <> ?"
)


class Outgoing:
    """Converts the rows of one database to values that may be sent."""

    def __init__(self, memory: Memory, kind: str, *, words: bool) -> None:
        """With `words`, add unreleased quotations, which only this user's machines accept."""
        self._scope = SCOPES[kind]
        self._isolated = memory.settings.domains.isolated
        self._places = _places(memory)
        self._words = words

    def of(self, c: sqlite3.Connection, kind: str, key: str) -> tuple[str, Value | None]:
        """Return a row's key in the log, and its value: None withdraws a deleted or private row."""
        if kind == wire.RECORD:
            value = None
            for record, _ in records.find(c, "id = ?", (key,)):
                is_in_force = record.status == "active" and record.type != "session"
                is_visible = record.source != OTHERS and record.domain not in self._isolated
                if is_in_force and is_visible and record.scope == self._scope:
                    value = self._cleaned(value_of(record, words=self._words))
            return wire.key_of(kind, key), value
        names = json.loads(key)
        find, condition = _ROWS[kind]
        # A key is a digest of the names in the form in which they are sent.
        plain = [str(self._cleaned({"": name})[""]) for name in names]
        wire_key = wire.key_of(kind, *plain)
        for row in (*find(c, condition, (*plain,)), *find(c, condition, tuple(names))):
            if row["domain"] in self._isolated:
                continue
            value = {field: row[field] for field in (*wire.NAMED_BY[kind], "created_at", "domain")}
            if kind == wire.ENTITY:
                value |= {"type": row["type"], "aliases": [alias for _, alias in row["aliases"]]}
            if kind == wire.OBSERVATION:
                value["own"] = {"trust": row["trust"], "source": row["source"]}
            return wire_key, self._cleaned(value)
        return wire_key, None

    def _cleaned(self, value: Value) -> Value:
        """Return a value without secrets, in which paths of this machine are shortened ("~/x")."""
        free = {name: part for name, part in value.items() if name not in _EXACT}

        def without_places(text: str) -> str:
            for pattern, instead in self._places if "/" in text or "\\" in text else ():
                text = pattern.sub(partial(_shortened, instead), text)
            return text

        return write.cleaned({**value, **each_text(free, without_places)})


def value_of(record: Record, *, words: bool = False) -> Value:
    """Return a record as a value to send; `words` includes quotations not released for sharing."""
    whole = records.as_object(record)
    own = {name: whole[name] for name in OWN}
    evidence = record.evidence
    is_released = bool(evidence.get(RELEASED) or evidence.get(FOR_TEAM))
    held_back = () if words or is_released else (QUOTATION,)
    own["evidence"] = {k: evidence[k] for k in EVIDENCE if k in evidence and k not in held_back}
    value = {name: whole[name] for name in CLAIMED} | {"own": own}
    shown = {"words": QUOTATION} if is_released else {}
    shown |= {"when": models.WHEN} if evidence.get(FOR_TEAM) else {}
    return value | {name: evidence[key] for name, key in shown.items() if evidence.get(key)}


def _places(memory: Memory) -> list[tuple[re.Pattern[str], str]]:
    """Return (pattern, replacement) for project folder (".") and user home ("~"), longest first."""
    settings, project = memory.settings, memory.project
    inside = {project.root, worktree_of(settings.project_dir)} if project else set()
    places = {path: "." for folder in inside for path in _spellings(folder)}
    places = dict.fromkeys(_spellings(settings.user_home), "~") | places
    return [
        (re.compile(rf"{_BEFORE}{re.escape(path)}(?P<sep>[/\\])?(?![\w-])?"), instead)
        for path, instead in sorted(places.items(), key=lambda pair: -len(pair[0]))
    ]


def _shortened(instead: str, match: re.Match[str]) -> str:
    after = match.string[match.end() : match.end() + 1]
    if not match["sep"]:
        # A longer name is another folder: `/home/ann` must not match in `/home/anna`.
        return match.group() if after and (after.isalnum() or after in "_-") else instead
    return "" if instead == "." and (after.isalnum() or after in "._-") else instead + match["sep"]


def _spellings(folder: str) -> list[str]:
    """Return a folder's path, also with links resolved, but without top-level paths like `/opt`."""
    plain = [path.rstrip("/\\") for path in (folder, os.path.realpath(folder)) if folder]
    return [path for path in dict.fromkeys(plain) if path.count("/") + path.count("\\") > 1]


def tombstone_of(key: str) -> str:
    """Return the id of the tombstone for statements under this key of the shared log."""
    prefix, _, name = key.partition(":")
    return {"e": "entity:", "o": "observation:"}.get(prefix, "") + name


def show(c: sqlite3.Connection, before: heads.Head | None, now: heads.Head | None) -> None:
    """Change this user's row, by logged operations, from head `before` to `now` (None: no head)."""
    was, value = (head.stated if head is not None else None for head in (before, now))
    head = now or before
    if head is None:
        return
    # While nothing was exchanged, it may have been forgotten before (0) or after it was stated (1).
    later = "SELECT created_at > ? FROM tombstones WHERE id = ? AND NOT EXISTS ("
    later += "SELECT 1 FROM team_heads WHERE key = ?)"
    known = (head.made_at, tombstone_of(head.key), wire.key_of(wire.DISMISSAL, head.key))
    # The log orders this machine's withdrawal and later statements, whatever the clocks say.
    is_ordered = before is not None and before.state != heads.MINE and not was
    buried = None if is_ordered else c.execute(later, known).fetchone()
    if value and buried == (1,):
        names = json.dumps([value[name] for name in wire.NAMED_BY[head.kind]], ensure_ascii=False)
        due = (FORGOTTEN + head.kind, value["id"] if head.kind == wire.RECORD else names)
        c.execute("INSERT OR IGNORE INTO team_due VALUES (?, ?)", due)
    elif value is not None and (value != was or buried):
        if buried or head.kind == wire.RECORD:  # another machine restored it
            _Stated(c, value).lift(tombstone_of(head.key))
        _SAYING[head.kind](_Stated(c, value))
    elif was is not None and value is None:
        _Stated(c, was | {"is_kept": wire.KEPT in head.base}).withdraw(head.kind)


def key_of_gone(c: sqlite3.Connection, kind: str, key: str) -> str:
    """Return a deleted graph row's key in the shared log. Return '' if the row still exists, or if
    a name contains a secret or a path: it was sent in another form, and so under another key.
    """
    names = json.loads(key)
    find, condition = _ROWS[kind]
    is_plain = write.cleaned({"": names})[""] == names and not set("/\\") & set("".join(names))
    if not is_plain or any(find(c, condition, tuple(names))):
        return ""
    return wire.key_of(kind, *names)


class _Stated:
    """Applies a statement from another machine of the user, with its source, trust and time."""

    def __init__(self, c: sqlite3.Connection, value: Value) -> None:
        self.c, self.value = c, value
        self._own: Value = own if isinstance(own := value.get("own"), dict) else {}
        trust, source = self._own.get("trust"), self._own.get("source")
        self._by = models.Provenance(
            source if isinstance(source, str) and source else "cli",
            trust=trust if trust in models.TRUST_ORDER else "tool",
            # `undo` reverts only changes made here, not changes from another machine.
            origin=models.OTHER_MACHINE,
            at=str(value.get("created_at") or ids.timestamp()),
            domain=str(value.get("domain") or "general"),
        )

    def say_record(self) -> None:
        id_ = self.value["id"]
        stored = records.find(self.c, "id = ?", (id_,))
        # Only the machine on which a record was stated knows its session and agent.
        record = records.from_object({**self.value, **self._own})
        for stored_record, _ in stored:
            # Keep a quotation that is stored here, because the received value may lack it.
            kept = stored_record.evidence.items()
            local_evidence = {k: v for k, v in kept if k not in EVIDENCE or k == QUOTATION}
            record = record._replace(session=stored_record.session, agent=stored_record.agent)
            record = record._replace(evidence={**local_evidence, **record.evidence})
        seen_in = stored[0][1] if stored else []
        self._apply("put_record", {"record": records.as_object(record), "seen_in": seen_in})
        link = "SELECT superseded_by, valid_to FROM records WHERE id = ?"
        row = self.c.execute(link, (id_,)).fetchone()
        if row is not None and tuple(row) != (record.superseded_by, record.valid_to):
            now = {"id": id_, "by": record.superseded_by, "at": record.valid_to}
            self._apply("supersede", {"links": [now | {"was": {"by": row[0], "at": row[1]}}]})

    def dismiss(self) -> None:
        """Forget others' statements under the key in `value`, and refuse equal ones in future."""
        for head in heads.where(self.c, "key = ?", (key := self.value["of"],)):
            said = head.stated or {}
            if head.kind == wire.RECORD:
                self._apply("forget", {"ids": [said.get("id", "")]})
            elif head.kind == wire.ENTITY and said:
                self._apply("forget", {"ids": [], "entityNames": [said["name"]]})
            elif head.kind == wire.OBSERVATION and said:
                texts = {"entityName": said["entity"], "observations": [said["text"]]}
                self._apply("forget", {"ids": [], "deletions": [texts]})
        buried = [tombstone_of(key), self.value.get("key", 0), self._by.at]
        self._apply("tombstones", {"add": [buried], "remove": []})

    def say_entity(self) -> None:
        name, kind = self.value["name"], self.value["type"]
        self._create_entity(name, kind, observations=[])
        query = "UPDATE entities SET type = ?, domain = ?, created_at = ? WHERE name = ?"
        self.c.execute(query, (kind, self.value["domain"], self.value["created_at"], name))
        wanted = {alias for alias in self.value.get("aliases") or () if isinstance(alias, str)}
        for alias in sorted(wanted - {name}):
            # If two machines gave the same alias to different entities, the later statement wins.
            holders = self.c.execute(_HOLDERS, (name_key(alias), name)).fetchall()
            if all(self._rank(holder) < self._rank(name) for (holder,) in holders):
                for (holder,) in holders:
                    self._change_aliases("unalias", holder, {alias})
            if rows.entity_id(self.c, alias) is not None:
                self._apply("merge", {"into": name, "names": [alias]})
        entities = rows.entities(self.c, "e.name = ?", (name,))
        aliases = {alias for row in entities for _, alias in row["aliases"]}
        self._change_aliases("unalias", name, aliases - wanted)
        for alias in sorted(wanted - aliases):
            self._change_aliases("alias", name, {alias})

    def _rank(self, name: str) -> tuple[str, str]:
        """Return the order of this user's last statement on the entity; later ones rank higher."""
        register = heads.where(self.c, "key = ?", (wire.key_of(wire.ENTITY, name),))
        return max((head.order for head in register if head.is_own), default=("", ""))

    def _change_aliases(self, change: str, name: str, aliases: Collection[str]) -> None:
        if aliases:
            self._apply(change, {"entity": name, "aliases": sorted(aliases)})

    def say_observation(self) -> None:
        name = self.value["entity"]
        if rows.entity_id(self.c, name) is None:
            self._create_entity(name, rows.UNKNOWN_TYPE)
        additions = [{"entityName": name, "contents": [self.value["text"]]}]
        self._apply("add_observations", {"observations": additions})
        # An observation that both machines stated gets the provenance of the later statement.
        changed = (self._by.trust, self._by.source, self._by.domain, self._by.at)
        self.c.execute(
            "UPDATE observations SET trust = ?, source = ?, domain = ?, created_at = ? "
            "WHERE entity = ? AND text = ? AND record = '' AND source <> ?",
            (*changed, rows.entity_id(self.c, name), self.value["text"], OTHERS),
        )

    def say_relation(self) -> None:
        edge = {name: self.value[name] for name in wire.NAMED_BY[wire.RELATION]}
        self._apply("create_relations", {"relations": [edge]})

    def withdraw(self, kind: str) -> None:
        """Withdraw the statement of this kind, as if the user had withdrawn it here."""
        value = self.value
        if kind == wire.RECORD:
            if value["is_kept"]:  # the record was moved or made local: equal texts stay allowed
                self._apply("tombstones", {"add": [[value["id"], 0, self._by.at]], "remove": []})
            self._apply("forget", {"ids": [value["id"]]})
        elif kind == wire.ENTITY:
            self._apply("remove_orphans", {"entityNames": [value["name"]]})
            # If observations or relations here still need the entity, it stays and is sent again.
            present = "SELECT 'entity', json_array(name) FROM entities WHERE name = ?"
            self.c.execute(f"INSERT OR IGNORE INTO team_due {present}", (value["name"],))
        elif kind == wire.OBSERVATION:
            deletions = [{"entityName": value["entity"], "observations": [value["text"]]}]
            self._apply("delete_observations", {"deletions": deletions})
            self._remove_if_unsaid(value["entity"])
        elif kind == wire.RELATION:
            edge = {name: value[name] for name in wire.NAMED_BY[wire.RELATION]}
            self._apply("delete_relations", {"relations": [edge]})
            for end in ("from", "to"):
                self._remove_if_unsaid(value[end])
        else:  # a dismissal: accept others' statements on its key again
            self.lift(tombstone_of(value["of"]))

    def lift(self, tombstone: str) -> None:
        """Remove the tombstone with this id, if any."""
        for row in self.c.execute("SELECT * FROM tombstones WHERE id = ?", (tombstone,)).fetchall():
            self._apply("tombstones", {"add": [], "remove": [list(row)]})

    def _create_entity(self, name: str, kind: str, **more: Any) -> None:
        self._apply("create_entities", {"entities": [{"name": name, "entityType": kind} | more]})

    def _remove_if_unsaid(self, name: str) -> None:
        """Delete an entity not stated by this user if no observation or relation refers to it."""
        register = heads.where(self.c, "key = ?", (wire.key_of(wire.ENTITY, name),))
        if not any(head.is_own and head.value for head in register):
            self._apply("remove_orphans", {"entityNames": [name]})

    def _apply(self, kind: str, payload: Value) -> None:
        """Apply and log an operation; if it cannot be applied to the rows here, change nothing."""
        operation = Operation(ids.new_id(), kind, write.cleaned(payload), self._by)
        self.c.execute("SAVEPOINT said")
        try:
            write.apply_within(self.c, operation)
        except errors.FabricError:
            self.c.execute("ROLLBACK TO said")
        finally:
            self.c.execute("RELEASE said")


_SAYING: dict[str, Callable[[_Stated], None]] = {
    wire.RECORD: _Stated.say_record, wire.ENTITY: _Stated.say_entity,
    wire.OBSERVATION: _Stated.say_observation, wire.RELATION: _Stated.say_relation,
    wire.DISMISSAL: _Stated.dismiss,
}  # fmt: skip
