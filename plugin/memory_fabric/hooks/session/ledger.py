"""The injection ledger: it lists the memories in a session's context, and records new ones. Recall
works without it: an unreadable ledger counts as empty, and a failed write is only reported.
"""

import time
from collections.abc import Callable, Iterable, Set

from memory_fabric import ids
from memory_fabric.errors import StoreUnavailable
from memory_fabric.events import Event
from memory_fabric.recall.request_context import RequestContext
from memory_fabric.store.conversations import sessions
from memory_fabric.store.database import Database

# How long a saved task waits for its agent to start; the client may first ask for permission.
TASK_AGE_S = 3600
MIN_TASK_CHARS = 30  # a shorter prompt does not state a task


class Ledger:
    """The log of the memories injected into one session. `started_at` is the time of the session's
    first event, and `prompts` the number of earlier prompts. `loaded` is True once the memories for
    the session's start were delivered, and `has_begun` once a prompt had MIN_TASK_CHARS characters.
    Memories injected before `compacted_at` may have left the context.
    """

    def __init__(self, event: Event, context: RequestContext) -> None:
        self._event, self._memory, self._now = event, context.memory, context.now
        self.started_at, self.loaded, self.compacted_at = context.now, False, ""
        self.prompts, self.has_begun = 0, False
        self._taken: Set[str] = frozenset()
        self._database: Database | None = None
        try:
            self._database = context.memory.session_database()
            state = sessions.state_of(self._database, event.session, MIN_TASK_CHARS)
        except StoreUnavailable as error:
            self._memory.fail(f"ledger: {error}")
            self._database = None
            return
        if state is not None:
            self.started_at, self.loaded, self.compacted_at, self.prompts, self.has_begun = state

    def seen(self, agent: str = "") -> frozenset[str]:
        """Return the ids of memories that are still in the context of this session or subagent."""
        db = self._database
        return frozenset() if db is None else sessions.injected(db, self._event.session, agent)

    def tasks(self, agent_type: str) -> list[tuple[str, str]]:
        """Return the saved tasks (id, text) for this agent type, except those of running agents."""
        if self._database is None:
            return []
        since = ids.timestamp(time.time() - TASK_AGE_S)
        waiting = sessions.open_tasks(self._database, self._event.session, agent_type, since)
        if len(waiting) < 2:
            return [(id_, text) for id_, text, _ in waiting]
        from memory_fabric.clients.transcript import task_of_agent  # imported late: seldom needed

        agents = dict.fromkeys(agent for _, _, offered in waiting for agent in offered)
        path = self._event.transcript_path
        self._taken = {task for agent in agents if (task := task_of_agent(path, agent))}
        return [(id_, text) for id_, text, _ in waiting if id_ not in self._taken]

    def checkpoint(self) -> dict[str, object]:
        """Return the checkpoint saved before the session's compaction, or {}."""
        db = self._database
        return {} if db is None else sessions.load_checkpoint(db, self._event.session)

    def inherit(self, parent: str) -> None:
        """Copy the ledger of the parent session to this session."""
        try:
            if self._database is not None:
                sessions.copy_ledger(self._database, parent, self._event.session)
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
        offered: Iterable[str] = (),
        text: str = "",
        own_words: str = "",
    ) -> tuple[Callable[[], None], ...]:
        """Return functions to call after the output, or () if the ledger cannot be written. They
        save the injected `memories` with their `channel` (e.g. "prompt"), and as costs (`worth`)
        the lengths of `text` (context with memories) and `own_words` (this plugin's text). One of
        the tasks `offered` (ids) is the starting agent's; it is unknown which. `loaded`: the output
        has the session's memory block. `anew` (after a compaction): delete earlier injections.
        """
        database, event, now = self._database, self._event, self._now
        if database is None or database.read_only:
            return ()
        told_names, tasks, task_ids = tuple(memories), tuple(offered), self._taken

        def note() -> None:
            from memory_fabric.store.conversations import worth  # imported late: after the reply

            items = worth.items(told_names, text)
            items += [worth.Item("", worth.PROTOCOL, len(own_words))] if own_words else []
            sessions.record_injections(
                database,
                event.session,
                agent,
                told_names,
                channel,
                now,
                transcript=event.transcript_path,
                loaded=loaded,
                anew=anew,
                told=items,
            )
            if task_ids:
                sessions.close_tasks(database, task_ids)
            if tasks:
                sessions.offer_tasks(database, event.session, event.agent_type, tasks, agent)

        return (note,)
