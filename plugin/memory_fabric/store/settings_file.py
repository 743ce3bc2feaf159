"""config.toml as it lies in the home: read, or found broken, and read again once it has changed.

Of a broken file only what it turns off counts. Where it says that somebody is isolated, that is
everything: nobody could say any more for whom the wall stands.
"""

from __future__ import annotations

import os

from memory_fabric.config import (
    PARTS,
    home_path,
    may_isolate,
    read_settings,
    switches_in,
    with_changes,
)
from memory_fabric.store.files import read_text, read_toml
from memory_fabric.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from memory_fabric.config import Settings

NAME = "config.toml"
Stamp = tuple[int, int, int]
MISSING: Stamp = (0, 0, 0)


class ConfigFile(Value):
    """The tables that count; `error` says what is wrong with the file, and `closed` that nothing
    may be given or kept until it is mended, since it may isolate somebody.
    """

    table: Mapping[str, Any] = {}
    error: str = ""
    closed: bool = False

    @property
    def complaint(self) -> str:
        """What is wrong and what follows from it; '' for a sound file."""
        if not self.error:
            return ""
        if self.closed:
            return (
                f"{NAME} cannot be read and may isolate somebody: memory is off until it is "
                f"mended: {self.error}"
            )
        return f"{NAME} cannot be read; it counts only for what it turns off: {self.error}"


def settings_of(environ: Mapping[str, str]) -> Settings:
    """Settings from variables and config.toml, what is wrong with either in `complaints`."""
    file = read_file(home_path(environ))
    settings = read_settings(environ, file.table)
    if not file.error:
        return settings
    return settings._replace(
        complaints=(*settings.complaints, file.complaint),
        closed=file.complaint if file.closed else "",
    )


def follow(settings: Settings, home: str) -> Settings:
    """The settings with the switches and rooms that the home's config.toml has by now."""
    file = read_file(home)
    return with_changes(settings, file.table, file.complaint if file.closed else "")


def stamp(home: str) -> Stamp:
    """What changes with every change of the file."""
    try:
        found = os.stat(os.path.join(home, NAME))
    except OSError:
        return MISSING
    return found.st_ino, found.st_mtime_ns, found.st_size


def read_file(home: str) -> ConfigFile:
    """The config.toml of a home; an empty one where none is."""
    path = os.path.join(home, NAME)
    try:
        return ConfigFile(read_toml(path))
    except (OSError, ValueError, RecursionError) as error:
        why = str(error).replace(path, NAME).rstrip(".")  # strangers read it, too
    try:
        text = read_text(path) or ""
    except (OSError, ValueError):
        text = None  # whom it isolates nobody can say
    if text is None or may_isolate(text):
        return ConfigFile(dict.fromkeys(PARTS, False), why, closed=True)
    return ConfigFile(switches_in(text), why)
