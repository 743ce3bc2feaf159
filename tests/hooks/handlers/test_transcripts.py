"""Transcripts are read once, proportionally, whatever happens to the file."""

from __future__ import annotations

import json
import os
import sys
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from hook_transcripts import DECISION, FOUND, episodes, forget_sessions, row, stop
from memory_fabric import deadline
from memory_fabric.hooks import dispatcher
from memory_fabric.hooks.session.follow_transcript import (
    MAX_FILES,
    MAX_NEW_BYTES,
    MAX_PATH_CHARS,
    MAX_SAID_CHARS,
)
from memory_fabric.ids import timestamp
from memory_fabric.models import Provenance
from memory_fabric.store.conversations import sessions
from replay.hook_runner import content
from simulated_client import SimulatedClient
from thorough import IS_THOROUGH

sys.path.insert(0, str(Path(__file__).parents[3] / "benchmarks"))

from past_sessions.transcripts import make


class TestWork:
    def test_only_new_messages_of_a_5_mb_transcript_are_read(
        self, client: SimulatedClient, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        padding = json.dumps({"type": "api-request-blob", "pad": "x" * 4000}) + "\n"
        with client.transcript.open("w", encoding="utf-8") as file:
            file.write(padding * 1300)
        client.say("assistant", FOUND)
        stop(client)
        size = client.transcript.stat().st_size
        assert size > 5_000_000
        for n in range(20):
            client.say("assistant" if n % 2 else "user", f"We looked at part {n} of the importer.")
        read: list[int] = []
        os_read = os.open

        def opened(path: Any, *rest: Any, **named: Any) -> int:
            handle = os_read(path, *rest, **named)
            if str(path) == str(client.transcript):
                read.append(handle)
            return handle

        monkeypatch.setattr(os, "open", opened)
        before = _bytes_read()
        stop(client)

        assert len(read) == 1
        assert len(episodes(client)) == 21
        assert _bytes_read() - before < 1_500_000  # databases among it; the file is 5 MB
        assert row(client, "session-1")[0] == client.transcript.stat().st_size

    def test_an_unchanged_transcript_is_not_read(self, client: SimulatedClient) -> None:
        client.say("assistant", FOUND)
        stop(client)
        offset = row(client, "session-1")[0]
        stop(client)

        assert row(client, "session-1")[0] == offset == client.transcript.stat().st_size

    def test_a_long_unread_part_is_read_over_several_stop_events(
        self, client: SimulatedClient
    ) -> None:
        for n in range(40):
            client.say("assistant", f"Part {n}. " + "We looked at the importer. " * 600)
        stops = 0
        while row(client, "session-1")[0] < client.transcript.stat().st_size if stops else True:
            stop(client)
            stops += 1

        assert 1 < stops < 5
        assert len(episodes(client)) == 40


class Ticks:
    """In place of the module `time`: a second has passed whenever it is asked for the time."""

    def __init__(self) -> None:
        self.asked = 0.0

    def monotonic(self) -> float:
        self.asked += 1
        return self.asked

    def thread_time(self) -> float:
        return 0.0


# Prompts of a session of which a Stop reads several steps, and of one that is read step by step.
LONG = 180
SHORT = LONG if IS_THOROUGH else 60

Kept = tuple[list[tuple[str, str]], list[tuple[str, str]]]


class Unread:
    """A session of which no Stop of this client has read anything yet."""

    def __init__(self, client: SimulatedClient, path: Path) -> None:
        self.client, self.session, self.size = client, path.stem, path.stat().st_size
        client.transcript = path

    def stops(self, limit_s: float) -> list[int]:
        """Fire Stops until all is read; return the offset after each."""
        reached: list[int] = []
        while not reached or reached[-1] < self.size:
            assert len(reached) < 300
            event = {
                "hook_event_name": "Stop",
                "session_id": self.session,
                "transcript_path": str(self.client.transcript),
                "cwd": str(self.client.project),
                "last_assistant_message": f"That was turn {len(reached)}.",
            }
            data = json.dumps(event).encode()
            dispatcher.run(data, self.client.environ, lambda _: deadline.Deadline(limit_s))
            reached.append(row(self.client, self.session)[0])
        return reached

    def kept(self) -> Kept:
        records = [(r.type, r.what) for r in self.client.records("1")]
        return episodes(self.client), sorted(records)


@pytest.fixture(scope="module")
def long_session(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A transcript in the real form: 4 MB for LONG."""
    prompts = request.param
    folder, began = tmp_path_factory.mktemp("long"), datetime(2026, 3, 1, tzinfo=UTC)
    (path,) = make(str(folder / "claude"), str(folder), 1, began, prompts=prompts).paths
    assert os.path.getsize(path) > 4_000_000 / LONG * prompts
    return Path(path)


@pytest.fixture(scope="module")
def kept_without_limit(long_session: Path, tmp_path_factory: pytest.TempPathFactory) -> Kept:
    """What is kept of the long session by Stops that have all the time that they want."""
    whole = Unread(SimulatedClient(tmp_path_factory.mktemp("whole")), long_session)
    whole.stops(deadline.NEVER_S)
    return whole.kept()


class TestTime:
    # By its work, a step of full size takes about 350, and one of the smallest size 110.
    @pytest.mark.parametrize(
        ("long_session", "limit", "tried"),
        [(LONG, 1000, 0), (SHORT, 450, 0), (SHORT, 230, 4)],
        indirect=["long_session"],
    )
    def test_reading_of_a_transcript_resumes_where_a_time_limit_interrupted_it(
        self,
        client: SimulatedClient,
        long_session: Path,
        kept_without_limit: Kept,
        monkeypatch: pytest.MonkeyPatch,
        limit: int,
        tried: int,
    ) -> None:
        parts = Unread(client, long_session)
        monkeypatch.setattr(deadline, "time", Ticks())
        reached = parts.stops(limit)

        assert len(reached) > 3
        assert reached == sorted(reached)
        assert sum(before == after for before, after in pairwise([0, *reached])) <= tried
        assert parts.kept() == kept_without_limit


def _bytes_read() -> int:
    with open("/proc/self/io", encoding="ascii") as file:
        return int(file.readline().split()[1])


class TestOnce:
    def test_a_transcript_that_is_read_again_from_its_start_adds_no_duplicates(
        self, client: SimulatedClient
    ) -> None:
        client.say("user", DECISION)
        client.say("assistant", FOUND)
        stop(client)
        before = [(r.id, r.confidence) for r in client.records("1")]
        forget_sessions(client)

        assert "remembered" not in stop(client)
        assert [(r.id, r.confidence) for r in client.records("1")] == before
        assert len(episodes(client)) == 2

    def test_entries_of_a_rewritten_transcript_are_not_stored_twice(
        self, client: SimulatedClient
    ) -> None:
        client.say("assistant", FOUND)
        stop(client)
        old = client.transcript.read_bytes()
        client.transcript.write_bytes(b'{"type": "mode", "mode": "normal"}\n' + old)
        client.say("assistant", "Nothing else was wrong with it.")
        stop(client)

        assert [text for _, text in episodes(client)] == [FOUND, "Nothing else was wrong with it."]
        assert len(client.records("1")) == 1

    @pytest.mark.parametrize("same_ids", [True, False])
    @pytest.mark.parametrize("names_parent", [True, False])
    def test_turns_copied_into_a_forked_session_do_not_count_as_repetitions(
        self, client: SimulatedClient, same_ids: bool, names_parent: bool
    ) -> None:
        noted = f"Noted decision: {DECISION}."
        for n, text in enumerate((DECISION, noted, FOUND)):
            client.say("assistant" if n else "user", text, timestamp=f"2026-03-01T10:00:0{n}.000Z")
        stop(client)
        before = [(r.id, r.confidence, r.session) for r in client.records("1")]
        seen = _seen_in(client)
        lines = [json.loads(line) for line in client.transcript.read_text().splitlines()]
        client.transcript = client.transcript.with_name("fork.jsonl")
        for line in lines:
            line["sessionId"] = "fork"
            line["uuid"] = line["uuid"] if same_ids else f"new-{line['uuid']}"
            if names_parent and line["type"] == "assistant":
                line["requestSessionId"] = "session-1"
        client.transcript.write_text("".join(json.dumps(line) + "\n" for line in lines))
        client.say("user", "And what now, in the fork?", session="fork")
        stop(client, "fork")

        assert [(r.id, r.confidence, r.session) for r in client.records("1")] == before
        assert _seen_in(client) == seen
        assert [s for s, _ in episodes(client)] == ["session-1"] * 3 + ["fork"]

    def test_messages_copied_into_a_forked_session_are_stored_for_the_parent_session(
        self, client: SimulatedClient
    ) -> None:
        client.say("user", DECISION, session="fork")
        client.say("assistant", FOUND, session="fork", requestSessionId="parent")
        client.say("user", "And what now, in the fork?", session="fork")
        client.say(
            "assistant",
            "Noted decision: The importer runs on Celery, which retries.",
            session="fork",
        )
        stop(client, "fork")

        assert {r.type: r.session for r in client.records() if r.type == "solution"} == {
            "solution": "parent"
        }
        assert [s for s, _ in episodes(client)] == ["parent", "parent", "fork", "fork"]

    def test_a_record_forgotten_before_the_stop_event_is_not_stored_again(
        self, client: SimulatedClient
    ) -> None:
        client.say("user", DECISION)
        client.say("assistant", f"Noted decision: {DECISION}.")
        client.fire("PreCompact", trigger="auto")
        assert len(client.records()) == 1
        memory = client.memory()
        memory.forget([client.records()[0].id], Provenance("cli", trust="user"))
        memory.close()
        stop(client, said=f"Noted decision: {DECISION}.")
        forget_sessions(client)
        stop(client)

        assert client.records("1") == []

    def test_a_record_undone_before_stop_is_not_stored_again(self, client: SimulatedClient) -> None:
        client.say("user", DECISION)
        client.say("assistant", f"Noted decision: {DECISION}.")
        client.fire("PreCompact", trigger="auto")
        assert client.command("undo", "--last", "--yes").returncode == 0
        stop(client, said=f"Noted decision: {DECISION}.")

        assert client.records("1") == []


def _seen_in(client: SimulatedClient) -> list[Any]:
    memory = client.memory()
    rows = [r for db in memory.databases() for r in db.rows("SELECT id, sightings FROM records")]
    memory.close()
    return sorted(rows)


class TestBadFiles:
    def test_a_truncated_transcript_is_read_from_its_start_and_reported_once(
        self, client: SimulatedClient
    ) -> None:
        client.say("assistant", "Some words that fill the file. " * 20)
        stop(client)
        client.transcript.write_bytes(b"")
        client.say("assistant", FOUND)

        assert "replaced or cut" in stop(client)
        assert "transcript" not in stop(client)
        assert [r.type for r in client.records()] == ["solution"]

    def test_a_longer_replacement_transcript_under_the_same_name_is_detected(
        self, client: SimulatedClient
    ) -> None:
        client.say("assistant", "A first file.")
        stop(client)
        client.transcript.unlink()
        client.say("assistant", FOUND)
        client.say("assistant", "More words that make it longer than the first one was. " * 30)

        assert "replaced or cut" in stop(client)
        assert [r.type for r in client.records()] == ["solution"]

    def test_a_missing_transcript_is_reported_once_and_the_last_message_is_read(
        self, client: SimulatedClient
    ) -> None:
        client.say("assistant", "A first file.")
        stop(client)
        client.transcript.unlink()

        assert "gone" in stop(client, said=FOUND)
        assert "transcript" not in stop(client, said=FOUND)
        assert [r.type for r in client.records()] == ["solution"]

    def test_a_client_without_transcripts_gets_no_warning(self, client: SimulatedClient) -> None:
        assert "transcript" not in stop(client)
        assert client.log == ""

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
    def test_invalid_json_lines_are_skipped_and_reported_once(
        self, client: SimulatedClient, junk: bytes
    ) -> None:
        client.transcript.write_bytes(junk)
        client.say("assistant", FOUND)

        assert "could not be read" in stop(client)
        with client.transcript.open("ab") as file:
            file.write(junk)
        client.say("assistant", "And one line more.")
        assert "could not be read" not in stop(client)
        assert [text for _, text in episodes(client)] == [FOUND, "And one line more."]
        assert client.log.count("could not be read") == 1

    def test_a_line_of_ten_megabytes_is_skipped(self, client: SimulatedClient) -> None:
        client.say("assistant", "Before it.")
        with client.transcript.open("ab") as file:
            file.write(b'{"type": "user", "pad": "' + b"x" * (10 << 20) + b'"}\n')
        client.say("assistant", FOUND)
        stop(client)
        stop(client)

        assert [text for _, text in episodes(client)] == ["Before it.", FOUND]

    def test_one_stop_reads_only_the_beginning_of_a_large_unread_transcript(
        self, client: SimulatedClient
    ) -> None:
        line = json.dumps({"type": "api-request-blob", "pad": "x" * 100_000}).encode() + b"\n"
        with client.transcript.open("wb") as file:
            for _ in range(150):
                file.write(line)
        client.say("assistant", FOUND)
        before = _bytes_read()
        stop(client)

        assert _bytes_read() - before < MAX_NEW_BYTES + 1_500_000  # databases among it
        assert 0 < row(client, "session-1")[0] < MAX_NEW_BYTES + len(line)

    def test_unknown_transcript_entries_cause_no_error(self, client: SimulatedClient) -> None:
        client.transcript.write_text(
            '{"type": "hologram", "message": {"content": "x"}}\n{"message": 3}\n{}\n'
        )
        client.say("assistant", FOUND)

        assert "could not" not in stop(client)
        assert len(episodes(client)) == 1

    @pytest.mark.parametrize("kind", ["pipe", "folder", "device", "loop", "dangling"])
    def test_a_named_pipe_as_transcript_does_not_block_the_hook(
        self, client: SimulatedClient, kind: str
    ) -> None:
        if kind == "pipe":
            os.mkfifo(client.transcript)
        elif kind == "folder":
            client.transcript.mkdir()
        else:
            target = {"device": "/dev/zero", "loop": str(client.transcript), "dangling": "/nowhere"}
            client.transcript.symlink_to(target[kind])
        notice = stop(client, said=FOUND)
        for source in ("startup", "fork", "resume"):
            client.fire("SessionStart", f"other-{source}", source=source)
        client.fire("PreCompact", trigger="auto")
        client.fire("SessionEnd", reason="other")

        assert ("cannot be read" in notice) is (kind != "dangling")
        assert [r.type for r in client.records()] == ["solution"]

    def test_a_symlinked_transcript_is_read(self, client: SimulatedClient, tmp_path: Path) -> None:
        elsewhere = tmp_path / "elsewhere.jsonl"
        elsewhere.write_bytes(b"")
        client.transcript.symlink_to(elsewhere)
        client.say("assistant", FOUND)
        stop(client)

        assert len(episodes(client)) == 1

    def test_a_warning_about_the_transcript_is_shown_only_at_the_end_of_the_turn(
        self, client: SimulatedClient
    ) -> None:
        client.transcript.write_text("no json\n")
        during = client.fire("Stop", last_assistant_message="", stop_hook_active=True)

        assert during == {}
        assert "could not be read" in stop(client)


def work_of(client: SimulatedClient) -> tuple[list[str], str]:
    """End the turn, and return the stored files and the stored end of the last answer."""
    client.fire("Stop")
    memory = client.memory()
    notes = sessions.load_notes(memory.session_database(), "session-1")
    memory.close()
    return [str(path) for path in notes["files"]], str(notes["said"])


def edit(client: SimulatedClient, path: str) -> dict[str, Any]:
    fields = {"file_path": path}
    return {"type": "tool_use", "id": f"e{client.lines}", "name": "Edit", "input": fields}


def test_the_last_changed_files_and_the_end_of_the_last_answer_are_stored(
    client: SimulatedClient,
) -> None:
    client.say("user", "Please fix the importer")
    for name in [*(f"f{number}.py" for number in range(MAX_FILES)), "f0.py", "/" + "d/" * 60]:
        path = name if name.startswith("/") else str(client.project / name)
        client.say("assistant", edit(client, path))
    client.say("assistant", "It works. " + "x" * MAX_SAID_CHARS)

    files, said = work_of(client)

    assert files[:2] == ["f2.py", "f3.py"] and files[-2] == "f0.py"
    assert files[-1] == ("d/" * 60)[-MAX_PATH_CHARS:] and len(files) == MAX_FILES
    assert said == "x" * MAX_SAID_CHARS


def test_only_a_new_prompt_clears_the_stored_end_of_the_last_answer(
    client: SimulatedClient,
) -> None:
    client.say("user", "Please fix the importer")
    client.say("assistant", "It works.")
    assert work_of(client) == ([], "It works.")

    client.say("user", "[Request interrupted by user]")
    client.say("assistant", "```\ncode\n```")
    assert work_of(client)[1] == "It works."

    client.say("user", "And the tests?")
    assert work_of(client)[1] == ""

    client.say("assistant", "They pass.")
    client.say("user", "And the docs?")
    assert work_of(client)[1] == ""


def test_nothing_said_while_capture_was_off_is_stored_after_it_is_on_again(
    client: SimulatedClient,
) -> None:
    def turn(asked: str, answer: str) -> None:
        client.fire("UserPromptSubmit", prompt=asked)
        client.say("user", asked, timestamp=timestamp())
        client.say("assistant", answer, timestamp=timestamp())
        client.stop(answer)

    turn("Please port the importer.", "The importer is ported.")
    client.command("off", "--here")
    turn("Keep this between us: the walrus quits.", "Noted fact: The walrus quits in May.")
    client.command("on", "--here")
    turn("Now write its tests, please.", "The tests of the importer pass.")
    client.fire("PreCompact", trigger="auto")
    client.fire("SessionEnd", reason="other")

    assert len(episodes(client)) == 4
    holding = [p for p in client.fabric_home.rglob("*") if p.is_file() and b"walrus" in content(p)]
    assert holding == []
