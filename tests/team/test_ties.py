"""Ties to shared logs: kept in one owner-only file, and read by hooks at the cost of one stat."""

from __future__ import annotations

import json
from pathlib import Path

from memory_fabric.sharing.team import ties
from memory_fabric.sharing.team.ties import USER, Tie

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
