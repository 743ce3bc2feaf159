"""Report for `review --branch`: how a branch changes the records that a project shares by git.

Both versions of the shared file are read from git; this machine's own memory is not used.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from memory_fabric.capture.contradiction import contradicted
from memory_fabric.errors import BadInput
from memory_fabric.ids import short_id
from memory_fabric.models import Project, Record, shown_type
from memory_fabric.sharing.git import claims_read, location
from memory_fabric.store import records
from memory_fabric.store.projects.file_states import paths_in
from memory_fabric.text import cut, many, one_line

# Base branches that are tried in this order if the user does not specify one.
BASES = ("origin/HEAD", "origin/main", "main", "origin/master", "master")
GIT_S = 30
MAX_TEXT_CHARS, MAX_FILES = 300, 3
# Characters with a special meaning in Markdown.
_MARKS = re.compile(r"([\\`*_\[\]<>|#~])")


class BranchReport(NamedTuple):
    """The shared records of a branch, compared with the commit where the branch began."""

    base: str
    added: tuple[Record, ...]
    changed: tuple[tuple[Record, Record], ...]  # pairs (old, new)
    withdrawn: tuple[Record, ...]  # records that the branch removes
    contradictions: tuple[tuple[Record, Record], ...]  # pairs (new, old)
    stale: tuple[tuple[Record, tuple[str, ...]], ...]  # each with the changed files it mentions
    unreadable: int


def of_branch(project: Project, base: str) -> BranchReport:
    """Compare HEAD with its merge base on `base`, by default one of BASES. Raises BadInput."""
    places = [base] if base else BASES
    begun = (_git(project, "merge-base", "--end-of-options", place, "HEAD") for place in places)
    commit = next((found.decode().strip() for found in begun if found), "")
    if not commit:
        raise BadInput(
            "BASE",
            f"git knows no commit that {' or '.join(places)} and this branch have in common.",
            remedy="Name the branch that this one goes into, and fetch its history "
            "(actions/checkout needs fetch-depth: 0).",
        )
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
        touched = tuple(f for f in files if any(f == p or f.endswith(f"/{p}") for p in paths))
        stale += [(old, touched)] if touched else []
    return BranchReport(
        base or commit[:12],
        tuple(added),
        tuple(changed),
        tuple(record for id_, record in before.items() if id_ not in now),
        tuple((new, old) for new in stated for old in contradicted(new, valid)),
        tuple(stale),
        unreadable,
    )


def markdown(report: BranchReport) -> Iterator[str]:
    """Yield the lines of the report in Markdown."""
    yield f"## Memory: what this branch changes since {_plain(report.base)}"
    by_id = {record.id: record for record in report.added}
    closed = [(old, new) for old, new in report.changed if new.superseded_by != old.superseded_by]
    replaced = [(old, by_id.get(new.superseded_by)) for old, new in closed]
    reworded = [pair for pair in report.changed if pair not in closed]
    stale = [f"{_said(r)}\n  - {', '.join(map(_plain, p[:MAX_FILES]))}" for r, p in report.stale]
    parts: Sequence[tuple[str, Sequence[str]]] = (
        ("Adds", [_said(record) for record in report.added]),
        ("Contradicts", [f"{_said(n)}\n  - against {_said(o)}" for n, o in report.contradictions]),
        ("Replaces", [_said(o) + (f"\n  - by {_said(n)}" if n else "") for o, n in replaced]),
        ("Changes", [f"{_said(new)}\n  - before: {_said(old)}" for old, new in reworded]),
        ("Takes away", [_said(record) for record in report.withdrawn]),
        ("May make stale, since it changes files that they name", stale),
    )
    for title, items in parts:
        if items:
            yield f"\n### {title}\n"
            yield from (f"- {item}" for item in items)
    if not any(items for _, items in parts):
        yield "\nNothing."
    if report.unreadable:
        yield f"\n{many(report.unreadable, 'line')} of the file cannot be read."


def as_json(report: BranchReport) -> dict[str, Any]:
    """Return the report as a dict for JSON, with the records grouped by kind of change."""
    shown = records.as_object
    return {
        "base": report.base,
        "added": [shown(record) for record in report.added],
        "changed": [{"before": shown(old), "now": shown(new)} for old, new in report.changed],
        "withdrawn": [shown(record) for record in report.withdrawn],
        "contradictions": [
            {"stated": shown(new), "against": shown(old)} for new, old in report.contradictions
        ],
        "stale": [{"record": shown(old), "files": list(paths)} for old, paths in report.stale],
        "unreadable": report.unreadable,
    }


def _git(project: Project, *words: str) -> bytes:
    """Run git without any program that the repository configures; return its output, or b""."""
    git = shutil.which("git")
    if git is None:
        raise BadInput("--branch", "git is not installed here.", remedy="Install git.")
    command = [git, "-c", "core.fsmonitor=false", *words]
    root = project.root
    done = subprocess.run(command, cwd=root, capture_output=True, timeout=GIT_S, check=False)
    return done.stdout if done.returncode == 0 else b""


def _records(content: bytes) -> tuple[dict[str, Record], int]:
    """Return the records of a shared file by id, and how many of its lines cannot be parsed."""
    claims, unreadable = claims_read.claims_in(content)
    found = {c.id: records.from_object(claims_read.record_of(c)) for c in claims if c.record}
    return found, unreadable


def _said(record: Record) -> str:
    who = f", {_plain(record.author)}" if record.author else ""
    why = f" because {_plain(record.why)}" if record.why else ""
    about = f"({shown_type(record.type)} {short_id(record.id)}{who})"
    return f"{_plain(record.what)}{why} {about}"


def _plain(text: str) -> str:
    """Escape another author's text for Markdown, and keep its @names from notifying anyone."""
    return _MARKS.sub(r"\\\1", cut(one_line(text), MAX_TEXT_CHARS)).replace("@", "@ ")
