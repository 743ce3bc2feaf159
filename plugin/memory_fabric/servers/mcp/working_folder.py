"""The folder that a server works in, where the client states none (`CLAUDE_PROJECT_DIR`)."""

from __future__ import annotations

import os

from memory_fabric.config import Settings
from memory_fabric.store.projects import identity


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
        stamp = identity.registry_stamp(self._settings.home)
        if stamp != self._stamp:
            self._stamp, self._graph = stamp, self._path()
        return bool(self._graph) and os.path.exists(self._graph)

    def _path(self) -> str:
        """Return the path of the project's graph; '' for a folder without a known project."""
        keys = identity.identify(os.path.realpath(self._folder)).keys
        id_ = identity.owner_of(identity.read_registry(self._settings.home), keys)
        folder = identity.folder_of(self._settings.home, id_)
        return os.path.join(folder, "graph.db") if id_ else ""


def _current_folder() -> str:
    try:
        return os.getcwd()
    except OSError:  # it was deleted
        return ""
