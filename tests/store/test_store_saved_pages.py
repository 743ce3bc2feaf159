"""Snapshots in home: one a project, for the owner only, and gone when they are dropped."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from memory_fabric.models import Project
from memory_fabric.store.forget import saved_pages


def project(name: str, id_: str) -> Project:
    return Project(id_, name, "/work", "/work/.claude/memory", ())


@pytest.mark.parametrize(
    ("name", "id_", "called"),
    [
        ("shop", "shop-1234abcd", "shop-1234abcd"),
        ("shop", "1234abcd", "shop-1234abcd"),
        ("a b/..\\é\n", "1234abcd", "a-b-1234abcd"),
        ("../..", "1234abcd", "project-1234abcd"),
        ("x" * 300, "1234abcd", "x" * 60 + "-1234abcd"),
    ],
)
def test_the_file_name_of_a_page_is_safe_for_every_project_name_and_contains_the_id(
    name: str, id_: str, called: str
) -> None:
    assert saved_pages.path_of("/home", project(name, id_)) == f"/home/pages/{called}.html"


def test_a_page_saved_outside_a_project_is_stored_as_user_html() -> None:
    assert saved_pages.path_of("/home", None) == "/home/pages/user.html"


def test_a_saved_page_replaces_the_previous_one_and_is_for_the_owner_only(tmp_path: Path) -> None:
    path = saved_pages.path_of(str(tmp_path), None)
    saved_pages.save(path, "first")

    saved_pages.save(path, "second ‐ \ud800")

    kept = Path(path)
    assert kept.read_text("utf-8") == "second ‐ ?"
    assert [stat.S_IMODE(p.stat().st_mode) for p in (kept.parent, kept)] == [0o700, 0o600]
    assert list(kept.parent.iterdir()) == [kept]


def test_all_pages_can_be_deleted_and_having_none_is_no_error(tmp_path: Path) -> None:
    saved_pages.delete_all(str(tmp_path))
    saved_pages.save(saved_pages.path_of(str(tmp_path), None), "shown")

    saved_pages.delete_all(str(tmp_path))

    assert list((tmp_path / "pages").iterdir()) == []
