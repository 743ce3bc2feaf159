"""The prompts of a session: the newest are kept, each session's for itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from memory_fabric.store.conversations import prompts
from store.support import World

NOW = "2026-03-01T10:00:00.000Z"


def test_only_the_newest_prompts_of_a_long_session_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prompts, "MAX_KEPT", 2)
    database = World(tmp_path).memory().session_database()
    prompts.add(database, "other", "Count the berths.", NOW)
    for text in ("one", "two", "three"):
        prompts.add(database, "s", text, NOW)

    assert [prompt.text for prompt in prompts.of_session(database, "s")] == ["three", "two"]
    assert [prompt.text for prompt in prompts.of_session(database, "other")] == [
        "Count the berths."
    ]
