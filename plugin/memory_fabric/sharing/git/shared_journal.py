"""Publish records to the decisions.jsonl shared in a repository; import records of other users."""

import json
import os
from collections.abc import Mapping
from typing import Any

from memory_fabric import ids
from memory_fabric.errors import FabricError
from memory_fabric.models import HAS_OTHERS, OTHERS, RELEASED, Operation, Provenance
from memory_fabric.sharing.git import claims_read, location
from memory_fabric.store import files, journal
from memory_fabric.store.base_memory import BaseMemory as Memory
from memory_fabric.store.database import Database
from memory_fabric.store.operations import others
from memory_fabric.store.projects import own_lines

Lines = list[dict[str, Any]]
BY = Provenance("journal", trust="foreign")
# The maximum number of records imported at a session's start; the Stop event imports more.
MAX_AT_START = 50


def publish(memory: Memory) -> int:
    """Move lines that wait in home to the shared journal; return how many were added. Move none
    while the journal may not be written, for example during a merge. Lines of isolated domains are
    never shared: they stay in home and, if git does not track the journal yet, are moved back from
    it to home. After a crash, no line is added twice. Raises OSError, TimeoutError.
    """
    project = memory.project
    if project is None or location.is_in_home(memory, project):
        return 0
    if memory.settings.domains.isolated and location.is_on(memory):
        remove_private(memory)
    waiting = os.path.join(location.private_folder(memory, project), journal.DECISIONS)
    if not os.path.exists(waiting) or not location.may_write_journal(memory, project):
        return 0
    shared = location.shared_file(project)
    with files.Locked(waiting + ".lock"):
        shared_lines = files.read_lines(shared)[0] if claims_read.stamp(shared) else []
        published = {line.get("id"): line for line in shared_lines}
        lines = _shared_form(memory, files.read_lines(waiting)[0])
        newest = {line.get("id"): line for line in lines}  # only an id's last line counts
        # Also publish that a record was forgotten, if the shared journal contains the record.
        told = [o for id_, o in newest.items() if id_ in published or not o.get("forgotten")]
        apart, public = _split_isolated(memory, told)
        new = [line for line in public if line != published.get(line.get("id"))]
        journal.prepare_folder(project.local)
        files.append_lines(shared, new)
        if not apart:
            os.unlink(waiting)
        elif len(apart) < len(lines):
            files.write_atomic(waiting, _text_of(apart))
    return len(new)


def count_waiting(memory: Memory) -> int:
    """Return how many lines in home wait for their move to the shared journal. Raises OSError."""
    project = memory.project
    if project is None or location.is_in_home(memory, project):
        return 0
    path = os.path.join(location.private_folder(memory, project), journal.DECISIONS)
    return len(_split_isolated(memory, files.read_lines(path)[0])[1])


def remove_private(memory: Memory) -> int:
    """Remove private content from a journal that git does not track: forgotten records, records of
    isolated domains (moved to home), and quotations that the user does not share. Return the number
    of removed and changed lines. Raises OSError.
    """
    project = memory.project
    if project is None or location.is_tracked(project):
        return 0
    path = location.shared_file(project)
    lines, bad = files.read_lines(path) if claims_read.stamp(path) else ([], 0)
    over = {line.get("id"): bool(line.get("forgotten")) for line in lines}  # by the last line
    open_lines = [line for line in lines if not over[line.get("id")]]
    apart, public = _split_isolated(memory, _shared_form(memory, open_lines))
    if bad or public == lines:
        return 0
    if apart:
        folder = location.private_folder(memory, project)
        journal.prepare_folder(folder)
        files.append_lines(os.path.join(folder, journal.DECISIONS), apart)
    mine = own_lines.proved(memory.settings.home, project.local, lines)
    own_lines.add(memory.settings.home, project.local, _shared_form(memory, list(map(dict, mine))))
    files.write_atomic(path, _text_of(public))
    return sum(line not in public for line in lines)


def take_back_words(memory: Memory) -> int:
    """Remove this user's quotations from the shared journal, except those released for sharing;
    return the number of changed lines. Git's history keeps them. Raises OSError, TimeoutError.
    """
    project = memory.project
    if project is None or not location.is_on(memory) or memory.settings.share_words:
        return 0
    path, folder, home = location.shared_file(project), project.local, memory.settings.home
    with files.Locked(path + ".lock"):
        lines, bad = files.read_lines(path) if claims_read.stamp(path) else ([], 0)
        released = {r.id for r in memory.find_records(f"instr(body, '\"{RELEASED}\"') > 0", (), -1)}
        ours = _ours(memory, [str(line.get("id", "")) for line in lines]) - released
        bare = [_bare(line) if line.get("id") in ours else line for line in lines]
        changed = [(a, b) for a, b in zip(lines, bare, strict=True) if a != b]
        if bad or not changed:
            return 0
        mine = own_lines.proved(home, folder, [before for before, _ in changed])
        files.write_atomic(path, _text_of(bare))
        own_lines.add(home, folder, [after for before, after in changed if before in mine])
    return len(changed)


def import_new(memory: Memory, *, most: int = claims_read.MAX_RECORDS) -> int:
    """Import other users' new and changed records from the journal; return how many (0 if this user
    does not share). One call imports the newest `most` records, the next call older ones. A journal
    that has not changed since a complete import is not read. Raises OSError, StoreUnavailable.
    """
    project = memory.project
    if project is None or not memory.settings.writes or not location.is_on(memory):
        return 0
    path = location.shared_file(project)
    stamp = claims_read.stamp(path)
    if not stamp:  # the file may be missing in this branch: change nothing
        return 0
    database = memory.session_database()
    # The stamp is stored only after a complete import, so an equal stamp means no change.
    if database.newer or database.read_only or _noted(database, others.STAMP + path) == stamp:
        return 0
    content = claims_read.read(path)
    if content is None:
        return 0
    payload = _payload(memory, database, path, content, most) | {"project": project.name}
    return int(_applied(memory, "take_in", payload).get("taken", 0))


def drop_all(memory: Memory) -> int:
    """Delete all imported records of other users; return their number. Raises StoreUnavailable."""
    return int(_applied(memory, "let_go", {}).get("gone", 0))


def count(memory: Memory) -> dict[str, int]:
    """Return the number of other users' records per author; the authors' names are unverified."""
    database = of_project(memory)
    if database is None or not _noted(database, HAS_OTHERS):
        return {}
    rows = database.rows(
        "SELECT json_extract(body, '$.author') AS author, count(*) FROM records "
        "WHERE source = ? GROUP BY author ORDER BY count(*) DESC, author",
        (OTHERS,),
    )
    return {str(author or ""): int(number) for author, number in rows}


def of_project(memory: Memory) -> Database | None:
    """Return the project's database, or None if it is unreadable or missing."""
    return next((database for database in memory.databases() if database.kind == "project"), None)


def unreadable(database: Database, path: str) -> int:
    """Return how many lines of the journal were unreadable at the last import."""
    return int(_noted(database, others.UNREADABLE + path) or 0)


def _noted(database: Database, key: str) -> str:
    row = database.row("SELECT value FROM meta WHERE key = ?", (key,))
    return str(row[0]) if row else ""


def _payload(
    memory: Memory, database: Database, path: str, content: claims_read.Read, most: int
) -> dict[str, Any]:
    before = others.sums(database.connection, path)
    ours = _ours(memory, [claim.id for claim in content.claims])
    author = memory.settings.author
    claims = [claim for claim in content.claims if claim.id not in ours]
    own = [c for c in claims if author and c.record and c.record.get("author") == author]
    if own:
        from memory_fabric.sharing.git import adoption  # imported late: rarely needed

        if adoption.awaits_answer(memory):  # skip lines under this user's name until confirmed
            claims = [claim for claim in claims if claim not in own]
    stated = [claim for claim in claims if claim.record][-claims_read.MAX_RECORDS :]
    news = [claim for claim in stated if before.get(claim.id) != claim.sum]
    imported = news[len(news) - min(most, len(news)) :]
    gone = [claim for claim in claims if claim.id in before and not claim.record]
    return {
        "place": path,
        "stamp": content.stamp if len(imported) == len(news) else "",
        "records": [claims_read.record_of(claim) for claim in imported],
        "forgotten": [claim.id for claim in gone],
        "here": [claim.id for claim in stated],
        "sums": {claim.id: claim.sum for claim in (*imported, *gone)},
        "unreadable": content.unreadable,
    }


def _ours(memory: Memory, wanted: list[str]) -> set[str]:
    query = "SELECT id FROM records WHERE id IN (SELECT value FROM json_each(?)) AND source <> ?"
    values = (json.dumps(wanted), OTHERS)
    ours = {id_ for database in memory.databases() for (id_,) in database.rows(query, values)}
    if memory.unavailable:
        raise FabricError("Records of others cannot be recognised while a database cannot be read.")
    return ours


def _applied(memory: Memory, kind: str, payload: Mapping[str, Any]) -> dict[str, Any]:
    """Apply an operation; return its result. If it fails, do not queue it: callers can retry."""
    from memory_fabric.store import write  # imported late: rarely needed

    whole = dict(payload)
    if "records" in payload:  # only text from other users is sanitised
        whole["records"] = write.cleaned({"": payload["records"]})[""]
    by = BY._replace(at=ids.timestamp())
    return memory.apply_now(Operation(ids.new_id(), kind, whole, by, "project"))


def _shared_form(memory: Memory, lines: Lines) -> Lines:
    return lines if memory.settings.share_words else list(map(journal.without_words, lines))


def _bare(line: Mapping[str, Any]) -> dict[str, Any]:
    """Drop a line's quotations, even released ones, except the user's quotation in a team rule."""
    evidence = line.get("evidence") or {}
    kept = {name: part for name, part in evidence.items() if name != RELEASED}
    return journal.without_words({**line, "evidence": kept}) if evidence else dict(line)


def _split_isolated(memory: Memory, lines: Lines) -> tuple[Lines, Lines]:
    isolated = memory.settings.domains.isolated
    apart = [line for line in lines if line.get("domain") in isolated]
    return apart, [line for line in lines if line.get("domain") not in isolated]


def _text_of(lines: Lines) -> bytes:
    return "".join(files.json_line(line) for line in lines).encode("utf-8", "replace")
