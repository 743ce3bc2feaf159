"""domains: count memories by domain, and find relations between domains."""

from __future__ import annotations

from typing import Any

from memory_fabric.cli import environment, show
from memory_fabric.config import Settings
from memory_fabric.domain_config import DomainConfig
from memory_fabric.recall.agent_domains import domain_for, visible_to_process
from memory_fabric.store.domains import counts as store
from memory_fabric.store.domains.counts import CrossDomainRelation, DomainCounts

MAX_SHOWN = 10


def domains(as_json: show.AsJson = False) -> int:
    """Count memories by domain, show the configuration, find relations between domains.

    Counts entities, relations, observations, records and episodes (turns of past sessions) of the
    project and of the user. A relation between entities of different domains is contamination,
    since recall in one domain may reach the other. These are counted, and the first are shown.

    Then shows the configuration in config.toml: the domains of agents and folders, which are
    isolated, and the domain of this folder. docs/domains.md explains domains and isolation. If
    MEMORY_FABRIC_DOMAIN names an isolated domain, only this domain is counted. Exit code 3 if
    memory is empty.

        memory-fabric domains
        memory-fabric domains --json
    """
    with environment.open_memory() as whole:
        memory = visible_to_process(whole)
        found = store.count_by_domain(memory.databases(), MAX_SHOWN)
        failures, settings = list(memory.failures), memory.settings
    if as_json:
        configured = _configured_as_json(settings)
        show.json_out({**_as_json(found), **configured, "failures": failures})
    else:
        _show(found)
        _show_configured(settings)
        for failure in [*failures, *settings.complaints]:
            show.warn(failure)
    return 0 if found.counts else 1 if failures else 3


def _as_json(found: DomainCounts) -> dict[str, Any]:
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


def _configured_as_json(settings: Settings) -> dict[str, Any]:
    config = settings.domains
    stated = {
        "agents": dict(config.agents),
        "paths": dict(config.paths),
        "isolated_domains": sorted(config.isolated),
        "isolated_agents": sorted(config.isolated_agents),
        "complaints": list(settings.complaints),
    }
    return {"configured": stated, "here": domain_for(settings).name}


def _show(found: DomainCounts) -> None:
    if not found.counts:
        show.line("Nothing is stored here yet.")
        return
    rows = [(name, *map(str, numbers)) for name, numbers in found.counts]
    show.table(("domain", *store.TABLES), rows)
    if not found.crossings:
        show.line("No relation connects different domains.")
        return
    show.line(f"Relations between different domains: {found.crossings}")
    for one in found.first:
        show.line(f"  {_line(one)}")
    if found.crossings > len(found.first):
        show.line(f"  and {found.crossings - len(found.first)} more", "dim")


def _show_configured(settings: Settings) -> None:
    """Print the domains of config.toml, if there are any."""
    config = settings.domains
    if config == DomainConfig() and not settings.domain:
        return
    show.line("From config.toml:")
    named = set(config.agents.values()) | set(config.paths.values()) | config.isolated
    for domain in sorted(named):
        agents = [agent for agent, given in config.agents.items() if given == domain]
        paths = [path for path, given in config.paths.items() if given == domain]
        parts = ["isolated"] if domain in config.isolated else []
        parts += [f"agents {', '.join(agents)}"] if agents else []
        parts += [f"paths {', '.join(paths)}"] if paths else []
        show.line(f"  {domain}: {'; '.join(parts)}")
    if config.isolated_agents:
        show.line(f"  isolated agent types: {', '.join(sorted(config.isolated_agents))}")
    current = domain_for(settings)
    show.line(f"This folder: {current.name}{', isolated' if current.isolated else ''}")


def _line(one: CrossDomainRelation) -> str:
    return f"{one.source} ({one.source_domain}) {one.type} {one.target} ({one.target_domain})"
