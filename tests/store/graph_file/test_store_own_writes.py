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


def test_rows_that_our_write_added_and_removed_in_the_file_are_recorded() -> None:
    brought = Recent().after([BARE], [FULL, exchange.line_of(EDGE)], NOW_S).unknown_at(NOW_S)
    taken = Recent().after([FULL], [BARE], NOW_S).unknown_at(NOW_S)

    assert brought.added == {STATED, digest_of(RELATION, *EDGE)}
    assert brought.removed == taken.added == frozenset()
    assert taken.removed == {STATED}


def test_a_change_of_type_counts_as_another_entity() -> None:
    other = exchange.line_of(Entity("api", "service"))

    ours = Recent().after([BARE], [other], NOW_S).unknown_at(NOW_S)

    assert ours.added == {digest_of("api", "service")}
    assert ours.removed == {API}


def test_own_writes_explain_only_files_written_soon_after_or_before_them() -> None:
    known = Recent().after([], [BARE], NOW_S)

    assert known.unknown_at(NOW_S + WINDOW_S - 0.1).added == {API}
    assert known.unknown_at(NOW_S - WINDOW_S).added == {API}
    assert not known.unknown_at(NOW_S + WINDOW_S).added


def test_restoring_an_old_copy_of_the_file_counts_as_a_deliberate_change() -> None:
    known = Recent().after([], [BARE], NOW_S)

    assert not known.unknown_at(NOW_S - LONGEST_S).added


def test_rows_that_are_written_repeatedly_are_not_recorded_forever() -> None:
    known, at_s = Recent(), NOW_S
    while at_s < NOW_S + LONGEST_S:
        known = known.after([], [BARE], at_s)
        assert known.unknown_at(at_s).added == {API}
        at_s += WINDOW_S - 1

    assert not known.unknown_at(at_s).added


def test_a_row_that_is_added_again_no_longer_counts_as_removed() -> None:
    known = Recent().after([BARE], [], NOW_S).after([], [BARE], NOW_S + 1)

    ours = known.unknown_at(NOW_S + 1)

    assert ours.added == {API}
    assert not ours.removed


def test_writes_that_are_too_old_are_dropped_from_the_record() -> None:
    known = Recent().after([], [BARE], NOW_S).after([], [exchange.line_of(EDGE)], NOW_S + WINDOW_S)

    assert list(known.added) == [digest_of(RELATION, *EDGE)]


def test_the_saved_record_of_own_writes_has_no_text_and_loads_unchanged(tmp_path: Path) -> None:
    memory = World(tmp_path).memory()
    db = memory.database("user", create=True)
    assert db is not None
    known = Recent().after([], [FULL], NOW_S)

    merge_external.save(db, known)

    assert merge_external.load(db) == known
    assert "fast" not in json.dumps(known)
    memory.close()
