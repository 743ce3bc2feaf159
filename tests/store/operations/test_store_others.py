"""Records of other users, as a shared journal states them: stored apart, gone with their line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memory_fabric.ids import new_id
from memory_fabric.models import HAS_OTHERS, Record
from memory_fabric.store import records
from memory_fabric.store.memory import Memory
from memory_fabric.store.operations import others
from store.support import USER, World, database, decision

BY = USER._replace(source="journal", at="2026-05-01T00:00:00.000Z")


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    return World(tmp_path).memory()


def stated(what: str, **fields: Any) -> Record:
    return decision(what, id=new_id(), created_at="2026-01-01", author="bob", **fields)


def take_in(memory: Memory, *here: Record, place: str = "/j", **fields: Any) -> dict[str, Any]:
    """Read a journal that has these records."""
    payload: dict[str, Any] = {"place": place, "project": "billing", "stamp": "1", "forgotten": []}
    payload |= {"records": [records.as_object(record) for record in here], "unreadable": 2}
    ids = [record.id for record in here]
    payload |= {"here": ids, "sums": dict.fromkeys(ids, 5)}
    with database(memory).transaction() as c:
        return others.store_others(c, payload | fields, BY)[0]


def own(memory: Memory, what: str) -> str:
    """Remember a decision of this user and return its id."""
    record = memory.remember(decision(what), USER)
    assert record is not None
    return record.id


def stored(memory: Memory) -> dict[str, Record]:
    return {record.what: record for record in memory.find_records("1")}


def meta(memory: Memory) -> dict[str, str]:
    return dict(database(memory).rows("SELECT key, value FROM meta WHERE key LIKE 'shared%'"))


def test_a_record_of_a_journal_is_stored_as_anothers_with_only_what_a_journal_may_claim(
    memory: Memory,
) -> None:
    said = stated("Use Redis", pinned=True, trust="user", source="cli", session="s7")

    assert take_in(memory, said) == {"taken": 1, "gone": 0}

    found = stored(memory)["Use Redis"]
    assert (found.trust, found.source, found.author) == ("foreign", "journal", "bob")
    assert (found.pinned, found.session, found.project) == (False, "", "billing")
    assert found.created_at == "2026-01-01"
    assert others.is_of_others(found)
    assert meta(memory) == {
        "shared:/j": "1",
        "shared-lines:/j": f'{{"{said.id}": 5}}',
        "shared-unreadable:/j": "2",
    }


def test_a_record_from_the_future_is_dated_by_its_arrival(memory: Memory) -> None:
    take_in(memory, stated("Use Redis")._replace(created_at="9999"))

    assert stored(memory)["Use Redis"].created_at == BY.at


def test_a_record_of_this_user_is_not_replaced_by_a_line_with_its_id(memory: Memory) -> None:
    line = stated("Use Kafka")._replace(id=own(memory, "Use Redis"))

    assert take_in(memory, line) == {"taken": 0, "gone": 0}

    assert [*stored(memory)] == ["Use Redis"]


def test_a_record_that_left_the_journal_is_deleted_unless_it_is_pinned(memory: Memory) -> None:
    one, pinned, kept = stated("one"), stated("pinned"), stated("kept")
    take_in(memory, one, pinned, kept)
    database(memory).connection.execute("UPDATE records SET pinned = 1 WHERE what = 'pinned'")

    told = take_in(memory, here=[kept.id], sums={})

    assert told == {"taken": 0, "gone": 1}
    assert {*stored(memory)} == {"pinned", "kept"}
    with database(memory).transaction() as c:
        assert others.sums(c, "/j") == {kept.id: 5}
        assert others.sums(c, "/none") == {}
        assert others.held_by_journal(c) == {kept.id}


def test_a_pinned_record_is_deleted_if_its_author_forgot_it(memory: Memory) -> None:
    pinned = stated("pinned")
    take_in(memory, pinned)
    database(memory).connection.execute("UPDATE records SET pinned = 1")

    told = take_in(memory, forgotten=[pinned.id], here=[], sums={})

    assert told == {"taken": 0, "gone": 1} and stored(memory) == {}


def test_a_record_stays_while_the_journal_of_another_clone_has_it(memory: Memory) -> None:
    said = stated("Use Redis")
    take_in(memory, said)
    take_in(memory, said, place="/k")

    assert take_in(memory)["gone"] == 0
    assert take_in(memory, place="/k")["gone"] == 1


def test_a_replaced_record_is_linked_to_its_successor_in_the_same_journal(memory: Memory) -> None:
    new = stated("Use Valkey")
    old = stated("Use Redis", superseded_by=new.id, valid_to="2026-02-01")
    itself = stated("Use tabs")
    itself = itself._replace(superseded_by=itself.id)

    take_in(memory, old, new, itself)

    found = stored(memory)
    assert found["Use Redis"].superseded_by == new.id
    assert found["Use tabs"].superseded_by == ""
    take_in(memory, old, forgotten=[new.id])
    assert stored(memory)["Use Redis"].superseded_by == ""


def test_a_record_of_another_user_is_never_linked_to_one_of_this_user(memory: Memory) -> None:
    successor = own(memory, "Use Valkey")

    take_in(memory, stated("Use Redis", superseded_by=successor, valid_to="2026-02-01"))

    assert stored(memory)["Use Redis"].superseded_by == ""


def test_a_change_of_a_line_keeps_the_pin_and_the_successor_of_this_user(memory: Memory) -> None:
    successor = own(memory, "Use Valkey")
    said = stated("Use Redis")
    take_in(memory, said)
    database(memory).connection.execute(
        "UPDATE records SET pinned = 1, superseded_by = ?, valid_to = '2026-03' WHERE id = ?",
        (successor, said.id),
    )

    take_in(memory, said._replace(what="Use Redis 7", created_at=""))

    found = stored(memory)["Use Redis 7"]
    assert (found.pinned, found.superseded_by, found.valid_to) == (True, successor, "2026-03")
    assert found.created_at == "2026-01-01"


def test_letting_others_go_deletes_their_records_and_the_state_of_their_journals(
    memory: Memory,
) -> None:
    memory.remember(decision("mine"), USER)
    take_in(memory, stated("one"), stated("two"))
    db = database(memory)
    assert db.row("SELECT 1 FROM meta WHERE key = ?", (HAS_OTHERS,))

    with db.transaction() as c:
        told, inverse = others.drop_others(c, {}, BY)

    assert (told, inverse) == ({"gone": 2}, [])
    assert [*stored(memory)] == ["mine"] and meta(memory) == {}
    assert db.row("SELECT 1 FROM meta WHERE key = ?", (HAS_OTHERS,)) is None


def test_a_journal_without_records_does_not_mark_the_memory_as_shared(memory: Memory) -> None:
    assert take_in(memory) == {"taken": 0, "gone": 0}

    marks = database(memory).rows("SELECT key FROM meta WHERE key = ?", (HAS_OTHERS,))
    assert marks == []
