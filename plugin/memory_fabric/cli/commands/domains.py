"""domains: what lies in which domain, and what reaches from one into another."""

from __future__ import annotations

from typing import Any

from memory_fabric.cli import environment, show
from memory_fabric.config import Settings
from memory_fabric.domain_config import DomainConfig
from memory_fabric.recall.agent_domains import room_for, seen_by_process
from memory_fabric.store.domains import counts as store
from memory_fabric.store.domains.counts import ByDomain, Crossing

MAX_SHOWN = 10


def domains(as_json: show.AsJson = False) -> int:
    """Count by domain, show who has one, find what reaches across.

    Entities, relations, observations, records and episodes (turns of past sessions) of the project
    and of the user are counted. A relation whose ends lie in different domains is contamination:
    what is asked for in one may lead into the other. They are counted, and the first are shown.

    Below stands what config.toml says: which agents and folders have which domain, who is isolated,
    and the domain of this folder. docs/domains.md says how a domain is found and what isolation
    stops. Where MEMORY_FABRIC_DOMAIN names an isolated domain, it alone is counted. In an empty
    memory the exit code is 3.

        memory-fabric domains
        memory-fabric domains --json
    """
    with environment.open_memory() as whole:
        memory = seen_by_process(whole)
        found = store.by_domain(memory.databases(), MAX_SHOWN)
        failures, settings = list(memory.failures), memory.settings
    if as_json:
        rooms = _rooms_as_json(settings)
        show.json_out({**_as_json(found), **rooms, "failures": failures})
    else:
        _show(found)
        _show_rooms(settings)
        for failure in [*failures, *settings.complaints]:
            show.complain(failure)
    return 0 if found.counts else 1 if failures else 3


def _as_json(found: ByDomain) -> dict[str, Any]:
    rows = [
        {"domain": name, **dict(zip(store.TABLES, numbers, strict=True))}
        for name, numbers in found.counts
    ]
    first = [
        {
            "from": one.source,
            "from_domain": one.source_domain,
            "relation": one.type,
            "to": one.target,
            "to_domain": one.target_domain,
            "store": one.store,
        }
        for one in found.first
    ]
    return {"domains": rows, "contamination": {"relations": found.crossings, "first": first}}


def _rooms_as_json(settings: Settings) -> dict[str, Any]:
    rooms = settings.rooms
    stated = {
        "agents": dict(rooms.agents),
        "paths": dict(rooms.paths),
        "isolated_domains": sorted(rooms.isolated),
        "isolated_agents": sorted(rooms.isolated_agents),
        "complaints": list(settings.complaints),
    }
    return {"configured": stated, "here": room_for(settings).domain}


def _show(found: ByDomain) -> None:
    if not found.counts:
        show.line("Nothing is stored here yet.")
        return
    rows = [(name, *map(str, numbers)) for name, numbers in found.counts]
    show.table(("domain", *store.TABLES), rows)
    if not found.crossings:
        show.line("No relation reaches from one domain into another.")
        return
    show.line(f"Relations that reach from one domain into another: {found.crossings}")
    for one in found.first:
        show.line(f"  {_line(one)}")
    if found.crossings > len(found.first):
        show.line(f"  and {found.crossings - len(found.first)} more", "dim")


def _show_rooms(settings: Settings) -> None:
    """What config.toml says; nothing where it says nothing."""
    rooms = settings.rooms
    if rooms == DomainConfig() and not settings.domain:
        return
    show.line("From config.toml:")
    named = set(rooms.agents.values()) | set(rooms.paths.values()) | rooms.isolated
    for domain in sorted(named):
        agents = [agent for agent, given in rooms.agents.items() if given == domain]
        paths = [path for path, given in rooms.paths.items() if given == domain]
        parts = ["isolated"] if domain in rooms.isolated else []
        parts += [f"agents {', '.join(agents)}"] if agents else []
        parts += [f"paths {', '.join(paths)}"] if paths else []
        show.line(f"  {domain}: {'; '.join(parts)}")
    if rooms.isolated_agents:
        show.line(f"  isolated by their type: {', '.join(sorted(rooms.isolated_agents))}")
    here_now = room_for(settings)
    show.line(f"This folder: {here_now.domain}{', isolated' if here_now.isolated else ''}")


def _line(one: Crossing) -> str:
    return f"{one.source} ({one.source_domain}) {one.type} {one.target} ({one.target_domain})"
