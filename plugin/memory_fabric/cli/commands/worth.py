"""worth: what sessions were told, what it cost, and what of it was used."""

import time
from typing import Any

from memory_fabric import ids
from memory_fabric.cli import environment, show
from memory_fabric.cli.options import AsJson, option
from memory_fabric.config import MAX_PRICE
from memory_fabric.models import Record
from memory_fabric.store import counts
from memory_fabric.store.conversations.worth import OFTEN_SESSIONS
from memory_fabric.store.counts import Share, Summary
from memory_fabric.store.schema import ACTIVE_CURRENT
from memory_fabric.text import cut, many, one_line

MAX_SHOWN, MAX_TEXT_CHARS = 20, 100
ESTIMATE = (
    "Tokens are characters divided by 4. Use is an estimate by words: a rule that is kept without "
    "a word is not seen."
)


def worth(
    days: int = option(30, "N", "Only the last so many days.", min=1, max=90),
    price: float | None = option(
        None,
        "DOLLARS",
        "The price of a million tokens; by default `worth.price` of config.toml.",
        min=0,
        max=MAX_PRICE,
    ),
    as_json: AsJson = False,
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
        summary = counts.told_since(memory, since)
        unused = [record.id for record in summary.unused]
        query = f"id IN ({', '.join('?' * len(unused))}) AND {ACTIVE_CURRENT}"
        current = memory.find_records(query, tuple(unused), len(unused)) if unused else []
        price = memory.settings.token_price if price is None else price
    records = {record.id: record for record in current}
    summary = summary._replace(unused=tuple(r for r in summary.unused if r.id in records))
    if as_json:
        show.json_out(_as_json(summary, records, days, price))
    else:
        _show(summary, records, days, price)
    return 0 if summary.sessions else 3


def _as_json(
    summary: Summary, records: dict[str, Record], days: int, price: float
) -> dict[str, Any]:
    return {
        "days": days,
        "since": summary.since,
        "sessions": summary.sessions,
        "price_per_million": price or None,
        "total": _share_as_json(summary.total, price),
        "kinds": [_share_as_json(share, price) for share in summary.kinds],
        "channels": [_share_as_json(share, price) for share in summary.channels],
        "often_told_never_used": [
            {
                "id": record.id,
                "sessions": record.sessions,
                "tokens": counts.tokens(record.chars),
                "text": records[record.id].what,
            }
            for record in summary.unused
        ],
        "estimate": ESTIMATE,
    }


def _share_as_json(share: Share, price: float) -> dict[str, Any]:
    return {
        **({"name": share.name} if share.name else {}),
        **show.fields(share, "items chars"),
        "tokens": counts.tokens(share.chars),
        **show.fields(share, "judged used"),
        "used_share": round(share.used / share.judged, 4) if share.judged else None,
        "cost": round(_cost(share, price), 6) if price else None,
    }


def _show(summary: Summary, records: dict[str, Record], days: int, price: float) -> None:
    if not summary.sessions:
        show.line(f"Nothing was told in the last {days} days.")
        return
    total = counts.tokens(summary.total.chars)
    sessions = many(summary.sessions, "session")
    show.line(f"Told in the last {days} days: {total} tokens in {sessions}.")
    for heading, shares in (("kind", summary.kinds), ("channel", summary.channels)):
        columns = (heading, "items", "tokens", "judged", "used", "share used")
        show.table(
            (*columns, *(["dollars"] if price else [])),
            [_row(share, price) for share in shares],
            optional=("judged", "used", "share used"),
        )
    if not price:
        show.line("For the cost give --price, or worth.price in config.toml.", "dim")
    if summary.unused:
        show.line(f"Told in {OFTEN_SESSIONS} sessions or more and never used:")
        rows = [
            (
                str(record.sessions),
                str(counts.tokens(record.chars)),
                ids.short_id(record.id),
                cut(one_line(records[record.id].what), MAX_TEXT_CHARS),
            )
            for record in summary.unused[:MAX_SHOWN]
        ]
        show.table(("sessions", "tokens", "id", "memory"), rows, lines=1)
        if len(summary.unused) > MAX_SHOWN:
            show.line(f"and {len(summary.unused) - MAX_SHOWN} more", "dim")
    show.line(ESTIMATE, "dim")


def _row(share: Share, price: float) -> tuple[str, ...]:
    part = f"{share.used / share.judged:.0%}" if share.judged else "—"
    numbers = (share.items, counts.tokens(share.chars), share.judged, share.used)
    row = (share.name, *map(str, numbers), part)
    return (*row, f"{_cost(share, price):.4f}") if price else row


def _cost(share: Share, price: float) -> float:
    """Return the dollars for reading the items once."""
    return share.chars / counts.CHARS_PER_TOKEN * price / 1e6
