"""Who says it again: another session on its own, or only an echo of what was said before.

Asked of the store where a record may repeat one: never for a prompt that states something new.
"""

from __future__ import annotations

from memory_fabric import ids
from memory_fabric.capture.closing.supersede import CLOSABLE
from memory_fabric.capture.near_duplicates import twin
from memory_fabric.errors import DeadlinePassed, StoreUnavailable
from memory_fabric.language.concepts import concepts
from memory_fabric.models import STORED_FROM
from memory_fabric.recall.parse import parse
from memory_fabric.store import notices, records
from memory_fabric.store.fts_query import match_expression
from memory_fabric.store.memory import USER_SCOPES
from memory_fabric.store.operations import occurrences
from memory_fabric.text import STOPWORDS, cut, one_line, stem, words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory_fabric.models import Provenance, Record
    from memory_fabric.store.database import Database
    from memory_fabric.store.memory import Memory

MAX_KNOWN = 20
# "2026-03-01T10:00:00": clocks of client and house agree to the second, hardly better.
_SECONDS = 19
# Corrected so often, a rule is proposed as a pinned one.
PROPOSED_FROM = 2
MAX_TOLD_CHARS = 80


def stands(memory: Memory, record: Record, by: Provenance) -> bool:
    """Whether this session has said just this already, and nothing has replaced it since."""
    if not by.session:
        return False
    known = memory.find_records(
        "key = ? AND scope = ? AND session = ? AND type = ? AND status = 'active' "
        "AND superseded_by = '' AND valid_to = ''",
        (records.key_of(record), record.scope, by.session, record.type),
    )
    domain = record.domain if record.domain != "general" else by.domain
    return any(k.domain == domain and records.have_same_text(k, record) for k in known)


def in_known_words(memory: Memory, record: Record, by: Provenance) -> Record:
    """The record in the words of a known one that says nearly the same, where it may repeat one.

    Only candidates and corrections are compared so: their sightings count.
    """
    is_correction = bool(occurrences.times(record))
    if record.confidence >= STORED_FROM and not is_correction:
        return record
    types = sorted(CLOSABLE) if is_correction else [record.type]
    database = _database(memory, record)
    query = parse(record.what, plain=True)
    match = match_expression([word for c in concepts(query) for word in c.spellings])
    if database is None or not match:
        return record
    try:
        known = records.about(database, match, types, MAX_KNOWN, candidates=True)
    except (DeadlinePassed, StoreUnavailable):
        return record
    domain = record.domain if record.domain != "general" else by.domain
    same = twin(record._replace(domain=domain), [k for k in known if _within_reach(record, k, by)])
    return record._replace(what=same.what) if same else record


def is_echo(memory: Memory, record: Record, by: Provenance, said_at: str) -> bool:
    """Whether a statement is no sighting of its own.

    What was said before its session began was copied there from another one, by a fork or when a
    session was continued; and an assistant that was given a turn that says it only repeats that.
    """
    session = by.session or memory.settings.session
    database = _database(memory, record._replace(scope="team"))
    if database is None or not session:
        return False
    try:
        if said_at and _was_copied(database, session, said_at):
            return True
        return by.trust != "user" and _was_given(database, session, record)
    except (DeadlinePassed, StoreUnavailable):
        return True  # in doubt it does not count


def propose(memory: Memory, stored: Record, said_at: str) -> None:
    """Propose a rule as a pinned one when this correction was the second: now, and at a start."""
    times = occurrences.times(stored)
    if len(times) != PROPOSED_FROM or times[-1] != said_at or stored.pinned:
        return
    if occurrences.is_declined(stored):
        return
    sentence = (
        f"corrected twice: “{cut(one_line(stored.what), MAX_TOLD_CHARS)}”: to have it pinned, "
        f"ask Claude for memory-fabric pin {ids.short_id(stored.id)}"
    )
    memory.messages.append(sentence)
    place = memory.project.id if memory.project else memory.settings.home
    try:
        notices.add(memory.settings.home, sentence, place=place, about=stored.id)
    except (OSError, TimeoutError) as error:
        memory.fail(f"notices: {error}")


def _within_reach(record: Record, known: Record, by: Provenance) -> bool:
    session = by.session or record.session
    return known.scope != "local" or known.session == session


def _was_copied(database: Database, session: str, said_at: str) -> bool:
    row = database.row("SELECT started_at FROM sessions WHERE id = ?", (session,))
    return bool(row) and said_at[:_SECONDS] < str(row[0])[:_SECONDS] if row else False


def _was_given(database: Database, session: str, record: Record) -> bool:
    """Whether the session was shown a turn that holds these words, or the candidate itself."""
    said = _stems(record.what)
    given = database.rows(
        "SELECT e.text FROM injections AS i JOIN episodes AS e ON i.memory = 'episode:' || e.uuid "
        "WHERE i.session = ?1 UNION ALL SELECT r.what FROM injections AS i "
        "JOIN records AS r ON i.memory = 'record:' || r.id WHERE i.session = ?1",
        (session,),
    )
    return any(said <= _stems(text) for (text,) in given)


def _stems(text: str) -> set[str]:
    return {stem(word) for word in words(text) if word not in STOPWORDS}


def _database(memory: Memory, record: Record) -> Database | None:
    try:
        kind = "user" if record.scope in USER_SCOPES else "project"
        return memory.database(kind, create=False)
    except (DeadlinePassed, StoreUnavailable):
        return None
