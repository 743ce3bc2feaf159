"""The doctor finds, in the real client's transcripts, what reached the model and what did not."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from e2e.harness.home import Home
from e2e.harness.result import Result, blocks, injected
from e2e.harness.script import Script

pytestmark = pytest.mark.e2e

DECISION = "let's use PostgreSQL for the analytics DB because it handles our query load"
NOTED = (
    "Understood.\n\nNoted decision: PostgreSQL is used for the analytics DB. Why: it handles our "
    'query load. From: "let\'s use PostgreSQL for the analytics DB"'
)
QUESTION = "Which database should the analytics service talk to?"
UNRELATED = "Please rename the button on the login page to Continue."
ANSWER = "The analytics service talks to PostgreSQL."


def prove(home: Home, status: int = 0) -> dict[str, dict[str, Any]]:
    """Return the doctor's findings by name."""
    found = json.loads(home.runs("doctor", "--prove", "--json", status=status))
    return {check["name"]: check for check in found}


@dataclass(frozen=True, slots=True)
class Story:
    """A session that asked, one without hooks, and the doctor's findings before and after it."""

    asking: Result
    proven: dict[str, dict[str, Any]]
    bare: Result
    failed: dict[str, dict[str, Any]]


@pytest.fixture(scope="module")
def story(shared_home: Callable[[], Home]) -> Story:
    """A session decides; newer decisions keep the oldest out of the session block of the next."""
    home = shared_home()
    home.attend()
    things = "billing shipping catalogue checkout loyalty pricing search basket stock refunds"
    things += " returns audit mail tax"  # more than the block has lines for
    newer = [f"We decided to use queue-{t} for the {t} worker" for t in things.split()]
    notes = [f'Noted decision: {n}. From: "{n}"' for n in newer]
    answers = (NOTED, "\n".join(("Understood.\n", *notes)))
    home.session(Script(prompts=(DECISION, ".\n\n".join(newer)), main=answers))
    asking = Script(prompts=(UNRELATED, QUESTION, QUESTION), main=("Done.", ANSWER))
    later = home.session(asking)
    proven = prove(home)
    no_hooks = ("--settings", '{"disableAllHooks": true}')
    bare = home.session(Script(prompts=(QUESTION,), arguments=no_hooks))
    believe_otherwise(home)
    return Story(later, proven, bare, prove(home, status=1))


def believe_otherwise(home: Home) -> None:
    """Let the ledger name memories that no session was given."""
    [path] = home.memory.glob("projects/*/graph.db")
    connection = sqlite3.connect(path)
    for number, (memory,) in enumerate(
        connection.execute("SELECT memory FROM injections").fetchall()
    ):
        other = f"record:00000000-0000-7000-8000-0000dead{number:04x}"
        connection.execute("UPDATE injections SET memory = ? WHERE memory = ?", (other, memory))
    connection.commit()
    connection.close()


def test_a_paraphrased_prompt_recalls_a_decision_not_shown_at_session_start(
    story: Story,
) -> None:
    first, second, third = story.asking.main_texts

    assert "PostgreSQL" not in first
    assert any("PostgreSQL" in told for told in injected(second, "UserPromptSubmit"))
    assert injected(third, "UserPromptSubmit") == injected(second, "UserPromptSubmit")


def test_nothing_is_injected_for_an_unrelated_prompt(story: Story) -> None:
    first = story.asking.main_texts[0]

    assert injected(first, "UserPromptSubmit") == []
    assert len(blocks(first)) <= 1


def test_the_doctor_reports_how_many_prompts_were_given_memories(story: Story) -> None:
    checks = story.proven

    receipts = checks["receipts"]
    assert " of 5 prompts were given memories" in receipts["told"]
    newest = receipts["details"][0]
    assert f"session {story.asking.session_id[:8]}, with a prompt: " in newest
    assert "in each of 2 sessions" in checks["hooks ran"]["told"]
    assert "the transcripts show everything in the ledger" in checks["given and arrived"]["told"]
    assert checks["client version"]["state"] == checks["hooks"]["state"] == "ok"
    assert {c["state"] for name, c in checks.items() if name.startswith("canary")} == {"ok"}


def test_the_doctor_reports_sessions_without_hooks_and_undelivered_memories(
    story: Story,
) -> None:
    checks = story.failed

    assert checks["hooks ran"]["state"] == "fault"
    assert f"1 of 3 sessions: {story.bare.session_id[:8]}" in checks["hooks ran"]["told"]
    assert checks["given and arrived"]["state"] == "fault"
    assert "dead0" in checks["given and arrived"]["details"][0]
