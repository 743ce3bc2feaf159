"""Commands check, repair, backup and queue: maintain stored data, and texts queued for ingest."""

import os
import time
from collections.abc import Sequence
from typing import Any, Literal

from memory_fabric.cli import environment, show
from memory_fabric.cli.options import AS_JSON, argument, flag, option
from memory_fabric.errors import BadInput, NotFound, StoreUnavailable
from memory_fabric.ids import new_id, short_id
from memory_fabric.redaction.redact import without_secrets
from memory_fabric.sharing.git import adoption
from memory_fabric.store.database import mark_suspect
from memory_fabric.store.memory import KINDS, Memory
from memory_fabric.store.queries import graph
from memory_fabric.store.queues import ingest_queue
from memory_fabric.store.queues.ingest_queue import QueuedText
from memory_fabric.store.tiers import sync as tiers
from memory_fabric.store.upkeep import backup as backups
from memory_fabric.store.upkeep import integrity
from memory_fabric.text import cut, encodable, many, one_line

STYLES = {"dead": "red", "working": "yellow"}
QUEUE_COLUMNS = ("id", "state", "domain", "length", "came", "attempts", "error")


def check(
    full: bool = flag("--full  Also compare large indexes, and read all backups; changes wait."),
    as_json: bool = AS_JSON,
) -> int:
    """Check stored data for damage, and for what to tidy up; change nothing.

    Finds damage in databases, indexes, journals, queues and backups. Also lists what to tidy up:
    entities without observations or relations, names in several spellings. Only samples of a large
    index are compared, and only the newest of large backups is read; `--full` reads all, while
    other changes wait. Exit code 1 only for damage.
    """
    with environment.open_memory() as memory, show.progress_bar("Checking", quiet=as_json) as tell:
        findings = integrity.findings(memory, full=full, progress=tell)
    harms = any(finding.harms for finding in findings)
    if as_json:
        show.json_out({"sound": not harms, "findings": [finding._asdict() for finding in findings]})
        return int(harms)
    for finding in findings:
        place = f" ({finding.where})" if finding.where else ""
        head = "" if finding.harms else "note: "
        show.line(f"{head}{finding.text} {finding.remedy}{place}")
    if not harms:
        show.line("Nothing is damaged.")
    return int(harms)


def repair(
    orphans: bool = flag("--orphans  Instead show entities without observations or relations."),
    yes: bool = flag("--yes  With `--orphans`: remove the first kind; undo restores them."),
    as_json: bool = AS_JSON,
) -> int:
    """Rebuild damaged or lost databases, indexes and journals.

    A damaged or lost database is rebuilt from its newest intact backup and its journal, an index
    from its table, lost journal lines from the database. Records that are only in the project's
    journal are restored if they are provably yours; otherwise, only their number is shown.

    `--orphans` also shows entities that a deletion left without relations; `--yes` keeps these.
    """
    if orphans:
        return _show_orphans(yes, as_json)
    with environment.open_memory() as memory:
        for kind in KINDS if memory.project else ("user",):
            path = memory.path_of(kind)
            is_expected = os.path.exists(path) or os.path.exists(memory.journal_of(kind))
            if is_expected or backups.list_backups(path):
                mark_suspect(path)
    bar = show.progress_bar("Rebuilding", quiet=as_json)
    with environment.open_memory(repair=True) as memory, bar as memory.progress:
        sound = [database.path for database in memory.databases()]
        rebuilt = list(memory.messages)
        missing = adoption.missing(memory)
        if missing is not None and missing.proved:
            adopted = adoption.adopt(memory, missing, environment.provenance(), memory.progress)
            rebuilt.append(f"Restored {many(adopted, 'record')} that only {missing.path} held.")
            missing = adoption.missing(memory)
        memory.flush()
        restored = tiers.restore_journals(memory)
    if as_json:
        waiting = len(missing.lines) if missing is not None else 0
        counts = {"sound": sound, "rebuilt": rebuilt, "restored": restored, "waiting": waiting}
        show.json_out({**counts, "failures": memory.failures})
    else:
        show.lines((*rebuilt, *(f"{path} is intact." for path in sound)))
        if restored:
            show.line(f"{restored} lost journal lines were written again.")
        if missing is not None:
            show.line(adoption.notice_text(missing), style="yellow")
        elif not sound and not memory.failures and not rebuilt:
            show.line("Nothing to repair: nothing is stored yet.")
        show.warn_all(memory.failures)
    return 1 if memory.failures else 0


def _show_orphans(yes: bool, as_json: bool) -> int:
    with environment.open_memory(step=new_id()) as memory:
        databases = memory.databases()
        orphans = {db.kind: graph.orphans(db, 10_000) for db in databases}
        left_alone = [name for db in databases for name in graph.left_alone(db)]
        removed = 0
        for kind, names in orphans.items():
            if yes and names:
                payload, by = {"entityNames": names}, environment.provenance()
                result = memory.write("remove_orphans", payload, by, store=kind)
                removed += int(result.get("deleted", 0))
        if removed:
            memory.flush()
    names = [name for of_kind in orphans.values() for name in of_kind]
    if as_json:
        return show.json_out({"orphans": names, "left_alone": left_alone, "removed": removed})
    show.lines(map(graph.shown, names))
    reason = "a deletion left it without relations; forget removes it"
    show.lines(f"{graph.shown(name)}: {reason}" for name in left_alone)
    if yes:
        show.line(f"Removed: {removed}. memory-fabric undo --last restores them.")
    elif names:
        text = "These have no observations or relations; nothing was changed."
        show.line(f"{text} Use --yes to remove them.")
    else:
        show.line("Every entity has an observation or a relation.")
    return 0


def backup(as_json: bool = AS_JSON) -> int:
    """Make a verified copy of each database; the newest five are kept."""
    with environment.open_memory() as memory, show.progress_bar("Copying", quiet=as_json) as tell:
        copies = [backups.create(database.path, progress=tell) for database in memory.databases()]
    code = 1 if memory.failures else 0
    if as_json:
        return show.json_out({"made": copies, "failures": memory.failures}, code)
    show.lines(f"{path} ({os.path.getsize(path) / 1024:.0f} KB)" for path in copies)
    if not copies and not memory.failures:
        show.line("Nothing to copy: nothing is stored yet.")
    show.warn_all(memory.failures)
    return code


def queue(
    action: Literal["list", "show", "retry", "drop", "work"] = argument(
        "[list|show|retry|drop|work]  list: unprocessed texts (the default). show: one text in "
        "any state. retry: process dead texts again, or waiting ones now. drop: remove texts, "
        "after asking. work: run the worker that processes them (`serve` starts one).",
        "list",
    ),
    named: list[str] | None = argument("[ID]...  The id that the sender got, or its end.", None),
    everything: bool = flag("--all  With retry and drop: all dead texts."),
    done: bool = flag("--done  With list: the newest processed texts."),
    limit: int = option("N  With list: the maximum number.", 50, min=1, max=1_000_000),
    once: bool = flag("--once  With work: end when nothing is due."),
    worker: str = option("--id WORKER  With work: the name of this worker."),
    parent: int = option("PID  With work: end when this process ends.", 0, min=0, max=2**31 - 1),
    yes: bool = flag("--yes  With drop: do not ask."),
    as_json: bool = AS_JSON,
) -> int:
    """List texts of other programs that are not processed yet.

    A text that fails is tried again after 10, 20, 40 seconds and so on, and is `dead` (given up)
    after six attempts. `drop` removes the text, but not the memories made from it (`memory-fabric
    undo ID` removes its records; its turns stay). `work` runs until SIGTERM; several may run at
    once. Exit code 3 if there is no text to act on.
    """
    ids = named or []
    if bad := [encodable(typed) for typed in ids if encodable(typed) != typed]:
        raise BadInput("ID", f"{bad[0]!r} is not an id.")
    if action in ("list", "work") and (ids or everything):
        raise BadInput("ID", f"{action} takes neither an id nor --all.")
    if action == "show" and (len(ids) != 1 or everything):
        raise BadInput("ID", "show needs the id of one text.")
    if action in ("retry", "drop") and bool(ids) == everything:
        raise BadInput("ID", f"{action} needs either ids or --all.")
    if action == "work":
        from memory_fabric.ingest import worker as queue_worker  # imported late: `work` only

        tally = queue_worker.serve(environment.settings(), worker, once=once, parent=parent)
        if as_json:
            show.json_out({"done": tally.done, "failed": tally.failed})
        elif once:
            failed = f", {many(tally.failed, 'attempt')} failed" if tally.failed else ""
            show.line(f"{many(tally.done, 'text')} processed{failed}.")
        return 1 if once and tally.failed else 0
    with environment.open_memory() as memory:
        if action == "list":
            return _list_texts(memory, limit, done=done, as_json=as_json)
        texts = list(dict.fromkeys(ingest_queue.find_by_short_id(memory, id_) for id_ in ids))
        if everything:
            texts = ingest_queue.listed(memory, ("dead",), -1)
        if not texts:
            remedy = "memory-fabric queue lists the waiting texts."
            raise NotFound("--all", "No text is dead.", remedy=remedy)
        if action == "show":
            return _show_text(memory, texts[0], as_json)
        if action == "drop":
            return _drop(memory, texts, yes, as_json)
        number = ingest_queue.retry(memory, [text.id for text in texts], time.time())
    if as_json:
        return show.json_out({"retried": number}, 0 if number else 3)
    show.line(f"{many(number, 'text')} can be processed now: run memory-fabric queue work --once.")
    others = (text for text in texts if text.state in ("done", "working"))
    show.warn_all(f"{short_id(t.id)} is {t.state} and is not tried again." for t in others)
    return 0 if number else 3


def _list_texts(memory: Memory, limit: int, *, done: bool, as_json: bool) -> int:
    if done:
        texts = ingest_queue.newest_done(memory, limit)
    else:
        texts = ingest_queue.listed(memory, ("waiting", "working", "dead"), limit)
    backlog = ingest_queue.backlog(memory)
    if as_json:
        return show.json_out({**backlog._asdict(), "texts": list(map(_text_as_json, texts))})
    if texts:
        show.table(QUEUE_COLUMNS, map(_row_of_text, texts))
    summary = f"{backlog.waiting} waiting, {backlog.working} working, {backlog.dead} dead."
    if backlog.dead:
        retry = "memory-fabric queue retry --all tries dead texts again"
        summary += f" {retry}, drop --all removes them."
    is_empty = not (backlog.waiting or backlog.working or backlog.dead)
    show.line("The queue is empty." if is_empty else summary, style="" if texts else "dim")
    return 0


def _show_text(memory: Memory, text: QueuedText, as_json: bool) -> int:
    ingest = ingest_queue.ingest_of(memory, text.id)
    if ingest is None:
        raise NotFound(text.id, f"{text.id} was dropped meanwhile.")
    # Redact again, because rules of redaction may have been added since the text was stored.
    summary = without_secrets(ingest.session_summary)
    decisions = tuple(map(without_secrets, ingest.key_decisions))
    ingest = ingest._replace(session_summary=summary, key_decisions=decisions)
    if as_json:
        return show.json_out(_text_as_json(text) | {"ingest": ingest._asdict()})
    about = {"id": text.id, "state": text.state, "came": text.created_at, "ended": text.ended_at}
    about |= {"attempts": str(text.attempts), "error": text.error, "domain": text.domain}
    about |= {"from": ingest.source_model, "session": ingest.session_id, "project": ingest.project}
    about |= {"said": ingest.created_at, "confidence": f"{ingest.confidence:.2f}"}
    about |= {"records": ", ".join(map(short_id, text.records))}
    show.facts(*about.items(), ("decisions", "\n".join(ingest.key_decisions)))
    show.line(ingest.session_summary or "The text has expired or was purged.")
    return 0


def _drop(memory: Memory, texts: Sequence[QueuedText], yes: bool, as_json: bool) -> int:
    if as_json and not yes:
        return show.json_out({"dropped": 0, "would_drop": [_text_as_json(text) for text in texts]})
    if not as_json:
        show.table(QUEUE_COLUMNS, map(_row_of_text, texts))
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


def _row_of_text(text: QueuedText) -> tuple[Any, ...]:
    came = text.created_at[:16].replace("T", " ")
    error = cut(one_line(text.error), 120)
    state = show.styled(text.state, STYLES.get(text.state, ""))
    length, attempts = str(text.length), str(text.attempts)
    return short_id(text.id), state, text.domain, length, came, attempts, error


def _text_as_json(text: QueuedText) -> dict[str, Any]:
    return text._asdict() | {"short_id": short_id(text.id)}
