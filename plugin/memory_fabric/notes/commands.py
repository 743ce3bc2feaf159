"""Prompts that are commands to memory: `undo ID`, `forget ID`, `notes off` and `notes on`.

The prompt hook does them itself, without the assistant, and its notice names what was done.
"""

from __future__ import annotations

from memory_fabric.errors import FabricError
from memory_fabric.models import Provenance
from memory_fabric.notes.replaced import line, named
from memory_fabric.notes.typed_commands import FORGET, NOTES
from memory_fabric.store import switches
from memory_fabric.text import cut, neutralised, one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory_fabric.store.memory import Memory

MAX_SHOWN_CHARS = 160


def run(memory: Memory, verb: str, argument: str, session: str) -> str:
    """Run a command; return what was done, or why not, as one sentence for the user."""
    by = Provenance("prompt", trust="user", session=session)
    try:
        if verb == NOTES:
            return _switch_notes(memory, argument == "on")
        return _forget(memory, argument, by) if verb == FORGET else _undo(memory, argument, by)
    except (FabricError, OSError) as error:
        return f"not done: {error}"


def _switch_notes(memory: Memory, on: bool) -> str:
    place = memory.project.id if memory.project else switches.EVERYWHERE
    switches.turn(memory.settings.home, place, (switches.NOTES,), on)
    where = f"in {memory.project.name}" if memory.project else "everywhere"
    if on:
        return f"notes are on {where}, from the next session on; `notes off` stops them"
    return f"notes are off {where}: no line is kept any more; `notes on` brings them back"


def _forget(memory: Memory, argument: str, by: Provenance) -> str:
    found = named(memory, argument, "")
    if not found:
        return f"nothing was forgotten: no memory has the id {argument}"
    memory.forget([found[0].id], by)
    memory.flush()
    return f"forgot {_shown(line(found[0]))}; `memory-fabric undo --last` brings it back"


def _undo(memory: Memory, argument: str, by: Provenance) -> str:
    # late: only with this command
    from memory_fabric.store.history import changes
    from memory_fabric.store.history import undo as undoing

    made = changes.read_all(
        memory,
        "kind IN ('remember', 'supersede', 'put_record') AND instr(payload, ?) > 0",
        (argument,),
    )
    chosen = next((change for change in made if not change.undone and change.inverse), None)
    if chosen is None:
        return f"nothing was undone: no change is about the id {argument}"
    about = named(memory, argument, "")
    [result, *_] = undoing.undo(memory, [chosen], by)
    if not result.by:
        return f"nothing was undone: {result.because}"
    return f"undone: {_shown(line(about[0]) if about else argument)}"


def _shown(text: str) -> str:
    return cut(neutralised(one_line(text)), MAX_SHOWN_CHARS)
