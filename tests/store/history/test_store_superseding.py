"""Records that a new one closes: with it, as one operation; opened again when it goes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory_fabric.models import TRUST_ORDER, Entity, Provenance, Record
from memory_fabric.store.files import read_lines
from memory_fabric.store.forget import plan, purge
from memory_fabric.store.history import changes, trace
from memory_fabric.store.history import undo as undoing
from memory_fabric.store.memory import Memory
from memory_fabric.store.queries import search
from memory_fabric.store.upkeep import repair
from store.support import USER, World, database, decision
from thorough import examples

EARLY = "2026-01-10T10:00:00.000Z"
LATE = "2026-02-10T10:00:00.000Z"
MONGO = decision("Use MongoDB for the order archive", entities=(Entity("MongoDB", "technology"),))
POSTGRES = decision(
    "We moved the order archive from MongoDB to Postgres",
    entities=(Entity("PostgreSQL", "technology"),),
)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    memory = World(tmp_path).memory()
    yield memory
    memory.close()


def said(at: str, trust: str = "user", **fields: str) -> Provenance:
    return Provenance("prompt", **{"trust": trust, "session": "s1", "at": at, **fields})


def keep(
    memory: Memory, record: Record, at: str, *closed: Record, trust: str = "user", **fields: str
) -> Record:
    stored = memory.remember(record, said(at, trust, **fields), [one.id for one in closed])
    assert stored is not None
    return stored


def now(memory: Memory, record: Record) -> Record:
    (found,) = memory.find_records("id = ?", (record.id,))
    assert isinstance(found, Record)
    return found


def both(memory: Memory) -> tuple[Record, Record]:
    old = keep(memory, MONGO, EARLY)
    return old, keep(memory, POSTGRES, LATE, old)


def test_superseding_closes_the_older_record_and_links_both(memory: Memory) -> None:
    old, new = both(memory)

    closed = now(memory, old)
    assert (closed.superseded_by, closed.valid_to) == (new.id, LATE)
    assert now(memory, new).superseded_by == ""


def test_replacing_a_record_is_logged_as_one_operation(memory: Memory) -> None:
    old, new = both(memory)
    memory.flush()

    lines = read_lines(memory.journal_of("project"))[0]
    assert [line["payload"].get("supersedes") for line in lines] == [None, [old.id]]
    told, _ = read_lines(str(Path(memory.queue_folder("project"), "decisions.jsonl")))
    latest = {line["id"]: line for line in told}
    assert latest[old.id]["superseded_by"] == new.id


def test_undo_restores_a_replaced_record_and_undoing_the_undo_replaces_it_again(
    memory: Memory,
) -> None:
    old, new = both(memory)

    (done,) = undoing.undo(memory, [undoing.last(memory)], USER)
    assert (now(memory, old).superseded_by, now(memory, old).valid_to) == ("", "")
    assert memory.find_records("id = ?", (new.id,)) == []

    (undo,) = [c for c in changes.read_all(memory) if c.id == done.by]
    undoing.undo(memory, [undo], USER)
    assert now(memory, old).superseded_by == new.id
    assert now(memory, old).valid_to == LATE


def test_a_replaced_record_is_valid_again_if_its_replacement_is_forgotten(memory: Memory) -> None:
    old, new = both(memory)

    memory.forget([new.id], USER)
    assert now(memory, old).superseded_by == ""

    undoing.undo(memory, [undoing.last(memory)], USER)
    assert now(memory, old).superseded_by == new.id


def test_the_last_record_replaces_the_first_if_the_one_between_is_forgotten(memory: Memory) -> None:
    old, between = both(memory)
    last = keep(memory, decision("We moved the archive from Postgres to S3"), LATE, between)

    memory.forget([between.id], USER)
    assert now(memory, old).superseded_by == last.id

    undoing.undo(memory, [undoing.last(memory)], USER)
    assert now(memory, old).superseded_by == between.id
    assert now(memory, between).superseded_by == last.id


def test_undo_of_forgetting_both_records_restores_their_link(memory: Memory) -> None:
    old, new = both(memory)

    memory.forget([new.id, old.id], USER)
    undoing.undo(memory, [undoing.last(memory)], USER)

    assert now(memory, old).superseded_by == new.id


def test_a_rebuild_from_the_journal_closes_the_same_records(memory: Memory) -> None:
    old, new = both(memory)
    memory.flush()
    path = memory.path_of("project")
    memory.close()
    Path(path).write_bytes(b"no database at all" * 100)

    rebuilt, _ = repair.rebuild(path, "project", memory.journal_of("project"))

    assert rebuilt.rows("SELECT id, superseded_by, valid_to FROM records ORDER BY seq") == [
        (old.id, new.id, LATE),
        (new.id, "", ""),
    ]
    rebuilt.close()


def test_a_purge_of_the_newer_record_reopens_the_older_record(memory: Memory) -> None:
    old, new = both(memory)
    memory.flush()

    purge.purge(memory, plan.find(memory, new.id), USER)

    assert now(memory, old).superseded_by == ""
    lines = Path(memory.journal_of("project")).read_text()
    assert "Postgres" not in lines and "MongoDB" in lines


def test_a_purge_of_the_older_record_leaves_the_newer_unchanged(memory: Memory) -> None:
    old, new = both(memory)
    memory.flush()

    purge.purge(memory, plan.find(memory, old.id), USER)

    assert now(memory, new).what == POSTGRES.what
    kept = read_lines(memory.journal_of("project"))[0]
    assert [line["payload"].get("supersedes") for line in kept if line["kind"] == "remember"] == [
        []
    ]


def test_undoing_an_earlier_restatement_does_not_reopen_a_replaced_record(memory: Memory) -> None:
    old = keep(memory, MONGO, EARLY)
    keep(memory, MONGO._replace(why="documents vary"), EARLY, session="s2")
    strengthening = undoing.last(memory)
    new = keep(memory, POSTGRES, LATE, old)

    undoing.undo(memory, [strengthening], USER)

    assert now(memory, old).why == ""
    assert now(memory, old).superseded_by == new.id


def test_a_conversation_turn_read_late_does_not_reopen_a_replaced_record(
    memory: Memory,
) -> None:
    old, _ = both(memory)

    again = keep(memory, MONGO._replace(valid_from=EARLY), "2026-02-11T10:00:00.000Z")
    later = keep(memory, MONGO, "2026-02-12T10:00:00.000Z")

    assert again.id == old.id
    assert now(memory, old).superseded_by
    assert later.id != old.id


def test_a_record_with_an_earlier_date_does_not_replace_a_later_one(memory: Memory) -> None:
    old = keep(memory, MONGO, LATE)
    keep(memory, POSTGRES._replace(valid_from=EARLY), LATE, old)

    assert now(memory, old).superseded_by == ""


def test_an_unconfirmed_record_replaces_another_only_when_stated_a_second_time(
    memory: Memory,
) -> None:
    old = keep(memory, MONGO, EARLY)
    unsure = POSTGRES._replace(confidence=0.4)

    keep(memory, unsure, LATE, old)
    assert now(memory, old).superseded_by == ""

    keep(memory, unsure, LATE, old, session="s2")
    assert now(memory, old).superseded_by != ""


def test_a_less_trusted_restatement_cannot_replace_a_more_trusted_record(memory: Memory) -> None:
    new = keep(memory, POSTGRES, EARLY)
    old = keep(memory, MONGO, EARLY)

    keep(memory, POSTGRES, LATE, old, trust="tool")

    assert now(memory, new).trust == "user"
    assert now(memory, old).superseded_by == ""


@pytest.mark.parametrize(
    "other",
    [
        {"scope": "user"},
        {"domain": "code_reviewer"},
    ],
)
def test_a_record_replaces_no_record_of_another_scope_or_domain(
    memory: Memory, other: dict[str, Any]
) -> None:
    old = keep(memory, MONGO, EARLY)
    keep(memory, POSTGRES._replace(**other), LATE, old)

    assert now(memory, old).superseded_by == ""


def test_only_the_user_can_replace_a_pinned_record(memory: Memory) -> None:
    old = keep(memory, MONGO._replace(pinned=True), EARLY, trust="assistant")

    keep(memory, POSTGRES, LATE, old, trust="assistant")
    assert now(memory, old).superseded_by == ""

    keep(memory, decision("We no longer use MongoDB"), LATE, old)
    assert now(memory, old).superseded_by != ""


@given(
    trust=st.sampled_from(sorted(TRUST_ORDER)),
    old_trust=st.sampled_from(sorted(TRUST_ORDER)),
    pinned=st.booleans(),
)
@settings(max_examples=examples(30), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_record_is_closed_only_by_one_of_equal_or_higher_trust(
    memory: Memory, trust: str, old_trust: str, pinned: bool
) -> None:
    old = keep(memory, MONGO._replace(pinned=pinned), EARLY, trust=old_trust)
    new = keep(memory, POSTGRES, LATE, old, trust=trust)

    counts = "user" if pinned else old_trust
    assert bool(now(memory, old).superseded_by) == (TRUST_ORDER[trust] >= TRUST_ORDER[counts])
    memory.write("forget", {"ids": [old.id, new.id], "bury": False}, USER, store="project")


def test_an_operation_applied_twice_is_applied_once(memory: Memory) -> None:
    old, new = both(memory)
    links = [{"id": old.id, "by": "", "at": "", "was": {"by": new.id, "at": LATE}}]

    first = memory.write("supersede", {"links": links}, USER, store="project")
    second = memory.write("supersede", {"links": links}, USER, store="project")

    assert (first["links"], second["links"]) == (1, 0)


def test_a_local_record_replaces_only_local_records_of_its_session(
    memory: Memory,
) -> None:
    mine = keep(memory, MONGO._replace(scope="local"), EARLY)
    other = keep(memory, MONGO._replace(scope="local"), EARLY, session="s2")
    keep(memory, POSTGRES._replace(scope="local"), LATE, mine, other)

    assert now(memory, mine).superseded_by != ""
    assert now(memory, other).superseded_by == ""
    assert database(memory).rows("SELECT * FROM operations") == []


def test_a_record_saved_in_the_queue_replaces_the_older_one_when_it_is_applied(
    tmp_path: Path,
) -> None:
    world = World(tmp_path)
    memory = world.memory()
    old = keep(memory, MONGO, EARLY)
    path = Path(memory.path_of("project"))
    memory.close()
    aside = path.with_suffix(".aside")
    path.rename(aside)
    path.mkdir()
    keep(world.memory(), POSTGRES, LATE, old)
    path.rmdir()
    aside.rename(path)

    memory = world.memory()
    memory.flush()

    assert now(memory, old).superseded_by != ""
    memory.close()


def test_a_replaced_record_disappears_from_memory_md(tmp_path: Path) -> None:
    world = World(tmp_path)
    memory = world.memory()
    old = keep(memory, MONGO, EARLY)
    memory.flush()
    assert MONGO.what in world.native().read_text()

    keep(memory, POSTGRES, LATE, old)
    memory.flush()

    text = world.native().read_text()
    assert MONGO.what not in text and POSTGRES.what in text
    memory.close()


def test_observations_of_a_replaced_record_name_its_replacement(memory: Memory) -> None:
    old, new = both(memory)

    (found,) = search.observations(database(memory), '"MongoDB" AND "use"', 5)
    assert found.metadata["record"] == old.id
    assert (found.metadata["superseded_by"], found.metadata["valid_to"]) == (new.id, LATE)

    keep(memory, MONGO, "2026-03-01T10:00:00.000Z")
    (found,) = search.observations(database(memory), '"MongoDB" AND "use"', 5)
    assert found.metadata["superseded_by"] == ""


def test_history_shows_which_record_replaced_which(memory: Memory) -> None:
    old, new = both(memory)

    told = [one.what for one in trace.history(memory, old.id, 10)]
    assert f"in place of {old.id.replace('-', '')[-8:]}" in told[0]
    assert now(memory, new).id in {c.payload["record"]["id"] for c in changes.read_all(memory)}
