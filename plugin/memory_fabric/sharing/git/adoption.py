"""Recovery of records that are in a project's journal or MEMORY.md, but in no database of memory.

The databases are in memory's home folder. If this folder is lost, the journal remains, because it
is the project's file decisions.jsonl. Signatures in own.jsonl prove which of its lines were written
with this home; the user is asked about all other lines, and about lines of MEMORY.md, which may be
the last copy of memories for all projects. Records are restored unchanged, with their ids, authors,
trust and times. Functions raise OSError and StoreUnavailable.
"""

import json
import os
from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from memory_fabric import models
from memory_fabric.models import OTHERS, Progress, Provenance
from memory_fabric.sharing.git import claims_read, location
from memory_fabric.store import files, records
from memory_fabric.store.base_memory import BaseMemory as Memory
from memory_fabric.store.projects import identity, own_lines, registry_file
from memory_fabric.store.tiers import memory_md
from memory_fabric.text import many

# Limits of the bytes that are read from the end of a long journal; hooks have little time.
MAX_BYTES, MAX_AT_STOP_BYTES, MAX_AT_START_BYTES = 64 << 20, 4 << 20, 1 << 20
# Longer lines were not written by this package and are ignored.
MAX_LINE_BYTES = 256 << 10
# The source and the confidence of records that are restored from the user's notes in MEMORY.md.
MEMORY_MD, SHOWN_CONFIDENCE = "MEMORY.md", 0.85


class Missing(NamedTuple):
    """Lines of the journal (newest first) and of MEMORY.md whose records memory lacks. If `proved`,
    their signatures are valid. `others` counts lines of other authors, which are not restored. If
    the journal was signed for a lost folder, `origin` is its project's id, if known in this home.
    """

    path: str
    lines: tuple[Mapping[str, Any], ...] = ()
    proved: bool = False
    author: str = ""
    others: Mapping[str, int] = {}
    origin: str = ""

    @property
    def span(self) -> tuple[str, str]:
        """Return the dates of the oldest and the newest missing line."""
        days = [str(line.get("created_at", ""))[:10] for line in self.lines]
        return min(days, default=""), max(days, default="")


def missing(memory: Memory, author: str = "", max_bytes: int = MAX_BYTES) -> Missing | None:
    """Return journal and MEMORY.md lines whose records memory lacks, or None if there are none."""
    lost = _in_journal(memory, author, max_bytes)
    if memory.project is None or author or (lost and (lost.proved or lost.origin)):
        return lost
    settings = memory.settings
    notes = memory_md.locate(settings.config_dir, memory.project.root, settings.memory_md_off)
    lines = {} if notes.off_because else memory_md.shown_lines(notes)
    lacking = unknown(memory, lines)
    if memory.unavailable or not lacking:
        return lost
    written = _lines_of(own_lines.journal_of(memory) or os.devnull, max_bytes)
    lacking -= {line["id"] for line in written if lost}  # prefer the journal: it names authors
    days = (str(line.get("created_at", ""))[:10] for line in written)
    since = min(filter(None, days), default="")
    stated = [_stated(id_, lines[id_], since) for id_ in lines if id_ in lacking]
    whole = [line for line in stated if _is_record({**line, "scope": "team"})]
    new_lines = [line | {"author": settings.author} for line in whole]
    if lost is None:
        return Missing(notes.path, tuple(new_lines), author=settings.author) if new_lines else None
    own = []
    for line in lost.lines:  # add quotations, which only MEMORY.md contains
        words = _stated(line["id"], lines.get(line["id"], ""), "")["evidence"]
        evidence = line.get("evidence")
        own.append({**line, "evidence": words | (evidence if isinstance(evidence, dict) else {})})
    return lost._replace(lines=(*own, *new_lines))


def unknown(memory: Memory, ids: Collection[str]) -> set[str]:
    """Of these ids from MEMORY.md, return those that no database of this home ever contained."""
    unseen, wanted = set(ids), json.dumps(list(ids))
    promoted: set[str] = set()
    databases = memory.databases() if unseen else []
    for database in databases:
        for table in ("records", "tombstones"):
            query = f"SELECT id FROM {table} WHERE id IN (SELECT value FROM json_each(?))"
            unseen.difference_update(id_ for (id_,) in database.rows(query, (wanted,)))
        promoted.update(id_ for (id_,) in database.rows("SELECT record FROM promoted"))
    # If the addition of a record was undone, only the log of operations still contains its id.
    operation = "SELECT 1 FROM operations WHERE instr(payload, ?) LIMIT 1"
    moved = unseen & promoted
    return unseen - {id_ for id_ in moved if any(d.row(operation, (id_,)) for d in databases)}


def _stated(id_: str, line: str, since: str) -> dict[str, Any]:
    """Return the record in a line of MEMORY.md. Its scope is `user` if it is a preference, or if
    the journal begins (on the day `since`) no later than the day of the line: a record with scope
    `team` would then be in the journal. Otherwise, the scope is `team`.
    """
    head, _, text = line.removeprefix("- [").partition("] ")
    kind, _, tail = head.partition(" ")
    day = tail[:10]  # after the date, ", noted otherwise since" may follow in `tail`
    statement, words = text, ""
    if text.startswith("“"):
        words, _, statement = text[1:].removesuffix("”").partition("” (noted as: ")
        statement = statement.removesuffix(")") or words
    elif text.endswith("”)") and " (“" in text:
        statement, _, words = text[:-2].rpartition(" (“")
    scope = "user" if kind == "preference" or (since and since <= day) else "team"
    record = {"id": id_, "type": models.record_type(kind), "what": statement, "scope": scope}
    record |= {"trust": "user", "source": MEMORY_MD, "created_at": f"{day}T00:00:00.000Z"}
    evidence = {models.QUOTATION: words} if words else {}
    return record | {"confidence": SHOWN_CONFIDENCE, "evidence": evidence}


def _in_journal(memory: Memory, author: str, max_bytes: int) -> Missing | None:
    """Return this folder's journal lines whose records memory lacks, or None. Lines without a valid
    signature must be by `author` (default: the user). If own.jsonl (the signatures) is missing and
    git tracks the journal, others may have written it: return None, unless `author` is given.
    """
    project = memory.project
    path, home = own_lines.journal_of(memory), memory.settings.home
    if project is None or not path:
        return None
    lacking = _lacking(memory, path, author, max_bytes)
    if not lacking:
        return None
    head = own_lines.header(home, project.local)
    is_here = head is not None and _is_here(memory, head)
    origin = ""
    if head is not None and is_here and not (head.waiting or author):
        lines = own_lines.proved(home, project.local, lacking)
        return Missing(path, tuple(lines), proved=True) if lines else None
    if head is not None and not is_here:
        if os.path.lexists(head.root):
            return None  # the folder is a copy: its original still exists and has all records
        known = registry_file.read_registry(home).keys.values()
        origin = head.project if head.project in known else ""
    elif not (head or author or own_lines.exists(project.local)) and location.is_tracked(project):
        return None
    stated, author = author, author or memory.settings.author
    mine = [line for line in lacking if line.get("author", "") == author]
    if not (mine or stated) and (location.is_on(memory) or location.is_tracked(project)):
        return None  # other users shared these records
    names = [str(line.get("author", "")) for line in lacking]
    by_author = Counter(name for name in names if name != author)
    return Missing(path, tuple(mine), author=author, others=dict(by_author), origin=origin)


def adopt(memory: Memory, found: Missing, by: Provenance, progress: Progress | None = None) -> int:
    """Restore the found records unchanged, as one undoable step; return how many were restored."""
    count = 0
    for number, line in enumerate(found.lines, start=1):
        record = records.from_object(line)._replace(status="active")
        sessions = [record.session] if record.session else []
        payload: dict[str, Any] = {"record": records.as_object(record), "seen_in": sessions}
        # `told` marks a record that is in the journal, so that it is not appended a second time.
        payload |= {"batch": f"journal {found.path}", "told": record.source != MEMORY_MD}
        store = "user" if record.scope == "user" else "project"
        count += bool(memory.write_now("put_record", payload, by, store=store).get("record"))
        if progress is not None:
            progress(number, len(found.lines))
    sign_all(memory, settled=True)
    return count


def sign_if_missing(memory: Memory) -> None:
    """Sign the journal's lines again if their signatures are missing or are for another folder."""
    if memory.project is not None and own_lines.journal_of(memory):
        head = own_lines.header(memory.settings.home, memory.project.local)
        if head is None or head._replace(waiting=False) != current_header(memory):
            sign_all(memory, max_bytes=MAX_AT_STOP_BYTES)


def sign_all(memory: Memory, *, settled: bool = False, max_bytes: int = MAX_BYTES) -> None:
    """Sign the journal lines of all records in memory. Set `settled` if the user has decided about
    the other lines; the user is then no longer asked about them.
    """
    project = memory.project
    if project is None or not own_lines.journal_of(memory):
        return
    folder, home = project.local, memory.settings.home
    head = None if settled else own_lines.header(home, folder)
    if head is not None and _is_here(memory, head):
        waiting = head.waiting
    else:
        waiting = not settled and missing(memory, "", max_bytes) is not None
    own, lines = _known(memory), _lines_of(location.shared_file(project), max_bytes)
    mine = [line for line in lines if line["id"] in own]
    own_lines.write(home, folder, current_header(memory)._replace(waiting=waiting), mine)


def is_signed(memory: Memory) -> bool:
    """Return True if own.jsonl is for this project and folder, or if there is no journal."""
    if memory.project is None or not own_lines.journal_of(memory):
        return True
    return own_lines.is_stated_for(memory.project.local, current_header(memory))


def current_header(memory: Memory) -> own_lines.Header:
    """Return the header that own.jsonl should have for this project and its folder."""
    assert memory.project is not None
    root = memory.project.root
    return own_lines.Header(memory.project.id, root, own_lines.inode_of(root))


def awaits_answer(memory: Memory) -> bool:
    """Return True if the user has not answered yet which journal lines are the user's own."""
    if memory.project is None or not own_lines.exists(memory.project.local):
        return False
    head = own_lines.header(memory.settings.home, memory.project.local)
    return head is None or head.waiting


def restore_card(memory: Memory) -> str:
    """Recreate project.json after the loss of the project's folder in home; return a notice."""
    assert memory.project is not None
    home, id_ = memory.settings.home, memory.project.id
    with registry_file.registry_lock(home):
        registry = registry_file.read_registry(home)
        registry_file.write_registry(home, registry, {id_: memory.project.name})
    return (
        f"{identity.folder_of(home, id_)}, where the memory of {memory.project.name} was kept, is "
        "gone: only what its journal or a backup of yours has can be restored."
    )


def notice_text(found: Missing) -> str:
    """Return a notice to the user that records are missing, and how to restore them."""
    if found.lines:
        span = " to ".join(dict.fromkeys(found.span))
        subject = f"{many(len(found.lines), 'record')} from {span}"
        subject += f" by {found.author}" if found.author and not found.proved else ""
        typed = "project adopt"
    else:
        names = " and ".join(name or "nobody named" for name in found.others)
        subject = f"{sum(found.others.values())} records by {names}"
        typed = f"project adopt {next(iter(found.others), '')}"
    head = f"{found.path} has {subject} that memory lacks"
    if found.proved:
        return f"{head}: memory-fabric repair restores them."
    typed = f"project link {found.origin}" if found.origin else typed
    command = f"/memory-fabric:{typed} (or run memory-fabric {typed} in a terminal)"
    if found.origin:
        return f"{head}, from a folder that is gone: if this is that folder, type {command}."
    return (
        f"{head} and their origin is not proved. If they are yours (a lost home), type {command} "
        "to restore them; until then they are not used."
    )


def _is_here(memory: Memory, head: own_lines.Header) -> bool:
    """Return True if a header has this folder's path and inode, and no other known project's id."""
    current = current_header(memory)
    others = {*registry_file.read_registry(memory.settings.home).keys.values()} - {current.project}
    return (head.root, head.inode) == (current.root, current.inode) and head.project not in others


def _lines_of(path: str, max_bytes: int) -> list[dict[str, Any]]:
    """Return the JSON objects with an id from the last `max_bytes` of a journal."""
    end = claims_read.read_end(path, max_bytes)
    lines = end[0].split(b"\n") if end else []
    fit = (line for line in lines if b'"id"' in line and len(line) <= MAX_LINE_BYTES)
    parsed = (files.parsed(line.decode("utf-8", "replace").strip("\ufeff\r")) for line in fit)
    return [line for line in parsed if line is not None and claims_read.is_id(line.get("id"))]


def _is_record(line: Mapping[str, Any]) -> bool:
    is_stated = not line.get("forgotten") and line.get("type") != "session"
    return is_stated and claims_read.is_of_a_team(line)


def _lacking(memory: Memory, path: str, author: str, max_bytes: int) -> list[Mapping[str, Any]]:
    """Return the last journal line of each record that memory lacks, newest first; [] if a database
    is unreadable. A record imported from others counts as lacking only if by `author` or the user.
    """
    last = {line["id"]: line for line in _lines_of(path, max_bytes)}
    own = _known(memory)
    if memory.unavailable:
        return []
    theirs = _known_by(memory, "SELECT id FROM records WHERE source = ?", OTHERS)
    mine = (author, memory.settings.author)
    new = {id_: line for id_, line in last.items() if id_ not in own and _is_record(line)}
    lacking = [line for id_, line in new.items() if id_ not in theirs or line.get("author") in mine]
    return sorted(lacking, key=lambda line: str(line.get("created_at", "")), reverse=True)


def _known(memory: Memory) -> set[str]:
    """Return the ids of this user's records, including those that the user has forgotten."""
    own = _known_by(memory, "SELECT id FROM records WHERE source <> ?", OTHERS)
    return own | _known_by(memory, "SELECT id FROM tombstones")


def _known_by(memory: Memory, query: str, *values: str) -> set[str]:
    return {id_ for database in memory.databases() for (id_,) in database.rows(query, values)}
