"""The end of a turn: its notes become records, what was heard and not noted becomes a candidate."""

from __future__ import annotations

from memory_fabric.capture.confidence import CANDIDATE
from memory_fabric.config import is_checked, trust_for
from memory_fabric.models import AGAIN, BEFORE, PROMPT, QUOTATION, Provenance, Record
from memory_fabric.notes import keep as notes
from memory_fabric.store import notices
from memory_fabric.store.conversations import prompts, sessions
from memory_fabric.text import cut, one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory_fabric.notes.keep import Kept, Said
    from memory_fabric.recall.request_context import RequestContext
    from memory_fabric.store.memory import Memory

# The prompts that a note may quote: that of its turn and the one before.
QUOTABLE = 2
MAX_PROMPT_CHARS, MAX_BEFORE_CHARS = 600, 400
# The types of candidates by the kind of cue that was heard.
HEARD_TYPES = {
    "rule": "constraint",
    "correction": "constraint",
    "choice": "decision",
    "change": "decision",
    "person": "note",
}
MAX_EARLIER = 40


def take(
    context: RequestContext,
    session: str,
    texts: Sequence[str],
    *,
    until: str = "",
    at: str = "",
    source: str = "assistant",
    quotable: int = QUOTABLE,
    into: list[Kept] | None = None,
) -> list[Kept]:
    """Store the notes in the assistant's texts of a turn that ended at `until` (ISO 8601).

    They were written at `at`, if that was earlier than now, and may quote the last `quotable`
    prompts. `into` is given the results, also if the time is over before the last.
    """
    if context.memory.settings.notes == "off":
        return []
    texts = [text for text in texts if may_hold(text)]
    settings = context.memory.settings
    if not texts or settings.notes == "off" or not trust_for(settings, "user"):
        return []
    said = said_by_user(context.memory, session, until=until, quotable=quotable)
    said = said._replace(at=at, is_past=context.is_past)
    by = Provenance(
        source,
        trust="user" if said.checked else "assistant",
        session=session,
        agent=context.agent_type,
        domain=context.domain.name,
    )
    return notes.keep(context.memory, texts, said, by, into=into)


def may_hold(text: str) -> bool:
    """Return True if a text may hold a note; costs almost nothing."""
    folded = text.casefold()
    return "noted" in folded or "dropped" in folded


def said_by_user(
    memory: Memory, session: str, *, until: str = "", quotable: int = QUOTABLE
) -> Said:
    """Return what the user of a session typed, for the check of quotations."""
    found = prompts.of_session(memory.session_database(), session, until)
    return notes.said_in(found, quotable, checked=is_checked(memory.settings))


def end_turn(
    context: RequestContext, session: str, *, noted: bool, before: str = ""
) -> list[Record]:
    """Store as candidates what the user said in this turn and the assistant did not note.

    `before` is what the assistant had said last before the prompt. Returns the new candidates.
    """
    memory, database = context.memory, context.memory.session_database()
    waiting = prompts.unanswered(database, session)
    if not waiting:
        return []
    prompts.mark_answered(database, waiting)
    if noted or not is_checked(memory.settings):
        return []
    # late: most turns have no prompt in which something is heard
    from memory_fabric.capture.prompts.detector import heard, said_again
    from memory_fabric.capture.prompts.stated import stated

    made = []
    for prompt in waiting:
        found = heard(prompt.text)
        if found is None or stated(prompt.text):
            continue  # what it states was stored with the prompt
        earlier = earlier_prompts(memory, session, found.sentence)
        evidence = {
            PROMPT: cut(one_line(prompt.text), MAX_PROMPT_CHARS),
            BEFORE: cut(one_line(before), MAX_BEFORE_CHARS),
            AGAIN: said_again(found.sentence, earlier),
        }
        record = Record(
            type=HEARD_TYPES[found.kind],
            what=found.sentence,
            confidence=CANDIDATE,
            evidence={key: value for key, value in evidence.items() if value},
        )
        by = Provenance(
            "prompt",
            trust="user",
            session=session,
            agent=context.agent_type,
            domain=context.domain.name,
        )
        known = noted_before(memory, found.sentence)
        if known is not None:
            memory.remember(known, by)  # a further occurrence
            continue
        stored = memory.remember(record, by)
        made += [stored] if stored is not None else []
    return made


def last_said(memory: Memory, session: str) -> str:
    """Return the end of the assistant's last message, as far as the transcript was read."""
    return str(sessions.load_notes(memory.session_database(), session).get("said", ""))


def noted_before(memory: Memory, sentence: str) -> Record | None:
    """Return the record with the user's trust that has this sentence as its quotation."""
    from memory_fabric.notes.replaced import nearest
    from memory_fabric.text import same_form

    known = nearest(memory, sentence)
    if known is None or known.trust != "user":
        return None
    quotation = str(known.evidence.get(QUOTATION) or "")
    return known if same_form(quotation) == same_form(sentence) else None


def earlier_prompts(memory: Memory, session: str, sentence: str) -> list[str]:
    """Return prompts of other sessions that share words with a sentence, one of each session."""
    from memory_fabric.store.fts_query import match_expression
    from memory_fabric.text import terms

    query = match_expression(terms(sentence)[:8])
    if not query:
        return []
    rows = memory.session_database().rows(
        "SELECT e.session, e.text FROM episodes_fts AS t JOIN episodes AS e ON e.id = t.rowid "
        "WHERE episodes_fts MATCH ? AND e.role = 'user' AND e.session <> ? "
        "ORDER BY bm25(episodes_fts) LIMIT ?",
        (query, session, MAX_EARLIER),
    )
    return list({row[0]: row[1] for row in reversed(rows)}.values())


def leave_notice(memory: Memory, text: str) -> None:
    """Save a notice for the next event that can show one."""
    if not text:
        return
    try:
        notices.add(memory.settings.home, text)
    except (OSError, TimeoutError) as error:
        memory.fail(f"notices: {error}")
