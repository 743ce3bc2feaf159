"""What a text that came in holds: its turns, and the records that may be made of it.

Pure. What other programs send is their word, not the user's: it bears the trust of a tool, and is
no surer than its sender says.
"""

from __future__ import annotations

from datetime import UTC, datetime

from memory_fabric import ids
from memory_fabric.capture.extract import extract
from memory_fabric.capture.remember import found_in
from memory_fabric.capture.unreadable import Unread
from memory_fabric.ingest_protocol import BETWEEN
from memory_fabric.models import INGEST, Provenance, Record
from memory_fabric.session.compaction_summary import said_in
from memory_fabric.text import one_line, same_form, without_injected, words
from memory_fabric.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from memory_fabric.models import Entity, Relation
    from memory_fabric.store.ingest_queue import Claimed

TRUST, ROLE = "tool", "assistant"
MAX_TURN_CHARS = 16 << 10
# A text of fewer words is a greeting or the sign of life of a program.
LEAST_WORDS = 3
# Of what its turns say; what is stated as a decision is kept, however much it is.
MAX_RECORDS = 60
# So much of a message tells whether it has words.
MAX_LOOKED_AT = 2000


class Turn(Value):
    """A message of the text, or a part of a long one, with the id under which it is kept."""

    id: str
    text: str


def provenance(claimed: Claimed) -> Provenance:
    """Who says it, where and when: the sender at the time he states, if that is not to come."""
    ingest = claimed.ingest
    return Provenance(
        INGEST,
        trust=TRUST,
        session=ingest.session_id,
        agent=ingest.source_model,
        at=said_at(ingest.created_at, claimed.accepted_at),
        domain=ingest.domain,
    )


def said_at(stated: str, accepted_at: str) -> str:
    """When it was said, in UTC: as stated, where that is a time and not after it came."""
    try:
        time = datetime.fromisoformat(stated)
        time = time if time.tzinfo else time.replace(tzinfo=UTC)
        said_s = time.timestamp()
    except (ValueError, OverflowError, OSError):
        return accepted_at
    return min(ids.timestamp(said_s), accepted_at) if said_s > 0 else accepted_at


def session_of(claimed: Claimed) -> str:
    """The session of its turns: the one it names, else one of its own."""
    return claimed.ingest.session_id or f"ingest:{claimed.id}"


def turns(claimed: Claimed) -> list[Turn]:
    """What was said, message by message; one that says the same in the same session has its id."""
    session = session_of(claimed)
    text = said_in(claimed.ingest.session_summary)
    found = [
        Turn(ids.id_for(f"turn {session}\n{part}"), part)
        for message in messages(without_injected(text))
        for part in _parts(message)
        if len(words(part[:MAX_LOOKED_AT])) >= LEAST_WORDS
    ]
    return list(dict.fromkeys(found))


def messages(summary: str) -> list[str]:
    """The messages of a text: what stands between lines of three hyphens."""
    found: list[list[str]] = [[]]
    for line in summary.splitlines():
        if line.strip() == BETWEEN:
            found.append([])
        else:
            found[-1].append(line)
    return [text for lines in found if (text := "\n".join(lines).strip())]


def episodes(claimed: Claimed, said: Iterable[Turn]) -> list[dict[str, str]]:
    """The turns as the store keeps them."""
    by = provenance(claimed)
    about = {
        "session": session_of(claimed),
        "role": ROLE,
        "place": INGEST,
        "agent": by.agent,
        "project": claimed.ingest.project,
        "created_at": by.at,
    }
    return [{"id": turn.id, "text": turn.text, **about} for turn in said]


def records(
    claimed: Claimed, new: Sequence[Turn], known: Mapping[str, str], unread: Unread | None = None
) -> list[Record]:
    """The decisions that it states, and what its `new` turns hold, each with an id of its own.

    `known` maps the `name_key`s of existing entities to their names. A text of one message is read
    as a summary, several as what an assistant said. What cannot be read is counted in `unread`.
    """
    unread = unread or Unread()
    speaker = "summary" if len(messages(claimed.ingest.session_summary)) < 2 else "assistant"
    sure = claimed.ingest.confidence
    stated = [_decision(text, sure, known, unread) for text in _decisions(claimed)]
    heard = [record for turn in new for record in found_in(turn.text, speaker, known, unread)]
    at = provenance(claimed).at
    return [
        record._replace(
            id=ids.id_for(f"record {claimed.id} {number}"),
            confidence=min(record.confidence, claimed.ingest.confidence),
            project=claimed.ingest.project,
            valid_from=at,
        )
        for number, record in enumerate(_each_once([*stated, *heard[:MAX_RECORDS]]))
    ]


def _decisions(claimed: Claimed) -> list[str]:
    stated = [one_line(without_injected(text)) for text in claimed.ingest.key_decisions]
    return [text for text in stated if text]


def _decision(text: str, confidence: float, known: Mapping[str, str], unread: Unread) -> Record:
    """A decision as it was stated, with the reason and the alternatives that stand in it."""
    found = found_in(text, "summary", known, unread)
    heard = next((r for r in found if r.type == "decision"), None)
    entities, relations = unread.attempt(((), ()), _named, text, known)
    return Record(
        type="decision",
        what=text,
        why=heard.why if heard else "",
        alternatives=heard.alternatives if heard else (),
        entities=entities,
        relations=relations,
        confidence=confidence,
    )


def _named(text: str, known: Mapping[str, str]) -> tuple[tuple[Entity, ...], tuple[Relation, ...]]:
    return extract(text, known=known)


def _each_once(found: Iterable[Record]) -> list[Record]:
    """The first of those that say the same words: a stated decision before what was read."""
    kept: dict[str, Record] = {}
    for record in found:
        kept.setdefault(same_form(record.what), record)
    return list(kept.values())


def _parts(message: str) -> list[str]:
    """A message in parts that a turn can hold, ended where a line or a word does."""
    parts = []
    while len(message) > MAX_TURN_CHARS:
        half = MAX_TURN_CHARS // 2
        ends = (message.rfind(mark, half, MAX_TURN_CHARS) for mark in ("\n", " "))
        end = next((end for end in ends if end > 0), MAX_TURN_CHARS)
        parts.append(message[:end].strip())
        message = message[end:].lstrip()
    return [part for part in (*parts, message) if part]
