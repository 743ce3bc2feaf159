"""Every error of the house, narrow and carrying what a message needs.

FabricError
├── BadInput            what came in cannot be used; `field` names it, `remedy` says what helps
├── NotFound            a named thing does not exist
├── StoreUnavailable    a database cannot be opened or written now (the write may still be queued)
│   ├── StoreCorrupt    the file is not a readable database
│   ├── StoreNewer      a newer release has migrated it
│   ├── StoreReadOnly   the place cannot be written
│   └── StoreRefuses    the database is well, and takes just this content not
├── CannotListen        an address of this machine cannot be listened on
└── DeadlinePassed      the prompt path ran out of its own time
"""

from __future__ import annotations


class FabricError(Exception):
    """Base of the tree; `remedy` is one sentence a person can act on, or empty."""

    def __init__(self, message: str, *, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.message} {self.remedy}".rstrip()


class BadInput(FabricError):
    """What came in cannot be used; `field` names the part."""

    def __init__(self, field: str, message: str, *, remedy: str = "") -> None:
        super().__init__(message, remedy=remedy)
        self.field = field


class NotFound(FabricError):
    """A named thing does not exist; `name` is what was asked for."""

    def __init__(self, name: str, message: str, *, remedy: str = "") -> None:
        super().__init__(message, remedy=remedy)
        self.name = name


class StoreUnavailable(FabricError):
    """A database cannot be opened or written now; `path` says which."""

    def __init__(self, path: str, message: str, *, remedy: str = "") -> None:
        super().__init__(message, remedy=remedy)
        self.path = path


class StoreCorrupt(StoreUnavailable):
    """The file is not a readable database."""


class StoreNewer(StoreUnavailable):
    """A newer release has migrated the database; this process must not write it."""


class StoreReadOnly(StoreUnavailable):
    """The database's place cannot be written."""


class StoreRefuses(StoreUnavailable):
    """SQLite refuses this content, and will again: a constraint, a text beyond its limits."""


class CannotListen(FabricError):
    """An address of this machine cannot be listened on: another program has it, say."""


class DeadlinePassed(FabricError):
    """The prompt path ran out of its own time and stays silent."""
