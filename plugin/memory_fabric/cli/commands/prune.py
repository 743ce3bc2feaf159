"""prune: forget what is stale, after showing it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from memory_fabric.cli import environment, progress, show
from memory_fabric.cli.commands.stale import (
    LIMIT,
    Limit,
    OlderThan,
    Types,
    called,
    object_of,
    report_as_json,
    show_report,
)
from memory_fabric.ids import timestamp

if TYPE_CHECKING:
    from memory_fabric.recall.retention import Pruned, Report
    from memory_fabric.store.memory import Memory


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
            show.json_out({**report_as_json(report), **_outcome(pruned)})
            return 0 if report.shown else 3
        show_report(report)
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
        names = ", ".join(called(one) for one in pruned.kept)
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
        "changed_meanwhile": [object_of(one) for one in pruned.kept],
        "undo": f"memory-fabric undo {pruned.undo}" if pruned.undo else "",
    }
