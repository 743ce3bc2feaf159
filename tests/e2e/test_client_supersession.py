"""A decision that took the place of another, in the real client: the newer one is told."""

from __future__ import annotations

import pytest

from e2e.harness.home import Home
from e2e.harness.result import blocks
from e2e.harness.script import Script

pytestmark = pytest.mark.e2e

OLDER = "Let's use MongoDB for the order archive."
NEWER = "We moved the order archive from MongoDB to Postgres because reports need joins."
QUESTION = "Which database holds the order archive?"


def test_the_newer_decision_is_told_and_not_the_one_that_it_replaced(home: Home) -> None:
    home.session(Script(prompts=(OLDER,), main=("Understood.",)))
    between = home.session(Script(prompts=(NEWER,), main=("Understood.",)))

    later = home.session(Script(prompts=(QUESTION,)))

    assert any(OLDER.rstrip(".") in block for block in blocks(between.main_texts[0]))
    told = "\n".join(blocks(later.main_texts[0]))
    assert "moved the order archive" in told
    assert OLDER.rstrip(".") not in told
    assert "superseded" not in told
