"""Bars: in a terminal, for what takes a while, on standard error, and gone at the end.

Work that takes long would keep the tests waiting too, so here a bar is not delayed where one is
expected; that short work shows none is tried with the real delay.
"""

from __future__ import annotations

import os
import pty
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pexpect
import pytest

from cli.shell import GIVE_UP_S, Shell
from cli.terminal import finish, start
from memory_fabric.store.upkeep import backup

MANY = 600
UNDELAYED = """
import sys
from memory_fabric.cli import main, show
show.DELAY_S = show.PATIENCE_S = 0.0
sys.exit(main.main(sys.argv[1:]))
"""


def write_graph(path: Path, count: int) -> None:
    """A reference server's file with so many entities."""
    line = '{"type":"entity","name":"part %d","entityType":"part","observations":["made of %d"]}'
    path.write_text("\n".join(line % (n, n) for n in range(count)), "utf-8")


def start_undelayed(shell: Shell, *words: str) -> Any:
    """A command on a terminal of its own, whose bars appear at once."""
    return pexpect.spawn(
        sys.executable,
        ["-c", UNDELAYED, *words],
        env={**shell.environ, "TERM": "xterm"},
        cwd=str(shell.project),
        encoding="utf-8",
        timeout=GIVE_UP_S,
        dimensions=(40, 160),
    )


def on_a_terminal_stderr(shell: Shell, *words: str) -> tuple[bytes, str]:
    """Standard output of a command, and what it wrote to a terminal that is only its stderr."""
    reader, writer = pty.openpty()
    said = b""
    with tempfile.TemporaryFile() as output:
        with subprocess.Popen(
            [sys.executable, "-c", UNDELAYED, *words],
            env={**shell.environ, "TERM": "xterm"},
            cwd=shell.project,
            stdout=output,
            stderr=writer,
        ):
            os.close(writer)
            try:
                while part := os.read(reader, 65536):
                    said += part
            except OSError:  # how a terminal ends on Linux
                pass
        os.close(reader)
        output.seek(0)
        return output.read(), said.decode()


@pytest.fixture
def large(shell: Shell) -> Shell:
    """A shell whose project holds many entities, all of long ago."""
    write_graph(shell.project / "many.jsonl", MANY)
    assert shell.run("import", "many.jsonl").status == 0
    connection = sqlite3.connect(shell.database)
    for table in ("entities", "observations"):
        connection.execute(f"UPDATE {table} SET created_at = '2020-01-01T00:00:00.000Z'")
    connection.commit()
    connection.close()
    return shell


def test_import_erases_its_progress_bar_before_it_prints_the_result(shell: Shell) -> None:
    write_graph(shell.project / "many.jsonl", MANY)
    terminal = start_undelayed(shell, "import", "many.jsonl")

    terminal.expect("Importing")
    status, rest = finish(terminal)

    assert status == 0
    assert "\x1b[2K" in rest.rpartition("Importing")[2]  # the line of the bar is wiped
    assert rest.rstrip().endswith(f"of {MANY} lines.")


def test_a_short_import_shows_no_progress_bar(shell: Shell) -> None:
    write_graph(shell.project / "few.jsonl", 3)

    status, said = finish(start(shell, "import", "few.jsonl"))

    assert status == 0 and "Importing" not in said


def test_with_option_json_no_progress_bar_is_shown(shell: Shell) -> None:
    write_graph(shell.project / "many.jsonl", MANY)

    status, said = finish(start_undelayed(shell, "import", "many.jsonl", "--json"))

    assert status == 0 and "Importing" not in said


def test_a_long_prune_shows_a_progress_bar(large: Shell) -> None:
    output, said = on_a_terminal_stderr(large, "prune", "--limit", "500", "--yes")

    assert "Pruning" in said
    assert b"Pruned: 500." in output


def test_a_long_repair_shows_a_progress_bar_and_restores_everything(large: Shell) -> None:
    before = large.run("export").out
    large.database.unlink()

    output, said = on_a_terminal_stderr(large, "repair")

    assert "Rebuilding" in said and b"rebuilt" in output
    assert large.run("export").out == before


def test_a_progress_bar_does_not_change_the_bytes_of_an_export(shell: Shell) -> None:
    write_graph(shell.project / "few.jsonl", 300)
    shell.run("import", "few.jsonl")

    output, _ = on_a_terminal_stderr(shell, "export")

    assert output == (shell.project / "few.jsonl").read_bytes() + b"\n"


def test_a_backup_that_reports_its_progress_creates_a_sound_copy(shell: Shell) -> None:
    shell.remember("Always use UTC in the logs")
    told: list[tuple[int, int]] = []

    copy = backup.create(str(shell.database), progress=lambda done, of: told.append((done, of)))

    assert backup.is_sound(copy)
    assert told and told[-1][0] == told[-1][1]


def test_the_progress_line_is_erased_before_the_output_begins(shell: Shell) -> None:
    status, screen = finish(start_undelayed(shell, "status"))

    assert status == 0
    erased = "\r\x1b[K"
    before = screen[: screen.index("memory-fabric 0.")].rpartition(erased)[2]
    assert "Reading" not in before
