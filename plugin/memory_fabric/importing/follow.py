"""Records that follow their instruction files: changed lines replace, removed ones are closed.

The files are never written. A record that the user pinned, confirmed or reworded stays as it is.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from memory_fabric import ids
from memory_fabric.clients.table import INSTRUCTION_FILES
from memory_fabric.importing import choose, instructions
from memory_fabric.importing.items import Here, Left, here_of
from memory_fabric.models import INSTRUCTIONS, LINE, PLACE
from memory_fabric.recall.agent_domains import domain_for
from memory_fabric.store import instruction_files, notices, records, write
from memory_fabric.store.instruction_files import Followed
from memory_fabric.store.operations.record_effects import is_forgotten
from memory_fabric.store.operations.supersede_effects import OPEN
from memory_fabric.store.record_state import ACTIVE_CURRENT
from memory_fabric.text import STOPWORDS, same_form, stem, words

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
# No limit, and how many closed records of a file may hold again.
MAX_RECORDS, MAX_CLOSED = 1 << 30, 1000


class Followings(NamedTuple):
    """The numbers of new, replaced and closed records after an update."""

    new: int = 0
    replaced: int = 0
    closed: int = 0


class Limits(NamedTuple):
    """The bytes that one event may read, and the new records that it may store.

    `is_last` is True if no later event reads more: a larger change is then passed over, and told.
    """

    bytes: float = float("inf")
    records: int = MAX_RECORDS
    is_last: bool = False


class _Changes(NamedTuple):
    """The difference between a file and its records.

    `kept` are the ids that stay; `again` are closed records whose line is back; `gone` are current
    ones without a line; `pairs` has the one of these that a new or returned one replaces, by id.
    """

    domain: str
    kept: list[str]
    new: list[Record]
    again: list[Record]
    gone: list[Record]
    pairs: dict[str, Record]


def begin(memory: Memory, path: str) -> None:
    """Follow the instruction files at a path from now on; their statements were imported."""
    here = here_of(memory)
    for one in instructions.read_files(path, here, Left()):
        database = memory.database(instruction_files.kind_of(one.place), create=True)
        assert database is not None
        followed = instruction_files.load(database)
        for name in _names(one, here):
            before = followed.get(name) or Followed(0, 0, ())
            domain = _domain(memory, database, before)
            stated = _stated(memory, one, domain)
            ids_ = _begun(database, stated, before, domain)
            stamp = instruction_files.stamp(one.path)
            followed[name] = Followed(*stamp, ids_, one.via or before.via, domain, before.closed)
        instruction_files.save(database, followed)


def _begun(
    database: Database, stated: Sequence[Record], before: Followed, domain: str
) -> tuple[str, ...]:
    """Return the records of the lines of a file, also those that somebody closed."""
    known = _by_text(database, stated, domain)
    forms = {same_form(record.what) for record in stated}
    own = _records(database, [record.id for record in stated], alive=False)
    own += [r for r in _records(database, before.ids, alive=False) if same_form(r.what) in forms]
    current = [known[form].id for form in forms if form in known]
    found = dict.fromkeys([*current, *(record.id for record in own)])
    return tuple(id_ for id_ in found if id_ not in before.closed or id_ in current)


def update(memory: Memory, names: Iterable[str], limits: Limits | None = None) -> Followings:
    """Bring the records of these files up to date, as one batch.

    What is beyond the limits is left for the next time. Raises StoreUnavailable, DeadlinePassed.
    """
    work = _Update(memory, limits or Limits())
    for name in names:
        if not work.bring(name):
            break
    return work.done


class _Update:
    """One update: its batch, what it may still read and store, and what it did."""

    def __init__(self, memory: Memory, limits: Limits) -> None:
        self._memory, self._limits, self._here = memory, limits, here_of(memory)
        self._bytes, self._records = limits.bytes, limits.records
        self._batch, self._now = f"follow-{ids.new_id()[-8:]}", ids.timestamp()
        self.done = Followings()

    def bring(self, name: str) -> bool:
        """Bring the records of a file, and of those that it imports newly, up to date.

        Returns False if the rest is for a later event.
        """
        database = self._memory.database(instruction_files.kind_of(name), create=False)
        path = instruction_files.path_of(self._memory, name)
        known = instruction_files.load(database).get(name) if database and path else None
        if database is None or known is None:
            return True
        noted = (*known.ids, *known.closed)
        if noted and not _records(database, noted, alive=False):
            # The import was undone, or all of it forgotten.
            _unfollow(database, name)
            return True
        read = self._read(database, name, path, known)
        if read is None:
            return False
        mine = [one for one in read if name in _names(one, self._here)]
        is_whole = self._one(database, name, mine[0] if mine else None)
        for one in read:
            followed = instruction_files.load(database)
            is_here = instruction_files.kind_of(one.place) == database.kind
            if is_here and one not in mine and one.place not in followed:
                domain = followed[name].domain
                followed[one.place] = Followed(instruction_files.GONE, 0, (), one.via, domain)
                instruction_files.save(database, followed)
                is_whole = self._one(database, one.place, one) and is_whole
        return is_whole

    def _read(self, database: Database, name: str, path: str, known: Followed) -> list[File] | None:
        """Return the files at a path; None if they are too large for what is left."""
        if not os.path.isfile(path):
            return []
        budget = instructions.Budget(self._bytes)
        try:
            found = instructions.read_files(path, self._here, Left(), budget)
        except instructions.TooLarge:
            if self._limits.is_last and self._bytes == self._limits.bytes:
                followed = instruction_files.load(database)
                size, mtime_ns = instruction_files.stamp(path)
                followed[name] = known._replace(size=size, mtime_ns=mtime_ns)
                instruction_files.save(database, followed)
                self._tell(name)
            return None
        self._bytes = budget.left
        return found

    def _tell(self, name: str) -> None:
        """Leave a notice that a file is too large to be followed."""
        text = (
            f"{name} and the files that it imports have more than {int(self._bytes) >> 10} KB, so "
            f"their change was not read; run memory-fabric import {name}"
        )
        try:
            notices.add(self._memory.settings.home, text)
        except (OSError, TimeoutError) as error:
            self._memory.fail(f"notices: {error}")

    def _one(self, database: Database, name: str, one: File | None) -> bool:
        """Bring the records of one file up to date; return False if some are left."""
        followed = instruction_files.load(database)
        known = followed[name]
        elsewhere = {id_ for other, f in followed.items() if other != name for id_ in f.ids}
        found = _compared(self._memory, database, known, one, elsewhere)
        new = found.new[: self._records]
        is_whole = len(new) == len(found.new)
        self._records -= len(new)
        ended = self._apply(database, found, new)
        waiting = [found.pairs[r.id].id for r in found.new[len(new) :] if r.id in found.pairs]
        made = [record.id for record in (*found.again, *new)]
        ids_ = tuple(dict.fromkeys([*found.kept, *made, *waiting]))
        stamp = instruction_files.stamp(one.path) if one else (instruction_files.GONE, 0)
        if not is_whole:
            stamp = (known.size, known.mtime_ns)
        closed = [id_ for id_ in dict.fromkeys([*known.closed, *ended]) if id_ not in ids_]
        via = one.via or known.via if one else known.via
        followed[name] = Followed(*stamp, ids_, via, found.domain, tuple(closed[-MAX_CLOSED:]))
        instruction_files.save(database, followed)
        return is_whole

    def _apply(self, database: Database, found: _Changes, new: Sequence[Record]) -> list[str]:
        """Store the changes in one transaction; return the ids of the records that it closes."""
        memory, now = self._memory, self._now
        by = choose.provenance(memory, found.domain)
        taken = {record.id for record in found.pairs.values()}
        removed = [record for record in found.gone if record.id not in taken]
        links = [
            {"id": r.id, **OPEN, "was": {"by": r.superseded_by, "at": r.valid_to}}
            for r in found.again
        ]
        back = [r for r in found.again if r.id in found.pairs]
        links += [{"id": found.pairs[r.id].id, "by": r.id, "at": now, "was": OPEN} for r in back]
        links += [{"id": record.id, "by": "", "at": now, "was": OPEN} for record in removed]
        made: list[Operation] = []
        replaced = []
        for record in new:
            payload = {"record": records.as_object(record), "past": True, "batch": self._batch}
            if record.id in found.pairs:
                replaced.append(found.pairs[record.id].id)
                payload["supersedes"] = replaced[-1:]
            made.append(memory.operation("remember", payload, by, database.kind))
        if links:
            payload = {"links": links, "batch": self._batch}
            made.append(memory.operation("supersede", payload, by, database.kind))
        write.apply_all(database, made)
        count = len(back) + len(replaced)
        self.done = Followings(
            self.done.new + len(new) + len(found.again) - count,
            self.done.replaced + count,
            self.done.closed + len(removed),
        )
        return [*replaced, *(found.pairs[r.id].id for r in back), *(r.id for r in removed)]


def _compared(
    memory: Memory, database: Database, known: Followed, one: File | None, elsewhere: set[str]
) -> _Changes:
    """Compare the lines of a file with its records; None is a file that does not exist."""
    domain = _domain(memory, database, known)
    stated = _stated(memory, one, domain) if one else []
    old = {record.id: record for record in _records(database, known.ids)}
    there = {same_form(r.what): r for r in old.values()} | _by_text(database, stated, domain)
    # What others closed stays closed while its line stands.
    ended: dict[str, Record] = {}
    for record in _records(database, known.ids, alive=False):
        if record.id not in old:
            ended |= {same_form(record.what): record, record.id: record}
    closed = _closed_here(database, known)
    kept, new, again = [], [], []
    for record in stated:
        form = same_form(record.what)
        same = there.get(form) or old.get(record.id) or ended.get(form) or ended.get(record.id)
        if same is not None:
            kept.append(same.id)
        elif form in closed:
            again.append(closed[form])
        elif not is_forgotten(database.connection, record):
            new.append(_fresh(database, record))
    stay = {*kept, *elsewhere}
    gone = [r for r in old.values() if r.id not in stay and _is_ours(r)]
    pairs = _pairs([*new, *again], gone)
    new = [r._replace(domain=pairs[r.id].domain) if r.id in pairs else r for r in new]
    return _Changes(domain, kept, new, again, gone, pairs)


def _stated(memory: Memory, one: File, domain: str) -> list[Record]:
    now = ids.timestamp()
    found = [choose.record_of(item, INSTRUCTIONS, memory, now, domain) for item in one.items]
    return [record for record in found if not choose.worthless(record)]


def _domain(memory: Memory, database: Database, known: Followed) -> str:
    """Return the domain of a file's records, whichever session sees its change."""
    if known.domain:
        return known.domain
    found = _records(database, known.ids, alive=False)
    return found[0].domain if found else domain_for(memory.settings).name


def _closed_here(database: Database, known: Followed) -> dict[str, Record]:
    """Return the records that were closed because their line went, by their form."""
    own = {"", *known.ids, *known.closed}
    return {
        same_form(record.what): record
        for record in _records(database, known.closed, alive=False)
        if record.valid_to and record.status == "active" and record.superseded_by in own
    }


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


def _by_text(database: Database, stated: Sequence[Record], domain: str) -> dict[str, Record]:
    """Return the current records of a domain with the same words, by their form."""
    found: dict[str, Record] = {}
    keys = list({records.key_of(record) for record in stated})
    for start in range(0, len(keys), CHUNK):
        some = keys[start : start + CHUNK]
        marks = ", ".join("?" * len(some))
        where = f"domain = ? AND key IN ({marks}) AND scope <> 'local' AND {ACTIVE_CURRENT}"
        for record, _ in records.find(database.connection, where, (domain, *some)):
            found.setdefault(same_form(record.what), record)
    return found


def _unfollow(database: Database, name: str) -> None:
    followed = instruction_files.load(database)
    followed.pop(name, None)
    instruction_files.save(database, followed)
