"""why, history: show the origin of a memory or an entity, and list changes."""

from collections.abc import Iterable
from typing import Annotated, Any

import typer

from memory_fabric.cli import environment, formatting, show
from memory_fabric.cli.changes_table import show_changes
from memory_fabric.errors import NotFound
from memory_fabric.ids import short_id
from memory_fabric.models import shown_type, worded
from memory_fabric.store import file_states
from memory_fabric.store.history import trace
from memory_fabric.store.history.changes import who
from memory_fabric.store.history.trace import (
    DescribedChange,
    EntityTrace,
    Injection,
    RecordTrace,
    Statement,
)
from memory_fabric.text import cut, one_line

MAX_TEXT_CHARS = 120
FILE_STATES = {
    file_states.SAME: "is as it was",
    file_states.CHANGED: "has changed since",
    file_states.GONE: "is gone",
}


def why(
    name: Annotated[
        str, typer.Argument(metavar="ID-OR-NAME", help="The id that recall shows, or an entity.")
    ],
    as_json: show.AsJson = False,
) -> int:
    """Show where a memory comes from and which sessions were given it.

    Shows who stated it, when and where, which tiers hold it, and which sessions and agents were
    given it; for an entity, the same for each observation. For a deleted memory it shows who
    deleted it.
    """
    with environment.open_memory() as memory:
        origin = trace.why(memory, name)
        if isinstance(origin, RecordTrace):
            files = file_states.of_record(memory, origin.record.id)
    if isinstance(origin, RecordTrace):
        _tell_record(origin, files, as_json)
    else:
        _tell_entity(origin, as_json)
    return 0


def _tell_record(origin: RecordTrace, files: dict[str, str], as_json: bool) -> None:
    if as_json:
        show.json_out(_record_as_json(origin) | ({"files": files} if files else {}))
        return
    record = origin.record
    show.line(
        f"{shown_type(record.type)} {short_id(record.id)}: {one_line(worded(record))}", style="bold"
    )
    named = "; ".join(f"{path} {FILE_STATES[how]}" for path, how in files.items())
    removed = ("removed", _deletion(origin.deletion))
    show.facts((*formatting.origin_facts(origin), ("files", named), removed))
    _show_injections(origin.injections)


def _tell_entity(origin: EntityTrace, as_json: bool) -> None:
    if as_json:
        show.json_out(_entity_as_json(origin))
        return
    show.line(f"{origin.name} ({origin.type})", style="bold")
    show.facts(
        (
            ("also called", ", ".join(origin.aliases)),
            ("stored in", f"the {origin.store}'s memory"),
            ("removed", _deletion(origin.deletion)),
        )
    )
    rows = [
        (
            formatting.when(s.at),
            _speaker(s),
            short_id(s.record),
            cut(one_line(s.text), MAX_TEXT_CHARS),
        )
        for s in origin.statements
    ]
    if rows:
        show.table(("when", "said by", "memory", "observation"), rows)
    else:
        show.line("It has no observations.")
    records = [
        injection for said in origin.statements if said.record for injection in said.injections
    ]
    _show_injections((*origin.injections, *records))


def _show_injections(injections: Iterable[Injection]) -> None:
    given = list(dict.fromkeys(injections))
    for injection in given:
        agent = f", agent {injection.agent}," if injection.agent else ""
        show.line(
            f"given to session {injection.session}{agent} with a {injection.channel} block "
            f"on {formatting.when(injection.at)}"
        )
    if not given:
        show.line("given to no session yet")


def _speaker(said: Statement) -> str:
    if said.trust == "foreign":
        return f"{said.agent or 'someone else'}, by {said.source}"
    agent = f" (agent {said.agent})" if said.agent else ""
    session = f", session {said.session}" if said.session else ""
    return f"{formatting.speaker(said.source, said.trust)}{agent}, by {said.source}{session}"


def _deletion(described: DescribedChange | None) -> str:
    if described is None:
        return ""
    change = described.change
    return f"{described.what}, on {formatting.when(change.at)} by {who(change.by)}"


def _record_as_json(origin: RecordTrace) -> dict[str, Any]:
    whole = formatting.as_json(origin.record) | {
        "store": origin.store,
        "seen_in": list(origin.seen_in),
        "tiers": list(origin.tiers),
        "given_to": _injections_as_json(origin.injections),
    }
    return whole | ({"gone": trace.as_json(origin.deletion)} if origin.deletion else {})


def _entity_as_json(origin: EntityTrace) -> dict[str, Any]:
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
            "given_to": _injections_as_json(s.injections),
        }
        for s in origin.statements
    ]
    whole = {
        "name": origin.name,
        "entityType": origin.type,
        "aliases": list(origin.aliases),
        "store": origin.store,
        "observations": said,
        "given_to": _injections_as_json(origin.injections),
    }
    return whole | ({"gone": trace.as_json(origin.deletion)} if origin.deletion else {})


def _injections_as_json(injections: Iterable[Injection]) -> list[dict[str, str]]:
    return [
        {"session": g.session, "agent": g.agent, "channel": g.channel, "at": g.at}
        for g in injections
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
        changes = trace.history(memory, name, limit)
    if as_json:
        show.json_out([trace.as_json(one) for one in changes])
    elif changes:
        show_changes([(one, _with_undone(one)) for one in changes])
    elif not name:
        show.line("Nothing has changed yet.")
    if name and not changes:
        raise NotFound(
            name,
            f"There is no memory or entity {name!r}.",
            remedy="memory-fabric recall finds names.",
        )
    return 0 if changes else 3


def _with_undone(described: DescribedChange) -> str:
    return f"(undone) {described.what}" if described.change.undone else described.what
