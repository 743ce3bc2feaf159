"""From a tool's name and arguments to its outcome; every error is a text."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from memory_fabric.domain_config import DOMAIN_KEYS, domain_name
from memory_fabric.errors import FabricError
from memory_fabric.models import Provenance
from memory_fabric.recall.agent_domains import stated_name
from memory_fabric.servers import store_thread
from memory_fabric.servers.mcp import graph_tools, history_tools, memory_tools
from memory_fabric.servers.mcp.jsonrpc import Outcome, failure, whole_text, with_notes
from memory_fabric.servers.mcp.schema import STRING, TOOLS
from memory_fabric.store import switches
from memory_fabric.store.memory import Memory

Call = Callable[[Memory, Mapping[str, Any], Provenance], Outcome]

CALLS: Mapping[str, Call] = {
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
    "forget": history_tools.forget,
    "history": history_tools.history,
}
# What these say may lie in a stated domain; `expert_domain` is another name of `domain`. One who is
# isolated states none: what he says lies in his own.
SAYING = frozenset(("create_entities", "create_relations", "add_observations", "remember"))
# These show one domain alone if they are given one; within a caller's own bounds.
READING = frozenset(("read_graph", "search_nodes", "open_nodes"))
SCHEMAS = {tool.name: tool.input for tool in TOOLS}
# Another name of `type`, as notes have it; it is not listed, to save tokens.
_STATED = SCHEMAS["remember"]
SCHEMAS["remember"] = {**_STATED, "properties": {**_STATED["properties"], "kind": STRING}}
READERS = frozenset(tool.name for tool in TOOLS if tool.reads)
# More would bury the first, which is nearly always the one that explains the others.
MAX_PROBLEMS = 10


def complaint(name: str, arguments: Any) -> Outcome | None:
    """Return the error of an invalid call in the reference server's words (MEM-12, MEM-13)."""
    if name not in SCHEMAS:
        return failure(f"MCP error -32602: Tool {name} not found")
    complaints = list(problems(SCHEMAS[name], arguments))
    complaints += _domain_problems(arguments) if name in SAYING | READING and not complaints else []
    if not complaints:
        return None
    first_complaints = complaints[:MAX_PROBLEMS] + (["…"] if len(complaints) > MAX_PROBLEMS else [])
    return failure(
        f"MCP error -32602: Input validation error: Invalid arguments for tool {name}: "
        + "\n".join(first_complaints)
    )


def stated_domain(arguments: Mapping[str, Any]) -> str:
    """The domain that a call states under either of its names; '' for none."""
    return next((stated_name(arguments[k]) for k in DOMAIN_KEYS if arguments.get(k)), "")


def _domain_problems(arguments: Mapping[str, Any]) -> list[str]:
    """Return the errors of a stated domain, a field that the reference server does not have."""
    stated = {key: arguments[key] for key in DOMAIN_KEYS if arguments.get(key)}
    schema = {"type": "object", "properties": dict.fromkeys(stated, STRING)}
    complaints = list(problems(schema, stated))
    if complaints:
        return complaints
    complaints = [
        f"{k}: a name has letters or digits" for k, v in stated.items() if not domain_name(v)
    ]
    if len(set(map(domain_name, stated.values()))) > 1:
        complaints.append("domain and expert_domain are one field: state one of them")
    return complaints


def call(
    memory: Memory,
    name: str,
    arguments: Mapping[str, Any],
    said_by: Provenance,
    calls: Mapping[str, Call] = CALLS,
) -> Outcome:
    """The outcome of a call that `complaint` found nothing wrong with; `calls` are the tools."""
    usable = whole_text(known_part(SCHEMAS[name], arguments))
    if name == "recall":
        from memory_fabric.recall.filters import KEYS  # late: a client may never ask

        # Dropped, as what no schema lists is, they would widen what is searched.
        usable |= whole_text({key: arguments[key] for key in KEYS if key in arguments})
    if name in SAYING and memory.domains is None:
        said_by = said_by._replace(domain=stated_domain(arguments) or said_by.domain)
    if not memory.settings.reads and name in READERS:
        return failure(str(switches.off_error(memory.settings)))
    if name in READING and stated_domain(arguments):
        # late: few calls name a domain
        from memory_fabric.store.scoped_memory import within

        memory = within(memory, (stated_domain(arguments),))
    try:
        outcome = calls[name](memory, usable, said_by)
        return with_notes(outcome, store_thread.told(memory))
    except FabricError as error:
        return failure(str(error))
    except Exception as error:  # noqa: BLE001 - one failing call must not take the server with it
        print(f"memory-fabric: {name}: {type(error).__name__}: {error}", file=sys.stderr)  # noqa: T201
        return failure(f"MCP error -32603: {type(error).__name__}: {error}")


# bool is an int in Python and is not one in JSON; `_is` keeps them apart.
TYPES: Mapping[str, type] = {
    "string": str,
    "array": list,
    "object": dict,
    "boolean": bool,
    "integer": int,
}


def problems(schema: Mapping[str, Any], value: Any, path: str = "") -> Iterator[str]:
    """Yield the errors of a value in the words of the reference server.

    For example `Invalid input: expected string, received number at entities[0].name`.

    Understands type, enum, minimum, maximum, items, properties, required. Keys the schema does not
    name are ignored (MEM-12).
    """
    expected = schema["type"]
    if not _is(expected, value):
        yield _problem(expected, _type_of(value), path)
    elif expected == "object":
        yield from _object_problems(schema, value, path)
    elif expected == "array":
        for position, item in enumerate(value):
            yield from problems(schema["items"], item, f"{path}[{position}]")
    else:
        yield from _value_problems(schema, value, path)


def _object_problems(schema: Mapping[str, Any], value: dict[str, Any], path: str) -> Iterator[str]:
    for name, part in schema.get("properties", {}).items():
        place = f"{path}.{name}" if path else name
        if name in value:
            yield from problems(part, value[name], place)
        elif name in schema.get("required", ()):
            yield _problem(part["type"], "undefined", place)


def _value_problems(schema: Mapping[str, Any], value: Any, path: str) -> Iterator[str]:
    if "enum" in schema and value not in schema["enum"]:
        yield _problem(f"one of {', '.join(schema['enum'])}", f"{value!r:.80}", path)
    if "minimum" in schema and value < schema["minimum"]:
        yield _problem(f"at least {schema['minimum']}", str(value), path)
    if "maximum" in schema and value > schema["maximum"]:
        yield _problem(f"at most {schema['maximum']}", str(value), path)


def _problem(expected: str, received: str, path: str) -> str:
    return f"Invalid input: expected {expected}, received {received} at {path or 'arguments'}"


def _is(expected: str, value: Any) -> bool:
    if isinstance(value, bool):
        return expected == "boolean"
    return isinstance(value, TYPES[expected])


def _type_of(value: Any) -> str:
    """The type's name in JavaScript's words."""
    if value is None:
        return "null"
    kinds = (name for name in ("boolean", "string", "array", "object") if _is(name, value))
    return next(kinds, "number")


def known_part(schema: Mapping[str, Any], value: Any) -> Any:
    """A valid value without the object keys that the schema does not name (MEM-12); of an object
    of which it names none, all.
    """
    if schema["type"] == "array":
        return [known_part(schema["items"], item) for item in value]
    if schema["type"] == "object" and "properties" in schema:
        properties = schema["properties"]
        return {
            name: known_part(properties[name], value[name]) for name in properties if name in value
        }
    return value
