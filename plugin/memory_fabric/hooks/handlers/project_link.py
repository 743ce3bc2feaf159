"""UserPromptExpansion: link or split this folder's project when a user runs the skill `project`."""

from memory_fabric.errors import FabricError
from memory_fabric.events import Event
from memory_fabric.hooks.reply import Reply
from memory_fabric.hooks.session.heard import WHY, doubt
from memory_fabric.models import Provenance
from memory_fabric.recall.request_context import RequestContext
from memory_fabric.store.memory import Memory
from memory_fabric.text import many

SKILL = "memory-fabric:project"
TYPED = Provenance("prompt", trust="user")


def handle(event: Event, context: RequestContext) -> Reply | None:
    """Run the skill `project` for a user in an attended session; report the result or a refusal."""
    if event.text("command_name") != SKILL:
        return None
    action, _, wanted = event.text("command_args").strip().partition(" ")
    if action not in ("link", "split", "undo", "adopt"):
        return None
    memory = context.memory.whole
    reason = doubt(event, memory, "")
    if not memory.settings.attended:
        result = "Nothing was changed: nobody is here to say which memories are one."
    elif reason:
        result = f"Nothing was changed: not done {WHY[reason]}."
    else:
        try:
            if action == "adopt":
                result = _adopted(memory, wanted.strip())
            else:
                from memory_fabric.store.projects import link  # imported late: for this skill only

                plan = link.plan(memory, action, wanted.strip())
                count = link.carry_out(memory, plan, TYPED)
                moved = f" What it remembered came along ({count} records and entities)."
                back = "" if action == "undo" else " /memory-fabric:project undo takes it back."
                place = f"{plan.new.name} ({plan.new.id})"
                result = f"This folder belongs to {place} now.{moved if count else ''}{back}"
        except (FabricError, OSError) as error:
            result = f"Nothing was changed: {error}"
    return Reply(f"memory-fabric project {action}: {result}", f"memory-fabric: {result}")


def _adopted(memory: Memory, author: str) -> str:
    from memory_fabric.sharing.git import adoption  # imported late: only to recover records

    missing_records = adoption.missing(memory, author)
    if missing_records is None:
        return "The journal of this folder has nothing that memory lacks."
    if not missing_records.lines:
        return f"Nothing was changed: {adoption.notice_text(missing_records)}"
    count = adoption.adopt(memory, missing_records, TYPED)
    memory.flush()
    remaining = "".join(
        f" {number} by {name or 'nobody named'} stay where they are."
        for name, number in missing_records.others.items()
    )
    return f"Restored {many(count, 'record')}; memory-fabric undo takes them out again.{remaining}"
