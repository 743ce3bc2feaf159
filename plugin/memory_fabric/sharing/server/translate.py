"""Translation of the errors of PostgreSQL and its driver to messages with a remedy."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg

from memory_fabric.sharing.team import errors
from memory_fabric.sharing.team.errors import TeamError

MAX_DETAIL_CHARS = 300
INIT = "Ask the owner of the database to run `memory-fabric team init`."
LATER = "A project that has joined tries again by itself and loses nothing."
# Class, message and remedy by SQLSTATE prefix (PostgreSQL, appendix A). The longest match applies.
STATES: dict[str, tuple[type[TeamError], str, str]] = {
    "08": (errors.NoAnswer, "no answer", f"Check the address, and that the server runs. {LATER}"),
    "25006": (errors.ServerReadOnly, "the server accepts no writes (a replica, or read-only mode)",
              f"Use the address of the primary server, or wait until the failover ends. {LATER}"),
    "28": (errors.LoginFailed, "the server refuses the login",
           "Check the address's role, and its password in ~/.pgpass (mode 0600) or PGPASSWORD."),
    "3D": (errors.LoginFailed, "the server has no such database",
           "Check the address, or create the database: `createdb NAME`."),
    "3F": (errors.UnfitServer, "the database holds no shared log", INIT),
    "40": (errors.TooSlow, "other machines wrote the same rows at the same time", LATER),
    "42501": (errors.NotAllowed, "the role lacks a right for this",
              "Ask an owner of the space: `memory-fabric team add MEMBER`."),
    "42704": (TeamError, "the server has no such role",
              "Create it with `memory-fabric team add MEMBER --create-role`, or by CREATE ROLE."),
    "42883": (errors.UnfitServer, "the schema on the server is older than needed", INIT),
    "42P01": (errors.UnfitServer, "the database holds no shared log", INIT),
    "53": (errors.ServerFull, "the server has no disk, memory or connection left",
           f"Free some on the server. {LATER}"),
    "55P03": (errors.TooSlow, "a lock on the server was not free in time", LATER),
    "57014": (errors.TooSlow, "the server took too long for an answer", LATER),
    "57P": (errors.NoAnswer, "the server is shutting down or starting", LATER),
}  # fmt: skip
TLS: dict[str, tuple[type[TeamError], str, str]] = {
    "does not support SSL": (
        errors.BadAddress, "the server offers no encryption",
        "Switch ssl on there; or, in a network that you trust, say --insecure on purpose."),
    "certificate": (
        errors.BadAddress, "the server's certificate is not trusted",
        "Put the one that signed it into ~/.postgresql/root.crt, or name it by sslrootcert=."),
}  # fmt: skip
# Phrases in libpq's messages about failed logins, which have no SQLSTATE, and a SQLSTATE for each.
SAID = (
    ("authentication failed", "28"), ("no password supplied", "28"), ("no pg_hba.conf entry", "28"),
    ("is not permitted to log in", "28"), ("too many connections", "53"),
    ("remaining connection slots", "53"), ("the database system is", "57P"),
)  # fmt: skip


@contextmanager
def translated(doing: str) -> Iterator[None]:
    """Re-raise errors of the driver as a TeamError whose message begins with `doing`."""
    try:
        yield
    except psycopg.Error as error:
        raise team_error(error, doing) from error


def team_error(error: psycopg.Error, doing: str = "The shared log") -> TeamError:
    """Return the TeamError for a driver's error; its message begins with `doing`."""
    text = " ".join(str(error).split())
    state = error.sqlstate or next((state for part, state in SAID if part in text), "")
    if not error.sqlstate and "FATAL:" in text and "does not exist" in text:
        state = "28" if 'FATAL: role "' in text else "3D"
    elif not state and isinstance(error, psycopg.OperationalError):
        state = "08"
    meaning = next((STATES[state[:n]] for n in (5, 3, 2) if state[:n] in STATES), None)
    if state == "08":
        meaning = next((TLS[part] for part in TLS if part in text), meaning)
    kind, wrong, remedy = meaning or (TeamError, f"the server reports {state or 'an error'}", "")
    detail = (error.diag.message_primary or text)[:MAX_DETAIL_CHARS]
    return kind(f"{doing}: {wrong} ({detail}).", remedy=remedy)
