"""Transcripts through the door: read once, proportionally, whatever happens to the file."""

from __future__ import annotations

import json
import os
import sqlite3
import time
from pathlib import Path
from typing import Any

import pytest

from house import House
from memory_fabric import ids
from memory_fabric.capture import remember
from memory_fabric.models import Provenance
from memory_fabric.session import catch_up

DECISION = "Let's use PostgreSQL for the analytics DB because the team knows it."
FOUND = "The root cause was that the connection pool was never closed."


def episodes(house: House) -> list[tuple[str, str]]:
    memory = house.memory()
    rows = [
        (row[0], row[1])
        for db in memory.databases()
        for row in db.rows("SELECT session, text FROM episodes ORDER BY id")
    ]
    memory.close()
    return rows


def stop(house: House, session: str = "session-1", said: str = "Done.") -> str:
    """The notice with which a turn ends."""
    reply = house.fire("Stop", session, last_assistant_message=said, stop_hook_active=False)
    return str(reply.get("systemMessage", ""))


def age(house: House, path: Path, seconds: int = 7200) -> None:
    """Let a transcript and all sessions be so much older."""
    then = time.time() - seconds
    if path.exists():
        os.utime(path, (then, then))
    memory = house.memory()
    with memory.session_database().transaction() as c:
        c.execute("UPDATE sessions SET seen_at = ?", (ids.timestamp(then),))
    memory.close()


def row(house: House, session: str) -> tuple[Any, ...]:
    memory = house.memory()
    found = memory.session_database().row(
        "SELECT offset, ended_at, seen_at FROM sessions WHERE id = ?", (session,)
    )
    memory.close()
    assert found is not None
    return found


def forget_sessions(house: House) -> None:
    memory = house.memory()
    with memory.session_database().transaction() as c:
        c.execute("DELETE FROM sessions")
    memory.close()


class TestWork:
    def test_twenty_new_messages_behind_5_mb_cost_twenty_messages(
        self, house: House, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        padding = json.dumps({"type": "api-request-blob", "pad": "x" * 4000}) + "\n"
        with house.transcript.open("w", encoding="utf-8") as file:
            file.write(padding * 1300)
        house.say("assistant", FOUND)
        stop(house)
        size = house.transcript.stat().st_size
        assert size > 5_000_000
        for n in range(20):
            house.say("assistant" if n % 2 else "user", f"We looked at part {n} of the importer.")
        read: list[int] = []
        captured: list[str] = []
        os_read, capture = os.open, remember.remember_text

        def opened(path: Any, *rest: Any, **named: Any) -> int:
            handle = os_read(path, *rest, **named)
            if str(path) == str(house.transcript):
                read.append(handle)
            return handle

        def counted(memory: Any, text: str, *rest: Any, **named: Any) -> Any:
            captured.append(text)
            return capture(memory, text, *rest, **named)

        monkeypatch.setattr(os, "open", opened)
        monkeypatch.setattr(remember, "remember_text", counted)
        before = _bytes_read()
        stop(house)

        assert len(read) == 1
        assert len(captured) == 21  # the twenty, and the event's own message
        assert _bytes_read() - before < 1_500_000  # databases among it; the file is 5 MB
        assert row(house, "session-1")[0] == house.transcript.stat().st_size

    def test_nothing_new_is_nothing_read(self, house: House) -> None:
        house.say("assistant", FOUND)
        stop(house)
        offset = row(house, "session-1")[0]
        stop(house)

        assert row(house, "session-1")[0] == offset == house.transcript.stat().st_size

    def test_a_long_rest_is_read_by_the_hooks_that_follow(self, house: House) -> None:
        for n in range(40):
            house.say("assistant", f"Part {n}. " + "We looked at the importer. " * 600)
        stops = 0
        while row(house, "session-1")[0] < house.transcript.stat().st_size if stops else True:
            stop(house)
            stops += 1

        assert 1 < stops < 5
        assert len(episodes(house)) == 40


def _bytes_read() -> int:
    with open("/proc/self/io", encoding="ascii") as file:
        return int(file.readline().split()[1])


class TestOnce:
    def test_without_its_offset_a_transcript_is_read_again_and_nothing_is_new(
        self, house: House
    ) -> None:
        house.say("user", DECISION)
        house.say("assistant", FOUND)
        stop(house)
        before = [(r.id, r.confidence) for r in house.records("1")]
        forget_sessions(house)

        assert "remembered" not in stop(house)
        assert [(r.id, r.confidence) for r in house.records("1")] == before
        assert len(episodes(house)) == 2

    def test_entries_that_the_client_writes_again_with_new_ones_are_not_said_twice(
        self, house: House
    ) -> None:
        house.say("assistant", FOUND)
        stop(house)
        old = house.transcript.read_bytes()
        house.transcript.write_bytes(b'{"type": "mode", "mode": "normal"}\n' + old)
        house.say("assistant", "Nothing else was wrong with it.")
        stop(house)

        assert [text for _, text in episodes(house)] == [FOUND, "Nothing else was wrong with it."]
        assert len(house.records("1")) == 1

    @pytest.mark.parametrize("same_ids", [True, False])
    @pytest.mark.parametrize("names_parent", [True, False])
    def test_a_forks_copies_are_no_second_sighting(
        self, house: House, same_ids: bool, names_parent: bool
    ) -> None:
        hedged = "We decided on Redis."
        for n, text in enumerate((DECISION, hedged, FOUND)):
            house.say(
                "user" if n < 2 else "assistant", text, timestamp=f"2026-03-01T10:00:0{n}.000Z"
            )
        stop(house)
        before = [(r.id, r.confidence, r.session) for r in house.records("1")]
        seen = _seen_in(house)
        lines = [json.loads(line) for line in house.transcript.read_text().splitlines()]
        house.transcript = house.transcript.with_name("fork.jsonl")
        for line in lines:
            line["sessionId"] = "fork"
            line["uuid"] = line["uuid"] if same_ids else f"new-{line['uuid']}"
            if names_parent and line["type"] == "assistant":
                line["requestSessionId"] = "session-1"
        house.transcript.write_text("".join(json.dumps(line) + "\n" for line in lines))
        house.say("user", "And what now, in the fork?", session="fork")
        stop(house, "fork")

        assert [(r.id, r.confidence, r.session) for r in house.records("1")] == before
        assert _seen_in(house) == seen
        assert [s for s, _ in episodes(house)] == ["session-1"] * 3 + ["fork"]

    def test_what_a_parent_said_and_nobody_read_is_the_parents(self, house: House) -> None:
        house.say("user", DECISION, session="fork")
        house.say("assistant", FOUND, session="fork", requestSessionId="parent")
        house.say("assistant", "We chose Celery because it retries.", session="fork")
        stop(house, "fork")

        assert {r.type: r.session for r in house.records() if r.type == "problem"} == {
            "problem": "parent"
        }
        assert [s for s, _ in episodes(house)] == ["parent", "parent", "fork"]

    def test_what_was_forgotten_before_stop_stays_forgotten(self, house: House) -> None:
        house.say("user", DECISION)
        house.fire("UserPromptSubmit", prompt=DECISION)
        assert len(house.records()) == 1
        memory = house.memory()
        memory.forget([house.records()[0].id], Provenance("cli", trust="user"))
        memory.close()
        stop(house)
        forget_sessions(house)
        stop(house)

        assert house.records("1") == []

    def test_what_was_undone_before_stop_stays_undone(self, house: House) -> None:
        house.fire("UserPromptSubmit", prompt=DECISION)
        house.say("user", DECISION)
        assert house.command("undo", "--last", "--yes").returncode == 0
        stop(house)

        assert house.records("1") == []


def _seen_in(house: House) -> list[Any]:
    memory = house.memory()
    rows = [r for db in memory.databases() for r in db.rows("SELECT id, sightings FROM records")]
    memory.close()
    return sorted(rows)


class TestBadFiles:
    def test_a_shorter_file_is_read_from_its_start_and_told_once(self, house: House) -> None:
        house.say("assistant", "Some words that fill the file. " * 20)
        stop(house)
        house.transcript.write_bytes(b"")
        house.say("assistant", FOUND)

        assert "replaced or cut" in stop(house)
        assert "transcript" not in stop(house)
        assert [r.type for r in house.records()] == ["problem"]

    def test_another_longer_file_under_the_same_name_is_noticed(self, house: House) -> None:
        house.say("assistant", "A first file.")
        stop(house)
        house.transcript.unlink()
        house.say("assistant", FOUND)
        house.say("assistant", "More words that make it longer than the first one was. " * 30)

        assert "replaced or cut" in stop(house)
        assert [r.type for r in house.records()] == ["problem"]

    def test_a_file_that_is_gone_is_told_once_and_the_answer_is_kept(self, house: House) -> None:
        house.say("assistant", "A first file.")
        stop(house)
        house.transcript.unlink()

        assert "gone" in stop(house, said=FOUND)
        assert "transcript" not in stop(house, said=FOUND)
        assert [r.type for r in house.records()] == ["problem"]

    def test_a_client_that_keeps_none_is_left_in_peace(self, house: House) -> None:
        assert "transcript" not in stop(house)
        assert house.log == ""

    @pytest.mark.parametrize(
        "junk",
        [
            b"no json at all\n",
            b"\x00" * 4096 + b"\n",
            b"[" * 200_000 + b"\n",
            b'{"type": "user", "message": {"role": "user", "content": \n',
            b"\xff\xfe\x00x\n",
        ],
        ids=["text", "nul", "deep", "torn", "utf-16"],
    )
    def test_lines_that_are_no_json_are_passed_over_and_told_once(
        self, house: House, junk: bytes
    ) -> None:
        house.transcript.write_bytes(junk)
        house.say("assistant", FOUND)

        assert "could not be read" in stop(house)
        with house.transcript.open("ab") as file:
            file.write(junk)
        house.say("assistant", "And one line more.")
        assert "could not be read" not in stop(house)
        assert [text for _, text in episodes(house)] == [FOUND, "And one line more."]
        assert house.log.count("could not be read") == 1

    def test_a_line_of_ten_megabytes_is_set_aside(self, house: House) -> None:
        house.say("assistant", "Before it.")
        with house.transcript.open("ab") as file:
            file.write(b'{"type": "user", "pad": "' + b"x" * (10 << 20) + b'"}\n')
        house.say("assistant", FOUND)
        stop(house)
        stop(house)

        assert [text for _, text in episodes(house)] == ["Before it.", FOUND]

    def test_a_hundred_megabytes_that_nobody_has_read_do_not_hold_up_a_turn(
        self, house: House
    ) -> None:
        line = json.dumps({"type": "api-request-blob", "pad": "x" * 100_000}).encode() + b"\n"
        with house.transcript.open("wb") as file:
            for _ in range(1000):
                file.write(line)
        house.say("assistant", FOUND)
        began = time.process_time()
        stop(house)

        assert time.process_time() - began < 5
        assert 0 < row(house, "session-1")[0] < 10 << 20

    def test_unknown_entries_are_no_fault(self, house: House) -> None:
        house.transcript.write_text(
            '{"type": "hologram", "message": {"content": "x"}}\n{"message": 3}\n{}\n'
        )
        house.say("assistant", FOUND)

        assert "could not" not in stop(house)
        assert len(episodes(house)) == 1

    @pytest.mark.parametrize("kind", ["pipe", "folder", "device", "loop", "dangling"])
    def test_what_is_no_file_is_not_waited_for(self, house: House, kind: str) -> None:
        if kind == "pipe":
            os.mkfifo(house.transcript)
        elif kind == "folder":
            house.transcript.mkdir()
        else:
            target = {"device": "/dev/zero", "loop": str(house.transcript), "dangling": "/nowhere"}
            house.transcript.symlink_to(target[kind])
        notice = stop(house, said=FOUND)
        for source in ("startup", "fork", "resume"):
            house.fire("SessionStart", f"other-{source}", source=source)
        house.fire("PreCompact", trigger="auto")
        house.fire("SessionEnd", reason="other")

        assert ("cannot be read" in notice) is (kind != "dangling")
        assert [r.type for r in house.records()] == ["problem"]

    def test_a_link_to_a_file_is_followed(self, house: House, tmp_path: Path) -> None:
        elsewhere = tmp_path / "elsewhere.jsonl"
        elsewhere.write_bytes(b"")
        house.transcript.symlink_to(elsewhere)
        house.say("assistant", FOUND)
        stop(house)

        assert len(episodes(house)) == 1

    def test_a_turn_that_goes_on_keeps_the_notice_for_its_end(self, house: House) -> None:
        house.transcript.write_text("no json\n")
        during = house.fire("Stop", last_assistant_message="", stop_hook_active=True)

        assert during == {}
        assert "could not be read" in stop(house)


class TestCatchUp:
    def test_a_session_that_broke_off_is_read_and_has_ended(self, house: House) -> None:
        house.fire("UserPromptSubmit", prompt="Look at the pool")
        house.say("assistant", FOUND)
        age(house, house.transcript)
        house.fire("SessionStart", "session-2", source="startup", transcript_path="")

        assert [r.session for r in house.records()] == ["session-1"]
        assert row(house, "session-1")[1] != ""

    def test_several_are_caught_up_start_by_start_each_once(self, house: House) -> None:
        for n in range(5):
            house.transcript = house.transcript.with_name(f"t{n}.jsonl")
            house.fire("UserPromptSubmit", f"broken-{n}", prompt="Look at the pool")
            house.say("assistant", f"We looked at part {n}.", session=f"broken-{n}")
            age(house, house.transcript)
        for n in range(3):
            house.fire("SessionStart", f"new-{n}", source="startup", transcript_path="")

        assert sorted(s for s, _ in episodes(house)) == [f"broken-{n}" for n in range(5)]
        assert all(row(house, f"broken-{n}")[1] for n in range(5))

    def test_one_whose_transcript_is_gone_has_ended(self, house: House) -> None:
        house.say("assistant", "A first file.")
        stop(house)
        house.transcript.unlink()
        age(house, house.transcript)
        house.fire("SessionStart", "session-2", source="startup", transcript_path="")

        assert row(house, "session-1")[1] != ""
        assert "transcript" not in house.log

    def test_one_whose_folder_moved_is_found_beside_the_new_transcript(
        self, house: House, tmp_path: Path
    ) -> None:
        house.fire("UserPromptSubmit", prompt="Look at the pool")
        house.say("assistant", FOUND)
        age(house, house.transcript)
        (tmp_path / "moved").mkdir()
        house.transcript.rename(tmp_path / "moved" / house.transcript.name)
        beside = str(tmp_path / "moved" / "session-2.jsonl")
        house.fire("SessionStart", "session-2", source="startup", transcript_path=beside)

        assert [text for _, text in episodes(house)] == [FOUND]

    def test_one_whose_transcript_grows_is_alive(self, house: House) -> None:
        house.fire("UserPromptSubmit", prompt="Look at the pool")
        house.say("assistant", FOUND)
        age(house, house.transcript)
        os.utime(house.transcript)
        house.fire("SessionStart", "session-2", source="startup", transcript_path="")

        assert episodes(house) == []
        assert row(house, "session-1")[1] == ""

    def test_one_that_came_back_is_not_taken_for_dead_again(self, house: House) -> None:
        house.fire("UserPromptSubmit", prompt="Look at the pool")
        house.say("assistant", FOUND)
        age(house, house.transcript)
        house.fire("SessionStart", "session-2", source="startup", transcript_path="")
        assert row(house, "session-1")[1] != ""
        house.say("assistant", "I went on after lunch.")
        stop(house)
        assert row(house, "session-1")[1] == ""
        age(house, house.transcript)
        house.fire("SessionStart", "session-3", source="startup", transcript_path="")
        assert row(house, "session-1")[1] == ""
        age(house, house.transcript, 2 * catch_up.REVIVED_UNSEEN_FOR_S)
        house.fire("SessionStart", "session-4", source="startup", transcript_path="")

        assert row(house, "session-1")[1] != ""
        assert [text for _, text in episodes(house)] == [FOUND, "I went on after lunch."]

    def test_a_torn_last_line_does_not_keep_a_session_open(self, house: House) -> None:
        house.fire("UserPromptSubmit", prompt="Look at the pool")
        house.say("assistant", FOUND)
        with house.transcript.open("ab") as file:
            file.write(b'{"type": "assist')
        age(house, house.transcript)
        for n in range(2):
            house.fire("SessionStart", f"new-{n}", source="startup", transcript_path="")

        assert row(house, "session-1")[1] != ""

    def test_what_the_end_had_no_time_for_is_caught_up(self, house: House) -> None:
        for n in range(12):
            house.say("assistant", f"Part {n}. " + "We looked at the importer. " * 300)
        house.fire("SessionEnd", reason="other")
        assert row(house, "session-1")[1] == ""
        age(house, house.transcript)
        for n in range(8):
            house.fire("SessionStart", f"new-{n}", source="startup", transcript_path="")

        assert row(house, "session-1")[1] != ""
        assert len(episodes(house)) == 12

    def test_prompts_of_a_session_that_nobody_vouches_for_have_the_assistants_trust(
        self, house: House
    ) -> None:
        house.environ["CLAUDE_CODE_SESSION_ATTENDED"] = "0"
        house.fire("UserPromptSubmit", prompt="Look at the pool")
        house.say("user", DECISION)
        age(house, house.transcript)
        house.environ["CLAUDE_CODE_SESSION_ATTENDED"] = "1"
        house.fire("SessionStart", "session-2", source="startup", transcript_path="")

        assert [r.trust for r in house.records() if r.type == "decision"] == ["assistant"]

    def test_a_start_in_ci_leaves_them_to_others(self, house: House) -> None:
        house.fire("UserPromptSubmit", prompt="Look at the pool")
        house.say("assistant", FOUND)
        age(house, house.transcript)
        house.environ["CI"] = "true"
        house.fire("SessionStart", "session-2", source="startup", transcript_path="")
        assert row(house, "session-1")[0] == 0
        del house.environ["CI"]
        house.fire("SessionStart", "session-3", source="startup", transcript_path="")

        assert [text for _, text in episodes(house)] == [FOUND]

    def test_a_session_that_is_resumed_goes_on_from_its_offset(self, house: House) -> None:
        house.say("assistant", FOUND)
        house.fire("SessionEnd", reason="other")
        house.fire("SessionStart", source="resume")
        house.say("assistant", "I went on the next day.")
        stop(house)

        assert row(house, "session-1")[1] == ""
        assert [text for _, text in episodes(house)] == [FOUND, "I went on the next day."]
        assert "transcript" not in house.log


def test_an_operation_log_holds_each_session_record_once_when_nothing_changed(
    house: House,
) -> None:
    house.say("user", "Build the analytics importer for CSV uploads")
    house.say(
        "assistant",
        {"type": "tool_use", "id": "t1", "name": "Write", "input": {"file_path": "a.py"}},
    )
    for _ in range(3):
        house.fire("SessionEnd", reason="other")

    (path,) = house.fabric_home.glob("projects/*/graph.db")
    connection = sqlite3.connect(path)
    count = connection.execute("SELECT count(*) FROM operations WHERE kind = 'put_record'")
    assert count.fetchone() == (1,)
    connection.close()
