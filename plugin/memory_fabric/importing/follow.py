"""Records that follow their instruction files: changed lines replace, removed ones are closed.

The files are never written. A record that the user pinned, confirmed or reworded stays as it is.
"""

from __future__ import annotations

import os

from memory_fabric import ids
from memory_fabric.clients.table import INSTRUCTION_FILES
from memory_fabric.importing import choose, instructions
from memory_fabric.importing.items import Here, Left, here_of
from memory_fabric.models import INSTRUCTIONS, LINE, PLACE
from memory_fabric.store import instruction_files, records, write
from memory_fabric.store.instruction_files import Followed
from memory_fabric.store.operations.record_effects import is_forgotten
from memory_fabric.store.operations.supersede_effects import OPEN
from memory_fabric.store.record_state import ACTIVE_CURRENT
from memory_fabric.text import STOPWORDS, same_form, stem, words
from memory_fabric.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from memory_fabric.importing.instructions import File
    from memory_fabric.models import Operation, Record
    from memory_fabric.store.database import Database
    from memory_fabric.store.memory import Memory

# A new line replaces the removed one that shares at least so much of its content words.
SAME_SHARE = 0.5
CHUNK = 400


class Followings(Value):
    """What an update did: the numbers of new, replaced and closed records."""

    new: int = 0
    replaced: int = 0
    closed: int = 0


def begin(memory: Memory, path: str) -> None:
    """Follow the instruction files at a path from now on; their statements were imported."""
    here, left = here_of(memory), Left()
    for one in instructions.read_files(path, here, left):
        database = memory.database(instruction_files.kind_of(one.place), create=True)
        assert database is not None
        stated = [
            choose.record_of(item, INSTRUCTIONS, memory, ids.timestamp()) for item in one.items
        ]
        known = _by_text(database, stated)
        followed = instruction_files.load(database)
        ids_ = tuple(known[same_form(r.what)].id for r in stated if same_form(r.what) in known)
        for name in _names(one, here):
            followed[name] = Followed(*instruction_files.stamp(one.path), ids_, one.via)
        instruction_files.save(database, followed)


def update(memory: Memory, names: Iterable[str]) -> Followings:
    """Bring the records of these files up to date, as one batch. Raises StoreUnavailable."""
    done, batch = Followings(), f"follow-{ids.new_id()[-8:]}"
    here = here_of(memory)
    for name in names:
        database = memory.database(instruction_files.kind_of(name), create=False)
        path = instruction_files.path_of(memory, name)
        if database is None or not path:
            continue
        known = instruction_files.load(database).get(name)
        if known is None:
            continue
        if known.ids and not _records(database, known.ids, alive=False):
            # The import was undone, or all of it forgotten.
            _unfollow(database, name)
            continue
        read = instructions.read_files(path, here, Left()) if os.path.isfile(path) else []
        mine = [one for one in read if name in _names(one, here)]
        done = _update_one(memory, database, name, mine[0] if mine else None, batch, done)
        for one in read:
            followed = instruction_files.load(database)
            is_here = instruction_files.kind_of(one.place) == database.kind
            if is_here and one not in mine and one.place not in followed:
                followed[one.place] = Followed(instruction_files.GONE, 0, (), one.via)
                instruction_files.save(database, followed)
                done = _update_one(memory, database, one.place, one, batch, done)
    return done


def _update_one(
    memory: Memory,
    database: Database,
    name: str,
    one: File | None,
    batch: str,
    done: Followings,
) -> Followings:
    followed = instruction_files.load(database)
    known = followed[name]
    now = ids.timestamp()
    stated = (
        [choose.record_of(item, INSTRUCTIONS, memory, now) for item in one.items] if one else []
    )
    stated = [record for record in stated if not choose.worthless(record)]
    old = {record.id: record for record in _records(database, known.ids)}
    there = _by_text(database, stated)
    kept, new = [], []
    for record in stated:
        same = there.get(same_form(record.what)) or old.get(record.id)
        if same is not None:
            kept.append(same.id)
        elif not is_forgotten(database.connection, record):
            new.append(_fresh(database, record))
    elsewhere = {id_ for other, f in followed.items() if other != name for id_ in f.ids}
    gone = [r for r in old.values() if r.id not in kept and r.id not in elsewhere and _is_ours(r)]
    pairs = _pairs(new, gone)
    by = choose.provenance(memory)
    made: list[Operation] = []
    for record in new:
        replaced = [pairs[record.id].id] if record.id in pairs else []
        payload = {"record": records.as_object(record), "past": True, "batch": batch}
        payload |= {"supersedes": replaced} if replaced else {}
        made.append(memory.operation("remember", payload, by, database.kind))
    taken = {record.id for record in pairs.values()}
    removed = [record for record in gone if record.id not in taken]
    if removed:
        links = [{"id": record.id, "by": "", "at": now, "was": OPEN} for record in removed]
        made.append(
            memory.operation("supersede", {"links": links, "batch": batch}, by, database.kind)
        )
    write.apply_all(database, made)
    stamp = instruction_files.stamp(one.path) if one else (instruction_files.GONE, 0)
    ids_ = tuple(dict.fromkeys([*kept, *(record.id for record in new)]))
    followed[name] = Followed(*stamp, ids_ or known.ids, one.via if one else known.via)
    instruction_files.save(database, followed)
    return Followings(
        done.new + len(new) - len(pairs), done.replaced + len(pairs), done.closed + len(removed)
    )


def _is_ours(record: Record) -> bool:
    """Return True for a record that only its file states."""
    return record.trust == choose.TRUST and not record.pinned


def _fresh(database: Database, record: Record) -> Record:
    """Return the record under an id of its own if its line stood in the file before."""
    known = database.row("SELECT 1 FROM records WHERE id = ?", (record.id,))
    return record._replace(id=ids.id_for(f"{record.id}\n{record.created_at}")) if known else record


def _pairs(new: Sequence[Record], gone: Sequence[Record]) -> dict[str, Record]:
    """Return the removed record that each new one replaces: the most alike, in the same file."""
    left = list(gone)
    found = {}
    for record in new:
        best = max(
            left, key=lambda old: (_alike(record, old), -_distance(record, old)), default=None
        )
        if best is not None and _alike(record, best) >= SAME_SHARE:
            found[record.id] = best
            left.remove(best)
    return found


def _alike(one: Record, other: Record) -> float:
    """Return the share of the content words of the shorter text that both have."""
    if one.evidence.get(PLACE) != other.evidence.get(PLACE):
        return 0.0
    a, b = ({stem(w) for w in words(r.what) if w not in STOPWORDS} for r in (one, other))
    return len(a & b) / min(len(a), len(b)) if a and b else 0.0


def _distance(one: Record, other: Record) -> int:
    lines = [int(r.evidence.get(LINE) or 0) for r in (one, other)]
    return abs(lines[0] - lines[1])


def _names(one: File, here: Here) -> list[str]:
    """Return the names under which clients read a file: its own, and those of links to it."""
    links = [
        name
        for name in INSTRUCTION_FILES
        for root in here.roots[:1]
        if name[0] != "~"
        and "*" not in name
        and os.path.islink(os.path.join(root, name))
        and os.path.realpath(os.path.join(root, name)) == one.path
    ]
    return [one.place, *links]


def _records(database: Database, ids_: Sequence[str], *, alive: bool = True) -> list[Record]:
    found: list[Record] = []
    for start in range(0, len(ids_), CHUNK):
        some = ids_[start : start + CHUNK]
        marks = ", ".join("?" * len(some))
        condition = f"id IN ({marks})" + (f" AND {ACTIVE_CURRENT}" if alive else "")
        found += [r for r, _ in records.find(database.connection, condition, tuple(some))]
    return found


def _by_text(database: Database, stated: Sequence[Record]) -> dict[str, Record]:
    """Return the current records with the same words, by their form."""
    found: dict[str, Record] = {}
    keys = list({records.key_of(record) for record in stated})
    for start in range(0, len(keys), CHUNK):
        some = keys[start : start + CHUNK]
        marks = ", ".join("?" * len(some))
        where = f"key IN ({marks}) AND scope <> 'local' AND {ACTIVE_CURRENT}"
        for record, _ in records.find(database.connection, where, tuple(some)):
            found.setdefault(same_form(record.what), record)
    return found


def _unfollow(database: Database, name: str) -> None:
    followed = instruction_files.load(database)
    followed.pop(name, None)
    instruction_files.save(database, followed)
