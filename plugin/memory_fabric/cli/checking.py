"""doctor: everything the plugin stands on, each with what helps where it is not well."""

from __future__ import annotations

import os
import sqlite3
import sys
import time
from collections.abc import Callable
from typing import Annotated

import typer

from memory_fabric import installation
from memory_fabric.cli import here, show
from memory_fabric.cli.proof import FAULT, OK, WARNING, Check, prove
from memory_fabric.config import Settings
from memory_fabric.errors import BadInput
from memory_fabric.semantic import installing, measure
from memory_fabric.store import health
from memory_fabric.store.files import read_json, read_text
from memory_fabric.store.log import LOG_NAME
from memory_fabric.store.memory import Memory

OLDEST_PYTHON = (3, 11)
PLUGIN = "memory-fabric"
STYLES = {OK: "green", WARNING: "yellow", FAULT: "red"}
TIER_STATES = {health.HEALTHY: OK, health.DEGRADED: WARNING, health.UNAVAILABLE: FAULT}
LOG_LINES = 200
INSTALL = "claude plugin install memory-fabric@memory-fabric"
AsJson = Annotated[bool, typer.Option("--json", help="Answer in JSON, for programs.")]


def doctor(
    proof: Annotated[
        bool,
        typer.Option("--prove", help="Also send a canary through the hooks, in a scratch home."),
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Check the installation, and say what helps."""
    settings = here.settings()
    checks = [look(settings) for look in CHECKS] + _tiers()
    if proof:
        if not settings.plugin_root:
            raise BadInput(
                "--prove", "The hooks are not beside this package.", remedy=f"Run {INSTALL}."
            )
        checks += prove(settings.plugin_root)
    if as_json:
        show.json_out(
            [{"name": c.name, "state": c.state, "told": c.told, "remedy": c.remedy} for c in checks]
        )
    else:
        rows = [(show.styled(c.state, STYLES[c.state]), c.name, _told(c)) for c in checks]
        show.table(("state", "check", "finding"), rows)
    return 1 if any(c.state == FAULT for c in checks) else 0


def python(_settings: Settings) -> Check:
    """The interpreter of this command, and full-text search in its SQLite."""
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


def interpreter(settings: Settings) -> Check:
    """The interpreter that the hooks remembered."""
    path = os.path.join(settings.data_dir, "interpreter") if settings.data_dir else ""
    remembered = (read_text(path) or "").strip() if path else ""
    if not remembered:
        return Check("hooks' python", WARNING, "no hook has run from here yet", "Start a session.")
    if not os.access(remembered, os.X_OK):
        return Check(
            "hooks' python", WARNING, f"{remembered} is gone", "The next hook looks for another."
        )
    return Check("hooks' python", OK, remembered)


def packages(settings: Settings) -> Check:
    """The packages of the server and the command line; hooks need none."""
    if not settings.data_dir or not settings.plugin_root:
        return Check("packages", OK, "those of this Python; the plugin is not its installer")
    ready = installation.environment_python(settings.data_dir, settings.plugin_root)
    if ready:
        return Check("packages", OK, ready)
    failed = installation.last_error(settings.data_dir)
    if failed:
        return Check("packages", FAULT, failed, "The hooks work meanwhile; the server does not.")
    return Check("packages", WARNING, "not installed yet", "The next session start installs them.")


def semantic(settings: Settings) -> Check:
    """The extra that ranks by nearness of meaning; recall works without it."""
    state, why = measure.state(settings)
    if state == measure.BROKEN:
        return Check("semantic", WARNING, why, "Recall goes by words. memory-fabric semantic off")
    if state == measure.ABSENT and installing.installed(settings.data_dir):
        told = "installed for another release or Python"
        return Check("semantic", WARNING, told, "memory-fabric semantic on brings it up to date.")
    return Check("semantic", OK, why if state == measure.OFF else state)


def home(settings: Settings) -> Check:
    """Whether memory can be written."""
    place = settings.home
    while not os.path.exists(place) and place != os.path.dirname(place):
        place = os.path.dirname(place)
    if os.access(place, os.W_OK) and os.path.isdir(place):
        return Check("home", OK, settings.home)
    return Check(
        "home", FAULT, f"{place} cannot be written", "Check it, or set MEMORY_FABRIC_HOME."
    )


def hooks(settings: Settings) -> Check:
    """Whether the client knows the hooks."""
    client = read_json(os.path.join(settings.config_dir, "settings.json"))
    plugins = client.get("enabledPlugins")
    enabled = plugins if isinstance(plugins, dict) else {}
    named = [name for name in enabled if name.split("@")[0] == PLUGIN]
    if any(enabled[name] is True for name in named):
        return Check("hooks", OK, f"enabled as {', '.join(named)}")
    if PLUGIN in str(client.get("hooks", "")):
        return Check("hooks", OK, "set by hand in settings.json")
    told = "disabled in settings.json" if named else "not in settings.json"
    return Check("hooks", WARNING, told, f"Run {INSTALL} (nothing to do with --plugin-dir).")


def switched(settings: Settings) -> Check:
    """Whether recall and capture are on, and settings that could not be read."""
    memory = Memory.open(settings)
    parts = (("recall", memory.settings.reads), ("capture", memory.settings.writes))
    off = [name for name, on in parts if not on]
    memory.close()
    if off:
        return Check(
            "switches", WARNING, f"off here: {', '.join(off)}", "memory-fabric on [--here]"
        )
    if settings.complaints:
        return Check(
            "switches", WARNING, "; ".join(settings.complaints), "See docs/configuration.md."
        )
    return Check("switches", OK, "recall and capture are on")


def log(settings: Settings) -> Check:
    """What the hooks complained about today."""
    folders = [os.path.join(settings.home, "logs"), settings.data_dir]
    texts = [read_text(os.path.join(folder, LOG_NAME)) or "" for folder in folders if folder]
    today = time.strftime("%Y-%m-%d", time.gmtime())
    recent = [line for text in texts for line in text.splitlines()[-LOG_LINES:]]
    lines = sorted(line for line in recent if line.startswith(today))
    if lines:
        return Check("log", WARNING, f"{len(lines)} lines today, last: {lines[-1]}")
    return Check("log", OK, "nothing today")


CHECKS: tuple[Callable[[Settings], Check], ...] = (
    python, interpreter, packages, semantic, home, hooks, switched, log,
)  # fmt: skip


def _tiers() -> list[Check]:
    with here.open_memory() as memory:
        found = health.tiers(memory, time.time())
    return [
        Check(
            f"tier {tier.name}",
            TIER_STATES[tier.state],
            "; ".join(f.reason for f in tier.findings) or tier.where,
            " ".join(f.remedy for f in tier.findings if f.remedy),
        )
        for tier in found
    ]


def _told(check: Check) -> str:
    return f"{check.told}. {check.remedy}" if check.remedy else check.told
