"""Lines of a journal, and what decides where a journal is written."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from memory_fabric.store.memory import Memory
from store.support import World

INDEX = b"DIRC\0\0\0%c\0\0\0\1 .claude/memory/decisions.jsonl"


def line(number: int, **fields: Any) -> dict[str, Any]:
    """Return the line of a record by ann, each a day later than the one before it."""
    said = {"type": "decision", "what": f"Rule {number}", "author": "ann"}
    at = f"2026-02-{number + 1:02d}T10:00:00.000Z"
    return {"id": f"01980000-0000-7000-8000-{number:012x}", "created_at": at, **said, **fields}


def write(path: Path, *lines: Mapping[str, Any] | str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    texts = [one if isinstance(one, str) else json.dumps(one) for one in lines]
    path.write_text("".join(f"{text}\n" for text in texts), "utf-8")


def isolate(memory: Memory, *domains: str) -> None:
    """Isolate these domains and no other."""
    isolated = memory.settings.domains._replace(isolated=frozenset(domains))
    memory.settings = memory.settings._replace(domains=isolated)


def track(world: World, index: bytes = INDEX % 2) -> None:
    """Give git this index, by default one that has the journal."""
    (world.project / ".git" / "index").write_bytes(index)
