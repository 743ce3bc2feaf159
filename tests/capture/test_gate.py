"""The gate's words are those of the cues and of the stated forms."""

from __future__ import annotations

from memory_fabric.capture.prompts import gate, standing_cues, standing_cues_by_language
from memory_fabric.capture.prompts.detector import ENOUGH
from memory_fabric.capture.prompts.stated_forms import FORMS

LISTS = (*gate.PLAIN, *gate.ACCENTED, *gate.EAST_ASIAN)


def test_the_gate_lets_every_word_of_a_cue_and_of_a_form_through() -> None:
    cues = (*standing_cues.CUES, *standing_cues_by_language.CUES)
    words = {word for cue in cues if cue[1] >= ENOUGH for word in cue[2].split("|")}
    words |= {word for form in FORMS for word in form.words.split("|")}

    assert [word for word in words if not any(known in word for known in LISTS)] == []
    assert [word for word in LISTS if word not in words] == []
