"""sync: bring what waits up to date, and exchange memories with the user's other machines."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from typing import Any

import typer

from memory_fabric.cli import environment, show
from memory_fabric.cli.options import AsJson, argument, option
from memory_fabric.cli.team_report import TieReport
from memory_fabric.config import in_client
from memory_fabric.deadline import Deadline
from memory_fabric.errors import BadInput, FabricError, NotFound
from memory_fabric.health import work
from memory_fabric.hooks import unfinished
from memory_fabric.sharing.remote.clone import Clone
from memory_fabric.sharing.team import driver, ties
from memory_fabric.sharing.team import sync as exchanging
from memory_fabric.sharing.team.sync import Result
from memory_fabric.sharing.team.ties import GIT, Tie
from memory_fabric.store import files
from memory_fabric.store.history import resolve
from memory_fabric.store.memory import Memory
from memory_fabric.store.tiers import memory_md
from memory_fabric.store.tiers import sync as tiers
from memory_fabric.text import many

# Longer than a round of another process takes, unless it reads a whole log.
WAIT_S = 30.0
NOT_TIED = "Nothing is exchanged with other machines: memory-fabric sync git URL begins that."


def sync(
    action: str = argument("", "[now|git]", "Exchange with other machines now, or by git."),
    what: str = argument(
        "",
        "[URL|status|leave]",
        "With git: the address of a private, empty repository without a password; else show how "
        "it goes, or end it on this machine.",
    ),
    words: str = option(
        "",
        "WORDS",
        "With git URL: the words that your first machine printed, or - to read them from standard "
        "input, which no list of processes shows.",
        "--words",
    ),
    space: str = option(
        "",
        "NAME",
        "With git URL: this project's name on your other machines, if it is not the same by its "
        "git remote or its folder.",
        "--space",
    ),
    as_json: AsJson = False,
) -> int:
    """Bring the queue, the journal and MEMORY.md up to date now.

    Waiting changes are applied, and shared records of others are read. Hooks do the same at Stop.
    If a receiver is configured, waiting items are forwarded (docs/forwarding.md). Exit code 1 if
    any of this failed.

    `sync git URL` ties your own memories, and this project's, to a private repository: they follow
    you to your other machines, encrypted (docs/sync.md). The first machine prints 24 words, the
    others ask for them. Hooks exchange in the background; `sync now` does it at once.

        memory-fabric sync git git@git.example.org:olga/memory.git
    """
    if not action:
        return _local(as_json)
    if action not in ("now", "git") or (action == "now" and what):
        text = f"There is no sync {action} {what}".rstrip() + "."
        raise BadInput("ACTION", text, remedy="Use sync, sync now, or sync git URL|status|leave.")
    if action == "git" and what != "status" and in_client(os.environ):
        raise BadInput(
            "sync",
            "Nothing was changed: only the user may decide where memories are sent.",
            remedy="Run memory-fabric sync git in a terminal outside Claude Code.",
        )
    with environment.open_memory() as memory:
        if action == "now":
            return _now(memory, as_json)
        if what in ("status", "leave"):
            tied = [tie for tie in ties.joined_by(memory) if tie.via == GIT]
            if not tied:
                raise NotFound("sync", NOT_TIED)
            return (_leave if what == "leave" else _status)(memory, tied, as_json)
        return _join(memory, what, space, words, as_json)


def _local(as_json: bool) -> int:
    text = unfinished.finish_late(os.environ, Deadline(), show.warn)
    if text and not as_json:
        show.line(text)
    with environment.open_memory() as memory:
        drained = tiers.drain(memory)
        memory.flush()
        restored = tiers.restore_journals(memory)
        listed = len(memory_md.shown_lines(resolve.memory_md_file(memory))) if memory.project else 0
        text, forwarded, failed = work.forward(memory.settings)
        failures = [*memory.failures, *failed]
    if as_json:
        counts = {"drained": drained, "restored": restored, "in_memory_md": listed}
        show.json_out({**counts, "forwarded": forwarded, "failures": failures})
    else:
        show.line(f"{drained} waiting changes applied; {listed} memories are in MEMORY.md.")
        if restored:
            show.line(f"{restored} lost journal lines were written again.")
        if text:
            show.line(text)
        show.warn_all(failures)
    return 1 if failures else 0


def _join(memory: Memory, url: str, space: str, words: str, as_json: bool) -> int:
    """Tie the user and the project to a repository, and exchange."""
    known = next((tie.dsn for tie in ties.read(memory.settings.home) if tie.via == GIT), "")
    if not (url or known):
        raise BadInput("URL", NOT_TIED, remedy="")
    try:
        driver.reach(memory.settings, kind=driver.SYNC)
    except driver.DriverMissing:
        if not as_json:
            show.line(
                f"Downloading the cipher, once (about {driver.SIZE_MB[driver.SYNC]} MB) ...", "dim"
            )
        driver.install(memory.settings, driver.SYNC)
    from memory_fabric.sharing.remote import joining  # late: uses what was installed

    joined = joining.join(memory, url or known, space, lambda: _words(words))
    results = _exchanged(memory, joined.made, quiet=as_json)
    names = [tie.space for tie in joined.made[1:]]
    if as_json:
        key = {"words": joined.key.words if joined.is_first else ""}
        show.json_out({"url": joined.made[0].dsn, "projects": names, **key, **_as_json(results)})
        return _code(results)
    also = f", and of this project as {names[0]}," if names else ""
    show.line(f"Memories of your own{also} are exchanged through {joined.made[0].dsn}, encrypted.")
    if joined.is_first:
        show.line("The key of your machines, as words. The repository never has them; keep them:")
        show.line(joined.key.words, "bold")
        show.line(f"On each other machine run memory-fabric sync git {joined.made[0].dsn}")
    show.lines(_lines(results))
    show.line("Next: run memory-fabric sync git in your other projects. Hooks do the rest.")
    return _code(results)


def _now(memory: Memory, as_json: bool) -> int:
    tied = ties.joined_by(memory)
    if not tied:
        raise NotFound("sync", NOT_TIED)
    results = _exchanged(memory, tied, quiet=as_json)
    if as_json:
        show.json_out(_as_json(results))
    else:
        show.lines(_lines(results))
    return _code(results)


def _status(memory: Memory, tied: Sequence[Tie], as_json: bool) -> int:
    now_s, code, values = time.time(), 0, []
    for tie in tied:
        machines, error = _asked(memory, tie)
        code = 1 if error else code
        report = TieReport(memory, tie, now_s)
        values.append(report.as_json() | {"machines": machines, "error": error})
        if not as_json:
            show.line(report.headline)
            show.line(error or f"The repository answers: {many(machines, 'machine')} wrote there.")
            show.lines(report.trouble_lines)
    if as_json:
        show.json_out(values)
    return code


def _asked(memory: Memory, tie: Tie) -> tuple[int, str]:
    """Return how many machines wrote to the repository, and why it does not answer."""
    lock = ties.lock_path(memory.settings.home, tie.key, ties.SYNC)
    try:
        with files.Locked(lock, WAIT_S), exchanging.connected(memory, tie) as exchange:
            exchange.look()
            return exchange.server.members, ""
    except (FabricError, TimeoutError) as error:
        return 0, str(error)


def _leave(memory: Memory, tied: Sequence[Tie], as_json: bool) -> int:
    for tie in tied:
        exchanging.leave(memory, tie, keep=True)
        Clone(memory.settings.home, tie.key, tie.dsn, "").remove()
    left = [tie.space for tie in tied]
    others = [tie.space for tie in ties.read(memory.settings.home) if tie.via == GIT]
    if as_json:
        show.json_out({"left": left, "still_tied": others})
        return 0
    show.line("Nothing of this machine is exchanged here any more; every memory stays, here and in "
              "the repository.")  # fmt: skip
    if others:
        show.line(f"Other projects still are: {', '.join(others)}. Run this in each of them.")
    return 0


def _exchanged(memory: Memory, tied: Sequence[Tie], *, quiet: bool) -> list[Result]:
    with show.progress_bar("Exchanging", quiet=quiet) as tell:
        return [exchanging.exchange(memory, tie, wait_s=WAIT_S, progress=tell) for tie in tied]


def _code(results: Sequence[Result]) -> int:
    return 1 if any(result.failure or not result.outcome for result in results) else 0


def _as_json(results: Sequence[Result]) -> dict[str, Any]:
    return {
        "exchanged": [
            {
                "space": result.tie.space,
                "error": str(result.failure) if result.failure else "",
                **(result.outcome._asdict() if result.outcome else {}),
            }
            for result in results
        ]
    }


def _lines(results: Sequence[Result]) -> list[str]:
    lines = []
    for tie, outcome, failure in results:
        told = str(failure) if failure else "another process exchanges it now."
        if outcome is not None:
            again = f" Everything was sent again: {outcome.again}." if outcome.again else ""
            told = f"{outcome.sent} sent, {outcome.read} read.{again}"
        lines.append(f"{tie.name}: {told}")
    return lines


def _words(stated: str) -> str:
    """Return the words of the user's key, as stated, typed or from standard input."""
    if stated == "-" or not (stated or sys.stdin.isatty()):
        stated = sys.stdin.read().strip()
        if not stated:
            raise BadInput(
                "--words",
                "Another machine of yours has the key, and its words are needed here.",
                remedy="Run this in a terminal, or give the words by --words - on standard input.",
            )
    return stated or str(
        typer.prompt("The 24 words that your first machine printed", hide_input=True)
    )
