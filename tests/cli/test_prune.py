"""stale and prune: what is old for its type is shown, and goes only when somebody says so."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from cli.shell import Done, Shell
from cli.terminal import finish, interrupt, start

TABLES = ("entities", "observations", "relations", "records")
DECISION = "Use cursor-based pagination for all list endpoints"
PREFERENCE = "I prefer tabs over spaces"
FRESH = "Always run the linter before pushing"


def age(path: Path, days: int, where: str = "1") -> None:
    """Let what is in a database have been said so many days earlier."""
    earlier = f"strftime('%Y-%m-%dT%H:%M:%fZ', created_at, '-{days} days')"
    connection = sqlite3.connect(path)
    for table in TABLES if where == "1" else ("records",):
        connection.execute(f"UPDATE {table} SET created_at = {earlier} WHERE {where}")
    connection.commit()
    connection.close()


def listed(done: Done) -> list[str]:
    """Return what a report names: texts of records, names of entities."""
    return [s["last_observation"] if s["id"] else s["name"] for s in done.json["stale"]]


def create(shell: Shell, *lines: str) -> None:
    """Import lines of the reference server's form."""
    done = shell.run("import", "-", stdin="\n".join(lines))
    assert done.status == 0, done.err


def entity(name: str, kind: str, *texts: str) -> str:
    said = ", ".join(f'"{text}"' for text in texts)
    return f'{{"type":"entity","name":"{name}","entityType":"{kind}","observations":[{said}]}}'


@pytest.fixture
def old(shell: Shell) -> Shell:
    """A shell that remembers a decision of 100 days ago and one of today."""
    shell.remember(DECISION)
    age(shell.database, 100)
    shell.remember(FRESH)
    return shell


def test_stale_exits_with_code_3_and_shows_age_limits_if_nothing_is_stale(shell: Shell) -> None:
    shell.remember(DECISION)

    done = shell.run("stale")

    assert done.status == 3
    assert "decisions are after 90 days" in done.out
    assert shell.run("stale", "--json").json["stale"] == []


def test_stale_shows_type_age_last_observation_and_id_of_a_memory(old: Shell) -> None:
    done = old.run("stale", "--type", "decision")
    found = old.run("stale", "--type", "decision", "--json").json["stale"][0]

    assert done.status == 0
    assert all(part in done.out for part in (found["short_id"], "decision", " 100 ", DECISION))
    assert (found["type"], found["days"], found["limit_days"]) == ("decision", 100, 90)
    assert found["last_observation"] == DECISION
    assert FRESH not in done.out


@pytest.mark.parametrize(
    ("kind", "limit"),
    [("technology", 120), ("pattern", 180), ("preference", 365), ("component", 90)],
)
def test_an_entity_becomes_stale_after_the_age_limit_of_its_type(
    shell: Shell, kind: str, limit: int
) -> None:
    create(shell, entity("it", kind, "once said"))

    age(shell.database, limit - 1)
    before = shell.run("stale")
    age(shell.database, 2)
    after = shell.run("stale", "--json")

    assert before.status == 3
    assert listed(after) == ["it"]
    assert after.json["stale"][0]["limit_days"] == limit


def test_agents_and_pinned_memories_are_never_stale(shell: Shell) -> None:
    create(shell, entity("reviewer", "agent", "reads diffs"))
    shell.run("pin", shell.remember(DECISION)["id"])
    age(shell.database, 4000)

    assert shell.run("stale").status == 3
    assert shell.run("stale", "--older-than", "1").status == 3


def test_replaced_memories_are_not_listed_as_stale(shell: Shell) -> None:
    old = shell.remember("We use MongoDB for the orders")
    age(shell.database, 100)
    shell.remember("We use Postgres for the orders", "--instead-of", old["id"])

    texts = [s["last_observation"] for s in shell.run("stale", "--json").json["stale"] if s["id"]]

    assert texts == []


def test_a_new_observation_resets_the_age_of_an_entity(shell: Shell) -> None:
    create(shell, entity("api", "component", "has ten endpoints"))
    age(shell.database, 100)
    create(shell, entity("api", "component", "has twelve endpoints"))

    assert shell.run("stale").status == 3


def test_entities_mentioned_by_a_current_record_are_not_stale(shell: Shell) -> None:
    shell.remember("--type", "preference", DECISION)
    age(shell.database, 100)

    assert shell.run("stale").status == 3


def test_the_stale_list_can_be_limited_by_age_and_length(shell: Shell) -> None:
    create(shell, entity("older", "pattern", "x"))
    age(shell.database, 10)
    create(shell, entity("younger", "pattern", "y"))
    age(shell.database, 5)

    assert listed(shell.run("stale", "--older-than", "4", "--json")) == ["older", "younger"]
    one = shell.run("stale", "--older-than", "4", "--limit", "1", "--json")
    assert (listed(one), one.json["total"]) == (["older"], 2)
    assert "and 1 more" in shell.run("stale", "--older-than", "4", "--limit", "1").out
    shown = shell.run("stale", "--older-than", "4", "--limit", "2").out.splitlines()
    assert shown[0].split() == ["type", "days", "memory"]
    assert [line.split() for line in shown[1:]] == [
        ["entity", "(pattern)", "15", "older:", "x"],
        ["entity", "(pattern)", "5", "younger:", "y"],
    ]


def test_prune_without_yes_previews_and_changes_nothing(old: Shell) -> None:
    before = old.run("export").out

    done = old.run("prune")

    assert done.status == 2
    assert DECISION in done.out and "--yes" in done.err
    assert old.run("prune", "--json").json["undo"] == ""
    assert old.run("prune", "--json").json["pruned"] == 0
    assert old.run("export").out == before


def test_prune_removes_only_stale_memories_from_database_and_memory_md(old: Shell) -> None:
    done = old.run("prune", "--yes")

    assert done.status == 0, done.err
    assert DECISION not in old.notes.read_text("utf-8") and FRESH in old.notes.read_text("utf-8")
    assert DECISION not in old.run("export").out
    assert old.run("stale").status == 3
    assert old.run("check").status == 0


def undo_named_in(shell: Shell, told: dict[str, Any]) -> Done:
    """Run the command that a prune told."""
    program, *words = told["undo"].split()
    assert program == "memory-fabric"
    return shell.run(*words)


def test_one_undo_restores_all_pruned_project_and_user_memories_byte_for_byte(old: Shell) -> None:
    old.remember("--scope", "user", PREFERENCE)
    create(old, *(entity(f"part-{n}", "component", "x", "y") for n in range(450)))
    create(old, '{"type":"relation","from":"part-1","to":"part-449","relationType":"uses"}')
    age(old.database, 400)
    age(old.memory / "user.db", 400)
    old.run("sync")
    before, notes = old.run("export").out, old.notes.read_bytes()

    told = old.run("prune", "--limit", "1000", "--yes", "--json").json
    empty = old.run("export").out
    back = undo_named_in(old, told)

    assert told["pruned"] > 450 and "part-" not in empty
    assert back.status == 0, back.err
    assert old.run("export").out == before
    assert old.notes.read_bytes() == notes


def test_undoing_the_undo_of_a_prune_removes_the_memories_again(old: Shell) -> None:
    old.remember("--scope", "user", PREFERENCE)
    age(old.memory / "user.db", 400)
    told = old.run("prune", "--yes", "--json").json
    pruned = old.run("export").out

    undone = undo_named_in(old, told).out
    again = undone.split("memory-fabric undo ")[1].split()[0]
    old.run("undo", again)

    assert old.run("export").out == pruned
    assert old.run("recall", "tabs over spaces").status == 3


def test_prune_with_an_entity_name_removes_only_that_entity(old: Shell) -> None:
    create(old, entity("left", "component", "x"), entity("right", "component", "y"))
    age(old.database, 100)

    told = old.run("prune", "left", "--yes", "--json").json

    assert [s["name"] for s in told["stale"]] == ["left"]
    assert (told["total"], told["pruned"], told["changed_meanwhile"]) == (1, 1, [])
    assert (told["stale"][0]["observations"], told["stale"][0]["relations"]) == (1, 0)
    assert '"right"' in old.run("export").out and '"left"' not in old.run("export").out


@pytest.mark.parametrize("name", ["fresh", "unheard-of", "0123456789ab"])
def test_prune_refuses_a_name_that_is_unknown_or_not_stale(old: Shell, name: str) -> None:
    create(old, entity("fresh", "component", "said today"))
    before = old.run("export").out

    done = old.run("prune", name, "--yes")

    assert done.status == 3
    assert name in done.err and done.err.count("\n") == 1
    assert old.run("export").out == before


@pytest.mark.parametrize("answer", ["n", "", "\x03"], ids=["no", "enter", "ctrl-c"])
def test_prune_changes_nothing_unless_the_user_answers_yes(old: Shell, answer: str) -> None:
    before = old.run("export").out
    terminal = start(old, "prune")
    terminal.expect("from memory")

    if answer == "\x03":
        interrupt(terminal)
        terminal.close()
        status, said = terminal.exitstatus, terminal.before
    else:
        terminal.sendline(answer)
        status, said = finish(terminal)

    assert status == 1 and "nothing was changed" in said
    assert old.run("export").out == before


def test_answering_yes_at_a_terminal_prunes_and_shows_the_undo_command(old: Shell) -> None:
    terminal = start(old, "prune")
    terminal.expect("from memory")

    terminal.sendline("y")
    status, said = finish(terminal)

    assert status == 0 and "memory-fabric undo " in said
    assert DECISION not in old.run("export").out


def test_prune_keeps_an_entity_that_changed_while_the_user_was_asked(shell: Shell) -> None:
    create(shell, entity("api", "component", "x"), entity("spa", "component", "y"))
    age(shell.database, 100)
    terminal = start(shell, "prune")
    terminal.expect("from memory")

    create(shell, entity("api", "component", "is alive"))
    terminal.sendline("y")
    _, said = finish(terminal)

    assert "kept, because changed since it was shown: api" in said
    assert "Pruned: 1." in said
    assert '"api"' in shell.run("export").out and '"spa"' not in shell.run("export").out


def test_pruning_a_locked_database_fails_and_is_not_retried_later(old: Shell) -> None:
    connection = sqlite3.connect(old.database)
    connection.execute("BEGIN IMMEDIATE")

    done = old.run("prune", "--yes")
    connection.rollback()
    connection.close()
    old.run("sync")

    assert done.status == 1
    assert "Nothing was pruned" in done.err
    assert done.err.count("Try again") == 1
    assert DECISION in old.run("recall", "pagination").out


def test_prune_finds_nothing_to_remove_in_a_new_memory(shell: Shell) -> None:
    shell.remember(FRESH)

    done, told = shell.run("prune", "--yes"), shell.run("prune", "--yes", "--json")

    assert (done.status, told.status) == (3, 3)
    assert done.out.startswith("Nothing is stale: ")
    assert (told.json["pruned"], told.json["undo"]) == (0, "")


def test_an_old_entity_without_observations_is_shown_with_its_relations(shell: Shell) -> None:
    relation = '{"type":"relation","from":"hub","to":"api","relationType":"feeds"}'
    create(shell, entity("hub", "component"), entity("api", "component", "x"), relation)
    age(shell.database, 100)

    shown = shell.run("stale").out

    assert "hub: no observations; relations: 1" in shown and "api: x" in shown


def test_named_memories_are_pruned_even_beyond_the_limit(shell: Shell) -> None:
    create(shell, *(entity(name, "component", "x") for name in ("one", "two", "three")))
    age(shell.database, 100)

    told = shell.run("prune", "one", "two", "--limit", "1", "--yes", "--json").json

    assert told["pruned"] == 2
    assert '"three"' in shell.run("export").out
