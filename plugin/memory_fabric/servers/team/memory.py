"""The memory of a team as one member has it, within one transaction: no SQLite, no files.

It is what the stages of recall and the tools are given in place of `store.memory.Memory`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory_fabric.servers.team.reader import TeamReader
from memory_fabric.store.memory import Memory

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory_fabric.config import Settings
    from memory_fabric.errors import FabricError
    from memory_fabric.servers.team.vocabulary import Vocabulary
    from memory_fabric.store.database import Database
    from memory_fabric.store.protocols import Reader
    from memory_fabric.team.server.connect import Connection


class TeamMemory(Memory):
    """One space as a member sees it; `domains` limits it, None for all."""

    def __init__(
        self,
        settings: Settings,
        connection: Connection,
        space: str,
        member: str,
        vocabulary: Vocabulary,
        domains: Sequence[str] | None = None,
    ) -> None:
        super().__init__(settings, None, repair=False)
        self.connection, self.space, self.member = connection, space, member
        self.vocabulary = vocabulary
        self.domains = None if domains is None else tuple(domains)
        self.reader = TeamReader(connection, space, member, vocabulary, self.domains)

    @property
    def failed(self) -> FabricError | None:
        """The first error of the database in this transaction."""
        return self.reader.failed

    def databases(self) -> list[Database]:
        """Return no local database."""
        return []

    def readers(self) -> list[Reader]:
        """Return the reader of the space."""
        return [self.reader]

    def limited_to(self, domains: Sequence[str]) -> Memory | None:
        """Return this memory limited to those of the domains that are visible."""
        visible = [one for one in domains if self.domains is None or one in self.domains]
        return TeamMemory(
            self.settings, self.connection, self.space, self.member, self.vocabulary, visible
        )

    def follow_switches(self) -> None:
        """Keep the settings: a shared server has no switches."""

    def follow_settings(self) -> None:
        """Keep the settings of the start."""
