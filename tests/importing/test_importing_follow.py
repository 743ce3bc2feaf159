"""Records that follow their instruction files, and the clients that show these files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from memory_fabric.clients.table import CLIENTS
from memory_fabric.config import read_settings
from memory_fabric.handlers import follow_instructions
from memory_fabric.importing import follow
from memory_fabric.importing.items import here_of
from memory_fabric.importing.recognise import recognise
from memory_fabric.importing.run import plan, store
from memory_fabric.models import Provenance, Record
from memory_fabric.store import instruction_files
from memory_fabric.store.history import changes, undo
from memory_fabric.store.memory import Memory

USER = Provenance("cli", trust="user")
RULES = "# Shop\n\n- Use tabs, not spaces\n- Run pytest before each commit\n- Deploy on Mondays\n"


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    """The memory of a project with a CLAUDE.md of three rules, which were imported."""
    shop = tmp_path / "shop"
    (shop / ".git").mkdir(parents=True)
    (shop / "CLAUDE.md").write_text(RULES)
    opened = opened_in(tmp_path, "claude-code")
    bring_in(opened, shop / "CLAUDE.md")
    yield opened
    opened.close()


def opened_in(folder: Path, client: str) -> Memory:
    """The memory of the project, as the hooks of a client open it."""
    settings = read_settings({"HOME": str(folder / "home"), "USER": "ann"}, {})
    return Memory.open(settings._replace(project_dir=str(folder / "shop"), client=CLIENTS[client]))


def bring_in(memory: Memory, path: Path, batch: str = "import-1") -> None:
    """Import an instruction file."""
    source, real = recognise(str(path))
    assert source is not None
    store(memory, [plan(memory, source, real, here_of(memory), {})], batch)
    follow.begin(memory, real)


def write(memory: Memory, text: str, name: str = "CLAUDE.md") -> None:
    """Write an instruction file, later than before."""
    assert memory.project is not None
    path = Path(memory.project.root) / name
    later = path.stat().st_mtime + 60 if path.exists() else None
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    if later:
        os.utime(path, (later, later))


def current(memory: Memory) -> dict[str, Record]:
    """The current records by their text."""
    found = memory.find_records("superseded_by = '' AND valid_to = ''", (), 1000)
    return {record.what: record for record in found}


def test_a_changed_line_replaces_a_removed_one_ends_a_new_one_is_added(memory: Memory) -> None:
    old = current(memory)
    write(
        memory,
        RULES.replace("Run pytest before each commit", "Run pytest -q before each push").replace(
            "- Deploy on Mondays\n", "- Name branches after issues\n"
        ),
    )

    follow_instructions.at_start(memory)

    now = current(memory)
    assert set(now) == {
        "Use tabs, not spaces",
        "Run pytest -q before each push",
        "Name branches after issues",
    }
    (replaced,) = memory.find_records("id = ?", (old["Run pytest before each commit"].id,))
    assert replaced.superseded_by == now["Run pytest -q before each push"].id
    (removed,) = memory.find_records("id = ?", (old["Deploy on Mondays"].id,))
    assert (removed.superseded_by, bool(removed.valid_to)) == ("", True)
    assert now["Use tabs, not spaces"].id == old["Use tabs, not spaces"].id
    assert {r.trust for r in now.values()} == {"tool"}
    assert instruction_files.changed(memory) == {}
    assert follow.update(memory, ["CLAUDE.md"]) == follow.Followings()


def test_a_line_that_comes_back_holds_again(memory: Memory) -> None:
    write(memory, "- Use tabs, not spaces\n")
    follow_instructions.at_start(memory)
    write(memory, RULES)
    follow_instructions.at_stop(memory)

    assert set(current(memory)) == {
        "Use tabs, not spaces",
        "Run pytest before each commit",
        "Deploy on Mondays",
    }


def test_a_deleted_file_closes_its_rules_and_its_return_brings_them_back(memory: Memory) -> None:
    assert memory.project is not None
    path = Path(memory.project.root) / "CLAUDE.md"
    path.unlink()
    follow_instructions.at_start(memory)
    assert current(memory) == {}

    path.write_text(RULES)
    follow_instructions.at_start(memory)
    assert len(current(memory)) == 3


def test_what_the_user_pinned_or_forgot_stays_so(memory: Memory) -> None:
    known = current(memory)
    pinned = known["Deploy on Mondays"]
    memory.remember(pinned._replace(pinned=True), USER)
    memory.forget([known["Use tabs, not spaces"].id], USER)

    write(memory, "- Use tabs, not spaces\n- Run pytest before each commit\n- Another rule here\n")
    follow_instructions.at_start(memory)

    assert set(current(memory)) == {
        "Deploy on Mondays",
        "Run pytest before each commit",
        "Another rule here",
    }


def test_an_undone_import_is_followed_no_more(memory: Memory) -> None:
    undo.undo(memory, changes.of_batch(memory, "import-1"), USER)
    write(memory, RULES + "- A new rule\n")

    follow_instructions.at_start(memory)

    assert current(memory) == {}
    assert instruction_files.changed(memory) == {}


def test_an_update_is_undone_as_one(memory: Memory) -> None:
    write(memory, "- Use tabs, not spaces\n- Run pytest -q before each push\n")
    follow_instructions.at_start(memory)

    undo.undo(memory, changes.together(memory, undo.last(memory)), USER)

    assert set(current(memory)) == {
        "Use tabs, not spaces",
        "Run pytest before each commit",
        "Deploy on Mondays",
    }


def test_rules_are_told_where_the_client_does_not_show_their_file(
    memory: Memory, tmp_path: Path
) -> None:
    ids = {record.id for record in current(memory).values()}
    shown = {}
    for client in ("claude-code", "codex", "gemini", "cursor", "qwen"):
        there = opened_in(tmp_path, client)
        shown[client] = set(there.shown_ids("9999"))
        there.close()

    assert shown.pop("claude-code") == ids
    assert all(some == set() for some in shown.values())


def test_a_rule_that_several_files_state_is_shown_by_each(memory: Memory, tmp_path: Path) -> None:
    assert memory.project is not None
    root = Path(memory.project.root)
    (root / "AGENTS.md").write_text("- Use tabs, not spaces\n- Only for Codex\n")
    (root / "GEMINI.md").symlink_to("CLAUDE.md")
    bring_in(memory, root, "import-2")

    told = {}
    for client in ("claude-code", "codex", "gemini"):
        there = opened_in(tmp_path, client)
        known = {record.id: what for what, record in current(there).items()}
        told[client] = {known[id_] for id_ in there.shown_ids("9999")}
        there.close()

    assert told["codex"] == {"Use tabs, not spaces", "Only for Codex"}
    assert told["gemini"] == told["claude-code"]
    assert "Only for Codex" not in told["gemini"]


def test_files_that_are_imported_are_shown_and_followed_with_the_one_that_names_them(
    memory: Memory, tmp_path: Path
) -> None:
    write(memory, "- Tests come first\n", "docs/rules.md")
    write(memory, RULES + "\nSee @docs/rules.md\n")
    follow_instructions.at_start(memory)
    added = current(memory)["Tests come first"]
    assert added.id in memory.shown_ids("9999")

    write(memory, "- Tests come last\n", "docs/rules.md")
    follow_instructions.at_start(memory)

    assert "Tests come last" in current(memory)
    assert "Tests come first" not in current(memory)


def test_nothing_of_a_file_enters_memory_md(memory: Memory) -> None:
    for record in current(memory).values():
        kept = record._replace(trust="user", pinned=True)
        memory.remember(kept, USER)
    memory.flush()

    found = list(Path(memory.settings.config_dir).rglob("MEMORY.md"))
    assert all("tabs" not in path.read_text("utf-8") for path in found)
