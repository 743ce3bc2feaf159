"""The graph rows of a record: entities it created, statements it makes about them."""

from typing import NamedTuple

from memory_fabric.models import Record
from memory_fabric.store.memory import Memory


class GraphRows(NamedTuple):
    """Names of entities that a record created and of known ones, and the number of its statements.

    `observations` and `relations` count what it states, also where another record states the same.
    """

    new: tuple[str, ...] = ()
    known: tuple[str, ...] = ()
    observations: int = 0
    relations: int = 0


def graph_rows(memory: Memory, record: Record, *, repeated: bool) -> GraphRows:
    """Return the graph rows of a record; empty while the record waits in the queue.

    For a record that was only `repeated` all entities count as known.
    """
    for database in memory.databases():
        if database.row("SELECT 1 FROM records WHERE id = ?", (record.id,)) is None:
            continue
        query = "SELECT name FROM entities WHERE record = ? ORDER BY id"
        created = [] if repeated else [row[0] for row in database.rows(query, (record.id,))]
        query = "SELECT kind, count(*) FROM claims WHERE record = ? GROUP BY kind"
        counts: dict[str, int] = dict(database.rows(query, (record.id,)))
        known = [entity.name for entity in record.entities if entity.name not in created]
        said = counts.get("observations", 0), counts.get("relations", 0)
        return GraphRows(tuple(created), tuple(known) if counts else (), *said)
    return GraphRows()
