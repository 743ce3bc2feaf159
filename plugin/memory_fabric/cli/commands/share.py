"""Command share: share the project's records through git, or report how a branch changes them."""

import os
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from memory_fabric.cli import environment, show
from memory_fabric.cli.options import argument, flag
from memory_fabric.errors import BadInput, NotFound
from memory_fabric.ids import short_id
from memory_fabric.models import Project, Record, shown_type
from memory_fabric.sharing.git import claims_read, location, shared_journal, switch
from memory_fabric.store import records
from memory_fabric.store.memory import Memory
from memory_fabric.store.tiers import sync
from memory_fabric.text import cut, many, one_line

GIT_S = 30
# Base branches to try, in this order, if the user does not specify one.
BASES = ("origin/HEAD", "origin/main", "main", "origin/master", "master")
MAX_TEXT_CHARS, MAX_FILES = 300, 3


def share(
    action: Literal["on", "off", "status"] = argument(
        "[on|off|status]  Share, stop sharing, or show the state.", "status"
    ),
    forget: bool = flag("--forget  With `off`: show how many records of others would be deleted."),
    yes: bool = flag("--yes  With `--forget`: delete them; `share on` reads them again."),
    as_json: bool = flag("--json  Answer in JSON: the numbers of lines, and the next steps."),
) -> int:
    """Share this project's team records by git.

    After `share on`, git sees decisions.jsonl; a merge keeps the lines of both sides. You add and
    commit the file yourself. Records that others commit are read at the start of each session, with
    the name that the author claims, which is not verified. `share off` hides the file from git
    again and stops reading it. If git already tracks the file, it stays tracked (docs/tiers.md).

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
        path = location.shared_file(project)
        content = claims_read.read(path)
        kinds = Counter(c.record["type"] for c in content.claims if c.record) if content else {}
        by_frequency = sorted(kinds.items(), key=lambda pair: (-pair[1], pair[0]))
        state = {"sharing": location.is_on(memory), "file": path, "lines": dict(by_frequency)}
        state |= {"others": shared_journal.count(memory)}
        state |= {"unreadable": content.unreadable if content else 0}
        state |= {"conflict": claims_read.has_conflict(path)}
        state |= {"waiting": shared_journal.count_waiting(memory), "todo": todo}
        state |= {"failures": list(memory.failures), "forgotten": deleted}
    if as_json:
        show.json_out(state)
    else:
        show.lines(_lines(action, state, memory, forget, yes))
        show.warn_all(memory.failures)
    return 1 if memory.failures else 0


def _hidden_by(project: Project) -> list[str]:
    if not os.path.exists(os.path.join(project.root, ".git")):
        return [f"{project.root} is not a git repository, so the records reach nobody else."]
    path = location.shared_file(project)
    output = _git(project, "check-ignore", "-v", "--no-index", path).decode("utf-8", "replace")
    place, _, pattern = output.partition("\t")[0].rpartition(":")
    if not pattern or pattern.startswith("!"):
        return []
    cause = f"Git ignores it because of {pattern} in {place}."
    return [f"{cause} Remove the pattern, or run git add --force {path} once."]


def _lines(
    action: str, state: dict[str, Any], memory: Memory, forget: bool, yes: bool
) -> Iterator[str]:
    path, is_shared, has_conflict = state["file"], state["sharing"], state["conflict"]
    lines = ", ".join(f"{name} {number}" for name, number in state["lines"].items())
    if is_shared:
        yield f"Shared: {path} ({lines or 'no records yet'})."
    else:
        yield "Not shared: memory-fabric shares no records of this project."
        if action == "off":
            yield "Records of others are not read any more; your new records stay on this machine."
    if is_shared and action == "on":
        who = " on ".join(filter(None, (memory.settings.author, memory.settings.origin)))
        yield (
            "Once you commit it, every reader of the repository sees all records of scope team, "
            f"earlier ones too, with your name and machine ({who or 'none'}), reasons and times; "
            "what you forget later stays in git's history. Records of scope user, global "
            "and local, conversations and the graph stay on this machine."
        )
        yield f"Next: review it, then run git add {os.path.dirname(path)} and git commit."
    if state["waiting"]:
        why = "until the merge conflict is resolved" if has_conflict else "until you share"
        yield f"{many(state['waiting'], 'line')} of yours waiting in the home {why}."
    if has_conflict:
        yield "It has conflict markers: keep the lines of both sides, and delete the markers."
    if state["unreadable"]:
        yield f"Unreadable and ignored: {many(state['unreadable'], 'line')} of it."
    yield from state["todo"]
    number = sum(state["others"].values())
    if forget and yes:
        yield f"Deleted: {many(state['forgotten'], 'record')} of others. share on reads them again."
    elif forget and number:
        yield f"{many(number, 'record')} of others to delete; nothing was changed. --yes does so."
    elif forget:
        yield "There are no records of others."
    elif number:
        names = ", ".join(f"{name or 'unnamed'} {n}" for name, n in state["others"].items())
        yield f"Records of others, by the name they claim: {names}."
        if not is_shared:
            yield "They stay; memory-fabric share off --forget deletes them."


def of_branch(project: Project, base: str) -> dict[str, Any]:
    """Compare the shared records at HEAD with those at its merge base with the branch `base`.

    `base` '' means the first of BASES with a common commit. The result is that of `--json`, but
    with Records instead of dicts. Raises BadInput if git or a common commit is missing.
    """
    from memory_fabric.capture.contradiction import contradicted  # imported late: only for review
    from memory_fabric.store.projects.file_states import paths_in

    if shutil.which("git") is None:
        raise BadInput("--branch", "git is not installed here.", remedy="Install git.")
    places = [base] if base else BASES
    begun = (_git(project, "merge-base", "--end-of-options", place, "HEAD") for place in places)
    commit = next((found.decode().strip() for found in begun if found), "")
    if not commit:
        text = f"git knows no commit that {' or '.join(places)} and this branch have in common."
        history = "fetch its history (actions/checkout needs fetch-depth: 0)"
        remedy = f"Name the branch that this one goes into, and {history}."
        raise BadInput("BASE", text, remedy=remedy)
    path = os.path.relpath(location.shared_file(project), project.root).replace(os.sep, "/")
    before, _ = _records(_git(project, "show", f"{commit}:./{path}"))
    now, unreadable = _records(_git(project, "show", f"HEAD:./{path}"))
    listed = _git(project, "diff", "--name-only", "-z", "--relative", commit, "HEAD")
    files = [name for name in listed.decode("utf-8", "replace").split("\0") if name]
    added = [record for id_, record in now.items() if id_ not in before]
    both = [(before[id_], record) for id_, record in now.items() if id_ in before]
    changed = [(old, new) for old, new in both if old != new]
    valid = [old for old, new in both if not (new.superseded_by or new.valid_to)]
    stated = [*added, *(new for _, new in changed if not (new.superseded_by or new.valid_to))]
    stale = []
    for old in (old for old in valid if old not in stated):
        paths = {path.strip("/") for path in paths_in([old.what, old.why])}
        touched = [f for f in files if any(f == p or f.endswith(f"/{p}") for p in paths)]
        stale += [{"record": old, "files": touched}] if touched else []
    report = {"base": base or commit[:12], "added": added, "unreadable": unreadable}
    report |= {"changed": [{"before": old, "now": new} for old, new in changed], "stale": stale}
    report |= {"withdrawn": [record for id_, record in before.items() if id_ not in now]}
    against = ((new, old) for new in stated for old in contradicted(new, valid))
    return report | {"contradictions": [{"stated": new, "against": old} for new, old in against]}


def markdown(report: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of the report in Markdown."""
    yield f"## Memory: what this branch changes since {_plain(report['base'])}"
    by_id = {record.id: record for record in report["added"]}
    replaced, reworded = [], []
    for old, new in (pair.values() for pair in report["changed"]):
        if new.superseded_by == old.superseded_by:
            reworded.append(f"{_said(new)}\n  - before: {_said(old)}")
        else:
            by = by_id.get(new.superseded_by)
            replaced.append(_said(old) + (f"\n  - by {_said(by)}" if by else ""))
    pairs = [tuple(map(_said, pair.values())) for pair in report["contradictions"]]
    stale = [
        (_said(one["record"]), map(_plain, one["files"][:MAX_FILES])) for one in report["stale"]
    ]
    parts = (
        ("Adds", list(map(_said, report["added"]))),
        ("Contradicts", [f"{new}\n  - against {old}" for new, old in pairs]),
        ("Replaces", replaced),
        ("Changes", reworded),
        ("Takes away", list(map(_said, report["withdrawn"]))),
        (
            "May make stale, since it changes files that they name",
            [f"{said}\n  - {', '.join(names)}" for said, names in stale],
        ),
    )
    for title, items in parts:
        if items:
            yield f"\n### {title}\n"
            yield from (f"- {item}" for item in items)
    if not any(items for _, items in parts):
        yield "\nNothing."
    if report["unreadable"]:
        yield f"\n{many(report['unreadable'], 'line')} of the file cannot be read."


def report_as_json(part: Any) -> Any:
    """Return a report, or a part of it, with all Records in it converted to dicts, for JSON."""
    if isinstance(part, Record):
        return records.as_object(part)
    if isinstance(part, dict):
        return {name: report_as_json(value) for name, value in part.items()}
    return [report_as_json(value) for value in part] if isinstance(part, list) else part


def _git(project: Project, *words: str) -> bytes:
    """Return git's output or, if it fails, b"". The repository's fsmonitor program does not run."""
    command = ["git", "-c", "core.fsmonitor=false", *words]
    root = project.root
    try:
        done = subprocess.run(command, cwd=root, capture_output=True, timeout=GIT_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return b""
    return done.stdout if done.returncode == 0 else b""


def _records(content: bytes) -> tuple[dict[str, Record], int]:
    """Return the records in a shared file by id, and the number of lines that cannot be parsed."""
    claims, unreadable = claims_read.claims_in(content)
    found = {c.id: records.from_object(claims_read.record_of(c)) for c in claims if c.record}
    return found, unreadable


def _said(record: Record) -> str:
    who = f", {_plain(record.author)}" if record.author else ""
    why = f" because {_plain(record.why)}" if record.why else ""
    return f"{_plain(record.what)}{why} ({shown_type(record.type)} {short_id(record.id)}{who})"


def _plain(text: str) -> str:
    """Escape another author's text for Markdown, and break @names so that they notify nobody."""
    short = cut(one_line(text), MAX_TEXT_CHARS).replace("@", "@ ")
    return re.sub(r"([\\`*_\[\]<>|#~])", r"\\\1", short)
