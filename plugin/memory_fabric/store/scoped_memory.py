"""Views of a memory that show only some domains, or hide some isolated domains.

Temporary SQL views shadow the tables of the same names, so no query can omit the domain condition.
The views are read-only; changes use a separate connection. Full-text tables return only row ids and
need no view. Nor does a session's data (memories shown, tasks, memory block), which has no domain:
no other session reads it.
"""

import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any

from memory_fabric.errors import NotFound
from memory_fabric.models import Json, Operation, Payload, Provenance, Record
from memory_fabric.store.database import Database, translated
from memory_fabric.store.memory import Memory
from memory_fabric.store.queries.graph import existing

# The maximum number of scoped views of a memory that stay open; each has its own connections.
MAX_SCOPED = 8
_ROWS = "SELECT * FROM main.{table} AS t WHERE t.domain {these}"
# Domains share entities. An entity is visible if it was created in a visible domain, or has a
# visible observation or relation. Its times are computed from visible rows, because stored times
# could reveal other domains. Where aliases are hidden, so is their copy in `extra`.
_ENTITIES = """
SELECT t.id, t.name, t.key, t.type, {extra} AS extra,
    CASE WHEN t.domain {these} THEN t.domain ELSE {first} END AS domain,
    CASE WHEN t.domain {these} THEN t.record ELSE '' END AS record, t.said_by,
    CASE WHEN t.domain {these} THEN t.created_at ELSE coalesce({earliest}, '') END
        AS created_at,
    coalesce((SELECT max(o.created_at) FROM main.observations AS o
        WHERE o.entity = t.id AND o.domain {these}),
        CASE WHEN t.domain {these} THEN t.created_at ELSE {earliest} END, '') AS updated_at
FROM main.entities AS t WHERE t.domain {these}
    OR EXISTS (SELECT 1 FROM main.observations AS o
        WHERE o.entity = t.id AND o.domain {these})
    OR EXISTS (SELECT 1 FROM main.relations AS r WHERE r.source = t.id AND r.domain {these})
    OR EXISTS (SELECT 1 FROM main.relations AS r WHERE r.target = t.id AND r.domain {these})
"""
_EARLIEST = """(SELECT min(s.created_at) FROM (
    SELECT o.created_at FROM main.observations AS o
        WHERE o.entity = t.id AND o.domain {these}
    UNION ALL SELECT r.created_at FROM main.relations AS r
        WHERE r.source = t.id AND r.domain {these}
    UNION ALL SELECT r.created_at FROM main.relations AS r
        WHERE r.target = t.id AND r.domain {these}) AS s)"""
# An alias has no domain. A memory limited to some domains therefore uses this view, which shows
# none; a memory that only hides isolated domains reads the table itself and shows all aliases.
_ALIASES = "SELECT t.key, t.alias, t.entity FROM main.aliases AS t WHERE 0"
# An operation is visible if its domain and those of all its rows are. An undo states no domains for
# its changes, so the operation that it undid must be visible, too. If that operation is an undo as
# well, the same holds for the operation that it undid, and so on.
_OPERATIONS = """
SELECT t.* FROM main.operations AS t WHERE {own} AND (t.kind <> 'undo' OR (
    EXISTS (SELECT 1 FROM main.operations AS u
        WHERE u.id = json_extract(t.payload, '$.operation'))
    AND NOT EXISTS (
        WITH RECURSIVE back (id) AS (
            SELECT json_extract(t.payload, '$.operation')
            UNION SELECT json_extract(b.payload, '$.operation') FROM back
            JOIN main.operations AS b ON b.id = back.id WHERE b.kind = 'undo')
        SELECT 1 FROM back LEFT JOIN main.operations AS u ON u.id = back.id
        WHERE u.id IS NULL OR NOT ({others}))))
"""
_OWN = """coalesce(json_extract({t}.provenance, '$.domain'), '') {these}
    AND NOT EXISTS (SELECT 1 FROM json_tree({t}.payload) AS j WHERE {foreign})
    AND NOT EXISTS (SELECT 1 FROM json_tree({t}.inverse) AS j WHERE {foreign})"""
# SQL: the JSON node `j` of an operation names an invisible domain, or lists aliases (no domain).
_FOREIGN = """(j.key = 'domain' AND j.type = 'text' AND NOT j.value {these})
    OR ({names} AND j.key = 'aliases' AND j.type = 'array'
        AND json_type(j.value, '$[0]') = 'array')"""
_INGESTED = (
    "SELECT * FROM main.intake AS t WHERE json_valid(t.body) "
    "AND coalesce(json_extract(t.body, '$.domain'), '') {these}"
)
ROWS = ("observations", "relations", "records", "episodes")


def within(memory: Memory, domains: Sequence[str]) -> Memory:
    """Return a view that reads and writes only these domains, as far as `memory` shows them."""
    own = memory.limited_to(domains)
    if own is not None:
        return own
    if isinstance(memory, ScopedMemory):
        visible = set(domains if memory.domains is None else memory.domains)
        domains = [name for name in domains if name in visible - {*memory.hidden}]
    return _scoped(memory.whole, domains, hidden=False)


def without(memory: Memory, domains: Sequence[str]) -> Memory:
    """Return a view that hides these domains. It can write to any domain unless `memory` cannot."""
    if not isinstance(memory, ScopedMemory):
        return _scoped(memory, domains, hidden=True)
    if memory.domains is None:
        return _scoped(memory.whole, (*memory.hidden, *domains), hidden=True)
    return within(memory, [name for name in memory.domains if name not in domains])


def _scoped(whole: Memory, domains: Sequence[str], *, hidden: bool) -> Memory:
    names = tuple(sorted(set(domains)))
    key = (hidden, names)
    scoped = whole.scoped.pop(key, None) or ScopedMemory(whole, names, hidden=hidden)
    # Copy the current settings: config.toml or a switch (`memory-fabric off`) may have changed.
    scoped.settings = whole.settings
    whole.scoped[key] = scoped
    while len(whole.scoped) > MAX_SCOPED:
        whole.scoped.pop(next(iter(whole.scoped))).close()
    return scoped


class ScopedMemory(Memory):
    """A memory that shows only some domains; see `within`. Changes go to the unrestricted memory:
    additions get a domain that is visible here, and deletions are limited to visible domains. If
    domains are `hidden` instead (see `without`), changes are not restricted.
    """

    def __init__(self, whole: Memory, domains: tuple[str, ...], *, hidden: bool = False) -> None:
        super().__init__(whole.settings, whole.project, repair=whole._repair)
        self.domains, self._whole = None if hidden else domains, whole
        self.hidden = domains if hidden else ()
        self.failures, self.messages = whole.failures, whole.messages
        self.switched_by = whole.switched_by

    @property
    def whole(self) -> Memory:
        return self._whole

    def follow_switches(self) -> None:
        self._whole.follow_switches()
        self.settings = self._whole.settings

    def follow_settings(self) -> None:
        self._whole.follow_settings()
        self.settings = self._whole.settings

    def database(self, kind: str, *, create: bool) -> Database | None:
        """Return the database, None if missing. With `create`, the unlimited memory creates it."""
        if create:
            self._whole.database(kind, create=True)
        return super().database(kind, create=False)

    def write(self, kind: str, payload: Payload, by: Provenance, *, store: str = "") -> Json:
        """Apply a change to visible domains only; omit other domains' names from the result."""
        payload, by = self._limited(kind, payload, by)
        return self._visible_part(self._whole.write(kind, payload, by, store=store))

    def write_now(self, kind: str, payload: Payload, by: Provenance, *, store: str) -> Json:
        """Apply a change without queueing it, limited to the visible domains like `write`."""
        payload, by = self._limited(kind, payload, by)
        return self._visible_part(self._whole.write_now(kind, payload, by, store=store))

    def remember(self, record: Record, by: Provenance, *args: Any, **options: Any) -> Record | None:
        """Store the record in a visible domain and return it; see `Memory.remember`."""
        if not self.hidden:
            _, by = self._limited("remember", {}, by)
            record = record._replace(domain=by.domain)
        return self._whole.remember(record, by, *args, **options)

    def apply_now(self, operation: Operation, *, is_new: bool = False) -> Json:
        return self._whole.apply_now(operation, is_new=is_new)

    def refresh(self) -> None:
        self._whole.refresh()

    def flush(self) -> None:
        self._whole.flush()

    def _limited(self, kind: str, payload: Payload, by: Provenance) -> tuple[Payload, Provenance]:
        """Limit a change to visible domains, and replace an invisible domain of its record or
        provenance. Raises NotFound if an entity that gets observations is not visible.
        """
        if self.hidden:
            return payload, by
        domains, limited = self.domains or (), dict(payload)
        if domains and by.domain not in domains:
            by = by._replace(domain=domains[0])
        if kind == "add_observations":
            names = [item["entityName"] for item in payload["observations"]]
            visible_names = self._shown(names)
            unseen = next((name for name in names if name not in visible_names), None)
            if unseen is not None and not self.unavailable:
                raise NotFound(unseen, f"Entity with name {unseen} not found")
        record = payload.get("record")
        if isinstance(record, dict) and record.get("domain") not in domains:
            limited["record"] = {**record, "domain": by.domain}
        from memory_fabric.store.operations.kinds import KINDS  # imported late: only to write

        shape = KINDS[kind].shape
        limited |= {"apart": True} if "apart" in shape else {}
        limited |= {"only": list(domains)} if "only" in shape else {}
        return limited, by

    def _visible_part(self, result: dict[str, Any]) -> Json:
        visible = dict(result)
        if "variants" in visible:
            shown = self._shown(name for others in visible["variants"].values() for name in others)
            pairs = visible["variants"].items()
            seen = {name: [other for other in others if other in shown] for name, others in pairs}
            visible["variants"] = {name: others for name, others in seen.items() if others}
        if "orphans" in visible:
            shown = self._shown(visible["orphans"])
            visible["orphans"] = [name for name in visible["orphans"] if name in shown]
        return visible

    def _shown(self, names: Iterable[str]) -> set[str]:
        wanted = list(names)
        return {name for db in self.databases() for name in existing(db, wanted)}

    def _opened(self, path: str, kind: str, create: bool) -> Database | None:
        opened = super()._opened(path, kind, create)
        if opened is None:
            return None
        views = selects(self.hidden or self.domains or (), hidden=bool(self.hidden))
        try:
            # Create this connection's views in memory, because the disk may be full.
            opened.connection.execute("PRAGMA temp_store = MEMORY")
            for name, select in views.items():
                opened.connection.execute(f"CREATE TEMP VIEW {name} AS {select}")
        except sqlite3.Error as error:
            raise translated(path, error) from error
        opened.is_scoped = True
        return opened


def selects(domains: Sequence[str], *, hidden: bool = False) -> dict[str, str]:
    """Map each table to the SELECT of its view, which shows only these domains or hides them."""
    # Domains are inserted as quoted text, because a view accepts no bound parameters.
    texts = ["'" + domain.replace("'", "''").replace("\0", "") + "'" for domain in domains]
    first = "'general'" if hidden else texts[0] if texts else "''"
    in_domains = f"{'NOT ' if hidden else ''}IN ({', '.join(texts)})"
    earliest = _EARLIEST.format(these=in_domains)
    foreign = _FOREIGN.format(these=in_domains, names=int(not hidden))
    own, others = (_OWN.format(t=t, these=in_domains, foreign=foreign) for t in ("t", "u"))
    views = {table: _ROWS.format(table=table, these=in_domains) for table in ROWS}
    entities = {"these": in_domains, "first": first, "earliest": earliest}
    views["entities"] = _ENTITIES.format(**entities, extra="t.extra" if hidden else "''")
    views |= {} if hidden else {"aliases": _ALIASES}
    views["operations"] = _OPERATIONS.format(own=own, others=others)
    views["intake"] = _INGESTED.format(these=in_domains)
    return views
