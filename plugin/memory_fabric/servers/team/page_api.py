"""The page of the whole team: picture, recall, history and status from the shared log."""

from collections.abc import Iterable
from typing import Any

from memory_fabric import __version__, ids
from memory_fabric.language.times import days_between
from memory_fabric.models import Relation
from memory_fabric.recall.marks import is_stale
from memory_fabric.redaction import prefilter
from memory_fabric.servers.team import rows
from memory_fabric.servers.team.memory import TeamMemory
from memory_fabric.servers.team.rows import Row
from memory_fabric.sharing.replica import wire
from memory_fabric.text import name_key, neutralised
from memory_fabric.viewer.picture import presentable

# A browser still draws and searches so much at once; search finds the rest.
MAX_RECORDS, MAX_STATEMENTS = 2000, 5000
MAX_ENTITIES = 3000
COUNTED = "records entities observations relations".split()


def picture(memory: TeamMemory) -> dict[str, Any]:
    """Return the newest of what the team knows, in the form of viewer.picture."""
    now = ids.timestamp()
    records = memory.reader.newest(wire.RECORD, MAX_RECORDS)
    stated = memory.reader.newest(wire.ENTITY, MAX_ENTITIES)
    observations = memory.reader.newest(wire.OBSERVATION, MAX_STATEMENTS)
    relations = memory.reader.newest(wire.RELATION, MAX_STATEMENTS)
    shown = [one for row in records if (one := rows.record_fields(row, memory.member)) is not None]
    entities = _entities(stated, observations, relations, shown, memory.member, now)
    numbers = {name: number for number, name in enumerate(entities)}
    by_key = {name_key(name): number for name, number in numbers.items()}
    counts = memory.reader.counts()
    kept = {
        "records": len(shown),
        "entities": len(stated),
        "observations": len(observations),
        "relations": len(relations),
    }
    whole = {
        "version": __version__,
        "made_at": now,
        "live": True,
        "project": {"name": memory.space, "id": memory.space},
        "entities": list(entities.values()),
        "relations": _relations(relations, numbers),
        "records": [_record(one, by_key, now) for one in shown],
        "changes": [],
        "tiers": status(memory)["tiers"],
        "left_out": {name: max(0, counts.get(name, 0) - kept[name]) for name in COUNTED}
        | {"changes": 0},
    }
    return presentable(whole)


def status(memory: TeamMemory) -> dict[str, Any]:
    """Return the state of the log as the one tier that there is."""
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
    """Return what was said about an entity, the newest first, as changes of a local memory are."""
    keys = [row.key for row in memory.reader.about([name])] if name else []
    return [
        {
            "id": f"{author} {at}",
            "kind": kind,
            "at": at,
            "what": neutralised(prefilter.without_secrets(rows.said_of(kind, value))),
            "by": {"author": author, "trust": rows.trust_of(author, memory.member)},
            "undone": value is None,
        }
        for author, at, kind, value in memory.reader.versions(keys, limit)
    ]


def _entities(
    stated: Iterable[Row],
    observations: Iterable[Row],
    relations: Iterable[Row],
    records: Iterable[dict[str, Any]],
    member: str,
    now: str,
) -> dict[str, dict[str, Any]]:
    """Return all entities by name: stated ones, and those that other statements name."""
    found: dict[str, dict[str, Any]] = {}

    def named(name: str, type_: str = "", domain: str = "general", at: str = "") -> dict[str, Any]:
        one = found.setdefault(
            name,
            {
                "name": name,
                "type": type_ or "unknown",
                "domain": domain,
                "scope": rows.SCOPE,
                "trust": rows.FOREIGN,
                "at": at,
                "stale": False,
                "days": None,
                "aliases": [],
                "observations": [],
            },
        )
        one["at"] = max(one["at"], at)
        return one

    for row in stated:
        said = rows.said_in(row)
        if said is not None:
            one = named(said.name, said.type, said.domain, said.created_at)
            one["aliases"] = list(said.aliases)
            one["trust"] = rows.trust_of(row.author, member)
    for row in observations:
        said = rows.said_in(row)
        if said is not None:
            one = named(said.name, "", said.domain, said.created_at)
            one["observations"].append(_observation(row, said, member))
    for row in relations:
        relation = rows.relation_in(row)
        for end in (relation.source, relation.target) if relation is not None else ():
            named(end)
    for record in records:
        for name, kind in record["entities"]:
            named(name, kind, record["domain"], record["created_at"])
    for one in found.values():
        days = days_between(one["at"], now)
        one["days"] = None if days is None else int(days)
        one["stale"] = is_stale(one["type"], days)
    return dict(list(found.items())[:MAX_ENTITIES])


def _observation(row: Row, said: rows.Said, member: str) -> dict[str, Any]:
    return {
        "text": said.text,
        "at": said.created_at,
        "trust": rows.trust_of(row.author, member),
        "source": row.author,
        "session": "",
        "agent": "",
        "domain": said.domain,
        "scope": rows.SCOPE,
        "record": "",
    }


def _relations(found: Iterable[Row], numbers: dict[str, int]) -> list[dict[str, Any]]:
    edges = []
    for row in found:
        relation: Relation | None = rows.relation_in(row)
        if relation is None or not {relation.source, relation.target} <= numbers.keys():
            continue
        edges.append(
            {
                "from": numbers[relation.source],
                "to": numbers[relation.target],
                "type": relation.type,
                "at": str(row.value.get("created_at") or ""),
                "domain": str(row.value.get("domain") or "general"),
                "record": "",
            }
        )
    return edges


def _record(value: dict[str, Any], by_key: dict[str, int], now: str) -> dict[str, Any]:
    days = days_between(value["created_at"], now)
    same = "id type what why alternatives outcome category scope domain trust author".split()
    more = "source agent confidence pinned valid_from valid_to superseded_by".split()
    about = (by_key.get(name_key(name)) for name, _ in value["entities"])
    return {name: value[name] for name in same + more} | {
        "short_id": ids.short_id(value["id"]),
        "session": "",
        "status": "active",
        "at": value["created_at"],
        "generalizable": False,
        "stale": is_stale(value["type"], days) and not value["pinned"],
        "days": None if days is None else int(days),
        "entities": [number for number in about if number is not None],
        "changed_files": {},
    }
