"""Execution of tool calls, given a tool's name and arguments; the outcome contains any error as
text. The nine tools of the reference memory server are defined here (contracts MEM-01 … MEM-11).
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from memory_fabric import errors, text
from memory_fabric.domain_config import DOMAIN_KEYS, domain_name
from memory_fabric.models import Provenance
from memory_fabric.recall.agent_domains import domain_for, isolates, stated_name, visible_from
from memory_fabric.recall.filters import KEYS
from memory_fabric.servers import store_thread
from memory_fabric.servers.mcp import graph_view, jsonrpc, memory_tools
from memory_fabric.servers.mcp.jsonrpc import Outcome, as_json
from memory_fabric.servers.mcp.schema import STRING, TOOLS, known_part, problems
from memory_fabric.store.database import Database
from memory_fabric.store.home import callers, switches
from memory_fabric.store.memory import Memory
from memory_fabric.store.queries import graph

Arguments = Mapping[str, Any]
Call = Callable[[Memory, Arguments, Provenance], Outcome]
Calls = Mapping[str, Call]
View = Callable[..., tuple[graph_view.Page, str]]
MAX_NAME_CHARS = 80


def create_entities(memory: Memory, arguments: Arguments, said_by: Provenance) -> Outcome:
    """Create entities and return the new ones; notes list existing and similar names (MEM-01)."""
    result = memory.write("create_entities", {"entities": arguments["entities"]}, said_by)
    merged, variants = result.get("merged", ()), result.get("variants", {})
    counts = ", ".join(f"{m['name']} ({len(m['observations'])})" for m in merged)
    pairs = "; ".join(f"{name} beside {', '.join(others)}" for name, others in variants.items())
    notes = (
        f"Existed already; the new observations were added to: {counts}." if merged else "",
        f"Names that differ only in case, -, _ or spaces: {pairs}." if variants else "",
    )
    return _list_answer(result, "entities", arguments["entities"], *notes)


def create_relations(memory: Memory, arguments: Arguments, said_by: Provenance) -> Outcome:
    """Create relations and return the new ones; a note lists entities created for them (MEM-02)."""
    result = memory.write("create_relations", {"relations": arguments["relations"]}, said_by)
    ends = result.get("created_ends", ())
    note = f"Created missing ends as entities: {', '.join(ends)}." if ends else ""
    return _list_answer(result, "relations", arguments["relations"], note)


def add_observations(memory: Memory, arguments: Arguments, said_by: Provenance) -> Outcome:
    """Add observations; return the new ones. An unknown entity is an error (MEM-03, MEM-04)."""
    result = memory.write("add_observations", {"observations": arguments["observations"]}, said_by)
    pairs = ((o["entityName"], o["contents"]) for o in arguments["observations"])
    requested = [{"entityName": name, "addedObservations": texts} for name, texts in pairs]
    return _list_answer(result, "results", requested)


def read_graph(memory: Memory, arguments: Arguments, _said_by: Provenance) -> Outcome:
    """Return a page of the combined graph of project and user, in creation order (MEM-10)."""
    return _graph_answer(memory, arguments, graph_view.read)


def search_nodes(memory: Memory, arguments: Arguments, _said_by: Provenance) -> Outcome:
    """Return a page of entities that match the query, best match first (MEM-07, MEM-09)."""
    query, enough = arguments["query"], memory.settings.max_results
    found = partial(graph_view.found, query=query, enough=enough)
    # Best matches come first, so half a page is usually enough, which costs only half the tokens.
    return _graph_answer(memory, arguments, found, pages=0.5 if query else 1)


def open_nodes(memory: Memory, arguments: Arguments, _said_by: Provenance) -> Outcome:
    """Return the entities with these names; unknown names are skipped (MEM-07, MEM-08)."""
    return _graph_answer(memory, arguments, partial(graph_view.opened, names=arguments["names"]))


def whole_graph(memory: Memory) -> str:
    """Return the content of the graph resource: the whole graph as JSON (MEM-16)."""
    return as_json(graph_view.as_object(graph.read_all(_readable(memory))))


def _readable(memory: Memory) -> list[Database]:
    """Return the readable databases. Raises StoreUnavailable if there are only unreadable ones."""
    databases = memory.databases()
    if memory.failures and not databases:
        raise errors.StoreUnavailable("", f"The graph cannot be read: {'; '.join(memory.failures)}")
    return databases


def _graph_answer(memory: Memory, arguments: Arguments, view: View, *, pages: float = 1) -> Outcome:
    """Return a page of `view`, `pages` times the usual size; note omissions and failures."""
    start = graph_view.start_of(arguments.get("cursor", ""))
    max_chars = int(pages * memory.settings.max_reply_chars)
    page, not_shown = view(_readable(memory), start=start, max_chars=max_chars)
    notes = [f"A part could not be read: {failure}" for failure in memory.failures]
    if cursor := page.following:
        notes.append(f"Cut to size: {not_shown}. For the rest call again with cursor {cursor}.")
    if page.cut:
        names = ", ".join(text.cut(name, MAX_NAME_CHARS) for name in page.cut)
        notes.append(f"Observations were left out of {names}: open_nodes shows all of one entity.")
    fields = graph_view.as_object(page.graph) | _noted(notes)
    return Outcome((as_json(fields),), fields)


def _noted(notes: Sequence[str]) -> dict[str, str]:
    text_of_notes = " ".join(note for note in notes if note)
    return {"note": text_of_notes} if text_of_notes else {}


def _list_answer(result: Mapping[str, Any], key: str, asked: list[Any], *notes: str) -> Outcome:
    listed = asked if result.get("queued") else list(result[key])
    all_notes = [note for note in (*notes, _queued_note(result)) if note]
    return Outcome((as_json(listed), *all_notes), {key: listed} | _noted(all_notes), changed=True)


def _deleted(
    kind: str, key: str, what: str, memory: Memory, arguments: Arguments, said_by: Provenance
) -> Outcome:
    """Delete the items in `arguments[key]` by the operation `kind`, ignoring missing items. An
    entity's relations are deleted with it. The answer calls the items `what` (MEM-05, MEM-06).
    """
    result = memory.write(kind, {key: arguments[key]}, said_by)
    message = f"{what} deleted successfully"
    notes = tuple(filter(None, (_queued_note(result),)))
    structure = {"success": True, "message": message} | _noted(notes)
    return Outcome((message, *notes), structure, changed=True)


delete_entities = partial(_deleted, "delete_entities", "entityNames", "Entities")
delete_observations = partial(_deleted, "delete_observations", "deletions", "Observations")
delete_relations = partial(_deleted, "delete_relations", "relations", "Relations")


def _queued_note(result: Mapping[str, Any]) -> str:
    accepted = "Accepted and safe on disk, but not in the graph yet:"
    note = f"{accepted} {result.get('because', '')} It is applied as soon as it can be."
    return note if result.get("queued") else ""


CALLS: Calls = {
    "create_entities": create_entities, "create_relations": create_relations,
    "add_observations": add_observations, "delete_entities": delete_entities,
    "delete_observations": delete_observations, "delete_relations": delete_relations,
    "read_graph": read_graph, "search_nodes": search_nodes, "open_nodes": open_nodes,
    "recall": memory_tools.recall, "remember": memory_tools.remember,
    "forget": memory_tools.forget, "history": memory_tools.history,
}  # fmt: skip
# Tools that accept a domain for new statements; isolated agents always use their own domain.
SAYING = frozenset(("create_entities", "create_relations", "add_observations", "remember"))
# Tools that, given a domain, show only this domain, or nothing if the agent may not see it.
READING = frozenset(("read_graph", "search_nodes", "open_nodes"))
SCHEMAS = {tool.name: tool.input for tool in TOOLS}
# `kind` is an alias of the field `type`, as in notes; clients do not see it, to save tokens.
_STATED = SCHEMAS["remember"]
SCHEMAS["remember"] = {**_STATED, "properties": {**_STATED["properties"], "kind": STRING}}
READERS = frozenset(tool.name for tool in TOOLS if tool.reads)
# The maximum number of errors reported; the first error nearly always explains the others.
MAX_PROBLEMS = 10


def complaint(name: str, arguments: Any) -> Outcome | None:
    """Return the error if a call is invalid, in the reference server's wording (MEM-12, MEM-13)."""
    if name not in SCHEMAS:
        return Outcome((f"MCP error -32602: Tool {name} not found",), failed=True)
    complaints = list(problems(SCHEMAS[name], arguments))
    if not complaints and name in SAYING | READING:
        # Schemas of graph tools lack the domain, as in the reference server: validate it here.
        stated = {key: arguments[key] for key in DOMAIN_KEYS if arguments.get(key)}
        schema = {"type": "object", "properties": dict.fromkeys(stated, STRING)}
        complaints = list(problems(schema, stated)) or [
            f"{k}: a name has letters or digits" for k, v in stated.items() if not domain_name(v)
        ]
        if not complaints and len(set(map(domain_name, stated.values()))) > 1:
            complaints.append("domain and expert_domain are one field: state one of them")
    if not complaints:
        return None
    first_complaints = complaints[:MAX_PROBLEMS] + (["…"] if len(complaints) > MAX_PROBLEMS else [])
    head = f"MCP error -32602: Input validation error: Invalid arguments for tool {name}: "
    return Outcome((head + "\n".join(first_complaints),), failed=True)


def stated_domain(arguments: Mapping[str, Any]) -> str:
    """Return the domain in a call's arguments (`domain` or `expert_domain`), or ''."""
    return next((stated_name(arguments[k]) for k in DOMAIN_KEYS if arguments.get(k)), "")


def call(
    memory: Memory, name: str, arguments: Arguments, said_by: Provenance, calls: Calls = CALLS
) -> Outcome:
    """Run a valid call and return its outcome; `calls` maps tools' names to functions."""
    usable = jsonrpc.whole_text(known_part(SCHEMAS[name], arguments))
    if name == "recall":
        # Restore filters, dropped by `known_part`: without them, recall would find too much.
        usable |= jsonrpc.whole_text({key: arguments[key] for key in KEYS if key in arguments})
    if name in SAYING and memory.domains is None:
        said_by = said_by._replace(domain=stated_domain(arguments) or said_by.domain)
    if not memory.settings.reads and name in READERS:
        return Outcome((str(switches.off_error(memory.settings)),), failed=True)
    if name in READING and stated_domain(arguments):
        from memory_fabric.store.scoped_memory import within  # imported late: rarely needed

        memory = within(memory, (stated_domain(arguments),))
    try:
        outcome, notes = calls[name](memory, usable, said_by), store_thread.told(memory)
        if notes and outcome.structure is not None:
            noted = filter(None, (str(outcome.structure.get("note", "")), *notes))
            outcome = outcome._replace(structure={**outcome.structure, "note": " ".join(noted)})
        return outcome._replace(texts=(*outcome.texts, *notes))
    except errors.FabricError as error:
        return Outcome((str(error),), failed=True)
    except Exception as error:  # noqa: BLE001 - one failing call must not take the server with it
        print(f"memory-fabric: {name}: {type(error).__name__}: {error}", file=sys.stderr)  # noqa: T201
        return Outcome((f"MCP error -32603: {type(error).__name__}: {error}",), failed=True)


# Claude Code's metadata key for the id of a tool call (found by observation: decision 0031).
CALL_ID = "claudecode/toolUseId"
UNKNOWN = (
    "config.toml isolates agents, and nobody has noted which agent makes this call: it is not "
    "answered. The hooks of memory-fabric note it; memory-fabric doctor says whether they run."
)
# The name that Claude Code sends in `initialize`; other clients send no call ids.
CLAUDE_CODE = "claude-code"
WITHOUT_ID = (
    "config.toml isolates agents, and Claude Code has not said which call this is: it is not "
    "answered. This release of it may no longer send claudecode/toolUseId: update memory-fabric, "
    "or go back to an earlier release of Claude Code."
)


class RequestHandler:
    """Handler of MCP requests; the client's folder `place` ('': the project's) may set a domain."""

    def __init__(self, said_by: Provenance, place: str, watch: store_thread.Watch) -> None:
        self._said_by, self._place, self._watch = said_by, place, watch

    def call(
        self, memory: Memory, name: str, arguments: Arguments, meta: Arguments | None, client: str
    ) -> Outcome:
        """Run a valid call; its id in `meta` tells which agent of the program `client` makes it.
        Raises FabricError. If agents are isolated, a call with an unknown id is refused, and so is
        a call without an id from Claude Code (other clients have no agents).
        """
        store_thread.renew(memory)  # first, because new settings may isolate domains
        settings, said_by = memory.settings, self._said_by
        if settings.closed:
            raise switches.off_error(settings)
        stated = (meta or {}).get(CALL_ID)
        id_ = stated if isinstance(stated, str) else ""
        # Read from the usual home, even with MEMORY_FILE_PATH: hooks save each call's agent there.
        caller = callers.load(memory.switched_by[0], id_) if id_ else callers.Caller()
        if isolates(settings) and (caller is None or (not id_ and client == CLAUDE_CODE)):
            raise errors.FabricError(UNKNOWN if caller is None else WITHOUT_ID)
        who = caller or callers.Caller()
        domain = domain_for(settings, who.agent_type, self._place or settings.project_dir)
        said_by = said_by._replace(
            session=who.session or said_by.session, agent=who.agent_type, domain=domain.name
        )
        outcome = call(visible_from(memory, domain), name, arguments, said_by)
        if outcome.changed:
            self._watch.told = store_thread.mark_of(memory)
        return outcome

    def whole_graph(self, memory: Memory) -> str:
        """Return the graph as JSON. Raises FabricError if it is unreadable or must not be shown."""
        store_thread.renew(memory)
        settings = memory.settings
        if settings.closed or not settings.reads:
            raise switches.off_error(settings)
        domain = domain_for(settings, "", self._place or settings.project_dir)
        if isolates(settings) and not domain.isolated:
            text = "config.toml isolates agents, and nobody can tell who reads this resource"
            raise errors.FabricError(f"{text}: use the tool read_graph.")
        return whole_graph(visible_from(memory, domain))
