"""Negations in a search: `-redis` excludes a word, "other than Redis" ranks it lower.

The latter is not excluded, since an answer often names the alternative. "Why not Redis?", "without
Docker" and "don't use X" are about the thing itself. Linear in the text.
"""

from __future__ import annotations

from memory_fabric.text import STOPWORDS, words

# Phrases before an unwanted thing, longest first.
_CUES = (
    ("other", "than"),
    ("apart", "from"),
    ("except", "for"),
    ("but", "not"),
    ("except",),
    ("excluding",),
    ("besides",),
)
_FIRST_WORDS = frozenset(cue[0] for cue in _CUES)
_ARTICLES = frozenset("the a an our my any in".split())
MIN_WORD_CHARS = 3
MAX_LEFT_OUT = 8


def left_out(text: str) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """Return the text without its negations, the excluded words, and the words to rank lower."""
    tokens = text.split()
    kept: list[str] = []
    out: list[str] = []
    unasked: list[str] = []
    at = 0
    while at < len(tokens):
        token = tokens[at]
        banned = _banned(token) if token[0] == "-" and len(out) < MAX_LEFT_OUT else []
        may_begin = token.lower().strip(",") in _FIRST_WORDS
        taken = 1 if banned else _unasked(tokens, at) if may_begin else 0
        out += banned
        if not taken:
            kept.append(token)
        elif not banned and len(unasked) < MAX_LEFT_OUT:
            unasked += [w for w in words(tokens[at + taken - 1]) if w not in STOPWORDS]
        at += taken or 1
    rest = " ".join(kept) if len(kept) < len(tokens) else text
    excluded, worse = dict.fromkeys(out), dict.fromkeys(unasked)
    return rest, tuple(excluded)[:MAX_LEFT_OUT], tuple(worse)[:MAX_LEFT_OUT]


def _banned(token: str) -> list[str]:
    """Return the words of `-word`, given with its sign; an option such as `-r` or `--verbose` has
    none.
    """
    if not token[1:2].isalpha():
        return []
    return [word for word in words(token) if len(word) >= MIN_WORD_CHARS]


def _unasked(tokens: list[str], at: int) -> int:
    """Return the number of tokens from here that negate something; 0 for none."""
    for cue in _CUES:
        end = at + len(cue)
        if tuple(token.lower().strip(",") for token in tokens[at:end]) == cue:
            while end < len(tokens) and tokens[end].lower() in _ARTICLES:
                end += 1
            named = end < len(tokens) and any(w not in STOPWORDS for w in words(tokens[end]))
            return end + 1 - at if named else 0
    return 0
