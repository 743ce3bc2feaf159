"""history, why: where a memory comes from and what became of it."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from memory_fabric.cli import here, named, show
from memory_fabric.errors import NotFound
from memory_fabric.ids import short_id
from memory_fabric.models import Record
from memory_fabric.store import graph, records
from memory_fabric.store.database import Database
from memory_fabric.store.memory import Memory
from memory_fabric.text import cut, one_line

MAX_CHANGES = 200
MAX_TEXT_CHARS = 200
AsJson = Annotated[bool, typer.Option("--json", help="Answer in JSON, for programs.")]


def history(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME-OR-ID", help="An entity or a memory; none: all.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="At most so many changes.")] = 20,
    as_json: AsJson = False,
) -> int:
    """Show what changed, and who changed it."""
    with here.open_memory() as memory:
        wanted = _wanted(memory, name) if name else None
        changes = _changes(memory, wanted, limit)
    if as_json:
        show.json_out(changes)
    elif changes:
        rows = [(named.when(c["at"]), c["kind"], _who(c), c["what"]) for c in changes]
        show.table(("when", "change", "by", "what"), rows)
    else:
        show.line("Nothing has changed yet.")
    if name and not changes:
        raise NotFound(
            name, f"Nothing is known of {name!r}.", remedy="memory-fabric recall finds names."
        )
    return 0 if changes else 3


def why(
    identifier: Annotated[str, typer.Argument(metavar="ID", help="The id that recall shows.")],
    as_json: AsJson = False,
) -> int:
    """Say where a memory comes from, and who was given it."""
    with here.open_memory() as memory:
        record, seen, kind = named.record_by_id(memory, identifier)
        tiers = named.tiers_holding(memory, record.id)
        given = _given(memory, record.id)
    if as_json:
        whole = named.as_json(record)
        show.json_out(whole | {"store": kind, "seen_in": seen, "tiers": tiers, "given_to": given})
        return 0
    show.line(f"{record.type} {short_id(record.id)}: {one_line(record.what)}", style="bold")
    show.facts(_reasons(record, seen, tiers))
    for gift in given:
        show.line(
            f"given to session {gift['session']}{_of_agent(gift)} with a {gift['channel']} block "
            f"on {named.when(gift['at'])}"
        )
    if not given:
        show.line("given to no session yet")
    return 0


def _reasons(record: Record, seen: list[str], tiers: list[str]) -> tuple[tuple[str, str], ...]:
    superseded = f", superseded by {short_id(record.superseded_by)}" if record.superseded_by else ""
    return (
        ("why", one_line(record.why)),
        ("instead of", ", ".join(record.alternatives)),
        ("said by", named.said_by(record)),
        ("where", ", ".join(part for part in (record.project, record.origin) if part)),
        ("sessions", ", ".join(part for part in seen if part)),
        ("trust", f"{record.trust}, confidence {record.confidence:.2f}"),
        ("scope", f"{record.scope}, domain {record.domain}"),
        ("state", record.status + (", pinned" if record.pinned else "") + superseded),
        ("entities", ", ".join(e.name for e in record.entities)),
        ("lies in", ", ".join(tiers)),
    )


def _given(memory: Memory, record_id: str) -> list[dict[str, str]]:
    """The sessions and agents that had this record injected, newest first."""
    found: list[dict[str, str]] = []
    for database in memory.databases():
        rows = database.rows(
            "SELECT session, agent, channel, created_at FROM injections WHERE memory IN (?, ?) "
            "ORDER BY created_at DESC",
            (record_id, f"record:{record_id}"),
        )
        names = ("session", "agent", "channel", "at")
        found += [dict(zip(names, row, strict=True)) for row in rows]
    return found


def _wanted(memory: Memory, name: str) -> tuple[set[str], set[str]]:
    """Ids and entity names that a person means by `name`."""
    ids: set[str] = set()
    names = {name}
    for database in memory.databases():
        names.update(e.name for e in graph.entities_by_key(database, [name]).values())
    if named.looks_like_id(name):
        ids.add(name.removeprefix("record:"))
    return ids, names


def _changes(
    memory: Memory, wanted: tuple[set[str], set[str]] | None, limit: int
) -> list[dict[str, Any]]:
    changes: list[dict[str, Any]] = []
    for database in memory.databases():
        for change in _operations(database, wanted):
            if wanted is None or _concerns(change["payload"], *wanted):
                changes.append(_described(change, database.kind))
                if len(changes) >= limit * 2:
                    break
    changes.sort(key=lambda change: str(change["at"]), reverse=True)
    return changes[:limit]


def _operations(
    database: Database, wanted: tuple[set[str], set[str]] | None
) -> list[dict[str, Any]]:
    """Operations that may concern what is wanted, newest first; the exact test comes after."""
    needles = sorted(set().union(*wanted)) if wanted else [""]
    condition = " OR ".join(["payload LIKE ? ESCAPE '\\'"] * len(needles))
    rows = database.rows(
        f"SELECT id, kind, payload, provenance FROM operations WHERE {condition} "
        "ORDER BY seq DESC LIMIT ?",
        [*(f"%{_escaped(n)}%" for n in needles), 10_000],
    )
    return [
        {"id": id_, "kind": kind, "payload": json.loads(payload), "by": json.loads(provenance)}
        for id_, kind, payload, provenance in rows
    ]


def _escaped(text: str) -> str:
    inside = json.dumps(text, ensure_ascii=False)[1:-1]
    return inside.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def _concerns(payload: dict[str, Any], ids: set[str], names: set[str]) -> bool:
    """Whether a change touches one of the ids (by their end) or entities of one of the names."""
    texts = list(_texts(payload))
    return any(text in names for text in texts) or any(
        text.endswith(ending) for ending in ids for text in texts
    )


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for part in value.values() for text in _texts(part)]
    if isinstance(value, list):
        return [text for part in value for text in _texts(part)]
    return []


def _described(change: dict[str, Any], store: str) -> dict[str, Any]:
    by = change["by"]
    return {
        "id": change["id"],
        "kind": change["kind"],
        "at": by.get("at", ""),
        "by": {k: v for k, v in by.items() if v and k != "at"},
        "store": store,
        "what": cut(one_line(_summary(change["payload"])), MAX_TEXT_CHARS),
        "payload": change["payload"],
    }


def _summary(payload: dict[str, Any]) -> str:
    record = payload.get("record")
    if isinstance(record, dict):
        kept = records.from_object(record)
        return f"{kept.type} {short_id(kept.id)}: {kept.what}"
    return "; ".join(_texts(payload))


def _who(change: dict[str, Any]) -> str:
    by = change["by"]
    return " ".join(str(by[k]) for k in ("author", "agent", "source") if by.get(k))


def _of_agent(gift: dict[str, str]) -> str:
    return f", agent {gift['agent']}," if gift["agent"] else ""
