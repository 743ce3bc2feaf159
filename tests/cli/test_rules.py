"""memory-fabric rules: lists what binds, tries a call, and sets what a rule does."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cli.shell import Shell

SERVER = "Never start the dev server; the user runs it himself"
STYLE = "API handlers return problem+json"


def keep(shell: Shell, what: str, when: str) -> str:
    """Remember a rule on the command line and return its short id."""
    done = shell.run("remember", what, "--type", "rule", "--when", when, "--json")
    assert done.status == 0, done.err
    return str(json.loads(done.out)["id"])[-8:]


def listed(shell: Shell) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(shell.run("rules", "--json").out)
    return found


def effects(shell: Shell) -> dict[str, list[str]]:
    return {
        rule["id"][-8:]: [binding["effect"] for binding in rule["binds"]]
        for rule in listed(shell)["rules"]
    }


def test_the_rules_command_exits_with_code_3_if_there_are_no_rules(shell: Shell) -> None:
    assert shell.run("rules").status == 3


def test_each_rule_is_listed_with_its_effect_and_the_tool_calls_it_covers(shell: Shell) -> None:
    asks, tells = keep(shell, SERVER, "npm run dev"), keep(shell, STYLE, "src/api/**")
    nothing = keep(shell, "Lists are paged by cursors", "working on lists")

    done = shell.run("rules")

    assert (done.status, done.err) == (0, "")
    assert done.out.splitlines()[0].split() == ["id", "does", "bound", "to", "rule"]
    assert effects(shell) == {asks: ["ask"], tells: ["tell"], nothing: []}
    assert "src/api/**" in done.out and f"{nothing} binds nothing" in done.out


def test_the_command_rules_test_lists_the_rules_that_apply_to_a_call(shell: Shell) -> None:
    asks, tells = keep(shell, SERVER, "npm run dev"), keep(shell, STYLE, "src/api/**")

    by_command = shell.run("rules", "test", "cd web && pnpm dev")
    by_path = json.loads(shell.run("rules", "test", "--path", "src/api/x.py", "--json").out)
    mentioned = shell.run("rules", "test", "echo npm run dev")

    assert by_command.status == 0 and f"{asks} asks before the first" in by_command.out
    assert f"{tells} is not: bound to src/api/**" in by_command.out
    assert [one["id"][-8:] for one in by_path["applies"]] == [tells]
    assert (mentioned.status, "No rule is about this" in mentioned.out) == (3, True)


@pytest.mark.parametrize("given", [(), ("ls", "--path", "x")])
def test_rules_test_requires_exactly_one_call(shell: Shell, given: tuple[str, ...]) -> None:
    assert shell.run("rules", "test", *given).status == 2


def test_each_effect_of_a_rule_can_be_set_and_undone(shell: Shell) -> None:
    id_ = keep(shell, SERVER, "npm run dev")

    for effect in ("tell", "deny", "ask"):
        assert shell.run("rules", effect, id_).status == 0
        assert effects(shell) == {id_: [effect]}
    shell.run("undo", "--yes")

    assert effects(shell) == {id_: ["deny"]}


def test_a_lifted_rule_has_no_effect_until_a_new_effect_is_set(shell: Shell) -> None:
    id_ = keep(shell, SERVER, "npm run dev")

    assert shell.run("rules", "lift", id_).status == 0
    lifted = listed(shell)
    again = shell.run("rules", "lift", id_)
    shell.run("rules", "tell", id_)

    assert (lifted["rules"], lifted["lifted"][0]["when"]) == ([], "npm run dev")
    assert "Already lifted" in again.out
    assert effects(shell) == {id_: ["tell"]}


def test_rules_deny_refuses_a_rule_without_tool_calls_and_gives_a_remedy(shell: Shell) -> None:
    id_ = keep(shell, "Lists are paged by cursors", "working on lists")

    done = shell.run("rules", "deny", id_)

    assert done.status == 2 and f"edit {id_} --when" in done.err
    assert shell.run("edit", id_, "--when", "src/lists/**").status == 0
    assert effects(shell) == {id_: ["tell"]}


def test_the_model_cannot_change_the_effect_of_a_rule(shell: Shell) -> None:
    id_ = keep(shell, SERVER, "npm run dev")
    shell.environ["CLAUDECODE"] = "1"

    refused = [shell.run("rules", action, id_) for action in ("tell", "ask", "deny", "lift")]

    assert {done.status for done in refused} == {2}
    assert "only the user" in refused[0].err
    assert effects(shell) == {id_: ["ask"]}


def test_remember_prints_which_paths_and_activities_a_new_rule_covers(shell: Shell) -> None:
    bound = shell.run("remember", STYLE, "--type", "rule", "--when", "src/api/**, commit")
    unbound = shell.run("remember", SERVER, "--type", "rule", "--when", "working on lists")

    assert "binds: path src/api/**, activity commit" in " ".join(bound.out.split())
    assert "binds no call" in unbound.out


def test_commands_required_before_a_call_can_be_set_changed_and_removed(shell: Shell) -> None:
    done = shell.run(
        "remember", "Tests pass before commits", "--type", "rule", "--when", "commit",
        "--first", "`make check`", "--json",
    )  # fmt: skip
    id_ = str(json.loads(done.out)["id"])[-8:]
    [stated] = listed(shell)["rules"]
    shown, tried = shell.run("rules"), shell.run("rules", "test", "git commit -m x")
    shell.run("edit", id_, "--first", "pytest and the linter")
    [changed] = listed(shell)["rules"]
    shell.run("edit", id_, "--first", "")
    [free] = listed(shell)["rules"]

    assert (stated["when"], len(stated["binds"])) == ("commit, first `make check`", 1)
    assert [one["text"] for one in stated["first"]] == ["make check"]
    assert "commit, first `make check`" in shown.out
    assert "unless `make check` passed before" in tried.out
    assert [one["text"] for one in changed["first"]] == ["pytest", "lint"]
    assert (free["when"], free["first"]) == ("commit", [])


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (("--first", "pytest"), "--when"),
        (("--when", "commit", "--first", "think about it"), "'think about it'"),
        (("--when", "working on lists", "--first", "pytest"), "--when"),
    ],
)
def test_remember_refuses_required_commands_of_a_rule_it_cannot_enforce(
    shell: Shell, options: tuple[str, ...], named: str
) -> None:
    done = shell.run("remember", "Tests pass before commits", "--type", "rule", *options)

    assert done.status == 2 and named in done.err
    assert shell.run("rules").status == 3


def test_edit_refuses_required_commands_for_a_rule_without_tool_calls(shell: Shell) -> None:
    id_ = keep(shell, STYLE, "")

    done = shell.run("edit", id_, "--first", "pytest")

    assert done.status == 2 and "--when" in done.err


def test_a_lifted_rule_is_listed_with_the_command_that_binds_it_again(shell: Shell) -> None:
    id_ = keep(shell, SERVER, "npm run dev")

    lifted = shell.run("rules", "lift", id_).out
    rules = shell.run("rules")

    assert lifted == f"Now lifted: {id_}, {SERVER}\n"
    assert (rules.status, rules.out) == (
        0,
        "No rule is bound to a command, path or activity.\n"
        f"{id_} is lifted (npm run dev); memory-fabric rules tell {id_} binds it again.\n",
    )


def test_setting_an_effect_that_a_rule_has_already_changes_nothing(shell: Shell) -> None:
    id_ = keep(shell, SERVER, "npm run dev")

    first = shell.run("rules", "tell", id_)
    before = shell.run("history", "--json").json
    second = shell.run("rules", "tell", id_, "--json").json

    assert first.out.endswith(" (1 binding: npm run dev).\n")
    assert (second["changed"], second["failures"]) == (False, [])
    assert shell.run("history", "--json").json == before
    assert shell.run("rules", "deny", id_, "--json").json["changed"] is True


def test_rules_test_says_for_each_other_rule_why_it_does_not_apply(shell: Shell) -> None:
    bound = keep(shell, SERVER, "npm run dev")
    free = keep(shell, "Lists are paged by cursors", "working on lists")

    first, *others = shell.run("rules", "test", "ls").out.splitlines()
    tried = json.loads(shell.run("rules", "test", "ls -l", "--json").out)

    assert first == "No rule is about this."
    assert set(others) == {
        f"{bound} is not: bound to npm run dev.",
        f"{free} is not: its When: 'working on lists' names no command, path or activity.",
    }
    assert (tried["applies"], tried["commands"], tried["paths"]) == ([], ["ls -l"], [])


def test_rules_test_shows_the_part_of_a_call_that_a_rule_is_bound_to(shell: Shell) -> None:
    keep(shell, SERVER, "npm run dev")

    shown = shell.run("rules", "test", "npm run dev").out

    assert shown.splitlines()[1] == "  bound to npm run dev, here: npm run dev"
    assert "No rule is about this" not in shown


def test_changing_a_rule_requires_its_id(shell: Shell) -> None:
    done = shell.run("rules", "ask")

    assert done.status == 2 and "rules ask needs an id." in done.err
