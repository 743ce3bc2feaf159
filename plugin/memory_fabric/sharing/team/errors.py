"""Errors of the exchange with a shared log, each with a remedy.

TeamError
├── BadAddress (DsnHoldsPassword, Unencrypted, Untrusted)
├── Passing (NoAnswer, ServerReadOnly, ServerFull, TooSlow)
├── LoginFailed, ServerTooOld, ServerMoved, UnknownRole
├── NoSchema, SchemaOlder, SchemaNewer
├── NotAllowed (NotAMember)
└── NoKey, and driver.DriverMissing: something is missing on this machine
"""

from memory_fabric.errors import FabricError


class TeamError(FabricError):
    """Base of all errors of a shared log; `passing` is True if a later attempt may succeed."""

    passing = False


class Passing(TeamError):
    """Base of the errors that may disappear without any action of the user."""

    passing = True


class BadAddress(TeamError):
    """The connection string is invalid or not acceptable."""


class DsnHoldsPassword(BadAddress):
    """The connection string contains a password, which would end up in files and histories."""


class Unencrypted(BadAddress):
    """The connection string allows an unencrypted connection to another host."""


class Untrusted(BadAddress):
    """The server's certificate cannot be verified, or was issued for another host."""


class NoAnswer(Passing):
    """The server cannot be reached, or closed the connection."""


class LoginFailed(TeamError):
    """The server refuses the role, its password, or the database."""


class ServerTooOld(TeamError):
    """The server's PostgreSQL version is below the minimum."""


class ServerReadOnly(Passing):
    """The server accepts no writes now: a replica, or a server in read-only mode."""


class ServerFull(Passing):
    """The server has run out of disk space, memory or connections."""


class TooSlow(Passing):
    """A statement exceeded its time limit on the server."""


class NoSchema(TeamError):
    """The database contains no shared log."""


class SchemaOlder(TeamError):
    """The schema is too old for this release."""


class SchemaNewer(TeamError):
    """A newer release has migrated the schema."""


class ServerMoved(TeamError):
    """The log was restored into another cluster, and its owner has not confirmed that yet."""


class NotAllowed(TeamError):
    """The role lacks a privilege on the server."""


class NotAMember(NotAllowed):
    """The role is not a member of a space with this name."""


class UnknownRole(TeamError):
    """No role of this name exists on the server."""


class NoKey(TeamError):
    """The key that the user's machines share is missing on this machine."""
