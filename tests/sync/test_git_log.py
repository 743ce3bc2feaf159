"""The log in a git branch, and the clone of it."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from memory_fabric.sharing.remote import log as git_log
from memory_fabric.sharing.remote.clone import PUSHED, READ, Clone, checked
from memory_fabric.sharing.remote.joining import name_of
from memory_fabric.sharing.remote.log import GitLog
from memory_fabric.sharing.replica.wire import PURGE, Position, SpaceState
from memory_fabric.sharing.team import errors
from memory_fabric.sharing.team.keys import Key
from store.support import git_folder
from sync.repositories import BRANCH, Repository
from team.operations import operation, texts

START = Position()
NOTHING = "0" * 40
OpenClone = Callable[[str], Clone]
OpenLog = Callable[[str], GitLog]


class ListingKey(Key):
    """A key that lists the lines that it decrypts."""

    def __init__(self, secret: bytes) -> None:
        super().__init__(secret)
        self.decrypted: list[str] = []

    def shown(self, hidden: str, space: str) -> str | None:
        self.decrypted.append(hidden)
        return super().shown(hidden, space)


@pytest.fixture
def clone(tmp_path: Path, repository: Repository, monkeypatch: pytest.MonkeyPatch) -> OpenClone:
    """Return a clone in a home of this name."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    return lambda name: Clone(str(tmp_path / name), "user", repository.url, "own")


@pytest.fixture
def notices() -> list[str]:
    return []


@pytest.fixture
def open_log(clone: OpenClone, notices: list[str]) -> OpenLog:
    """Return the log as the machine of this name sees it."""
    key = Key(bytes(range(32)))
    return lambda name: GitLog(clone(name), "own", key, name, notices.append)


def test_a_commit_of_one_clone_is_read_by_another(clone: OpenClone, repository: Repository) -> None:
    first, second = clone("first"), clone("second")
    assert first.fetch() == ""
    begin = first.commit("", {"ops/a": b"one\n", "b": b"two\n\nthree", "none": b""}, {})
    assert first.push(begin, "")

    assert second.fetch() == begin
    files = second.files(begin)
    assert sorted(files) == ["b", "ops/a"]
    assert second.contents([files["ops/a"], files["b"]]) == [b"one\n", b"two\n\nthree"]
    assert second.contents([]) == []

    after = second.commit(begin, {"b": b"", "c": b"four"}, {})
    assert second.push(after, begin)
    assert not first.push(first.commit(begin, {"d": b"five"}, {}), begin)
    assert first.fetch() == after and sorted(first.files(after)) == ["c", "ops/a"]

    anew = first.commit("", {"e": b"six"}, {"c": first.files(after)["c"]})
    assert first.push(anew, after)
    assert repository.files() == ["c", "e"]
    assert repository.git("rev-list", "--count", BRANCH) == "1"
    assert repository.git("log", "-1", "--format=%cn|%ce|%B", BRANCH) == "memory-fabric||"


def test_marks_of_a_clone_are_found_whether_git_has_packed_them_or_not(clone: OpenClone) -> None:
    one = clone("one")
    one.fetch()
    assert one.marked(READ) == ""
    commit = one.commit("", {"a": b"one\n"}, {})

    one.mark(commit, READ, PUSHED)
    loose = one.marked(READ), one.marked(PUSHED)
    subprocess.run(["git", f"--git-dir={one.folder}", "pack-refs", "--all"], check=True)
    packed = one.marked(READ), one.marked(PUSHED)
    one.mark("", READ)
    one.erase()

    assert loose == packed == (commit, commit)
    assert (one.marked(READ), one.marked(PUSHED)) == ("", commit)
    assert one.has(commit) and not one.has(NOTHING)
    one.files(commit)
    assert one.has(commit)


def test_a_clone_of_another_repository_is_replaced(
    clone: OpenClone, tmp_path: Path, repository: Repository
) -> None:
    one = clone("one")
    one.fetch()
    assert one.push(one.commit("", {"a": b"one\n"}, {}), "")
    folder = tmp_path / "another"
    folder.mkdir()

    moved = Clone(str(tmp_path / "one"), "user", Repository(folder).url, "own")

    assert moved.folder == one.folder and moved.fetch() == ""
    assert clone("one").fetch() == repository.branches()[BRANCH]


@pytest.mark.parametrize(
    ("said", "kind", "remedy"),
    [
        ("Host key verification failed.", errors.LoginFailed, "compare the key"),
        ("me@host: Permission denied (publickey).", errors.LoginFailed, "me@host:m.git"),
        ("fatal: could not read Username for", errors.LoginFailed, "credential helper"),
        ("error: insufficient permission for", errors.ServerReadOnly, "tries again"),
        ("error: No space left on device", errors.ServerFull, "Make room"),
        ("remote: this branch is protected", errors.NotAllowed, "memory-fabric/*"),
        ("remote: Repository not found.", errors.BadAddress, "empty private repository"),
        ("the line is noisy", errors.NoAnswer, "tries again"),
        ("", errors.NoAnswer, "tries again"),
    ],
)
def test_what_git_says_of_a_failure_decides_the_error_and_its_remedy(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    said: str,
    kind: type[errors.TeamError],
    remedy: str,
) -> None:
    ssh = tmp_path / "ssh"
    ssh.write_text(f"#!/bin/sh\necho '{said}' >&2\nexit 255\n")
    ssh.chmod(0o700)
    monkeypatch.setenv("GIT_SSH_COMMAND", str(ssh))

    with pytest.raises(errors.TeamError, match=r"Cannot read me@host:m\.git: ") as failed:
        Clone(str(tmp_path / "home"), "user", "me@host:m.git", "own").fetch()

    assert type(failed.value) is kind and remedy in failed.value.remedy
    assert said in failed.value.message


def test_an_address_of_a_folder_is_its_real_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "real.git").mkdir()
    (tmp_path / "link.git").symlink_to(tmp_path / "real.git")
    monkeypatch.setenv("HOME", str(tmp_path))

    real = str((tmp_path / "real.git").resolve())
    assert [checked(str(tmp_path / "link.git")), checked("~/real.git")] == [real, real]


@pytest.mark.parametrize(
    ("url", "is_accepted"),
    [
        ("http://127.0.0.1/m.git", True),
        ("http://[::1]:3000/m.git", True),
        ("file:///srv/m.git", True),
        ("https://git.example.org/m.git", True),
        ("ssh://me:22@git.example.org/m.git", False),
        ("git://git.example.org/m.git", False),
        ("https://git.example.org/m m.git", False),
        ("https://git.example.org/m\u200b.git", False),
        ("git.example.org/a:b", False),
        ("git.example.org::m", False),
    ],
)
def test_only_addresses_that_are_safe_for_git_are_accepted(url: str, *, is_accepted: bool) -> None:
    if is_accepted:
        assert checked(url) == url
    else:
        with pytest.raises(errors.BadAddress):
            checked(url)


def test_operations_of_one_machine_are_read_once_by_another(
    open_log: OpenLog, repository: Repository, notices: list[str]
) -> None:
    desk, laptop = open_log("desk"), open_log("laptop")
    assert desk.state() == SpaceState(1, "me", "owner", 0)
    said = [operation(f"text {number}") for number in range(3)]
    bad = operation(value={"x": float("nan")})
    refused: dict[str, str] = {}

    held = desk.push([*said, bad], refused.__setitem__)
    tip = repository.branches()[BRANCH]
    again = desk.push(said)

    assert held == again == [one.op_id for one in said] and list(refused) == [bad.op_id]
    assert repository.branches()[BRANCH] == tip  # nothing was new
    assert laptop.state().members == 1 and laptop.members() == ()
    first, place = laptop.pull(START, 2)
    rest, end = laptop.pull(place, 2)
    assert (len(first), place, len(rest)) == (2, START, 1)
    assert first + rest == [one._replace(author="me") for one in said]
    assert end == Position(1, 1, 0, tip)
    assert laptop.pull(end, 2) == ([], end)
    assert laptop.holds(end) and notices == []

    later = operation("later")
    assert laptop.push([later]) == [later.op_id]
    assert desk.state().members == 2
    assert texts(desk.pull(end, 9)[0]) == ["later"]


def test_a_pull_decrypts_each_new_line_once(clone: OpenClone, open_log: OpenLog) -> None:
    desk, key = open_log("desk"), ListingKey(bytes(range(32)))
    laptop = GitLog(clone("laptop"), "own", key, "laptop", lambda _: None)
    said = [operation("first"), operation("second"), operation("third")]
    desk.state()
    desk.push(said)
    laptop.state()

    found, _ = laptop.pull(START, 9)

    assert len(found) == len(key.decrypted) == len(said)


def test_a_reset_branch_is_recognised_by_the_operations_that_it_lost(
    open_log: OpenLog, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(git_log, "SOME", 1)
    desk, laptop = open_log("desk"), open_log("laptop")
    first, second = operation("first"), operation("second")
    for one, said in ((desk, first), (laptop, second)):
        one.state()
        one.push([said])
    before = repository.branches()
    desk.state()
    _, end = desk.pull(START, 9)
    third = operation("third")
    desk.push([third])
    desk.state()
    _, last = desk.pull(end, 9)
    assert desk.holds(last) and desk.holds(START)
    assert desk.has([third.op_id]) == {third.op_id}

    repository.set(before)
    desk.state()

    assert not desk.holds(last)
    # What was pushed from here is missed even by who has read nothing.
    assert not desk.holds(START)
    laptop.state()
    assert laptop.holds(Position(1, 1, 0, NOTHING))
    wanted = [first.op_id, second.op_id, third.op_id]
    assert laptop.has(wanted) == {first.op_id, second.op_id}


def test_a_purge_removes_the_lines_of_a_key_and_of_what_was_replaced(
    open_log: OpenLog, repository: Repository
) -> None:
    desk, laptop = open_log("desk"), open_log("laptop")
    old, secret, kept = operation("old"), operation("secret"), operation("kept")
    desk.state()
    desk.push([old, secret, kept])
    laptop.state()
    _, end = laptop.pull(START, 9)
    laptop.push([operation("new", key=old.key, base=[old.op_id])])
    desk.state()

    desk.purge([secret.key, "o:unknown"])
    assert repository.git("rev-list", "--count", BRANCH) == "1"
    tip = repository.branches()
    desk.purge([secret.key])
    assert repository.branches() == tip

    laptop.state()
    assert laptop.holds(end)
    found, after = laptop.pull(end, 9)
    assert [(one.key, one.base) for one in found if one.kind == PURGE] == [(secret.key, ())]
    assert "new" in texts(found) and "secret" not in texts(found)
    assert laptop.pull(after, 9) == ([], after)
    third = open_log("third")
    third.state()
    assert sorted(texts(third.pull(START, 9)[0])) == ["kept", "new"]


def test_a_file_of_the_log_is_continued_in_another_once_it_is_full(
    open_log: OpenLog, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = open_log("desk")
    desk.state()
    said = [operation(f"text {number}") for number in range(4)]
    desk.push(said[:1])
    [path] = repository.files()
    size = int(repository.git("cat-file", "-s", f"{BRANCH}:{path}"))

    monkeypatch.setattr(git_log, "MAX_FILE_BYTES", size)
    desk.push(said[1:])

    names = [name.removeprefix(path.removesuffix("000.jsonl")) for name in repository.files()]
    sizes = [int(repository.git("cat-file", "-s", f"{BRANCH}:{p}")) for p in repository.files()]
    assert names == ["000.jsonl", "001.jsonl"]
    assert sizes == [2 * size, 2 * size]


def test_a_compaction_drops_replaced_lines_of_recent_files_and_copies_none_of_them(
    open_log: OpenLog, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(git_log, "OLD_FILES", 1)
    desk = open_log("desk")
    desk.state()
    old, first, kept = operation("old"), operation("first"), operation("kept")
    desk.push([old, first, kept])
    desk.push([operation("second", key=first.key, base=[first.op_id])])
    [today] = repository.files()
    line = repository.git("show", f"{BRANCH}:{today}").partition("\n")[0]
    repository.write("ops/desk/2025-01-01.000.jsonl", line + "\n")
    desk.state()

    desk.compact()

    merged = "ops/desk/until-2025-01-01.000.jsonl"
    shown = {path: repository.git("show", f"{BRANCH}:{path}") for path in repository.files()}
    assert {path: len(text.split("\n")) for path, text in shown.items()} == {today: 3, merged: 1}
    laptop = open_log("laptop")
    laptop.state()
    assert set(texts(laptop.pull(START, 9)[0])) == {"old", "kept", "second"}


def test_a_project_has_the_name_of_its_remote_or_else_of_its_folder(tmp_path: Path) -> None:
    plain, cloned = tmp_path / "plain", tmp_path / "cloned"
    git_folder(plain)
    git_folder(cloned, "git@git.example.org:acme/billing.git")

    assert name_of(str(plain)) == "plain"
    assert name_of(str(cloned)) == "git.example.org/acme/billing"


def test_a_purge_leaves_no_line_in_the_clone_of_the_machine_that_purged(open_log: OpenLog) -> None:
    desk = open_log("desk")
    desk.state()
    secret = operation("secret")
    desk.push([secret, operation("kept")])
    desk.state()
    _, end = desk.pull(START, 9)
    desk.purge([secret.key])
    while (read := desk.pull(end, 9)) != ([], end):
        end = read[1]

    command = ["git", f"--git-dir={desk._clone.folder}", "cat-file", "--batch-all-objects"]
    held = subprocess.run([*command, "--batch"], check=True, capture_output=True).stdout
    assert texts(list(filter(None, map(desk._read, held.splitlines())))) == ["kept"]
