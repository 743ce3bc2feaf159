"""Hooks answered by the session's MCP server: as in their own process, or not at all."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import waiting
from cli.shell import Shell
from memory_fabric import live_client
from memory_fabric.config import read_settings
from memory_fabric.hooks.table import HANDLERS, PATIENCE
from memory_fabric.models import Provenance, Record
from memory_fabric.setup import packages
from memory_fabric.store.memory import Memory
from replay.hook_runner import ROOT, HookResult, HookRunner, recordings
from replay.replies import REPLIES, World, settled
from replay.ways import in_process
from servers.live_server import LiveServer, patient
from thorough import IS_THOROUGH

STATED = "We decided to use PostgreSQL for the orders of the shop because it is simpler."
QUESTION = "Which database holds the orders of the shop?"
TABLES = "records entities observations relations operations prompts told injections tasks".split()
APART = ("SessionStart", "Setup", "UserPromptExpansion")


@pytest.fixture
def hooks(tmp_path: Path) -> HookRunner:
    made = HookRunner(tmp_path)
    (made.project / ".git").mkdir()
    return made


@pytest.fixture(scope="module")
def patient_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    """A server of a user whose hooks name the memory that they belong to; no test ends it."""
    hooks = HookRunner(tmp_path_factory.mktemp("patient"))
    # Below the time after which a hook asks no more.
    with LiveServer(hooks.environ, command=patient(turn_s=0.2)) as made:
        yield made


@pytest.fixture
def server(hooks: HookRunner, patient_server: LiveServer) -> Iterator[LiveServer]:
    """The server of the hooks, which has answered none yet."""
    answered_by(patient_server, hooks)
    patient_server.environ = dict(hooks.environ)
    for left in (*patient_server.folder.glob("*.hung"), *patient_server.folder.glob("ways")):
        left.unlink()
    yield patient_server
    patient_server.signal(signal.SIGCONT)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return World(tmp_path_factory.mktemp("live"))


@pytest.fixture(scope="module")
def server_of_all(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    """A server of a user whose hooks name the memory that they belong to."""
    with LiveServer(HookRunner(tmp_path_factory.mktemp("user")).environ) as server:
        yield server
    assert server.errors == ""


def answered_by(server: LiveServer, hooks: HookRunner) -> None:
    """Have the hooks of a memory find this server as theirs: it is their user's."""
    hooks.environ["HOME"] = server.environ["HOME"]
    hooks.user_home = Path(hooks.environ["HOME"])
    shutil.rmtree(hooks.memory / "live", ignore_errors=True)
    hooks.memory.mkdir(exist_ok=True)
    (hooks.memory / "live").symlink_to(server.folder)


def answered(
    server: LiveServer, hooks: HookRunner, event: dict[str, Any]
) -> tuple[HookResult, str]:
    """Run the event's hook; its result, and the ways that the server noted since."""
    earlier = server.ways()
    result = hooks.run(event)
    waiting.until(lambda: server.ways() != earlier)
    return result, server.ways().removeprefix(earlier)


@pytest.mark.parametrize("path", recordings(), ids=[path.stem for path in recordings()])
def test_the_server_replies_to_recorded_events_as_a_separate_process_would(
    path: Path, world: World, server_of_all: LiveServer
) -> None:
    server = server_of_all
    reviewed = json.loads((REPLIES / path.name).read_text("utf-8"))
    found = {}
    for name in world.memories:
        hooks = world.open(name)
        answered_by(server, hooks)
        event = hooks.recorded(path)
        result, ways = answered(server, hooks, event)
        assert (result.status, result.stderr) == (0, "")
        found[name] = settled(result.reply, hooks.folder)
        known = event["hook_event_name"] in HANDLERS
        assert ways == ("D" if event["hook_event_name"] in APART or not known else "W")

    assert found == reviewed


def world_of(hooks: HookRunner) -> list[str]:
    """What memory holds, without what changes from run to run."""
    found = []
    for path in sorted(hooks.memory.rglob("*.db")):
        connection = sqlite3.connect(path)
        for table in TABLES:
            rows = connection.execute(f"SELECT * FROM {table}").fetchall()
            found += [f"{path.name} {table} {settled(str(row), hooks.folder)}" for row in rows]
        connection.close()
    return sorted(found)


def filled(folder: Path) -> HookRunner:
    """Hooks of a project with a decision and a rule that an earlier session has told."""
    hooks = HookRunner(folder)
    (hooks.project / ".git").mkdir()
    said = {"hook_event_name": "UserPromptSubmit", "session_id": "earlier", "prompt": STATED}
    in_process(hooks, said)
    memory = Memory.open(read_settings(hooks.environ, {}))
    rule = Record("constraint", "Pushes wait for the build", evidence={"when": "git push"})
    memory.remember(rule._replace(confidence=0.9), Provenance("cli", trust="user"))
    memory.close()
    in_process(hooks, {"hook_event_name": "SessionStart", "session_id": "s", "source": "startup"})
    return hooks


EVENTS: dict[str, dict[str, Any]] = {
    "prompt": {
        "hook_event_name": "UserPromptSubmit",
        "prompt": "Remember that the orders of the shop have exactly seven fields in PostgreSQL.",
    },
    "call": {
        "hook_event_name": "PreToolUse",
        "tool_name": "Bash",
        "tool_use_id": "t",
        "tool_input": {"command": "git push"},
    },
    "task": {
        "hook_event_name": "PreToolUse",
        "tool_name": "Task",
        "tool_use_id": "t",
        "tool_input": {"subagent_type": "engineer", "prompt": "Tune the orders of the shop."},
    },
    "agent": {"hook_event_name": "SubagentStart", "agent_id": "a", "agent_type": "engineer"},
    "end of an agent": {
        "hook_event_name": "SubagentStop",
        "agent_id": "a",
        "agent_type": "engineer",
        "last_assistant_message": "Noted fact: The orders of the shop are partitioned by month.",
    },
    "tool": {
        "hook_event_name": "PostToolUse",
        "tool_name": "mcp__other__create_entities",
        "tool_input": {"entities": [{"name": "shop", "entityType": "x", "observations": ["o"]}]},
    },
    "turn": {
        "hook_event_name": "Stop",
        "last_assistant_message": "Noted fact: The orders of the shop are partitioned by month.",
    },
}
KILLED_AT = (
    "before the event",
    "first change",
    "second change",
    "before the reply",
    "before the receipts",
    "before the commit",
    "after the commit",
    "at its note",
)


@pytest.fixture(scope="module")
def unharmed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Any, list[str]]]:
    """Reply and memory of each event in a process of its own."""
    found = {}
    for name, event in EVENTS.items():
        hooks = filled(tmp_path_factory.mktemp("unharmed"))
        result = hooks.run({"session_id": "s", **event})
        found[name] = settled(result.reply, hooks.folder), world_of(hooks)
    return found


# Each event and each point, even where not every pair.
STRIDE = 1 if IS_THOROUGH else 5


@pytest.mark.parametrize(("name", "point"), list(product(EVENTS, KILLED_AT))[::STRIDE])
def test_killing_the_server_at_any_point_neither_loses_nor_repeats_an_event(
    tmp_path: Path, unharmed: dict[str, tuple[Any, list[str]]], name: str, point: str
) -> None:
    hooks = filled(tmp_path)
    with dying(hooks, point, signal.SIGKILL) as server:
        result = hooks.run({"session_id": "s", **EVENTS[name]})
        server.kill()

    reply, world = unharmed[name]
    assert world_of(hooks) == world
    assert server.ways() in ("C", "W", "WC", "") and (result.status, result.stderr) == (0, "")
    # A Stop commits as it goes: who does it again finds nothing new to tell.
    assert settled(result.reply, hooks.folder) in ((reply, None) if name == "turn" else (reply,))


def dying(hooks: HookRunner, point: str, number: signal.Signals) -> LiveServer:
    program = str(Path(__file__).with_name("dying_server.py"))
    words = ("-I", "-S", program, str(ROOT / "plugin"), point, str(int(number)))
    return LiveServer(hooks.environ, command=[packages.base_interpreter(), *words])


def test_an_event_is_stored_only_once_if_the_server_hangs_while_handling_it(
    tmp_path: Path,
) -> None:
    hooks = filled(tmp_path)
    with dying(hooks, "before the reply", signal.SIGSTOP) as server:
        began = time.monotonic()
        server_side = {PATIENCE: "1"}
        # Once: out of time, it would be run again, and said twice.
        hooks._run({"session_id": "s", **EVENTS["prompt"]}, server_side, None)
        took_s = time.monotonic() - began
        server.signal(signal.SIGCONT)
        waiting.until(lambda: server.is_warm())
        hooks.run({"hook_event_name": "Stop", "session_id": "s"})

    kept = [line for line in world_of(hooks) if "exactly seven fields" in line]
    assert len([line for line in kept if " records " in line]) == 1, kept
    assert len([line for line in kept if " prompts " in line]) == 1, kept
    assert server.ways()[0] == "S" and took_s < 20


def test_a_hanging_server_delays_only_one_event(hooks: HookRunner, server: LiveServer) -> None:
    server.signal(signal.SIGSTOP)
    assert hooks.say(STATED).reply
    (marker,) = server.folder.glob("*.hung")
    assert hooks.say("Thanks.").status == 0
    assert server.ways() == "SS" and marker.stat().st_mtime < time.time()
    server.signal(signal.SIGCONT)
    os.utime(marker, (0, 0))

    assert "PostgreSQL" in hooks.say(QUESTION, "other").context
    waiting.until(lambda: server.ways() == "SSW")


def test_a_server_that_is_waiting_for_the_cpu_is_not_considered_hanging(
    hooks: HookRunner, server: LiveServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, folder = live_client.client_name(os.getpid()), os.fsencode(server.folder)
    stated = (b"1 (python) S 0", b"1 (py) R) R 0")
    monkeypatch.setattr(live_client, "_content", lambda path: stated[b"/task/" in path])
    monkeypatch.setattr(live_client, "ANSWER_S", 0.01)
    server.signal(signal.SIGSTOP)
    connection = live_client.connected(folder, name)

    assert live_client._is_loaded(connection)
    with pytest.raises(TimeoutError):
        live_client._asked(connection, live_client.Event(b"{}", ""), b"")
    stated = (b"1 (python) S 0", b"1 (R) T 0")
    assert not live_client._is_loaded(connection)
    connection.close()


def test_a_hook_event_refused_by_a_busy_server_is_recorded_as_busy(
    hooks: HookRunner, server: LiveServer
) -> None:
    connection, said = server.begun(b'{"hook_event_name": "Stop"}')
    assert said == live_client.ACCEPTED

    assert hooks.say(STATED).reply

    connection.close()
    assert server.ways() == "B"
    hooks.say("Thanks.")
    waiting.until(lambda: server.ways() == "BW")


def test_a_server_refuses_hook_events_from_another_plugin_version_folder_or_home_directory(
    hooks: HookRunner, server: LiveServer
) -> None:
    prompt = b'{"hook_event_name": "UserPromptSubmit", "prompt": "Thanks."}'
    for other in ({"version": "0"}, {"root": str(hooks.folder)}, {"HOME": "/"}):
        connection, said = server.begun(prompt, **other)
        connection.close()
        assert said == live_client.OTHER


def test_environment_variables_of_the_hook_override_those_of_the_server(
    hooks: HookRunner, server: LiveServer
) -> None:
    other = hooks.folder / "other"
    (other / ".git").mkdir(parents=True)
    prompt = {"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": STATED}

    assert hooks.run(prompt, {"MEMORY_FABRIC": "off"}).reply is None
    assert hooks.run(prompt, {"CLAUDE_CODE_SESSION_ATTENDED": "0"}).reply
    assert hooks.run(prompt, {"CLAUDE_PROJECT_DIR": str(other)}).reply
    asked = {**prompt, "session_id": "t", "prompt": QUESTION}

    assert "PostgreSQL" in hooks.run(asked, {"CLAUDE_PROJECT_DIR": str(other)}).context
    waiting.until(lambda: server.ways() == "WWWW")
    paths = sorted(hooks.memory.glob("projects/*/graph.db"))
    trusts = [
        sqlite3.connect(path).execute("SELECT trust FROM records").fetchall() for path in paths
    ]
    assert len(trusts) == 2 and sorted(trusts)[0] == [("assistant",)]


def test_the_server_immediately_sees_records_written_by_another_process(
    hooks: HookRunner, server: LiveServer
) -> None:
    hooks.say("Thanks.")
    server.signal(signal.SIGSTOP)
    hooks.say(STATED, "other")
    server.signal(signal.SIGCONT)
    for marker in server.folder.glob("*.hung"):
        marker.unlink()

    assert "PostgreSQL" in hooks.say(QUESTION, "third").context
    waiting.until(lambda: server.ways() == "WSW")


def test_a_replaced_database_is_reopened(hooks: HookRunner, server: LiveServer) -> None:
    hooks.say(STATED)
    shutil.rmtree(hooks.memory / "projects")
    (hooks.memory / "registry.json").unlink()

    assert hooks.say("Thanks.", "t").status == 0
    hooks.say(STATED, "u")

    assert "PostgreSQL" in hooks.say(QUESTION, "v").context
    waiting.until(lambda: server.ways() == "WWWW")


def test_only_the_first_event_of_a_long_transcript_is_handled_without_the_server(
    hooks: HookRunner, server: LiveServer
) -> None:
    path = hooks.folder / "s.jsonl"
    entry = {"type": "system", "text": "x" * 1000}
    path.write_text("".join(json.dumps(entry) + "\n" for _ in range(700)), "utf-8")
    stop = {"hook_event_name": "Stop", "session_id": "s", "transcript_path": str(path)}

    for _ in range(2):
        assert hooks.run(stop).status == 0

    waiting.until(lambda: server.ways() == "BW")


def test_invalid_or_incomplete_messages_of_hooks_do_not_end_the_server(
    hooks: HookRunner, server: LiveServer
) -> None:
    name, folder = live_client.client_name(os.getpid()), os.fsencode(server.folder)
    for sent in (b"", b"MF1", b"GET / HTTP/1.1\r\n\r\n", b"MF1?" + b"\xff" * 8, b"MF1?" + bytes(8)):
        connection = live_client.connected(folder, name)
        connection.sendall(sent)
        connection.close()
    for said in (b"", b"G", b"Q", b"X"):
        event = json.dumps({"session_id": "s", **EVENTS["prompt"]}).encode()
        connection, first = server.begun(event)
        assert first in (live_client.ACCEPTED, live_client.BUSY)
        if first == live_client.ACCEPTED:
            connection.sendall(said)
        connection.close()
        waiting.until(server.is_warm)
    waiting.until(server.is_warm)

    assert hooks.say(STATED, "t").reply
    waiting.until(lambda: server.ways().endswith("W"))
    assert server.ask(3, "tools/list", {})["result"]


def test_memories_in_an_undelivered_reply_are_given_again_at_the_next_prompt(
    hooks: HookRunner, server: LiveServer
) -> None:
    hooks.say(STATED)
    prompt = {"hook_event_name": "UserPromptSubmit", "session_id": "t", "prompt": QUESTION}

    assert hooks.run(prompt, prepare=deaf).stdout == b""
    assert any("the client did not take the reply" in line for line in hooks.log)

    assert "PostgreSQL" in hooks.run(prompt).context
    assert hooks.run(prompt).context == ""
    assert server.ways() == "WWWW"


def test_the_event_of_a_killed_hook_is_stored_but_a_cancelled_event_is_not(
    hooks: HookRunner, server: LiveServer
) -> None:
    for said in (b"GX", b"G"):
        prompt = {"session_id": said.decode(), **EVENTS["prompt"]}
        connection, first = server.begun(json.dumps(prompt).encode())
        assert first == live_client.ACCEPTED
        connection.sendall(said)
        connection.close()
        waiting.until(server.is_warm)
        hooks.say("Thanks.", "other")  # after it

    (path,) = hooks.memory.glob("projects/*/graph.db")
    kept = sqlite3.connect(path).execute("SELECT session FROM records").fetchall()
    assert kept == [("G",)]


def deaf() -> None:
    """In the child: stdout is a pipe that nobody reads."""
    reader, writer = os.pipe()
    os.close(reader)
    os.dup2(writer, 1)


def test_many_simultaneous_hooks_are_all_answered_and_stored(hooks: HookRunner) -> None:
    def say(number: int) -> bool:
        return bool(
            hooks.say(f"Remember that shelf {number} of the shop is red.", f"s{number}").reply
        )

    with LiveServer(hooks.environ) as server, ThreadPoolExecutor(8) as pool:
        assert all(pool.map(say, range(24)))
        waiting.until(lambda: len(server.ways()) == 24)
    # Some waited too long for the others' changes: told so, and kept for the next turn's end.
    hooks.run({"hook_event_name": "Stop", "session_id": "last"})

    (path,) = hooks.memory.glob("projects/*/graph.db")
    stored = sqlite3.connect(path).execute("SELECT count(*) FROM records").fetchone()
    assert stored == (24,)
    # A loaded machine's server is slow to answer so many, too.
    assert set(server.ways()[:24]) <= {"W", "B", "S"} and "W" in server.ways()


def test_handling_many_events_leaks_neither_memory_nor_open_files(
    hooks: HookRunner, server: LiveServer
) -> None:
    def state() -> tuple[int, int]:
        status = Path(f"/proc/{server.pid}/statm").read_text().split()
        return int(status[1]) * 4096, len(list(Path(f"/proc/{server.pid}/fd").iterdir()))

    def fire(count: int) -> None:
        for number in range(count):
            session = {"session_id": f"s{number % 7}"}
            asked = {"prompt": f"Why is shelf {number} of the shop red?", **session}
            for event in (
                {"hook_event_name": "UserPromptSubmit", **asked},
                {"hook_event_name": "SessionEnd", **session},
            ):
                server.answered(json.dumps(event).encode())

    fire(40)
    resident, opened = state()
    fire(60)

    waiting.until(lambda: server.ways() == "W" * 200)
    later, still_open = state()
    assert later - resident < 4 << 20 and still_open <= opened + 2
    children = Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text().split()
    assert len(children) <= 1


def test_a_hook_that_the_server_answers_imports_only_the_socket_and_client_modules(
    hooks: HookRunner, server: LiveServer
) -> None:
    output = hooks.folder / "modules"
    script = str(ROOT / "tests" / "replay" / "sys_modules.py")
    python = [packages.base_interpreter(), "-I", "-S"]
    bare = subprocess.run(
        [*python, "-c", "import sys; print(*sys.modules)"], capture_output=True, check=True
    ).stdout.decode()
    subprocess.run(
        [*python, script, str(ROOT / "hooks" / "dispatch.py"), str(output)],
        input=json.dumps({"session_id": "s", **EVENTS["prompt"]}).encode(),
        env=hooks.environ,
        check=True,
        capture_output=True,
    )

    waiting.until(lambda: server.ways() == "W")
    of_script = {"os", "os.path", "stat", "_stat", "posixpath", "genericpath", "_collections_abc"}
    new = set(output.read_text("utf-8").split()) - set(bare.split()) - of_script
    assert new == {"_socket", "memory_fabric", "memory_fabric.live_client"}


def test_status_reports_how_many_hooks_the_server_answered(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    folder = shell.memory / "live"
    folder.mkdir(parents=True)
    ways = folder / "ways"
    ways.write_text("WWWWNNBD")

    told = shell.run("status").out
    known = shell.run("status", "--json").json["hooks"]

    assert "answered 4 of the latest 7 hook events" in " ".join(told.split())
    assert known["by_server"] == 4 and sum(known["by_processes_of_their_own"].values()) == 3
    ways.write_text("W" * (live_client.MAX_WAYS_BYTES - 2))
    sizes = []
    for _ in range(5):
        live_client.note(os.fsencode(folder), b"W")
        sizes.append(ways.stat().st_size)
    most = live_client.MAX_WAYS_BYTES
    assert sizes == [most - 1, most, 0, 1, 2]
