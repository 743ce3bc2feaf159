"""Old work shows itself: which earlier task a new prompt is told, and which prompts are told none.

    python3 benchmarks/old_tasks.py
    python3 benchmarks/old_tasks.py --out FILE     also each prompt with what it was told
    python3 benchmarks/old_tasks.py --json

Three invented projects with twelve old tasks each (old_tasks.jsonl); a session is made of a task by
a seed: what was asked, what was read, cause and change, and one to three short errands. Half of
them have a note of the cause. Each task is asked for again in other words.

- told: the share of the new prompts that are told an old task.
- right: of these, the share that are told their own.
- silent: the share of the others that are told none: each new prompt in a memory without its old
  task, other work on the same project, and the new prompts of the other projects.

Needs Python >= 3.11 and nothing else.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "plugin"))

from memory_fabric import ids  # noqa: E402
from memory_fabric.config import read_settings  # noqa: E402
from memory_fabric.models import Provenance, Record  # noqa: E402
from memory_fabric.recall.old_tasks import TASK  # noqa: E402
from memory_fabric.recall.pipeline import Fabric  # noqa: E402
from memory_fabric.store.conversations import sessions  # noqa: E402
from memory_fabric.store.memory import Memory  # noqa: E402

PATH = os.path.join(ROOT, "benchmarks", "workloads", "old_tasks.jsonl")
NOW, FIRST_DAY_S, DAY_S, TURN_S = "2026-11-01T12:00:00.000Z", 1_790_000_000, 86_400, 60
READ = (
    "I'll read {file} first and see how {area} works.",
    "Let me look at {area}; most of it is in {file}.",
    "I start with {file} and its tests.",
)
DONE = "Done. The cause: {cause}. Now {fix}. I changed {file} and its tests."
ERRANDS = (
    ("Run the tests, please.", "All tests pass now, 41 of them."),
    ("Looks good. Commit it.", "Committed on the branch."),
    ("Can you add a test for that?", "I added a test that fails without the change."),
    ("Please also check the types.", "The types are clean."),
    ("Fine, and update the changelog.", "The changelog has a line under Unreleased."),
)

Row = Mapping[str, str]


class Told(NamedTuple):
    """A prompt, the session whose task it should be told (or ''), and the line and its session."""

    prompt: str
    own: str
    line: str
    session: str


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures, or the report as JSON; 0."""
    options = _options(arguments)
    with open(PATH, encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    projects = dict.fromkeys(row["project"] for row in rows)
    found = [told for project in projects for told in ask(rows, project)]
    report = figures(found)
    if options.out:
        with open(options.out, "w", encoding="utf-8") as file:
            json.dump({**report, "prompts": [one._asdict() for one in found]}, file, indent=1)
    if options.json:
        print(json.dumps(report, indent=1))
        return 0
    print("| told | right | silent on others | characters |")
    print("|---|---|---|---|")
    told, right, silent = (f"{100 * report[name]:.0f} %" for name in ("told", "right", "silent"))
    told, right = f"{told} of {report['prompts']}", f"{right} of {report['lines']}"
    print(f"| {told} | {right} | {silent} of {report['others']} | {report['chars']:.0f} |")
    return 0


def ask(rows: Sequence[Row], project: str) -> Iterator[Told]:
    """Ask a project's memory for its tasks, for other work, and without each of its tasks."""
    tasks = [row for row in rows if row["project"] == project and row["kind"] == "task"]
    others = [row["prompt"] for row in rows if row["project"] == project and "prompt" in row]
    others += [row["again"] for row in rows if row["project"] != project and "again" in row]
    with _memory(tasks, "") as memory:
        yield from (_told(memory, task["again"], _session(task)) for task in tasks)
        yield from (_told(memory, prompt) for prompt in others)
    for task in tasks:
        with _memory(tasks, _session(task)) as memory:
            yield _told(memory, task["again"])


def figures(found: Sequence[Told]) -> dict[str, float]:
    """Return the three shares, the numbers that they are of, and the mean length of a line."""
    own, others = [one for one in found if one.own], [one for one in found if not one.own]
    told = [one for one in own if one.line]
    lines = [len(one.line) for one in found if one.line]
    return {
        "prompts": len(own),
        "told": len(told) / len(own),
        "lines": len(told),
        "right": sum(one.session == one.own for one in told) / (len(told) or 1),
        "others": len(others),
        "silent": sum(not one.line for one in others) / len(others),
        "chars": sum(lines) / (len(lines) or 1),
    }


class _memory:
    """The memory of one project with the sessions of these tasks, without one of them."""

    def __init__(self, tasks: Sequence[Row], without: str) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="memory-fabric-bench-")
        self._memory = _open(self._folder.name, tasks[0]["project"])
        for number, task in enumerate(tasks):
            if _session(task) != without:
                _store(self._memory, task, number)

    def __enter__(self) -> Memory:
        return self._memory

    def __exit__(self, *_: object) -> None:
        self._memory.close()
        self._folder.cleanup()


def _store(memory: Memory, task: Row, number: int) -> None:
    session, began_s = _session(task), FIRST_DAY_S + number * DAY_S
    turns = [
        {
            "id": str(uuid.uuid5(uuid.NAMESPACE_OID, f"{session} {place}")),
            "session": session,
            "role": role,
            "text": text,
            "created_at": ids.timestamp(began_s + place * TURN_S),
        }
        for place, (role, text) in enumerate(_turns(task, random.Random(session)))
    ]
    by = Provenance("assistant", session=session, at=turns[-1]["created_at"])
    memory.write("add_episodes", {"episodes": turns}, by, store="project")
    database = memory.session_database()
    sessions.touch(database, session, turns[0]["created_at"])
    sessions.save_notes(database, session, {"files": [task["file"]]})
    if number % 2:
        what = f"In {task['area']} {task['fix']}"
        fix = Record("solution", what, why=task["cause"], confidence=0.8)
        memory.remember(fix, by)


def _turns(task: Row, chance: random.Random) -> Iterator[tuple[str, str]]:
    yield "user", task["asked"]
    yield "assistant", chance.choice(READ).format(**task)
    yield "assistant", f"The tests around {task['area']} run. I can reproduce it."
    yield "assistant", DONE.format(**task)
    for asked, answered in chance.sample(ERRANDS, chance.randint(1, 3)):
        yield "user", asked
        yield "assistant", answered


def _told(memory: Memory, prompt: str, own: str = "") -> Told:
    given = Fabric(memory, NOW).inject_for_prompt(prompt, session="new", here="new", begins=True)
    name = next((id_ for id_ in given.ids if id_.startswith(TASK)), "")
    lines = given.text.splitlines()
    line = next((line for line in lines if "[earlier task" in line), "") if name else ""
    return Told(prompt, own, line, name.removeprefix(TASK))


def _session(task: Row) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_OID, f"{task['project']} {task['file']}"))


def _open(folder: str, project: str) -> Memory:
    root = os.path.join(folder, project)
    os.makedirs(root)
    places = {
        "HOME": folder,
        "MEMORY_FABRIC_HOME": os.path.join(folder, "fabric"),
        "CLAUDE_CONFIG_DIR": os.path.join(folder, "config"),
        "CLAUDE_PROJECT_DIR": root,
    }
    return Memory.open(read_settings(places, {}))


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--out", type=os.path.abspath, help="the report, with every prompt")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
