"""Report on shared logs, for team, status and doctor: ties, what waits, failures."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from memory_fabric.cli import show
from memory_fabric.cli.forwarding_report import ago
from memory_fabric.errors import FabricError, NotFound
from memory_fabric.sharing.replica import questions, space
from memory_fabric.sharing.replica.questions import Asked, Conflict
from memory_fabric.sharing.replica.space import Counts
from memory_fabric.sharing.team import driver, state, ties
from memory_fabric.sharing.team.outcome import Outcome
from memory_fabric.sharing.team.ties import USER, Tie
from memory_fabric.store.memory import Memory
from memory_fabric.text import cut, many, one_line

if TYPE_CHECKING:
    from memory_fabric.sharing.server.log import Horizon, SpaceState
    from memory_fabric.sharing.server.members import Member
    from memory_fabric.sharing.team.joining import Joined
    from memory_fabric.sharing.team.sync import Result

WEEK_S = 7 * 24 * 3600.0
MAX_TEXT_CHARS = 100
BUSY = "another process exchanges it now."


@dataclass(frozen=True, slots=True)
class Answer:
    """The server's state of a space, or why there is none."""

    found: SpaceState | None = None
    failure: FabricError | None = None


@dataclass(frozen=True, slots=True)
class Trouble:
    """A sentence about a tie, with a remedy."""

    text: str
    remedy: str = ""


def ties_here(memory: Memory) -> list[Tie]:
    """Return the joined ties of this project and the user."""
    return list(ties.joined(memory.settings.home, memory.project.id if memory.project else ""))


def tie_here(memory: Memory) -> Tie:
    """Return the tie of this project, joined or only made. Raises NotFound."""
    found = ties.of(memory.settings.home, memory.project.id) if memory.project else None
    if found is None:
        raise NotFound(
            "tie",
            "This project is tied to no shared log.",
            remedy="memory-fabric team init DSN makes a space, memory-fabric team join DSN ties "
            "this project to one.",
        )
    return found


def ask_server(memory: Memory, tie: Tie) -> Answer:
    """Ask the server for the state of a space."""
    try:
        driver.reach(memory.settings, tie.packages)
        from memory_fabric.sharing.team import joining  # with the driver

        return Answer(joining.server_state(memory, tie))
    except FabricError as error:
        return Answer(failure=error)


def lines(memory: Memory, now_s: float) -> list[str]:
    """Return the lines of `status`, without asking the server; none without a tie."""
    told = []
    for tie in ties_here(memory):
        told.append(headline(memory, tie, now_s))
        told += [f"{t.text} {t.remedy}".rstrip() for t in troubles(memory, tie, now_s)]
    return told


def whole(memory: Memory, tie: Tie, answer: Answer) -> list[str]:
    """Return the lines of `team status` about one tie."""
    now_s = datetime.now(UTC).timestamp()
    told = [headline(memory, tie, now_s)]
    if answer.found is not None:
        there = answer.found
        told.append(
            f"The server answers: you are {there.role} of {tie.space}, which has "
            f"{many(there.members, 'member')}."
        )
        if there.horizon_held_by is not None:
            told.append(_held(there.horizon_held_by))
    elif answer.failure is not None:
        told.append(f"The server does not answer now: {answer.failure}")
    found = counts(memory, tie)
    if found.records:
        theirs = ", ".join(f"{name} {number}" for name, number in found.records)
        told.append(f"Records of other members here: {theirs}.")
    told += [f"{t.text} {t.remedy}".rstrip() for t in troubles(memory, tie, now_s)]
    for demand in demands(memory, tie):
        told.append(
            f"  {demand.by} demands since {demand.at[:10]}, {demand.key}: {_cut(demand.text)}"
        )
    for one in differences(memory, tie):
        rest = "; ".join(_cut(text) or "withdrawn" for text in one.others)
        told.append(f"  {one.key}: {_cut(one.shown) or 'withdrawn'} | elsewhere: {rest}")
    return told


def demands(memory: Memory, tie: Tie) -> list[Asked]:
    """Return the demands of others to erase what this user said."""
    database = memory.database(tie.kind, create=False)
    return questions.asked(database) if database is not None else []


def differences(memory: Memory, tie: Tie) -> list[Conflict]:
    """Return what machines of this user state differently."""
    database = memory.database(tie.kind, create=False)
    return questions.conflicts(database) if database is not None else []


def troubles(memory: Memory, tie: Tie, now_s: float) -> list[Trouble]:
    """Return what is wrong with a tie, as far as this machine knows."""
    noted, found = state.read(memory.settings.home, tie.key), counts(memory, tie)
    told = []
    if noted.cause:
        since = ago(noted.since, now_s) if noted.since else "lately"
        told.append(
            Trouble(
                f"The exchange with {tie.space} fails, first {since}: {noted.last_error}",
                noted.remedy,
            )
        )
    if found.unsent:
        told.append(
            Trouble(
                f"The server refuses {many(found.unsent, 'change')} of yours: "
                f"{_reason(memory, tie)}",
                "Change or forget what is in them; they are then sent anew.",
            )
        )
    if found.unread:
        told.append(
            Trouble(
                f"{many(found.unread, 'operation')} of {tie.space} cannot be read here.",
                "Update memory-fabric on this machine, or join with --me and the right words.",
            )
        )
    if found.asked:
        told.append(
            Trouble(
                f"{many(found.asked, 'demand')} of {tie.space} to erase what you said: nothing "
                "was erased.",
                "memory-fabric forget QUERY --purge erases it; memory-fabric team decline KEY "
                "keeps it.",
            )
        )
    if found.conflicts:
        told.append(
            Trouble(
                f"Your machines state {many(found.conflicts, 'thing')} differently"
                "; the later state is shown.",
                "A change of it, or forgetting it, settles that.",
            )
        )
    if noted.silent:
        told.append(Trouble(f"Members who have not read {tie.space} for a week: {noted.silent}."))
    return told


def is_bad(memory: Memory, tie: Tie, now_s: float) -> bool:
    """True if a tie has not worked for a week, or never, or needs the user."""
    noted, found = state.read(memory.settings.home, tie.key), counts(memory, tie)
    if found.unsent or found.asked or noted.told:
        return True
    if not noted.last_success:
        return bool(noted.cause)
    last_s = datetime.fromisoformat(noted.last_success).timestamp()
    return now_s - last_s > WEEK_S


def counts(memory: Memory, tie: Tie) -> Counts:
    """Return the numbers of a tied database; zeros if it cannot be read."""
    try:
        database = memory.database(tie.kind, create=False)
        return space.counts(database) if database is not None else Counts()
    except FabricError:
        return Counts()


def exchanged(tie: Tie, outcome: Outcome | None) -> str:
    """Return a sentence about one exchange."""
    if outcome is None:
        return f"{tie.space}: {BUSY}"
    parts = [f"{outcome.sent} sent", f"{outcome.read} read"]
    parts += [f"{outcome.refused} refused"] if outcome.refused else []
    parts += [f"{outcome.unread} unreadable"] if outcome.unread else []
    parts += [f"{outcome.conflicts} in conflict"] if outcome.conflicts else []
    said = f"{tie.space}: {', '.join(parts)}."
    if outcome.again:
        said += f" Everything was sent and read again, because {outcome.again}."
    return said


def as_json(memory: Memory, tie: Tie, answer: Answer | None = None) -> dict[str, Any]:
    """Return the state of a tie as a JSON object."""
    noted, found = state.read(memory.settings.home, tie.key), counts(memory, tie)
    value: dict[str, Any] = {
        "scope": "user" if tie.key == USER else "team",
        "space": tie.space,
        "member": tie.member,
        "me": tie.me,
        "last_success": noted.last_success,
        "failures": noted.failures,
        "last_error": noted.last_error,
        "remedy": noted.remedy,
        "silent": [name for name in noted.silent.split(", ") if name],
        **found._asdict(),
        "records": dict(found.records),
    }
    if answer is not None:
        value["demands"] = [one._asdict() for one in demands(memory, tie)]
        value["differences"] = [one._asdict() for one in differences(memory, tie)]
    if answer is not None:
        value["server"] = _server_as_json(answer)
    return value


def member_row(one: Member, own: str) -> tuple[str, ...]:
    """Return the cells of a member in a table."""
    seen = one.seen_at.astimezone(UTC).strftime("%Y-%m-%d %H:%M") if one.seen_at else "never"
    note = "removed" if one.removed_at else ""
    note = "you" if one.name == own and not note else note
    return one.name, one.role, one.added_at.strftime("%Y-%m-%d"), seen, note


def member_as_json(one: Member) -> dict[str, Any]:
    """Return a member as a JSON object."""
    return {
        "name": one.name,
        "role": one.role,
        "added_at": _iso(one.added_at),
        "removed_at": _iso(one.removed_at),
        "seen_at": _iso(one.seen_at),
    }


def say_key(found: Joined) -> None:
    """Print the key of the user's machines to the first one, its mark to the others."""
    if found.key is None:
        return
    if found.is_new_key:
        show.line("The key of your machines, as words. The server never has them; keep them safe:")
        show.line(found.key.words, "bold")
        show.line(
            "On each of your other machines run memory-fabric team join DSN --me and give them."
        )
    else:
        show.line(
            f"This machine has the key of your other machines (mark {found.key.mark}); memories "
            "of scope user are exchanged with them, encrypted."
        )


def say_results(results: list[Result]) -> None:
    """Print a sentence about each exchange."""
    for result in results:
        if result.failure is not None:
            show.warn(f"{result.tie.space}: {result.failure}")
        else:
            show.line(exchanged(result.tie, result.outcome))


def results_as_json(results: list[Result]) -> list[dict[str, Any]]:
    """Return the exchanges as JSON objects."""
    return [
        {
            "space": result.tie.space,
            "error": str(result.failure) if result.failure else "",
            **(result.outcome._asdict() if result.outcome else {}),
        }
        for result in results
    ]


def joined_as_json(found: Joined) -> dict[str, Any]:
    """Return a tie that was made as a JSON object."""
    return {
        "space": found.tie.space,
        "member": found.tie.member,
        "members": found.members,
        "known": found.known,
        "me": found.key is not None,
        "words": found.key.words if found.key and found.is_new_key else "",
    }


def headline(memory: Memory, tie: Tie, now_s: float) -> str:
    """Return one sentence about a tie: its space, the last exchange, what waits."""
    noted, found = state.read(memory.settings.home, tie.key), counts(memory, tie)
    what = "your own memories" if tie.key == USER else "this project"
    last = (
        f"exchanged {ago(noted.last_success, now_s)}" if noted.last_success else "never exchanged"
    )
    said = f"shared log: {what} in {tie.space} as {tie.member}, {last}"
    waits = found.due + found.waiting
    if waits:
        said += f"; {many(waits, 'change')} to send"
        said += f", the oldest {ago(found.oldest, now_s)}" if found.oldest else ""
    return said + "."


def _held(horizon: Horizon) -> str:
    who = " of ".join(part for part in (horizon.application, horizon.user) if part)
    age = f" for {horizon.age_s:.0f} s" if horizon.age_s is not None else ""
    pid = f" (process {horizon.pid})" if horizon.pid else ""
    return f"Readers wait for a transaction that is open{age}: {who or 'unknown'}{pid}."


def _reason(memory: Memory, tie: Tie) -> str:
    database = memory.database(tie.kind, create=False)
    row = (
        database.row("SELECT payload FROM team_heads WHERE state = 'unsent' LIMIT 1")
        if database is not None
        else None
    )
    return str(row[0]).rstrip(".") + "." if row and row[0] else "no reason is known."


def _server_as_json(answer: Answer) -> dict[str, Any]:
    if answer.found is None:
        return {"error": str(answer.failure or "")}
    found = answer.found
    held = found.horizon_held_by
    return {
        "epoch": found.epoch,
        "role": found.role,
        "members": found.members,
        "horizon_held_by": held._asdict() if held else None,
    }


def _cut(text: str) -> str:
    return cut(one_line(text), MAX_TEXT_CHARS)


def _iso(at: datetime | None) -> str:
    return at.astimezone(UTC).isoformat(timespec="seconds") if at else ""
