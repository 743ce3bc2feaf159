"""Known fixes: told for what is distinctive in their symptom, and for nothing else."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from memory_fabric.models import Record
from memory_fabric.recall.known_fixes import known_in, matching
from recall.given import USER, on, open_memory, remember

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


SHARD = "KeyError: 'shardmap'"
LOST = Record("solution", "zookeeper lost the ledgerctl quorum of shardmap", id="f")


def a_fix(what: str, id_: str = "f", **fields: Any) -> Record:
    return Record("solution", what, id=id_, **fields)


def test_fixes_found_by_the_error_line_come_before_those_found_by_a_phrase_or_by_words() -> None:
    output = f"{SHARD}\nledgerctl rebalance stops behind zookeeper quorum"
    by_words = a_fix("ledgerctl rebalance --reshard hangs behind zookeeper quorum loss", "words")
    by_phrase = a_fix('it says "behind zookeeper quorum" at night', "phrase")
    by_line = a_fix("mended", "line", evidence={"error": SHARD})

    found = known_in(output, [by_words, by_phrase, by_line])

    assert [fix.id for fix in found] == ["line", "phrase", "words"]


def test_of_two_equally_good_fixes_the_newer_comes_first() -> None:
    error = {"error": SHARD}
    old = a_fix("mended", "old", evidence=error, created_at="2026-01-01")
    new = a_fix("mended", "new", evidence=error, created_at="2026-01-02")

    assert [fix.id for fix in known_in(SHARD, [old, new])] == ["new", "old"]


@pytest.mark.parametrize("key", ["also", "symptom"])
def test_a_fix_is_also_found_by_the_other_symptoms_that_it_lists(key: str) -> None:
    fix = a_fix("mended", evidence={key: "LEDGER_PERIOD_CLOSED when posting"})

    assert known_in('{"code":"LEDGER_PERIOD_CLOSED"}', [fix]) == [fix]
    assert known_in('{"code":"LEDGER_PERIOD_OPENED"}', [fix]) == []


@pytest.mark.parametrize(
    ("before", "behind", "is_found"), [(100, 100, True), (900, 100, True), (300, 900, False)]
)
def test_an_error_in_the_middle_of_a_very_long_output_is_not_searched(
    before: int, behind: int, is_found: bool
) -> None:
    fix = a_fix("mended", evidence={"error": SHARD})
    lines = [f"compiled module{n} in {n} ms" for n in range(before + behind)]
    lines.insert(before, SHARD)

    assert (known_in("\n".join(lines), [fix]) == [fix]) is is_found


@pytest.mark.parametrize(("lines", "is_found"), [(40, True), (41, False)])
def test_a_word_in_more_than_forty_lines_identifies_no_failure(lines: int, is_found: bool) -> None:
    output = "\n".join(f"zookeeper ledgerctl shardmap {'abcdefgh'[n % 8]}{n}" for n in range(lines))

    assert (known_in(output, [LOST]) == [LOST]) is is_found


@pytest.mark.parametrize(("apart", "is_found"), [(1, True), (2, False)])
def test_words_of_a_fix_must_be_within_three_lines(apart: int, is_found: bool) -> None:
    between = ["it was here", "it was there"][:apart]
    output = "\n".join(["zookeeper", *between, "ledgerctl shardmap"])

    assert (known_in(output, [LOST]) == [LOST]) is is_found


def test_a_long_number_identifies_a_failure_and_a_short_one_does_not() -> None:
    fix = a_fix("ledgerctl stops with zookeeper code 40817, not code 408")

    assert known_in("ledgerctl zookeeper 40817", [fix]) == [fix]
    assert known_in("ledgerctl zookeeper 408", [fix]) == []


def test_a_phrase_of_the_command_itself_finds_no_fix() -> None:
    fix = a_fix('"ledgerctl zookeeper reshard" hangs')

    assert known_in("ledgerctl zookeeper reshard: stopped", [fix]) == [fix]
    command = "ledgerctl zookeeper reshard"
    assert known_in(command, [fix], command=command) == []


def test_an_error_whose_quoted_name_is_missing_is_not_matched_by_other_words() -> None:
    said = "ledgerctl rebalance --reshard hangs behind zookeeper quorum loss"
    fix = a_fix(said, evidence={"error": "ledgerctl: no shard 'alpha7x'"})

    assert known_in(f"ledgerctl: no shard 'alpha7x'\n{said}", [fix]) == [fix]
    assert known_in(f"ledgerctl: no shard 'beta7x'\n{said}", [fix]) == []


def test_at_most_two_trusted_fixes_that_are_wanted_are_returned_best_first(tmp_path: Path) -> None:
    memory = open_memory(tmp_path)
    line = {"error": SHARD}
    weak = remember(memory, '"behind zookeeper quorum" mended', type="solution")
    trusted = [
        remember(memory, f"mended {n}", type="solution", evidence=line, by=on(f"2026-02-{day}"))
        for n, day in (("one", "01"), ("two", "02"), ("three", "03"))
    ]
    tool = USER._replace(trust="tool")
    remember(memory, "mended four", type="solution", evidence=line, by=tool)
    output = f"{SHARD}\nbehind zookeeper quorum"

    best = matching(output, memory, wanted=lambda fix: True)
    others = matching(output, memory, wanted=lambda fix: fix.id not in [r.id for r in trusted[1:]])
    none = matching(output, memory, wanted=lambda fix: False)
    memory.close()

    assert [fix.id for fix in best] == [trusted[2].id, trusted[1].id]
    assert [fix.id for fix in others] == [trusted[0].id, weak.id]
    assert none == []
