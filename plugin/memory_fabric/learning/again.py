"""Sentences that the user said again over past sessions, as candidates: the rule of live ones."""

from __future__ import annotations

from memory_fabric.capture.confidence import CANDIDATE
from memory_fabric.capture.prompts.detector import heard, said_again
from memory_fabric.capture.prompts.gate import may_hear
from memory_fabric.models import AGAIN, BEFORE, PROMPT, Provenance, Record
from memory_fabric.session.turn_notes import (
    HEARD_TYPES,
    MAX_BEFORE_CHARS,
    MAX_PROMPT_CHARS,
    earlier_prompts,
    noted_before,
)
from memory_fabric.store.memory import Memory
from memory_fabric.text import cut, one_line

# Candidates expire after so many days anyway, and of long histories the newest prompts say enough.
MAX_PROMPTS, MAX_MADE = 5000, 40


def keep_said_again(memory: Memory) -> list[Record]:
    """Store as candidates the sentences that the user typed in several sessions of a project, as
    far as this view of its memory shows them.

    They have no trust of the user's: in transcripts other texts pass as typed, so a person keeps
    them, not the assistant's reference to them. Returns the new ones.
    """
    rows = memory.session_database().rows(
        "SELECT id, session, text, created_at, domain FROM episodes WHERE role = 'user' "
        "ORDER BY created_at DESC, id DESC LIMIT ?",
        (MAX_PROMPTS,),
    )
    made: list[Record] = []
    sentences: list[str] = []
    for id_, session, text, at, domain in rows:
        found = heard(text) if may_hear(text) else None
        if found is None or said_again(found.sentence, sentences):
            continue
        times = said_again(found.sentence, earlier_prompts(memory, session, found.sentence))
        if not times or noted_before(memory, found.sentence):
            continue
        sentences.append(found.sentence)
        evidence = {
            PROMPT: cut(one_line(text), MAX_PROMPT_CHARS),
            BEFORE: cut(one_line(_said_before(memory, session, id_)), MAX_BEFORE_CHARS),
            AGAIN: times,
        }
        record = Record(
            type=HEARD_TYPES[found.kind],
            what=found.sentence,
            confidence=CANDIDATE,
            evidence={key: value for key, value in evidence.items() if value},
        )
        by = Provenance("prompt", trust="assistant", session=session, domain=domain)
        stored = memory.remember(record, by, at=at)
        made += [stored] if stored is not None else []
        if len(made) == MAX_MADE:
            break
    return made


def _said_before(memory: Memory, session: str, id_: int) -> str:
    row = memory.session_database().row(
        "SELECT text FROM episodes WHERE session = ? AND id < ? AND role = 'assistant' "
        "ORDER BY id DESC LIMIT 1",
        (session, id_),
    )
    return str(row[0])[-MAX_BEFORE_CHARS:] if row else ""
