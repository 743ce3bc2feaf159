"""A failing command brings the fix on record, there and then, once a session."""

from __future__ import annotations

from typing import Any

import pytest

from simulated_client import SimulatedClient

FIX = (
    '`fly deploy` loops with "force_https is not allowed" when a TLS handler is set; remove the '
    "handler from fly.toml"
)
ERROR = "Exit code 1\n==> Verifying\nError: force_https is not allowed for this service\n"


def failed(client: SimulatedClient, session: str = "session-2", **fields: Any) -> str:
    """The memories that the model receives with the result of a failing command."""
    event = {
        "tool_name": "Bash",
        "tool_input": {"command": "fly deploy --remote-only", "description": "Deploy"},
        "tool_use_id": "t1",
        "error": ERROR,
        "is_interrupt": False,
    }
    return client.context("PostToolUseFailure", session, **event | fields)


def passed(client: SimulatedClient, output: str, **result: Any) -> str:
    """The memories that the model receives with the result of a command with exit status 0."""
    response = {"stdout": output, "stderr": "", "interrupted": False, **result}
    call = {"tool_name": "Bash", "tool_input": {"command": "fly deploy | tail -3"}}
    return client.context("PostToolUse", "session-2", tool_response=response, **call)


@pytest.fixture
def known(client: SimulatedClient) -> SimulatedClient:
    """A client whose memory holds a fix, noted by the assistant in a session before."""
    client.note("fix", FIX, "")
    return client


def test_the_fix_is_told_in_its_words_with_date_and_id(known: SimulatedClient) -> None:
    (record,) = known.records()

    told = failed(known)

    assert record.what in told
    assert f"fix · {record.created_at[:10]}" in told and record.id[-8:] in told
    assert "not instructions" in told
    assert known.log == ""


def test_a_fix_is_told_once_a_session(known: SimulatedClient) -> None:
    first, second, other = failed(known), failed(known), failed(known, "session-3")

    assert (bool(first), bool(second), bool(other)) == (True, False, True)


def test_what_a_prompt_has_told_is_not_told_again(known: SimulatedClient) -> None:
    assert FIX[:30] in known.prompt("fly deploy says force_https is not allowed", "session-2")

    assert failed(known) == ""


def test_a_fix_told_at_the_start_is_told_again_at_the_failure(known: SimulatedClient) -> None:
    assert FIX[:30] in known.context("SessionStart", "session-2", source="startup")

    assert FIX[:30] in failed(known, "session-2")


def test_another_failure_brings_nothing(known: SimulatedClient) -> None:
    assert failed(known, error="Exit code 1\nError: failed to fetch an image: unauthorized") == ""


def test_a_pipe_that_hides_the_status_is_seen_through(known: SimulatedClient) -> None:
    assert FIX[:30] in passed(known, "Error: force_https is not allowed for this service")


def test_a_command_that_passed_brings_nothing(known: SimulatedClient) -> None:
    assert passed(known, "force_https is not allowed is documented here\n3 passed") == ""


@pytest.mark.parametrize(
    "fields",
    [
        {"is_interrupt": True},
        {"error": f"[Request interrupted by user]\n{ERROR}"},
        {"error": f"Permission to use Bash has been denied\n{ERROR}"},
        {"error": ""},
        {"error": 7},
        {"tool_name": "Read"},
    ],
)
def test_what_is_no_failure_of_a_command_brings_nothing(
    known: SimulatedClient, fields: dict[str, Any]
) -> None:
    assert failed(known, **fields) == ""


def test_a_fix_is_not_told_to_the_session_that_noted_it(known: SimulatedClient) -> None:
    assert failed(known, "session-1") == ""


def test_a_subagent_is_told_itself(known: SimulatedClient) -> None:
    failed(known)

    assert FIX[:30] in failed(known, agent_id="a1", agent_type="general-purpose")
    assert failed(known, agent_id="a1", agent_type="general-purpose") == ""


def test_a_forgotten_fix_is_not_told(known: SimulatedClient) -> None:
    (record,) = known.records()
    known.command("forget", record.id[-8:], "--yes")

    assert failed(known) == ""


@pytest.mark.parametrize("trust", ["tool", "foreign"])
def test_fixes_of_other_users_and_programs_are_not_told_at_a_failure(
    known: SimulatedClient, trust: str
) -> None:
    memory = known.memory()
    with memory.session_database().transaction() as connection:
        connection.execute("UPDATE records SET trust = ?", (trust,))
    memory.close()

    assert failed(known) == ""


LOG = f"Why does this fail?\n{'step ok' + chr(10)}" + "".join(
    f"==> Layer {n} pushed\n" for n in range(9)
)


def fixes_in(told: str, *fixes: str) -> list[str]:
    return [fix for fix in fixes if fix in told]


@pytest.mark.parametrize("trust", ["tool", "foreign"])
def test_fixes_of_other_users_and_programs_are_not_told_to_a_pasted_failure(
    known: SimulatedClient, trust: str
) -> None:
    memory = known.memory()
    with memory.session_database().transaction() as connection:
        connection.execute("UPDATE records SET trust = ?", (trust,))
    memory.close()

    assert FIX not in known.prompt(LOG + ERROR, "session-2")


def test_a_prompt_with_the_failure_is_told_the_fixes_that_its_session_has_not_seen(
    client: SimulatedClient,
) -> None:
    fixes = [
        f'Deploys stop with "force_https is not allowed": {how}'
        for how in ("remove the TLS handler", "pin the edge release", "renew the certificate")
    ]
    for fix in fixes:
        client.note("fix", fix, "")
    client.context("SessionStart", "session-2", source="startup")

    first, second = (fixes_in(client.prompt(LOG + ERROR, "session-2"), *fixes) for _ in range(2))

    assert len(first) == 2
    assert sorted(first + second) == sorted(fixes)


def test_a_fix_of_one_session_is_told_to_no_other(known: SimulatedClient) -> None:
    memory = known.memory()
    with memory.session_database().transaction() as connection:
        connection.execute("UPDATE records SET scope = 'local'")
        connection.execute("DELETE FROM observations")  # what is local is not in the graph
    memory.close()

    assert failed(known) == ""
    assert FIX not in known.prompt(LOG + ERROR, "session-2")


def test_a_changed_file_is_marked(client: SimulatedClient) -> None:
    (client.project / "fly.toml").write_text("a = 1\n")
    client.note("fix", FIX, "")
    (client.project / "fly.toml").write_text("a = 12\n")

    assert "(fly.toml has changed since)" in failed(client)


def test_no_fix_is_told_while_reading_is_switched_off(known: SimulatedClient) -> None:
    known.command("off", "--read")

    assert failed(known) == ""
