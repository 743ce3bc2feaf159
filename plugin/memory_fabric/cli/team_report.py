"""Exchanges with shared logs, and reports about links to spaces, waiting changes and failures."""

import sys
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

import typer

from memory_fabric.cli import show
from memory_fabric.errors import BadInput, FabricError
from memory_fabric.health.check import Message, TieState, ago
from memory_fabric.sharing.replica import heads, space
from memory_fabric.sharing.replica.space import Counts
from memory_fabric.sharing.team import driver, ties
from memory_fabric.sharing.team import sync as exchanging
from memory_fabric.sharing.team.sync import Result
from memory_fabric.sharing.team.ties import USER, Outcome, Tie
from memory_fabric.store.memory import Memory
from memory_fabric.text import many

WEEK_S = 7 * 24 * 3600.0
# Timeout for another process's exchange, which usually takes less unless it reads a whole log.
WAIT_S = 30.0


def reports(memory: Memory, now_s: float) -> list["TieReport"]:
    """Return a report for each link of this memory to a space, without asking the server."""
    return [TieReport(memory, tie, now_s) for tie in ties.joined_by(memory)]


class TieReport:
    """The state of a link to a space, as known on this machine.

    `counts` are zero if the database is unreadable.
    """

    def __init__(self, memory: Memory, tie: Tie, now_s: float) -> None:
        self.tie, self._now_s = tie, now_s
        self.state = ties.state_of(memory.settings.home, tie.key)
        self.counts, self._unsent = Counts(), ""
        try:
            self.database = memory.database(tie.kind, create=False)
            if self.database is not None:
                self.counts = space.counts(self.database)
                unsent = heads.where(self.database.connection, "state = 'unsent' LIMIT 1")
                self._unsent = next((head.payload for head in unsent), "") or "no reason is known"
        except FabricError:
            self.database = None

    @property
    def headline(self) -> str:
        """One sentence about the space, the last exchange and the changes to send."""
        last, oldest = self.state.last_success, self.counts.oldest
        subject = "your own memories" if self.tie.key == USER else "this project"
        exchanged = f"exchanged {ago(last, self._now_s)}" if last else "never exchanged"
        sentence = f"shared log: {subject} in {self.tie.place}, {exchanged}"
        waits = self.counts.due + self.counts.waiting
        if waits:
            sentence += f"; {many(waits, 'change')} to send"
            sentence += f", the oldest {ago(oldest, self._now_s)}" if oldest else ""
        return sentence + "."

    @property
    def trouble_lines(self) -> list[str]:
        """The problems with their remedies, one line each."""
        return [f"{trouble.text} {trouble.remedy}".rstrip() for trouble in self.troubles]

    @property
    def troubles(self) -> list[Message]:
        """The problems of the link that are known on this machine."""
        state, numbers, name = self.state, self.counts, self.tie.space
        since = ago(state.since, self._now_s) if state.since else "lately"
        possible = (
            (
                state.cause,
                f"The exchange with {name} fails, first {since}: {state.last_error}",
                state.remedy,
            ),
            (
                numbers.unsent,
                f"The server refuses {many(numbers.unsent, 'change')} of yours: "
                f"{self._unsent.rstrip('.')}.",
                "Change or forget what is in them; they are then sent anew.",
            ),
            (
                numbers.unread,
                f"{many(numbers.unread, 'operation')} of {name} cannot be read here.",
                "Update memory-fabric on this machine, or join with --me and the right words.",
            ),
            (
                numbers.asked,
                f"{many(numbers.asked, 'demand')} of {name} to erase what you said: nothing was "
                "erased.",
                "memory-fabric forget KEY --purge erases it; memory-fabric team decline KEY keeps "
                "it.",
            ),
            (
                numbers.conflicts,
                f"Your machines state {many(numbers.conflicts, 'thing')} differently; the later "
                "state is shown.",
                "A change of it, or forgetting it, settles that.",
            ),
            (state.silent, f"Members who have not read {name} for a week: {state.silent}.", ""),
        )
        return [Message(text, remedy) for is_so, text, remedy in possible if is_so]

    @property
    def for_doctor(self) -> TieState:
        """The report for `doctor`. The state is bad if the user must act, if the last success is
        over a week old, or if exchanges have always failed.
        """
        last = self.state.last_success
        needs_user = self.counts.unsent or self.counts.asked or self.state.told
        late = self._now_s - datetime.fromisoformat(last).timestamp() > WEEK_S if last else None
        is_bad = bool(needs_user or (self.state.cause if late is None else late))
        return TieState(self.tie.space, self.headline, is_bad, self.troubles)

    def as_json(self) -> dict[str, Any]:
        """Return the report as a dict for JSON."""
        return {
            "scope": "user" if self.tie.key == USER else "team",
            **show.fields(self.tie, "space member me"),
            **show.fields(self.state, "last_success failures last_error remedy"),
            "silent": [name for name in self.state.silent.split(", ") if name],
            **self.counts._asdict(),
            "records": dict(self.counts.records),
        }


def prepare(memory: Memory, kind: str, *, quiet: bool) -> None:
    """Install an extra's packages if they are missing. Raises FabricError, OSError."""
    try:
        driver.reach(memory.settings, kind=kind)
    except driver.DriverMissing:
        if not quiet:
            size = f"about {driver.SIZE_MB[kind]} MB"
            show.line(f"Downloading the packages of {kind}, once ({size}) ...", "dim")
        driver.install(memory.settings, kind)


def exchanged(memory: Memory, tied: Sequence[Tie], *, quiet: bool) -> list[Result]:
    """Exchange memories over these links now, with a progress bar; return the results."""
    with show.progress_bar("Exchanging", quiet=quiet) as tell:
        return [exchanging.exchange(memory, tie, wait_s=WAIT_S, progress=tell) for tie in tied]


def answer(as_json: bool, value: object, *lines: str, results: Iterable[Result] = ()) -> int:
    """Print a command's answer as JSON or lines, warn of failed exchanges; return the exit code."""
    if as_json:
        show.json_out(value)
    else:
        show.lines(filter(None, lines))
        show.warn_all(f"{r.tie.name}: {r.failure}" for r in results if r.failure)
    return int(any(result.failure or not result.outcome for result in results))


def outcome_as_json(result: Result) -> dict[str, Any]:
    """Return the result of an exchange as a dict for JSON."""
    return {
        "space": result.tie.space,
        "error": str(result.failure) if result.failure else "",
        **(result.outcome._asdict() if result.outcome else {}),
    }


def outcome_lines(results: Iterable[Result]) -> list[str]:
    """Return a line for each exchange that did not fail."""
    return [f"{r.tie.name}: {_told(r.outcome)}" for r in results if not r.failure]


def asked_words(stated: str) -> str:
    """Return the words of the user's key, from the option, standard input or a prompt."""
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


def _told(outcome: Outcome | None) -> str:
    if outcome is None:
        return "another process exchanges it now."
    parts = [f"{outcome.sent} sent", f"{outcome.applied} received"]
    parts += [f"{outcome.refused} refused"] if outcome.refused else []
    parts += [f"{outcome.unread} unreadable"] if outcome.unread else []
    parts += [f"{outcome.conflicts} in conflict"] if outcome.conflicts else []
    reason = f" Everything was sent and read again, because {outcome.again}."
    return ", ".join(parts) + "." + (reason if outcome.again else "")
