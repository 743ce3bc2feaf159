"""Records that follow their instruction files, and the clients that show these files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from memory_fabric.clients.table import CLIENTS
from memory_fabric.config import read_settings
from memory_fabric.hooks.handlers import instruction_updates
from memory_fabric.ids import timestamp
from memory_fabric.importing import instructions
from memory_fabric.importing.items import here_of
from memory_fabric.importing.run import plan, store
from memory_fabric.importing.sources import recognise
from memory_fabric.models import Provenance, Record
from memory_fabric.store.history import changes, undo
from memory_fabric.store.home import log
from memory_fabric.store.memory import Memory
from memory_fabric.store.operations.remember import OPEN
from memory_fabric.store.projects import instruction_files

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


def opened_in(folder: Path, client: str, domain: str = "") -> Memory:
    """The memory of the project, as the hooks of a client open it; a domain is isolated."""
    settings = read_settings({"HOME": str(folder / "home"), "USER": "ann"}, {})
    settings = settings._replace(project_dir=str(folder / "shop"), client=CLIENTS[client])
    domains = settings.domains._replace(isolated=frozenset({"legal"}))
    return Memory.open(settings._replace(domain=domain, domains=domains))


def bring_in(memory: Memory, path: Path, batch: str = "import-1") -> None:
    """Import an instruction file."""
    source, real = recognise(str(path))
    assert source is not None
    store(memory, [plan(memory, source, real, here_of(memory), {})], batch)
    instructions.begin(memory, real)


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


def test_editing_an_instruction_file_closes_and_adds_the_matching_rules(memory: Memory) -> None:
    old = current(memory)
    write(
        memory,
        RULES.replace("Run pytest before each commit", "Run pytest -q before each push").replace(
            "- Deploy on Mondays\n", "- Name branches after issues\n"
        ),
    )

    instruction_updates.at_start(memory)

    now = current(memory)
    assert set(now) == {
        "Use tabs, not spaces",
        "Run pytest -q before each push",
        "Name branches after issues",
    }
    for text in ("Run pytest before each commit", "Deploy on Mondays"):
        (removed,) = memory.find_records("id = ?", (old[text].id,))
        assert (removed.superseded_by, bool(removed.valid_to)) == ("", True)
    assert now["Use tabs, not spaces"].id == old["Use tabs, not spaces"].id
    assert {r.trust for r in now.values()} == {"tool"}
    assert instruction_files.changed(memory) == {}
    assert instructions.update(memory, ["CLAUDE.md"]) == instructions.Followings()


def test_a_rule_is_valid_again_once_its_line_is_back_in_the_file(memory: Memory) -> None:
    write(memory, "- Use tabs, not spaces\n")
    instruction_updates.at_start(memory)
    write(memory, RULES)
    instruction_updates.at_stop(memory)

    assert set(current(memory)) == {
        "Use tabs, not spaces",
        "Run pytest before each commit",
        "Deploy on Mondays",
    }


def test_deleting_a_file_closes_its_rules_until_the_file_is_restored(memory: Memory) -> None:
    assert memory.project is not None
    path = Path(memory.project.root) / "CLAUDE.md"
    path.unlink()
    instruction_updates.at_start(memory)
    assert current(memory) == {}

    path.write_text(RULES)
    instruction_updates.at_start(memory)
    assert len(current(memory)) == 3


def test_file_updates_do_not_change_records_that_the_user_pinned_or_forgot(memory: Memory) -> None:
    known = current(memory)
    pinned = known["Deploy on Mondays"]
    memory.remember(pinned._replace(pinned=True), USER)
    memory.forget([known["Use tabs, not spaces"].id], USER)

    write(memory, "- Use tabs, not spaces\n- Run pytest before each commit\n- Another rule here\n")
    instruction_updates.at_start(memory)

    assert set(current(memory)) == {
        "Deploy on Mondays",
        "Run pytest before each commit",
        "Another rule here",
    }


def test_changes_of_a_file_are_ignored_after_its_import_is_undone(memory: Memory) -> None:
    undo.undo(memory, changes.of_batch(memory, "import-1"), USER)
    write(memory, RULES + "- A new rule\n")

    instruction_updates.at_start(memory)

    assert current(memory) == {}
    assert instruction_files.changed(memory) == {}


def test_all_rule_changes_of_one_file_update_are_undone_in_one_step(memory: Memory) -> None:
    write(memory, "- Use tabs, not spaces\n- Run pytest -q before each push\n")
    instruction_updates.at_start(memory)

    undo.undo(memory, changes.together(memory, undo.last(memory)), USER)

    assert set(current(memory)) == {
        "Use tabs, not spaces",
        "Run pytest before each commit",
        "Deploy on Mondays",
    }


def test_a_rule_from_claude_md_counts_as_already_shown_only_in_claude_code(
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


def test_a_rule_in_several_files_is_shown_by_each_client(memory: Memory, tmp_path: Path) -> None:
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


def test_changes_of_a_file_included_by_an_instruction_file_update_its_rules(
    memory: Memory, tmp_path: Path
) -> None:
    write(memory, "- Tests come first\n", "docs/rules.md")
    write(memory, RULES + "\nSee @docs/rules.md\n")
    instruction_updates.at_start(memory)
    added = current(memory)["Tests come first"]
    assert added.id in memory.shown_ids("9999")

    write(memory, "- Tests come last\n", "docs/rules.md")
    instruction_updates.at_start(memory)

    assert "Tests come last" in current(memory)
    assert "Tests come first" not in current(memory)


def test_an_instruction_file_replaced_by_a_symlink_has_only_the_rules_of_its_target(
    memory: Memory, tmp_path: Path
) -> None:
    root = Path(memory.settings.project_dir)
    (root / "AGENTS.md").write_text("- Use tabs, not spaces\n- Only for Codex\n")
    bring_in(memory, root / "AGENTS.md", "import-2")
    (root / "AGENTS.md").unlink()
    (root / "AGENTS.md").symlink_to("CLAUDE.md")
    write(memory, RULES.replace("Mondays", "Tuesdays"))

    instruction_updates.at_start(memory)

    known = {record.id: what for what, record in current(memory).items()}
    assert set(known.values()) == {
        "Use tabs, not spaces",
        "Run pytest before each commit",
        "Deploy on Tuesdays",
    }
    assert instruction_files.changed(memory) == {}
    there = opened_in(tmp_path, "codex")
    assert {known[id_] for id_ in there.shown_ids("9999")} == set(known.values())
    there.close()


def test_a_rule_closed_by_the_user_is_not_reopened_while_its_line_exists(memory: Memory) -> None:
    old = current(memory)["Deploy on Mondays"]
    link = {"id": old.id, "by": "", "at": timestamp(), "was": OPEN}
    memory.write_now("supersede", {"links": [link]}, USER, store="project")

    write(memory, RULES + "- Another rule here\n")
    instruction_updates.at_start(memory)

    assert "Another rule here" in current(memory)
    assert "Deploy on Mondays" not in current(memory)


def test_a_forgotten_rule_is_not_added_again_if_its_line_is_moved(memory: Memory) -> None:
    memory.forget([current(memory)["Deploy on Mondays"].id], USER)
    write(memory, "- Deploy on Mondays\n- Use tabs, not spaces\n")

    done = instructions.update(memory, ["CLAUDE.md"])

    assert done == instructions.Followings(new=0, closed=1)
    assert set(current(memory)) == {"Use tabs, not spaces"}


def test_no_rule_of_an_instruction_file_is_written_to_memory_md(memory: Memory) -> None:
    for record in current(memory).values():
        kept = record._replace(trust="user", pinned=True)
        memory.remember(kept, USER)
    memory.flush()

    found = list(Path(memory.settings.config_dir).rglob("MEMORY.md"))
    assert all("tabs" not in path.read_text("utf-8") for path in found)


@pytest.mark.parametrize("followed, other", [("legal", ""), ("", "legal")])
def test_imported_rules_keep_their_domain_if_a_session_of_another_domain_updates_them(
    tmp_path: Path, followed: str, other: str
) -> None:
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    (tmp_path / "shop" / "CLAUDE.md").write_text(RULES)
    first = opened_in(tmp_path, "claude-code", followed)
    bring_in(first, tmp_path / "shop" / "CLAUDE.md")
    first.close()
    second = opened_in(tmp_path, "claude-code", other)
    write(second, RULES.replace("Mondays", "Tuesdays") + "- A secret of the case\n")

    instruction_updates.at_start(second)

    now = current(second)
    assert {"Deploy on Tuesdays", "A secret of the case"} <= set(now)
    assert "Deploy on Mondays" not in now
    assert {record.domain for record in now.values()} == {followed or "general"}
    second.close()


def test_a_rule_that_the_user_replaced_is_not_added_again_by_a_file_update(memory: Memory) -> None:
    old = current(memory)["Deploy on Mondays"]
    memory.remember(Record("constraint", "Deploy through the CI", confidence=0.9), USER, [old.id])
    for text in ("spaces, not tabs", "tabs only"):
        write(memory, RULES.replace("tabs, not spaces", text))
        bring_in(memory, Path(memory.settings.project_dir) / "CLAUDE.md", f"import-{text[:3]}")
        write(memory, RULES.replace("tabs, not spaces", f"{text} please"))
        instruction_updates.at_start(memory)

    assert "Deploy on Mondays" not in current(memory)
    assert "Use tabs only please" in current(memory)


def test_restoring_a_deleted_file_reopens_its_existing_records(memory: Memory) -> None:
    known = {what: record.id for what, record in current(memory).items()}
    other = "- Use tabs, not spaces\n- Run pytest -q before each commit\n"
    for text in (other, RULES, other):
        write(memory, text)
        instruction_updates.at_start(memory)
    path = Path(memory.settings.project_dir) / "CLAUDE.md"
    path.unlink()
    instruction_updates.at_start(memory)
    path.write_text(RULES)
    instruction_updates.at_start(memory)

    assert {what: record.id for what, record in current(memory).items()} == known
    assert len(memory.find_records("1", (), 100)) == len(known) + 1


def test_a_large_included_file_is_imported_at_the_stop_hook_and_a_huge_one_never(
    memory: Memory,
) -> None:
    write(memory, "- A rule of a large file\n" * 5000, "docs/large.md")
    write(memory, RULES + "@docs/large.md\n- One more rule\n")

    instruction_updates.at_start(memory)
    assert "One more rule" not in current(memory)
    instruction_updates.at_stop(memory)
    assert {"One more rule", "A rule of a large file"} <= set(current(memory))

    write(memory, "- A rule of a huge file\n" * 20_000, "docs/large.md")
    instruction_updates.at_stop(memory)

    assert "A rule of a huge file" not in current(memory)
    (told,) = log.take(memory.settings.home)
    assert "memory-fabric import docs/large.md" in told
    assert instruction_files.changed(memory) == {}


def test_only_the_last_try_reports_a_file_over_the_limit(memory: Memory) -> None:
    write(memory, RULES + "- " + "x" * 3000 + "\n")

    done, told = [], []
    for is_last in (False, True):
        done.append(instructions.update(memory, ["CLAUDE.md"], 2048, is_last=is_last))
        told.append((log.take(memory.settings.home), bool(instruction_files.changed(memory))))

    assert done == [instructions.Followings()] * 2
    (silent, stays), ((notice,), remains) = told
    assert (silent, stays, remains) == ([], True, False)
    assert "CLAUDE.md and the files that it imports have more than 2 KB" in notice
    assert len(current(memory)) == 3


def test_many_new_rules_of_a_file_are_stored_over_several_events(memory: Memory) -> None:
    many = "".join(f"- Rule number {number} holds\n" for number in range(450))
    write(memory, "- Deploy on Tuesdays\n" + many)

    counts = []
    while instruction_files.changed(memory):
        instruction_updates.at_start(memory)
        counts.append(len(current(memory)))

    assert counts == [200, 400, 451]
    assert len(memory.find_records("1", (), 1000)) == 451 + 3


def test_an_update_of_an_instruction_file_counts_what_it_added_and_closed(memory: Memory) -> None:
    write(memory, "- Use tabs, not spaces\n- Name branches after issues\n")

    first = instructions.update(memory, ["CLAUDE.md", "unknown.md"])
    write(memory, RULES)
    back = instructions.update(memory, ["CLAUDE.md"])

    assert first == instructions.Followings(new=1, closed=2)
    assert back == instructions.Followings(new=2, closed=1)


def test_rules_from_an_updated_file_are_dated_now_and_stated_by_an_import(memory: Memory) -> None:
    write(memory, RULES + "- Ask before you delete\n")
    instructions.update(memory, ["CLAUDE.md"])

    added = current(memory)["Ask before you delete"]

    assert (added.trust, added.source, added.scope) == ("tool", "import", "team")
    assert (added.evidence["instructions"], added.evidence["line"]) == ("CLAUDE.md", 6)
    made = [c for c in changes.read_all(memory, "1", ()) if "Ask before" in str(c.payload)]
    assert made and all(c.payload["batch"].startswith("follow-") for c in made)


def test_a_rule_that_another_followed_file_states_stays_open(memory: Memory) -> None:
    root = Path(memory.settings.project_dir)
    (root / "AGENTS.md").write_text("- Use tabs, not spaces\n- Ask before you delete\n")
    bring_in(memory, root / "AGENTS.md", "import-2")
    write(memory, "- Deploy on Mondays\n")

    done = instructions.update(memory, ["CLAUDE.md"])

    assert done == instructions.Followings(new=0, closed=1)
    assert set(current(memory)) == {
        "Use tabs, not spaces",
        "Ask before you delete",
        "Deploy on Mondays",
    }


def test_a_rule_that_the_user_stated_is_adopted_and_never_closed_by_a_file(memory: Memory) -> None:
    memory.remember(Record("constraint", "Ask before you delete", confidence=0.9), USER)
    write(memory, RULES + "- ask before you delete.\n")
    added = instructions.update(memory, ["CLAUDE.md"])
    write(memory, RULES)
    closed = instructions.update(memory, ["CLAUDE.md"])

    assert added == closed == instructions.Followings()
    assert current(memory)["Ask before you delete"].trust == "user"
