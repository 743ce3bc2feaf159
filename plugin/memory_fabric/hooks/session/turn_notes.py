"""Store a finished turn's notes; if it has none, the user's statements as unconfirmed records."""

from collections.abc import Sequence
from typing import NamedTuple

from memory_fabric import models
from memory_fabric.capture.cues import may_hear
from memory_fabric.capture.notes import keep as notes
from memory_fabric.capture.notes import protocol
from memory_fabric.capture.notes.grammar import may_hold
from memory_fabric.capture.notes.quotation import around
from memory_fabric.capture.notes.replaced import noted_before
from memory_fabric.capture.notes.typed import typed_words
from memory_fabric.capture.remember import kind_of
from memory_fabric.capture.statement import CANDIDATE, NOTE, USER_NOTE
from memory_fabric.clients.transcript import Turn
from memory_fabric.config import is_checked, trust_for
from memory_fabric.models import Provenance, Record
from memory_fabric.recall.request_context import RequestContext
from memory_fabric.redaction.redact import without_secrets
from memory_fabric.store import records
from memory_fabric.store.conversations import prompts, sessions
from memory_fabric.store.database import Database
from memory_fabric.store.memory import Memory
from memory_fabric.store.queries.conditions import match_expression
from memory_fabric.store.write import cleaned
from memory_fabric.text import cut, one_line, terms, without_injected

MAX_BEFORE_CHARS = 400
# The record type for each kind of statement that `heard` finds in a prompt.
HEARD_TYPES = dict.fromkeys(("rule", "correction"), "constraint")
HEARD_TYPES |= dict.fromkeys(("choice", "change"), "decision") | {"person": "note"}
MAX_EARLIER = 40


def take(
    context: RequestContext,
    session: str,
    texts: Sequence[str],
    *,
    until: str = "",
    at: str = "",
    source: str = "assistant",
    before: str = "",
    into: list[protocol.Kept] | None = None,
) -> list[protocol.Kept]:
    """Store the notes in `texts`, the assistant's messages of a turn that ended at `until` (ISO
    8601; '' for the newest turn). Return the results, except feedback that the session already had.
    The list `into` gets the results even after a timeout. `at` is the time of past sessions' texts.
    `before` is the assistant's message before the turn's prompt, which may agree to it.
    """
    settings = context.memory.settings
    texts = [text for text in texts if settings.notes != "off" and may_hold(text)]
    if not texts or not trust_for(settings, "user"):
        return []
    prompts_typed = said_by_user(context.memory, session, until=until)
    prompts_typed = prompts_typed._replace(at=at, is_past=context.is_past, before=before)
    by = context.by(source, session, "user" if prompts_typed.checked else "assistant")
    results = [] if into is None else into
    try:
        return notes.keep(context.memory, texts, prompts_typed, by, into=results)
    finally:
        # Queue feedback for this session, and notices about closed records for later sessions.
        database = context.memory.session_database()
        new = sessions.add_feedback(database, session, protocol.parts_of(results, session))
        closed = [old.id for result in results for old in result.replaced if old.trust == "user"]
        if closed and not context.is_past:
            sessions.note_closed(database, session, closed, context.now)
        results[:] = [
            result
            for result in results
            if result.record or new & {part[0] for part in protocol.parts_of([result], session)}
        ]


def said_by_user(memory: Memory, session: str, *, until: str = "") -> notes.Said:
    """Return the session's prompts that notes may quote."""
    session_prompts = prompts.of_session(memory.session_database(), session, until)
    typed = [prompt for prompt in session_prompts if prompt.origin != prompts.BY_MACHINE]
    return notes.Said(tuple(typed), checked=is_checked(memory.settings))


def settle(
    context: RequestContext, session: str, entries: Sequence[Turn], *, again: bool = False
) -> None:
    """Save who sent the prompts whose sender is unknown, as their transcript `entries` show.
    Records of typed prompts then get the trust "user". `again` means that the transcript is read
    again, so that entries may also belong to prompts whose sender is already known.
    """
    database = context.memory.session_database()
    staged = prompts.of_session(database, session)[::-1] if entries else []
    waiting = [prompt for prompt in staged if prompt.origin == prompts.STAGED]
    unmatched = [turn._replace(text=stored_prompt(turn)) for turn in entries if waiting]
    settled = [prompt for prompt in staged if again and prompt.origin != prompts.STAGED]
    for prompt in (*settled, *waiting):
        said = prompt.text.split()
        entry = next((turn for turn in unmatched if turn.text.split() == said), None)
        if entry is None:
            continue
        unmatched.remove(entry)
        if prompt.origin == prompts.STAGED:
            _trust_by(context, session, prompt, typed=entry.origin == prompts.TYPED)
            prompts.settle(database, prompt, entry.origin)


def stored_prompt(entry: Turn) -> str:
    """Return the text of a transcript entry as the prompt hook would store it."""
    return cut(without_secrets(typed_words(entry.text)), prompts.MAX_PROMPT_CHARS)


def _trust_by(context: RequestContext, session: str, prompt: prompts.Prompt, typed: bool) -> None:
    """Save in a prompt's records that its sender is known; if typed, give them the trust "user"."""
    memory = context.memory
    staged = f"session = ? AND json_extract(body, '$.evidence.{models.STAGED}') = ?"
    marked = memory.find_records(staged, (session, prompt.at))
    for record in marked:
        by = Provenance("prompt", trust="user", session=record.session, domain=record.domain)
        evidence = {key: value for key, value in record.evidence.items() if key != models.STAGED}
        settled = record._replace(evidence=evidence)
        if typed:
            more = USER_NOTE - NOTE if notes.NOTED in evidence else 0.0
            settled = settled._replace(trust="user", confidence=min(1.0, record.confidence + more))
        payload = {"record": records.as_object(settled), "seen_in": [record.session]}
        memory.write("put_record", payload, by, store=kind_of(memory, record))
    if typed and not marked and may_hear(prompt.text):
        from memory_fabric.hooks.session.heard import store_stated  # imported late: seldom needed

        # Store its statements anew: only typed text may restore forgotten records or raise trust.
        store_stated(context, session, prompt.text, at=prompt.at)


def end_turn(
    context: RequestContext, session: str, kept: Sequence[protocol.Kept], before: str = ""
) -> None:
    """Store the user's statements of this turn as candidates (unconfirmed), unless the assistant
    noted or dropped something (`kept`). `before` is the assistant's message before the prompt.
    """
    memory, database = context.memory, context.memory.session_database()
    waiting = prompts.unanswered(database, session)
    if not waiting:
        return
    if any(one.record or one.replaced for one in kept) or not is_checked(memory.settings):
        prompts.mark_answered(database, waiting)
        return
    from memory_fabric.capture.prompts import heard, said_again, stated  # imported late: rare case

    for prompt in waiting:
        is_staged = prompt.origin == prompts.STAGED
        cue = heard(prompt.text) if is_staged or prompt.origin == prompts.TYPED else None
        if cue is None or stated(prompt.text):
            continue  # already stored when the prompt was typed
        evidence = {
            models.PROMPT: around(cue.sentence, prompt.text) or one_line(prompt.text),
            models.BEFORE: cut(one_line(before), MAX_BEFORE_CHARS),
            models.AGAIN: said_again(cue.sentence, earlier_prompts(memory, session, cue.sentence)),
            models.STAGED: prompt.at if is_staged else "",
        }
        evidence = {key: value for key, value in evidence.items() if value}
        kind = HEARD_TYPES[cue.kind]
        record = Record(kind, cue.sentence, confidence=CANDIDATE, evidence=evidence)
        by = context.by("prompt", session, "assistant" if is_staged else "user")
        # If a note already quotes this sentence, count one more occurrence of that note instead.
        memory.remember(noted_before(memory, cue.sentence) or record, by)
    prompts.mark_answered(database, waiting)  # last: a turn that ran out of time is read again


def last_said(memory: Memory, session: str) -> str:
    """Return the end of the assistant's last message in the part of the transcript read so far."""
    return str(sessions.load_notes(memory.session_database(), session).get("said", ""))


def earlier_prompts(memory: Memory, session: str, sentence: str) -> list[str]:
    """Return prompts that share words with a sentence, at most one for each other session."""
    query = match_expression(terms(sentence)[:8])
    if not query:
        return []
    return prompts.matching_elsewhere(memory.session_database(), query, session, MAX_EARLIER)


MAX_EPISODE_CHARS = 16 << 10


class OwnedTurn(NamedTuple):
    """A turn, its session, and two flags: new to memory, and part of the current session."""

    turn: Turn
    owner: str
    is_new: bool
    is_own: bool


def with_owners(db: Database, turns: Sequence[Turn], session: str) -> list[OwnedTurn]:
    """Return the turns of a session's transcript in order, each with its session. A forked session
    begins with copied turns. No turn up to the last copy is its own. A turn is a copy if it has
    another session's id, or is stored for another (with the same uuid, or time, role and text).
    """
    keepers = _keepers(db, turns)
    # A prompt copied into a fork has no session id, so it gets the session id of the next answer.
    owners: list[str] = []
    later = session
    for turn in reversed(turns):
        named = turn.session or later
        owners.append(later if turn.role == "user" and named == session else named)
        later = named if turn.role == "assistant" else later
    owners.reverse()
    own = ("", session)
    foreign = [n for n, owner in enumerate(owners) if owner != session or keepers[n] not in own]
    copied = foreign[-1] + 1 if foreign else 0
    return [
        OwnedTurn(turn, keeper or owner, not keeper, place >= copied)
        for place, (turn, owner, keeper) in enumerate(zip(turns, owners, keepers, strict=True))
    ]


def episode_text(said: str) -> str:
    """Return the text of a turn in the form stored in its episode: redacted, then cut."""
    return cut(without_secrets(without_injected(said)).strip(), MAX_EPISODE_CHARS)


def _keepers(db: Database, turns: Sequence[Turn]) -> list[str]:
    """Return, for each turn, the session for which the turn is already stored, or ''."""
    with_text = [turn for turn in turns if turn.uuid and turn.text]
    if not with_text:
        return [""] * len(turns)
    by_uuid, by_time = sessions.known_turns(db, [(t.uuid, t.role, t.created_at) for t in with_text])
    keepers = []
    for turn in turns:
        keeper = by_uuid.get(turn.uuid, "")
        if stored_turns := () if keeper else by_time.get((turn.role, turn.created_at), ()):
            text = cleaned({"text": episode_text(turn.text)})["text"]
            # If a purge erased text in the stored turn, accept the copy though its text differs.
            same = (who for who, said in stored_turns if said == text or models.ERASED in said)
            keeper = next(same, "")
        keepers.append(keeper)
    return keepers
