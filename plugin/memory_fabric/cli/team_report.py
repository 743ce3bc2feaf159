"""Exchanges with shared logs, and the output of their results, for the commands team and sync."""

import sys
from collections.abc import Iterable, Sequence
from typing import Any

import typer

from memory_fabric.cli import show
from memory_fabric.config import Settings
from memory_fabric.errors import BadInput
from memory_fabric.sharing.team import driver
from memory_fabric.sharing.team import sync as exchanging
from memory_fabric.sharing.team.sync import Result
from memory_fabric.sharing.team.ties import Tie
from memory_fabric.store.memory import Memory

# Seconds to wait for another process's exchange; only reading a whole log takes longer.
WAIT_S = 30.0


def prepare(settings: Settings, kind: str, *, quiet: bool = False) -> None:
    """Install the packages of an extra if they are missing. Raises FabricError, OSError."""
    try:
        driver.reach(settings, kind=kind)
    except driver.DriverMissing:
        if not quiet:
            size = f"about {driver.SIZE_MB[kind]} MB"
            show.line(f"Downloading the packages of {kind}, once ({size}) ...", "dim")
        driver.install(settings, kind)


def exchanged(memory: Memory, tied: Sequence[Tie], *, quiet: bool) -> list[Result]:
    """Exchange memories over these links to spaces, with a progress bar; return the results."""
    with show.progress_bar("Exchanging", quiet=quiet) as tell:
        return [exchanging.exchange(memory, tie, wait_s=WAIT_S, progress=tell) for tie in tied]


def answer(
    as_json: bool, value: object, *lines: str, results: Sequence[Result] = (), next_step: str = ""
) -> int:
    """Print a command's answer and the results of exchanges; return the exit code."""
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
            raise BadInput(
                "--words",
                "Another machine of yours has the key, and its words are needed here.",
                remedy="Run this in a terminal, or give the words by --words - on standard input.",
            )
    return stated or str(
        typer.prompt("The 24 words that your first machine printed", hide_input=True)
    )
