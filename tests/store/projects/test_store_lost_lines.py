"""Lines of MEMORY.md whose memory was lost: kept, and given back to the user who asks for them."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from command_line import run_here
from memory_fabric.models import QUOTATION
from memory_fabric.sharing.git import adoption
from memory_fabric.store.forget import purge
from memory_fabric.store.history import changes, undo
from memory_fabric.store.tiers import memory_md
from store.support import USER, World, decision

RULE = "Never push to main without asking me"
LIKING = "Prefer metric units in every project"
WORDS = "please never push to main without asking me"


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A home that was lost after it had written MEMORY.md, with one new memory since."""
    world = World(tmp_path)
    remember(world, "constraint", RULE, evidence={QUOTATION: WORDS})
    remember(world, "preference", LIKING, scope="user")
    shutil.rmtree(world.home)
    remember(world, "constraint", "Always write tests first")
    return world


def remember(world: World, kind: str, what: str, **fields: object) -> None:
    memory = world.memory()
    memory.remember(decision(what, **fields)._replace(type=kind), USER)
    memory.flush()
    memory.close()


def block(world: World) -> str:
    return world.native().read_text("utf-8")


def ids(world: World) -> dict[str, str]:
    lines = memory_md.shown_lines(memory_md.MemoryFile(str(world.native())))
    return {line.split("] ")[1]: id_ for id_, line in lines.items()}


def test_lines_of_memory_md_are_kept_if_their_records_were_lost(world: World) -> None:
    remember(world, "constraint", "Never edit the vendor folder")
    text = block(world)
    assert text.count(RULE) == text.count(LIKING) == 1
    known, _, lacked = text.partition(memory_md.LACKED)
    assert "tests first" in known and "vendor" in known and LIKING in lacked and RULE in lacked


def test_records_restored_from_memory_md_keep_their_ids_text_and_scope(world: World) -> None:
    before = ids(world)
    memory = world.memory()
    found = adoption.missing(memory)
    assert found is not None and not found.proved and len(found.lines) == 2
    assert adoption.adopt(memory, found, USER) == 2
    memory.flush()

    [liking] = memory.find_records("scope = 'user'")
    assert (liking.what, liking.type, liking.trust) == (LIKING, "preference", "user")
    assert (liking.id, liking.source) == (before[LIKING], adoption.MEMORY_MD)
    [rule] = memory.find_records("what = ?", (RULE,))
    assert rule.evidence[QUOTATION] == WORDS
    assert adoption.missing(memory) is None
    assert memory_md.LACKED not in block(world) and block(world).count(LIKING) == 1


def test_the_command_project_adopt_shows_and_restores_lost_records(world: World) -> None:
    environ = {"PATH": os.environ["PATH"], **world.environ}
    said = run_here(["project", "adopt", "--yes"], environ, world.project, "")
    assert LIKING in said.out and "Restored 2 records." in said.out
    assert run_here(["project", "adopt", "--yes"], environ, world.project, "").status == 3


def test_a_lost_record_is_restored_from_its_line_in_memory_md_if_the_journal_is_missing(
    world: World,
) -> None:
    (world.local / "decisions.jsonl").unlink()
    memory = world.memory()
    found = adoption.missing(memory)
    assert found is not None
    adoption.adopt(memory, found, USER)
    [rule] = memory.find_records("what = ?", (RULE,))
    assert (rule.evidence[QUOTATION], rule.scope, rule.source) == (WORDS, "team", "MEMORY.md")
    memory.flush()
    assert RULE in (world.local / "decisions.jsonl").read_text("utf-8")


def test_a_record_is_restored_from_memory_md_if_its_journal_line_was_edited_by_hand(
    tmp_path: Path,
) -> None:
    world = World(tmp_path)
    remember(world, "constraint", RULE)
    journal = world.local / "decisions.jsonl"
    journal.write_text(journal.read_text("utf-8").replace("main", "master"), "utf-8")
    for path in world.home.glob("projects/*/[go]*"):  # the database and its journal
        path.unlink()
    remember(world, "constraint", "Always write tests first")
    assert memory_md.LACKED in block(world) and RULE in block(world)

    environ = {"PATH": os.environ["PATH"], **world.environ}
    said = run_here(["project", "adopt", "--yes"], environ, world.project, "")

    assert "Restored 1 record." in said.out and RULE in said.out


def test_a_record_is_restored_with_its_quotation_from_a_line_in_an_older_format(
    world: World,
) -> None:
    (world.local / "decisions.jsonl").unlink()
    line = f"“{WORDS}” (noted as: {RULE})"
    assert line in block(world)
    world.native().write_text(block(world).replace(line, f"{RULE} (“{WORDS}”)"), "utf-8")

    memory = world.memory()
    found = adoption.missing(memory)
    assert found is not None
    adoption.adopt(memory, found, USER)

    [rule] = memory.find_records("what = ?", (RULE,))
    assert rule.evidence[QUOTATION] == WORDS


@pytest.mark.parametrize("how", ["forget", "undo", "purge"])
def test_a_removed_record_does_not_return_with_an_old_copy_of_memory_md(
    tmp_path: Path, how: str
) -> None:
    world = World(tmp_path)
    remember(world, "constraint", RULE)
    old = block(world)
    memory = world.memory()
    [record] = memory.find_records("1")
    if how == "forget":
        memory.forget([record.id], USER)
    elif how == "undo":
        undo.undo(memory, changes.read_all(memory, "kind = 'remember'", ()), USER)
    else:
        purge.purge(memory, purge.find(memory, RULE), USER)
    memory.flush()
    assert not world.native().exists() or RULE not in block(world)

    world.native().write_text(old, "utf-8")  # a copy of before, as a synchroniser brings it back
    remember(world, "constraint", "Always write tests first")

    assert RULE not in block(world)


def test_a_purge_erases_lines_of_memory_md_that_have_no_record(world: World) -> None:
    remember(world, "note", "The scales show metric units")
    memory = world.memory()
    purge.purge(memory, purge.find(memory, "metric units"), USER)
    assert "metric" not in block(world) and RULE in block(world)


def test_the_line_limit_of_our_block_in_memory_md_includes_lines_without_a_record(
    tmp_path: Path,
) -> None:
    world = World(tmp_path)
    for number in range(25):
        remember(world, "constraint", f"Never rename the table number{number} of the old shop")
    shutil.rmtree(world.home)
    (world.local / "decisions.jsonl").unlink()
    for number in range(25):
        remember(world, "constraint", f"Always index the column number{number} of the new shop")
    text = block(world)
    assert text.count("old shop") == 25
    shown = tuple(memory_md.shown_lines(memory_md.MemoryFile(str(world.native()))))
    assert len(shown) + 1 <= memory_md.MAX_BLOCK_LINES


def test_uninstalling_also_removes_lines_of_memory_md_that_have_no_record(world: World) -> None:
    memory_md.promote(memory_md.MemoryFile(str(world.native())), [], str(world.root / "lock"))
    assert not world.native().exists() or RULE not in block(world)


def test_a_line_of_memory_md_with_an_unknown_type_is_not_offered_for_restoring(
    world: World,
) -> None:
    text = block(world).replace("[preference ", "[whatever ")
    world.native().write_text(text, "utf-8")
    found = adoption.missing(world.memory())
    assert found is not None and [line["what"] for line in found.lines] == [RULE]
