"""Purge: erase memories from all files that the plugin wrote, then check every byte of these files.

A request is a text or an id. Records, entities and observations with the words in their main text
are deleted as a whole; elsewhere, a marker replaces the words (decision 0033). The plan is saved in
the home folder first, so that the next purge can complete an interrupted one. Old backups are
deleted after a new one is verified. There is no undo. The client's own transcripts stay unchanged.
"""

import os
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import NamedTuple

from memory_fabric import ids
from memory_fabric.config import PURGING
from memory_fabric.errors import BadInput, NotFound, StoreUnavailable
from memory_fabric.models import Progress, Provenance
from memory_fabric.store import files, journal, write
from memory_fabric.store.conversations import sessions
from memory_fabric.store.database import Database
from memory_fabric.store.forget import plan, purge_files, purge_rows, purge_steps
from memory_fabric.store.forget.plan import Found, FoundEntity, FoundText, PurgePlan
from memory_fabric.store.forget.scrub_log import PurgeTarget
from memory_fabric.store.history import resolve, trace
from memory_fabric.store.home import launch_marks
from memory_fabric.store.memory import Memory
from memory_fabric.store.queues import spool
from memory_fabric.store.tiers import file_locations
from memory_fabric.store.tiers.file_locations import Location
from memory_fabric.store.upkeep import backup
from memory_fabric.text import first_of, one_line
from memory_fabric.text import words as text_words

LOCK, LOCK_S = "purging.lock", 5.0
Place = tuple[Database, str, str, int]  # (database, session, transcript, first byte to read)
# Shorter texts occur in too many memories that are to be kept.
MIN_WORDS_CHARS = 6
# SQL: the number of memories that mention an entity by name, except its own observations.
_MENTIONS = (
    "SELECT (SELECT count(*) FROM records WHERE instr(lower(what || ' ' || why), lower(?1))) + "
    "(SELECT count(*) FROM observations AS o JOIN entities AS e ON e.id = o.entity "
    "WHERE e.name <> ?1 AND o.record = '' AND instr(lower(o.text), lower(?1)))"
)


class Purged(NamedTuple):
    """The result of a purge. `elsewhere` lists files with purged text that were left unchanged;
    `ours` lists those in the home folder. `preview` explains `inside`, `shared` and `short`.
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
    memory: Memory, text: str, exact: bool = False, inside: bool = False, everywhere: bool = False
) -> Found:
    """Return the memories that a purge would erase: the one with the id `text`, or else those whose
    main text has the phrase `text`. If no other text or file has the phrase either, return those
    with all its words in any order. `Found` explains the options. Raises NotFound if nothing
    matches. Raises BadInput if the session may read only some domains, if the text has fewer than
    six characters (unless it is an id or `exact`), or if this plugin itself writes the words into
    files, where they cannot be erased.
    """
    if memory.domains is not None:
        problem = "A purge searches all domains, and only some can be read here."
        raise BadInput("text", problem, remedy="Purge from a shell, outside of an isolated domain.")
    if plan.names_id(text.removeprefix("r:")):  # `team status` shows ids with this prefix
        text = text.removeprefix("r:")
    if plan.names_id(text) and (found := _by_id(memory, text)):
        return replace(found, everywhere=everywhere)
    if found := replace(_by_words(memory, text, exact=exact, inside=inside), everywhere=everywhere):
        return found
    # No memory's main text has the words. If a table or file has them, purge only the words there.
    planned = plan.purge_plan(memory, found)
    where = file_locations.locations(memory, everywhere=planned["everywhere"])
    sought = plan.target_of(planned).sought
    with purge_steps.opened(memory, where) as databases:
        is_held = any(purge_rows.bytes_held(database, sought) for _, database in databases)
    paths = filter(purge_files.is_of_memories, purge_steps.own_files(memory, where))
    is_held = is_held or any(purge_files.is_in_file(path, sought) for path in paths)
    # The transcript of a session that asks for this purge contains the request itself.
    if is_held or any(transcripts_with(memory, found, b"--purge")):
        return found
    return replace(_with_separate_words(memory, text), everywhere=everywhere)


def transcripts_with(memory: Memory, found: Found, but: bytes = b"\0") -> Iterator[Place]:
    """Yield the places of purged words in transcripts, except in lines that contain `but`."""
    planned, every = plan.purge_plan(memory, found), "SELECT id, transcript, offset FROM sessions"
    sought = plan.target_of(planned).sought
    where = file_locations.locations(memory, everywhere=planned["everywhere"])
    with purge_steps.opened(memory, where) as databases:
        for database, row in ((d, row) for _, d in databases for row in d.rows(every)):
            # On an error, events cannot read it either.
            with suppress(OSError, ValueError), files.open_regular(row[1]) as stream:
                start = min(row[2], sessions.end_of(row[1]))  # no event reads what is before it
                stream.seek(start)
                if any(sought.is_in(line) for line in stream if but not in line):
                    yield database, row[0], row[1], start


def preview(memory: Memory, found: Found) -> tuple[Counter[str], list[str]]:
    """Return how much of each kind a purge would change or erase, and the files that would keep
    purged text. `history` counts logged operations, and `forwarding` texts to be forwarded.
    `journals`, `queues` and `logs` count lines. `backups`, `set_aside` and `pages` count files that
    are deleted as a whole. Four kinds count what stays: words inside longer words (`inside`), other
    memories with the entity's name (`mentions`) or a purged text (`shared`), short texts (`short`).
    """
    planned = plan.purge_plan(memory, found)
    where = file_locations.locations(memory, everywhere=planned["everywhere"])
    counts: Counter[str] = Counter(short=planned["short"])
    with purge_steps.opened(memory, where) as databases:
        for location, database in databases:
            target = plan.target_in(planned, memory, database)
            counts += _counted(location, database, target)
    for what in () if found.words else ("records", "entities", "observations"):
        counts[what] = len(getattr(found, what))
    target = plan.target_of(planned)
    top = spool.folder_of(memory.settings.home) + os.sep
    for path in purge_steps.own_files(memory, where):  # files that belong to no single database
        if path.startswith(top):
            counts["forwarding"] += purge_files.is_in_file(path, target.sought)
        elif purge_files.is_log(path):
            counts["logs"] += purge_files.lines_with(path, target)
        elif path.endswith(".html"):
            counts["pages"] += 1
    return counts, purge_steps.elsewhere(memory, where, target.sought)


def purge(memory: Memory, found: Found, by: Provenance, progress: Progress | None = None) -> Purged:
    """Erase all matches, and check that none is left. Raises BadInput if they changed since `find`,
    StoreUnavailable if a lock or an error stops it, NotErased if a file still has a match.
    """
    options = {"exact": found.exact, "inside": found.inside, "everywhere": found.everywhere}
    if find(memory, found.text, **options).code != found.code:
        problem = "The memories that this means have changed meanwhile; nothing was erased."
        raise BadInput("code", problem, remedy="Look at a new preview.")
    return purge_exactly(memory, found, by, progress)


def purge_exactly(
    memory: Memory, found: Found, provenance: Provenance, progress: Progress | None = None
) -> Purged:
    """Purge these matches, without checking if they have changed since the preview."""
    home = memory.settings.home
    with _locked(home):
        planned = plan.purge_plan(memory, found)
        files.write_atomic(os.path.join(home, PURGING), files.pretty_json(planned))
        return _carry_out(memory, planned, provenance, progress)


def pending(home: str) -> str:
    """Return the request of an interrupted purge; "" if there is none."""
    return str(files.read_json(os.path.join(home, PURGING)).get("request", ""))


def resume(memory: Memory, by: Provenance, progress: Progress | None = None) -> Purged | None:
    """Complete an interrupted purge; return None if there is none. Raises the errors of `purge`."""
    home = memory.settings.home
    if not (planned := files.read_json(os.path.join(home, PURGING))):
        return None
    with _locked(home):
        its_memory = Memory.open(memory.settings._replace(project_dir=planned["project_dir"]))
        its_memory.mirror, its_memory.switched_by = memory.mirror, memory.switched_by
        try:
            return _carry_out(its_memory, planned, by, progress)
        finally:
            its_memory.close()


@contextmanager
def _locked(home: str) -> Iterator[None]:
    try:
        with files.Locked(os.path.join(home, LOCK), LOCK_S):
            yield
    except TimeoutError as error:
        problem = f"Another purge is running: {error}."
        raise StoreUnavailable(home, problem, remedy="Wait until it has ended.") from error


def _carry_out(
    memory: Memory, planned: PurgePlan, provenance: Provenance, progress: Progress | None
) -> Purged:
    home = memory.settings.home
    plan_path = os.path.join(home, PURGING)
    where = file_locations.locations(memory, everywhere=bool(planned["everywhere"]))
    tell = progress or (lambda _done, _of: None)
    by = write.cleaned_provenance(provenance._replace(at=provenance.at or ids.timestamp()))
    try:
        purge_steps.forget(memory, planned, by)
        rows = purge_steps.erase(memory, planned, where, by, tell)
        fresh = purge_steps.renew_backups(where)
        tell(80, 100)
        # The launcher's marker files reveal rules and folders, so delete them; hooks rewrite them.
        launch_marks.forget_places(home)
        for location in where:
            launch_marks.forget_unbound(location.path)
        left, shared, inside = purge_steps.verify(memory, planned, where, plan_path)
        os.unlink(plan_path)
    except purge_steps.NotErased:
        raise
    except (OSError, sqlite3.Error, StoreUnavailable) as error:
        problem = error.message if isinstance(error, StoreUnavailable) else f"{error}."
        problem = f"The purge stopped half-way: {problem} Repeat the command to erase the rest."
        remedy = "Close other sessions, and check disk and permissions."
        raise StoreUnavailable(getattr(error, "path", ""), problem, remedy=remedy) from error
    homes = tuple(path + os.sep for path in (home, memory.switched_by[0]) if path)
    ours = tuple(path for path in left if path.startswith(homes))
    kept = inside, shared, int(planned.get("short", 0))
    return Purged(int(planned["memories"]), rows, tuple(fresh), left, ours, *kept)


def _by_id(memory: Memory, text: str) -> Found | None:
    """Return the memory with this id, or None. Raises NotFound if erased, BadInput if ambiguous."""
    with suppress(NotFound):
        return plan.by_id(memory, text)
    with suppress(NotFound):
        if isinstance(origin := trace.why(memory, text), trace.RecordTrace):
            return Found(text, (origin.record,))
    ending = resolve.id_part(text.removeprefix(plan.TURN))
    known = "SELECT 1 FROM tombstones WHERE id LIKE ?"
    if any(database.row(known, (f"%{ending}",)) for database in memory.databases()):
        raise NotFound(text, "The memory with this id is purged or forgotten already.")
    return None


def _by_words(memory: Memory, text: str, *, exact: bool, inside: bool) -> Found:
    words = one_line(text)
    if len(words) < MIN_WORDS_CHARS and not exact:
        problem = f"{words!r} has fewer than {MIN_WORDS_CHARS} characters and may be in other texts"
        remedy = "Name a memory by its id, or use --exact for exactly these characters."
        raise BadInput("text", f"{problem}; nothing was erased.", remedy=remedy)
    target = PurgeTarget(words=(words,), exact=exact, inside=inside)
    if target.asked.is_in(purge_files.OWN_TEXT) or not any(map(str.isalnum, words)):
        problem = "Memory itself writes these words into every file, as names of fields and so on"
        remedy = "Add words before or after them, or name a memory by its id."
        raise BadInput("text", f"{problem}; nothing was erased.", remedy=remedy)
    records, observations = [], []
    entities = plan.entities_meant(memory, text)
    with suppress(NotFound):  # The entity may be deleted; its former observations are in the log.
        origin = trace.why(memory, text)
        if isinstance(origin, trace.EntityTrace) and origin.deletion:
            own = tuple(statement.text for statement in origin.statements if not statement.record)
            entities += [FoundEntity(origin.name, origin.type, origin.store, own, 0)]
    for database in memory.databases():
        stated = purge_rows.stated(database.connection, target)
        records += [r for id_ in stated["ids"] for r in memory.find_records("id = ?", (id_,))]
        entities += plan.entities_named(database, stated["entityNames"])
        names = {e.name for e in entities if e.store == database.kind}
        pairs = purge_rows.said_in(stated)
        observations += [FoundText(*pair, database.kind) for pair in pairs if pair[0] not in names]
    memories = tuple(records), tuple(dict.fromkeys(entities)), tuple(dict.fromkeys(observations))
    return Found(text, *memories, words=words, exact=exact, inside=inside)


def _with_separate_words(memory: Memory, text: str) -> Found:
    wanted, found = set(text_words(text)), Found(text)
    with suppress(NotFound):
        found = plan.find(memory, text)
    records = tuple(r for r in found.records if wanted <= {*text_words(f"{r.what} {r.why}")})
    about = ((o, {*text_words(f"{o.entity} {o.text}")}) for o in found.observations)
    observations = tuple(o for o, words in about if wanted <= words)
    if not (found := replace(found, records=records, observations=observations)):
        where = file_locations.locations(memory, everywhere=False)
        paths = purge_steps.elsewhere(memory, where, PurgeTarget(words=(one_line(text),)).sought)
        problem = "These words are nowhere in this memory; there is nothing to erase."
        hint = f" They are in {first_of(paths, 5)}, which is not part of this memory."
        remedy = "--everywhere searches all projects." if paths else ""
        raise NotFound(text, problem + (hint if paths else ""), remedy=remedy)
    return found


def _counted(location: Location, database: Database, target: PurgeTarget) -> Counter[str]:
    c, words = database.connection, target.asked
    stated = purge_rows.stated(c, target)
    texts = {text for _, text in purge_rows.said_in(stated)}
    texts |= {text for _, text in target.said} if words else set()
    is_stored = "SELECT 1 FROM records WHERE id = ?"
    ids = {*stated["ids"], *(id_ for id_ in target.ids if database.row(is_stored, (id_,)))}
    counts = {what: len(purge_rows.holding(c, target, what)) for what in purge_rows.TEXTS}
    names = [name for name in target.names if not words.is_in(name)]
    journals = [os.path.join(os.path.dirname(location.path), journal.OPERATIONS)]
    journals += [os.path.join(folder, journal.DECISIONS) for folder in location.folders]
    queues = [path for folder in location.folders for path in journal.waiting_files(folder)]
    queues += [os.path.join(folder, journal.BAD) for folder in location.folders]
    return Counter(
        backups=len(backup.list_backups(location.path)),
        set_aside=len(purge_steps.set_aside(location.path)),
        journals=sum(purge_files.lines_with(path, target) for path in dict.fromkeys(journals)),
        queues=sum(purge_files.lines_with(path, target) for path in dict.fromkeys(queues)),
        notes=sum(map(target.is_in, map(purge_files.memory_block, location.notes))),
        records=len(ids),
        entities=len({*stated["entityNames"], *target.names}),
        observations=len(texts) if words else 0,
        blocks=counts.pop("blocks") + counts.pop("checkpoints") + counts.pop("prompts"),
        inside=purge_rows.count_inside(database, target) if words else 0,
        mentions=sum(n for name in names for (n,) in database.rows(_MENTIONS, (name,))),
        shared=len(purge_rows.shared_texts(database, target)),
        **counts,
    )
