"""POST /api/changes: changes that a person makes on the page, each as its command would.

A change names the version of the memory that was shown, or the code of a preview: what has changed
since is refused with the current state, so that nobody's change is lost.
"""

from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from memory_fabric.capture.edit import request
from memory_fabric.errors import BadInput
from memory_fabric.ids import checksum, new_id, short_id
from memory_fabric.models import WHEN, Provenance, Record, shown_type
from memory_fabric.recall.agent_domains import visible_to_process
from memory_fabric.redaction import prefilter
from memory_fabric.servers.http.bodies import whole_body
from memory_fabric.servers.http.change_body import (
    Asked,
    EditBody,
    ForgetBody,
    MergeBody,
    RecordBody,
    Shown,
    UndoBody,
    change_in,
)
from memory_fabric.servers.http.project_stores import ProjectStores
from memory_fabric.servers.http.responses import Refused
from memory_fabric.store.history import changes, resolve, trace
from memory_fabric.store.history import undo as undoing
from memory_fabric.store.history.changes import Change
from memory_fabric.store.history.resolve import pin
from memory_fabric.store.memory import Memory
from memory_fabric.text import cut, many, neutralised, one_line

Answer = dict[str, Any]


# A person said it, on the page.
BY = Provenance(source="page", trust="user")
MAX_SHOWN_CHARS = 200

PATH = "/api/changes"
# Sixteen thousand characters of each text, escaped in six bytes each.
MAX_BYTES = 512 << 10


class ChangesApi:
    """The endpoint; a project's changes are made by the thread that owns its memory, in order."""

    def __init__(self, stores: ProjectStores) -> None:
        self._stores = stores

    async def change(self, request: Request) -> Response:
        """Make a change, or show what it would do."""

        try:
            body = await whole_body(request.scope, request.receive, MAX_BYTES)
            asked = change_in(request.headers.get("content-type", ""), body)
        except Refused as refused:
            return refused.answer

        def job(memory: Memory) -> dict[str, Any]:
            return carry_out(memory, asked)

        is_change = not is_preview(asked)
        return await self._stores.answer(request, lambda: job, changes=is_change)


def is_preview(asked: Asked) -> bool:
    """Return True if a request only asks what a change would do."""
    return isinstance(asked, ForgetBody | MergeBody | UndoBody) and asked.code is None


def carry_out(memory: Memory, asked: Asked) -> Answer:
    """Make the change, or its preview, and return what was done as JSON.

    Raises Refused: 409 if what was shown has changed since; NotFound, BadInput, StoreUnavailable.
    """
    batch = memory.batch = memory.whole.batch = new_id()
    try:
        answer = _done(memory, asked)
    finally:
        memory.batch = memory.whole.batch = ""
    if not is_preview(asked):
        answer["undo"] = _undo_of(memory, batch)
        answer["failures"] = list(memory.failures)
    shown: Answer = _as_shown(answer)
    return shown


def _done(memory: Memory, asked: Asked) -> Answer:
    if isinstance(asked, EditBody):
        return _edit(memory, asked)
    if isinstance(asked, ForgetBody):
        return _forget(memory, asked)
    if isinstance(asked, MergeBody):
        return _merge(memory, asked)
    if isinstance(asked, UndoBody):
        return _undo(memory, asked)
    return _decide(memory, asked)


def _edit(memory: Memory, asked: EditBody) -> Answer:
    from memory_fabric.capture import edit  # with the first change

    seen = visible_to_process(memory)
    seen.batch = memory.batch
    for shown in (asked.record, *asked.instead_of):
        _require_as_shown(seen, shown)
    wanted = request(
        text=asked.text, kind=asked.type, scope=asked.scope, why=asked.why, when=asked.when
    )
    if wanted == edit.Edit() and not asked.instead_of:
        raise BadInput(
            "text",
            f"Nothing to change in {short_id(asked.record.id)} was given.",
            remedy="Send text, type, scope, why, when or instead_of.",
        )
    closing = [shown.id for shown in asked.instead_of]
    made = edit.change(seen, asked.record.id, wanted, closing, BY)
    if made.replaced and wanted == edit.Edit():
        others = ", ".join(short_id(one.id) for one in made.replaced)
        return _of_record("replaced", made.new, f"{_named(made.new)}; it replaces {others}.")
    return _of_record("changed", made.new)


def _decide(memory: Memory, asked: RecordBody) -> Answer:
    from memory_fabric.capture import edit  # with the first change

    _require_as_shown(memory, asked.record)
    name = asked.record.id
    if asked.action in ("pin", "unpin"):
        off = asked.action == "unpin"
        return _of_record("not pinned" if off else "pinned", pin(memory, name, BY, off=off))
    if asked.action == "holds":
        return _of_record("confirmed", edit.confirm_all(memory, [name], BY)[0])
    if asked.action == "keep":
        return _of_record(*edit.keep(memory, name, BY))
    if asked.action == "replace":
        new, old = edit.replace(memory, name, BY)
        others = ", ".join(short_id(one.id) for one in old)
        return _of_record("replaced", new, f"{_named(new)}; it replaces {others}.")
    return _of_record(*edit.decision(memory, name, BY, keep=False)())


def _forget(memory: Memory, asked: ForgetBody) -> Answer:
    from memory_fabric.store.forget import plan  # with the first change

    found = plan.find(memory, asked.what)
    stays = plan.TURN_STAYS if found.turns else plan.STAYS
    if asked.code is None:
        return {"preview": plan.as_json(found) | {"count": len(found), "stays": stays}}
    _require_code(asked.code, found.code, "The matches have changed since this preview")
    count = plan.forget(memory, found, BY)
    if len(found.records) == count == 1:
        return _of_record("forgotten", found.records[0])
    names = ", ".join(one.name for one in found.entities)
    gone = names or ("1 memory" if count == 1 else f"{count} memories")
    return {"done": "forgotten", "said": f"Forgotten: {gone}"}


def _merge(memory: Memory, asked: MergeBody) -> Answer:
    from memory_fabric.store.history import merge  # with the first change

    plan = merge.plan(memory, asked.into, asked.names)
    parts = [
        {
            "name": part.name,
            "type": part.type,
            "observations": part.observations,
            "relations": part.relations,
        }
        for part in (plan.into, *plan.others)
    ]
    code = _code(*(repr(part) for part in (plan.into, *plan.others)))
    if asked.code is None:
        return {"preview": {"into": plan.into.name, "entities": parts, "code": code}}
    _require_code(asked.code, code, "The entities have changed since this preview")
    merge.merge(memory, plan, BY)
    names = ", ".join(part.name for part in plan.others)
    return {"done": "merged", "said": f"{names}: now {plan.into.name}", "into": plan.into.name}


def _undo(memory: Memory, asked: UndoBody) -> Answer:
    named = changes.by_id(memory, asked.id) if asked.id else undoing.last(memory)
    chosen = changes.together(memory, named)
    described = [trace.described(memory, change) for change in chosen]
    code = _code_of(chosen)
    if asked.code is None:
        rows = [trace.as_json(one) | {"because": undoing.prospect(one.change)} for one in described]
        return {"preview": {"id": named.id, "changes": rows, "code": code}}
    _require_code(asked.code, code, "The change is not as it was shown")
    undone = undoing.undo(memory, chosen, BY)
    if not any(one.by for one in undone):
        raise Refused(
            HTTPStatus.CONFLICT,
            "not_undone",
            f"Not undone, {undone[0].because}: {_cleaned(described[0].what)}.",
        )
    done = [one.what for one, fate in zip(described, undone, strict=True) if fate.by]
    left = len(undone) - len(done)
    more = f" and {many(len(done) - 1, 'other change')}" if len(done) > 1 else ""
    stays = f"; {many(left, 'change')} could not be undone" if left else ""
    return {"done": "undone", "said": f"Undone: {done[0].rstrip('.')}{more}{stays}"}


def _require_as_shown(memory: Memory, shown: Shown) -> None:
    """Raise Refused if the record is not as it was shown."""
    record, _, _ = resolve.record_by_id(memory, shown.id)
    if resolve.version_of(record) == shown.version:
        return
    current = resolve.record_json(record) | {
        "version": resolve.version_of(record),
        "when": str(record.evidence.get(WHEN) or ""),
    }
    raise Refused(
        HTTPStatus.CONFLICT,
        "changed",
        f"{short_id(record.id)} was changed since it was shown; nothing was done.",
        "Look at it as it is now, and decide again.",
        field="version",
        more={"current": _as_shown(current)},
    )


def _require_code(given: str, code: str, message: str) -> None:
    if given != code:
        raise Refused(
            HTTPStatus.CONFLICT,
            "changed",
            f"{message}; nothing was done.",
            "Look at a new preview, and confirm that.",
            field="code",
        )


def _of_record(done: str, record: Record, said: str = "") -> Answer:
    said = said or f"{done.capitalize()}: {_named(record)}"
    return {"done": done, "said": said, "record": record.id}


def _named(record: Record) -> str:
    what = cut(one_line(record.what), MAX_SHOWN_CHARS)
    return f"{shown_type(record.type)} {short_id(record.id)}, {what}"


def _undo_of(memory: Memory, batch: str) -> Answer | None:
    """Return the id and code by which a batch is undone; None if it changed nothing."""
    made = changes.of_batch(memory, batch)
    if not any(change.inverse for change in made):
        return None
    return {"id": made[0].id, "code": _code_of(made)}


def _code_of(chosen: Sequence[Change]) -> str:
    return _code(*(f"{change.id} {change.undone}" for change in chosen))


def _code(*parts: str) -> str:
    return f"{checksum(chr(0).join(parts)):08x}"


def _as_shown(value: Any) -> Any:
    """Return a value with every text in it as the page may show it."""
    return _neutral(prefilter.all_without_secrets(value, {}))


def _neutral(value: Any) -> Any:
    if isinstance(value, str):
        return neutralised(value)
    if isinstance(value, dict):
        return {key: _neutral(each) for key, each in value.items()}
    return [_neutral(each) for each in value] if isinstance(value, list | tuple) else value


def _cleaned(text: str) -> str:
    return neutralised(prefilter.without_secrets(text)).rstrip(".")
