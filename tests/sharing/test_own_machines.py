"""Two machines of one user: what each may take back, names given twice, and what a purge leaves."""

from __future__ import annotations

from pathlib import Path

import pytest

from memory_fabric.models import Entity
from memory_fabric.sharing.replica import inbox, outbox, space
from memory_fabric.sharing.replica.wire import Position, TeamOperation
from memory_fabric.sharing.team import exchange
from memory_fabric.store.forget import purge
from memory_fabric.store.history import last_mentions, merge, undo
from sharing.replicas import Home, Log
from store.support import TOOL, USER, create, decision, entity

ALIASES = (
    "SELECT e.name, a.alias FROM aliases AS a JOIN entities AS e ON e.id = a.entity ORDER BY 1, 2"
)


@pytest.fixture
def desk(desk: Home) -> Home:
    return proved(desk)


@pytest.fixture
def laptop(tmp_path: Path, log: Log) -> Home:
    return proved(Home(tmp_path, "ann", log, machine="lapt", key=True))


def proved(home: Home) -> Home:
    """Mark the operations of a home as proved to the user's other machines."""
    with home.database.transaction() as c:
        space.note(c, space.PROVED, "1")
    return home


def exchanged(*homes: Home) -> None:
    """Exchange as the product does until nothing is left."""
    for home in homes * 3:
        outbox.settle_dismissals(home.database)
        home.push()
        merged(home, *home.log.pull(space.position(home.database)))


def merged(home: Home, operations: list[TeamOperation], to: Position | None = None) -> None:
    """Merge operations as the product does."""
    inbox.merge(
        home.memory,
        home.database,
        operations,
        to,
        home.verified,
        erase=lambda stated: exchange.erase(home.memory, "project", stated),
    )


def files_with(home: Home, text: str) -> set[str]:
    """Return the files of a home that hold a text."""
    home.memory.flush()
    home.memory.close()
    files = (path for path in home.world.root.rglob("*") if path.is_file())
    return {path.name for path in files if text.encode() in path.read_bytes()}


@pytest.mark.parametrize(
    ("request_", "is_named"),
    [("id", False), ("merger with Zebraville", False), ("Zebraville", False), ("Zebraville", True)],
)
def test_purging_a_record_erases_its_entity_names_on_both_machines_of_the_user(
    desk: Home, laptop: Home, request_: str, *, is_named: bool
) -> None:
    about = (Entity("Zebraville", "organisation"),)
    said = desk.say("Prepare the merger with Zebraville now", entities=about)
    if is_named:
        merge.change_aliases(desk.memory, "Zebraville", ["the town"], TOOL)
    exchanged(desk, laptop)
    laptop.memory.flush()

    text = said.id if request_ == "id" else request_
    purge.purge(desk.memory, purge.find(desk.memory, text), USER)
    at_once = desk.database.rows("SELECT key FROM team_due UNION ALL SELECT value FROM team_heads")
    exchanged(desk, laptop)

    assert "Zebraville" not in str(at_once)
    assert files_with(desk, "Zebraville") == files_with(laptop, "Zebraville") == set()


@pytest.mark.parametrize("is_desk_first", [False, True])
def test_an_alias_given_to_different_entities_on_two_machines_follows_the_later_change(
    desk: Home, laptop: Home, *, is_desk_first: bool
) -> None:
    for name in ("Ledger", "Journal"):
        create(desk.memory, entity(name, f"{name} is kept"))
    exchanged(desk, laptop)

    given = [(desk, "Ledger"), (laptop, "Journal")]
    for home, name in given if is_desk_first else reversed(given):
        merge.change_aliases(home.memory, name, ["the book"], TOOL)
        outbox.settle(home.memory, home.database)
    exchanged(desk, laptop)

    later = "Journal" if is_desk_first else "Ledger"
    for home in (desk, laptop):
        assert home.database.rows(ALIASES) == [(later, "the book")]
        assert home.push() == 0


def test_a_later_change_on_another_machine_undoes_an_earlier_merge_of_the_entity(
    desk: Home, laptop: Home
) -> None:
    desk.say("Keep the ledger by hand", entities=(Entity("Ledger", "book"),))
    create(desk.memory, entity("Journal", "is kept by a program"))
    exchanged(desk, laptop)

    merge.merge(desk.memory, merge.plan(desk.memory, "Journal", ["Ledger"]), TOOL)
    outbox.settle(desk.memory, desk.database)
    merge.change_aliases(laptop.memory, "Journal", ["the book"], TOOL)
    exchanged(laptop, desk)

    stated = "SELECT e.name, o.text FROM entities AS e JOIN observations AS o ON o.entity = e.id"
    found = [sorted(home.database.rows(stated)) for home in (desk, laptop)]
    assert found[0] == found[1]
    assert [name for name, _ in found[0]] == ["Journal", "Ledger"]
    assert desk.push() == laptop.push() == 0


def test_an_observation_stated_on_two_machines_has_the_same_provenance_on_both(
    desk: Home, laptop: Home
) -> None:
    for home, by in ((desk, TOOL), (laptop, USER)):
        stated = {"entities": [entity("Ledger", "is kept by hand")]}
        home.memory.write("create_entities", stated, by, store="project")
        outbox.settle(home.memory, home.database)
    exchanged(desk, laptop)

    query = "SELECT text, trust, source, created_at FROM observations"
    assert desk.database.rows(query) == laptop.database.rows(query)
    assert [row[1] for row in desk.database.rows(query)] == ["user"]
    assert desk.push() == laptop.push() == 0


def test_the_same_alias_added_on_two_machines_causes_no_conflict(desk: Home, laptop: Home) -> None:
    at_once = TOOL._replace(at="2026-02-01T10:00:00.000Z")
    for home in (laptop, desk):
        stated = {"entities": [entity("Ledger")]}
        home.memory.write("create_entities", stated, at_once, store="project")
    laptop.push()
    for home in (laptop, desk):
        merge.change_aliases(home.memory, "Ledger", ["the book"], TOOL)
        outbox.settle(home.memory, home.database)
    desk.push()

    # Pulled before pushing, as after a reset of the log and while a server is read-only.
    merged(laptop, [one for one in desk.log.operations if one.origin == "desk"])
    exchanged(laptop, desk)

    heads = [{id_ for id_, head in home.heads().items() if head.is_own} for home in (desk, laptop)]
    assert heads[0] == heads[1]
    assert desk.counts().conflicts == laptop.counts().conflicts == 0


def test_two_equal_operations_read_before_and_after_a_log_reset_are_both_kept(
    tmp_path: Path, log: Log, desk: Home, laptop: Home
) -> None:
    tablet = proved(Home(tmp_path, "ann", log, machine="tabl", key=True))
    at_once = TOOL._replace(at="2026-02-01T10:00:00.000Z")
    for home in (laptop, tablet):
        stated = {"entities": [entity("Ledger")]}
        home.memory.write("create_entities", stated, at_once, store="project")
        home.push()
    of_laptop, of_tablet = log.operations
    merged(desk, [of_laptop])

    space.forget_position(desk.database, 1)
    merged(desk, [of_tablet])

    assert desk.heads().keys() == {of_laptop.op_id, of_tablet.op_id}


def test_undo_reverts_the_last_change_of_this_machine_rather_than_of_the_other(
    desk: Home, laptop: Home
) -> None:
    desk.say("Use UTC")
    exchanged(desk, laptop)
    laptop.say("Use CET")
    exchanged(laptop, desk)

    undo.undo(desk.memory, [undo.last(desk.memory)], USER)
    exchanged(desk, laptop)

    assert list(desk.records()) == list(laptop.records()) == ["Use CET"]


@pytest.mark.parametrize(
    "order",
    [
        ["said dismissal", "record"],
        ["dismissal", "said", "record"],
        ["said", "record", "dismissal"],
    ],
    ids=" then ".join,
)
def test_text_purged_on_one_machine_is_erased_on_the_other_in_any_order_of_arrival(
    desk: Home, laptop: Home, order: list[str]
) -> None:
    about = (Entity("Zebraville", "organisation"),)
    said = desk.say("Prepare the merger with Zebraville now", entities=about)
    desk.push()
    came = {"said": desk.log.operations[-1]}
    purge.purge(desk.memory, purge.find(desk.memory, said.id), USER)
    desk.push()
    came |= {one.kind: one for one in desk.log.operations if one.op_id != came["said"].op_id}

    for together in order:
        merged(laptop, [came[kind] for kind in together.split()])
    exchanged(laptop)

    assert files_with(laptop, "Zebraville") == set()
    assert laptop.records() == {}


def test_text_forgotten_and_later_purged_is_erased_from_all_files_of_both_machines(
    desk: Home, laptop: Home
) -> None:
    about = (Entity("Zebraville", "organisation"),)
    said = desk.say("Prepare the merger with Zebraville now", entities=about)
    exchanged(desk, laptop)
    desk.memory.forget([said.id], USER)
    exchanged(desk, laptop)

    purge.purge(desk.memory, purge.find(desk.memory, said.id), USER)
    exchanged(desk, laptop)

    assert files_with(desk, "Zebraville") == files_with(laptop, "Zebraville") == set()


def test_a_record_that_the_user_stopped_sharing_is_accepted_from_a_colleague(
    tmp_path: Path, log: Log, desk: Home, laptop: Home
) -> None:
    said = desk.say("Use UTC")
    exchanged(desk, laptop)

    desk.reword(said, scope="local")
    exchanged(desk, laptop)
    bob = Home(tmp_path, "bob", log)
    bob.say("Use UTC")
    exchanged(bob, desk, laptop)

    for home in (desk, laptop):
        assert [one.author for one in home.memory.find_records("scope = 'team'")] == ["bob"]


def test_a_text_that_the_user_has_forgotten_is_not_accepted_from_a_colleague(
    tmp_path: Path, log: Log, desk: Home, laptop: Home
) -> None:
    said = desk.say("Use UTC")
    exchanged(desk, laptop)
    desk.reword(said, scope="local")
    exchanged(desk, laptop)
    desk.reword(said)
    exchanged(desk, laptop)
    assert list(laptop.records()) == ["Use UTC"]

    desk.memory.forget([said.id], USER)
    exchanged(desk, laptop)
    bob = Home(tmp_path, "bob", log)
    bob.say("Use UTC")
    exchanged(bob, desk, laptop)

    assert desk.records() == laptop.records() == {}


def test_a_record_from_which_a_purge_erased_some_words_stays_on_both_machines(
    desk: Home, laptop: Home
) -> None:
    desk.say("Use UTC", evidence={"also": "the merger with Zebraville"})
    exchanged(desk, laptop)
    laptop.memory.flush()

    purge.purge(desk.memory, purge.find(desk.memory, "merger with Zebraville"), USER)
    exchanged(desk, laptop)

    assert list(desk.records()) == list(laptop.records()) == ["Use UTC"]
    assert files_with(desk, "Zebraville") == files_with(laptop, "Zebraville") == set()


@pytest.mark.parametrize("is_sent", [True, False])
@pytest.mark.parametrize("change", ["why", "forget"])
def test_a_record_changed_elsewhere_before_some_of_its_words_were_purged_stays_without_them(
    desk: Home, laptop: Home, change: str, *, is_sent: bool
) -> None:
    said = desk.say("Use UTC", evidence={"also": "the merger with Zebraville"})
    exchanged(desk, laptop)
    laptop.memory.flush()

    purge.purge(desk.memory, purge.find(desk.memory, "merger with Zebraville"), USER)
    outbox.settle(desk.memory, desk.database)
    if change == "forget":
        laptop.memory.forget([said.id], USER)
    else:
        laptop.reword(laptop.records()["Use UTC"], why="clients are everywhere")
    if is_sent:
        laptop.push()
    exchanged(desk, laptop)

    left = [] if change == "forget" else ["Use UTC"]
    assert list(desk.records()) == list(laptop.records()) == left
    assert desk.push() == laptop.push() == 0
    assert files_with(desk, "Zebraville") == files_with(laptop, "Zebraville") == set()


def test_a_memory_said_again_on_one_machine_has_the_same_age_on_the_other(
    desk: Home, laptop: Home
) -> None:
    desk.say("Use UTC")
    exchanged(desk, laptop)
    again = "2099-01-01T00:00:00.000Z"
    desk.memory.remember(decision("Use UTC"), USER, at=again)
    exchanged(desk, laptop)

    for home in (desk, laptop):
        [aged] = last_mentions.records(home.database, "2100", "2099-01-02")
        assert aged.last_at == again
