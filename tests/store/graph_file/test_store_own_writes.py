"""Changes by our own writing a short while ago: for how long they count, and what is noted."""

from __future__ import annotations

import json
from pathlib import Path

from memory_fabric.models import Entity, Relation
from memory_fabric.store.graph_file import exchange, merge_external
from memory_fabric.store.graph_file.merge_external import (
    LONGEST_S,
    RELATION,
    SAID,
    WINDOW_S,
    Recent,
    digest_of,
)
from store.support import World

NOW_S = 1_800_000_000.0
API, STATED = digest_of("api", "t"), digest_of(SAID, "api", "is fast")
EDGE = Relation("api", "uses", "api")
BARE = exchange.line_of(Entity("api", "t"))
FULL = exchange.line_of(Entity("api", "t", ("is fast",)))


def test_a_write_records_the_rows_that_it_added_to_and_removed_from_the_file() -> None:
    brought = Recent().after([BARE], [FULL, exchange.line_of(EDGE)], NOW_S).unknown_at(NOW_S)
    taken = Recent().after([FULL], [BARE], NOW_S).unknown_at(NOW_S)

    assert brought.added == {STATED, digest_of(RELATION, *EDGE)}
    assert brought.removed == taken.added == frozenset()
    assert taken.removed == {STATED}


def test_changing_an_entitys_type_is_recorded_as_removing_one_entity_and_adding_another() -> None:
    other = exchange.line_of(Entity("api", "service"))

    ours = Recent().after([BARE], [other], NOW_S).unknown_at(NOW_S)

    assert ours.added == {digest_of("api", "service")}
    assert ours.removed == {API}


def test_a_much_later_write_of_another_program_is_assumed_to_include_our_changes() -> None:
    known = Recent().after([], [BARE], NOW_S)

    assert known.unknown_at(NOW_S + WINDOW_S - 0.1).added == {API}
    assert known.unknown_at(NOW_S - WINDOW_S).added == {API}
    assert not known.unknown_at(NOW_S + WINDOW_S).added


def test_our_recent_changes_are_not_restored_over_a_much_older_copy_of_the_file() -> None:
    known = Recent().after([], [BARE], NOW_S)

    assert not known.unknown_at(NOW_S - LONGEST_S).added


def test_a_repeatedly_written_row_counts_as_recent_only_for_a_limited_time() -> None:
    known, at_s = Recent(), NOW_S
    while at_s < NOW_S + LONGEST_S:
        known = known.after([], [BARE], at_s)
        assert known.unknown_at(at_s).added == {API}
        at_s += WINDOW_S - 1

    assert not known.unknown_at(at_s).added


def test_an_entity_removed_and_added_again_is_recorded_only_as_added() -> None:
    known = Recent().after([BARE], [], NOW_S).after([], [BARE], NOW_S + 1)

    ours = known.unknown_at(NOW_S + 1)

    assert ours.added == {API}
    assert not ours.removed


def test_own_writes_older_than_the_time_window_are_dropped_from_the_record() -> None:
    known = Recent().after([], [BARE], NOW_S).after([], [exchange.line_of(EDGE)], NOW_S + WINDOW_S)

    assert list(known.added) == [digest_of(RELATION, *EDGE)]


def test_the_saved_list_of_our_recent_writes_contains_no_memory_text(
    tmp_path: Path,
) -> None:
    memory = World(tmp_path).memory()
    db = memory.database("user", create=True)
    assert db is not None
    known = Recent().after([], [FULL], NOW_S)

    merge_external.save(db, known)

    assert merge_external.load(db) == known
    assert "fast" not in json.dumps(known)
    memory.close()
