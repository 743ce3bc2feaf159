"""The scope of the caller of a tool: the memory it may see, and the provenance of its writes."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, NamedTuple

from memory_fabric.config import Settings
from memory_fabric.errors import FabricError
from memory_fabric.models import Provenance
from memory_fabric.recall.agent_domains import domain_for, isolates, visible_from
from memory_fabric.store import callers, switches
from memory_fabric.store.memory import Memory
from memory_fabric.store.projects import identity, registry_file

# The key under which the client sends the id of the tool call (measured: decision 0031).
CALL_ID = "claudecode/toolUseId"
UNKNOWN = (
    "config.toml isolates agents, and nobody has noted which agent makes this call: it is not "
    "answered. The hooks of memory-fabric note it; memory-fabric doctor says whether they run."
)


# The name Claude Code sends in `initialize`; other clients send no ids, and have no agents.
CLAUDE_CODE = "claude-code"
WITHOUT_ID = (
    "config.toml isolates agents, and Claude Code has not said which call this is: it is not "
    "answered. This release of it may no longer send claudecode/toolUseId: update memory-fabric, "
    "or go back to an earlier release of Claude Code."
)


class Call(NamedTuple):
    """A call of a tool: its `id`, '' from clients that send none, and the client's own name."""

    id: str = ""
    client: str = ""


def call_of(meta: Mapping[str, Any] | None, client: str) -> Call:
    """Return the call from its `_meta` and the name of the client."""
    stated = (meta or {}).get(CALL_ID)
    return Call(stated if isinstance(stated, str) else "", client)


def seated(
    memory: Memory, said_by: Provenance, call: Call, place: str
) -> tuple[Memory, Provenance]:
    """Return the memory that the calling agent may see, and the provenance of its writes.

    A call without an id is from no agent, unless the client has agents. Raises FabricError if
    agents are isolated and the caller is unknown, or if config.toml cannot be read.
    """
    _need_open(memory)
    # A mirrored file has a home of its own within the one that everybody has.
    caller = callers.load(memory.switched_by[0], call.id) if call.id else callers.Caller()
    if isolates(memory.settings):
        if caller is None:
            raise FabricError(UNKNOWN)
        if not call.id and call.client == CLAUDE_CODE:
            raise FabricError(WITHOUT_ID)
    who = caller or callers.Caller()
    domain = domain_for(memory.settings, who.agent_type, place)
    stamped = said_by._replace(
        session=who.session or said_by.session, agent=who.agent_type, domain=domain.name
    )
    return visible_from(memory, domain), stamped


def seen_by_anybody(memory: Memory, place: str) -> Memory:
    """Return the memory that an unknown reader may see. Raises FabricError."""
    _need_open(memory)
    domain = domain_for(memory.settings, "", place)
    if isolates(memory.settings) and not domain.isolated:
        raise FabricError(
            "config.toml isolates agents, and nobody can tell who reads this resource: use the "
            "tool read_graph."
        )
    return visible_from(memory, domain)


def _need_open(memory: Memory) -> None:
    if memory.settings.closed:
        raise switches.off_error(memory.settings)


class WorkingFolder:
    """The folder that the server was started in counts as the client's from when a command or a
    hook has begun a memory of it; before, and elsewhere, the memory is the user's alone.

    So what `memory-fabric import` brings in a folder is there for the server of that folder, and a
    desktop client that starts its servers anywhere begins no project there.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        stated = settings.project_dir or settings.memory_file_path
        self._folder = "" if stated else _current_folder()
        self._stamp: tuple[int, int] | None = None
        self._graph = ""

    def settings(self) -> Settings:
        """The settings with the folder that counts now."""
        return self._settings._replace(project_dir=self._folder) if self.begun() else self._settings

    def begun(self) -> bool:
        """True if the folder counts though the client does not state it; costs two stats."""
        if not self._folder:
            return False
        stamp = registry_file.registry_stamp(self._settings.home)
        if stamp != self._stamp:
            self._stamp, self._graph = stamp, self._path()
        return bool(self._graph) and os.path.exists(self._graph)

    def _path(self) -> str:
        """Return the path of the project's graph; '' for a folder without a known project."""
        keys = identity.identify(os.path.realpath(self._folder)).keys
        id_ = registry_file.owner_of(registry_file.read_registry(self._settings.home), keys)
        folder = identity.folder_of(self._settings.home, id_)
        return os.path.join(folder, "graph.db") if id_ else ""


def _current_folder() -> str:
    try:
        return os.getcwd()
    except OSError:  # it was deleted
        return ""
