"""Ranking of whole sessions: their best turns, and their texts."""

from __future__ import annotations

import json
from collections.abc import Sequence

from memory_fabric.models import Filters
from memory_fabric.store import conditions
from memory_fabric.store.conditions import marks
from memory_fabric.store.database import Database

EVERYTHING = Filters()
# The best turns that are looked at, then the turns that are read.
SCANNED_TURNS, READ_TURNS = 1000, 2000
TURN_CHARS, SESSION_CHARS = 2500, 16_000


def turns_by_session(
    db: Database, match: str, filters: Filters = EVERYTHING
) -> dict[str, list[tuple[int, float]]]:
    """Return the best SCANNED_TURNS matching turns as (row, bm25) by session, best first."""
    if not match:
        return {}
    scored = db.rows(
        "SELECT t.rowid, bm25(episodes_fts, 1.0, 0.5) AS score FROM episodes_fts AS t "
        "WHERE episodes_fts MATCH ? ORDER BY score LIMIT ?",
        (match, SCANNED_TURNS),
    )
    wanted = conditions.of_episodes(db, filters)
    rows = db.rows(
        "SELECT o.session, j.key FROM json_each(?) AS j CROSS JOIN episodes AS o ON o.id = j.value "
        f"WHERE 1 {wanted.sql} ORDER BY j.key",
        (json.dumps([row for row, _ in scored]), *wanted.values),
    )
    found: dict[str, list[tuple[int, float]]] = {}
    for session, place in rows:
        row, score = scored[place]
        found.setdefault(session, []).append((row, -score))
    return found


def session_texts(
    db: Database, sessions: Sequence[str], filters: Filters = EVERYTHING
) -> dict[str, str]:
    """Return the beginnings of the turns of each session as one text, the oldest session first.

    Each text has at most SESSION_CHARS characters.
    """
    wanted = conditions.of_episodes(db, filters)
    rows = db.rows(
        f"SELECT o.session, substr(o.text, 1, {TURN_CHARS}) FROM episodes AS o "
        f"WHERE o.session IN ({marks(sessions)}) {wanted.sql} ORDER BY o.id LIMIT ?",
        (*sessions, *wanted.values, READ_TURNS),
    )
    parts: dict[str, list[str]] = {}
    for session, text in rows:
        parts.setdefault(session, []).append(text)
    return {session: "\n".join(texts)[:SESSION_CHARS] for session, texts in parts.items()}


def count_sessions(db: Database, most: int) -> int:
    """Return the number of sessions with turns, at most `most`."""
    counted = f"SELECT count(*) FROM (SELECT DISTINCT session FROM episodes LIMIT {most})"
    row = db.row(counted)
    return int(row[0]) if row else 0


def answer_to(db: Database, turn: str) -> str:
    """Return the last thing that was said to a request (its id) before the next one; '' if nothing
    was.
    """
    row = db.row(
        "SELECT a.text FROM episodes AS t JOIN episodes AS a ON a.session = t.session "
        "AND a.domain = t.domain AND a.role = 'assistant' AND a.id > t.id "
        "WHERE t.uuid = ? AND a.id < coalesce((SELECT min(u.id) FROM episodes AS u "
        "WHERE u.session = t.session AND u.role = 'user' AND u.id > t.id), a.id + 1) "
        "ORDER BY a.id DESC LIMIT 1",
        (turn,),
    )
    return str(row[0]) if row else ""
