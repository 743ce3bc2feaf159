"""Which room of a project a memory belongs to, and who is confined to his own.

Stated, else that of the agent's type by config.toml, else that of the place, else that of the
type's own name, else `general`.
"""

from __future__ import annotations

import os

from memory_fabric.domain_config import domain_name
from memory_fabric.redaction.prefilter import without_secrets
from memory_fabric.store import switches
from memory_fabric.store.projects import identity
from memory_fabric.text import composed
from memory_fabric.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from memory_fabric.config import Settings
    from memory_fabric.store.memory import Memory

GENERAL = "general"
# What hooks save of a session as a whole, and what comes in without a domain.
SESSION = "session"
# Agents for everything have no room of their own.
GENERIC_AGENTS = frozenset(
    """general-purpose claude fork explore plan statusline-setup output-style-setup
    claude-code-guide""".split()
)


class Room(Value):
    """Where somebody stands: the `domain` of what he says, whether config.toml gives it to his
    type of agent (`stated`), and whether he is `isolated` in it.
    """

    domain: str = GENERAL
    stated: bool = False
    isolated: bool = False


def stated_name(stated: str) -> str:
    """A domain that somebody states, as it is kept. Secrets go first: the rules know none whose
    signs a name has lost.
    """
    return domain_name(without_secrets(stated))


def room_for(settings: Settings, agent_type: str = "", place: str = "") -> Room:
    """The room of an agent type at a place (a folder; else that of the session).

    A wall of the agent's own stands before that of the place, which stands for everybody else who
    works there, whatever config.toml says of his type.
    """
    rooms = settings.rooms
    mapped = _stated_for(agent_type, rooms.agents) if agent_type else ""
    own = domain_of_agent(agent_type) if agent_type else GENERAL
    named = mapped or own
    walled = bool(agent_type) and _is_named(agent_type, rooms.isolated_agents)
    if walled or (named != GENERAL and named in rooms.isolated):
        return Room(named, stated=True, isolated=True)
    here = settings.domain or _domain_of_place(place or settings.project_dir, settings)
    if here in rooms.isolated:
        return Room(here, stated=True, isolated=True)
    domain = mapped or here or own
    return Room(domain, stated=bool(mapped), isolated=domain in rooms.isolated)


def isolates(settings: Settings) -> bool:
    """Whether config.toml isolates anybody."""
    return bool(settings.rooms.isolated or settings.rooms.isolated_agents)


def seen_from(memory: Memory, room: Room) -> Memory:
    """What can be read from a room: for who is isolated, nothing of other domains."""
    return _within(memory, room.domain) if room.isolated else memory


def seen_by_process(memory: Memory) -> Memory:
    """What may be read where no agent asks: of an isolated domain that MEMORY_FABRIC_DOMAIN puts
    the process into, nothing else.

    Who works in an isolated folder without that variable is a person, and sees everything. Raises
    StoreUnavailable where nobody knows who is isolated.
    """
    if memory.settings.closed:
        raise switches.off_error(memory.settings)
    domain = memory.settings.domain
    return _within(memory, domain) if domain in memory.settings.rooms.isolated else memory


def domain_of_agent(agent_type: str) -> str:
    """The domain of an agent type by its name: `code-reviewer` gives `code_reviewer`."""
    name = agent_type.rsplit(":", 1)[-1].strip().lower()
    if not name or name in GENERIC_AGENTS:
        return GENERAL
    return domain_name(name) or GENERAL


def plain_name(agent_type: str) -> str:
    """The name without its plugin, in lower case, its words joined by hyphens."""
    name = composed(agent_type.rstrip(":").rsplit(":", 1)[-1]).casefold()
    return "-".join("".join(c if c.isalnum() else " " for c in name).split())


def _stated_for(agent_type: str, stated: Mapping[str, str]) -> str:
    """What is stated for this type: under its whole name, or under its plain one."""
    if agent_type in stated:
        return stated[agent_type]
    name = plain_name(agent_type)
    return next((said for key, said in stated.items() if plain_name(key) == name), "")


def _is_named(agent_type: str, types: frozenset[str]) -> bool:
    return bool(_stated_for(agent_type, dict.fromkeys(types, agent_type)))


def _domain_of_place(place: str, settings: Settings) -> str:
    """The domain of the nearest folder above a place that has one; '' without one.

    Relative folders lie in the worktree that the place is in, `~` is the user's home.
    """
    if not settings.rooms.paths or not place:
        return ""
    here = os.path.realpath(place)
    # A link may lead out of the worktree that the session was started in.
    tops = {identity.worktree_of(here), identity.worktree_of(os.path.abspath(place))}
    found = [
        (len(folder), domain)
        for path, domain in settings.rooms.paths.items()
        for folder in _folders(path, tops, settings.user_home)
        if here == folder or here.startswith(folder.rstrip(os.sep) + os.sep)
    ]
    return max(found)[1] if found else ""


def _folders(path: str, tops: Iterable[str], user_home: str) -> list[str]:
    """The real folders that a path of config.toml means."""
    path = user_home + path[1:] if path == "~" or path.startswith("~/") else path
    return [os.path.realpath(os.path.join(top, path)) for top in tops]


def _within(memory: Memory, domain: str) -> Memory:
    from memory_fabric.store.domains.scoped_memory import within  # most memories are never confined

    return within(memory, (domain,))
