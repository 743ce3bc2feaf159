"""Which room of a project a memory belongs to, and who is confined to his own.

Stated, else that of the agent's type, else that of the place, else `general`. config.toml says
which agents and folders have which domain; an agent of its own name has that name's.
"""

from __future__ import annotations

import os

from memory_fabric.config import domain_name
from memory_fabric.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

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
    """Where somebody stands: the `domain` of what he says, whether config.toml or he himself
    `stated` it, and whether he is `isolated` in it.
    """

    domain: str = GENERAL
    stated: bool = False
    isolated: bool = False


def room_for(settings: Settings, agent_type: str = "", place: str = "") -> Room:
    """The room of an agent type at a place (a folder; else that of the session)."""
    rooms = settings.rooms
    place = place or settings.project_dir
    mapped = _stated_for(agent_type, rooms.agents) if agent_type else ""
    alone = bool(agent_type) and _is_named(agent_type, rooms.isolated_agents)
    own = domain_of_agent(agent_type) if agent_type else GENERAL
    if mapped or alone or own in rooms.isolated:
        domain = mapped or own
        return Room(domain, stated=True, isolated=alone or domain in rooms.isolated)
    here = settings.domain or _domain_of_place(place, settings)
    if here in rooms.isolated:  # whoever works in an isolated place is in it, too
        return Room(here, stated=True, isolated=True)
    if own != GENERAL:
        return Room(own)
    return Room(here or GENERAL, stated=bool(here))


def seen_from(memory: Memory, room: Room) -> Memory:
    """What can be read from a room: for who is isolated, nothing of other domains."""
    return memory.within((room.domain,)) if room.isolated else memory


def domain_of_agent(agent_type: str) -> str:
    """The domain of an agent type by its name: `code-reviewer` gives `code_reviewer`."""
    name = agent_type.rsplit(":", 1)[-1].strip().lower()
    if not name or name in GENERIC_AGENTS:
        return GENERAL
    return domain_name(name) or GENERAL


def plain_name(agent_type: str) -> str:
    """The name without its plugin, in lower case, its words joined by hyphens."""
    name = agent_type.rsplit(":", 1)[-1].lower()
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
    """The domain of the nearest folder above a place that has one; relative ones lie in a project
    wherever that is, `~` in the user's home.
    """
    if not settings.rooms.paths or not place:
        return ""
    here = os.path.realpath(place)
    found = []
    for path, domain in settings.rooms.paths.items():
        folder = settings.user_home + path[1:] if path[:2] in ("~", "~/") else path
        if os.path.isabs(folder):
            folder = os.path.realpath(folder)
            inside = here == folder or here.startswith(folder.rstrip(os.sep) + os.sep)
        else:
            folder = os.path.normpath(folder).strip(os.sep)
            inside = f"{os.sep}{folder}{os.sep}" in here + os.sep
        if inside:
            found.append((len(folder), domain))
    return max(found)[1] if found else ""
