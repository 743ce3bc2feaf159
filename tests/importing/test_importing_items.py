"""Statements of other programs: what is left out, what a record holds, and where it is stored."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from memory_fabric.config import read_settings
from memory_fabric.importing import items, run, runs
from memory_fabric.importing.items import Here, Item, Left, LeftOut, Text
from memory_fabric.importing.sources import Source
from memory_fabric.models import INSTRUCTIONS, Entity, Provenance, Record, Relation
from memory_fabric.store.memory import Memory

NOW = "2026-01-02T03:04:05.678Z"


def opened(folder: Path, project: str = "shop") -> Memory:
    """The memory in a folder of the project `shop`, or in a shell outside any project."""
    (folder / "shop" / ".git").mkdir(parents=True, exist_ok=True)
    settings = read_settings({"HOME": str(folder / "home"), "USER": "ann"}, {})
    return Memory.open(settings._replace(project_dir=str(folder / project) if project else ""))


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    """The memory of the project `shop`."""
    found = opened(tmp_path)
    yield found
    found.close()


def planned(
    memory: Memory,
    stated: Sequence[Item | Relation],
    others: dict[str, list[str]] | None = None,
    key: str = "notes",
) -> run.Plan:
    """The plan for a source that states this."""
    source = Source(key, "some notes", lambda path, here, left: iter(stated))
    return run.plan(memory, source, "notes.txt", items.here_of(memory), others or {})


def reasons(plan: run.Plan) -> list[tuple[str, int, tuple[str, ...]]]:
    """The reasons why a plan leaves items out, each with its number and examples."""
    return [(one.reason, one.number, one.examples) for one in plan.left]


def test_omitted_statements_are_counted_by_reason_with_at_most_three_short_examples() -> None:
    left = Left([LeftOut("known", 2, ("a",))])
    for example in ("b", "a", "", " c\n d " + "x" * 200, "e"):
        left.add("known", example)
    left.add("empty", number=3)

    assert left.all == (
        LeftOut("known", 7, ("a", "b", ("c d " + "x" * 200)[: items.MAX_EXAMPLE_CHARS])),
        LeftOut("empty", 3, ()),
    )


def test_a_source_may_name_a_project_by_its_name_in_any_case_its_folder_or_a_worktree(
    tmp_path: Path,
) -> None:
    here = Here("Shop", (str(tmp_path / "boats"),))

    assert all(map(here.is_stated, ("shop", "SHOP", "Boats", "shop/one", "boats/two/three")))
    assert not any(map(here.is_stated, ("", "blog", "one/shop", "shops")))
    assert not Here().is_stated("shop")
    gone = str(tmp_path / "gone")
    assert Here("", (gone,)).is_stated(gone)
    assert not Here("", (gone,)).is_stated(os.path.join(gone, "src"))


def test_the_folders_of_a_project_are_listed_once_and_the_one_of_the_shell_last(
    tmp_path: Path,
) -> None:
    (tmp_path / "shop" / "src").mkdir(parents=True)
    root, inside = str(tmp_path / "shop"), str(tmp_path / "shop" / "src")
    found = {}
    for folder in ("shop", "shop/src", ""):
        memory = opened(tmp_path, folder)
        found[folder] = items.here_of(memory, "/codex")
        memory.close()

    home = str(tmp_path / "home")
    config = os.path.join(home, ".claude")
    assert found == {
        "shop": Here("shop", (root,), home, config, "/codex"),
        "shop/src": Here("shop", (root, inside), home, config, "/codex"),
        "": Here("", (), home, config, "/codex"),
    }


def test_an_imported_record_keeps_the_time_place_and_fields_of_its_statement(
    memory: Memory,
) -> None:
    item = Item(
        " Use\x07 tabs ",
        "key",
        "constraint",
        "they\x07 are short",
        "2025-01-01T00:00:00.000Z",
        "shop",
        "style",
        also="indent",
        place="notes.md",
        line=3,
        confidence=0.9,
        entities=(Entity("tabs", "technology"),),
    )

    record = items.record_of(item, "mem0", memory, NOW)

    assert (record.what, record.why, record.type) == ("Use tabs", "they are short", "constraint")
    assert (record.trust, record.source) == ("tool", "import")
    assert (record.scope, record.domain, record.project) == ("team", "general", "shop")
    assert (record.category, record.confidence) == ("style", 0.9)
    assert record.entities == item.entities
    assert record.created_at == record.valid_from == item.at
    assert record.evidence == {
        "imported": "mem0",
        "place": "notes.md",
        "also": "indent",
        "project": "shop",
        "line": 3,
    }
    assert items.record_of(item, "mem0", memory, NOW).id == record.id
    assert items.record_of(item, "other", memory, NOW).id != record.id
    assert items.record_of(item._replace(key="k"), "mem0", memory, NOW).id != record.id


def test_an_imported_statement_without_a_time_or_from_the_future_gets_the_present_time(
    memory: Memory,
) -> None:
    times = [
        items.record_of(Item("Use tabs", "k", at=at), "mem0", memory, NOW).created_at
        for at in ("", "2999-01-01T00:00:00.000Z", "2020-01-01T00:00:00.000Z")
    ]

    assert times == [NOW, NOW, "2020-01-01T00:00:00.000Z"]


def test_the_evidence_of_an_instruction_names_its_file_instead_of_the_source(
    memory: Memory,
) -> None:
    item = Item("Use tabs", "k", place="CLAUDE.md", scope="user")

    record = items.record_of(item, INSTRUCTIONS, memory, NOW, "legal")
    homeless = items.record_of(item._replace(place=""), INSTRUCTIONS, memory, NOW)

    assert record.evidence == {
        "imported": "CLAUDE.md",
        "place": "CLAUDE.md",
        INSTRUCTIONS: "CLAUDE.md",
    }
    assert (record.scope, record.domain, record.project) == ("user", "legal", "")
    assert homeless.evidence == {"imported": INSTRUCTIONS}


def test_outside_a_project_an_imported_statement_is_the_users(tmp_path: Path) -> None:
    memory = opened(tmp_path, "")

    record = items.record_of(Item("Use tabs", "k"), "mem0", memory, NOW)
    plan = planned(memory, [Item("Use tabs", "k"), Relation("api", "uses", "Redis")])
    stored = run.store(memory, [plan], "import-1")
    memory.close()

    assert (record.scope, record.project) == ("user", "")
    assert [(part.folder, part.name) for part in plan.parts] == [("", "the user")]
    assert stored == [{"records": 1, "relations": 1, "batch": "import-1"}]


def test_an_imported_text_is_stored_up_to_the_maximum_length(memory: Memory) -> None:
    longest = "ab " * 700
    texts = [longest[: items.MAX_WHAT_CHARS - 1] + "z", longest]

    whole, cut = (items.record_of(Item(text, "k"), "x", memory, NOW).what for text in texts)

    assert whole == texts[0]
    assert len(cut) <= items.MAX_WHAT_CHARS and cut.startswith("ab ab")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", items.EMPTY), (" \n", items.EMPTY), ("[private]", items.EMPTY),
        ("<system-reminder>Use tabs</system-reminder>", items.NOISE),
        ("Caveat: The messages below were generated", items.NOISE),
        ("src/api/main.py docs/", items.NOISE), ("a 1 - b2", items.NOISE), ("...", items.NOISE),
        ("[redacted: token]", items.SECRET), ("表", ""), ("é", ""), ("ok", ""),
        ("src/api uses tabs", ""), ("The key [redacted: token] opens the gate", ""),
    ],
)  # fmt: skip
def test_machine_text_paths_and_secrets_are_not_worth_importing(text: str, reason: str) -> None:
    assert items.worthless(Record("note", text)) == reason


def test_the_files_of_a_folder_are_read_in_order_without_hidden_and_foreign_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("b.md", "a/c.MD", ".hidden.md", ".git/d.md", "node_modules/e.md", "x.rst"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"\ufeff{name}", "utf-8")
        os.utime(tmp_path / name, (0, 0))
    (tmp_path / "a" / "binary.md").write_bytes(b"a\0b")
    (tmp_path / "a" / "broken.md").symlink_to("nowhere")
    (tmp_path / "z.md").write_text("last")
    left, one = Left(), Left()
    monkeypatch.setattr(items, "MAX_FILES", 2)

    found = list(items.read_at(str(tmp_path), (".md",), left))
    alone = list(items.read_at(str(tmp_path / "x.rst"), (".md",), one))

    epoch = "1970-01-01T00:00:00.000Z"
    assert found == [Text("a/c.MD", "a/c.MD", epoch), Text("b.md", "b.md", epoch)]
    assert alone == [Text("x.rst", "x.rst", epoch)]
    assert one.all == ()
    assert left.all == (
        LeftOut(items.NOT_TEXT, 1, ("a/binary.md",)),
        LeftOut(items.UNREADABLE, 1, ("a/broken.md: it does not exist",)),
        LeftOut(items.TOO_MANY, 1, ("z.md",)),
    )


def test_a_plan_contains_each_new_statement_once_and_the_oldest_first(memory: Memory) -> None:
    early, late = "2025-01-01T00:00:00.000Z", "2025-02-01T00:00:00.000Z"
    stated = [
        Item("Deploys run at night", "1", at=late),
        Item("Use tabs", "2", at=late),
        Item("use TABS.", "3", at=early, project="shop"),
        Item("Use tabs", "4", at="2025-01-15T00:00:00.000Z", scope="user"),
        Item("", "5"),
    ]

    plan = planned(memory, [*stated, Relation("api", "uses", "Redis")])

    (part,) = plan.parts
    assert (part.folder, part.name, plan.new, plan.found) == ("", "shop", 3, 5)
    assert [(r.what, r.scope) for r in part.records] == [
        ("use TABS.", "team"),
        ("Use tabs", "user"),
        ("Deploys run at night", "team"),
    ]
    assert part.relations == (Relation("api", "uses", "Redis"),)
    assert plan.names == ("shop",)
    assert reasons(plan) == [(items.TWICE, 1, ("Use tabs",)), (items.EMPTY, 1, ())]


def test_statements_and_relations_that_memory_has_are_not_planned_again(memory: Memory) -> None:
    stated: list[Item | Relation] = [Item("Use tabs", "1"), Item("Ask Ann", "2")]
    stated.append(Relation("api", "uses", "Redis"))
    first = run.store(memory, [planned(memory, stated)], "import-1")
    user = Provenance("cli", trust="user")
    (known,) = memory.find_records("what = 'Ask Ann'", (), 1)
    memory.forget([known.id], user)

    again = planned(memory, [*stated, Item("use tabs", "3", scope="user")], key="other")

    assert first == [{"records": 2, "relations": 1, "batch": "import-1"}]
    assert [(r.what, r.scope) for r in again.parts[0].records] == [("use tabs", "user")]
    assert again.parts[0].relations == ()
    assert reasons(again) == [(items.KNOWN, 1, ("Use tabs",)), (items.FORGOTTEN, 1, ())]
    # A statement of the same source is known by its key, whatever its text is now.
    assert planned(memory, [Item("Use spaces", "1")]).new == 0
    # One that was closed is not in memory any more.
    (old,) = memory.find_records("what = 'Use tabs'", (), 1)
    memory.remember(Record("constraint", "Use spaces", confidence=0.9), user, [old.id])
    assert planned(memory, [Item("Use tabs", "9")], key="other").new == 1


def test_statements_of_other_projects_are_left_out_or_go_to_their_only_folder(
    memory: Memory, tmp_path: Path
) -> None:
    blog = tmp_path / "blog"
    (blog / ".git").mkdir(parents=True)
    (blog / "src").mkdir()
    stated = [
        Item("The shop sells boats", "1", project="shop"),
        Item("Hugo builds it", "2", project="Blog/one"),
        Item("Posts are in src", "3", project=str(blog / "src")),
        Item("It is blue", "4", project="twice"),
        Item("It is green", "5", project="nowhere"),
        Item("It is red", "6", project=str(tmp_path / "gone")),
    ]
    others = {"blog": [str(blog)], "twice": ["/a", "/b"]}

    alone, every = planned(memory, stated), planned(memory, stated, others)
    stored = run.store(memory, [every], "import-1")

    assert [(p.name, [r.what for r in p.records]) for p in alone.parts] == [
        ("shop", ["The shop sells boats"])
    ]
    assert [(reason, number) for reason, number, _ in reasons(alone)] == [(items.ELSEWHERE, 5)]
    assert [(p.folder, p.name, len(p.records)) for p in every.parts] == [
        ("", "shop", 1),
        (str(blog), "blog", 2),
    ]
    assert reasons(every) == [
        (run.SEVERAL, 1, ("twice",)),
        (run.NO_FOLDER, 2, ("nowhere", str(tmp_path / "gone"))),
    ]
    assert stored == [{"records": 3, "relations": 0, "batch": "import-1"}]
    (saved,) = runs.load(memory.settings.home, run.FILE)
    own = memory.settings.project_dir
    assert (saved.batch, saved.state) == ("import-1", "done")
    assert saved.folders == {own: own, str(blog): str(blog)}


def test_an_import_reports_its_progress_and_says_who_imported(memory: Memory) -> None:
    told: list[tuple[int, int]] = []
    plan = planned(memory, [Item("Use tabs", "1"), Relation("api", "uses", "Redis")])

    run.store(memory, [plan], "import-1", lambda done, of: told.append((done, of)))

    (record,) = memory.find_records("1", (), 9)
    assert (record.author, record.trust, record.source) == ("ann", "tool", "import")
    assert [of for _, of in told] == [3, 3]
    assert told[0][0] == 1 < told[1][0]


def test_an_import_of_nothing_new_is_not_listed_as_a_run(memory: Memory) -> None:
    assert run.store(memory, [planned(memory, [])], "import-1") == [
        {"records": 0, "relations": 0, "batch": "import-1"}
    ]
    assert runs.load(memory.settings.home, run.FILE) == []


def test_a_plan_lists_each_name_that_the_source_gives_this_project_once(memory: Memory) -> None:
    root = memory.settings.project_dir
    stated = [
        Item(f"Rule {number} holds", str(number), project=project)
        for number, project in enumerate(("Shop", "shop/one", "Shop", root, ""))
    ]

    assert planned(memory, stated).names == ("Shop", "shop/one")
