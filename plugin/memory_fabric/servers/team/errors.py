"""Errors of the shared server, for clients: nothing of its database's address is in them."""

import sys

import psycopg

from memory_fabric.errors import DeadlinePassed, FabricError, StoreUnavailable
from memory_fabric.sharing.server.translate import team_error
from memory_fabric.sharing.team.errors import (
    LoginFailed,
    NoAnswer,
    NotAllowed,
    NotAMember,
    ServerFull,
    ServerReadOnly,
    TeamError,
    TooSlow,
)

LATER = "It comes back by itself as soon as the database answers."


class Unauthorized(FabricError):
    """The key is missing, unknown or deleted, or its member was removed."""


class NoMember(FabricError):
    """The member of the key is in the space no longer."""


def of_database(error: psycopg.Error) -> FabricError:
    """Return the error of a request for one of the database or its driver."""
    return of_log(team_error(error, "Cannot answer"))


def of_log(error: TeamError) -> FabricError:
    """Return the error of a request for one of the shared log."""
    if isinstance(error, TooSlow):
        return DeadlinePassed("The database took too long for an answer.", remedy="Ask for less.")
    if isinstance(error, ServerReadOnly):
        return StoreUnavailable(
            "",
            "The team's database accepts no writes now: it is a replica or in read-only mode.",
            remedy="Reading works; write again when the failover has ended.",
        )
    if isinstance(error, NotAMember | NotAllowed):
        return NoMember(
            "The member of this key may not do this in the space.",
            remedy="Ask an owner of the space: memory-fabric team add MEMBER.",
        )
    if isinstance(error, NoAnswer | ServerFull | LoginFailed):
        return StoreUnavailable("", "The team's database does not answer.", remedy=LATER)
    print(f"memory-fabric: {error}", file=sys.stderr)  # noqa: T201
    return FabricError(
        "The team's database could not answer this.",
        remedy="The terminal of memory-fabric serve shows the error.",
    )
