"""A new user's first day, small: past sessions of both clients, from the notice to answers."""

from __future__ import annotations

import pytest

from e2e.harness.first_day import SETTLED, FirstDay
from e2e.harness.home import Home

pytestmark = pytest.mark.e2e

SESSIONS = 20


def test_from_the_first_notice_to_answers_about_last_month(home: Home) -> None:
    day = FirstDay(home, SESSIONS, prompts=2)

    offered = day.first_session()
    preview = day.preview()
    read = day.learn()
    answers = [day.recall(), day.ask_claude(), day.ask_codex()]

    assert offered.endswith("/bin/memory-fabric learn")
    assert "20 sessions of Claude Code (16), Codex (4) since" in preview
    assert f"{offered} --run reads them" in preview
    assert read.count("\n") > 4 and "Memory has these sessions now" in read
    assert [SETTLED in " ".join(answer.split()) for answer in answers] == [True] * 3
    # With those of this day, of which the hooks kept as much as was written.
    assert "memory has all 2" in day.types("status")
