"""The home's config.toml: read, checked, and read again once it has changed.

Of an invalid file only the switches that turn something off apply. If it may isolate domains,
everything is off, since it is not known for whom.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, NamedTuple

from memory_fabric.config import (
    PARTS,
    Settings,
    home_path,
    may_isolate,
    read_settings,
    switches_in,
    with_changes,
)
from memory_fabric.store.files import read_text, read_toml

NAME = "config.toml"
Stamp = tuple[int, int, int]
MISSING: Stamp = (0, 0, 0)


class ConfigFile(NamedTuple):
    """The tables that apply, and `error` if the file is invalid.

    `closed`: the file may isolate domains, so memory is off until it is corrected.
    """

    table: Mapping[str, Any] = {}
    error: str = ""
    closed: bool = False

    @property
    def complaint(self) -> str:
        """The error and its consequence, for the user; '' for a valid file."""
        if not self.error:
            return ""
        if self.closed:
            return (
                f"{NAME} cannot be read and may isolate domains, so memory is off until it is "
                f"corrected: {self.error}"
            )
        return (
            f"{NAME} cannot be read; only its switches that turn something off apply: {self.error}"
        )


def settings_of(environ: Mapping[str, str]) -> Settings:
    """Return the settings from variables and config.toml; errors of either are in `complaints`."""
    file = read_file(home_path(environ))
    settings = read_settings(environ, file.table)
    if not file.error:
        return settings
    return settings._replace(
        complaints=(*settings.complaints, file.complaint),
        closed=file.complaint if file.closed else "",
    )


def follow(settings: Settings, home: str) -> Settings:
    """Return the settings with the switches and domains that config.toml has now."""
    file = read_file(home)
    return with_changes(settings, file.table, file.complaint if file.closed else "")


def stamp(home: str) -> Stamp:
    """Return a value that changes with every change of the file."""
    try:
        found = os.stat(os.path.join(home, NAME))
    except OSError:
        return MISSING
    return found.st_ino, found.st_mtime_ns, found.st_size


def read_file(home: str) -> ConfigFile:
    """Read the config.toml of a home; empty if there is none."""
    path = os.path.join(home, NAME)
    try:
        return ConfigFile(read_toml(path))
    except (OSError, ValueError, RecursionError) as error:
        why = str(error).replace(path, NAME).rstrip(".")  # may be shown to other clients
    try:
        text = read_text(path) or ""
    except (OSError, ValueError):
        text = None  # it may isolate anything
    if text is None or may_isolate(text):
        return ConfigFile(dict.fromkeys(PARTS, False), why, closed=True)
    return ConfigFile(switches_in(text), why)
