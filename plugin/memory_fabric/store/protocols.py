"""Protocols of a memory and its mirrored graph file, for modules that `store.memory` itself loads.

They receive the memory as an argument and never import it, to avoid import cycles. No hook imports
this module.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import Any, Protocol

from memory_fabric.config import Settings
from memory_fabric.models import (
    Entity,
    Filters,
    Operation,
    Project,
    Provenance,
    Relation,
)
from memory_fabric.store.database import Database
from memory_fabric.store.search import Candidate

Groups = Sequence[Sequence[str]]


class Memory(Protocol):
    """Databases and files of one project and one user; see `store.memory`."""

    settings: Settings
    project: Project | None
    failures: list[str]
    messages: list[str]
    unavailable: set[str]
    switched_by: tuple[str, str]

    @property
    def whole(self) -> Memory:
        """The unrestricted memory behind this one."""

    @property
    def mirror(self) -> Mirror | None:
        """The file that mirrors the user's graph, if there is one."""

    def path_of(self, kind: str) -> str:
        """Return the path of a database."""

    def journal_of(self, kind: str) -> str:
        """Return the path of a database's journal of operations."""

    def queue_folder(self, kind: str) -> str:
        """Return the folder in which changes of a database wait."""

    def memory_md_lock(self, path: str) -> str:
        """Return the path of the lock file for a MEMORY.md."""

    def database(self, kind: str, *, create: bool) -> Database | None:
        """Return the open database of a kind."""

    def databases(self) -> list[Database]:
        """Return the databases that can be read."""

    def session_database(self) -> Database:
        """Return the database that holds this project's sessions."""

    def fail(self, what: str) -> None:
        """Note a failure once."""

    def write(
        self, kind: str, payload: Mapping[str, Any], provenance: Provenance, *, store: str = ""
    ) -> dict[str, Any]:
        """Apply a change, or queue it."""

    def write_now(
        self, kind: str, payload: Mapping[str, Any], provenance: Provenance, *, store: str
    ) -> dict[str, Any]:
        """Apply a change that cannot wait."""

    def operation(
        self, kind: str, payload: Mapping[str, Any], provenance: Provenance, store: str = ...
    ) -> Operation:
        """Return a change for the caller to apply."""

    def apply_now(self, operation: Operation, *, is_new: bool = False) -> dict[str, Any]:
        """Apply an operation to its database."""

    def find_records(self, where: str, values: tuple[Any, ...] = (), limit: int = 100) -> list[Any]:
        """Return records that meet an SQL condition, newest first."""


class Reader(Protocol):
    """Reads of one store for recall: candidates of each source, the graph, and names.

    `groups` hold the spellings of each word of a question. Times are ISO 8601. All methods raise
    StoreUnavailable and DeadlinePassed.
    """

    kind: str

    def observations(
        self, groups: Groups, limit: int, filters: Filters, phrases: Sequence[str] = ()
    ) -> list[Candidate]:
        """Return matching observations of the graph, best first."""

    def observations_with(
        self, names: Sequence[str], limit: int, filters: Filters
    ) -> list[Candidate]:
        """Return observations that hold one of these names, best first."""

    def observations_of(self, keys: Sequence[str], limit: int, filters: Filters) -> list[Candidate]:
        """Return the newest observations without a record of the entities that the keys mean."""

    def records(
        self,
        groups: Groups,
        limit: int,
        filters: Filters,
        session: str,
        phrases: Sequence[str] = (),
    ) -> list[Candidate]:
        """Return matching active records, best first."""

    def records_with(self, words: Iterable[str], limit: int, session: str) -> list[Candidate]:
        """Return active records with any of these words, best first."""

    def records_by_id(self, ids: Sequence[str], filters: Filters, session: str) -> list[Candidate]:
        """Return the active records with these ids that the filters allow."""

    def recent(self, limit: int, filters: Filters, session: str) -> list[Candidate]:
        """Return the newest records, then the newest observations without a record."""

    def episodes(
        self,
        groups: Groups,
        limit: int,
        filters: Filters,
        phrases: Sequence[str] = (),
        *,
        neighbours: bool = False,
    ) -> list[Candidate]:
        """Return matching turns of past sessions, best first."""

    def turns_by_session(
        self, groups: Groups, filters: Filters
    ) -> dict[str, list[tuple[int, float]]]:
        """Return matching turns as (row, bm25) by session."""

    def session_texts(self, sessions: Sequence[str], filters: Filters) -> dict[str, str]:
        """Return the texts of sessions, the oldest first."""

    def turns_at(self, scored: Sequence[tuple[int, float]], filters: Filters) -> list[Candidate]:
        """Return the turns in these rows."""

    def entities_named(self, names: Iterable[str], limit: int, filters: Filters) -> list[Candidate]:
        """Return entities with one of these words in their name or type, best first."""

    def entities_by_key(self, keys: Iterable[str]) -> dict[str, Entity]:
        """Return the known entities of these name keys, aliases resolved."""

    def relations_by_key(
        self, keys: Iterable[str], at: str, filters: Filters
    ) -> dict[str, list[Relation]]:
        """Return the known entities of these name keys, each with its relations at a time."""

    def relations_of(self, names: Sequence[str], at: str, filters: Filters) -> list[Relation]:
        """Return the relations with either end of exactly these names at a time, oldest first."""

    def stated_at(self, relation: Relation) -> str:
        """Return when a relation was stated; empty if it was not."""

    def aliases(self, terms: Sequence[str]) -> Mapping[str, str]:
        """Return the names that these words mean by an alias."""

    def rows_with(self, terms: Sequence[str], sources: Container[str]) -> Mapping[str, int]:
        """Return the number of rows of these sources that hold each word; more than a few hundred
        count alike, and words that no row holds are left out.
        """

    def names_like(self, word: str, most_edits: int) -> list[tuple[str, str]]:
        """Return (key, name) of names that may be as near to a word as these edits."""

    def has_domain(self, domain: str) -> bool:
        """Return True if a row has this domain."""


class Mirror(Protocol):
    """The file of `MEMORY_FILE_PATH`; see `store.graph_file.mirror`."""

    path: str
    behind: bool
    look_in_s: float

    def refresh(self, memory: Memory) -> None:
        """Import changes that others made to the file."""

    def write(self, memory: Memory) -> None:
        """Write the changes of the database to the file."""

    def erase(self, memory: Memory, is_gone: Callable[[bytes], bool]) -> None:
        """Rewrite the file without the lines for which `is_gone` is true."""
