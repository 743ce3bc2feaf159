"""Cheap test for texts that could hold a secret, so that most never load the rules.

What is stored was redacted by the rules of its day. What is shown passes today's, too: a row may
be older than a rule.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from memory_fabric.redaction.secret_signs import NAME_PARTS, SIGNS, is_command_line, is_uuid, token
from memory_fabric.redaction.word_signs import possible
from memory_fabric.text import CLOSE_FENCE, encodable

MAX_REMEMBERED_CHARS = 1024
# Redacted texts that are remembered, together at most so many characters.
MAX_CLEAN_CHARS = 1 << 20
# The beginning of the marks in the place of secrets.
REDACTED = "[redacted"
# The ids of messages in OpenAI's interfaces begin so.
MESSAGE_ID = "msg_"
# An item of a block, and the end of its columns (recall.render).
ITEM, COLUMNS_END = "- [", "] "


def may_hold_secret(text: str) -> bool:
    """False only where `redact` would change nothing: no sign of any of its rules is there, or the
    text is what it left.
    """
    if text in _CLEAN:
        return False
    if len(text) <= MAX_REMEMBERED_CHARS:
        return _may_hold_short(text)
    if _may_hold(text):
        return True
    _CLEAN.add(text)
    return False


def _may_hold(text: str) -> bool:
    signs = possible(text)
    if not signs or _is_id(text):
        return False
    text = text.replace(CLOSE_FENCE, "")  # our own mark, which would look like one of those
    folded = text.casefold()
    if any(signs >> place & 1 and sign(text, folded) for place, sign in _BUT_TOKEN):
        return True
    if not signs >> _TOKEN & 1:  # which each word tells by itself
        return False
    # late: few texts have words of which only a look at each tells that they are names
    from memory_fabric.redaction.evidence import only_names

    return not only_names(text)


_TOKEN = SIGNS.index(token)
_BUT_TOKEN = [(place, sign) for place, sign in enumerate(SIGNS) if place != _TOKEN]


def _is_id(text: str) -> bool:
    """True for what stands in most fields of what is written: a UUID, alone or as a message's id or
    with an offset in its file, or a time in UTC.
    """
    name, _, offset = text.partition(":")
    if is_uuid(name.removeprefix(MESSAGE_ID)):
        return name == text or offset.isdigit()
    is_time = len(text) == 24 and text[10:11] == "T" and text[23:] == "Z" and text[:4].isdigit()
    return is_time and text.count(":") == 2


# The same short texts are looked at again and again: in a record, its change and its answer.
_may_hold_short = lru_cache(1024)(_may_hold)


class _Clean(dict[str, None]):
    """Texts that `redact` leaves as they are: most are looked at again when they are stored."""

    chars = 0

    def add(self, text: str) -> None:
        """Remember a text; all others are dropped when they are too long together."""
        self.chars += len(text)
        if self.chars > MAX_CLEAN_CHARS:
            self.clear()
            self.chars = len(text)
        self[text] = None


_CLEAN = _Clean()


def without_secrets(text: str) -> str:
    """The text as `redact` leaves it."""
    if not may_hold_secret(text):
        return text
    # late: only doubtful texts need its slow expressions
    from memory_fabric.redaction.redact import redact

    clean = redact(text)
    _CLEAN.add(clean)
    return clean


def block_without_secrets(block: str) -> str:
    """The block that a model is given as `redact` leaves its texts.

    An item is one line, and the columns before its text, with ids and dates, are ours: beside them
    many a plain word would look like the name of a secret.
    """
    parts: list[tuple[str, str]] = []  # columns of ours, and a text
    for line in block.split("\n"):
        if line.startswith(ITEM):
            columns, ending, text = line.partition(COLUMNS_END)
            parts.append((columns + ending, text))
        elif parts and not parts[-1][0]:
            parts[-1] = ("", parts[-1][1] + "\n" + line)  # a text of several lines is one
        else:
            parts.append(("", line))
    # A sign in one of the texts is one in all of them; most blocks have none: one look is enough.
    if not may_hold_secret("\n".join([text for _, text in parts])):
        return block
    return "\n".join(columns + without_secrets(text) for columns, text in parts)


def all_without_secrets(value: Any, known: dict[str, str]) -> Any:
    """The same for every text in a value of JSON; `known` are texts that were looked at."""
    if isinstance(value, str):
        shown = known.get(value)
        if shown is None:
            shown = known[value] = encodable(without_secrets(value))
        return shown
    if isinstance(value, dict):
        return {name: all_without_secrets(part, known) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [all_without_secrets(part, known) for part in value]
    return value


def object_without_secrets(value: Mapping[str, Any]) -> dict[str, Any]:
    """The same JSON object as `redacted_object` leaves it."""
    if any(_may_name_secret(str(key)) for key in value):
        from memory_fabric.redaction.redact import redacted_object  # late: such keys are rare

        return redacted_object(value, without_secrets)
    return {_key_without_secrets(str(key)): _value_without(part) for key, part in value.items()}


def _value_without(value: Any) -> Any:
    if isinstance(value, str):
        return without_secrets(value)
    if isinstance(value, dict):
        return object_without_secrets(value)
    if is_command_line(value) and may_hold_secret(" ".join(value)):
        from memory_fabric.redaction.redact import redacted  # late: such lists are rare

        return redacted(value)
    if isinstance(value, list | tuple):
        return [_value_without(part) for part in value]
    return value


@lru_cache(256)
def _may_name_secret(key: str) -> bool:
    folded = key.casefold()
    return any(part in folded for part in NAME_PARTS)


# The keys of what is written are few.
_key_without_secrets = lru_cache(256)(without_secrets)
