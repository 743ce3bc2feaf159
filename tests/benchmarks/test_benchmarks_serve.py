"""benchmarks/serve.py: its texts, its questions and the times at which they are asked."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Import modules as the benchmark's own folder sees them."""
    with monkeypatch.context() as patch:
        patch.syspath_prepend(FOLDER)
        yield importlib.import_module
    for name in ("serve", "serving", "server", "driver", "processes"):
        sys.modules.pop(name, None)


def test_generated_texts_are_distinct_even_if_more_are_requested_than_known_sentences(
    module: Any,
) -> None:
    prose = module("workloads.prose")
    number = len(prose.sentences()) + 100
    assert len(set(prose.texts(number))) == number


def test_each_generated_entity_has_a_unique_name_and_up_to_ten_observations(module: Any) -> None:
    found = list(module("workloads.prose").entities(95))
    assert [len(one["observations"]) for one in found] == [10] * 9 + [5]
    assert len({one["name"] for one in found}) == len(found)


def test_the_seed_determines_distinct_questions_of_a_limited_length(module: Any) -> None:
    prose = module("workloads.prose")
    asked = prose.questions(200, 1)
    assert all(prose.MIN_WORDS <= len(one.split()) <= prose.MAX_ASKED_WORDS for one in asked)
    assert len(set(asked)) == 200
    assert prose.questions(200, 1) == asked
    assert not set(prose.questions(200, 2)) & set(asked)


def test_questions_are_sent_at_even_intervals_or_in_bursts_of_all_clients(module: Any) -> None:
    serve = module("serve")
    evenly = [serve.EVENLY.at_s(number) for number in range(3)]
    together = [serve.BURSTS.at_s(number) for number in range(2 * serve.BURSTS.clients)]
    assert evenly == [0, 0.02, 0.04]
    assert together == [0.0] * 8 + [0.16] * 8
