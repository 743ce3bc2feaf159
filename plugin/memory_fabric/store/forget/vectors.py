"""Deletion of all embeddings, when the extra that made them is removed."""

import sqlite3
from collections.abc import Sequence

from memory_fabric.store.database import translated
from memory_fabric.store.forget.purge_steps import opened
from memory_fabric.store.memory import Memory
from memory_fabric.store.tiers.file_locations import Location


def delete_all(memory: Memory, where: Sequence[Location]) -> int:
    """Delete the vectors of these databases, also from their free pages; return how many.

    Raises StoreUnavailable.
    """
    deleted = 0
    with opened(memory, where) as databases:
        for _, database in databases:
            try:
                database.connection.execute("PRAGMA secure_delete = ON")
                with database.transaction() as c:
                    deleted += c.execute("DELETE FROM vectors").rowcount
                database.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            except sqlite3.Error as error:
                raise translated(database.path, error) from error
    return deleted
