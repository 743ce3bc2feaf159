"""Files of lines that a purge rewrites: lines that are deleted, changed or kept."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from memory_fabric.ids import new_id
from memory_fabric.models import Operation
from memory_fabric.store import files, journal, write
from memory_fabric.store.forget import purge, purge_files
from memory_fabric.store.forget.scrub_log import PurgeTarget, line_without
from memory_fabric.store.forget.spellings import Needle, Sought
from memory_fabric.store.home import signing
from memory_fabric.store.queues import late_events
from memory_fabric.store.tiers import memory_md
from store.support import TOOL, World, entity

TARGET = PurgeTarget(ids=frozenset(["r1"]), words=("secret plan",))


def test_lines_with_the_words_are_deleted_from_a_log_and_all_others_kept(tmp_path: Path) -> None:
    path = tmp_path / "faults.log"
    path.write_bytes(b"first\n\na Secret  plan\n\xff last\n")

    assert purge_files.lines_with(str(path), TARGET) == 1
    assert purge_files.rewrite(str(path), TARGET)
    assert path.read_bytes() == b"first\n\n\xff last\n"
    assert not purge_files.rewrite(str(path), TARGET)
    assert purge_files.lines_with(str(path), TARGET) == 0


def test_a_missing_file_has_no_purged_content(tmp_path: Path) -> None:
    missing = str(tmp_path / "none")
    (tmp_path / "file").write_text("")

    assert not purge_files.rewrite(missing, TARGET)
    assert purge_files.lines_with(missing, TARGET) == 0
    assert purge_files.lines_with(str(tmp_path / "file" / "x"), TARGET) == 0
    assert not purge_files.is_in_file(missing, TARGET.sought)
    assert purge_files.memory_block(missing) == b""


def test_lines_that_are_objects_are_changed_and_deleted_only_if_the_words_remain(
    tmp_path: Path,
) -> None:
    path = tmp_path / "operations.jsonl"
    lines: list[Mapping[str, Any]] = [
        {"kind": "forget", "payload": {"ids": ["r1", "r2"]}},
        {"kind": "forget", "payload": {"ids": ["r2"]}},
        {"text": "Größe, secret plan"},
        {"a": ["secret", "plan", 1]},
    ]
    torn = ['{"torn": "secret plan', '{"torn": "r1"', ""]
    path.write_text("\n".join([*(json.dumps(line) for line in lines), *torn]), "utf-8")

    assert purge_files.rewrite(str(path), TARGET, lambda line: line_without(line, TARGET))

    left = path.read_text("utf-8").split("\n")
    assert left[:2] == [json.dumps(lines[1])] * 2
    assert left[2] == '{"text": "Größe, [erased]"}'
    assert left[-2:] == ['{"torn": "r1"', ""]
    assert not TARGET.is_in("\n".join(left[:-3]))


def test_a_purged_record_is_marked_as_forgotten_in_the_decisions(tmp_path: Path) -> None:
    path = tmp_path / journal.DECISIONS
    lines: list[dict[str, Any]] = [
        {"id": "r1", "what": "Use Redis"},
        {"id": "r1", "forgotten": True, "at": "2026-01"},
        {"id": "r2", "what": "Use Kafka", "evidence": {"quotation": "a secret plan"}},
        {"id": "r3", "what": "Use Postgres"},
    ]
    files.append_lines(str(path), lines)

    purge_files.rewrite_decisions(str(path), TARGET, str(tmp_path / "home"))

    first, *others = files.read_lines(str(path))[0]
    assert (first["id"], first["forgotten"], "what" in first) == ("r1", True, False)
    assert others[0] == lines[1] and others[2] == lines[3]
    assert others[1] == {**lines[2], "evidence": {"quotation": "a [erased]"}}


def test_only_lines_of_a_queue_that_our_key_signed_are_signed_again(tmp_path: Path) -> None:
    key = b"a key"
    of_user = PurgeTarget(names=frozenset(["Ann"]), words=TARGET.words)
    targets = {"project": replace(TARGET, texts=("likes green tea",)), "user": of_user}
    lines: list[dict[str, Any]] = []
    for store in ("project", "user", "elsewhere"):
        payload = {"entities": [entity("Ann"), entity("plan", "a secret plan"), entity("zoo")]}
        line = write.as_object(Operation(new_id(), "create_entities", payload, TOOL, store))
        lines += [line | {"signature": signing.signature(line, key)}, {**line, "signature": "x"}]
    path = tmp_path / f"{journal.WAITING}0-1.jsonl"
    files.append_lines(str(path), lines)
    bad = tmp_path / journal.BAD
    files.append_lines(str(bad), [{"line": t} for t in ("a secret plan", "likes green tea", "zoo")])

    purge_files.rewrite_queue(str(tmp_path), key, targets)

    left = files.read_lines(str(path))[0]
    assert [signing.is_ours(line, key) for line in left] == [True, False] * 3
    names = [[item["name"] for item in line["payload"]["entities"]] for line in left]
    ours, theirs = ["Ann", "plan", "zoo"], ["plan", "zoo"]
    assert names == [ours, ours, theirs, theirs, ours, ours]
    assert "secret plan" not in json.dumps(left[0]) and left[1]["signature"] == "x"
    assert files.read_lines(str(bad))[0] == [{"line": "zoo"}]


def test_only_text_outside_of_our_block_counts_as_the_users(tmp_path: Path) -> None:
    path = tmp_path / "MEMORY.md"
    begin, end = memory_md.BEGIN, memory_md.END
    in_block, outside = Sought((Needle("our plan"),)), Sought((Needle("my plan"),))
    path.write_bytes(f"my plan\r\n{begin}\r\nour plan\r\n{end}\r\nlast".encode())

    block = purge_files.memory_block(str(path))

    assert block.decode().startswith(begin) and block.decode().endswith("our plan\n")
    assert purge_files.is_in_user_text(str(path), outside)
    assert not purge_files.is_in_user_text(str(path), in_block)
    for unclosed in (f"{begin}\nour plan", f"{end}\n{begin}\nour plan"):
        path.write_text(unclosed)
        assert purge_files.memory_block(str(path)) == b""
        assert purge_files.is_in_user_text(str(path), in_block)


def test_journals_queues_and_databases_are_no_logs() -> None:
    logs = ["faults.log", "faults.log.1", "set-aside.jsonl"]
    others = ["operations.jsonl", "graph-queue.0-1.jsonl", "graph-queue.bad.jsonl", "graph.db"]

    assert [name for name in logs + others if purge_files.is_log(f"/home/{name}")] == logs


def test_settings_files_and_the_registry_do_not_count_as_memories() -> None:
    ours: dict[str, bool] = {
        "/h/registry.json": False,
        "/h/config.toml": False,
        "/h/projects/p/graph.db-wal": True,
        "/h/logs/faults.log": True,
        "/h/forward/state.json": True,
    }

    assert {path: purge_files.is_of_memories(path) for path in ours} == ours


def test_a_purge_removes_the_purged_entity_from_a_queued_change(tmp_path: Path) -> None:
    world = World(tmp_path)
    memory = world.memory()
    payload = {"entities": [entity("Ann", "is away"), entity("gate", "is green")]}
    operation = memory.operation("create_entities", payload, TOOL, "project")
    path = world.local / f"{journal.WAITING}0-1.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(write.as_object(operation)) + "\n", "utf-8")
    of_project = PurgeTarget(names=frozenset(("Ann",)))
    targets = {"project": of_project, "user": PurgeTarget()}

    purge_files.rewrite_queue(str(world.local), b"key", targets)

    [left] = json.loads(path.read_text("utf-8"))["payload"]["entities"]
    assert left["name"] == "gate"


def test_an_event_that_was_set_aside_is_erased_like_one_that_waits(tmp_path: Path) -> None:
    world = World(tmp_path)
    folder = world.home / late_events.FOLDER
    folder.mkdir(parents=True)
    (folder / f"1-a.jsonl{late_events.REFUSED}").write_text('{"event": "a secret plan"}\n')

    memory = world.memory()
    memory.write("create_entities", {"entities": [entity("gate", "is green")]}, TOOL)

    found = purge.find(memory, "secret plan")
    counts, _ = purge.preview(memory, found)
    purge.purge(memory, found, TOOL)
    memory.close()

    assert counts["logs"] == 1
    assert [path.read_text() for path in folder.iterdir() if path.suffix != ".lock"] == [""]
