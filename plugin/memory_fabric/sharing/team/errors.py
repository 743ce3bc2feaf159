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
    """Base class of a shared log's errors. `passing` is True if a later attempt may succeed."""

    passing = False


class Passing(TeamError):
    """Base class of errors that may pass without any action of the user."""

    passing = True


class BadAddress(TeamError):
    """The address of the log is invalid or not acceptable."""


class DsnHoldsPassword(BadAddress):
    """The address contains a password, which files and process lists would show."""


class Unencrypted(BadAddress):
    """The address allows an unencrypted connection to another host."""


class Untrusted(BadAddress):
    """The server's certificate cannot be verified, or is for another host."""


class NoAnswer(Passing):
    """The server cannot be reached, or has closed the connection."""


class LoginFailed(TeamError):
    """The server does not accept the role, its password, or the database's name."""


class ServerTooOld(TeamError):
    """The server's PostgreSQL version is below the minimum."""


class ServerReadOnly(Passing):
    """The server accepts no writes at present: it is a replica, or in read-only mode."""


class ServerFull(Passing):
    """The server has run out of disk space, memory or connections."""


class TooSlow(Passing):
    """A statement exceeded its time limit on the server."""


class NoSchema(TeamError):
    """The database contains no shared log."""


class SchemaOlder(TeamError):
    """The schema must be migrated before this release can use it."""


class SchemaNewer(TeamError):
    """A newer release has migrated the schema, which this release cannot use."""


class ServerMoved(TeamError):
    """The log was restored into another cluster, which its owner has not confirmed yet."""


class NotAllowed(TeamError):
    """The role lacks a privilege on the server."""


class NotAMember(NotAllowed):
    """The role is not a member of the space, or the space does not exist."""


class UnknownRole(TeamError):
    """The server has no role with this name."""


class NoKey(TeamError):
    """This machine lacks the key that the user's machines share."""
