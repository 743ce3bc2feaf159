"""A world of its own for a test: home, project, settings, and processes that share them."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from memory_fabric.config import Settings, read_settings
from memory_fabric.models import Entity, Provenance, Record, Relation
from memory_fabric.store.database import Database
from memory_fabric.store.memory import Memory

PLUGIN = str(Path(__file__).parents[2] / "plugin")
PR_CAPBSET_DROP = 24
_LIBC = ctypes.CDLL(None)
USER = Provenance("prompt", trust="user", session="s1")
TOOL = Provenance("mcp", trust="tool", session="s1")


class World:
    """A person's home and one project in it."""

    def __init__(self, root: Path, project: str = "billing") -> None:
        self.root = root
        self.project = root / project
        git_folder(self.project)
        self.home = root / ".claude" / "memory-fabric"
        self.environ = {
            "HOME": str(root),
            "CLAUDE_PROJECT_DIR": str(self.project),
            "USER": "ann",
            "MEMORY_FABRIC_HOME": str(self.home),
        }

    def settings(self, **environ: str) -> Settings:
        return read_settings({**self.environ, **environ}, {})

    def memory(self, *, repair: bool = False, **environ: str) -> Memory:
        return Memory.open(self.settings(**environ), repair=repair)

    @property
    def local(self) -> Path:
        return self.project / ".claude" / "memory"

    def native(self) -> Path:
        slug = "".join(c if c.isascii() and c.isalnum() else "-" for c in str(self.project))
        return self.root / ".claude" / "projects" / slug / "memory" / "MEMORY.md"

    def all_bytes(self) -> bytes:
        """Every byte of every file of this world: what a thief of the disk would read."""
        files = [path for path in self.root.rglob("*") if path.is_file()]
        return b"\0".join(path.read_bytes() for path in files)

    def start(
        self, script: str, *arguments: str, strict: bool = False, **environ: str
    ) -> subprocess.Popen[str]:
        """A process that runs the script with this world's environment.

        With `strict` it may not write what its modes forbid, root or not.
        """
        return subprocess.Popen(
            [sys.executable, "-c", script, *arguments],
            env={**self.environ, "PYTHONPATH": PLUGIN, **environ},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=powerless if strict else None,
        )

    def run(self, script: str, *arguments: str, strict: bool = False, **environ: str) -> str:
        """Run a script and return what it prints; it must succeed."""
        process = self.start(script, *arguments, strict=strict, **environ)
        output, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
        return output


def git_folder(folder: Path, remote: str = "") -> Path:
    """A repository as far as our code looks at one."""
    (folder / ".git").mkdir(parents=True, exist_ok=True)
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    config = f'[core]\n\tbare = false\n[remote "origin"]\n\turl = {remote}\n' if remote else ""
    (folder / ".git" / "config").write_text(config)
    return folder


def database(memory: Memory, kind: str = "project") -> Database:
    found = memory.database(kind, create=True)
    assert found is not None
    return found


def decision(what: str = "Use cursor-based pagination", **fields: Any) -> Record:
    return Record("decision", what, **{"confidence": 0.85, **fields})


def pagination(**fields: Any) -> Record:
    """BR-11's decision, as capture hands it over."""
    return decision(
        **{
            "what": "Use cursor-based pagination for all list endpoints",
            "why": "offsets are slow",
            "entities": (
                Entity("cursor-pagination", "pattern"),
                Entity("list-endpoints", "component"),
                Entity("billing", "project"),
            ),
            "relations": (Relation("billing", "chose", "cursor-pagination"),),
            **fields,
        },
    )


def entity(name: str, *texts: str, kind: str = "component") -> dict[str, Any]:
    return {"name": name, "entityType": kind, "observations": list(texts)}


def relation(source: str, kind: str, target: str) -> dict[str, str]:
    return {"from": source, "relationType": kind, "to": target}


def create(memory: Memory, *entities: Mapping[str, Any], store: str = "") -> dict[str, Any]:
    return memory.write("create_entities", {"entities": list(entities)}, TOOL, store=store)


def names(parts: Sequence[Any]) -> list[str]:
    return [part.name for part in parts]


def powerless() -> None:
    """For the child, before it runs: modes of files hold for it, also where the tests run as root.

    Drops CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH and CAP_FOWNER from what an exec may give.
    """
    if os.getuid() == 0:
        for capability in (1, 2, 3):
            assert _LIBC.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) == 0


def observations_of(db: Database, name: str) -> tuple[str, ...]:
    """Return the observations of the entity of exactly this name, in insertion order."""
    rows = db.rows(
        "SELECT o.text FROM observations AS o JOIN entities AS e ON e.id = o.entity "
        "WHERE e.name = ? ORDER BY o.id",
        (name,),
    )
    return tuple(dict.fromkeys(row[0] for row in rows))
