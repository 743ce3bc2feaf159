"""BR-17 and U3: the state of every tier, with counts, times, queues, lines, backup and remedy."""

from __future__ import annotations

import json
import os
import shutil
import time
from pathlib import Path
from typing import Any

import pytest

from cli.shell import Shell
from memory_fabric.health.check import ago
from memory_fabric.ids import timestamp

DECISION = "Use cursor-based pagination for all list endpoints"
MARKED = '<<<<<<< HEAD\n{"id":"a"}\n=======\n{"id":"b"}\n>>>>>>> theirs\n'


@pytest.fixture
def filled(shell: Shell) -> Shell:
    """A shell whose project remembers one thing."""
    shell.remember(DECISION)
    return shell


def tier(shell: Shell, name: str) -> dict[str, Any]:
    """Return what status says of a tier."""
    found = {t["tier"]: t for t in shell.run("status", "--json").json["tiers"]}
    one: dict[str, Any] = found[name]
    return one


def journal_of(shell: Shell) -> Path:
    return shell.project / ".claude/memory/decisions.jsonl"


def waiting(at: str) -> str:
    """A line of a queue."""
    line = {"id": "x", "kind": "forget", "payload": {"ids": []}, "provenance": {"at": at}}
    return json.dumps(line) + "\n"


def test_an_invalid_timestamp_is_shown_unchanged() -> None:
    assert ago("long", 0.0) == "long"


def test_status_json_has_the_documented_fields_for_each_storage_tier(filled: Shell) -> None:
    found = filled.run("status", "--json").json["tiers"]

    always = {"tier", "state", "where", "counts", "written_at", "read_at", "queue", "findings"}
    assert [t.keys() - always for t in found] == [{"backup"}, set(), set()]
    assert all(always <= t.keys() for t in found)
    assert found[0]["backup"] is None


def test_status_shows_when_each_tier_was_last_written_and_read(filled: Shell) -> None:
    began = timestamp(time.time() - 60)

    graph, local, native = (tier(filled, name) for name in ("graph", "local", "native"))

    assert all(began < t["written_at"] <= timestamp() for t in (graph, local, native))
    assert graph["read_at"] == "" and min(local["read_at"], native["read_at"]) > began
    event = {"hook_event_name": "SessionStart", "session_id": "s", "source": "startup"}
    filled.run("hook", stdin=json.dumps(event), CLAUDE_PROJECT_DIR=str(filled.project))
    assert tier(filled, "graph")["read_at"] > began


def test_status_shows_the_age_of_the_backup_and_whether_the_copy_is_sound(filled: Shell) -> None:
    (made,) = filled.run("backup", "--json").json["made"]

    sound, sound_line = tier(filled, "graph"), filled.run("status").out.splitlines()[-1]
    Path(made).write_bytes(Path(made).read_bytes()[:5000])
    torn = tier(filled, "graph")

    assert sound["backup"]["path"] == made and 0 <= sound["backup"]["age_s"] < 600
    assert (sound["state"], sound["backup"]["sound"]) == ("healthy", True)
    assert (torn["state"], torn["backup"]["sound"]) == ("degraded", False)
    assert "memory-fabric backup" in torn["findings"][0]["remedy"]
    assert sound_line.startswith("The newest backup is ")
    assert sound_line.endswith(" old, verified now.")
    assert filled.run("status").out.endswith(" old, unreadable.\n")


def test_merge_conflict_markers_are_reported_with_line_numbers_and_remedy(filled: Shell) -> None:
    with journal_of(filled).open("a", encoding="utf-8") as stream:
        stream.write(MARKED + "{torn\n")

    markers, torn = tier(filled, "local")["findings"]

    assert (
        markers["lines"] == [2, 4, 6] and "unfinished merge in lines 2, 4, 6" in markers["reason"]
    )
    assert "keep all others" in markers["remedy"]
    assert torn["lines"] == [7]
    assert "lines 2, 4, 6" in filled.run("status").out


@pytest.mark.parametrize("place", ["project", "home"])
@pytest.mark.parametrize(
    ("count", "age_s", "state"),
    [(50, 0, "healthy"), (51, 0, "degraded"), (1, 3500, "healthy"), (1, 3700, "degraded")],
)
def test_status_is_degraded_only_if_the_queue_exceeds_its_length_or_age(
    filled: Shell, place: str, count: int, age_s: int, state: str
) -> None:
    folder = journal_of(filled).parent if place == "project" else filled.memory / "local"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "graph-queue.jsonl").write_text(waiting(timestamp(time.time() - age_s)) * count)

    graph, local = tier(filled, "graph"), tier(filled, "local")

    assert (graph["state"], local["state"]) == (state, state)
    assert graph["queue"]["count"] == local["counts"]["queued"] == count
    assert age_s <= graph["queue"]["oldest_s"] < age_s + 60
    if state == "degraded":
        assert str(folder) in graph["findings"][0]["reason"]
        assert "memory-fabric sync" in graph["findings"][0]["remedy"]


def test_status_names_the_incomplete_line_of_the_operations_journal(filled: Shell) -> None:
    journal = filled.database.with_name("operations.jsonl")
    with journal.open("a", encoding="utf-8") as stream:
        stream.write("{torn\n")

    (finding,) = tier(filled, "graph")["findings"]

    assert finding["lines"] == [len(journal.read_text("utf-8").splitlines())]


def test_a_deleted_memory_folder_of_a_project_is_reported_and_repaired(filled: Shell) -> None:
    filled.remember("--failed", "Offset pagination caused timeouts at 1M rows")
    before = sorted(json.loads(x)["id"] for x in journal_of(filled).read_text().splitlines())
    shutil.rmtree(filled.project / ".claude")

    lost = tier(filled, "local")
    done = filled.run("repair", "--json")

    assert (
        lost["state"] == "degraded"
        and "2 records are in the graph" in lost["findings"][0]["reason"]
    )
    assert "memory-fabric repair" in lost["findings"][0]["remedy"]
    assert done.json["restored"] == 2
    after = sorted(json.loads(x)["id"] for x in journal_of(filled).read_text().splitlines())
    assert after == before
    assert (journal_of(filled).parent / ".gitignore").read_text() == "*\n"
    assert tier(filled, "local")["state"] == "healthy"
    assert filled.run("sync", "--json").json["restored"] == 0


def test_sync_restores_a_deleted_journal_line_without_duplicates(filled: Shell) -> None:
    filled.remember("--failed", "Offset pagination caused timeouts at 1M rows")
    first, second = journal_of(filled).read_text().splitlines()
    journal_of(filled).write_text(second + "\n")

    assert filled.run("sync", "--json").json["restored"] == 1

    assert sorted(journal_of(filled).read_text().splitlines()) == sorted([first, second])


def test_repair_restores_a_lost_operations_journal(filled: Shell) -> None:
    journal = filled.database.with_name("operations.jsonl")
    before = [json.loads(line)["id"] for line in journal.read_text().splitlines()]
    journal.unlink()

    filled.run("repair")

    assert [json.loads(line)["id"] for line in journal.read_text().splitlines()] == before


def test_repair_does_not_restore_forgotten_records_to_the_journal(filled: Shell) -> None:
    filled.run("forget", "pagination", "--yes", "--all")
    os.unlink(journal_of(filled))

    assert filled.run("repair", "--json").json["restored"] == 0

    assert not journal_of(filled).exists()


def test_status_reports_that_memory_md_cannot_be_updated(filled: Shell) -> None:
    filled.notes.write_text(filled.notes.read_text().replace("<!-- memory-fabric:end -->\n", ""))

    found = tier(filled, "native")

    assert (found["state"], found["findings"][0]["remedy"]) == (
        "degraded",
        "Delete the other one.",
    )


def test_status_reports_that_memory_md_cannot_be_read(filled: Shell) -> None:
    filled.notes.unlink()
    filled.notes.mkdir()

    found = tier(filled, "native")

    assert (found["state"], found["counts"]) == ("unavailable", {})
    assert found["findings"][0]["reason"].startswith(f"{filled.notes} cannot be read: ")


def test_status_prints_one_line_for_each_storage_tier_and_each_problem(filled: Shell) -> None:
    with journal_of(filled).open("a", encoding="utf-8") as stream:
        stream.write("{torn\n")

    lines = filled.run("status").out.splitlines()

    head = next(i for i, line in enumerate(lines) if line.startswith("tier"))
    assert lines[head].split() == ["tier", "state", "written", "read", "holds"]
    assert [line.split()[:2] for line in lines[head + 1 : head + 4]] == [
        ["graph", "healthy"],
        ["local", "degraded"],
        ["native", "healthy"],
    ]
    assert lines[head + 4].startswith("local: ") and "Look at line 2" in lines[head + 4]
    assert lines[-1].startswith("No backup yet")


def test_status_reports_no_problem_if_memory_md_was_never_created(shell: Shell) -> None:
    shell.run("remember", "--scope", "user", "I prefer tabs over spaces in Go files")
    shell.run("sync")
    other = shell.project.parent / "other"
    (other / ".git").mkdir(parents=True)
    shell.project = other

    native = shell.run("status", "--json").json["tiers"][2]

    assert native["tier"] == "native"
    assert native["findings"] == []


def test_status_of_a_clone_is_healthy_after_it_is_linked_to_its_project(
    shell: Shell,
) -> None:
    other = shell.project.parent / "clone"
    remote = '[remote "origin"]\n\turl = git@example.com:acme/shop.git\n'
    for folder in (shell.project, other):
        (folder / ".git").mkdir(parents=True, exist_ok=True)
        (folder / ".git" / "config").write_text(remote, "utf-8")
    shell.remember("We use Zig for the parser because it starts quickly")

    shell.project = other
    claimed = shell.run("status", "--json").json["claims"]
    assert shell.run("project", "link", "--yes").status == 0

    assert "proves nothing" in claimed and shell.run("status", "--json").json["claims"] == ""
    states = {tier["tier"]: tier["state"] for tier in shell.run("status", "--json").json["tiers"]}
    assert states == {"graph": "healthy", "local": "healthy", "native": "healthy"}


def test_status_shows_project_switches_and_contents(filled: Shell) -> None:
    id_ = filled.run("project", "--json").json["id"]

    lines = filled.run("status").out.splitlines()
    filled.run("off", "--write")
    off = filled.run("status").out

    assert lines[0].endswith(f", project shop ({id_})")
    assert lines[1:3] == ["recall is on, capture is on", "sharing by git is off"]
    graph = next(line for line in lines if line.startswith("graph "))
    assert " never " in graph and "records 1" in graph
    assert "recall is on, capture is off" in off


def test_status_of_an_empty_memory_shows_that_nothing_is_stored_yet(shell: Shell) -> None:
    shown = shell.run("status").out

    assert shown.count("nothing yet") == 3
    assert "wait for the graph" not in shown


def test_status_shows_how_many_changes_wait_for_the_graph(filled: Shell) -> None:
    at = timestamp(time.time() - 7200)
    (journal_of(filled).parent / "graph-queue.jsonl").write_text(waiting(at) * 2)

    assert "\n2 changes waiting for the graph, the oldest since 2 h.\n" in filled.run("status").out


@pytest.fixture
def told(filled: Shell) -> Shell:
    """A shell in which a session was told something."""
    hook = json.dumps({"hook_event_name": "SessionStart", "session_id": "s", "source": "startup"})
    environ = {"CLAUDE_PROJECT_DIR": str(filled.project), "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1"}
    filled.run("hook", stdin=hook, **environ)
    return filled


def test_worth_finds_nothing_if_no_session_was_told_anything(filled: Shell) -> None:
    done = filled.run("worth", "--days", "7")

    assert (done.status, done.out) == (3, "Nothing was told in the last 7 days.\n")


def test_worth_counts_the_tokens_that_sessions_were_told(told: Shell) -> None:
    shown = told.run("worth").out
    counted = told.run("worth", "--json").json

    chars, tokens = counted["total"]["chars"], counted["total"]["tokens"]
    assert 0 < chars // 4 <= tokens <= -(-chars // 4)
    assert (counted["sessions"], counted["days"], counted["price_per_million"]) == (1, 30, None)
    assert (counted["total"]["cost"], counted["weeks"][0]["cost"]) == (None, None)
    assert {one["name"] for one in counted["channels"]} == {"session"}
    assert shown.startswith(f"Told in the last 30 days: {tokens} tokens in 1 session.\n")
    assert shown.splitlines()[1].split()[:4] == ["week", "of", "sessions", "tokens"]
    assert "For the cost give --price" in shown and "dollars" not in shown


def test_worth_multiplies_tokens_by_the_price_of_a_million(told: Shell) -> None:
    shown = told.run("worth", "--price", "10000").out
    counted = told.run("worth", "--price", "3", "--json").json

    tokens, cost = counted["total"]["chars"] / 4, counted["total"]["cost"]
    assert cost == counted["weeks"][0]["cost"] == round(tokens * 3 / 1e6, 6)
    assert f"{tokens * 10_000 / 1e6:.4f}" in shown
    assert shown.count("dollars") == 3 and "For the cost" not in shown


def test_the_price_of_tokens_can_stand_in_config_toml(filled: Shell) -> None:
    (filled.memory / "config.toml").write_text("[worth]\nprice = 2.5\n", "utf-8")

    assert filled.run("worth", "--json").json["price_per_million"] == 2.5
    assert filled.run("worth", "--json", "--price", "0").json["price_per_million"] is None
