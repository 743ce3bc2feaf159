"""Errors of this package, each with the data that its message needs."""

from __future__ import annotations


class FabricError(Exception):
    """The base class of all errors; `remedy` is a sentence on what the user can do, or ''."""

    def __init__(self, message: str, *, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.message} {self.remedy}".rstrip()


class BadInput(FabricError):
    """The input cannot be used; `field` names the part of the input that is wrong."""

    def __init__(self, field: str, message: str, *, remedy: str = "") -> None:
        super().__init__(message, remedy=remedy)
        self.field = field


class NotFound(FabricError):
    """An object that was requested by name does not exist; `name` is the requested name."""

    def __init__(self, name: str, message: str, *, remedy: str = "") -> None:
        super().__init__(message, remedy=remedy)
        self.name = name


class StoreUnavailable(FabricError):
    """A database cannot be opened or written now (writes may be queued); `path` names its file."""

    def __init__(self, path: str, message: str, *, remedy: str = "") -> None:
        super().__init__(message, remedy=remedy)
        self.path = path


class StoreCorrupt(StoreUnavailable):
    """The database file is damaged, or is not a database."""


class StoreNewer(StoreUnavailable):
    """A newer release has migrated the database, so this process must not write to it."""


class StoreReadOnly(StoreUnavailable):
    """The database cannot be written because its folder is not writable."""


class StoreRefuses(StoreUnavailable):
    """SQLite will never accept this content: it violates a constraint or is too long."""


class CannotListen(FabricError):
    """The server cannot listen on an address of this machine; another program may be using it."""


class EventRevoked(BaseException):
    """A hook takes its event back to answer it itself, so the server must change nothing more."""


class DeadlinePassed(FabricError):
    """The deadline of the event has passed, so the work on it must stop."""
