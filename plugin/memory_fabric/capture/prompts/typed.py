"""The typed part of a prompt: what a person wrote, without what came with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from memory_fabric.events import is_machine_text

if TYPE_CHECKING:
    from memory_fabric.capture.segments import Sentence

# What is typed in a long prompt stands before or after what was pasted.
HEAD_CHARS, TAIL_CHARS = 1600, 800
_SPECIFICATION_SENTENCES = 25
_MACHINE = (
    "caveat:", "[request interrupted", "/", "@agent", "base directory for this skill",
    "this session is being continued", "implement the following plan",
    "implement the plan as specified",
)  # fmt: skip


def is_from_machine(lowered: str) -> bool:
    """Return True for a prompt, in lower case, that the client wrote, or a typed command."""
    return is_machine_text(lowered) or lowered.lstrip().startswith(_MACHINE)


def typed_ends(prompt: str) -> str:
    """Return the prompt, a long one without its middle."""
    if len(prompt) <= HEAD_CHARS + TAIL_CHARS:
        return prompt
    return f"{prompt[:HEAD_CHARS]}\n\n{prompt[-TAIL_CHARS:]}"


def is_specification(sentences: Sequence[Sentence]) -> bool:
    """Return True for a document: its list items are errands or description, not rules."""
    return len(sentences) > _SPECIFICATION_SENTENCES or any(s.heading for s in sentences)
