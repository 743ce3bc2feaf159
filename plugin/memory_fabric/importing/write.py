"""Storing of what was chosen: few large transactions, and one batch that undo takes back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from memory_fabric import ids
from memory_fabric.errors import FabricError, StoreUnavailable
from memory_fabric.importing.choose import Choice, provenance, store_of
from memory_fabric.models import Operation, Provenance, Record
from memory_fabric.store import records, write
from memory_fabric.store.bulk_load import create_operations
from memory_fabric.store.memory import Memory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory_fabric.models import Progress

# Other processes wait for one transaction at most: some 0.2 s.
BATCH = 400


class Stored(NamedTuple):
    """The numbers of stored records and of relations between entities, and the batch."""

    records: int = 0
    relations: int = 0
    batch: str = ""


def new_batch() -> str:
    """Return the name of a new import, which `undo --step` takes."""
    return f"import-{ids.new_id()[-8:]}"


def store(memory: Memory, choice: Choice, batch: str, progress: Progress | None = None) -> Stored:
    """Store the records and relations as changes of this batch.

    Raises StoreUnavailable; what was stored before stays, and running it again stores the rest.
    """
    by = provenance(memory)
    made = relations = done = 0
    for some in _parts(memory, choice, by, batch):
        database = memory.database(some[0].store, create=True)
        assert database is not None
        try:
            results = write.apply_all(database, some)
        except FabricError as error:
            raise StoreUnavailable(
                database.path,
                f"{made} of {len(choice.records)} memories were imported: {error}",
                remedy=f"Run it again for the rest, or memory-fabric undo --step {batch}.",
            ) from error
        made += sum(bool(r.get("record")) and not r.get("repeated") for r in results)
        relations += sum(len(r.get("relations", ())) for r in results)
        _forget_files(memory, some)
        done += len(some)
        if progress:
            progress(done, len(choice.records) + 2)
    memory.flush()
    return Stored(made, relations, batch)


def _parts(memory: Memory, choice: Choice, by: Provenance, batch: str) -> Iterator[list[Operation]]:
    stores: dict[str, list[Record]] = {}
    for record in choice.records:
        stores.setdefault(store_of(record), []).append(record)
    for store_, some in stores.items():
        for start in range(0, len(some), BATCH):
            yield [
                memory.operation(
                    "remember",
                    {
                        "record": records.as_object(_stamped(r, memory)),
                        "past": True,
                        "batch": batch,
                    },
                    by,
                    store_,
                )
                for r in some[start : start + BATCH]
            ]
    kind = "project" if memory.project else "user"
    if choice.relations:
        # Ends that the source describes elsewhere get their own type there.
        yield [
            memory.operation(name, {**payload, "batch": batch}, by, kind)
            for name, payload in create_operations(choice.relations)
        ]


def _stamped(record: Record, memory: Memory) -> Record:
    settings = memory.settings
    return record._replace(author=settings.author, origin=settings.origin)


def _forget_files(memory: Memory, some: list[Operation]) -> None:
    """Keep no versions of files that these records name: those of today are not those of then."""
    database = memory.database(some[0].store, create=True)
    if database is None or database.kind != "project":
        return
    named = [(op.payload["record"]["id"],) for op in some if "record" in op.payload]
    with database.transaction(durable=False) as c:
        c.executemany("DELETE FROM files_due WHERE record = ?", named)
