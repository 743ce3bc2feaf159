"""The parts of a message: its sentences, and what a person wrote in it beside logs and code."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from memory_fabric.text import STOPWORDS, cjk_pairs, words

# A paste is recognised by its shape: this many lines, most of them not sentences.
PASTE_LINES, PASTE_SHARE = 8, 0.6
PASTED_LINES = 7
# A sentence of fewer content words is read with the one before it.
SENTENCE_TERMS = 3
# More content words are hardly about one thing.
WINDOW_TERMS = 32
_ENDS = ".;!?\n。！？；"


def may_hold_a_log(text: str) -> bool:
    """Return True if a prompt has so many lines that it may show what has failed."""
    return text.count("\n") >= PASTED_LINES


def is_paste(text: str) -> bool:
    """Return True if the text is mostly a log, a trace or code rather than written by a person."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if len(lines) < PASTE_LINES:
        return False
    return sum(map(_is_machine_line, lines)) > PASTE_SHARE * len(lines)


def written(text: str) -> str:
    """Return the lines of a prompt that a person wrote; of a paste, the paragraphs beside it."""
    if not may_hold_a_log(text):
        return text
    if not is_paste(text):
        lines = (line for line in text.splitlines() if line.strip())
        return "\n".join(line for line in lines if not _is_machine_line(line.strip()))
    stripped = "\n".join(line.strip() for line in text.splitlines())
    return "\n".join(
        paragraph
        for paragraph in stripped.split("\n\n")
        if not any(map(_is_machine_line, filter(None, paragraph.splitlines())))
    ).strip()


def sentences(text: str) -> Iterator[tuple[str, str]]:
    """Yield the sentences of a text, each with the sign that ends it; a dot inside a word is no
    end.
    """
    start = 0
    for at, sign in enumerate(text):
        if sign in _ENDS and (sign != "." or not text[at + 1 : at + 2].strip()):
            if at > start:
                yield text[start:at], sign
            start = at + 1
    yield text[start:], "."


@lru_cache(4)  # relevance and the floor ask for those of the same message
def split(text: str) -> tuple[tuple[str, ...], bool]:
    """Return the sentences of a text, and True if it has more content words than WINDOW_TERMS."""
    found: list[str] = []
    sizes: list[int] = []
    for sentence, end in dict.fromkeys(sentences(text)):
        size = sum(word not in STOPWORDS for word in words(sentence)) + len(cjk_pairs(sentence))
        if found and min(size, sizes[-1]) < SENTENCE_TERMS:
            found[-1] += f"{sentence}{end}"
            sizes[-1] += size
        elif size:
            found.append(f"{sentence}{end}")
            sizes.append(size)
    return tuple(found), len(found) > 1 and sum(sizes) > WINDOW_TERMS


def _is_machine_line(line: str) -> bool:
    """Return True for a line that ends, begins or is built like code, a log or a trace."""
    line = line.removeprefix("- ")  # an item of a list
    if line[-1] in "{};\\" or line.startswith(
        ("at ", "File ", "Traceback", "+", "-", "|", "$", ">")
    ):
        return True
    letters = sum(c.isalpha() or c == " " for c in line)
    return line[0].isdigit() or line[0] == "[" or letters < 0.75 * len(line)
