"""Records that follow their instruction files: changed lines replace, removed ones are closed.

The files are never written. A record that the user pinned, confirmed or reworded stays as it is.
"""

import os
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from memory_fabric import ids
from memory_fabric.clients.table import INSTRUCTION_FILES
from memory_fabric.importing import instructions
from memory_fabric.importing.instructions import File
from memory_fabric.importing.items import (
    TRUST,
    Here,
    Left,
    here_of,
    provenance,
    record_of,
    records_with,
    worthless,
)
from memory_fabric.models import INSTRUCTIONS, LINE, PLACE, Operation, Record
from memory_fabric.recall.agent_domains import domain_for
from memory_fabric.store import instruction_files, log, records, write
from memory_fabric.store.database import Database
from memory_fabric.store.instruction_files import Followed
from memory_fabric.store.memory import Memory
from memory_fabric.store.operations.remember import OPEN, is_forgotten
from memory_fabric.store.schema import ACTIVE_CURRENT
from memory_fabric.text import STOPWORDS, same_form, stem, words

# A new line replaces a removed line that shares at least this part of its content words.
SAME_SHARE = 0.5
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
    for file in instructions.read_files(path, here, Left()):
        database = memory.database(instruction_files.kind_of(file.place), create=True)
        assert database is not None
        followed = instruction_files.load(database)
        for name in _names(file, here):
            before = followed.get(name) or Followed(0, 0, ())
            domain = _domain(memory, database, before)
            stated = _stated(memory, file, domain)
            # The records of the file's lines, closed ones as well.
            by_text = _by_text(database, stated, domain)
            forms = {same_form(record.what) for record in stated}
            own = _records(database, [record.id for record in stated], alive=False)
            earlier = _records(database, before.ids, alive=False)
            own += [record for record in earlier if same_form(record.what) in forms]
            current = [by_text[form].id for form in forms if form in by_text]
            every = dict.fromkeys([*current, *(record.id for record in own)])
            ids_ = tuple(id_ for id_ in every if id_ not in before.closed or id_ in current)
            stamp = instruction_files.stamp(file.path)
            followed[name] = Followed(*stamp, ids_, file.via or before.via, domain, before.closed)
        instruction_files.save(database, followed)


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
    """One update: its batch, its remaining limits, and its results so far."""

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
        followed = instruction_files.load(database) if database and path else {}
        if database is None or name not in followed:
            return True
        noted = (*followed[name].ids, *followed[name].closed)
        if noted and not _records(database, noted, alive=False):
            # The import was undone, or all its records were forgotten.
            del followed[name]
            instruction_files.save(database, followed)
            return True
        files = self._read(database, name, path)
        if files is None:
            return False
        mine = [file for file in files if name in _names(file, self._here)]
        is_whole = self._one(database, name, mine[0] if mine else None)
        for file in files:
            followed = instruction_files.load(database)
            is_here = instruction_files.kind_of(file.place) == database.kind
            if is_here and file not in mine and file.place not in followed:
                domain = followed[name].domain
                followed[file.place] = Followed(instruction_files.GONE, 0, (), file.via, domain)
                instruction_files.save(database, followed)
                is_whole = self._one(database, file.place, file) and is_whole
        return is_whole

    def _read(self, database: Database, name: str, path: str) -> list[File] | None:
        """Return the files at a path; None if they are too large for what is left."""
        if not os.path.isfile(path):
            return []
        budget = instructions.Budget(self._bytes)
        try:
            files = instructions.read_files(path, self._here, Left(), budget)
        except instructions.TooLarge:
            if self._limits.is_last and self._bytes == self._limits.bytes:
                followed = instruction_files.load(database)
                size, mtime_ns = instruction_files.stamp(path)
                followed[name] = followed[name]._replace(size=size, mtime_ns=mtime_ns)
                instruction_files.save(database, followed)
                self._note_too_large(name)
            return None
        self._bytes = budget.left
        return files

    def _note_too_large(self, name: str) -> None:
        text = (
            f"{name} and the files that it imports have more than {int(self._bytes) >> 10} KB, so "
            f"their change was not read; run memory-fabric import {name}"
        )
        try:
            log.add(self._memory.settings.home, text)
        except (OSError, TimeoutError) as error:
            self._memory.fail(f"notices: {error}")

    def _one(self, database: Database, name: str, file: File | None) -> bool:
        """Bring the records of one file up to date; return False if some remain for later."""
        followed = instruction_files.load(database)
        before = followed[name]
        elsewhere = {id_ for other, f in followed.items() if other != name for id_ in f.ids}
        changes = _compared(self._memory, database, before, file, elsewhere)
        new, later = changes.new[: self._records], changes.new[self._records :]
        self._records -= len(new)
        ended = self._apply(database, changes, new)
        waiting = [changes.pairs[r.id].id for r in later if r.id in changes.pairs]
        made = [record.id for record in (*changes.again, *new)]
        ids_ = tuple(dict.fromkeys([*changes.kept, *made, *waiting]))
        stamp = instruction_files.stamp(file.path) if file else (instruction_files.GONE, 0)
        stamp = (before.size, before.mtime_ns) if later else stamp
        closed = [id_ for id_ in dict.fromkeys([*before.closed, *ended]) if id_ not in ids_]
        via = file.via or before.via if file else before.via
        followed[name] = Followed(*stamp, ids_, via, changes.domain, tuple(closed[-MAX_CLOSED:]))
        instruction_files.save(database, followed)
        return not later

    def _apply(self, database: Database, changes: _Changes, new: Sequence[Record]) -> list[str]:
        """Store the changes in one transaction; return the ids of the records that it closes."""
        memory, now, pairs = self._memory, self._now, changes.pairs
        by = provenance(memory, changes.domain)
        taken = {record.id for record in pairs.values()}
        removed = [record.id for record in changes.gone if record.id not in taken]
        back = [record.id for record in changes.again if record.id in pairs]
        links: list[dict[str, Any]] = [
            {"id": r.id, **OPEN, "was": {"by": r.superseded_by, "at": r.valid_to}}
            for r in changes.again
        ]
        links += [{"id": pairs[id_].id, "by": id_, "at": now, "was": OPEN} for id_ in back]
        links += [{"id": id_, "by": "", "at": now, "was": OPEN} for id_ in removed]
        made: list[Operation] = []
        replaced = []
        for record in new:
            payload = {"record": records.as_object(record), "past": True, "batch": self._batch}
            if record.id in pairs:
                replaced.append(pairs[record.id].id)
                payload["supersedes"] = replaced[-1:]
            made.append(memory.operation("remember", payload, by, database.kind))
        if links:
            payload = {"links": links, "batch": self._batch}
            made.append(memory.operation("supersede", payload, by, database.kind))
        write.apply_all(database, made)
        count = len(back) + len(replaced)
        self.done = Followings(
            self.done.new + len(new) + len(changes.again) - count,
            self.done.replaced + count,
            self.done.closed + len(removed),
        )
        return [*replaced, *(pairs[id_].id for id_ in back), *removed]


def _compared(
    memory: Memory, database: Database, followed: Followed, file: File | None, elsewhere: set[str]
) -> _Changes:
    """Compare the lines of a file with its records; None is a file that does not exist."""
    domain = _domain(memory, database, followed)
    stated = _stated(memory, file, domain) if file else []
    old = {record.id: record for record in _records(database, followed.ids)}
    # A record that was closed elsewhere stays closed while its line is in the file.
    ended: dict[str, Record] = {}
    for record in _records(database, followed.ids, alive=False):
        if record.id not in old:
            ended |= {same_form(record.what): record, record.id: record}
    by_form = {same_form(r.what): r for r in old.values()} | _by_text(database, stated, domain)
    # Records that were closed because their line was removed.
    own = {"", *followed.ids, *followed.closed}
    closed = {
        same_form(record.what): record
        for record in _records(database, followed.closed, alive=False)
        if record.valid_to and record.status == "active" and record.superseded_by in own
    }
    kept, new, again = [], [], []
    for record in stated:
        form = same_form(record.what)
        same = by_form.get(form) or old.get(record.id) or ended.get(form) or ended.get(record.id)
        if same is not None:
            kept.append(same.id)
        elif form in closed:
            again.append(closed[form])
        elif not is_forgotten(database.connection, record):
            # With a new id if the same line was in the file before.
            if database.row("SELECT 1 FROM records WHERE id = ?", (record.id,)):
                record = record._replace(id=ids.id_for(f"{record.id}\n{record.created_at}"))
            new.append(record)
    stay = {*kept, *elsewhere}
    # A record that a person confirmed or pinned is not only the file's.
    gone = [r for r in old.values() if r.id not in stay and r.trust == TRUST and not r.pinned]
    pairs = _pairs([*new, *again], gone)
    new = [r._replace(domain=pairs[r.id].domain) if r.id in pairs else r for r in new]
    return _Changes(domain, kept, new, again, gone, pairs)


def _stated(memory: Memory, file: File, domain: str) -> list[Record]:
    now = ids.timestamp()
    stated = [record_of(item, INSTRUCTIONS, memory, now, domain) for item in file.items]
    return [record for record in stated if not worthless(record)]


def _domain(memory: Memory, database: Database, followed: Followed) -> str:
    """Return the domain of a file's records, whichever session sees its change."""
    if followed.domain:
        return followed.domain
    own = _records(database, followed.ids, alive=False)
    return own[0].domain if own else domain_for(memory.settings).name


def _pairs(new: Sequence[Record], gone: Sequence[Record]) -> dict[str, Record]:
    """Return the removed record that each new record replaces: the most similar in its file."""
    left, pairs = list(gone), {}
    for record in new:
        ranked = ((*_likeness(record, old), old) for old in left)
        share, _, best = max(ranked, key=lambda rank: rank[:2], default=(0.0, 0, record))
        if share >= SAME_SHARE:
            pairs[record.id] = best
            left.remove(best)
    return pairs


def _likeness(new: Record, old: Record) -> tuple[float, int]:
    """Return the share of the content words of the shorter text that both have, and the negative
    distance of their lines; a share of 0 for another file's.
    """
    lines = [int(record.evidence.get(LINE) or 0) for record in (new, old)]
    a, b = ({stem(w) for w in words(r.what) if w not in STOPWORDS} for r in (new, old))
    is_same_file = new.evidence.get(PLACE) == old.evidence.get(PLACE)
    share = len(a & b) / min(len(a), len(b)) if a and b and is_same_file else 0.0
    return share, -abs(lines[0] - lines[1])


def _names(file: File, here: Here) -> list[str]:
    """Return the names under which clients read a file: its own, and those of links to it."""
    plain = [name for name in INSTRUCTION_FILES if name[0] != "~" and "*" not in name]
    paths = {name: os.path.join(root, name) for root in here.roots[:1] for name in plain}
    links = (name for name, path in paths.items() if os.path.islink(path))
    return [file.place, *(name for name in links if os.path.realpath(paths[name]) == file.path)]


def _records(database: Database, ids_: Sequence[str], *, alive: bool = True) -> list[Record]:
    condition = f" AND {ACTIVE_CURRENT}" if alive else ""
    return list(records_with(database, "id IN ({})" + condition, ids_))


def _by_text(database: Database, stated: Sequence[Record], domain: str) -> dict[str, Record]:
    """Return the current records of a domain with the same words, by their form."""
    keys = list({records.key_of(record.what) for record in stated})
    where = "key IN ({}) AND domain = ? AND scope <> 'local' AND " + ACTIVE_CURRENT
    by_form: dict[str, Record] = {}
    for record in records_with(database, where, keys, domain):
        by_form.setdefault(same_form(record.what), record)
    return by_form
