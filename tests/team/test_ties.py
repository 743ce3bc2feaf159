"""Ties to shared logs: kept in one owner-only file, and read by hooks at the cost of one stat."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memory_fabric.sharing.team import ties
from memory_fabric.sharing.team.ties import GIT, USER, Outcome, State, Tie
from memory_fabric.store import files

DSN = "host=db.example dbname=team"


def test_no_link_to_a_space_exists_before_a_space_is_joined(tmp_path: Path) -> None:
    assert not ties.exist(str(tmp_path))
    assert ties.read(str(tmp_path)) == ()


def test_a_link_is_loaded_as_saved_from_a_file_only_its_owner_can_read(
    tmp_path: Path,
) -> None:
    home = str(tmp_path)
    mine = Tie(USER, DSN, "ann-own", "ann", me=True)
    shop = Tie("p-1", DSN, "shop", "ann", insecure=True, owner="host=x", packages="/site")

    ties.save(home, mine)
    ties.save(home, shop)

    assert ties.of(home, USER) == mine and ties.of(home, "p-1") == shop
    assert mine.kind == "user" and shop.kind == "project"
    stored = json.loads((tmp_path / "team.json").read_text())
    assert stored[USER] == {"dsn": DSN, "space": "ann-own", "member": "ann", "me": True}
    assert (tmp_path / "team.json").stat().st_mode & 0o777 == 0o600


def test_a_project_uses_its_own_link_and_the_users_personal_link(tmp_path: Path) -> None:
    home = str(tmp_path)
    for key in (USER, "p-1", "p-2"):
        ties.save(home, Tie(key, DSN, "shop", "ann"))
    ties.save(home, Tie("p-3", DSN, "shop", ""))

    assert {tie.key for tie in ties.joined(home, "p-1")} == {USER, "p-1"}
    assert {tie.key for tie in ties.joined(home, "")} == {USER}
    assert {tie.key for tie in ties.joined(home, "p-3")} == {USER}  # made, and not joined


def test_removing_the_last_link_to_a_space_deletes_the_file_of_links(tmp_path: Path) -> None:
    home = str(tmp_path)
    ties.save(home, Tie("p-1", DSN, "shop", "ann"))

    ties.remove(home, "p-2")
    assert ties.exist(home)
    ties.remove(home, "p-1")

    assert not ties.exist(home)


def test_invalid_links_in_the_file_of_links_are_not_used(tmp_path: Path) -> None:
    page = {"p-1": "text", "p-2": {"dsn": 5, "me": "yes"}, "p-3": {"dsn": DSN, "member": "ann"}}
    (tmp_path / "team.json").write_text(json.dumps(page))

    assert [tie.key for tie in ties.read(str(tmp_path))] == ["p-2", "p-3"]
    assert ties.of(str(tmp_path), "p-2") == Tie("p-2")
    assert ties.joined(str(tmp_path), "p-2") == ()


@pytest.mark.parametrize(
    ("tie", "texts"),
    [
        (
            Tie(USER, DSN, "~ann", "ann"),
            ("the shared log of ~ann", "~ann as ann", "memory-fabric team", "user", True),
        ),
        (
            Tie("p-1", DSN, "shop", "ann"),
            ("the shared log of shop", "shop as ann", "memory-fabric team", "project", False),
        ),
        (
            Tie(USER, "url", "own", "me", via=GIT),
            (
                "the sync of your own memories by git",
                "url",
                "memory-fabric sync git",
                "user",
                False,
            ),
        ),
        (
            Tie("p-1", "url", "shop", "me", via=GIT),
            ("the sync of shop by git", "url", "memory-fabric sync git", "project", False),
        ),
    ],
)
def test_messages_name_a_link_by_what_it_links(tie: Tie, texts: tuple[object, ...]) -> None:
    assert (tie.name, tie.place, tie.command, tie.kind, tie.is_sealed) == texts


def test_the_counts_of_two_exchanges_are_added_and_a_reason_is_kept() -> None:
    first, second = Outcome(1, 2, 3, 4, 5, 6, 7, "set back"), Outcome(10, 20, 30, 40, 50, 60, 70)

    both = Outcome(11, 22, 33, 44, 55, 66, 77, "set back")
    assert first.plus(second) == second.plus(first) == both
    assert Outcome().plus(Outcome()) == Outcome()


@pytest.mark.parametrize(
    ("wait_s", "is_held_off"),
    [(-1, False), (0, False), (1, True), (ties.MAX_WAIT_S, True), (ties.MAX_WAIT_S + 1, False)],
)
def test_a_link_is_held_off_until_its_delay_has_passed_but_not_for_days(
    wait_s: float, *, is_held_off: bool
) -> None:
    now_s = 1_800_000_000.0

    assert ties.is_held_off(State(next_at=now_s + wait_s), now_s) is is_held_off


def test_the_state_of_a_link_is_changed_field_by_field_and_removed_with_the_link(
    tmp_path: Path,
) -> None:
    home, path = str(tmp_path), tmp_path / "team" / "state.json"
    for key in ("p-1", "p-2"):
        ties.save(home, Tie(key, DSN, "shop", "ann"))
        ties.update_state(home, key, failures=2, cause="NoAnswer", ran_at=5)
    ties.update_state(home, "p-1", failures=0, silent="bob")

    assert ties.state_of(home, "p-1") == State(cause="NoAnswer", silent="bob", ran_at=5)
    assert json.loads(path.read_text())["p-1"] == {
        "cause": "NoAnswer",
        "ran_at": 5,
        "silent": "bob",
    }
    ties.remove(home, "p-1")
    assert ties.state_of(home, "p-1") == State() and ties.of(home, "p-1") is None
    assert ties.state_of(home, "p-2").failures == 2 and ties.of(home, "p-2") is not None
    ties.remove(home, "p-2")
    assert not path.exists()


def test_a_value_of_another_type_in_a_stored_link_or_state_is_ignored(tmp_path: Path) -> None:
    links = {"p-1": {"dsn": DSN, "member": "ann", "insecure": 1, "me": True, "space": None}}
    (tmp_path / "team.json").write_text(json.dumps(links))
    (tmp_path / "team").mkdir()
    state = {"p-1": {"failures": 3, "next_at": 7, "ran_at": 7.5, "asked_at": False, "told": 1}}
    (tmp_path / "team" / "state.json").write_text(json.dumps(state))

    assert ties.read(str(tmp_path)) == (Tie("p-1", DSN, "", "ann", me=True),)
    assert ties.state_of(str(tmp_path), "p-1") == State(failures=3, next_at=7, ran_at=7.5)


def test_a_link_without_an_address_is_not_joined(tmp_path: Path) -> None:
    home = str(tmp_path)
    ties.save(home, Tie("p-1", "", "shop", "ann", owner=DSN))

    assert ties.joined(home, "p-1") == ()
    assert len(ties.read(home)) == 1


def test_a_machine_keeps_the_id_that_it_was_given_first(tmp_path: Path) -> None:
    first = ties.origin(str(tmp_path))
    path = tmp_path / "team" / "origin"

    assert len(first) == 8 and path.read_text() == first
    assert ties.origin(str(tmp_path)) == first
    path.write_text(" other\n")
    assert ties.origin(str(tmp_path)) == "other"
    path.write_text("\n")
    assert ties.origin(str(tmp_path)) not in (first, "other", "")


def test_a_link_is_followed_only_while_a_server_holds_its_lock(tmp_path: Path) -> None:
    home = str(tmp_path)
    assert not ties.is_followed(home, USER)

    with files.Locked(ties.lock_path(home, USER, ties.FOLLOW), 0):
        assert ties.is_followed(home, USER) and not ties.is_followed(home, "p-1")

    assert not ties.is_followed(home, USER)
