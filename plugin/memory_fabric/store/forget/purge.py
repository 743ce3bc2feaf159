"""Purge: erase memories from every byte that memory wrote, and check the bytes afterwards.

A request is words or an id. Records, entities and observations that state the words are deleted as
a whole; in turns, session notes and any other text, a mark replaces them (decision 0033).

The plan is saved in home first, so that the next purge completes one that was interrupted. Rows,
journals, queues, MEMORY.md and logs are cleaned; then the databases are compacted, one new backup
is made and verified, and only then the old copies are deleted. Undo cannot restore it. The client's
own transcripts are not touched.
"""

import os
import sqlite3
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from memory_fabric.errors import BadInput, NotFound, StoreUnavailable
from memory_fabric.models import Provenance
from memory_fabric.store import backup, files, journal
from memory_fabric.store.database import Database
from memory_fabric.store.forget import own_words, purge_files, purge_rows, purge_steps
from memory_fabric.store.forget import plan as forget_plan
from memory_fabric.store.forget.plan import Found, FoundEntity, FoundText
from memory_fabric.store.forget.purge_plan import Plan, asked, planned, target_in
from memory_fabric.store.forget.scrub_log import PurgeTarget
from memory_fabric.store.history import resolve, trace
from memory_fabric.store.memory import Memory
from memory_fabric.store.queues import spool
from memory_fabric.store.tiers import file_locations
from memory_fabric.store.tiers.file_locations import Location
from memory_fabric.text import first_of, one_line
from memory_fabric.text import words as text_words

PENDING, LOCK = "purging.json", "purging.lock"
LOCK_S = 5.0
# Shorter words occur in too much that should be kept.
MIN_WORDS_CHARS = 6
MAX_NAMED = 5


@dataclass(frozen=True, slots=True)
class PurgePreview:
    """The amount that a purge erases, by kind, and what it leaves.

    `history` are operations that are kept for undo; `journals`, `queues` and `logs` count lines,
    `forwarding` items, `backups`, `set_aside` and `pages` files, which are deleted whatever they
    hold. `inside` are texts that hold the words only in longer ones, `mentions` other memories that
    name the entity, `shared` texts that others hold, too, `short` texts that are too short to be
    searched for in conversations and files; all of these are kept. `elsewhere` are files of other
    projects and of the user that hold purged text and are left alone.
    """

    records: int = 0
    entities: int = 0
    observations: int = 0
    turns: int = 0
    blocks: int = 0
    tasks: int = 0
    ingests: int = 0
    history: int = 0
    journals: int = 0
    queues: int = 0
    forwarding: int = 0
    logs: int = 0
    notes: int = 0
    pages: int = 0
    backups: int = 0
    set_aside: int = 0
    inside: int = 0
    mentions: int = 0
    shared: int = 0
    short: int = 0
    elsewhere: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Purged:
    """The result of a purge. `elsewhere` are files of other projects or the user that still hold
    purged text, `ours` those of them that belong to memory. `inside`, `shared` and `short` are as
    in PurgePreview.
    """

    memories: int
    rows: int
    backups: tuple[str, ...]
    elsewhere: tuple[str, ...] = ()
    ours: tuple[str, ...] = ()
    inside: int = 0
    shared: int = 0
    short: int = 0


def find(
    memory: Memory,
    text: str,
    *,
    exact: bool = False,
    inside: bool = False,
    everywhere: bool = False,
) -> Found:
    """Return what a purge would erase: what an id names, else the words in every text.

    Words that occur nowhere in this order mean the memories that hold each of them. Raises
    NotFound; BadInput for fewer than six characters that are neither an id nor `exact`, and in an
    isolated session, which sees only some domains.
    """
    if memory.domains is not None:
        raise BadInput(
            "text",
            "A purge searches all domains, and only some can be read here.",
            remedy="Purge from a shell, outside of an isolated domain.",
        )
    named = resolve.looks_like_id(text) or text.startswith(forget_plan.TURN)
    found = _by_id(memory, text) if named else None
    if found is None and named and _has_tombstone(memory, text):
        raise NotFound(text, "The memory with this id is purged or forgotten already.")
    if found is None:
        found = _by_words(memory, text, exact=exact, inside=inside)
        if not (found or _is_held(memory, replace(found, everywhere=everywhere))):
            found = _with_separate_words(memory, text)
    return replace(found, everywhere=everywhere)


def preview(memory: Memory, found: Found) -> PurgePreview:
    """Return what a purge would erase; nothing is changed."""
    plan = planned(memory, found)
    where = file_locations.locations(memory, everywhere=plan["everywhere"])
    sums: Counter[str] = Counter()
    with purge_steps.opened(memory, where) as databases:
        for location, database in databases:
            target = target_in(plan, memory, database)
            sums += _in_tables(database, target) + _in_files(location, target)
        if not found.words:
            sums["records"] = len(found.records)
            sums["entities"] = len(found.entities)
            sums["observations"] = len(found.observations)
    target = PurgeTarget(**asked(plan))
    sums += _in_shared_files(memory, where, target)
    return PurgePreview(
        **sums,
        short=plan["short"],
        elsewhere=tuple(purge_steps.elsewhere(memory, where, target.sought)),
    )


def purge(memory: Memory, found: Found, provenance: Provenance) -> Purged:
    """Erase what was found everywhere, and check that it is gone.

    Raises BadInput if it has changed since it was found, StoreUnavailable if another process is in
    the way, and NotErased if a file still holds it: repeating the purge completes it.
    """
    now = find(
        memory,
        found.text,
        exact=found.exact,
        inside=found.inside,
        everywhere=found.everywhere,
    )
    if now.code != found.code:
        raise BadInput(
            "code",
            "The memories that this means have changed meanwhile; nothing was erased.",
            remedy="Look at a new preview.",
        )
    return purge_exactly(memory, found, provenance)


def purge_exactly(memory: Memory, found: Found, provenance: Provenance) -> Purged:
    """Erase what was found, as `purge`, though nobody looked at a preview of it."""
    home = memory.settings.home
    with _locked(home):
        plan = planned(memory, found)
        files.write_atomic(os.path.join(home, PENDING), files.pretty_json(plan))
        return _carry_out(memory, plan, provenance)


def pending(home: str) -> str:
    """Return the request of an interrupted purge; empty if there is none."""
    return str(files.read_json(os.path.join(home, PENDING)).get("request", ""))


def resume(memory: Memory, provenance: Provenance) -> Purged | None:
    """Complete an interrupted purge; None if there is none. Raises like `purge`."""
    home = memory.settings.home
    plan = files.read_json(os.path.join(home, PENDING))
    if not plan:
        return None
    with _locked(home):
        there = Memory.open(memory.settings._replace(project_dir=plan["project_dir"]))
        there.mirror, there.switched_by = memory.mirror, memory.switched_by
        try:
            return _carry_out(there, plan, provenance)
        finally:
            there.close()


@contextmanager
def _locked(home: str) -> Iterator[None]:
    try:
        with files.Locked(os.path.join(home, LOCK), LOCK_S):
            yield
    except TimeoutError as error:
        raise StoreUnavailable(
            home, f"Another purge is running: {error}.", remedy="Wait until it has ended."
        ) from error


def _carry_out(memory: Memory, plan: Plan, provenance: Provenance) -> Purged:
    plan_path = os.path.join(memory.settings.home, PENDING)
    where = file_locations.locations(memory, everywhere=bool(plan["everywhere"]))
    try:
        purge_steps.forget(memory, plan, provenance)
        rows = purge_steps.erase(memory, plan, where, provenance)
        fresh = purge_steps.renew_backups(where)
        purge_steps.forget_launches(memory.settings.home, where)
        verified = purge_steps.verify(memory, plan, where, plan_path)
        os.unlink(plan_path)
    except purge_steps.NotErased:
        raise
    except (OSError, sqlite3.Error, StoreUnavailable) as error:
        said = error.message if isinstance(error, StoreUnavailable) else f"{error}."
        raise StoreUnavailable(
            getattr(error, "path", ""),
            f"The purge stopped half-way: {said} Repeat the command to erase the rest.",
            remedy="Close other sessions, and check disk and permissions.",
        ) from error
    return Purged(
        int(plan["memories"]),
        rows,
        tuple(fresh),
        verified.left,
        tuple(path for path in verified.left if _is_ours(memory, path)),
        verified.inside,
        verified.shared,
        int(plan.get("short", 0)),
    )


def _is_ours(memory: Memory, path: str) -> bool:
    homes = {memory.settings.home, memory.switched_by[0]}
    return any(home and path.startswith(home + os.sep) for home in homes)


def _by_id(memory: Memory, text: str) -> Found | None:
    """Return the record, forgotten or not, or the turn of an id; None if there is none.

    A word may look like an id. Raises BadInput if several ids end alike.
    """
    try:
        return forget_plan.by_id(memory, text)
    except NotFound:
        pass
    try:
        origin = trace.why(memory, text)
    except NotFound:
        return None
    return Found(text, (origin.record,)) if isinstance(origin, trace.RecordTrace) else None


def _has_tombstone(memory: Memory, text: str) -> bool:
    """True if there is a tombstone with this id."""
    ending = resolve.id_part(text.removeprefix(forget_plan.TURN))
    known = "SELECT 1 FROM tombstones WHERE id LIKE ?"
    return any(database.row(known, (f"%{ending}",)) for database in memory.databases())


def _by_words(memory: Memory, text: str, *, exact: bool, inside: bool) -> Found:
    """Return what states the words in the project's and the user's memory; it may be empty."""
    words = one_line(text)
    if len(words) < MIN_WORDS_CHARS and not exact:
        raise BadInput(
            "text",
            f"{words!r} has fewer than {MIN_WORDS_CHARS} characters and may be in other texts; "
            "nothing was erased.",
            remedy="Name a memory by its id, or use --exact for exactly these characters.",
        )
    found = Found(text, words=words, exact=exact, inside=inside)
    target = PurgeTarget(words=(words,), exact=exact, inside=inside)
    if own_words.are_in(target.asked) or not any(map(str.isalnum, words)):
        raise BadInput(
            "text",
            "Memory itself writes these words into every file, as names of its fields and the "
            "like; nothing was erased.",
            remedy="Add words before or after them, or name a memory by its id.",
        )
    entities = [*forget_plan.entities_meant(memory, text), *_deleted_entity(memory, text)]
    said: list[FoundText] = []
    for database in memory.databases():
        payload = purge_rows.stated(database.connection, target)
        ids = tuple((id_,) for id_ in payload["ids"])
        records = [r for id_ in ids for r in memory.find_records("id = ?", id_)]
        found = replace(found, records=(*found.records, *records))
        entities += forget_plan.entities_named(database, payload["entityNames"])
        names = {e.name for e in entities if e.store == database.kind}
        said += [
            FoundText(item["entityName"], line, database.kind)
            for item in payload["deletions"]
            for line in item["observations"]
            if item["entityName"] not in names
        ]
    return replace(
        found, entities=tuple(dict.fromkeys(entities)), observations=tuple(dict.fromkeys(said))
    )


def _deleted_entity(memory: Memory, name: str) -> list[FoundEntity]:
    """Return a deleted entity of this name with its observations, which are still in the
    history.
    """
    try:
        origin = trace.why(memory, name)
    except NotFound:
        return []
    if not isinstance(origin, trace.EntityTrace) or origin.deletion is None:
        return []
    own = tuple(said.text for said in origin.statements if not said.record)
    return [FoundEntity(origin.name, origin.type, origin.store, own, 0)]


def _is_held(memory: Memory, found: Found) -> bool:
    """True if the words are in anything else that a purge reaches."""
    plan = planned(memory, found)
    where = file_locations.locations(memory, everywhere=plan["everywhere"])
    target = PurgeTarget(**asked(plan))
    with purge_steps.opened(memory, where) as databases:
        if any(purge_rows.bytes_held(database, target.sought) for _, database in databases):
            return True
    paths = (p for p in purge_steps.own_files(memory, where) if purge_files.is_of_memories(p))
    return any(purge_files.matches_in(path, target.sought) for path in paths)


def _with_separate_words(memory: Memory, text: str) -> Found:
    """Return memories that hold each of the words, though not in sequence. Raises NotFound."""
    wanted = set(text_words(text))
    try:
        found = forget_plan.find(memory, text)
    except NotFound:
        found = Found(text)
    found = replace(
        found,
        records=tuple(r for r in found.records if wanted <= {*text_words(f"{r.what} {r.why}")}),
        observations=tuple(
            o for o in found.observations if wanted <= {*text_words(f"{o.entity} {o.text}")}
        ),
    )
    if not found:
        where = file_locations.locations(memory, everywhere=False)
        sought = PurgeTarget(words=(one_line(text),)).sought
        held = purge_steps.elsewhere(memory, where, sought)
        files_ = f" They are in {first_of(held, MAX_NAMED)}, which is not part of this memory."
        raise NotFound(
            text,
            "These words are nowhere in this memory; there is nothing to erase."
            + (files_ if held else ""),
            remedy="--everywhere searches all projects." if held else "",
        )
    return found


def _in_tables(database: Database, target: PurgeTarget) -> Counter[str]:
    c = database.connection
    payload = purge_rows.stated(c, target)
    said = [text for item in payload["deletions"] for text in item["observations"]]
    return _counted(
        ("records", {*payload["ids"], *_existing(database, target.ids)}),
        ("entities", {*payload["entityNames"], *target.names}),
        ("observations", {*said, *(text for _, text in target.said)} if target.asked else ()),
        ("turns", purge_rows.turns(c, target)),
        ("blocks", [*purge_rows.blocks(c, target), *purge_rows.prompts(c, target)]),
        ("tasks", purge_rows.tasks(c, target)),
        ("ingests", purge_rows.ingests(c, target)),
        ("history", purge_rows.history(c, target)),
        ("inside", purge_rows.tables_with_inside(database, target) if target.asked else ()),
        ("mentions", _mentions(database, target)),
        ("shared", purge_rows.shared_texts(database, target)),
    )


def _existing(database: Database, ids: Iterable[str]) -> list[str]:
    known = "SELECT 1 FROM records WHERE id = ?"
    return [id_ for id_ in ids if database.row(known, (id_,))]


def _in_files(location: Location, target: PurgeTarget) -> Counter[str]:
    """Count what one location's files hold, and the copies of its database that will be deleted."""
    sums = _counted(
        ("backups", backup.list_backups(location.path)),
        ("set_aside", purge_steps.set_aside(location.path)),
    )
    journals = [os.path.join(os.path.dirname(location.path), journal.OPERATIONS)]
    journals += [os.path.join(folder, journal.DECISIONS) for folder in location.folders]
    queues = [path for folder in location.folders for path in journal.waiting_files(folder)]
    queues += [os.path.join(folder, journal.BAD) for folder in location.folders]
    for name, paths in (("journals", journals), ("queues", queues)):
        sums[name] = sum(purge_files.lines_with(path, target) for path in dict.fromkeys(paths))
    blocks = map(purge_files.memory_block, location.notes)
    sums["notes"] = sum(purge_files.is_in(block, target) for block in blocks)
    return sums


def _in_shared_files(
    memory: Memory, where: Sequence[Location], target: PurgeTarget
) -> Counter[str]:
    """Count purged text in files that belong to no single memory of this home."""
    sums: Counter[str] = Counter()
    top = spool.folder_of(memory.settings.home) + os.sep
    for path in purge_steps.own_files(memory, where):
        name = os.path.basename(path)
        if path.startswith(top):
            sums["forwarding"] += bool(purge_files.matches_in(path, target.sought))
        elif name.endswith((".jsonl", ".log", ".log.1")) and not journal.is_ours(name):
            sums["logs"] += purge_files.lines_with(path, target)
        elif name.endswith(".html"):
            sums["pages"] += 1
    return sums


def _counted(*parts: tuple[str, Collection[Any]]) -> Counter[str]:
    return Counter({name: len(some) for name, some in parts})


def _mentions(database: Database, target: PurgeTarget) -> list[Any]:
    """Return other memories that mention the names, and are kept."""
    found: list[Any] = []
    for name in (name for name in target.names if not target.asked.is_in(name)):
        found += database.rows(
            "SELECT id FROM records WHERE instr(lower(what || ' ' || why), lower(?))", (name,)
        )
        found += database.rows(
            "SELECT o.id FROM observations AS o JOIN entities AS e ON e.id = o.entity "
            "WHERE e.name <> ? AND o.record = '' AND instr(lower(o.text), lower(?))",
            (name, name),
        )
    return found
