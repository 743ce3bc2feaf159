"""The domain of a memory, and the isolation of agents in their own domain.

A domain is the stated one, else config.toml's for the agent type, else config.toml's for the
folder, else that of the agent type's own name, else `general`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from memory_fabric.config import Settings
from memory_fabric.domain_config import domain_name
from memory_fabric.redaction.prefilter import without_secrets
from memory_fabric.store import switches
from memory_fabric.store.memory import Memory
from memory_fabric.store.projects import identity
from memory_fabric.text import composed

GENERAL = "general"
# The domain of texts ingested without a domain.
SESSION = "session"
# General-purpose agents have no domain of their own.
GENERIC_AGENTS = frozenset(
    """general-purpose claude fork explore plan statusline-setup output-style-setup
    claude-code-guide""".split()
)


class AgentDomain(NamedTuple):
    """The domain of a caller; `stated` if config.toml gives it to the agent type, or `isolated`."""

    name: str = GENERAL
    stated: bool = False
    isolated: bool = False


def stated_name(stated: str) -> str:
    """Return a stated domain in normal form.

    Secrets are redacted first, since the rules cannot recognise one in normal form.
    """
    return domain_name(without_secrets(stated))


def domain_for(settings: Settings, agent_type: str = "", place: str = "") -> AgentDomain:
    """Return the domain of an agent type in a folder, by default the session's folder.

    The isolation of the agent's own type comes first. That of the folder applies to all others who
    work in it, whatever domain config.toml gives to their type.
    """
    config = settings.domains
    mapped = _stated_for(agent_type, config.agents) if agent_type else ""
    own = domain_of_agent(agent_type) if agent_type else GENERAL
    named = mapped or own
    isolates_type = bool(agent_type) and _is_named(agent_type, config.isolated_agents)
    if isolates_type or (named != GENERAL and named in config.isolated):
        return AgentDomain(named, stated=True, isolated=True)
    here = settings.domain or _domain_of_place(place or settings.project_dir, settings)
    if here in config.isolated:
        return AgentDomain(here, stated=True, isolated=True)
    name = mapped or here or own
    return AgentDomain(name, stated=bool(mapped), isolated=name in config.isolated)


def isolates(settings: Settings) -> bool:
    """Return True if config.toml isolates any domain or agent."""
    return bool(settings.domains.isolated or settings.domains.isolated_agents)


def visible_from(memory: Memory, domain: AgentDomain) -> Memory:
    """Return the memory that can be read from a domain: for an isolated one, only its own."""
    return _within(memory, domain.name) if domain.isolated else memory


def visible_to_process(memory: Memory) -> Memory:
    """Return the memory that a process without an agent may read.

    If MEMORY_FABRIC_DOMAIN is an isolated domain, only that is visible. A process in an isolated
    folder without that variable belongs to a person and sees everything. Raises StoreUnavailable if
    the isolation is unknown.
    """
    if memory.settings.closed:
        raise switches.off_error(memory.settings)
    domain = memory.settings.domain
    return _within(memory, domain) if domain in memory.settings.domains.isolated else memory


def domain_of_agent(agent_type: str) -> str:
    """Return the domain of an agent type by its name: `code-reviewer` gives `code_reviewer`."""
    name = agent_type.rsplit(":", 1)[-1].strip().lower()
    if not name or name in GENERIC_AGENTS:
        return GENERAL
    return domain_name(name) or GENERAL


def plain_name(agent_type: str) -> str:
    """Return the name without its plugin, in lower case, its words joined by hyphens."""
    name = composed(agent_type.rstrip(":").rsplit(":", 1)[-1]).casefold()
    return "-".join("".join(c if c.isalnum() else " " for c in name).split())


def _stated_for(agent_type: str, stated: Mapping[str, str]) -> str:
    """Return the value for this type, by its whole name or its plain one."""
    if agent_type in stated:
        return stated[agent_type]
    name = plain_name(agent_type)
    return next((said for key, said in stated.items() if plain_name(key) == name), "")


def _is_named(agent_type: str, types: frozenset[str]) -> bool:
    return bool(_stated_for(agent_type, dict.fromkeys(types, agent_type)))


def _domain_of_place(place: str, settings: Settings) -> str:
    """Return the domain of the nearest parent folder that has one; '' without one.

    Relative folders are resolved in the worktree that contains the folder; `~` is the user's home.
    """
    if not settings.domains.paths or not place:
        return ""
    here = os.path.realpath(place)
    # A link may lead out of the worktree that the session was started in.
    tops = {identity.worktree_of(here), identity.worktree_of(os.path.abspath(place))}
    found = [
        (len(folder), domain)
        for path, domain in settings.domains.paths.items()
        for folder in _folders(path, tops, settings.user_home)
        if here == folder or here.startswith(folder.rstrip(os.sep) + os.sep)
    ]
    return max(found)[1] if found else ""


def _folders(path: str, tops: Iterable[str], user_home: str) -> list[str]:
    """Return the real folders that a path of config.toml means."""
    path = user_home + path[1:] if path == "~" or path.startswith("~/") else path
    return [os.path.realpath(os.path.join(top, path)) for top in tops]


def _within(memory: Memory, domain: str) -> Memory:
    # late: most memories are never scoped
    from memory_fabric.store.domains.scoped_memory import within

    return within(memory, (domain,))
