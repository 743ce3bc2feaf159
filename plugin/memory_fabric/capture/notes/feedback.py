"""Feedback to the writer of a turn's notes: one line beside the next prompt.

A part is `[key, heading, text, told]`; a key is told once in a session, since a turn may be read
twice: in its last message, and later in the transcript.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from memory_fabric.capture.notes.keep import Kept
from memory_fabric.ids import short_id
from memory_fabric.models import Record, shown_type
from memory_fabric.text import cut, first_of, neutralised, one_line

Part = list[str]

MAX_CHARS, MAX_WORDS_CHARS, MAX_EARLIER_CHARS = 300, 40, 100
KEPT, UNSAID, REPLACED, NOT_REPLACED, DROPPED, NOT_DROPPED, LOST, EARLIER = HEADINGS = (
    "Kept", "Not the user's words", "Replaced", "Not replaced", "Dropped", "Not dropped",
    "Not kept", "On this before (if it no longer holds, note Dropped: ID)",
)  # fmt: skip
ONLY_HERE = "for this project only: no words of the user say everywhere"


def parts_of(kept: Iterable[Kept], session: str) -> list[Part]:
    """Return what a session is to be told of these notes; nothing of what it repeats of others."""
    found = []
    for one in kept:
        dropped = one.record is None
        if one.record is not None and one.record.session == session:
            id_ = short_id(one.record.id)
            whose = " (user's words)" if one.record.trust == "user" else ""
            named = (
                f"{id_} {one.record.evidence.get('noted') or shown_type(one.record.type)}{whose}"
            )
            named += f", {ONLY_HERE}" if one.only_here else ""
            against = ", ".join(short_id(old.id) for old in one.contradicted)
            named += f", contradicts {against}: the user is asked" if against else ""
            found.append([id_, KEPT, named])
            if one.unsaid:
                found.append([_quoted(one.unsaid), UNSAID, _quoted(one.unsaid)])
            found += [
                [
                    _key(EARLIER, old),
                    EARLIER,
                    f"{short_id(old.id)} {_quoted(old.what, MAX_EARLIER_CHARS)}",
                ]
                for old in one.earlier
            ]
        if dropped or one.is_new:
            gone, stays = (DROPPED, NOT_DROPPED) if dropped else (REPLACED, NOT_REPLACED)
            found += [[_key(gone, old), gone, short_id(old.id)] for old in one.replaced]
            for name, reason in one.refused:
                id_ = name.partition(":")[0]
                found.append([f"{stays} {id_}", stays, f"{id_} ({reason})"])
        if one.lost:
            found.append([f"{LOST} {_quoted(one.lost)}", LOST, _quoted(one.lost)])
    return found


def text_of(parts: Sequence[Sequence[str]]) -> str:
    """Return the line for the writer: at most MAX_CHARS, with as many of each heading as fit."""
    line = ""
    for most in (len(parts), 6, 3, 1):
        line = " ".join(
            f"{heading}: {first_of(texts, most)}."
            for heading in HEADINGS
            if (texts := [part[2] for part in parts if part[1] == heading])
        )
        if len(line) <= MAX_CHARS:
            break
    return cut(neutralised(one_line(line)), MAX_CHARS)


def _key(heading: str, record: Record) -> str:
    return f"{heading} {short_id(record.id)}"


def _quoted(text: str, max_chars: int = MAX_WORDS_CHARS) -> str:
    return f"“{cut(one_line(text), max_chars)}”"
