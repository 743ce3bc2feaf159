"""Updates of imported records when the instruction files from which they were imported change.

If a line is removed, its record is closed, except a record that the user pinned, confirmed or
reworded; new lines become records. The files are never written.
"""

import os
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from memory_fabric import ids
from memory_fabric.importing import instructions
from memory_fabric.importing.instructions import File, TooLarge
from memory_fabric.importing.items import TRUST, Left, here_of, provenance, record_of, worthless
from memory_fabric.models import INSTRUCTIONS, Record
from memory_fabric.recall.agent_domains import domain_for
from memory_fabric.store import records, write
from memory_fabric.store.database import Database
from memory_fabric.store.home import log
from memory_fabric.store.memory import Memory
from memory_fabric.store.operations.remember import OPEN, is_forgotten
from memory_fabric.store.projects import instruction_files
from memory_fabric.store.projects.instruction_files import GONE, Followed
from memory_fabric.text import same_form


class Followings(NamedTuple):
    """The number of records that an update added, and of those that it closed."""

    new: int = 0
    closed: int = 0


def begin(memory: Memory, path: str) -> None:
    """Begin to follow imported instruction files at a path. Raises StoreUnavailable, OSError."""
    batch = _new_batch()
    for file in instructions.read_files(path, here_of(memory), Left()):
        _bring(memory, file.place, file, batch)


def _new_batch() -> str:
    return f"follow-{ids.new_id()[-8:]}"  # the unit that `undo` reverses


def update(
    memory: Memory,
    names: Iterable[str],
    max_bytes: float = float("inf"),
    max_new: int | None = None,
    *,
    is_last: bool = False,
) -> Followings:
    """Update the records of these instruction files, and of files that they import, as one batch.

    If a file and its imports have more than `max_bytes`, they are left for a later event; with
    `is_last`, they are skipped with a notice. At most `max_new` records are added per file. Raises
    StoreUnavailable, DeadlinePassed, OSError.
    """
    batch, here, new, closed = _new_batch(), here_of(memory), 0, 0
    for name in names:
        database = memory.database(instruction_files.kind_of(name), create=False)
        path = instruction_files.path_of(memory, name)
        followed = instruction_files.load(database) if database and path else {}
        if database is None or name not in followed:
            continue
        before = followed[name]
        if before.ids and not any(records.among(database, "id", before.ids)):
            # The file is no longer followed: its import was undone, or all its records forgotten.
            instruction_files.save(database, {n: f for n, f in followed.items() if n != name})
            continue
        try:
            is_there = os.path.isfile(path)
            files = instructions.read_files(path, here, Left(), max_bytes) if is_there else []
        except TooLarge:
            if is_last:
                size, mtime_ns = instruction_files.stamp(path)
                seen = {name: before._replace(size=size, mtime_ns=mtime_ns)}
                instruction_files.save(database, followed | seen)
                _note_too_large(memory, name, max_bytes)
            continue
        by_place = {file.place: file for file in files}
        for place, file in {**by_place, name: by_place.get(name)}.items():
            done = _bring(memory, place, file, batch, max_new)
            new, closed = new + done.new, closed + done.closed
    return Followings(new, closed)


def _note_too_large(memory: Memory, name: str, max_bytes: float) -> None:
    too_large = f"{name} and the files that it imports have more than {int(max_bytes) >> 10} KB"
    remedy = f"so their change was not read; run memory-fabric import {name}"
    try:
        log.add(memory.settings.home, f"{too_large}, {remedy}")
    except (OSError, TimeoutError) as error:
        memory.fail(f"notices: {error}")


def _bring(
    memory: Memory, place: str, file: File | None, batch: str, max_new: int | None = None
) -> Followings:
    """Update the records of one file in one transaction; `file` is None if it was deleted."""
    database = memory.database(instruction_files.kind_of(place), create=True)
    assert database is not None
    followed = instruction_files.load(database)
    before = followed.pop(place, Followed(GONE, 0, ()))
    own = list(records.among(database, "id", before.ids))
    # The domain of the import is kept, whichever session notices the change.
    domain = before.domain or (own[0].domain if own else domain_for(memory.settings).name)
    now = ids.timestamp()
    stated = [record_of(i, INSTRUCTIONS, memory, now, domain) for i in file.items] if file else []
    kept, new = _compared(database, own, [r for r in stated if not worthless(r)], domain)
    added = new[:max_new]
    # A closed record is reopened if its line has returned, but not if its line was there all along.
    again = [r for r in kept.values() if r.id not in before.ids and not r.superseded_by]
    again = [r for r in again if r.valid_to and r.status == "active"]
    stay = {*kept, *(id_ for other in followed.values() for id_ in other.ids)}
    # A record that the user confirmed or pinned is not closed, even if its line was removed.
    gone = [r for r in own if r.id not in stay and _holds(r) and r.trust == TRUST and not r.pinned]
    links = [{"id": r.id, **OPEN, "was": {"by": "", "at": r.valid_to}} for r in again]
    links += [{"id": r.id, "by": "", "at": now, "was": OPEN} for r in gone]
    changes = [("remember", {"record": records.as_object(r), "past": True}) for r in added]
    changes += [("supersede", {"links": links})] if links else []
    by, kind = provenance(memory, domain), database.kind
    made = [memory.operation(name, {**p, "batch": batch}, by, kind) for name, p in changes]
    write.apply_all(database, made)
    path = file.path if file else instruction_files.path_of(memory, place)
    is_whole = len(added) == len(new)
    stamp = instruction_files.stamp(path) if is_whole else (before.size, before.mtime_ns)
    every = (*kept, *(record.id for record in added))
    via = file.via if file and file.via else before.via
    instruction_files.save(database, {**followed, place: Followed(*stamp, every, via, domain)})
    return Followings(len(added) + len(again), len(gone))


def _compared(
    database: Database, own: Iterable[Record], stated: Sequence[Record], domain: str
) -> tuple[dict[str, Record], list[Record]]:
    """Return stored records that match these statements, by id, and the unmatched statements."""
    by_id = {r.id: r for r in (*own, *records.among(database, "id", [r.id for r in stated]))}
    # A record with the same text may come from another file or program.
    same_key = records.among(database, "key", [records.key_of(r.what) for r in stated])
    in_force = (r for r in same_key if _holds(r) and r.domain == domain)
    others = [record for record in in_force if record.scope != "local"]
    by_form = {same_form(record.what): record for record in (*by_id.values(), *others)}
    kept, new = {}, []
    for record in stated:
        same = by_form.get(same_form(record.what)) or by_id.get(record.id)
        if same is not None:
            kept[same.id] = same
        elif not is_forgotten(database.connection, record):
            new.append(record)
    return kept, new


def _holds(record: Record) -> bool:
    return record.status == "active" and not record.superseded_by and not record.valid_to
