"""What a prompt says about memory: statements to store, and the cue for the assistant."""

from __future__ import annotations

from memory_fabric.capture.confidence import STATED, with_reason
from memory_fabric.capture.detector import heard
from memory_fabric.capture.extract import extract
from memory_fabric.capture.known_names import KnownNames
from memory_fabric.capture.remember import trust_for
from memory_fabric.capture.stated import stated
from memory_fabric.ids import short_id
from memory_fabric.models import Provenance, Record
from memory_fabric.notes import replaced
from memory_fabric.notes.protocol import is_told
from memory_fabric.redaction.prefilter import without_secrets
from memory_fabric.text import cut, neutralised, one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory_fabric.capture.stated import Statement
    from memory_fabric.recall.request_context import RequestContext

MAX_CUE_CHARS, MAX_RECORD_CHARS = 60, 60
# The cue beside a prompt by its kind, each at most MAX_CUE_CHARS.
CUES = {
    "rule": "Sounds like a standing rule: note it if it is one.",
    "correction": "Sounds like a correction: note it if it holds.",
    "choice": "Sounds like a decision: note it if it is settled.",
    "change": "Sounds like a change of mind: note it if it holds.",
    "person": "Says something about the user: note it if it holds.",
}


def listen(context: RequestContext, session: str, prompt: str) -> tuple[str, list[Record]]:
    """Store what the prompt states on purpose; return the cue for the assistant, and new records.

    The cue is empty where the assistant is not asked for notes, or something was stored already.
    """
    new = [
        record
        for statement in stated(prompt)
        if (record := _store(context, session, statement)) is not None
    ]
    if not is_told(context.memory.settings):
        return "", new
    if new:
        kept = ", ".join(short_id(record.id) for record in new)
        return f"Kept already as [{kept}]: no note needed, unless it replaces a record.", new
    found = heard(prompt)
    if found is None:
        return "", new
    known = replaced.nearest(context.memory, found.sentence)
    if known is None:
        return CUES[found.kind], new
    what = cut(neutralised(one_line(known.what)), MAX_RECORD_CHARS).rstrip(".")
    id_ = short_id(known.id)
    return f"On record: [{id_}] {what}. If this changes it, note Instead of: {id_}.", new


def _store(context: RequestContext, session: str, statement: Statement) -> Record | None:
    """Store one statement; return the record if it is new."""
    memory = context.memory
    text, why = without_secrets(statement.text), without_secrets(statement.why)
    if "[redacted: " in text:
        from memory_fabric.redaction.redact import says_only_secrets  # late: rare

        if says_only_secrets(text):
            return None
    entities, relations = extract(f"{text}. {why}" if why else text, known=KnownNames(memory, text))
    from memory_fabric import ids

    record = Record(
        id=ids.new_id(),
        type=statement.type,
        what=text,
        why=why,
        alternatives=statement.instead_of,
        entities=entities,
        relations=relations,
        confidence=with_reason(STATED, bool(why)),
        scope=statement.scope,
    )
    by = Provenance(
        "prompt",
        trust=trust_for(memory.settings, "user"),
        session=session,
        agent=context.agent_type,
        domain=context.domain.name,
    )
    stored = memory.remember(record, by)
    return stored if stored is not None and stored.id == record.id else None
