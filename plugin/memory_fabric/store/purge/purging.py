"""Purge: forgotten for good, in every byte that is ours, and proven on the bytes.

What is to go is noted in home first, so that a purge that was stopped is completed by the next.
Rows, journals, queues, MEMORY.md and logs follow; then the databases are written anew, one new
backup is made and verified, and only then the old copies go. No undo brings it back. What the
client keeps of a conversation is not ours and stays.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from memory_fabric.errors import BadInput, NotFound, StoreUnavailable
from memory_fabric.models import Provenance
from memory_fabric.store import backup, files, forgetting
from memory_fabric.store.database import Database
from memory_fabric.store.forgetting import Found, FoundEntity
from memory_fabric.store.history import tracing
from memory_fabric.store.memory import Memory
from memory_fabric.store.purge import places, purge_rows, purge_steps
from memory_fabric.store.purge.purge_plan import Plan, gone_from, planned, texts_of
from memory_fabric.store.purge.scrubbing import Gone, is_telling

PENDING, LOCK = "purging.json", "purging.lock"
LOCK_S = 5.0


@dataclass(frozen=True, slots=True)
class Toll:
    """What a purge takes beside what was found, and what it leaves.

    `mentions` counts other memories that name the entity, `shared` texts that others hold, too, and
    `short` texts that are too short to be sought in conversations and files.
    """

    turns: int = 0
    ingests: int = 0
    tasks: int = 0
    blocks: int = 0
    backups: int = 0
    set_aside: int = 0
    mentions: int = 0
    shared: int = 0
    short: int = 0


@dataclass(frozen=True, slots=True)
class Purged:
    """What a purge did; `elsewhere` are files of other projects or the user that hold it still."""

    memories: int
    rows: int
    backups: tuple[str, ...]
    elsewhere: tuple[str, ...] = ()


def find(memory: Memory, text: str) -> Found:
    """What a purge would erase: what lives, else what was forgotten and stands in journals.

    Raises NotFound, and BadInput in a room of which only some domains can be read.
    """
    if memory.domains is not None:
        raise BadInput(
            "text",
            "What is erased for good is sought in all domains, and only some can be read here.",
            remedy="Purge from the command line, outside of an isolated place.",
        )
    try:
        return forgetting.find(memory, text)
    except NotFound:
        trace = tracing.why(memory, text)
    if isinstance(trace, tracing.RecordTrace):
        return Found(text, (trace.record,))
    own = tuple(said.text for said in trace.said if not said.record)
    return Found(text, entities=(FoundEntity(trace.name, trace.type, trace.store, own, 0),))


def toll(memory: Memory, found: Found) -> Toll:
    """What a purge would cost; nothing is changed."""
    plan = planned(memory, found)
    where = places.places(memory, everywhere=plan["everywhere"])
    sums: dict[str, int] = {}
    with purge_steps.opened(memory, where) as databases:
        for _, database in databases:
            gone = gone_from(plan, memory, database)
            c = database.connection
            for name, some in (
                ("turns", purge_rows.turns(c, gone)),
                ("ingests", purge_rows.texts(c, gone)),
                ("tasks", purge_rows.tasks(c, gone)),
                ("blocks", purge_rows.blocks(c, gone)),
                ("backups", backup.every(database.path)),
                ("set_aside", purge_steps.set_aside(database.path)),
                ("mentions", _mentions(database, gone)),
                ("shared", purge_rows.others_with(database, gone)),
            ):
                sums[name] = sums.get(name, 0) + len(some)
    return Toll(**sums, short=sum(not is_telling(text) for text in texts_of(found)))


def purge(memory: Memory, found: Found, provenance: Provenance) -> Purged:
    """Erase what was found, everywhere, and prove it.

    Raises BadInput when it has changed since it was found; StoreUnavailable when another process is
    in the way, or when a file still holds it: saying the same again completes what was begun.
    """
    if find(memory, found.text).code != found.code:
        raise BadInput(
            "code",
            f"What {found.text!r} means has changed meanwhile; nothing was erased.",
            remedy="Look at a new preview.",
        )
    home = memory.settings.home
    with _alone(home):
        plan = planned(memory, found)
        files.write_atomic(os.path.join(home, PENDING), files.as_page(plan))
        return _carried_out(memory, plan, provenance)


def pending(home: str) -> str:
    """What was to be purged when a purge was stopped; empty when none was."""
    return str(files.read_json(os.path.join(home, PENDING)).get("request", ""))


def resume(memory: Memory, provenance: Provenance) -> Purged | None:
    """Complete a purge that was stopped; None when there is none. Raises like `purge`."""
    home = memory.settings.home
    plan = files.read_json(os.path.join(home, PENDING))
    if not plan:
        return None
    with _alone(home):
        there = Memory.open(memory.settings._replace(project_dir=plan["project_dir"]))
        there.mirror, there.switched_by = memory.mirror, memory.switched_by
        try:
            return _carried_out(there, plan, provenance)
        finally:
            there.close()


@contextmanager
def _alone(home: str) -> Iterator[None]:
    try:
        with files.Locked(os.path.join(home, LOCK), LOCK_S):
            yield
    except TimeoutError as error:
        raise StoreUnavailable(
            home, f"Another purge is running: {error}.", remedy="Wait for its end."
        ) from error


def _carried_out(memory: Memory, plan: Plan, provenance: Provenance) -> Purged:
    noted = os.path.join(memory.settings.home, PENDING)
    where = places.places(memory, everywhere=bool(plan["everywhere"]))
    try:
        purge_steps.forget(memory, plan, provenance)
        rows = purge_steps.erase(memory, plan, where)
        fresh = purge_steps.copy(where)
        elsewhere = purge_steps.prove(memory, plan, where, noted)
        os.unlink(noted)
    except (OSError, sqlite3.Error) as error:
        raise StoreUnavailable(
            "",
            f"The purge stopped: {error}. What is left goes when you say the same again.",
            remedy="Close other sessions, and check disk and permissions.",
        ) from error
    return Purged(int(plan["memories"]), rows, tuple(fresh), tuple(elsewhere))


def _mentions(database: Database, gone: Gone) -> list[Any]:
    """Other memories that speak of the names."""
    found: list[Any] = []
    for name in gone.names:
        found += database.rows(
            "SELECT id FROM records WHERE instr(lower(what || ' ' || why), lower(?))", (name,)
        )
        found += database.rows(
            "SELECT o.id FROM observations AS o JOIN entities AS e ON e.id = o.entity "
            "WHERE e.name <> ? AND o.record = '' AND instr(lower(o.text), lower(?))",
            (name, name),
        )
    return found
