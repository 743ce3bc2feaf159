"""The memory of a team as one member has it, within one transaction: no SQLite, no files.

It is what the stages of recall and the tools are given in place of `store.memory.Memory`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from memory_fabric.config import Settings
from memory_fabric.errors import BadInput, FabricError, StoreUnavailable
from memory_fabric.models import Operation, Provenance, Record
from memory_fabric.servers.team.reader import TeamReader
from memory_fabric.servers.team.rows import SCOPE
from memory_fabric.servers.team.vocabulary import Vocabulary
from memory_fabric.sharing.server.connect import Connection
from memory_fabric.store.database import Database
from memory_fabric.store.memory import Memory
from memory_fabric.store.reader import Reader


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
        super().__init__(settings._replace(semantic=False), None, repair=False)
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

    def query(self, sql: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        """Return the rows of a query in this transaction. Raises StoreUnavailable."""
        return self.reader.query(sql, values)

    def database(self, kind: str, *, create: bool) -> Database | None:
        """Return None: there is no local database. Raises StoreUnavailable if one is needed."""
        if create:
            raise StoreUnavailable("", "A shared server keeps no sessions.")
        return None

    def remember(
        self,
        record: Record,
        by: Provenance,
        supersedes: Sequence[str] = (),
        *,
        echo: bool = False,
        at: str = "",
    ) -> Record | None:
        """Store a record for the team and return it, or the known one that it repeats."""
        if record.scope != SCOPE:
            raise BadInput(
                "scope",
                f"This server keeps what is for the team, not for the scope {record.scope}.",
                remedy="Leave the scope out.",
            )
        domain = self.domain_of(record.domain if record.domain != "general" else by.domain)
        by = by._replace(domain=domain)
        return super().remember(record._replace(domain=domain), by, supersedes, echo=echo, at=at)

    def write(
        self, kind: str, payload: Mapping[str, Any], provenance: Provenance, *, store: str = ""
    ) -> dict[str, Any]:
        """Append a change to the shared log and return its result; see Memory."""
        by = provenance._replace(domain=self.domain_of(provenance.domain))
        return self._write(kind, payload, self._stamped(by), store)

    def apply_now(self, operation: Operation, *, is_new: bool = False) -> dict[str, Any]:
        """Append a change to the shared log and return its result."""
        from memory_fabric.servers.team import writes  # late: most requests only read

        return writes.apply(self, operation)

    def _write(
        self, kind: str, payload: Mapping[str, Any], provenance: Provenance, store: str
    ) -> dict[str, Any]:
        return self.apply_now(self._operation(kind, payload, provenance, store))

    def domain_of(self, stated: str) -> str:
        """Return the domain of what is written here: the stated one if it is visible."""
        if self.domains is None or stated in self.domains:
            return stated
        return self.domains[0] if self.domains else stated
