"""Symptoms of a known fix: the message or the error code that its record quotes.

A prompt that holds one asks for the fix, also as a pasted log of which nothing else is read.
"""

from __future__ import annotations

from memory_fabric.text import STOPWORDS, words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterator

# Types of records that tell how something failed, or what mended it.
FIXES = frozenset(("solution", "problem", "antipattern"))
QUOTES = {'"': '"', "“": "”", "`": "`", "«": "»", "„": "“", "「": "」"}
# A quoted message of fewer content words is a name or a command.
LEAST_WORDS, LEAST_WORDS_AS_CODE = 3, 4
# An error code such as TS2345, E0502 or ECONNREFUSED.
CODE_CHARS, NAME_CHARS = 5, 8


def shown(record_text: str, said: Container[str]) -> bool:
    """Return True if a prompt with these words shows a symptom that the record's text quotes."""
    return any(
        all(word in said for word in symptom)
        for symptom in (*_quoted(record_text), *_codes(record_text))
    )


def _quoted(text: str) -> Iterator[list[str]]:
    """Yield the content words of each quoted message."""
    at = 0
    while at < len(text):
        closing = QUOTES.get(text[at])
        end = text.find(closing, at + 1) if closing else -1
        if end < 0:
            at += 1
            continue
        content = [word for word in words(text[at + 1 : end]) if word not in STOPWORDS]
        if len(content) >= (LEAST_WORDS_AS_CODE if closing == "`" else LEAST_WORDS):
            yield content
        at = end + 1


def _codes(text: str) -> Iterator[list[str]]:
    for part in text.split():
        code = part.strip("\"'`()[]{},;:.!?“”«»")
        if code.isalnum() and code.isascii() and code.isupper():
            has_digits = len(code) >= CODE_CHARS and code[-3:].isdigit() and code[0].isalpha()
            if has_digits or (len(code) >= NAME_CHARS and code.isalpha() and code[0] == "E"):
                yield [code.lower()]
