"""Errors of this package, each with the data that its message needs.

FabricError
├── BadInput            the input cannot be used; `field` is the part, `remedy` what the user can do
├── NotFound            a named thing does not exist
├── StoreUnavailable    a database cannot be opened or written at present (writes may be queued)
│   ├── StoreCorrupt    the file is not a readable database
│   ├── StoreNewer      a newer release has migrated it
│   ├── StoreReadOnly   the folder of the database is not writable
│   └── StoreRefuses    the database is intact, but refuses this content
├── CannotListen        the server cannot listen on an address of this machine
└── DeadlinePassed      the deadline of the event has passed
"""

from __future__ import annotations


class FabricError(Exception):
    """Base class of all errors; `remedy` is a sentence on what the user can do, or ''."""

    def __init__(self, message: str, *, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.message} {self.remedy}".rstrip()


class BadInput(FabricError):
    """The input cannot be used; `field` is the part that is wrong."""

    def __init__(self, field: str, message: str, *, remedy: str = "") -> None:
        super().__init__(message, remedy=remedy)
        self.field = field


class NotFound(FabricError):
    """Something that was requested by name does not exist; `name` is that name."""

    def __init__(self, name: str, message: str, *, remedy: str = "") -> None:
        super().__init__(message, remedy=remedy)
        self.name = name


class StoreUnavailable(FabricError):
    """A database cannot be opened or written at present; `path` is its file."""

    def __init__(self, path: str, message: str, *, remedy: str = "") -> None:
        super().__init__(message, remedy=remedy)
        self.path = path


class StoreCorrupt(StoreUnavailable):
    """The file is not a readable database."""


class StoreNewer(StoreUnavailable):
    """A newer release has migrated the database, so this process must not write to it."""


class StoreReadOnly(StoreUnavailable):
    """The folder of the database is not writable."""


class StoreRefuses(StoreUnavailable):
    """SQLite will never accept this content, because of a constraint or of its length limits."""


class CannotListen(FabricError):
    """The server cannot listen on an address of this machine; another program may be using it."""


class EventRevoked(BaseException):
    """The hook has taken its event back from the server, which must make no more changes for it."""


class DeadlinePassed(FabricError):
    """The deadline of the event has passed; a hook then gives no output."""
