"""The MCP tools for a team's shared log. The tools defined here forget or replace only the caller's
own statements, unlike the tools of a local memory. `team` is a TeamMemory.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

from memory_fabric import ids, models
from memory_fabric.capture.remember import state
from memory_fabric.errors import BadInput, NotFound
from memory_fabric.redaction.redact import without_secrets
from memory_fabric.servers.http import guard, team_access, team_rows
from memory_fabric.servers.http import team_memory as writes
from memory_fabric.servers.http.team_memory import TeamMemory
from memory_fabric.servers.mcp import graph_view, memory_tools, sdk_server
from memory_fabric.servers.mcp import tools as local_tools
from memory_fabric.servers.mcp.jsonrpc import Outcome, as_json, within
from memory_fabric.sharing.replica import wire
from memory_fabric.store.history.resolve import id_part, looks_like_id
from memory_fabric.store.operations.rows import UNKNOWN_TYPE
from memory_fabric.text import cut, name_key, neutralised, one_line

Arguments = Mapping[str, Any]
Context = ServerRequestContext[Any]
SAID_BY = models.Provenance(source="mcp", trust="tool")
# Maximum numbers of entities on a page, and of statements about them.
PAGE_ENTITIES, MAX_ABOUT = 50, 2000
DEFAULT_CHANGES, MAX_TEXT_CHARS = 20, 300
SAID_BY_OTHERS = "Others said more of this; only they can take it back: {authors}."


def remember(team: Any, arguments: Arguments, said_by: models.Provenance) -> Outcome:
    """Store a statement for the team; report the new record, or the equal one that exists."""
    record = memory_tools.record_in(team, arguments, said_by.domain)
    by = said_by._replace(trust=memory_tools.REMEMBER_TRUST)
    replaced = _named(team, str(arguments.get("instead_of") or ""))
    own = [row for row in replaced if row.author == team.member]
    stored, is_new = state(team, record, by, [row.key[2:] for row in own])
    if stored is None:
        return Outcome(("Not stored: it is too uncertain, or only a secret.",))
    head = "Remembered as" if is_new else "Known already:"
    lines = [f"{head} {memory_tools.named_record(stored)}"]
    lines += [f"Replaces {_line(row)}" for row in own if is_new]
    kept = [row for row in replaced if row not in own]
    lines += [f"Not replaced, since only its author can: {_line(row)}" for row in kept]
    lines.append("Stored in the team's shared log.")
    return Outcome((within(lines, "history shows it."),), changed=True)


def forget(team: Any, arguments: Arguments, said_by: models.Provenance) -> Outcome:
    """List the caller's matching statements and a code; if called with this code, withdraw them."""
    what = arguments["what"]
    # The text may be an id, the name of an entity, or words of a record.
    rows = _named(team, what) or team.reader.about([what]) or team.reader.own_records_with(what)
    mine = [row for row in rows if row.author == team.member]
    authors = sorted({row.author for row in rows if row.author != team.member})
    note = SAID_BY_OTHERS.format(authors=", ".join(authors)) if authors else ""
    if not mine:
        raise NotFound(what, f"You said nothing like {what!r}.", remedy=note)
    code = hashlib.sha256("\n".join(sorted(row.op_id for row in mine)).encode()).hexdigest()[:6]
    confirmed = arguments.get("confirm", "")
    if not confirmed:
        lines = [f"- {_line(row)}" for row in mine] + ([note] if note else [])
        preview = within(lines, "All of these would be forgotten.")
        confirm = f'Nothing is forgotten yet. To forget this, call again with confirm "{code}".'
        return Outcome((f"{preview}\n{confirm}",))
    if confirmed != code:
        text = f"The code {confirmed!r} does not fit what this means now; nothing was forgotten."
        raise BadInput("confirm", text, remedy="Look at a new preview, and confirm its code.")
    writes.append(team, [writes.Statement(row.kind, row.key, None) for row in mine])
    retention = "The log keeps what was said for 30 days."
    return Outcome((f"Forgotten: {len(mine)}. {retention} {note}".rstrip(),), changed=True)


def history(team: Any, arguments: Arguments, _said_by: models.Provenance) -> Outcome:
    """Return the statements about an entity or a record with their authors, newest first."""
    name, limit = arguments["name"], arguments.get("limit", DEFAULT_CHANGES)
    rows = _named(team, name) if looks_like_id(name) else team.reader.about([name])
    if not rows:
        raise NotFound(name, f"The team knows nothing of {name!r}.", remedy="recall finds names.")
    keys = list(dict.fromkeys(row.key for row in rows))
    lines = [
        f"* {at[:16].replace('T', ' ')} {author}: {_text(kind, value)}"
        for author, at, kind, value in team.reader.versions(keys, limit)
    ]
    return Outcome((within(lines, "A lower limit shows the newest."),))


def read_graph(team: Any, arguments: Arguments, _said_by: models.Provenance) -> Outcome:
    """Return one page of the graph, in the order in which the entities were created."""
    cursor = str(arguments.get("cursor") or "0")
    if not (cursor.isascii() and cursor.isdigit() and len(cursor) < 19):
        raise BadInput("cursor", f"{cursor[:40]!r} is no cursor.", remedy="Use one of an answer.")
    places = team.reader.names_after(int(cursor), PAGE_ENTITIES + 1)
    page = places[:PAGE_ENTITIES]
    following = page[-1][0] if len(places) > len(page) else 0
    return _answer(team, [name for _, name in page], following, outgoing=True)


def search_nodes(team: Any, arguments: Arguments, said_by: models.Provenance) -> Outcome:
    """Return the entities that match the query, best match first, and their relations."""
    if not arguments["query"].strip():
        return read_graph(team, arguments, said_by)
    return _answer(team, team.reader.named_like(arguments["query"], PAGE_ENTITIES))


def open_nodes(team: Any, arguments: Arguments, _said_by: models.Provenance) -> Outcome:
    """Return the entities with these names and their relations; unknown names are skipped."""
    return _answer(team, arguments["names"])


def whole_graph(memory: TeamMemory) -> str:
    """Return the first page of the graph as JSON, for clients that read the graph resource."""
    names = [name for _, name in memory.reader.names_after(0, PAGE_ENTITIES)]
    return as_json(graph_view.as_object(_graph(memory, names)))


CALLS: Mapping[str, local_tools.Call] = {
    **local_tools.CALLS, "remember": remember, "forget": forget, "history": history,
    "read_graph": read_graph, "search_nodes": search_nodes, "open_nodes": open_nodes,
}  # fmt: skip


def _answer(
    memory: TeamMemory, names: Sequence[str], following: int = 0, *, outgoing: bool = False
) -> Outcome:
    structure = graph_view.as_object(_graph(memory, names, outgoing=outgoing))
    if following:
        structure["note"] = f"For the rest call again with cursor {following}."
    return Outcome((as_json(structure),), structure)


def _graph(memory: TeamMemory, names: Sequence[str], *, outgoing: bool = False) -> models.Graph:
    """Return these entities in this order, with their relations (outgoing ones if `outgoing`)."""
    types: dict[str, str] = {}
    texts: dict[str, dict[str, None]] = {team_rows.shown_name(name): {} for name in names}
    # A name in the log may differ from the shown one, for example by two blanks in a row.
    stated = (name for _, name, _ in memory.reader.meant(map(name_key, texts)))
    alike = (name for name in stated if team_rows.shown_name(name) in texts)
    relations: dict[models.Relation, None] = {}
    for row in memory.reader.about([*names, *alike], MAX_ABOUT):
        if row.kind == wire.RELATION:
            relation = team_rows.relation_in(row)
            if relation is not None and (not outgoing or relation.source in texts):
                relations[relation] = None
            continue
        if (statement := team_rows.said_in(row)) is None:
            continue
        if row.kind == wire.ENTITY:
            types.setdefault(statement.name, statement.type)
        else:
            texts[statement.name][statement.text] = None
    entities = (
        models.Entity(name, types.get(name, UNKNOWN_TYPE), tuple(remarks))
        for name, remarks in texts.items()
        if name in types or remarks
    )
    return models.Graph(tuple(entities), tuple(relations))


def _named(memory: TeamMemory, text: str) -> list[team_rows.Row]:
    """Return the record whose id ends with `text`; [] if not an id. Raises NotFound, BadInput."""
    name = text.strip().strip("[]`.'\"")
    if not looks_like_id(name):
        return []
    rows = memory.reader.fetched(memory.reader.ids("records_ending", id_part(name)))
    if not rows:
        raise NotFound(name, f"No record has the id {name!r}.", remedy="recall shows ids.")
    if len(rows) > 1:
        several = ", ".join(row.key[2:] for row in rows)
        raise BadInput("id", f"{name!r} fits several ids: {several}.", remedy="Type more of it.")
    return rows


def _line(row: team_rows.Row) -> str:
    short = f" {ids.short_id(row.key)}" if row.kind == wire.RECORD else ""
    return f"{row.kind}{short} of {row.author}: {_text(row.kind, row.value)}"


def _text(kind: str, value: object) -> str:
    text = one_line(without_secrets(team_rows.said_of(kind, value)))
    return neutralised(cut(text, MAX_TEXT_CHARS))


class _Failed(Exception):
    """An exception with the result of a failed tool call; raising it rolls the transaction back."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__()
        self.outcome = outcome


def manager(access: team_access.Access, max_bytes: int) -> StreamableHTTPSessionManager:
    """Return the handler of MCP requests, without sessions: any process may get any request."""

    async def call_tool(context: Context, params: types.CallToolRequestParams) -> dict[str, Any]:
        async def answer(name: str, arguments: dict[str, Any]) -> Outcome:
            def job(memory: TeamMemory) -> Outcome:
                outcome = local_tools.call(memory, name, arguments, SAID_BY, CALLS)
                if outcome.failed and memory.reader.failed is None:
                    raise _Failed(outcome)  # rolls the transaction back
                return outcome  # if `reader.failed` is set, `access` raises this database error

            ask = access.read if name in local_tools.READERS else access.ask
            try:
                return await ask(_holder(context), job)
            except _Failed as failed:
                return failed.outcome

        return await sdk_server.called(params, answer)

    async def read_resource(
        context: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        holder = _holder(context)
        return await sdk_server.resource_read(params, lambda: access.read(holder, whole_graph))

    server = sdk_server.server_of(call_tool, on_read_resource=read_resource)
    return StreamableHTTPSessionManager(
        server, json_response=True, stateless=True, max_request_body_size=max_bytes
    )


def _holder(context: Context) -> str:
    return str(context.request.scope[guard.HOLDER])  # type: ignore[union-attr]
