"""The table of phrases itself."""

from __future__ import annotations

import re

import pytest

from memory_fabric.capture.phrases.phrase import NOTHING, PAIR, REASON, RULE, RULES, SUPPORT, Phrase
from memory_fabric.capture.phrases.table import LANGUAGES, PHRASES
from memory_fabric.models import OUTCOMES, RECORD_TYPES

SPEAKERS = {"user", "assistant", "subagent", "summary"}


@pytest.mark.parametrize("phrase", PHRASES, ids=lambda p: f"{p.type}-{p.triggers[0].strip()}")
def test_every_phrase_compiles_and_keeps_to_the_words_of_the_house(phrase: Phrase) -> None:
    assert re.compile(phrase.pattern, re.IGNORECASE)
    assert phrase.type in RECORD_TYPES
    assert phrase.outcome in OUTCOMES
    assert phrase.needs in (NOTHING, SUPPORT, REASON, RULE, RULES, PAIR)
    assert phrase.speakers and set(phrase.speakers.split()) <= SPEAKERS
    assert phrase.triggers and all(t == t.lower() and t.strip() for t in phrase.triggers)


def test_each_language_decides_forbids_prefers_and_finds_causes() -> None:
    for phrases in LANGUAGES.values():
        assert {"decision", "constraint", "preference", "problem"} <= {p.type for p in phrases}
