"""Readers of other programs' memories: what they take, and what they leave out and why."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from importing.foreign import NOTE, OLD_SCHEMA, TOPIC, ClaudeMem, codex_main, left, read
from linear import LIMIT, growth
from memory_fabric.errors import BadInput
from memory_fabric.importing import items, markdown, notes, sources
from memory_fabric.importing.items import Here


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
    made.add("user_prompts", prompt_text="bye")

    reading = read(made.close(), here)

    assert [(i.type, i.what, i.scope) for i in reading.items] == [
        ("decision", "Use Redis. for the queue. It keeps order.", "team"),
        ("solution", "A lock was missing.", "team"),
        ("note", "It was the cache", "team"),
        ("constraint", "Never push to main", "user"),
    ]
    first = reading.items[0]
    assert (first.at, first.also) == ("2025-11-02T10:01:00.000Z", "trade-off At length.")
    assert [(one.number, one.examples) for one in reading.left] == [
        (1, ("blog",)),
        (2, ()),
        (1, ()),
        (1, ("Commit",)),
        (1, ("Old",)),
    ]
    assert (left(reading)[items.ELSEWHERE], left(reading)[items.EMPTY]) == (1, 1)


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


def test_raw_memories_of_codex_are_refused_with_the_command_that_reads_its_sessions(
    tmp_path: Path, here: Here
) -> None:
    folder = tmp_path / "memories"
    folder.mkdir()
    (folder / "raw_memories.md").write_text("# Raw Memories\n\n- The API needs a token\n")

    with pytest.raises(BadInput, match="memory-fabric learn reads the sessions"):
        read(folder, here)


@pytest.mark.parametrize(("start", "unit"), [("", "[a]("), ("[a", "](")])
def test_unclosed_markdown_links_are_read_in_linear_time(start: str, unit: str) -> None:
    assert markdown.plain(start + unit * 1000) == start + unit * 1000
    assert growth(lambda n: markdown.plain(start + unit * n), 2000) < LIMIT


@pytest.mark.parametrize(
    ("value", "at"),
    [
        ("2025-01-01", "2025-01-01T00:00:00.000Z"),
        (" 2025-01-01T00:00:00.1234+02:00 ", "2024-12-31T22:00:00.123Z"),
        (1, "1970-01-01T00:00:01.000Z"), (1.5, "1970-01-01T00:00:01.500Z"), (0, ""), (-1, ""),
        (1e20, ""), (float("inf"), ""), ("yesterday", ""), (None, ""), ([1], ""),
    ],
)  # fmt: skip
def test_times_of_other_programs_are_converted_to_utc(value: object, at: str) -> None:
    assert notes.time_of(value) == at


def test_a_memory_of_mem0_keeps_its_categories_owners_project_and_newest_time(
    tmp_path: Path, here: Here
) -> None:
    rows: list[object] = [
        {
            "id": 7,
            "content": " We chose\nPostgres ",
            "categories": ["work", "data\nbases"],
            "user_id": "ana",
            "agent_id": "bot",
            "metadata": {"category": "other", "repo": "shop", "app_id": "no"},
            "created_at": "2025-01-01",
            "updated_at": "2025-02-01",
        },
        {"text": "The app is blue", "metadata": {"type": "look"}, "created_at": "2025-01-01"},
        {"data": "The app is red", "metadata": "none", "categories": "look, Hobby"},
        {"id": 9, "memory": None, "text": "The app is green"},
        "no object",
    ]
    path = tmp_path / "export.json"
    path.write_text("\ufeff" + json.dumps(rows), "utf-8")

    reading = read(path, here)

    first, second, third, fourth = reading.items
    assert (first.what, first.type, first.key) == ("We chose Postgres", "decision", "memory 7")
    assert (first.category, first.also) == ("work, data bases", "ana bot")
    assert (first.project, first.at) == ("shop", "2025-02-01T00:00:00.000Z")
    assert (second.key, second.category) == ("memory The app is blue", "look")
    assert (second.at, second.project, second.scope) == ("2025-01-01T00:00:00.000Z", "", "team")
    assert (third.category, third.at, third.scope) == ("look, Hobby", "", "user")
    assert (fourth.what, fourth.also) == ("The app is green", "")
    assert left(reading) == {items.UNREADABLE: 1}


def test_json_without_memories_is_refused_as_an_export_of_mem0(tmp_path: Path, here: Here) -> None:
    path = tmp_path / "export.json"
    path.write_text('{"songs": []}')

    with pytest.raises(BadInput, match="is JSON without memories of mem0") as error:
        list(sources.MEM0.read(str(path), here).items)

    assert error.value.remedy == "docs/import.md lists the forms. Nothing was imported."


def test_rows_of_claude_mem_are_read_with_the_time_words_and_project_that_they_have(
    tmp_path: Path, here: Here
) -> None:
    made = ClaudeMem(tmp_path / "claude-mem.db")
    early = {"created_at_epoch": 1_700_000_000}  # in seconds
    made.add("observations", project="shop", title="A", subtitle="A", facts="One\nfact", **early)
    made.add("observations", project="shop", narrative="At\nlength", text="no", concepts=["", "x"])
    made.add("observations", project="blog", merged_into_project="shop", text="Text?", type="x")
    made.add("observations", project="shop", merged_into_project="blog", text="Gone")
    made.add("observations", project="shop", title="Late", created_at_epoch=0)
    made.add("observations", project="shop", title="Huge", created_at_epoch=100_000_000_000_000)
    made.add("session_summaries", project="shop", request="Why?", learned="The cache")
    made.add("directives", project="shop", content="Never push")
    made.add("directives", project="blog", content="Hugo")

    reading = read(made.close(), here)

    assert [(i.what, i.at[:19], i.also, i.category, i.project) for i in reading.items] == [
        ("Late.", "", "", "discovery", "shop"),
        ("Huge.", "", "", "discovery", "shop"),
        ("A. One fact.", "2023-11-14T22:13:20", "", "discovery", "shop"),
        ("At length", "2025-11-02T10:02:00", "x", "discovery", "shop"),
        ("Text?", "2025-11-02T10:03:00", "", "x", "shop"),
        ("The cache", "2025-11-02T10:07:00", "Why?", "session summary", "shop"),
        ("Never push", "2025-11-02T10:08:00", "", "directive", "shop"),
    ]
    assert [(i.type, i.scope) for i in reading.items[-2:]] == [
        ("note", "team"),
        ("constraint", "team"),
    ]
    assert [i.key.split()[0] for i in reading.items[-3:]] == [
        "observation",
        "summary",
        "directive",
    ]
    assert len({i.key for i in reading.items}) == 7
    (elsewhere,) = reading.left
    assert elsewhere == (items.ELSEWHERE, 2, ("blog",))
    everything = read(made.path, here._replace(whole=True))
    assert len(everything.items) == 9 and everything.left == ()


@pytest.mark.parametrize(
    "table",
    [
        "observations (project, created_at_epoch)",
        "observations (project, title)",
        "observations (created_at_epoch, text)",
    ],
)
def test_a_database_with_other_columns_than_claude_mems_is_refused(
    tmp_path: Path, here: Here, table: str
) -> None:
    path = tmp_path / "claude-mem.db"
    with sqlite3.connect(path) as c:
        c.execute(f"CREATE TABLE {table}")

    with pytest.raises(BadInput, match="tables: observations"):
        read(path, here)


def test_observations_of_basic_memory_get_their_types_contexts_and_fallbacks(
    tmp_path: Path, here: Here
) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "The Shop.md").write_text(
        "---\npermalink: shop\nentity_type: place\ncreated: 2025-01-02\nmodified: 2025-02-03\n"
        "---\n- [choice] We use tabs\n- [Requirement] It is fast (by law)\n"
        "- [bug] It is **torn**\n- [session] It went well\n- [todo] Who pays?\n- [ ] Task\n"
        "- plain\n## Style\n- [a] b\n- Be brief\n## Observations\n- Be kind\n"
        '## Links\n- [[Till|the till]]\n- "part of" [[Town]] #x\n- needs [[One]] and [[Two]]\n'
        "- one two three four [[Five]]\n- [[ ]]\n- [how] see [[Task]]\n\nuses [[Paragraph]]\n",
        "utf-8",
    )
    (folder / "schema.md").write_text("---\npermalink: s\ntype: schema\n---\n- [a] b\n")
    (folder / "titled.md").write_text("---\npermalink: t\n---\n# Titled\n## Titled\n- Be quick\n")

    reading = read(folder, here)

    found = [(i.type, i.category, i.what, i.also) for i in reading.items]
    assert found[:8] == [
        ("decision", "choice", "We use tabs", ""),
        ("constraint", "Requirement", "It is fast", "by law"),
        ("problem", "bug", "It is torn", ""),
        ("note", "session", "It went well", ""),
        ("question", "todo", "Who pays?", ""),
        ("note", "", "Task", ""),
        ("note", "", "plain", ""),
        ("note", "a", "b", ""),
    ]
    assert [i.what for i in reading.items[8:]] == [
        "Style: Be brief",
        "Be kind",
        "Links: needs One and Two",
        "Links: one two three four Five",
        "Links: ",
        "see Task",
        "Links: uses Paragraph",
        "Be quick",
    ]
    assert [tuple(r) for r in reading.relations] == [
        ("The Shop", "relates_to", "Till"),
        ("The Shop", "part of", "Town"),
    ]
    first, last = reading.items[0], reading.items[-1]
    assert (first.entities, first.place) == ((("The Shop", "place", ()),), "The Shop.md")
    assert (first.at, first.line) == ("2025-02-03T00:00:00.000Z", 7)
    assert last.entities == (("Titled", "note", ()),)
    assert last.at[:2] == "20" and left(reading) == {"definitions of schemas": 1}


def test_the_files_of_an_auto_memory_are_read_with_their_headings_types_and_pointers(
    tmp_path: Path, here: Here
) -> None:
    folder = tmp_path / "projects" / "-shop" / "memory"
    folder.mkdir(parents=True)
    (folder / "MEMORY.md").write_text(
        "- Be brief\n- [a](a.md) points\n## Style\n- Never use tabs\n"
    )
    (folder / "a.md").write_text("---\nname: a\ndescription: Use spaces\ntype: user\n---\n")
    (folder / "b.md").write_text(
        "---\nname: b\ntype: project\n---\nWhy: one\nmore\n\nHow to apply: now\n\nand then\n"
    )
    (folder / "old.md").write_text("## Build\nUse **make**, see [a](a.md)\n")

    reading = read(folder, here)

    assert [(i.type, i.what, i.place, i.line) for i in reading.items] == [
        ("note", "Be brief", "MEMORY.md", 1),
        ("constraint", "Style: Never use tabs", "MEMORY.md", 4),
        ("preference", "Use spaces", "a.md", 0),
        ("note", "and then How to apply: now", "b.md", 0),
        ("decision", "Build: Use make, see a", "old.md", 2),
    ]
    topics = reading.items[2:4]
    assert [(i.why, i.category, i.also) for i in topics] == [
        ("", "user", "a Use spaces"),
        ("one more", "project", "b "),
    ]
    assert len({i.key for i in reading.items}) == 5
    assert reading.left == ((notes.POINTERS, 1, ("[a](a.md) points",)),)


def test_memories_of_codex_keep_their_preferences_terms_and_newest_time(
    tmp_path: Path, here: Here
) -> None:
    folder = tmp_path / "memories"
    folder.mkdir()
    (folder / "memory_summary.md").write_text("x")
    shop = tmp_path / "shop"
    (folder / "MEMORY.md").write_text(
        f"""# Group one
scope: (cwd={shop}, updated_at=2026-02-12T10:30:00Z); x cwd={shop}; updated_at=2026-03-01
## User preferences
- Use tabs
## Keywords
- stripe
## rollout_summary_files
- a.md
A paragraph.
---
description: Payments
keywords: retry
---
# Group two
- Never retry (cwd=/elsewhere)
# Group three
- Use Bazel (cwd=)
""",
        "utf-8",
    )

    own, whole = read(folder, here), read(folder / "MEMORY.md", here._replace(whole=True))

    (one,) = own.items
    assert (one.type, one.what, one.category) == ("preference", "Use tabs", "User preferences")
    assert (one.at, one.project, one.line) == ("2026-03-01T00:00:00.000Z", str(shop), 4)
    assert [tuple(one) for one in own.left] == [
        (items.ELSEWHERE, 1, ("Never retry (cwd=/elsewhere)",)),
        (items.UNSTATED, 1, ("Use Bazel (cwd=)",)),
    ]
    assert [(i.type, i.what, i.project, i.also) for i in whole.items] == [
        ("preference", "Use tabs", str(shop), ""),
        ("constraint", "Never retry (cwd=/elsewhere)", "/elsewhere", "Payments retry"),
        ("decision", "Use Bazel (cwd=)", "", ""),
    ]
    assert whole.items[1].at[:2] == "20" and whole.items[1].line == 15


def test_the_material_of_codex_memories_is_counted_only_for_its_folder(
    tmp_path: Path, here: Here
) -> None:
    folder = tmp_path / "memories"
    (folder / "rollout_summaries").mkdir(parents=True)
    for name in ("a.md", "b.md"):
        (folder / "rollout_summaries" / name).write_text("x")
    (folder / "MEMORY.md").write_text("# Nothing\n")

    of_folder, of_file = (
        sources.CODEX.read(str(path), here).left for path in (folder, folder / "MEMORY.md")
    )

    assert [(one.number, one.examples) for one in of_folder] == [(2, ("a.md",))]
    assert of_file == ()
