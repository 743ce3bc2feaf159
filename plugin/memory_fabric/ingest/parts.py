"""Conversion of an ingested text into turns and records, without side effects.

Other programs do not speak for the user. So their records have the trust of a tool, and the
confidence that the sender specifies.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import partial
from itertools import groupby
from typing import NamedTuple

from memory_fabric import ids, ingest_protocol, models
from memory_fabric.capture.notes.grammar import Note, parse
from memory_fabric.capture.notes.replaced import alternatives
from memory_fabric.capture.statement import statement
from memory_fabric.capture.unreadable import Unread
from memory_fabric.hooks.session.checkpoint import summary_text
from memory_fabric.redaction.redact import without_secrets
from memory_fabric.store.queues.ingest_queue import Claimed
from memory_fabric.text import one_line, same_form, without_injected, words

MAX_TURN_CHARS = 16 << 10
# The maximum number of notes read from one text; the number of decisions is not limited.
MAX_NOTES = 60
# The minimum number of words of a turn; a shorter text is a greeting or a status message.
LEAST_WORDS = 3
# The words of a turn are counted in this many characters at its beginning.
MAX_LOOKED_AT = 2000


class Turn(NamedTuple):
    """A message of an ingested text, or a part of a long message; it has an id of its own."""

    id: str
    text: str


def provenance(claimed: Claimed) -> models.Provenance:
    """Return the provenance of an ingested text, such as its sender, its session and its time."""
    ingest = claimed.ingest
    at = said_at(ingest.created_at, claimed.accepted_at)
    by = models.Provenance(models.INGEST, "tool", ingest.session_id, ingest.source_model, at=at)
    return by._replace(domain=ingest.domain)


def said_at(stated: str, accepted_at: str) -> str:
    """Return the time `stated` for a text, in UTC; `accepted_at` if it is invalid or later."""
    try:
        time = datetime.fromisoformat(stated)
        said_s = (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError, OSError):
        return accepted_at
    return min(ids.timestamp(said_s), accepted_at) if said_s > 0 else accepted_at


def session_of(claimed: Claimed) -> str:
    """Return the session of a text's turns: the sender's, or else one made from the text's id."""
    return claimed.ingest.session_id or f"ingest:{claimed.id}"


def turns(claimed: Claimed) -> list[Turn]:
    """Return the turns of a text. The same text in the same session always has the same ids."""
    session = session_of(claimed)
    text = summary_text(claimed.ingest.session_summary)
    split_turns = [
        Turn(ids.id_for(f"turn {session}\n{part}"), part)
        for message in messages(without_injected(text))
        for part in _parts(message)
        if len(words(part[:MAX_LOOKED_AT])) >= LEAST_WORDS
    ]
    return list(dict.fromkeys(split_turns))


def messages(summary: str) -> list[str]:
    """Split a summary into its messages, which are separated by lines of three hyphens."""
    grouped = groupby(summary.splitlines(), lambda line: line.strip() == ingest_protocol.BETWEEN)
    texts = ("\n".join(lines).strip() for is_separator, lines in grouped if not is_separator)
    return [text for text in texts if text]


def episodes(claimed: Claimed, said: Iterable[Turn]) -> list[dict[str, str]]:
    """Return the turns as rows for the store's table of episodes."""
    by, project = provenance(claimed), claimed.ingest.project
    about = {"session": session_of(claimed), "role": "assistant", "place": models.INGEST}
    about |= {"agent": by.agent, "project": project, "created_at": by.at}
    return [{"id": turn.id, "text": turn.text, **about} for turn in said]


def records(
    claimed: Claimed, known: Mapping[str, str], unread: Unread | None = None
) -> list[models.Record]:
    """Return the records of a text, with fixed ids: its decisions, and the notes in its summary.

    `known` maps the `name_key`s of existing entities to their names. The remainder of the summary
    is stored only as turns. If a decision or note cannot be parsed, its record consists only of its
    text, and `unread` counts it.
    """
    unread = unread or Unread()
    sure = claimed.ingest.confidence
    # The reason and the rejected alternatives are extracted from the decision's text.
    decision = partial(statement, type="decision", known=known)
    decisions = [one_line(without_injected(text)) for text in claimed.ingest.key_decisions]
    stated = [unread.attempt(models.Record("decision", t), decision, t) for t in decisions if t]
    notes = parse(without_injected(summary_text(claimed.ingest.session_summary))).notes[:MAX_NOTES]
    stated += [_noted(note, known, unread) for note in notes]
    by_form: dict[str, models.Record] = {}
    for record in stated:
        by_form.setdefault(same_form(record.what), record)
    at = provenance(claimed).at
    return [
        record._replace(
            id=ids.id_for(f"record {claimed.id} {number}"),
            confidence=sure,
            generalizable=record.generalizable and sure >= models.GENERALIZABLE_FROM,
            project=claimed.ingest.project,
            valid_from=at,
        )
        for number, record in enumerate(by_form.values())
    ]


def _noted(note: Note, known: Mapping[str, str], unread: Unread) -> models.Record:
    """Return the record of a note. It replaces no record, and its quotation is not checked."""
    note = note._replace(text=without_secrets(note.text))
    parse_note = partial(
        statement,
        type=note.kind,
        why=without_secrets(note.why),
        alternatives=[without_secrets(name) for name in alternatives(note.instead_of)],
        known=known,
    )
    plain = models.Record(models.record_type(note.kind), note.text)
    record = unread.attempt(plain, parse_note, note.text)
    stated = {models.WHEN: without_secrets(note.when), models.ALSO: without_secrets(note.also)}
    return record._replace(evidence={key: value for key, value in stated.items() if value})


def _parts(message: str) -> list[str]:
    """Split a message into parts that fit into turns, if possible at the end of a line or word."""
    parts = []
    while len(message) > MAX_TURN_CHARS:
        ends = (message.rfind(c, MAX_TURN_CHARS // 2, MAX_TURN_CHARS) for c in ("\n", " "))
        end = next((end for end in ends if end > 0), MAX_TURN_CHARS)
        parts.append(message[:end].strip())
        message = message[end:].lstrip()
    return [part for part in (*parts, message) if part]
