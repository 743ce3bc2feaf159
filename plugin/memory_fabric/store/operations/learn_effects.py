"""Operations that read past sessions in, and take one such run back with its turns.

Turns are not logged, so rows of `meta` name those of a run: their ids and sessions, no words.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping
from typing import Any

from memory_fabric.models import ERASED, Provenance

Result = tuple[dict[str, Any], list[dict[str, Any]]]

TURNS, SESSION = "turns", "session"
# The offset of a session that was not known before the run.
UNKNOWN = -1
# The key of the mark of a session that a run has begun and not finished.
OPEN = "learning "
_ERASED_IN = "EXISTS (SELECT 1 FROM episodes WHERE session = ?1 AND instr(text, ?2) > 0)"


def learn(c: sqlite3.Connection, payload: Mapping[str, Any], by: Provenance) -> Result:
    """Begin a run: nothing changes yet, and undoing it deletes the turns that it reads."""
    back = {"kind": "unlearn", "payload": {"batch": payload["batch"]}}
    return {"learning": payload["batch"]}, [back]


def unlearn(c: sqlite3.Connection, payload: Mapping[str, Any], by: Provenance) -> Result:
    """Delete the turns of a run, and let its sessions be read again. It has no inverse.

    Turns from which words were erased stay as they are, and their sessions are not read again.
    """
    deleted = 0
    for what, value in _marks(c, payload["batch"]):
        if what == TURNS:
            for start in range(0, len(value), 400):
                some = value[start : start + 400]
                marks = ", ".join("?" * len(some))
                deleted += c.execute(
                    f"DELETE FROM episodes WHERE uuid IN ({marks}) AND instr(text, ?) = 0",
                    (*some, ERASED),
                ).rowcount
            continue
        c.execute("DELETE FROM meta WHERE key = ?", (OPEN + value[0],))
        if value[1] == UNKNOWN:
            # A session that went on since is its own hooks' affair.
            c.execute(
                "DELETE FROM sessions WHERE id = ?1 AND loaded_at = '' AND prompts = 0 "
                f"AND NOT {_ERASED_IN}",
                (value[0], ERASED),
            )
        else:
            c.execute(
                f"UPDATE sessions SET offset = ?3 WHERE id = ?1 AND NOT {_ERASED_IN}",
                (value[0], ERASED, value[1]),
            )
    c.execute("DELETE FROM meta WHERE key >= ? AND key < ?", _span(payload["batch"]))
    return {"deleted": deleted}, []


def mark_turns(c: sqlite3.Connection, batch: str, turns: Iterable[str]) -> None:
    """Name turns that a run added, in the transaction that adds them."""
    ids = list(turns)
    if ids:
        _mark(c, batch, TURNS, ids[0], ids)


def mark_session(c: sqlite3.Connection, batch: str, session: str, offset: int) -> None:
    """Name a session that a run reads on from `offset` (UNKNOWN for a new one); the first counts.

    It is open until `finish_session`.
    """
    _mark(c, batch, SESSION, session, [session, offset])
    c.execute("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", (OPEN + session, batch))


def finish_session(c: sqlite3.Connection, session: str) -> None:
    """Note that a run has read a session to its end, and made its record."""
    c.execute("DELETE FROM meta WHERE key = ?", (OPEN + session,))


def _mark(c: sqlite3.Connection, batch: str, what: str, name: str, value: list[Any]) -> None:
    c.execute(
        "INSERT OR IGNORE INTO meta (key, value) VALUES (?, ?)",
        (f"{_start(batch)}{what} {name}", json.dumps(value)),
    )


def _marks(c: sqlite3.Connection, batch: str) -> list[tuple[str, list[Any]]]:
    start = len(_start(batch))
    rows = c.execute("SELECT key, value FROM meta WHERE key >= ? AND key < ?", _span(batch))
    return [(key[start:].partition(" ")[0], json.loads(value)) for key, value in rows]


def _start(batch: str) -> str:
    return f"learned {batch} "


def _span(batch: str) -> tuple[str, str]:
    """Return the range of the run's keys, from the first to below the second."""
    return _start(batch), f"learned {batch}!"
