"""Notices prompts that sound as if they settle something; it writes nothing to memory.

A sentence is weighed by general cues, with weights set by hand (`standing_cues`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from memory_fabric.capture.prompts import standing_cues, standing_cues_by_language
from memory_fabric.capture.prompts.gate import may_hear
from memory_fabric.capture.prompts.standing_cues import Cue
from memory_fabric.capture.prompts.typed import is_specification, typed_ends
from memory_fabric.capture.segments import segments
from memory_fabric.patterns import pattern
from memory_fabric.redaction.prefilter import REDACTED, without_secrets
from memory_fabric.text import cut, one_line, stem, terms

MAX_SENTENCE_CHARS = 320
ENOUGH = 2.0
_ANSWER_CHARS, _ANSWERS_CHARS = 200, 1200
# What may stand before a list of answers; other lists are work to do.
_LEAD_WORDS = 3
_ANSWERING = ("answer", "question", "antwort", "respuesta", "réponse", "resposta", "答", "답")
# Sentences are the same from this share of common content words.
_SAME_FROM = 0.6
_QUESTION_COSTS = 2.0
_CUES = (*standing_cues.CUES, *standing_cues_by_language.CUES)


class Heard(NamedTuple):
    """A sentence that may settle something, and the kind of thing it sounds like."""

    kind: str  # "rule", "correction", "choice", "change", "person"
    sentence: str  # one line, at most 320 characters


def heard(prompt: str) -> Heard | None:
    """Return the sentence of the prompt that most sounds as if it settles something, if any.

    A sentence with a secret is none: what is left without it says little, and a cue would have it
    written once more.
    """
    if not may_hear(prompt):
        return None
    sentences = segments(typed_ends(prompt))
    if is_specification(sentences):
        sentences = [s for s in sentences if not s.bullet and not s.heading]
    best, kind, said = 0.0, "", ""
    for sentence in sentences:
        weight, its_kind = _weighed(sentence.text.lower(), sentence.question)
        if weight > best:
            best, kind, said = weight, its_kind, sentence.text
    if best < ENOUGH:
        kind, said = "choice", _answers(prompt)
    # The mark stands in a prompt that was kept until its turn ended.
    if not said or REDACTED in said or without_secrets(said) != said:
        return None
    return Heard(kind, cut(said, MAX_SENTENCE_CHARS))


def said_again(sentence: str, earlier: Sequence[str]) -> int:
    """Count the earlier prompts that say the same as a sentence, in nearly the same words.

    Only sentences with a cue count: "run the tests" is typed again by nature, "I'll run the tests
    myself" is a habit.
    """
    content, kind = _content(sentence), _weighed(sentence.lower())[1]
    if len(content) < 2 or not kind:
        return 0
    return sum(_says(prompt, content, kind) for prompt in earlier)


def _says(prompt: str, content: frozenset[str], kind: str) -> bool:
    ends = typed_ends(prompt)
    lowered = ends.lower()
    # A prompt is split into sentences only if most of the words are in it.
    if sum(word in lowered for word in content) < _SAME_FROM * len(content):
        return False
    return any(
        _is_same(content, _content(sentence.text)) and _weighed(sentence.text.lower())[1] == kind
        for sentence in segments(ends)
    )


def _is_same(content: frozenset[str], others: frozenset[str]) -> bool:
    return len(content & others) >= _SAME_FROM * len(content | others)


def _content(text: str) -> frozenset[str]:
    return frozenset(map(stem, terms(text)))


def _weighed(lowered: str, is_question: bool = False) -> tuple[float, str]:
    """Return the weight of a sentence and the kind of its strongest cue."""
    found = [cue for cue in _CUES if _matches(cue, lowered)]
    if not found:
        return 0.0, ""
    kind = max(found, key=lambda cue: cue[1])[0]
    weight = sum(cue[1] for cue in found)
    weight += sum(cue[1] for cue in standing_cues.AGAINST if _matches(cue, lowered))
    if is_question and not lowered.startswith("why "):
        weight -= _QUESTION_COSTS
    return weight, kind


def _matches(cue: Cue, lowered: str) -> bool:
    _, _, words, expression = cue
    if not any(word in lowered for word in words.split("|")):
        return False
    return not expression or pattern(expression).search(lowered) is not None


def _answers(prompt: str) -> str:
    """Return a numbered list of short answers to the assistant's questions as one line."""
    if len(prompt) > _ANSWERS_CHARS or "\n2" not in prompt:
        return ""
    lines = [line.strip() for line in prompt.splitlines() if line.strip()]
    first = next((n for n, line in enumerate(lines) if _is_numbered(line)), len(lines))
    lead, answers = " ".join(lines[:first]).lower(), lines[first:]
    if len(lead.split()) > _LEAD_WORDS and not any(word in lead for word in _ANSWERING):
        return ""
    if len(answers) < 2 or any(len(line) > _ANSWER_CHARS for line in answers):
        return ""
    numbered = [line for line in answers if _is_numbered(line)]
    return one_line(" ".join(numbered)) if len(numbered) >= len(answers) - 1 else ""


def _is_numbered(line: str) -> bool:
    return pattern(r"\d{1,2}[.)] ?\S").match(line) is not None
