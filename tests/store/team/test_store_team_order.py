"""What is shown follows from the operations that were read, not from their order or lost answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from memory_fabric.store.team import outbox
from store.support import USER
from store.team_support import Home, Log, synced


@pytest.fixture
def ann(tmp_path: Path) -> Home:
    return Home(tmp_path, "ann", Log())


@pytest.fixture
def bob(tmp_path: Path, ann: Home) -> Home:
    return Home(tmp_path, "bob", ann.log)


def test_an_own_operation_whose_answer_was_lost_does_not_come_back_as_a_claim(ann: Home) -> None:
    said = ann.say("Use UTC")
    outbox.settle(ann.memory, ann.database)
    ann.log.push("ann", outbox.waiting(ann.database, 10))  # the answer is lost
    ann.memory.forget([said.id], USER)
    outbox.settle(ann.memory, ann.database)

    ann.pull()

    assert ann.records() == {}
    assert [head.state for head in ann.heads().values()] == ["waiting"]
    assert ann.counts().records == ()
