"""Journals and the queue: what is appended, what waits in which order, and what is set aside."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import pytest

from memory_fabric import models
from memory_fabric.models import OTHERS, Operation, Provenance
from memory_fabric.store import files, journal, records, write
from memory_fabric.store.home import signing
from memory_fabric.store.memory import Memory
from store.queues.operations import operation, queue, signed
from store.support import TOOL, USER, World, create, database, decision, entity


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.fixture
def memory(world: World) -> Memory:
    return world.memory()


def exported(memory: Memory, folder: Path, **how: Any) -> int:
    return journal.export(database(memory), memory.journal_of("project"), str(folder), **how)


def decisions(folder: Path) -> list[dict[str, Any]]:
    path = folder / journal.DECISIONS
    return files.read_lines(str(path))[0] if path.exists() else []


@pytest.mark.parametrize(
    ("evidence", "left"),
    [
        ({"quotation": "q", "agreed": "a", "prompt": "p", "before": "b", "when": "w"}, ["when"]),
        ({"quotation": "q", "agreed": "a", models.RELEASED: "yes"}, ["quotation", models.RELEASED]),
        ({"quotation": "q", "before": "b", models.FOR_TEAM: 1}, ["quotation", models.FOR_TEAM]),
        ({"quotation": "q", models.RELEASED: ""}, [models.RELEASED]),
        ({"when": "w"}, ["when"]),
        ({}, []),
    ],
)
def test_quotations_are_left_out_of_shared_lines_unless_they_may_be_shared(
    evidence: dict[str, Any], left: list[str]
) -> None:
    line = {"id": "r1", "what": "Use Redis", "evidence": evidence}

    shared = journal.without_words(line)

    assert shared == {**line, "evidence": {name: evidence[name] for name in left}}
    assert journal.without_words({"id": "r1", "forgotten": True}) == {"id": "r1", "forgotten": True}


def test_the_lines_of_merge_conflicts_are_found_by_their_numbers(tmp_path: Path) -> None:
    path = tmp_path / "decisions.jsonl"
    lines = ["<<<<<<< HEAD", "{}", "||||||| base", "=======", " =======", "======", ">>>>>>> x"]
    path.write_text("\n".join(lines))

    assert journal.conflict_markers(str(path)) == [1, 3, 4, 7]


def test_journals_and_queues_are_recognised_by_their_names() -> None:
    waiting, ours = "graph-queue.0a-1f.jsonl", [journal.QUEUE, journal.CLAIMED]
    ours += [journal.BAD, journal.DECISIONS]
    others = ["graph-queue.0a.jsonl", "graph-queue.0x-1f.jsonl", "graph-queue.0a-1f.json"]
    others += ["other-queue.0a-1f.jsonl", "notes.jsonl"]
    names = [waiting, *ours, *others]

    assert [name for name in names if journal.is_waiting_name(name)] == [waiting]
    assert [name for name in names if journal.is_ours(name)] == [waiting, *ours]


def test_a_new_operation_waits_behind_those_whose_time_is_still_to_come(world: World) -> None:
    world.local.mkdir(parents=True)
    (world.local / journal.QUEUE).write_text("")
    queue(world, operation("one"))
    late = world.local / f"{journal.WAITING}{'f' * 14}09-00.jsonl"
    late.write_text("torn\n")

    queue(world, operation("two", "0199aaaa-0000-7000-8000-00000000beef"))

    *_, last = journal.waiting_files(str(world.local))
    assert Path(last).name == f"{journal.WAITING}{'f' * 14}0a-00000000beef.jsonl"
    assert stat.S_IMODE(Path(last).stat().st_mode) == 0o600
    waiting, invalid = journal.queued(str(world.local))
    assert [line["payload"]["entities"][0]["name"] for line in waiting] == ["one", "two"]
    assert invalid == [1]


def test_a_queue_that_would_exceed_its_size_limit_accepts_no_operation(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue(world, operation("one"))
    [path] = map(Path, journal.waiting_files(str(world.local)))
    monkeypatch.setattr(journal, "MAX_QUEUE_BYTES", path.stat().st_size + 1)

    with pytest.raises(files.TooLarge):
        queue(world, operation("two"))

    assert journal.waiting_files(str(world.local)) == [str(path)]


@pytest.mark.parametrize(("head_lines", "is_refused"), [(3, False), (2, True)])
def test_a_large_queue_is_read_only_if_our_signature_is_near_its_start(
    world: World, monkeypatch: pytest.MonkeyPatch, head_lines: int, is_refused: bool
) -> None:
    line = signed(world, write.as_object(operation("one")))
    files.append_lines(str(world.local / journal.CLAIMED), [{"n": 1}, {"n": 2}, line])
    key, applied = signing.key_of(str(world.home)), list[Operation]()
    monkeypatch.setattr(journal, "MAX_HEAD_LINES", head_lines)
    monkeypatch.setattr(journal, "MAX_UNSIGNED_BYTES", 1)

    assert journal.drain(str(world.local), key, applied.append) == len(applied) == (not is_refused)

    assert len(files.take_refused_files()) == is_refused
    assert (world.local / journal.REFUSED).exists() == is_refused


def test_the_folder_of_a_journal_is_hidden_from_git_once(tmp_path: Path) -> None:
    folder = tmp_path / "plain" / "memory"
    ignore = folder / ".gitignore"
    journal.prepare_folder(str(folder))
    assert ignore.read_text() == "*\n"

    ignore.write_text("mine\n")
    journal.prepare_folder(str(folder))

    assert ignore.read_text() == "mine\n"


def test_a_foreign_queue_is_not_moved_over_a_link(world: World) -> None:
    path, key = world.local / journal.CLAIMED, signing.key_of(str(world.home))
    world.local.mkdir(parents=True)
    path.write_bytes(b"\n" * (journal.MAX_UNSIGNED_BYTES + 1))
    (world.local / journal.REFUSED).symlink_to(world.root / "elsewhere")

    with pytest.raises(files.NotRegular):
        journal.drain(str(world.local), key, lambda _: None)

    assert path.exists() and not (world.root / "elsewhere").exists()


def test_every_operation_is_exported_once_in_batches(
    world: World, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal, "BATCH", 2)
    create(memory, entity("one"))
    for text in ("Use Redis", "Use Kafka"):
        memory.remember(decision(text, evidence={"quotation": text}), USER)
    told = list[list[dict[str, Any]]]()
    db = database(memory)
    assert journal.has_unexported(db)

    assert exported(memory, world.local, on_decisions=told.append, words=False) == 3

    assert not journal.has_unexported(db)
    lines = files.read_lines(memory.journal_of("project"))[0]
    assert [(line["kind"], line["store"]) for line in lines] == [
        ("create_entities", "project"),
        ("remember", "project"),
        ("remember", "project"),
    ]
    assert [line["what"] for line in decisions(world.local)] == ["Use Redis", "Use Kafka"]
    assert [line["evidence"] for line in decisions(world.local)] == [{}, {}]
    assert [len(batch) for batch in told] == [1, 1]
    assert exported(memory, world.local, on_decisions=told.append) == 0
    assert len(told) == 2
    memory.remember(decision("Use S3", evidence={"quotation": "S3"}), USER)
    assert exported(memory, world.local) == 1
    assert decisions(world.local)[-1]["evidence"] == {"quotation": "S3"}


@pytest.mark.parametrize("state", ["newer", "read_only"])
def test_nothing_is_exported_from_a_database_that_cannot_be_written(
    world: World, memory: Memory, state: str
) -> None:
    create(memory, entity("one"))
    setattr(database(memory), state, True)

    assert exported(memory, world.local) == 0
    assert not Path(memory.journal_of("project")).exists()


def test_the_journal_of_decisions_follows_what_becomes_of_a_record(
    world: World, memory: Memory
) -> None:
    kept = memory.remember(decision("Use Redis"), USER)
    assert kept is not None
    by = Provenance("cli", trust="user", at="2026-05")
    candidate = {**records.as_object(kept), "status": "candidate"}
    for record in (decision("x")._replace(type="session"), decision("x", scope="local")):
        memory.remember(record, USER)
    memory.remember(decision("Perhaps GraphQL", confidence=0.35), USER)
    payload = {"record": candidate, "seen_in": ["s1"]}
    exported(memory, world.local)
    assert [line["what"] for line in decisions(world.local)] == ["Use Redis"]

    memory.write("put_record", payload, by, store="project")
    exported(memory, world.local)
    again = {"record": {**candidate, "status": "active"}, "seen_in": ["s1"]}
    memory.write("put_record", again, by, store="project")
    exported(memory, world.local)
    memory.write("forget", {"ids": [kept.id]}, by, store="project")
    exported(memory, world.local)

    gone = {"id": kept.id, "forgotten": True, "at": "2026-05"}
    first, second, third, fourth = decisions(world.local)
    assert (second, fourth) == (gone, gone)
    assert first["what"] == third["what"] == "Use Redis"


def test_records_of_others_and_records_read_from_a_journal_are_not_written_to_ours(
    world: World, memory: Memory
) -> None:
    theirs = records.as_object(decision("Use Kafka", id="theirs", source=OTHERS))
    told = records.as_object(decision("Use Redis", id="told"))
    by = TOOL._replace(source="journal")
    memory.write("put_record", {"record": theirs, "seen_in": []}, by, store="project")
    memory.write("put_record", {"record": told, "seen_in": [], "told": True}, by, store="project")
    memory.write("forget", {"ids": ["theirs"]}, TOOL, store="project")

    exported(memory, world.local)

    assert decisions(world.local) == []


def test_lost_journals_are_written_again_from_the_database(world: World, memory: Memory) -> None:
    evidence = {"quotation": "Redis it is"}
    for text in ("Use Redis", "Use Kafka"):
        memory.remember(decision(text, evidence=evidence), USER)
    db, operations = database(memory), Path(memory.journal_of("project"))
    lines = world.local / journal.DECISIONS
    assert journal.missing_records(db, []) == []  # the next export writes them
    exported(memory, world.local)
    before = operations.read_bytes()
    ids = [line["id"] for line in decisions(world.local)]

    def restored(**how: bool) -> int:
        return journal.restore(db, str(operations), str(world.local), [str(lines)], **how)

    assert restored() == 0
    lines.write_text(lines.read_text().splitlines(keepends=True)[0])
    assert journal.missing_records(db, [str(lines)]) == ids[1:]
    assert restored(words=False) == 1
    assert decisions(world.local)[1]["evidence"] == {}
    operations.unlink()
    lines.write_text("")
    assert restored() == 4
    assert operations.read_bytes() == before
    assert [line["id"] for line in decisions(world.local)] == ids
    assert decisions(world.local)[1]["evidence"] == evidence
