"""PreToolUse of Bash and of tools that change files: apply the rules bound to such a call."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory_fabric.events import Event
    from memory_fabric.recall.request_context import RequestContext
    from memory_fabric.reply import Reply


def handle(event: Event, context: RequestContext) -> Reply | None:
    """Fires before a command or a change of a file, if memory holds bound rules. Replies with
    nothing yet.
    """
    del event, context
    return None
