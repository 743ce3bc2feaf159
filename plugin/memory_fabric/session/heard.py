"""Statements for memory in a prompt, which are stored, and the cue for the assistant."""

from __future__ import annotations

from memory_fabric.capture.confidence import CANDIDATE, STATED
from memory_fabric.capture.known_names import KnownNames
from memory_fabric.capture.prompts.detector import heard
from memory_fabric.capture.prompts.stated import Statement, stated
from memory_fabric.capture.remember import state
from memory_fabric.capture.statement import statement
from memory_fabric.config import trust_for
from memory_fabric.ids import short_id
from memory_fabric.models import PASTED, PROMPT, QUOTATION, STAGED, Provenance, Record, users_words
from memory_fabric.notes import replaced
from memory_fabric.notes.protocol import is_told
from memory_fabric.notes.quotation import around
from memory_fabric.recall.request_context import RequestContext
from memory_fabric.redaction.prefilter import without_secrets
from memory_fabric.text import cut, neutralised, one_line, same_form

MAX_CUE_CHARS, MAX_RECORD_CHARS = 60, 60
# A longer text may be pasted.
MAX_TYPED_LINES, MAX_TYPED_CHARS = 2, 1000
MAX_BECAUSE_CHARS = 12
# The cue beside a prompt by its kind, each at most MAX_CUE_CHARS.
CUES = {
    "rule": "Sounds like a standing rule: note it if it is one.",
    "correction": "Sounds like a correction: note it if it holds.",
    "choice": "Sounds like a decision: note it if it is settled.",
    "change": "Sounds like a change of mind: note it if it holds.",
    "person": "Says something lasting about the user; note it if so.",
}


def listen(
    context: RequestContext, session: str, prompt: str, staged: str = ""
) -> tuple[str, list[Record]]:
    """Store what the prompt states on purpose; return the cue for the assistant, and new records.

    The cue is empty where the assistant is not asked for notes, or something was stored already.
    `staged` is the time of a prompt whose entry in the transcript is not seen yet.
    """
    new = store_stated(context, session, prompt, staged)
    if not is_told(context.memory.settings):
        return "", new
    if new:
        kept = ", ".join(short_id(record.id) for record in new)
        if new[0].status == "candidate":
            return f"Waits for the user's yes as [{kept}], since the text may be pasted.", new
        return f"Kept already as [{kept}]: no note needed, unless it replaces a record.", new
    found = heard(prompt)
    if found is None:
        return "", new
    known = replaced.nearest(context.memory, found.sentence)
    if known is None:
        return CUES[found.kind], new
    said = neutralised(one_line(users_words(known) or known.what))
    id_, what = short_id(known.id), cut(said, MAX_RECORD_CHARS)
    return (
        f"On record: [{id_}] {what.rstrip('.')}. If this changes it, note Instead of: {id_}.",
        new,
    )


def store_stated(
    context: RequestContext, session: str, prompt: str, staged: str = ""
) -> list[Record]:
    """Store what the prompt states on purpose; return the new records; none while notes are off."""
    if context.memory.settings.notes == "off":
        return []
    made = (_store(context, session, one, prompt, staged) for one in stated(prompt))
    return [record for record in made if record is not None]


def _store(
    context: RequestContext, session: str, said: Statement, prompt: str, staged: str
) -> Record | None:
    """Store one statement with the words around it; return the record if it is new.

    In a long text it is a candidate: the text may be somebody's that was pasted.
    """
    memory = context.memory
    text = without_secrets(said.text)
    record = statement(
        text,
        type=said.type,
        why=without_secrets(said.why),
        alternatives=said.instead_of,
        known=KnownNames(memory, text),
        base=STATED,
    )
    words = around(said.text, prompt)
    # With no other words than its form's and "because" nothing turns it.
    form, why = same_form(prompt), same_form(said.why)
    _, text_in, rest = form.partition(same_form(said.text))
    is_all = bool(text_in) and form == same_form(said.form) and rest.endswith(why)
    is_all = is_all and len(rest) - len(why) <= (MAX_BECAUSE_CHARS if why else 0)
    lines = sum(map(bool, map(str.strip, prompt.splitlines())))
    is_long = lines > MAX_TYPED_LINES or (not words and len(prompt) > MAX_TYPED_CHARS)
    words = without_secrets(words or one_line(prompt))
    found = {PROMPT: words, PASTED: True} if is_long else {} if is_all else {QUOTATION: words}
    record = record._replace(confidence=CANDIDATE) if is_long else record
    by = Provenance(
        "prompt",
        trust=trust_for(memory.settings, "assistant" if staged else "user"),
        session=session,
        agent=context.agent_type,
        domain=context.domain.name,
    )
    evidence = {**record.evidence, **found, **({STAGED: staged} if staged else {})}
    record = record._replace(scope=said.scope, evidence=evidence)
    stored, is_new = state(memory, record, by)
    return stored if is_new else None
