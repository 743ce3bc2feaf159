"""Tool calls: from a tool's name and arguments to its outcome; every error is a text."""

import sys
from collections.abc import Callable, Mapping
from typing import Any

from memory_fabric.domain_config import DOMAIN_KEYS, domain_name
from memory_fabric.errors import FabricError
from memory_fabric.models import Provenance
from memory_fabric.recall.agent_domains import domain_for, isolates, stated_name, visible_from
from memory_fabric.recall.filters import KEYS
from memory_fabric.servers import store_thread
from memory_fabric.servers.mcp import graph_tools, memory_tools
from memory_fabric.servers.mcp.jsonrpc import Outcome, failure, whole_text, with_notes
from memory_fabric.servers.mcp.schema import STRING, TOOLS, known_part, problems
from memory_fabric.store.home import callers, switches
from memory_fabric.store.memory import Memory

Arguments = Mapping[str, Any]
Call = Callable[[Memory, Arguments, Provenance], Outcome]

Calls = Mapping[str, Call]

CALLS: Calls = {
    "create_entities": graph_tools.create_entities,
    "create_relations": graph_tools.create_relations,
    "add_observations": graph_tools.add_observations,
    "delete_entities": graph_tools.delete_entities,
    "delete_observations": graph_tools.delete_observations,
    "delete_relations": graph_tools.delete_relations,
    "read_graph": graph_tools.read_graph,
    "search_nodes": graph_tools.search_nodes,
    "open_nodes": graph_tools.open_nodes,
    "recall": memory_tools.recall,
    "remember": memory_tools.remember,
    "forget": memory_tools.forget,
    "history": memory_tools.history,
}
# Tools whose statements may specify a domain; isolated callers may use only their own.
SAYING = frozenset(("create_entities", "create_relations", "add_observations", "remember"))
# Tools that show only one domain if it is specified, within the caller's isolation.
READING = frozenset(("read_graph", "search_nodes", "open_nodes"))
SCHEMAS = {tool.name: tool.input for tool in TOOLS}
# Another name of the field `type`, as in notes; it is not listed, to save tokens.
_STATED = SCHEMAS["remember"]
SCHEMAS["remember"] = {**_STATED, "properties": {**_STATED["properties"], "kind": STRING}}
READERS = frozenset(tool.name for tool in TOOLS if tool.reads)
# The most problems reported; the first nearly always explains the others.
MAX_PROBLEMS = 10


def complaint(name: str, arguments: Any) -> Outcome | None:
    """Return the error of an invalid call, worded like the reference server's (MEM-12, MEM-13)."""
    if name not in SCHEMAS:
        return failure(f"MCP error -32602: Tool {name} not found")
    complaints = list(problems(SCHEMAS[name], arguments))
    if not complaints and name in SAYING | READING:
        # The domain is a field that the reference server does not have.
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
    return failure(head + "\n".join(first_complaints))


def stated_domain(arguments: Mapping[str, Any]) -> str:
    """Return the domain that a call states under either of the field's names, or ''."""
    return next((stated_name(arguments[k]) for k in DOMAIN_KEYS if arguments.get(k)), "")


def call(
    memory: Memory, name: str, arguments: Arguments, said_by: Provenance, calls: Calls = CALLS
) -> Outcome:
    """Return the outcome of a valid call; `calls` maps the tools to their functions."""
    usable = whole_text(known_part(SCHEMAS[name], arguments))
    if name == "recall":
        # These filters are not in the schema; without them, the search would be too wide.
        usable |= whole_text({key: arguments[key] for key in KEYS if key in arguments})
    if name in SAYING and memory.domains is None:
        said_by = said_by._replace(domain=stated_domain(arguments) or said_by.domain)
    if not memory.settings.reads and name in READERS:
        return failure(str(switches.off_error(memory.settings)))
    if name in READING and stated_domain(arguments):
        from memory_fabric.store.scoped_memory import within  # late: few calls specify a domain

        memory = within(memory, (stated_domain(arguments),))
    try:
        return with_notes(calls[name](memory, usable, said_by), store_thread.told(memory))
    except FabricError as error:
        return failure(str(error))
    except Exception as error:  # noqa: BLE001 - one failing call must not take the server with it
        print(f"memory-fabric: {name}: {type(error).__name__}: {error}", file=sys.stderr)  # noqa: T201
        return failure(f"MCP error -32603: {type(error).__name__}: {error}")


# The metadata key for the id of a tool call in Claude Code (measured: decision 0031).
CALL_ID = "claudecode/toolUseId"
UNKNOWN = (
    "config.toml isolates agents, and nobody has noted which agent makes this call: it is not "
    "answered. The hooks of memory-fabric note it; memory-fabric doctor says whether they run."
)
# The name that Claude Code sends in `initialize`; other clients have no call ids and no agents.
CLAUDE_CODE = "claude-code"
WITHOUT_ID = (
    "config.toml isolates agents, and Claude Code has not said which call this is: it is not "
    "answered. This release of it may no longer send claudecode/toolUseId: update memory-fabric, "
    "or go back to an earlier release of Claude Code."
)


class RequestHandler:
    """Handler of MCP requests to a memory, independent of the transport.

    `said_by` is the provenance of writes; `place` is the clients' folder if it differs from the
    memory's. Changes that these calls make are not reported to `watch`.
    """

    def __init__(self, said_by: Provenance, place: str, watch: store_thread.Watch) -> None:
        self._said_by, self._place, self._watch = said_by, place, watch

    def call(
        self, memory: Memory, name: str, arguments: Arguments, meta: Arguments | None, client: str
    ) -> Outcome:
        """Return the outcome of a valid call of a tool. Raises FabricError.

        A call without an id in `meta` does not come from an agent, unless clients of this name have
        agents.
        """
        # first, because domains may have been isolated since
        store_thread.renew(memory)
        settings, said_by = memory.settings, self._said_by
        if settings.closed:
            raise switches.off_error(settings)
        stated = (meta or {}).get(CALL_ID)
        id_ = stated if isinstance(stated, str) else ""
        # Callers are recorded in the shared home; with MEMORY_FILE_PATH, this memory's own home
        # lies within it.
        caller = callers.load(memory.switched_by[0], id_) if id_ else callers.Caller()
        if isolates(settings) and (caller is None or (not id_ and client == CLAUDE_CODE)):
            raise FabricError(UNKNOWN if caller is None else WITHOUT_ID)
        who = caller or callers.Caller()
        domain = domain_for(settings, who.agent_type, self._place or settings.project_dir)
        said_by = said_by._replace(
            session=who.session or said_by.session, agent=who.agent_type, domain=domain.name
        )
        outcome = call(visible_from(memory, domain), name, arguments, said_by)
        if outcome.changed:
            self._watch.is_told(store_thread.mark_of(memory))
        return outcome

    def whole_graph(self, memory: Memory) -> str:
        """Return the graph as JSON. Raises FabricError if it may not be shown or is unreadable."""
        store_thread.renew(memory)
        settings = memory.settings
        if settings.closed or not settings.reads:
            raise switches.off_error(settings)
        domain = domain_for(settings, "", self._place or settings.project_dir)
        if isolates(settings) and not domain.isolated:
            raise FabricError(
                "config.toml isolates agents, and nobody can tell who reads this resource: use the "
                "tool read_graph."
            )
        return graph_tools.whole_graph(visible_from(memory, domain))
