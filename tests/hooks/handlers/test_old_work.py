"""Old work shows itself: a session's first prompt is told the earlier task that it is nearly."""

from __future__ import annotations

import pytest

from simulated_client import SimulatedClient

ASKED = "The allergen labels come out of the Zebra printer with broken umlauts, repair that."
DONE = "Done: the printer was set to another code page; labels begin with ^CI28 now."
AGAIN = "The Zebra printer shows question marks where the allergen text has umlauts."
MARK = "[earlier task"


def work(client: SimulatedClient, session: str, asked: str, done: str, file: str) -> None:
    """A session that changed a file."""
    edit = {
        "type": "tool_use",
        "id": f"edit-{session}",
        "name": "Edit",
        "input": {"file_path": str(client.project / file)},
    }
    client.fire("SessionStart", session, source="startup")
    client.prompt(asked, session)
    client.say("user", asked, session=session)
    client.say("assistant", f"I'll read {file} first.", edit, session=session)
    client.say("assistant", done, session=session)
    client.fire("Stop", session, last_assistant_message=done)
    client.fire("SessionEnd", session, reason="other")


@pytest.fixture
def worked(client: SimulatedClient) -> SimulatedClient:
    """A project with three sessions behind it."""
    work(client, "labels", ASKED, DONE, "labels/zebra.py")
    work(
        client, "routes", "Plan the tour of the van over one bridge.", "Planned.", "routes/tour.py"
    )
    work(client, "stamps", "Add a stamp card for coffee.", "The tenth is free.", "loyalty/card.py")
    return client


def told(client: SimulatedClient, prompt: str, session: str = "later") -> list[str]:
    return [line for line in client.prompt(prompt, session).splitlines() if MARK in line]


def test_a_repeated_task_shows_the_earlier_prompt_with_its_outcome_and_files(
    worked: SimulatedClient,
) -> None:
    worked.fire("SessionStart", "later", source="startup")

    (line,) = told(worked, AGAIN)

    assert f"“{ASKED}”" in line
    assert "labels begin with ^CI28 now" in line
    assert "(files: labels/zebra.py)" in line


def test_the_outcome_of_an_earlier_task_is_not_shown_again_if_its_note_was_shown(
    client: SimulatedClient,
) -> None:
    note = "Noted fix: ^CI28 mends umlauts on the Zebra. Why: it was set to code page 850."
    work(client, "labels", ASKED, f"Done.\n\n{note}", "labels/zebra.py")
    unasked = "What does the Zebra do about umlauts?"
    client.fire("SessionStart", "first", source="startup")
    client.fire("SessionStart", "second", source="startup")
    client.prompt(unasked, "second")

    first, second = client.prompt(AGAIN, "first"), client.prompt(AGAIN, "second")

    assert first.count("^CI28 mends umlauts on the Zebra") == 1 and MARK in first
    assert second == ""


def test_earlier_work_is_shown_only_for_a_sessions_first_task(worked: SimulatedClient) -> None:
    worked.fire("SessionStart", "later", source="startup")
    first = told(worked, "Add birthday cakes to the catalogue of the bakery.")

    assert first == []
    assert told(worked, AGAIN) == []


def test_earlier_work_is_shown_once_even_if_notes_are_off(worked: SimulatedClient) -> None:
    worked.environ["MEMORY_FABRIC_NOTES"] = "off"
    worked.fire("SessionStart", "later", source="startup")

    first, second = told(worked, AGAIN), told(worked, AGAIN)

    assert (len(first), second) == (1, [])


@pytest.mark.parametrize(
    "prompt",
    [
        "Rename the package of the bakery to crumb, everywhere in the repository.",
        "The printer in the office jams, what do we know about it?",
        "Show me the code page of the shop, with its labels and its colours.",
    ],
)
def test_an_unrelated_task_shows_no_earlier_work(worked: SimulatedClient, prompt: str) -> None:
    worked.fire("SessionStart", "later", source="startup")

    assert told(worked, prompt) == []
