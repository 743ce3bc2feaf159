"""team: share this project's memories with others through a log in PostgreSQL."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from memory_fabric.cli import environment, show, team_report
from memory_fabric.cli.options import argument, flag, option
from memory_fabric.config import in_client
from memory_fabric.errors import BadInput, FabricError, NotFound
from memory_fabric.sharing.replica import space
from memory_fabric.sharing.team import driver, ties
from memory_fabric.sharing.team.ties import USER, Outcome, Tie
from memory_fabric.store.memory import Memory
from memory_fabric.text import cut, many, one_line

if TYPE_CHECKING:  # it needs the driver, which is made importable later
    from memory_fabric.sharing.server.log import SpaceState

# A model may have been made to write these: they send memories away, or take them from others.
FOR_THE_USER = ("init", "join", "add", "remove", "decline", "leave")
# What one argument more is, for the actions that take it.
TAKES = {"init": "DSN", "join": "DSN", "add": "MEMBER", "remove": "MEMBER", "decline": "KEY"}
# Longer than a round of another process takes, unless it reads a whole log.
WAIT_S = 30.0
MAX_TEXT_CHARS = 100


class Options(NamedTuple):
    """The options of one call, as stated."""

    space: str
    name: str
    me: bool
    words: str
    insecure: bool
    create_role: bool
    owner: bool
    keep: bool
    drop: bool
    as_json: bool


class Answer(NamedTuple):
    """The answer of an action as JSON and as lines, some of them with a style, and warnings."""

    value: object
    lines: Sequence[str | tuple[str, str]] = ()
    warnings: Sequence[str] = ()
    code: int = 0


def team(
    action: str = argument(
        "status",
        "[init|join|add|remove|members|status|sync|decline|leave]",
        "Make a space, join one, add or remove a member, list them, show the state, exchange now, "
        "keep what another wants erased, or leave.",
    ),
    what: str = argument(
        "",
        "[DSN|MEMBER|KEY]",
        "With init and join: the address, as postgresql://ROLE@HOST/DATABASE, without a password. "
        "With add and remove: a role of the server. With decline: what `team status` shows.",
    ),
    space: str = option(
        "",
        "NAME",
        "The space: by default the project's name, or the only one you are a member of.",
        "--space",
    ),
    name: str = option("", "NAME", "With join: log in as this role.", "--as"),
    me: bool = flag(
        "--me",
        "With join: also exchange your own memories of scope user with your other machines, "
        "encrypted. With add: fail if the member could not. With leave: end that.",
    ),
    words: str = option(
        "",
        "WORDS",
        "With join --me: the words that your first machine printed, or - to read them from "
        "standard input, which no list of processes shows.",
        "--words",
    ),
    insecure: bool = flag("--insecure", "Allow a connection to another host without encryption."),
    create_role: bool = flag(
        "--create-role", "With add: create the role, and print its password once."
    ),
    owner: bool = flag("--owner", "With add: the member may add and remove others."),
    keep: bool = flag("--keep", "With leave: keep what other members said."),
    drop: bool = flag("--drop", "With leave: delete what other members said."),
    as_json: bool = flag("--json", "Answer in JSON, without asking."),
) -> int:
    """Share memories with others through a log in PostgreSQL.

    `team init DSN` makes a space in a database (PostgreSQL 14 or newer), `team add` lets a role
    in, and `team join DSN` ties this project to the space: its records of scope team and its graph
    are sent, those of others are read and marked with the name that the server knows them by.
    Recall stays on this machine. Passwords are kept where libpq looks for them (~/.pgpass,
    PGSERVICE), never in the address.

    With `--me` your memories of scope user follow you to your other machines, readable by these
    alone: the first one prints 24 words, the others ask for them. Hooks start the exchange in the
    background; `team sync` does it now. `team leave` ends it and says before what is deleted.

        memory-fabric team init postgresql://olga@db.example.org/team
        memory-fabric team add bob
        memory-fabric team join postgresql://bob@db.example.org/team
    """
    if action not in _RUN:
        raise BadInput(
            "ACTION", f"There is no action {action!r}.", remedy=f"Use {', '.join(_RUN)}."
        )
    needed = TAKES.get(action, "")
    if needed and not what:
        raise BadInput(needed, f"team {action} needs a {needed}.", remedy="")
    if what and not needed:
        raise BadInput("DSN", f"team {action} takes no {what!r}.", remedy="")
    if action in FOR_THE_USER and in_client(os.environ):  # a model may have written the command
        text = "Nothing was changed: only the user may decide with whom memories are shared."
        remedy = f"Run memory-fabric team {action} in a terminal outside Claude Code."
        raise BadInput("team", text, remedy=remedy)
    stated = Options(space, name, me, words, insecure, create_role, owner, keep, drop, as_json)
    with environment.open_memory() as memory:
        answer = _RUN[action](memory, what, stated)
        if as_json:
            show.json_out(answer.value)
            return answer.code
        for line in filter(None, answer.lines):
            show.line(*([line] if isinstance(line, str) else line))
        for warning in answer.warnings:
            show.warn(warning)
        return answer.code


def _init(memory: Memory, dsn: str, stated: Options) -> Answer:
    _prepare(memory, stated)
    from memory_fabric.sharing.server.connect import shown
    from memory_fabric.sharing.team import joining  # late: imports the PostgreSQL driver

    state, name = joining.create(memory, dsn, stated.space, insecure=stated.insecure)
    return Answer(
        {"space": name, "owner": state.member, "epoch": state.epoch},
        (
            f"The space {name} is ready in {shown(dsn)}; {state.member} owns it and "
            f"{many(state.members, 'member')} may use it. Nothing is exchanged yet.",
            "Next: memory-fabric team add MEMBER lets others in, and memory-fabric team join DSN, "
            "with the address of your own role, ties this project to it.",
        ),
    )


def _join(memory: Memory, dsn: str, stated: Options) -> Answer:
    _prepare(memory, stated)
    from memory_fabric.sharing.team import joining  # late: imports the PostgreSQL driver

    joined = joining.join(
        memory,
        dsn,
        stated.space,
        stated.name,
        me=stated.me,
        insecure=stated.insecure,
        words=lambda: _words(stated.words),
    )
    exchanged = _sync(memory, "", stated)
    tie, key = joined.tie, joined.key
    key_lines: tuple[str | tuple[str, str], ...] = ()
    if key is not None and joined.is_new_key:
        key_lines = (
            "The key of your machines, as words. The server never has them; keep them safe:",
            (key.words, "bold"),
            "On each of your other machines run memory-fabric team join DSN --me and give them.",
        )
    elif key is not None:
        key_lines = (
            f"This machine has the key of your other machines (mark {key.mark}); memories of "
            "scope user are exchanged with them, encrypted.",
        )
    before = "was tied to it already" if joined.known else "is tied to it now"
    return exchanged._replace(
        value={
            "space": tie.space,
            "member": tie.member,
            "members": joined.members,
            "known": joined.known,
            "me": key is not None,
            "words": key.words if key and joined.is_new_key else "",
            "exchanged": exchanged.value,
        },
        lines=(
            f"You are {tie.member} in the space {tie.space} ({many(joined.members, 'member')}); "
            f"this project {before}. Its records of scope team and its graph are sent there, "
            "earlier ones too; local records, conversations and isolated domains stay here.",
            *key_lines,
            *exchanged.lines,
            "Next: nothing. Hooks exchange in the background; memory-fabric team status shows how "
            "it goes.",
        ),
    )


def _add(memory: Memory, member: str, stated: Options) -> Answer:
    tie = _tie(memory)
    from memory_fabric.sharing.server.connect import shown
    from memory_fabric.sharing.team import joining  # late: imports the PostgreSQL driver

    password = joining.add(
        memory, tie, member, create_role=stated.create_role, owner=stated.owner, me=stated.me
    )
    secret = (
        f"The role is new. Its password, shown only now: {password}\n"
        f"Give it to {member} in private, for a line in ~/.pgpass (mode 0600): "
        f"HOST:PORT:DATABASE:{member}:PASSWORD"
    )
    address = shown(tie.owner or tie.dsn).rpartition("@")[2]
    return Answer(
        {"space": tie.space, "member": member, "password": password},
        (
            f"{member} is {'an owner' if stated.owner else 'a member'} of {tie.space} now.",
            secret if password else "",
            f"Next: {member} runs memory-fabric team join postgresql://{member}@{address} "
            f"--space {tie.space}{' --me' if stated.me else ''} in this project.",
        ),
    )


def _remove(memory: Memory, member: str, _stated: Options) -> Answer:
    tie = _tie(memory)
    from memory_fabric.sharing.server import spaces
    from memory_fabric.sharing.team import joining  # late: imports the PostgreSQL driver

    with joining.owning(memory, tie) as connection:
        spaces.remove(connection, tie.space, member)
    return Answer(
        {"space": tie.space, "member": member},
        (
            f"{member} is no member of {tie.space} any more. What {member} wrote stays, there and "
            "on every machine that has read it.",
            f"Next: if the role itself shall not log in any more, run DROP ROLE {member}.",
        ),
    )


def _members(memory: Memory, _what: str, stated: Options) -> Answer:
    tie = _tie(memory)
    from memory_fabric.sharing.server import spaces
    from memory_fabric.sharing.team import joining  # late: imports the PostgreSQL driver

    with joining.owning(memory, tie) as connection:
        members = spaces.members(connection, tie.space)
    if not stated.as_json:
        rows = []
        for name, role, added_at, removed_at, seen_at in members:
            last_read = seen_at.astimezone(UTC).strftime("%Y-%m-%d %H:%M") if seen_at else "never"
            note = "removed" if removed_at else "you" if name == tie.member else ""
            rows.append((name, role, added_at.strftime("%Y-%m-%d"), last_read, note))
        show.table(("member", "role", "since", "last read", ""), rows)
    return Answer(
        [
            {
                name: (at.astimezone(UTC).isoformat(timespec="seconds") if at else "")
                if name.endswith("_at")
                else at
                for name, at in member._asdict().items()
            }
            for member in members
        ]
    )


def _status(memory: Memory, _what: str, stated: Options) -> Answer:
    joined = ties.joined_by(memory)
    servers = [_ask_server(memory, tie) for tie in joined]
    values, lines = [], []
    for tie, server in zip(joined, servers, strict=True):
        if stated.as_json:
            values.append(_as_json(memory, tie, server))
        else:
            lines += _status_lines(memory, tie, server)
    untied = "This project is tied to no shared log. memory-fabric team join DSN ties it to one."
    is_failing = any(isinstance(server, FabricError) for server in servers)
    return Answer(values, lines or [untied], code=1 if is_failing else 0)


def _ask_server(memory: Memory, tie: Tie) -> SpaceState | FabricError:
    """Return the server's state of a space, or why there is none."""
    try:
        driver.reach(memory.settings, tie.packages)
        from memory_fabric.sharing.team import joining  # late: imports the PostgreSQL driver

        return joining.server_state(memory, tie)
    except FabricError as error:
        return error


def _status_lines(memory: Memory, tie: Tie, server: SpaceState | FabricError) -> list[str]:
    now_s = datetime.now(UTC).timestamp()
    lines = [team_report.headline(memory, tie, now_s)]
    if isinstance(server, FabricError):
        lines.append(f"The server does not answer now: {server}")
    else:
        lines.append(
            f"The server answers: you are {server.role} of {tie.space}, which has "
            f"{many(server.members, 'member')}."
        )
        horizon = server.horizon_held_by
        if horizon is not None:
            who = " of ".join(part for part in (horizon.application, horizon.user) if part)
            age = f" for {horizon.age_s:.0f} s" if horizon.age_s is not None else ""
            pid = f" (process {horizon.pid})" if horizon.pid else ""
            lines.append(
                f"Readers wait for a transaction that is open{age}: {who or 'unknown'}{pid}."
            )
    records = team_report.counts(memory, tie).records
    if records:
        theirs = ", ".join(f"{name} {number}" for name, number in records)
        lines.append(f"Records of other members here: {theirs}.")
    lines += team_report.trouble_lines(memory, tie, now_s)
    database = memory.database(tie.kind, create=False)
    if database is not None:
        lines += [
            f"  {demand.by} demands since {demand.at[:10]}, {demand.key}: {_cut(demand.text)}"
            for demand in space.asked(database)
        ]
        for conflict in space.conflicts(database):
            elsewhere = "; ".join(_cut(text) or "withdrawn" for text in conflict.others)
            here_text = _cut(conflict.shown) or "withdrawn"
            lines.append(f"  {conflict.key}: {here_text} | elsewhere: {elsewhere}")
    return lines


def _as_json(memory: Memory, tie: Tie, server: SpaceState | FabricError) -> dict[str, Any]:
    database = memory.database(tie.kind, create=False)
    demands = space.asked(database) if database is not None else []
    conflicts = space.conflicts(database) if database is not None else []
    value = team_report.as_json(memory, tie) | {
        "demands": [demand._asdict() for demand in demands],
        "differences": [conflict._asdict() for conflict in conflicts],
    }
    if isinstance(server, FabricError):
        return value | {"server": {"error": str(server)}}
    horizon = server.horizon_held_by
    state = {"epoch": server.epoch, "role": server.role, "members": server.members}
    return value | {"server": state | {"horizon_held_by": horizon._asdict() if horizon else None}}


def _cut(text: str) -> str:
    return cut(one_line(text), MAX_TEXT_CHARS)


def _sync(memory: Memory, _what: str, stated: Options) -> Answer:
    from memory_fabric.sharing.team import sync

    if not ties.joined_by(memory):
        _tie(memory)
    with show.progress_bar("Exchanging", quiet=stated.as_json) as tell:
        results = [
            sync.exchange(memory, tie, wait_s=WAIT_S, progress=tell)
            for tie in ties.joined_by(memory)
        ]
    return Answer(
        [
            {
                "space": result.tie.space,
                "error": str(result.failure) if result.failure else "",
                **(result.outcome._asdict() if result.outcome else {}),
            }
            for result in results
        ],
        [
            f"{result.tie.space}: {_exchanged(result.outcome)}"
            for result in results
            if not result.failure
        ],
        [f"{result.tie.space}: {result.failure}" for result in results if result.failure],
        code=1 if any(result.failure or not result.outcome for result in results) else 0,
    )


def _exchanged(outcome: Outcome | None) -> str:
    if outcome is None:
        return "another process exchanges it now."
    parts = [f"{outcome.sent} sent", f"{outcome.read} read"]
    parts += [f"{outcome.refused} refused"] if outcome.refused else []
    parts += [f"{outcome.unread} unreadable"] if outcome.unread else []
    parts += [f"{outcome.conflicts} in conflict"] if outcome.conflicts else []
    reason = f" Everything was sent and read again, because {outcome.again}."
    return ", ".join(parts) + "." + (reason if outcome.again else "")


def _decline(memory: Memory, key: str, _stated: Options) -> Answer:
    for tie in ties.joined_by(memory):
        database = memory.database(tie.kind, create=False)
        if database is not None and space.decline(database, key):
            sentence = f"{key} stays here as it is. On the server it is erased already."
            return Answer({"space": tie.space, "key": key}, [sentence])
    raise NotFound(
        key, f"Nobody demands to erase {key}.", remedy="memory-fabric team status lists demands."
    )


def _leave(memory: Memory, _what: str, stated: Options) -> Answer:
    from memory_fabric.sharing.team import sync

    tie = ties.of(memory.settings.home, USER) if stated.me else _tie(memory, reach=False)
    if tie is None:
        raise BadInput("--me", "Your own memories are tied to no shared log.", remedy="")
    database = memory.database(tie.kind, create=False)
    counts = space.counts(database) if database is not None else space.Counts()
    theirs = sum(number for _, number in counts.records)
    unsent = counts.due + counts.waiting
    if not (stated.keep or stated.drop) and theirs:
        raise BadInput(
            "leave",
            f"Nothing was changed. This machine has {many(theirs, 'record')} of other members of "
            f"{tie.space}.",
            remedy="Use --keep to keep them, or --drop to delete them here; what you said stays in "
            "either case, and what is on the server stays there.",
        )
    sync.leave(memory, tie, keep=stated.keep)
    subject = "Your own memories are" if stated.me else "This project is"
    fate = "stay here" if stated.keep else "were deleted here"
    return Answer(
        {"space": tie.space, "dropped": 0 if stated.keep else theirs, "unsent": unsent},
        (
            f"{subject} not tied to {tie.space} any more. Everything that you said stays here.",
            f"{many(theirs, 'record')} of other members {fate}." if theirs else "",
            f"{many(unsent, 'change')} had not been sent and will not be." if unsent else "",
            "Next: memory-fabric team join DSN ties it again and reads everything anew.",
        ),
    )


_RUN: dict[str, Callable[[Memory, str, Options], Answer]] = {
    "init": _init,
    "join": _join,
    "add": _add,
    "remove": _remove,
    "members": _members,
    "status": _status,
    "sync": _sync,
    "decline": _decline,
    "leave": _leave,
}


def _prepare(memory: Memory, stated: Options) -> None:
    """Install the driver if it is missing. Raises FabricError, OSError."""
    try:
        driver.reach(memory.settings)
    except driver.DriverMissing:
        if not stated.as_json:
            show.line(f"Downloading the driver, once (about {driver.SIZE_MB} MB) ...", "dim")
        driver.install(memory.settings)


def _tie(memory: Memory, *, reach: bool = True) -> Tie:
    """Return the tie of this project, joined or only made, with the driver reached.

    Raises NotFound, DriverMissing.
    """
    tie = ties.of(memory.settings.home, memory.project.id) if memory.project else None
    if tie is None:
        raise NotFound(
            "tie",
            "This project is tied to no shared log.",
            remedy="memory-fabric team init DSN makes a space, memory-fabric team join DSN ties "
            "this project to one.",
        )
    if reach:
        driver.reach(memory.settings, tie.packages)
    return tie


def _words(stated: str) -> str:
    """Return the words of the user's key, as stated, typed or from standard input."""
    if stated and stated != "-":
        return stated
    if stated == "-" or not sys.stdin.isatty():
        words = sys.stdin.read().strip()
        if words:
            return words
        text = "Another machine of yours has the key, and its words are needed here."
        remedy = "Run this in a terminal, or give the words by --words - on standard input."
        raise BadInput("--words", text, remedy=remedy)
    return str(typer.prompt("The 24 words that your first machine printed", hide_input=True))
