"""The server as a process: its streams, its end, and what it may never print (MEM-19, MEM-20)."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from memory_fabric.servers.mcp.protocol import INSTRUCTIONS
from memory_fabric.servers.mcp.schema import TOOLS
from memory_fabric.servers.mcp.stdio_server import WorkingFolder
from servers.mcp_clients import BARE, PROTOCOL, Process, environment
from store.support import World, create
from store.support import entity as entity_of_memory

METHOD_NOT_FOUND = -32601
SERVE = [sys.executable, "-c", "from memory_fabric.servers.mcp.stdio_server import main; main()"]


def entity(name: str) -> dict[str, Any]:
    return {"entities": [{"name": name, "entityType": "t", "observations": []}]}


def line(number: int, method: str, params: dict[str, Any]) -> bytes:
    message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    return json.dumps(message).encode() + b"\n"


@pytest.mark.behaviour("MEM-15e")
def test_the_handshake_returns_name_version_and_instructions(tmp_path: Path) -> None:
    with Process(tmp_path / "home") as server:
        result = server.greet()

    assert result["protocolVersion"] == PROTOCOL
    assert result["serverInfo"]["name"] == "memory"
    assert result["instructions"] == INSTRUCTIONS
    assert result["capabilities"]["resources"]["subscribe"] is True


@pytest.mark.behaviour("MEM-19a")
def test_an_unknown_method_gets_an_error_and_the_server_continues(tmp_path: Path) -> None:
    with Process(tmp_path / "home") as server:
        server.greet()

        refused = server.ask("memory/dream")
        alive = server.ask("ping")

    assert refused["error"]["code"] == METHOD_NOT_FOUND
    assert alive["result"] == {}


@pytest.mark.behaviour("MEM-19b")
def test_a_discovery_request_before_the_handshake_is_answered(tmp_path: Path) -> None:
    envelope = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "0"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    with Process(tmp_path / "home") as server:
        discovered = server.ask("server/discover", {"_meta": envelope})
        called = server.ask(
            "tools/call",
            {"_meta": envelope, "name": "create_entities", "arguments": entity("modern")},
        )

    assert "2026-07-28" in discovered["result"]["supportedVersions"]
    assert discovered["result"]["instructions"] == INSTRUCTIONS
    assert called["result"]["structuredContent"] == entity("modern")


@pytest.mark.behaviour("MEM-19c")
def test_the_server_ends_when_its_input_ends(tmp_path: Path) -> None:
    with Process(tmp_path / "home") as server:
        server.greet()
        server.call("create_entities", entity("api"))

        server.input.close()

        assert server.process.wait(60) == 0
        assert server.output.read() == b""


def test_the_server_ends_when_its_output_is_closed(tmp_path: Path) -> None:
    with Process(tmp_path / "home") as server:
        server.greet()
        server.output.close()

        server.write(line(9, "ping", {}).rstrip())

        assert server.process.wait(60) == 0
        assert server.process.stderr is not None
        assert b"Traceback" not in server.process.stderr.read()


@pytest.mark.parametrize("ending", ["\n", ""], ids=["whole", "without its last line end"])
@pytest.mark.parametrize("kind", ["pipe", "file"])
def test_all_requests_sent_before_the_end_of_input_are_answered(
    tmp_path: Path, kind: str, ending: str
) -> None:
    client = {"name": "pipe", "version": "0"}
    greeting = {"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": client}
    requests = [line(0, "initialize", greeting)]
    for number in range(1, 21):
        call = {"name": "create_entities", "arguments": entity(f"e{number}")}
        requests.append(line(number, "tools/call", call))

    text = b"".join(requests).rstrip() + ending.encode()
    (tmp_path / "requests").write_bytes(text)
    with (tmp_path / "requests").open("rb") as file:
        given: dict[str, Any] = {"stdin": file} if kind == "file" else {"input": text}
        done = subprocess.run(
            SERVE, capture_output=True, env=environment(tmp_path / "home"), timeout=60, **given
        )

    answers = [json.loads(text) for text in done.stdout.splitlines()]
    assert done.returncode == 0
    assert sorted(answer["id"] for answer in answers) == list(range(21))
    assert all("result" in answer for answer in answers)


@pytest.mark.behaviour("MEM-19d")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_server_without_losing_data(
    tmp_path: Path, number: signal.Signals
) -> None:
    with Process(tmp_path / "home") as server:
        server.greet()
        server.call("create_entities", entity("kept"))
        server.process.send_signal(number)

        # The client sends SIGTERM after 100 ms; wide enough for a loaded machine.
        assert server.process.wait(60) == 0
        assert server.process.stderr is not None
        assert server.process.stderr.read() == b""
    with Process(tmp_path / "home") as server:
        server.greet()
        assert (
            server.call("read_graph", {})["structuredContent"]["entities"]
            == (entity("kept")["entities"])
        )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_before_the_handshake_ends_the_server(
    tmp_path: Path, number: signal.Signals
) -> None:
    with Process(tmp_path / "home") as server:
        server.ask("ping")

        server.process.send_signal(number)

        assert server.process.wait(60) == 0


@pytest.mark.behaviour("MEM-11e")
def test_an_invalid_unicode_character_in_a_request_is_replaced_and_the_call_succeeds(
    tmp_path: Path,
) -> None:
    request = line(7, "tools/call", {"name": "create_entities", "arguments": entity("half \ud83d")})
    assert b"\\ud83d" in request
    with Process(tmp_path / "home") as server:
        server.greet()

        server.write(request.rstrip())
        answer = server.read()

    assert answer["id"] == 7
    assert answer["result"]["structuredContent"] == entity("half �")


def test_invalid_messages_get_errors_and_do_not_end_the_server(tmp_path: Path) -> None:
    with Process(tmp_path / "home") as server:
        server.greet()

        codes = []
        for rubbish in (b"{", b"null", b"[]", b"\xff\xfe", b'"text"', b'{"jsonrpc":"1.0"}'):
            server.write(rubbish)
            codes.append(server.read()["error"]["code"])
        server.write(b" ")

        assert codes == [-32700, -32600, -32600, -32700, -32600, -32600]
        assert server.ask("ping")["result"] == {}


@pytest.mark.behaviour("MEM-20")
def test_output_printed_during_a_call_goes_to_standard_error(tmp_path: Path) -> None:
    chatty = (
        "import os\n"
        "from memory_fabric.servers.mcp import tools\n"
        "def chat(memory, arguments, said_by):\n"
        "    print('to stdout'); os.write(1, b'to fd 1'); os.system('echo from a child')\n"
        "    return tools.read_graph(memory, arguments, said_by)\n"
        "tools.CALLS['read_graph'] = chat\n"
        "from memory_fabric.servers.mcp.stdio_server import main; main()\n"
    )
    client = {"name": "pipe", "version": "0"}
    greeting = {"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": client}
    call = {"name": "read_graph", "arguments": {}}

    done = subprocess.run(
        [sys.executable, "-u", "-c", chatty],
        input=line(1, "initialize", greeting) + line(2, "tools/call", call),
        capture_output=True,
        env=environment(tmp_path / "home"),
        timeout=60,
    )

    assert [json.loads(text)["id"] for text in done.stdout.splitlines()] == [1, 2]
    for said in (b"to stdout", b"to fd 1", b"from a child"):
        assert said in done.stderr


@pytest.mark.behaviour("MEM-11d")
def test_a_large_observation_is_returned_completely(tmp_path: Path) -> None:
    text = "pagination " * 400_000
    with Process(tmp_path / "home") as server:
        server.greet()
        big = {"entities": [{"name": "big", "entityType": "t", "observations": [text]}]}

        assert server.call("create_entities", big)["structuredContent"] == big
        opened = server.call("open_nodes", {"names": ["big"]})

    assert opened["structuredContent"]["entities"] == big["entities"]


@pytest.mark.behaviour("MEM-18c")
def test_two_servers_on_one_memory_lose_no_entity(tmp_path: Path) -> None:
    count = 40
    with Process(tmp_path / "home") as one, Process(tmp_path / "home") as two:
        one.greet()
        two.greet()

        def work(server: Process, prefix: str) -> None:
            for number in range(count):
                server.call("create_entities", entity(f"{prefix}{number}"))

        threads = [threading.Thread(target=work, args=pair) for pair in ((one, "a"), (two, "b"))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        view = one.call("read_graph", {})["structuredContent"]

    assert len(view["entities"]) == 2 * count


def test_the_server_works_in_a_python_without_installed_packages(tmp_path: Path) -> None:
    calls = {
        "create_entities": entity("api"),
        "remember": {"text": "We decided to use Redis for the job queue because it is simple."},
        "recall": {"query": "job queue"},
        "search_nodes": {"query": "redis"},
        "forget": {"what": "Redis"},
        "history": {"name": "Redis"},
    }
    client = {"name": "pipe", "version": "0"}
    greeting = {"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": client}
    asked = [("initialize", greeting), ("tools/list", {})]
    asked += [("tools/call", {"name": tool, "arguments": given}) for tool, given in calls.items()]

    done = subprocess.run(
        BARE,
        input=b"".join(line(number, *one) for number, one in enumerate(asked)),
        capture_output=True,
        env=environment(tmp_path / "home"),
        timeout=60,
    )

    answers = {message["id"]: message for message in map(json.loads, done.stdout.splitlines())}
    assert done.stderr == b""
    assert sorted(answers) == list(range(len(asked)))
    assert [tool["name"] for tool in answers[1]["result"]["tools"]] == [t.name for t in TOOLS]
    for number in range(2, len(asked)):
        assert not answers[number]["result"].get("isError"), answers[number]


@pytest.mark.parametrize("running", [False, True], ids=["before the start", "while it runs"])
def test_memories_imported_in_a_folder_are_served_by_the_server_of_that_folder(
    tmp_path: Path, running: bool
) -> None:
    folder, variables = tmp_path / "notes", environment(tmp_path / "home")
    folder.mkdir()
    del variables["CLAUDE_PROJECT_DIR"]
    (folder / "memory.jsonl").write_text(
        json.dumps({"type": "entity", **entity("kept")["entities"][0]}) + "\n", "utf-8"
    )

    def bring() -> None:
        command = [sys.executable, "-m", "memory_fabric.cli", "import", "memory.jsonl"]
        subprocess.run(command, cwd=folder, env=variables, check=True, capture_output=True)

    if not running:
        bring()
    with Process(tmp_path / "home", cwd=str(folder), without="CLAUDE_PROJECT_DIR") as server:
        server.greet()
        if running:
            server.call("create_entities", entity("of the user"))
            bring()
        view = server.call("read_graph", {})["structuredContent"]

    assert "kept" in [each["name"] for each in view["entities"]]
    assert ("of the user" in str(view)) == running


def test_the_current_folder_is_not_the_project_if_its_database_was_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(tmp_path)
    memory = world.memory()
    create(memory, entity_of_memory("api"), store="project")
    memory.close()
    monkeypatch.chdir(world.project)
    folder = WorkingFolder(world.settings(CLAUDE_PROJECT_DIR=""))
    assert folder.begun()
    assert folder.settings().project_dir == str(world.project)

    (database,) = world.home.glob("projects/*/graph.db")
    database.unlink()

    assert not folder.begun()
    assert folder.settings().project_dir == ""


def test_the_current_folder_is_not_the_project_if_settings_name_a_project_or_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(tmp_path)
    memory = world.memory()
    create(memory, entity_of_memory("api"), store="project")
    memory.close()
    monkeypatch.chdir(world.project)

    for stated in (
        {"CLAUDE_PROJECT_DIR": str(tmp_path)},
        {"CLAUDE_PROJECT_DIR": "", "MEMORY_FILE_PATH": str(tmp_path / "graph.jsonl")},
    ):
        settings = world.settings(**stated)
        folder = WorkingFolder(settings)
        assert (folder.begun(), folder.settings()) == (False, settings)


def test_modules_that_only_tool_calls_need_are_not_imported_at_start(tmp_path: Path) -> None:
    looked = (
        "import sys\n"
        "from memory_fabric.servers.mcp import stdio_server as mcp_stdio\n"
        "late = ('asyncio',\n"
        "        'memory_fabric.servers.mcp.tools', 'memory_fabric.store.memory')\n"
        "print([name for name in late if name in sys.modules])\n"
    )

    bare = [*BARE[:4], "import sys; sys.path.insert(0, sys.argv[1])\n" + looked, BARE[-1]]
    done = subprocess.run(bare, capture_output=True, env=environment(tmp_path / "home"), check=True)

    assert done.stdout.decode().strip() == "[]"


def test_a_damaged_database_is_rebuilt_and_reported_once(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with Process(home) as server:
        server.greet()
        server.call("create_entities", entity("kept"))
        server.input.close()
        server.process.wait(60)
    (path,) = home.glob("projects/*/graph.db")
    path.write_bytes(b"garbage" * 2000)

    with Process(home) as server:
        server.greet()
        first = server.call("read_graph", {})["structuredContent"]
        second = server.call("read_graph", {})["structuredContent"]

    assert [e["name"] for e in first["entities"]] == ["kept"]
    assert "A damaged memory was set aside as" in first["note"]
    assert second == {"entities": first["entities"], "relations": []}
