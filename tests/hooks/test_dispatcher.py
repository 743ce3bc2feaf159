"""The hall: every event finds its handlers, and what goes wrong there never reaches the session."""

from __future__ import annotations

import ast
import json
import os
import re
import sqlite3
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from memory_fabric import deadline
from memory_fabric.config import TIES
from memory_fabric.deadline import Deadline, process_age_s
from memory_fabric.errors import BadInput, DeadlinePassed, StoreUnavailable
from memory_fabric.events import EMPTY, parse_event
from memory_fabric.hooks import dispatcher, handlers
from memory_fabric.hooks.dispatcher import answer, run
from memory_fabric.hooks.reply import MAX_INPUT_BYTES, Reply
from memory_fabric.hooks.table import (
    AFTER_PROMPT_S,
    AFTER_REPLY_S,
    EITHER,
    EXCHANGES,
    FORWARDS,
    HANDLERS,
    PATIENCE,
    READS,
    SHARED_MODULES,
    WRITES,
    deadlines,
    longest_s,
    writers,
)
from memory_fabric.store.home.log import late_events
from memory_fabric.store.memory import Memory

if TYPE_CHECKING:
    from memory_fabric.events import Event
    from memory_fabric.recall.request_context import RequestContext

    Handler = Callable[[Event, RequestContext], Reply | None]

ROOT = Path(__file__).parents[2]
ROWS = [handler for entry in HANDLERS.values() for handler in entry.handlers]
HANDLER_NAMES = [name for name, _ in ROWS]


class Sandbox:
    """An environment under one folder, and what its log says."""

    def __init__(self, folder: Path) -> None:
        self.home, self.project = folder / "memory", folder / "project"
        self.project.mkdir()
        self.environ = {
            "HOME": str(folder / "home"),
            "MEMORY_FABRIC_HOME": str(self.home),
            "CLAUDE_PROJECT_DIR": str(self.project),
        }

    @property
    def log(self) -> list[str]:
        path = self.home / "logs" / "memory-fabric.log"
        return path.read_text("utf-8").splitlines() if path.exists() else []


@pytest.fixture
def sandbox(tmp_path: Path) -> Sandbox:
    return Sandbox(tmp_path)


def event(name: str, **fields: Any) -> bytes:
    return json.dumps({"hook_event_name": name, "session_id": "s1", **fields}).encode()


def loading(**handlers: Handler) -> Callable[[str], Handler]:
    return handlers.__getitem__


def silent(event: Event, context: RequestContext) -> None:
    return None


def saying(text: str) -> Handler:
    return lambda event, fabric: Reply(context=text)


def failing(error: Exception) -> Handler:
    def handle(event: Event, context: RequestContext) -> Reply | None:
        raise error

    return handle


def context_of(output: bytes) -> str:
    return str(json.loads(output)["hookSpecificOutput"]["additionalContext"]) if output else ""


def test_hooks_json_registers_exactly_the_events_with_handlers() -> None:
    hooks = json.loads((ROOT / "hooks.json").read_text("utf-8"))["hooks"]
    assert set(hooks) == set(HANDLERS)
    commands = {
        (hook["type"], hook["command"])
        for groups in hooks.values()
        for group in groups
        for hook in group["hooks"]
    }
    assert commands == {("command", "${CLAUDE_PLUGIN_ROOT}/hooks/launch")}


def test_the_table_of_the_hooks_page_lists_the_handlers_of_each_event() -> None:
    table = (ROOT / "docs/hooks.md").read_text("utf-8").split("\n\n")[2].splitlines()[2:]
    named: dict[str, set[str]] = {}
    for row in table:
        events, handlers = row.split("|")[1:3]
        for name in re.findall(r"[A-Z]\w+", events.split("(")[0]):
            named.setdefault(name, set()).update(re.findall(r"`(\w+)`", handlers))

    assert named == {name: {h for h, _ in entry.handlers} for name, entry in HANDLERS.items()}


@pytest.mark.parametrize("name", HANDLER_NAMES)
def test_every_handler_module_has_a_handle_function(name: str) -> None:
    handle = handlers.load(name)
    assert callable(handle) and handle.__doc__
    module = handle.__module__.removeprefix("memory_fabric.hooks.handlers.")
    assert (handle.__name__, module) in (("handle", name), (name, SHARED_MODULES.get(name)))
    assert sys.modules[handle.__module__].__doc__


def test_the_dispatch_table_lists_every_hook_handler() -> None:
    folder = ROOT / "plugin/memory_fabric/hooks/handlers"
    functions = {
        (path.stem, node.name)
        for path in folder.glob("*.py")
        for node in ast.parse(path.read_text("utf-8")).body
        if isinstance(node, ast.FunctionDef)
    }
    with_handle = {module for module, function in functions if function == "handle"}
    shared = {
        function
        for module, function in functions
        if module in SHARED_MODULES.values() and not function.startswith("_")
    }
    assert shared == set(SHARED_MODULES)
    assert with_handle | shared == set(HANDLER_NAMES)
    assert {use for _, use in ROWS} == {READS, WRITES, EITHER, FORWARDS, EXCHANGES}
    assert len(set(HANDLER_NAMES)) == len(set(ROWS))  # the same switches for each of its events


def test_replies_are_joined_in_the_order_of_the_table(sandbox: Sandbox) -> None:
    load = loading(memory_context=saying("first"), capture_user_intent=saying("second"))
    output = answer(event("UserPromptSubmit"), sandbox.environ, load).output
    assert context_of(output) == "first\n\nsecond"
    assert sandbox.log == []


def test_one_failing_handler_does_not_stop_the_next_one(sandbox: Sandbox) -> None:
    load = loading(memory_context=failing(KeyError("x")), capture_user_intent=saying("second"))
    output = answer(event("UserPromptSubmit"), sandbox.environ, load).output
    assert context_of(output) == "second"
    (line,) = sandbox.log
    assert "memory_context failed: KeyError" in line


def test_a_handler_that_cannot_be_imported_does_not_stop_the_next_one(sandbox: Sandbox) -> None:
    def load(name: str) -> Handler:
        if name == "memory_context":
            raise ImportError("half an update")
        return saying("second")

    assert context_of(answer(event("UserPromptSubmit"), sandbox.environ, load).output) == "second"
    assert "half an update" in sandbox.log[0]


def test_an_expired_deadline_ends_the_event_and_is_logged(sandbox: Sandbox) -> None:
    def unreachable(event: Event, context: RequestContext) -> Reply | None:
        raise AssertionError("the time was over")

    load = loading(memory_context=failing(DeadlinePassed("late")), capture_user_intent=unreachable)
    outcome = answer(event("UserPromptSubmit"), sandbox.environ, load)
    assert outcome.output == b""
    dispatcher.finish(outcome, delivered=True)
    (line,) = sandbox.log
    assert line.endswith("UserPromptSubmit: out of time: memory_context, capture_user_intent")
    assert late_events([str(sandbox.home / "logs")]) == {"UserPromptSubmit": 1}


@pytest.mark.parametrize(
    ("variables", "ran"),
    [
        ({}, ["memory_context", "capture_user_intent"]),
        ({"MEMORY_FABRIC": "off"}, []),
    ],
)
def test_one_setting_turns_all_handlers_off(
    sandbox: Sandbox, variables: Mapping[str, str], ran: list[str]
) -> None:
    assert _ran(sandbox, {**sandbox.environ, **variables}) == ran


@pytest.mark.parametrize(
    ("table", "ran"),
    [
        ("read = false\n", ["capture_user_intent"]),
        ("write = false\n", ["memory_context"]),
        ("read = false\nwrite = false\n", []),
    ],
)
def test_reading_and_writing_have_separate_switches(
    sandbox: Sandbox, table: str, ran: list[str]
) -> None:
    sandbox.home.mkdir()
    (sandbox.home / "config.toml").write_text(table, "utf-8")
    assert _ran(sandbox, sandbox.environ) == ran


def test_memory_can_be_turned_off_for_a_single_project(sandbox: Sandbox) -> None:
    from memory_fabric.config import read_settings
    from memory_fabric.store.home import switches
    from memory_fabric.store.memory import Memory

    memory = Memory.open(read_settings(sandbox.environ, {}))
    assert memory.project is not None
    switches.turn(str(sandbox.home), memory.project.id, ["write"], False)
    assert _ran(sandbox, sandbox.environ) == ["memory_context"]


def _ran(
    sandbox: Sandbox, environ: Mapping[str, str], name: str = "UserPromptSubmit", **fields: Any
) -> list[str]:
    ran: list[str] = []

    def load(name: str) -> Handler:
        ran.append(name)
        return silent

    answer(event(name, **fields), environ, load)
    return ran


@pytest.mark.parametrize(
    ("name", "tool", "ran"),
    [
        ("PreToolUse", "Bash", ["rule_check"]),
        ("PreToolUse", "Edit", ["rule_check"]),
        ("PreToolUse", "Agent", ["task_note", "caller_note"]),
        ("PostToolUse", "Bash", ["fix_inject"]),
        ("PostToolUse", "Edit", []),
        ("PostToolUse", "mcp__x__y", ["memory_bridge", "answer_note"]),
        ("PostToolUseFailure", "Read", []),
    ],
)
def test_a_tool_event_runs_only_the_handlers_of_its_tool(
    sandbox: Sandbox, name: str, tool: str, ran: list[str]
) -> None:
    assert _ran(sandbox, sandbox.environ, name, tool_name=tool) == ran


def test_texts_are_forwarded_and_exchanged_only_if_that_is_set_up(sandbox: Sandbox) -> None:
    sandbox.home.mkdir()
    assert _ran(sandbox, sandbox.environ, "Stop") == ["auto_remember"]

    (sandbox.home / TIES).write_text("{}", "utf-8")
    assert _ran(sandbox, sandbox.environ, "Stop") == ["auto_remember", "team_exchange"]

    forwarding = {**sandbox.environ, "MEMORY_FABRIC_FORWARD_URL": "http://127.0.0.1:9"}
    assert _ran(sandbox, forwarding, "Stop") == [
        *("auto_remember", "session_forward", "team_exchange")
    ]
    (sandbox.home / "config.toml").write_text("write = false\n", "utf-8")
    assert _ran(sandbox, forwarding, "Stop") == []


def test_callbacks_of_a_reply_run_only_if_the_client_has_read_the_reply() -> None:
    done: list[str] = []
    outcome = dispatcher.Outcome(receipts=(lambda: done.append("told"),), limit=Deadline())

    dispatcher.finish(outcome, delivered=False)
    assert done == []
    dispatcher.finish(outcome, delivered=True)
    assert done == ["told"]


def test_an_event_of_exactly_the_largest_size_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    data = event("Stop")
    monkeypatch.setattr(dispatcher, "MAX_INPUT_BYTES", len(data))

    assert dispatcher.event_in(data, {}).name == "Stop"
    with pytest.raises(BadInput, match="More than"):
        dispatcher.event_in(data + b" ", {})


def test_only_the_handlers_that_store_are_run_again_later() -> None:
    prompt = parse_event(event("UserPromptSubmit"))

    assert writers(prompt, HANDLER_NAMES) == ["capture_user_intent"]
    assert writers(prompt, ["memory_context"]) == []
    assert writers(parse_event(event("PostToolUse")), HANDLER_NAMES) == [
        "memory_bridge",
        "answer_note",
    ]


@pytest.mark.parametrize(("patience", "factor"), [("", 1), ("20", 20), ("x", 1), ("-2", 1)])
def test_the_longest_duration_of_an_event_includes_the_work_after_its_reply(
    patience: str, factor: int
) -> None:
    environ = {PATIENCE: patience}
    prompt, stop = HANDLERS["UserPromptSubmit"], HANDLERS["Stop"]

    assert longest_s("UserPromptSubmit", environ) == factor * prompt.wall_s + AFTER_PROMPT_S
    assert longest_s("Stop", environ) == factor * stop.wall_s + AFTER_REPLY_S


def test_the_time_since_the_start_of_the_process_is_deducted_from_an_events_time() -> None:
    old = deadlines({}, age_s=2.0)("Stop")
    new = deadlines({}, age_s=0.0)("Stop")

    assert old.ends_s < new.ends_s


def test_a_prompt_and_a_session_end_have_less_time_than_the_client_gives_them() -> None:
    assert HANDLERS["UserPromptSubmit"].wall_s < 5
    assert HANDLERS["SessionEnd"].wall_s < 1.5


def test_an_unreadable_config_keeps_the_defaults_and_is_logged(
    sandbox: Sandbox,
) -> None:
    sandbox.home.mkdir()
    (sandbox.home / "config.toml").write_text("notices = = off", "utf-8")
    load = loading(context_loader=saying("here"), checkpoint_restore=silent)
    assert context_of(answer(event("SessionStart"), sandbox.environ, load).output) == "here"
    assert any("config.toml" in line for line in sandbox.log)


def test_claude_project_dir_overrides_the_current_folder_of_a_hook_event(sandbox: Sandbox) -> None:
    seen: list[str] = []

    def handle(event: Event, context: RequestContext) -> Reply | None:
        seen.append(context.memory.settings.project_dir)
        return None

    cwd = str(sandbox.project / "sub")
    without_variable = {k: v for k, v in sandbox.environ.items() if k != "CLAUDE_PROJECT_DIR"}
    for environ in (sandbox.environ, without_variable):
        answer(event("PreToolUse", cwd=cwd), environ, loading(task_note=handle))
    assert seen == [str(sandbox.project), cwd]


def test_the_session_of_the_event_overrides_the_environment_variable(sandbox: Sandbox) -> None:
    seen: list[str] = []

    def handle(event: Event, context: RequestContext) -> Reply | None:
        seen.append(context.memory.settings.session)
        return None

    environ = {**sandbox.environ, "CLAUDE_CODE_SESSION_ID": "of-the-variable"}
    answer(event("PreToolUse"), environ, loading(task_note=handle))
    assert seen == ["s1"]


def test_callbacks_of_a_hook_reply_run_after_its_output_even_if_one_fails(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []

    def broken() -> None:
        raise sqlite3.OperationalError("disk I/O error")

    def handle(event: Event, context: RequestContext) -> Reply:
        return Reply(context="facts", receipts=(broken, lambda: done.append("second")))

    monkeypatch.setattr(handlers, "load", lambda name: handle)
    outcome = answer(event("SubagentStart"), sandbox.environ)
    assert (context_of(outcome.output), done) == ("facts", [])
    assert context_of(run(event("SubagentStart"), sandbox.environ)) == "facts"
    assert done == ["second"]
    assert "disk I/O error" in sandbox.log[0]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", EMPTY),
        (b"{", "Not readable as JSON"),
        (b"[]", "Expected one JSON object"),
        (b'{"session_id": "x"}', "The event has no name"),
        (event("LaterEvent"), "No handler for the event 'LaterEvent'"),
        (event("x" * 5000 + "\n"), "No handler for the event"),
        (b" " * (MAX_INPUT_BYTES + 1), "More than 8 MB"),
    ],
    ids=["empty", "broken", "list", "nameless", "unknown", "long name", "huge"],
)
def test_input_that_is_not_a_known_event_is_logged_without_output(
    sandbox: Sandbox, data: bytes, said: str
) -> None:
    assert run(data, sandbox.environ) == b""
    (line,) = sandbox.log
    assert said in line
    assert len(line) < 1200


def test_a_memory_that_cannot_be_opened_is_logged_without_output(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(settings: object, *, repair: bool) -> None:
        raise StoreUnavailable("/x", "The store is away.")

    monkeypatch.setattr(Memory, "open", refuse)
    assert run(event("SessionStart"), sandbox.environ) == b""
    (line,) = sandbox.log
    assert "SessionStart: StoreUnavailable: The store is away." in line


def test_a_failure_outside_all_handlers_is_logged_without_output(sandbox: Sandbox) -> None:
    def limit_of(name: str) -> Deadline:
        raise RuntimeError("no clock")

    assert run(event("SessionStart"), sandbox.environ, limit_of) == b""
    (line,) = sandbox.log
    assert "event not answered: RuntimeError: no clock" in line


@pytest.mark.parametrize(
    "environ", [{}, {"HOME": "/dev/null"}, {"MEMORY_FABRIC_HOME": "/dev/null"}]
)
def test_hooks_never_raise_without_a_usable_home_folder(environ: dict[str, str]) -> None:
    environ = {"MEMORY_FABRIC_HOME": "/dev/null/x", **environ}
    assert run(event("Nothing"), environ) == b""


def test_every_hook_event_has_a_deadline_and_only_some_may_repair_the_database(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    from memory_fabric.store.memory import Memory

    opened: dict[str, tuple[deadline.Deadline, bool]] = {}
    real = Memory.open

    def spy(settings: Any, *, repair: bool = False) -> Memory:
        opened[name] = (deadline.current(), repair)
        return real(settings, repair=repair)

    monkeypatch.setattr(Memory, "open", spy)
    for name in HANDLERS:
        tool = {"tool_name": "Bash"} if name == "PostToolUseFailure" else {}
        answer(event(name, **tool), sandbox.environ, lambda _: silent)
    assert set(opened) == set(HANDLERS)
    assert all(limit.is_limited for limit, _ in opened.values())
    assert {n for n, (limit, _) in opened.items() if limit.hurried} == {
        "UserPromptSubmit",
        "SubagentStart",
        "PreToolUse",
    }
    assert {n for n, (_, mends) in opened.items() if mends} == {
        "SessionStart",
        "Stop",
        "SessionEnd",
    }
    assert not deadline.current().is_limited


def test_the_age_of_the_current_process_is_determined() -> None:
    assert 0 < process_age_s() < 24 * 3600
    assert process_age_s() >= os.times().user * 0.5
