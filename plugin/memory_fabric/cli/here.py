"""What a command works on: the settings of this shell and the memory of this folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from memory_fabric.config import Settings, home_path, read_settings
from memory_fabric.errors import BadInput
from memory_fabric.models import Provenance
from memory_fabric.store.files import read_toml
from memory_fabric.store.memory import Memory

SOURCE = "cli"


def settings() -> Settings:
    """Settings as the hooks would read them; the project is the current folder unless stated.

    Raises BadInput for a config.toml that cannot be read.
    """
    path = os.path.join(home_path(os.environ), "config.toml")
    try:
        table = read_toml(path)
    except ValueError as error:
        raise BadInput(
            "config.toml", f"{path} cannot be read: {error}.", remedy="Correct or remove it."
        ) from error
    found = read_settings(os.environ, table)
    return found._replace(
        project_dir=found.project_dir or _current_folder(),
        plugin_root=found.plugin_root or plugin_root(),
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


def said_here(trust: str = "user") -> Provenance:
    """Who speaks on the command line: a person, or a model whose command a person allowed."""
    return Provenance(source=SOURCE, trust=trust)
