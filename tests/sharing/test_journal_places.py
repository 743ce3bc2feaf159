"""The places of a project's journal, and the files of its folder that git may see."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memory_fabric.models import Project
from memory_fabric.sharing.git import location, switch
from memory_fabric.store.memory import Memory
from sharing.journals import INDEX, isolate, track
from store.support import World


@pytest.fixture
def project(memory: Memory) -> Project:
    assert memory.project is not None
    return memory.project


def write(world: World, name: str, text: str) -> Path:
    world.local.mkdir(parents=True, exist_ok=True)
    path = world.local / name
    path.write_text(text, "utf-8")
    return path


def test_sharing_is_switched_for_one_project_at_a_time(tmp_path: Path) -> None:
    home, path = str(tmp_path), tmp_path / switch.SHARED
    assert not switch.is_on(home, "a")
    path.write_text(json.dumps({"old": 1, "kept": True}))

    switch.turn(home, "a", True)
    switch.turn(home, "b", True)
    switch.turn(home, "a", False)

    assert [switch.is_on(home, id_) for id_ in ("a", "b", "kept", "old")] == [0, 1, 1, 0]
    assert json.loads(path.read_text()) == {"b": True, "kept": True}


def test_a_folder_without_a_project_shares_nothing(memory: Memory, project: Project) -> None:
    assert not location.is_on(memory)
    switch.turn(memory.settings.home, project.id, True)
    assert location.is_on(memory)

    memory.project = None

    assert not location.is_on(memory)
    assert location.files_of(memory) == []
    assert location.all_journals(memory, "project") == location.all_journals(memory, "user")


def test_the_journal_is_in_the_projects_folder_unless_git_could_see_it(
    world: World, memory: Memory, project: Project
) -> None:
    private = Path(location.private_folder(memory, project))
    shared = world.local / "decisions.jsonl"
    assert private.is_relative_to(world.home) and not private.is_relative_to(world.project)

    hidden = location.journal_folder(memory, "project"), location.journal_file(memory)
    track(world)
    tracked = location.journal_folder(memory, "project"), location.journal_file(memory)

    assert hidden == (str(world.local), str(shared))
    assert tracked == (str(private), str(private / "decisions.jsonl"))
    assert location.journal_folder(memory, "user") == str(world.home / "local")
    assert location.files_of(memory) == [str(shared), str(private / "decisions.jsonl")]
    assert location.shared_file(project) == str(shared)


@pytest.mark.parametrize("case", ["shared", "conflict", "isolated"])
def test_the_journal_of_a_user_who_shares_is_in_home_during_a_conflict_or_if_domains_are_isolated(
    world: World, memory: Memory, project: Project, case: str
) -> None:
    track(world)
    switch.turn(memory.settings.home, project.id, True)
    write(world, "decisions.jsonl", "<<<<<<< HEAD\n" if case == "conflict" else "{}\n")
    if case == "isolated":
        isolate(memory, "legal")

    folder = location.journal_folder(memory, "project")

    private = location.private_folder(memory, project)
    assert folder == (str(world.local) if case == "shared" else private)
    assert location.may_write_journal(memory, project) == (case != "conflict")
    # The shared journal is what is read in any case.
    assert location.journal_file(memory) == str(world.local / "decisions.jsonl")


def test_isolated_domains_do_not_move_the_journal_of_a_user_who_does_not_share(
    world: World, memory: Memory
) -> None:
    isolate(memory, "legal")

    assert location.journal_folder(memory, "project") == str(world.local)


def test_the_journals_of_the_project_and_of_the_user_are_listed(
    world: World, memory: Memory, project: Project
) -> None:
    journals = location.all_journals(memory, "project")

    assert journals == location.files_of(memory)
    assert location.all_journals(memory, "user") == [str(world.home / "local" / "decisions.jsonl")]
    assert not location.is_in_home(memory, project)
    inside = project._replace(local=location.private_folder(memory, project))
    assert location.is_in_home(memory, inside)


@pytest.mark.parametrize(
    ("text", "is_hidden"),
    [
        (None, True),
        ("*\n", True),
        ("# ours\r\n  *  \r\n", True),
        ("", False),
        ("*.log\n", False),
        ("*\n!decisions.jsonl\n", False),
        ("*\n # !x\n", True),
    ],
)
def test_a_folder_is_hidden_only_if_its_gitignore_excludes_everything(
    world: World, project: Project, text: str | None, *, is_hidden: bool
) -> None:
    if text is not None:
        write(world, ".gitignore", text)

    assert location.is_hidden(project) is is_hidden

    track(world)
    assert not location.is_hidden(project)


@pytest.mark.parametrize(
    ("index", "is_tracked"),
    [
        (b"", False),
        (INDEX % 2, True),
        (INDEX % 4, True),
        (b"DIRC\0\0\0\2 decisions.jsonl", False),
        (b"DIRC\0\0\0\4 decisions.jsonl", True),
        (b"DIRC\0\0\0\4 decision.jsonl", False),
    ],
)
def test_a_tracked_journal_is_found_in_the_index_of_git(
    world: World, project: Project, index: bytes, *, is_tracked: bool
) -> None:
    assert not location.is_tracked(project)
    track(world, index)
    assert location.is_tracked(project) is is_tracked


def test_an_index_that_is_too_large_to_read_counts_as_tracking_the_journal(
    world: World, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    track(world, b"x" * 20)
    monkeypatch.setattr(location, "MAX_INDEX_BYTES", 20)
    assert not location.is_tracked(project)

    monkeypatch.setattr(location, "MAX_INDEX_BYTES", 19)
    assert location.is_tracked(project)


def test_a_worktree_has_the_index_of_its_repository(world: World, project: Project) -> None:
    track(world)
    own, tree = world.project / ".git" / "worktrees" / "w", world.root / "w"
    own.mkdir(parents=True)
    tree.mkdir()
    (own / "commondir").write_text("../..\n")
    (tree / ".git").write_text(f"gitdir: {own}\n")

    assert location.is_tracked(project._replace(root=str(tree)))


def test_sharing_shows_the_journal_to_git_and_ending_it_hides_the_folder_again(
    world: World, project: Project
) -> None:
    ignore, attributes = (world.local / name for name in (".gitignore", ".gitattributes"))

    assert location.show_to_git(project) == []
    shown = ignore.read_text("utf-8"), attributes.read_text("utf-8")
    assert location.show_to_git(project) == []
    again = ignore.read_text("utf-8"), attributes.read_text("utf-8")
    assert location.hide(project) == []

    assert shown == again == (location.VISIBLE, location.UNION_MERGE)
    assert shown[0].splitlines()[1:] == [
        "*",
        "!.gitignore",
        "!.gitattributes",
        "!decisions.jsonl",
    ]
    assert ignore.read_text("utf-8") == "*\n" and not attributes.exists()


@pytest.mark.parametrize(
    ("ignore", "attributes", "undone"),
    [
        (" *\n", None, []),
        ("# mine\n!.gitignore\n!.gitattributes\n!decisions.jsonl\n", None, []),
        ("# mine\n!.gitignore\n!decisions.jsonl\n", None, [".gitignore"]),
        (None, "*.md text\ndecisions.jsonl merge=union\n", []),
        (None, "decisions.jsonl text\n", [".gitattributes"]),
        (None, "*.md merge=union\n", [".gitattributes"]),
        ("mine\n", "mine\n", [".gitignore", ".gitattributes"]),
    ],
)
def test_git_settings_that_the_user_changed_are_kept_and_named_if_they_hide_the_journal(
    world: World, project: Project, ignore: str | None, attributes: str | None, undone: list[str]
) -> None:
    for name, text in ((".gitignore", ignore), (".gitattributes", attributes)):
        if text is not None:
            write(world, name, text)

    told = location.show_to_git(project)

    assert [Path(text.partition(" was changed")[0]).name for text in told] == undone
    kept = (world.local / ".gitattributes").read_text("utf-8")
    assert kept == (attributes or location.UNION_MERGE)
    expected = location.VISIBLE if ignore in (" *\n", None) else ignore
    assert (world.local / ".gitignore").read_text("utf-8") == expected


def test_links_among_the_git_settings_are_kept_and_named(world: World, project: Project) -> None:
    other = write(world, "other", "mine\n")
    links = [world.local / name for name in (".gitignore", ".gitattributes")]
    for link in links:
        link.symlink_to(other)

    told = location.show_to_git(project)

    assert [text.partition(" is a link")[0] for text in told] == [str(link) for link in links]
    assert all(link.is_symlink() for link in links) and other.read_text() == "mine\n"


def test_ending_the_sharing_keeps_what_git_tracks_and_what_the_user_wrote(
    world: World, project: Project
) -> None:
    assert location.hide(project) == []  # there is no folder
    own = write(world, ".gitattributes", "decisions.jsonl text\n")
    ignore = write(world, ".gitignore", "# mine\n*\n")
    assert location.hide(project) == []
    ignore.write_text("mine\n")
    [told] = location.hide(project)
    assert str(ignore) in told and "single line *" in told

    own.write_text(location.UNION_MERGE)
    ignore.write_text(location.VISIBLE)
    track(world)
    [told] = location.hide(project)

    assert "git tracks" in told and "git rm --cached" in told
    assert ignore.read_text() == location.VISIBLE and own.exists()
