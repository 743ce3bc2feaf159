"""stale, prune: list memories that are old or whose files have changed, and forget old ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memory_fabric.cli import environment, option_values, progress, show
from memory_fabric.ids import short_id, timestamp
from memory_fabric.models import CHANGED_FILES, Record, shown_type, worded
from memory_fabric.recall.render import changed_files
from memory_fabric.store.memory import Memory
from memory_fabric.text import cut, one_line

if TYPE_CHECKING:
    from memory_fabric.recall.review import Pruned, Report, Stale

# Memories that are listed, and that are pruned, unless --limit says otherwise.
LISTED, LIMIT = 20, 50
MAX_TEXT_CHARS, MAX_NAME_CHARS = 100, 40
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
        autocompletion=option_values.types,
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
    files: Annotated[
        bool,
        typer.Option("--files", help="Only memories that name a file which has changed since."),
    ] = False,
    as_json: show.AsJson = False,
) -> int:
    """List memories not mentioned for long, or whose files changed.

    Decisions are stale after 90 days, technologies 120, patterns 180, preferences 365, other types
    90, counted from the last observation; the oldest come first. Agents and pinned memories are
    never stale, and replaced ones are not listed. Then follow memories that name a file of the
    project which has changed or is gone since they were stored, also fresh and pinned ones:
    `memory-fabric review --holds ID` says that one is still true. Nothing is changed;
    memory-fabric prune removes stale memories, and none for its files.
    """
    from memory_fabric.recall import marks, review  # not needed for --help

    with environment.open_memory() as memory:
        report = review.Report()
        if not files:
            report = review.stale(
                memory, timestamp(), types=types or (), limit=limit, older_than=older_than
            )
        altered = marks.records_with_changes(memory, types or ())
        failures = list(memory.failures)
    if as_json:
        whole = _report_as_json(report) | {"changed_files": _altered_as_json(altered[:limit])}
        show.json_out({**whole, "total_changed_files": len(altered), "failures": failures})
    else:
        if report.shown or not altered:
            _show_report(report, NO_FILES if files else NOTHING)
        _show_altered(altered, limit)
    for failure in [] if as_json else failures:
        show.warn(failure)
    return 0 if report.shown or altered else 1 if failures else 3


def _show_altered(altered: Sequence[Record], limit: int) -> None:
    if not altered:
        return
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


def _altered_as_json(altered: Sequence[Record]) -> list[dict[str, Any]]:
    return [
        {
            "id": record.id,
            "short_id": short_id(record.id),
            "type": record.type,
            "what": record.what,
            "files": record.evidence[CHANGED_FILES],
        }
        for record in altered
    ]


def _show_report(report: Report, nothing: str = NOTHING) -> None:
    if not report.shown:
        show.line(nothing)
        return
    columns = ("id", "type", "days", "memory")
    show.table(columns, [_row(one) for one in report.shown], lines=1, optional=("id",))
    more = report.total - len(report.shown)
    if more > 0:
        show.line(f"and {more} more recent ones (--limit)", "dim")


def _row(one: Stale) -> Sequence[str]:
    item = one.item
    text = cut(one_line(item.text), MAX_TEXT_CHARS) if item.text else _without_text(one)
    if item.id:
        return short_id(item.id), shown_type(item.type), str(one.days), text
    name = cut(one_line(item.name), MAX_NAME_CHARS)
    return "—", f"entity ({item.type})", str(one.days), f"{name}: {text}"


def _without_text(one: Stale) -> str:
    return f"no observations; relations: {one.item.relations}"


def _report_as_json(report: Report) -> dict[str, Any]:
    return {"total": report.total, "stale": [_object_of(one) for one in report.shown]}


def _object_of(one: Stale) -> dict[str, Any]:
    item = one.item
    whole = {
        "kind": item.kind,
        "id": item.id,
        "short_id": short_id(item.id),
        "name": item.name,
        "type": item.type,
        "store": item.store,
        "days": one.days,
        "limit_days": one.limit_days,
        "last_at": item.last_at,
        "last_observation": item.text,
    }
    if not item.id:
        whole |= {"observations": item.observations, "relations": item.relations}
    return whole


def _called(one: Stale) -> str:
    return short_id(one.item.id) or cut(one_line(one.item.name), MAX_NAME_CHARS)


def prune(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME-OR-ID]...", help="Only these stale memories."),
    ] = None,
    types: Types = None,
    limit: Limit = LIMIT,
    older_than: OlderThan = None,
    yes: Annotated[bool, typer.Option("--yes", help="Prune without asking.")] = False,
    as_json: show.AsJson = False,
) -> int:
    """Show what `stale` shows, ask, and then remove exactly that.

    What was mentioned since it was shown stays. One undo, whose command is printed, restores all
    of it. With --json it does not ask, and needs --yes to change anything.
    """
    from memory_fabric.recall import review  # not needed for --help

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
        for failure in memory.failures:
            show.warn(failure)
        if as_json:
            pruned = _pruned(memory, report, now, quiet=True) if yes else None
            show.json_out({**_report_as_json(report), **_outcome(pruned)})
            return 0 if report.shown else 3
        _show_report(report)
        if not report.shown:
            return 3
        if not show.confirmed(_question(report), yes):
            raise typer.Abort
        _say(_pruned(memory, report, now, quiet=False))
    return 0


def _pruned(memory: Memory, report: Report, now: str, *, quiet: bool) -> Pruned:
    from memory_fabric.recall import review

    with progress.bar("Pruning", quiet=quiet) as tell:
        return review.prune(memory, report.shown, environment.provenance(), now, tell)


def _question(report: Report) -> str:
    what = "this" if len(report.shown) == 1 else f"these {len(report.shown)}"
    return f"Remove {what} from memory?"


def _say(pruned: Pruned) -> None:
    if pruned.kept:
        names = ", ".join(_called(one) for one in pruned.kept)
        show.warn(f"kept, because changed since it was shown: {names}")
    if pruned.undo:
        show.line(
            f"Pruned: {len(pruned.removed)}. memory-fabric undo {pruned.undo} restores all of it."
        )
    else:
        show.line("Nothing was pruned.")


def _outcome(pruned: Pruned | None) -> dict[str, Any]:
    if pruned is None:
        return {"pruned": 0, "changed_meanwhile": [], "undo": ""}
    return {
        "pruned": len(pruned.removed),
        "changed_meanwhile": [_object_of(one) for one in pruned.kept],
        "undo": f"memory-fabric undo {pruned.undo}" if pruned.undo else "",
    }
