"""Report on shared logs, for team, status and doctor: ties, what waits, failures."""

from datetime import datetime
from typing import Any

from memory_fabric.cli import show
from memory_fabric.errors import FabricError
from memory_fabric.health.check import Message, ago
from memory_fabric.sharing.replica import heads, space
from memory_fabric.sharing.replica.space import Counts
from memory_fabric.sharing.team import ties
from memory_fabric.sharing.team.ties import USER, Tie
from memory_fabric.store.memory import Memory
from memory_fabric.text import many

WEEK_S = 7 * 24 * 3600.0


def lines(memory: Memory, now_s: float) -> list[str]:
    """Return the lines of `status`, without asking the server; none without a tie."""
    return [
        line
        for tie in ties.joined_by(memory)
        for line in (headline(memory, tie, now_s), *trouble_lines(memory, tie, now_s))
    ]


def headline(memory: Memory, tie: Tie, now_s: float) -> str:
    """Return one sentence about a tie: its space, the last exchange, what waits."""
    state, numbers = ties.state_of(memory.settings.home, tie.key), counts(memory, tie)
    subject = "your own memories" if tie.key == USER else "this project"
    last = (
        f"exchanged {ago(state.last_success, now_s)}" if state.last_success else "never exchanged"
    )
    sentence = f"shared log: {subject} in {tie.space} as {tie.member}, {last}"
    waits = numbers.due + numbers.waiting
    if waits:
        sentence += f"; {many(waits, 'change')} to send"
        sentence += f", the oldest {ago(numbers.oldest, now_s)}" if numbers.oldest else ""
    return sentence + "."


def trouble_lines(memory: Memory, tie: Tie, now_s: float) -> list[str]:
    """Return the sentences of `troubles` with their remedies."""
    return [f"{t.text} {t.remedy}".rstrip() for t in troubles(memory, tie, now_s)]


def troubles(memory: Memory, tie: Tie, now_s: float) -> list[Message]:
    """Return what is wrong with a tie, as far as this machine knows."""
    state, numbers = ties.state_of(memory.settings.home, tie.key), counts(memory, tie)
    since = ago(state.since, now_s) if state.since else "lately"
    reason = _reason(memory, tie) if numbers.unsent else ""
    possible = (
        (
            state.cause,
            f"The exchange with {tie.space} fails, first {since}: {state.last_error}",
            state.remedy,
        ),
        (
            numbers.unsent,
            f"The server refuses {many(numbers.unsent, 'change')} of yours: {reason}",
            "Change or forget what is in them; they are then sent anew.",
        ),
        (
            numbers.unread,
            f"{many(numbers.unread, 'operation')} of {tie.space} cannot be read here.",
            "Update memory-fabric on this machine, or join with --me and the right words.",
        ),
        (
            numbers.asked,
            f"{many(numbers.asked, 'demand')} of {tie.space} to erase what you said: nothing was "
            "erased.",
            "memory-fabric forget QUERY --purge erases it; memory-fabric team decline KEY keeps "
            "it.",
        ),
        (
            numbers.conflicts,
            f"Your machines state {many(numbers.conflicts, 'thing')} differently; the later state "
            "is shown.",
            "A change of it, or forgetting it, settles that.",
        ),
        (state.silent, f"Members who have not read {tie.space} for a week: {state.silent}.", ""),
    )
    return [Message(text, remedy) for is_so, text, remedy in possible if is_so]


def is_bad(memory: Memory, tie: Tie, now_s: float) -> bool:
    """True if a tie has not worked for a week, or never, or needs the user."""
    state, numbers = ties.state_of(memory.settings.home, tie.key), counts(memory, tie)
    if numbers.unsent or numbers.asked or state.told:
        return True
    if not state.last_success:
        return bool(state.cause)
    return now_s - datetime.fromisoformat(state.last_success).timestamp() > WEEK_S


def counts(memory: Memory, tie: Tie) -> Counts:
    """Return the numbers of a tied database; zeros if it cannot be read."""
    try:
        database = memory.database(tie.kind, create=False)
        return space.counts(database) if database is not None else Counts()
    except FabricError:
        return Counts()


def as_json(memory: Memory, tie: Tie) -> dict[str, Any]:
    """Return the state of a tie as a JSON object."""
    state, numbers = ties.state_of(memory.settings.home, tie.key), counts(memory, tie)
    return {
        "scope": "user" if tie.key == USER else "team",
        **show.fields(tie, "space member me"),
        **show.fields(state, "last_success failures last_error remedy"),
        "silent": [name for name in state.silent.split(", ") if name],
        **numbers._asdict(),
        "records": dict(numbers.records),
    }


def _reason(memory: Memory, tie: Tie) -> str:
    database = memory.database(tie.kind, create=False)
    unsent = database and heads.where(database.connection, "state = 'unsent' LIMIT 1")
    return (
        unsent[0].payload.rstrip(".") + "."
        if unsent and unsent[0].payload
        else ("no reason is known.")
    )
