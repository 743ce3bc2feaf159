"""The lines of a journal that memory lacks: their order, their author, and the notice of them."""

from __future__ import annotations

import pytest

from memory_fabric.models import OTHERS
from memory_fabric.sharing.git import adoption, switch
from memory_fabric.sharing.git.adoption import Missing, notice_text
from memory_fabric.store.memory import Memory
from memory_fabric.store.projects import own_lines
from sharing.journals import line, write
from store.support import USER, World

JOURNAL = "decisions.jsonl"


def found_in(memory: Memory, author: str = "") -> list[str]:
    found = adoption.missing(memory, author)
    return [] if found is None else [str(one["what"]) for one in found.lines]


def test_the_last_line_of_each_record_is_offered_and_the_newest_record_is_the_first(
    world: World, memory: Memory
) -> None:
    assert adoption.missing(memory) is None
    gone, taken_back = line(4), {"id": line(5)["id"], "forgotten": True}
    write(
        world.local / JOURNAL,
        line(2),
        line(3, what="Rule 3 before"),
        line(1),
        "no line of ours",
        line(3),
        line(5),
        taken_back,
        line(6, type="session"),
        line(7, status="candidate"),
        gone | {"what": "x" * adoption.MAX_LINE_BYTES},
    )

    found = adoption.missing(memory)

    assert found is not None and found_in(memory) == ["Rule 3", "Rule 2", "Rule 1"]
    assert (found.author, found.proved, found.others, found.origin) == ("ann", False, {}, "")
    assert found.path == str(world.local / JOURNAL)
    assert found.span == ("2026-02-02", "2026-02-04")


def test_lines_that_only_others_wrote_into_a_shared_journal_are_not_offered(
    world: World, memory: Memory
) -> None:
    write(world.local / JOURNAL, line(1, author="bob"))
    found = adoption.missing(memory)
    assert found is not None and (found.lines, found.others) == ((), {"bob": 1})
    assert memory.project is not None

    switch.turn(memory.settings.home, memory.project.id, True)

    assert adoption.missing(memory) is None
    assert found_in(memory, "bob") == ["Rule 1"]


def test_a_restored_record_is_as_its_line_and_is_not_offered_again(
    world: World, memory: Memory
) -> None:
    write(
        world.local / JOURNAL,
        line(1, session="s7", pinned=True),
        line(2, scope="team", status="active"),
    )
    found = adoption.missing(memory)
    assert found is not None
    steps: list[tuple[int, int]] = []

    assert adoption.adopt(memory, found, USER, lambda *step: steps.append(step)) == 2

    assert steps == [(1, 2), (2, 2)]
    second, first = memory.find_records("1")
    assert (first.id, first.author, first.session, first.pinned) == (
        line(1)["id"],
        "ann",
        "s7",
        True,
    )
    assert (second.created_at, second.session) == (line(2)["created_at"], "")
    assert {first.source, second.source}.isdisjoint({OTHERS, adoption.MEMORY_MD})
    assert adoption.missing(memory) is None


def test_the_user_is_asked_about_unsigned_lines_until_they_are_settled(
    world: World, memory: Memory
) -> None:
    assert adoption.is_signed(memory) and not adoption.awaits_answer(memory)
    write(world.local / JOURNAL, line(1))
    (world.local / ".gitignore").write_text("*\n")
    assert not adoption.is_signed(memory) and not adoption.awaits_answer(memory)

    adoption.sign_if_missing(memory)
    waits = adoption.awaits_answer(memory), adoption.is_signed(memory)
    adoption.sign_all(memory)
    still = adoption.awaits_answer(memory)
    adoption.sign_all(memory, settled=True)

    assert (waits, still) == ((True, True), True)
    assert not adoption.awaits_answer(memory) and adoption.is_signed(memory)
    assert memory.project is not None
    head = own_lines.header(memory.settings.home, memory.project.local)
    assert head == adoption.current_header(memory)


def test_records_by_a_named_author_are_offered_after_the_users_own_were_settled(
    world: World, memory: Memory
) -> None:
    write(world.local / JOURNAL, line(1), line(2, author="olga"))
    (world.local / ".gitignore").write_text("*\n")
    found = adoption.missing(memory)
    assert found is not None and found.others == {"olga": 1}

    adoption.adopt(memory, found, USER)

    assert adoption.missing(memory) is None and not adoption.awaits_answer(memory)
    assert found_in(memory, "olga") == ["Rule 2"]


@pytest.mark.parametrize(
    ("found", "parts"),
    [
        (
            Missing(JOURNAL, (line(1),), author="ann"),
            ("has 1 record from 2026-02-02 by ann that", "project adopt (or", "not used"),
        ),
        (
            Missing(JOURNAL, (line(2), line(1)), author="ann"),
            ("has 2 records from 2026-02-02 to 2026-02-03 by ann that", "not proved"),
        ),
        (Missing(JOURNAL, (line(1),)), ("has 1 record from 2026-02-02 that",)),
        (
            Missing(JOURNAL, (line(1),), proved=True, author="ann"),
            ("has 1 record from 2026-02-02 that memory lacks: memory-fabric repair restores",),
        ),
        (
            Missing(JOURNAL, others={"bob": 2, "": 1}),
            ("has 3 records by bob and nobody named that", "project adopt bob"),
        ),
        (
            Missing(JOURNAL, (line(1),), author="ann", origin="shop-1"),
            ("from a folder that is gone", "project link shop-1 (or"),
        ),
    ],
)
def test_a_notice_says_what_is_missing_and_how_it_is_restored(
    found: Missing, parts: tuple[str, ...]
) -> None:
    told = notice_text(found)

    assert told.startswith(f"{JOURNAL} ") and [part for part in parts if part not in told] == []
    assert ("repair" in told) == found.proved and ("link" in told) == bool(found.origin)
    assert Missing(JOURNAL).span == ("", "")
