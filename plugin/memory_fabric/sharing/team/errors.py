"""Errors of the exchange with a shared log, each with a remedy.

TeamError
├── BadAddress
├── Passing (NoAnswer, ServerReadOnly, ServerFull, TooSlow)
├── LoginFailed, UnfitServer
├── NotAllowed (NotAMember)
└── driver.DriverMissing
"""

from memory_fabric.errors import FabricError


class TeamError(FabricError):
    """Base class of all errors of a shared log."""


class Passing(TeamError):
    """Base class of temporary errors, which may disappear without any action of the user."""


class BadAddress(TeamError):
    """The address is invalid, contains a password, or allows unencrypted connections."""


class NoAnswer(Passing):
    """The server cannot be reached, or has closed the connection."""


class LoginFailed(TeamError):
    """The server rejects the role, its password, or the name of the database."""


class ServerReadOnly(Passing):
    """The server accepts no writes at present: it is a replica, or in read-only mode."""


class ServerFull(Passing):
    """The server has run out of disk space, memory or connections."""


class TooSlow(Passing):
    """A statement exceeded its time limit on the server."""


class UnfitServer(TeamError):
    """Server version or schema does not fit this release, or a restored log needs `team init`."""


class NotAllowed(TeamError):
    """The role lacks a privilege on the server."""


class NotAMember(NotAllowed):
    """The role is not a member of the space, or the space does not exist."""
