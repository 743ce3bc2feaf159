"""Statements for memory in a prompt, which are stored, and the cue for the assistant."""

from __future__ import annotations

from memory_fabric.capture.confidence import STATED
from memory_fabric.capture.known_names import KnownNames
from memory_fabric.capture.prompts.detector import heard
from memory_fabric.capture.prompts.stated import stated
from memory_fabric.capture.remember import state
from memory_fabric.capture.statement import statement
from memory_fabric.config import trust_for
from memory_fabric.ids import short_id
from memory_fabric.models import Provenance
from memory_fabric.notes import replaced
from memory_fabric.notes.protocol import is_told
from memory_fabric.redaction.prefilter import without_secrets
from memory_fabric.text import cut, neutralised, one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory_fabric.capture.prompts.stated import Statement
    from memory_fabric.models import Record
    from memory_fabric.recall.request_context import RequestContext

MAX_CUE_CHARS, MAX_RECORD_CHARS = 60, 60
# The cue beside a prompt by its kind, each at most MAX_CUE_CHARS.
CUES = {
    "rule": "Sounds like a standing rule: note it if it is one.",
    "correction": "Sounds like a correction: note it if it holds.",
    "choice": "Sounds like a decision: note it if it is settled.",
    "change": "Sounds like a change of mind: note it if it holds.",
    "person": "Says something lasting about the user; note it if so.",
}


def listen(context: RequestContext, session: str, prompt: str) -> tuple[str, list[Record]]:
    """Store what the prompt states on purpose; return the cue for the assistant, and new records.

    The cue is empty where the assistant is not asked for notes, or something was stored already.
    """
    new = [
        record for one in stated(prompt) if (record := _store(context, session, one)) is not None
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


def _store(context: RequestContext, session: str, said: Statement) -> Record | None:
    """Store one statement; return the record if it is new."""
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
    by = Provenance(
        "prompt",
        trust=trust_for(memory.settings, "user"),
        session=session,
        agent=context.agent_type,
        domain=context.domain.name,
    )
    stored, is_new = state(memory, record._replace(scope=said.scope), by)
    return stored if is_new else None
