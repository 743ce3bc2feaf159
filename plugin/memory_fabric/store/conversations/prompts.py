"""The prompts of each session as the person typed them, which quotations are compared with.

They come from the prompt hook, never from a transcript, in which other texts pass as the user's.
"""

from __future__ import annotations

from memory_fabric.text import cut
from memory_fabric.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from memory_fabric.store.database import Database

MAX_PROMPT_CHARS, MAX_KEPT = 8000, 400


class Prompt(Value):
    """One prompt: its number, its time (ISO 8601), and its text without secrets and pastes."""

    seq: int
    at: str
    text: str


def add(db: Database, session: str, text: str, now: str) -> None:
    """Save a prompt; of a very long session only the newest ones are kept."""
    with db.transaction(durable=False) as c:
        c.execute(
            "INSERT INTO prompts (session, created_at, text) VALUES (?, ?, ?)",
            (session, now, cut(text, MAX_PROMPT_CHARS)),
        )
        c.execute(
            "DELETE FROM prompts WHERE session = ?1 AND seq <= (SELECT seq FROM prompts "
            "WHERE session = ?1 ORDER BY seq DESC LIMIT 1 OFFSET ?2)",
            (session, MAX_KEPT),
        )


def of_session(db: Database, session: str, until: str = "") -> list[Prompt]:
    """Return the session's prompts up to a time (ISO 8601; '' for all), newest first."""
    rows = db.rows(
        "SELECT seq, created_at, text FROM prompts WHERE session = ?1 "
        "AND (?2 = '' OR created_at <= ?2) ORDER BY seq DESC",
        (session, until),
    )
    return [Prompt(*row) for row in rows]


def unanswered(db: Database, session: str) -> list[Prompt]:
    """Return the session's prompts whose turn has not ended yet, oldest first."""
    rows = db.rows(
        "SELECT seq, created_at, text FROM prompts WHERE session = ? AND answered = 0 ORDER BY seq",
        (session,),
    )
    return [Prompt(*row) for row in rows]


def mark_answered(db: Database, prompts: Iterable[Prompt]) -> None:
    """Note that the turns of these prompts have ended."""
    with db.transaction(durable=False) as c:
        c.executemany(
            "UPDATE prompts SET answered = 1 WHERE seq = ?", [(prompt.seq,) for prompt in prompts]
        )
