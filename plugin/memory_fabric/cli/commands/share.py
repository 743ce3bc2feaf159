"""share: the records of this project by git, with those who share them, too; or no longer."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Annotated, Any

import typer

from memory_fabric.cli import environment, show
from memory_fabric.errors import BadInput, NotFound
from memory_fabric.models import Project
from memory_fabric.store.memory import Memory
from memory_fabric.store.sharing import (
    claims_read,
    location,
    outbox,
    switch,
)
from memory_fabric.store.sharing import (
    remote_records as others,
)
from memory_fabric.store.tiers import sync

GIT_S = 10


@dataclass(frozen=True, slots=True)
class State:
    """How sharing stands here; what is left to the user to do, and what did not work."""

    sharing: bool
    file: str
    lines: dict[str, int] = field(default_factory=dict)
    others: dict[str, int] = field(default_factory=dict)
    unreadable: int = 0
    conflict: bool = False
    waiting: int = 0
    todo: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()
    forgotten: int = 0


def share(
    action: Annotated[
        str, typer.Argument(metavar="[on|off|status]", help="Share, stop sharing, or look.")
    ] = "status",
    forget: Annotated[
        bool,
        typer.Option("--forget", help="With `off`: how many records of others would be dropped."),
    ] = False,
    yes: Annotated[
        bool,
        typer.Option("--yes", help="With `--forget`: drop them; `share on` reads them again."),
    ] = False,
    as_json: Annotated[
        bool,
        typer.Option(
            "--json",
            help="Its state as JSON: lines by type, others and their numbers, unreadable lines, "
            "what is left to do.",
        ),
    ] = False,
) -> int:
    """Share this project's records of scope team by git, and be told what others wrote.

    After `share on`, decisions.jsonl may be committed, nothing else of its folder, and git unites
    both sides of a merge. What others who share commit there is taken in at each session's start,
    marked with the name that its author claims. It says what becomes visible, and whether a
    `.gitignore` of the repository hides the folder; adding and committing is yours.

    `share off` hides the file again, and reads it no longer; what git tracks already stays tracked.
    `share` alone says how it stands. Files that were changed by hand stay, with what is left to do.
    docs/tiers.md#sharing-by-git says what is taken in.

        memory-fabric share on
        git add .claude/memory && git commit -m "Share what was decided"
    """
    if action not in ("on", "off", "status"):
        raise BadInput("action", f"{action} is neither on, off nor status.")
    if forget and action != "off":
        raise BadInput("--forget", "--forget belongs to off.", remedy="Say share off --forget.")
    with environment.open_memory() as memory:
        project = _shareable(memory)
        todo: list[str] = []
        gone = 0
        if action == "on":
            todo = _turned_on(memory, project)
        elif action == "off":
            todo = _turned_off(memory, project)
            gone = others.drop_all(memory) if forget and yes else 0
        state = state_of(memory, todo, gone)
    if as_json:
        show.json_out(asdict(state))
    else:
        _say(action, state, memory.settings.author, memory.settings.origin)
        _say_of_others(state, forget, yes)
    return 1 if state.failures else 0


def state_of(memory: Memory, todo: list[str], forgotten: int = 0) -> State:
    """How sharing stands in this project."""
    project = memory.project
    assert project is not None
    path = location.shared_file(project)
    found = claims_read.read(path)
    on = location.is_on(memory)
    return State(
        sharing=on,
        file=path,
        lines=_by_type(found) if found else {},
        others=others.count(memory),
        unreadable=found.unreadable if found else 0,
        conflict=claims_read.has_conflict(path),
        waiting=outbox.count_waiting(memory),
        todo=tuple(todo),
        failures=tuple(memory.failures),
        forgotten=forgotten,
    )


def _shareable(memory: Memory) -> Project:
    """The project, if its records lie where git can see them."""
    project = memory.project
    if project is None or memory.mirror is not None:
        raise NotFound("project", "There is no project here whose records could be shared.")
    if location.is_in_home(memory, project):
        raise BadInput(
            "share",
            f"The records of {project.name} lie in {project.local}, not in the project: git does "
            "not see them there.",
            remedy="docs/tiers.md says when that is so.",
        )
    return project


def _turned_on(memory: Memory, project: Project) -> list[str]:
    sync.drain(memory)
    outbox.remove_private(memory)
    todo = location.show_to_git(project)
    switch.turn(memory.settings.home, project.id, True)
    memory.flush()
    return [*todo, *_hidden_by(project)]


def _turned_off(memory: Memory, project: Project) -> list[str]:
    if not location.is_on(memory):
        return []
    switch.turn(memory.settings.home, project.id, False)
    return location.hide(project)


def _hidden_by(project: Project) -> list[str]:
    """What keeps git from seeing the records, though they may be seen."""
    if not os.path.exists(os.path.join(project.root, ".git")):
        return [f"{project.root} is no git repository: nothing carries the records to others."]
    git = shutil.which("git")
    if git is None:
        return []
    # The user's own git on the user's own repository; nothing in it is run by this.
    command = [git, "-c", "core.fsmonitor=false", "check-ignore", "-v", "--no-index"]
    try:
        done = subprocess.run(
            [*command, location.shared_file(project)],
            cwd=project.root,
            capture_output=True,
            text=True,
            timeout=GIT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    rule, _, _ = done.stdout.partition("\t")
    pattern = rule.rpartition(":")[2]
    if done.returncode or pattern.startswith("!"):
        return []
    where, _, _ = rule.rpartition(":")
    return [
        f"Git does not see it: {where} says {pattern}. Take that out, or say git add --force "
        f"{location.shared_file(project)} once."
    ]


def _by_type(found: claims_read.Read) -> dict[str, int]:
    """How many records of each type the journal holds, most first."""
    counts: dict[str, int] = {}
    for claim in found.claims:
        if claim.record:
            counts[claim.record["type"]] = counts.get(claim.record["type"], 0) + 1
    return dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))


def _say(action: str, state: State, author: str, origin: str) -> None:
    held = _counted(state.lines)
    if not state.sharing:
        show.line("Not shared: nothing of this project leaves this machine by our doing.")
        if action == "off":
            show.line("What others wrote is no longer read; new records of yours stay here.")
    elif action == "on":
        show.line(f"Shared: {state.file} ({held}).")
        who = " on ".join(name for name in (author, origin) if name)
        show.line(
            "Whoever can read the repository reads in it, once you commit it: all records of scope "
            f"team, earlier ones too, with your name and machine ({who or 'none'}), reasons and "
            "times; what you forget later stays in git's history. Records of scope user, global "
            "and local, conversations and the graph stay on this machine."
        )
        folder = os.path.dirname(state.file)
        show.line(
            f"Next, by you: look at it, then git add {folder} and git commit. We never commit."
        )
    else:
        show.line(f"Shared: {state.file} ({held}).")
    if state.waiting:
        why = "until the merge in it is settled" if state.conflict else "until you share"
        show.line(f"{state.waiting} lines of yours wait in the home {why}.")
    if state.conflict:
        show.line("A merge of it has left markers: keep the lines of both sides, delete the rest.")
    if state.unreadable:
        show.line(f"{state.unreadable} lines of it cannot be read and count for nothing.")
    for sentence in state.todo:
        show.line(sentence)
    for failure in state.failures:
        show.complain(failure)


def _say_of_others(state: State, forget: bool, yes: bool) -> None:
    number = sum(state.others.values())
    if forget and yes:
        show.line(f"Dropped: {state.forgotten} records of others. share on reads them again.")
    elif forget:
        show.line(
            f"{number} records of others would be dropped; they are all here. Say --yes to do it."
            if number
            else "There are no records of others."
        )
    elif number:
        names = ", ".join(f"{name or 'unnamed'} {n}" for name, n in state.others.items())
        show.line(f"Of others, as they claim to be: {names}.")
        if not state.sharing:
            show.line("They stay; memory-fabric share off --forget drops them.")


def _counted(counts: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {number}" for name, number in counts.items()) or "no records yet"
