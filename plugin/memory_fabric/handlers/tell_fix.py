"""PostToolUse and PostToolUseFailure of Bash: tell the fix on record of a command that failed."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory_fabric.events import Event
    from memory_fabric.recall.request_context import RequestContext
    from memory_fabric.reply import Reply


def handle(event: Event, context: RequestContext) -> Reply | None:
    """Fires after a command, if memory holds fixes. Replies with nothing yet."""
    del event, context
    return None
