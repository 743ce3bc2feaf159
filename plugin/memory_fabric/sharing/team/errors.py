"""Errors of the exchange with a shared log, each with a remedy.

TeamError
├── BadAddress          a connection string that cannot be used (DsnHoldsPassword, Unencrypted,
│                       Untrusted)
├── NoAnswer            the server cannot be reached, or went away
├── LoginFailed         the server refuses the role or its password
├── ServerTooOld        PostgreSQL before the oldest release that the schema needs
├── ServerReadOnly      a replica, or a server in read-only mode
├── ServerFull          no disk, memory or connection left
├── TooSlow             a statement took longer than its limit
├── NoSchema            the database holds no shared log
├── SchemaOlder         its schema is older than this release needs
├── SchemaNewer         a newer release has migrated its schema
├── ServerMoved         the log was restored into another cluster and awaits `team init`
├── NotAllowed          the role lacks a right (NotAMember: the role is in no space of this name)
└── UnknownRole         no role of this name exists on the server
"""

from memory_fabric.errors import FabricError


class TeamError(FabricError):
    """Base of all errors of a shared log; `passing` is True if trying again later may help."""

    passing = False


class BadAddress(TeamError):
    """The connection string cannot be used."""


class DsnHoldsPassword(BadAddress):
    """The connection string holds a password, which would end up in files and histories."""


class Unencrypted(BadAddress):
    """The connection to another host would not have to be encrypted."""


class Untrusted(BadAddress):
    """The server's certificate cannot be verified, or names another host."""


class NoAnswer(TeamError):
    """The server cannot be reached, or closed the connection."""

    passing = True


class LoginFailed(TeamError):
    """The server refuses the role, its password, or the database."""


class ServerTooOld(TeamError):
    """The server runs a PostgreSQL before the oldest one supported."""


class ServerReadOnly(TeamError):
    """The server accepts no writes now: a replica, or a server in read-only mode."""

    passing = True


class ServerFull(TeamError):
    """The server has no disk, memory or connection left."""

    passing = True


class TooSlow(TeamError):
    """The server took longer than the limit of a statement."""

    passing = True


class NoSchema(TeamError):
    """The database holds no shared log."""


class SchemaOlder(TeamError):
    """The schema is older than this release needs."""


class SchemaNewer(TeamError):
    """A newer release has migrated the schema."""


class ServerMoved(TeamError):
    """The log was restored into another cluster; its transaction ids mean nothing there."""


class NotAllowed(TeamError):
    """The role lacks a right on the server."""


class NotAMember(NotAllowed):
    """The role is in no space of this name."""


class UnknownRole(TeamError):
    """No role of this name exists on the server."""
