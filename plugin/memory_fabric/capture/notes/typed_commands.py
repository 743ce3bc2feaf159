"""Prompts that consist of a command to memory; every prompt passes here."""

from __future__ import annotations

MAX_COMMAND_CHARS, MIN_ID_CHARS = 60, 4
UNDO, FORGET, KEEP, REPLACE, NOTES = "undo", "forget", "keep", "replace", "notes"
# They set what a bound rule does, as `memory-fabric rules` does.
OF_RULES = ("tell", "ask", "deny", "lift")
OF_ID = (UNDO, FORGET, KEEP, REPLACE, *OF_RULES)
LAST = "last"
_PLAIN = {UNDO: ("", LAST), NOTES: ("on", "off")}
# An id is shown in brackets, and a command between code marks.
_BRACKETS = str.maketrans("[]`", "   ")
_HEX = frozenset("0123456789abcdef-")


def command_in(prompt: str) -> tuple[str, str] | None:
    """Return the command that a prompt consists of, with its argument; None for any other text."""
    if len(prompt) > MAX_COMMAND_CHARS:
        return None
    verb, *others = prompt.lower().translate(_BRACKETS).split() or [""]
    argument = " ".join(others)
    if argument in _PLAIN.get(verb, ()):
        return verb, argument
    is_id = len(argument.strip("-")) >= MIN_ID_CHARS and _HEX.issuperset(argument)
    return (verb, argument) if verb in OF_ID and is_id else None
