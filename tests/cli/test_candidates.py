"""candidates: what waits is listed, kept or dropped; in the terminal and for programs."""

from __future__ import annotations

import pytest

from cli.shell import Shell
from memory_fabric.config import read_settings
from memory_fabric.models import Provenance, Record
from memory_fabric.store.memory import Memory

SAID = "The invoice exporter keeps its templates in the billing bucket"


@pytest.fixture
def memory(shell: Shell) -> Memory:
    """The memory of the shell's project, as hooks have it."""
    environ = {**shell.environ, "CLAUDE_PROJECT_DIR": str(shell.project)}
    return Memory.open(read_settings(environ, {}))


def hear(memory: Memory, session: str = "a-session-0001") -> str:
    by = Provenance("assistant", session=session)
    memory.remember(Record("decision", SAID, confidence=0.4), by)
    (found,) = memory.find_records("status = 'candidate'")
    return str(found.id)


def test_nothing_waits_at_first_and_that_is_said_helpfully(shell: Shell) -> None:
    done = shell.run("candidates")

    assert done.status == 0
    assert "No candidates" in done.out
    assert "another session" in done.out
    assert shell.run("candidates", "--json").json == {"candidates": []}


def test_a_candidate_is_listed_with_what_is_known_of_it(shell: Shell, memory: Memory) -> None:
    id_ = hear(memory)

    plain = shell.run("candidates").out
    (told,) = shell.run("candidates", "--json").json["candidates"]

    for part in (id_[-8:], "decision", "ion-0001", "0.40", "invoice exporter", "Missing: another"):
        assert part in plain
    assert (told["id"], told["what"], told["session"]) == (id_, SAID, "a-session-0001")
    assert told["confidence"] == 0.4
    assert "another session" in told["missing"]


def test_kept_it_is_a_record_by_the_user(shell: Shell, memory: Memory) -> None:
    id_ = hear(memory)

    done = shell.run("candidates", "--keep", id_[-8:])

    assert "Remembered: decision" in done.out
    (record,) = memory.find_records("status = 'active'")
    assert (record.id, record.trust, record.confidence) == (id_, "user", 0.9)
    assert SAID in shell.run("recall", "invoice exporter").out.replace("\n", " ")
    assert "No candidates" in shell.run("candidates").out
    assert SAID in shell.notes.read_text()

    shell.run("undo", "--last")
    assert [c["id"] for c in shell.run("candidates", "--json").json["candidates"]] == [id_]


def test_dropped_it_does_not_come_back_by_itself(shell: Shell, memory: Memory) -> None:
    id_ = hear(memory)

    done = shell.run("candidates", "--drop", id_, "--json").json
    by = Provenance("assistant", session="another")
    memory.remember(Record("decision", SAID, confidence=0.4), by)

    assert (done["done"], done["record"]["id"]) == ("forgotten", id_)
    assert memory.find_records("1") == []


def test_what_does_not_wait_is_refused_in_one_line(shell: Shell, memory: Memory) -> None:
    plain = shell.remember("We use tabs in Makefiles")["id"]
    hear(memory)

    refused = shell.run("candidates", "--keep", plain)
    both = shell.run("candidates", "--keep", plain, "--drop", plain)
    unknown = shell.run("candidates", "--drop", "ffffffff")

    assert (refused.status, both.status, unknown.status) == (2, 2, 3)
    assert "is no candidate" in refused.err
    assert refused.err.count("\n") == 1
    assert [r.pinned for r in memory.find_records("1")] == [False, False]


def test_what_has_its_reason_lacks_only_another_session(shell: Shell, memory: Memory) -> None:
    by = Provenance("assistant", session="a-session-0001")
    memory.remember(Record("decision", SAID, why="it is mounted there", confidence=0.4), by)

    told, listed = shell.run("candidates"), shell.run("candidates", "--json").json["candidates"]

    assert "Missing: another session that states it. --keep" in told.out
    assert listed[0]["missing"] == "another session that states it"
