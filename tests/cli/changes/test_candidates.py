"""candidates: what waits is listed, kept or dropped; in the terminal and for programs."""

from __future__ import annotations

from typing import Any

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


def hear(memory: Memory, said: str = SAID, **evidence: Any) -> str:
    by = Provenance("prompt", trust="user", session="a-session-0001")
    heard = memory.remember(Record("decision", said, confidence=0.4, evidence=evidence), by)
    assert heard is not None
    return str(heard.id)


def ids(shell: Shell, *words: str) -> list[str]:
    return [c["id"] for c in shell.run("candidates", "--json", *words).json["candidates"]]


def test_the_candidates_command_explains_what_candidates_are_if_none_exist(shell: Shell) -> None:
    done = shell.run("candidates")

    assert done.status == 0
    assert "No candidates" in done.out
    assert "the assistant did not note" in done.out
    assert shell.run("candidates", "--json").json == {"candidates": []}


def test_a_candidate_is_listed_with_its_type_speaker_session_and_missing_details(
    shell: Shell, memory: Memory
) -> None:
    id_ = hear(memory)

    plain = shell.run("candidates").out
    (told,) = shell.run("candidates", "--json").json["candidates"]

    for part in (id_[-8:], "decision", "the user", "invoice exporter", "Missing: your"):
        assert part in plain
    assert (told["id"], told["what"], told["session"]) == (id_, SAID, "a-session-0001")
    assert told["confidence"] == 0.4
    assert "From: [id]" in told["missing"]


def test_a_candidate_is_listed_with_its_prompt_and_the_preceding_message(
    shell: Shell, memory: Memory
) -> None:
    hear(memory, "don't start it", prompt="stop. don't start it", before="I started the server.")

    plain = shell.run("candidates").out
    (told,) = shell.run("candidates", "--json").json["candidates"]

    assert "prompt: stop. don't start it" in plain
    assert "before it: I started the server." in plain
    assert told["evidence"]["before"] == "I started the server."


def test_the_prompt_of_a_candidate_is_omitted_if_it_equals_the_candidate(
    shell: Shell, memory: Memory
) -> None:
    hear(memory, prompt=SAID)

    assert "prompt:" not in shell.run("candidates").out


def test_repeated_candidates_are_listed_before_newer_ones(shell: Shell, memory: Memory) -> None:
    once = hear(memory, "Never push to main")
    thrice = hear(memory, "I'll run the server myself", again=2)
    newest = hear(memory, "Use tabs in Makefiles")

    assert ids(shell) == [thrice, newest, once]
    assert "(said again in 2 other sessions)" in shell.run("candidates").out


def test_an_accepted_candidate_gets_the_trust_of_the_user(shell: Shell, memory: Memory) -> None:
    id_ = hear(memory)

    done = shell.run("candidates", "--keep", id_[-8:])

    assert "Remembered: decision" in done.out
    (record,) = memory.find_records("status = 'active'")
    assert (record.id, record.trust) == (id_, "user")
    assert record.confidence >= 0.7
    assert SAID in shell.run("recall", "invoice exporter").out.replace("\n", " ")
    assert "No candidates" in shell.run("candidates").out
    assert SAID in shell.notes.read_text()

    shell.run("undo", "--last")
    assert ids(shell) == [id_]


def test_the_assistant_cannot_restore_a_candidate_that_the_user_dropped(
    shell: Shell, memory: Memory
) -> None:
    id_ = hear(memory)

    done = shell.run("candidates", "--drop", id_, "--json").json
    by = Provenance("assistant", session="another")
    memory.remember(Record("decision", SAID, confidence=0.4), by)

    assert (done["done"], done["record"]["id"]) == ("forgotten", id_)
    assert memory.find_records("1") == []


def test_accepting_and_dropping_several_candidates_is_undone_in_one_step(
    shell: Shell, memory: Memory
) -> None:
    one, two = hear(memory, "Never push to main"), hear(memory, "Use tabs in Makefiles")
    three = hear(memory)

    told = shell.run("candidates", "--keep", one, "--keep", two, "--drop", three, "--json").json
    assert [(r["done"], r["record"]["id"]) for r in told["results"]] == [
        ("remembered", one),
        ("remembered", two),
        ("forgotten", three),
    ]
    assert told["done"] == "remembered"
    assert ids(shell) == []

    shell.run("undo", "--last")
    assert sorted(ids(shell)) == sorted((one, two, three))


def test_one_wrong_candidate_id_prevents_all_changes(shell: Shell, memory: Memory) -> None:
    one = hear(memory)

    refused = shell.run("candidates", "--keep", one, "--drop", "ffffffff")

    assert refused.status == 3
    assert ids(shell) == [one]


def test_the_candidates_command_refuses_an_ordinary_record(shell: Shell, memory: Memory) -> None:
    plain = shell.remember("We use tabs in Makefiles")["id"]
    hear(memory)

    refused = shell.run("candidates", "--keep", plain)
    both = shell.run("candidates", "--keep", plain, "--drop", plain)
    unknown = shell.run("candidates", "--drop", "ffffffff")

    assert (refused.status, both.status, unknown.status) == (2, 2, 3)
    assert "is no candidate" in refused.err
    assert refused.err.count("\n") == 1
    assert [r.pinned for r in memory.find_records("1")] == [False, False]


@pytest.mark.parametrize("number", [20, 21])
def test_at_most_twenty_decisions_are_printed_and_the_others_counted(
    shell: Shell, memory: Memory, number: int
) -> None:
    ids_ = [hear(memory, f"Never start server {n}") for n in range(number)]

    shown = shell.run("candidates", *(word for id_ in ids_ for word in ("--drop", id_)))

    lines = shown.out.splitlines()
    assert [line.split(":")[0] for line in lines[:20]] == ["Forgotten"] * 20
    assert lines[20:] == (["and 1 more"] if number > 20 else [])
    assert ids(shell) == []


def test_a_candidate_cannot_be_kept_and_dropped_at_once(shell: Shell, memory: Memory) -> None:
    id_ = hear(memory, "Never push to main")

    done = shell.run("candidates", "--keep", id_, "--drop", id_)

    assert done.status == 2
    assert f"Use either --keep or --drop for {id_}, not both." in done.err
    assert ids(shell) == [id_]


def test_a_long_candidate_is_shortened_unless_it_is_the_users_quotation(
    shell: Shell, memory: Memory
) -> None:
    hear(memory, "Never start it " + "x" * 145)
    hear(memory, "Always stop it " + "y" * 146)

    shown = shell.run("candidates").out

    assert "x" * 145 in shown and "y" * 146 not in shown and "…" in shown
