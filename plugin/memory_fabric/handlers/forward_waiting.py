"""SessionStart, SessionEnd: what waits to be forwarded is tried again; new receivers are named."""

from __future__ import annotations

from memory_fabric import forwarding
from memory_fabric.handlers import wording
from memory_fabric.reply import Reply

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory_fabric.events import Event
    from memory_fabric.fabric.table import WorkTable


def handle(event: Event, fabric: WorkTable) -> Reply | None:
    """Fires when a session starts or ends and a receiver is named. Once the reply is out, the
    sender is started if something waits and is due. At a start it tells of a new receiver.
    """
    settings = fabric.memory.settings
    told = forwarding.news(settings) if event.name == "SessionStart" else ""
    notice = wording.problem(told, settings)
    return Reply(notice=notice, receipts=forwarding.receipts(settings))
