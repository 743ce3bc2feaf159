"""why, history: show the origin of a memory or an entity, and list changes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

import typer

from memory_fabric.cli import environment, formatting, show
from memory_fabric.errors import NotFound
from memory_fabric.ids import short_id
from memory_fabric.models import Record
from memory_fabric.store.history import describe
from memory_fabric.store.history import trace as tracing
from memory_fabric.store.history.trace import EntityTrace, Gift, RecordTrace, Said, Told
from memory_fabric.text import cut, one_line

MAX_TEXT_CHARS = 120


def why(
    name: Annotated[
        str, typer.Argument(metavar="ID-OR-NAME", help="The id that recall shows, or an entity.")
    ],
    as_json: show.AsJson = False,
) -> int:
    """Show where a memory comes from, and which sessions were given it.

    Shows who stated it, when and where, which tiers hold it, and which sessions and agents were
    given it; for an entity, the same for each observation. For a deleted memory it shows who
    deleted it.
    """
    with environment.open_memory() as memory:
        trace = tracing.why(memory, name)
    if isinstance(trace, RecordTrace):
        _tell_record(trace, as_json)
    else:
        _tell_entity(trace, as_json)
    return 0


def _tell_record(trace: RecordTrace, as_json: bool) -> None:
    if as_json:
        show.json_out(_record_as_json(trace))
        return
    record = trace.record
    show.line(f"{record.type} {short_id(record.id)}: {one_line(record.what)}", style="bold")
    show.facts((*_reasons(record, trace), ("removed", _gone(trace.gone))))
    _show_gifts(trace.gifts)


def _tell_entity(trace: EntityTrace, as_json: bool) -> None:
    if as_json:
        show.json_out(_entity_as_json(trace))
        return
    show.line(f"{trace.name} ({trace.type})", style="bold")
    show.facts(
        (
            ("also called", ", ".join(trace.aliases)),
            ("stored in", f"the {trace.store}'s memory"),
            ("removed", _gone(trace.gone)),
        )
    )
    rows = [
        (
            formatting.when(s.at),
            _speaker(s),
            short_id(s.record),
            cut(one_line(s.text), MAX_TEXT_CHARS),
        )
        for s in trace.said
    ]
    if rows:
        show.table(("when", "said by", "memory", "observation"), rows)
    else:
        show.line("It has no observations.")
    records = [gift for said in trace.said if said.record for gift in said.gifts]
    _show_gifts((*trace.gifts, *records))


def _show_gifts(gifts: Iterable[Gift]) -> None:
    given = list(dict.fromkeys(gifts))
    for gift in given:
        agent = f", agent {gift.agent}," if gift.agent else ""
        show.line(
            f"given to session {gift.session}{agent} with a {gift.channel} block "
            f"on {formatting.when(gift.at)}"
        )
    if not given:
        show.line("given to no session yet")


def _reasons(record: Record, trace: RecordTrace) -> tuple[tuple[str, str], ...]:
    superseded = f", superseded by {short_id(record.superseded_by)}" if record.superseded_by else ""
    return (
        ("why", one_line(record.why)),
        ("instead of", ", ".join(record.alternatives)),
        ("said by", formatting.said_by(record)),
        ("where", ", ".join(part for part in (record.project, record.origin) if part)),
        ("sessions", ", ".join(part for part in trace.seen_in if part)),
        ("trust", f"{record.trust}, confidence {record.confidence:.2f}"),
        ("scope", f"{record.scope}, domain {record.domain}"),
        ("category", record.category),
        ("state", record.status + (", pinned" if record.pinned else "") + superseded),
        ("entities", ", ".join(e.name for e in record.entities)),
        ("stored in", ", ".join(trace.tiers)),
    )


def _speaker(said: Said) -> str:
    agent = f" (agent {said.agent})" if said.agent else ""
    session = f", session {said.session}" if said.session else ""
    return f"{formatting.speaker(said.source, said.trust)}{agent}, by {said.source}{session}"


def _gone(told: Told | None) -> str:
    if told is None:
        return ""
    return f"{told.what}, on {formatting.when(told.change.at)} by {describe.who(told.change.by)}"


def _record_as_json(trace: RecordTrace) -> dict[str, Any]:
    whole = formatting.as_json(trace.record) | {
        "store": trace.store,
        "seen_in": list(trace.seen_in),
        "tiers": list(trace.tiers),
        "given_to": _gifts_as_json(trace.gifts),
    }
    return whole | ({"gone": tracing.as_json(trace.gone)} if trace.gone else {})


def _entity_as_json(trace: EntityTrace) -> dict[str, Any]:
    said = [
        {
            "text": s.text,
            "trust": s.trust,
            "source": s.source,
            "session": s.session,
            "agent": s.agent,
            "domain": s.domain,
            "record": s.record,
            "at": s.at,
            "given_to": _gifts_as_json(s.gifts),
        }
        for s in trace.said
    ]
    whole = {
        "name": trace.name,
        "entityType": trace.type,
        "aliases": list(trace.aliases),
        "store": trace.store,
        "observations": said,
        "given_to": _gifts_as_json(trace.gifts),
    }
    return whole | ({"gone": tracing.as_json(trace.gone)} if trace.gone else {})


def _gifts_as_json(gifts: Iterable[Gift]) -> list[dict[str, str]]:
    return [
        {"session": g.session, "agent": g.agent, "channel": g.channel, "at": g.at} for g in gifts
    ]


def history(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME-OR-ID",
            help="An entity, under all its names, or a memory; by default all.",
        ),
    ] = None,
    limit: Annotated[
        int, typer.Option(metavar="N", min=1, max=10_000, help="The maximum number of changes.")
    ] = 20,
    as_json: Annotated[
        bool, typer.Option("--json", help="Answer in JSON: all fields of the changes.")
    ] = False,
) -> int:
    """Show what changed and who changed it, newest first.

    Each change has the id that `memory-fabric undo` takes. Forgotten and deleted memories have a
    history, too.
    """
    with environment.open_memory() as memory:
        told = tracing.history(memory, name, limit)
    if as_json:
        show.json_out([tracing.as_json(one) for one in told])
    elif told:
        show.table(("when", "id", "by", "what"), [_change_row(one) for one in told])
    elif not name:
        show.line("Nothing has changed yet.")
    if name and not told:
        raise NotFound(
            name,
            f"There is no memory or entity {name!r}.",
            remedy="memory-fabric recall finds names.",
        )
    return 0 if told else 3


def _change_row(told: Told) -> tuple[str, ...]:
    change = told.change
    what = f"{told.what} (undone)" if change.undone else told.what
    return formatting.when(change.at), short_id(change.id), describe.who(change.by), what
