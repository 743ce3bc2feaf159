"""Coming, going, and being offline: what the plugin leaves behind and what it needs."""

from __future__ import annotations

import json
import os
import shlex
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from e2e.harness.home import Home, clone
from e2e.harness.result import Result, blocks
from e2e.harness.script import Script, call
from memory_fabric.setup import packages
from ports import free_port

pytestmark = pytest.mark.e2e

DECISION = "We decided to use PostgreSQL for the analytics DB because it handles our query load."
TOOLS = "mcp__plugin_memory-fabric_memory__"
QUESTION = "Which database should the analytics service talk to?"


@pytest.fixture
def closed_port() -> str:
    """The address of a loopback port on which nothing listens."""
    return f"http://127.0.0.1:{free_port()}"


@pytest.fixture
def slow_index() -> Iterator[str]:
    """The address of a package index that takes every call and answers none."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/simple"


def servers(result: Result) -> list[dict[str, str]]:
    """Return the state of each MCP server for the client, at the start of each turn."""
    starts = [event for event in result.events if event.get("subtype") == "init"]
    return [server for event in starts for server in event["mcp_servers"]]


def recalled(home: Home) -> bool:
    """True if a new session's first request holds the decision in a block of ours."""
    [request, *_] = home.session(Script(prompts=(QUESTION,))).main_texts
    return any("PostgreSQL" in block for block in blocks(request))


def test_the_plugin_passes_the_strict_validation_of_the_client(
    empty_home: Home, marketplace: Path
) -> None:
    said = empty_home.claude(
        "plugin", "validate", "--profile", "directory", "--strict", str(marketplace)
    )

    assert "Validation passed" in said and "nothing to report" in said


def test_a_clone_of_the_repository_does_not_register_a_second_server(
    home: Home, marketplace: Path
) -> None:
    home.project = marketplace

    listed = home.claude("mcp", "list").splitlines()
    checks = by_name(home.runs("doctor", "--json"))

    [server] = [line for line in listed if "bin/memory-fabric" in line]
    assert server.startswith("plugin:memory-fabric:memory:")
    assert checks["servers"]["state"] == "ok"


def test_sessions_work_without_a_network_and_during_package_installation(
    new_home: Callable[[], Home], slow_index: str, closed_port: str
) -> None:
    home = new_home()
    home.extra.update(
        ENABLE_TOOL_SEARCH="false",
        PIP_CONFIG_FILE="/dev/null",
        PIP_DEFAULT_TIMEOUT="120",
        PIP_INDEX_URL=slow_index,
        PIP_FIND_LINKS="",
        UV_DEFAULT_INDEX=slow_index,
        UV_HTTP_TIMEOUT="120",
    )
    note = {"name": "zephyr", "entityType": "gateway", "observations": ["It terminates TLS."]}

    with home.open() as session:
        session.queue(call(f"{TOOLS}create_entities", {"entities": [note]}), "Noted.")
        session.say("Please note how our gateway works.")
        session.queue(call(f"{TOOLS}search_nodes", {"query": "zephyr"}), "It terminates TLS.")
        session.say("Hello.")
        session.say(DECISION)
        result = session.end()

    try:
        assert packages.is_running(str(home.data)) and not home.installed
        assert {server["status"] for server in servers(result)} == {"connected"}
        assert "It terminates TLS." in result.main_texts[-1]
    finally:
        installer = int((home.data / "install.lock").read_text("utf-8"))
        os.killpg(installer, signal.SIGKILL)

    home.extra.update(
        HTTP_PROXY=closed_port,
        HTTPS_PROXY=closed_port,
        NO_PROXY="127.0.0.1",
        PIP_INDEX_URL=closed_port,
        PIP_EXTRA_INDEX_URL="",
        PIP_RETRIES="0",
        UV_DEFAULT_INDEX=closed_port,
        UV_HTTP_RETRIES="0",
        UV_OFFLINE="1",
    )
    assert recalled(home)
    assert not home.installed


@dataclass(frozen=True, slots=True)
class Moved:
    """A home whose plugin was moved away: what a session there did and what the doctor found."""

    home: Home
    source: str
    silent: Result
    found: dict[str, dict[str, str]]


@pytest.fixture(scope="module")
def moved(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Moved]:
    """A home in which the plugin was installed from a clone that is now elsewhere."""
    folder = tmp_path_factory.mktemp("moving")
    home = Home(folder / "machine")
    home.install(clone(folder / "clone"))
    home.bring_packages()
    elsewhere = (folder / "clone").rename(folder / "moved")
    silent = home.session(Script(prompts=(DECISION,), main=("Understood.",)))
    found = subprocess.run(
        [elsewhere / "bin/memory-fabric", "doctor", "--prove", "--json"],
        env=home.environment({}),
        cwd=home.project,
        capture_output=True,
        text=True,
    )
    assert found.returncode == 1, found.stderr
    yield Moved(home, str(folder / "clone"), silent, by_name(found.stdout))
    home.close()


def by_name(printed: str) -> dict[str, dict[str, str]]:
    """Return what the doctor found, by the name of the check."""
    return {check["name"]: check for check in json.loads(printed)}


def test_the_doctor_detects_a_moved_clone_although_the_client_reports_nothing(moved: Moved) -> None:
    checks = moved.found

    assert moved.silent.hooks == [] and moved.silent.complaints == []
    assert checks["plugin folder"]["state"] == checks["hooks ran"]["state"] == "fault"
    assert moved.source in checks["plugin folder"]["told"]
    assert "1 of 1 session" in checks["hooks ran"]["told"]


def test_the_doctor_explains_how_to_repair_a_moved_clone(moved: Moved) -> None:
    found = moved.found["plugin folder"]

    moved.home.claude(*shlex.split(found["remedy"].partition(": claude ")[2]))

    assert moved.source in found["told"]
    assert moved.home.session(Script(prompts=("Hello.",))).hooks
