"""queue: what other programs brought in and is not worked off yet; and the process that does it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from memory_fabric.cli import environment, option_values, show
from memory_fabric.cli.option_values import QUEUE_ACTIONS
from memory_fabric.errors import BadInput, NotFound, StoreUnavailable
from memory_fabric.ids import short_id
from memory_fabric.redaction.prefilter import without_secrets
from memory_fabric.text import cut, encodable, many, one_line

if TYPE_CHECKING:
    from memory_fabric.ingest_protocol import Ingest
    from memory_fabric.store.ingest_queue import Backlog, Passage
    from memory_fabric.store.memory import Memory

LIMIT, MAX_LIMIT = 50, 1_000_000
# No system has a larger one.
MAX_PID = 2**31 - 1
MAX_ERROR_CHARS = 120
STYLES = {"dead": "red", "working": "yellow"}
COLUMNS = ("id", "state", "domain", "length", "came", "attempts", "error")
NOTHING = "Nothing waits."


def queue(
    action: Annotated[
        str,
        typer.Argument(
            metavar="[list|show|retry|drop|work]",
            help="list: what is not worked off (as without any). show: one text, whatever became "
            "of it. retry: work off dead texts again, or waiting ones now. drop: take texts out, "
            "after a yes. work: the process that works them off (`serve` starts one).",
            autocompletion=option_values.queue_actions,
        ),
    ] = "list",
    named: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[ID]...",
            help="With show, retry, drop: the id that the sender was given, or its last eight "
            "characters.",
        ),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="With retry and drop: all that are dead.")
    ] = False,
    done: Annotated[
        bool, typer.Option("--done", help="With list: those that are done, the newest.")
    ] = False,
    limit: Annotated[
        int,
        typer.Option(min=1, max=MAX_LIMIT, metavar="N", help="With list: at most so many."),
    ] = LIMIT,
    once: Annotated[
        bool, typer.Option("--once", help="With work: end when nothing more is due.")
    ] = False,
    worker: Annotated[
        str, typer.Option("--id", metavar="WORKER", help="With work: the name of this worker.")
    ] = "",
    parent: Annotated[
        int,
        typer.Option(
            min=0, max=MAX_PID, metavar="PID", help="With work: end when this process is gone."
        ),
    ] = 0,
    yes: Annotated[bool, typer.Option("--yes", help="With drop: do not ask.")] = False,
    as_json: show.AsJson = False,
) -> int:
    """Show what other programs sent (POST /v1/memory/ingest) that is not worked off.

    A text waits, is worked on, and is done; one that fails is tried again after 10 seconds, 20, 40
    and so on, and is dead after six attempts, with its error. Its text is kept as it came
    (without secrets): `show` has it. `drop` takes out the text, not what memory has of it
    already (`memory-fabric undo ID` takes its records back, too; its turns stay); `drop` asks,
    and with --json only says what it would do unless there is --yes. `work` runs until SIGTERM
    and ends after the text in hand; several may run at once. Exit code 3 where an id names
    nothing, or --all finds nothing dead.
    """
    _check(action, named or [], everything=everything)
    if action == "work":
        return _work(worker, parent, once=once, as_json=as_json)
    with environment.open_memory() as memory:
        if action == "list":
            return _list(memory, limit, done=done, as_json=as_json)
        chosen = _chosen(memory, named or [], everything=everything)
        if action == "show":
            return _show(memory, chosen[0], as_json)
        if action == "retry":
            return _retry(memory, chosen, as_json)
        return _drop(memory, chosen, yes, as_json)


def _check(action: str, named: list[str], *, everything: bool) -> None:
    """Raises BadInput for what does not go together."""
    if action not in QUEUE_ACTIONS:
        raise BadInput("ACTION", f"{action!r} is none of {', '.join(QUEUE_ACTIONS)}.")
    for one in named:
        if encodable(one) != one:
            raise BadInput("ID", f"{encodable(one)!r} is no id.")
    if action in ("list", "work") and (named or everything):
        raise BadInput("ID", f"{action} takes no id and no --all.")
    if action == "show" and (len(named) != 1 or everything):
        raise BadInput("ID", "show needs the id of one text.")
    if action in ("retry", "drop") and bool(named) == everything:
        raise BadInput("ID", f"{action} needs ids, or --all for all that are dead.")


def _work(worker: str, parent: int, *, once: bool, as_json: bool) -> int:
    from memory_fabric.ingest import worker as queue_worker  # --help needs no worker

    tally = queue_worker.serve(environment.settings(), worker, once=once, parent=parent)
    if as_json:
        show.json_out({"done": tally.done, "failed": tally.failed})
    elif once:
        failed = f", {many(tally.failed, 'attempt')} failed" if tally.failed else ""
        show.line(f"{many(tally.done, 'text')} worked off{failed}.")
    return 1 if once and tally.failed else 0


def _list(memory: Memory, limit: int, *, done: bool, as_json: bool) -> int:
    from memory_fabric.store import ingest_queue

    if done:
        found = ingest_queue.newest_done(memory, limit)
    else:
        found = ingest_queue.listed(memory, ("waiting", "working", "dead"), limit)
    left = ingest_queue.backlog(memory)
    if as_json:
        show.json_out({**left._asdict(), "texts": [_as_json(one) for one in found]})
        return 0
    if found:
        show.table(COLUMNS, [_row(one) for one in found])
    show.line(_summary(left), style="" if found else "dim")
    return 0


def _chosen(memory: Memory, named: list[str], *, everything: bool) -> list[Passage]:
    """The texts that are meant, each once. Raises NotFound, BadInput."""
    from memory_fabric.store import ingest_queue

    if not everything:
        return list(dict.fromkeys(ingest_queue.find_by_short_id(memory, text) for text in named))
    found = ingest_queue.listed(memory, ("dead",), -1)
    if not found:
        raise NotFound("--all", "No text is dead.", remedy="memory-fabric queue lists what waits.")
    return found


def _show(memory: Memory, one: Passage, as_json: bool) -> int:
    from memory_fabric.store import ingest_queue

    kept = ingest_queue.ingest_of(memory, one.id)
    if kept is None:
        raise NotFound(one.id, f"{one.id} was dropped meanwhile.")
    kept = _by_todays_rules(kept)
    if as_json:
        show.json_out(_as_json(one) | {"ingest": _ingest_as_json(kept)})
        return 0
    show.facts(
        (
            ("id", one.id),
            ("state", one.state),
            ("came", one.created_at),
            ("ended", one.ended_at),
            ("attempts", str(one.attempts)),
            ("error", one.error),
            ("domain", one.domain),
            ("from", kept.source_model),
            ("session", kept.session_id),
            ("project", kept.project),
            ("said", kept.created_at),
            ("confidence", f"{kept.confidence:.2f}"),
            ("records", ", ".join(map(short_id, one.records))),
            ("decisions", "\n".join(kept.key_decisions)),
        )
    )
    show.line(kept.session_summary or "Its text has expired, or was purged.")
    return 0


def _retry(memory: Memory, chosen: list[Passage], as_json: bool) -> int:
    import time

    from memory_fabric.store import ingest_queue

    number = ingest_queue.retry(memory, [one.id for one in chosen], time.time())
    if as_json:
        show.json_out({"retried": number})
    else:
        show.line(
            f"{many(number, 'text')} will be worked off now: by `memory-fabric serve`, or by "
            "`memory-fabric queue work --once`."
        )
    for one in [] if as_json else chosen:
        if one.state in ("done", "working"):
            show.complain(f"{short_id(one.id)} is {one.state}: nothing to try again.")
    return 0 if number else 3


def _drop(memory: Memory, chosen: list[Passage], yes: bool, as_json: bool) -> int:
    from memory_fabric.store import ingest_queue

    if as_json and not yes:
        show.json_out({"dropped": 0, "would_drop": [_as_json(one) for one in chosen]})
        return 0
    if not as_json:
        show.table(COLUMNS, [_row(one) for one in chosen])
    if not show.confirmed(f"Drop {many(len(chosen), 'text')} from the queue?", yes):
        raise typer.Abort
    number = ingest_queue.drop(memory, [one.id for one in chosen], environment.said_here())
    memory.flush()
    if not number:
        raise StoreUnavailable("", "Nothing was dropped: it is gone already.")
    if as_json:
        show.json_out({"dropped": number})
    else:
        show.line(
            f"Dropped {many(number, 'text')}; memory-fabric undo --last brings the last drop back."
        )
    return 0


def _row(one: Passage) -> tuple[Any, ...]:
    came = one.created_at[:16].replace("T", " ")
    error = cut(one_line(one.error), MAX_ERROR_CHARS)
    state = show.styled(one.state, STYLES.get(one.state, ""))
    return short_id(one.id), state, one.domain, str(one.length), came, str(one.attempts), error


def _summary(left: Backlog) -> str:
    if not (left.waiting or left.working or left.dead):
        return NOTHING
    told = f"{left.waiting} waiting, {left.working} in work, {left.dead} dead."
    if left.dead:
        told += " memory-fabric queue retry --all tries the dead again, drop --all drops them."
    return told


def _as_json(one: Passage) -> dict[str, Any]:
    return one._asdict() | {"short_id": short_id(one.id), "records": list(one.records)}


def _by_todays_rules(kept: Ingest) -> Ingest:
    """The text without what today counts as a secret: it may be older than a rule."""
    return kept._replace(
        session_summary=without_secrets(kept.session_summary),
        key_decisions=tuple(map(without_secrets, kept.key_decisions)),
    )


def _ingest_as_json(kept: Ingest) -> dict[str, Any]:
    return kept._asdict() | {"key_decisions": list(kept.key_decisions)}
