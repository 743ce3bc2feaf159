"""domains: count memories by domain, list what one holds, find relations between domains."""

from typing import Any

from memory_fabric.cli import environment, show
from memory_fabric.cli.options import AsJson, argument, option
from memory_fabric.config import Settings
from memory_fabric.domain_config import DomainConfig, domain_name
from memory_fabric.errors import BadInput
from memory_fabric.recall.agent_domains import domain_for, visible_to_process
from memory_fabric.store import domain_counts as store
from memory_fabric.store.domain_counts import Contents, DomainCounts, contents
from memory_fabric.store.memory import Memory

MAX_SHOWN = 10
SINGULAR = {"entities": "entity"}


def domains(
    name: str | None = argument(None, "NAME", "List the entities and relations of this domain."),
    limit: int = option(50, "N", "With NAME, at most so many of each.", min=1, max=1000),
    offset: int = option(0, "N", "With NAME, leave out the first N of each.", min=0),
    as_json: AsJson = False,
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
        counts = store.count_by_domain(memory.databases(), MAX_SHOWN)
        failures, settings = list(memory.failures), memory.settings
    if as_json:
        configured = _configured_as_json(settings)
        show.json_out({**_as_json(counts), **configured, "failures": failures})
    else:
        _show(counts)
        _show_configured(settings)
        show.warn_all((*failures, *settings.complaints))
    return 0 if counts.counts else 1 if failures else 3


def _list(memory: Memory, typed: str, limit: int, offset: int, as_json: bool) -> int:
    """Print what a domain holds. Raises BadInput for a name without a letter or digit."""
    # late: only for one domain
    from memory_fabric.store.scoped_memory import within

    name = domain_name(typed)
    if not name:
        raise BadInput("NAME", f"{typed!r} is no domain.", remedy="A name has letters or digits.")
    scoped = within(memory, (name,))
    listing = contents(scoped.databases(), limit, offset)
    if as_json:
        fields = {"domain": name, "counts": listing.counts, "limit": limit, "offset": offset}
        show.json_out({**fields, **_contents_as_json(listing), "failures": list(scoped.failures)})
    else:
        _show_contents(name, listing, offset)
        show.warn_all(scoped.failures)
    return 0 if any(listing.counts.values()) else 1 if scoped.failures else 3


def _contents_as_json(listing: Contents) -> dict[str, Any]:
    entities = [
        {"name": e.name, "entityType": e.type, "observations": e.observations}
        | {"timestamp": e.created_at, "store": e.store}
        for e in listing.entities
    ]
    relations = [
        {"from": r.source, "relation": r.type, "to": r.target}
        | {"timestamp": r.created_at, "store": r.store}
        for r in listing.relations
    ]
    return {"entities": entities, "relations": relations}


def _show_contents(name: str, listing: Contents, offset: int) -> None:
    if not any(listing.counts.values()):
        show.line(f"The domain {name} holds nothing here.")
        return
    numbers = (
        f"{count} {SINGULAR.get(table, table[:-1]) if count == 1 else table}"
        for table, count in listing.counts.items()
    )
    show.line(f"{name}: {', '.join(numbers)}")
    if listing.entities:
        rows = [(e.name, e.type, str(e.observations), e.created_at[:10]) for e in listing.entities]
        show.table(("entity", "type", "observations", "since"), rows)
    show.lines(f"{r.source} {r.type} {r.target} ({r.created_at[:10]})" for r in listing.relations)
    shown = offset + max(len(listing.entities), len(listing.relations))
    if shown < max(listing.counts["entities"], listing.counts["relations"]):
        show.line(f"There are more: --offset {shown}", "dim")


def _as_json(counts: DomainCounts) -> dict[str, Any]:
    rows = [
        {"domain": name, **dict(zip(store.TABLES, numbers, strict=True))}
        for name, numbers in counts.counts
    ]
    first = [
        {"from": r.source, "from_domain": r.source_domain, "relation": r.type}
        | {"to": r.target, "to_domain": r.target_domain, "store": r.store}
        for r in counts.first
    ]
    return {"domains": rows, "contamination": {"relations": counts.crossings, "first": first}}


def _configured_as_json(settings: Settings) -> dict[str, Any]:
    config = settings.domains
    configured = {
        "agents": dict(config.agents),
        "paths": dict(config.paths),
        "isolated_domains": sorted(config.isolated),
        "isolated_agents": sorted(config.isolated_agents),
        "complaints": list(settings.complaints),
    }
    return {"configured": configured, "here": domain_for(settings).name}


def _show(counts: DomainCounts) -> None:
    if not counts.counts:
        show.line("Nothing is stored here yet.")
        return
    rows = [(name, *map(str, numbers)) for name, numbers in counts.counts]
    show.table(("domain", *store.TABLES), rows)
    if not counts.crossings:
        show.line("No relation connects different domains.")
        return
    show.line(f"Relations between different domains: {counts.crossings}")
    for r in counts.first:
        show.line(f"  {r.source} ({r.source_domain}) {r.type} {r.target} ({r.target_domain})")
    if counts.crossings > len(counts.first):
        show.line(f"  and {counts.crossings - len(counts.first)} more", "dim")


def _show_configured(settings: Settings) -> None:
    """Print the domains of config.toml, if there are any."""
    config = settings.domains
    if config == DomainConfig() and not settings.domain:
        return
    show.line("From config.toml:")
    for domain in sorted({*config.agents.values(), *config.paths.values(), *config.isolated}):
        agents = [agent for agent, name in config.agents.items() if name == domain]
        paths = [path for path, name in config.paths.items() if name == domain]
        parts = ["isolated"] if domain in config.isolated else []
        parts += [f"agents {', '.join(agents)}"] if agents else []
        parts += [f"paths {', '.join(paths)}"] if paths else []
        show.line(f"  {domain}: {'; '.join(parts)}")
    if config.isolated_agents:
        show.line(f"  isolated agent types: {', '.join(sorted(config.isolated_agents))}")
    current = domain_for(settings)
    show.line(f"This folder: {current.name}{', isolated' if current.isolated else ''}")
