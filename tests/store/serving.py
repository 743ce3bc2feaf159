"""A world with a served file, as the tests of the mirror share it."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

from memory_fabric.models import Graph
from memory_fabric.store.graph_file.mirror import home_of, open_mirrored
from memory_fabric.store.memory import Memory
from memory_fabric.store.queries import graph
from store.support import TOOL, World


def line(name: str, *texts: str, kind: str = "t", **more: Any) -> bytes:
    said = {"type": "entity", "name": name, "entityType": kind, "observations": list(texts)}
    return json.dumps(said | more, ensure_ascii=False, separators=(",", ":")).encode()


def edge(source: str, kind: str, target: str) -> bytes:
    said = {"type": "relation", "from": source, "to": target, "relationType": kind}
    return json.dumps(said, separators=(",", ":")).encode()


class Served:
    """A world with a file, and what was told while it was served."""

    def __init__(self, root: Path) -> None:
        self.world = World(root)
        self.path = root / "notes" / "memory.jsonl"
        self.path.parent.mkdir()
        self.told: list[str] = []
        self._opened: list[Memory] = []

    def put(self, *lines: bytes) -> None:
        """Others write the whole file, in place."""
        self.path.write_bytes(b"\n".join(lines))

    def overwrite(self, *lines: bytes, later_s: float = 0.0) -> None:
        """Others write it beside and rename it, so many seconds from now."""
        beside = self.path.with_name("theirs.tmp")
        beside.write_bytes(b"\n".join(lines))
        at_s = time.time() + later_s
        os.utime(beside, (at_s, at_s))
        beside.replace(self.path)

    def open(self, **environ: str) -> Memory:
        settings = self.world.settings(MEMORY_FILE_PATH=str(self.path), **environ)
        memory = open_mirrored(settings, self.told.append)
        self._opened.append(memory)
        return memory

    @property
    def lines(self) -> list[bytes]:
        return self.path.read_bytes().removesuffix(b"\n").split(b"\n")

    @property
    def home(self) -> Path:
        return Path(home_of(str(self.world.home), str(self.path)))

    def close(self) -> None:
        for memory in self._opened:
            memory.close()


def say(memory: Memory, *entities: dict[str, Any]) -> None:
    memory.write("create_entities", {"entities": list(entities)}, TOOL)


def whole(memory: Memory) -> Graph:
    memory.refresh()
    return graph.read_all(memory.databases())
