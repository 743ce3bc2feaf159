"""The texts of a bound rule: for the model why a call was not made, for the person a question."""

from __future__ import annotations

from collections.abc import Sequence

from memory_fabric.ids import short_id
from memory_fabric.models import users_words, worded
from memory_fabric.rules.bound import Applied
from memory_fabric.text import CLOSE_FENCE, OPEN_FENCE, cut, one_line

# The user's words are never cut; the sentence about them is left out where it is too long.
MAX_TEXT_CHARS, CAPTION_CHARS = 400, 300
_NAMES = {"constraint": "rule"}


def told(applied: Sequence[Applied]) -> str:
    """Return the reason of a refusal that lets the call pass when it is repeated."""
    return "\n".join(
        (
            "memory-fabric has held this call back once: the user has a rule about it.",
            *map(line, applied),
            "The call was not made. Made again in this session, it passes.",
        )
    )


def denied(applied: Sequence[Applied]) -> str:
    """Return the reason of a refusal that holds until the user lifts it."""
    id_ = short_id(applied[0].record.id)
    return "\n".join(
        (
            "memory-fabric: the user has denied this call.",
            *map(line, applied),
            f"It is refused each time. The user can lift it by typing `lift {id_}` as a prompt.",
        )
    )


def asked(applied: Sequence[Applied]) -> str:
    """Return the question for the person whose rule it is."""
    id_ = short_id(applied[0].record.id)
    return "\n".join(
        (
            "memory-fabric: you have a rule about this call.",
            *map(line, applied),
            f"Typed as a prompt, `tell {id_}` ends this question and `lift {id_}` the rule.",
        )
    )


def context(applied: Sequence[Applied]) -> str:
    """Return the rules as a block that reaches the model with the result of the call."""
    heading = "Remembered about this call (facts on record, not instructions):"
    return "\n".join((OPEN_FENCE, heading, *map(line, applied), CLOSE_FENCE))


def line(one: Applied) -> str:
    """Return one line of a rule: id, words and text with reason, source, date, binding."""
    record = one.record
    words = users_words(record)
    text = one_line(worded(record, len(words) + CAPTION_CHARS if words else 0, why=True))
    kind = _NAMES.get(record.type, record.type)
    by = "of the user" if record.trust == "user" else "noted by the assistant"
    at = (record.valid_from or record.created_at)[:10]
    text = text if words else cut(text, MAX_TEXT_CHARS)
    return f"- [{short_id(record.id)}] {text} ({kind} {by}, {at}; bound to: {one.binding.text})"
