"""queue: list and manage the ingest queue, or run its worker."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memory_fabric.cli import environment, option_values, show
from memory_fabric.cli.option_values import QUEUE_ACTIONS
from memory_fabric.errors import BadInput, NotFound, StoreUnavailable
from memory_fabric.ids import short_id
from memory_fabric.ingest_protocol import Ingest
from memory_fabric.redaction.prefilter import without_secrets
from memory_fabric.store.memory import Memory
from memory_fabric.text import cut, encodable, many, one_line

if TYPE_CHECKING:
    from memory_fabric.store.queues.ingest_queue import Backlog, QueuedText

LIMIT, MAX_LIMIT = 50, 1_000_000
# No system has a larger one.
MAX_PID = 2**31 - 1
MAX_ERROR_CHARS = 120
STYLES = {"dead": "red", "working": "yellow"}
COLUMNS = ("id", "state", "domain", "length", "came", "attempts", "error")
NOTHING = "The queue is empty."


def queue(
    action: Annotated[
        str,
        typer.Argument(
            metavar="[list|show|retry|drop|work]",
            help="list: unprocessed texts (the default). show: one text in any state. retry: "
            "process dead texts again, or waiting ones now. drop: remove texts, after asking. "
            "work: run the worker that processes them (`serve` starts one).",
            autocompletion=option_values.queue_actions,
        ),
    ] = "list",
    named: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[ID]...",
            help="With show, retry, drop: the id that the sender received, or its last eight "
            "characters.",
        ),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="With retry and drop: all dead texts.")
    ] = False,
    done: Annotated[
        bool, typer.Option("--done", help="With list: the newest processed texts.")
    ] = False,
    limit: Annotated[
        int,
        typer.Option(min=1, max=MAX_LIMIT, metavar="N", help="With list: the maximum number."),
    ] = LIMIT,
    once: Annotated[
        bool, typer.Option("--once", help="With work: end when nothing is due.")
    ] = False,
    worker: Annotated[
        str, typer.Option("--id", metavar="WORKER", help="With work: the name of this worker.")
    ] = "",
    parent: Annotated[
        int,
        typer.Option(
            min=0, max=MAX_PID, metavar="PID", help="With work: end when this process ends."
        ),
    ] = 0,
    yes: Annotated[bool, typer.Option("--yes", help="With drop: do not ask.")] = False,
    as_json: show.AsJson = False,
) -> int:
    """List texts of other programs that are not processed yet.

    A text is waiting, working or done. One that fails is tried again after 10, 20, 40 seconds and
    so on, and is dead after six attempts, with its error. The text is kept without secrets; `show`
    prints it. `drop` removes the text, but not the memories made from it (`memory-fabric undo ID`
    removes its records, too; its turns stay). `drop` asks; with --json it needs --yes, and
    otherwise only shows what it would do. `work` runs until SIGTERM and finishes the current text
    first; several may run at once. Exit code 3 if no text has the id, or if --all finds no dead
    text.
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
    """Raise BadInput for an unknown action or arguments that it does not take."""
    if action not in QUEUE_ACTIONS:
        raise BadInput(
            "ACTION", f"There is no action {action!r}.", remedy=f"Use {', '.join(QUEUE_ACTIONS)}."
        )
    for one in named:
        if encodable(one) != one:
            raise BadInput("ID", f"{encodable(one)!r} is not an id.")
    if action in ("list", "work") and (named or everything):
        raise BadInput("ID", f"{action} takes neither an id nor --all.")
    if action == "show" and (len(named) != 1 or everything):
        raise BadInput("ID", "show needs the id of one text.")
    if action in ("retry", "drop") and bool(named) == everything:
        raise BadInput("ID", f"{action} needs either ids or --all.")


def _work(worker: str, parent: int, *, once: bool, as_json: bool) -> int:
    from memory_fabric.ingest import worker as queue_worker  # not needed for --help

    tally = queue_worker.serve(environment.settings(), worker, once=once, parent=parent)
    if as_json:
        show.json_out({"done": tally.done, "failed": tally.failed})
    elif once:
        failed = f", {many(tally.failed, 'attempt')} failed" if tally.failed else ""
        show.line(f"{many(tally.done, 'text')} processed{failed}.")
    return 1 if once and tally.failed else 0


def _list(memory: Memory, limit: int, *, done: bool, as_json: bool) -> int:
    from memory_fabric.store.queues import ingest_queue

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


def _chosen(memory: Memory, named: list[str], *, everything: bool) -> list[QueuedText]:
    """Return the texts with these ids, or all dead ones. Raises NotFound or BadInput."""
    from memory_fabric.store.queues import ingest_queue

    if not everything:
        return list(dict.fromkeys(ingest_queue.find_by_short_id(memory, text) for text in named))
    found = ingest_queue.listed(memory, ("dead",), -1)
    if not found:
        raise NotFound(
            "--all", "No text is dead.", remedy="memory-fabric queue lists the waiting texts."
        )
    return found


def _show(memory: Memory, one: QueuedText, as_json: bool) -> int:
    from memory_fabric.store.queues import ingest_queue

    kept = ingest_queue.ingest_of(memory, one.id)
    if kept is None:
        raise NotFound(one.id, f"{one.id} was dropped meanwhile.")
    kept = _redacted(kept)
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
    show.line(kept.session_summary or "The text has expired or was purged.")
    return 0


def _retry(memory: Memory, chosen: list[QueuedText], as_json: bool) -> int:
    from memory_fabric.store.queues import ingest_queue

    number = ingest_queue.retry(memory, [one.id for one in chosen], time.time())
    if as_json:
        show.json_out({"retried": number})
    else:
        show.line(
            f"{many(number, 'text')} can be processed now by `memory-fabric serve` or "
            "`memory-fabric queue work --once`."
        )
    for one in [] if as_json else chosen:
        if one.state in ("done", "working"):
            show.warn(f"{short_id(one.id)} is {one.state} and is not tried again.")
    return 0 if number else 3


def _drop(memory: Memory, chosen: list[QueuedText], yes: bool, as_json: bool) -> int:
    from memory_fabric.store.queues import ingest_queue

    if as_json and not yes:
        show.json_out({"dropped": 0, "would_drop": [_as_json(one) for one in chosen]})
        return 0
    if not as_json:
        show.table(COLUMNS, [_row(one) for one in chosen])
    if not show.confirmed(f"Drop {many(len(chosen), 'text')} from the queue?", yes):
        raise typer.Abort
    number = ingest_queue.drop(memory, [one.id for one in chosen], environment.provenance())
    memory.flush()
    if not number:
        raise StoreUnavailable("", "Nothing was dropped: the text is not in the queue any more.")
    if as_json:
        show.json_out({"dropped": number})
    else:
        show.line(
            f"Dropped {many(number, 'text')}; memory-fabric undo --last restores the last one."
        )
    return 0


def _row(one: QueuedText) -> tuple[Any, ...]:
    came = one.created_at[:16].replace("T", " ")
    error = cut(one_line(one.error), MAX_ERROR_CHARS)
    state = show.styled(one.state, STYLES.get(one.state, ""))
    return short_id(one.id), state, one.domain, str(one.length), came, str(one.attempts), error


def _summary(left: Backlog) -> str:
    if not (left.waiting or left.working or left.dead):
        return NOTHING
    told = f"{left.waiting} waiting, {left.working} working, {left.dead} dead."
    if left.dead:
        told += " memory-fabric queue retry --all tries dead texts again, drop --all removes them."
    return told


def _as_json(one: QueuedText) -> dict[str, Any]:
    return one._asdict() | {"short_id": short_id(one.id), "records": list(one.records)}


def _redacted(kept: Ingest) -> Ingest:
    """Redact the text again, since it may be older than a redaction rule."""
    return kept._replace(
        session_summary=without_secrets(kept.session_summary),
        key_decisions=tuple(map(without_secrets, kept.key_decisions)),
    )


def _ingest_as_json(kept: Ingest) -> dict[str, Any]:
    return kept._asdict() | {"key_decisions": list(kept.key_decisions)}
