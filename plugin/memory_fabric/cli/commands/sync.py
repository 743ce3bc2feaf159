"""Command sync: apply queued changes, and synchronise with the user's other machines."""

import os
import sys
import time
from collections.abc import Iterable, Sequence
from typing import Any

import typer

from memory_fabric.cli import environment, show
from memory_fabric.cli.options import AS_JSON, argument, option
from memory_fabric.config import Settings
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

# Seconds to wait for an exchange by another process; only reading a whole log takes longer.
WAIT_S = 30.0
NOT_TIED = "Nothing is exchanged with other machines: memory-fabric sync git URL begins that."


def sync(
    action: str = argument("[now|git]  Exchange with other machines now, or by git.", ""),
    what: str = argument("[URL|status|leave]  With git: a private repository, or what to do.", ""),
    words: str = option("--words WORDS  Those of your first machine; - reads standard input."),
    space: str = option("--space NAME  With git URL: the project's name on other machines."),
    as_json: bool = AS_JSON,
) -> int:
    """Bring the queue, the journal and MEMORY.md up to date now.

    Queued changes are applied, and shared records of others are read, as hooks do at Stop. If a
    receiver is configured, queued items are forwarded to it. Exit code 1 if any of this failed.

    `sync git URL` exchanges your own memories, and this project's, with your other machines through
    a private repository, encrypted (docs/sync.md). The first machine prints the key as 24 words,
    the others ask for them. `sync git status` shows the state, `sync git leave` ends the exchange.
    Hooks send and receive memories in the background; `sync now` does it at once.

        memory-fabric sync git git@git.example.org:olga/memory.git
    """
    if not action:
        return _local(as_json)
    if action not in ("now", "git") or (action == "now" and what):
        text = f"There is no sync {action} {what}".rstrip() + "."
        raise BadInput("ACTION", text, remedy="Use sync, sync now, or sync git URL|status|leave.")
    if action == "git" and what != "status":
        environment.require_user("sync git", "where memories are sent")
    with environment.open_memory() as memory:
        if what in ("status", "leave") or action == "now":
            tied = [tie for tie in ties.joined_by(memory) if action == "now" or tie.via == GIT]
            if not tied:
                raise NotFound("sync", NOT_TIED)
            if what:
                return {"leave": _leave, "status": _status}[what](memory, tied, as_json)
            results = exchanged(memory, tied, quiet=as_json)
            return answer(as_json, {"exchanged": results_as_json(results)}, results=results)
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
        again = f"{restored} lost journal lines were written again." if restored else ""
        show.lines((again, text))
        show.warn_all(failures)
    return 1 if failures else 0


def _join(memory: Memory, url: str, space: str, words: str, as_json: bool) -> int:
    known = next((tie.dsn for tie in ties.read(memory.settings.home) if tie.via == GIT), "")
    if not (url or known):
        raise BadInput("URL", NOT_TIED, remedy="")
    prepare(memory.settings, driver.SYNC, quiet=as_json)
    from memory_fabric.sharing.remote import joining  # late: needs the packages installed above

    joined = joining.join(memory, url or known, space, lambda: asked_words(words))
    results = exchanged(memory, joined.made, quiet=as_json)
    names = [tie.space for tie in joined.made[1:]]
    address, also = joined.made[0].dsn, f", and of this project as {names[0]}," if names else ""
    key = joined.key.words if joined.is_first else ""
    about_key = (
        "The key of your machines, as words. The repository never has them; keep them:\n"
        f"{key}\nOn each other machine run memory-fabric sync git {address}"
    )
    return answer(
        as_json,
        {"url": address, "projects": names, "words": key} | {"exchanged": results_as_json(results)},
        f"Memories of your own{also} are exchanged through {address}, encrypted.",
        about_key if key else "",
        results=results,
        next_step="Next: run memory-fabric sync git in your other projects. Hooks do the rest.",
    )


def _status(memory: Memory, tied: Sequence[Tie], as_json: bool) -> int:
    now_s, code, values = time.time(), 0, []
    for tie in tied:
        machines, error = 0, ""
        lock = ties.lock_path(memory.settings.home, tie.key, ties.SYNC)
        try:
            with files.Locked(lock, WAIT_S), exchanging.connected(memory, tie) as exchange:
                exchange.look()
                machines = exchange.server.members
        except (FabricError, TimeoutError) as unreachable:
            error, code = str(unreachable), 1
        report = work.TieReport(memory, tie, now_s)
        values.append(report.as_json() | {"machines": machines, "error": error})
        if not as_json:
            show.line(report.headline)
            show.line(error or f"The repository answers: {many(machines, 'machine')} wrote there.")
            show.lines(map(str, report.troubles))
    if as_json:
        show.json_out(values)
    return code


def _leave(memory: Memory, tied: Sequence[Tie], as_json: bool) -> int:
    for tie in tied:
        exchanging.leave(memory, tie, keep=True)
        Clone(memory.settings.home, tie.key, tie.dsn, "").remove()
    left = [tie.space for tie in tied]
    others = [tie.space for tie in ties.read(memory.settings.home) if tie.via == GIT]
    if as_json:
        return show.json_out({"left": left, "still_tied": others})
    show.line("This machine exchanges nothing here any more; memories stay, in the repository too.")
    if others:
        show.line(f"Other projects still are: {', '.join(others)}. Run this in each of them.")
    return 0


def prepare(settings: Settings, kind: str, *, quiet: bool = False) -> None:
    """Install missing packages of the extra `kind`. Raises FabricError or OSError if this fails."""
    try:
        driver.reach(settings, kind=kind)
    except driver.DriverMissing:
        if not quiet:
            size = f"about {driver.SIZE_MB[kind]} MB"
            show.line(f"Downloading the packages of {kind}, once ({size}) ...", "dim")
        driver.install(settings, kind)


def exchanged(memory: Memory, tied: Sequence[Tie], *, quiet: bool) -> list[Result]:
    """Exchange memories over each link in `tied`, showing progress; return the result of each."""
    with show.progress_bar("Exchanging", quiet=quiet) as tell:
        return [exchanging.exchange(memory, tie, wait_s=WAIT_S, progress=tell) for tie in tied]


def answer(
    as_json: bool, value: object, *lines: str, results: Sequence[Result] = (), next_step: str = ""
) -> int:
    """Print `value` as JSON, or `lines`, `results` and `next_step`; return 1 if a result failed."""
    if as_json:
        show.json_out(value)
        return int(any(result.failure or not result.outcome for result in results))
    show.lines(lines)
    for outcome, name in ((r.outcome, r.tie.name) for r in results if not r.failure):
        if outcome is None:
            show.line(f"{name}: another process exchanges it now.")
            continue
        parts = [f"{outcome.sent} sent", f"{outcome.applied} received"]
        parts += [f"{outcome.refused} refused"] if outcome.refused else []
        parts += [f"{outcome.unread} unreadable"] if outcome.unread else []
        parts += [f"{outcome.conflicts} in conflict"] if outcome.conflicts else []
        again = f" Everything was sent and read again, because {outcome.again}."
        show.line(f"{name}: {', '.join(parts)}.{again if outcome.again else ''}")
    show.lines([next_step])
    show.warn_all(f"{r.tie.name}: {r.failure}" for r in results if r.failure)
    return int(any(result.failure or not result.outcome for result in results))


def results_as_json(results: Iterable[Result]) -> list[dict[str, Any]]:
    """Return the results of exchanges as dicts for JSON."""
    return [
        {"space": result.tie.space, "error": str(result.failure) if result.failure else ""}
        | (result.outcome._asdict() if result.outcome else {})
        for result in results
    ]


def asked_words(stated: str) -> str:
    """Return the 24 words of the user's key, from the option, standard input or a prompt."""
    if stated == "-" or not (stated or sys.stdin.isatty()):
        stated = sys.stdin.read().strip()
        if not stated:
            text = "Another machine of yours has the key, and its words are needed here."
            remedy = "Run this in a terminal, or give the words by --words - on standard input."
            raise BadInput("--words", text, remedy=remedy)
    question = "The 24 words that your first machine printed"
    return stated or str(typer.prompt(question, hide_input=True))
