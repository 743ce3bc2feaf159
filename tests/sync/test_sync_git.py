"""One user's machines exchange through a git repository: what arrives, as whose, and what shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from memory_fabric.models import Entity, Provenance, Record
from memory_fabric.sharing.replica import inbox
from memory_fabric.sharing.team import exchange, keys
from sync.repositories import Machine, Repository

LIKING = "I prefer short commit messages in the imperative"
KAFKA = "The order events use Kafka"


def test_records_synced_between_a_users_machines_count_as_the_users_own(
    desk: Machine, laptop: Machine
) -> None:
    desk.remember(LIKING, "--type", "preference", "--scope", "user")
    desk.remember(KAFKA, "--type", "decision", "--why", "it keeps their order")

    desk.now()
    laptop.now()

    [liking] = laptop.recalled("short commit messages")
    [kafka] = laptop.recalled("order events Kafka")
    assert {found["metadata"]["trust"] for found in (liking, kafka)} == {"user"}
    assert "keeps their order" in str(kafka)


def test_a_session_start_shows_the_count_of_new_records_from_the_other_machine(
    desk: Machine, laptop: Machine
) -> None:
    laptop.say("Never use Kafka for the order events")
    laptop.now()
    laptop.event("SessionStart", "before", source="startup")
    laptop.say("The shop has one database")
    desk.say("Use Kafka for the order events")
    desk.say(LIKING, scope="user")
    desk.now()
    laptop.now()

    told, again = (laptop.event("SessionStart", name, source="startup").reply for name in "ab")

    line = "since you were away: 2 from your other machines, 1 contradicts yours"
    assert line in told["systemMessage"]
    assert "away" not in str(again)


def test_the_repository_reveals_no_text_no_key_and_no_project(
    desk: Machine, laptop: Machine, repository: Repository
) -> None:
    id_ = desk.remember(KAFKA, "--type", "decision")
    desk.now()
    laptop.now()

    content = repository.everything()

    for shown in (b"Kafka", b"shop", b"decision", b"record", id_.encode(), b"machine:"):
        assert shown not in content
    assert len(repository.branches()) == 2
    assert all(path.startswith("ops/") for path in repository.files())
    assert len({path.split("/")[1] for path in repository.files()}) == 2


def test_edits_deletions_and_undo_on_one_machine_are_applied_on_the_other(
    desk: Machine, laptop: Machine
) -> None:
    id_ = desk.remember(KAFKA, "--type", "decision")
    other = desk.remember("Payments are idempotent", "--type", "decision")
    desk.now()
    laptop.now()

    laptop.json("edit", id_, "--text", "The order events use Kafka with five brokers")
    laptop.json("forget", other, "--yes")
    laptop.now()
    desk.now()
    assert desk.decisions() == ["The order events use Kafka with five brokers"]

    laptop.json("undo", "--last")
    laptop.now()
    desk.now()
    assert len(desk.decisions()) == 2 and desk.decisions() == laptop.decisions()


def test_aliases_merges_and_observations_are_exchanged(desk: Machine, laptop: Machine) -> None:
    entities = [
        {"name": name, "entityType": "service", "observations": [f"{name} listens on 80"]}
        for name in ("Ledger", "Ledgr")
    ]
    with desk.opened() as memory:
        by = Provenance("mcp", trust="tool")
        memory.write("create_entities", {"entities": entities}, by, store="project")
    desk.now()
    laptop.now()

    desk.json("merge", "Ledger", "Ledgr", "--yes")
    desk.json("alias", "Ledger", "the book")
    desk.now()
    laptop.now()

    assert rows_of(laptop) == rows_of(desk)
    assert "the book" in str(rows_of(laptop))


def test_an_alias_of_an_entity_from_a_record_is_sent_to_the_other_machine(
    desk: Machine, laptop: Machine
) -> None:
    fact = Record("decision", "Its events are in Kafka", entities=(Entity("Ledger", "service"),))
    with desk.opened() as memory:
        memory.remember(fact, Provenance("cli", trust="user"))
    desk.now()
    laptop.now()

    desk.json("alias", "Ledger", "the book")
    desk.now()
    laptop.now()

    assert ("Ledger", "the book") in rows_of(laptop)["aliases"]
    assert rows_of(laptop) == rows_of(desk)


def test_an_entity_deleted_on_one_machine_remains_if_the_other_adds_an_observation(
    desk: Machine, laptop: Machine
) -> None:
    by = Provenance("mcp", trust="tool")
    entity = {"name": "Ledger", "entityType": "service", "observations": []}
    added = {"entityName": "Ledger", "contents": ["Ledger listens on 80"]}
    with desk.opened() as memory:
        memory.write("create_entities", {"entities": [entity]}, by, store="project")
    desk.now()
    laptop.now()
    with desk.opened() as memory:
        memory.write("delete_entities", {"entityNames": ["Ledger"]}, by, store="project")
    with laptop.opened() as memory:
        memory.write("add_observations", {"observations": [added]}, by, store="project")

    for machine in (desk, laptop, desk, laptop):
        machine.now()

    assert rows_of(laptop) == rows_of(desk)
    assert rows_of(desk)["observations"] == [("Ledger", "Ledger listens on 80")]


def rows_of(machine: Machine) -> dict[str, list[tuple[object, ...]]]:
    """The graph's rows of a machine, without numbers that mean nothing elsewhere."""
    queries = {
        "entities": "SELECT name, type FROM entities ORDER BY name",
        "aliases": "SELECT e.name, a.alias FROM aliases AS a JOIN entities AS e "
        "ON e.id = a.entity ORDER BY 1, 2",
        "observations": "SELECT e.name, o.text FROM observations AS o JOIN entities AS e "
        "ON e.id = o.entity ORDER BY 1, 2",
    }
    with machine.opened() as memory:
        database = memory.database("project", create=False)
        assert database is not None
        return {name: list(database.rows(query)) for name, query in queries.items()}


def test_joining_on_a_second_machine_requires_the_key_words_printed_on_the_first(
    tmp_path: Path, repository: Repository
) -> None:
    desk, laptop = Machine(tmp_path, "desk"), Machine(tmp_path, "laptop")
    done = desk.run("sync", "git", repository.url)
    key = keys.read(str(desk.home))
    assert key is not None and key.words in done.out

    asked = laptop.run("sync", "git", repository.url)
    assert asked.status == 2 and "--words" in asked.err
    of_another = keys.Key(bytes(range(32))).words
    wrong = laptop.run("sync", "git", repository.url, "--words", of_another)
    assert wrong.status == 2 and "is not the one of your other machines" in wrong.err
    assert not (laptop.home / "team-key").exists() and not (laptop.home / "team.json").exists()
    given = laptop.run("sync", "git", repository.url, "--words", "-", stdin=key.words)

    assert given.status == 0, given.err
    assert key.words not in given.out


def test_records_from_before_sync_was_set_up_are_exchanged_in_both_directions(
    tmp_path: Path, repository: Repository
) -> None:
    desk, laptop = Machine(tmp_path, "desk"), Machine(tmp_path, "laptop")
    desk.say("Said on the desk before")
    laptop.say("Said on the laptop before")

    words = desk.tied(repository)["words"]
    laptop.tied(repository, words)
    desk.now()

    assert desk.decisions() == laptop.decisions()
    assert desk.decisions() == ["Said on the desk before", "Said on the laptop before"]


def test_an_exchange_by_git_does_not_replace_another_exchange(
    tmp_path: Path, desk: Machine, repository: Repository
) -> None:
    (tmp_path / "other").mkdir()
    other = Repository(tmp_path / "other")
    before = (desk.home / "team.json").read_text()

    moved = desk.run("sync", "git", other.url)
    renamed = desk.run("sync", "git", repository.url, "--space", "blog")
    joined = desk.run("team", "join", "host=127.0.0.1 port=9")

    assert (moved.status, renamed.status, joined.status) == (2, 2, 2)
    assert f"Your own memories are exchanged through {repository.url} already." in moved.err
    assert f"This project is exchanged through {repository.url} already as shop." in renamed.err
    assert f"This project is exchanged through {repository.url} already." in joined.err
    assert all("sync git leave first" in done.err for done in (moved, renamed, joined))
    assert (desk.home / "team.json").read_text() == before and other.branches() == {}
    desk.tied(repository)  # the same again
    assert (desk.home / "team.json").read_text() == before


def test_a_purged_record_does_not_come_back_from_a_machine_that_had_changed_it(
    desk: Machine, laptop: Machine
) -> None:
    id_ = desk.remember(KAFKA, "--type", "decision", "--why", "Zebraville asked for it")
    desk.now()
    laptop.now()

    desk.json("forget", id_, "--purge", "--yes")
    laptop.json("edit", id_, "--text", "All order events use Kafka")
    laptop.now()

    for machine in (desk, laptop, desk):
        machine.now()
        assert machine.decisions() == []
        files = (path for path in machine.home.rglob("*.db*") if path.is_file())
        assert not any(b"Zebraville" in path.read_bytes() for path in files)


def test_a_memory_forgotten_while_a_machine_exchanged_nothing_stays_forgotten(
    desk: Machine, laptop: Machine, repository: Repository
) -> None:
    id_, _ = desk.say(KAFKA, "The shop has one database")
    desk.now()
    laptop.now()

    desk.run("sync", "git", "leave")
    desk.json("forget", id_, "--yes")
    desk.tied(repository)
    laptop.now()

    assert desk.decisions() == laptop.decisions() == ["The shop has one database"]


def test_an_observation_forgotten_while_a_machine_exchanged_nothing_stays_forgotten(
    desk: Machine, laptop: Machine, repository: Repository
) -> None:
    texts = ["It is old", "It listens on 80"]
    ledger = {"name": "Ledger", "entityType": "service", "observations": texts}
    with desk.opened() as memory:
        by = Provenance("cli", trust="user")
        memory.write("create_entities", {"entities": [ledger]}, by, store="project")
    desk.now()
    laptop.now()

    desk.run("sync", "git", "leave")
    old = {"entityName": "Ledger", "observations": texts[:1]}
    with desk.opened() as memory:
        memory.write("forget", {"ids": [], "deletions": [old]}, by, store="project")
    desk.tied(repository)
    laptop.now()

    assert rows_of(laptop) == rows_of(desk)
    assert rows_of(desk)["observations"] == [("Ledger", texts[1])]


@pytest.mark.parametrize(
    ("change", "pulled", "merged"),
    [("edit", 1, 1), ("undo", 1, 1), ("undo", 2000, 2), ("undo first", 1, 1), ("nothing", 1, 1)],
)
def test_parts_in_which_the_log_is_read_do_not_decide_what_was_forgotten_last(
    desk: Machine,
    laptop: Machine,
    repository: Repository,
    monkeypatch: pytest.MonkeyPatch,
    change: str,
    pulled: int,
    merged: int,
) -> None:
    _, id_ = laptop.say("The shop has one database", KAFKA)
    for machine in (laptop, desk):
        machine.now()
    desk.run("sync", "git", "leave")
    if change != "undo first":
        desk.json("forget", id_, "--yes")
    if change == "edit":
        laptop.json("edit", id_, "--text", f"{KAFKA} now")
    elif change != "nothing":
        laptop.json("forget", id_, "--yes")
        laptop.now()
        laptop.json("undo", "--last")
    laptop.now()
    if change == "undo first":
        desk.json("forget", id_, "--yes")

    monkeypatch.setattr(exchange, "PULL_AT_FIRST", pulled)
    monkeypatch.setattr(inbox, "SOME", merged)
    desk.tied(repository)
    laptop.now()

    kept = {"edit": [f"{KAFKA} now"], "undo": [KAFKA]}.get(change, [])
    assert desk.decisions() == laptop.decisions() == [*kept, "The shop has one database"]


@pytest.mark.parametrize("pulled", [1, 2000])
def test_graph_rows_changed_after_they_were_forgotten_elsewhere_return(
    desk: Machine,
    laptop: Machine,
    repository: Repository,
    monkeypatch: pytest.MonkeyPatch,
    pulled: int,
) -> None:
    by = Provenance("cli", trust="user")
    ledger = {"name": "Ledger", "entityType": "service", "observations": ["It is old"]}
    kafka = {"name": "Kafka", "entityType": "service", "observations": []}
    old = {"ids": [], "deletions": [{"entityName": "Ledger", "observations": ["It is old"]}]}
    with laptop.opened() as memory:
        memory.write("create_entities", {"entities": [ledger, kafka]}, by, store="project")
    for machine in (laptop, desk):
        machine.now()
    desk.run("sync", "git", "leave")
    for machine, names in ((desk, ["Kafka"]), (laptop, [])):
        with machine.opened() as memory:
            memory.write("forget", old | {"entityNames": names}, by, store="project")
    laptop.now()
    laptop.json("undo", "--last")
    with laptop.opened() as memory:
        memory.write("alias", {"entity": "Kafka", "aliases": ["The bus"]}, by, store="project")
    laptop.now()

    monkeypatch.setattr(exchange, "PULL_AT_FIRST", pulled)
    desk.tied(repository)
    laptop.now()

    assert rows_of(desk) == rows_of(laptop)
    assert rows_of(desk)["observations"] == [("Ledger", "It is old")]
    assert rows_of(desk)["aliases"] == [("Kafka", "The bus")]
