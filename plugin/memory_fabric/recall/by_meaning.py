"""Candidates by meaning: memories that may share no word with the question (the warm path)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from memory_fabric.errors import DeadlinePassed, FabricError
from memory_fabric.models import Query
from memory_fabric.store import search
from memory_fabric.store.memory import Memory

if TYPE_CHECKING:
    from memory_fabric.recall.rerank import Similarity
    from memory_fabric.store.search import Candidate

# Candidates of each table.
MOST = {"records": 30, "observations": 30, "episodes": 10}
# So many times more are looked for where filters or domains leave some out.
SPARE = 10


def near(
    query: Query,
    memory: Memory,
    known: Sequence[Candidate],
    session: str,
    similarity: Similarity,
) -> list[Candidate]:
    """Return candidates whose meaning is near to the question, without those that are known.

    Their bm25 is 0. A question for an exact phrase has none. Raises DeadlinePassed.
    """
    if query.phrases:
        return []
    seen = {candidate.id for candidate in known}
    found: list[Candidate] = []
    for database in memory.databases():
        spare = SPARE if database.is_scoped or query.filters != search.EVERYTHING else 1
        most = {table: spare * count for table, count in MOST.items()}
        try:
            nearest = similarity.nearest(database, query.asked, most)
            for table, count in MOST.items():
                rows = [row for kind, row in nearest if kind == table]
                found += search.at_rows(database, table, rows, count, query.filters, session)
        except DeadlinePassed:
            raise
        except FabricError as error:
            memory.fail(f"meaning ({database.kind}): {error}")
    return [one for one in found if one.id not in seen]
