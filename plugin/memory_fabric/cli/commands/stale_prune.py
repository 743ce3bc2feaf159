"""stale, prune: list memories that are old or whose files have changed, and forget old ones."""

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from memory_fabric.cli import environment, progress, show
from memory_fabric.cli.options import AsJson, argument, flag
from memory_fabric.ids import short_id, timestamp
from memory_fabric.models import (
    CHANGED_FILES,
    ENTITY_TYPES,
    RECORD_TYPES,
    TYPE_ALIASES,
    Record,
    shown_type,
    worded,
)
from memory_fabric.recall import review
from memory_fabric.recall.render import changed_files
from memory_fabric.recall.review import Pruned, Report, Stale
from memory_fabric.text import cut, one_line

# Memories that are listed, and that are pruned, unless --limit says otherwise.
LISTED, LIMIT = 20, 50
MAX_TEXT_CHARS, MAX_NAME_CHARS = 100, 40
TYPES = sorted(RECORD_TYPES | ENTITY_TYPES | TYPE_ALIASES.keys())
NOTHING = (
    "Nothing is stale: decisions are after 90 days, technologies 120, patterns 180, preferences "
    "365, others 90; agents and pinned memories never."
)
NO_FILES = "No memory names a file that has changed since."
Types = Annotated[
    list[str] | None,
    typer.Option(
        "--type",
        metavar="T",
        help="Only this type of record or entity; can be repeated.",
        autocompletion=lambda incomplete: [t for t in TYPES if t.startswith(incomplete)],
    ),
]
Limit = Annotated[int, typer.Option(min=1, metavar="N", help="The maximum number, oldest first.")]
OlderThan = Annotated[
    int | None,
    typer.Option(
        "--older-than",
        min=0,
        metavar="DAYS",
        help="Stale after this many days, for every type except agents.",
    ),
]


def stale(
    types: Types = None,
    limit: Limit = LISTED,
    older_than: OlderThan = None,
    files: bool = flag("--files", "Only memories that name a file which has changed since."),
    as_json: AsJson = False,
) -> int:
    """List memories not mentioned for long, or whose files changed.

    Decisions are stale after 90 days, technologies 120, patterns 180, preferences 365, other types
    90, counted from the last observation; the oldest come first. Agents and pinned memories are
    never stale, and replaced ones are not listed. Then follow memories that name a file of the
    project which has changed or is gone since they were stored, also fresh and pinned ones:
    `memory-fabric review --holds ID` says that one is still true. Nothing is changed;
    memory-fabric prune removes stale memories, and none for its files.
    """
    with environment.open_memory() as memory:
        report = review.Report()
        if not files:
            report = review.stale(
                memory, timestamp(), types=types or (), limit=limit, older_than=older_than
            )
        altered = review.records_with_changes(memory, types or ())
        failures = list(memory.failures)
    if as_json:
        rows = [_altered_as_json(record) for record in altered[:limit]]
        counts = {"changed_files": rows, "total_changed_files": len(altered)}
        show.json_out({**_report_as_json(report), **counts, "failures": failures})
    else:
        if report.shown or not altered:
            _show_report(report, NO_FILES if files else NOTHING)
        if altered:
            _show_altered(altered, limit)
        show.warn_all(failures)
    return 0 if report.shown or altered else 1 if failures else 3


def _show_altered(altered: Sequence[Record], limit: int) -> None:
    show.line("Files that these memories name have changed since:", "bold")
    rows = [
        (
            short_id(record.id),
            shown_type(record.type),
            f"{one_line(worded(record, MAX_TEXT_CHARS))} {changed_files(record.evidence)}",
        )
        for record in altered[:limit]
    ]
    show.table(("id", "type", "memory"), rows, lines=2)
    if len(altered) > limit:
        show.line(f"and {len(altered) - limit} older ones (--limit)", "dim")
    show.line("Still true: memory-fabric review --holds ID. Else: edit ID, or forget ID.")


def _altered_as_json(record: Record) -> dict[str, Any]:
    ids = {"id": record.id, "short_id": short_id(record.id)}
    return {**ids, **show.fields(record, "type what"), "files": record.evidence[CHANGED_FILES]}


def _show_report(report: Report, nothing: str = NOTHING) -> None:
    if not report.shown:
        show.line(nothing)
        return
    columns = ("id", "type", "days", "memory")
    show.table(columns, map(_row, report.shown), lines=1, optional=("id",))
    more = report.total - len(report.shown)
    if more > 0:
        show.line(f"and {more} more recent ones (--limit)", "dim")


def _row(stale: Stale) -> Sequence[str]:
    item = stale.item
    text = cut(one_line(item.text), MAX_TEXT_CHARS)
    text = text if item.text else f"no observations; relations: {item.relations}"
    if item.id:
        return short_id(item.id), shown_type(item.type), str(stale.days), text
    name = cut(one_line(item.name), MAX_NAME_CHARS)
    return "—", f"entity ({item.type})", str(stale.days), f"{name}: {text}"


def _report_as_json(report: Report) -> dict[str, Any]:
    return {"total": report.total, "stale": list(map(_stale_as_json, report.shown))}


def _stale_as_json(stale: Stale) -> dict[str, Any]:
    item = stale.item
    fields = {
        **show.fields(item, "kind id"),
        "short_id": short_id(item.id),
        **show.fields(item, "name type store"),
        **show.fields(stale, "days limit_days"),
        "last_at": item.last_at,
        "last_observation": item.text,
    }
    return fields if item.id else fields | show.fields(item, "observations relations")


def prune(
    names: list[str] | None = argument(None, "[NAME-OR-ID]...", "Only these stale memories."),
    types: Types = None,
    limit: Limit = LIMIT,
    older_than: OlderThan = None,
    yes: bool = flag("--yes", "Prune without asking."),
    as_json: AsJson = False,
) -> int:
    """Show what `stale` shows, ask, and then remove exactly that.

    What was mentioned since it was shown stays. One undo, whose command is printed, restores all
    of it. With --json it does not ask, and needs --yes to change anything.
    """
    now = timestamp()
    with environment.open_memory() as memory:
        report = review.stale(
            memory,
            now,
            types=types or (),
            limit=max(limit, len(names or ())),
            older_than=older_than,
            named=names or (),
        )
        show.warn_all(memory.failures)
        if not as_json:
            _show_report(report)
            if not report.shown:
                return 3
            what = "this" if len(report.shown) == 1 else f"these {len(report.shown)}"
            show.confirm(f"Remove {what} from memory?", yes)
        pruned = Pruned()
        if yes or not as_json:
            with progress.bar("Pruning", quiet=as_json) as tell:
                by = environment.provenance()
                pruned = review.prune(memory, report.shown, by, now, tell)
    if as_json:
        outcome = {
            "pruned": len(pruned.removed),
            "changed_meanwhile": list(map(_stale_as_json, pruned.kept)),
            "undo": f"memory-fabric undo {pruned.undo}" if pruned.undo else "",
        }
        show.json_out({**_report_as_json(report), **outcome})
        return 0 if report.shown else 3
    if pruned.kept:
        items = (stale.item for stale in pruned.kept)
        names = [short_id(i.id) or cut(one_line(i.name), MAX_NAME_CHARS) for i in items]
        show.warn(f"kept, because changed since it was shown: {', '.join(names)}")
    if pruned.undo:
        undo = f"memory-fabric undo {pruned.undo}"
        show.line(f"Pruned: {len(pruned.removed)}. {undo} restores all of it.")
    else:
        show.line("Nothing was pruned.")
    return 0
