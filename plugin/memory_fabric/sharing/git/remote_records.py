"""Records that others wrote into a shared journal: imported, counted, dropped."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from memory_fabric import ids
from memory_fabric.errors import FabricError
from memory_fabric.models import HAS_OTHERS, OTHERS, Operation, Provenance
from memory_fabric.sharing.git import claims_read, location
from memory_fabric.store.database import Database
from memory_fabric.store.operations import others

if TYPE_CHECKING:
    from memory_fabric.store.protocols import Memory

BY = Provenance("journal", trust="foreign")
# The part of a payload that others wrote.
_FROM_OTHERS = ("records",)
# Most records imported at a session's start, which must not wait for redaction. Stop imports the
# rest.
MAX_AT_START = 50


def import_new(memory: Memory, *, most: int = claims_read.MAX_RECORDS) -> int:
    """Import new and changed records of others from the journal; return how many.

    Costs one stat if the journal has not changed; nothing is read unless this user shares. At most
    `most`, the newest first; the others wait for the next time. Raises OSError, StoreUnavailable.
    """
    project = memory.project
    if project is None or not memory.settings.writes or not location.is_on(memory):
        return 0
    path = location.shared_file(project)
    stamped = claims_read.stamp(path)
    if not stamped:  # no file changes nothing: the folder was removed, or a branch has none
        return 0
    database = memory.session_database()
    if database.newer or database.read_only or last_stamp(database, path) == stamped:
        return 0
    found = claims_read.read(path)
    if found is None:
        return 0
    payload = _payload(memory, database, path, found, most)
    return int(_applied(memory, "take_in", payload | {"project": project.name}).get("taken", 0))


def drop_all(memory: Memory) -> int:
    """Drop the records of others; return how many. Raises StoreUnavailable."""
    return int(_applied(memory, "let_go", {}).get("gone", 0))


def count(memory: Memory) -> dict[str, int]:
    """Return the number of records of others by the author that they claim."""
    database = of_project(memory)
    if database is None or not may_have_any(database):
        return {}
    rows = database.rows(
        "SELECT json_extract(body, '$.author') AS author, count(*) FROM records "
        "WHERE source = ? GROUP BY author ORDER BY count(*) DESC, author",
        (OTHERS,),
    )
    return {str(author or ""): int(number) for author, number in rows}


def of_project(memory: Memory) -> Database | None:
    """Return the project's database, if it can be read."""
    return next((found for found in memory.databases() if found.kind == "project"), None)


def may_have_any(database: Database) -> bool:
    """True if the database may have records of others."""
    return database.row("SELECT 1 FROM meta WHERE key = ?", (HAS_OTHERS,)) is not None


def last_stamp(database: Database, path: str) -> str:
    """Return the journal's stamp when it was last read; empty if something is left to import."""
    row = database.row("SELECT value FROM meta WHERE key = ?", (others.STAMP + path,))
    return str(row[0]) if row else ""


def unreadable(database: Database, path: str) -> int:
    """Return the number of lines of the journal that could not be read the last time."""
    row = database.row("SELECT value FROM meta WHERE key = ?", (others.UNREADABLE + path,))
    return int(row[0]) if row else 0


def _payload(
    memory: Memory, database: Database, path: str, found: claims_read.Read, most: int
) -> dict[str, Any]:
    """Return the payload of `import_new` for the journal's lines that were not handled before."""

    before = others.sums(database.connection, path)
    ours = _ours(memory, [claim.id for claim in found.claims])
    claims = [claim for claim in found.claims if claim.id not in ours]
    own = [claim for claim in claims if _is_by(memory, claim)]
    if own and _awaits_answer(memory):  # not others' lines: the user will be asked
        claims = [claim for claim in claims if claim not in own]
    stated = [claim for claim in claims if claim.record][-claims_read.MAX_RECORDS :]
    news = [claim for claim in stated if before.get(claim.id) != claim.sum]
    taken = news[len(news) - min(most, len(news)) :]
    return {
        "place": path,
        "stamp": found.stamp if len(taken) == len(news) else "",
        "records": [claims_read.record_of(claim) for claim in taken],
        "forgotten": [one.id for one in claims if one.id in before and not one.record],
        "here": [claim.id for claim in stated],
        "sums": {claim.id: claim.sum for claim in taken},
        "unreadable": found.unreadable,
    }


def _is_by(memory: Memory, claim: claims_read.Claim) -> bool:
    author = memory.settings.author
    return bool(author and claim.record) and claim.record.get("author") == author


def _awaits_answer(memory: Memory) -> bool:
    """True if lines of the journal wait for the user to say if they are the user's own."""
    from memory_fabric.sharing.git import adoption  # only for lines under the user's own name

    return adoption.awaits_answer(memory)


def _ours(memory: Memory, found: list[str]) -> set[str]:
    """Return those of the ids that are this user's records."""
    ours: set[str] = set()
    for database in memory.databases():
        for start in range(0, len(found), 500):
            some = found[start : start + 500]
            marks = ", ".join("?" * len(some))
            query = f"SELECT id FROM records WHERE id IN ({marks}) AND source <> ?"
            ours |= {row[0] for row in database.rows(query, (*some, OTHERS))}
    if memory.unavailable:
        raise FabricError("Records of others cannot be recognised while a database cannot be read.")
    return ours


def _applied(memory: Memory, kind: str, payload: Mapping[str, Any]) -> dict[str, Any]:
    """Apply the operation and return its result; never queued, as the journal can be read again."""
    from memory_fabric.store import write  # only for something new

    by = BY._replace(at=ids.timestamp())
    # Paths and stamps are trusted; only what others wrote is made harmless.
    cleaned = {
        name: write.cleaned({"": part})[""]
        for name, part in payload.items()
        if name in _FROM_OTHERS
    }
    operation = Operation(ids.new_id(), kind, {**payload, **cleaned}, by, "project")
    return memory.apply_now(operation)
