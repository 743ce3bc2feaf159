"""Prompts that consist of a command to memory; every prompt passes here."""

from __future__ import annotations

MAX_COMMAND_CHARS, MIN_ID_CHARS = 60, 8
UNDO, FORGET, NOTES = "undo", "forget", "notes"
_HEX = frozenset("0123456789abcdef-")


def command_in(prompt: str) -> tuple[str, str] | None:
    """Return the command that a prompt consists of, with its argument; None for any other text."""
    if len(prompt) > MAX_COMMAND_CHARS:
        return None
    parts = prompt.lower().replace("[", " ").replace("]", " ").split()
    if len(parts) != 2:
        return None
    verb, argument = parts
    if verb == NOTES and argument in ("on", "off"):
        return verb, argument
    is_id = len(argument) >= MIN_ID_CHARS and _HEX.issuperset(argument)
    return (verb, argument) if verb in (UNDO, FORGET) and is_id else None
