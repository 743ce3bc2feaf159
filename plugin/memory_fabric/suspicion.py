"""Whether a text could hold a secret: a cheap look, so that most texts never load the rules.

What is stored was redacted by the rules of its day. What is shown passes today's, too: a row may
be older than a rule.
"""

from __future__ import annotations

from memory_fabric.text import CLOSE_FENCE, encodable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

NAME_PARTS = "pass secret token key credential pwd auth cookie phrase login identified".split()
# What the rules look for in the key of a JSON object ("author" is none).
KEY_PARTS = "pass secret token key credential pwd _auth".split()
PASSWORDS = frozenset("pass pwd phrase login".split())
SIGNS = ("=", ":", "|", '"', "'", "`")
SAID = (" is ", " to ", " for ")
# What stands in URLs, command lines, key blocks, XML, .pgpass.
MARKS = (
    *("://", "--", "</", "/>", " -p", " -u ", " -U ", " -a ", " -w ", "pass:", "Private-Lines:"),
    *(":54", ":64", ":*:", ":26257:"),
)
# No issuer's shape is shorter.
MIN_WORD_CHARS = 18
UUID_CHARS = 36
REACH_CHARS = 24
# A value begins within so many words behind its name; no shorter one is taken for a secret.
WORDS_BEHIND, FAR_CHARS, MIN_SECRET_CHARS = 5, 400, 6


def may_hold_secret(text: str) -> bool:
    """False only where `redact` would change nothing in the text of a memory."""
    text = text.replace(CLOSE_FENCE, "")  # our own mark, which would look like one of those
    if any(mark in text for mark in MARKS):
        return True
    for word in text.split():
        if len(word) >= MIN_WORD_CHARS and not (_is_made_of_words(word) or _is_mark(word)):
            return True
    folded = text.casefold()
    if " as " in folded and any(part in folded for part in NAME_PARTS):
        return True  # "use hunter42x as the password"
    return "<private" in folded or any(_is_given(folded, part) for part in NAME_PARTS)


def _is_made_of_words(word: str) -> bool:
    """Whether a long word is words and numbers with signs between, as in `billing-worker-12`.

    Letters beside digits, and capitals within, may be a key.
    """
    part = ""
    for character in word + " ":
        if character.isalnum():
            part += character
        elif part:
            is_word = part.isalpha() and (part[1:].islower() or len(part) == 1)
            if not (is_word or part.isdigit()):
                return False
            part = ""
    return True


def _is_mark(word: str) -> bool:
    """Whether a word is an id or a time of ours."""
    if len(word) == UUID_CHARS and [word[i] for i in (8, 13, 18, 23)] == ["-"] * 4:
        return word.replace("-", "").isalnum()
    return word[:1] == "2" and word[4:5] + word[7:8] + word[10:11] + word[-1:] == "--TZ"


def without_secrets(text: str) -> str:
    """The text as `redact` leaves it."""
    if not may_hold_secret(text):
        return text
    from memory_fabric.redact import redact  # its expressions cost: only doubtful texts pay them

    return redact(text)


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
    if not _is_doubtful(value):
        return dict(value)
    from memory_fabric.redact import redacted_object

    return redacted_object(value)


def _is_doubtful(value: Any) -> bool:
    if isinstance(value, str):
        return may_hold_secret(value)
    if isinstance(value, dict):
        keys = (str(key).casefold() for key in value)
        named = any(part in key for key in keys for part in KEY_PARTS)
        return named or any(_is_doubtful(part) for pair in value.items() for part in pair)
    return isinstance(value, list | tuple) and any(map(_is_doubtful, value))


def _is_given(folded: str, part: str) -> bool:
    """Whether the name of a secret stands before something that could be its value."""
    at = folded.find(part)
    while at >= 0:
        at += len(part)
        behind = folded[at : at + REACH_CHARS]
        if any(sign in behind for sign in SIGNS):
            return True
        # In a sentence only a password is a plain word; "requires tokens for all" tells nothing.
        if part in PASSWORDS and any(sign in behind for sign in SAID):
            return True
        near = folded[at : at + FAR_CHARS].split()[:WORDS_BEHIND]
        if any(len(word) >= MIN_SECRET_CHARS and not _is_plain(word) for word in near):
            return True
        at = folded.find(part, at)
    return False


def _is_plain(word: str) -> bool:
    return word.strip(".,;!?()-").isalpha()
