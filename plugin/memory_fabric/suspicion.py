"""Whether a text could hold a secret: a cheap look, so that most texts never load the rules.

What is stored was redacted by the rules of its day. What is shown passes today's, too: a row may
be older than a rule.
"""

from __future__ import annotations

from memory_fabric.text import CLOSE_FENCE

NAME_PARTS = "pass secret token key credential pwd auth cookie phrase login identified".split()
PASSWORDS = frozenset("pass pwd phrase login".split())
SIGNS = ("=", ":", "|", '"', "'", "`")
SAID = (" is ", " to ", " for ")
# What stands in URLs, command lines, key blocks, XML, .pgpass.
MARKS = (
    *("://", "--", "</", "/>", " -p", " -u ", " -U ", " -a ", " -w ", "pass:", "Private-Lines:"),
    *(":54", ":64", ":*:", ":26257:"),
)
# No issuer's shape is shorter; one in which letters and digits never mix is one in hundreds.
MIN_WORD_CHARS, MIN_MIXED_CHARS = 18, 5
REACH_CHARS = 24


def may_hold_secret(text: str) -> bool:
    """False only where `redact` would change nothing in the text of a memory."""
    text = text.replace(CLOSE_FENCE, "")  # our own mark, which would look like one of those
    if any(mark in text for mark in MARKS):
        return True
    for word in text.split():
        if len(word) >= MIN_WORD_CHARS and _mixes(word):
            return True
    folded = text.casefold()
    if " as " in folded and any(part in folded for part in NAME_PARTS):
        return True  # "use hunter42x as the password"
    return "<private" in folded or any(_is_given(folded, part) for part in NAME_PARTS)


def _mixes(word: str) -> bool:
    """Whether letters and digits mix somewhere in a word, as in a key and not in `worker-12`."""
    run = ""
    for character in word + " ":
        if character.isalnum():
            run += character
        elif run:
            if len(run) >= MIN_MIXED_CHARS and not run.isalpha() and not run.isdigit():
                return True
            run = ""
    return False


def shown(text: str) -> str:
    """The text as it may be shown: redacted by today's rules."""
    if not may_hold_secret(text):
        return text
    from memory_fabric.redact import redact  # its expressions cost: only doubtful texts pay them

    return redact(text)


def _is_given(folded: str, part: str) -> bool:
    """Whether the name of a secret stands before something that could be its value."""
    at = folded.find(part)
    while at >= 0:
        behind = folded[at + len(part) : at + len(part) + REACH_CHARS]
        if any(sign in behind for sign in SIGNS) or any(c.isdigit() for c in behind):
            return True
        # In a sentence only a password is a plain word; "requires tokens for all" tells nothing.
        if part in PASSWORDS and any(sign in behind for sign in SAID):
            return True
        if any(not word.strip(".,;!?()-").isalpha() for word in behind.split()):
            return True
        at = folded.find(part, at + 1)
    return False
