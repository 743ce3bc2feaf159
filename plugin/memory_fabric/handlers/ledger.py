"""What a session has been given already, and the receipt for what it is given now.

A ledger that cannot be read counts as empty and one that cannot be written is noted as a failure:
recall answers all the same.
"""

from __future__ import annotations

from memory_fabric.errors import StoreUnavailable
from memory_fabric.store import sessions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from memory_fabric.events import Event
    from memory_fabric.fabric.core import Fabric
    from memory_fabric.store.database import Database


class Ledger:
    """One session's ledger; `started_at` is its first sign of life, `loaded` says that the session
    block was delivered.
    """

    def __init__(self, event: Event, fabric: Fabric) -> None:
        self._event, self._memory, self._now = event, fabric.memory, fabric.now
        self.started_at, self.loaded = fabric.now, False
        self._database: Database | None = None
        try:
            self._database = fabric.memory.session_database()
            row = self._database.row(
                "SELECT started_at, loaded_at <> '' FROM sessions WHERE id = ?", (event.session,)
            )
        except StoreUnavailable as error:
            self._memory.fail(f"ledger: {error}")
            self._database = None
            return
        if row:
            self.started_at, self.loaded = str(row[0]), bool(row[1])

    def seen(self, agent: str = "") -> frozenset[str]:
        """Ids of memories that this session, or this subagent of it, still has in its context."""
        if self._database is None:
            return frozenset()
        return sessions.injected(self._database, self._event.session, agent)

    def tasks(self, agent_type: str) -> list[tuple[str, str]]:
        """Tasks (id, prompt) noted for this agent type that no subagent has taken yet."""
        if self._database is None:
            return []
        return sessions.open_tasks(self._database, self._event.session, agent_type)

    def checkpoint(self) -> dict[str, object]:
        """What was saved before the session's compaction; empty without it."""
        if self._database is None:
            return {}
        return sessions.load_checkpoint(self._database, self._event.session)

    def inherit(self, parent: str) -> None:
        """This session has what its parent had."""
        if self._database is None:
            return
        try:
            sessions.inherit(self._database, parent, self._event.session)
        except StoreUnavailable as error:
            self._memory.fail(f"ledger: {error}")

    def receipt(
        self,
        memories: Iterable[str],
        channel: str,
        *,
        agent: str = "",
        loaded: bool = False,
        anew: bool = False,
        task: str = "",
    ) -> tuple[Callable[[], None], ...]:
        """What to run once the output was written; nothing where there is no ledger."""
        database, event, now = self._database, self._event, self._now
        if database is None or database.read_only:
            return ()
        given = tuple(memories)

        def note() -> None:
            sessions.record_injections(
                database,
                event.session,
                agent,
                given,
                channel,
                now,
                transcript=event.transcript_path,
                loaded=loaded,
                anew=anew,
            )
            if task:
                sessions.take_task(database, task, agent)

        return (note,)
