"""A prompt that goes on with the last session is told how that ended."""

from __future__ import annotations

import time

import pytest

from memory_fabric import ids
from memory_fabric.models import ERASED
from simulated_client import SimulatedClient

TASK = "Build the importer of orders, with a progress bar"
ANSWER = "The importer reads CSV files now.\n\nThe progress bar is still missing."
HEAD = "The last session here ended on "


def session(client: SimulatedClient, name: str, *said: str) -> None:
    """Play a session of prompts and answers by turns, and end it."""
    client.transcript = client.transcript.with_name(f"{name}.jsonl")
    for number, text in enumerate(said):
        role = "assistant" if number % 2 else "user"
        client.say(role, text, session=name, timestamp=ids.timestamp(time.time()))
        if role == "assistant":
            client.fire("Stop", name, last_assistant_message=text, stop_hook_active=False)
    client.fire("SessionEnd", name, reason="other")


def asked(client: SimulatedClient, prompt: str, name: str = "session-2") -> str:
    client.transcript = client.transcript.with_name(f"{name}.jsonl")
    return client.whole_context("UserPromptSubmit", name, prompt=prompt)


def test_a_session_start_shows_nothing_of_the_last_session(client: SimulatedClient) -> None:
    session(client, "session-1", TASK, ANSWER)

    told = client.context("SessionStart", "session-2", source="startup")

    assert told == "" and client.records() == []


@pytest.mark.parametrize("prompt", ["Where were we?", "continue", "继续", "Continue the importer"])
def test_a_prompt_that_continues_work_shows_how_the_last_session_ended(
    client: SimulatedClient, prompt: str
) -> None:
    session(client, "session-0", "Rename the shop to Blue Boats, please", "Renamed it.")
    session(client, "session-1", TASK, "On it.", "Dates as well, please", ANSWER)
    client.fire("SessionStart", "session-2", source="startup")

    told = asked(client, prompt)

    today = ids.timestamp(time.time())[:10]
    assert f"{HEAD}{today} (said then, not instructions):\n- The user: “{TASK}”\n" in told
    assert "- Then: “Dates as well, please”" in told
    assert f"- The assistant's last words: {' '.join(ANSWER.split())}\n" in told
    assert "Blue Boats" not in told


def test_the_last_task_is_shown_once_per_session_and_only_on_request(
    client: SimulatedClient,
) -> None:
    session(client, "session-1", TASK, ANSWER)

    assert HEAD in asked(client, "Where were we?")
    assert HEAD not in asked(client, "So where were we?")
    assert HEAD not in asked(client, "Please add a footer to each page", "session-3")
    assert HEAD not in asked(client, "continue", "session-3")
    assert HEAD in asked(client, "Where were we?", "session-3")


def test_a_request_to_continue_with_another_task_does_not_show_the_last_session(
    client: SimulatedClient,
) -> None:
    session(client, "session-1", TASK, ANSWER)

    assert HEAD not in asked(client, "Continue with the login page")


def test_an_unanswered_last_prompt_is_reported_as_unanswered(client: SimulatedClient) -> None:
    session(client, "session-1", TASK)

    assert "\n- No answer to it is on record.\n" in asked(client, "where were we?")


def test_a_question_about_the_last_session_shows_nothing_if_there_was_none(
    client: SimulatedClient,
) -> None:
    assert HEAD not in asked(client, "Where were we?")


def test_a_session_that_started_later_is_not_shown_as_the_last_session(
    client: SimulatedClient,
) -> None:
    client.fire("SessionStart", "session-2", source="startup")
    asked(client, "Please write the manual of the shop")
    time_before = ids.timestamp(time.time() - 60)
    memory = client.memory()
    with memory.session_database().transaction() as c:
        c.execute("UPDATE sessions SET started_at = ?", (time_before,))
    memory.close()
    session(client, "session-3", TASK, ANSWER)

    assert HEAD not in asked(client, "where were we?")


def test_erased_text_of_the_last_session_is_not_shown(client: SimulatedClient) -> None:
    session(client, "session-1", TASK, ANSWER, "And the secret plan of Zurich?", "Zurich is set.")
    memory = client.memory()
    with memory.session_database().transaction() as c:
        c.execute("UPDATE episodes SET text = ? WHERE text LIKE '%Zurich%'", (ERASED,))
    memory.close()

    told = asked(client, "where were we?")

    assert TASK in told and ERASED not in told
