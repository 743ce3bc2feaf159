"""Checks of the interpreter, the packages and the plugin's own files."""

import os
import sqlite3
import subprocess
import sys

from memory_fabric.cli.doctor.client import INSTALL
from memory_fabric.cli.doctor.finding import FAULT, OK, WARNING, Check, Sight
from memory_fabric.clients import settings
from memory_fabric.clients.settings import LAUNCHER
from memory_fabric.hooks.dispatcher import HANDLERS
from memory_fabric.semantic import measure, place
from memory_fabric.setup import extras
from memory_fabric.setup import packages as installation
from memory_fabric.store.files import read_text

OLDEST_PYTHON = (3, 11)
PROBE_S = 20
# The same test of an interpreter as in hooks/find-python.sh.
PROBE = """
import sys
if sys.version_info < (3, 11):
    sys.exit("it is Python %d.%d, and hooks need 3.11" % sys.version_info[:2])
import sqlite3
table = "CREATE VIRTUAL TABLE probe USING fts5(words, tokenize='trigram')"
sqlite3.connect(":memory:").execute(table)
"""
AGAIN = f"Install the plugin again: {INSTALL}."


def python(_sight: Sight) -> Check:
    """Check the interpreter of this command, and full-text search in its SQLite."""
    version = ".".join(map(str, sys.version_info[:3]))
    told = f"{version} at {sys.executable}, SQLite {sqlite3.sqlite_version}"
    if sys.version_info < OLDEST_PYTHON:
        return Check("python", FAULT, told, "Install Python 3.11 or newer.")
    connection = sqlite3.connect(":memory:")
    try:
        connection.execute("CREATE VIRTUAL TABLE probe USING fts5(words, tokenize='trigram')")
    except sqlite3.Error as error:
        return Check(
            "python", FAULT, f"{told}: {error}", "Use a Python with SQLite 3.34 or newer and FTS5."
        )
    finally:
        connection.close()
    return Check("python", OK, told)


def interpreter(sight: Sight) -> Check:
    """Check that the hooks' interpreter exists, is new enough, and has full-text search."""
    name, again = "hooks' python", "The next hook looks for another."
    path = installation.remembered_file(sight.settings.data_dir)
    remembered = (read_text(path) or "").strip() if path else ""
    if not remembered:
        return Check(name, WARNING, "no hook has run from here yet", "Start a session.")
    if not os.path.isfile(remembered) or not os.access(remembered, os.X_OK):
        return Check(name, WARNING, f"{remembered} is gone", again, fixable=True)
    fails = _fails(remembered)
    if fails:
        remedy = "memory-fabric doctor --fix forgets it, and the next hook looks for another."
        return Check(name, FAULT, f"{remembered}: {fails}", remedy, fixable=True)
    return Check(name, OK, remembered)


def _fails(python: str) -> str:
    """Return why hooks cannot run with this Python; empty if they can."""
    command = [python, "-I", "-S", "-c", PROBE]
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=PROBE_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"it does not start ({error})"
    lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
    return "" if done.returncode == 0 else (lines or [f"exit code {done.returncode}"])[-1]


def packages(sight: Sight) -> Check:
    """Check the packages of the command line; hooks and the MCP server need none."""
    data, root = sight.settings.data_dir, sight.settings.plugin_root
    if not data or not root:
        return Check("packages", OK, "the packages of this Python, not installed by the plugin")
    ready = installation.environment_python(data, root)
    if ready:
        return Check("packages", OK, ready)
    if installation.is_running(data):
        return Check("packages", OK, "the installation is running")
    failed = installation.last_error(data)
    if failed:
        remedy = "Hooks and the MCP server work meanwhile."
        return Check("packages", FAULT, failed, remedy, fixable=True)
    half = installation.half_installed(data)
    if half:
        told = f"an installation was interrupted: {', '.join(map(os.path.basename, half))}"
        remedy = "The next session start repeats it."
        return Check("packages", WARNING, told, remedy, fixable=True)
    return Check("packages", WARNING, "not installed yet", "The next session start installs them.")


def plugin_files(sight: Sight) -> Check:
    """Check that hooks.json names every event and only commands that can be started."""
    root = sight.settings.plugin_root
    if not root:
        return Check("plugin files", WARNING, "this package has no plugin folder", AGAIN)
    known = settings.events_of(os.path.join(root, "hooks.json"))
    missing = [event for event in HANDLERS if not known.get(event)]
    if missing:
        told = f"hooks.json does not name {', '.join(missing)}"
        return Check("plugin files", FAULT, told, AGAIN)
    launcher = os.path.join(root, LAUNCHER)
    if not os.access(launcher, os.X_OK):
        told = f"{launcher} cannot be started"
        return Check("plugin files", FAULT, told, f"{AGAIN} Or: chmod +x {launcher}.")
    return Check("plugin files", OK, f"{len(HANDLERS)} events, {launcher}")


def semantic(sight: Sight) -> Check:
    """Check the optional packages for semantic ranking; recall works without them."""
    state, why = measure.state(sight.settings)
    if state == measure.BROKEN:
        return Check(
            "semantic", WARNING, why, "Recall matches words only. memory-fabric semantic off"
        )
    if state == measure.ABSENT and extras.installed(place.KIND, sight.settings.data_dir):
        told = "installed for another release or Python"
        return Check("semantic", WARNING, told, "memory-fabric semantic on brings it up to date.")
    return Check("semantic", OK, why if state == measure.OFF else state)
