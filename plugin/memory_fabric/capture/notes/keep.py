"""Storage of a turn's notes as records, with their trust and the records that they replace."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from memory_fabric import deadline, ids, models
from memory_fabric.capture.contradiction import contradicting
from memory_fabric.capture.mentions import KnownNames
from memory_fabric.capture.notes import replaced
from memory_fabric.capture.notes.grammar import MAX_NOTE_CHARS, Note, parse
from memory_fabric.capture.notes.protocol import Kept
from memory_fabric.capture.notes.quotation import agreement, find, says_everywhere
from memory_fabric.capture.remember import after, kind_of, state
from memory_fabric.capture.statement import NOTE, USER_NOTE, statement
from memory_fabric.models import Provenance, Record
from memory_fabric.redaction.redact import without_secrets
from memory_fabric.store import journal, records
from memory_fabric.store.conversations import prompts, sessions
from memory_fabric.store.conversations.prompts import Prompt
from memory_fabric.store.history import changes
from memory_fabric.store.home import signing
from memory_fabric.store.memory import Memory
from memory_fabric.store.operations import remember as remembering
from memory_fabric.store.operations import tombstones
from memory_fabric.text import content_stems, one_line, same_form, stem, words

# The maximum number of notes kept per turn, because a pasted specification may contain many.
MAX_NOTES = 20
# Skip a compaction summary's note whose word overlap (Jaccard) with an earlier note is this high.
SAME_FROM = 0.8
# Full stops of the Latin, Chinese, Japanese, Indic, Urdu, Armenian, Ethiopic and other scripts.
FULL_STOPS = ".。．｡।॥۔։።᙮᠃"
ASKING = ("?", "？", "؟")
NOTED = "noted"  # the key of the note's kind in the evidence
_SINCE = "kind IN ('undo', 'supersede', 'forget') AND instr(payload, ?) AND "
_SINCE += "json_extract(provenance, '$.at') >= ?"


class Said(NamedTuple):
    """The prompts that notes of a session may quote, and how far these notes can be trusted."""

    prompts: tuple[Prompt, ...] = ()  # newest first
    checked: bool = True  # False in an unattended or SDK session: quotations do not count
    at: str = ""  # the time of the notes, '' for now
    is_past: bool = False  # notes of an old session must not close later records
    before: str = ""  # the assistant's message before the newest prompt

    def precedes(self, old: Record) -> bool:
        """Return True if these are notes of a past session, made before the record was stated."""
        return self.is_past and models.stated_at(old) > self.at


class Earned(NamedTuple):
    """The trust that a note gets because it quotes the user, and the quoted words."""

    trust: str = "assistant"
    words: str = ""  # the user's words, with context
    quoted: str = ""  # the quoted sentences, without context
    agreed: str = ""  # the assistant's proposal and the user's agreement
    at: str = ""  # the time of the words
    candidate: Record | None = None  # the candidate in `From:`
    is_staged: bool = False  # no transcript has confirmed yet that the user typed the quoted prompt

    def evidence(self, note: Note, said: Said) -> dict[str, Any]:
        """Return a note's evidence: kind, fields, and names in `When:` not typed by the user."""
        # Skip prompts not yet found in the transcript, except the quoted one (checked later).
        seen_by_person = [p for p in said.prompts if p.origin != prompts.STAGED or p.at == self.at]
        typed = [p.text for p in seen_by_person if p.origin != prompts.CHOSEN and said.checked]
        when = note.when
        unsaid: list[str] = []
        if when:
            from memory_fabric.rules.required import as_typed  # late: needed only with `When:`

            when, unsaid = as_typed(when, typed)
        evidence = {
            NOTED: note.kind,
            models.QUOTATION: without_secrets(self.words),
            models.WHEN: without_secrets(when),
            models.UNSAID: unsaid,
            models.ALSO: without_secrets(note.also),
            models.AGREED: without_secrets(self.agreed),
            models.STAGED: self.at if self.is_staged else "",
        }
        return {key: value for key, value in evidence.items() if value}


def keep(
    memory: Memory, texts: Iterable[str], said: Said, by: Provenance, into: list[Kept] | None = None
) -> list[Kept]:
    """Store the assistant's notes of one turn, and drop the records of its `Dropped:` lines; return
    the results. `said` has the user's prompts that notes may quote. Results are appended to `into`
    at once, as DeadlinePassed may be raised before the next note. A note is reported as lost if it
    contains only a secret, is too long, comes after the first MAX_NOTES notes, or states what
    memory was told to forget. Raises StoreUnavailable if a note could be neither stored nor queued.
    """
    every = list(map(parse, texts))
    by_form: dict[tuple[str, str], Note] = {}
    for note in (note for parsed in every for note in parsed.notes):
        by_form.setdefault((note.kind, same_form(note.text)), note)
    notes = list(by_form.values())
    dropped = list(dict.fromkeys(name for parsed in every for name in parsed.dropped))
    too_long = dict.fromkeys(text for parsed in every for text in parsed.too_long)
    results = [] if into is None else into
    until, batch = deadline.current(), memory.whole.batch
    for note in notes[:MAX_NOTES]:
        until.check("the next note")
        try:
            result = _keep(memory, note, said, by)
        finally:
            memory.whole.batch = batch
        results += [result] if result is not None else []
    said_by_user = "\n".join(r.quoted for r in results if r.record and r.is_new)
    for name in dropped[:MAX_NOTES]:
        until.check("the next record to drop")
        drop = _drop(memory, name, said_by_user, said, by)
        results += [drop] if drop else []
    lost = [f"over {MAX_NOTE_CHARS} characters: {text}" for text in too_long]
    lost += [note.text for note in notes[MAX_NOTES:]]
    lost += [f"Dropped: {name}" for name in dropped[MAX_NOTES:]]
    results += [Kept(lost=without_secrets(without_full_stop(text))) for text in lost]
    return results


def _keep(memory: Memory, note: Note, said: Said, by: Provenance) -> Kept | None:
    from_user = earned(memory, note, said)
    candidate = from_user.candidate
    by = by._replace(trust=from_user.trust if by.trust == "user" else by.trust)
    text, why = without_secrets(without_full_stop(note.text)), without_secrets(note.why)
    named = replaced.named(memory, note.instead_of, text) if note.instead_of else []
    over, quoted = replaced.alternatives(note.instead_of), from_user.quoted
    # Records that reject the same alternative, or come from the quoted prompt, agree with it.
    rejected, stated = {*map(same_form, over)}, replaced.stated_in(memory, quoted, by.session)
    agreeing = [old for old in named if rejected & {*map(same_form, old.alternatives)}]
    agreeing += [old for old in stated if models.stated_at(old) >= from_user.at]
    meant_records = [old for old in named if old not in agreeing]
    everywhere = note.everywhere and by.trust == "user" and says_everywhere(quoted)
    # A known record in `Instead of:` is replaced; other text there is a rejected alternative.
    over = () if meant_records else over
    names, base = KnownNames(memory, text), USER_NOTE if by.trust == "user" else NOTE
    record = statement(text, type=note.kind, why=why, alternatives=over, known=names, base=base)
    outcome = "success" if note.kind == "fix" else "neutral"
    scope = "user" if everywhere else "team"
    record = record._replace(id=ids.new_id(), outcome=outcome, scope=scope, valid_from=from_user.at)
    record = record._replace(evidence=from_user.evidence(note, said))
    taken = [] if candidate is None else [candidate]
    if by.trust == "user":
        stated = replaced.stated_in(memory, from_user.words, by.session)
        taken += [old for old in stated if replaced.is_restated(old, record)]
    targets = [old for old in meant_records if old.status == "active" and old not in taken]
    targets = [old for old in targets if not said.precedes(old)]
    past = said.at if said.is_past else ""
    dated = after(record, targets) if replaced.id_in(note.instead_of) and not past else record
    new = dated._replace(trust=by.trust, session=by.session, created_at=past or ids.timestamp())
    new = new._replace(domain=by.domain if new.domain == "general" else new.domain)
    # A turn may be read twice: skip a note that was removed again after the first reading.
    key = remembering.key_sum(new)
    if said.at and tombstones.were_forgotten(memory.databases(), key, said.at):
        return None
    reasons = [(old, replaced.refusal(memory, new, quoted, old)) for old in targets]
    closing = [old for old, reason in reasons if not reason]
    against = [old for old, reason in reasons if reason]
    record = dated if closing else record
    contrary = [old for old in contradicting(memory, record) if old not in [*named, *taken]]
    # Close contradictory records of the note's own session, because the note corrects them.
    own = [old for old in contrary if old.session == by.session and not said.precedes(old)]
    refuted = [o for o in own if not replaced.refusal(memory, new, quoted, o)]
    closing += refuted
    against += [old for old in contrary if old not in refuted]
    if by.source == "compaction" and _was_noted(memory, record, from_user.words, by.session):
        return None
    if _is_queued(memory, record, by.session):
        return Kept(record, is_new=False)
    since = models.stated_at(new) if by.trust == "user" else ""
    if taken and tombstones.were_forgotten(memory.databases(), key, since):
        return Kept(lost=text)
    for old in taken:  # in the note's batch, so that undo reverts both
        memory.whole.batch = memory.whole.batch or ids.new_id()
        replaced.discard(memory, old, by, bury=False)
    # A note that repeats a record shown in its session is an echo, unless it quotes a prompt.
    echo = False
    if by.session and (candidate is not None or not from_user.words):
        same = "key = ? AND status IN ('active', 'candidate')"
        known = memory.find_records(same, (records.key_of(record.what),), 1)
        seen = sessions.injected(memory.session_database(), by.session) if known else ()
        echo = any(f"record:{old.id}" in seen for old in known)
    ids_closed = [old.id for old in closing]
    stored, is_new = state(memory, record, by, ids_closed, echo=echo, at=past, against=against)
    if stored is None:
        return Kept(lost=text)
    is_said = from_user.words or from_user.agreed or not said.checked
    unsaid = "" if is_said else without_secrets(note.quotation)
    refused = [(replaced.line(old), reason) for old, reason in reasons if reason]
    unknown = "" if named else replaced.id_in(note.instead_of)
    if unknown and not replaced.with_id(memory, unknown):
        refused.append((unknown, "no such memory"))
    is_read = same_form(from_user.words) == same_form(note.quotation)
    unread = without_secrets("" if is_read else from_user.words or from_user.agreed)
    earlier = replaced.earlier(memory, stored, [*named, *contrary], quoted) if is_new else ()
    changed = tuple(closing), tuple(against), tuple(refused)
    only_here = note.everywhere and not everywhere
    return Kept(stored, is_new, *changed, unsaid, "", quoted, unread, only_here, earlier)


def earned(memory: Memory, note: Note, said: Said) -> Earned:
    """Return the trust earned by a note's quotation or `From: [id]`, else the assistant's."""
    candidate = replaced.candidate(memory, note.candidate) if note.candidate else None
    if not said.checked or (candidate is not None and candidate.trust != "user"):
        # No user trust: programs may write the prompts here, or the candidate is not from the user.
        return Earned(at=said.at, candidate=candidate)
    typed, quotation = said.prompts, note.quotation
    if candidate is not None:
        quotation = candidate.what
        text = str(candidate.evidence.get("prompt") or candidate.what)
        typed = (Prompt(0, candidate.valid_from, text, prompts.TYPED),)
    place = find(quotation, note.text, typed)
    if place.prompt is None:
        return Earned(at=said.at, candidate=candidate)
    if not place.words:
        chosen = place.prompt.origin == prompts.CHOSEN
        is_last = typed[0] == place.prompt
        agreed = f"chosen: “{place.answer}”" if chosen else ""
        agreed = agreement(said.before, place.answer) if is_last and not chosen else agreed
        return Earned(agreed=agreed, at=said.at, candidate=candidate)
    is_staged = place.prompt.origin == prompts.STAGED
    # A note that quotes only questions is not trusted, because a question is not a decision.
    ends = (line.rstrip("\"'”’»)] ")[-1:] for line in place.quoted.splitlines())
    is_asked = all(end in ASKING for end in ends)
    trust = "assistant" if is_staged or is_asked else "user"
    at, is_open = place.prompt.at, is_staged and not is_asked
    return Earned(trust, place.words, place.quoted, "", at, candidate, is_open)


def without_full_stop(sentence: str) -> str:
    """Return the sentence as one line without its full stop, so that a reason can be appended."""
    line = one_line(sentence)
    shorter = line[:-1].rstrip()
    return line if line[-1:] not in FULL_STOPS or shorter[-1:] in FULL_STOPS else shorter


def _was_noted(memory: Memory, record: Record, quotation: str, session: str) -> bool:
    """Return True if the session noted `record` before, in these or other words, even if undone."""
    of_session = f"session = ? AND json_extract(body, '$.evidence.{NOTED}') IS NOT NULL"
    noted = changes.read_all(memory, "kind = 'remember' AND session = ?", (session,))
    undone = [records.from_object(change.payload["record"]) for change in noted if change.undone]
    quotation = same_form(quotation)
    own = set(map(stem, words(record.what)))
    for old in (*memory.find_records(of_session, (session,)), *undone):
        theirs = set(map(stem, words(old.what)))
        shared = len(own & theirs)
        if quotation and same_form(str(old.evidence.get(models.QUOTATION) or "")) == quotation:
            is_same = 3 * shared >= min(len(own), len(theirs))
        else:
            has_number = any(map(str.isdigit, "".join(own ^ theirs)))
            is_same = shared >= SAME_FROM * len(own | theirs) and not has_number
        if is_same:
            return True
    return False


def _drop(memory: Memory, name: str, quoted: str, said: Said, by: Provenance) -> Kept | None:
    """Close the record `name` of a `Dropped:` line; return None if done before. A record with the
    user's trust stays open unless `quoted`, the user's words in this turn's notes, is about it.
    """
    stems, id_ = content_stems(name), replaced.id_in(name)

    def differing(r: Record) -> int:
        """Return how many content words are only in `name` or only in the record."""
        return min(len(stems ^ content_stems(t)) for t in (r.what, models.users_words(r)) if t)

    matches = [old for old in replaced.named(memory, name) if not said.precedes(old)]
    # A turn may be read twice: the first reading may have closed a record, even if it is open now.
    logged_id = matches[0].id if matches else id_
    if said.at and logged_id and changes.read_all(memory, _SINCE, (logged_id, said.at), 1):
        return None
    closed = memory.find_records("valid_to >= ? AND scope <> 'local'", (said.at,), MAX_NOTES)
    most = min(map(differing, matches), default=len(stems))
    if said.at and not id_ and any(differing(record) <= most for record in closed):
        return None  # `name` fits a record that is already closed at least as well
    if not matches:
        if id_ and replaced.with_id(memory, id_):
            return Kept(is_new=False)  # the record is already closed
        return Kept(lost=f"no memory for Dropped: {without_secrets(name)}")
    [old] = matches
    if old.status == "candidate" and models.PASTED not in old.evidence:
        replaced.discard(memory, old, by)
        return Kept(replaced=(old,))
    now = by.at or ids.timestamp()
    new = old._replace(trust="user" if quoted else by.trust, created_at=now, valid_from="")
    if reason := replaced.refusal(memory, new, quoted, old):
        return Kept(refused=((replaced.line(old), reason),))
    links = [link for payload in _queued(memory, "supersede") for link in payload["links"]]
    if any(link["id"] == old.id and not link["by"] for link in links):
        return Kept(is_new=False)
    link = {"id": old.id, "by": "", "at": now, "was": remembering.OPEN}
    memory.write("supersede", {"links": [link]}, by, store=kind_of(memory, old))
    return Kept(replaced=(old,))


def _is_queued(memory: Memory, record: Record, session: str) -> bool:
    if not session:
        return False
    queued = (payload.get("record") or {} for payload in _queued(memory, "remember"))
    forms = ((r.get("session"), r.get("type"), same_form(r.get("what", ""))) for r in queued)
    return (session, record.type, same_form(record.what)) in forms


def _queued(memory: Memory, kind: str) -> Iterator[dict[str, Any]]:
    """Yield the payloads of queued operations of this kind that this installation has signed."""
    for folder in filter(journal.waiting_files, memory.queue_folders()):
        key = signing.known_key(memory.settings.home)
        try:
            waiting, _ = journal.queued(folder)
        except OSError:  # `sync.drain` reports it
            continue
        for line in waiting:
            if line.get("kind") == kind and signing.is_ours(line, key):
                yield line["payload"]
