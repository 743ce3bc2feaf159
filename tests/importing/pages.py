"""Memories that are written as pages, and what is compared of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from memory_fabric.config import read_settings
from memory_fabric.importing import page, page_restore
from memory_fabric.models import Provenance, Record
from memory_fabric.store import records
from memory_fabric.store.memory import Memory

USER = Provenance("cli", trust="user", author="ann", at="2026-01-02T03:04:05.678Z")


def opened(folder: Path, home: str = "home") -> Memory:
    """The memory of the project in this folder, in one of its homes."""
    (folder / "shop" / ".git").mkdir(parents=True, exist_ok=True)
    stated = read_settings({"HOME": str(folder / home), "USER": "ann"}, {})
    return Memory.open(stated._replace(project_dir=str(folder / "shop")))


def content(memory: Memory) -> dict[str, Any]:
    """Everything that a page holds, without numbers of rows."""
    found: dict[str, Any] = {}
    for database in memory.databases():
        c = database.connection
        kept = [(records.as_object(r), seen) for r, seen in records.find(c, "1", (), -1)]
        found[database.kind] = {
            "records": sorted(kept, key=lambda pair: str(pair[0]["id"])),
            "entities": sorted(
                c.execute("SELECT name, key, type, domain, record, created_at FROM entities")
            ),
            "aliases": sorted(c.execute("SELECT key, alias FROM aliases")),
            "observations": sorted(
                c.execute(
                    "SELECT e.name, o.text, o.record, o.trust, o.source, o.domain, o.created_at "
                    "FROM observations AS o JOIN entities AS e ON e.id = o.entity"
                )
            ),
            "relations": sorted(
                c.execute(
                    "SELECT s.name, r.type, t.name, r.record, r.domain, r.created_at "
                    "FROM relations AS r JOIN entities AS s ON s.id = r.source "
                    "JOIN entities AS t ON t.id = r.target"
                )
            ),
        }
    return {kind: one for kind, one in found.items() if any(one.values())}


def exported(memory: Memory, folder: Path) -> list[Path]:
    """The pages of a memory, in a folder."""
    paths = []
    with page.pages(memory) as written:
        for one in written:
            path = folder / f"{one.name}.md"
            path.write_bytes("".join(one.parts).encode())
            paths.append(path)
    return paths


def brought(memory: Memory, path: Path, *, mine: bool = False) -> page_restore.Restoring:
    """Import a page."""
    found = page_restore.plan(memory, str(path), mine=mine)
    page_restore.store(memory, found, "import-page")
    return found


def edit(path: Path, change: Callable[[str], str]) -> None:
    """Change a page as a person does."""
    text = path.read_text("utf-8")
    assert change(text) != text
    path.write_text(change(text), "utf-8")


def texts_of(memory: Memory) -> set[str]:
    """The texts of all records."""
    return {record.what for record in memory.find_records("1", (), 100)}


def put(memory: Memory, what: str, at: str, **fields: Any) -> None:
    """Store a record as it is."""
    plain = Record("note", what, id=f"{len(what):032x}", trust="user", source="cli")
    record = plain._replace(created_at=at, valid_from=at, **fields)
    payload = {"record": records.as_object(record), "seen_in": []}
    memory.write("put_record", payload, USER)
