"""Readers of other programs' memories: what they take, and what they leave out and why."""

from __future__ import annotations

import json
import os
import sqlite3
from pathlib import Path

import pytest

from importing.foreign import NOTE, OLD_SCHEMA, TOPIC, ClaudeMem, codex_main
from linear import LIMIT, growth
from memory_fabric.errors import BadInput, NotFound
from memory_fabric.importing import items, markdown
from memory_fabric.importing.instructions import read_files
from memory_fabric.importing.items import Here, Reading
from memory_fabric.importing.sources import INSTRUCTIONS, recognise


def read(path: Path, here: Here) -> Reading:
    """What the reader for this path reads."""
    source, real = recognise(str(path))
    assert source is not None
    return source.read(real, here)


def left(reading: Reading) -> dict[str, int]:
    """The numbers of what was left out, by reason."""
    return {one.reason: one.number for one in reading.left}


@pytest.fixture
def here(tmp_path: Path) -> Here:
    """The project `shop`."""
    (tmp_path / "shop").mkdir()
    home = tmp_path / "home"
    return Here("shop", (str(tmp_path / "shop"),), str(home), str(home / ".claude"))


def test_claude_mem_observations_are_imported_with_facts_type_and_time(
    tmp_path: Path, here: Here
) -> None:
    made = ClaudeMem(tmp_path / "claude-mem.db")
    made.add(
        "observations",
        project="shop",
        type="decision",
        title="Use Redis",
        subtitle="for the queue",
        facts=["It keeps order"],
        narrative="At length.",
        concepts=["trade-off"],
    )
    made.add("observations", project="shop/wt", type="bugfix", title="A lock was missing.")
    made.add("observations", project="blog", title="Hugo builds it")
    made.add("observations", project="shop")
    made.add("session_summaries", project="shop", request="Why?", learned="It was the cache")
    made.add("session_summaries", project="shop", request="Commit", completed="Committed")
    made.add("directives", project=None, content="Never push to main")
    made.add("directives", project="shop", content="Old", status="retired")
    made.add("user_prompts", prompt_text="hello")

    reading = read(made.close(), here)

    assert [(i.type, i.what, i.scope) for i in reading.items] == [
        ("decision", "Use Redis. for the queue. It keeps order.", "team"),
        ("solution", "A lock was missing.", "team"),
        ("note", "It was the cache", "team"),
        ("constraint", "Never push to main", "user"),
    ]
    first = reading.items[0]
    assert (first.at, first.also) == ("2025-11-02T10:01:00.000Z", "trade-off At length.")
    assert left(reading)[items.ELSEWHERE] == 1
    assert left(reading)[items.EMPTY] == 1
    assert len(left(reading)) == 5


def test_the_database_of_an_early_claude_mem_release_is_read(tmp_path: Path, here: Here) -> None:
    made = ClaudeMem(tmp_path / "old.db", OLD_SCHEMA)
    made.add("observations", project="shop", text="The queue is Redis")

    assert [i.what for i in read(made.close(), here).items] == ["The queue is Redis"]


def test_unreadable_databases_are_reported_with_a_remedy(tmp_path: Path, here: Here) -> None:
    other = tmp_path / "other.db"
    with sqlite3.connect(other) as c:
        c.execute("CREATE TABLE songs (name TEXT)")
    made = ClaudeMem(tmp_path / "claude-mem.db")
    for number in range(300):
        made.add("observations", project="shop", title=f"Title {number}" + "x" * 99)
    whole = made.close().read_bytes()
    torn = tmp_path / "torn.db"
    torn.write_bytes(whole[: len(whole) // 2])
    busy = sqlite3.connect(made.path, isolation_level=None)
    busy.execute("PRAGMA locking_mode = EXCLUSIVE")
    busy.execute("BEGIN EXCLUSIVE")

    found = {}
    for path in (other, torn, made.path):
        with pytest.raises(BadInput) as error:
            read(path, here)
        found[path.name] = str(error.value)
    busy.close()

    assert "tables: songs" in found["other.db"]
    assert "damaged, or only half written" in found["torn.db"]
    assert "in use by another program. Stop claude-mem" in found["claude-mem.db"]


def test_a_note_of_basic_memory_becomes_an_entity_with_relations(
    tmp_path: Path, here: Here
) -> None:
    folder = tmp_path / "notes"
    (folder / "deep").mkdir(parents=True)
    (folder / "deep" / "coffee.md").write_text(NOTE, "utf-8")
    (folder / "latin.md").write_bytes(b"\xff\xfe caf\xe9")
    (tmp_path / "secret.md").write_text("- [x] outside", "utf-8")
    (folder / "link.md").symlink_to(tmp_path / "secret.md")

    reading = read(folder, here)

    assert [(i.type, i.category, i.what) for i in reading.items][:3] == [
        ("note", "", "The kettle stands in the kitchen."),
        ("note", "method", "Pour over gives more clarity than a French press"),
        ("decision", "decision", "Water is heated to 96 degrees #brewing"),
    ]
    assert {i.at for i in reading.items} == {"2025-03-04T04:06:07.000Z"}
    assert reading.items[2].also == "measured twice coffee, brewing"
    assert {e for i in reading.items for e in i.entities} == {("Coffee Brewing", "guide", ())}
    assert [tuple(r) for r in reading.relations] == [
        ("Coffee Brewing", "relates_to", "Coffee Beans"),
        ("Coffee Brewing", "requires", "Grinding"),
    ]
    assert left(reading) == {"links out of the folder": 1, "files that are no UTF-8 text": 1}


@pytest.mark.parametrize("wrap", [list, lambda m: {"results": m}, lambda m: {"memories": m}])
def test_each_format_of_a_mem0_export_is_read(tmp_path: Path, here: Here, wrap: object) -> None:
    rows = [
        {
            "id": "1",
            "memory": "We chose Postgres",
            "user_id": "ana",
            "created_at": "2025-01-02T03:04:05.678-07:00",
            "updated_at": None,
            "metadata": {"category": "work"},
        },
        {"id": "2", "memory": " "},
        {"id": "3"},
    ]
    path = tmp_path / "export.json"
    path.write_text(json.dumps(wrap(rows)), "utf-8")  # type: ignore[operator]

    reading = read(path, here)

    (one,) = reading.items
    assert (one.what, one.type, one.category) == ("We chose Postgres", "decision", "work")
    assert one.at == "2025-01-02T10:04:05.678Z"
    assert left(reading) == {items.EMPTY: 1, items.UNREADABLE: 1}


def test_mem0_facts_about_the_user_apply_to_every_project(tmp_path: Path, here: Here) -> None:
    rows: list[dict[str, object]] = [
        {"memory": "Prefers short answers", "user_id": "ana"},
        {"memory": "Lives in Lyon and has a dog", "user_id": "ana"},
        {"memory": "Ran the city marathon", "categories": ["sports", "health"]},
        {"memory": "The user's name is Ana"},
        {"memory": "Prefers tabs", "metadata": {"project": "shop"}},
        {"memory": "The export runs at night", "user_id": "ana"},
    ]
    path = tmp_path / "export.json"
    path.write_text(json.dumps(rows), "utf-8")

    scopes = [item.scope for item in read(path, here).items]

    assert scopes == ["user", "user", "user", "user", "team", "team"]


def test_a_truncated_export_is_refused_with_an_explanation(tmp_path: Path, here: Here) -> None:
    path = tmp_path / "export.json"
    path.write_text('{"results": [{"id": "1", "memory": "We ch', "utf-8")

    with pytest.raises(BadInput, match="is not whole JSON"):
        read(path, here)


@pytest.mark.parametrize("where", ["home/.claude/projects/-shop/memory", "a copy"])
def test_topic_files_of_claude_code_are_read_as_rules_with_reasons(
    tmp_path: Path, here: Here, where: str
) -> None:
    folder = tmp_path / where
    folder.mkdir(parents=True)
    (folder / "no-mocks.md").write_text(TOPIC, "utf-8")
    (folder / "MEMORY.md").write_text("- [No mocks](no-mocks.md) — why\n- CI is Buildkite\n")

    reading = read(folder, here)

    said = {i.what: (i.type, i.why, i.place) for i in reading.items}
    rule = (
        "Integration tests must hit a real database, not mocks. "
        "How to apply: all tests that touch the database."
    )
    assert said[rule] == (
        "constraint",
        "mocked tests passed while the migration failed.",
        "no-mocks.md",
    )
    assert said["CI is Buildkite"][0] == "note"
    assert len(said) == 2


def test_codex_memories_about_other_folders_are_not_imported(tmp_path: Path, here: Here) -> None:
    folder = tmp_path / "memories"
    (folder / "rollout_summaries").mkdir(parents=True)
    (folder / "rollout_summaries" / "a.md").write_text("thread_id: 1\n")
    (folder / "MEMORY.md").write_text(codex_main(tmp_path / "shop"), "utf-8")
    (folder / "raw_memories.md").write_text("# Raw Memories\n\nNo raw memories yet.\n")

    reading = read(folder, here)

    (one,) = reading.items
    assert one.what.startswith("Stripe answers 429 to bursts; retry with a delay the delay")
    assert (one.at, one.line) == ("2026-02-12T10:30:00.000Z", 8)
    assert left(reading)[items.ELSEWHERE] == 1
    assert left(reading)[items.UNSTATED] == 1


def test_a_heading_in_a_codex_memory_file_does_not_start_a_new_memory(
    tmp_path: Path, here: Here
) -> None:
    folder = tmp_path / "memories"
    (folder / "rollout_summaries").mkdir(parents=True)
    text = codex_main(tmp_path / "shop").replace("\n- Stripe", "\n# Payments\n\n- Stripe")
    (folder / "MEMORY.md").write_text(text, "utf-8")

    (one,) = read(folder, here).items

    assert one.what.startswith("Stripe answers 429")


def test_a_subfolder_belongs_to_a_project_only_if_the_project_is_its_git_repository(
    tmp_path: Path,
) -> None:
    work = tmp_path / "work"
    for name in ("alpha/.git", "docs", "shop/.git", "shop/api/src", "shop/vendor/.git"):
        (work / name).mkdir(parents=True)
    plain, git = Here("work", (str(work),)), Here("shop", (str(work / "shop"),))

    assert plain.is_stated(str(work))
    assert not any(plain.is_stated(str(work / name)) for name in ("alpha", "docs", "gone"))
    assert all(git.is_stated(str(work / "shop" / name)) for name in ("", "api", "api/src"))
    assert not any(git.is_stated(str(work / "shop" / name)) for name in ("vendor", "gone"))


def test_secrets_are_redacted_in_examples_of_skipped_entries() -> None:
    token = "ghp_" + "aB3dE6gH9jK2" * 3
    counted = items.Left()
    counted.add("prose", f"The token of the robot, which nobody may know, is {token} since May.")
    counted.add("prose", "x" * (items.MAX_EXAMPLE_CHARS - 20) + f" {token}")

    (one,) = counted.all

    assert one.number == 2
    assert not any(token[:12] in example for example in one.examples)


def test_instruction_files_cannot_import_private_files_through_links(
    tmp_path: Path, here: Here
) -> None:
    shop, config = tmp_path / "shop", Path(here.config_dir)
    private = tmp_path / "home" / "private"
    other = config / "projects" / "-other" / "memory" / "acme.md"
    for path in (private / "diary.md", other, config / "own.md", config / "CLAUDE.md"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("- Never tell the secret of ACME\n")
    (shop / ".claude").mkdir()
    (shop / ".claude" / "rules").symlink_to(private)
    (shop / "CLAUDE.md").write_text(f"- Use tabs\n\n@{other} @{config / 'own.md'}\n")
    (config / "own.md").write_text("- Answer in English\n")
    (config / "CLAUDE.md").write_text(f"- Be brief\n\n@own.md @{other}\n")

    project = [read(shop, here), read(shop / "CLAUDE.md", here)]
    linked = INSTRUCTIONS.read(str(shop / ".claude" / "rules" / "diary.md"), here)
    own = read(config / "CLAUDE.md", here)

    assert [[i.what for i in reading.items] for reading in project] == [["Use tabs"]] * 2
    assert linked.items == ()
    assert [(i.what, i.scope) for i in own.items] == [
        ("Be brief", "user"),
        ("Answer in English", "user"),
    ]
    assert left(project[0])["links out of the folder"] == 1


def test_raw_memories_of_codex_are_refused_with_the_command_that_reads_its_sessions(
    tmp_path: Path, here: Here
) -> None:
    folder = tmp_path / "memories"
    folder.mkdir()
    (folder / "raw_memories.md").write_text("# Raw Memories\n\n- The API needs a token\n")

    with pytest.raises(BadInput, match="memory-fabric learn reads the sessions"):
        read(folder, here)


def test_instructions_in_claude_md_become_rules_and_command_descriptions_become_notes(
    tmp_path: Path, here: Here
) -> None:
    shop = tmp_path / "shop"
    (shop / "docs").mkdir()
    (shop / "docs" / "style.md").write_text("- Tabs, not spaces\n")
    (tmp_path / "home").mkdir()
    (shop / "CLAUDE.md").write_text(
        "# Shop\n\nThe shop sells bicycles. Use Python 3.12.\n\n## Commands\n\n"
        "- `npm test` – runs the tests\n- Never start the server\n  unless asked\n\n"
        "```\n- no rule\n```\n<!-- - nor this\n- Use spaces -->\n\n"
        "@docs/style.md\n@/etc/hostname.md\n",
        "utf-8",
    )

    reading = read(shop / "CLAUDE.md", here)

    assert [(i.type, i.what, i.place, i.line) for i in reading.items] == [
        ("constraint", "Use Python 3.12.", "CLAUDE.md", 3),
        ("note", "Commands: `npm test` – runs the tests", "CLAUDE.md", 7),
        ("constraint", "Commands: Never start the server unless asked", "CLAUDE.md", 8),
        ("constraint", "Tabs, not spaces", "docs/style.md", 1),
    ]


def test_an_instruction_file_is_imported_once_with_the_paths_of_its_symlinks(
    tmp_path: Path, here: Here
) -> None:
    (tmp_path / "shop" / ".claude").mkdir()
    (tmp_path / "shop" / "AGENTS.md").write_text("- Use tabs\n")
    (tmp_path / "shop" / ".claude" / "CLAUDE.md").symlink_to("../AGENTS.md")

    (file,) = read_files(str(tmp_path / "shop" / "AGENTS.md"), here, items.Left())

    assert (file.place, file.via) == ("AGENTS.md", (".claude/CLAUDE.md",))


@pytest.mark.parametrize(("start", "unit"), [("", "[a]("), ("[a", "](")])
def test_unclosed_markdown_links_are_read_in_linear_time(start: str, unit: str) -> None:
    assert markdown.plain(start + unit * 1000) == start + unit * 1000
    assert growth(lambda n: markdown.plain(start + unit * n), 2000) < LIMIT


def test_cursor_rule_files_are_imported_as_instructions(tmp_path: Path, here: Here) -> None:
    folder = tmp_path / "shop" / ".cursor" / "rules"
    folder.mkdir(parents=True)
    (folder / "api.mdc").write_text(
        "---\ndescription: API\nglobs: src/api/**\nalwaysApply: false\n---\n- Validate with zod\n"
    )

    (one,) = read(tmp_path / "shop", here).items

    assert (one.what, one.also, one.place) == (
        "Validate with zod",
        "src/api/**",
        ".cursor/rules/api.mdc",
    )


def test_a_file_of_unknown_format_is_refused_with_a_remedy(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "poem.md").write_text("Roses are red\n")
    os.symlink(tmp_path / "nowhere", tmp_path / "link")

    for name in ("empty", "poem.md"):
        with pytest.raises(BadInput, match=name):
            recognise(str(tmp_path / name))
    for name in ("none", "link"):
        with pytest.raises(NotFound, match=f"{name} does not exist"):
            recognise(str(tmp_path / name))


def test_a_graph_file_of_memory_fabric_is_not_recognised_as_a_foreign_format(
    tmp_path: Path,
) -> None:
    path = tmp_path / "memory.jsonl"
    path.write_text('{"type":"entity","name":"a","entityType":"t","observations":[]}\n')

    assert recognise(str(path)) == (None, str(path))
