"""The project of a folder: what it proves and what it only claims, by what real git writes."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from memory_fabric.models import Project
from memory_fabric.store.home import log
from memory_fabric.store.projects import registry_file
from memory_fabric.store.projects.registry_file import find_project

REMOTE = "git@example.com:acme/billing.git"


class Desk:
    """A person's folder with a home, and real git in it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.home = folder, str(folder / "home")

    def git(self, *words: str, at: str = ".") -> None:
        who = {f"GIT_{r}_{p}": "a@b" for r in ("AUTHOR", "COMMITTER") for p in ("NAME", "EMAIL")}
        done = subprocess.run(
            ["git", "-c", "protocol.file.allow=always", *words],
            cwd=self.folder / at,
            env={**who, "PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": "/dev/null"},
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr

    def repository(self, name: str, *options: str, remote: str = "") -> None:
        """A repository with one commit."""
        self.git("init", "-q", "-b", "main", *options, name)
        (self.folder / name / "file").write_text("x")
        self.git("add", "file", at=name)
        self.git("commit", "-q", "-m", "First", at=name)
        if remote:
            self.git("remote", "add", "origin", remote, at=name)

    def at(self, name: str) -> Project:
        """The project of a folder, as every hook finds it."""
        found = find_project(self.home, str(self.folder / name))
        assert found is not None
        return found

    def told(self) -> str:
        """Return the notices that wait to be told."""
        said = []
        for name in sorted(registry_file.project_ids(self.home)):
            said += log.take(self.home, name)
        return "\n".join(said)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(Path(os.path.realpath(tmp_path)))


def test_a_worktree_that_git_moves_is_recognised_without_asking_the_user(desk: Desk) -> None:
    desk.repository("main", remote=REMOTE)
    desk.git("worktree", "add", "-q", "../linked", at="main")
    known = desk.at("main")
    assert desk.at("linked").id == known.id
    desk.git("worktree", "move", "../linked", "../moved", at="main")
    assert desk.at("moved").id == known.id
    assert desk.told() == ""
    # Carried past git, the repository does not know where it is until git repairs that.
    shutil.move(desk.folder / "moved", desk.folder / "carried")
    assert desk.at("carried").others == (known.id,)
    desk.git("worktree", "repair", "../carried", at="main")
    assert desk.at("carried").id == known.id


def test_worktrees_that_share_a_bare_or_separate_git_folder_are_one_project(desk: Desk) -> None:
    desk.repository("seed")
    desk.git("clone", "-q", "--bare", "seed", "bare.git")
    for name in ("one", "two"):
        desk.git("worktree", "add", "-q", f"../{name}", "-b", name, at="bare.git")
    assert desk.at("one").id == desk.at("two").id

    desk.repository("work", "--separate-git-dir=apart.git")
    desk.git("worktree", "add", "-q", "../linked", at="work")
    assert desk.at("work").id == desk.at("linked").id != desk.at("one").id
    assert desk.at("work").root == str(desk.folder / "work")
    assert desk.told() == ""


@pytest.mark.parametrize("sparse", [False, True])
def test_a_submodule_is_a_separate_project_without_asking_the_user(
    desk: Desk, sparse: bool
) -> None:
    desk.repository("lib")
    desk.repository("outer", remote=REMOTE)
    desk.git("submodule", "add", "-q", str(desk.folder / "lib"), "lib", at="outer")
    if sparse:  # moves `core.worktree` to config.worktree
        desk.git("sparse-checkout", "set", "--cone", "a", at="outer/lib")
    outer, lib = desk.at("outer"), desk.at("outer/lib")
    assert lib.id != outer.id and lib.root == str(desk.folder / "outer" / "lib")
    assert f"git:{desk.folder}/outer/.git/modules/lib" in lib.keys
    assert desk.told() == ""


def test_the_user_is_asked_whether_a_copy_with_the_same_git_folder_is_the_same_project(
    desk: Desk,
) -> None:
    desk.repository("work", "--separate-git-dir=apart.git")
    known = desk.at("work")
    shutil.copytree(desk.folder / "work", desk.folder / "copy")
    copy = desk.at("copy")
    assert copy.id != known.id and copy.others == (known.id,)
    assert copy.local == str(desk.folder / "copy/.claude/memory")
    assert f"project link {known.id}" in desk.told()


def archive(desk: Desk, name: str, forgery: str) -> None:
    """Write what a stranger's archive may hold: folders, files and links, nothing else."""
    folder, private = desk.folder / name, desk.folder / "private"
    folder.mkdir()
    dot_git, fake = folder / ".git", folder / "fake"
    if forgery == "config":
        dot_git.mkdir()
        (dot_git / "config").write_text(f'[remote "origin"]\n\turl = {REMOTE}\n')
    elif forgery == "link":
        dot_git.symlink_to(private / ".git")
    elif forgery == "commondir":
        fake.mkdir()
        dot_git.write_text("gitdir: fake\n")
        (fake / "gitdir").write_text("../.git\n")
        (fake / "commondir").write_text(f"{private}/.git\n")
    else:
        named = {"file": ".git", "worktree": ".git/worktrees/linked", "pruned": ".git/worktrees/x"}
        dot_git.write_text(f"gitdir: {private}/{named[forgery]}\n")


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("forgery", ["config", "link", "commondir", "file", "worktree", "pruned"])
def test_an_unpacked_archive_with_forged_git_files_does_not_join_another_project(
    desk: Desk, forgery: str, known: bool
) -> None:
    desk.repository("private", remote=REMOTE)
    desk.git("worktree", "add", "-q", "../linked", at="private")
    before = desk.at("private") if known else None
    archive(desk, "unpacked", forgery)

    found = desk.at("unpacked")
    private, linked = desk.at("private"), desk.at("linked")

    assert found.id != private.id == linked.id
    assert private.root == str(desk.folder / "private")
    assert found.root == str(desk.folder / "unpacked")
    if before is not None:
        assert before == private and found.others == (private.id,)
        assert "proves nothing" in desk.told() and desk.at("unpacked").id == found.id
        assert desk.told() == ""


def test_renaming_the_remote_of_a_repository_keeps_the_project(desk: Desk) -> None:
    desk.repository("one", remote=REMOTE)
    desk.repository("two", remote="git@example.com:acme/other.git")
    one, two = desk.at("one"), desk.at("two")
    desk.git("remote", "set-url", "origin", "git@example.com:acme/renamed.git", at="one")
    assert desk.at("one").id == one.id
    desk.git("remote", "set-url", "origin", "git@example.com:acme/other.git", at="one")
    assert (desk.at("one").id, desk.at("one").others) == (one.id, (two.id,))


@pytest.mark.parametrize(
    "pointer", ["gitdir: /x\0/y", "gitdir: " + "a/" * 500_000, "gitdir:", "nothing", ""]
)
def test_a_folder_with_an_invalid_git_pointer_file_is_a_separate_project(
    desk: Desk, pointer: str
) -> None:
    (desk.folder / "odd").mkdir()
    (desk.folder / "odd" / ".git").write_text(pointer)
    assert desk.at("odd").root == str(desk.folder / "odd")


def test_folders_with_different_undecodable_names_are_different_projects(desk: Desk) -> None:
    names = [os.fsdecode(b"caf\xe9"), os.fsdecode(b"caf\xe8")]
    for name in names:
        (desk.folder / name).mkdir()
    one, other = (desk.at(name) for name in names)
    assert one.id != other.id and desk.at(names[0]) == one
