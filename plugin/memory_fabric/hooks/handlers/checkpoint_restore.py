"""SessionStart after a compaction: inject the context that the compaction removed."""

from memory_fabric import events
from memory_fabric.capture.notes import protocol
from memory_fabric.hooks.reply import Reply
from memory_fabric.hooks.session.ledger import Ledger
from memory_fabric.hooks.session.standing import standing
from memory_fabric.models import Record
from memory_fabric.recall.render import mark_records
from memory_fabric.recall.request_context import RequestContext
from memory_fabric.recall.session_block import SESSION_CHARS
from memory_fabric.store.schema import ACTIVE_CURRENT
from memory_fabric.store.tiers import sync

# Record types that constrain the remaining work; such records are restored first.
BINDING = frozenset(("decision", "constraint"))
MAX_OWN, MAX_PINNED = 40, 20


def handle(event: events.Event, context: RequestContext) -> Reply | None:
    """After a compaction (source "compact"), inject the checkpoint, this session's records, and the
    project's pinned and lasting records, as many as fit. Reset the ledger to what is injected, as
    the compaction may have removed all else. For a subagent, only empty its ledger.
    """
    if event.text("source") != "compact":
        return None
    from memory_fabric.hooks.session.checkpoint import block  # imported late: for compactions only

    ledger = Ledger(event, context)
    if event.agent_id:
        return Reply(receipts=ledger.receipt((), "compact", agent=event.agent_id, anew=True))
    parts = _worth_restoring(context, event.session, ledger.started_at)
    protocol_text = protocol.PROTOCOL if protocol.is_told(context.memory.settings) else ""
    max_chars = SESSION_CHARS - len(protocol_text) - 2 if protocol_text else SESSION_CHARS
    saved = ledger.checkpoint()
    text, records = block(saved, *parts, max_chars=max_chars)
    # Check only the shown records for changed files, because each check has to read a file.
    chosen = [record for part in parts for record in part if record.id in records]
    marked = mark_records(chosen, context.memory)
    if marked != chosen:
        by_id = {record.id: record for record in marked}
        marked_parts = ([by_id[r.id] for r in part if r.id in by_id] for part in parts)
        text, records = block(saved, *marked_parts, max_chars=max_chars)
    told_names = [f"record:{id_}" for id_ in records]
    told_names += [protocol.ID] if protocol_text else []
    receipts = ledger.receipt(
        told_names, "compact", loaded=True, anew=True, text=text, own_words=protocol_text
    )
    return Reply(text, own_words=protocol_text, receipts=receipts)


def _worth_restoring(context: RequestContext, session: str, started_at: str) -> list[list[Record]]:
    """Return three lists of records not loaded by the client: this session's, pinned, lasting."""
    memory = context.memory
    sync.confirm_shown(memory)
    where = f"{ACTIVE_CURRENT} AND type <> 'session' AND session = ?"
    own = memory.find_records(where, (session,), MAX_OWN)
    own.sort(key=lambda record: record.type not in BINDING)
    where = f"{ACTIVE_CURRENT} AND scope <> 'local' AND pinned = 1"
    pinned = memory.find_records(where, (), MAX_PINNED)
    shown_ids = set(memory.shown_ids(started_at))
    parts = []
    lasting = standing(memory, context.now)
    for records in (own, pinned, [*lasting.rules, *lasting.decisions, *lasting.others]):
        parts.append([record for record in records if record.id not in shown_ids])
        shown_ids.update(record.id for record in records)
    return parts
