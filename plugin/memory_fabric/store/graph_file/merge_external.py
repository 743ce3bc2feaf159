"""Merge changes that other programs made to a mirrored file into its database.

A graph maps the digests of a file's lines to the redacted lines, or to b"" for a line that is
neither an entity nor a relation. `before` is the last agreed state. Only the file's differences
from this state are applied, so all other content of the database is kept. Recent changes of the
database are kept as well, because the other program may not have seen them; for this, the database
stores only digests. Times are seconds since 1970; this module reads neither files nor the clock.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from memory_fabric.models import Entity, Relation
from memory_fabric.store.database import Database
from memory_fabric.store.graph_file import exchange
from memory_fabric.store.operations import rows
from memory_fabric.store.queries import graph
from memory_fabric.store.queries.conditions import chunks
from memory_fabric.store.write import create_operations, relation_object

Lines = Mapping[bytes, bytes]
Apply = Callable[[str, dict[str, Any]], Mapping[str, Any]]
# When a change (of an entity, observation or relation) was first and last written to the file.
Times = tuple[float, float]

KEY = "mirror-recent"
# The first argument of `digest_of` for an observation, and for a relation.
SAID, RELATION = "said", "relation"
# Seconds that another program is assumed to need at most between reading and writing a large file.
WINDOW_S = 5.0
# Another program may repeatedly remove what we write. After these seconds, accept the removal.
LONGEST_S = 60.0
CHUNK = 500


class Ours(NamedTuple):
    """Digests of the database's own additions and removals that another program may have missed."""

    added: frozenset[str] = frozenset()
    removed: frozenset[str] = frozenset()


class Recent(NamedTuple):
    """Digests of the database's own additions and removals, with their times."""

    added: Mapping[str, Times] = {}
    removed: Mapping[str, Times] = {}

    def unknown_at(self, written_s: float) -> Ours:
        """Return the changes that a program may have missed if it wrote the file at this time."""
        young = ([p for p, at in changes.items() if _is_young(at, written_s)] for changes in self)
        return Ours(*map(frozenset, young))

    def after(self, before: Iterable[bytes], lines: Iterable[bytes], now_s: float) -> "Recent":
        """Add the changes between `before` and `lines`, and drop changes that are too old."""
        old, new = set(before), set(lines)
        was = parts_of(map(exchange.read, old - new))
        is_ = parts_of(map(exchange.read, new - old))
        came, gone = is_ - was, was - is_
        added = _renewed(self.added, came, gone, now_s)
        return Recent(added, _renewed(self.removed, gone, came, now_s))


def load(db: Database) -> Recent:
    """Return the recent changes that are saved in the database."""
    row = db.row("SELECT value FROM meta WHERE key = ?", (KEY,))
    if row is None:
        return Recent()
    return Recent(*({part: (a, b) for part, (a, b) in some.items()} for some in json.loads(row[0])))


def save(db: Database, recent: Recent) -> None:
    """Save recent changes for all processes that serve the file. Raises StoreUnavailable."""
    noted = (KEY, json.dumps(recent))
    with db.transaction() as c:
        c.execute("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", noted)


def digest_of(*part: str) -> str:
    """Digest a part: (name, type), (SAID, name, text) or (RELATION, source, type, target)."""
    return hashlib.blake2b(repr(part).encode(), digest_size=8).hexdigest()


def parts_of(items: Iterable[Entity | Relation | None]) -> set[str]:
    """Return the digests of the entities, observations and relations in these items; skip None."""
    parts = set()
    for item in items:
        if isinstance(item, Entity):
            parts.add(digest_of(item.name, item.type))
            parts |= {digest_of(SAID, item.name, text) for text in item.observations}
        elif item is not None:
            parts.add(digest_of(RELATION, *item))
    return parts


def merge_changes(
    db: Database,
    apply: Apply,
    before: Lines,
    now: Lines,
    forewarn: Callable[[], object],
    ours: Ours,
) -> bool:
    """Apply to the database the changes from the graph `before` to `now`, except those that would
    undo its own recent changes (`ours`); return True if any were left out. `apply` runs one
    operation. `forewarn` is called before an entity is replaced in two operations (deleted, then
    restored). An entity removed from the file stays if it has observations or relations.
    """
    differs = False
    were = [_item(line) for mark, line in before.items() if line and mark not in now]
    stated = [_item(line) for mark, line in now.items() if line and mark not in before]
    ours = ours._replace(removed=ours.removed | _removed_since(db, were, stated))
    if were:
        names, texts, old_relations, differs = _removed(were, filter(None, now.values()), ours)
        for relations in chunks(old_relations, CHUNK):
            apply("delete_relations", {"relations": [relation_object(r) for r in relations]})
        for some in chunks(((name, gone) for name, gone in texts.items() if gone), CHUNK):
            deletions = [{"entityName": name, "observations": gone} for name, gone in some]
            apply("delete_observations", {"deletions": deletions})
        for orphans in chunks(names, CHUNK):
            apply("remove_orphans", {"entityNames": orphans})
    relations_now = (item for item in stated if isinstance(item, Relation))
    new = [r for r in relations_now if digest_of(RELATION, *r) not in ours.removed]
    ends = {name for r in new for name in (r.source, r.target)}
    remaining = [_without_removed(e, ends, ours) for e in stated if isinstance(e, Entity)]
    entities = [entity for entity in remaining if entity is not None]
    fresh = not db.row("SELECT 1 FROM entities LIMIT 1")
    for some in chunks(entities, CHUNK):
        stored = {} if fresh else _by_name(db, some)
        for kind, payload in create_operations(some):
            apply(kind, payload)
        # If several lines describe one entity, the first line counts, as in the reference server.
        for name, entity in {entity.name: entity for entity in reversed(some)}.items():
            if name in stored:
                differs |= not _agree(db, apply, entity, forewarn, ours)
    for kind, payload in create_operations(new):
        apply(kind, payload)
    # Entities are created before relations.
    in_kinds = sorted(stated, key=lambda item: isinstance(item, Relation))
    return differs or [*entities, *new] != in_kinds


def _removed_since(
    db: Database, were: Sequence[Entity | Relation], stated: Sequence[Entity | Relation]
) -> frozenset[str]:
    """Return digests of the parts in both `were` and `stated` that the database no longer has."""
    removed = parts_of(were)
    on_both_sides = removed & parts_of(stated) if removed else set()
    if not on_both_sides:
        return frozenset()
    present: set[str] = set()
    for some in chunks((item for item in stated if isinstance(item, Entity)), CHUNK):
        stored = _by_name(db, some)
        present |= parts_of(stored.values())
        present |= {digest_of(e.name, e.type) for e in some if e.name in stored}
    relations = (r for r in stated if isinstance(r, Relation))
    present |= parts_of(r for r in relations if graph.stated_at(db, r))
    return frozenset(on_both_sides - present)


def _without_removed(entity: Entity, ends: set[str], ours: Ours) -> Entity | None:
    """Return the entity without removed parts; None if nothing remains and it is not in `ends`."""
    if not ours.removed:
        return entity
    name, gone = entity.name, ours.removed
    texts = tuple(t for t in entity.observations if digest_of(SAID, name, t) not in gone)
    if not texts and name not in ends and digest_of(name, entity.type) in gone:
        return None
    return entity._replace(observations=texts)


def _removed(
    were: Iterable[Entity | Relation], now: Iterable[bytes], ours: Ours
) -> tuple[list[str], dict[str, list[str]], list[Relation], bool]:
    """Return the parts of `were` that are neither in the lines `now` nor in `ours.added`: names,
    observations by name, and relations. The last value is True if `ours.added` kept any part.
    """
    texts: dict[str, dict[str, None]] = {}
    relations, types = dict[Relation, None](), dict[str, str]()
    for item in were:
        if isinstance(item, Relation):
            relations[item] = None
            continue
        types[item.name] = item.type
        texts.setdefault(item.name, {}).update(dict.fromkeys(item.observations))
    for item in map(_item, now):
        if isinstance(item, Relation):
            relations.pop(item, None)
        elif item.name in texts:
            types.pop(item.name, None)
            for text in item.observations:
                texts[item.name].pop(text, None)
    own = ours.added
    names = [name for name, type_ in types.items() if digest_of(name, type_) not in own]
    gone = {n: [t for t in ts if digest_of(SAID, n, t) not in own] for n, ts in texts.items()}
    edges = [r for r in relations if digest_of(RELATION, *r) not in own]
    counts = len(names) + len(edges) + sum(map(len, gone.values()))
    return names, gone, edges, counts < len(types) + len(relations) + sum(map(len, texts.values()))


def _agree(
    db: Database, apply: Apply, stated: Entity, forewarn: Callable[[], object], ours: Ours
) -> bool:
    """Give an entity the file's type, and its observations the file's order; delete and restore it
    if needed. Return False if it keeps another type, because the database replaced the file's type.
    """
    stored = _by_name(db, [stated]).get(stated.name)
    if stored is None:
        return True
    type_ = stored.type if digest_of(stated.name, stated.type) in ours.removed else stated.type
    stated_texts = [text for text in stored.observations if text in set(stated.observations)]
    if stored.type == type_ and stated_texts == list(stated.observations):
        return type_ == stated.type
    forewarn()
    with db.transaction() as c:
        entities = rows.entities(c, "e.name = ?", (stated.name,))
        observations = rows.observations(c, "e.name = ?", (stated.name,))
        relations = rows.relations(c, "s.name = ?1 OR t.name = ?1", (stated.name,))
    place = {text: number for number, text in enumerate(stated.observations)}
    observations.sort(key=lambda row: place.get(row["text"], len(place)))
    again: dict[str, Any] = {"entities": [row | {"type": type_} for row in entities]}
    again["observations"] = [row | {"id": None} for row in observations]
    apply("delete_entities", {"entityNames": [stated.name]})
    apply("restore", again | {"relations": relations})
    return type_ == stated.type


def _by_name(db: Database, entities: Sequence[Entity]) -> dict[str, Entity]:
    opened = graph.open_nodes(db, [entity.name for entity in entities])
    return {entity.name: entity for entity in opened.entities}


def _item(line: bytes) -> Entity | Relation:
    item = exchange.read(line)
    assert item is not None  # the caller passes only lines of entities and relations
    return item


def _is_young(times: Times, written_s: float) -> bool:
    """Return True if a program that wrote the file at this time may not have seen the change."""
    first_s, last_s = times
    return written_s - last_s < WINDOW_S and abs(written_s - first_s) < LONGEST_S


def _renewed(
    some: Mapping[str, Times], added: set[str], removed: set[str], now_s: float
) -> dict[str, Times]:
    remaining = ((part, times) for part, times in some.items() if part not in removed)
    young = {part: times for part, times in remaining if _is_young(times, now_s)}
    return young | {part: (young.get(part, (now_s, now_s))[0], now_s) for part in added}
