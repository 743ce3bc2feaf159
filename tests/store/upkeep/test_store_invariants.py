"""Check: what is wrong, where, and what helps; what merely could be tidied does not harm."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from memory_fabric.config import PURGING
from memory_fabric.store import files, journal
from memory_fabric.store.history import merge
from memory_fabric.store.memory import Memory
from memory_fabric.store.projects import identity, registry_file
from memory_fabric.store.queries import graph
from memory_fabric.store.upkeep import backup, integrity, repair
from store.support import TOOL, USER, World, create, database, decision, entity, relation


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.fixture
def memory(world: World) -> Memory:
    memory = world.memory()
    memory.remember(decision(), USER)
    create(memory, entity("api", "is fast"))
    memory.flush()
    for db in memory.databases():
        backup.create(db.path)
    return memory


def kinds(memory: Memory) -> dict[str, bool]:
    """Return what was found, and whether it harms."""
    return {finding.what: finding.harms for finding in integrity.findings(memory)}


def test_an_intact_memory_gives_no_findings(memory: Memory) -> None:
    assert integrity.findings(memory) == []


def test_an_empty_memory_gives_no_findings(world: World) -> None:
    assert integrity.findings(world.memory()) == []


def test_an_index_is_large_if_its_number_of_rows_reaches_the_limit(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = world.memory()
    memory.remember(decision(), USER)
    graph_of_project = database(memory)
    counts = {}
    for least in (1, 2):
        monkeypatch.setattr(integrity, "LARGE_ROWS", least)
        counts[least] = [
            integrity.is_large(graph_of_project, table) for table in ("records_fts", "episodes_fts")
        ]

    assert counts == {1: [True, False], 2: [False, False]}


def test_the_check_reports_empty_entities_similar_names_and_ambiguous_aliases(
    memory: Memory,
) -> None:
    create(memory, entity("list-endpoints", "a"), entity("List_Endpoints", "b"), entity("alone"))
    merge.change_aliases(memory, "api", ["web"], USER)
    create(memory, entity("Web", "is new"))

    found = {finding.what: finding for finding in integrity.findings(memory)}

    assert {name: f.harms for name, f in found.items()} == dict.fromkeys(
        ("orphans", "variants", "alias"), False
    )
    assert "list-endpoints, List_Endpoints" in found["variants"].text
    assert "alone" in found["orphans"].text and "--orphans" in found["orphans"].remedy
    assert "'web'" in found["alias"].text and "'Web'" in found["alias"].text


def test_the_check_names_the_first_few_of_many_empty_entities(memory: Memory) -> None:
    create(memory, *(entity(f"alone{number}") for number in range(6)), entity(" "))

    (found,) = integrity.findings(memory)

    assert found.text == (
        "Entities without observations and relations: "
        "alone0, alone1, alone2, alone3, alone4 and 2 more."
    )


def test_the_check_describes_a_blank_name_and_names_that_a_deletion_left_without_relations(
    memory: Memory,
) -> None:
    create(memory, entity(" "), entity("web", "is new"))
    memory.write("create_relations", {"relations": [relation("web", "uses", "api")]}, TOOL)
    memory.write("delete_relations", {"relations": [relation("web", "uses", "api")]}, TOOL)

    empty, left = (finding.text for finding in integrity.findings(memory))

    assert empty == "Entities without observations and relations: ' ' (a blank name)."
    assert left == "Entities that a deletion left without relations: web, api."


def test_an_inconsistent_index_is_found_and_repaired(memory: Memory) -> None:
    db = database(memory)
    with db.transaction() as c:
        c.execute("INSERT INTO observations_fts (observations_fts) VALUES ('delete-all')")

    found = kinds(memory)
    repair.rebuild(db.path, "project", memory.journal_of("project"))[0].close()

    assert found == {"index": True}
    assert integrity.findings(memory) == []


def test_the_sampling_check_accepts_every_full_text_index_of_an_intact_memory(
    memory: Memory,
) -> None:
    create(memory, entity("café", "naïve_words and Größe, 日本語", "a\0word behind NUL"))
    turn = {"id": "t", "session": "s", "role": "user", "text": "Said so", "created_at": "2026"}
    memory.write("add_episodes", {"episodes": [turn]}, USER)

    for db in memory.databases():
        assert all(integrity.samples_match(db, table) for table in repair.FULL_TEXT)


@pytest.mark.parametrize("table", ["observations_fts", "entities_trigrams", "records_fts"])
def test_an_emptied_full_text_index_is_detected_by_sampling_rows(
    memory: Memory, table: str
) -> None:
    db = database(memory)
    with db.transaction() as c:
        c.execute(f"INSERT INTO {table} ({table}) VALUES ('delete-all')")

    assert not integrity.samples_match(db, table)


def test_the_sampling_check_detects_missing_row_sizes_in_a_full_text_index(memory: Memory) -> None:
    db = database(memory)
    with db.transaction() as c:
        c.execute("DELETE FROM observations_fts_docsize")

    assert not integrity.samples_match(db, "observations_fts")


def test_a_journal_larger_than_the_size_limit_of_queues_is_checked(memory: Memory) -> None:
    with open(memory.journal_of("project"), "ab") as file:
        file.write((b" " * 1023 + b"\n") * (files.MAX_LINES_BYTES >> 10))

    assert integrity.findings(memory) == []


def test_the_integrity_check_reports_its_progress_for_every_check(memory: Memory) -> None:
    told: list[tuple[int, int]] = []

    integrity.findings(memory, progress=lambda done, of: told.append((done, of)))

    assert [done for done, _ in told] == list(range(len(told)))
    assert {of for _, of in told} == {len(told)}


def test_relations_to_missing_entities_are_found(memory: Memory) -> None:
    connection = database(memory).connection
    connection.execute("PRAGMA foreign_keys = OFF")
    connection.execute(
        "INSERT INTO relations (source, type, target, domain, created_at) "
        "VALUES (99, 'uses', 98, 'general', '2026')"
    )

    assert kinds(memory)["links"]


def test_unreadable_lines_are_reported_with_their_numbers(world: World, memory: Memory) -> None:
    for path in (world.local / journal.DECISIONS, Path(memory.journal_of("project"))):
        with path.open("a", encoding="utf-8") as lines:
            lines.write("{torn\n")

    found = [finding for finding in integrity.findings(memory) if finding.what == "lines"]

    assert sorted(finding.text for finding in found) == [
        "Unreadable lines: 2.",
        "Unreadable lines: 3.",
    ]
    assert all(finding.harms for finding in found)


def test_the_check_reports_queued_changes_and_files_that_were_set_aside(
    world: World, memory: Memory
) -> None:
    line = '{"id": "x", "kind": "forget", "payload": {"ids": []}}\n'
    (world.local / journal.QUEUE).write_text(line, "utf-8")
    (world.local / journal.BAD).write_text('{"line": "x"}\n', "utf-8")
    Path(memory.path_of("project") + ".corrupt-20260101T000000").write_bytes(b"x")

    found = [(f.what, f.harms) for f in integrity.findings(memory)]

    assert found == [("queue", True), ("set aside", False), ("queue", False)]


def test_missing_or_unreadable_backups_are_found(memory: Memory) -> None:
    path = database(memory).path
    (copy,) = backup.list_backups(path)
    files.write_atomic(copy, b"no database " * 400)

    unsound = kinds(memory)
    Path(copy).unlink()

    assert (unsound, kinds(memory)) == ({"backup": True}, {"backup": False})


def test_an_older_backup_of_a_large_database_is_read_completely_only_by_a_full_check(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = database(memory).path
    [older] = backup.list_backups(path)
    size = Path(older).stat().st_size
    with open(older, "r+b") as stream:
        stream.seek(size - 4096)
        stream.write(b"\xff" * 4096)
    assert kinds(memory) == {"backup": True}
    backup.create(path)
    assert kinds(memory) == {"backup": True}

    monkeypatch.setattr(backup, "LARGE_BYTES", size - 1)
    sampled = integrity.findings(memory)
    (found,) = integrity.findings(memory, full=True)

    assert sampled == []
    assert found.where == older
    for newer in backup.list_backups(path)[:-1]:
        Path(newer).unlink()
    assert kinds(memory) == {"backup": True}


def test_a_lost_registry_of_projects_is_found_if_projects_are_known(
    world: World, memory: Memory
) -> None:
    path = world.home / registry_file.REGISTRY
    path.unlink()

    (found,) = integrity.findings(memory)

    assert (found.what, found.where, found.harms) == ("registry", str(path), True)
    assert found.text == "The registry of projects is lost; the cards replace it."


def test_keys_on_a_project_card_that_the_registry_lacks_are_found(
    world: World, memory: Memory
) -> None:
    assert memory.project is not None
    card = Path(identity.folder_of(str(world.home), memory.project.id)) / registry_file.CARD
    text = card.read_text("utf-8").replace('"keys": [', '"keys": ["folder:/srv/moved", ')
    card.write_text(text, "utf-8")

    (found,) = integrity.findings(memory)

    assert (found.what, found.harms) == ("registry", True)
    assert found.text == "Keys on project cards that the registry lacks: folder:/srv/moved."


def test_a_registered_project_whose_folder_in_home_is_gone_is_found(
    world: World, memory: Memory
) -> None:
    assert memory.project is not None
    other = World(world.root, "other").memory()
    assert other.project is not None
    other.close()
    gone = identity.folder_of(str(world.home), other.project.id)
    shutil.rmtree(gone)

    (found,) = integrity.findings(memory)

    assert (found.what, found.where, found.harms) == ("project", gone, True)
    assert other.project.id in found.text


def test_a_damaged_database_is_found(world: World, memory: Memory) -> None:
    path = Path(database(memory).path)
    memory.close()
    path.write_bytes(b"no database " * 400)

    assert kinds(world.memory())["database"]


def test_an_interrupted_purge_is_found(memory: Memory) -> None:
    pending = Path(memory.settings.home) / PURGING
    files.write_atomic(str(pending), files.pretty_json({"request": "Ann"}))

    (finding,) = integrity.findings(memory)

    assert finding.harms and "purge" in finding.text and "Ann" not in finding.text


def test_removing_orphans_is_recorded_as_an_operation(memory: Memory) -> None:
    create(memory, entity("alone"))
    payload = {"entityNames": graph.orphans(database(memory))}

    memory.write("remove_orphans", payload, TOOL, store="project")

    assert integrity.findings(memory) == []
