"""Known fixes: told for what is distinctive in their symptom, and for nothing else."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import NamedTuple

import pytest

from memory_fabric.models import Record
from memory_fabric.recall.known_fixes import known_in

# The first list helped to settle the rules, the second was written afterwards.
LISTS = ("failing_commands.toml", "failing_commands_unseen.toml")
LEAST_FOUND = {LISTS[0]: 0.9, LISTS[1]: 0.75}


class Failing(NamedTuple):
    """A command, its output, and the key of the fix that it should bring; '' for none."""

    command: str
    output: str
    fix: str = ""


STATED = {name: tomllib.loads(Path(__file__).with_name(name).read_text("utf-8")) for name in LISTS}
FIXES = [
    Record("solution", stated["what"], id=key, evidence={"error": stated.get("error", "")})
    for name in LISTS
    for key, stated in STATED[name]["fixes"].items()
]
KNOWN = {name: [Failing(**stated) for stated in STATED[name]["known"]] for name in LISTS}
UNKNOWN = [Failing(**stated) for name in LISTS for stated in STATED[name]["unknown"]]


def told(failing: Failing) -> list[str]:
    """The keys of the fixes that a failure brings, out of both lists."""
    return [fix.id for fix in known_in(failing.output, FIXES, command=failing.command)]


def ids(failing: Failing) -> str:
    return f"{failing.command} {failing.output[12:60]}".replace("\n", " ")


@pytest.mark.parametrize("name", LISTS)
def test_each_failure_finds_only_its_own_fix_or_none(name: str) -> None:
    found = [(told(failing), failing.fix) for failing in KNOWN[name]]

    assert all(keys in ([], [fix]) for keys, fix in found)
    assert sum(keys == [fix] for keys, fix in found) >= LEAST_FOUND[name] * len(found)


@pytest.mark.parametrize("failing", UNKNOWN, ids=ids)
def test_other_failures_of_the_same_programs_find_no_fix(failing: Failing) -> None:
    assert told(failing) == []


@pytest.mark.parametrize(
    "output",
    [
        "npm ERR!",
        "Error",
        "failed",
        "bash: command not found",
        "Exit code 1",
        "Permission denied",
        "No such file or directory",
        "Traceback (most recent call last):",
    ],
)
def test_an_output_of_words_common_to_all_failures_finds_no_fix(output: str) -> None:
    fix = Record("solution", f'The build failed with "{output}"; install it again.')
    seen = Record("solution", "It was broken", evidence={"error": output})

    assert known_in(output, [fix, seen]) == []


def test_the_same_error_type_with_different_details_finds_no_fix() -> None:
    fix = Record("solution", "fixed", evidence={"error": "KeyError: 'total'"})

    assert known_in("E   KeyError: 'total'", [fix])
    assert not known_in("E   KeyError: 'customer'", [fix])


def test_words_of_the_failed_command_line_do_not_find_a_fix() -> None:
    fix = Record("solution", "ledgerctl rebalance --reshard hangs behind zookeeper quorum loss")
    output = "ledgerctl rebalance --reshard: interrupted"

    assert known_in(output, [fix])
    assert not known_in(output, [fix], command="ledgerctl rebalance --reshard")


def test_adjacent_words_in_an_output_find_a_fix_that_separate_words_do_not() -> None:
    what = "prisma migrate reports drift after an index by hand: `resolve --applied 0007_orders`"
    fix = Record("solution", what)

    assert known_in("migrate reports this\nstep failed, 0007_orders", [fix])
    assert not known_in("reports of migrate\nstep failed, 0007_orders", [fix])


def test_an_error_at_the_end_of_a_long_output_finds_its_fix() -> None:
    output = "compiling module\n" * 20_000 + "Error: force_https is not allowed\n"

    assert told(Failing("fly deploy", output)) == ["tls"]


SYMBOL = Record(
    "solution", "`notifications:listByUser` was not found until the functions were pushed", id="s"
)


@pytest.mark.parametrize(
    "spelling",
    [
        "notifications:listByUser",
        "notifications.listByUser",
        "notifications/listByUser",
        "api.notifications::listByUser",
        "listByUser",
    ],
)
def test_a_fix_is_found_by_every_spelling_of_a_function_name(spelling: str) -> None:
    stated = Record("solution", "`notifications.listByUser` misses its tombstone cursor", id="q")
    output = f"Uncaught ServerError in {spelling} while the tombstone cursor was read"

    assert [fix.id for fix in known_in(output, [stated])] == ["q"]
    assert known_in(output.replace("listByUser", "removeAll"), [SYMBOL]) == []


@pytest.mark.parametrize("chars", [260, 500, 2_000])
@pytest.mark.parametrize("between", ["\n", " | "])
def test_a_fix_is_found_for_an_error_in_a_paste_of_any_length(chars: int, between: str) -> None:
    noise = between.join(f"compiled module {n} in {n} ms" for n in range(chars // 50))
    line = "[Q(notifications.listByUser)] Server Error: not found: 'notifications/listByUser'"

    assert [fix.id for fix in known_in(f"{noise}{between}{line}", [SYMBOL])] == ["s"]


def test_a_specific_error_constant_alone_finds_its_fix() -> None:
    closed = Record("solution", "LEDGER_PERIOD_CLOSED at month's end: post it late", id="c")
    vague = Record("solution", "ERR_MODULE_NOT_FOUND came from a wrong folder", id="v")

    assert [fix.id for fix in known_in('{"code":"LEDGER_PERIOD_CLOSED"}', [closed])] == ["c"]
    assert known_in("Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'x'", [vague]) == []
