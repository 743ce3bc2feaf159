"""merge and alias on the command line."""

from __future__ import annotations

import pytest

from cli.shell import Shell


@pytest.fixture
def filled(shell: Shell) -> Shell:
    """A shell whose graph knows one thing under two names."""
    shell.remember("Use PostgreSQL for the orders")
    shell.remember("--failed", "MongoDB lost orders at 1M rows")
    return shell


def names(shell: Shell) -> list[str]:
    """The entities that why can tell of."""
    return [
        name for name in ("PostgreSQL", "MongoDB") if shell.run("why", name, "--json").status == 0
    ]


def test_merge_without_the_option_yes_only_shows_a_preview(filled: Shell) -> None:
    shown = filled.run("merge", "PostgreSQL", "MongoDB")
    done = filled.run("merge", "PostgreSQL", "MongoDB", "--yes")

    assert "nothing was changed" in shown.out
    assert done.out.endswith("MongoDB: now PostgreSQL. memory-fabric undo --last separates them.\n")
    whole = filled.run("why", "MongoDB", "--json").json
    assert (whole["name"], whole["aliases"]) == ("PostgreSQL", ["MongoDB"])
    assert len(whole["observations"]) == 2


def test_undo_separates_merged_entities(filled: Shell) -> None:
    filled.run("merge", "PostgreSQL", "MongoDB", "--yes")

    filled.run("undo", "--last")

    assert filled.run("why", "MongoDB", "--json").json["name"] == "MongoDB"
    assert filled.run("alias").out == "No entity has another name.\n"


def test_aliases_can_be_added_listed_and_removed(filled: Shell) -> None:
    given = filled.run("alias", "PostgreSQL", "PG", "Postgres", "--json").json
    shown = filled.run("alias")
    taken = filled.run("alias", "postgres", "--remove", "pg", "--json").json

    assert sorted(given[0]["aliases"]) == ["PG", "Postgres"]
    assert "PostgreSQL" in shown.out and "PG" in shown.out
    assert taken[0]["aliases"] == ["Postgres"]
    assert "Postgres" in filled.run("alias", "PostgreSQL").out


def test_alias_adds_new_names_and_refuses_names_of_other_entities(filled: Shell) -> None:
    given = filled.run("alias", "PostgreSQL", "mongo-db", "PG", "", "Postgres")
    again = filled.run("alias", "PostgreSQL", "PG", "MongoDB", "--json").json[0]

    assert given.status == 0
    assert "PG, Postgres" in given.out
    assert "'mongo-db' is the name of the entity 'MongoDB'" in given.err
    assert "An alias is empty." in given.err
    assert sorted(again["aliases"]) == ["PG", "Postgres"]
    assert list(again["refused"]) == ["MongoDB"]


def test_invalid_use_of_alias_and_merge_is_refused(filled: Shell) -> None:
    taken = filled.run("alias", "PostgreSQL", "mongo-db")
    both = filled.run("alias", "PostgreSQL", "x", "--remove", "y")
    unknown = filled.run("merge", "PostgreSQL", "nobody")

    assert taken.status == 2 and "memory-fabric merge" in taken.err
    assert both.status == 2
    assert unknown.status == 3


def test_removing_an_unknown_alias_adds_nothing_to_the_history(shell: Shell) -> None:
    shell.remember("We use Zig for the parser because it starts quickly")
    before = shell.run("history", "--json").json

    done = shell.run("alias", "Zig", "--remove", "never")

    assert done.status == 3
    assert shell.run("history", "--json").json == before


def test_merge_lists_each_entity_with_its_numbers_of_observations_and_relations(
    filled: Shell,
) -> None:
    rows = [line.split() for line in filled.run("merge", "PostgreSQL", "MongoDB").out.splitlines()]
    told = filled.run("merge", "PostgreSQL", "MongoDB", "--json").json

    assert rows[0] == ["entity", "type", "observations", "relations"]
    assert [row[0] for row in rows[1:3]] == ["PostgreSQL", "MongoDB"]
    assert [(one["name"], one["observations"]) for one in told["names"]] == [("MongoDB", 1)]


def test_an_entity_without_another_name_is_told_as_such(filled: Shell) -> None:
    before = filled.run("alias", "PostgreSQL").out
    filled.run("alias", "PostgreSQL", "PG")

    after = filled.run("alias", "PostgreSQL", "--remove", "PG").out

    assert before == after == "It has no other name.\n"
