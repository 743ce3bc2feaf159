"""What others changed in a graph that lies in a file, done to the database that mirrors it.

A graph is a mapping from marks (digests of a file's lines) to cleaned lines; a line that says
nothing of the graph is empty. `before` is what file and database last agreed on: what is in neither
`before` nor the change is ours and stays. Nothing here knows files.
"""

from __future__ import annotations

from memory_fabric.models import Entity, Graph, Relation
from memory_fabric.store import exchange, graph, rows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from memory_fabric.store.database import Database

    Lines = Mapping[bytes, bytes]
    Apply = Callable[[str, dict[str, Any]], Mapping[str, Any]]

CHUNK = 500


def take_over(
    db: Database, apply: Apply, before: Lines, now: Lines, about_to_replace: Callable[[], object]
) -> None:
    """Do to the database what leads from one graph to the other.

    `apply` does one operation; `about_to_replace` is called before an entity is taken out and put
    back, which are two. An entity that they removed stays while something of ours hangs on it.
    """
    gone = _Parts(line for mark, line in before.items() if mark not in now)
    if gone:
        gone.keep_away(filter(None, now.values()))
        _remove(apply, gone)
    new = [line for mark, line in now.items() if line and mark not in before]
    fresh = not db.row("SELECT 1 FROM entities LIMIT 1")
    for some in _chunks([item for item in map(_item, new) if isinstance(item, Entity)]):
        known = {} if fresh else _by_name(db, some)
        _create(apply, some)
        for name, stated in _first_of_each(some).items():
            if name in known:
                _agree(db, apply, stated, about_to_replace)
    _create(apply, [item for item in map(_item, new) if isinstance(item, Relation)])


class _Parts:
    """The atoms of lines: entities with their observations, and relations."""

    def __init__(self, lines: Iterable[bytes]) -> None:
        self.texts: dict[str, dict[str, None]] = {}
        self.relations: dict[Relation, None] = {}
        for item in map(_item, filter(None, lines)):
            if isinstance(item, Entity):
                self.texts.setdefault(item.name, {}).update(dict.fromkeys(item.observations))
            else:
                self.relations[item] = None
        self.names = dict.fromkeys(self.texts)

    def __bool__(self) -> bool:
        return bool(self.names or self.relations)

    def keep_away(self, lines: Iterable[bytes]) -> None:
        """Forget the atoms that these lines hold, too."""
        for item in map(_item, lines):
            if isinstance(item, Relation):
                self.relations.pop(item, None)
            elif item.name in self.texts:
                self.names.pop(item.name, None)
                for text in item.observations:
                    self.texts[item.name].pop(text, None)


def _remove(apply: Apply, gone: _Parts) -> None:
    for relations in _chunks(list(gone.relations)):
        apply("delete_relations", {"relations": [_object(r) for r in relations]})
    for entities in _chunks([(name, list(texts)) for name, texts in gone.texts.items() if texts]):
        deletions = [{"entityName": name, "observations": texts} for name, texts in entities]
        apply("delete_observations", {"deletions": deletions})
    for names in _chunks(list(gone.names)):
        apply("remove_orphans", {"entityNames": names})


def _create(apply: Apply, items: Sequence[Entity | Relation]) -> None:
    for kind, payload in exchange.create(items):
        apply(kind, payload)


def _agree(
    db: Database, apply: Apply, stated: Entity, about_to_replace: Callable[[], object]
) -> None:
    """Give an entity the type and the order of observations that the file states.

    Both are part of its row: it is taken out and put back under its number.
    """
    found = _by_name(db, [stated]).get(stated.name)
    if found is None or (found.type == stated.type and _in_order(found, stated)):
        return
    about_to_replace()
    with db.transaction() as c:
        entities = rows.entities(c, "e.name = ?", (stated.name,))
        observations = rows.observations(c, "e.name = ?", (stated.name,))
        relations = rows.relations(c, "s.name = ?1 OR t.name = ?1", (stated.name,))
    place = {text: number for number, text in enumerate(stated.observations)}
    observations.sort(key=lambda row: place.get(row["text"], len(place)))
    apply("delete_entities", {"entityNames": [stated.name]})
    apply(
        "restore",
        {
            "entities": [row | {"type": stated.type} for row in entities],
            "observations": [row | {"id": None} for row in observations],
            "relations": relations,
        },
    )


def _in_order(found: Entity, stated: Entity) -> bool:
    theirs = set(stated.observations)
    return [text for text in found.observations if text in theirs] == list(stated.observations)


def _first_of_each(entities: Sequence[Entity]) -> dict[str, Entity]:
    """Of lines that describe one entity, the first one counts, as with the reference server."""
    found: dict[str, Entity] = {}
    for entity in entities:
        found.setdefault(entity.name, entity)
    return found


def _by_name(db: Database, entities: Sequence[Entity]) -> dict[str, Entity]:
    opened: Graph = graph.open_nodes(db, [entity.name for entity in entities])
    return {entity.name: entity for entity in opened.entities}


def _item(line: bytes) -> Entity | Relation:
    item = exchange.read(line)
    assert item is not None  # a line of the graph by the caller's word
    return item


def _object(relation: Relation) -> dict[str, str]:
    return {"from": relation.source, "to": relation.target, "relationType": relation.type}


def _chunks(values: Sequence[Any]) -> Iterator[list[Any]]:
    for start in range(0, len(values), CHUNK):
        yield list(values[start : start + CHUNK])
