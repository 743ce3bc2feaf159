"""share: share the records of this project by git, or stop sharing."""

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
from memory_fabric.sharing.git import claims_read, location, outbox, remote_records, switch
from memory_fabric.store.memory import Memory
from memory_fabric.store.tiers import sync

GIT_S = 10


@dataclass(frozen=True, slots=True)
class State:
    """The state of sharing, the steps left to the user, and failures."""

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
        str,
        typer.Argument(metavar="[on|off|status]", help="Share, stop sharing, or show the state."),
    ] = "status",
    forget: Annotated[
        bool,
        typer.Option(
            "--forget", help="With `off`: show how many records of others would be deleted."
        ),
    ] = False,
    yes: Annotated[
        bool,
        typer.Option("--yes", help="With `--forget`: delete them; `share on` reads them again."),
    ] = False,
    as_json: Annotated[
        bool,
        typer.Option(
            "--json",
            help="Answer in JSON: lines by type, others and their numbers, unreadable lines, "
            "remaining steps.",
        ),
    ] = False,
) -> int:
    """Share this project's team records by git.

    After `share on`, git sees decisions.jsonl but nothing else in its folder, and keeps both sides
    in a merge. Records that others commit are read at the start of each session, and marked with
    the name that the author claims. The command shows what becomes visible, and whether a
    `.gitignore` of the repository hides the folder; you add and commit the file yourself.

    `share off` hides the file again, and stops reading it; if git tracks it already, it stays
    tracked. `share` shows the state. Files that were changed by hand stay, and the remaining steps
    are shown. docs/tiers.md#sharing-by-git describes which records are read.

        memory-fabric share on
        git add .claude/memory && git commit -m "Share what was decided"
    """
    if action not in ("on", "off", "status"):
        raise BadInput("action", f"There is no action {action}.", remedy="Use on, off or status.")
    if forget and action != "off":
        raise BadInput("--forget", "--forget needs off.", remedy="Use share off --forget.")
    with environment.open_memory() as memory:
        project = _shareable(memory)
        todo: list[str] = []
        gone = 0
        if action == "on":
            todo = _turn_on(memory, project)
        elif action == "off":
            todo = _turn_off(memory, project)
            gone = remote_records.drop_all(memory) if forget and yes else 0
        state = state_of(memory, todo, gone)
    if as_json:
        show.json_out(asdict(state))
    else:
        _say(action, state, memory.settings.author, memory.settings.origin)
        _say_of_others(state, forget, yes)
    return 1 if state.failures else 0


def state_of(memory: Memory, todo: list[str], forgotten: int = 0) -> State:
    """Return the state of sharing in this project."""
    project = memory.project
    assert project is not None
    path = location.shared_file(project)
    found = claims_read.read(path)
    on = location.is_on(memory)
    return State(
        sharing=on,
        file=path,
        lines=_by_type(found) if found else {},
        others=remote_records.count(memory),
        unreadable=found.unreadable if found else 0,
        conflict=claims_read.has_conflict(path),
        waiting=outbox.count_waiting(memory),
        todo=tuple(todo),
        failures=tuple(memory.failures),
        forgotten=forgotten,
    )


def _shareable(memory: Memory) -> Project:
    """Return the project. Raises BadInput if git cannot see its records."""
    project = memory.project
    if project is None or memory.mirror is not None:
        raise NotFound("project", "This folder has no project whose records could be shared.")
    if location.is_in_home(memory, project):
        raise BadInput(
            "share",
            f"The records of {project.name} are in {project.local}, outside the project, where "
            "git does not see them.",
            remedy="See docs/tiers.md.",
        )
    return project


def _turn_on(memory: Memory, project: Project) -> list[str]:
    sync.drain(memory)
    outbox.remove_private(memory)
    todo = location.show_to_git(project)
    switch.turn(memory.settings.home, project.id, True)
    memory.flush()
    return [*todo, *_hidden_by(project)]


def _turn_off(memory: Memory, project: Project) -> list[str]:
    if not location.is_on(memory):
        return []
    switch.turn(memory.settings.home, project.id, False)
    return location.hide(project)


def _hidden_by(project: Project) -> list[str]:
    """Return reasons why git still does not see the shared records."""
    if not os.path.exists(os.path.join(project.root, ".git")):
        return [f"{project.root} is not a git repository, so the records reach nobody else."]
    git = shutil.which("git")
    if git is None:
        return []
    # The user's own git and repository; with fsmonitor off, git runs no program of the repository.
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
        f"Git ignores it because of {pattern} in {where}. Remove the pattern, or run git add "
        "--force "
        f"{location.shared_file(project)} once."
    ]


def _by_type(found: claims_read.Read) -> dict[str, int]:
    """Count the records of the journal by type, largest count first."""
    counts: dict[str, int] = {}
    for claim in found.claims:
        if claim.record:
            counts[claim.record["type"]] = counts.get(claim.record["type"], 0) + 1
    return dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))


def _say(action: str, state: State, author: str, origin: str) -> None:
    held = _counted(state.lines)
    if not state.sharing:
        show.line("Not shared: memory-fabric shares no records of this project.")
        if action == "off":
            show.line(
                "Records of others are not read any more; your new records stay on this machine."
            )
    elif action == "on":
        show.line(f"Shared: {state.file} ({held}).")
        who = " on ".join(name for name in (author, origin) if name)
        show.line(
            "Once you commit it, every reader of the repository sees all records of scope team, "
            f"earlier ones too, with your name and machine ({who or 'none'}), reasons and times; "
            "what you forget later stays in git's history. Records of scope user, global "
            "and local, conversations and the graph stay on this machine."
        )
        folder = os.path.dirname(state.file)
        show.line(
            f"Next: review it, then run git add {folder} and git commit. memory-fabric never "
            "commits."
        )
    else:
        show.line(f"Shared: {state.file} ({held}).")
    if state.waiting:
        why = "until the merge conflict is resolved" if state.conflict else "until you share"
        show.line(f"{state.waiting} of your lines wait in the home {why}.")
    if state.conflict:
        show.line(
            "It has conflict markers of a merge: keep the lines of both sides, delete the markers."
        )
    if state.unreadable:
        show.line(f"{state.unreadable} lines of it cannot be read and are ignored.")
    for sentence in state.todo:
        show.line(sentence)
    for failure in state.failures:
        show.warn(failure)


def _say_of_others(state: State, forget: bool, yes: bool) -> None:
    number = sum(state.others.values())
    if forget and yes:
        show.line(f"Deleted: {state.forgotten} records of others. share on reads them again.")
    elif forget:
        show.line(
            f"{number} records of others would be deleted; nothing was changed. Use --yes to "
            "delete them."
            if number
            else "There are no records of others."
        )
    elif number:
        names = ", ".join(f"{name or 'unnamed'} {n}" for name, n in state.others.items())
        show.line(f"Records of others, by the name they claim: {names}.")
        if not state.sharing:
            show.line("They stay; memory-fabric share off --forget deletes them.")


def _counted(counts: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {number}" for name, number in counts.items()) or "no records yet"
