"""Data of sessions: times, memories shown, subagents' tasks, notes (`block`), compaction state."""

import json
import os
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from memory_fabric.store import files
from memory_fabric.store.database import Database
from memory_fabric.store.queries.conditions import chunks, marks

# After this many prompts, a memory may be injected again, because it may be far up in the context.
FORGET_INJECTION_AFTER_PROMPTS = 50
# A task whose subagent has not started is deleted after this many newer tasks.
OPEN_TASKS_KEPT = 50
# The entry for an agent without an id, in a task's list of agents that may have this task.
NAMELESS = "?"
# Keys of a session's notes: the assistant's scheduled prompts; whether it last asked a question.
SCHEDULED, ASKS = "scheduled", "asks"
# A part of an injected text: (its memory's ledger id or '', kind, characters). See `worth.Item`.
Told = tuple[str, str, int]
CHANNELS = ("session", "prompt", "subagent", "compact", "pull", "held", "asked", "fix")
# Prefix of ledger entries (table `injections`) for records that a session's notes replaced or
# dropped. An entry with the channel "session" shows that another session was told of this.
CLOSED = "closed:"
# The key in a session's notes for feedback to its assistant, a list of [key, heading, text, shown]
# with 0 or 1 for `shown`, and the maximum length of this list.
FEEDBACK, MAX_FEEDBACK = "feedback", 80
_PROMPTS = "coalesce((SELECT prompts FROM sessions WHERE id = ?1), 0)"


def touch(db: Database, session: str, now: str, transcript: str = "") -> bool:
    """Create or update the session's row; return True if it is new."""
    with db.transaction(durable=False) as c:
        return _touch(c, session, now, transcript)


def read_to(db: Database) -> dict[str, int]:
    """Map sessions to the byte offset read in the transcript; -1 while `learn` has not finished."""
    run = "SELECT 1 FROM meta WHERE key = 'learning ' || s.id"
    offset = f"CASE WHEN EXISTS ({run}) THEN -1 ELSE offset END"
    return dict(db.rows(f"SELECT id, {offset} FROM sessions AS s"))


def end_of(path: str) -> int:
    """Return where a transcript's last 2 MB begin, which are read again for tasks and prompts."""
    return max(0, files.size_of(path) - (2 << 20))


def unfinished(db: Database, session: str, unseen_since: str, limit: int) -> list[tuple[str, ...]]:
    """Return sessions other than `session` that have not ended and were last seen before
    `unseen_since`, newest first, each as (id, transcript path, time when it was last seen).
    """
    is_open = "ended_at = '' AND transcript <> '' AND id <> ? AND seen_at < ?"
    query = f"SELECT id, transcript, seen_at FROM sessions WHERE {is_open} ORDER BY seen_at DESC"
    return db.rows(f"{query} LIMIT ?", (session, unseen_since, limit))


def worked_since(db: Database, since: str, session: str, most: int) -> int:
    """Count other sessions, up to `most`, that were active after `since` and have changed files."""
    changed = "json_valid(block) AND json_extract(block, '$.files[0]') IS NOT NULL"
    worked = f"SELECT 1 FROM sessions WHERE seen_at > ? AND id <> ? AND {changed} LIMIT ?"
    return len(db.rows(worked, (since, session, most)))


def field(db: Database, session: str, name: str) -> Any:
    """Return a column of the session's row; None if the session is unknown."""
    row = db.row(f"SELECT {name} FROM sessions WHERE id = ?", (session,))
    return row[0] if row else None


def set_fields(db: Database, session: str, **fields: Any) -> None:
    """Set columns of the session's row, if the row exists."""
    names = ", ".join(f"{name} = ?" for name in fields)
    with db.transaction(durable=False) as c:
        c.execute(f"UPDATE sessions SET {names} WHERE id = ?", (*fields.values(), session))


def place_of(db: Database, session: str) -> tuple[str, str]:
    """Return (transcript path, time when the memory block was shown), each '' if unknown."""
    return db.row("SELECT transcript, loaded_at FROM sessions WHERE id = ?", (session,)) or ("", "")


def state_of(db: Database, session: str, min_chars: int) -> tuple[str, bool, str, int, bool] | None:
    """Return a tuple of the session's start, whether its memory block was shown, the time of its
    last compaction or '', its number of prompts, and whether a prompt has at least `min_chars`
    characters. Return None if the session is unknown.
    """
    compacted = "iif(json_valid(checkpoint), coalesce(json_extract(checkpoint, '$.at'), ''), '')"
    is_long = "EXISTS (SELECT 1 FROM prompts WHERE session = ?1 AND length(text) >= ?2)"
    columns = f"started_at, loaded_at <> '', {compacted}, prompts, {is_long}"
    row = db.row(f"SELECT {columns} FROM sessions WHERE id = ?1", (session, min_chars))
    return (str(row[0]), bool(row[1]), str(row[2]), int(row[3]), bool(row[4])) if row else None


def injected_of(db: Database, session: str, agent: str, names: Sequence[str]) -> frozenset[str]:
    """Return which memory ids of `names` were ever shown to this agent ('' is the main agent)."""
    condition = f"session = ? AND agent = ? AND memory IN ({marks(names)})"
    rows = db.rows(f"SELECT memory FROM injections WHERE {condition}", (session, agent, *names))
    return frozenset(row[0] for row in rows)


def injected(db: Database, session: str, agent: str = "") -> frozenset[str]:
    """Return ids of memories presumably still in this agent's context ('' is the main agent)."""
    joined = "injections AS i LEFT JOIN sessions AS s ON s.id = i.session"
    where = "i.session = ? AND i.agent = ? AND i.prompt > coalesce(s.prompts, 0) - ?"
    values = (session, agent, FORGET_INJECTION_AFTER_PROMPTS)
    rows = db.rows(f"SELECT i.memory FROM {joined} WHERE {where}", values)
    return frozenset(row[0] for row in rows)


def record_injections(
    db: Database,
    session: str,
    agent: str,
    memories: Iterable[str],
    channel: str,
    now: str,
    *,
    transcript: str = "",
    loaded: bool = False,
    anew: bool = False,
    told: Iterable[Told] = (),
) -> None:
    """Record which memories a written output brought into an agent's context; add the session if
    new. `told` lists the output's parts. If `loaded`, the output had the session's memory block. If
    `anew`, delete earlier injections, because a compaction may have removed them. For the channel
    "prompt", add 1 to the session's prompts, and delete open tasks, whose agents never started.
    """
    with db.transaction(durable=False) as c:
        _touch(c, session, now, transcript)
        if loaded:
            c.execute("UPDATE sessions SET loaded_at = ? WHERE id = ?", (now, session))
        if anew:
            earlier = "DELETE FROM injections WHERE session = ? AND agent = ? AND memory NOT GLOB ?"
            c.execute(earlier, (session, agent, f"{CLOSED}*"))
        if channel == "prompt":
            c.execute("UPDATE sessions SET prompts = prompts + 1 WHERE id = ?", (session,))
            c.execute("DELETE FROM tasks WHERE session = ?", (session,))
        given = f"INSERT OR REPLACE INTO injections VALUES (?1, ?2, ?3, {_PROMPTS}, ?4, ?5)"
        c.executemany(given, [(session, agent, memory, channel, now) for memory in memories])
        _add_told(c, session, agent, channel, now, told)


def record_told(db: Database, session: str, channel: str, now: str, told: Iterable[Told]) -> None:
    """Save the parts (`worth.Item`) of a shown text, but do not record its memories as injected."""
    with db.transaction(durable=False) as c:
        _add_told(c, session, "", channel, now, told)


def note_closed(db: Database, session: str, records: Iterable[str], now: str) -> None:
    """Record that a session's notes replaced or dropped these records, to tell other sessions."""
    with db.transaction(durable=False) as c:
        ended = "INSERT OR REPLACE INTO injections VALUES (?, '', ?, 0, 'pull', ?)"
        c.executemany(ended, [(session, CLOSED + id_, now) for id_ in records])


def closed_elsewhere(db: Database, session: str) -> list[tuple[str, str]]:
    """Return (id, time) of records closed in other sessions and not told since, newest first."""
    return db.rows(
        f"SELECT substr(memory, {len(CLOSED) + 1}), max(iif(channel = 'session' OR session = ?, "
        f"'', created_at)) AS at FROM injections WHERE memory GLOB '{CLOSED}*' GROUP BY memory "
        "HAVING at > max(iif(channel = 'session', created_at, '')) ORDER BY at DESC",
        (session,),
    )


def add_feedback(db: Database, session: str, parts: Iterable[Sequence[str]]) -> set[str]:
    """Add parts of feedback (key, heading, text) whose keys are new; return the new keys."""
    with db.transaction(durable=False) as c:
        before = load_notes(db, session).get(FEEDBACK, [])
        keys = {part[0] for part in before}
        if new := {part[0]: [*part, 0] for part in parts if part[0] not in keys}:
            _save_feedback(c, session, [*before, *new.values()])
    return set(new)


def feedback(db: Database, session: str) -> list[list[Any]]:
    """Return the feedback that the session's assistant has not seen yet, usually an empty list."""
    untold = (
        f"CASE WHEN instr(block, '\"{FEEDBACK}\"') AND json_valid(block) THEN "
        f"(SELECT json_group_array(json(value)) FROM json_each(block, '$.{FEEDBACK}') "
        "WHERE json_extract(value, '$[3]') = 0) END"
    )
    parts: list[list[Any]] = json.loads(field(db, session, untold) or "[]")
    return parts


def mark_told(db: Database, session: str, told: Iterable[Sequence[Any]]) -> None:
    """Record that the session's assistant was shown these parts of the feedback."""
    keys = {part[0] for part in told}
    with db.transaction(durable=False) as c:
        parts = load_notes(db, session).get(FEEDBACK, [])
        _save_feedback(c, session, [[*p[:3], int(p[3] or p[0] in keys)] for p in parts])


def _save_feedback(c: sqlite3.Connection, session: str, parts: Sequence[Any]) -> None:
    block = "CASE WHEN json_valid(block) THEN block ELSE '{}' END"
    update = f"UPDATE sessions SET block = json_set({block}, '$.{FEEDBACK}', json(?)) WHERE id = ?"
    c.execute(update, (json.dumps(parts[-MAX_FEEDBACK:], ensure_ascii=False), session))


def known_turns(
    db: Database, turns: Iterable[tuple[str, str, str]]
) -> tuple[dict[str, str], dict[tuple[str, str], list[tuple[str, str]]]]:
    """Return two maps of stored turns: {uuid: session} and {(role, time): [(session, text), ...]}.
    The second map also finds copies of a turn that have another uuid.
    """
    by_uuid: dict[str, str] = {}
    by_time: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for some in chunks(turns, 400):
        uuids, times = [uuid for uuid, _, _ in some], sorted({at for _, _, at in some})
        of_uuids = f"SELECT uuid, session FROM episodes WHERE uuid IN ({marks(uuids)})"
        by_uuid |= dict(db.rows(of_uuids, uuids))
        of_times = f"created_at <> '' AND created_at IN ({marks(times)})"
        query = f"SELECT created_at, role, session, text FROM episodes WHERE {of_times}"
        for at, role, session, text in db.rows(query, times):
            by_time.setdefault((role, at), []).append((session, text))
    return by_uuid, by_time


def count_sessions(db: Database, most: int) -> int:
    """Return the number of sessions with stored turns, but at most `most`."""
    row = db.row(f"SELECT count(*) FROM (SELECT DISTINCT session FROM episodes LIMIT {most})")
    return int(row[0]) if row else 0


def answer_to(db: Database, turn: str) -> str:
    """Return the last answer to the request with this id, before the next request; '' if none."""
    row = db.row(
        "SELECT a.text FROM episodes AS t JOIN episodes AS a ON a.session = t.session "
        "AND a.domain = t.domain AND a.role = 'assistant' AND a.id > t.id "
        "WHERE t.uuid = ? AND a.id < coalesce((SELECT min(u.id) FROM episodes AS u "
        "WHERE u.session = t.session AND u.role = 'user' AND u.id > t.id), a.id + 1) "
        "ORDER BY a.id DESC LIMIT 1",
        (turn,),
    )
    return str(row[0]) if row else ""


def copy_ledger(db: Database, parent: str, child: str) -> None:
    """Copy the injection ledger of a session to the session that was forked from it."""
    copied = "SELECT ?, agent, memory, 0, channel, created_at FROM injections"
    with db.transaction(durable=False) as c:
        of_parent = f"{copied} WHERE session = ? AND agent = ''"
        c.execute(f"INSERT OR IGNORE INTO injections {of_parent}", (child, parent))


def expire(db: Database, before: str) -> None:
    """Delete parts of texts shown before `before`, and data of sessions last seen before it. Keep a
    session's row while its transcript exists, because it stores how far the transcript was read.
    """
    old = "SELECT id FROM sessions WHERE seen_at < ?"
    rows = db.rows("SELECT id, transcript FROM sessions WHERE seen_at < ?", (before,))
    gone = [(id_, before) for id_, path in rows if not (path and os.path.exists(path))]
    with db.transaction() as c:
        c.execute("DELETE FROM told WHERE created_at < ?", (before,))
        for table in ("injections", "tasks", "prompts"):
            c.execute(f"DELETE FROM {table} WHERE session IN ({old})", (before,))
        c.executemany("DELETE FROM sessions WHERE id = ? AND seen_at < ?", gone)
        c.execute("UPDATE sessions SET block = '', checkpoint = '' WHERE seen_at < ?", (before,))


def save_task(db: Database, task: str, session: str, agent_type: str, text: str, now: str) -> None:
    """Save a task's prompt, without secrets, until the subagent that gets the task starts."""
    from memory_fabric.store.write import cleaned  # imported late: slow, and only for tasks

    with db.transaction(durable=False) as c:
        columns, prompt = "id, session, agent_type, prompt, created_at", cleaned({"prompt": text})
        values = (task, session, agent_type, prompt["prompt"], now)
        c.execute(f"INSERT OR REPLACE INTO tasks ({columns}) VALUES (?, ?, ?, ?, ?)", values)
        newest = "WHERE session = ?1 ORDER BY created_at DESC, id DESC LIMIT ?2"
        old = f"session = ?1 AND id NOT IN (SELECT id FROM tasks {newest})"
        c.execute(f"DELETE FROM tasks WHERE {old}", (session, OPEN_TASKS_KEPT))


def open_tasks(
    db: Database, session: str, agent_type: str, since: str = ""
) -> list[tuple[str, str, tuple[str, ...]]]:
    """Return tasks of an agent type as (id, prompt, agents that may have it), oldest first."""
    where = "session = ? AND agent_type = ? AND created_at >= ? ORDER BY created_at, id"
    query = f"SELECT id, prompt, taken_by FROM tasks WHERE {where}"
    rows = db.rows(query, (session, agent_type, since))
    return [(id_, prompt, tuple(offered.split())) for id_, prompt, offered in rows]


def offer_tasks(db: Database, session: str, kind: str, tasks: Iterable[str], agent: str) -> None:
    """Record that a started agent has one of `tasks`; its start event does not say which one. When
    as many agents have started as tasks of this kind were offered, delete these tasks.
    """
    offered_to = "UPDATE tasks SET taken_by = ltrim(taken_by || ' ' || ?) WHERE id = ?"
    offered = "SELECT id, taken_by FROM tasks WHERE session = ? AND agent_type = ?"
    with db.transaction(durable=False) as c:
        c.executemany(offered_to, [(agent or NAMELESS, task) for task in tasks])
        rows = c.execute(f"{offered} AND taken_by <> ''", (session, kind)).fetchall()
        if len({name for _, agents in rows for name in agents.split()}) >= len(rows):
            c.executemany("DELETE FROM tasks WHERE id = ?", [(id_,) for id_, _ in rows])


def close_tasks(db: Database, tasks: Iterable[str]) -> None:
    """Delete these waiting tasks: the subagents for which they were saved have started."""
    with db.transaction(durable=False) as c:
        c.executemany("DELETE FROM tasks WHERE id = ?", [(task,) for task in tasks])


def save_checkpoint(db: Database, session: str, checkpoint: Mapping[str, Any]) -> None:
    """Save, without secrets, the state that the session needs after its compaction."""
    from memory_fabric.store.write import cleaned  # imported late: slow to import

    set_fields(db, session, checkpoint=json.dumps(cleaned(checkpoint), ensure_ascii=False))


def load_checkpoint(db: Database, session: str) -> dict[str, Any]:
    """Return the session's checkpoint; empty if there is none."""
    value = json.loads(field(db, session, "checkpoint") or "{}")
    return value if isinstance(value, dict) else {}


def load_notes(db: Database, session: str) -> dict[str, Any]:
    """Return the notes that earlier readings of a session's transcript saved, or {}."""
    return files.parsed(field(db, session, "block") or "") or {}


def save_notes(db: Database, session: str, notes: Mapping[str, Any], **fields: Any) -> None:
    """Redact and save a session's notes, and other columns; keep the feedback stored meanwhile."""
    from memory_fabric.store.write import cleaned  # imported late: slow to import

    # The feedback may have changed since these notes were loaded.
    current = load_notes(db, session).get(FEEDBACK)
    whole = {**notes, FEEDBACK: current} if current else notes
    set_fields(db, session, block=json.dumps(cleaned(whole), ensure_ascii=False), **fields)


def note_turn(db: Database, session: str, prompts: list[str], *, asks: bool) -> None:
    """Save the prompts scheduled by the assistant, and whether its last message asks a question."""
    notes = load_notes(db, session)
    if (notes.get(SCHEDULED, []), notes.get(ASKS, False)) != (prompts, asks):
        save_notes(db, session, {**notes, SCHEDULED: prompts, ASKS: asks})


def _touch(c: sqlite3.Connection, session: str, now: str, transcript: str) -> bool:
    row = c.execute("SELECT transcript FROM sessions WHERE id = ?", (session,)).fetchone()
    # If the known transcript exists, the client has not moved it, so ignore a different path.
    if row and row[0] != transcript and os.path.exists(row[0]):
        transcript = ""
    new = "INSERT INTO sessions (id, started_at, seen_at, transcript) VALUES (?1, ?2, ?2, ?3)"
    seen = "seen_at = ?2, ended_at = '', transcript = coalesce(nullif(?3, ''), transcript)"
    c.execute(f"{new} ON CONFLICT (id) DO UPDATE SET {seen}", (session, now, transcript))
    return row is None


def _add_told(
    c: sqlite3.Connection, session: str, agent: str, channel: str, now: str, told: Iterable[Told]
) -> None:
    type_of = "coalesce((SELECT type FROM records WHERE id = substr(?4, 8)), '')"
    values = f"?1, ?2, ?3, ?4, iif(?5 = 'record', {type_of}, ?5), ?6, {_PROMPTS}, ?7"
    columns = "session, agent, channel, memory, kind, chars, prompt, created_at"
    rows = [(session, agent, channel, *item, now) for item in told]
    c.executemany(f"INSERT INTO told ({columns}) VALUES ({values})", rows)
