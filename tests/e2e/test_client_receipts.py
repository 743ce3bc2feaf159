"""The doctor finds, in the real client's transcripts, what reached the model and what did not."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from e2e.harness.home import Home, clone
from e2e.harness.script import Script

pytestmark = pytest.mark.e2e

DECISION = "let's use PostgreSQL for the analytics DB because it handles our query load"
QUESTION = "Which database should the analytics service talk to?"
UNRELATED = "Please rename the login button."
ANSWER = "The analytics service talks to PostgreSQL."


def prove(home: Home) -> dict[str, dict[str, Any]]:
    """What the doctor finds, by name."""
    return {
        check["name"]: check for check in json.loads(home.fabric("doctor", "--prove", "--json"))
    }


def decide_and_ask(home: Home) -> str:
    """Ten newer decisions keep the oldest out of the session block; the asking session's id."""
    things = "billing shipping catalogue checkout loyalty pricing search basket stock refunds"
    newer = [f"We decided to use queue-{t} for the {t} worker." for t in things.split()]
    said = (DECISION, *newer)
    home.session(Script(prompts=said, main=("Understood.",) * len(said)))
    later = home.session(Script(prompts=(UNRELATED, QUESTION), main=("Done.", ANSWER)))
    return later.session_id


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


def test_a_prompt_that_was_given_a_memory_has_its_receipt(home: Home) -> None:
    session = decide_and_ask(home)

    checks = prove(home)

    receipts = checks["receipts"]
    assert " of 13 prompts were given memories" in receipts["told"]
    newest = receipts["details"][0]
    assert f"session {session[:8]}, with a prompt: " in newest
    assert "the answer mentions it: PostgreSQL" in newest
    assert "in each of 2 sessions" in checks["hooks ran"]["told"]
    assert "the transcripts show all" in checks["given and arrived"]["told"]
    assert checks["client version"]["state"] == checks["hooks"]["state"] == "ok"
    assert {c["state"] for name, c in checks.items() if name.startswith("canary")} == {"ok"}


def test_a_session_without_hooks_and_a_gift_that_never_arrived_are_faults(home: Home) -> None:
    decide_and_ask(home)
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


def test_a_clone_that_was_moved_away_is_found_where_the_client_says_nothing(
    empty_home: Home, tmp_path: Path
) -> None:
    source = clone(tmp_path / "clone/memory-fabric")
    empty_home.install(source)
    empty_home.bring_packages()
    source.rename(tmp_path / "moved")
    silent = empty_home.session(Script(prompts=(DECISION,), main=("Understood.",)))

    found = empty_home.fabric("doctor", "--prove", "--json", status=1)

    checks = {check["name"]: check for check in json.loads(found)}
    assert silent.hooks == [] and silent.complaints == []
    assert checks["plugin folder"]["state"] == checks["hooks ran"]["state"] == "fault"
    assert str(source) in checks["plugin folder"]["told"]
    assert "1 of 1 session" in checks["hooks ran"]["told"]
