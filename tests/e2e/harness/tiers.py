"""The content of the three tiers of a home, read from their files and not through the product."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from e2e.harness.home import Home
from e2e.harness.wire import Json

Row: TypeAlias = tuple[Any, ...]

RELATIONS = """\
SELECT source.name, relations.type, target.name FROM relations
JOIN entities AS source ON source.id = relations.source
JOIN entities AS target ON target.id = relations.target"""
BEGIN, END = b"<!-- memory-fabric:begin", b"<!-- memory-fabric:end -->"


@dataclass(frozen=True, slots=True)
class Kept:
    """One record of the graph."""

    id: str
    type: str
    what: str
    why: str
    confidence: float
    trust: str
    source: str
    superseded_by: str


@dataclass(frozen=True, slots=True)
class Tiers:
    """Graph (records but the sessions' own, entities with their types, relations, turns),
    journal lines, MEMORY.md.
    """

    records: tuple[Kept, ...]
    entities: dict[str, str]
    relations: frozenset[tuple[str, str, str]]
    turns: tuple[str, ...]
    journal: tuple[Json, ...]
    notes: bytes

    @property
    def told(self) -> list[str]:
        """The texts of the records, oldest first."""
        return [record.what for record in self.records]

    @property
    def fence(self) -> str:
        """Our part of MEMORY.md; empty where there is none."""
        return self.notes[len(self.before) : len(self.notes) - len(self.after)].decode()

    @property
    def before(self) -> bytes:
        """The part of MEMORY.md above our fence."""
        return self.notes.partition(BEGIN)[0]

    @property
    def after(self) -> bytes:
        """The part of MEMORY.md below our fence."""
        return self.notes.partition(END)[2].partition(b"\n")[2]


def notes_path(home: Home) -> Path:
    """The client's own MEMORY.md for the home's project."""
    name = "".join(c if c.isascii() and c.isalnum() else "-" for c in str(home.project))
    return home.config / "projects" / name / "memory/MEMORY.md"


def journal_path(home: Home) -> Path:
    """The project's own journal of decisions."""
    return home.project / ".claude/memory/decisions.jsonl"


def tiers(home: Home) -> Tiers:
    """All that a home with one project remembers; what does not exist is empty."""
    notes, journal = notes_path(home), journal_path(home)
    lines = journal.read_text(encoding="utf-8").splitlines() if journal.exists() else []
    columns = "id, type, what, why, confidence, trust, source, superseded_by"
    return Tiers(
        records=tuple(
            Kept(*row)
            for row in rows(home, f"SELECT {columns} FROM records WHERE type <> 'session'")
        ),
        entities={row[0]: row[1] for row in rows(home, "SELECT name, type FROM entities")},
        relations=frozenset((a, b, c) for a, b, c in rows(home, RELATIONS)),
        turns=tuple(row[0] for row in rows(home, "SELECT text FROM episodes")),
        journal=tuple(json.loads(line) for line in lines),
        notes=notes.read_bytes() if notes.exists() else b"",
    )


def rows(home: Home, query: str, values: tuple[str, ...] = ()) -> list[Row]:
    """Return the rows of a statement in every database of the home, its changes committed."""
    found: list[Row] = []
    for path in [*home.memory.glob("projects/*/graph.db"), *home.memory.glob("user.db")]:
        with closing(sqlite3.connect(path)) as connection, connection:
            found += connection.execute(query, values).fetchall()
    return found


def files_holding(folder: Path, needle: str) -> list[Path]:
    """Every file under a folder in whose bytes the text stands; links are not followed."""
    wanted = needle.encode()
    files = (p for p in sorted(folder.rglob("*")) if p.is_file() and not p.is_symlink())
    return [path for path in files if wanted in path.read_bytes()]
