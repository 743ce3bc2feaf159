"""Operations of `learn` runs over past sessions. Rows of `meta` list a run's turns by uuid."""

import json
from sqlite3 import Connection
from typing import Any

from memory_fabric.models import ERASED, Payload, Provenance
from memory_fabric.store.database import Database
from memory_fabric.store.operations import tombstones
from memory_fabric.store.operations.kind import Kind, Result, options, step
from memory_fabric.store.queries.conditions import insert
from memory_fabric.text import index_extra

_TURN, _OPTIONAL = "id session role text created_at".split(), ("place", "agent", "project")
TURNS, SESSION = "turns", "session"
# Saved in place of a transcript's offset if the session was unknown before the run.
UNKNOWN = -1
# The prefix of the key in `meta` for a session that a run has begun but not finished.
OPEN = "learning "
_FINISH = "DELETE FROM meta WHERE key = ?"
_ERASED_IN = "EXISTS (SELECT 1 FROM episodes WHERE session = ?1 AND instr(text, ?2) > 0)"


def add_episodes(c: Connection, payload: Payload, by: Provenance) -> Result:
    """Add turns whose uuid is new and not forgotten. `batch` is the id of a `learn` run, if any."""
    added = []
    for item in payload["episodes"]:
        if tombstones.is_set(c, tombstones.of_turn(item["id"])):
            continue
        row = {name: str(item.get(name) or "") for name in (*_TURN[1:], *_OPTIONAL)}
        row |= {"uuid": item["id"], "extra": index_extra(item["text"]), "domain": by.domain}
        added += [item["id"]] if insert(c, "episodes", row, "INSERT OR IGNORE") else []
    if payload.get("batch") and added:
        _mark(c, _key(payload["batch"], TURNS, added[0]), added)
    return {"added": len(added)}, []


def learn(c: Connection, payload: Payload, by: Provenance) -> Result:
    """Begin a run. This changes nothing yet; the inverse deletes the turns that the run adds."""
    return {"learning": payload["batch"]}, [step("unlearn", batch=payload["batch"])]


def unlearn(c: Connection, payload: Payload, by: Provenance) -> Result:
    """Delete a run's turns, and let its sessions be read again. Keep turns and sessions from which
    a purge erased words, because reading these again would restore the words. No inverse.
    """
    deleted, first, last = 0, _key(payload["batch"], ""), f"learned {payload['batch']}!"
    of_run = "FROM meta WHERE key >= ? AND key < ?"
    for key, value in c.execute(f"SELECT key, value {of_run}", (first, last)).fetchall():
        if key.startswith(first + TURNS):
            of_value = "uuid IN (SELECT value FROM json_each(?)) AND instr(text, ?) = 0"
            deleted += c.execute(f"DELETE FROM episodes WHERE {of_value}", (value, ERASED)).rowcount
            continue
        session, offset = json.loads(value)
        c.execute(_FINISH, (OPEN + session,))
        where = f"id = ?1 AND NOT {_ERASED_IN}"
        if offset == UNKNOWN:
            # Keep the row of a session that went on after the run: the session's hooks update it.
            unused = f"{where} AND loaded_at = '' AND prompts = 0"
            c.execute(f"DELETE FROM sessions WHERE {unused}", (session, ERASED))
        else:
            c.execute(f"UPDATE sessions SET offset = ?3 WHERE {where}", (session, ERASED, offset))
    c.execute(f"DELETE {of_run}", (first, last))
    return {"deleted": deleted}, []


def adopt(
    db: Database, session: str, path: str, batch: str, started_at: str, seen_at: str, notes: Payload
) -> None:
    """Save a past session as ended at `seen_at`, unless it is stored already. Also save that the
    run `batch` has begun to read its transcript, and how far it had been read before.
    """
    text = json.dumps(notes, ensure_ascii=False) if notes else ""
    row = {"id": session, "started_at": started_at, "seen_at": seen_at, "ended_at": seen_at}
    with db.transaction(durable=False) as c:
        row |= {"transcript": path, "block": text}
        is_new = insert(c, "sessions", row, "INSERT OR IGNORE")
        (offset,) = c.execute("SELECT offset FROM sessions WHERE id = ?", (session,)).fetchone()
        _mark(c, _key(batch, SESSION, session), [session, UNKNOWN if is_new else int(offset)])
        c.execute("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", (OPEN + session, batch))


def finish(db: Database, session: str) -> None:
    """Save that a run has read this session to its end."""
    with db.transaction(durable=False) as c:
        c.execute(_FINISH, (OPEN + session,))


def _mark(c: Connection, key: str, value: list[Any]) -> None:
    c.execute("INSERT OR IGNORE INTO meta (key, value) VALUES (?, ?)", (key, json.dumps(value)))


def _key(batch: str, *parts: str) -> str:
    return " ".join(("learned", batch, *parts))


def is_begun(database: Database, batch: str) -> bool:
    """Return True if the run `batch` has begun in this database. Raises StoreUnavailable."""
    where = "kind = 'learn' AND json_extract(payload, '$.batch') = ?"
    return database.row(f"SELECT 1 FROM operations WHERE {where}", (batch,)) is not None


def made_by(database: Database, batch: str) -> tuple[int, int, int]:
    """Return how many turns, fixes and candidates a run has stored. Raises StoreUnavailable."""
    [(turns, fixes, candidates)] = database.rows(
        "SELECT (SELECT coalesce(sum(json_array_length(value)), 0) FROM meta WHERE key >= ?2 AND "
        "key < ?3), count(DISTINCT CASE WHEN r.type = 'solution' THEN r.id END), "
        "count(DISTINCT CASE WHEN r.status = 'candidate' THEN r.id END) "
        "FROM operations AS o JOIN records AS r ON r.id = json_extract(o.payload, '$.record.id') "
        "WHERE instr(o.payload, ?1) > 0 AND json_extract(o.payload, '$.batch') = ?1",
        (batch, _key(batch, TURNS), _key(batch, f"{TURNS}!")),
    )
    return int(turns), int(fixes), int(candidates)


KINDS = {
    "add_episodes": Kind(
        {"episodes": [dict.fromkeys(_TURN, str)], **options(batch=str)},
        add_episodes,
        lambda *_: "add_episodes",
        is_logged=False,
    ),
    "learn": Kind({"batch": str}, learn, lambda *_: "read past sessions in"),
    "unlearn": Kind({"batch": str}, unlearn, lambda *_: "deleted the turns of past sessions"),
}
