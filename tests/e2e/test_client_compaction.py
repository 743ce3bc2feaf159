"""Compaction in the real client: what the session was at is in the next request."""

from __future__ import annotations

import pytest

from e2e.harness.home import Home
from e2e.harness.result import blocks, injected
from e2e.harness.script import Script, call

pytestmark = pytest.mark.e2e

DECISION = "let's use PostgreSQL for the analytics DB because it handles our query load"
TASK = "Please build an importer that loads the uploaded CSV files into the warehouse tables."
COMPACT = "/compact keep it short"


def test_the_task_comes_back_and_not_the_nod_after_it(home: Home) -> None:
    script = Script(prompts=(TASK, "continue", "And the tests?", "yes", COMPACT, "Go on."))

    session = home.session(script)

    [restored] = injected(session.main_texts[-1], "SessionStart")
    assert f"Task the user had asked for: {TASK}" in restored
    assert "Asked after that: And the tests?" in restored
    assert len(restored) <= 3000


def test_files_in_work_come_back(home: Home) -> None:
    path = home.project / "importer.py"
    script = Script(
        prompts=(TASK, COMPACT, "Go on."),
        main=(call("Write", {"file_path": str(path), "content": "rows = []\n"}), "Written."),
    )

    session = home.session(script)

    assert path.exists()
    [restored] = injected(session.main_texts[-1], "SessionStart")
    assert "importer.py" in restored


def test_a_long_task_leaves_the_decision_its_room(home: Home) -> None:
    long = TASK + " Mind all of these points. " + "Read row by row and column by column. " * 200
    script = Script(prompts=(DECISION, long, COMPACT, "Go on."))

    session = home.session(script)

    [restored] = injected(session.main_texts[-1], "SessionStart")
    assert "importer" in restored
    assert "PostgreSQL" in restored
    assert len(restored) <= 3000


def test_two_compactions_in_a_row_each_give_back_task_and_decision_once(home: Home) -> None:
    prompts = (DECISION, TASK, COMPACT, "Go on.", COMPACT, "Go on.")

    session = home.session(Script(prompts=prompts))

    assert len(session.requests("compact")) == 2
    told = [block for block in blocks(session.main_texts[-1]) if "PostgreSQL" in block]
    assert len(told) == 1
    assert TASK in told[0]
