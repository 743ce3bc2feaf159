"""Texts that hooks told in a replay: ids of records, and the parts of a text that cost characters.

Ids differ from run to run. Files of notes therefore hold `{id:words}`: the id that was told last
on a line with these words.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import NamedTuple

PLACEHOLDER = re.compile(r"\{id:([^{}]*)\}")
SHORT_ID = re.compile(r"(?<![0-9a-z-])[0-9a-f]{8}(?![0-9a-z-])")
# Lengths of the words by which an id is named, in characters: the shortest that finds it again.
WORDS_CHARS = (60, 120, 400)
FENCES = ("<memory-fabric>", "</memory-fabric>")
# The protocol is a paragraph that begins with these words.
PROTOCOL = "Memory notes."
# Review debt is a paragraph whose first line says this of candidates.
DEBT = re.compile(r"\bnot noted\b", re.IGNORECASE)
# A cue is a line that comes with a prompt, is no memory and speaks of noting or of a known record.
CUE = re.compile(r"\b(?:note|noted|notes)\b|on record:|instead of:", re.IGNORECASE)
# What became of the notes before: neither a cue nor a memory.
FEEDBACK = re.compile(
    r"(?:Kept|Not the user's words|Replaced|Not replaced|Dropped|Not dropped|Not kept): "
)


class Unresolved(Exception):
    """Raised for `{id:words}` of a file of notes that nothing told so far answers."""


class _Line(NamedTuple):
    text: str
    ids: tuple[tuple[int, str], ...]


class Ids:
    """The ids that a replay told, with the lines on which it told them."""

    def __init__(self) -> None:
        self._known: set[str] = set()
        self._lines: list[_Line] = []

    def know(self, ids: Iterable[str]) -> None:
        """Take ids of records; nothing else that looks like one counts."""
        self._known.update(id_[-8:] for id_ in ids)

    def hear(self, text: str) -> None:
        """Take a text that a hook told."""
        for line in map(folded, text.splitlines()):
            ids = tuple((m.start(), m[0]) for m in self._ids(line))
            if ids:
                self._lines.append(_Line(line, ids))

    def resolved(self, line: str) -> str:
        """Return the line with its placeholders replaced by ids; raises Unresolved."""
        return PLACEHOLDER.sub(lambda match: self._id(match[1]), line)

    def with_told_words(self, line: str) -> str:
        """Return a note with its ids as placeholders, by the words they were told with last."""
        return SHORT_ID.sub(lambda match: self._placeholder(match[0]), line)

    def without(self, text: str) -> str:
        """Return the text with the same letters for each id."""
        return SHORT_ID.sub(lambda m: "id" if m[0] in self._known else m[0], text)

    def _ids(self, line: str) -> list[re.Match[str]]:
        return [m for m in SHORT_ID.finditer(line) if m[0] in self._known]

    def _id(self, words: str) -> str:
        asked = folded(words)
        for line in reversed(self._lines):
            place = line.text.find(asked) if asked else -1
            if place >= 0:
                before = [id_ for start, id_ in line.ids if start < place]
                return before[-1] if before else line.ids[0][1]
        raise Unresolved(words)

    def _placeholder(self, id_: str) -> str:
        for line in reversed(self._lines):
            for match in self._ids(line.text):
                if match[0] == id_ and (words := self._words(line.text, match)) != id_:
                    return words
        return id_

    def _words(self, line: str, match: re.Match[str]) -> str:
        rest = SHORT_ID.split(line[match.end() :])[0].lstrip("]) :·")
        rest = re.split(r"[{}]", rest)[0]
        before = re.split(r"[{}]", line[: match.start()])[-1]
        for source in (rest, before):
            for chars in WORDS_CHARS:
                words = source[:chars].rpartition(" ")[0] if len(source) > chars else source
                if words.strip() and self._finds(words, match[0]):
                    return f"{{id:{words.strip()}}}"
        return match[0]

    def _finds(self, words: str, id_: str) -> bool:
        try:
            return self._id(words) == id_
        except Unresolved:
            return False


class Block(NamedTuple):
    """A session's block in parts: memories, review debt and protocol."""

    memories: str
    debt: str
    protocol: str


def block_parts(text: str) -> Block:
    """Split what a session's start told."""
    parts: dict[str, list[str]] = {"memories": [], "debt": [], "protocol": []}
    part = "memories"
    for line in text.splitlines():
        if line.startswith(PROTOCOL):
            part = "protocol"
        elif part != "protocol" and not line.startswith("- [") and DEBT.search(line):
            part = "debt"
        elif not line.strip() or line.startswith(("## ", "<")):
            part = "memories"
        parts[part].append(line)
    memories, debt, protocol = ("\n".join(lines).strip() for lines in parts.values())
    return Block(memories, debt, protocol)


def cues_of(text: str) -> str:
    """Return the lines of a prompt's addition that are cues of the detector."""
    return "\n".join(line for line in text.splitlines() if _is_cue(line))


def memories_of(text: str) -> str:
    """Return a prompt's addition without its cues, feedback and fence; '' if only headings are
    left.
    """
    told = [x for x in text.splitlines() if x.strip() and x not in FENCES]
    kept = [x for x in told if not _is_cue(x) and not FEEDBACK.match(x)]
    return "\n".join(kept) if any(not x.endswith(":") for x in kept) else ""


def without_fences(text: str) -> str:
    """Return a block without the lines around it."""
    return "\n".join(x for x in text.splitlines() if x not in FENCES).strip()


def folded(text: str) -> str:
    """Return the text in lower case with single spaces."""
    return " ".join(text.casefold().split())


def words_of(text: str) -> set[str]:
    """Return the words of a text in lower case."""
    return set(re.findall(r"\w+", text.casefold()))


def covered(text: str, whole: Collection[str]) -> float:
    """Return the share of the text's words that are in a collection of words, 0 to 1."""
    words = words_of(text)
    return len(words.intersection(whole)) / len(words) if words else 0.0


def _is_cue(line: str) -> bool:
    is_told = line.startswith(("- ", "#", "<")) or FEEDBACK.match(line)
    return not is_told and bool(CUE.search(line))
