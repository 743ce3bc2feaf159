"""Convert an ingested text to turns and records, without side effects. Another program sent it, not
the user, so its records get the trust "tool" and the confidence that the program states.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from itertools import groupby
from typing import Any

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
# The maximum number of notes per text; the number of decisions is not limited.
MAX_NOTES = 60
# The minimum number of words in a turn; a shorter text is a greeting or a status message.
LEAST_WORDS = 3
# A turn's words are counted only in its first MAX_LOOKED_AT characters.
MAX_LOOKED_AT = 2000


def provenance(claimed: Claimed) -> models.Provenance:
    """Return the provenance of an ingested text: sender, session, domain and time (`said_at`)."""
    ingest = claimed.ingest
    at = said_at(ingest.created_at, claimed.accepted_at)
    by = models.Provenance(models.INGEST, "tool", ingest.session_id, ingest.source_model, at=at)
    return by._replace(domain=ingest.domain)


def said_at(stated: str, accepted_at: str) -> str:
    """Convert a text's time `stated` to UTC; return `accepted_at` if it is invalid or later."""
    try:
        time = datetime.fromisoformat(stated)
        said_s = (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError, OSError):
        return accepted_at
    return min(ids.timestamp(said_s), accepted_at) if said_s > 0 else accepted_at


def messages(summary: str) -> list[str]:
    """Split a summary into its messages, at lines that consist of three hyphens."""
    grouped = groupby(summary.splitlines(), lambda line: line.strip() == ingest_protocol.BETWEEN)
    texts = ("\n".join(lines).strip() for is_separator, lines in grouped if not is_separator)
    return [text for text in texts if text]


def episodes(claimed: Claimed) -> list[dict[str, str]]:
    """Return a text's turns as rows for the store; equal turns of a session have equal ids."""
    session, by = claimed.ingest.session_id or f"ingest:{claimed.id}", provenance(claimed)
    about = {"session": session, "role": "assistant", "place": models.INGEST}
    about |= {"agent": by.agent, "project": claimed.ingest.project, "created_at": by.at}
    rows: dict[str, dict[str, str]] = {}
    summary = without_injected(summary_text(claimed.ingest.session_summary))
    for part in (part for message in messages(summary) for part in _parts(message)):
        if len(words(part[:MAX_LOOKED_AT])) >= LEAST_WORDS:
            id_ = ids.id_for(f"turn {session}\n{part}")
            rows[id_] = {"id": id_, "text": part, **about}
    return list(rows.values())


def records(
    claimed: Claimed, known: Mapping[str, str], unread: Unread | None = None
) -> list[models.Record]:
    """Return the records of a text, with deterministic ids: its decisions, and the notes in its
    summary. All other text is stored only as turns. `known` maps a key (`name_key`) of each known
    entity to its name, to recognise mentions of entities. `unread` counts decisions and notes that
    cannot be parsed. Their records have only a text, without a reason, entities or alternatives.
    """
    unread = unread or Unread()
    sure = claimed.ingest.confidence
    # Extract the reason and the rejected alternatives from the text of each decision.
    decision = partial(statement, type="decision", known=known)
    decisions = [one_line(without_injected(text)) for text in claimed.ingest.key_decisions]
    stated = [unread.attempt(models.Record("decision", t), decision, t) for t in decisions if t]
    notes = parse(without_injected(summary_text(claimed.ingest.session_summary))).notes[:MAX_NOTES]
    stated += [_noted(note, known, unread) for note in notes]
    by_form: dict[str, models.Record] = {}
    for record in stated:
        by_form.setdefault(same_form(record.what), record)
    about: dict[str, Any] = {"confidence": sure, "project": claimed.ingest.project}
    about["valid_from"] = provenance(claimed).at
    made = []
    for number, record in enumerate(by_form.values()):
        is_general = record.generalizable and sure >= models.GENERALIZABLE_FROM
        id_ = ids.id_for(f"record {claimed.id} {number}")
        made.append(record._replace(id=id_, generalizable=is_general, **about))
    return made


def _noted(note: Note, known: Mapping[str, str], unread: Unread) -> models.Record:
    """Convert a note to a record. It supersedes none, and a quotation in the note is left out."""
    note = note._replace(text=without_secrets(note.text))
    rejected = [without_secrets(name) for name in alternatives(note.instead_of)]
    parse_note = partial(statement, type=note.kind, why=without_secrets(note.why), known=known)
    parse_note = partial(parse_note, alternatives=rejected)
    plain = models.Record(models.record_type(note.kind), note.text)
    record = unread.attempt(plain, parse_note, note.text)
    stated = {models.WHEN: without_secrets(note.when), models.ALSO: without_secrets(note.also)}
    return record._replace(evidence={key: value for key, value in stated.items() if value})


def _parts(message: str) -> list[str]:
    parts = []
    while len(message) > MAX_TURN_CHARS:
        ends = (message.rfind(c, MAX_TURN_CHARS // 2, MAX_TURN_CHARS) for c in ("\n", " "))
        end = next((end for end in ends if end > 0), MAX_TURN_CHARS)
        parts.append(message[:end].strip())
        message = message[end:].lstrip()
    return [part for part in (*parts, message) if part]
