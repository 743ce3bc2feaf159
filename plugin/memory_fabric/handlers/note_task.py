"""PreToolUse on Agent and Task: note the task, since SubagentStart does not say it."""

from __future__ import annotations

from memory_fabric import events
from memory_fabric.store import sessions
from memory_fabric.text import cut

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory_fabric.events import Event
    from memory_fabric.fabric.core import Fabric

TOOLS = frozenset(("Agent", "Task"))
DEFAULT_AGENT = "general-purpose"
MAX_TASK_CHARS = 4 << 10


def handle(event: Event, fabric: Fabric) -> None:
    """Fires before a subagent is asked for. Reads the prompt, keeps it redacted; no reply."""
    if events.tool_name(event) not in TOOLS:
        return
    asked = events.tool_input(event)
    prompt = asked.get("prompt")
    kind = asked.get("subagent_type")
    if not isinstance(prompt, str) or not prompt.strip():
        return
    from memory_fabric.store.write import cleaned  # its expressions cost: only with a task

    database = fabric.memory.session_database()
    sessions.note_task(
        database,
        events.tool_use_id(event) or fabric.now,
        event.session,
        kind if isinstance(kind, str) and kind else DEFAULT_AGENT,
        cleaned({"prompt": cut(prompt, MAX_TASK_CHARS)})["prompt"],
        fabric.now,
    )
