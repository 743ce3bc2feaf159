"""The settings of this shell and the memory of the current folder, used by all commands."""

import os
import shlex
from collections.abc import Iterator
from contextlib import contextmanager

from memory_fabric.cli import show
from memory_fabric.config import Settings, home_path, in_client, read_settings, search_path
from memory_fabric.errors import BadInput
from memory_fabric.models import Provenance
from memory_fabric.store import files
from memory_fabric.store.home import switches
from memory_fabric.store.memory import Memory

SOURCE = "cli"
NAME = "memory-fabric"
REPAIR_DOMAINS = (
    "It may isolate a domain: until it is repaired, hooks and tools recall and store nothing. "
    "Correct it."
)


def settings() -> Settings:
    """Return the settings of this shell and folder, the same as for hooks. Raises BadInput."""
    home = home_path(os.environ)
    above = home
    while not os.path.lexists(above):
        above = os.path.dirname(above)
    if not os.path.isdir(above):
        text = f"{above} is not a folder, so memory cannot be stored in {home}."
        remedy = "Move it away, or set MEMORY_FABRIC_HOME to another folder."
        raise BadInput("MEMORY_FABRIC_HOME", text, remedy=remedy)
    file = switches.read_file(home)
    if file.error:
        text = f"{os.path.join(home, switches.NAME)} cannot be read: {file.error}."
        remedy = REPAIR_DOMAINS if file.closed else "Correct or remove it."
        raise BadInput(switches.NAME, text, remedy=remedy)
    stated = read_settings(os.environ, file.table)
    try:
        folder = stated.project_dir or os.getcwd()
    except FileNotFoundError as error:
        remedy = "Change to another folder, and try again."
        raise BadInput("folder", "The current folder was deleted.", remedy=remedy) from error
    return stated._replace(project_dir=folder, plugin_root=stated.plugin_root or plugin_root())


def program(settings: Settings) -> str:
    """Return the shell command that starts this program: its name if on the PATH, else its path."""
    own = os.path.join(settings.plugin_root, "bin", NAME)
    paths = (os.path.join(folder, NAME) for folder in search_path(os.environ))
    is_known = any(os.access(path, os.X_OK) for path in paths)
    return NAME if is_known or not os.access(own, os.X_OK) else shlex.quote(own)


def plugin_root() -> str:
    """Return the plugin's folder, or '' if the package was installed without the plugin."""
    root = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
    return root if os.path.exists(os.path.join(root, "hooks.json")) else ""


@contextmanager
def open_memory(*, repair: bool = False, step: str = "") -> Iterator[Memory]:
    """Open this folder's memory for a `with` block; `repair` rebuilds a damaged database. Changes
    get the name `step` for `undo --step`. Raises BadInput if `step` is no valid name.
    """
    if len(step) > 60 or not all(c.isalnum() or c in "-_." for c in step):
        remedy = "Use letters, digits and hyphens, as in review-1a2b3c4d."
        raise BadInput("--step", f"{step!r} cannot name a step.", remedy=remedy)
    memory = Memory.open(settings(), repair=repair)
    memory.batch = step
    try:
        yield memory
    finally:
        memory.close()
        show.warn_all(files.take_refused_files())


def provenance(trust: str = "user") -> Provenance:
    """Return the provenance of changes made by a command; the default trust is the user's."""
    return Provenance(source=SOURCE, trust=trust)


def require_user(command: str, decision: str, how: str = "") -> None:
    """Raise BadInput in a shell of Claude Code, where a model could make the user's `decision`."""
    if in_client(os.environ):
        text = f"Nothing was changed: only the user may decide {decision}."
        remedy = how or f"Run memory-fabric {command} in a terminal outside Claude Code."
        raise BadInput(command.split()[0], text, remedy=remedy)
