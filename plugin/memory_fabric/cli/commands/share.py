"""Command share: start or stop sharing the project's records by git."""

import os
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from typing import Literal, NamedTuple

from memory_fabric.cli import environment, show
from memory_fabric.cli.options import argument, flag
from memory_fabric.errors import BadInput, NotFound
from memory_fabric.models import Project
from memory_fabric.sharing.git import claims_read, location, shared_journal, switch
from memory_fabric.store.memory import Memory
from memory_fabric.store.tiers import sync

GIT_S = 10


class State(NamedTuple):
    """The state of sharing: what is shared, the steps left for the user, and failures."""

    sharing: bool
    file: str
    lines: dict[str, int]
    others: dict[str, int]
    unreadable: int
    conflict: bool
    waiting: int
    todo: tuple[str, ...]
    failures: tuple[str, ...]
    forgotten: int


def share(
    action: Literal["on", "off", "status"] = argument(
        "[on|off|status]  Share, stop sharing, or show the state.", "status"
    ),
    forget: bool = flag("--forget  With `off`: show how many records of others would be deleted."),
    yes: bool = flag("--yes  With `--forget`: delete them; `share on` reads them again."),
    as_json: bool = flag("--json  Answer in JSON: the numbers of lines, and the next steps."),
) -> int:
    """Share this project's team records by git.

    After `share on`, git sees decisions.jsonl, and keeps both sides in a merge. Records that others
    commit are read at the start of each session, and marked with the name that the author claims.
    The command shows what becomes visible; you add and commit the file yourself.

    `share off` hides the file again, and stops reading it; if git tracks it already, it stays
    tracked. Files that were changed by hand stay; the remaining steps are shown (docs/tiers.md).

        memory-fabric share on
        git add .claude/memory && git commit -m "Share what was decided"
    """
    if forget and action != "off":
        raise BadInput("--forget", "--forget needs off.", remedy="Use share off --forget.")
    with environment.open_memory() as memory:
        project = memory.project
        if project is None or memory.mirror is not None:
            raise NotFound("project", "This folder has no project whose records could be shared.")
        if location.is_in_home(memory, project):
            text = f"The records of {project.name} are outside it, not in git: {project.local}."
            raise BadInput("share", text, remedy="See docs/tiers.md.")
        todo: list[str] = []
        deleted = 0
        if action == "on":
            sync.drain(memory)
            shared_journal.remove_private(memory)
            todo = location.show_to_git(project)
            switch.turn(memory.settings.home, project.id, True)
            memory.flush()
            todo = [*todo, *_hidden_by(project)]
        elif action == "off" and location.is_on(memory):
            switch.turn(memory.settings.home, project.id, False)
            todo = location.hide(project)
        if forget and yes:
            deleted = shared_journal.drop_all(memory)
        state = _state_of(memory, project, todo, deleted)
    if as_json:
        show.json_out(state._asdict())
    else:
        show.lines((*_lines(action, state, memory), *_lines_of_others(state, forget, yes)))
        show.warn_all(state.failures)
    return 1 if state.failures else 0


def _state_of(memory: Memory, project: Project, todo: list[str], forgotten: int) -> State:
    path = location.shared_file(project)
    content = claims_read.read(path)
    kinds = Counter(c.record["type"] for c in content.claims if c.record) if content else {}
    return State(
        sharing=location.is_on(memory),
        file=path,
        # the most frequent kind first
        lines=dict(sorted(kinds.items(), key=lambda pair: (-pair[1], pair[0]))),
        others=shared_journal.count(memory),
        unreadable=content.unreadable if content else 0,
        conflict=claims_read.has_conflict(path),
        waiting=shared_journal.count_waiting(memory),
        todo=tuple(todo),
        failures=tuple(memory.failures),
        forgotten=forgotten,
    )


def _hidden_by(project: Project) -> list[str]:
    """Return the reasons why git does not see the shared records."""
    if not os.path.exists(os.path.join(project.root, ".git")):
        return [f"{project.root} is not a git repository, so the records reach nobody else."]
    git = shutil.which("git")
    if git is None:
        return []
    # Running git here is safe: git and the repository are the user's own, and without fsmonitor git
    # starts no program that the repository specifies.
    path = location.shared_file(project)
    command = [git, "-c", "core.fsmonitor=false", "check-ignore", "-v", "--no-index", path]
    try:
        process = subprocess.run(
            command, cwd=project.root, capture_output=True, text=True, timeout=GIT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    rule, _, _ = process.stdout.partition("\t")
    pattern = rule.rpartition(":")[2]
    if process.returncode or pattern.startswith("!"):
        return []
    cause = f"Git ignores it because of {pattern} in {rule.rpartition(':')[0]}."
    return [f"{cause} Remove the pattern, or run git add --force {path} once."]


def _lines(action: str, state: State, memory: Memory) -> Iterator[str]:
    """Yield lines for the user: what is shared, and which steps remain."""
    lines = ", ".join(f"{name} {number}" for name, number in state.lines.items())
    if state.sharing:
        yield f"Shared: {state.file} ({lines or 'no records yet'})."
    else:
        yield "Not shared: memory-fabric shares no records of this project."
        if action == "off":
            yield "Records of others are not read any more; your new records stay on this machine."
    if state.sharing and action == "on":
        names = (memory.settings.author, memory.settings.origin)
        who = " on ".join(name for name in names if name)
        yield (
            "Once you commit it, every reader of the repository sees all records of scope team, "
            f"earlier ones too, with your name and machine ({who or 'none'}), reasons and times; "
            "what you forget later stays in git's history. Records of scope user, global "
            "and local, conversations and the graph stay on this machine."
        )
        yield f"Next: review it, then run git add {os.path.dirname(state.file)} and git commit."
    if state.waiting:
        why = "until the merge conflict is resolved" if state.conflict else "until you share"
        yield f"{state.waiting} of your lines wait in the home {why}."
    if state.conflict:
        yield "It has conflict markers: keep the lines of both sides, and delete the markers."
    if state.unreadable:
        yield f"{state.unreadable} lines of it cannot be read and are ignored."
    yield from state.todo


def _lines_of_others(state: State, forget: bool, yes: bool) -> Iterator[str]:
    number = sum(state.others.values())
    if forget and yes:
        yield f"Deleted: {state.forgotten} records of others. share on reads them again."
    elif forget and number:
        yield f"{number} records of others would be deleted; nothing was changed. --yes does so."
    elif forget:
        yield "There are no records of others."
    elif number:
        names = ", ".join(f"{name or 'unnamed'} {n}" for name, n in state.others.items())
        yield f"Records of others, by the name they claim: {names}."
        if not state.sharing:
            yield "They stay; memory-fabric share off --forget deletes them."
