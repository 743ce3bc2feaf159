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
