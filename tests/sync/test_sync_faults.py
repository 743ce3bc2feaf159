"""Faults of repository, network and process: told once, nothing lost, taken up by the next."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from memory_fabric.sharing.remote.clone import FOLDER, Clone, checked
from memory_fabric.sharing.remote.log import GitLog
from memory_fabric.sharing.replica import space
from memory_fabric.sharing.team import keys, sync, ties
from memory_fabric.sharing.team.errors import BadAddress, TooSlow, UnfitServer
from sync.repositories import BRANCH, Machine, Repository
from thorough import examples

KILLS = examples(12, 5)


def errors(machine: Machine) -> list[str]:
    """The errors of an exchange now."""
    done = machine.run("sync", "now", "--json")
    return [found["error"] for found in done.json["exchanged"] if found["error"]]


def notices_of(machine: Machine, words: str) -> list[str]:
    """The notices with these words."""
    return [notice for notice in machine.notices if words in notice]


def said_in(repository: Repository, branch: str, machine: Machine) -> str:
    """All that the files of a branch say, in every commit of its history, to who has the key."""
    key = keys.read(str(machine.home))
    assert key is not None
    commits = repository.git("rev-list", branch).split()
    files = [(one, path) for one in commits for path in repository.files(one)]
    texts = [repository.git("show", f"{one}:{path}") for one, path in files]
    return "\n".join(key.shown(line, "shop") or "" for text in texts for line in text.split())


def test_hooks_return_while_a_background_process_syncs_the_records(
    desk: Machine, laptop: Machine
) -> None:
    desk.say("Said on the desk")
    assert desk.event("Stop").status == 0
    assert desk.work() == 0

    assert laptop.work() == 0

    assert laptop.decisions() == ["Said on the desk"]


def test_records_wait_while_the_repository_is_unreachable_which_is_reported_once(
    desk: Machine, laptop: Machine, repository: Repository
) -> None:
    away = repository.path.with_suffix(".away")
    repository.path.rename(away)
    desk.say(*(f"Said offline on day {day}" for day in range(7)))

    for _ in range(2):
        assert desk.work() == 1
        desk.release()
    assert len(notices_of(desk, "your own memories by git is not exchanged")) == 1
    assert len(notices_of(desk, "shop by git is not exchanged")) == 1
    assert "empty private repository" in desk.run("sync", "git", "status").out
    checks = {check["name"]: check for check in desk.run("doctor", "--json").json}
    assert checks["shared log"]["state"] == "warning" and checks["shared log"]["remedy"]

    away.rename(repository.path)
    desk.now()
    laptop.now()
    assert len(laptop.decisions()) == 7 and laptop.decisions() == desk.decisions()


def test_a_repeated_failure_is_reported_again_if_its_remedy_differs(desk: Machine) -> None:
    tie = ties.of(str(desk.home), desk.project_id)
    assert tie is not None
    with desk.opened() as memory:
        for remedy in ("Migrate it.", "Migrate it.", "Update here."):
            sync.note_failure(memory, tie, UnfitServer("It does not fit.", remedy=remedy))

    told = notices_of(desk, "It does not fit.")
    assert [("Migrate" in notice, "Update" in notice) for notice in told] == [
        (True, False),
        (False, True),
    ]


@pytest.mark.parametrize("loss", ["set back", "deleted", "made again"])
def test_operations_lost_from_the_repository_are_sent_again_and_reported_once(
    tmp_path: Path, desk: Machine, laptop: Machine, repository: Repository, loss: str
) -> None:
    desk.say("Before, from the desk")
    desk.now()
    laptop.now()
    before = repository.branches()
    for number in range(3):
        desk.say(f"Desk {number}")
        laptop.say(f"Laptop {number}")
        for machine in (desk, laptop):
            machine.now()
    desk.now()
    expected = desk.decisions()
    if loss == "made again":
        shutil.rmtree(repository.path)
        Repository(tmp_path)
    else:
        repository.set(before if loss == "set back" else {})

    again = [[found["again"] for found in one.now()] for one in (desk, laptop, desk, laptop)]

    assert "set back" in again[0][1] and again[2:] == [["", ""], ["", ""]]
    assert len(expected) == 7 and desk.decisions() == laptop.decisions() == expected
    assert len(notices_of(desk, "shop by git is not as it was")) == 1
    third = Machine(tmp_path, "third")
    key = keys.read(str(desk.home))
    assert key is not None
    third.tied(repository, key.words)
    assert third.decisions() == expected


def test_rewritten_git_history_is_not_reported_if_no_operation_was_lost(
    desk: Machine, laptop: Machine, repository: Repository
) -> None:
    desk.say("Said before")
    desk.now()
    laptop.now()
    for branch, commit in repository.branches().items():
        tree = repository.git("rev-parse", f"{commit}^{{tree}}")
        names = ("-c", "user.name=eve", "-c", "user.email=eve@example.org")
        anew = repository.git(*names, "commit-tree", "-m", "squashed", tree)
        repository.git("update-ref", f"refs/heads/{branch}", anew)
    laptop.say("Said after")

    found = [*laptop.now(), *desk.now()]

    assert [one["again"] for one in found] == [""] * 4
    assert desk.decisions() == laptop.decisions() == ["Said after", "Said before"]


def test_forged_and_damaged_lines_in_the_repository_are_refused_and_reported_once(
    desk: Machine, laptop: Machine, repository: Repository
) -> None:
    desk.say("Said on the desk")
    desk.now()
    forged = keys.Key(bytes(range(32))).hide('["x", "y", "record", "", "{}"]', "own")
    repository.write("ops/eve/2026-01-01.000.jsonl", f"{forged}\nno line of ours\n\0\n")
    repository.write("README.md", "a file that is not ours\n")

    for _ in range(2):
        laptop.now()

    [notice] = notices_of(laptop, "Refused")
    assert notice.startswith("Refused 4 lines") and "Nothing changed" in notice
    assert laptop.decisions() == ["Said on the desk"]


def test_a_damaged_line_in_the_repository_is_restored_by_a_machine_that_has_the_operation(
    tmp_path: Path, desk: Machine, laptop: Machine, repository: Repository
) -> None:
    desk.say("Said on the desk")
    desk.now()
    laptop.now()
    [branch] = [name for name in repository.branches() if name != BRANCH]
    for path in repository.files(branch):
        content = repository.git("show", f"{branch}:{path}")
        repository.write(path, content.replace("A", "B") + "\n", branch)

    laptop.now()

    key = keys.read(str(desk.home))
    assert key is not None
    third = Machine(tmp_path, "third")
    third.tied(repository, key.words)
    assert third.decisions() == ["Said on the desk"]


def test_a_purge_erases_the_words_from_both_machines_and_from_the_git_history(
    desk: Machine, laptop: Machine, repository: Repository
) -> None:
    [id_] = desk.say("Invoices come from Zanzibar")
    desk.now()
    laptop.now()
    laptop.json("edit", id_, "--why", "since Zanzibar sends them")
    laptop.now()
    desk.now()
    [branch] = [name for name in repository.branches() if name != BRANCH]
    assert "Zanzibar" in said_in(repository, branch, desk)

    desk.json("forget", "Zanzibar", "--purge", "--yes")
    desk.now()
    laptop.now()

    assert desk.decisions() == laptop.decisions() == []
    assert "Zanzibar" not in said_in(repository, branch, desk)
    assert desk.now()[1]["again"] == laptop.now()[1]["again"] == ""


def test_a_purge_removes_its_lines_even_if_the_repository_refuses_forced_pushes(
    desk: Machine, laptop: Machine, repository: Repository
) -> None:
    repository.git("config", "receive.denyNonFastForwards", "true")
    desk.say("Invoices come from Zanzibar")
    desk.now()
    laptop.now()

    desk.json("forget", "Zanzibar", "--purge", "--yes")

    assert [found["error"] for found in (*desk.now(), *laptop.now())] == [""] * 4
    [branch] = [name for name in repository.branches() if name != BRANCH]
    assert int(repository.git("rev-list", "--count", branch)) > 1
    assert desk.decisions() == laptop.decisions() == []


def test_sync_files_of_past_days_are_compacted_into_one_file_without_loss(
    desk: Machine, laptop: Machine, repository: Repository
) -> None:
    [id_] = desk.say("Said a year ago")
    desk.now()
    laptop.now()
    [branch] = [name for name in repository.branches() if name != BRANCH]
    origin = ties.origin(str(desk.home))
    [today] = [path for path in repository.files(branch) if path.startswith(f"ops/{origin}/")]
    line = repository.git("show", f"{branch}:{today}")
    for day in range(1, 31):  # as many days as a month has, each with lines of this machine
        repository.write(f"ops/{origin}/2025-01-{day:02d}.000.jsonl", line + "\n", branch)
    desk.json("edit", id_, "--why", "because")
    ties.update_state(str(desk.home), desk.project_id, asked_at=0.0)

    desk.now()

    own = [path for path in repository.files(branch) if path.startswith(f"ops/{origin}/")]
    assert len(own) == 2 and f"ops/{origin}/until-2025-01-30.000.jsonl" in own
    assert [found["again"] for found in (*desk.now(), *laptop.now())] == [""] * 4
    assert laptop.decisions() == desk.decisions() == ["Said a year ago"]


def test_synchronising_succeeds_again_after_a_failed_compaction(
    desk: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: GitLog) -> int:
        raise TooSlow("The compaction takes too long.", remedy="")

    monkeypatch.setattr(GitLog, "compact", fail)
    for key in (ties.USER, desk.project_id):
        ties.update_state(str(desk.home), key, asked_at=0.0)

    assert len(errors(desk)) == 2
    assert errors(desk) == []


def test_machines_that_push_concurrently_all_succeed(
    tmp_path: Path, desk: Machine, laptop: Machine, repository: Repository
) -> None:
    machines = [desk, laptop, Machine(tmp_path, "third")]
    key = keys.read(str(machines[0].home))
    assert key is not None
    machines[2].tied(repository, key.words)
    for machine in machines:
        machine.say(*(f"Said on {machine.home} {number}" for number in range(5)))

    workers = [machine.worker() for machine in machines]

    assert [worker.wait(120) for worker in workers] == [0, 0, 0]
    for machine in machines:
        machine.now()
    assert len(machines[0].decisions()) == 15
    assert len({tuple(machine.decisions()) for machine in machines}) == 1


def test_sync_processes_killed_at_any_moment_lose_no_records(
    desk: Machine, laptop: Machine
) -> None:
    began_s = time.monotonic()
    assert desk.work() == 0
    usual_s = time.monotonic() - began_s
    chance = random.Random(20)

    for number in range(KILLS):
        desk.say(*(f"Desk in round {number}: {part}" for part in range(3)))
        laptop.say(f"Laptop in round {number}")
        for worker in (desk.worker(), laptop.worker()):
            try:
                worker.wait(chance.uniform(0, usual_s))
            except subprocess.TimeoutExpired:
                worker.send_signal(signal.SIGKILL)
                worker.wait()

    for machine in (desk, laptop, desk):
        machine.release()
        machine.now()
    assert len(desk.decisions()) == 4 * KILLS
    assert desk.decisions() == laptop.decisions()
    for machine in (desk, laptop):
        with machine.opened() as memory:
            database = memory.database("project", create=False)
            assert database is not None
            counts = space.counts(database)
        assert (counts.waiting, counts.due, counts.refused, counts.unread) == (0, 0, 0, 0)
        assert machine.run("check").status == 0


def test_a_damaged_local_clone_of_the_repository_is_created_again(
    desk: Machine, laptop: Machine
) -> None:
    desk.say("Said before")
    desk.now()
    folder = Path(desk.home) / FOLDER
    for clone in folder.iterdir():
        for pack in (clone / "objects").rglob("*"):
            if pack.is_file():
                pack.unlink()
        (clone / "shallow.lock").touch()
    desk.say("Said after")

    assert errors(desk) == []

    laptop.now()
    assert laptop.decisions() == ["Said after", "Said before"]


def test_two_machines_with_the_same_origin_id_still_exchange_records(
    desk: Machine, laptop: Machine
) -> None:
    origin = (Path(desk.home) / "team" / "origin").read_text("utf-8")
    (Path(laptop.home) / "team" / "origin").write_text(origin, "utf-8")
    desk.say("Said on the desk")
    laptop.say("Said on its copy")

    for machine in (desk, laptop, desk):
        machine.now()

    assert desk.decisions() == laptop.decisions() == ["Said on its copy", "Said on the desk"]


def test_a_repository_address_with_a_password_or_a_foreign_protocol_is_refused() -> None:
    token = "glpat-" + "x7Kq2mVw9TzR4nLb8PyA"
    for url in ("https://me:secret@git.example.org/m.git", f"https://{token}@git.example.org/m"):
        with pytest.raises(BadAddress, match="credential helper") as refused:
            checked(url)
        assert "secret" not in str(refused.value) and token not in str(refused.value)
    for url in (
        "ext::sh -c date",
        "-oProxyCommand=date",
        "http://git.example.org/m",
        "/nowhere",
        "https://",
        "https:///m",
        "https://[h/m",
        "ssh://git@/m",
        "host:",
        ":m",
    ):
        with pytest.raises(BadAddress, match="is no address"):
            checked(url)
    for url in (
        "git@git.example.org:me/m.git",
        "https://me@git.example.org/m.git",
        "ssh://h/m",
        "http://localhost:3000/m.git",
    ):
        assert checked(url) == url


def test_a_refused_ssh_login_is_reported_with_a_remedy(tmp_path: Path) -> None:
    ssh = tmp_path / "ssh"
    ssh.write_text("#!/bin/sh\necho 'me@host: Permission denied (publickey).' >&2\nexit 255\n")
    ssh.chmod(0o700)
    machine = Machine(tmp_path, "desk")

    done = machine.run("sync", "git", "me@git.example.org:m.git", GIT_SSH_COMMAND=str(ssh))

    assert done.status == 1 and "Permission denied" in done.err and "git ls-remote" in done.err
    assert not (machine.home / "team.json").exists()


def test_git_runs_without_prompts_and_ignores_git_dir_in_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, repository: Repository
) -> None:
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    asked = tmp_path / "asked"
    ssh = tmp_path / "ssh"
    ssh.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" "$GIT_TERMINAL_PROMPT" > {asked}\nexit 1\n')
    ssh.chmod(0o700)
    monkeypatch.setenv("GIT_SSH_COMMAND", str(ssh))

    assert Clone(str(tmp_path / "home"), "user", repository.url, "own").fetch() == ""
    with pytest.raises(Exception, match="Cannot read"):
        Clone(str(tmp_path / "home"), "user", "me@git.example.org:m.git", "own").fetch()

    assert "-oBatchMode=yes" in asked.read_text() and asked.read_text().endswith("\n0\n")
    assert not os.path.exists(tmp_path / "elsewhere")
