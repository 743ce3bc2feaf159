"""The description of the interface against the real server: schemathesis asks what it promises."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cli.shell import Shell
from memory_fabric.servers.http.routes import document
from servers.http.http_server import INGEST, Serving, serving
from thorough import IS_THOROUGH

HERE = Path(__file__).parent
# Of each operation; how long the whole may take on a slow machine.
EXAMPLES, GIVE_UP_S = 15 if IS_THOROUGH else 5, 120


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    """A shell with something to ask for."""
    shell = Shell(tmp_path_factory.mktemp("described"))
    shell.remember("Use cursor-pagination for the orders-api")
    return shell


@pytest.fixture(scope="module")
def key(shell: Shell) -> str:
    """A kept key."""
    return shell.run("serve", "--new-key").out.strip()


@pytest.fixture(scope="module")
def server(shell: Shell, key: str) -> Iterator[Serving]:
    """A server that wants it."""
    with serving(shell) as found:
        yield found


def test_the_server_conforms_to_its_openapi_description(
    server: Serving, key: str, tmp_path: Path
) -> None:
    done = subprocess.run(
        [
            *(sys.executable, "-m", "schemathesis.cli"),
            *("--config-file", str(HERE / "schemathesis.toml"), "run"),
            f"http://127.0.0.1:{server.port}/openapi.json",
            *("--header", f"Authorization: Bearer {key}"),
            *("--phases", "examples,coverage,fuzzing", "--max-examples", str(EXAMPLES)),
            *("--generation-deterministic", "--continue-on-failure", "--no-color"),
        ],
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(tmp_path),
            "SCHEMATHESIS_HOOKS": str(HERE / "schemathesis_hooks.py"),
        },
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=GIVE_UP_S,
    )

    assert done.returncode == 0, done.stdout
    tested = re.search(r"Tested: (\d+)", done.stdout)
    # The description itself is what it asks first, and no more.
    assert tested and int(tested[1]) == operations(server.get("/openapi.json").json) - 1


def operations(described: dict[str, Any]) -> int:
    """Return the number of operations."""
    return sum(len(methods) for methods in described["paths"].values())


def test_the_openapi_description_lists_the_allowed_methods_of_each_path(server: Serving) -> None:
    described = server.get("/openapi.json", key="none").json

    for path in described["paths"]:
        asked = path.replace("{id}", "00000000-0000-7000-8000-000000000000")
        reply = server.get(asked, method="PUT", key=server.key)
        allowed = {one.lower() for one in reply.headers["allow"].split(", ")} - {"head"}
        assert (path, reply.status) == (path, 405)
        assert (path, allowed) == (path, set(described["paths"][path]))


def test_the_openapi_description_says_whether_ingesting_requires_a_key() -> None:
    with_keys = document(keys_are_needed=True)["paths"][INGEST]["post"]
    without = document(keys_are_needed=False)["paths"][INGEST]["post"]

    assert with_keys["security"] == [{"key": []}]
    assert without["security"] == [{}, {"key": []}]


def test_the_ingest_schema_lists_and_describes_every_field_of_a_request() -> None:
    schema = document(keys_are_needed=False)["components"]["schemas"]["IngestBody"]

    assert schema["required"] == ["session_summary"]
    assert set(schema["properties"]) == {
        *("session_summary", "key_decisions", "domain", "expert_domain", "source_model"),
        *("confidence", "project", "session_id", "idempotency_key", "created_at"),
    }
    assert all(one.get("description") for one in schema["properties"].values())
