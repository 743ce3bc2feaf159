"""Protocols of a memory and its mirrored graph file, for modules that `store.memory` itself loads.

They receive the memory as an argument and never import it, to avoid import cycles. Only type
checkers read this module; no process imports it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from memory_fabric.config import Settings
from memory_fabric.models import Operation, Project, Provenance
from memory_fabric.store.database import Database


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
