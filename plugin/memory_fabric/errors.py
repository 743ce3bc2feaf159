"""All errors of this package, each with the data that its message needs.
FabricError
├── BadInput            the input cannot be used; `field` names the part, `remedy` says what helps
├── NotFound            a named thing does not exist
├── StoreUnavailable    a database cannot be opened or written now (the write may still be queued)
│   ├── StoreCorrupt    the file is not a readable database
│   ├── StoreNewer      a newer release has migrated it
│   ├── StoreReadOnly   its folder cannot be written
│   └── StoreRefuses    the database is intact, but refuses this content
├── CannotListen        an address of this machine cannot be listened on
└── DeadlinePassed      the event ran out of time
"""

from __future__ import annotations


class FabricError(Exception):
    """Base of all errors; `remedy` is one sentence a person can act on, or empty."""

    def __init__(self, message: str, *, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.message} {self.remedy}".rstrip()


class BadInput(FabricError):
    """The input cannot be used; `field` names the part."""

    def __init__(self, field: str, message: str, *, remedy: str = "") -> None:
        super().__init__(message, remedy=remedy)
        self.field = field


class NotFound(FabricError):
    """A named thing does not exist; `name` is the name that was requested."""

    def __init__(self, name: str, message: str, *, remedy: str = "") -> None:
        super().__init__(message, remedy=remedy)
        self.name = name


class StoreUnavailable(FabricError):
    """A database cannot be opened or written now; `path` is its file."""

    def __init__(self, path: str, message: str, *, remedy: str = "") -> None:
        super().__init__(message, remedy=remedy)
        self.path = path


class StoreCorrupt(StoreUnavailable):
    """The file is not a readable database."""


class StoreNewer(StoreUnavailable):
    """A newer release has migrated the database; this process must not write it."""


class StoreReadOnly(StoreUnavailable):
    """The database's folder cannot be written."""


class StoreRefuses(StoreUnavailable):
    """SQLite will never accept this content: a constraint, or a text beyond its limits."""


class CannotListen(FabricError):
    """An address of this machine cannot be listened on; another program may use it."""


class EventRevoked(BaseException):
    """The hook has taken its event back from the server, which must change nothing more for it."""


class DeadlinePassed(FabricError):
    """The event ran out of time; a hook then stays silent."""
