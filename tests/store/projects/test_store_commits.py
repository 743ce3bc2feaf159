"""The commit that is checked out, read from the files of git and compared with git itself."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from memory_fabric.store.projects.identity import commit_at


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", *arguments],
        cwd=folder,
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "topic/cart")
    git(folder, "commit", "-q", "--allow-empty", "-m", "one")
    return folder


def test_the_current_commit_is_found_for_loose_and_packed_refs_and_a_detached_head(
    repository: Path,
) -> None:
    head = git(repository, "rev-parse", "HEAD")
    (repository / "src").mkdir()

    assert commit_at(str(repository)) == commit_at(str(repository / "src")) == head
    git(repository, "pack-refs", "--all")
    assert commit_at(str(repository)) == head
    git(repository, "checkout", "-q", "--detach")
    assert commit_at(str(repository)) == head


def test_the_current_commit_of_a_worktree_is_that_of_its_own_branch(repository: Path) -> None:
    git(repository, "worktree", "add", "-q", "-b", "other", "../other")
    other = repository.parent / "other"
    git(other, "commit", "-q", "--allow-empty", "-m", "two")

    assert commit_at(str(other)) == git(other, "rev-parse", "HEAD")
    assert commit_at(str(other)) != commit_at(str(repository))


@pytest.mark.parametrize(
    "head",
    [
        *("", "ref: refs/heads/none", "ref: ../../secret", "ref: /etc/passwd", "no commit"),
        *("a1" * 20 + "b", "A1" * 20),
    ],
)
def test_the_commit_is_empty_if_head_cannot_be_resolved(tmp_path: Path, head: str) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text(head)

    assert commit_at(str(tmp_path)) == ""


def test_the_current_commit_may_have_a_sha256_id(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text(f"{'a1' * 32}\n")

    assert commit_at(str(tmp_path)) == "a1" * 32


def test_a_packed_ref_is_found_by_its_whole_name(tmp_path: Path) -> None:
    git_folder = tmp_path / ".git"
    git_folder.mkdir()
    (git_folder / "HEAD").write_text("ref: refs/heads/main\n")
    packed = f"# pack-refs with: peeled\n{'b2' * 20} refs/heads/a-refs/heads/main\n"
    (git_folder / "packed-refs").write_text(f"{packed}{'a1' * 20} refs/heads/main\n")

    assert commit_at(str(tmp_path)) == "a1" * 20
