"""Command team: share this project's memories with other people through a log in PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import typer

from memory_fabric import ids
from memory_fabric.cli import environment, show
from memory_fabric.cli.commands.sync import answer, asked_words, exchanged, prepare, results_as_json
from memory_fabric.cli.options import AS_JSON, argument, flag, option
from memory_fabric.errors import BadInput, FabricError, NotFound
from memory_fabric.health.work import TieReport
from memory_fabric.models import FOR_TEAM, OTHERS, RELEASED, WHEN, Record, users_words
from memory_fabric.sharing.replica import space as tied
from memory_fabric.sharing.replica.wire import OWNER, SpaceState
from memory_fabric.sharing.team import driver, ties
from memory_fabric.sharing.team import sync as exchanging
from memory_fabric.sharing.team.errors import NoAnswer
from memory_fabric.sharing.team.ties import USER, Tie
from memory_fabric.store.history.resolve import id_part, record_by_id
from memory_fabric.store.memory import Memory
from memory_fabric.text import cut, many, one_line

if TYPE_CHECKING:
    from memory_fabric.capture.edit import Stored
    from memory_fabric.sharing.team.sync import Result

MAX_TEXT_CHARS = 100
# Fields that are copied when a record is adopted; its quotation and origin are not copied.
_ADOPTED = "type what why alternatives constraints tradeoffs entities outcome category domain"
_RELEASED = f"source <> ? AND instr(body, '\"{RELEASED}\"') > 0"
_DSN = argument("DSN  As postgresql://ROLE@HOST/DATABASE, without a password.")
_MEMBER = argument("MEMBER  A role of the server.")
_SPACE = option("--space NAME  The space: by default the project's name, or the only one of yours.")
_INSECURE = flag("--insecure  Allow a connection to another host without encryption.")


def team(context: typer.Context, as_json: bool = AS_JSON) -> int:
    """Share memories with others through a log in PostgreSQL.

    `team init DSN` creates a space for a shared log (PostgreSQL 14 or newer). `team add` gives a
    role access. `team join DSN` connects this project to the space: it sends its graph and its
    records of scope team, and reads those of others. Passwords are found by libpq (~/.pgpass).

    With `--me`, your machines also exchange your memories of scope user, readable by these alone:
    the first prints the key as 24 words, the others ask for it. Hooks exchange in the background.

        memory-fabric team init postgresql://olga@db.example.org/team
        memory-fabric team join postgresql://bob@db.example.org/team
    """
    return 0 if context.invoked_subcommand else status(as_json)


def init(
    dsn: str = _DSN, space: str = _SPACE, insecure: bool = _INSECURE, as_json: bool = AS_JSON
) -> int:
    """Make a space in a database, or bring its schema up to date."""
    with _opened("init") as memory:
        prepare(memory.settings, driver.TEAM, quiet=as_json)
        from memory_fabric.sharing.server.connect import shown
        from memory_fabric.sharing.team import joining  # imported late: needs the PostgreSQL driver

        state, name = joining.create(memory, dsn, space, insecure=insecure)
    return answer(
        as_json,
        {"space": name, "owner": state.member, "epoch": state.epoch},
        f"The space {name} is ready in {shown(dsn)}; {state.member} owns it and "
        f"{many(state.members, 'member')} may use it. Nothing is exchanged yet.",
        "Next: memory-fabric team add MEMBER lets others in, and memory-fabric team join DSN, "
        "with the address of your own role, ties this project to it.",
    )


def join(
    dsn: str = _DSN,
    space: str = _SPACE,
    name: str = option("--as NAME  Log in as this role."),
    me: bool = flag("--me  Also exchange memories of scope user with your machines, encrypted."),
    words: str = option("--words WORDS  Those of your first machine; - reads standard input."),
    insecure: bool = _INSECURE,
    as_json: bool = AS_JSON,
) -> int:
    """Connect this project to a space; exchange memories now."""
    with _opened("join") as memory:
        prepare(memory.settings, driver.TEAM, quiet=as_json)
        from memory_fabric.sharing.team import joining  # imported late: needs the PostgreSQL driver

        joined = joining.join(
            memory, dsn, space, name, me=me, insecure=insecure, words=lambda: asked_words(words)
        )
        results = exchanged(memory, ties.joined_by(memory), quiet=as_json)
    tie, key = joined.tie, joined.key
    about_key = ""
    if key is not None and joined.is_new_key:
        about_key = (
            "The key of your machines, as words. The server never has them; keep them safe:\n"
            f"{key.words}\n"
            "On each of your other machines run memory-fabric team join DSN --me and give them."
        )
    elif key is not None:
        about_key = (
            f"This machine has the key of your other machines (mark {key.mark}); memories of "
            "scope user are exchanged with them, encrypted."
        )
    before = "was tied to it already" if joined.known else "is tied to it now"
    fields = show.fields(tie, "space member") | show.fields(joined, "members known")
    fields |= {"me": key is not None, "words": key.words if key and joined.is_new_key else ""}
    return answer(
        as_json,
        fields | {"exchanged": results_as_json(results)},
        f"You are {tie.member} in the space {tie.space} ({many(joined.members, 'member')}); "
        f"this project {before}. Its records of scope team and its graph are sent there, "
        "earlier ones too; local records, conversations and isolated domains stay here.",
        about_key,
        results=results,
        next_step="Next: nothing. Hooks exchange in the background; memory-fabric team status "
        "shows how it goes.",
    )


def add(
    member: str = _MEMBER,
    create_role: bool = flag("--create-role  Create the role, and print its password once."),
    owner: bool = flag("--owner  The member may add and remove others."),
    me: bool = flag("--me  Fail if the member could not exchange his own memories, too."),
    as_json: bool = AS_JSON,
) -> int:
    """Give a role of the database server access to the space."""
    with _opened("add") as memory:
        tie = _tie(memory)
        from memory_fabric.sharing.server.connect import pgpass_line, shown
        from memory_fabric.sharing.team import joining  # imported late: needs the PostgreSQL driver

        password = joining.add(memory, tie, member, create_role=create_role, owner=owner, me=me)
    dsn, about_role = tie.owner or tie.dsn, ""
    if password:
        about_role = (
            f"The role is new. Its password, shown only now: {password}\n"
            f"Give {member} this line for ~/.pgpass (mode 0600) in private: "
            f"{pgpass_line(dsn, member, password)}"
        )
    elif create_role:
        about_role = f"The role {member} was there already; its password stays as it is."
    address = shown(dsn).rpartition("@")[2]
    return answer(
        as_json,
        {"space": tie.space, "member": member, "password": password},
        f"{member} is {'an owner' if owner else 'a member'} of {tie.space} now.",
        about_role,
        f"Next: {member} runs memory-fabric team join postgresql://{member}@{address} "
        f"--space {tie.space}{' --me' if me else ''} in this project.",
    )


def remove(member: str = _MEMBER, as_json: bool = AS_JSON) -> int:
    """Take a member out of the space; what he wrote stays."""
    with _opened("remove") as memory:
        tie = _tie(memory)
        from memory_fabric.sharing.server import spaces
        from memory_fabric.sharing.team import joining  # imported late: needs the PostgreSQL driver

        with joining.owning(memory, tie) as connection:
            spaces.remove(connection, tie.space, member)
    return answer(
        as_json,
        {"space": tie.space, "member": member},
        f"{member} is no member of {tie.space} any more. What {member} wrote stays, there and "
        "on every machine that has read it.",
        f"Next: if the role itself shall not log in any more, run DROP ROLE {member}.",
    )


def members(as_json: bool = AS_JSON) -> int:
    """List the members of the space, and when each last read it."""
    with _opened() as memory:
        tie = _tie(memory)
        from memory_fabric.sharing.server.log import SharedLog
        from memory_fabric.sharing.team import joining  # imported late: needs the PostgreSQL driver

        with joining.owning(memory, tie) as connection:
            listed = SharedLog(connection, tie.space).members()
    objects, rows = [member._asdict() for member in listed], []
    for fields in objects:
        for name in ("added_at", "removed_at", "seen_at"):
            at = fields[name]
            fields[name] = at.astimezone(UTC).isoformat(timespec="seconds") if at else ""
        name, role, added_at, removed_at, seen_at = fields.values()
        last_read = seen_at[:16].replace("T", " ") or "never"
        note = "removed" if removed_at else "you" if name == tie.member else ""
        rows.append((name, role, added_at[:10], last_read, note))
    if as_json:
        return show.json_out(objects)
    show.table(("member", "role", "since", "last read", ""), rows)
    return 0


def status(as_json: bool = AS_JSON) -> int:
    """Show unsent changes, failures and decisions due from you."""
    values, lines, is_failing = [], [], False
    with show.patience("Asking memory and server"), _opened() as memory:
        for tie in [tie for tie in ties.joined_by(memory) if not tie.via]:
            server: SpaceState | FabricError
            try:
                driver.reach(memory.settings, tie.packages)
                from memory_fabric.sharing.team import joining  # imported late: needs the driver

                server = joining.server_state(memory, tie)
                held_by = server.held_by._asdict() if server.held_by else None
                state = show.fields(server, "epoch role members") | {"held_by": held_by}
            except FabricError as error:
                server, is_failing, state = error, True, {"error": str(error)}
            report = TieReport(memory, tie, datetime.now(UTC).timestamp())
            lines += _status_lines(report, server)
            value = report.as_json() | {"demands": [demand._asdict() for demand in report.demands]}
            value["differences"] = [conflict._asdict() for conflict in report.conflicts]
            values.append(value | {"server": state})
    untied = "This project is tied to no shared log. memory-fabric team join DSN ties it to one."
    return answer(as_json, values, *(lines or [untied])) or int(is_failing)


def sync(as_json: bool = AS_JSON) -> int:
    """Exchange memories with the space now."""
    with _opened() as memory:
        joined = ties.joined_by(memory)
        if not joined:
            _tie(memory)
        results = exchanged(memory, joined, quiet=as_json)
    return answer(as_json, results_as_json(results), results=results)


def decline(key: str = argument("KEY  The key in `team status`."), as_json: bool = AS_JSON) -> int:
    """Keep a text here although another member wants it erased."""
    with _opened("decline") as memory:
        for tie in ties.joined_by(memory):
            database = memory.database(tie.kind, create=False)
            if database is not None and tied.decline(database, key):
                sentence = f"{key} stays here as it is. On the server it is erased already."
                return answer(as_json, {"space": tie.space, "key": key}, sentence)
    text = f"Nobody demands to erase {key}."
    raise NotFound(key, text, remedy="memory-fabric team status lists demands.")


def adopt(
    id_: str = argument("ID  The id of another member's record, or its end."),
    as_json: bool = AS_JSON,
) -> int:
    """Make a statement of another member your own."""
    with _opened("adopt") as memory:
        theirs = memory.find_records("source = ? AND id LIKE ?", (OTHERS, f"%{id_part(id_)}"))
        if len(theirs) != 1:
            text = f"{many(len(theirs), 'record')} of other members fit {id_!r}."
            raise NotFound(id_, text, remedy="memory-fabric recall shows ids.")
        said = {name: getattr(theirs[0], name) for name in _ADOPTED.split()}
        mine = memory.remember(Record(**said, confidence=1.0), environment.provenance())
    if mine is None:
        text = "You forgot this once. memory-fabric undo takes that back."
        raise BadInput("ID", text, remedy="")
    return answer(
        as_json,
        {"id": mine.id, "of": theirs[0].id, "author": theirs[0].author},
        f"{ids.short_id(mine.id)} is yours now: {_cut(mine.what)}",
    )


def rule(
    id_: str = argument("ID  The id of a rule of yours, or its end."),
    undo: bool = flag("--undo  The rule acts for you alone again."),
    as_json: bool = AS_JSON,
) -> int:
    """Let a rule of yours ask all members before a matching call.

    Only for owners. Before a call that `When:` names, each member's client asks, showing your name
    and words, which are sent along. Nothing is refused; members who forget the rule are not asked.
    """
    with _opened("rule") as memory:
        tie = _tie(memory)
        from memory_fabric.capture import edit  # imported late: few actions change records
        from memory_fabric.rules import effects
        from memory_fabric.sharing.team import joining  # imported late: needs the PostgreSQL driver

        state, stored = joining.server_state(memory, tie), edit.editable(memory, id_)
        record, short = stored.record, ids.short_id(stored.record.id)
        if not undo and state.role != OWNER:
            text = f"You are {state.role} of {tie.space}; only an owner makes a rule ask everybody."
            raise BadInput("team rule", text, remedy="Ask an owner: memory-fabric team members.")
        is_ours = (record.scope, record.trust) == ("team", "user")
        if not (undo or (is_ours and effects.binds(record))):
            text = f"{short} is no rule of scope team that holds a call back here."
            remedy = f"memory-fabric rules lists those that do; edit {short} --when binds it."
            raise BadInput("ID", text, remedy=remedy)
        results = _marked(memory, [tie], [stored], FOR_TEAM, undo=undo, quiet=as_json)
    words, when = "" if undo else users_words(record), record.evidence.get(WHEN, "")
    asks = "asks nobody else" if undo else f"asks every member of {tie.space} before {when}"
    return answer(
        as_json,
        {"id": record.id, "space": tie.space, "asks_all": not undo},
        f"{short} {asks} now: {_cut(record.what)}",
        f"Your words travel with it: “{_cut(words)}”." if words else "",
        results=results,
    )


def release(
    id_: str = argument("[ID]  The id of a memory of yours; only --undo needs none.", ""),
    undo: bool = flag("--undo  Take words back, of all memories without an ID."),
    as_json: bool = AS_JSON,
) -> int:
    """Also share the words of yours that a memory's note quotes.

    Otherwise, only the note, its reason and its alternatives are shared; your words stay on your
    machines. With `--undo`, they are erased on the server and in the project's decisions.jsonl, for
    all memories if no ID is given; copies that others made, backups and git's history keep them.
    """
    with _opened("release") as memory:
        from memory_fabric.capture import edit  # imported late: few actions change records
        from memory_fabric.sharing.git import shared_journal

        if undo and memory.settings.share_words:
            text = "share_words = true in config.toml releases all of your words."
            raise BadInput("share_words", text, remedy="Set it to false, then run this again.")
        if not (id_ or undo):
            raise BadInput("ID", "Name the memory whose words are to be shared.", remedy="")
        names = [id_] if id_ else [r.id for r in memory.find_records(_RELEASED, (OTHERS,), -1)]
        stored = (lambda *of: edit.Stored(*record_by_id(*of))) if undo else edit.editable
        chosen = [stored(memory, name) for name in names]
        if id_ and chosen[0].record.source == OTHERS:
            text = f"{id_} is a memory of {chosen[0].record.author or 'someone else'}."
            raise BadInput("ID", text, remedy="Only its author can take words of it back.")
        if id_ and undo and chosen[0].record.evidence.get(FOR_TEAM):
            text = f"{id_} is a rule for all, and your words travel with it."
            raise BadInput("ID", text, remedy=f"memory-fabric team rule {id_} --undo ends both.")
        if not (undo or users_words(chosen[0].record)):
            raise BadInput("ID", f"{id_} has no words of yours beside its text.", remedy="")
        mine = [tie for tie in ties.joined_by(memory) if tie.kind == "project"]
        results = _marked(memory, mine, chosen, RELEASED, undo=undo, quiet=as_json, every=not id_)
        lines = shared_journal.take_back_words(memory) if undo else 0
    told = [s.record for s in chosen if not (undo and s.record.evidence.get(FOR_TEAM))]
    texts = [_cut(users_words(record)) for record in told]
    return answer(
        as_json,
        {"ids": [stored.record.id for stored in chosen], "released": not undo, "lines": lines},
        *(f"{'Not shared any more' if undo else 'Shared now'}: “{text}”" for text in texts),
        "" if id_ else "No words of yours are shared any more but those of rules for all.",
        f"{many(lines, 'line')} of decisions.jsonl changed: commit it." if lines else "",
        results=results,
    )


def leave(
    me: bool = flag("--me  End only the exchange of your own memories."),
    keep: bool = flag("--keep  Keep what other members said."),
    drop: bool = flag("--drop  Delete what other members said."),
    as_json: bool = AS_JSON,
) -> int:
    """Disconnect this project from its space."""
    with _opened("leave") as memory:
        tie = ties.of(memory.settings.home, USER) if me else _tie(memory, reach=False)
        if tie is None or tie.via:
            raise BadInput("--me", "Your own memories are tied to no shared log.", remedy="")
        database = memory.database(tie.kind, create=False)
        counts = tied.counts(database) if database is not None else tied.Counts()
        theirs = sum(number for _, number in counts.records)
        unsent = counts.due + counts.waiting
        if not (keep or drop) and theirs:
            number = many(theirs, "record")
            text = f"Nothing was changed. This machine has {number} of others in {tie.space}."
            remedy = "Use --keep to keep them, or --drop to delete them here; all else stays."
            raise BadInput("leave", text, remedy=remedy)
        exchanging.leave(memory, tie, keep=keep)
    subject = "Your own memories are" if me else "This project is"
    fate = "stay here" if keep else "were deleted here"
    return answer(
        as_json,
        {"space": tie.space, "dropped": 0 if keep else theirs, "unsent": unsent},
        f"{subject} not tied to {tie.space} any more. Everything that you said stays here.",
        f"{many(theirs, 'record')} of other members {fate}." if theirs else "",
        f"{many(unsent, 'change')} had not been sent and will not be." if unsent else "",
        "Next: memory-fabric team join DSN ties it again and reads everything anew.",
    )


SUBCOMMANDS = (
    init, join, add, remove, members, status, sync, decline, adopt, rule, release, leave,
)  # fmt: skip


def _marked(
    memory: Memory,
    tied_here: Sequence[Tie],
    chosen: Sequence[Stored],
    mark: str,
    *,
    undo: bool,
    quiet: bool,
    every: bool = False,
) -> list[Result]:
    """Set the key `mark` in the evidence of the records `chosen`; then exchange over `tied_here`.

    With `undo`, remove the key, and erase from the shared log the texts that were sent because of
    it: those of `chosen` or, if `every`, of all records.
    """
    from memory_fabric.capture import edit  # imported late: few actions change records
    from memory_fabric.sharing.replica import outbox

    by, memory.batch = environment.provenance(), ids.new_id()
    for stored in chosen:
        kept = {name: part for name, part in stored.record.evidence.items() if name != mark}
        evidence = kept if undo else kept | {mark: True}
        if evidence != stored.record.evidence:
            edit.save(memory, stored, stored.record._replace(evidence=evidence), by)
    memory.flush()
    for tie in tied_here:
        driver.reach(memory.settings, tie.packages)
        database = memory.database(tie.kind, create=False) if undo else None
        if database is not None:
            outbox.erase_replaced(memory, database, look_again=every)
    return exchanged(memory, tied_here, quiet=quiet)


@contextmanager
def _opened(for_the_user: str = "") -> Iterator[Memory]:
    """Open this folder's memory; in a client's shell, raise BadInput for action `for_the_user`."""
    if for_the_user:
        environment.require_user(f"team {for_the_user}", "with whom memories are shared")
    with environment.open_memory() as memory:
        yield memory


def _status_lines(report: TieReport, server: SpaceState | FabricError) -> list[str]:
    tie, lines = report.tie, [report.headline]
    if isinstance(server, FabricError):
        silent = isinstance(server, NoAnswer)
        lines.append(f"The server {'does not answer' if silent else 'was not read'} now: {server}")
    else:
        members = many(server.members, "member")
        lines.append(f"The server answers: you are {server.role} of {tie.space} with {members}.")
        holder = server.held_by
        if holder is not None:
            who = " of ".join(filter(None, (holder.application, holder.user))) or "unknown"
            age = f" for {holder.age_s:.0f} s" if holder.age_s is not None else ""
            pid = f" (process {holder.pid})" if holder.pid else ""
            lines.append(f"Sending waits for a transaction that is open{age}: {who}{pid}.")
    if report.counts.records:
        former = dict.fromkeys(report.state.removed.split(", "), " (no member any more)")
        theirs = ", ".join(f"{name} {n}{former.get(name, '')}" for name, n in report.counts.records)
        lines.append(f"Records of other members here: {theirs}.")
    lines += map(str, report.troubles)
    for d in report.demands:
        lines.append(f"  {d.by} demands since {d.at[:10]}, {d.key}: {_cut(d.text)}")
    for conflict in report.conflicts:
        elsewhere = "; ".join(_cut(text) or "withdrawn" for text in conflict.others)
        here_text = _cut(conflict.shown) or "withdrawn"
        lines.append(f"  {conflict.key}: {here_text} | elsewhere: {elsewhere}")
    return lines


def _cut(text: str) -> str:
    return cut(one_line(text), MAX_TEXT_CHARS)


def _tie(memory: Memory, *, reach: bool = True) -> Tie:
    """Return the link to the team log; `reach` loads its driver. Raises NotFound, DriverMissing."""
    tie = ties.of(memory.settings.home, memory.project.id) if memory.project else None
    if tie is None or tie.via:
        remedy = "memory-fabric team init DSN makes a space, team join DSN ties it to one."
        raise NotFound("tie", "This project is tied to no shared log.", remedy=remedy)
    if reach:
        driver.reach(memory.settings, tie.packages)
    return tie
