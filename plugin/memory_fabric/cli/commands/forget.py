"""Command forget: forget or purge memories after a preview."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from memory_fabric.cli import environment, show
from memory_fabric.cli.options import STEP, argument, flag, option
from memory_fabric.errors import BadInput
from memory_fabric.hooks.session.follow_transcript import mark_purged
from memory_fabric.ids import short_id
from memory_fabric.models import Progress, shown_type
from memory_fabric.store.forget import plan
from memory_fabric.store.forget import purge as purging
from memory_fabric.store.forget.purge_files import is_of_memories
from memory_fabric.store.forget.scrub_log import marked
from memory_fabric.store.forget.spellings import Needle, Sought
from memory_fabric.store.memory import Memory
from memory_fabric.store.queries import graph
from memory_fabric.text import cut, one_line

PURGE_NOTICE = (
    "A purge cannot be undone. Transcripts of Claude Code are not touched, and what is "
    "said from now on is captured as before."
)
# Descriptions of the numbers in the preview of a purge.
COUNTED = {
    "records": "records that state it and are deleted",
    "entities": "entities of that name that are deleted with their observations and relations",
    "observations": "single observations that state it and are deleted",
    "turns": "turns of past conversations in which it is replaced",
    "blocks": "session records in which it is replaced",
    "tasks": "tasks of subagents that contain it and are deleted",
    "ingests": "texts of other programs that contain it and are emptied",
    "history": "changes in the history in which it is replaced",
    "journals": "lines of journals in which it is replaced",
    "queues": "lines of queues in which it is replaced",
    "forwarding": "texts to be forwarded that contain it and are deleted",
    "logs": "lines of logs and lines set aside that contain it and are deleted",
    "notes": "MEMORY.md files that show it and are written again",
    "pages": "pages of the memory that are deleted",
    "backups": "backups that are replaced by a new one",
    "set_aside": "files of damaged databases that are deleted",
    "mentions": "other memories that mention the name and stay",
    # Texts that contain the words, but are left in place, and why.
    "inside": "texts with longer words that contain it, which --inside erases",
    "shared": "texts that other memories also contain",
    "short": "texts too short to search for, which a purge of their own words erases",
}


def forget(
    what: list[str] = argument("ID-OR-TEXT  An id, an entity's name, or words."),
    yes: bool = flag("--yes  Forget the matches of the preview."),
    everything: bool = flag("--all  With --yes: even if several memories match."),
    confirm: str = option("CODE  Forget exactly the matches of the preview with this code."),
    purge: bool = flag(
        "--purge  Erase the words, or the memory with the id, from all files for good."
    ),
    exact: bool = flag("--exact  With --purge: match case; also allows fewer than six characters."),
    inside: bool = flag("--inside  With --purge: also match inside longer words, as in `-pWORD`."),
    everywhere: bool = flag("--everywhere  With --purge: in all projects of this home."),
    step: str = STEP,
    as_json: bool = flag("--json  Answer in JSON: the matches and how many were forgotten."),
) -> int:
    """Show what would be forgotten; with `--yes` forget it.

    An id matches its memory or turn. The exact name or alias of an entity matches the entity and
    the memories about it alone; memories that are also about other entities are shown, but stay.
    Other text matches memories, and single observations of entities, that contain all of its words.
    Undo restores a forgotten memory, and so does stating it again, but an import or an old journal
    does not. A turn cannot be restored.

    With `--purge`, the words match as a phrase of whole words; if nothing contains the phrase, the
    memories that contain all of the words match. Matching records and observations are deleted,
    `[erased]` replaces the words in turns and session records, and a new backup replaces all older
    ones: no file of this memory contains the words any more. A purge cannot be undone. Exit code 1
    if a file of another project or a configuration file still contains the words.
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
            matches = purging.find(memory, text, exact=exact, inside=inside, everywhere=everywhere)
        else:
            matches = plan.find(memory, text)
        # The preview takes as long as the search itself, so plain output omits the preview if the
        # matches are erased at once.
        is_shown = as_json or not (yes or confirm)
        preview = purging.preview(memory, matches) if purge and is_shown else None
        if confirm and matches.code != confirm:
            reason = "The matches have changed since this preview; nothing was forgotten."
            remedy = "Run a new preview, and confirm its code."
            raise BadInput("--confirm", reason, remedy=remedy)
        is_several = (len(matches.entities) or len(matches)) > 1
        if is_several and yes and not confirm and not everything:
            reason = f"{len(matches)} memories match; nothing was forgotten."
            remedy = "Use the id of one, --all, or --confirm with the code of the preview."
            raise BadInput("--yes", reason, remedy=remedy)
        again = _words_of(matches).without(plan.reopened(memory, matches.records))
        forgotten, purged = 0, None
        if (yes or confirm) and purge:
            is_purged = plan.target_of(plan.purge_plan(memory, matches)).is_in
            for place in purging.transcripts_with(memory, matches):
                mark_purged(*place, is_purged)
            with _purging(as_json) as tell:
                purged = purging.purge(memory, matches, environment.provenance(), tell)
            forgotten = purged.memories
        elif yes or confirm:
            forgotten = plan.forget(memory, matches, environment.provenance())
        lone_names = [n for db in memory.databases() if forgotten for n in graph.left_alone(db, 1)]
    if as_json:
        fields = {"forgotten": forgotten} | plan.as_json(matches)
        fields |= {"reopened": again} if again else {}
        shown: dict[str, Any] = marked(fields, _words_of(matches))
        if preview:
            numbers = {name: preview[0][name] for name in COUNTED}
            shown["purge"] = {**numbers, "elsewhere": preview[1], "can_be_undone": False}
        show.json_out(shown | ({"purged": purged._asdict()} if purged else {}))
    else:
        _show(matches)
        _say(matches, forgotten if yes or confirm else None, preview, purged)
        show.lines([again] if again else [])
        if lone_names and matches.entities:
            names = ", ".join(map(graph.shown, lone_names))
            hint = "memory-fabric repair --orphans lists them."
            show.warn(f"left without relations: {names}; {hint}")
    return 1 if purged and purged.ours else 0


@contextmanager
def _purging(quiet: bool) -> Iterator[Progress | None]:
    try:
        with show.progress_bar("Erasing", quiet=quiet) as tell:
            yield tell
    except KeyboardInterrupt:
        show.warn("The purge was stopped half-way. The same command erases the rest.")
        raise


def _resume(memory: Memory, text: str, as_json: bool) -> bool:
    """Complete an interrupted purge, if any; return True if that purge had the same `text`."""
    if not (request := purging.pending(memory.settings.home)):
        return False
    with _purging(as_json) as tell:
        purged = purging.resume(memory, environment.provenance(), tell)
    if request != text or purged is None:
        show.warn("an interrupted purge was completed.")
        return False
    if as_json:
        show.json_out({"forgotten": purged.memories, "purged": purged._asdict()})
    else:
        _say(plan.Found(text), purged.memories, None, purged)
    return True


def _show(matches: plan.Found) -> None:
    rows = [
        (short_id(r.id), shown_type(r.type), r.created_at[:10], _short(r.what))
        for r in matches.records
    ]
    rows += [
        ("", f"entity ({e.type})", "", f"{e.name}, own observations: {len(e.observations)}")
        for e in matches.entities
    ]
    rows += [("", "observation", "", f"{o.entity}: {_short(o.text)}") for o in matches.observations]
    rows += [(short_id(t.id), f"turn ({t.role})", t.at[:10], _short(t.text)) for t in matches.turns]
    names = {entity.name for entity in matches.entities}
    for r in matches.kept:
        other_names = ", ".join(name for name in plan.named_in(r) if name not in names)
        text = f"{_short(r.what)} (also about {other_names})"
        rows.append((short_id(r.id), f"{shown_type(r.type)}, stays", r.created_at[:10], text))
    if rows:
        hidden = _words_of(matches)
        columns = ("id", "kind", "date", "memory")
        show.table(columns, [tuple(map(hidden.without, row)) for row in rows])


def _short(text: str) -> str:
    return cut(one_line(text), 120)


def _words_of(matches: plan.Found) -> Sought:
    """Return a matcher of the words that a purge erases, so that the output can hide them."""
    needle = Needle(matches.words, not matches.inside, matches.exact)
    return Sought([needle] if matches.words else [])


def _say(
    matches: plan.Found,
    forgotten: int | None,
    preview: tuple[Counter[str], list[str]] | None,
    purged: purging.Purged | None,
) -> None:
    if purged:
        words = "" if forgotten or not matches.words else "the words, which no memory stated"
        whose = "this project's memory" if purged.ours else "this memory"
        numbers = {name: getattr(purged, name) for name in ("inside", "shared", "short")}
        exceptions = [f"{COUNTED[name]}: {number}" for name, number in numbers.items() if number]
        but = f", except for {'; '.join(exceptions)}" if exceptions else ""
        show.line(f"Erased: {words or forgotten}. No file of {whose} contains it any more{but}.")
        for path in purged.elsewhere:
            if path not in purged.ours:
                owner = "it does not belong to this memory"
            elif is_of_memories(path):
                owner = "it belongs to another project (use --everywhere)"
            else:
                owner = "it is a configuration file, and stays"
            show.warn(f"{path} contains it, too; {owner}.")
    elif forgotten is not None:
        back = "" if matches.turns else " memory-fabric undo --last restores it."
        remark = plan.TURN_STAYS if matches.turns else plan.STAYS
        show.line(f"Forgotten: {forgotten}. {remark}{back}")
    elif preview:
        counts, elsewhere = preview
        show.lines(f"{text}: {counts[name]}" for name, text in COUNTED.items() if counts[name])
        show.warn_all(f"{p} contains it, too, and is left alone." for p in elsewhere)
        confirm = f"Use --purge --confirm {matches.code} to erase exactly this, or --purge --yes."
        show.line(f"{PURGE_NOTICE} Nothing was changed. {confirm}")
    else:
        show.line("This would be forgotten; nothing was changed. Use --yes to forget it.")
