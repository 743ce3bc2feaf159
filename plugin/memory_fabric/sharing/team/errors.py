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
    """Base of all errors of a shared log; `passing` is True if trying again later may help."""

    passing = False


class Passing(TeamError):
    """Base of the errors that may pass by themselves."""

    passing = True


class BadAddress(TeamError):
    """The connection string cannot be used."""


class DsnHoldsPassword(BadAddress):
    """The connection string holds a password, which would end up in files and histories."""


class Unencrypted(BadAddress):
    """The connection to another host would not have to be encrypted."""


class Untrusted(BadAddress):
    """The server's certificate cannot be verified, or names another host."""


class NoAnswer(Passing):
    """The server cannot be reached, or closed the connection."""


class LoginFailed(TeamError):
    """The server refuses the role, its password, or the database."""


class ServerTooOld(TeamError):
    """The server runs a PostgreSQL before the oldest one supported."""


class ServerReadOnly(Passing):
    """The server accepts no writes now: a replica, or a server in read-only mode."""


class ServerFull(Passing):
    """The server has no disk, memory or connection left."""


class TooSlow(Passing):
    """The server took longer than the limit of a statement."""


class NoSchema(TeamError):
    """The database holds no shared log."""


class SchemaOlder(TeamError):
    """The schema is older than this release needs."""


class SchemaNewer(TeamError):
    """A newer release has migrated the schema."""


class ServerMoved(TeamError):
    """The log was restored into another cluster, and its owner has not said so yet."""


class NotAllowed(TeamError):
    """The role lacks a right on the server."""


class NotAMember(NotAllowed):
    """The role is in no space of this name."""


class UnknownRole(TeamError):
    """No role of this name exists on the server."""


class NoKey(TeamError):
    """The key of the user's machines is missing on this one."""
