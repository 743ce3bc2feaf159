"""Prompts that are commands to memory: `undo`, `forget ID`, `keep ID`, `lift ID`, `notes off`.

The prompt hook does them itself, without the assistant, and its notice names what was done.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory_fabric.capture.notes.replaced import line, with_id
from memory_fabric.capture.notes.typed_commands import (
    FORGET,
    KEEP,
    LAST,
    NOTES,
    OF_RULES,
    REPLACE,
    UNDO,
)
from memory_fabric.errors import FabricError
from memory_fabric.ids import short_id, timestamp
from memory_fabric.models import Provenance, Record
from memory_fabric.store import switches
from memory_fabric.store.memory import Memory
from memory_fabric.text import cut, neutralised

if TYPE_CHECKING:
    from memory_fabric.store.history.changes import Change

MAX_SHOWN_CHARS = 160
# An argument with fewer characters and without a digit may be a word: `keep face`.
SURE_CHARS = 8


def run(memory: Memory, verb: str, argument: str, session: str) -> str:
    """Run a command; return what was done, or why not, as one sentence for the user.

    Returns '' for words that mean nothing in memory: they are for the assistant.
    """
    by = Provenance("prompt", trust="user", session=session)
    try:
        if verb == NOTES:
            return _switch_notes(memory, argument == "on")
        if verb == UNDO and argument in ("", LAST):
            return _undo_last(memory, by, "" if argument else session)
        meant = with_id(memory, argument)
        if len(meant) > 1:
            several = "; ".join(line(record) for record in meant)
            return f"not done: {argument} fits several ids, type more of it: {several}"
        if not meant:
            is_word = len(argument) < SURE_CHARS and not any(map(str.isdigit, argument))
            return "" if is_word else f"nothing was done: no memory has the id {argument}"
        if verb in OF_RULES:
            return _bind(memory, verb, meant[0], by)
        return _DONE[verb](memory, meant[0], by)
    except (FabricError, OSError) as error:
        return f"not done: {error}"


def _switch_notes(memory: Memory, on: bool) -> str:
    place = memory.project.id if memory.project else switches.EVERYWHERE
    switches.turn(memory.settings.home, place, (switches.NOTES,), on)
    where = f"in {memory.project.name}" if memory.project else "everywhere"
    if on:
        return f"notes are on {where}, from the next session on; `notes off` stops them"
    return (
        f"notes are off {where}: no line and nothing that you say is made a memory any more, only "
        "what you have remembered by a command; `notes on` brings them back"
    )


def _forget(memory: Memory, record: Record, by: Provenance) -> str:
    memory.forget([record.id], by)
    memory.flush()
    return f"forgot {line(record)}; `undo last` brings it back"


def _bind(memory: Memory, verb: str, record: Record, by: Provenance) -> str:
    """Set what a bound rule does, or lift it."""
    # late: only with this command
    from memory_fabric.capture import edit
    from memory_fabric.rules import effects

    old = edit.editable(memory, record.id)
    new = effects.set_by_user(old.record, verb, by.at or timestamp())
    if new != old.record:
        edit.save(memory, old, new, by)
        memory.flush()
    back = "tell" if verb == effects.LIFT else "lift"
    shown, id_ = line(new), short_id(new.id)
    return f"this rule {effects.DOES[verb]}: {shown}; `{back} {id_}` changes it"


def _keep(memory: Memory, record: Record, by: Provenance) -> str:
    from memory_fabric.capture.decisions import keep  # late: only with this command

    done, kept = keep(memory, record.id, by)
    memory.flush()
    return f"{done} {line(kept)}"


def _replace(memory: Memory, record: Record, by: Provenance) -> str:
    from memory_fabric.capture.decisions import replace  # late: only with this command

    new, old = replace(memory, record.id, by)
    memory.flush()
    closed = "; ".join(map(line, old))
    return f"{line(new)} replaces {closed}; `keep {short_id(old[0].id)}` takes it back"


def _undo(memory: Memory, record: Record, by: Provenance) -> str:
    # late: only with this command
    from memory_fabric.store.history import changes

    made = changes.read_all(
        memory,
        "kind IN ('remember', 'supersede', 'put_record') AND instr(payload, ?) > 0",
        (record.id,),
    )
    for change in made:
        if (
            not (change.undone or change.settles)
            and change.inverse
            and _is_about(change, record.id)
        ):
            return _undone(memory, [change], by)
    return f"nothing was undone: no change is about {line(record)}"


def _is_about(change: Change, id_: str) -> bool:
    """Return True for a change of a record, not of one that only names it."""
    said = change.payload
    closed = [*said.get("supersedes", ()), *(link["id"] for link in said.get("links", ()))]
    return id_ in (said.get("record", {}).get("id"), *closed)


def _undo_last(memory: Memory, by: Provenance, session: str) -> str:
    from memory_fabric.errors import NotFound
    from memory_fabric.store.history import changes
    from memory_fabric.store.history import undo as undoing

    try:
        last = undoing.last(memory, session)
    except NotFound:
        if session:
            return ""  # it may mean what the assistant did
        raise
    return _undone(memory, changes.together(memory, last), by)


def _undone(memory: Memory, chosen: list[Change], by: Provenance) -> str:
    from memory_fabric.store.history import trace
    from memory_fabric.store.history import undo as undoing

    what = cut(neutralised(trace.described(memory, chosen[0]).what), MAX_SHOWN_CHARS).rstrip(".")
    [result, *_] = undoing.undo(memory, chosen, by)
    if not result.by:
        return f"nothing was undone: {result.because}"
    return f"undone: {what}; `memory-fabric undo {short_id(result.by)}` redoes it"


_DONE = {UNDO: _undo, FORGET: _forget, KEEP: _keep, REPLACE: _replace}
