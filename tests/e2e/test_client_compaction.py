"""Compaction in the real client: what the session was at is in the next request."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from e2e.harness.home import Home
from e2e.harness.result import blocks, injected
from e2e.harness.script import call

pytestmark = pytest.mark.e2e

DECISION = "let's use PostgreSQL for the analytics DB because it handles our query load"
NOTED = (
    "Understood.\n\nNoted decision: PostgreSQL is used for the analytics DB. Why: it handles our "
    'query load. From: "let\'s use PostgreSQL for the analytics DB"'
)
TASK = "Please build an importer that loads the uploaded CSV files into the warehouse tables."
COMPACT = "/compact keep it short"


LONG = TASK + " Mind all of these points. " + "Read row by row and column by column. " * 200


@pytest.fixture(scope="module")
def compacted(shared_home: Callable[[], Home]) -> list[str]:
    """The last request after each of three compactions: of a session that decides, writes a file
    for its task and is nodded to; at once again; after a long task.
    """
    home = shared_home()
    path = home.project / "importer.py"
    write = call("Write", {"file_path": str(path), "content": "rows = []\n"})
    again = (COMPACT, "Go on.")
    with home.open() as session:
        session.say(DECISION, NOTED)
        session.say(TASK, write, "Written.")
        for prompt in ("continue", "And the tests?", "yes"):
            session.say(prompt)
        texts = []
        for prompts in (again, again, (LONG, *again)):
            *_, last = [session.say(prompt) for prompt in prompts]
            texts.append(last[-1].text)
        result = session.end()
    assert path.exists() and len(result.requests("compact")) == 3
    return texts


def test_the_users_task_and_later_question_are_restored_after_a_compaction(
    compacted: list[str],
) -> None:
    [restored] = injected(compacted[0], "SessionStart")

    assert f"Task the user had asked for: {TASK}" in restored
    assert "Asked after that: And the tests?" in restored
    assert len(restored) <= 3000


def test_after_a_compaction_the_files_being_changed_are_restored(compacted: list[str]) -> None:
    [restored] = injected(compacted[0], "SessionStart")

    assert "importer.py" in restored


def test_a_decision_is_restored_after_a_compaction_even_if_the_task_is_long(
    compacted: list[str],
) -> None:
    [restored] = injected(compacted[2], "SessionStart")

    assert "Mind all of these points" in restored
    assert "PostgreSQL" in restored
    assert len(restored) <= 3000


@pytest.mark.parametrize("number", [0, 1])
def test_task_and_decision_are_restored_once_after_each_compaction(
    compacted: list[str], number: int
) -> None:
    told = [block for block in blocks(compacted[number]) if "PostgreSQL" in block]

    assert len(told) == 1
    assert TASK in told[0]
