"""The tools of the MCP server on the shared log: those of a local memory, as far as a team has it.

Only what the caller said is forgotten or replaced; what others said stays theirs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from memory_fabric import ids
from memory_fabric.capture.remember import state
from memory_fabric.errors import BadInput, NotFound
from memory_fabric.models import Entity, Graph, Provenance, Relation
from memory_fabric.redaction.prefilter import without_secrets
from memory_fabric.servers.mcp import graph_view, memory_tools
from memory_fabric.servers.mcp import tools as local_tools
from memory_fabric.servers.mcp.jsonrpc import Outcome, as_json, within
from memory_fabric.servers.mcp.tools import Call
from memory_fabric.servers.team import rows, writes
from memory_fabric.servers.team.memory import TeamMemory
from memory_fabric.servers.team.rows import Row
from memory_fabric.sharing.replica import wire
from memory_fabric.store.history.resolve import id_part, looks_like_id
from memory_fabric.store.memory import Memory
from memory_fabric.text import cut, neutralised, one_line

Arguments = Mapping[str, Any]

# Entities on a page, and statements about them; the next page follows with a cursor.
PAGE_ENTITIES, MAX_ABOUT = 50, 2000
MAX_FORGOTTEN = 50
DEFAULT_CHANGES, MAX_TEXT_CHARS = 20, 300
STORED = "Stored in the team's shared log."
NOT_YOURS = "Not replaced, since only its author can:"
SAID_BY_OTHERS = "Others said more of this; only they can take it back: {authors}."


def remember(memory: Memory, arguments: Arguments, said_by: Provenance) -> Outcome:
    """Store a statement for the team; return its id, or the record that repeats it."""
    team = cast("TeamMemory", memory)
    if not any(map(str.isalnum, arguments["text"])):
        raise BadInput("text", "The text is empty.", remedy="State one fact in a full sentence.")
    record = memory_tools.record_in(memory, arguments, said_by.domain)
    by = said_by._replace(trust=memory_tools.REMEMBER_TRUST)
    replaced = _named(team, str(arguments.get("instead_of") or ""))
    own = [row for row in replaced if row.author == team.member]
    stored, is_new = state(memory, record, by, [row.key[2:] for row in own])
    if stored is None:
        return Outcome(("Not stored: it is too uncertain, or only a secret.",))
    head = "Remembered as" if is_new else "Known already:"
    lines = [f"{head} {memory_tools.named_record(stored)}"]
    lines += [f"Replaces {_line(row)}" for row in own if is_new]
    lines += [f"{NOT_YOURS} {_line(row)}" for row in replaced if row not in own]
    return Outcome((within([*lines, STORED], "history shows it."),), changed=True)


def forget(memory: Memory, arguments: Arguments, said_by: Provenance) -> Outcome:
    """Preview which of the caller's statements would be withdrawn; with the code, withdraw them."""
    team = cast("TeamMemory", memory)
    found = _meant(team, arguments["what"])
    mine = [row for row in found if row.author == team.member]
    others = sorted({row.author for row in found if row.author != team.member})
    note = SAID_BY_OTHERS.format(authors=", ".join(others)) if others else ""
    if not mine:
        raise NotFound(
            arguments["what"], f"You said nothing like {arguments['what']!r}.", remedy=note
        )
    code, given = _code(mine), arguments.get("confirm", "")
    if not given:
        lines = [f"- {_line(row)}" for row in mine]
        shown = within([*lines, *([note] if note else [])], "All of these would be forgotten.")
        confirm = f'Nothing is forgotten yet. To forget this, call again with confirm "{code}".'
        return Outcome((f"{shown}\n{confirm}",))
    if given != code:
        raise BadInput(
            "confirm",
            f"The code {given!r} does not fit what this means now; nothing was forgotten.",
            remedy="Look at a new preview, and confirm its code.",
        )
    writes.append(team, [writes.Statement(row.kind, row.key, None) for row in mine])
    kept = "The log keeps what was said for 30 days."
    return Outcome((f"Forgotten: {len(mine)}. {kept} {note}".rstrip(),), changed=True)


def history(memory: Memory, arguments: Arguments, _said_by: Provenance) -> Outcome:
    """Return who said what of an entity or record, the newest first."""
    team = cast("TeamMemory", memory)
    name, limit = arguments["name"], arguments.get("limit", DEFAULT_CHANGES)
    found = _named(team, name) if looks_like_id(name) else team.reader.about([name])
    if not found:
        raise NotFound(name, f"The team knows nothing of {name!r}.", remedy="recall finds names.")
    keys = list(dict.fromkeys(row.key for row in found))
    lines = [
        f"* {at[:16].replace('T', ' ')} {author}: {_text(kind, value)}"
        for author, at, kind, value in team.reader.versions(keys, limit)
    ]
    return Outcome((within(lines, "A lower limit shows the newest."),))


def read_graph(memory: Memory, arguments: Arguments, _said_by: Provenance) -> Outcome:
    """A page of the graph in the order in which entities were stated."""
    reader = cast("TeamMemory", memory).reader
    places = reader.names_after(_place(arguments), PAGE_ENTITIES + 1)
    page = places[:PAGE_ENTITIES]
    following = page[-1][0] if len(places) > len(page) else 0
    return _answer(memory, [name for _, name in page], following, outgoing=True)


def search_nodes(memory: Memory, arguments: Arguments, said_by: Provenance) -> Outcome:
    """Entities that match the query, best first, and what they relate to."""
    if not arguments["query"].strip():
        return read_graph(memory, arguments, said_by)
    names = cast("TeamMemory", memory).reader.named_like(arguments["query"], PAGE_ENTITIES)
    return _answer(memory, names)


def open_nodes(memory: Memory, arguments: Arguments, _said_by: Provenance) -> Outcome:
    """The entities of these names; unknown ones are skipped."""
    return _answer(memory, arguments["names"])


def whole_graph(memory: TeamMemory) -> str:
    """Return the beginning of the graph as JSON, for clients that read the resource."""
    names = [name for _, name in memory.reader.names_after(0, PAGE_ENTITIES)]
    return as_json(graph_view.as_object(_graph(memory, names)))


CALLS: Mapping[str, Call] = {
    **local_tools.CALLS,
    "read_graph": read_graph,
    "search_nodes": search_nodes,
    "open_nodes": open_nodes,
    "remember": remember,
    "forget": forget,
    "history": history,
}


def call(memory: TeamMemory, name: str, arguments: Arguments, said_by: Provenance) -> Outcome:
    """Return the outcome of a call that `servers.mcp.tools.complaint` found nothing wrong with."""
    return local_tools.call(memory, name, arguments, said_by, CALLS)


def _answer(
    memory: Memory, names: Sequence[str], following: int = 0, *, outgoing: bool = False
) -> Outcome:
    graph = _graph(cast("TeamMemory", memory), names, outgoing=outgoing)
    structure = graph_view.as_object(graph)
    if following:
        structure["note"] = f"For the rest call again with cursor {following}."
    return Outcome((as_json(structure),), structure)


def _graph(memory: TeamMemory, names: Sequence[str], *, outgoing: bool = False) -> Graph:
    """Return the entities of these names in their order, and the relations that touch one."""
    types: dict[str, str] = {}
    texts: dict[str, dict[str, None]] = {name: {} for name in names}
    relations: dict[Relation, None] = {}
    for row in memory.reader.about(names, MAX_ABOUT):
        if row.kind == wire.RELATION:
            relation = rows.relation_in(row)
            if relation is not None and (not outgoing or relation.source in texts):
                relations[relation] = None
            continue
        said = rows.said_in(row)
        if said is None:
            continue
        if row.kind == wire.ENTITY:
            types.setdefault(said.name, said.type)
        else:
            texts[said.name][said.text] = None
    known = [name for name in texts if name in types or texts[name]]
    entities = (
        Entity(name, types.get(name, writes.UNKNOWN_TYPE), tuple(texts[name])) for name in known
    )
    return Graph(tuple(entities), tuple(relations))


def _place(arguments: Arguments) -> int:
    cursor = str(arguments.get("cursor") or "0")
    if not (cursor.isascii() and cursor.isdigit() and len(cursor) < 19):
        raise BadInput("cursor", f"{cursor[:40]!r} is no cursor.", remedy="Use one of an answer.")
    return int(cursor)


def _named(memory: TeamMemory, text: str) -> list[Row]:
    """Return the record of an id or its end; none for other texts. Raises NotFound, BadInput."""
    name = text.strip().strip("[]`.'\"")
    if not looks_like_id(name):
        return []
    found = memory.reader.records_ending(id_part(name))
    if not found:
        raise NotFound(name, f"No record has the id {name!r}.", remedy="recall shows ids.")
    if len(found) > 1:
        several = ", ".join(row.key[2:] for row in found)
        raise BadInput("id", f"{name!r} fits several ids: {several}.", remedy="Type more of it.")
    return found


def _meant(memory: TeamMemory, what: str) -> list[Row]:
    """Return what an id, the name of an entity, or the words of a record mean."""
    found = _named(memory, what) or memory.reader.about([what], MAX_FORGOTTEN)
    return found or memory.reader.own_records_with(what)


def _code(found: Iterable[Row]) -> str:
    whole = "\n".join(sorted(row.op_id for row in found))
    return hashlib.sha256(whole.encode()).hexdigest()[:6]


def _line(row: Row) -> str:
    short = f" {ids.short_id(row.key)}" if row.kind == wire.RECORD else ""
    return f"{row.kind}{short} of {row.author}: {_text(row.kind, row.value)}"


def _text(kind: str, value: object) -> str:
    """Return what a value says in one line, for a model or a screen."""
    return neutralised(cut(one_line(without_secrets(rows.said_of(kind, value))), MAX_TEXT_CHARS))
