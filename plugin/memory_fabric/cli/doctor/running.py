"""Checks of operation: switches, the last session, the hooks' log."""

from __future__ import annotations

import os
import time

from memory_fabric.cli import formatting
from memory_fabric.cli.doctor.finding import OK, WARNING, Check, Sight
from memory_fabric.store.files import read_text
from memory_fabric.store.history import deliveries
from memory_fabric.store.log import LOG_NAME

LOG_LINES = 200


def switched(sight: Sight) -> Check:
    """Check that recall and capture are on, and that all settings could be read."""
    now = sight.memory.settings
    off = [name for name, on in (("recall", now.reads), ("capture", now.writes)) if not on]
    if off:
        told = f"off here: {', '.join(off)}"
        return Check("switches", WARNING, told, "memory-fabric on [--here]")
    if now.complaints:
        told = "; ".join(now.complaints)
        return Check("switches", WARNING, told, "See docs/configuration.md.")
    return Check("switches", OK, "recall and capture are on")


def last_session(sight: Sight) -> Check:
    """Check when a hook last ran in this project."""
    kind = "project" if sight.memory.project else "user"
    here = [database for database in sight.memory.databases() if database.kind == kind]
    _, last = deliveries.span(here)
    if not last:
        remedy = "Start a session here, or start it again: hooks are read at its start."
        return Check("last session", WARNING, "no hook has ever run in this project", remedy)
    return Check("last session", OK, f"a hook last ran on {formatting.when(last)}")


def log(sight: Sight) -> Check:
    """Report today's lines of the hooks' log."""
    settings = sight.settings
    folders = [os.path.join(settings.home, "logs"), settings.data_dir]
    texts = [read_text(os.path.join(folder, LOG_NAME)) or "" for folder in folders if folder]
    today = time.strftime("%Y-%m-%d", time.gmtime(sight.now_s))
    recent = [line for text in texts for line in text.splitlines()[-LOG_LINES:]]
    lines = sorted(line for line in recent if line.startswith(today))
    if lines:
        return Check("log", WARNING, f"{len(lines)} lines today, last: {lines[-1]}")
    return Check("log", OK, "nothing today")
