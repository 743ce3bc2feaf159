"""Count of sentences that could not be read and were set aside, in the project's database."""

from __future__ import annotations

from memory_fabric.errors import DeadlinePassed, StoreUnavailable
from memory_fabric.store.memory import Memory

KEY = "unread sentences"


def add(memory: Memory, number: int) -> None:
    """Add to the count; if the store cannot be written, only the log has them."""
    try:
        with memory.whole.session_database().transaction() as connection:
            connection.execute(
                "INSERT INTO meta (key, value) VALUES (?1, ?2) ON CONFLICT (key) "
                "DO UPDATE SET value = CAST(value AS INTEGER) + ?2",
                (KEY, number),
            )
    except (DeadlinePassed, StoreUnavailable) as error:
        memory.fail(f"graph: {error}")


def count(memory: Memory) -> int:
    """Return how many were set aside so far; 0 if nothing was counted."""
    try:
        database = memory.whole.database("project", create=False)
        row = database and database.row("SELECT value FROM meta WHERE key = ?", (KEY,))
    except (DeadlinePassed, StoreUnavailable):
        return 0
    return int(row[0]) if row else 0
