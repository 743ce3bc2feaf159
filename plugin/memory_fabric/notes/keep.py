"""Notes of a turn stored as records: trust by their quotation, and what they replace."""

from __future__ import annotations

from memory_fabric import deadline, ids
from memory_fabric.capture.confidence import NOTE, USER_NOTE
from memory_fabric.capture.contradiction import contradicting
from memory_fabric.capture.known_names import KnownNames
from memory_fabric.capture.remember import state
from memory_fabric.capture.statement import statement
from memory_fabric.models import CONTRADICTS, QUOTATION, Provenance, Record, stated_at
from memory_fabric.notes import replaced
from memory_fabric.notes.grammar import Note, parse
from memory_fabric.notes.quotation import check, is_assent, says_everywhere
from memory_fabric.notes.typed_text import typed_words
from memory_fabric.notes.waiting import is_closing_queued, is_queued
from memory_fabric.redaction.prefilter import without_secrets
from memory_fabric.store.conversations import sessions
from memory_fabric.store.operations.supersede_effects import OPEN
from memory_fabric.store.records import key_of
from memory_fabric.text import one_line, same_form, stem, words
from memory_fabric.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from memory_fabric.store.conversations.prompts import Prompt
    from memory_fabric.store.memory import Memory

# The most notes of one turn.
MAX_NOTES = 5
# The share of common words from which a summary repeats a note.
SAME_FROM = 0.8
# Of Latin, Chinese, Japanese, Indic, Urdu, Armenian, Ethiopic and further scripts.
FULL_STOPS = ".。．｡।॥۔։።᙮᠃"
# More keys of a record's evidence: when a rule applies, other words to find it by,
# and that the user agreed to the assistant's proposal.
WHEN, ALSO, AGREED, NOTED = "when", "also", "agreed", "noted"


class Said(Value):
    """The prompts that the session's user typed: those that a note may quote, newest first, and
    all, oldest first.

    `checked` is False where no quotation earns the user's trust: unattended, or in an SDK session.
    `at` is the time at which the notes were written, if that was earlier than now; `times` are
    those of the quotable prompts. `is_past` means that an old session is read: its notes have their
    own time, and close nothing that was stated after it.
    """

    quotable: tuple[str, ...] = ()
    all: tuple[str, ...] = ()
    checked: bool = True
    at: str = ""
    times: tuple[str, ...] = ()
    is_past: bool = False

    def precedes(self, old: Record) -> bool:
        """Return True if a record was stated after these notes."""
        return self.is_past and stated_at(old) > self.at


class Earned(Value):
    """The trust of a note by the user's words, with the quotation that earns it.

    `agreed` means that the user only agreed to the assistant's proposal; `at` is the time of the
    words. `candidate` is the one that the note names.
    """

    trust: str = "assistant"
    quotation: str = ""
    agreed: bool = False
    at: str = ""
    candidate: Record | None = None


class Kept(Value):
    """The result for one note or `Dropped:` line.

    `record` is None for a dropped record. `replaced` were closed, `contradicted` stay beside it.
    """

    record: Record | None
    is_new: bool = True
    replaced: tuple[Record, ...] = ()
    contradicted: tuple[Record, ...] = ()


def keep(
    memory: Memory,
    texts: Iterable[str],
    said: Said,
    by: Provenance,
    *,
    limit: int = MAX_NOTES,
    into: list[Kept] | None = None,
) -> list[Kept]:
    """Store the notes in the assistant's texts of one turn; return what became of each.

    The results are added to `into` one by one, so that it has them, too, if the time of the event
    is over before the last note: then DeadlinePassed is raised.

    Identical lines count once. A note that holds only a secret, that repeats what is known or was
    forgotten, or that does not parse, makes nothing. Raises StoreUnavailable if a note could not
    even be queued.
    """
    notes: dict[tuple[str, str], Note] = {}
    dropped: dict[str, None] = {}
    for text in texts:
        found = parse(text)
        for note in found.notes:
            notes.setdefault((note.kind, same_form(note.text)), note)
        dropped.update(dict.fromkeys(found.dropped))
    kept = [] if into is None else into
    until = deadline.current()
    for note in list(notes.values())[:limit]:
        until.check("the next note")
        one = _keep(memory, note, said, by)
        if one is not None:
            kept.append(one)
    quoted = [one.record for one in kept if one.record and one.record.evidence.get(QUOTATION)]
    for name in list(dropped)[:limit]:
        until.check("the next record to drop")
        of_user = [record for record in quoted if record.trust == "user"]
        kept += _drop(memory, name, of_user, said, by)
    return kept


def _keep(memory: Memory, note: Note, said: Said, by: Provenance) -> Kept | None:
    trust, quotation, agreed, at, candidate = earned(memory, note, said)
    by = by._replace(trust=trust if by.trust == "user" else by.trust)
    text, why = without_secrets(without_full_stop(note.text)), without_secrets(note.why)
    everywhere = note.everywhere and by.trust == "user" and says_everywhere(quotation)
    evidence: dict[str, Any] = {NOTED: note.kind}
    evidence |= {QUOTATION: without_secrets(quotation)} if quotation else {}
    evidence |= {WHEN: without_secrets(note.when)} if note.when else {}
    evidence |= {ALSO: without_secrets(note.also)} if note.also else {}
    evidence |= {AGREED: True} if agreed else {}
    record = statement(
        text,
        type=note.kind,
        why=why,
        alternatives=replaced.alternatives(note.instead_of),
        known=KnownNames(memory, text),
        base=USER_NOTE if by.trust == "user" else NOTE,
    )
    record = record._replace(
        id=ids.new_id(),
        outcome="success" if note.kind == "fix" else "neutral",
        scope="user" if everywhere else "team",
        evidence=evidence,
        valid_from=at,
    )
    named = replaced.named(memory, note.instead_of, text) if note.instead_of else []
    targets = [old for old in named if not said.precedes(old)]
    closing = [old for old in targets if _may_replace(by.trust, old)]
    against = [old for old in targets if old not in closing]
    if by.trust == "user":
        for stated in replaced.said_again(memory, quotation, by, record):
            replaced.discard(memory, stated, by, bury=False)
            closing = [old for old in closing if old.id != stated.id]
    against += [old for old in contradicting(memory, record) if old not in named]
    if against:
        record = record._replace(evidence={**evidence, CONTRADICTS: [old.id for old in against]})
    if by.source == "compaction" and _was_noted(memory, record, note.quotation, by.session):
        return None
    if is_queued(memory, record, by.session):
        return Kept(record, is_new=False)
    if candidate is not None:
        replaced.discard(memory, candidate, by, bury=False)
    # Words that the user typed in this session count, whatever the assistant was told.
    echo = (candidate is not None or not quotation) and _was_told(memory, record, by)
    ids_closed = [old.id for old in closing]
    past = said.at if said.is_past else ""
    stored, is_new = state(memory, record, by, ids_closed, echo=echo, at=past)
    if stored is None:
        return None
    return Kept(stored, is_new, tuple(closing), tuple(against))


def earned(memory: Memory, note: Note, said: Said) -> Earned:
    """Return the trust that a note earns by its quotation or its candidate."""
    candidate = replaced.candidate(memory, note.candidate) if note.candidate else None
    known = (memory.project.name,) if memory.project else ()
    trust, quotation, agreed = _trust(note, said, candidate, known)
    at = _said_at(note, said, known) if quotation else said.at
    return Earned(trust, quotation, agreed, at, candidate)


def _trust(
    note: Note, said: Said, candidate: Record | None, known: Sequence[str]
) -> tuple[str, str, bool]:
    """Return the trust of a note, the quotation that earns it, and whether the user agreed.

    `known` are names that need not be typed.
    """
    if not said.checked:
        return "assistant", "", False
    if candidate is not None:
        if candidate.trust != "user":
            return "assistant", "", False  # from a transcript, in which other texts pass as typed
        words = str(candidate.evidence.get("prompt") or candidate.what)
        note = note._replace(quotation=candidate.what)
        if not check(note, (words,), (*said.all, words), known):
            return "user", candidate.what, False
        return "assistant", "", False
    if not note.quotation:
        return "assistant", "", False
    if not check(note, said.quotable, said.all, known):
        return "user", note.quotation, False
    agreed = note.kind == "decision" and any(
        is_assent(prompt) and same_form(note.quotation) in same_form(prompt)
        for prompt in said.quotable
    )
    return "assistant", "", agreed


def without_full_stop(sentence: str) -> str:
    """Return the sentence as one line without a final full stop; other ends, as "...", stay.

    It is shown in lists, and before its reason.
    """
    line = one_line(sentence)
    shorter = line[:-1].rstrip()
    if line[-1:] not in FULL_STOPS or shorter[-1:] in FULL_STOPS:
        return line
    return shorter


def _said_at(note: Note, said: Said, known: Sequence[str]) -> str:
    """Return the time of the prompt that is quoted: words from before a `forget` stay forgotten."""
    for prompt, at in zip(said.quotable, said.times, strict=False):
        if not check(note, (prompt,), said.all, known):
            return at
    return said.at


def _may_replace(trust: str, old: Record) -> bool:
    return trust == "user" or (old.trust != "user" and not old.pinned)


def _was_noted(memory: Memory, record: Record, quotation: str, session: str) -> bool:
    """Return True if the session noted this before, though it may have been replaced since.

    A summary words it anew: the quotation is the same, or nearly all words and all numbers are.
    """
    earlier = memory.find_records(
        f"session = ? AND json_extract(body, '$.evidence.{NOTED}') IS NOT NULL", (session,)
    )
    quotation = same_form(quotation)
    own = _stems(record.what)
    for old in earlier:
        others = _stems(old.what)
        shared = len(own & others)
        if quotation and same_form(str(old.evidence.get(QUOTATION) or "")) == quotation:
            is_same = 3 * shared >= min(len(own), len(others))
        else:
            has_number = any(map(str.isdigit, "".join(own ^ others)))
            is_same = shared >= SAME_FROM * len(own | others) and not has_number
        if is_same:
            return True
    return False


def _stems(text: str) -> frozenset[str]:
    return frozenset(map(stem, words(text)))


def _was_told(memory: Memory, record: Record, by: Provenance) -> bool:
    """Return True if this session was given the record: repeating it is no further evidence."""
    known = memory.find_records(
        "key = ? AND status IN ('active', 'candidate')", (key_of(record),), 1
    )
    if not known or not by.session:
        return False
    given = sessions.injected(memory.session_database(), by.session)
    return f"record:{known[0].id}" in given


def _drop(
    memory: Memory, name: str, quoted: Sequence[Record], said: Said, by: Provenance
) -> list[Kept]:
    """Close the records that a `Dropped:` line names.

    One with the user's trust is closed only beside a note on the same subject whose quotation was
    checked.
    """
    kept = []
    for old in replaced.named(memory, name, ""):
        if said.precedes(old):
            continue
        if old.status == "candidate":
            replaced.discard(memory, old, by)
            continue
        if not _may_replace("assistant", old) and not any(
            replaced.share_subject(old, record) for record in quoted
        ):
            continue
        if is_closing_queued(memory, old):
            continue
        now = by.at or ids.timestamp()
        link = {"id": old.id, "by": "", "at": now, "was": OPEN}
        memory.write("supersede", {"links": [link]}, by, store=replaced.kind_of(memory, old))
        kept.append(Kept(None, replaced=(old,)))
    return kept


def said_in(prompts: Iterable[Prompt], quotable: int, *, checked: bool) -> Said:
    """Return what the user said, from the session's prompts, newest first."""
    typed = [(words, prompt.at) for prompt in prompts if (words := typed_words(prompt.text))]
    texts = tuple(words for words, _ in typed)
    times = tuple(at for _, at in typed[:quotable])
    return Said(texts[:quotable], texts[::-1], checked, times=times)
