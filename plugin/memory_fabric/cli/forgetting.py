"""forget: a preview first, then, on a yes, what was shown; for good if that is asked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Annotated, Any

import typer

from memory_fabric.cli import here, named, show
from memory_fabric.errors import BadInput
from memory_fabric.ids import short_id
from memory_fabric.store import forgetting
from memory_fabric.store.forgetting import Found
from memory_fabric.store.memory import Memory
from memory_fabric.store.purge import purging
from memory_fabric.store.purge.purging import Purged, Toll
from memory_fabric.text import cut, one_line

MAX_TEXT_CHARS = 120
STAYS = (
    "Journals and backups keep their copies, and the turn in which it was said can still be found; "
    "--purge erases those, too."
)
FOR_GOOD = "A purge cannot be undone. Conversations that Claude Code keeps itself are not touched."


def forget(
    what: Annotated[
        list[str], typer.Argument(metavar="ID-OR-TEXT", help="An id, an entity's name, or words.")
    ],
    yes: Annotated[bool, typer.Option("--yes", help="Forget what the preview shows.")] = False,
    everything: Annotated[
        bool, typer.Option("--all", help="With --yes: also when several memories match.")
    ] = False,
    purge: Annotated[
        bool,
        typer.Option(
            "--purge",
            help="Erase it for good, and prove that no file of this memory holds it: tables and "
            "their indexes, the history, journals, queues, MEMORY.md, logs, sessions, turns of "
            "past conversations that hold it, and all backups, for which a new one is made.",
        ),
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="What was found, and how many were forgotten, as JSON.")
    ] = False,
) -> int:
    """Show what would be forgotten; with `--yes` forget it.

    The memory with this id, else the entity of exactly this name or alias, else the memories and
    single observations that hold all of these words. Nothing is changed without `--yes`. What was
    forgotten comes back by `memory-fabric undo`, or when somebody states it again; no import and no
    old journal brings it back. The turn of a conversation in which it was said can still be found.

    A purge cannot be undone; its preview says what goes with it. One that was stopped is completed
    by the next. Conversations that Claude Code keeps itself are not touched.
    """
    text = " ".join(what)
    with here.open_memory() as memory:
        if purge and yes and _completed(memory, text, as_json):
            return 0
        found = purging.find(memory, text) if purge else forgetting.find(memory, text)
        toll = purging.toll(memory, found) if purge else None
        if yes and len(found) > 1 and not everything:
            raise BadInput(
                "--yes",
                f"{len(found)} memories match {text!r}; nothing was forgotten.",
                remedy="Name one by its id, or say --all.",
            )
        gone, purged = _taken(memory, found, purge) if yes else (0, None)
    if as_json:
        show.json_out(_as_json(found, gone, toll, purged))
    else:
        _show(found)
        _say(gone if yes else None, toll, purged)
    return 0


def _taken(memory: Memory, found: Found, purge: bool) -> tuple[int, Purged | None]:
    if not purge:
        return forgetting.forget(memory, found, here.said_here()), None
    purged = purging.purge(memory, found, here.said_here())
    return purged.memories, purged


def _completed(memory: Memory, text: str, as_json: bool) -> bool:
    """Whether a purge of the same text had been stopped, and is done now; others are done, too."""
    request = purging.pending(memory.settings.home)
    if not request:
        return False
    purged = purging.resume(memory, here.said_here())
    if request != text or purged is None:
        show.complain(f"a purge of {request!r} had been stopped; it is complete now.")
        return False
    if as_json:
        show.json_out({"forgotten": purged.memories, "purged": asdict(purged)})
    else:
        _say(purged.memories, None, purged)
    return True


def _as_json(found: Found, gone: int, toll: Toll | None, purged: Purged | None) -> dict[str, Any]:
    whole: dict[str, Any] = {
        "forgotten": gone,
        "code": found.code,
        "records": [named.as_json(r) for r in found.records],
        "entities": [
            {"name": e.name, "entityType": e.type, "observations": list(e.observations)}
            for e in found.entities
        ],
        "observations": [{"entityName": o.entity, "text": o.text} for o in found.observations],
    }
    if toll:
        whole["purge"] = asdict(toll) | {"can_be_undone": False}
    if purged:
        whole["purged"] = asdict(purged)
    return whole


def _show(found: Found) -> None:
    rows = [
        (short_id(r.id), r.type, r.created_at[:10], cut(one_line(r.what), MAX_TEXT_CHARS))
        for r in found.records
    ]
    rows += [
        ("", f"entity ({e.type})", "", f"{e.name}, {len(e.observations)} observations of its own")
        for e in found.entities
    ]
    rows += [
        ("", "observation", "", f"{o.entity}: {cut(one_line(o.text), MAX_TEXT_CHARS)}")
        for o in found.observations
    ]
    show.table(("id", "kind", "date", "memory"), rows)


def _say(gone: int | None, toll: Toll | None, purged: Purged | None) -> None:
    if purged:
        show.line(f"Erased: {gone}. No file of this memory holds it any longer.")
        for path in purged.elsewhere:
            show.complain(f"{path} holds it, too; that is not this memory's.")
    elif gone is not None:
        show.line(f"Forgotten: {gone}. {STAYS} memory-fabric undo --last brings it back.")
    elif toll:
        for sentence in _sentences(toll):
            show.line(sentence)
        show.line(f"{FOR_GOOD} Nothing was changed. Say --purge --yes to erase it.")
    else:
        show.line("This would be forgotten; nothing was changed. Say --yes to forget it.")


def _sentences(toll: Toll) -> Iterator[str]:
    for number, text in (
        (toll.turns, "turns of past conversations that hold it and go, too"),
        (toll.ingests, "texts of other programs that hold it and are emptied"),
        (toll.tasks, "tasks of subagents that hold it and go, too"),
        (toll.blocks, "notes of sessions that hold it and are emptied"),
        (toll.backups, "backups that go, when a new one is made"),
        (toll.set_aside, "files of damaged databases that go"),
        (toll.mentions, "other memories that mention the name and stay"),
        (toll.shared, "texts that other memories hold, too, and keep"),
        (toll.short, "texts that are too short to be sought in conversations and files"),
    ):
        if number:
            yield f"{text}: {number}"
