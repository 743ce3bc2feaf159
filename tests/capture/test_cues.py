"""The gate before capture."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_fabric.capture.cues import CUES, WORLD_CUES, has_cue
from memory_fabric.capture.hearing import judged
from memory_fabric.capture.phrases.phrase import RULES
from memory_fabric.capture.phrases.table import PHRASES


@pytest.mark.parametrize(
    "prompt",
    [
        "run the tests",
        "add a spinner to the orders page",
        "what does this function do",
        "correct the typo in the readme",
        "show me the last diff",
        "continue",
        "",
    ],
)
def test_a_plain_request_passes_no_further(prompt: str) -> None:
    assert not has_cue(prompt)


@pytest.mark.parametrize(
    "prompt",
    [
        "Let’s use SQLite here",
        "we DECIDED on blue",
        "never push on fridays",
        "Wir haben uns dagegen entschieden",
        "我们决定用它",
    ],
)
def test_a_cue_is_seen_in_any_case_apostrophe_or_language(prompt: str) -> None:
    assert has_cue(prompt)


def test_every_trigger_of_a_phrase_for_users_holds_a_cue() -> None:
    cues = (*CUES, *WORLD_CUES)
    for phrase in PHRASES:
        if "user" not in phrase.speakers.split() or phrase.needs == RULES or phrase.late:
            continue
        for trigger in phrase.triggers:
            assert any(cue in trigger for cue in cues), trigger


def test_a_cue_beyond_64_kb_is_not_read() -> None:
    assert not has_cue("x " * 40_000 + "we decided")


def test_the_gate_loads_nothing_but_itself() -> None:
    code = (
        "import sys; before = set(sys.modules); import memory_fabric.capture.cues;"
        "print(sorted(m for m in set(sys.modules) - before if 'memory_fabric' not in m))"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        env={"PYTHONPATH": ":".join(sys.path)},
    )
    assert done.stdout.strip() == "['__future__']"


@given(st.text(max_size=300))
def test_what_the_gate_stops_holds_no_phrase_that_is_looked_for_at_once(text: str) -> None:
    if not has_cue(text):
        heard = [h for sentence in judged(text, "user") for h in sentence.heard if h.held]
        assert all(h.phrase.late for h in heard)
