"""SessionStart after a compaction: give back what the session has just lost."""

from __future__ import annotations

from memory_fabric import events
from memory_fabric.fabric.checkpoint import block
from memory_fabric.handlers.ledger import Ledger
from memory_fabric.handlers.load_context import standing
from memory_fabric.reply import Reply
from memory_fabric.store import tiers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory_fabric.events import Event
    from memory_fabric.fabric.core import Fabric
    from memory_fabric.models import Record


def handle(event: Event, fabric: Fabric) -> Reply | None:
    """Fires on SessionStart with source compact. Reads the checkpoint, this session's records and
    the project's standing ones; replies with them within the session budget.

    The ledger begins anew: nothing injected before is sure to be in the context still.
    """
    if events.source(event) != "compact":
        return None
    ledger = Ledger(event, fabric)
    text, records = block(
        ledger.checkpoint(), _worth_restoring(fabric, event.session, ledger.started_at)
    )
    given = [f"record:{id_}" for id_ in records]
    return Reply(text, receipts=ledger.receipt(given, "compact", loaded=True, anew=True))


def _worth_restoring(fabric: Fabric, session: str, started_at: str) -> list[Record]:
    """Pinned records, this session's own, then the project's; without those that MEMORY.md showed
    when the session began, since the client keeps that file through a compaction.
    """
    memory = fabric.memory
    tiers.confirm_shown(memory)
    own = memory.find_records(
        "status = 'active' AND superseded_by = '' AND session = ?", (session,), 20
    )
    rest = standing(memory)
    shown = memory.native_ids(started_at)
    ordered = [*(r for r in rest if r.pinned), *own, *rest]
    return list({r.id: r for r in ordered if r.id not in shown}.values())
