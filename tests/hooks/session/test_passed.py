"""Required commands: runs in a transcript that count, and later changes that undo them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from memory_fabric.config import read_settings
from memory_fabric.events import parse_event
from memory_fabric.hooks.session.passed import MAX_AGENT_BYTES, unmet
from memory_fabric.models import Record
from memory_fabric.rules import matching
from memory_fabric.rules.bindings import bindings_of, required_by
from memory_fabric.rules.matching import Applied, BoundRule

ROOT = "/srv/app"
BACKGROUND = "Command running in background with ID: b1"
PASSED = ("pytest", "3 passed", False)
FAILED = ("pytest", "1 failed", True)
EDIT = ("Edit src/a.py", "ok", False)


def entries(runs: Iterable[tuple[str, str | None, bool]], **more: Any) -> list[dict[str, Any]]:
    """Return the entries of calls with results; a command `Edit FILE` is a call of that tool."""
    found: list[dict[str, Any]] = []
    for number, (command, output, failed) in enumerate(runs):
        id_ = f"{more.get('agent', 't')}{number}"
        tool, arguments = "Bash", {"command": command}
        if command.startswith("Edit "):
            tool, arguments = "Edit", {"file_path": command[5:]}
        use = {"type": "tool_use", "id": id_, "name": tool, "input": arguments}
        result = {"type": "tool_result", "tool_use_id": id_, "content": output, "is_error": failed}
        turns = [("assistant", use)] + ([("user", result)] if output is not None else [])
        for role, block in turns:
            found.append({"type": role, "cwd": ROOT, "message": {"content": [block]}, **more})
    return found


def write(path: Path, found: Iterable[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(entry) + "\n" for entry in found), "utf-8")


def unmet_rules(path: Path, command: str = "git commit", first: str = "pytest") -> list[Applied]:
    """Return the rules that hold back a command before which the commands in `first` must pass."""
    when = f"commit, first {first}"
    rule = BoundRule(Record("constraint", "Test first"), bindings_of(when), required_by(when))
    raw = {
        "hook_event_name": "PreToolUse",
        "transcript_path": str(path),
        "cwd": ROOT,
        "tool_name": "Bash",
        "tool_input": {"command": command},
    }
    applied = matching.applying([rule], matching.of_command(command, ROOT), (ROOT,))
    assert applied
    event = parse_event(json.dumps(raw).encode())
    return unmet(event, read_settings({"HOME": "/home/ann"}, {}), applied, (ROOT,))


def missing(path: Path, command: str = "git commit", first: str = "pytest") -> str:
    """Return the text about required commands that have not passed; empty if all have."""
    return "".join(rule.missing for rule in unmet_rules(path, command, first))


NOT_YET, FAILED_LAST = "has not passed yet", "failed the last time"
CHANGED = "has not passed since src/a.py changed"


@pytest.mark.parametrize(
    ("runs", "why"),
    [
        ([("ls", "a", False)], NOT_YET),
        ([PASSED], ""),
        ([FAILED], NOT_YET),
        ([PASSED, FAILED], FAILED_LAST),
        ([FAILED, PASSED], ""),
        ([PASSED, ("ls", "a", False)], ""),
        ([PASSED, EDIT], CHANGED),
        ([EDIT, PASSED], ""),
        ([PASSED, ("Edit src/a.py", "no", True)], ""),
        ([PASSED, ("Edit README.md", "ok", False)], ""),
        ([PASSED, ("sed -i s/a/b/ src/a.py", "", False)], CHANGED),
        ([("touch src/a.py; pytest", "3 passed", False)], ""),
        ([PASSED, ("pytest && touch src/a.py", "", False)], CHANGED),
        ([("pytest | tee src/a.log > src/a.py", "3 passed", False)], ""),
        ([("pytest", None, False)], NOT_YET),
        ([("pytest | tail -1", "3 passed", False)], ""),
        ([("pytest | tail -1", "1 failed, 2 passed", False)], NOT_YET),
        ([("pytest | tail -1", "done", False)], ""),
        ([("pytest &", "", False)], NOT_YET),
        ([("make || pytest", "done", False)], NOT_YET),
        ([("make || pytest", "3 passed", False)], ""),
        ([("make || pytest; echo done", "done", False)], NOT_YET),
        ([("make || pytest; echo done", "3 passed", False)], ""),
        ([("make; pytest; echo done", "done", False)], ""),
        ([("pytest; echo exit: $?", "exit: 1", False)], NOT_YET),
        ([("pytest; echo exit: $?", "exit: 0", False)], ""),
        ([("pytest; echo 1", "1", False)], ""),
        ([("pytest && false", "3 passed", True)], ""),
        ([("pytest && false", "done", True)], NOT_YET),
        ([("pytest || false", "3 passed", True)], NOT_YET),
        ([("pytest", BACKGROUND, False)], NOT_YET),
        ([PASSED, ("pytest", BACKGROUND, False)], ""),
    ],
)
def test_a_required_command_counts_by_its_last_known_outcome(
    tmp_path: Path, runs: list[tuple[str, str | None, bool]], why: str
) -> None:
    write(tmp_path / "s.jsonl", entries(runs))

    assert missing(tmp_path / "s.jsonl") == (f"`pytest` comes first, and {why}" if why else "")


@pytest.mark.parametrize(
    ("command", "runs", "why"),
    [
        ("pytest && git commit", [], ""),
        ("pytest; git commit", [("ls", "", False)], NOT_YET),
        ("git commit && pytest", [("ls", "", False)], NOT_YET),
        ("touch src/a.py && git commit", [PASSED], CHANGED),
        ("git commit && touch src/a.py", [PASSED], ""),
        ("touch src/a.py && pytest && git commit", [PASSED], ""),
        ("pytest && touch src/a.py && git commit", [PASSED], CHANGED),
    ],
)
def test_earlier_commands_in_the_line_of_the_call_itself_count_too(
    tmp_path: Path, command: str, runs: list[tuple[str, str | None, bool]], why: str
) -> None:
    write(tmp_path / "s.jsonl", entries(runs))

    found = missing(tmp_path / "s.jsonl", command)

    assert found == (f"`pytest` comes first, and {why}" if why else "")


def test_every_required_command_that_has_not_passed_is_named(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    write(path, entries([("make a", "done", False), ("make b", "no", True)]))

    found = missing(path, first="`make a`, `make b`, lint")

    assert found == f"`make b` comes first, and {NOT_YET}; “lint” comes first, and {NOT_YET}"
    assert missing(path, first="`make a`") == ""


def test_a_changed_file_does_not_undo_a_command_that_is_no_check(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    write(path, entries([("make backup", "done", False), EDIT]))

    assert missing(path, first="`make backup`") == ""


def test_the_last_passed_run_is_named_so_that_a_later_refusal_counts_as_new(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    write(path, entries([PASSED, PASSED, EDIT]))

    [rule] = unmet_rules(path)

    assert (rule.passed, rule.is_unseen) == ("t1", False)


def test_a_refusal_without_a_transcript_says_that_earlier_runs_are_unknown(tmp_path: Path) -> None:
    path = tmp_path / "missing.jsonl"

    [rule] = unmet_rules(path)

    assert rule.is_unseen and rule.missing.endswith("yet, as far as can be seen here")
    assert rule.passed == "" and unmet_rules(path, "pytest && git commit") == []


def test_a_run_in_the_background_counts_once_the_client_says_that_it_passed(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    told = (
        "<task-notification>\n<tool-use-id>{}</tool-use-id>\n<summary>It completed "
        "(exit code 0)</summary>"
    )
    run = entries([("pytest", BACKGROUND, False)])

    def found(text: str) -> str:
        write(path, [*run, {"type": "user", "message": {"content": text}}])
        return missing(path)

    assert found(told.format("t0")) == ""
    assert found(told.format("t9")).endswith(NOT_YET)
    assert found(told.format("t0").replace("code 0", "code 1")).endswith(NOT_YET)


def test_the_calls_of_subagents_count_in_the_order_of_their_times(tmp_path: Path) -> None:
    path, agent = tmp_path / "s.jsonl", tmp_path / "s" / "subagents" / "agent-a.jsonl"
    write(path, entries([EDIT], timestamp="2026-03-01T10:00:02Z"))

    for at, why in (("01", CHANGED), ("03", "")):
        write(
            agent,
            entries([PASSED], timestamp=f"2026-03-01T10:00:{at}Z", isSidechain=True, agent="a"),
        )
        assert missing(path).endswith(why) and bool(missing(path)) == bool(why)


def test_only_the_end_of_a_subagents_transcript_is_read(tmp_path: Path) -> None:
    path, agent = tmp_path / "s.jsonl", tmp_path / "s" / "subagents" / "agent-a.jsonl"
    write(path, entries([("ls", "", False)]))
    write(agent, entries([PASSED], isSidechain=True, agent="a"))
    assert missing(path) == ""

    os.truncate(agent, os.path.getsize(agent) + MAX_AGENT_BYTES)
    assert missing(path).endswith(NOT_YET)
