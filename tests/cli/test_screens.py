"""The main commands on a screen of 80 columns and 24 lines, over a memory of some 120 records."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

import pytest

from cli import terminal
from cli.shell import Shell
from memory_fabric.capture.remember import state, stated
from memory_fabric.config import read_settings
from memory_fabric.ids import timestamp
from memory_fabric.models import Provenance
from memory_fabric.store.memory import Memory

DAY_S = 86_400
ROWS, COLUMNS = 24, 80
SUBJECTS = (
    *("orders list", "billing worker", "analytics DB", "login page", "export job"),
    *("search index", "invoice PDF", "rate limiter", "image cache", "webhook sender"),
)
TECHNOLOGIES = ("PostgreSQL", "Redis", "Kafka", "SQLite", "Elasticsearch")
SAID = (
    ("decision", "The {subject} uses {technology}, because the mobile client needs its windows"),
    ("problem", "The {subject} times out when {technology} has more than {number} rows in a table"),
    ("question", "Should the {subject} move to {technology} {number}?"),
    (
        "solution",
        "`pytest tests/test_{number}.py` failed with a TimeoutError on {technology}; it passed "
        "after the query of the {subject}, paged by offsets, was paged by cursors with an index",
    ),
)
THINGS, RULES = 120, 12
ESCAPES = re.compile(r"\x1b\[[0-9;]*m")


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    """A shell whose project remembers some 120 things, said in the last 190 days."""
    shell = Shell(tmp_path_factory.mktemp("screens"))
    memory = Memory.open(
        read_settings({**shell.environ, "CLAUDE_PROJECT_DIR": str(shell.project)}, {})
    )
    for number in range(THINGS):
        kind, form = SAID[number % len(SAID)]
        text = form.format(
            subject=SUBJECTS[number % len(SUBJECTS)],
            technology=TECHNOLOGIES[number // len(SUBJECTS) % len(TECHNOLOGIES)],
            number=1000 + number,
        )
        at = timestamp(time.time() - (THINGS - number) / THINGS * 190 * DAY_S)
        by = Provenance("prompt", "user", f"session-{number // 8}", at=at)
        state(memory, stated(memory, text, type=kind), by, at=at)
    memory.flush()
    memory.close()
    for subject in SUBJECTS[:RULES]:
        rule = f"Never deploy the {subject} on a Friday; wait for the review of the next Monday"
        shell.run("remember", rule, "--type", "rule", "--when", "deploy")
    return shell


def screen(shell: Shell, *words: str) -> list[str]:
    """The lines that a command shows in a terminal, without colours."""
    size = {"COLUMNS": str(COLUMNS), "LINES": str(ROWS)}
    status, shown = terminal.finish(terminal.start(shell, *words, **size))
    assert status == 0, shown
    return [line.rstrip() for line in ESCAPES.sub("", shown).replace("\r", "").splitlines()]


def columns(lines: list[str], first: str) -> Iterator[tuple[str, list[str]]]:
    """Each column of the table whose header begins with a word: its name and its cells."""
    head = next(n for n, line in enumerate(lines) if line.split()[:1] == [first])
    starts = [found.start() for found in re.finditer(r"(?:(?<=  )|^)\S", lines[head])]
    body = [line for line in lines[head + 1 :] if line and line[starts[1] - 1] == " "]
    for start, end in zip(starts, [*starts[1:], None], strict=True):
        cells = [line[start:end].strip() for line in body]
        yield lines[head][start:end].strip(), [cell for cell in cells if cell]


@pytest.mark.parametrize(
    ("words", "first", "names"),
    [
        (("recall",), "kind", ["kind", "date", "id", "memory"]),
        (("recall", "billing", "worker"), "score", ["score", "kind", "date", "id", "memory"]),
        (("history",), "when", ["when (UTC)", "id", "by", "what"]),
        (("stale",), "id", ["id", "type", "days", "memory"]),
        (("rules",), "id", ["id", "does", "bound to", "rule"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_each_table_fits_an_80_column_screen_without_empty_columns(
    known: Shell, words: tuple[str, ...], first: str, names: list[str]
) -> None:
    lines = screen(known, *words)

    assert len(lines) <= ROWS
    assert max(map(len, lines)) <= COLUMNS
    found = dict(columns(lines, first))
    assert list(found) == names
    assert len(found[names[-1]]) >= 10
    assert [name for name in ("score", "told") if len(set(found.get(name, "ab"))) < 2] == []


@pytest.fixture(scope="module")
def reports(known: Shell) -> dict[str, list[str]]:
    """The screens of commands that show a report."""
    return {command: screen(known, command) for command in ("status", "review", "domains")}


@pytest.mark.parametrize("command", ["status", "review", "domains"])
def test_each_report_fits_the_screen(reports: dict[str, list[str]], command: str) -> None:
    lines = reports[command]

    # Lines of a report are folded by the terminal.
    assert sum(-(-max(len(line), 1) // COLUMNS) for line in lines) <= ROWS


def test_status_lists_each_tier_with_its_contents(reports: dict[str, list[str]]) -> None:
    found = dict(columns(reports["status"], "tier"))

    assert list(found) == ["tier", "state", "written", "read", "holds"]
    assert found["tier"][:3] == ["graph", "local", "native"]
    assert "records" in " ".join(found["holds"])


def test_review_shows_commands_to_confirm_or_edit_memories(reports: dict[str, list[str]]) -> None:
    shown = "\n".join(reports["review"])

    assert "stale memory, " in shown
    assert "review --holds ID, edit ID, or forget ID" in shown


def test_texts_are_not_truncated_outside_a_terminal(known: Shell) -> None:
    shown = " ".join(known.run("recall", "type:solution", "--limit", "3").out.split())

    assert shown.count("was paged by cursors with an index") == 3
    assert "…" not in shown


def test_a_table_omits_columns_without_values(shell: Shell) -> None:
    shell.remember("Use cursor-based pagination for all list endpoints")

    newest = shell.run("recall").out.splitlines()[0].split()
    asked = shell.run("recall", "pagination").out.splitlines()[0].split()

    assert newest == ["kind", "date", "id", "memory"]
    assert asked == ["score", *newest]


def test_history_shows_authors_only_if_changes_have_several_authors(shell: Shell) -> None:
    shell.remember("Use cursor-based pagination for all list endpoints")
    alone = shell.run("history").out
    shell.environ["USER"] = "bob"
    shell.remember("Invoices are rendered with WeasyPrint")
    both = shell.run("history").out

    assert "ann" not in alone
    assert "ann cli" in both and "bob cli" in both
