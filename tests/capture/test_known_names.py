"""Names of the memory are looked up for texts in which something was heard, and for no other."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memory_fabric.capture.mentions import KnownNames
from memory_fabric.capture.remember import stated
from memory_fabric.store.memory import Memory
from recall.given import USER, open_memory


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    memory = open_memory(tmp_path)
    entity = {"name": "Borealis", "entityType": "service", "observations": []}
    memory.write("create_entities", {"entities": [entity]}, USER)
    yield memory
    memory.close()


@pytest.fixture
def lookups(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts for which names were looked up, an entry each time."""
    asked: list[str] = []
    look_up = KnownNames._keys

    def noted(self: KnownNames) -> list[str]:
        asked.append(self._text)
        return look_up(self)

    monkeypatch.setattr(KnownNames, "_keys", noted)
    return asked


def test_a_known_name_is_found_in_any_spelling(memory: Memory, lookups: list[str]) -> None:
    text = "Let's use borealis for all the nightly exports from now on."
    record = stated(memory, text)
    assert "Borealis" in [entity.name for entity in record.entities]
    assert lookups == [f"{text}. "]


def test_only_known_names_that_occur_in_the_text_are_found(memory: Memory) -> None:
    assert dict(KnownNames(memory, "borealis is down")) == {"borealis": "Borealis"}
    assert len(KnownNames(memory, "Redis is down")) == 0
    assert "borealis" not in KnownNames(memory, "Redis is down")
