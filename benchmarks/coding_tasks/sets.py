"""The tasks of the experiment: own ones in two public projects, and remem's sixteen.

A task has a prompt, facts that were settled in an earlier session (none in the stratum `absent`),
an older version of them where there is one, and hidden tests, which are copied over what is solved.
"""

from __future__ import annotations

import json
import os
import random
import re
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

HERE = os.path.dirname(os.path.abspath(__file__))
STRATA = ("present", "changed", "adjacent", "absent")
# The strata in which a solver needs the fact, and those in which nothing on record helps.
MATTERS, HARMS = ("present", "changed"), ("adjacent", "absent")
REMEM = "memory-demo"
KINDS = {
    "decision": "decision",
    "procedure": "rule",
    "bugfix": "fix",
    "preference": "preference",
    "discovery": "fact",
}
# Half of the own tasks are looked at while the product is mended; the others are held.
HALVES_SEED = 20261128


class Note(NamedTuple):
    """A settled sentence with its kind, as an assistant notes it."""

    kind: str
    text: str


class Task(NamedTuple):
    """A task; `half` is learn or held, `conversation` has roles and texts."""

    id: str
    repository: str
    stratum: str
    half: str
    prompt: str
    facts: tuple[Note, ...]
    old: tuple[Note, ...]
    conversation: tuple[tuple[str, str], ...]
    hidden: Mapping[str, str]
    commands: Sequence[Sequence[str]]


def own() -> list[Task]:
    """Return the own tasks, in the order of their names."""
    folder = os.path.join(HERE, "tasks")
    tasks = [_own(os.path.join(folder, name)) for name in sorted(os.listdir(folder))]
    held = set()
    rng = random.Random(HALVES_SEED)
    for stratum in STRATA:
        names = [task.id for task in tasks if task.stratum == stratum]
        # Of an odd number the larger part is held.
        held.update(rng.sample(names, (len(names) + 1) // 2))
    return [task._replace(half="held" if task.id in held else "learn") for task in tasks]


def remem(path: str) -> list[Task]:
    """Return remem's tasks from its file; all are held, and in the stratum `present`.

    The prompts are those of remem_prompts.toml, which do not mention memory or the fact.
    """
    with open(path, encoding="utf-8") as file:
        data = json.load(file)["tasks"]
    with open(os.path.join(HERE, "remem.toml"), "rb") as file:
        wording = tomllib.load(file)
    return [_remem(task, wording[task["id"]]) for task in data]


def remem_files(path: str) -> dict[str, str]:
    """Return the files of remem's repository by their names."""
    with open(path, encoding="utf-8") as file:
        return dict(json.load(file)["repo"]["files"])


def other_notes(repository: str) -> list[Note]:
    """Return settled sentences of the repository's project that govern none of its tasks."""
    with open(os.path.join(HERE, "notes.toml"), "rb") as file:
        return [Note(**note) for note in tomllib.load(file)[repository]]


def _own(folder: str) -> Task:
    with open(os.path.join(folder, "task.toml"), "rb") as file:
        data = tomllib.load(file)
    return Task(
        os.path.basename(folder),
        data["repository"],
        data["stratum"],
        "",
        _flat(data["prompt"]),
        _notes(data.get("facts", ())),
        _notes(data.get("old", ())),
        tuple((turn["role"], turn["text"].strip()) for turn in data.get("conversation", ())),
        _files_of(os.path.join(folder, "hidden")),
        data["commands"],
    )


def _remem(data: Mapping[str, Any], wording: Mapping[str, Any]) -> Task:
    memories = [m for episode in data["history_episodes"] for m in episode["memories"]]
    return Task(
        data["id"],
        REMEM,
        "present",
        "held",
        wording["prompt"],
        tuple(Note(KINDS[m["memory_type"]], _flat(m["text"])) for m in memories),
        (Note(wording.get("kind", KINDS[memories[0]["memory_type"]]), wording["old"]),),
        (("user", wording["said"]),),
        data["score"]["hidden_files"],
        data["score"]["commands"],
    )


def _notes(rows: Sequence[Mapping[str, str]]) -> tuple[Note, ...]:
    return tuple(Note(row["kind"], _flat(row["text"])) for row in rows)


def _files_of(folder: str) -> dict[str, str]:
    files = {}
    for place, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(place, name)
            if not name.endswith(".pyc"):
                with open(path, encoding="utf-8") as file:
                    files[os.path.relpath(path, folder)] = file.read()
    return files


def _flat(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()
