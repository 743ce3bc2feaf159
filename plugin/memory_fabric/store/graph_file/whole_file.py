"""The whole content of a mirrored file, made from its database and from lines that it has."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from memory_fabric.errors import BadInput
from memory_fabric.models import Graph
from memory_fabric.store import graph
from memory_fabric.store.database import Database
from memory_fabric.store.graph_file import exchange
from memory_fabric.store.graph_file.sync_state import mark_of

if TYPE_CHECKING:
    from memory_fabric.store.graph_file.sync_state import Marked


def snapshot(db: Database) -> tuple[Graph, int, str]:
    """Return the graph, and the number and id of the last operation in it, read in one transaction.

    Raises StoreUnavailable.
    """
    db.rows("BEGIN")
    try:
        seq, operation = db.row("SELECT seq, id FROM operations ORDER BY seq DESC LIMIT 1") or (
            0,
            "",
        )
        return graph.read_graph(db), seq, operation
    finally:
        db.rows("ROLLBACK")


def rendered(
    held: Graph, present: Iterable[bytes], before: Marked, is_gone: Callable[[bytes], bool]
) -> tuple[list[bytes], Marked]:
    """Return the lines of the new file, and their digests; `present` are those that it has.

    Entities and relations keep the order of the database. Lines of another kind stay in front if
    they were there, else they move to the end; purged lines are dropped.
    """
    plain = exchange.graph_lines(held)
    odd: dict[bytes, bytes] = {}
    front: list[bytes] = []
    back: list[bytes] = []
    wanted = set(plain)
    graph_began = False
    for line in present:
        cleaned = before.get(mark_of(line), b"")
        graph_began = graph_began or bool(cleaned)
        if is_gone(line):
            continue
        if cleaned in wanted and line != cleaned:
            odd.setdefault(cleaned, line)
        elif not cleaned and _is_of_another_kind(line):
            (back if graph_began else front).append(line)
    lines = [*front, *(odd.get(line, line) for line in plain), *back]
    marked = {mark_of(line): b"" for line in (*front, *back)}
    marked |= {mark_of(odd.get(line, line)): line for line in plain}
    return lines, marked


def _is_of_another_kind(line: bytes) -> bool:
    try:
        return exchange.read(line) is None
    except BadInput:
        return False
