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
    "head", ["", "ref: refs/heads/none", "ref: ../../secret", "ref: /etc/passwd", "no commit"]
)
def test_the_commit_is_empty_if_head_cannot_be_resolved(tmp_path: Path, head: str) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text(head)

    assert commit_at(str(tmp_path)) == ""
