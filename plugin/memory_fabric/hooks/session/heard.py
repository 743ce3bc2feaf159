"""Check who typed a prompt, store its statements, and cue the assistant for a note."""

import os
import time

from memory_fabric import events
from memory_fabric.capture.mentions import KnownNames
from memory_fabric.capture.notes import replaced
from memory_fabric.capture.notes.protocol import is_told
from memory_fabric.capture.notes.quotation import around
from memory_fabric.capture.prompts import heard, stated
from memory_fabric.capture.remember import state
from memory_fabric.capture.statement import CANDIDATE, STATED, statement
from memory_fabric.client import CLAUDE_CODE
from memory_fabric.clients.transcript import before_prompt, is_clients_own
from memory_fabric.config import trust_for
from memory_fabric.ids import short_id
from memory_fabric.models import PASTED, PROMPT, QUOTATION, STAGED, STATED_TYPES, Hit, Record
from memory_fabric.recall.floor import RARE, Part
from memory_fabric.recall.parse import parse
from memory_fabric.recall.pipeline import Fabric
from memory_fabric.recall.rank import rank
from memory_fabric.recall.render import words_of
from memory_fabric.recall.request_context import RequestContext
from memory_fabric.redaction.redact import without_secrets
from memory_fabric.rules.effects import binds
from memory_fabric.store.conversations import sessions
from memory_fabric.store.memory import Memory
from memory_fabric.text import cut, neutralised, one_line, same_form

MAX_CUE_CHARS, MAX_RECORD_CHARS, MAX_BECAUSE_CHARS = 60, 80, 12
# A sentence and a record match if they share enough words: the share of the record's words in the
# sentence, plus the share of the sentence's words in the record, must reach this sum.
MEANT = 0.6
# A prompt with more lines or characters may contain pasted text.
MAX_TYPED_LINES, MAX_TYPED_CHARS = 2, 1000
# The assistant's cue for each kind of statement, at most MAX_CUE_CHARS long.
CUES = {
    "rule": "Sounds like a standing rule: note it if it is one.",
    "correction": "Sounds like a correction: note it if it holds.",
    "choice": "Sounds like a decision: note it if it is settled.",
    "change": "Sounds like a change of mind: note it if it holds.",
    "person": "Sounds like a lasting fact: note it if it is one.",
}
# A tool that runs in another session may have sent the prompt. To find it, read at most MAX_OTHERS
# transcripts, and only those that changed within the last OTHERS_CHANGED_S seconds.
MAX_OTHERS, OTHERS_CHANGED_S = 8, 3600
# Reasons for refusing to run a command, as shown to the user.
WHY = {
    events.RUNNING: "while the assistant runs a tool; type it again when the tool has finished",
    "elsewhere": "while a tool runs in another session of this project; type it again after this "
    "session's first answer",
    "foreign": "in a shell that another assistant started; run `memory-fabric` in a terminal",
    "moved": "since this event names another transcript than this session has; run "
    "`memory-fabric` in a terminal",
    "outside": "since this event names no transcript in the client's folder; run "
    "`memory-fabric` in a terminal",
}


def doubt(event: events.Event, memory: Memory, prompt: str) -> str:
    """Return a reason to doubt that the user typed a prompt (SCHEDULED or a key of WHY), or ''."""
    database = memory.session_database()
    scheduled = sessions.load_notes(database, event.session).get(sessions.SCHEDULED, ())
    # The client joins scheduled prompts that are due at the same time into one prompt.
    if any(f"\n{task.strip()}\n" in f"\n{prompt}\n" for task in scheduled):
        return events.SCHEDULED
    if memory.settings.foreign:
        return "foreign"
    path = event.transcript_path
    if event.client.transcripts != CLAUDE_CODE.transcripts:
        return ""
    origin = before_prompt(path, prompt)
    if origin == events.SCHEDULED:
        return origin
    known_path, announced_at = sessions.place_of(database, event.session)
    # If the project's folder was moved, the client has moved the transcript too.
    if known_path and known_path != path and os.path.exists(known_path):
        return "moved"
    if not is_clients_own(memory.settings, path):
        return "outside"
    if origin or (announced_at and os.path.exists(path)):
        return origin
    since_s = time.time() - OTHERS_CHANGED_S
    others = sessions.unfinished(database, event.session, "9999", MAX_OTHERS)
    paths = (p for _, p, _ in others if os.path.exists(p) and os.stat(p).st_mtime > since_s)
    is_running = any(before_prompt(path, prompt) == events.RUNNING for path in paths)
    return "elsewhere" if is_running else ""


def listen(
    context: RequestContext, session: str, prompt: str, staged: str = ""
) -> tuple[str, list[Record]]:
    """Store a prompt's statements; return a cue for the assistant (or '') and the new records."""
    new = store_stated(context, session, prompt, staged)
    if not is_told(context.memory.settings):
        return "", new
    if new:
        new_ids = ", ".join(short_id(record.id) for record in new)
        if new[0].status == "candidate":
            return f"Waits for the user's yes as [{new_ids}], since the text may be pasted.", new
        return f"Kept already as [{new_ids}]: no note needed, unless it replaces a record.", new
    cue = heard(prompt)
    if cue is None or replaced.noted_before(context.memory, cue.sentence):
        return "", new  # no cue: a note of this sentence would only repeat an existing record
    on_record = _record_meant(context, cue.sentence)
    if on_record is None:
        return CUES[cue.kind], new
    # Show a note's own text, and not the user's words that it quotes: they may not name a subject.
    prefix = "noted as: " if words_of(on_record) else ""
    what = cut(neutralised(one_line(on_record.text)), MAX_RECORD_CHARS).rstrip(".")
    id_ = short_id(on_record.id)
    return f"On record: [{id_}] {prefix}{what}. If this changes it, note Instead of: {id_}.", new


def _record_meant(context: RequestContext, sentence: str) -> Hit | None:
    """Return the record that a sentence is clearly about; None if pinned, binding or unclear."""
    query = parse(sentence, now=context.now, plain=True)
    candidates = Fabric(context.memory, context.now).injection_candidates(query)
    current = [hit for hit in candidates if hit.metadata.get("type") in STATED_TYPES]
    current = [hit for hit in current if not hit.metadata.get("over")]
    first = next(iter(rank(current, context.now)), None)
    if first is None:
        return None
    topics = Part(query, candidates).topics_in(first)
    shared = replaced.Shared(context.memory)
    share, number, *_ = shared(first.text, sentence)
    is_near = number > 1 and share + shared(sentence, first.text)[0] >= MEANT
    if not is_near or topics.isdisjoint(first.metadata[RARE]):
        return None
    records = context.memory.find_records("id = ?", (first.metadata["record"],), 1)
    return first if records and not (records[0].pinned or binds(records[0])) else None


def store_stated(
    context: RequestContext, session: str, prompt: str, staged: str = "", at: str = ""
) -> list[Record]:
    """Store the explicit statements of a prompt, unless notes are off, and return the new records.
    If the text may be pasted, these are candidates, which the user must confirm. `at` is the time
    of an old prompt, `staged` of a new one with an unknown sender: it has the assistant's trust.
    """
    if context.memory.settings.notes == "off":
        return []
    trust = trust_for(context.memory.settings, "assistant" if staged else "user")
    new_records = []
    for said in stated(prompt):
        text, reason = without_secrets(said.text), without_secrets(said.why)
        names, over = KnownNames(context.memory, text), said.instead_of
        record = statement(
            text, type=said.type, why=reason, alternatives=over, known=names, base=STATED
        )
        words = around(said.text, prompt)
        # A prompt that contains only a statement and its reason cannot retract the statement.
        form, why = same_form(prompt), same_form(said.why)
        _, text_in, text_after = form.partition(same_form(said.text))
        is_all = bool(text_in) and form == same_form(said.form) and text_after.endswith(why)
        is_all = is_all and len(text_after) - len(why) <= (MAX_BECAUSE_CHARS if why else 0)
        lines = sum(map(bool, map(str.strip, prompt.splitlines())))
        is_long = lines > MAX_TYPED_LINES or (not words and len(prompt) > MAX_TYPED_CHARS)
        words = without_secrets(words or one_line(prompt))
        quoted = {PROMPT: words, PASTED: True} if is_long else {} if is_all else {QUOTATION: words}
        record = record._replace(confidence=CANDIDATE) if is_long else record
        evidence = {**record.evidence, **quoted, **({STAGED: staged} if staged else {})}
        record = record._replace(scope=said.scope, evidence=evidence, valid_from=at)
        noted = replaced.noted_before(context.memory, text) if is_all else None
        record = noted._replace(id="") if noted else record  # it is said again
        stored, is_new = state(context.memory, record, context.by("prompt", session, trust))
        new_records += [stored] if stored is not None and is_new else []
    return new_records
