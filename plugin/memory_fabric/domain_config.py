"""The domains defined in config.toml, and the normal form of their names."""

from collections.abc import Mapping
from typing import NamedTuple

from memory_fabric.models import Payload
from memory_fabric.text import composed

DOMAIN_KEYS = ("domain", "expert_domain")  # either key sets an agent's domain


class DomainConfig(NamedTuple):
    """Domains of agent types and folders. In an isolated domain, only its own memories are seen."""

    agents: Mapping[str, str] = {}
    paths: Mapping[str, str] = {}
    isolated: frozenset[str] = frozenset()
    isolated_agents: frozenset[str] = frozenset()

    @property
    def configured(self) -> bool:
        return bool(self.agents or self.paths or self.isolated or self.isolated_agents)


def domain_name(text: str) -> str:
    """Return a domain name's normal form: `code_reviewer` for `Code-Reviewer`; '' if invalid."""
    return "_".join("".join(c if c.isalnum() else " " for c in composed(text).lower()).split())[:80]


def read_domains(file: Payload, complaints: list[str]) -> DomainConfig:
    """Read the tables `[domains.NAME]` (keys `agents`, `paths`, `isolate`) and `[agents.TYPE]`
    (keys `domain`, `isolate`). An invalid `isolate` counts as true: the user wants isolation.
    """
    agents: dict[str, str] = {}
    paths: dict[str, str] = {}
    isolated, isolated_agents = set[str](), set[str]()
    for written, table in _tables(file, "domains", ("agents", "paths", "isolate"), complaints):
        domain, place = domain_name(written), f"domains.{written}"
        for names, key in ((agents, "agents"), (paths, "paths")):
            for key_text in _texts(table, key, place, complaints):
                _put(names, key_text, domain, f"{place}.{key}", complaints)
        if _isolates(table, place, complaints):
            isolated.add(domain)
    for agent, stated in _tables(file, "agents", (*DOMAIN_KEYS, "isolate"), complaints):
        for key in (key for key in DOMAIN_KEYS if key in stated):
            name = domain_name(stated[key]) if isinstance(stated[key], str) else ""
            if name:
                _put(agents, agent, name, f"agents.{agent}.{key}", complaints)
            else:
                complaints.append(f"config.toml: agents.{agent}.{key} must be a name")
        if _isolates(stated, f"agents.{agent}", complaints):
            isolated_agents.add(agent)
    return DomainConfig(agents, paths, frozenset(isolated), frozenset(isolated_agents))


def _put(domains: dict[str, str], key: str, domain: str, place: str, complaints: list[str]) -> None:
    if domains.setdefault(key, domain) != domain:
        problem = f"{key!r} is in the domain {domains[key]} already; this entry is ignored"
        complaints.append(f"config.toml: {place}: {problem}")


def _tables(
    file: Payload, name: str, known: tuple[str, ...], complaints: list[str]
) -> list[tuple[str, Payload]]:
    tables: list[tuple[str, Payload]] = []
    stated = file.get(name, {})
    if not isinstance(stated, dict):
        stated = {}
        complaints.append(f"config.toml: {name} must be tables, as in [{name}.NAME]")
    for key, value in stated.items():
        if isinstance(value, dict) and domain_name(key):
            tables.append((key, value))
            for part in (part for part in value if part not in known):
                problem = f"{part} is unknown; known are {', '.join(known)}"
                complaints.append(f"config.toml: {name}.{key}.{problem}")
        else:
            complaints.append(f"config.toml: {name}.{key} must be a table with a name")
    return tables


def _texts(table: Payload, key: str, place: str, complaints: list[str]) -> tuple[str, ...]:
    value = table.get(key, [])
    stated = value if isinstance(value, list) else [value]
    usable = tuple(item for item in stated if isinstance(item, str) and item)
    if stated is not value or len(usable) < len(stated):
        complaints.append(f"config.toml: {place}.{key} must be a list of texts, not {value!r}")
    return usable


def _isolates(table: Payload, place: str, complaints: list[str]) -> bool:
    value = table.get("isolate", False)
    if not isinstance(value, bool):
        wrong = f"{place}.isolate must be true or false, not {value!r}; it isolates"
        complaints.append(f"config.toml: {wrong}")
    return value is not False
