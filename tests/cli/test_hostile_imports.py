"""Files that break readers: each gives one clear error, and none takes all memory."""

from __future__ import annotations

import json
import resource
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from cli.shell import ROOT, Shell
from memory_fabric.importing import sources
from memory_fabric.models import Provenance
from memory_fabric.store.graph_file import exchange
from store.support import World

DEEP = "[" * 50_000 + "]" * 50_000
ENTITY = '{"type":"entity","name":"shop","entityType":"service","observations":["is open"]}\n'
# Enough for the command itself; a line of this size has no space beside it.
MEMORY_BYTES, LINE_BYTES = 1 << 30, 160 << 20


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("deep.json", DEEP.encode()),
        ("deep.json", b'{"results": ' + DEEP.encode() + b"}"),
        ("picture.png", b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 200),
        ("memory.jsonl", ENTITY.encode("utf-16")),
        ("package.json", b'{"name": "shop", "type": "module", "scripts": {"test": "vitest"}}\n'),
        ("answers.json", b'[{"id": 1, "created_at": "2026-01-01"}]\n'),
        ("list.json", json.dumps([{"id": n} for n in range(20_000)], indent=1).encode()),
        ("words.csv", b"name,kind\nshop,service\n"),
        ("page.md", b"<!-- memory-fabric page of shop -->\n# Shop\n"),
    ],
)
def test_importing_an_invalid_file_fails_with_one_line_naming_the_file(
    shell: Shell, name: str, content: bytes
) -> None:
    path = shell.project / name
    path.write_bytes(content)

    done = shell.run("import", name)

    assert done.status in (1, 2) and "Traceback" not in done.err
    assert len(done.err.splitlines()) == 1 and name in done.err
    assert "docs/import.md" in done.err or "Export it again" in done.err


def test_deeply_nested_json_in_a_markdown_page_does_not_crash_the_import(shell: Shell) -> None:
    shell.remember("Use Redis for sessions")
    shell.run("export", "--markdown", "notes")
    [page] = [path for path in (shell.project / "notes").glob("*.md") if path.name != "user.md"]
    text = page.read_text("utf-8")
    page.write_text(text.replace("\n{", f"\n{DEEP}\n{{", 1), "utf-8")
    done = shell.run("import", str(page))
    assert "Traceback" not in done.err and done.status in (0, 1, 2)


def test_a_claude_mem_database_with_blobs_in_text_columns_is_imported(shell: Shell) -> None:
    path = foreign(shell.project / "claude-mem.db", "x'00ff'", "x'89504e47'", f"'{DEEP}'")
    done = shell.run("import", str(path), "--all")
    assert done.status == 0, done.err


def test_a_row_over_the_size_limit_fails_the_import_and_the_error_names_the_file(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "MAX_ROW_BYTES", 1000)
    path = foreign(shell.project / "claude-mem.db", "'shop'", f"'{'x' * 5000}'", "'[]'")
    done = shell.run("import", str(path), "--all")
    assert done.status == 2 and str(path) in done.err and len(done.err.splitlines()) == 1


def test_a_line_over_the_size_limit_is_skipped_and_other_lines_are_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exchange, "MAX_LINE_BYTES", 1000)
    world = World(tmp_path)
    path = tmp_path / "memory.jsonl"
    huge = json.dumps({"type": "entity", "name": "x" * 5000, "entityType": "y"}) + "\n"
    path.write_text(ENTITY + huge + ENTITY.replace("shop", "till"), "utf-8")

    by = Provenance("import", trust="tool")
    imported = exchange.import_file(world.memory(), str(path), by)

    assert (imported.read, [bad.number for bad in imported.bad]) == (2, [2])
    assert "longer than 1,000 bytes" in imported.bad[0].because
    assert Path(imported.set_aside).stat().st_size < 5000


def test_importing_a_huge_line_does_not_exhaust_the_ram(shell: Shell) -> None:
    path = shell.project / "memory.jsonl"
    with path.open("wb") as stream:
        stream.write(ENTITY.encode() + b'{"type":"entity","name":"')
        stream.truncate(LINE_BYTES)
        stream.seek(0, 2)
        stream.write(b'"}\n')

    done = subprocess.run(
        [sys.executable, "-m", "memory_fabric.cli", "import", str(path)],
        env=shell.environ | {"PYTHONPATH": str(ROOT / "plugin")},
        cwd=shell.project,
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES)),
        check=False,
    )

    assert "Traceback" not in done.stderr and done.returncode in (0, 1, 2)


def foreign(path: Path, project: str, title: str, facts: str) -> Path:
    """A database of claude-mem with one observation."""
    connection = sqlite3.connect(path)
    connection.execute(
        "CREATE TABLE observations (id, project, text, type, title, facts, created_at_epoch)"
    )
    connection.execute(
        f"INSERT INTO observations VALUES (1, {project}, 'said', 'decision', {title}, {facts}, 17)"
    )
    connection.commit()
    connection.close()
    return path
