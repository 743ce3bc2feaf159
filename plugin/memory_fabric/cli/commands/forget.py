"""forget: a preview first, then, on a yes, what was shown; for good if that is asked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Annotated, Any

import typer

from memory_fabric.cli import environment, show
from memory_fabric.cli import formatting as named
from memory_fabric.errors import BadInput
from memory_fabric.ids import short_id
from memory_fabric.store.forget import plan
from memory_fabric.store.forget import purge as purging
from memory_fabric.store.forget.plan import Found
from memory_fabric.store.forget.purge import Purged, Toll
from memory_fabric.store.forget.purge_files import is_of_memories
from memory_fabric.store.forget.scrub_log import marked
from memory_fabric.store.forget.spellings import Needle, Sought
from memory_fabric.store.memory import Memory
from memory_fabric.text import cut, one_line

MAX_TEXT_CHARS = 120
STAYS = (
    "Journals and backups keep their copies, and the turn in which it was said can still be found; "
    "--purge erases those, too."
)
TURN_STAYS = "Backups keep their copies; it does not come back. --purge erases those, too."
FOR_GOOD = (
    "A purge cannot be undone. Conversations that Claude Code keeps itself are not touched, and "
    "what is said from now on is kept as ever."
)


def forget(
    what: Annotated[
        list[str], typer.Argument(metavar="ID-OR-TEXT", help="An id, an entity's name, or words.")
    ],
    yes: Annotated[bool, typer.Option("--yes", help="Forget what the preview shows.")] = False,
    everything: Annotated[
        bool, typer.Option("--all", help="With --yes: also when several memories match.")
    ] = False,
    confirm: Annotated[
        str,
        typer.Option(metavar="CODE", help="Forget exactly what the preview with this code showed."),
    ] = "",
    purge: Annotated[
        bool,
        typer.Option(
            "--purge",
            help="Erase the words, or what the id names, for good wherever they stand, and prove "
            "that no file of this memory holds them: tables and their indexes, the history, "
            "journals, queues, what waits to be forwarded, MEMORY.md, logs, pages, sessions, turns "
            "of past conversations, and all backups, for which a new one is made.",
        ),
    ] = False,
    exact: Annotated[
        bool,
        typer.Option(
            "--exact",
            help="With --purge: in this letter case only; also fewer than six characters.",
        ),
    ] = False,
    inside: Annotated[
        bool,
        typer.Option("--inside", help="With --purge: also inside longer words, as in `-pWORD`."),
    ] = False,
    everywhere: Annotated[
        bool,
        typer.Option("--everywhere", help="With --purge: in all projects of this home."),
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="What was found, and how many were forgotten, as JSON.")
    ] = False,
) -> int:
    """Show what would be forgotten; with `--yes` forget it.

    The memory or turn with this id, else the entity of exactly this name or alias, else the
    memories and single observations that hold all of these words. Nothing is changed without
    `--yes`, or `--confirm` with the code of the preview. What was forgotten comes back by
    `memory-fabric undo`, or when somebody states it again; no import and no old journal brings it
    back. A turn does not come back. The turn of a conversation in which it was said can still be
    found.

    With `--purge` words mean themselves, as whole words, wherever they stand side by side; if
    they stand nowhere so, the memories that hold each of them. Records, single observations and
    entities that state them go as a whole. In turns, notes and records of sessions, and in all
    else, `[erased]` takes their place; lines of logs, tasks of subagents and texts of other
    programs go as a whole.
    A purge cannot be undone; its preview says where the words stand. One that was stopped is
    completed by the next. Exit code 1 when a file of another project still holds them, or one that
    only says how memory is set up. Conversations that Claude Code keeps itself are not touched.
    """
    text = " ".join(what)
    if (exact or inside or everywhere) and not purge:
        raise BadInput("--exact", "--exact, --inside and --everywhere belong to --purge.")
    with environment.open_memory() as memory:
        if purge and (yes or confirm) and _completed(memory, text, as_json):
            return 0
        if purge:
            found = purging.find(memory, text, exact=exact, inside=inside, everywhere=everywhere)
        else:
            found = plan.find(memory, text)
        toll = purging.toll(memory, found) if purge else None
        if confirm:
            _must_fit(found, confirm)
        elif yes and len(found) > 1 and not everything:
            raise BadInput(
                "--yes",
                f"{len(found)} memories match; nothing was forgotten.",
                remedy="Name one by its id, say --all, or --confirm with the preview's code.",
            )
        gone, purged = _taken(memory, found, purge) if yes or confirm else (0, None)
    if as_json:
        show.json_out(_as_json(found, gone, toll, purged))
    else:
        _show(found)
        _say(found, gone if yes or confirm else None, toll, purged)
    return 1 if purged and purged.ours else 0


def _must_fit(found: Found, code: str) -> None:
    if found.code != code:
        raise BadInput(
            "--confirm",
            "The code does not fit what this means now; nothing was forgotten.",
            remedy="Look at a new preview, and confirm its code.",
        )


def _taken(memory: Memory, found: Found, purge: bool) -> tuple[int, Purged | None]:
    if not purge:
        return plan.forget(memory, found, environment.said_here()), None
    purged = purging.purge(memory, found, environment.said_here())
    return purged.memories, purged


def _completed(memory: Memory, text: str, as_json: bool) -> bool:
    """True if a purge of the same text had been stopped, and is done now; others are done, too."""
    request = purging.pending(memory.settings.home)
    if not request:
        return False
    purged = purging.resume(memory, environment.said_here())
    if request != text or purged is None:
        show.complain("a purge had been stopped; it is complete now.")
        return False
    if as_json:
        show.json_out({"forgotten": purged.memories, "purged": asdict(purged)})
    else:
        _say(Found(text), purged.memories, None, purged)
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
        "turns": [{"id": t.id, "role": t.role, "at": t.at, "text": t.text} for t in found.turns],
    }
    whole = marked(whole, words_of(found))
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
    rows += [
        (short_id(t.id), f"turn ({t.role})", t.at[:10], cut(one_line(t.text), MAX_TEXT_CHARS))
        for t in found.turns
    ]
    if rows:
        # Whoever asks knows the words; nobody else has to read them here.
        hidden = words_of(found)
        show.table(
            ("id", "kind", "date", "memory"),
            [tuple(map(hidden.without, row)) for row in rows],
        )


def words_of(found: Found) -> Sought:
    """The words of a purge, which no answer repeats."""
    return Sought([Needle(found.words, not found.inside, found.exact)] if found.words else [])


def _say(found: Found, gone: int | None, toll: Toll | None, purged: Purged | None) -> None:
    if purged:
        named = "" if gone or not found.words else "the words, which no memory stated"
        show.line(f"Erased: {named or gone}. {_proven(purged)}")
        for path in purged.elsewhere:
            whose = _whose(path, purged)
            show.complain(f"{path} holds it, too; {whose}.")
    elif gone is not None:
        back = "" if found.turns else " memory-fabric undo --last brings it back."
        show.line(f"Forgotten: {gone}. {TURN_STAYS if found.turns else STAYS}{back}")
    elif toll:
        for sentence in _sentences(toll):
            show.line(sentence)
        for path in toll.elsewhere:
            show.complain(f"{path} holds it, too, and is left alone.")
        say = f"Say --purge --confirm {found.code} to erase exactly this, or --purge --yes."
        show.line(f"{FOR_GOOD} Nothing was changed. {say}")
    else:
        show.line("This would be forgotten; nothing was changed. Say --yes to forget it.")


def _proven(purged: Purged) -> str:
    """What the proof found, and nothing more."""
    whose = "this project's memory" if purged.ours else "this memory"
    kept = [
        f"{text}: {number}"
        for number, text in (
            (purged.inside, "texts with longer words that hold it, which --inside takes"),
            (purged.shared, "texts that other memories hold, too"),
            (purged.short, "texts too short to be sought, which their own words erase"),
        )
        if number
    ]
    but = f", but for {'; '.join(kept)}" if kept else ""
    return f"No file of {whose} holds it any longer{but}."


def _whose(path: str, purged: Purged) -> str:
    if path not in purged.ours:
        return "that is not this memory's"
    if is_of_memories(path):
        return "that is another project's (--everywhere takes it)"
    return "it says how memory is set up, and stays"


def _sentences(toll: Toll) -> Iterator[str]:
    for number, text in (
        (toll.records, "records that state it and go"),
        (toll.entities, "entities of that name that go, with all that is said of them"),
        (toll.observations, "single observations that state it and go"),
        (toll.turns, "turns of past conversations that hold it and lose it"),
        (toll.blocks, "notes of sessions that hold it and lose it"),
        (toll.tasks, "tasks of subagents that hold it and go, too"),
        (toll.ingests, "texts of other programs that hold it and are emptied"),
        (toll.history, "changes in the history that hold it and lose it"),
        (toll.journals, "lines of journals that hold it and lose it"),
        (toll.queues, "lines of queues that hold it and lose it"),
        (toll.forwarding, "texts to be forwarded that hold it and go"),
        (toll.logs, "lines of logs and of what was set aside that hold it and go"),
        (toll.notes, "MEMORY.md that show it and are written anew"),
        (toll.pages, "pages of the memory that go"),
        (toll.backups, "backups that go, when a new one is made"),
        (toll.set_aside, "files of damaged databases that go"),
        (toll.inside, "texts that hold it only inside longer words, and keep it"),
        (toll.mentions, "other memories that mention the name and stay"),
        (toll.shared, "texts that other memories hold, too, and keep"),
        (toll.short, "texts that are too short to be sought in conversations and files"),
    ):
        if number:
            yield f"{text}: {number}"
