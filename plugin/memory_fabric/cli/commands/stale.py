"""stale: list memories that have not been mentioned for long."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from memory_fabric.cli import environment, option_values, show
from memory_fabric.ids import short_id, timestamp
from memory_fabric.text import cut, one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory_fabric.recall.retention import Report, Stale

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
        show.json_out({**report_as_json(report), "failures": failures})
    else:
        show_report(report)
    for failure in [] if as_json else failures:
        show.warn(failure)
    return 0 if report.shown else 1 if failures else 3


def show_report(report: Report) -> None:
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


def report_as_json(report: Report) -> dict[str, Any]:
    return {"total": report.total, "stale": [object_of(one) for one in report.shown]}


def object_of(one: Stale) -> dict[str, Any]:
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


def called(one: Stale) -> str:
    return short_id(one.item.id) or cut(one_line(one.item.name), MAX_NAME_CHARS)
