"""The nine tools of the reference memory server, on our store (contracts MEM-01 … MEM-11)."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from memory_fabric import errors, text
from memory_fabric.models import Provenance
from memory_fabric.servers.mcp import graph_view
from memory_fabric.servers.mcp.graph_view import Page
from memory_fabric.servers.mcp.jsonrpc import Outcome, as_json
from memory_fabric.store.database import Database
from memory_fabric.store.memory import Memory
from memory_fabric.store.queries import graph

Arguments = Mapping[str, Any]

MAX_NAME_CHARS = 80


def create_entities(memory: Memory, arguments: Arguments, said_by: Provenance) -> Outcome:
    """Return only the new entities; notes list merged observations and name variants (MEM-01)."""
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
    """Return only the new relations; a note lists entities created as their ends (MEM-02)."""
    result = memory.write("create_relations", {"relations": arguments["relations"]}, said_by)
    ends = result.get("created_ends", ())
    note = f"Created missing ends as entities: {', '.join(ends)}." if ends else ""
    return _list_answer(result, "relations", arguments["relations"], note)


def add_observations(memory: Memory, arguments: Arguments, said_by: Provenance) -> Outcome:
    """Return the observations added to each entity; unknown entities fail (MEM-03, MEM-04)."""
    result = memory.write("add_observations", {"observations": arguments["observations"]}, said_by)
    pairs = ((o["entityName"], o["contents"]) for o in arguments["observations"])
    requested = [{"entityName": name, "addedObservations": texts} for name, texts in pairs]
    return _list_answer(result, "results", requested)


def read_graph(memory: Memory, arguments: Arguments, _said_by: Provenance) -> Outcome:
    """Return a page of the combined graph of project and user, in creation order (MEM-10)."""
    return _graph_answer(memory, arguments, graph_view.read)


def search_nodes(memory: Memory, arguments: Arguments, _said_by: Provenance) -> Outcome:
    """Return entities that match the query, best first, with relations (MEM-07, MEM-09)."""
    query, enough = arguments["query"], memory.settings.max_results
    found = partial(graph_view.found, query=query, enough=enough)
    # The best matches come first, so half a page is usually enough, at half the cost.
    return _graph_answer(memory, arguments, found, pages=0.5 if query else 1)


def open_nodes(memory: Memory, arguments: Arguments, _said_by: Provenance) -> Outcome:
    """Return the entities of these names; unknown names are skipped (MEM-07, MEM-08)."""
    return _graph_answer(memory, arguments, partial(graph_view.opened, names=arguments["names"]))


def whole_graph(memory: Memory) -> str:
    """Return the content of the graph resource: the whole graph as JSON (MEM-16)."""
    return as_json(graph_view.as_object(graph.read_all(_readable(memory))))


def _readable(memory: Memory) -> list[Database]:
    """Return the readable databases. Raises StoreUnavailable if some exist but none is readable."""
    databases = memory.databases()
    if memory.failures and not databases:
        raise errors.StoreUnavailable("", f"The graph cannot be read: {'; '.join(memory.failures)}")
    return databases


def _graph_answer(
    memory: Memory, arguments: Arguments, view: Callable[..., tuple[Page, str]], pages: float = 1
) -> Outcome:
    """Return a page of a view as a tool's outcome, with a note about what is missing."""
    start = graph_view.start_of(arguments.get("cursor", ""))
    max_chars = int(pages * memory.settings.max_reply_chars)
    page, not_shown = view(_readable(memory), start=start, max_chars=max_chars)
    notes = [f"A part could not be read: {failure}" for failure in memory.failures]
    if page.following:
        cursor = page.following
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
    """Delete, also relations at either end; succeed even if nothing matched (MEM-05, MEM-06)."""
    result = memory.write(kind, {key: arguments[key]}, said_by)
    message = f"{what} deleted successfully"
    notes = tuple(filter(None, (_queued_note(result),)))
    structure = {"success": True, "message": message} | _noted(notes)
    return Outcome((message, *notes), structure, changed=True)


delete_entities = partial(_deleted, "delete_entities", "entityNames", "Entities")
delete_observations = partial(_deleted, "delete_observations", "deletions", "Observations")
delete_relations = partial(_deleted, "delete_relations", "relations", "Relations")


def _queued_note(result: Mapping[str, Any]) -> str:
    if not result.get("queued"):
        return ""
    return (
        f"Accepted and safe on disk, but not in the graph yet: {result.get('because', '')} "
        "It is applied as soon as it can be."
    )
