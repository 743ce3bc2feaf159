"""Durable queue of ingested texts: waiting, in progress, done, or dead after too many attempts. A
worker claims a text by a lease; once it expires, another may claim the text. Times are in seconds.
"""

import json
from collections.abc import Sequence
from datetime import datetime
from sqlite3 import Connection
from typing import Any, NamedTuple

from memory_fabric import ids
from memory_fabric.domain_config import domain_name
from memory_fabric.errors import BadInput, NotFound
from memory_fabric.ingest_protocol import LEFT_OUT, Ingest
from memory_fabric.models import Payload, Provenance
from memory_fabric.redaction.redact import without_secrets
from memory_fabric.store import write
from memory_fabric.store.base_memory import BaseMemory
from memory_fabric.store.database import Database
from memory_fabric.store.operations.ingest import DEAD, DONE, WAITING, WORKING
from memory_fabric.store.queries.conditions import marks
from memory_fabric.text import cut, one_line

STATES = (WAITING, WORKING, DEAD, DONE)
# The wait before the second attempt is 10 seconds, then 20, 40 … up to an hour.
FIRST_RETRY_S, MOST_RETRY_S = 10.0, 3600.0
MAX_ATTEMPTS = 6
MAX_ERROR_CHARS = 300
LOST = "its worker ended while at it"
PURGED = "its text was purged"
# Minimum length of an abbreviated id (short ids have eight): fewer would often be ambiguous.
MIN_ID_CHARS = 6


class Accepted(NamedTuple):
    """Outcome: the text (`length` characters) is stored as `id`, or was before (`repeated`)."""

    id: str
    length: int
    domain: str
    repeated: bool = False


class IdempotencyConflict(NamedTuple):
    """Outcome: nothing was stored, because another text, `id`, has the same idempotency key."""

    id: str


Outcome = Accepted | IdempotencyConflict


class QueuedText(NamedTuple):
    """A text in the queue and its state; `records` are ids of records made or confirmed by it."""

    id: str
    state: str
    domain: str
    length: int
    attempts: int
    error: str
    created_at: str
    ended_at: str
    records: tuple[str, ...] = ()


class Backlog(NamedTuple):
    """Counts of unfinished texts; `oldest_at` is when the oldest in WAITING or WORKING arrived."""

    waiting: int = 0
    working: int = 0
    dead: int = 0
    oldest_at: str = ""
    last_error: str = ""


class Claimed(NamedTuple):
    """A claimed text. It may have been written (`ingest.created_at`) before its `accepted_at`."""

    id: str
    ingest: Ingest
    attempts: int
    accepted_at: str
    progress: Payload = {}


def accept(memory: BaseMemory, ingests: Sequence[Ingest], by: Provenance) -> list[Outcome]:
    """Store texts durably, all or none; return the outcomes. Raises StoreUnavailable, BadInput."""
    operations = []
    for ingest in ingests:
        # The text, the queueing operation and all results share an id, so one undo reverts them.
        id_, key = ids.new_id(), ingest.idempotency_key
        cleaned = ingest._replace(
            domain=domain_name(without_secrets(ingest.domain)) or LEFT_OUT.domain,
            # Hash the key: redaction would take it for a secret, and all keys would become equal.
            idempotency_key=ids.id_for(f"idempotency {key}") if key else "",
        )
        session, agent = ingest.session_id or by.session, by.agent or ingest.source_model
        said_by = by._replace(session=session, agent=agent, domain=cleaned.domain)
        payload = {"id": id_, "ingest": cleaned._asdict(), "batch": id_}
        operations.append(memory.operation("ingest", payload, said_by)._replace(id=id_))
    outcomes: list[Outcome] = []
    for result in write.apply_all(memory.session_database(), operations):
        ingest, id_ = _of_object(result["ingest"]), str(result["id"])
        # The content of a processed text may be erased; then its length is in the result.
        length = len(ingest.session_summary) or int(result.get("length", 0))
        accepted = Accepted(id_, length, ingest.domain, bool(result.get("repeated")))
        outcomes.append(IdempotencyConflict(id_) if result.get("conflict") else accepted)
    return outcomes


def find(memory: BaseMemory, id_: str) -> QueuedText | None:
    """Return the text with this id and its state; None if the id is unknown."""
    return next(iter(_queued_texts(memory, "id = ?", (id_,), 1)), None)


def ingest_of(memory: BaseMemory, id_: str) -> Ingest | None:
    """Return the content of the text with this id; None if the id is unknown."""
    database = _database(memory)
    row = database.row("SELECT body FROM intake WHERE id = ?", (id_,)) if database else None
    return _ingest(row[0]) if row else None


def backlog(memory: BaseMemory) -> Backlog:
    """Count unfinished texts by state; also return the oldest's arrival and the newest error."""
    database = _database(memory)
    if database is None:
        return Backlog()
    open_ = "FROM intake WHERE state <> 'done'"
    counts = dict(database.rows(f"SELECT state, count(*) {open_} GROUP BY state"))
    waiting, working, dead = (int(counts.get(state, 0)) for state in (WAITING, WORKING, DEAD))
    oldest = f"SELECT min(created_at) {open_} AND state IN (?, ?)"
    [(oldest_at,)] = database.rows(oldest, (WAITING, WORKING))
    newest_error = f"{open_} AND error <> '' ORDER BY max(due_at, ended_at) DESC LIMIT 1"
    error = database.row(f"SELECT error {newest_error}") or ("",)
    return Backlog(waiting, working, dead, oldest_at or "", error[0])


def listed(memory: BaseMemory, states: Sequence[str], limit: int = 100) -> list[QueuedText]:
    """Return the texts that are in one of these states, the oldest first."""
    return _queued_texts(memory, f"state IN ({marks(states)})", tuple(states), limit)


def newest_done(memory: BaseMemory, limit: int) -> list[QueuedText]:
    """Return the texts that were processed last, the newest first."""
    return _queued_texts(memory, "state = 'done'", (), limit, "ended_at DESC, seq DESC")


def find_by_short_id(memory: BaseMemory, text: str) -> QueuedText:
    """Return the text whose id equals, starts or ends with `text`. Raises NotFound, BadInput."""
    part = text.strip().lower().replace("%", "").replace("_", "")
    like, is_id = "id LIKE ? OR id LIKE ?", len(part) >= MIN_ID_CHARS
    matches = _queued_texts(memory, like, (f"{part}%", f"%{part}"), 10) if is_id else []
    if not matches:
        problem = f"No text in the queue has the id {text!r}."
        raise NotFound(text, problem, remedy="memory-fabric queue lists.")
    if len(matches) > 1:
        several = ", ".join(text.id for text in matches)
        problem = f"{text!r} matches several texts: {several}."
        raise BadInput("id", problem, remedy="Type more of the id.")
    return matches[0]


def claim(memory: BaseMemory, worker: str, now: float, lease_s: float) -> Claimed | None:
    """Claim the next due text. A text whose lease has expired too often is marked as dead."""
    database = _database(memory)
    at = ids.timestamp(now)
    while database is not None and _due(database.connection, at):
        with database.transaction(durable=False) as c:
            due = _due(c, at)
            if due is None:
                return None
            seq, attempts = due
            if attempts >= MAX_ATTEMPTS:
                _mark_dead(c, "seq = ?", (seq,), LOST, at)
                continue
            lease = "state = ?, worker = ?, attempts = attempts + 1, leased_until = ?"
            values = (WORKING, worker, ids.timestamp(now + lease_s), seq)
            c.execute(f"UPDATE intake SET {lease} WHERE seq = ?", values)
            claimed = "SELECT id, body, result, created_at FROM intake WHERE seq = ?"
            id_, body, progress, accepted_at = c.execute(claimed, (seq,)).fetchone()
            state = json.loads(progress) if progress else {}
            return Claimed(id_, _ingest(body), attempts + 1, accepted_at, state)
    return None


def save_progress(
    memory: BaseMemory, id_: str, worker: str, progress: Payload, until_s: float
) -> bool:
    """Save progress and extend the lease; return False if another worker has the lease."""
    values = (_json(progress), ids.timestamp(until_s), id_, worker)
    return _changed(memory, "result = ?, leased_until = ?", values)


def finish(memory: BaseMemory, id_: str, worker: str, result: Payload) -> bool:
    """Mark the text as done and save the result. Return False if another worker has the lease."""
    database, lease = memory.session_database(), (id_, worker)
    row = database.row(f"SELECT body FROM intake WHERE {_OWN_LEASE}", lease)
    if row is None:
        return False
    ingest = _ingest(row[0])
    outcome = {"length": len(ingest.session_summary), "domain": ingest.domain, **result}
    # The provenance has no session: a worker made this result, not the session that sent the text.
    by = Provenance("ingest", trust="tool", agent=ingest.source_model, domain=ingest.domain)
    operation = memory.operation("ingested", {"id": id_, "outcome": outcome}, by)
    with database.transaction() as c:
        if c.execute(f"SELECT 1 FROM intake WHERE {_OWN_LEASE}", lease).fetchone() is None:
            return False
        write.apply_within(c, operation)
    return True


def fail(memory: BaseMemory, id_: str, worker: str, error: str, now: float) -> bool:
    """Schedule another attempt or mark the text as dead; False if another worker has the lease."""
    text, lease = _public_error(memory, error), (id_, worker)
    with memory.session_database().transaction(durable=False) as c:
        row = c.execute(f"SELECT attempts FROM intake WHERE {_OWN_LEASE}", lease).fetchone()
        if row is None:
            return False
        if row[0] >= MAX_ATTEMPTS:
            _mark_dead(c, _OWN_LEASE, lease, text, ids.timestamp(now))
        else:
            due_at = ids.timestamp(now + retry_s(row[0]))
            again = f"UPDATE intake SET {_WAIT_AGAIN} WHERE {_OWN_LEASE}"
            c.execute(again, (WAITING, due_at, text, *lease))
    return True


def give_back(memory: BaseMemory, id_: str, worker: str, error: str, now: float) -> bool:
    """Requeue the text without counting this attempt; False if another worker has the lease."""
    due_at = ids.timestamp(now + FIRST_RETRY_S)
    values = (WAITING, due_at, _public_error(memory, error), id_, worker)
    return _changed(memory, f"{_WAIT_AGAIN}, attempts = max(0, attempts - 1)", values)


def retry_s(attempts: int) -> float:
    """Return the seconds to wait before the next attempt, after this number of failures."""
    return min(MOST_RETRY_S, FIRST_RETRY_S * 2.0 ** min(30, max(0, attempts - 1)))


def next_due_s(memory: BaseMemory, now: float) -> float | None:
    """Return the seconds until a text is due or a lease expires; None if there is neither."""
    database = _database(memory)
    next_at = "SELECT min(CASE state WHEN ?1 THEN due_at ELSE leased_until END) FROM intake"
    where = "WHERE state <> 'done' AND state IN (?1, ?2)"
    row = database and database.row(f"{next_at} {where}", (WAITING, WORKING))
    if not row or row[0] is None:
        return None
    is_due = row[0] <= ids.timestamp(now)
    return 0.0 if is_due else datetime.fromisoformat(row[0]).timestamp() - now


def retry(memory: BaseMemory, chosen: Sequence[str], now: float) -> int:
    """Make the chosen texts due now if they are waiting or dead; return their count."""
    if (database := _database(memory)) is None:
        return 0
    update = (
        "UPDATE intake SET state = ?1, attempts = 0, worker = '', leased_until = '', "
        "due_at = ?2, ended_at = '' WHERE id IN (SELECT value FROM json_each(?3)) "
        "AND state IN (?1, ?4)"
    )
    with database.transaction() as c:
        values = (WAITING, ids.timestamp(now), _json(list(chosen)), DEAD)
        return c.execute(update, values).rowcount


def drop(memory: BaseMemory, chosen: Sequence[str], by: Provenance) -> int:
    """Delete texts from the queue, but keep the records made from them; return the count."""
    if not chosen or _database(memory) is None:
        return 0
    result = memory.write_now("drop_ingests", {"ids": list(chosen)}, by, store="project")
    return int(result["dropped"])


def expire(c: Connection, before: str) -> int:
    """Erase contents of texts done before a time, also in logged operations; return their count."""
    is_old = "state = ? AND ended_at < ? AND json_extract(body, '$.session_summary') <> ''"
    select = f"SELECT seq, id, body FROM intake WHERE {is_old}"
    old = c.execute(select, (DONE, before)).fetchall()
    # A copied text (`project link`) is logged under an id of its own, so look into the payloads.
    logged = (
        "UPDATE operations SET payload = json_set(payload, '$.ingest.session_summary', '', "
        "'$.ingest.key_decisions', json('[]')) WHERE kind = 'ingest' "
        "AND json_extract(payload, '$.id') IN (SELECT value FROM json_each(?))"
    )
    for seq, _, body in old:
        remaining = _ingest(body)._replace(session_summary="", key_decisions=())._asdict()
        c.execute("UPDATE intake SET body = ? WHERE seq = ?", (_json(remaining), seq))
    if old:
        c.execute(logged, (_json([id_ for _, id_, _ in old]),))
    return len(old)


_OWN_LEASE = "id = ? AND worker = ? AND state = 'working'"
_WAIT_AGAIN = "state = ?, worker = '', leased_until = '', due_at = ?, error = ?"


def _database(memory: BaseMemory) -> Database | None:
    return memory.database("project", create=False)


def _changed(memory: BaseMemory, change: str, values: tuple[Any, ...]) -> bool:
    with memory.session_database().transaction(durable=False) as c:
        return c.execute(f"UPDATE intake SET {change} WHERE {_OWN_LEASE}", values).rowcount > 0


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _public_error(memory: BaseMemory, error: str) -> str:
    """Return the error without secrets and local paths, because any client may ask for it."""
    for place in (memory.settings.home, memory.settings.project_dir, memory.settings.user_home):
        error = error.replace(place, "…") if len(place) > 1 else error
    return cut(one_line(without_secrets(error)), MAX_ERROR_CHARS)


def _due(c: Connection, at: str) -> tuple[int, int] | None:
    of_state = "SELECT seq, attempts FROM intake WHERE state <> 'done' AND state = ? AND"
    expired = f"{of_state} leased_until <= ? ORDER BY seq LIMIT 1"
    due = f"{of_state} due_at <= ? ORDER BY due_at, seq LIMIT 1"
    row: tuple[int, int] | None = c.execute(expired, (WORKING, at)).fetchone()
    return row or c.execute(due, (WAITING, at)).fetchone()


def _mark_dead(c: Connection, where: str, values: tuple[Any, ...], error: str, at: str) -> None:
    ended = "state = ?, worker = '', leased_until = '', ended_at = ?"
    update = f"UPDATE intake SET {ended}, error = coalesce(nullif(?, ''), error) WHERE {where}"
    c.execute(update, (DEAD, at, error, *values))


def _queued_texts(
    memory: BaseMemory, where: str, values: tuple[Any, ...], limit: int, order: str = "seq"
) -> list[QueuedText]:
    database = _database(memory)
    if database is None:
        return []
    texts = []
    columns = "id, state, attempts, error, created_at, ended_at, body, result"
    query = f"SELECT {columns} FROM intake WHERE {where} ORDER BY {order} LIMIT ?"
    for id_, state, *rest, body, result in database.rows(query, (*values, limit)):
        ingest, outcome = _ingest(body), json.loads(result) if result else {}
        length = len(ingest.session_summary) or int(outcome.get("length", 0))
        records = tuple(map(str, outcome.get("records", ())))
        texts.append(QueuedText._make((id_, state, ingest.domain, length, *rest, records)))
    return texts


def _ingest(body: str) -> Ingest:
    return _of_object(json.loads(body))


def _of_object(value: Payload) -> Ingest:
    given = ((name, value.get(name), type(part)) for name, part in LEFT_OUT._asdict().items())
    fields = {name: part for name, part, kind in given if isinstance(part, kind)}
    decisions, confidence = value.get("key_decisions"), value.get("confidence")
    if isinstance(decisions, list | tuple):
        fields["key_decisions"] = tuple(map(str, decisions))
    if isinstance(confidence, int | float):
        fields["confidence"] = float(confidence)
    return LEFT_OUT._replace(**fields)
