"""Replies to recorded events, with what changes from run to run replaced by its kind."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

from replay.hook_runner import ROOT, TESTS, HookResult, HookRunner
from replay.ways import Way, by_launcher

REPLIES = TESTS / "replies"
STATEMENTS = (
    "We decided to use PostgreSQL for the analytics database because it handles JSON well.",
    "In this project, always write the migration before the model.",
)
CHANGING = (
    (re.compile(r"\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b"), "<uuid>"),
    (re.compile(r"\d{4}-\d\d-\d\d(?:T[\d:.]+Z?)?"), "<time>"),
    # One id of some 2,500 has no digit.
    (re.compile(r"\b[0-9a-f]{8}\b"), "<id>"),
)


REMOTE = '[remote "origin"]\n\turl = https://example.org/acme/shop.git\n'


class World:
    """Clones of one project, with an empty memory or one that an earlier session has filled."""

    def __init__(self, folder: Path, way: Way = by_launcher) -> None:
        self.folder, self.way = folder, way
        self.opened = 0
        hooks = self._clone()
        hooks.settle(*STATEMENTS)
        # No Stop and no SessionEnd: what MEMORY.md shows would not be given by a hook again.
        self.memories: dict[str, Path | None] = {"empty": None, "seeded": hooks.memory}

    def open(self, name: str) -> HookRunner:
        """A fresh clone with a copy of that memory: what a detached flush does stays in its own."""
        hooks, memory = self._clone(), self.memories[name]
        if memory is not None:
            shutil.copytree(memory, hooks.memory)
            # A clone elsewhere, which a person would be asked about.
            (hooks.memory / "config.toml").write_text('[projects]\nclaims = "trust"\n', "utf-8")
        return hooks

    def _clone(self) -> HookRunner:
        self.opened += 1
        hooks = HookRunner(self.folder / str(self.opened))
        git = hooks.project / ".git"
        git.mkdir()
        (git / "config").write_text(REMOTE, "utf-8")
        return hooks


def replayed(path: Path, world: World) -> dict[str, Any]:
    """Return what the recorded event prints over each memory; None where that is nothing."""
    found = {}
    for name in world.memories:
        hooks = world.open(name)
        printed = world.way(hooks, hooks.recorded(path))
        found[name] = settled(HookResult(0, printed, "").reply, hooks.folder)
    return found


def settled(value: Any, folder: Path) -> Any:
    if isinstance(value, dict):
        return {key: settled(item, folder) for key, item in value.items()}
    if not isinstance(value, str):
        return value
    value = value.replace(str(folder), "<world>").replace(str(ROOT), "<plugin>")
    for pattern, kind in CHANGING:
        value = pattern.sub(kind, value)
    return value
