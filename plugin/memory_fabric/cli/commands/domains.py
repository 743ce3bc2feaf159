"""domains: count memories by domain, list what one holds, find relations between domains."""

from typing import Annotated, Any

import typer

from memory_fabric.cli import environment, show
from memory_fabric.config import Settings
from memory_fabric.domain_config import DomainConfig, domain_name
from memory_fabric.errors import BadInput
from memory_fabric.recall.agent_domains import domain_for, visible_to_process
from memory_fabric.store import domain_counts as store
from memory_fabric.store.domain_counts import Contents, CrossDomainRelation, DomainCounts, contents
from memory_fabric.store.memory import Memory

MAX_SHOWN = 10
SINGULAR = {
    "entities": "entity",
    "relations": "relation",
    "observations": "observation",
    "records": "record",
    "episodes": "episode",
}


def domains(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="List the entities and relations of this domain."),
    ] = None,
    limit: Annotated[
        int,
        typer.Option(metavar="N", min=1, max=1000, help="With NAME, at most so many of each."),
    ] = 50,
    offset: Annotated[
        int, typer.Option(metavar="N", min=0, help="With NAME, leave out the first N of each.")
    ] = 0,
    as_json: show.AsJson = False,
) -> int:
    """Count memories by domain, and show how domains are related.

    Counts entities, relations, observations, records and episodes (turns of past sessions) of the
    project and of the user. A relation between entities of different domains is contamination,
    since recall in one domain may reach the other. These are counted, and the first are shown.

    Then shows the configuration in config.toml: the domains of agents and folders, which are
    isolated, and the domain of this folder. docs/domains.md explains domains and isolation. If
    MEMORY_FABRIC_DOMAIN names an isolated domain, only this domain is counted. Exit code 3 if
    memory is empty.

    With NAME it lists the entities and relations of this domain, oldest first, and counts its
    observations, records and episodes. An entity of another domain is listed if this one says
    something about it, with the observations that this one made. Exit code 3 if the domain is
    empty.

        memory-fabric domains
        memory-fabric domains code_reviewer --limit 20 --offset 20
        memory-fabric domains legal --json
    """
    with environment.open_memory() as whole:
        memory = visible_to_process(whole)
        if name is not None:
            return _list(memory, name, limit, offset, as_json)
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


def _list(memory: Memory, typed: str, limit: int, offset: int, as_json: bool) -> int:
    """Print what a domain holds. Raises BadInput for a name without a letter or digit."""
    # late: only for one domain
    from memory_fabric.store.scoped_memory import within

    name = domain_name(typed)
    if not name:
        raise BadInput("NAME", f"{typed!r} is no domain.", remedy="A name has letters or digits.")
    scoped = within(memory, (name,))
    found = contents(scoped.databases(), limit, offset)
    if as_json:
        show.json_out(_contents_as_json(name, found, limit, offset, scoped.failures))
    else:
        _show_contents(name, found, offset)
        for failure in scoped.failures:
            show.warn(failure)
    return 0 if any(found.counts.values()) else 1 if scoped.failures else 3


def _contents_as_json(
    name: str, found: Contents, limit: int, offset: int, failures: list[str]
) -> dict[str, Any]:
    return {
        "domain": name,
        "counts": found.counts,
        "limit": limit,
        "offset": offset,
        "entities": [
            {
                "name": one.name,
                "entityType": one.type,
                "observations": one.observations,
                "timestamp": one.created_at,
                "store": one.store,
            }
            for one in found.entities
        ],
        "relations": [
            {
                "from": one.source,
                "relation": one.type,
                "to": one.target,
                "timestamp": one.created_at,
                "store": one.store,
            }
            for one in found.relations
        ],
        "failures": list(failures),
    }


def _show_contents(name: str, found: Contents, offset: int) -> None:
    if not any(found.counts.values()):
        show.line(f"The domain {name} holds nothing here.")
        return
    numbers = [
        f"{count} {SINGULAR[table] if count == 1 else table}"
        for table, count in found.counts.items()
    ]
    show.line(f"{name}: {', '.join(numbers)}")
    if found.entities:
        rows = [
            (one.name, one.type, str(one.observations), one.created_at[:10])
            for one in found.entities
        ]
        show.table(("entity", "type", "observations", "since"), rows)
    for one in found.relations:
        show.line(f"{one.source} {one.type} {one.target} ({one.created_at[:10]})")
    shown = max(len(found.entities), len(found.relations))
    if offset + shown < max(found.counts["entities"], found.counts["relations"]):
        show.line(f"There are more: --offset {offset + shown}", "dim")


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
