"""Own changes of a mirrored graph as edits of single lines of its file.

A change that only adds lines at the end needs not even the lines that are there. One that alters or
deletes lines looks for them in the file. Whatever is not plain (another order of keys, a line
that is there twice, an operation of another kind) is left to the writer of the whole file.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from memory_fabric.models import Entity, Relation
from memory_fabric.store import graph
from memory_fabric.store.database import Database
from memory_fabric.store.graph_file import exchange
from memory_fabric.store.graph_file.sync_state import mark_of
from memory_fabric.store.operations import kinds

if TYPE_CHECKING:
    from memory_fabric.store.graph_file.sync_state import State

_ENTITY = b'{"type":"entity"'
_RELATIONS = (b'{"type":"relation"', b'{"type": "relation"')
# Operations, and entities and relations, that are edited one by one; with more of either the whole
# file is written.
MAX_OPERATIONS = MAX_TOUCHED = 200
_SINCE = (
    "SELECT seq, id, kind, payload, inverse FROM operations WHERE seq > ? "
    "AND json_extract(provenance, '$.source') <> 'import' ORDER BY seq LIMIT ?"
)


class Edits(NamedTuple):
    """Lines that the file lacks, and lines that it has and that are to be removed or replaced.

    All are canonical. `replaced` has the new line for each old one, an empty one to remove it, and
    `marks` the digest that the old one has in the file.
    """

    added: tuple[bytes, ...] = ()
    replaced: Mapping[bytes, bytes] = {}
    marks: Mapping[bytes, bytes] = {}

    @property
    def new(self) -> list[bytes]:
        """The lines that the file has afterwards and had not before."""
        return [*self.added, *filter(None, self.replaced.values())]


class Found(NamedTuple):
    """Edits, and the number and id of the last operation in them."""

    edits: Edits
    seq: int
    operation: str


class _Touched:
    """Names and relations that operations have changed.

    Each is true if the operation created it, so that the file cannot have a line of it.
    """

    def __init__(self) -> None:
        self.names: dict[str, bool] = {}
        self.relations: dict[Relation, bool] = {}
        self.is_plain = True

    def all(self) -> Iterator[tuple[str | Relation, bool]]:
        """Yield names and relations in the order of lines."""
        yield from self.names.items()
        yield from self.relations.items()

    def __len__(self) -> int:
        return len(self.names) + len(self.relations)

    def add(self, kind: str, payload: Mapping[str, Any], inverse: list[dict[str, Any]]) -> None:
        """Add what an operation changed."""
        undone = [(step["kind"], step["payload"]) for step in inverse]
        new = {n for k, p in undone if k == "remove_orphans" for n in p["entityNames"]}
        if kind == "create_entities":
            self._name((e["name"] for e in payload["entities"]), new)
        elif kind == "create_relations":
            for k, p in undone:
                if k == "delete_relations":
                    self._relate(p["relations"], is_new=True)
            self._name(new, new)
        elif kind == "add_observations":
            self._name((o["entityName"] for o in payload["observations"]), set())
        elif kind in ("delete_entities", "delete_observations", "delete_relations"):
            for _, p in undone:
                self._name((row["name"] for row in p.get("entities", ())), set())
                self._name((row["entity"] for row in p.get("observations", ())), set())
                gone = p.get("relations", ())
                self._relate(gone, is_new=False)
                # The line of a relation may have been all that stated an end of it.
                self._name((r[end] for r in gone for end in ("from", "to")), set())
        else:
            self.is_plain = False

    def _name(self, names: Any, new: set[str]) -> None:
        for name in names:
            self.names.setdefault(name, name in new)

    def _relate(self, relations: Any, *, is_new: bool) -> None:
        for r in relations:
            self.relations.setdefault(Relation(r["from"], r["relationType"], r["to"]), is_new)


def edits_since(db: Database, state: State, agreed: Agreed) -> Found | None:
    """Return the edits since the agreed state; None if they are not plain.

    Raises StoreUnavailable.
    """
    # One transaction: the lines must be those after the last of these operations.
    db.rows("BEGIN")
    try:
        operations = db.rows(_SINCE, (state.seq, MAX_OPERATIONS + 1))
        touched = _touched_by(operations)
        now = _lines_now(db, touched) if touched else {}
    finally:
        db.rows("ROLLBACK")
    if touched is None:
        return None
    seq, operation = operations[-1][:2] if operations else (state.seq, state.operation)
    added: list[bytes] = []
    replaced: dict[bytes, bytes] = {}
    marks: dict[bytes, bytes] = {}
    for part, is_new in touched.all():
        found = [] if is_new else agreed.lines_of(part)
        if len(found) > 1:
            return None
        line = now.get(part, b"")
        if not found and line:
            added.append(line)
        for old, mark in found:
            if old != line:
                replaced[old], marks[old] = line, mark
    return Found(Edits(tuple(added), replaced, marks), seq, operation)


def _touched_by(operations: list[tuple[Any, ...]]) -> _Touched | None:
    """Return what these operations changed; None if they are not plain, or too many."""
    if len(operations) > MAX_OPERATIONS:
        return None
    touched = _Touched()
    for _, _, kind, payload, inverse in operations:
        stated = json.loads(payload)
        touched.add(kind, stated, kinds.read_inverse(kind, stated, inverse))
        if not touched.is_plain or len(touched) > MAX_TOUCHED:
            return None
    return touched


def _lines_now(db: Database, touched: _Touched) -> dict[str | Relation, bytes]:
    """Return the lines of the touched entities and relations that exist."""
    entities, _ = graph.opened(db, list(touched.names), 0)
    found: dict[str | Relation, bytes] = {e.name: exchange.line_of(e) for e in entities}
    for relation in touched.relations:
        if graph.stated_at(db, relation):
            found[relation] = exchange.line_of(relation)
    return found


class Agreed:
    """The agreed lines as they are saved, read when a line is looked for."""

    def __init__(self, read: Callable[[], bytes]) -> None:
        self._read = read
        self._saved: bytes | None = None

    def lines_of(self, part: str | Relation) -> list[tuple[bytes, bytes]]:
        """Return the lines of an entity's name or a relation that the file has.

        Each is in its canonical form, with the digest of the form that it has in the file: one that
        is there in two forms is returned twice.
        """
        if self._saved is None:
            self._saved = self._read()
        return list(_found(self._saved, _beginning(part)))


def _beginning(part: str | Relation) -> bytes:
    if isinstance(part, Relation):
        return b" " + exchange.line_of(part) + b"\n"
    # The name is followed by another key.
    whole = exchange.line_of(Entity(part, "", ()))
    return b" " + whole[: whole.rindex(b'"entityType":') + len(b'"entityType":')]


def _found(saved: bytes, beginning: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield the saved lines that begin so, each with its digest in the file, without those that
    were removed later.
    """
    at = saved.find(beginning)
    while at >= 0:
        start, end = saved.rfind(b"\n", 0, at) + 1, saved.find(b"\n", at)
        mark = saved[start:at]
        if saved.find(b"\n- " + mark, end) < 0:
            yield saved[at + 1 : end], bytes.fromhex(mark.decode())
        at = saved.find(beginning, end)


def edited(content: bytes, edits: Edits) -> bytes | None:
    """Return the content with these edits; None if a line is not in it exactly once."""
    if content and not content.endswith(b"\n"):
        content += b"\n"
    for old, new in edits.replaced.items():
        place = _place_of(content, old, edits.marks[old])
        if place is None:
            return None
        start, end = place
        content = content[:start] + (new + b"\n" if new else b"") + content[end:]
    entities = [line for line in edits.added if line.startswith(_ENTITY)]
    relations = [line for line in edits.added if not line.startswith(_ENTITY)]
    at = _first_relation(content) if entities else len(content)
    content = content[:at] + exchange.content_of(entities) + content[at:]
    return content + exchange.content_of(relations)


def is_of_lines(content: bytes) -> bool:
    """True if single lines of the content can be edited: it is not one object with both lists, and
    no byte order mark is part of its first line.
    """
    return not content.startswith(exchange.BOM) and not exchange.is_one_object(content)


def can_be_appended(content: bytes, edits: Edits) -> bool:
    """True if all edits are lines whose place is the end of the file: entities precede relations,
    as the reference server writes them.
    """
    if edits.replaced:
        return False
    has_entities = any(line.startswith(_ENTITY) for line in edits.added)
    return not has_entities or _first_relation(content) == len(content)


def _first_relation(content: bytes) -> int:
    """Return the place of the first relation in a usual form; the end if there is none."""
    if content.startswith(_RELATIONS):
        return 0
    places = [content.find(b"\n" + form) + 1 for form in _RELATIONS]
    return min(filter(None, places), default=len(content))


def _place_of(content: bytes, line: bytes, mark: bytes) -> tuple[int, int] | None:
    """Return the span of a line with its end; `mark` is its digest if it is not canonical."""
    if mark == mark_of(line):
        whole = line + b"\n"
        starts = [0] if content.startswith(whole) else []
        at = content.find(b"\n" + whole)
        while at >= 0 and len(starts) < 2:
            starts.append(at + 1)
            at = content.find(b"\n" + whole, at + 1)
        return (starts[0], starts[0] + len(whole)) if len(starts) == 1 else None
    places = {
        place for place in _lines_with(content, _spellings(line)) if _is_line(content, place, mark)
    }
    return places.pop() if len(places) == 1 else None


def _spellings(line: bytes) -> set[bytes]:
    """Return the forms in which JSON writes the name in a canonical line, or its first end."""
    item = exchange.read(line)
    name = item[0] if item else ""
    return {json.dumps(name, ensure_ascii=is_ascii).encode() for is_ascii in (True, False)}


def _lines_with(content: bytes, parts: set[bytes]) -> Iterator[tuple[int, int]]:
    """Yield the spans of lines, with their ends, that hold one of the parts."""
    for part in parts:
        at = content.find(part)
        while at >= 0:
            end = content.index(b"\n", at) + 1
            yield content.rfind(b"\n", 0, at) + 1, end
            at = content.find(part, end)


def _is_line(content: bytes, place: tuple[int, int], mark: bytes) -> bool:
    return mark_of(content[place[0] : place[1] - 1]) == mark
