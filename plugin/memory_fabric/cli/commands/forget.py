"""forget: forget or purge memories after a preview."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Annotated, Any

import typer

from memory_fabric.cli import environment, show
from memory_fabric.errors import BadInput
from memory_fabric.ids import short_id
from memory_fabric.models import Record, shown_type
from memory_fabric.store import graph
from memory_fabric.store.forget import plan
from memory_fabric.store.forget import purge as purging
from memory_fabric.store.forget.plan import Found
from memory_fabric.store.forget.purge import Purged, PurgePreview
from memory_fabric.store.forget.purge_files import is_of_memories
from memory_fabric.store.forget.scrub_log import marked
from memory_fabric.store.forget.spellings import Needle, Sought
from memory_fabric.store.memory import Memory
from memory_fabric.text import cut, one_line

MAX_TEXT_CHARS = 120
PURGE_NOTICE = (
    "A purge cannot be undone. Transcripts of Claude Code are not touched, and what is "
    "said from now on is captured as before."
)


def forget(
    what: Annotated[
        list[str], typer.Argument(metavar="ID-OR-TEXT", help="An id, an entity's name, or words.")
    ],
    yes: Annotated[bool, typer.Option("--yes", help="Forget the matches of the preview.")] = False,
    everything: Annotated[
        bool, typer.Option("--all", help="With --yes: even if several memories match.")
    ] = False,
    confirm: Annotated[
        str,
        typer.Option(
            metavar="CODE", help="Forget exactly the matches of the preview with this code."
        ),
    ] = "",
    purge: Annotated[
        bool,
        typer.Option(
            "--purge",
            help="Permanently erase all occurrences of the words, or the memory with the id, and "
            "verify that no file of this memory contains them: tables and indexes, history, "
            "journals, queues, items to be forwarded, MEMORY.md, logs, pages, sessions, turns of "
            "past conversations, and all backups, which are replaced by a new one.",
        ),
    ] = False,
    exact: Annotated[
        bool,
        typer.Option(
            "--exact",
            help="With --purge: match case; also allows fewer than six characters.",
        ),
    ] = False,
    inside: Annotated[
        bool,
        typer.Option(
            "--inside", help="With --purge: also match inside longer words, as in `-pWORD`."
        ),
    ] = False,
    everywhere: Annotated[
        bool,
        typer.Option("--everywhere", help="With --purge: in all projects of this home."),
    ] = False,
    step: environment.Step = "",
    as_json: Annotated[
        bool,
        typer.Option("--json", help="Answer in JSON: the matches and how many were forgotten."),
    ] = False,
) -> int:
    """Show what would be forgotten; with `--yes` forget it.

    Matches the memory or turn with this id, else the entity with exactly this name or alias and
    the memories about it alone (those that are also about others stay, and are shown), else the
    memories and single observations that contain all of these words. Nothing is changed
    without `--yes`, or `--confirm` with the code of the preview. A forgotten memory is restored by
    `memory-fabric undo`, or if it is stated again, but not by an import or an old journal. A turn
    cannot be restored. The conversation turn in which a memory was stated can still be found.

    With `--purge` the words match as a phrase of whole words; if there is none, the memories that
    contain each of them. Records, single observations and entities that state them are deleted,
    as are log lines, tasks of subagents and texts of other programs. In turns, session records
    and everything else, they are replaced by `[erased]`. A purge cannot be undone; its preview
    shows where the words occur. An interrupted purge is completed by the next one. Exit code 1 if
    a file of another project or a configuration file still contains them. Transcripts of Claude
    Code are not touched.
    """
    text = " ".join(what)
    if (exact or inside or everywhere) and not purge:
        raise BadInput("--exact", "--exact, --inside and --everywhere need --purge.")
    if step and purge:
        raise BadInput("--step", "A purge cannot be undone, so it is no part of a step.")
    with environment.open_memory(step=step) as memory:
        if purge and (yes or confirm) and _resume(memory, text, as_json):
            return 0
        if purge:
            found = purging.find(memory, text, exact=exact, inside=inside, everywhere=everywhere)
        else:
            found = plan.find(memory, text)
        preview = purging.preview(memory, found) if purge else None
        if confirm:
            _check_code(found, confirm)
        elif yes and (len(found.entities) or len(found)) > 1 and not everything:
            raise BadInput(
                "--yes",
                f"{len(found)} memories match; nothing was forgotten.",
                remedy="Use the id of one, --all, or --confirm with the code of the preview.",
            )
        gone, purged = _forget(memory, found, purge) if yes or confirm else (0, None)
        left = [n for db in memory.databases() if gone for n in graph.left_alone(db, 1)]
    if as_json:
        show.json_out(_as_json(found, gone, preview, purged))
    else:
        _show(found)
        _say(found, gone if yes or confirm else None, preview, purged)
        if left and found.entities:
            names = ", ".join(map(graph.shown, left))
            show.warn(
                f"left without relations: {names}; memory-fabric repair --orphans lists them."
            )
    return 1 if purged and purged.ours else 0


def _check_code(found: Found, code: str) -> None:
    if found.code != code:
        raise BadInput(
            "--confirm",
            "The matches have changed since this preview; nothing was forgotten.",
            remedy="Run a new preview, and confirm its code.",
        )


def _forget(memory: Memory, found: Found, purge: bool) -> tuple[int, Purged | None]:
    if not purge:
        return plan.forget(memory, found, environment.provenance()), None
    purged = purging.purge(memory, found, environment.provenance())
    return purged.memories, purged


def _resume(memory: Memory, text: str, as_json: bool) -> bool:
    """Complete an interrupted purge; return True if it was one of the same text."""
    request = purging.pending(memory.settings.home)
    if not request:
        return False
    purged = purging.resume(memory, environment.provenance())
    if request != text or purged is None:
        show.warn("an interrupted purge was completed.")
        return False
    if as_json:
        show.json_out({"forgotten": purged.memories, "purged": asdict(purged)})
    else:
        _say(Found(text), purged.memories, None, purged)
    return True


def _as_json(
    found: Found, gone: int, preview: PurgePreview | None, purged: Purged | None
) -> dict[str, Any]:
    whole: dict[str, Any] = {"forgotten": gone} | plan.as_json(found)
    whole = marked(whole, words_of(found))
    if preview:
        whole["purge"] = asdict(preview) | {"can_be_undone": False}
    if purged:
        whole["purged"] = asdict(purged)
    return whole


def _show(found: Found) -> None:
    rows = [
        (
            short_id(r.id),
            shown_type(r.type),
            r.created_at[:10],
            cut(one_line(r.what), MAX_TEXT_CHARS),
        )
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
    rows += [
        (short_id(r.id), f"{shown_type(r.type)}, stays", r.created_at[:10], _also_about(r, found))
        for r in found.kept
    ]
    if rows:
        # The output does not repeat the words that are to be erased.
        hidden = words_of(found)
        show.table(
            ("id", "kind", "date", "memory"),
            [tuple(map(hidden.without, row)) for row in rows],
        )


def _also_about(record: Record, found: Found) -> str:
    names = {entity.name for entity in found.entities}
    others = [name for name in plan.named_in(record) if name not in names]
    return f"{cut(one_line(record.what), MAX_TEXT_CHARS)} (also about {', '.join(others)})"


def words_of(found: Found) -> Sought:
    """Return the words of a purge, which the output must not repeat."""
    return Sought([Needle(found.words, not found.inside, found.exact)] if found.words else [])


def _say(
    found: Found, gone: int | None, preview: PurgePreview | None, purged: Purged | None
) -> None:
    if purged:
        named = "" if gone or not found.words else "the words, which no memory stated"
        show.line(f"Erased: {named or gone}. {_verified(purged)}")
        for path in purged.elsewhere:
            whose = _whose(path, purged)
            show.warn(f"{path} contains it, too; {whose}.")
    elif gone is not None:
        back = "" if found.turns else " memory-fabric undo --last restores it."
        show.line(f"Forgotten: {gone}. {plan.TURN_STAYS if found.turns else plan.STAYS}{back}")
    elif preview:
        for sentence in _sentences(preview):
            show.line(sentence)
        for path in preview.elsewhere:
            show.warn(f"{path} contains it, too, and is left alone.")
        say = f"Use --purge --confirm {found.code} to erase exactly this, or --purge --yes."
        show.line(f"{PURGE_NOTICE} Nothing was changed. {say}")
    else:
        show.line("This would be forgotten; nothing was changed. Use --yes to forget it.")


def _verified(purged: Purged) -> str:
    """Describe the result of the verification."""
    whose = "this project's memory" if purged.ours else "this memory"
    kept = [
        f"{text}: {number}"
        for number, text in (
            (purged.inside, "texts with longer words that contain it, which --inside erases"),
            (purged.shared, "texts that other memories also contain"),
            (
                purged.short,
                "texts too short to search for, which a purge of their own words erases",
            ),
        )
        if number
    ]
    but = f", except for {'; '.join(kept)}" if kept else ""
    return f"No file of {whose} contains it any more{but}."


def _whose(path: str, purged: Purged) -> str:
    if path not in purged.ours:
        return "it does not belong to this memory"
    if is_of_memories(path):
        return "it belongs to another project (use --everywhere)"
    return "it is a configuration file, and stays"


def _sentences(preview: PurgePreview) -> Iterator[str]:
    for number, text in (
        (preview.records, "records that state it and are deleted"),
        (
            preview.entities,
            "entities of that name that are deleted with their observations and relations",
        ),
        (preview.observations, "single observations that state it and are deleted"),
        (preview.turns, "turns of past conversations in which it is replaced"),
        (preview.blocks, "session records in which it is replaced"),
        (preview.tasks, "tasks of subagents that contain it and are deleted"),
        (preview.ingests, "texts of other programs that contain it and are emptied"),
        (preview.history, "changes in the history in which it is replaced"),
        (preview.journals, "lines of journals in which it is replaced"),
        (preview.queues, "lines of queues in which it is replaced"),
        (preview.forwarding, "texts to be forwarded that contain it and are deleted"),
        (preview.logs, "lines of logs and lines set aside that contain it and are deleted"),
        (preview.notes, "MEMORY.md files that show it and are written again"),
        (preview.pages, "pages of the memory that are deleted"),
        (preview.backups, "backups that are replaced by a new one"),
        (preview.set_aside, "files of damaged databases that are deleted"),
        (preview.inside, "texts that contain it only inside longer words, and stay"),
        (preview.mentions, "other memories that mention the name and stay"),
        (preview.shared, "texts that other memories also contain, and stay"),
        (preview.short, "texts that are too short to search for in conversations and files"),
    ):
        if number:
            yield f"{text}: {number}"
