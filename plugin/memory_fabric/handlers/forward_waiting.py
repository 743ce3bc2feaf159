"""SessionStart, SessionEnd: what waits to be forwarded is tried again."""

from __future__ import annotations

from memory_fabric import forwarding
from memory_fabric.reply import Reply

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory_fabric.events import Event
    from memory_fabric.fabric.table import WorkTable


def handle(event: Event, fabric: WorkTable) -> Reply | None:
    """Fires when a session starts or ends and a receiver is named. Says nothing; once the reply is
    out, the sender is started if something waits and is due.
    """
    receipts = forwarding.receipts(fabric.memory.settings)
    return Reply(receipts=receipts) if receipts else None
