"""Pin a record, so that every session is given it at its start."""

from memory_fabric.models import Provenance, Record
from memory_fabric.store import records
from memory_fabric.store.history import resolve
from memory_fabric.store.memory import Memory


def pin(memory: Memory, name: str, by: Provenance, *, off: bool = False) -> Record:
    """Pin the record that an id or its end names, or unpin it; return it as it is now.

    Raises NotFound, BadInput and StoreUnavailable.
    """
    record, seen, store = resolve.record_by_id(memory, name)
    pinned = record._replace(pinned=not off)
    if pinned != record:
        payload = {"record": records.as_object(pinned), "seen_in": seen}
        memory.write("put_record", payload, by, store=store)
    return pinned
