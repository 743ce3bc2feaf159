"""The database's own changes to a mirrored graph, written as edits of single lines of its file.

If changes only add lines, the agreed lines (see `agreed`) are not even read. In unusual cases
(another order of keys, a line that occurs twice), the whole file is written from the graph instead.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from memory_fabric.models import Entity, Relation
from memory_fabric.store.database import Database
from memory_fabric.store.graph_file import exchange
from memory_fabric.store.graph_file.agreed import State, mark_of
from memory_fabric.store.operations import kinds
from memory_fabric.store.queries import graph

_ENTITY = b'{"type":"entity"'
_RELATIONS = (b'{"type":"relation"', b'{"type": "relation"')
# If more operations, or more entities and relations, have changed, the whole file is written.
MAX_OPERATIONS = MAX_TOUCHED = 200
_SINCE = (
    "SELECT seq, id, kind, payload, inverse FROM operations WHERE seq > ? "
    "AND json_extract(provenance, '$.source') <> 'import' ORDER BY seq LIMIT ?"
)
# Each changed entity (by name) or relation; the value is True if the mirrored file lacks it.
Touched = dict[str | Relation, bool]


class Edits(NamedTuple):
    """Edits of the mirrored file, in canonical form. `added` are new lines. `replaced` maps an old
    line to its new line (b"" to remove it), and `marks` maps an old line to the digest of its form
    in the file. `seq` and `operation` identify the last operation that these edits contain.
    """

    seq: int
    operation: str
    added: tuple[bytes, ...] = ()
    replaced: Mapping[bytes, bytes] = {}
    marks: Mapping[bytes, bytes] = {}

    @property
    def new(self) -> list[bytes]:
        """Return the lines that the edits add to the file, including replacements."""
        return [*self.added, *filter(None, self.replaced.values())]


def edits_since(db: Database, state: State, read_agreed: Callable[[], bytes]) -> Edits | None:
    """Return the database's changes since the agreed state, as edits of the file. Return None if
    the whole file must be written instead. `read_agreed` returns the agreed lines; it is called
    only if a change concerns an item that the file may already contain. Raises StoreUnavailable.
    """
    # Use one transaction, so that the lines match the state after the last of these operations.
    db.rows("BEGIN")
    try:
        operations = db.rows(_SINCE, (state.seq, MAX_OPERATIONS + 1))
        touched = _touched_by(operations)
        relations = [part for part in touched or () if isinstance(part, Relation)]
        entities, _ = graph.opened(db, [p for p in touched or () if isinstance(p, str)], 0)
        now: dict[str | Relation, bytes] = {e.name: exchange.line_of(e) for e in entities}
        now |= {r: exchange.line_of(r) for r in relations if graph.stated_at(db, r)}
    finally:
        db.rows("ROLLBACK")
    if touched is None:
        return None
    seq, operation = operations[-1][:2] if operations else (state.seq, state.operation)
    added: list[bytes] = []
    replaced: dict[bytes, bytes] = {}
    marks: dict[bytes, bytes] = {}
    agreed = b""
    for part, is_new in touched.items():
        if not is_new:
            agreed = agreed or read_agreed()
        before = [] if is_new else list(_saved_forms(agreed, part))
        if len(before) > 1:
            return None
        line = now.get(part, b"")
        if not before and line:
            added.append(line)
        for old, mark in before:
            if old != line:
                replaced[old], marks[old] = line, mark
    return Edits(seq, operation, tuple(added), replaced, marks)


def _touched_by(operations: list[tuple[Any, ...]]) -> Touched | None:
    if len(operations) > MAX_OPERATIONS:
        return None
    names: dict[str, bool] = {}
    relations: dict[Relation, bool] = {}
    for _, _, kind, payload, inverse in operations:
        stated = json.loads(payload)
        undone = [(s["kind"], s["payload"]) for s in kinds.read_inverse(kind, stated, inverse)]
        new = {n for k, p in undone if k == "remove_orphans" for n in p["entityNames"]}
        steps: list[tuple[Iterable[str], Iterable[Mapping[str, str]]]] = []
        if kind == "create_entities":
            steps = [([e["name"] for e in stated["entities"]], ())]
        elif kind == "create_relations":
            steps = [((), p["relations"]) for k, p in undone if k == "delete_relations"]
            steps.append((new, ()))
        elif kind == "add_observations":
            steps, new = [([o["entityName"] for o in stated["observations"]], ())], set()
        elif kind in ("delete_entities", "delete_observations", "delete_relations"):
            steps, new = [(_names_in(p), p.get("relations", ())) for _, p in undone], set()
        else:
            return None
        for touched, changed in steps:
            for name in touched:
                names.setdefault(name, name in new)
            for r in changed:
                relation = Relation(r["from"], r["relationType"], r["to"])
                relations.setdefault(relation, kind == "create_relations")
        if len(names) + len(relations) > MAX_TOUCHED:
            return None
    return dict([*names.items(), *relations.items()])


def _names_in(removed: Mapping[str, Any]) -> list[str]:
    """Return names in removed rows. Ends of removed relations may now need lines of their own."""
    names = [row["name"] for row in removed.get("entities", ())]
    names += [row["entity"] for row in removed.get("observations", ())]
    return names + [r[end] for r in removed.get("relations", ()) for end in ("from", "to")]


def _saved_forms(saved: bytes, part: str | Relation) -> Iterator[tuple[bytes, bytes]]:
    """Yield each agreed line of `part` in canonical form, with its digest in the mirrored file."""
    if isinstance(part, Relation):
        beginning = b" " + exchange.line_of(part) + b"\n"
    else:  # an entity's line begins with its name; the type and observations may differ
        whole = exchange.line_of(Entity(part, "", ()))
        beginning = b" " + whole[: whole.rindex(b'"entityType":') + len(b'"entityType":')]
    at = saved.find(beginning)
    while at >= 0:
        start, end = saved.rfind(b"\n", 0, at) + 1, saved.find(b"\n", at)
        mark = saved[start:at]
        if saved.find(b"\n- " + mark, end) < 0:
            yield saved[at + 1 : end], bytes.fromhex(mark.decode())
        at = saved.find(beginning, end)


def edited(content: bytes, edits: Edits) -> bytes | None:
    """Return the edited content; None if an old line is missing in the content or occurs twice."""
    if content and not content.endswith(b"\n"):
        content += b"\n"
    for old, new in edits.replaced.items():
        places = _places_of(content, old, edits.marks[old])
        if len(places) != 1:
            return None
        [(start, end)] = places
        content = content[:start] + (new + b"\n" if new else b"") + content[end:]
    entities = [line for line in edits.added if line.startswith(_ENTITY)]
    relations = [line for line in edits.added if not line.startswith(_ENTITY)]
    offsets = [content.find(b"\n" + form) + 1 for form in _RELATIONS]
    at = min(filter(None, offsets), default=len(content))  # entities go before all relations
    at = 0 if content.startswith(_RELATIONS) else at
    content = content[:at] + exchange.content_of(entities) + content[at:]
    return content + exchange.content_of(relations)


def _places_of(content: bytes, line: bytes, mark: bytes) -> set[tuple[int, int]]:
    """Return spans (start, end, with newline) of lines with digest `mark`; may stop after two."""
    places: set[tuple[int, int]] = set()
    if mark == mark_of(line):
        whole = b"\n" + line + b"\n"
        at = 0 if content.startswith(whole[1:]) else content.find(whole) + 1 or -1
        while at >= 0 and len(places) < 2:
            places.add((at, at + len(whole) - 1))
            at = content.find(whole, max(0, at)) + 1 or -1
        return places
    item = exchange.read(line)
    # The two JSON forms of the entity's name or the relation's source: with and without escapes.
    forms = {json.dumps(item[0] if item else "", ensure_ascii=a).encode() for a in (True, False)}
    for form in forms:
        at = content.find(form)
        while at >= 0:
            start, end = content.rfind(b"\n", 0, at) + 1, content.index(b"\n", at) + 1
            if mark_of(content[start : end - 1]) == mark:
                places.add((start, end))
            at = content.find(form, end)
    return places
