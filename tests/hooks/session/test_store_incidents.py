"""The steps of a session in order: messages, commands with results, and changed files."""

from __future__ import annotations

import pytest

from memory_fabric.capture.incidents import Step
from memory_fabric.clients.transcript import ToolResult, ToolUse, Turn
from memory_fabric.hooks.session.store_incidents import (
    MAX_ASKED_CHARS,
    MAX_CALLS,
    failures,
    steps_in,
)
from memory_fabric.rules.commands import MAX_READ_CHARS


def call(id_: str, command: str) -> Turn:
    return Turn("u", "assistant", cwd="/srv", tools=(ToolUse(id_, "Bash", {"command": command}),))


def result(id_: str, text: str, *, failed: bool = False) -> Turn:
    return Turn("u", "user", cwd="/elsewhere", results=(ToolResult(id_, text, failed),))


def edit(path: str, cwd: str = "/srv", tool: str = "Edit") -> Turn:
    return Turn("u", "assistant", cwd=cwd, tools=(ToolUse("e", tool, {"file_path": path}),))


def test_messages_and_commands_with_results_are_steps_in_their_order() -> None:
    turns = [
        Turn("u", "user", "Fix it"),
        Turn("u", "assistant", "Hm."),
        call("a", "make"),
        call("b", "ls"),
        result("b", "x"),
        result("a", "no", failed=True),
        result("c", "of no call"),
        Turn("u", "user", "<system-reminder>Be quick</system-reminder>"),
    ]

    steps, waiting = steps_in(turns, {})

    assert steps == [
        Step(asked="Fix it"),
        Step(said="Hm."),
        Step("ls", False, "x", place="/srv"),
        Step("make", True, "no", place="/srv"),
    ]
    assert waiting == {}


def test_a_command_waits_for_its_result_in_later_turns() -> None:
    _, waiting = steps_in([call("a", "make")], {"x": ["broken"]})
    assert waiting == {"a": ["make", "/srv"]}

    steps, waiting = steps_in([result("a", "ok")], waiting)
    assert (steps, waiting) == ([Step("make", False, "ok", place="/srv")], {})


def test_only_the_last_commands_wait_and_a_long_one_is_cut() -> None:
    calls = [call(str(number), "make") for number in range(MAX_CALLS)]

    _, waiting = steps_in([call("first", "make"), *calls[:-1], call("last", "x" * 9999)], {})

    assert list(waiting) == [*map(str, range(MAX_CALLS - 1)), "last"]
    assert len(waiting["last"][0]) == MAX_READ_CHARS + 1
    assert steps_in([call("a", ""), result("a", "x")], {})[0] == []


@pytest.mark.parametrize(
    ("turn", "path"),
    [
        (edit("/srv/a.py", "/srv/"), "a.py"),
        (edit("/srv2/a.py"), "/srv2/a.py"),
        (edit("/a.py", ""), "/a.py"),
        (edit("/srv/a.py", tool="Write"), "a.py"),
    ],
)
def test_a_changed_file_is_named_relative_to_its_folder(turn: Turn, path: str) -> None:
    assert steps_in([turn], {})[0] == [Step(changed_file=path)]


def test_only_an_edit_that_did_not_fail_is_a_step() -> None:
    assert steps_in([edit("/srv/a.py", tool="Read")], {})[0] == []
    assert steps_in([edit("/srv/a.py"), result("e", "no", failed=True)], {})[0] == []
    assert steps_in([edit("/srv/a.py"), result("e", "ok")], {})[0] == [Step(changed_file="a.py")]


def test_a_long_prompt_is_cut() -> None:
    [step] = steps_in([Turn("u", "user", "x" * (MAX_ASKED_CHARS + 1))], {})[0]

    assert step.asked == "x" * MAX_ASKED_CHARS


def test_stored_failures_in_an_unknown_format_are_ignored() -> None:
    assert failures({"failing": ["x", 3, {}]}, "failing") == failures({}, "passed") == []
