"""Times of the relations around a hit."""

from __future__ import annotations

from collections.abc import Sequence

from memory_fabric.errors import StoreUnavailable
from memory_fabric.models import Hit, Relation
from memory_fabric.store.memory import Memory


def with_times(hits: Sequence[Hit], memory: Memory) -> tuple[Hit, ...]:
    """Add `relation_timestamps` to the metadata: when each of the `graph_relations` was stated.

    They have the order of the relations; a time that cannot be read is empty. A relation of two
    databases has the later time.
    """
    times = {relation: "" for hit in hits for relation in hit.graph_relations}
    for reader in memory.readers() if times else ():
        try:
            for relation, known in times.items():
                times[relation] = max(known, reader.stated_at(relation))
        except StoreUnavailable as error:
            memory.fail(f"graph ({reader.kind}): {error}")
    return tuple(
        hit._replace(metadata={**hit.metadata, "relation_timestamps": _of(hit, times)})
        if hit.graph_relations
        else hit
        for hit in hits
    )


def _of(hit: Hit, times: dict[Relation, str]) -> list[str]:
    return [times[relation] for relation in hit.graph_relations]
