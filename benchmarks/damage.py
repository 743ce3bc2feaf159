"""The damage that a fault did to a memory: acknowledged changes lost, and parts unreadable.

Lost is what was acknowledged with success and is not in the graph afterwards: after what waited was
applied, read by a fresh server. Unreadable is what was known before and is not there either.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from driver import Answer, Gone, Known, Server, Side

MAX_MESSAGE_CHARS = 200


class Scale(NamedTuple):
    """The size of the faults; these are the sizes of the published table."""

    processes: tuple[int, ...] = (2, 4, 8)
    writes: int = 200
    parallel: int = 50
    rounds: int = 100
    # Servers of sessions that are killed while they answer a prompt.
    kills: int = 2_000
    long_chars: int = 10_000_000
    chain: int = 1_000
    # Hooks at the same time, wave after wave.
    flood: tuple[int, ...] = (24, 48)
    # Damage of every kind in one file, or each in one of its own.
    at_once: bool = False
    # A memory that was filled once and is copied, or one that is filled for each damage.
    copied: bool = False
    # Times that the reference server writes a stale copy over ours.
    stale_rounds: int = 3
    # Entities in that copy, of 11 kB each.
    stale_known: int = 300
    # Without it, only ours is broken.
    reference: bool = True
    # What a machine with other work may take beyond the time that something has.
    slack_s: float = 1.0


class Damage(NamedTuple):
    """The losses of one side. `broken` names other laws that did not hold, in words."""

    acknowledged: int
    lost: int = 0
    unreadable: int = 0
    message: str = ""
    broken: tuple[str, ...] = ()

    @property
    def is_harmful(self) -> bool:
        """True if anything is lost, or a law is broken."""
        return bool(self.lost or self.unreadable or self.broken)


class Row(NamedTuple):
    """A line of the table: the fault's number and name, and both sides; None where it is no fault
    of the reference server.
    """

    number: int
    fault: str
    ours: Damage
    theirs: Damage | None = None


def entity(name: str, *texts: str) -> dict[str, Any]:
    """An entity as the tools take it."""
    return {"name": name, "entityType": "component", "observations": list(texts)}


def create(server: Server, name: str, text: str = "") -> Answer:
    """The answer to a new entity, which says one thing. Raises Gone."""
    item = entity(name, text or f"{name} is written")
    return server.answer("create_entities", {"entities": [item]})


def write_many(server: Server, prefix: str, count: int) -> list[str]:
    """Names that were acknowledged, one call each, until all are told or the server has gone."""
    told = []
    try:
        for number in range(count):
            name = f"{prefix}-{number}"
            if not create(server, name).failed:
                told.append(name)
    except Gone:
        return told
    return told


def damage(
    side: Side,
    told: Iterable[str],
    before: Iterable[str] = (),
    message: str = "",
    broken: Sequence[str] = (),
) -> Damage:
    """The damage to a side that acknowledged names and knew others before, seen by a new server."""
    known, said = known_afterwards(side)
    told = set(told)
    return Damage(
        acknowledged=len(told),
        lost=len(told - known.keys()),
        unreadable=len(set(before) - known.keys()),
        message=short(message or said, side.folder),
        broken=tuple(short(law, side.folder) for law in broken),
    )


def known_afterwards(side: Side) -> tuple[Known, str]:
    """Return what a fresh server reads after the queue was applied, and its message if it fails."""
    side.settle()
    try:
        server = side.start()
    except Gone as error:
        return {}, str(error)
    try:
        return server.graph(), ""
    except (Gone, ValueError) as error:
        return {}, str(error)
    finally:
        server.stop()


def unreadable_meanwhile(server: Server, before: Iterable[str]) -> list[str]:
    """The law that what is known can be read while something is wrong; empty where it holds."""
    try:
        missing = set(before) - server.graph().keys()
    except ValueError as error:
        return [f"unreadable meanwhile: {error}"]
    return [f"{len(missing)} unreadable meanwhile"] if missing else []


def unexplained(message: str, *causes: str) -> list[str]:
    """The law that a message names the cause, in one of these words; empty where it does."""
    if any(cause in message.lower() for cause in causes):
        return []
    return [f"the message does not name the cause ({causes[0]})"]


def until(what: Callable[[], bool], within_s: float = 30.0, pause_s: float = 0.01) -> None:
    """Return when it is so, looking again and again. Raises TimeoutError when it never is."""
    give_up = time.monotonic() + within_s
    while not what():
        if time.monotonic() > give_up:
            raise TimeoutError("what was waited for did not come")
        time.sleep(pause_s)


def filled(side: Side, count: int = 20) -> list[str]:
    """Names that a side knows, told to a server that then ended in peace."""
    server = side.start()
    told = write_many(server, "known", count)
    server.stop()
    assert len(told) == count, "a server that nothing disturbs takes everything"
    return told


def short(text: str, folder: str) -> str:
    """A message in one line of a table, without the places of this run."""
    line = " ".join(text.replace(folder, "…").replace("|", "/").split())
    return line if len(line) <= MAX_MESSAGE_CHARS else line[: MAX_MESSAGE_CHARS - 1] + "…"
