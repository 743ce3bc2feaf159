"""The local memory behind the HTTP application: reads, changes by the page, and ingested texts.

A change (POST /api/changes) has the same effect as a command. It contains the version of the record
that the page showed, or else the code of the change's preview. If the memory has changed since, the
change is refused (409); if a version was given, the response has the record's new state.
"""

import asyncio
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from memory_fabric import config, ingest_protocol, models
from memory_fabric.capture import edit
from memory_fabric.errors import BadInput, FabricError, NotFound
from memory_fabric.ids import checksum, new_id, short_id
from memory_fabric.recall import agent_domains, review
from memory_fabric.redaction import redact
from memory_fabric.servers.http import project_stores as pages
from memory_fabric.servers.http import requests, responses, routes
from memory_fabric.servers.http.ingest import BatchedWriter, Outcome, WorkerChild
from memory_fabric.servers.store_thread import StoreThread
from memory_fabric.store.forget import plan
from memory_fabric.store.history import changes, merge, resolve, trace
from memory_fabric.store.history import undo as undoing
from memory_fabric.store.memory import Memory
from memory_fabric.store.queues.ingest_queue import QueuedText
from memory_fabric.text import cut, each_text, many, neutralised, one_line

Answer = dict[str, Any]
BY = models.Provenance(source="page", trust="user")
MAX_SHOWN_CHARS = 200
# Seconds at shutdown for each memory to write files such as MEMORY.md.
CLOSE_GRACE_S = 0.5


class LocalStore(routes.Store):
    """The memory of the served project and, unless `only_served`, of the user's other projects."""

    def __init__(
        self,
        settings: config.Settings,
        *,
        workers: int = 1,
        only_served: bool = False,
        open_memory: Callable[[], Memory] | None = None,
        worker: WorkerChild | None = None,
    ) -> None:
        self._settings = settings
        projects = partial(pages.projects, only_served=only_served)
        self.page = {"picture": pages.picture, "recall": pages.explained, "projects": projects}
        self.page |= {"history": pages.history, "status": pages.status}
        opening = open_memory or (lambda: Memory.open(settings))
        check = partial(pages.need_folder, settings.project_dir)
        served, writing = StoreThread(opening, check=check), StoreThread(opening, check=check)
        self._stores = pages.ProjectStores(settings, served, only_served=only_served)
        self._readers = pages.ReaderPool(settings, workers, only_served=only_served)
        self.worker = worker or WorkerChild(settings.project_dir)
        self.writer = BatchedWriter(writing, served, settings.serve_backlog, self.worker.start)
        self.more_routes = [Route("/api/changes", self._change, methods=["POST"])]

    async def begin(self) -> None:
        """Start the worker if texts are waiting; ignore errors, which later requests report."""
        try:
            backlog = await self.writer.backlog()
            if backlog.waiting or backlog.working:
                self.worker.start()
        except Exception as error:  # noqa: BLE001 - the server answers, if only with errors
            if not isinstance(error, FabricError):
                print(f"memory-fabric: {type(error).__name__}: {error}", file=sys.stderr)  # noqa: T201

    async def end(self) -> None:
        self._stores.close_others(CLOSE_GRACE_S)
        await asyncio.gather(self.worker.end(), self._readers.end())

    def close(self, timeout_s: float = CLOSE_GRACE_S) -> None:
        self.writer.close(timeout_s)
        self._stores.served.close(timeout_s)

    async def admit(self, holder: str) -> None:
        """Admit every holder of a key: the guard has already checked the key."""

    async def answer(self, holder: str, job: responses.Job, project: str = "") -> Response:
        """Run a read-only job, in a reader process if possible; return its result as JSON."""
        return await self._readers.answer(job, project, lambda: self._stores.answer(job, project))

    async def accept(self, holder: str, ingest: ingest_protocol.Ingest) -> Outcome:
        return await self.writer.accept(ingest)

    async def ingested(self, holder: str, id_: str) -> QueuedText | None:
        return await self.writer.find(id_)

    async def reasons(self) -> list[str]:
        memory = await self.writer.complaint()
        backlog = "Too many texts wait to be processed." if self.writer.is_full else ""
        return [reason for reason in (memory, self.worker.complaint(), backlog) if reason]

    def mcp_manager(self, max_bytes: int) -> Any:
        """Return the manager of MCP sessions, which all use the served project's memory."""
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager as Sessions

        from memory_fabric.servers.mcp.sdk_server import MemoryServer  # imported on first use

        author, origin = self._settings.author, self._settings.origin
        by = models.Provenance(source="mcp", trust="tool", author=author, origin=origin)
        server = MemoryServer(self._stores.served, by).server
        return Sessions(server, max_request_body_size=max_bytes, max_sessions=256)

    async def _change(self, request: Request) -> Response:
        # 512 KB: room for three texts of 16,384 characters, even if each character takes six bytes.
        change = (await requests.model_in(request, requests.ChangeBody, 512 << 10)).root
        project = requests.query_in(request, requests.PageQuery).project
        job = partial(carry_out, asked=change)
        return await self._stores.answer(job, project, changes=not _is_preview(change))


def _is_preview(asked: requests.PageChange) -> bool:
    return isinstance(asked, requests.Confirmed) and asked.code is None


def carry_out(memory: Memory, asked: requests.PageChange) -> Answer:
    """Make or preview the requested change; return the result as JSON. Raises NotFound, BadInput,
    StoreUnavailable, and Refused (409) if the memory has changed since the page showed it.
    """
    batch = memory.batch = memory.whole.batch = new_id()
    try:
        answer = _CHANGES[type(asked)](memory, asked)
    finally:
        memory.batch = memory.whole.batch = ""
    if not _is_preview(asked):
        made = changes.of_batch(memory, batch)
        can_be_undone = any(change.inverse for change in made)
        code = _code(*(f"{change.id} {change.undone}" for change in made))
        answer["undo"] = {"id": made[0].id, "code": code} if can_be_undone else None
        answer["failures"] = list(memory.failures)
    shown: Answer = _as_shown(answer)
    return shown


def _edit(memory: Memory, asked: requests.EditBody) -> Answer:
    visible = agent_domains.visible_to_process(memory)
    visible.batch = memory.batch
    for record in (asked.record, *asked.instead_of):
        _require_as_shown(visible, record)
    fields = {name: getattr(asked, name) for name in ("text", "scope", "why", "when")}
    wanted = edit.request(kind=asked.type, **fields)
    if wanted == edit.Edit() and not asked.instead_of:
        message = f"Nothing to change in {short_id(asked.record.id)} was given."
        raise BadInput("text", message, remedy="Send text, type, scope, why, when or instead_of.")
    closing = [record.id for record in asked.instead_of]
    edited = edit.change(visible, asked.record.id, wanted, closing, BY)
    if edited.replaced and wanted == edit.Edit():
        return _of_record("replaced", edited.new, edited.replaced)
    return _of_record("changed", edited.new)


def _decide(memory: Memory, asked: requests.RecordBody) -> Answer:
    _require_as_shown(memory, asked.record)
    name = asked.record.id
    if asked.action in ("pin", "unpin"):
        off = asked.action == "unpin"
        return _of_record("not pinned" if off else "pinned", resolve.pin(memory, name, BY, off=off))
    if asked.action == "holds":
        return _of_record("confirmed", edit.confirm_all(memory, [name], BY)[0])
    if asked.action == "keep":
        return _of_record(*edit.keep(memory, name, BY))
    if asked.action == "replace":
        return _of_record("replaced", *edit.replace(memory, name, BY))
    record, _, _ = resolve.record_by_id(memory, name)
    if record.status == "candidate":
        return _of_record(*edit.decision(memory, name, BY, keep=False)())
    memory.forget([record.id], BY)
    return _of_record(edit.FORGOTTEN, record)


def _decide_all(memory: Memory, asked: requests.BroughtBody) -> Answer:
    if not (records := [one.record for one in review.brought(memory, asked.of)]):
        raise NotFound(asked.of, f"Nothing of {asked.of} waits to be confirmed.")
    code = _code(*(f"{record.id} {resolve.version_of(record)}" for record in records))
    if asked.code is None:
        return {"preview": {"count": len(records), "code": code}}
    _require_code(asked.code, code, f"What waits of {asked.of} has changed since this preview")
    ids = [record.id for record in records]
    if confirms := asked.action == "holds_all":
        edit.confirm_all(memory, ids, BY)
    else:
        memory.forget(ids, BY)
    done = "confirmed" if confirms else edit.FORGOTTEN
    return {"done": done, "said": f"{done.capitalize()}: all {len(ids)} from {asked.of}"}


def _forget(memory: Memory, asked: requests.ForgetBody) -> Answer:
    matches = plan.find(memory, asked.what)
    stays = plan.TURN_STAYS if matches.turns else plan.STAYS
    remark = " ".join(filter(None, (stays, plan.reopened(memory, matches.records))))
    if asked.code is None:
        return {"preview": plan.as_json(matches) | {"count": len(matches), "stays": remark}}
    _require_code(asked.code, matches.code, "The matches have changed since this preview")
    count = plan.forget(memory, matches, BY)
    if len(matches.records) == count == 1:
        return _of_record("forgotten", matches.records[0])
    names = ", ".join(entity.name for entity in matches.entities)
    subject = names or ("1 memory" if count == 1 else f"{count} memories")
    return {"done": "forgotten", "said": f"Forgotten: {subject}"}


def _merge(memory: Memory, asked: requests.MergeBody) -> Answer:
    merging = merge.plan(memory, asked.into, asked.names)
    parts = (merging.into, *merging.others)
    code = _code(*map(repr, parts))
    if asked.code is None:
        fields = ("name", "type", "observations", "relations")
        rows = [{name: getattr(part, name) for name in fields} for part in parts]
        return {"preview": {"into": merging.into.name, "entities": rows, "code": code}}
    _require_code(asked.code, code, "The entities have changed since this preview")
    merge.merge(memory, merging, BY)
    names, into = ", ".join(part.name for part in merging.others), merging.into.name
    return {"done": "merged", "said": f"{names}: now {into}", "into": into}


def _undo(memory: Memory, asked: requests.UndoBody) -> Answer:
    target = changes.by_id(memory, asked.id) if asked.id else undoing.last(memory)
    chosen = changes.together(memory, target)
    described = [trace.described(memory, change) for change in chosen]
    code = _code(*(f"{change.id} {change.undone}" for change in chosen))
    if asked.code is None:
        rows = [trace.as_json(row) | {"because": undoing.prospect(row)} for row in described]
        return {"preview": {"id": target.id, "changes": rows, "code": code}}
    _require_code(asked.code, code, "The change is not as it was shown")
    undone = undoing.undo(memory, chosen, BY)
    if not any(fate.by for fate in undone):
        message = f"Not undone, {undone[0].because}: {_as_shown(described[0].what).rstrip('.')}."
        raise responses.Refused(409, "not_undone", message)
    sentences = [row.what for row, fate in zip(described, undone, strict=True) if fate.by]
    failures = len(undone) - len(sentences)
    more = f" and {many(len(sentences) - 1, 'other change')}" if len(sentences) > 1 else ""
    failed = f"; {many(failures, 'change')} could not be undone" if failures else ""
    return {"done": "undone", "said": f"Undone: {sentences[0].rstrip('.')}{more}{failed}"}


_CHANGES: dict[type, Callable[[Memory, Any], Answer]] = {
    requests.EditBody: _edit, requests.RecordBody: _decide, requests.BroughtBody: _decide_all,
    requests.ForgetBody: _forget, requests.MergeBody: _merge, requests.UndoBody: _undo,
}  # fmt: skip


def _require_as_shown(memory: Memory, shown: requests.Shown) -> None:
    record, _, _ = resolve.record_by_id(memory, shown.id)
    if resolve.version_of(record) == shown.version:
        return
    when = str(record.evidence.get(models.WHEN) or "")
    current = resolve.record_json(record) | {"version": resolve.version_of(record), "when": when}
    message = f"{short_id(record.id)} was changed since it was shown; nothing was done."
    remedy, more = "Look at it as it is now, and decide again.", {"current": _as_shown(current)}
    raise responses.Refused(409, "changed", message, remedy, field="version", more=more)


def _require_code(given: str, code: str, message: str) -> None:
    if given != code:
        text, remedy = f"{message}; nothing was done.", "Look at a new preview, and confirm that."
        raise responses.Refused(409, "changed", text, remedy, field="code")


def _of_record(done: str, record: models.Record, replaced: Sequence[models.Record] = ()) -> Answer:
    wording = cut(one_line(record.what), MAX_SHOWN_CHARS)
    named = f"{models.shown_type(record.type)} {short_id(record.id)}, {wording}"
    short_ids = ", ".join(short_id(old.id) for old in replaced)
    said = f"{named}; it replaces {short_ids}." if replaced else f"{done.capitalize()}: {named}"
    return {"done": done, "said": said, "record": record.id}


def _code(*parts: str) -> str:
    return f"{checksum(chr(0).join(parts)):08x}"


def _as_shown(value: Any) -> Any:
    return each_text(redact.all_without_secrets(value, {}), neutralised)
