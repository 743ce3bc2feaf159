"""off, on: switch recall and capture, everywhere or for one project."""

from typing import Annotated

import typer

from memory_fabric.cli import environment, show
from memory_fabric.errors import NotFound
from memory_fabric.store import switches
from memory_fabric.store.memory import Memory

PARTS = {"read": "recall", "write": "capture"}
Read = Annotated[bool, typer.Option("--read", help="Only recall: memories for the model.")]
Write = Annotated[bool, typer.Option("--write", help="Only capture: storing new memories.")]
Here = Annotated[bool, typer.Option("--here", help="Only the project of this folder.")]
AsJson = Annotated[bool, typer.Option("--json", help="Answer in JSON: the new state.")]


def off(
    read: Read = False, write: Write = False, only_here: Here = False, as_json: AsJson = False
) -> int:
    """Turn recall and capture off everywhere; stored memories stay."""
    return _switch(False, read, write, only_here, as_json)


def on(
    read: Read = False, write: Write = False, only_here: Here = False, as_json: AsJson = False
) -> int:
    """Turn recall and capture on again.

    A warning names each other setting that keeps them off.
    """
    return _switch(True, read, write, only_here, as_json)


def _switch(to: bool, read: bool, write: bool, only_here: bool, as_json: bool) -> int:
    parts = [name for name, wanted in (("read", read), ("write", write)) if wanted] or list(PARTS)
    with environment.open_memory() as memory:
        if only_here and memory.project is None:
            raise NotFound("project", "This folder has no project.", remedy="Leave out --here.")
        place = memory.project.id if only_here and memory.project else switches.EVERYWHERE
        before = switches.own(memory.settings.home, place)
        switches.turn(memory.settings.home, place, parts, to)
    with environment.open_memory() as memory:
        changed = [part for part in parts if before[part] is not to]
        if as_json:
            reads, writes = memory.settings.reads, memory.settings.writes
            show.json_out({"place": place, "reads": reads, "writes": writes, "changed": changed})
        else:
            _say(memory, to, parts, changed, only_here)
    return 0


def _say(memory: Memory, to: bool, parts: list[str], changed: list[str], only_here: bool) -> None:
    where = f"for {memory.project.name}" if only_here and memory.project else "everywhere"
    now = {"read": memory.settings.reads, "write": memory.settings.writes}
    told = "; ".join(_sentence(part, to, part in changed) for part in parts)
    stays = [f"; {PARTS[part]} stays {_on(now[part])}" for part in PARTS if part not in parts]
    nothing = "" if changed else " Nothing was changed."
    show.line(f"{told}, {where}{''.join(stays)}.{nothing}")
    for part in parts:
        if to and not now[part]:
            show.warn(
                f"{PARTS[part]} is still off here, by MEMORY_FABRIC, config.toml or a switch "
                f"{'for everything' if only_here else 'for this project'} (memory-fabric on"
                f"{'' if only_here else ' --here'})."
            )


def _sentence(part: str, to: bool, was_changed: bool) -> str:
    if was_changed:
        return f"{PARTS[part]} was {_on(not to)}, is {_on(to)} now"
    return f"{PARTS[part]} was {_on(to)} already"


def _on(switch: bool) -> str:
    return "on" if switch else "off"
