"""review: what is due for a decision is listed in order, decided, and undone as one."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

import pytest

from cli.shell import Shell
from memory_fabric import ids
from memory_fabric.config import read_settings
from memory_fabric.models import CONTRADICTS, UNSAID, WHEN, Provenance, Record
from memory_fabric.store import records
from memory_fabric.store.memory import Memory
from viewer import waits


@pytest.fixture
def memory(shell: Shell) -> Memory:
    """The memory of the shell's project, as hooks have it."""
    environ = {**shell.environ, "CLAUDE_PROJECT_DIR": str(shell.project)}
    return Memory.open(read_settings(environ, {}))


def put(memory: Memory, what: str, **fields: Any) -> str:
    """Store a record of the user as it is; return its id."""
    made = memory.remember(Record("decision", what, confidence=0.9), Provenance("cli", "user"))
    assert made is not None
    if fields:
        payload = {"record": records.as_object(made._replace(**fields)), "seen_in": [""]}
        memory.write("put_record", payload, Provenance("cli", "user"), store="project")
    return str(made.id)


def hear(memory: Memory, what: str, **evidence: Any) -> str:
    by = Provenance("prompt", trust="user", session="a-session-0001")
    heard = memory.remember(Record("constraint", what, confidence=0.4, evidence=evidence), by)
    assert heard is not None
    return str(heard.id)


def due(shell: Shell) -> list[tuple[str, str]]:
    told = shell.run("review", "--json", "--limit", "50").json
    return [(one["kind"], one["record"]["id"]) for one in told["due"]]


OLD, BEFORE = "2020-01-01T00:00:00.000Z", ids.timestamp(time.time() - 60)


@pytest.fixture
def filled(memory: Memory) -> dict[str, str]:
    """Ids of one of each kind, and of what each is about."""
    mongo = put(memory, "We use MongoDB for the order archive")
    old = {"created_at": OLD, "valid_from": OLD, "why": "it expires them"}
    return {
        "duplicate of": put(memory, "Deploys to staging run every night at two", created_at=BEFORE),
        "duplicate": put(memory, "Deploys to staging now run every night at two"),
        "stale": put(memory, "Sessions are kept in Redis", **old),
        "contradicted": mongo,
        "contradiction": put(
            memory, "The order archive is in Postgres", evidence={CONTRADICTS: [mongo]}
        ),
        "candidate": hear(memory, "don't start it", prompt="stop. don't start it"),
    }


def test_nothing_is_due_for_review_in_an_empty_memory(shell: Shell) -> None:
    done = shell.run("review")

    assert (done.status, done.out) == (0, "Nothing is due for review.\n")
    assert shell.run("review", "--json").json["due"] == []


def test_review_lists_candidates_first_and_duplicates_last(
    shell: Shell, filled: dict[str, str]
) -> None:
    names = ("candidate", "contradiction", "stale", "duplicate")

    assert due(shell) == [(name, filled[name]) for name in names]


def test_review_shows_at_most_three_items_and_counts_the_others(
    shell: Shell, filled: dict[str, str]
) -> None:
    plain = shell.run("review").out
    all_shown = shell.run("review", "--limit", "4").out
    told = shell.run("review", "--json").json

    assert filled["duplicate"][-8:] not in plain
    assert "1 near duplicate more (--limit)" in plain and "(--limit)" not in all_shown
    assert len(told["due"]) == 3
    kinds = ("candidate", "contradiction", "stale", "duplicate")
    others = dict.fromkeys(("rule", "imported", "shared"), 0)
    assert told["total"] == dict.fromkeys(kinds, 1) | others
    assert told["due"][1]["others"][0]["id"] == filled["contradicted"]
    assert told["step"].startswith("review-")


def test_review_shows_each_item_with_its_remedy_and_its_texts(
    shell: Shell, filled: dict[str, str]
) -> None:
    plain = shell.run("review").out

    lines = plain.splitlines()
    for name in ("candidate", "contradiction", "contradicted", "stale"):
        assert filled[name][-8:] in plain
    assert lines[0] == "candidate: candidates --keep ID, or --drop ID"
    assert lines[1].startswith(f"  {filled['candidate'][-8:]} (rule, team, by the user, ")
    assert lines[1].endswith("): don't start it")
    assert lines[2] == "    prompt: stop. don't start it"
    assert lines[3].startswith("contradiction: edit ID --instead-of ID")
    assert lines[4].endswith("): The order archive is in Postgres")
    assert lines[5].endswith("): We use MongoDB for the order archive")
    [age] = re.findall(r"^stale memory, (\d+) days old: ", plain, re.MULTILINE)
    assert int(age) > 2000 and "because: it expires them" in plain
    assert lines[-1].startswith("Changes of --step review-")


def test_commands_with_the_same_step_name_are_undone_together(
    shell: Shell, memory: Memory, filled: dict[str, str]
) -> None:
    before = shell.run("recall", "--json").json
    step = shell.run("review", "--json").json["step"]

    for words in (
        ("candidates", "--keep", filled["candidate"]),
        ("edit", filled["candidate"], "--text", "Never start the dev server"),
        ("edit", filled["contradiction"], "--instead-of", filled["contradicted"]),
        ("forget", filled["stale"], "--yes"),
        ("edit", filled["duplicate"], "--instead-of", filled["duplicate of"]),
    ):
        done = shell.run(*words, "--step", step)
        assert done.status == 0, done.err
    assert due(shell) == []

    undone = shell.run("undo", "--step", step)

    assert undone.status == 0, undone.err
    names = ("candidate", "contradiction", "stale", "duplicate")
    assert due(shell) == [(name, filled[name]) for name in names]
    assert shell.run("recall", "--json").json == before


def test_a_confirmed_memory_is_due_for_review_again_only_after_it_becomes_stale(
    shell: Shell, memory: Memory, filled: dict[str, str]
) -> None:
    holding = [filled[name] for name in ("contradiction", "stale", "duplicate")]

    words = [word for id_ in holding for word in ("--holds", id_)]
    done = shell.run("review", *words)

    assert done.out.count("Confirmed") == 3
    assert due(shell) == [("candidate", filled["candidate"])]
    assert shell.run("stale", "--type", "decision").status == 3
    assert "stale" not in shell.run("recall", "Redis sessions").out

    shell.run("undo", "--last")
    assert len(due(shell)) == 4


def test_confirming_the_older_of_two_contradicting_memories_resolves_the_conflict(
    shell: Shell, filled: dict[str, str]
) -> None:
    shell.run("review", "--holds", filled["contradicted"])

    assert ("contradiction", filled["contradiction"]) not in due(shell)


def test_a_memory_with_an_edited_text_is_not_stale(shell: Shell, filled: dict[str, str]) -> None:
    shell.run("edit", filled["stale"], "--text", "Sessions are kept in Redis for one day")

    assert ("stale", filled["stale"]) not in due(shell)


def test_review_with_holds_refuses_a_candidate_and_confirms_nothing(
    shell: Shell, filled: dict[str, str]
) -> None:
    done = shell.run("review", "--holds", filled["stale"], "--holds", filled["candidate"])

    assert (done.status, done.err.count("\n")) == (2, 1)
    assert f"candidates --keep {filled['candidate'][-8:]}" in done.err
    assert ("stale", filled["stale"]) in due(shell)


def test_purge_cannot_be_combined_with_the_step_option(
    shell: Shell, filled: dict[str, str]
) -> None:
    done = shell.run("forget", filled["stale"], "--purge", "--yes", "--step", "review-1")

    assert done.status == 2
    assert ("stale", filled["stale"]) in due(shell)


def test_a_rule_about_a_command_never_typed_by_the_user_needs_review(
    shell: Shell, memory: Memory
) -> None:
    evidence = {WHEN: "deploy", UNSAID: ["deploy"]}
    id_ = put(memory, "Say what a deploy changes", evidence=evidence, type="constraint")
    assert due(shell) == [("rule", id_)]

    assert shell.run("review", "--holds", id_).status == 0

    assert due(shell) == []
    assert "tell" in shell.run("rules").out


def test_review_refuses_an_empty_name_or_id(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    waits.bring(shell)
    before = due(shell)

    dropped, held = shell.run("review", "--drop", ""), shell.run("review", "--holds", "")

    assert (dropped.status, held.status) == (2, 3)
    assert due(shell) == before != []


def test_memories_shared_by_others_need_review_until_confirmed_or_dropped(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    waits.bring(shell)
    shared = [id_ for kind, id_ in due(shell) if kind == "shared"]
    assert len(shared) == len(waits.OF_BOB)

    kept = shell.run("review", "--holds", shared[0])
    assert kept.status == 0 and "Confirmed" in kept.out
    assert [id_ for kind, id_ in due(shell) if kind == "shared"] == shared[1:]
    waits.read(shell, waits.colleague(shell, "Carts are kept in Redis"))
    assert len([id_ for kind, id_ in due(shell) if kind == "shared"]) == len(shared)
    dropped = shell.run("review", "--drop", "bob", "--drop", "claude-mem")

    assert dropped.status == 0 and dropped.out.count("Forgotten") == 5
    assert due(shell) == []
    told = {r["what"]: r["trust"] for r in shell.run("viz", "--json").json["records"]}
    assert list(told.values()) == ["foreign"]  # confirmed, and still the claim of somebody else
    shell.run("undo", "--last")
    assert len(due(shell)) == 5


def test_a_base_branch_is_refused_without_the_option_branch(shell: Shell) -> None:
    done = shell.run("review", "main")

    assert done.status == 2 and "main says nothing without --branch." in done.err


def test_dropping_the_memories_of_an_unknown_program_is_refused(
    shell: Shell, filled: dict[str, str]
) -> None:
    before = due(shell)

    done = shell.run("review", "--drop", "mem0", "--holds", filled["stale"])

    assert done.status == 2 and "Nothing of mem0 waits to be confirmed." in done.err
    assert due(shell) == before


def test_a_decision_of_a_review_is_told_with_the_memory(
    shell: Shell, filled: dict[str, str]
) -> None:
    held = shell.run("review", "--holds", filled["stale"])
    replaced = shell.run("review", "--replace", filled["contradiction"], "--json").json

    short = filled["stale"][-8:]
    assert held.out == f"Confirmed: decision {short}, Sessions are kept in Redis\n"
    assert (replaced["done"], replaced["record"]["id"]) == ("replaced", filled["contradiction"])
    assert len(replaced["results"]) == 1
    assert ("contradiction", filled["contradiction"]) not in due(shell)
