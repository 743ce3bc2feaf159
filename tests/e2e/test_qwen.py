"""Qwen Code, the real program: hooks that setup wrote, told memories, tools, its transcript."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from e2e.harness.others import NOTE, QUESTION, RULE, STYLE, Call, Machine, Session
from waiting import until

pytestmark = pytest.mark.e2e

OWN_SETTINGS = b'{"ui": {"theme": "Default"}, "general": {"disableAutoUpdate": true}}'


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """A home in which a person with settings of her own has set memory-fabric up for Qwen Code."""
    machine = Machine(tmp_path_factory.mktemp("qwen"))
    (machine.home / ".qwen").mkdir()
    (machine.home / ".qwen/settings.json").write_bytes(OWN_SETTINGS)
    machine.fabric("setup", "--client", "qwen", "--yes")
    yield machine
    machine.close()


@pytest.fixture(scope="module")
def sessions(machine: Machine) -> list[Session]:
    """A session that decides, and one that asks and writes a file that a rule is about."""
    machine.fabric("remember", STYLE, "--type", "rule", "--when", "src/api/**")
    path = str(machine.project / "src/api/users.py")
    write = Call("write_file", {"file_path": path, "content": "x = 1\n"})
    deciding = machine.qwen(RULE, NOTE)
    return [deciding, machine.qwen(QUESTION, write, write, "PostgreSQL; I wrote the handler.")]


def test_qwen_code_stores_records_and_shows_them_to_the_model_in_a_later_session(
    machine: Machine, sessions: list[Session]
) -> None:
    [shown] = machine.home.glob(".claude/projects/*/memory/MEMORY.md")

    assert "PostgreSQL" in shown.read_text(encoding="utf-8")
    told = json.dumps(sessions[1].requests[0])
    assert "memory-fabric&gt;" in told and RULE in told  # it escapes what it wraps
    assert machine.log == ""


def test_a_rule_refuses_the_first_write_to_a_file_that_it_covers(
    machine: Machine, sessions: list[Session]
) -> None:
    _, refused, passed = sessions[1].requests[:3]

    assert "held this call back once" in json.dumps(refused) and STYLE in json.dumps(refused)
    assert json.dumps(passed).count("held this call back once") == 1
    assert (machine.project / "src/api/users.py").read_text() == "x = 1\n"


def test_qwen_code_turns_are_stored_and_why_names_qwen_code_as_the_client(
    machine: Machine, sessions: list[Session]
) -> None:
    told = machine.fabric("recall", "--json", "What did we say about the analytics service?")
    kinds = [hit["metadata"]["type"] for hit in json.loads(told)["results"]]
    rule = json.loads(told)["results"][kinds.index("constraint")]

    assert "episode:" in told
    assert "in Qwen Code, on " in machine.fabric("why", rule["id"].removeprefix("record:"))


def test_hooks_of_qwen_code_are_answered_by_its_mcp_server(
    machine: Machine, sessions: list[Session]
) -> None:
    def answered() -> bool:
        return "W" in machine.ways or not machine.qwen(QUESTION, "PostgreSQL.").requests

    until(answered, "a server that has rehearsed before its session ends")
