"""The user's prompts, saved by a hook without reading transcripts; queries for stored turns."""

from collections.abc import Iterable
from typing import NamedTuple

from memory_fabric.models import ERASED
from memory_fabric.store.database import Database
from memory_fabric.text import cut

MAX_PROMPT_CHARS, MAX_KEPT = 64 << 10, 400
# Who sent a prompt: unknown until the transcript contains it (STAGED), the user (TYPED), a program
# (BY_MACHINE), or the user by a click on an option that the assistant offered (CHOSEN).
STAGED, TYPED, BY_MACHINE, CHOSEN = "staged", "typed", "machine", "chosen"
_OF_SESSION = "SELECT seq, created_at, text, origin FROM prompts WHERE session = ?1"


class Prompt(NamedTuple):
    """A prompt. `text` has no secrets or pasted parts; `at` is ISO 8601; `origin` is its sender."""

    seq: int
    at: str
    text: str
    origin: str = STAGED


def add(db: Database, session: str, text: str, now: str, origin: str = STAGED) -> None:
    """Save a prompt unless it is already saved; keep the session's newest MAX_KEPT prompts only."""
    with db.transaction(durable=False) as c:
        # The prompt may already be saved, because the hook runs again for an interrupted event.
        existing = "SELECT 1 FROM prompts WHERE session = ?1 AND created_at = ?2 AND text = ?3"
        added = "INSERT INTO prompts (session, created_at, text, origin) SELECT ?1, ?2, ?3, ?4"
        values = (session, now, cut(text, MAX_PROMPT_CHARS), origin)
        c.execute(f"{added} WHERE NOT EXISTS ({existing})", values)
        last = "SELECT seq FROM prompts WHERE session = ?1 ORDER BY seq DESC LIMIT 1 OFFSET ?2"
        old = f"DELETE FROM prompts WHERE session = ?1 AND seq <= ({last})"
        c.execute(old, (session, MAX_KEPT))


def copy_typed(db: Database, session: str, texts: Iterable[str]) -> None:
    """Copy prompts typed in other sessions to a forked session, whose transcript repeats them."""
    has_it = "SELECT 1 FROM prompts WHERE session = ?1 AND text = ?2"
    typed = f"text = ?2 AND session <> ?1 AND origin = '{TYPED}' AND NOT EXISTS ({has_it}) LIMIT 1"
    copied = f"SELECT ?1, created_at, text, origin, 1 FROM prompts WHERE {typed}"
    insert = f"INSERT INTO prompts (session, created_at, text, origin, answered) {copied}"
    with db.transaction(durable=False) as c:
        c.executemany(insert, [(session, text) for text in texts])


def of_session(db: Database, session: str, until: str = "") -> list[Prompt]:
    """Return the session's prompts up to a time (ISO 8601; '' means all prompts), newest first."""
    wanted = "(?2 = '' OR created_at <= ?2) ORDER BY created_at DESC, seq DESC"
    return [Prompt(*row) for row in db.rows(f"{_OF_SESSION} AND {wanted}", (session, until))]


def unanswered(db: Database, session: str) -> list[Prompt]:
    """Return the session's prompts that are not marked as answered, oldest first."""
    rows = db.rows(f"{_OF_SESSION} AND answered = 0 ORDER BY seq", (session,))
    return [Prompt(*row) for row in rows]


def settle(db: Database, prompt: Prompt, origin: str) -> None:
    """Save who sent a prompt (`origin`), which is known once the transcript contains the prompt."""
    with db.transaction(durable=False) as c:
        c.execute("UPDATE prompts SET origin = ? WHERE seq = ?", (origin, prompt.seq))


def mark_answered(db: Database, prompts: Iterable[Prompt]) -> None:
    """Mark these prompts as answered, because their turns have ended."""
    with db.transaction(durable=False) as c:
        ended = [(prompt.seq,) for prompt in prompts]
        c.executemany("UPDATE prompts SET answered = 1 WHERE seq = ?", ended)


def last_turns(db: Database, session: str, most: int) -> tuple[str, list[tuple[str, str, str]]]:
    """Return the previous session's id, or '', and last turns (role, text, time), newest first."""
    # A session that began after this one runs in parallel, so it is not the previous one.
    started = "coalesce((SELECT started_at FROM sessions WHERE id = ?1), '9')"
    before = f"session <> ?1 AND created_at < {started} ORDER BY created_at DESC LIMIT 1"
    last = db.row(f"SELECT session FROM episodes WHERE {before}", (session,))
    if last is None:
        return "", []
    newest = "WHERE session = ? AND text <> ? ORDER BY id DESC LIMIT ?"
    turns = db.rows(f"SELECT role, text, created_at FROM episodes {newest}", (*last, ERASED, most))
    return last[0], turns


def matching_elsewhere(db: Database, match: str, session: str, most: int) -> list[str]:
    """Return the prompts of other sessions that best match a query, at most one per session."""
    joined = "episodes_fts AS t JOIN episodes AS e ON e.id = t.rowid"
    elsewhere = "episodes_fts MATCH ? AND e.role = 'user' AND e.session <> ?"
    best = f"{joined} WHERE {elsewhere} ORDER BY bm25(episodes_fts) LIMIT ?"
    rows = db.rows(f"SELECT e.session, e.text FROM {best}", (match, session, most))
    return list({row[0]: row[1] for row in reversed(rows)}.values())


def newest_of_all(db: Database, most: int) -> list[tuple[int, str, str, str, str]]:
    """Return the user's newest turns in all sessions as (number, session, text, time, domain)."""
    newest = "WHERE role = 'user' ORDER BY created_at DESC, id DESC LIMIT ?"
    return db.rows(f"SELECT id, session, text, created_at, domain FROM episodes {newest}", (most,))


def answered_before(db: Database, session: str, number: int) -> str:
    """Return the assistant's last text in a session before the turn with this number, or ''."""
    earlier = "session = ? AND id < ? AND role = 'assistant' ORDER BY id DESC LIMIT 1"
    row = db.row(f"SELECT text FROM episodes WHERE {earlier}", (session, number))
    return str(row[0]) if row else ""


def kept_sessions(db: Database, before: str = "") -> list[tuple[str, str]]:
    """Return (id, start) of stored sessions that began before a time, if given, newest first."""
    older = "GROUP BY session HAVING ?1 = '' OR began < ?1 ORDER BY began DESC"
    return db.rows(f"SELECT session, min(created_at) AS began FROM episodes {older}", (before,))


def turns_of(db: Database, session: str) -> list[tuple[str, str]]:
    """Return (role, text) of each turn of a session, oldest first."""
    query = "SELECT role, text FROM episodes WHERE session = ? ORDER BY created_at, id"
    return db.rows(query, (session,))
