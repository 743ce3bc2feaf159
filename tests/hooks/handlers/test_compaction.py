"""Compactions: the working state of a session comes back, once and within the budget."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memory_fabric.clients.transcript import ToolResult, ToolUse, Turn, read_on
from memory_fabric.hooks.session.checkpoint import (
    CHANGING_TOOLS,
    READING_TOOLS,
    open_items,
    touched_files,
)
from memory_fabric.models import Provenance, Record
from memory_fabric.store import files
from simulated_client import SimulatedClient

EVENTS = Path(__file__).resolve().parents[2] / "events"
DECISION = "PostgreSQL holds the analytics DB, since the team knows it"
TASK = "Build the analytics importer for CSV uploads, please"


def recorded(client: SimulatedClient, name: str, session: str = "session-1", **fields: Any) -> str:
    """Return the answer to a recorded event of this session."""
    event: dict[str, Any] = json.loads((EVENTS / f"variants/{name}.json").read_text("utf-8"))
    for known in ("session_id", "transcript_path", "cwd"):
        event.pop(known)
    return client.context(event.pop("hook_event_name"), session, **event | fields)


def compacted(client: SimulatedClient, session: str = "session-1") -> str:
    """Return what a session is given after a compaction, in the order of the client's events."""
    assert recorded(client, "PreCompact.auto", session) == ""
    assert recorded(client, "SubagentStop.compaction_fork", session) == ""
    return recorded(client, "SessionStart.compact", session)


def call(tool: str, id_: str = "t1", **arguments: object) -> dict[str, Any]:
    return {"type": "tool_use", "id": id_, "name": tool, "input": arguments}


def answer(id_: str, text: str = "ok", *, failed: bool = False) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": id_, "content": text, "is_error": failed}


def test_a_compaction_restores_the_last_task_and_the_question_asked_after_it(
    client: SimulatedClient,
) -> None:
    for prompt in (TASK, "yes", "And the tests?", "continue"):
        client.say("user", prompt)
        client.say("assistant", "Working on it.")

    restored = compacted(client)

    assert f"Task the user had asked for: {TASK}" in restored
    assert "Asked after that: And the tests?" in restored
    assert "continue" not in restored


def test_note_lines_are_omitted_from_the_restored_last_message(client: SimulatedClient) -> None:
    client.say("user", TASK)
    client.say(
        "assistant",
        "The importer is ready.\n\n- **Noted decision:** The importer runs on Celery.\n"
        "  Why: it retries.\nDropped: 1630ad9a\nThe tests pass.",
    )

    restored = compacted(client)

    assert "shortly before: The importer is ready. The tests pass." in restored
    assert restored.count("The importer runs on Celery") == 1  # as a record
    assert "Dropped" not in restored and "Noted" not in restored


def test_a_compaction_summary_creates_no_duplicates_of_the_sessions_own_notes(
    client: SimulatedClient,
) -> None:
    said = "Keep the job queue in Redis, it retries"
    client.note("decision", "The job queue is kept in Redis, since it retries", said)
    client.note("decision", "The importer writes 500 rows at once", "")
    (old,) = client.records("what LIKE 'The importer%'")
    client.note("decision", "The importer writes 900 rows at once", "", instead_of=old.id[-8:])
    before = client.records("1")
    assert {r.trust for r in before} == {"user", "assistant"}
    summary = (
        f'Noted decision: Redis holds the queue of jobs because of its retries. From: "{said}"\n'
        "Noted decision: The importer writes 500 rows at once.\n"
        "Noted decision: The importer writes 700 rows at once."
    )

    client.fire("PostCompact", compact_summary=f"<summary>\n{summary}\n</summary>")

    new = [r.what for r in client.records("1") if r.id not in {known.id for known in before}]
    assert new == ["The importer writes 700 rows at once"]


def test_a_decision_in_an_unfinished_turn_is_restored_after_a_compaction(
    client: SimulatedClient,
) -> None:
    client.say("user", TASK)
    client.say("assistant", "Done.\nNoted decision: The importer runs on Celery, which retries.")

    assert "Celery" in compacted(client)


def test_decisions_of_the_current_session_are_restored_first(
    client: SimulatedClient,
) -> None:
    client.note("decision", "The cache is kept in Redis", session="earlier")
    client.note("preference", "Indent with tabs in every file", quotation="")
    client.note("decision", DECISION)

    restored = compacted(client)

    assert restored.index("PostgreSQL") < restored.index("tabs") < restored.index("Redis")


def test_restored_text_contains_decisions_even_if_the_task_is_very_long(
    client: SimulatedClient,
) -> None:
    client.note("decision", DECISION)
    client.say("user", TASK + " and mind all of this: " + "row by row, column by column. " * 300)
    client.say("assistant", "I have read it all. " * 200)

    restored = compacted(client)

    assert len(restored) <= 3000
    assert "PostgreSQL" in restored


def test_two_compactions_in_a_row_restore_the_same_text(client: SimulatedClient) -> None:
    client.note("decision", DECISION)
    client.say("user", TASK)
    client.say(
        "assistant", "Started.", call("Write", file_path=str(client.project / "importer.py"))
    )

    first, second = compacted(client), compacted(client)

    assert first == second
    for part in (TASK, "PostgreSQL", "importer.py"):
        assert part in first
    assert str(client.project) not in first


def test_a_task_far_from_the_end_of_the_transcript_is_restored(client: SimulatedClient) -> None:
    client.say("user", TASK)
    client.say("assistant", "Started.")
    compacted(client)
    for number in range(40):
        client.say("assistant", f"Row {number} " + "x" * (60 << 10))

    assert TASK in compacted(client)


def test_open_items_of_a_todo_list_are_restored_without_the_done_items(
    client: SimulatedClient,
) -> None:
    todos = [
        {"content": "Parse the header", "status": "completed", "activeForm": "Parsing"},
        {"content": "Write the rows", "status": "pending", "activeForm": "Writing"},
        {"content": "Stream the file", "status": "in_progress", "activeForm": "Streaming"},
    ]
    client.say("user", TASK)
    client.say("assistant", call("TodoWrite", todos=todos))

    restored = compacted(client)

    assert "Still to do: Stream the file (in progress); Write the rows" in restored
    assert "Parse the header" not in restored


def test_a_compacted_subagent_does_not_get_the_records_of_the_main_session(
    client: SimulatedClient,
) -> None:
    client.note("decision", DECISION)
    client.say("user", TASK)
    agent = {"agent_id": "a1", "agent_type": "general-purpose"}
    compacted(client)
    recorded(client, "PreCompact.auto", **agent)

    assert recorded(client, "SessionStart.compact", **agent) == ""
    assert client.prompt("Which database did we pick for analytics?") == ""
    assert client.log == ""


def test_a_subagent_can_get_its_memories_again_after_its_compaction(
    client: SimulatedClient,
) -> None:
    client.note("decision", DECISION, session="earlier")
    agent = {"agent_id": "a1", "agent_type": "database-engineer"}
    task = {"prompt": "Tune the analytics DB", "subagent_type": "database-engineer"}
    given = []
    for number in range(3):
        id_ = f"t{number}"
        client.fire("PreToolUse", tool_name="Agent", tool_use_id=id_, tool_input=task)
        given.append("PostgreSQL" in client.context("SubagentStart", **agent))
        if number == 1:
            recorded(client, "SessionStart.compact", **agent)

    assert given == [True, False, True]


def test_a_rule_that_was_deleted_from_memory_md_is_restored(client: SimulatedClient) -> None:
    client.note("rule", "Never deploy on a Friday")
    client.starts("session-2")
    path = client.memory_md_file()
    assert "- [rule" not in compacted(client, "session-2")

    lines = path.read_text("utf-8").splitlines(keepends=True)
    at = next(n for n, line in enumerate(lines) if "Friday" in line)
    path.write_text("".join(lines[:at] + lines[at + 2 :]), "utf-8")

    assert "- [rule" in compacted(client, "session-2")


def test_superseded_or_forgotten_records_are_not_restored(client: SimulatedClient) -> None:
    client.note("decision", DECISION)
    memory = client.memory()
    by = Provenance("prompt", trust="user", session="session-1")
    over = Record("decision", "Use MongoDB for the archive", valid_to="2026-01-01T00:00:00.000Z")
    memory.remember(over, by)
    memory.forget([record.id for record in client.records() if "PostgreSQL" in record.what], by)
    memory.close()
    client.say("user", TASK)

    restored = compacted(client)

    assert TASK in restored
    assert "PostgreSQL" not in restored
    assert "MongoDB" not in restored


def test_a_forgotten_turn_is_not_restored(client: SimulatedClient) -> None:
    client.say("user", TASK)
    client.say("assistant", "Started.")
    client.stop()
    assert client.command("forget", "episode:00000001", "--yes").returncode == 0

    restored = compacted(client)

    assert "Started." in restored
    assert TASK not in restored


def test_a_transcript_of_failed_tool_calls_yields_no_todo_items_and_no_files() -> None:
    turns = read_on(str(EVENTS / "transcript.jsonl")).turns

    assert open_items(turns) is None
    assert touched_files(turns, READING_TOOLS) == []
    assert touched_files(turns, CHANGING_TOOLS) == []


class TestWorkInHand:
    def test_todo_items_created_one_by_one_are_identified_by_their_numbers(self) -> None:
        turns = [
            Turn("1", "assistant", tools=(ToolUse("a", "TaskCreate", {"subject": "Parse"}),)),
            Turn("2", "user", results=(ToolResult("a", "Task #7 created successfully: Parse"),)),
            Turn("3", "assistant", tools=(ToolUse("b", "TaskCreate", {"subject": "Write"}),)),
            Turn("4", "user", results=(ToolResult("b", "Task #8 created successfully: Write"),)),
        ]
        done = ToolUse("c", "TaskUpdate", {"taskId": "7", "status": "completed"})
        begun = ToolUse("d", "TaskUpdate", {"taskId": "8", "status": "in_progress"})

        assert open_items(turns) == ["Parse", "Write"]
        assert open_items([*turns, Turn("5", "assistant", tools=(begun,))]) == [
            "Write (in progress)",
            "Parse",
        ]
        assert open_items([*turns, Turn("5", "assistant", tools=(done,))]) == ["Write"]

    def test_a_failed_tool_call_does_not_count_as_a_change_of_a_file(self) -> None:
        edit = ToolUse("a", "Edit", {"file_path": "/a.py"})
        failed = ToolResult("a", "no such file", is_error=True)

        assert touched_files([Turn("1", "assistant", tools=(edit,))], CHANGING_TOOLS) == ["/a.py"]
        assert (
            touched_files(
                [Turn("1", "assistant", tools=(edit,), results=(failed,))], CHANGING_TOOLS
            )
            == []
        )

    def test_changed_files_are_listed_with_the_most_recently_changed_file_last(self) -> None:
        tools = [ToolUse(p + str(n), "Edit", {"file_path": p}) for n, p in enumerate("aba")]

        assert touched_files([Turn("1", "assistant", tools=tuple(tools))], CHANGING_TOOLS) == [
            "b",
            "a",
        ]

    def test_a_todo_list_in_an_unknown_format_is_ignored(self) -> None:
        for todos in (None, "x", [1, {"content": 2}], [{"status": "pending"}]):
            use = ToolUse("a", "TodoWrite", {"todos": todos})
            assert open_items([Turn("1", "assistant", tools=(use,))]) == []


def test_a_summary_that_rewords_an_earlier_note_deletes_no_statement_of_the_user(
    client: SimulatedClient,
) -> None:
    said = "From now on always run the linter before pushing"
    note = "Noted rule: The linter runs before each push."
    client.prompt(said)
    client.stop(note)  # quotes nobody, so it has the assistant's trust

    client.fire("PostCompact", compact_summary=f'<summary>\n{note} From: "{said}"\n</summary>')

    assert said in [record.what for record in client.records() if record.trust == "user"]


def test_purged_words_do_not_return_by_a_later_compaction_of_their_session(
    client: SimulatedClient,
) -> None:
    client.say("user", "Look at the walrus-gateway and its port.")
    tasks = [{"content": "Test the walrus-gateway", "status": "pending"}]
    path = str(client.project / "walrus-gateway.py")
    client.say("assistant", call("Edit", file_path=path), call("TodoWrite", "t2", todos=tasks))
    client.say("user", answer("t1"), answer("t2"))
    client.say("assistant", "The walrus-gateway listens on 8080.")
    client.stop()
    assert client.command("forget", "--purge", "walrus-gateway", "--yes").returncode == 0

    restored = compacted(client)

    assert "The [erased] listens on 8080." in restored
    files = [path for path in client.fabric_home.rglob("*") if path.is_file()]
    assert not any(b"walrus" in path.read_bytes() for path in files)


def test_a_purge_takes_only_the_tool_calls_with_its_words_from_later_compactions(
    client: SimulatedClient,
) -> None:
    gateway, importer = (str(client.project / f"{name}.py") for name in ("walrus", "importer"))
    tasks = [{"content": "Test the walrus", "status": "pending"}]
    client.say("user", TASK)
    client.say("assistant", call("Edit", file_path=gateway), call("TodoWrite", "t2", todos=tasks))
    client.say("assistant", call("Edit", "t3", file_path=importer))
    client.stop()
    for _ in range(2):  # by now the words are only in the transcript
        done = client.command("forget", "--purge", "walrus", "--yes")
        assert done.returncode == 0, done.stderr

    restored = compacted(client)

    assert "Files changed in this session, the last first: importer.py" in restored
    assert "walrus" not in restored


def test_a_purge_asked_for_in_a_session_finds_more_than_its_own_request(
    client: SimulatedClient,
) -> None:
    assert client.command("remember", "The walrus guards the gateway").returncode == 0
    client.say("user", TASK)
    client.stop()
    for number, words in enumerate(("gateway walrus", "gatewya walrus")):
        request = f'memory-fabric forget --purge "{words}"'
        client.say("assistant", call("Bash", f"t{number}", command=request))

    found = client.command("forget", "--purge", "gateway walrus")
    mistyped = client.command("forget", "--purge", "gatewya walrus", "--yes")

    assert "The walrus guards the gateway" in found.stdout
    assert mistyped.returncode == 3
    assert "nowhere in this memory" in mistyped.stderr


def test_a_purge_marks_a_turn_although_the_transcript_grows_meanwhile(
    client: SimulatedClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.say("user", TASK)
    client.say("assistant", "Started.")
    client.stop()
    client.say("user", "The gateway is called walrus.")
    open_regular = files.open_regular

    def opened_while_written(path: str, *more: Any) -> Any:
        if path == str(client.transcript):
            client.say("assistant", "Still working.")
        return open_regular(path, *more)

    with monkeypatch.context() as patched:
        patched.setattr(files, "open_regular", opened_while_written)
        assert client.command("forget", "--purge", "walrus", "--yes").returncode == 0
    client.stop()

    stored = [path for path in client.fabric_home.rglob("*") if path.is_file()]
    assert not any(b"walrus" in path.read_bytes() for path in stored)
