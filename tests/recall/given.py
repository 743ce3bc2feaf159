"""Samples for the tests of recall: hits, candidates, and a memory under tmp_path."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from memory_fabric.config import read_settings
from memory_fabric.models import Entity, Hit, Provenance, Query, Record
from memory_fabric.recall.inject import query_of
from memory_fabric.store.memory import Memory
from memory_fabric.store.queries.search import Candidate

NOW = "2026-03-01T12:00:00.000Z"
USER = Provenance("prompt", trust="user", session="s1", author="ada", at="2026-02-20T10:00:00.000Z")


def on(day: str) -> Provenance:
    """A statement of the user on this day."""
    return USER._replace(at=f"{day}T10:00:00.000Z")


def a_hit(text: str = "Use Redis for sessions", **fields: Any) -> Hit:
    """A hit with plain values where the test states none."""
    metadata = {"type": "decision", "scope": "team", "trust": "user"} | fields.pop("metadata", {})
    values: dict[str, Any] = {
        "id": "record:00000000-0000-7000-8000-00001a2b3c4d",
        "source": "records",
        "timestamp": "2026-02-20T10:00:00.000Z",
        "relevance": 0.5,
    }
    return Hit(text=text, metadata=metadata, **(values | fields))


def a_match(text: str, *matched: str, coverage: float = 0.5, **fields: Any) -> Hit:
    """A hit with these words of the prompt, which covers this share of it."""
    metadata = {"matched": list(matched), "coverage": coverage} | fields.pop("metadata", {})
    return a_hit(text, metadata=metadata, **fields)


def turn(text: str, *matched: str, coverage: float) -> Hit:
    """A past turn with these words of the prompt."""
    return a_match(text, *matched, coverage=coverage, source="episodes", id=f"episode:{text}")


def prompt(text: str) -> Query:
    """A prompt of the user as recall reads it."""
    return query_of(text, NOW)


def a_candidate(text: str, **fields: Any) -> Candidate:
    """A candidate from the graph with a middling bm25 where the test states nothing."""
    values: dict[str, Any] = {"id": f"graph:thing#{len(text)}", "source": "graph", "bm25": 1.0}
    return Candidate(text=text, **(values | fields))


def open_memory(tmp_path: Path, **environ: str) -> Memory:
    """A memory whose home, project and config folder lie under tmp_path."""
    project = tmp_path / "project"
    project.mkdir(exist_ok=True)
    return Memory.open(
        read_settings(
            {
                "HOME": str(tmp_path),
                "MEMORY_FABRIC_HOME": str(tmp_path / "home"),
                "CLAUDE_CONFIG_DIR": str(tmp_path / "config"),
                "CLAUDE_PROJECT_DIR": str(project),
                **environ,
            },
            {},
        )
    )


def remember(
    memory: Memory,
    what: str,
    *,
    names: Sequence[str] = (),
    by: Provenance = USER,
    **fields: Any,
) -> Record:
    """A stored record."""
    values: dict[str, Any] = {"type": "decision", "confidence": 0.8}
    entities = tuple(Entity(name, "technology") for name in names)
    stored = memory.remember(Record(what=what, entities=entities, **(values | fields)), by)
    assert stored is not None
    return stored


def pagination_graph(memory: Memory) -> None:
    """The graph of the brief's examples: who recommends cursor-pagination, and what that uses."""
    memory.write(
        "create_entities",
        {
            "entities": [
                {
                    "name": "cursor-pagination",
                    "entityType": "pattern",
                    "observations": ["Use cursor-based pagination for scalability"],
                },
                {
                    "name": "database-engineer",
                    "entityType": "agent",
                    "observations": ["Recommends a pagination approach for every list"],
                },
                {
                    "name": "PostgreSQL",
                    "entityType": "technology",
                    "observations": ["Serves the analytics database"],
                },
            ]
        },
        USER._replace(session="s2"),
    )
    memory.write(
        "create_relations",
        {
            "relations": [
                {
                    "from": "database-engineer",
                    "to": "cursor-pagination",
                    "relationType": "recommends",
                },
                {"from": "cursor-pagination", "to": "PostgreSQL", "relationType": "uses"},
                {"from": "PostgreSQL", "to": "database-engineer", "relationType": "maintained_by"},
            ]
        },
        USER,
    )
