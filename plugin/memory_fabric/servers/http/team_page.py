"""Data of the viewer's page for a team: picture, recall, history and status of its log."""

from collections.abc import Iterable, Mapping
from typing import Any

from memory_fabric import __version__, ids
from memory_fabric.language import times
from memory_fabric.language.concepts import concepts
from memory_fabric.redaction import redact
from memory_fabric.servers.http import team_rows
from memory_fabric.servers.http.team_memory import TeamMemory
from memory_fabric.servers.http.team_queries import COUNTED
from memory_fabric.servers.http.team_rows import Row
from memory_fabric.text import name_key, neutralised
from memory_fabric.viewer.picture import age_of, presentable

# Limits for what a browser can draw and search smoothly; the server's search finds the rest.
LIMITS = {"records": 2000, "entities": 3000, "observations": 5000, "relations": 5000}
SHOWN = (
    "id type what why alternatives outcome category scope domain trust author source agent "
    "confidence pinned valid_from valid_to superseded_by"
).split()


def picture(memory: TeamMemory) -> dict[str, Any]:
    """Return the team's newest memories for the page, in the form of viewer.picture."""
    now = ids.timestamp()
    shown = {name: memory.reader.newest(kind, LIMITS[name]) for name, kind in COUNTED.items()}
    fields = (team_rows.record_fields(row, memory.member) for row in shown["records"])
    records = [record for record in fields if record is not None]
    entities = _entities(shown, records, memory.member, now)
    numbers = {name: number for number, name in enumerate(entities)}
    by_key = {name_key(name): number for name, number in numbers.items()}
    sizes = {name: len(rows) for name, rows in shown.items()} | {"records": len(records)}
    counts = memory.reader.counts()
    left_out = {name: max(0, counts[name] - count) for name, count in sizes.items()}
    whole = {
        "version": __version__,
        "made_at": now,
        "live": True,
        "project": {"name": memory.space, "id": memory.space},
        "entities": list(entities.values()),
        "relations": _relations(shown["relations"], numbers),
        "records": [_record(record, by_key, now) for record in records],
        "changes": [],
        "tiers": status(memory)["tiers"],
        "left_out": left_out | {"changes": 0},
    }
    return presentable(whole)


def explained(memory: TeamMemory, q: str, limit: int, as_of: str) -> dict[str, Any]:
    """Return the best memories for a query, with the words that were searched for."""
    from memory_fabric.recall.explain import answer_as_json  # imported with the first query
    from memory_fabric.recall.pipeline import Fabric

    now = ids.timestamp()
    then = times.stated(as_of, now, "as_of") if as_of else ""
    answer = Fabric(memory, now).recall(q, limit=limit, as_of=then, explain=bool(q))
    searched = [{"word": c.text, "strength": c.strength} for c in concepts(answer.query)]
    return answer_as_json(answer) | {"searched": searched, "silence": ""}


def projects(_memory: TeamMemory) -> dict[str, Any]:
    """Return an empty list, which the page requests of every server: a team has one memory."""
    return {"projects": [], "served": ""}


def status(memory: TeamMemory) -> dict[str, Any]:
    """Return the state of the shared log as the only tier."""
    tier: dict[str, Any] = {
        "tier": "graph",
        "state": "healthy",
        "where": f"the space {memory.space} of a shared log",
        "counts": memory.reader.counts(),
        "written_at": "",
        "read_at": ids.timestamp(),
        "queue": {"count": 0, "oldest_s": 0.0},
        "findings": [],
        "backup": None,
    }
    return {"tiers": [tier]}


def history(memory: TeamMemory, name: str, limit: int) -> list[dict[str, Any]]:
    """Return the statements about an entity, newest first, in the form of local changes."""
    keys = [row.key for row in memory.reader.about([name])] if name else []
    return [
        {
            "id": f"{author} {at}",
            "kind": kind,
            "at": at,
            "what": neutralised(redact.without_secrets(team_rows.said_of(kind, value))),
            "by": {"author": author, "trust": team_rows.trust_of(author, memory.member)},
            "undone": value is None,
        }
        for author, at, kind, value in memory.reader.versions(keys, limit)
    ]


def _entities(
    shown: Mapping[str, Iterable[Row]], records: Iterable[dict[str, Any]], member: str, now: str
) -> dict[str, dict[str, Any]]:
    """Return all entities by name: stated ones, and those mentioned by other statements."""
    entities: dict[str, dict[str, Any]] = {}

    def named(name: str, type_: str = "", domain: str = "general", at: str = "") -> dict[str, Any]:
        unstated = {"aliases": [], "observations": [], "trust": team_rows.FOREIGN, "at": at}
        basic = {"name": name, "type": type_ or "unknown", "domain": domain}
        entity = entities.setdefault(name, basic | unstated | {"scope": team_rows.SCOPE})
        entity["at"] = max(entity["at"], at)
        return entity

    for row in shown["entities"]:
        statement = team_rows.said_in(row)
        if statement is not None:
            entity = named(statement.name, statement.type, statement.domain, statement.created_at)
            trust = team_rows.trust_of(row.author, member)
            entity |= {"aliases": list(statement.aliases), "trust": trust}
    for row in shown["observations"]:
        statement = team_rows.said_in(row)
        if statement is not None:
            entity = named(statement.name, "", statement.domain, statement.created_at)
            trust = team_rows.trust_of(row.author, member)
            observation = {"text": statement.text, "at": statement.created_at, "trust": trust}
            observation |= {"source": row.author, "domain": statement.domain}
            observation |= {"scope": team_rows.SCOPE, "session": "", "agent": "", "record": ""}
            entity["observations"].append(observation)
    for row in shown["relations"]:
        relation = team_rows.relation_in(row)
        for end in (relation.source, relation.target) if relation is not None else ():
            named(end)
    for record in records:
        for name, kind in record["entities"]:
            named(name, kind, record["domain"], record["created_at"])
    for entity in entities.values():
        entity |= age_of(entity["type"], entity["at"], now)
    return dict(list(entities.items())[: LIMITS["entities"]])


def _relations(rows: Iterable[Row], numbers: dict[str, int]) -> list[dict[str, Any]]:
    """Return the relations between these entities; `numbers` are their positions by name."""
    return [
        {
            "from": numbers[relation.source],
            "to": numbers[relation.target],
            "type": relation.type,
            "at": str(row.value.get("created_at") or ""),
            "domain": str(row.value.get("domain") or "general"),
            "record": "",
        }
        for row in rows
        if (relation := team_rows.relation_in(row)) is not None
        and {relation.source, relation.target} <= numbers.keys()
    ]


def _record(value: dict[str, Any], by_key: dict[str, int], now: str) -> dict[str, Any]:
    age = age_of(value["type"], value["created_at"], now)
    about = (by_key.get(name_key(name)) for name, _ in value["entities"])
    return {name: value[name] for name in SHOWN} | {
        "short_id": ids.short_id(value["id"]),
        "session": "",
        "status": "active",
        "at": value["created_at"],
        "stale": age["stale"] and not value["pinned"],
        "days": age["days"],
        "entities": [number for number in about if number is not None],
        "changed_files": {},
    }
