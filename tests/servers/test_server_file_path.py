"""MEMORY_FILE_PATH with real processes: one file, several servers, kills and other writers."""

from __future__ import annotations

import itertools
import json
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from memory_fabric.servers.store_thread import MIRROR_S
from servers.mcp_clients import Process
from waiting import until


def entities(*names: str) -> dict[str, Any]:
    return {"entities": [{"name": n, "entityType": "t", "observations": []} for n in names]}


def line(name: str) -> str:
    return json.dumps(
        {"type": "entity", "name": name, "entityType": "t", "observations": []},
        separators=(",", ":"),
    )


def names(path: Path) -> list[str]:
    text = path.read_text("utf-8") if path.exists() else ""
    return [json.loads(row)["name"] for row in text.split("\n") if row]


def seen(server: Process) -> list[str]:
    view = server.call("read_graph", {})["structuredContent"]
    return [entity["name"] for entity in view["entities"]]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "notes" / "memory.jsonl"


def serve(tmp_path: Path, path: Path, **more: str) -> Process:
    server = Process(tmp_path / "home", MEMORY_FILE_PATH=str(path), **more)
    server.greet()
    return server


def test_every_change_is_written_to_the_graph_file_in_the_reference_format(
    tmp_path: Path, path: Path
) -> None:
    with serve(tmp_path, path) as server:
        server.call("create_entities", entities("a", "b"))
        pair = {"from": "a", "to": "b", "relationType": "uses"}
        server.call("create_relations", {"relations": [pair]})

        until(lambda: path.exists() and path.read_text().count("\n") == 3)

    edge = json.dumps({"type": "relation", **pair}, separators=(",", ":"))
    assert path.read_text() == "".join(f"{one}\n" for one in (line("a"), line("b"), edge))
    assert not (tmp_path / "home" / "user.db").exists()


def test_what_is_stored_in_or_forgotten_from_the_graph_file_is_not_said_to_be_elsewhere(
    tmp_path: Path, path: Path
) -> None:
    with serve(tmp_path, path) as server:
        [told] = server.call("remember", {"text": "Billing uses PostgreSQL."})["content"]
        server.call("create_entities", entities("a"))
        [preview] = server.call("forget", {"what": "a"})["content"]
        code = preview["text"].split('"')[-2]
        [done] = server.call("forget", {"what": "a", "confirm": code})["content"]

    assert "MEMORY.md" not in told["text"] and "MEMORY_FILE_PATH" in told["text"]
    # The command does not open this file: it would undo a change of another memory.
    assert "undo does not reach a graph file" in done["text"]


@pytest.mark.behaviour("MEM-17j")
@pytest.mark.parametrize("ending", ["\n", ""], ids=["ended", "not ended"])
def test_a_line_that_another_program_appends_to_the_served_file_is_read(
    tmp_path: Path, path: Path, ending: str
) -> None:
    path.parent.mkdir()
    path.write_text(line("before") + ending, "utf-8")
    with serve(tmp_path, path) as server:
        server.call("create_entities", entities("ours"))
        until(lambda: names(path) == ["before", "ours"])

        with path.open("a", encoding="utf-8") as file:
            file.write(f"{line('theirs')}\n")

        assert seen(server) == ["before", "ours", "theirs"]


def test_a_change_may_reach_the_graph_file_only_after_its_call_has_returned(
    tmp_path: Path, path: Path
) -> None:
    with serve(tmp_path, path) as server:
        numbers, behind = itertools.count(1), []

        def follows() -> bool:
            number = next(numbers)
            server.call("create_entities", entities(f"e{number}"))
            written = names(path)
            behind.extend([number] * (len(written) < number))
            return bool(written and behind)

        until(follows, "the file is behind at a call, and there at a later one")
        written = names(path)

    assert written == [f"e{number}" for number in range(1, len(written) + 1)]


def test_the_graph_file_is_written_before_the_server_ends(tmp_path: Path, path: Path) -> None:
    with serve(tmp_path, path) as server:
        server.call("create_entities", entities("a"))
        server.input.close()

        assert server.process.wait(60) == 0

    assert names(path) == ["a"]


def test_changes_acknowledged_before_the_server_was_killed_are_written_after_a_restart(
    tmp_path: Path, path: Path
) -> None:
    with serve(tmp_path, path) as server:
        server.call("create_entities", entities("a"))
        server.process.send_signal(signal.SIGKILL)
        server.process.wait()
    with serve(tmp_path, path) as server:
        assert seen(server) == ["a"]
        until(lambda: names(path) == ["a"])

    assert [p.name for p in path.parent.iterdir()] == ["memory.jsonl"]


def test_a_restarted_server_writes_pending_changes_to_the_file_without_a_call(
    tmp_path: Path, path: Path
) -> None:
    with serve(tmp_path, path) as server:
        server.call("create_entities", entities("a"))
        server.process.send_signal(signal.SIGKILL)
        server.process.wait()

    with serve(tmp_path, path):
        until(lambda: names(path) == ["a"])


def test_a_change_that_another_program_overwrote_in_the_graph_file_is_written_again(
    tmp_path: Path, path: Path
) -> None:
    with serve(tmp_path, path) as server:
        server.call("create_entities", entities("a"))
        until(lambda: names(path) == ["a"])

        path.write_text(line("theirs"))

        until(lambda: names(path) == ["a", "theirs"])


def test_acknowledged_changes_survive_repeated_kills_of_the_server(
    tmp_path: Path, path: Path
) -> None:
    told: list[str] = []
    for turn in range(4):
        with serve(tmp_path, path) as server:
            ended = time.monotonic() + MIRROR_S + turn * 0.03
            while time.monotonic() < ended:
                name = f"{turn}-{len(told)}"
                server.call("create_entities", entities(name))
                told.append(name)
            server.process.kill()
            server.process.wait()
    with serve(tmp_path, path) as server:
        server.call("create_entities", entities())
        until(lambda: names(path) == told)

    assert [p.name for p in path.parent.iterdir()] == ["memory.jsonl"]


def test_an_answer_includes_changes_that_another_program_made_to_the_graph_file(
    tmp_path: Path, path: Path
) -> None:
    path.parent.mkdir()
    path.write_text(line("a"))
    with serve(tmp_path, path) as server:
        assert seen(server) == ["a"]
        path.write_text("\n".join([line("a"), line("theirs")]))
        found = seen(server)
        server.call("create_entities", entities("ours"))
        path.write_text("\n".join([line("theirs"), line("more")]))
        until(lambda: "ours" in names(path))

        assert found == ["a", "theirs"]
        assert seen(server) == names(path) == ["theirs", "ours", "more"]


def test_two_servers_on_one_file_lose_no_entity(tmp_path: Path, path: Path) -> None:
    count = 40
    with serve(tmp_path, path) as one, serve(tmp_path, path) as two:

        def work(server: Process, prefix: str) -> None:
            for number in range(count):
                server.call("create_entities", entities(f"{prefix}{number}"))

        threads = [threading.Thread(target=work, args=pair) for pair in ((one, "a"), (two, "b"))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        views = [seen(one), seen(two)]
        until(lambda: len(names(path)) == 2 * count)

    assert views[0] == views[1] == names(path)


def test_servers_with_different_memory_folders_share_one_graph_file_without_data_loss(
    tmp_path: Path, path: Path
) -> None:
    elsewhere = {"MEMORY_FABRIC_HOME": str(tmp_path / "other")}
    with serve(tmp_path, path) as one, serve(tmp_path, path, **elsewhere) as two:
        for number in range(5):
            one.call("create_entities", entities(f"a{number}"))
            two.call("create_entities", entities(f"b{number}"))
        until(lambda: len(names(path)) == 10)

        assert sorted(seen(one)) == sorted(seen(two)) == sorted(names(path))


def test_invalid_lines_are_reported_on_standard_error_and_valid_lines_are_served(
    tmp_path: Path, path: Path
) -> None:
    path.parent.mkdir()
    path.write_bytes(b"\xef\xbb\xbf" + line("a").encode() + b"\nnull\n{torn\n" + line("b").encode())
    with serve(tmp_path, path) as server:
        assert seen(server) == ["a", "b"]
        server.input.close()
        server.process.wait(60)
        assert server.process.stderr is not None
        said = server.process.stderr.read().decode()

    assert "line 2 (it is not an object), line 3 (it is not JSON)" in said


def test_every_tool_call_fails_if_the_configured_file_path_is_not_a_file(
    tmp_path: Path, path: Path
) -> None:
    path.mkdir(parents=True)
    with serve(tmp_path, path) as server:
        refused = [server.call("read_graph", {}) for _ in range(2)]

    assert all(answer["isError"] for answer in refused)
    assert "it is not a file" in refused[0]["content"][0]["text"]
