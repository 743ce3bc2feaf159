"""The journals decisions.jsonl (project folder) and operations.jsonl (home), and the write queue.

Each line is a JSON object with an id, so reading a line twice changes nothing. The queue has one
file per operation. A file is created under a temporary name and then renamed, which needs no lock.
"""

import json
import os
import time
from collections.abc import Callable, Sequence
from sqlite3 import Connection
from typing import Any

from memory_fabric import deadline, models
from memory_fabric.errors import BadInput, NotFound
from memory_fabric.models import OTHERS, QUOTATION, Json, Operation, Payload, Record
from memory_fabric.store import files, records, write
from memory_fabric.store.database import Database
from memory_fabric.store.home import signing
from memory_fabric.store.operations import kinds
from memory_fabric.store.operations.kind import former_records, parts_of

# A function that receives the lines appended to decisions.jsonl.
Note = Callable[[list[Json]], object] | None
DECISIONS = "decisions.jsonl"
# Keys of a record's evidence whose values are quotations from a session.
WORDS = frozenset((QUOTATION, models.AGREED, models.PROMPT, models.BEFORE))
# Parts of the name of a queued operation's file: `graph-queue.<order>-<id>.jsonl`.
WAITING, _ENDING, _ORDER = "graph-queue.", ".jsonl", frozenset("0123456789abcdef-")
# Earlier releases wrote one queue file with many lines, and renamed the file to apply it.
QUEUE, CLAIMED = "graph-queue.jsonl", "graph-queue.claimed.jsonl"
DRAIN_LOCK = CLAIMED + ".lock"
BAD = "graph-queue.bad.jsonl"
# The new name of a queue file that this home did not write, or that is too large.
REFUSED = "graph-queue.refused.jsonl"
# Size limits of a queue and of one operation. Beyond them, another folder's queue is tried.
MAX_QUEUE_BYTES, MAX_LINE_BYTES = files.MAX_LINES_BYTES, files.MAX_LINE_BYTES
# A queue file above this size is read only if one of its first lines has this home's signature.
MAX_UNSIGNED_BYTES, MAX_HEAD_LINES = 256 << 10, 1000
OPERATIONS = "operations.jsonl"
BATCH = 500
# The size limit of a journal in home, which grows by 130 MB per million observations.
MAX_JOURNAL_BYTES = 4 << 30
# SQL condition for the records in a journal. It excludes session records, which are private
# (decision 0043), and instructions, which have their own file.
_JOURNALLED = (
    "status = 'active' AND scope <> 'local' AND type <> 'session' AND source <> ? "
    "AND json_extract(body, '$.evidence.instructions') IS NULL"
)
_OPERATIONS = "SELECT seq, id, kind, payload, provenance, inverse FROM operations"
MARKERS = frozenset((b"<<<<<<<", b"|||||||", b"=======", b">>>>>>>"))


def prepare_folder(folder: str) -> None:
    """Create the folder if it is missing, with a `.gitignore` that hides its content from git."""
    client_folder = os.path.dirname(folder)
    if os.path.basename(client_folder) == ".claude":
        # `.claude` belongs to the client, so create it with a mode that lets other users read it.
        files.make_folder(client_folder, 0o755)
    files.make_folder(folder)
    ignore = os.path.join(folder, ".gitignore")
    if not os.path.lexists(ignore):
        files.write_atomic(ignore, b"*\n")


def enqueue(folder: str, operation: Operation, key: bytes) -> None:
    """Sign an operation and queue it durably, without a lock. Raises OSError, TooLarge."""
    prepare_folder(folder)
    line = write.as_object(operation)
    line |= {"signature": signing.signature(line, key)}
    data = files.json_line(line).encode("utf-8", "replace")
    if len(data) > MAX_LINE_BYTES:
        raise files.TooLarge(f"{operation.kind} for {folder}", MAX_LINE_BYTES)
    waiting = waiting_files(folder)
    if len(data) + sum(map(files.size_of, waiting)) > MAX_QUEUE_BYTES:
        raise files.TooLarge(f"The queue in {folder}", MAX_QUEUE_BYTES)
    # The new file must sort after all waiting ones, even if the clock was set back or stands still.
    last = os.path.basename(waiting[-1])[len(WAITING) :].partition("-")[0] if waiting else ""
    order = max(time.time_ns(), int(last, 16) + 1 if _ORDER.issuperset(last) and last else 0)
    name = f"{WAITING}{order:016x}-{operation.id[-12:]}{_ENDING}"
    files.write_atomic(os.path.join(folder, name), data)
    files.sync_folder(folder)


def queued(folder: str) -> tuple[list[dict[str, Any]], list[int]]:
    """Return queued operations, oldest first, and the numbers of invalid lines in their files."""
    read_files = [files.read_lines(path) for path in waiting_files(folder)]
    waiting = [line for lines, _ in read_files for line in lines]
    return waiting, [number for _, numbers in read_files for number in numbers]


def waiting_files(folder: str) -> list[str]:
    """Return the queue's files in the order in which they are to be applied."""
    ours = filter(is_waiting_name, files.names_in(folder))
    paths = (os.path.join(folder, name) for name in (CLAIMED, QUEUE, *ours))
    return [path for path in paths if files.is_own_file(path)]


def is_waiting_name(name: str) -> bool:
    """Return True if a file with this name contains a single queued operation."""
    order = name[len(WAITING) : -len(_ENDING)]
    is_ordered = "-" in order and _ORDER.issuperset(order)
    return is_ordered and name.startswith(WAITING) and name.endswith(_ENDING)


def is_ours(name: str) -> bool:
    """Return True if a file has the name of a journal or queue, which contain JSON lines."""
    return name in (OPERATIONS, DECISIONS, QUEUE, CLAIMED, BAD) or is_waiting_name(name)


def drain(folder: str, key: bytes, apply: Callable[[Operation], object]) -> int:
    """Apply the queued operations and return their count. An operation leaves the queue only after
    its commit. Only lines with this home's signature are applied, because a repository may contain
    a queue by anyone. Other lines, and operations that fail with NotFound or BadInput, are moved to
    `graph-queue.bad.jsonl`. A large file without a signed line is moved as a whole. Other errors
    propagate, and the remaining operations stay queued. Do nothing while another process drains.
    """
    applied = 0
    try:
        if waiting_files(folder):
            with files.Locked(os.path.join(folder, DRAIN_LOCK), timeout_s=0):
                for path in waiting_files(folder):
                    if os.path.basename(path) == QUEUE:
                        # Rename the queue: a process of an earlier release may still append to it.
                        path, queue = os.path.join(folder, CLAIMED), path
                        with files.Locked(queue + ".lock"):
                            os.replace(queue, path)
                    applied += _apply_file(path, key, apply)
    except TimeoutError:
        return applied
    return applied


def has_unexported(db: Database) -> bool:
    """Return True if an operation of the database is not in the journal yet."""
    return db.row("SELECT 1 FROM operations WHERE journaled = 0 LIMIT 1") is not None


def export(
    db: Database, journal_path: str, folder: str, on_decisions: Note = None, *, words: bool = True
) -> int:
    """Append to operations.jsonl (`journal_path`) the operations that it lacks, and return their
    count. Append the current state of each changed record to decisions.jsonl in `folder`, and pass
    these lines to `on_decisions`. Without `words`, leave out quotations, because git shares
    decisions.jsonl. A crash may write lines twice, but readers use only the last line of each id.
    """
    total = 0
    unexported = f"{_OPERATIONS} WHERE journaled = 0 ORDER BY seq LIMIT ?"
    while not (db.newer or db.read_only) and has_unexported(db):
        with db.transaction() as c:
            rows = c.execute(unexported, (BATCH,)).fetchall()
            lines = [_line(db.kind, row) for row in rows]
            files.append_lines(journal_path, lines)
            # Readers use only the last line of each id, so one line per record is enough.
            pairs = zip(rows, lines, strict=True)
            by_id = {d["id"]: d for row, line in pairs for d in _decisions(c, row, line)}
            if by_id:
                decisions = [d if words else without_words(d) for d in by_id.values()]
                prepare_folder(folder)
                files.append_lines(os.path.join(folder, DECISIONS), decisions)
                if on_decisions is not None:
                    on_decisions(decisions)
            exported = [(row[0],) for row in rows]
            c.executemany("UPDATE operations SET journaled = 1 WHERE seq = ?", exported)
        total += len(rows)
    return total


def rescue(db: Database, operations_path: str) -> None:
    """Append missing operations to the journal, from `db`, which is open but whose file is gone."""
    rows = db.rows(f"{_OPERATIONS} WHERE journaled = 0 ORDER BY seq")
    files.append_lines(operations_path, [_line(db.kind, row) for row in rows])


def without_words(line: Payload) -> Json:
    """Return a record's line without quotations, except a user's quotation released for sharing."""
    evidence = line.get("evidence")
    if not isinstance(evidence, dict) or WORDS.isdisjoint(evidence):
        return dict(line)
    is_released = evidence.get(models.RELEASED) or evidence.get(models.FOR_TEAM)
    withheld = WORDS - {QUOTATION} if is_released else WORDS
    return {**line, "evidence": {k: v for k, v in evidence.items() if k not in withheld}}


def restore(
    db: Database, operations_path: str, folder: str, journals: Sequence[str], *, words: bool = True
) -> int:
    """Append records that none of the `journals` contains to decisions.jsonl in `folder`, with
    quotations only if `words`. If operations.jsonl is lost, write it again. Return the count of all
    lines written. Raises OSError, StoreUnavailable.
    """
    missing = [r for id_ in missing_records(db, journals) for r in _own_records(db.connection, id_)]
    if missing:
        prepare_folder(folder)
        lines = [records.as_object(record) for record in missing]
        path = os.path.join(folder, DECISIONS)
        files.append_lines(path, lines if words else map(without_words, lines))
    is_lost = not files.size_of(operations_path)
    operations = db.rows(f"{_OPERATIONS} WHERE journaled = 1 ORDER BY seq") if is_lost else []
    files.append_lines(operations_path, [_line(db.kind, row) for row in operations])
    return len(missing) + len(operations)


def missing_records(db: Database, journals: Sequence[str]) -> list[str]:
    """Return the ids of records that are in no journal. Raises OSError, StoreUnavailable."""
    if has_unexported(db):
        return []  # the next export will write the new records
    active = db.rows(f"SELECT id FROM records WHERE {_JOURNALLED} ORDER BY created_at", (OTHERS,))
    journalled = {line.get("id") for path in journals for line in files.read_lines(path)[0]}
    return [row[0] for row in active if row[0] not in journalled]


def conflict_markers(path: str, max_bytes: int = files.MAX_LINES_BYTES) -> list[int]:
    """Return the numbers (from 1) of lines that are git's conflict markers. Raises OSError."""
    lines = enumerate(files.lines_in(path, max_bytes), start=1)
    return [number for number, line in lines if line[:7] in MARKERS]


def _line(store: str, row: tuple[Any, ...]) -> Json:
    _, id_, kind, payload, provenance, _ = row
    stated = {"payload": json.loads(payload), "provenance": json.loads(provenance)}
    return {"id": id_, "kind": kind, "store": store} | stated


def _decisions(c: Connection, row: tuple[Any, ...], line: Payload) -> list[dict[str, Any]]:
    """Return an operation's lines for decisions.jsonl: whole records, or ids marked `forgotten`."""
    steps = line["payload"]["steps"] if line["kind"] == "undo" else [line]
    inverse = kinds.read_inverse(line["kind"], line["payload"], row[-1])
    at = line["provenance"].get("at", "")
    put = former_records(inverse)
    # Records of other users are in those users' own journals.
    of_others = {record["id"] for record in put if record.get("source") == OTHERS}
    own_active = {r["id"] for r in put if r.get("status") == "active"} - of_others
    lines: list[dict[str, Any]] = []
    for step in steps:
        if step["kind"] == "forget":
            ids = [id_ for id_ in step["payload"]["ids"] if id_ not in of_others]
            lines += [{"id": id_, "forgotten": True, "at": at} for id_ in ids]
        elif step["payload"].get("told"):
            continue  # the record was read from this journal
        elif step["kind"] in ("remember", "put_record"):
            # A repetition changes an earlier record, named only in the inverse: write that, too.
            own = step["payload"]["record"].get("id", "")
            before = [record["id"] for record in put] if step is line else []
            for id_ in dict.fromkeys([*before, own]):
                lines += map(records.as_object, _own_records(c, id_))
            # Journals contain no candidates, so mark a record that became a candidate as forgotten.
            if step["payload"]["record"].get("status") == "candidate" and own in own_active:
                lines.append({"id": own, "forgotten": True, "at": at})
    # Also write the current state of records that were superseded, or are current again.
    for link in parts_of(inverse, "supersede", "links"):
        lines += map(records.as_object, _own_records(c, link["id"]))
    return lines


def _own_records(c: Connection, id_: str) -> list[Record]:
    return [record for record, _ in records.find(c, f"{_JOURNALLED} AND id = ?", (OTHERS, id_))]


def _apply_file(path: str, key: bytes, apply: Callable[[Operation], object]) -> int:
    if files.is_own_file(path) and _is_foreign(path, key):
        aside = os.path.join(os.path.dirname(path), REFUSED)
        if os.path.lexists(aside) and not files.is_own_file(aside):
            raise files.NotRegular(aside)
        os.replace(path, aside)
        why = f"was not written by this home and was set aside as {REFUSED}"
        files.note_refused(files.Refused(path, why))
    if not files.is_own_file(path):
        return 0
    done_count, applied, current = 0, 0, b""
    waiting = iter([*files.lines_in(path, MAX_QUEUE_BYTES, MAX_LINE_BYTES)])  # all, or OSError
    refused: list[dict[str, Any]] = []
    try:
        for raw in waiting:
            current = raw  # stays in the queue if an error interrupts its application
            deadline.current().check("all that waits")
            line = _text_of(raw)
            value = files.parsed(line) or {}
            operation = write.from_object(value) if signing.is_ours(value, key) else None
            try:
                if operation is not None:
                    apply(operation)
                    applied += 1
            except (NotFound, BadInput):
                operation = None
            if line and operation is None:  # unsigned, invalid or inapplicable
                refused.append({"line": line})
            done_count, current = done_count + 1, b""
    finally:
        # Write all rejected lines at once, because a queue committed by a stranger may have many.
        files.append_lines(os.path.join(os.path.dirname(path), BAD), refused)
        unapplied = [line for line in (current, *waiting) if line.strip()]
        if unapplied and done_count:
            files.write_atomic(path, b"\n".join(unapplied) + b"\n")
        elif not unapplied and os.path.exists(path):
            os.unlink(path)
    return applied


def _is_foreign(path: str, key: bytes) -> bool:
    size = files.size_of(path)
    if size <= MAX_UNSIGNED_BYTES or size > MAX_QUEUE_BYTES:
        return size > MAX_QUEUE_BYTES
    read_bytes = 0
    for number, line in enumerate(files.lines_in(path, MAX_QUEUE_BYTES, MAX_LINE_BYTES)):
        if number == MAX_HEAD_LINES or read_bytes > MAX_LINE_BYTES:
            break
        read_bytes += len(line)
        if b'"signature"' in line and signing.is_ours(files.parsed(_text_of(line)) or {}, key):
            return False
    return True


def _text_of(line: bytes) -> str:
    return line.decode("utf-8", "replace").removeprefix("\ufeff").strip()
