"""The child that works off what came in: started, started again, ended."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from memory_fabric.servers.http import ingest as module
from memory_fabric.servers.http.ingest import WorkerChild

WAIT_S = 60
# Says its number and that of its parent, and stays; or ends at once.
STAYS = (
    "import os, sys, time\n"
    "open('pids', 'a').write(f'{os.getpid()} {sys.argv[2]}\\n')\n"
    "time.sleep(99)"
)
ENDS = "open('runs', 'a').write('x')"
STUBBORN = f"import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n{STAYS}"


def told(folder: Path, script: str, story: Callable[[WorkerChild], Awaitable[None]]) -> None:
    """Run a story with a worker that runs this script in the folder."""
    worker = WorkerChild(str(folder), command=(sys.executable, "-c", script), first_pause_s=0.01)

    async def whole() -> None:
        async with asyncio.timeout(WAIT_S):
            await story(worker)
            await worker.end()

    asyncio.run(whole())


async def content(path: Path, length: int) -> str:
    """Return the content of a file once it has grown to this length."""
    while not path.exists() or len(path.read_text("utf-8")) < length:
        await asyncio.sleep(0)
    return path.read_text("utf-8")


def lives(process: int) -> bool:
    """True if the process exists."""
    return Path(f"/proc/{process}").exists()


@pytest.mark.parametrize("script", [STAYS, STUBBORN])
def test_the_worker_process_is_started_once_and_ends_with_the_server(
    tmp_path: Path, script: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "END_GRACE_S", 0.2)
    children: list[int] = []

    async def story(worker: WorkerChild) -> None:
        assert worker.complaint() == ""
        worker.start()
        worker.start()
        line = await content(tmp_path / "pids", 3)
        children.extend(int(one.split()[0]) for one in line.splitlines())
        assert worker.complaint() == "" and lives(children[0])

    told(tmp_path, script, story)

    assert len(children) == 1 and not lives(children[0])


def test_the_worker_receives_the_process_id_of_its_parent(tmp_path: Path) -> None:
    async def story(worker: WorkerChild) -> None:
        worker.start()
        await content(tmp_path / "pids", 3)

    told(tmp_path, STAYS, story)

    assert (tmp_path / "pids").read_text("utf-8").split()[1] == str(os.getpid())


def test_a_worker_that_ends_is_restarted_and_the_restart_is_logged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def story(worker: WorkerChild) -> None:
        worker.start()
        await content(tmp_path / "runs", 3)

    told(tmp_path, ENDS, story)

    said = capsys.readouterr().err.splitlines()
    assert said[:2] == [
        "memory-fabric: the worker ended (exit code 0); again in 0.01 s.",
        "memory-fabric: the worker ended (exit code 0); again in 0.02 s.",
    ]


def test_a_worker_whose_priority_cannot_be_lowered_still_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[int] = []

    def refused(_which: int, process: int, _nice: int) -> None:
        asked.append(process)
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "setpriority", refused)
    children: list[int] = []

    async def story(worker: WorkerChild) -> None:
        worker.start()
        line = await content(tmp_path / "pids", 3)
        children.extend(int(one.split()[0]) for one in line.splitlines())
        assert worker.complaint() == "" and lives(children[0])

    told(tmp_path, STAYS, story)

    assert asked == children and len(children) == 1 and not lives(children[0])
    assert capsys.readouterr().err == ""


def test_a_worker_that_is_still_starting_is_not_reported_as_missing(tmp_path: Path) -> None:
    async def story(worker: WorkerChild) -> None:
        worker.start()

        assert worker.complaint() == ""

    told(tmp_path, STAYS, story)


def test_a_worker_that_cannot_be_started_is_reported(tmp_path: Path) -> None:
    async def story(worker: WorkerChild) -> None:
        worker.start()
        while not worker.complaint():
            await asyncio.sleep(0)

    told(tmp_path / "missing", STAYS, story)
