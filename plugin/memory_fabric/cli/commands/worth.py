"""worth: what sessions were told, what it cost, and what of it was used."""

import time
from typing import Annotated, Any

import typer

from memory_fabric import ids
from memory_fabric.cli import environment, show
from memory_fabric.config import MAX_PRICE
from memory_fabric.models import Record
from memory_fabric.store.conversations.worth import OFTEN_SESSIONS
from memory_fabric.store.health import told_summary
from memory_fabric.store.health.told_summary import Share, Summary
from memory_fabric.store.schema import ACTIVE_CURRENT
from memory_fabric.text import cut, one_line

MAX_SHOWN, MAX_TEXT_CHARS = 20, 100
ESTIMATE = (
    "Tokens are characters divided by 4. Use is an estimate by words: a rule that is kept without "
    "a word is not seen."
)


def worth(
    days: Annotated[
        int, typer.Option(metavar="N", min=1, max=90, help="Only the last so many days.")
    ] = 30,
    price: Annotated[
        float | None,
        typer.Option(
            metavar="DOLLARS",
            min=0,
            max=MAX_PRICE,
            help="The price of a million tokens; by default `worth.price` of config.toml.",
        ),
    ] = None,
    as_json: show.AsJson = False,
) -> int:
    """Show what sessions were told, what it cost, and what was used.

    Counts what this project's sessions were given at their start, with prompts and as subagents,
    by kind and by channel, the headings and the request for notes included. An item counts as used
    if its id, its names, paths or commands, or several of its words in one sentence stand in what
    the assistant said or did afterwards, and not in the prompt. Those of turns that have not ended,
    and of subagents, are not judged. Records that were told in five sessions or more and never used
    are listed. What was told is counted for 90 days. Exit code 3 if nothing was told.

        memory-fabric worth --days 7
        memory-fabric worth --price 3 --json
    """
    since = ids.timestamp(time.time() - days * 24 * 3600)
    with environment.open_memory() as memory:
        found = told_summary.summary(memory, since)
        marks = ", ".join("?" * len(found.unused))
        unused = [one.id for one in found.unused]
        current = f"id IN ({marks}) AND {ACTIVE_CURRENT}"
        known = memory.find_records(current, tuple(unused), len(unused)) if unused else []
        price = memory.settings.token_price if price is None else price
    records = {record.id: record for record in known}
    found = found._replace(unused=tuple(one for one in found.unused if one.id in records))
    if as_json:
        show.json_out(_as_json(found, records, days, price))
    else:
        _show(found, records, days, price)
    return 0 if found.sessions else 3


def _as_json(found: Summary, records: dict[str, Record], days: int, price: float) -> dict[str, Any]:
    return {
        "days": days,
        "since": found.since,
        "sessions": found.sessions,
        "price_per_million": price or None,
        "total": _share_as_json(found.total, price),
        "kinds": [_share_as_json(share, price) for share in found.kinds],
        "channels": [_share_as_json(share, price) for share in found.channels],
        "often_told_never_used": [
            {
                "id": one.id,
                "sessions": one.sessions,
                "tokens": told_summary.tokens(one.chars),
                "text": records[one.id].what,
            }
            for one in found.unused
        ],
        "estimate": ESTIMATE,
    }


def _share_as_json(share: Share, price: float) -> dict[str, Any]:
    stated = {"name": share.name} if share.name else {}
    return stated | {
        "items": share.items,
        "chars": share.chars,
        "tokens": told_summary.tokens(share.chars),
        "judged": share.judged,
        "used": share.used,
        "used_share": round(share.used / share.judged, 4) if share.judged else None,
        "cost": round(_cost(share, price), 6) if price else None,
    }


def _show(found: Summary, records: dict[str, Record], days: int, price: float) -> None:
    if not found.sessions:
        show.line(f"Nothing was told in the last {days} days.")
        return
    total = told_summary.tokens(found.total.chars)
    sessions = "1 session" if found.sessions == 1 else f"{found.sessions} sessions"
    show.line(f"Told in the last {days} days: {total} tokens in {sessions}.")
    for heading, shares in (("kind", found.kinds), ("channel", found.channels)):
        columns = (heading, "items", "tokens", "judged", "used", "share used")
        rows = [_row(share, price) for share in shares]
        names = (*columns, *(["dollars"] if price else []))
        show.table(names, rows, optional=("judged", "used", "share used"))
    if not price:
        show.line("For the cost give --price, or worth.price in config.toml.", "dim")
    if found.unused:
        show.line(f"Told in {OFTEN_SESSIONS} sessions or more and never used:")
        rows = [
            (
                str(one.sessions),
                str(told_summary.tokens(one.chars)),
                ids.short_id(one.id),
                cut(one_line(records[one.id].what), MAX_TEXT_CHARS),
            )
            for one in found.unused[:MAX_SHOWN]
        ]
        show.table(("sessions", "tokens", "id", "memory"), rows, lines=1)
        if len(found.unused) > MAX_SHOWN:
            show.line(f"and {len(found.unused) - MAX_SHOWN} more", "dim")
    show.line(ESTIMATE, "dim")


def _row(share: Share, price: float) -> tuple[str, ...]:
    part = f"{share.used / share.judged:.0%}" if share.judged else "—"
    numbers = (share.items, told_summary.tokens(share.chars), share.judged, share.used)
    row = (share.name, *map(str, numbers), part)
    return (*row, f"{_cost(share, price):.4f}") if price else row


def _cost(share: Share, price: float) -> float:
    """Return the dollars for reading the items once."""
    return share.chars / told_summary.CHARS_PER_TOKEN * price / 1e6
