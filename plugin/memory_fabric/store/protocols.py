"""Protocols of a memory and its mirrored file, for modules that `store.memory` itself loads.

They are handed the memory and never import it, so that imports form no circle. Only type checkers
read this module; no process imports it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from memory_fabric.config import Settings
from memory_fabric.models import Operation, Project, Provenance, Record
from memory_fabric.store.database import Database


class Memory(Protocol):
    """Databases and files of one project and one user; see `store.memory`."""

    settings: Settings
    project: Project | None
    failures: list[str]
    told: list[str]
    unavailable: set[str]
    switched_by: tuple[str, str]

    @property
    def mirror(self) -> Mirror | None:
        """The file that mirrors the user's graph, if there is one."""

    def path_of(self, kind: str) -> str:
        """Return the path of a database."""

    def journal_of(self, kind: str) -> str:
        """Return the path of a database's journal of operations."""

    def queue_folder(self, kind: str) -> str:
        """Return the folder in which changes of a database wait."""

    def native_lock(self, path: str) -> str:
        """Return the path of the lock for a MEMORY.md."""

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
        """Apply a change that must not wait."""

    def operation(
        self, kind: str, payload: Mapping[str, Any], provenance: Provenance, store: str = ...
    ) -> Operation:
        """Return a change that the caller applies."""

    def apply_now(self, operation: Operation, *, is_new: bool = False) -> dict[str, Any]:
        """Apply an operation to its database."""

    def promotable(self) -> list[Record]:
        """Return the records that belong into MEMORY.md."""


class Mirror(Protocol):
    """The file of `MEMORY_FILE_PATH`; see `store.graph_file.mirror`."""

    path: str
    behind: bool
    look_in_s: float

    def refresh(self, memory: Memory) -> None:
        """Take over what others wrote into the file."""

    def write(self, memory: Memory) -> None:
        """Write what changed in the database."""

    def erase(self, memory: Memory, is_gone: Callable[[bytes], bool]) -> None:
        """Write the file without the lines that are gone."""
