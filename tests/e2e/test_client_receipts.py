"""The doctor finds, in the real client's transcripts, what reached the model and what did not."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from typing import Any

import pytest

from e2e.harness.home import Home
from e2e.harness.script import Script

pytestmark = pytest.mark.e2e

DECISION = "let's use PostgreSQL for the analytics DB because it handles our query load"
NOTED = (
    "Understood.\n\nNoted decision: PostgreSQL is used for the analytics DB. Why: it handles our "
    'query load. From: "let\'s use PostgreSQL for the analytics DB"'
)
QUESTION = "Which database should the analytics service talk to?"
UNRELATED = "Please rename the login button."
ANSWER = "The analytics service talks to PostgreSQL."


def prove(home: Home) -> dict[str, dict[str, Any]]:
    """Return the doctor's findings by name."""
    return {
        check["name"]: check for check in json.loads(home.fabric("doctor", "--prove", "--json"))
    }


@pytest.fixture(scope="module")
def asked(shared_home: Callable[[], Home]) -> tuple[Home, str]:
    """A home with a session that decided and one that asked, and the id of the latter.

    Newer decisions keep the oldest out of the session block.
    """
    home = shared_home()
    home.attend()
    things = "billing shipping catalogue checkout loyalty pricing search basket stock refunds"
    things += " returns audit mail tax"  # more than the block has lines for
    newer = [f"We decided to use queue-{t} for the {t} worker" for t in things.split()]
    notes = [f'Noted decision: {n}. From: "{n}"' for n in newer]
    answers = (NOTED, "\n".join(("Understood.\n", *notes)))
    home.session(Script(prompts=(DECISION, ".\n\n".join(newer)), main=answers))
    later = home.session(Script(prompts=(UNRELATED, QUESTION), main=("Done.", ANSWER)))
    return home, later.session_id


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


def test_a_prompt_that_was_given_a_memory_has_a_receipt(asked: tuple[Home, str]) -> None:
    home, session = asked

    checks = prove(home)

    receipts = checks["receipts"]
    assert " of 4 prompts were given memories" in receipts["told"]
    newest = receipts["details"][0]
    assert f"session {session[:8]}, with a prompt: " in newest
    assert "in each of 2 sessions" in checks["hooks ran"]["told"]
    assert "the transcripts show everything in the ledger" in checks["given and arrived"]["told"]
    assert checks["client version"]["state"] == checks["hooks"]["state"] == "ok"
    assert {c["state"] for name, c in checks.items() if name.startswith("canary")} == {"ok"}


def test_a_session_without_hooks_and_an_undelivered_memory_are_reported_as_faults(
    asked: tuple[Home, str], new_home: Callable[[], Home]
) -> None:
    home = new_home()
    home.copy_with_project(asked[0])
    home.bring_packages()
    bare = home.session(
        Script(prompts=(QUESTION,), arguments=("--settings", '{"disableAllHooks": true}'))
    )
    believe_otherwise(home)

    failed = home.fabric("doctor", "--prove", "--json", status=1)

    checks = {check["name"]: check for check in json.loads(failed)}
    assert checks["hooks ran"]["state"] == "fault"
    assert f"1 of 3 sessions: {bare.session_id[:8]}" in checks["hooks ran"]["told"]
    assert checks["given and arrived"]["state"] == "fault"
    assert "dead0" in checks["given and arrived"]["details"][0]
