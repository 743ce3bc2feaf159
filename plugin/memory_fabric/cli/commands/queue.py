"""queue: list and manage the ingest queue, or run its worker."""

import time
from collections.abc import Sequence
from typing import Any

from memory_fabric.cli import environment, show
from memory_fabric.cli.options import AsJson, argument, flag, option
from memory_fabric.errors import BadInput, NotFound, StoreUnavailable
from memory_fabric.ids import short_id
from memory_fabric.redaction.redact import without_secrets
from memory_fabric.store.memory import Memory
from memory_fabric.store.queues import ingest_queue
from memory_fabric.store.queues.ingest_queue import QueuedText
from memory_fabric.text import cut, encodable, many, one_line

ACTIONS = ("list", "show", "retry", "drop", "work")
LIMIT, MAX_LIMIT = 50, 1_000_000
# No system has a larger one.
MAX_PID = 2**31 - 1
MAX_ERROR_CHARS = 120
STYLES = {"dead": "red", "working": "yellow"}
COLUMNS = ("id", "state", "domain", "length", "came", "attempts", "error")
NOTHING = "The queue is empty."


def queue(
    action: str = argument(
        "list",
        "[list|show|retry|drop|work]",
        "list: unprocessed texts (the default). show: one text in any state. retry: process dead "
        "texts again, or waiting ones now. drop: remove texts, after asking. work: run the worker "
        "that processes them (`serve` starts one).",
        choices=ACTIONS,
    ),
    named: list[str] | None = argument(
        None,
        "[ID]...",
        "With show, retry, drop: the id that the sender received, or its last eight characters.",
    ),
    everything: bool = flag("--all", "With retry and drop: all dead texts."),
    done: bool = flag("--done", "With list: the newest processed texts."),
    limit: int = option(LIMIT, "N", "With list: the maximum number.", min=1, max=MAX_LIMIT),
    once: bool = flag("--once", "With work: end when nothing is due."),
    worker: str = option("", "WORKER", "With work: the name of this worker.", "--id"),
    parent: int = option(0, "PID", "With work: end when this process ends.", min=0, max=MAX_PID),
    yes: bool = flag("--yes", "With drop: do not ask."),
    as_json: AsJson = False,
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
    ids = named or []
    _check(action, ids, everything=everything)
    if action == "work":
        return _work(worker, parent, once=once, as_json=as_json)
    with environment.open_memory() as memory:
        if action == "list":
            return _list(memory, limit, done=done, as_json=as_json)
        texts = list(dict.fromkeys(ingest_queue.find_by_short_id(memory, id_) for id_ in ids))
        if everything:
            texts = ingest_queue.listed(memory, ("dead",), -1)
        if not texts:
            remedy = "memory-fabric queue lists the waiting texts."
            raise NotFound("--all", "No text is dead.", remedy=remedy)
        if action == "show":
            return _show(memory, texts[0], as_json)
        if action == "retry":
            return _retry(memory, texts, as_json)
        return _drop(memory, texts, yes, as_json)


def _check(action: str, ids: list[str], *, everything: bool) -> None:
    """Raise BadInput for an unknown action or arguments that it does not take."""
    if action not in ACTIONS:
        text = f"There is no action {action!r}."
        raise BadInput("ACTION", text, remedy=f"Use {', '.join(ACTIONS)}.")
    for id_ in ids:
        if encodable(id_) != id_:
            raise BadInput("ID", f"{encodable(id_)!r} is not an id.")
    if action in ("list", "work") and (ids or everything):
        raise BadInput("ID", f"{action} takes neither an id nor --all.")
    if action == "show" and (len(ids) != 1 or everything):
        raise BadInput("ID", "show needs the id of one text.")
    if action in ("retry", "drop") and bool(ids) == everything:
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
    if done:
        texts = ingest_queue.newest_done(memory, limit)
    else:
        texts = ingest_queue.listed(memory, ("waiting", "working", "dead"), limit)
    backlog = ingest_queue.backlog(memory)
    if as_json:
        return show.json_out({**backlog._asdict(), "texts": [_as_json(text) for text in texts]})
    if texts:
        show.table(COLUMNS, map(_row, texts))
    summary = f"{backlog.waiting} waiting, {backlog.working} working, {backlog.dead} dead."
    if backlog.dead:
        retry = "memory-fabric queue retry --all tries dead texts again"
        summary += f" {retry}, drop --all removes them."
    is_empty = not (backlog.waiting or backlog.working or backlog.dead)
    show.line(NOTHING if is_empty else summary, style="" if texts else "dim")
    return 0


def _show(memory: Memory, text: QueuedText, as_json: bool) -> int:
    ingest = ingest_queue.ingest_of(memory, text.id)
    if ingest is None:
        raise NotFound(text.id, f"{text.id} was dropped meanwhile.")
    # The text may be older than a redaction rule.
    ingest = ingest._replace(
        session_summary=without_secrets(ingest.session_summary),
        key_decisions=tuple(map(without_secrets, ingest.key_decisions)),
    )
    if as_json:
        fields = ingest._asdict() | {"key_decisions": list(ingest.key_decisions)}
        return show.json_out(_as_json(text) | {"ingest": fields})
    show.facts(
        (
            ("id", text.id),
            ("state", text.state),
            ("came", text.created_at),
            ("ended", text.ended_at),
            ("attempts", str(text.attempts)),
            ("error", text.error),
            ("domain", text.domain),
            ("from", ingest.source_model),
            ("session", ingest.session_id),
            ("project", ingest.project),
            ("said", ingest.created_at),
            ("confidence", f"{ingest.confidence:.2f}"),
            ("records", ", ".join(map(short_id, text.records))),
            ("decisions", "\n".join(ingest.key_decisions)),
        )
    )
    show.line(ingest.session_summary or "The text has expired or was purged.")
    return 0


def _retry(memory: Memory, texts: Sequence[QueuedText], as_json: bool) -> int:
    number = ingest_queue.retry(memory, [text.id for text in texts], time.time())
    if as_json:
        show.json_out({"retried": number})
        return 0 if number else 3
    show.line(
        f"{many(number, 'text')} can be processed now by `memory-fabric serve` or "
        "`memory-fabric queue work --once`."
    )
    show.warn_all(
        f"{short_id(text.id)} is {text.state} and is not tried again."
        for text in texts
        if text.state in ("done", "working")
    )
    return 0 if number else 3


def _drop(memory: Memory, texts: Sequence[QueuedText], yes: bool, as_json: bool) -> int:
    if as_json and not yes:
        return show.json_out({"dropped": 0, "would_drop": [_as_json(text) for text in texts]})
    if not as_json:
        show.table(COLUMNS, map(_row, texts))
    show.confirm(f"Drop {many(len(texts), 'text')} from the queue?", yes)
    number = ingest_queue.drop(memory, [text.id for text in texts], environment.provenance())
    memory.flush()
    if not number:
        raise StoreUnavailable("", "Nothing was dropped: the text is not in the queue any more.")
    if as_json:
        return show.json_out({"dropped": number})
    restores = "memory-fabric undo --last restores the last one."
    show.line(f"Dropped {many(number, 'text')}; {restores}")
    return 0


def _row(text: QueuedText) -> tuple[Any, ...]:
    came = text.created_at[:16].replace("T", " ")
    error = cut(one_line(text.error), MAX_ERROR_CHARS)
    state = show.styled(text.state, STYLES.get(text.state, ""))
    length, attempts = str(text.length), str(text.attempts)
    return short_id(text.id), state, text.domain, length, came, attempts, error


def _as_json(text: QueuedText) -> dict[str, Any]:
    return text._asdict() | {"short_id": short_id(text.id), "records": list(text.records)}
