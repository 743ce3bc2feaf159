"""stale, prune: list memories that have not been mentioned for long, and forget them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from memory_fabric.cli import environment, option_values, progress, show
from memory_fabric.ids import short_id, timestamp
from memory_fabric.text import cut, one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory_fabric.recall.retention import Pruned, Report, Stale
    from memory_fabric.store.memory import Memory

LIMIT = 50
MAX_TEXT_CHARS, MAX_NAME_CHARS = 100, 40
NOTHING = (
    "Nothing is stale: decisions are after 90 days, technologies 120, patterns 180, preferences "
    "365, others 90; agents and pinned memories never."
)
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
    limit: Limit = LIMIT,
    older_than: OlderThan = None,
    as_json: show.AsJson = False,
) -> int:
    """List memories that have not been mentioned for long, oldest first.

    Decisions are stale after 90 days, technologies 120, patterns 180, preferences 365, other types
    90, counted from the last observation. Agents and pinned memories are never stale, and replaced
    ones are not listed. Nothing is changed; memory-fabric prune removes stale memories.
    """
    from memory_fabric.recall import retention  # not needed for --help

    with environment.open_memory() as memory:
        report = retention.stale(
            memory, timestamp(), types=types or (), limit=limit, older_than=older_than
        )
        failures = list(memory.failures)
    if as_json:
        show.json_out({**_report_as_json(report), "failures": failures})
    else:
        _show_report(report)
    for failure in [] if as_json else failures:
        show.warn(failure)
    return 0 if report.shown else 1 if failures else 3


def _show_report(report: Report) -> None:
    if not report.shown:
        show.line(NOTHING)
        return
    columns = ("id", "type", "days", "name", "last observation")
    show.table(columns, [_row(one) for one in report.shown])
    more = report.total - len(report.shown)
    if more > 0:
        show.line(f"and {more} more recent ones (--limit)", "dim")


def _row(one: Stale) -> Sequence[str]:
    item = one.item
    text = cut(one_line(item.text), MAX_TEXT_CHARS) if item.text else _without_text(one)
    name = cut(one_line(item.name), MAX_NAME_CHARS)
    kind = item.type if item.id else f"entity ({item.type})"
    return short_id(item.id) or "—", kind, str(one.days), name, f"{item.last_at[:10]} {text}"


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
    from memory_fabric.recall import retention  # not needed for --help

    now = timestamp()
    with environment.open_memory() as memory:
        report = retention.stale(
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
    from memory_fabric.recall import retention

    with progress.bar("Pruning", quiet=quiet) as tell:
        return retention.prune(memory, report.shown, environment.provenance(), now, tell)


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
