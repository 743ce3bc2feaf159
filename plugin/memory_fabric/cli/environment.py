"""What a command works on: the settings of this shell and the memory of this folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from memory_fabric.cli import show
from memory_fabric.config import Settings, home_path, read_settings
from memory_fabric.errors import BadInput
from memory_fabric.models import Provenance
from memory_fabric.store import files, settings_file
from memory_fabric.store.memory import Memory

SOURCE = "cli"
MEND_WALL = (
    "It may isolate somebody: until it is mended, hooks and tools give nothing and keep nothing. "
    "Correct it."
)


def settings() -> Settings:
    """Settings as the hooks would read them; the project is the current folder unless stated.

    Raises BadInput for a config.toml that cannot be read, and for a home below a file.
    """
    home = home_path(os.environ)
    _need_room(home)
    file = settings_file.read_file(home)
    if file.error:
        raise BadInput(
            settings_file.NAME,
            f"{os.path.join(home, settings_file.NAME)} cannot be read: {file.error}.",
            remedy=MEND_WALL if file.closed else "Correct or remove it.",
        )
    found = read_settings(os.environ, file.table)
    return found._replace(
        project_dir=found.project_dir or _current_folder(),
        plugin_root=found.plugin_root or plugin_root(),
    )


def _need_room(home: str) -> None:
    """Raises BadInput where a file lies at the home's place or above it."""
    above = home
    while not os.path.lexists(above):
        above = os.path.dirname(above)
    if not os.path.isdir(above):
        raise BadInput(
            "MEMORY_FABRIC_HOME",
            f"{above} is no folder, so {home} cannot be memory's home.",
            remedy="Move it away, or name another home with MEMORY_FABRIC_HOME.",
        )


def _current_folder() -> str:
    """The folder of this shell. Raises BadInput where it was deleted."""
    try:
        return os.getcwd()
    except FileNotFoundError as error:
        raise BadInput(
            "folder", "The current folder was deleted.", remedy="Go to another, and try again."
        ) from error


def plugin_root() -> str:
    """The plugin's folder around this package; empty when the package was installed alone."""
    root = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
    return root if os.path.exists(os.path.join(root, "hooks.json")) else ""


@contextmanager
def open_memory(*, repair: bool = False) -> Iterator[Memory]:
    """The memory of this folder, closed afterwards; `repair` as in Memory.open."""
    memory = Memory.open(settings(), repair=repair)
    try:
        yield memory
    finally:
        memory.close()
        for why in files.refused_files.values():
            show.complain(why)
        files.refused_files.clear()


def said_here(trust: str = "user") -> Provenance:
    """Who speaks on the command line: a person, or a model whose command a person allowed."""
    return Provenance(source=SOURCE, trust=trust)
