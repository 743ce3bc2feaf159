"""The set of questions about code as values: projects, what each remembers, what is asked of it.

`recall_code.jsonl` holds one JSON object a line, told apart by `line`: the set (its `now`), a
project, a memory or an observation of it, a question. A question's `gold` answers it (none where
the project's memory has no answer); its `trap` shares words or subject and does not; `elsewhere`
names the memory of another project that would. Half of each kind is `tune`, half is `held`: the
held half is reported and never looked at.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PATH = os.path.join(FOLDER, "recall_code.jsonl")

KINDS = (
    "paraphrase",
    "near_miss",
    "identifier",
    "alias",
    "exact",
    "cjk",
    "superseded",
    "past",
    "no_answer",
    "other_project",
)
SPLITS = ("tune", "held")
# The dates of the set name days; the hour says nothing.
HOUR = "T10:00:00Z"


class Memory(NamedTuple):
    """One thing a project remembers: a record, or an observation on `entity`; `at` is in UTC."""

    id: str
    project: str
    at: str
    text: str
    why: str = ""
    type: str = ""
    scope: str = "team"
    alternatives: tuple[str, ...] = ()
    entities: tuple[tuple[str, str], ...] = ()
    replaces: str = ""
    entity: str = ""

    @property
    def words(self) -> str:
        """All that a plain ranker may read of it."""
        names = " ".join(name for name, _ in self.entities)
        return " ".join((self.text, self.why, *self.alternatives, names))


class Question(NamedTuple):
    """A question typed into an assistant that works on `project`."""

    id: str
    project: str
    kind: str
    split: str
    text: str
    gold: tuple[str, ...] = ()
    trap: tuple[str, ...] = ()
    elsewhere: tuple[str, ...] = ()


class Set(NamedTuple):
    """Everything of the file; memories stand in the order of their dates within a project."""

    now: str
    projects: tuple[str, ...]
    memories: tuple[Memory, ...]
    questions: tuple[Question, ...]

    def of(self, project: str) -> tuple[Memory, ...]:
        """Return the memories of a project."""
        return tuple(memory for memory in self.memories if memory.project == project)

    def asked(self, split: str, projects: Sequence[str] = ()) -> list[Question]:
        """The questions of a split (`all` for both), of some projects or of every one."""
        return [
            question
            for question in self.questions
            if split in ("all", question.split) and (not projects or question.project in projects)
        ]


def read(path: str = PATH) -> Set:
    """The set. Raises OSError, ValueError or KeyError when the file is not one."""
    now = ""
    projects: list[str] = []
    memories: list[Memory] = []
    questions: list[Question] = []
    for row in _rows(path):
        if row["line"] == "set":
            now = row["now"]
        elif row["line"] == "project":
            projects.append(row["id"])
        elif row["line"] == "memory":
            memories.append(_memory(row))
        elif row["line"] == "observation":
            memories.append(_observation(row))
        elif row["line"] == "question":
            questions.append(_question(row))
        else:
            raise ValueError(f"unknown line: {row['line']}")
    return Set(now, tuple(projects), tuple(memories), tuple(questions))


def _rows(path: str) -> Iterator[Mapping[str, Any]]:
    with open(path, encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


def _memory(row: Mapping[str, Any]) -> Memory:
    return Memory(
        id=row["id"],
        project=row["project"],
        at=row["created_at"] + HOUR,
        text=row["what"],
        why=row.get("why", ""),
        type=row["type"],
        scope=row["scope"],
        alternatives=tuple(row.get("alternatives", ())),
        entities=tuple((entity["name"], entity["type"]) for entity in row.get("entities", ())),
        replaces=row.get("replaces", ""),
    )


def _observation(row: Mapping[str, Any]) -> Memory:
    return Memory(
        id=row["id"],
        project=row["project"],
        at=row["created_at"] + HOUR,
        text=row["text"],
        entities=((row["entity"], row["entity_type"]),),
        entity=row["entity"],
    )


def _question(row: Mapping[str, Any]) -> Question:
    return Question(
        id=row["id"],
        project=row["project"],
        kind=row["kind"],
        split=row["split"],
        text=row["text"],
        gold=tuple(row["gold"]),
        trap=tuple(row["trap"]),
        elsewhere=tuple(row.get("elsewhere", ())),
    )
