"""Errors of PostgreSQL and of its driver, as they are told: the kind, the message, the remedy."""

from __future__ import annotations

import psycopg
import pytest

from memory_fabric.sharing.server.translate import MAX_DETAIL_CHARS, team_error, translated
from memory_fabric.sharing.team.errors import (
    BadAddress,
    LoginFailed,
    NoAnswer,
    NotAllowed,
    ServerFull,
    ServerReadOnly,
    TeamError,
    TooSlow,
    UnfitServer,
)


@pytest.mark.parametrize(
    ("state", "kind", "said"),
    [
        ("08006", NoAnswer, "no answer"),
        ("25006", ServerReadOnly, "accepts no writes"),
        ("25001", TeamError, "the server reports 25001"),
        ("28P01", LoginFailed, "refuses the login"),
        ("3D000", LoginFailed, "no such database"),
        ("3F000", UnfitServer, "holds no shared log"),
        ("40001", TooSlow, "wrote the same rows"),
        ("42501", NotAllowed, "lacks a right"),
        ("42704", TeamError, "no such role"),
        ("42883", UnfitServer, "older than needed"),
        ("42P01", UnfitServer, "holds no shared log"),
        ("53300", ServerFull, "no disk, memory or connection"),
        ("55P03", TooSlow, "was not free in time"),
        ("57014", TooSlow, "too long"),
        ("57P01", NoAnswer, "shutting down"),
        ("22023", TeamError, "the server reports 22023"),
    ],
)
def test_each_state_of_the_server_is_told_in_its_own_words(
    state: str, kind: type[TeamError], said: str
) -> None:
    found = team_error(psycopg.errors.lookup(state)("the detail\nof it"), "Cannot read")

    assert type(found) is kind
    assert found.message.startswith("Cannot read: ") and said in found.message
    assert found.message.endswith("(the detail of it).")
    assert bool(found.remedy) == ("the server reports" not in said)


@pytest.mark.parametrize(
    ("text", "kind", "said"),
    [
        ("FATAL: password authentication failed for user", LoginFailed, "refuses the login"),
        ("fe_sendauth: no password supplied", LoginFailed, "refuses the login"),
        ("FATAL: no pg_hba.conf entry for host", LoginFailed, "refuses the login"),
        ('FATAL: role "ann" does not exist', LoginFailed, "refuses the login"),
        ('FATAL: database "app" does not exist', LoginFailed, "no such database"),
        ("FATAL: too many connections for role", ServerFull, "connection left"),
        ("FATAL: the database system is starting up", NoAnswer, "shutting down or starting"),
        ("server does not support SSL, but SSL was required", BadAddress, "no encryption"),
        ("SSL error: certificate verify failed", BadAddress, "is not trusted"),
        ("connection refused", NoAnswer, "no answer"),
    ],
)
def test_an_error_of_the_connection_is_recognised_by_its_text(
    text: str, kind: type[TeamError], said: str
) -> None:
    found = team_error(psycopg.OperationalError(text))

    assert type(found) is kind and said in found.message and found.remedy
    assert found.message.startswith("The shared log: ")


def test_an_unknown_error_of_the_driver_is_told_without_a_guess() -> None:
    found = team_error(psycopg.ProgrammingError("x" * (MAX_DETAIL_CHARS + 1)))

    assert type(found) is TeamError and found.remedy == ""
    detail = "x" * MAX_DETAIL_CHARS
    assert found.message == f"The shared log: the server reports an error ({detail})."


def test_only_errors_of_the_driver_are_translated() -> None:
    with (
        pytest.raises(TooSlow, match="Cannot join: the server took") as refused,
        translated("Cannot join"),
    ):
        raise psycopg.errors.QueryCanceled("canceling statement")
    assert isinstance(refused.value.__cause__, psycopg.Error)

    with pytest.raises(OSError, match="disk"), translated("Cannot join"):
        raise OSError("disk")
