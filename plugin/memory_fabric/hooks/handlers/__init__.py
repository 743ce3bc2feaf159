"""The event handlers. Each is imported by its name in `hooks.table` when its event occurs."""

from collections.abc import Callable

from memory_fabric.events import Event
from memory_fabric.hooks.reply import Reply
from memory_fabric.hooks.table import SHARED_MODULES
from memory_fabric.recall.request_context import RequestContext

Handle = Callable[[Event, RequestContext], Reply | None]
Load = Callable[[str], Handle]


def load(name: str) -> Handle:
    """Import and return a handler by its name in HANDLERS."""
    # `importlib` would do the same, but takes longer to import.
    path = f"{__name__}.{SHARED_MODULES.get(name, name)}"
    function = name if name in SHARED_MODULES else "handle"
    handle: Handle = getattr(__import__(path, fromlist=[function]), function)
    return handle
