"""team: share this project's memories with others through a log in PostgreSQL."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from memory_fabric.cli import environment, progress, show, team_report
from memory_fabric.config import in_client
from memory_fabric.errors import BadInput, NotFound
from memory_fabric.sharing.team import driver, ties
from memory_fabric.sharing.team.ties import USER, Tie
from memory_fabric.store.memory import Memory
from memory_fabric.text import many

if TYPE_CHECKING:
    from memory_fabric.sharing.team.sync import Result

ACTIONS = ("init", "join", "add", "remove", "members", "status", "sync", "decline", "leave")
# What one argument more is, for the actions that take it.
TAKES = {"init": "DSN", "join": "DSN", "add": "MEMBER", "remove": "MEMBER", "decline": "KEY"}
# A model may have been made to write these: they send memories away, or take them from others.
FOR_THE_USER = ("init", "join", "add", "remove", "decline", "leave")
# Longer than a round of another process takes, unless it reads a whole log.
WAIT_S = 30.0


class Options(NamedTuple):
    """The options of one call, as stated."""

    space: str = ""
    name: str = ""
    me: bool = False
    words: str = ""
    insecure: bool = False
    create_role: bool = False
    owner: bool = False
    keep: bool = False
    drop: bool = False
    as_json: bool = False


def team(
    action: Annotated[
        str,
        typer.Argument(
            metavar="[init|join|add|remove|members|status|sync|decline|leave]",
            help="Make a space, join one, add or remove a member, list them, show the state, "
            "exchange now, keep what another wants erased, or leave.",
        ),
    ] = "status",
    what: Annotated[
        str,
        typer.Argument(
            metavar="[DSN|MEMBER|KEY]",
            help="With init and join: the address, as postgresql://ROLE@HOST/DATABASE, without a "
            "password. With add and remove: a role of the server. With decline: what `team status` "
            "shows.",
        ),
    ] = "",
    space: Annotated[
        str,
        typer.Option(
            "--space",
            metavar="NAME",
            help="The space: by default the project's name, or the only one you are a member of.",
        ),
    ] = "",
    name: Annotated[
        str, typer.Option("--as", metavar="NAME", help="With join: log in as this role.")
    ] = "",
    me: Annotated[
        bool,
        typer.Option(
            "--me",
            help="With join: also exchange your own memories of scope user with your other "
            "machines, encrypted. With add: fail if the member could not. With leave: end that.",
        ),
    ] = False,
    words: Annotated[
        str,
        typer.Option(
            "--words",
            metavar="WORDS",
            help="With join --me: the words that your first machine printed, or - to read them "
            "from standard input, which no list of processes shows.",
        ),
    ] = "",
    insecure: Annotated[
        bool,
        typer.Option("--insecure", help="Allow a connection to another host without encryption."),
    ] = False,
    create_role: Annotated[
        bool,
        typer.Option(
            "--create-role", help="With add: create the role, and print its password once."
        ),
    ] = False,
    owner: Annotated[
        bool, typer.Option("--owner", help="With add: the member may add and remove others.")
    ] = False,
    keep: Annotated[
        bool, typer.Option("--keep", help="With leave: keep what other members said.")
    ] = False,
    drop: Annotated[
        bool, typer.Option("--drop", help="With leave: delete what other members said.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Answer in JSON, without asking.")
    ] = False,
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
    if action not in ACTIONS:
        raise BadInput(
            "ACTION", f"There is no action {action!r}.", remedy=f"Use {', '.join(ACTIONS)}."
        )
    _expect_argument(action, what)
    if action in FOR_THE_USER:
        _require_user(action)
    stated = Options(space, name, me, words, insecure, create_role, owner, keep, drop, as_json)
    with environment.open_memory() as memory:
        return _RUN[action](memory, what, stated)


def _init(memory: Memory, dsn: str, stated: Options) -> int:
    _prepare(memory, stated)
    from memory_fabric.sharing.team import joining  # with the driver

    found, space = joining.create(memory, dsn, stated.space, insecure=stated.insecure)
    if stated.as_json:
        show.json_out({"space": space, "owner": found.member, "epoch": found.epoch})
        return 0
    show.line(
        f"The space {space} is ready in {joining.shown(dsn)}; {found.member} owns it and "
        f"{many(found.members, 'member')} may use it. Nothing is exchanged yet."
    )
    show.line(
        "Next: memory-fabric team add MEMBER lets others in, and memory-fabric team join DSN, with "
        "the address of your own role, ties this project to it."
    )
    return 0


def _join(memory: Memory, dsn: str, stated: Options) -> int:
    _prepare(memory, stated)
    from memory_fabric.sharing.team import joining  # with the driver

    found = joining.join(
        memory,
        dsn,
        stated.space,
        stated.name,
        me=stated.me,
        insecure=stated.insecure,
        words=lambda: _words(stated.words),
    )
    results = _exchange(memory, stated)
    if stated.as_json:
        show.json_out(
            team_report.joined_as_json(found) | {"exchanged": team_report.results_as_json(results)}
        )
        return _code(results)
    tie = found.tie
    before = "was tied to it already" if found.known else "is tied to it now"
    show.line(
        f"You are {tie.member} in the space {tie.space} ({many(found.members, 'member')}); this "
        f"project {before}. Its records of scope team and its graph are sent there, earlier ones "
        "too; local records, conversations and isolated domains stay here."
    )
    team_report.say_key(found)
    team_report.say_results(results)
    show.line(
        "Next: nothing. Hooks exchange in the background; memory-fabric team status shows how it "
        "goes."
    )
    return _code(results)


def _add(memory: Memory, member: str, stated: Options) -> int:
    tie = _tie(memory)
    from memory_fabric.sharing.team import joining  # with the driver

    password = joining.add(
        memory, tie, member, create_role=stated.create_role, owner=stated.owner, me=stated.me
    )
    if stated.as_json:
        show.json_out({"space": tie.space, "member": member, "password": password})
        return 0
    show.line(f"{member} is {'an owner' if stated.owner else 'a member'} of {tie.space} now.")
    if password:
        show.line(
            f"The role is new. Its password, shown only now: {password}\n"
            f"Give it to {member} in private, for a line in ~/.pgpass (mode 0600): "
            f"HOST:PORT:DATABASE:{member}:PASSWORD"
        )
    address = joining.shown(tie.owner or tie.dsn).rpartition("@")[2]
    more = " --me" if stated.me else ""
    show.line(
        f"Next: {member} runs memory-fabric team join postgresql://{member}@{address} "
        f"--space {tie.space}{more} in this project."
    )
    return 0


def _remove(memory: Memory, member: str, stated: Options) -> int:
    tie = _tie(memory)
    from memory_fabric.sharing.team import joining  # with the driver

    joining.remove(memory, tie, member)
    if stated.as_json:
        show.json_out({"space": tie.space, "member": member})
        return 0
    show.line(
        f"{member} is no member of {tie.space} any more. What {member} wrote stays, there and on "
        "every machine that has read it."
    )
    show.line(f"Next: if the role itself shall not log in any more, run DROP ROLE {member}.")
    return 0


def _members(memory: Memory, _what: str, stated: Options) -> int:
    tie = _tie(memory)
    from memory_fabric.sharing.team import joining  # with the driver

    found = joining.listed(memory, tie)
    if stated.as_json:
        show.json_out([team_report.member_as_json(one) for one in found])
        return 0
    rows = [team_report.member_row(one, tie.member) for one in found]
    show.table(("member", "role", "since", "last read", ""), rows)
    return 0


def _status(memory: Memory, _what: str, stated: Options) -> int:
    known = team_report.ties_here(memory)
    servers = {tie.key: team_report.ask_server(memory, tie) for tie in known}
    if stated.as_json:
        show.json_out([team_report.as_json(memory, tie, servers[tie.key]) for tie in known])
    elif not known:
        show.line(
            "This project is tied to no shared log. memory-fabric team join DSN ties it to one."
        )
    else:
        for tie in known:
            for line in team_report.whole(memory, tie, servers[tie.key]):
                show.line(line)
    return 1 if any(answer.failure for answer in servers.values()) else 0


def _sync(memory: Memory, _what: str, stated: Options) -> int:
    if not team_report.ties_here(memory):
        _tie(memory)
    results = _exchange(memory, stated)
    if stated.as_json:
        show.json_out(team_report.results_as_json(results))
    else:
        team_report.say_results(results)
    return _code(results)


def _decline(memory: Memory, key: str, stated: Options) -> int:
    from memory_fabric.sharing.replica import questions

    for tie in team_report.ties_here(memory):
        database = memory.database(tie.kind, create=False)
        if database is not None and questions.decline(database, key):
            if stated.as_json:
                show.json_out({"space": tie.space, "key": key})
            else:
                show.line(f"{key} stays here as it is. On the server it is erased already.")
            return 0
    raise NotFound(
        key, f"Nobody demands to erase {key}.", remedy="memory-fabric team status lists demands."
    )


def _leave(memory: Memory, _what: str, stated: Options) -> int:
    from memory_fabric.sharing.replica import space

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
    from memory_fabric.sharing.team import leaving

    leaving.leave(memory, tie, keep=stated.keep)
    if stated.as_json:
        dropped = 0 if stated.keep else theirs
        show.json_out({"space": tie.space, "dropped": dropped, "unsent": unsent})
        return 0
    what = "Your own memories are" if stated.me else "This project is"
    show.line(f"{what} not tied to {tie.space} any more. Everything that you said stays here.")
    if theirs:
        kept = "stay here" if stated.keep else "were deleted here"
        show.line(f"{many(theirs, 'record')} of other members {kept}.")
    if unsent:
        show.line(f"{many(unsent, 'change')} had not been sent and will not be.")
    show.line("Next: memory-fabric team join DSN ties it again and reads everything anew.")
    return 0


_RUN: dict[str, Callable[[Memory, str, Options], int]] = {
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


def _expect_argument(action: str, what: str) -> None:
    needed = TAKES.get(action, "")
    if needed and not what:
        raise BadInput(needed, f"team {action} needs a {needed}.", remedy="")
    if what and not needed:
        raise BadInput("DSN", f"team {action} takes no {what!r}.", remedy="")


def _require_user(action: str) -> None:
    """Raise BadInput in a shell of Claude Code, where a model may have written the command."""
    if in_client(os.environ):
        raise BadInput(
            "team",
            "Nothing was changed: only the user may decide with whom memories are shared.",
            remedy=f"Run memory-fabric team {action} in a terminal outside Claude Code.",
        )


def _prepare(memory: Memory, stated: Options) -> None:
    """Install the driver if it is missing. Raises FabricError, OSError."""
    try:
        driver.reach(memory.settings)
    except driver.DriverMissing:
        if not stated.as_json:
            show.line(f"Downloading the driver, once (about {driver.SIZE_MB} MB) ...", "dim")
        driver.install(memory.settings)


def _tie(memory: Memory, *, reach: bool = True) -> Tie:
    """Return the tie of this project, with the driver reached. Raises NotFound, DriverMissing."""
    found = team_report.tie_here(memory)
    if reach:
        driver.reach(memory.settings, found.packages)
    return found


def _words(stated: str) -> str:
    """Return the words of the user's key, as stated, typed or from standard input."""
    if stated and stated != "-":
        return stated
    if stated == "-" or not sys.stdin.isatty():
        found = sys.stdin.read().strip()
        if found:
            return found
        raise BadInput(
            "--words",
            "Another machine of yours has the key, and its words are needed here.",
            remedy="Run this in a terminal, or give the words by --words - on standard input.",
        )
    return str(typer.prompt("The 24 words that your first machine printed", hide_input=True))


def _exchange(memory: Memory, stated: Options) -> list[Result]:
    from memory_fabric.sharing.team import sync

    with progress.bar("Exchanging", quiet=stated.as_json) as tell:
        return [
            sync.exchange(memory, tie, wait_s=WAIT_S, progress=tell) for tie in sync.ties_of(memory)
        ]


def _code(results: list[Result]) -> int:
    return 1 if any(result.failure or not result.outcome for result in results) else 0
