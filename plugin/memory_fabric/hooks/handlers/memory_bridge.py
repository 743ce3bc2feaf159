"""PostToolUse of other MCP servers' memory tools: copy the created entries to this memory."""

from collections.abc import Mapping
from typing import Any

from memory_fabric import events
from memory_fabric.clients.settings import is_our_server
from memory_fabric.errors import NotFound, StoreUnavailable
from memory_fabric.recall.request_context import RequestContext
from memory_fabric.store import write
from memory_fabric.store.memory import Memory
from memory_fabric.store.queries import graph

OUR_SERVERS = frozenset(("plugin:memory-fabric:memory", "memory-fabric"))
# For each copied tool: the input field that lists the items, and the keys that an item must have.
LISTS = {
    "create_entities": ("entities", ("name", "entityType")),
    "create_relations": ("relations", ("from", "to", "relationType")),
    "add_observations": ("observations", ("entityName",)),
}


def handle(event: events.Event, context: RequestContext) -> None:
    """Store the entries created by a call to another MCP server, unless memory has them."""
    name = event.text("tool_name")
    kind = name.rsplit("__", 1)[-1]
    server = events.mcp_server(event)
    is_ours = server in OUR_SERVERS or name.startswith("mcp__plugin_memory-fabric_memory__")
    if is_ours or kind not in LISTS or not name.startswith("mcp__"):
        return
    server = server or name.removeprefix("mcp__").rpartition("__")[0]
    if is_our_server(server, context.memory.settings):
        return
    field, needed = LISTS[kind]
    items = events.tool_input(event).get(field)
    usable = []
    for item in items if isinstance(items, list) else ():
        if isinstance(item, dict) and all(isinstance(item.get(n), str) for n in needed):
            lists = {name: item.get(name) for name in ("observations", "contents")}
            texts = {
                name: [t for t in values if isinstance(t, str)] if isinstance(values, list) else []
                for name, values in lists.items()
            }
            usable.append({**item, **texts})
    payload = {field: usable} if usable else {}
    if not payload or _is_known(context.memory, kind, payload):
        return
    by = context.by("mcp", event.session, "tool")
    try:
        context.memory.write(kind, payload, by)
    except NotFound:
        # Entities may exist only on the other server, so create them with their observations.
        entities = [
            {"name": item["entityName"], "entityType": "unknown", "observations": item["contents"]}
            for item in payload["observations"]
        ]
        context.memory.write("create_entities", {"entities": entities}, by)


def _is_known(memory: Memory, kind: str, payload: Mapping[str, Any]) -> bool:
    items = write.cleaned(payload)[LISTS[kind][0]]
    ends = ("name", "entityName", "from", "to")
    names = list(dict.fromkeys(item[end] for item in items for end in ends if end in item))
    try:
        parts = [graph.open_nodes(database, names) for database in memory.databases()]
    except StoreUnavailable:
        return False  # memory cannot be read now, so let the write be queued
    entities = graph.by_name(p.entities for p in parts).values()
    observations_of = {e.name: set(e.observations) for e in entities}
    links = {(r.source, r.type, r.target) for part in parts for r in part.relations}
    if kind == "create_relations":
        return all((i["from"], i["relationType"], i["to"]) in links for i in items)
    return all(
        (name := item.get("name", item.get("entityName"))) in observations_of
        and observations_of[name].issuperset((*item["observations"], *item["contents"]))
        for item in items
    )
