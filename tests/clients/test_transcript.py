"""Transcripts: read from an offset, complete lines only, whatever else the file holds."""

from __future__ import annotations

import json
import os
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory_fabric.clients import transcript
from memory_fabric.clients.transcript import (
    MAX_BYTES,
    MAX_HEAD_LINES,
    MISSING,
    REPLACED,
    UNREADABLE,
    ToolResult,
    ToolUse,
    Turn,
    before_prompt,
    read_on,
)
from memory_fabric.config import read_settings

# Other work on the machine must not fail a law.
PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
EVENTS = Path(__file__).parents[1] / "events"


def read_turns(
    path: str, offset: int = 0, max_bytes: int = MAX_BYTES, *, sidechain: bool = False
) -> tuple[list[Turn], int, int]:
    """Turns, new offset and number of bad lines of a file with any mark."""
    reading = read_on(path, offset, "", max_bytes, sidechain=sidechain)
    return reading.turns, reading.offset, reading.bad


def entry(text: str, uuid: str = "u", role: str = "user", **fields: Any) -> bytes:
    message = {"role": role, "content": text}
    return json.dumps({"type": role, "uuid": uuid, "message": message, **fields}).encode() + b"\n"


def read_all(path: Path, max_bytes: int = 8 << 20, **flags: bool) -> tuple[list[Turn], int, int]:
    turns, offset, bad = read_turns(str(path), 0, max_bytes, **flags)
    while True:
        more, moved, more_bad = read_turns(str(path), offset, max_bytes, **flags)
        if moved == offset:
            return turns, offset, bad
        turns, offset, bad = turns + more, moved, bad + more_bad


def test_reading_the_recorded_transcript_returns_only_the_dialogue() -> None:
    path = EVENTS / "transcript.jsonl"
    turns, offset, bad = read_turns(str(path))
    said = [(t.role, t.text) for t in turns if t.text]
    assert said == [
        ("user", "Hello there"),
        ("assistant", "R0"),
        ("user", "Please do the work"),
        ("assistant", "I will run tools."),
        ("assistant", "All done: final answer."),
        ("user", "What next?"),
        ("assistant", "Second answer."),
    ]
    assert (offset, bad) == (path.stat().st_size, 0)


def test_tool_results_in_the_recorded_transcript_refer_to_their_tool_calls() -> None:
    turns, _, _ = read_turns(str(EVENTS / "transcript.jsonl"))
    uses = {use.id: use for turn in turns for use in turn.tools}
    results = [result for turn in turns for result in turn.results]
    assert [uses[r.tool_use_id].name for r in results] == [
        *("Bash", "Read", "mcp__plugin_probe_fabric__recall", "TaskCreate", "TaskUpdate", "Agent"),
    ]
    assert [r.is_error for r in results] == [False, True, False, True, True, False]
    assert results[0].text == "/home/user/project/sub"
    assert results[-1].text.startswith("[Subagent hand-back]")
    assert uses[results[0].tool_use_id].input["command"] == "mkdir -p sub && cd sub && pwd"


def test_a_turn_has_the_id_time_and_working_directory_of_its_entry() -> None:
    turns, _, _ = read_turns(str(EVENTS / "transcript.jsonl"))
    first = turns[0]
    assert first.uuid == "00000000-0000-4000-8000-000000000007"
    assert first.created_at == "2026-11-21T01:51:44.686Z"
    assert (first.cwd, first.is_sidechain) == ("/home/user/project", False)


def test_a_subagent_transcript_is_read_only_with_the_sidechain_flag() -> None:
    path = str(EVENTS / "transcript.subagent.jsonl")
    turns, _, _ = read_turns(path, sidechain=True)
    assert [t.text for t in turns if t.text] == [
        *("SUBPROMPT find it", "looking", "SUBAGENT RESULT text"),
    ]
    assert all(t.is_sidechain for t in turns)
    assert read_turns(path)[0] == []


def test_reading_from_an_offset_returns_only_the_turns_after_the_offset(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(entry("one"))
    _, offset, _ = read_turns(str(path))
    with path.open("ab") as file:
        file.write(entry("two"))
    turns, end, _ = read_turns(str(path), offset)
    assert [t.text for t in turns] == ["two"]
    assert read_turns(str(path), end) == ([], end, 0)


def test_an_incomplete_last_line_is_left_for_the_next_read(tmp_path: Path) -> None:
    path, line = tmp_path / "t.jsonl", entry("two")
    path.write_bytes(entry("one") + line[:20])
    turns, offset, bad = read_turns(str(path))
    assert ([t.text for t in turns], offset, bad) == (["one"], len(entry("one")), 0)
    with path.open("ab") as file:
        file.write(line[20:])
    assert [t.text for t in read_turns(str(path), offset)[0]] == ["two"]


def test_a_file_shorter_than_the_offset_is_read_from_its_start(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(entry("fresh"))
    turns, offset, _ = read_turns(str(path), 10_000)
    assert ([t.text for t in turns], offset) == (["fresh"], len(entry("fresh")))


@pytest.mark.parametrize("name", ["missing.jsonl", "a\0b", ""])
def test_reading_an_unreadable_file_returns_no_turns_and_the_same_offset(
    tmp_path: Path, name: str
) -> None:
    assert read_turns(f"{tmp_path}/{name}" if name else str(tmp_path), 7) == ([], 7, 0)


def test_malformed_lines_are_counted_and_skipped(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    junk = [b"\x00\xff\xfe binary\n", b"{broken\n", b"[1, 2]\n", b"[" * 100_000 + b"\n", b"\n"]
    path.write_bytes(entry("one") + b"".join(junk) + entry("two"))
    turns, offset, bad = read_turns(str(path))
    assert ([t.text for t in turns], bad) == (["one", "two"], 4)
    assert offset == path.stat().st_size


def test_a_line_above_the_size_limit_is_counted_as_bad_and_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transcript, "MAX_LINE_BYTES", 1000)
    path = tmp_path / "t.jsonl"
    path.write_bytes(entry("one") + entry("x" * 5000) + entry("two"))
    turns, offset, bad = read_turns(str(path))
    assert ([t.text for t in turns], bad) == (["one"], 1)
    assert [t.text for t in read_turns(str(path), offset)[0]] == ["two"]


def test_a_line_of_gigabytes_is_skipped_in_several_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transcript, "MAX_SKIPPED_BYTES", 4 << 20)
    monkeypatch.setattr(transcript, "MAX_LINE_BYTES", 1000)
    path = tmp_path / "t.jsonl"
    with path.open("wb") as stream:
        stream.seek(transcript.MAX_SKIPPED_BYTES + 5000)
        stream.write(b"\n" + entry("two"))
    turns, offset, bad = read_turns(str(path))
    assert (turns, bad) == ([], 1)
    assert transcript.MAX_SKIPPED_BYTES <= offset < path.stat().st_size - len(entry("two"))
    texts: list[str] = []
    while offset < path.stat().st_size:
        turns, offset, _ = read_turns(str(path), offset)
        texts += [turn.text for turn in turns]
    assert texts == ["two"]


def test_an_unfinished_line_above_the_size_limit_is_left_for_the_next_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transcript, "MAX_LINE_BYTES", 1000)
    path = tmp_path / "t.jsonl"
    path.write_bytes(entry("one") + entry("x" * 5000)[:-1])
    assert read_turns(str(path))[1:] == (len(entry("one")), 0)


def test_a_limited_read_ends_after_the_last_complete_answer(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    answered = entry("Go on.") + entry("Done.", role="assistant")
    path.write_bytes(answered + entry("And now?") + entry("One.", role="assistant") * 2)
    size = path.stat().st_size
    for max_bytes in range(1, len(answered)):
        assert 0 < read_turns(str(path), 0, max_bytes)[1] <= len(answered)
    for max_bytes in range(len(answered) + 1, size - len(entry("One.", role="assistant"))):
        assert read_turns(str(path), 0, max_bytes)[1] == len(answered)
    assert read_turns(str(path), 0, size)[1] == size


@pytest.mark.parametrize(
    "line",
    [
        entry("m", isMeta=True),
        entry("c", isCompactSummary=True),
        entry("s", isSidechain=True),
        entry("API Error: 529", role="assistant", isApiErrorMessage=True),
        entry("<local-command-stdout>done</local-command-stdout>"),
        entry("<command-name>/compact</command-name>"),
        entry("<task-notification>\n<task-id>a</task-id>"),
        entry(""),
        b'{"type": "attachment", "message": {"content": "x"}}\n',
        b'{"type": "user", "message": "x"}\n',
        b'{"type": "user", "message": {"content": 7}}\n',
        b'{"type": "user", "message": {"content": [null, 3, {"type": "text", "text": 9}]}}\n',
        b'{"type": ["user"]}\n',
    ],
    ids=lambda line: line.decode()[:60],
)
def test_entries_without_dialogue_are_skipped_and_not_counted_as_errors(
    tmp_path: Path, line: bytes
) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(line)
    assert read_turns(str(path)) == ([], len(line), 0)


def test_a_turn_contains_the_text_tool_calls_and_results_of_its_entry(tmp_path: Path) -> None:
    blocks = [
        {"type": "thinking", "thinking": "hm"},
        {"type": "text", "text": "first"},
        {"type": "text", "text": "second"},
        {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}},
        {"type": "tool_use", "id": "t2", "name": "Odd", "input": "no table"},
        {"type": "tool_result", "tool_use_id": "t1", "content": "out", "is_error": True},
        {"type": "tool_result", "tool_use_id": "t2", "content": [{"type": "text", "text": "o"}]},
    ]
    path = tmp_path / "t.jsonl"
    path.write_bytes(
        json.dumps({"type": "assistant", "message": {"content": blocks}}).encode() + b"\n"
    )
    (turn,) = read_turns(str(path))[0]
    assert turn == Turn(
        uuid="",
        role="assistant",
        text="first\nsecond",
        tools=(ToolUse("t1", "Bash", {"command": "ls"}), ToolUse("t2", "Odd")),
        results=(ToolResult("t1", "out", True), ToolResult("t2", "o")),
    )


LINES = st.lists(
    st.builds(lambda text: entry(text + "."), st.text(max_size=20))
    | st.binary(max_size=40).map(lambda junk: junk.replace(b"\n", b"") + b"\n"),
    max_size=12,
)


@PATIENT
@given(LINES, st.integers(16, 400))
def test_any_chunk_size_gives_the_same_turns_in_the_same_order(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], max_bytes: int
) -> None:
    path = tmp_path_factory.mktemp("chunks") / "t.jsonl"
    path.write_bytes(b"".join(lines))
    whole, size, _ = read_all(path)
    pieces, offset, _ = read_all(path, max_bytes)
    assert (offset, size) == (path.stat().st_size,) * 2
    assert pieces == whole


@PATIENT
@given(LINES, st.data())
def test_a_growing_file_gives_each_turn_once(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("growing") / "t.jsonl"
    content, written, offset = b"".join(lines), 0, 0
    seen: list[Turn] = []
    path.write_bytes(b"")
    while written < len(content):
        step = data.draw(st.integers(1, max(1, len(content) // 2)))
        with path.open("ab") as file:
            file.write(content[written : written + step])
        written += step
        turns, offset, _ = read_turns(str(path), offset)
        seen += turns
    assert seen == read_turns(str(path))[0]


def test_reading_the_end_of_a_huge_file_does_not_load_the_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    line = entry("x" * 1000)
    with path.open("wb") as file:
        file.truncate(100 << 20)
        file.seek(100 << 20)
        file.write(b"\n" + line * 5)
    tracemalloc.start()
    turns, offset, bad = read_turns(str(path), (100 << 20) + 1)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (len(turns), offset, bad) == (5, path.stat().st_size, 0)
    assert peak < 1 << 20
    assert read_turns(str(path), 0)[1:] == ((100 << 20) + 1, 1)


class TestLastSaid:
    def entry(self, number: int, text: str, **more: object) -> str:
        message = {"id": f"m{number}", "content": [{"type": "text", "text": text}]}
        return json.dumps({"type": "assistant", "uuid": f"u{number}", "message": message, **more})

    def test_the_last_messages_are_returned_oldest_first_with_their_ids(
        self, tmp_path: Path
    ) -> None:
        path = tmp_path / "t.jsonl"
        path.write_text("".join(self.entry(n, f"text {n}") + "\n" for n in range(5)))

        assert transcript.last_said(str(path), 2) == [("u3", "text 3"), ("u4", "text 4")]

    @pytest.mark.parametrize("size", [7, 64, 300, 1 << 20])
    def test_the_last_messages_are_read_completely_with_any_block_size(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
    ) -> None:
        monkeypatch.setattr(transcript, "TAIL_BYTES", size)
        path = tmp_path / "t.jsonl"
        path.write_text("".join(self.entry(n, f"Grüße {n} ✓" * n) + "\n" for n in range(1, 9)))

        said = transcript.last_said(str(path), 10)

        assert [text for _, text in said] == [f"Grüße {n} ✓" * n for n in range(1, 9)]

    def test_the_last_messages_are_found_despite_malformed_and_incomplete_lines(
        self, tmp_path: Path
    ) -> None:
        path = tmp_path / "t.jsonl"
        torn = self.entry(2, "half of it")[:-9]
        lines = [self.entry(0, "first"), '{"assistant": broken', "\x00\xff", self.entry(1, "last")]
        path.write_text("\n".join([*lines, torn]), "utf-8")

        assert [text for _, text in transcript.last_said(str(path), 10)] == ["first", "last"]

    def test_messages_beyond_the_byte_limit_and_partial_lines_are_ignored(
        self, tmp_path: Path
    ) -> None:
        path = tmp_path / "t.jsonl"
        path.write_text("".join(self.entry(n, f"text {n}") + "\n" for n in range(100)))
        length = len(self.entry(99, "text 99")) + 1

        said = transcript.last_said(str(path), 10, max_bytes=2 * length + length // 2)

        assert [text for _, text in said] == ["text 98", "text 99"]

    def test_the_blocks_of_one_message_are_joined_and_other_turns_are_left_out(
        self, tmp_path: Path
    ) -> None:
        path = tmp_path / "t.jsonl"
        lines = [
            self.entry(1, "first"),
            self.entry(1, "second").replace("u1", "u2"),
            self.entry(3, "of a subagent", isSidechain=True),
            self.entry(4, " \n"),
            entry('an "assistant" of the user').decode().strip(),
            self.entry(5, "last"),
        ]
        path.write_text("\n".join(lines) + "\n")

        said = transcript.last_said(str(path), 3)

        assert said == [("u2", "first\nsecond"), ("u5", "last")]

    @pytest.mark.parametrize("path", ["", "/nowhere/t.jsonl", "\0", "/dev/zero", "."])
    def test_a_path_without_a_transcript_gives_no_messages(self, path: str) -> None:
        assert transcript.last_said(path, 10) == []


def test_a_replaced_missing_or_unreadable_transcript_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(entry("one") + entry("two"))
    first = read_on(str(path))

    again = read_on(str(path), first.offset, first.mark)
    path.write_bytes(entry("six") + entry("two."))
    replaced = read_on(str(path), first.offset, first.mark)

    assert (first.trouble, first.more, again.trouble, again.turns) == ("", False, "", [])
    assert again.mark == first.mark != ""
    assert (replaced.trouble, [t.text for t in replaced.turns]) == (REPLACED, ["six", "two."])
    assert replaced.mark not in ("", first.mark)
    missing = read_on(str(tmp_path / "other"), 7, "m")
    assert (missing.trouble, missing.offset, missing.mark) == (MISSING, 7, "m")
    assert read_on(str(tmp_path), 7, "m").trouble == UNREADABLE


def test_a_reading_ends_before_a_prompt_once_enough_text_was_read(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    answered = entry("x" * 10) + entry("y" * 10, role="assistant")
    path.write_bytes(answered + entry("z" * 10) + entry("w" * 10, role="assistant"))

    for most, texts in ((20, "xy"), (21, "xy"), (30, "xy"), (31, "xyzw")):
        reading = read_on(str(path), max_said=most)
        assert "".join(turn.text[0] for turn in reading.turns) == texts
        assert reading.more == (texts == "xy")
        assert (reading.offset == len(answered)) == (texts == "xy")


def tool(*ids: str) -> bytes:
    blocks = [{"type": "tool_use", "id": id_, "name": "Bash", "input": {}} for id_ in ids]
    return json.dumps({"type": "assistant", "message": {"content": blocks}}).encode() + b"\n"


def result(id_: str) -> bytes:
    block = {"type": "tool_result", "tool_use_id": id_, "content": "ok"}
    return json.dumps({"type": "user", "message": {"content": [block]}}).encode() + b"\n"


@pytest.mark.parametrize(
    ("lines", "state"),
    [
        (entry("Go"), ""),
        (entry("Go") + tool("a"), "running"),
        (entry("Go") + tool("a") + result("a"), ""),
        (entry("Go") + tool("a", "b") + result("a"), "running"),
        (tool("a") + entry("Go") + entry("Done", role="assistant"), ""),
        (tool("a") + entry("Done", role="assistant"), "running"),
    ],
)
def test_a_tool_is_running_if_its_call_has_no_result_since_the_last_prompt(
    tmp_path: Path, lines: bytes, state: str
) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(lines)

    assert before_prompt(str(path), "notes off") == state


def test_the_transcripts_of_the_newest_subagents_are_found_oldest_first(tmp_path: Path) -> None:
    folder = tmp_path / "s1" / "subagents"
    folder.mkdir(parents=True)
    newest_first = [f"{folder}/agent-{n:02}.jsonl" for n in range(transcript.MAX_AGENTS + 1)]
    for number, path in enumerate(newest_first):
        Path(path).touch()
        os.utime(path, (100 - number, 100 - number))
    (folder / "agent-00.meta.json").touch()

    paths = transcript.paths_of_agents(str(tmp_path / "s1.jsonl"))

    assert [*paths] == newest_first[-2::-1]
    assert transcript.paths_of_agents(str(tmp_path / "s2.jsonl")) == []
    assert transcript.paths_of_agents("a\0b") == []


def test_the_call_that_started_a_subagent_is_read_from_the_agents_file(tmp_path: Path) -> None:
    folder = tmp_path / "s1" / "subagents"
    folder.mkdir(parents=True)
    (folder / "agent-a-1_b.meta.json").write_text('{"toolUseId": "t1"}')
    (folder / "agent-c.meta.json").write_text("{broken")
    path = str(tmp_path / "s1.jsonl")

    assert transcript.task_of_agent(path, "a-1_b") == "t1"
    for agent in ("c", "d", "", "../agent-c", "a b"):
        assert transcript.task_of_agent(path, agent) == ""


def test_only_a_path_in_the_clients_folder_is_its_own(tmp_path: Path) -> None:
    settings = read_settings({"HOME": str(tmp_path)}, {})
    own = Path(settings.config_dir) / "projects"
    own.mkdir(parents=True)
    (tmp_path / "link").symlink_to(own)

    def is_own(path: str) -> bool:
        return transcript.is_clients_own(settings, path)

    assert is_own(f"{own}/p/s.jsonl") and is_own(f"{tmp_path}/link/p/s.jsonl")
    for other in (f"{own}", f"{own}s/s.jsonl", f"{own}/../s.jsonl", f"{own}/a\0b", ""):
        assert not is_own(other)
    other_client = settings._replace(client=settings.client._replace(key="codex"))
    assert transcript.is_clients_own(other_client, "/anywhere")


def test_only_the_first_complete_lines_are_searched_for_a_sessions_data(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(
        b'{broken\n{"a": 1}\n' + b"\n" * (MAX_HEAD_LINES - 3) + b'{"b": 2}\n{"c": 3}\n'
    )
    assert list(transcript.entries(str(path))) == [{"a": 1}, {"b": 2}]

    path.write_bytes(b'{"a": 1}\n{"b": 2}')
    assert list(transcript.entries(str(path))) == [{"a": 1}]


@pytest.mark.parametrize(
    ("attachment", "origin"),
    [
        ({"type": "queued_command", "prompt": "Go"}, "typed"),
        ({"type": "queued_command", "prompt": "Go", "commandMode": "prompt"}, "typed"),
        ({"type": "queued_command", "prompt": "Go", "commandMode": "task-notification"}, "machine"),
        ({"type": "queued_command", "prompt": "Go", "isMeta": True}, "machine"),
        ({"type": "queued_command", "prompt": "Go", "textNotTyped": True}, "machine"),
        ({"type": "queued_command", "prompt": "Go", "origin": {"kind": "bridge"}}, "machine"),
        ({"type": "file", "prompt": "Go"}, ""),
        ("queued_command", ""),
    ],
    ids=str,
)
def test_a_message_queued_during_a_turn_is_a_prompt_of_its_sender(
    attachment: object, origin: str
) -> None:
    turn = transcript.any_turn_of({"type": "attachment", "uuid": "u", "attachment": attachment})

    assert (turn and (turn.role, turn.text, turn.origin)) == (
        ("user", "Go", origin) if origin else None
    )


@pytest.mark.parametrize(
    ("fields", "unknown"),
    [
        ({"promptSource": "typed", "turnOrigin": "human"}, ""),
        ({"promptSource": "system", "wakeupSource": "loop_wakeup"}, ""),
        ({"promptSource": "voice"}, "promptSource=voice"),
        ({"turnOrigin": "agent"}, "turnOrigin=agent"),
        ({"version": "2.1.1"}, ""),
        ({"version": "9.0.0"}, "no promptSource, turnOrigin, wakeupSource"),
        ({"version": "9.0.0-beta.1"}, "no promptSource, turnOrigin, wakeupSource"),
        ({"version": "9.0.0", "isSidechain": True}, ""),
        ({"version": "9.0.0", "isMeta": True}, ""),
        ({"version": "9.0.0", "type": "assistant"}, ""),
        ({"version": "9.0.0", "message": {"content": "[Request interrupted by user]"}}, ""),
        ({"version": "9.0.0", "message": {"content": "<command-name>/x</command-name>"}}, ""),
    ],
    ids=str,
)
def test_marks_that_no_measured_release_writes_on_prompts_are_named(
    fields: dict[str, object], unknown: str
) -> None:
    prompt = {"type": "user", "message": {"content": "Go"}, "uuid": "u"}

    assert transcript.unknown_mark({**prompt, **fields}) == unknown
