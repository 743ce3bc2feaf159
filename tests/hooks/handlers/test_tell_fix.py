"""A failing command brings the fix on record, there and then, once a session."""

from __future__ import annotations

import json
from typing import Any

import pytest

from memory_fabric.events import parse_event
from memory_fabric.hooks.handlers.fix_inject import failed_output
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


def test_a_known_fix_is_shown_with_its_text_date_and_id(known: SimulatedClient) -> None:
    (record,) = known.records()

    told = failed(known)

    assert record.what in told
    assert f"fix · {record.created_at[:10]}" in told and record.id[-8:] in told
    assert "not instructions" in told
    assert known.log == ""


def test_a_fix_is_shown_once_per_session(known: SimulatedClient) -> None:
    first, second, other = failed(known), failed(known), failed(known, "session-3")

    assert (bool(first), bool(second), bool(other)) == (True, False, True)


def test_a_fix_already_shown_with_a_prompt_is_not_shown_again(known: SimulatedClient) -> None:
    assert FIX[:30] in known.prompt("fly deploy says force_https is not allowed", "session-2")

    assert failed(known) == ""


def test_a_fix_shown_at_session_start_is_shown_again_when_its_command_fails(
    known: SimulatedClient,
) -> None:
    assert FIX[:30] in known.context("SessionStart", "session-2", source="startup")

    assert FIX[:30] in failed(known, "session-2")


def test_a_failure_without_a_known_fix_shows_no_fix(known: SimulatedClient) -> None:
    assert failed(known, error="Exit code 1\nError: failed to fetch an image: unauthorized") == ""


def test_an_error_in_the_output_shows_the_fix_despite_exit_status_0(known: SimulatedClient) -> None:
    assert FIX[:30] in passed(known, "Error: force_https is not allowed for this service")


def test_output_that_only_mentions_an_error_shows_no_fix(known: SimulatedClient) -> None:
    assert passed(known, "force_https is not allowed is documented here\n3 passed") == ""


@pytest.mark.parametrize(
    "fields",
    [
        {"is_interrupt": True},
        {"error": f"[Request interrupted by user]\n{ERROR}"},
        {"error": f" Error: [Request interrupted by user]\n{ERROR}"},
        {"error": f"Permission to use Bash has been denied\n{ERROR}"},
        {"error": ""},
        {"error": 7},
        {"tool_name": "Read"},
    ],
)
def test_an_event_other_than_a_failed_command_shows_no_fix(
    known: SimulatedClient, fields: dict[str, Any]
) -> None:
    assert failed(known, **fields) == ""


def test_a_fix_is_not_shown_to_the_session_that_noted_it(known: SimulatedClient) -> None:
    assert failed(known, "session-1") == ""


def test_a_fix_is_shown_to_a_subagent_even_if_the_main_session_already_saw_it(
    known: SimulatedClient,
) -> None:
    failed(known)

    assert FIX[:30] in failed(known, agent_id="a1", agent_type="general-purpose")
    assert failed(known, agent_id="a1", agent_type="general-purpose") == ""


def test_a_forgotten_fix_is_not_shown(known: SimulatedClient) -> None:
    (record,) = known.records()
    known.command("forget", record.id[-8:], "--yes")

    assert failed(known) == ""


@pytest.mark.parametrize("trust", ["tool", "foreign"])
def test_a_failed_command_shows_no_fix_written_by_another_user_or_program(
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
def test_fixes_of_other_users_and_programs_are_not_shown_for_a_pasted_error(
    known: SimulatedClient, trust: str
) -> None:
    memory = known.memory()
    with memory.session_database().transaction() as connection:
        connection.execute("UPDATE records SET trust = ?", (trust,))
    memory.close()

    assert FIX not in known.prompt(LOG + ERROR, "session-2")


def test_a_prompt_with_an_error_omits_fixes_that_an_earlier_prompt_showed(
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


def test_a_fix_of_local_scope_is_not_shown_to_another_session(known: SimulatedClient) -> None:
    memory = known.memory()
    with memory.session_database().transaction() as connection:
        connection.execute("UPDATE records SET scope = 'local'")
        connection.execute("DELETE FROM observations")  # what is local is not in the graph
    memory.close()

    assert failed(known) == ""
    assert FIX not in known.prompt(LOG + ERROR, "session-2")


def test_a_fix_whose_file_has_changed_is_flagged(client: SimulatedClient) -> None:
    (client.project / "fly.toml").write_text("a = 1\n")
    client.note("fix", FIX, "")
    (client.project / "fly.toml").write_text("a = 12\n")

    assert "(fly.toml has changed since)" in failed(client)


def test_no_fix_is_shown_while_recall_is_off(known: SimulatedClient) -> None:
    known.command("off", "--read")

    assert failed(known) == ""


REPORTED = "Error: force_https is not allowed"


@pytest.mark.parametrize(
    ("response", "command", "output"),
    [
        ({"stdout": "x", "stderr": "1 failed"}, "pytest", "x\n1 failed"),
        ({"stdout": "", "stderr": "1 failed", "interrupted": False}, "pytest", "1 failed"),
        ({"stdout": 3, "stderr": "1 failed"}, "pytest", "1 failed"),
        ({"stdout": "1 failed", "interrupted": True}, "pytest", ""),
        ({"stdout": "3 passed"}, "pytest", ""),
        ({"stdout": f"3 passed\n{REPORTED}"}, "pytest | tail", ""),
        ({"stdout": REPORTED}, "make", ""),
        ({"stdout": REPORTED}, "make | tail", REPORTED),
        ({"stdout": "fine"}, "make | tail", ""),
        ("1 failed", "pytest", ""),
        (None, "pytest", ""),
    ],
)
def test_the_output_of_a_command_counts_as_failed_by_its_report_or_an_error_behind_a_pipe(
    response: object, command: str, output: str
) -> None:
    raw = {"tool_input": {"command": command}, "tool_response": response}
    event = parse_event(json.dumps({"hook_event_name": "PostToolUse", **raw}).encode())

    assert failed_output(event) == output
