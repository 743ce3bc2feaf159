"""Import a memory page: restore missing memories, and change edited memories. A text keeps its
trust only if it is unchanged and was signed with the key of memory's home. Edited and added texts
may come from anyone, so they lose trust unless the user calls the page `mine`.
"""

import os
from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

from memory_fabric import ids, models
from memory_fabric.capture.statement import PURPOSE, stated_type
from memory_fabric.errors import BadInput
from memory_fabric.importing import items, page
from memory_fabric.importing.items import SOURCE, TRUST, Left, LeftOut, unusable
from memory_fabric.importing.page import USER_PAGE, Found, Item, Row, page_name
from memory_fabric.models import IMPORTED, Operation, Provenance, Record, text_with_reason
from memory_fabric.recall.agent_domains import domain_for
from memory_fabric.store import files, records, write
from memory_fabric.store.home import signing
from memory_fabric.store.memory import Memory
from memory_fabric.store.operations import rows
from memory_fabric.store.operations.remember import is_forgotten
from memory_fabric.store.projects import registry_file
from memory_fabric.text import encodable

MAX_BYTES = 256 << 20
REMOVED = "removed from the page (kept where memory has them)"
CHANGED_BOTH = "changed in the page and in memory (kept as in memory)"
NOT_OURS = "edits, which another may have made (--mine takes them)"
NAME = "a memory page"
KEYS = ("record", "entities", "observations", "relations")
# The text fields that a row of each graph table must have.
NEEDED = {
    "entities": ("name", "type", "domain"),
    "observations": ("entity", "text", "domain"),
    "relations": ("from", "relationType", "to", "domain"),
}
OBSERVATION = "o"

Seen = tuple[Record, tuple[str, ...]]  # a record and the sessions in which it was stated


class Restoring(NamedTuple):
    """The plan for importing a page: records with their sessions, graph rows, and counts. If
    `is_own`, unchanged memories keep their trust. `had_trust` counts records that lose the trust
    "user". `removed` has (entity, old text) of each edited observation: the old text is deleted.
    """

    name: str
    store: str
    is_own: bool
    records: tuple[Seen, ...] = ()
    rows: Mapping[str, Any] = {}
    removed: tuple[tuple[str, str], ...] = ()
    restored: int = 0
    edited: int = 0
    added: int = 0
    had_trust: int = 0
    left: tuple[LeftOut, ...] = ()


def is_page(path: str) -> bool:
    """Return True if the file begins as a memory page does."""
    if not os.path.isfile(path):
        return False
    with files.open_regular(path) as stream:
        head = stream.read(len(page.MARK) + 8)
    return encodable(head.decode("utf-8", "replace")).removeprefix("\ufeff").startswith(page.MARK)


def plan(memory: Memory, path: str, *, mine: bool, anyway: bool = False) -> Restoring:
    """Plan, without writing, what importing a page changes. `mine`: edited texts are the user's.
    Raises OSError, and BadInput if a page is invalid or, unless `anyway`, another project's.
    """
    data = files.read_bytes(path, MAX_BYTES) or b""
    try:
        found = page.read(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise unusable(f"{path} is not UTF-8 text.", "Save it as UTF-8.") from error
    if not found.data and not found.items:
        raise BadInput("PATH", f"{path} is an empty page.", remedy="Export it again.")
    name = found.head.removeprefix("of ")
    stated = next((row["project"] for row in found.data if "project" in row), None)
    is_user = name == USER_PAGE if stated is None else not stated
    is_here, project = is_user or anyway, memory.project
    if project is not None and not is_here:
        # Compare projects by id, or by name if the page's id is unknown in this home.
        is_unknown = stated not in registry_file.project_ids(memory.settings.home)
        is_here = stated == project.id or (is_unknown and name == page_name(project.name))
    if not is_here:
        here = project.name if project else "this folder"
        text = f"{path} is a page of the project {name}, not of {here}."
        remedy = f"Import it in the folder of {name}, or with --here into this project."
        raise BadInput("PATH", text, remedy=remedy)
    store = "user" if is_user or memory.project is None else "project"
    key = signing.known_key(memory.settings.home)
    line = {"lines": list(found.data), "signature": found.signature}
    is_signed = bool(key) and not found.torn and signing.is_ours(line, key)
    return _Comparison(memory, found, store, is_signed, mine).result(name)


def store(memory: Memory, found: Restoring, batch: str) -> None:
    """Store the content of a page in one transaction. Raises StoreUnavailable."""
    domain = domain_for(memory.settings).name
    by = Provenance(SOURCE, trust="user" if found.is_own else TRUST, domain=domain)
    kind = found.store if memory.project else "user"
    made: list[Operation] = []
    for record, seen in found.records:
        payload: dict[str, Any] = {"record": records.as_object(record), "seen_in": list(seen)}
        if record.id in found.rows.get("of", ()):
            payload["rows"] = rows.nothing()
        author = by if record.trust == "user" else by._replace(trust=TRUST)
        made.append(memory.operation("put_record", {**payload, "batch": batch}, author, kind))
    for entity, text in found.removed:
        gone = {"deletions": [{"entityName": entity, "observations": [text]}], "batch": batch}
        made.append(memory.operation("delete_observations", gone, by, kind))
    graph = {table: list(found.rows.get(table, ())) for table in NEEDED}
    if any(graph.values()):
        made.append(memory.operation("restore", {**graph, "batch": batch}, by, kind))
    if made:
        database = memory.database(kind, create=True)
        assert database is not None
        write.apply_all(database, made)
        memory.flush()


class _Comparison:
    def __init__(self, memory: Memory, found: Found, store: str, signed: bool, mine: bool) -> None:
        self._memory, self._found, self._store = memory, found, store
        self._own, self._mine = signed or mine, mine
        database = memory.database(store, create=False)
        self._c = database.connection if database else None
        self._left, self._counts = Left(), Counter[str]()
        # If several items have the same id, use the first: the others may be edited copies of it.
        self._items = {item.id: item for item in reversed(found.items) if item.id}
        self._records: dict[str, Seen] = {}
        self._texts: dict[str, str] = {}
        self._doubted: set[str] = set()
        self._removed: list[tuple[str, str]] = []

    def result(self, name: str) -> Restoring:
        """Return all changes that an import of the page will store."""
        if self._found.torn:
            self._left.add(items.UNREADABLE, "lines at its end", self._found.torn)
        for row in self._found.data:
            if "record" in row:
                self._record(row)
        content: dict[str, Any] = {"of": frozenset(self._records), **self._graph()}
        self._add()
        # Store a superseding record before the record that it superseded, which refers to it.
        placed: dict[str, Seen] = {}
        for id_ in self._records:
            chain = []
            while id_ in self._records and id_ not in placed and id_ not in chain:
                chain.append(id_)
                id_ = self._records[id_][0].superseded_by
            placed |= {link: self._records[link] for link in reversed(chain)}
        stored, gone, counts = tuple(placed.values()), tuple(self._removed), self._counts
        own, left = self._own, self._left.all
        return Restoring(name, self._store, own, stored, content, gone, left=left, **counts)

    def _record(self, row: Row) -> None:
        fields, sums, seen = row["record"], row.get("sums"), row.get("seen_in")
        id_ = str(fields.get("id") or "") if isinstance(fields, dict) else ""
        item = self._items.get(id_)
        if not id_ or not isinstance(sums, list) or len(sums) != 2:
            self._left.add(items.UNREADABLE, str(fields))
            return
        if item is None:
            self._left.add(REMOVED, id_[-8:])
            return
        try:
            record = records.from_object({**fields, "what": item.what, "why": item.why})
        except KeyError:
            self._left.add(items.UNREADABLE, item.what)
            return
        is_edited = _sums(item) != sums
        live = self._live(id_)
        if live is not None:
            is_taken = self._take_edit(live, record, sums)
            self._texts[id_] = text_with_reason(record if is_taken else live[0])
            return
        if self._is_forgotten(record):
            self._left.add(items.FORGOTTEN)
            return
        self._texts[id_] = text_with_reason(record)
        if not (self._mine or (self._own and not is_edited)):
            self._doubted.add(id_)
            self._counts["had_trust"] += record.trust == "user"
            evidence = {**record.evidence, IMPORTED: record.evidence.get(IMPORTED) or NAME}
            record = record._replace(trust=TRUST, source=SOURCE, pinned=False, evidence=evidence)
        self._records[id_] = (record, tuple(map(str, seen)) if isinstance(seen, list) else ())
        self._counts["restored"] += 1
        self._counts["edited"] += is_edited

    def _take_edit(self, live: tuple[Record, list[str]], record: Record, sums: list[Any]) -> bool:
        """Accept the page's edit of a stored record, or count the reason and return False."""
        stored, seen = live
        is_same = (stored.what, stored.why) == (record.what, record.why)
        is_trusted = self._mine and not models.is_unconfirmed_import(record)
        if is_same and is_trusted and models.is_unconfirmed_import(stored):
            self._records[record.id] = (_trusted(stored, record), tuple(seen))
            self._counts["restored"] += 1
            return True
        if _sums(record) == sums or is_same:
            self._left.add(items.KNOWN, record.what)
        elif _sums(stored) != sums:
            self._left.add(CHANGED_BOTH, record.what)
        elif not self._mine:
            self._left.add(NOT_OURS, record.what)
        else:
            changed = stored._replace(what=record.what, why=record.why)
            self._records[record.id] = (changed, tuple(seen))
            self._counts["edited"] += 1
            return True
        return False

    def _graph(self) -> dict[str, list[Row]]:
        graph: dict[str, list[Row]] = {table: [] for table in NEEDED}
        for row in self._found.data:
            if not (table := next((key for key in NEEDED if isinstance(row.get(key), dict)), "")):
                continue
            fields = dict(row[table])
            if table == "observations":
                text = fields["text"] if "text" in fields else self._observation(fields, row)
                if text is None:
                    continue
                fields["text"] = text
                # Trust a text only if it was signed with this home's key and is unchanged.
                is_edited = "of" in row and str(row["of"]) in self._doubted
                is_edited |= "sums" in row and [page.digest(str(text))] != row["sums"]
                if not (self._mine or (self._own and not is_edited)):
                    fields |= {"trust": TRUST, "source": SOURCE}
            # The present rows of a record that is stored again are deleted with its former state.
            owners = {str(fields.get("record")), *files.text_list(fields.get("claims"))}
            if not all(isinstance(fields.get(name), str) for name in NEEDED[table]):
                self._left.add(items.UNREADABLE, str(fields))
            elif not (owners.isdisjoint(self._records) and self._has(table, fields)):
                graph[table].append(fields)
        return graph

    def _observation(self, fields: Row, row: Row) -> str | None:
        """Return an observation's text from the page; None if it is not to be restored."""
        if "of" in row:
            return self._texts.get(str(row["of"]))
        entity = str(fields.get("entity") or "")
        if (item := self._items.get(f"{OBSERVATION}{fields.get('id')}")) is None:
            self._left.add(REMOVED, entity)
            return None
        if [page.digest(item.what)] != row.get("sums"):
            stored = rows.observations(self._c, "e.name = ?", (entity,)) if self._c else ()
            texts = (observation["text"] for observation in stored)
            before = next((text for text in texts if [page.digest(text)] == row.get("sums")), None)
            if before is not None and not self._mine:
                self._left.add(NOT_OURS, item.what)
                return None
            self._removed += [(entity, before)] if before is not None else []
            self._counts["edited"] += 1
        return item.what

    def _add(self) -> None:
        fields = (row["record"] for row in self._found.data if isinstance(row.get("record"), dict))
        stated = {str(record.get("id")) for record in fields}
        for item in self._found.items:
            is_old = bool(item.id) and self._items[item.id].what == item.what
            if item.id and item.id not in stated:  # its data line is missing or damaged
                is_old = self._found.torn > 0 or self._live(item.id) is not None
            if is_old or not item.what.strip() or item.heading in (page.ENTITIES, page.RELATIONS):
                continue
            text, project = item.what.strip(), self._memory.project
            now, settings = ids.timestamp(), self._memory.settings
            record = Record(
                type=page.TYPES.get(item.heading) or stated_type(item.what),
                what=text,
                why=item.why.strip(),
                confidence=PURPOSE,
                id=ids.id_for(f"page\n{item.heading}\n{text}"),
                trust="user" if self._mine else TRUST,
                source=SOURCE,
                scope="user" if self._store == "user" else "team",
                domain=domain_for(settings).name,
                project=project.name if project and self._store == "project" else "",
                author=settings.author,
                origin=settings.origin,
                created_at=now,
                valid_from=now,
                evidence={} if self._mine else {IMPORTED: NAME},
            )
            live = self._live(record.id)
            if live and not (self._mine and models.is_unconfirmed_import(live[0])):
                self._left.add(items.KNOWN, item.what)
            elif self._is_forgotten(record):
                self._left.add(items.FORGOTTEN)
            else:
                self._records[record.id] = (_trusted(live[0], record) if live else record, ("",))
                self._counts["added"] += 1

    def _live(self, id_: str) -> tuple[Record, list[str]] | None:
        return next(iter(records.find(self._c, "id = ?", (id_,)) if self._c else ()), None)

    def _is_forgotten(self, record: Record) -> bool:
        # Check with a low trust: the user may restore a forgotten statement, but a page may not.
        return self._c is not None and is_forgotten(self._c, record._replace(trust=TRUST))

    def _has(self, table: str, row: Row) -> bool:
        if (c := self._c) is None:
            return False
        if table == "entities":
            return rows.entity_id(c, row["name"]) is not None
        if table == "observations":
            entity = rows.entity_id(c, row["entity"])
            return bool(entity and rows.text_id(c, entity, row["text"], row["domain"]))
        return bool(rows.relation_of(c, row))


def _trusted(stored: Record, record: Record) -> Record:
    """Return a stored record, as it was changed since its import, with the page's trust."""
    since = {name: value for name, value in stored.evidence.items() if name != IMPORTED}
    trusted = stored._replace(trust=record.trust, source=record.source)
    evidence = {**since, **record.evidence}
    return trusted._replace(pinned=stored.pinned or record.pinned, evidence=evidence)


def _sums(item: Item | Record) -> list[str]:
    return [page.digest(item.what), page.digest(item.why)]
