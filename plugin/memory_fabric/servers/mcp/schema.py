"""The definitions of the tools that clients receive, and validation of values against schemas.

The first nine tools are equal to those of the reference memory server, except for the descriptions
and the dialect of the input schemas (MEM-14, MEM-15; a test compares them with the recorded
`tests/contract/memory-server.tools.json`). The last four tools are this project's own.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from memory_fabric.models import SCOPES, STATED_TYPES, TYPE_ALIASES

Schema = dict[str, Any]
STRING: Schema = {"type": "string"}
BOOLEAN: Schema = {"type": "boolean"}
CURSOR: Schema = {"type": "string", "description": "From a note."}


class Tool(NamedTuple):
    """The definition of a tool; `output` is empty if the tool returns only text."""

    name: str
    description: str
    input: Schema
    output: Schema = {}
    reads: bool = False
    deletes: bool = False
    drop_in: bool = True


def listed(tool: Tool) -> dict[str, Any]:
    """Return the definition of a tool in the form in which `tools/list` returns it."""
    hints = {"readOnlyHint": tool.reads, "destructiveHint": tool.deletes}
    hints |= {"idempotentHint": tool.reads or tool.deletes, "openWorldHint": False}
    wire: dict[str, Any] = {"name": tool.name, "title": tool.name.replace("_", " ").title()}
    wire |= {"description": tool.description, "inputSchema": tool.input, "annotations": hints}
    if tool.drop_in:
        wire["execution"] = {"taskSupport": "forbidden"}
    if tool.output:
        wire["outputSchema"] = tool.output
    return wire


def _text(description: str) -> Schema:
    return {**STRING, "description": description}


def _number(most: int, description: str) -> Schema:
    return {"type": "integer", "minimum": 1, "maximum": most, "description": description}


def array(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _texts(description: str) -> Schema:
    return {**array(STRING), "description": description}


def needing(required: Iterable[str], properties: Schema) -> Schema:
    """Return the schema of an object with these properties, of which `required` are mandatory."""
    return {"type": "object", "properties": properties, "required": list(required)}


def whole(**properties: Schema) -> Schema:
    """Return the schema of an object with these properties, all of which are required."""
    return needing(properties, properties)


def _closed(**properties: Schema) -> Schema:
    return {**whole(**properties), "additionalProperties": False}


def _result(**properties: Schema) -> Schema:
    schema = {"$schema": "http://json-schema.org/draft-07/schema#", **_closed(**properties)}
    return {**schema, "properties": {**properties, "note": STRING}}


# Schemas of results, as in the reference server; without descriptions, as models do not see them.
_ENTITIES = array(_closed(name=STRING, entityType=STRING, observations=array(STRING)))
# `from` is a keyword in Python, so these properties cannot be given as keyword arguments.
_RELATIONS = array(_closed(**{"from": STRING, "to": STRING, "relationType": STRING}))
_GRAPH = _result(entities=_ENTITIES, relations=_RELATIONS)
_SUCCESS = _result(success=BOOLEAN, message=STRING)
# Schemas of arguments, with descriptions for the model.
_FACTS, _NAME, _NAMES = _texts("One fact each."), _text("Exact name."), _texts("Exact names.")
_NEW_ENTITY = whole(name=_text("Unique."), entityType=_text("Kind: person."), observations=_FACTS)
_ENDS = {"from": _text("Source."), "to": _text("Target.")}
_RELATION = whole(**_ENDS, relationType=_text("Verb: uses."))
_DELETION = whole(entityName=_NAME, observations=_texts("Exact texts."))
NINE = (
    Tool("create_entities", "Create entities; known ones get the observations they lack.",
         whole(entities=array(_NEW_ENTITY)), _result(entities=_ENTITIES)),
    Tool("create_relations", "Create relations in active voice (api uses Redis).",
         whole(relations=array(_RELATION)), _result(relations=_RELATIONS)),
    Tool("add_observations", "Add observations to entities that exist.",
         whole(observations=array(whole(entityName=_NAME, contents=_FACTS))),
         _result(results=array(_closed(entityName=STRING, addedObservations=array(STRING))))),
    Tool("delete_entities", "Delete entities with their relations.",
         whole(entityNames=_NAMES), _SUCCESS, deletes=True),
    Tool("delete_observations", "Delete single observations.",
         whole(deletions=array(_DELETION)), _SUCCESS, deletes=True),
    Tool("delete_relations", "Delete relations; the entities stay.",
         whole(relations=array(_RELATION)), _SUCCESS, deletes=True),
    Tool("read_graph", "Read the whole graph; prefer recall when it is large.",
         {"type": "object", "properties": {"cursor": CURSOR}}, _GRAPH, reads=True),
    Tool("search_nodes", "Search names, types and observations of entities, best match first.",
         needing(["query"], {"query": _text("Words or a part; empty: all."), "cursor": CURSOR}),
         _GRAPH, reads=True),
    Tool("open_nodes", "Open entities by exact name, with their relations.",
         needing(["names"], {"names": _NAMES, "cursor": CURSOR}), _GRAPH, reads=True),
)  # fmt: skip
_RECALL = {
    "query": _text(
        "Question or words; empty: the newest. Filters: type:decision domain:x agent:x "
        'since:7d "exact phrase".',
    ),
    "metadata_filters": {
        "type": "object",
        "description": "All must hold; a list: any of it. Keys: domain project type agent "
        "scope session category since before.",
    },
    "limit": _number(50, "Hits."),
    "depth": _number(3, "Steps to walk the graph; shows the path."),
}
_REMEMBER = {
    "text": _text("One fact in a full sentence."),
    "type": {
        "type": "string",
        "enum": sorted((*STATED_TYPES, *TYPE_ALIASES)),
        "description": "Kind.",
    },
    "why": _text("The reason."),
    "instead_of": _text("Id it replaces."),
    "when": _text("Command, path or activity."),
    "for": _text("everywhere"),
    "from": _text("User's words."),
    "also": _text("Other words for it."),
    "alternatives": _texts("Rejected."),
    "entities": _texts("Names in it."),
    "scope": {
        "type": "string",
        "enum": list(SCOPES),
        "description": "team (this project; default), user (me, everywhere), local "
        "(this session), global (best practice).",
    },
    "domain": _text("Namespace in the project."),
    "pinned": {**BOOLEAN, "description": "Show at each session start."},
}
_FORGET = {"what": _text("Id, an entity's exact name, or words.")}
_FORGET |= {"confirm": _text("The code, once the user agreed.")}
_HISTORY = {"name": _text("Entity's name or record's id."), "limit": _number(100, "Changes.")}
OWN = (
    Tool("recall", "Search memory: decisions, preferences, problems, the graph, past sessions.",
         needing(["query"], _RECALL), reads=True, drop_in=False),
    Tool("remember", "Keep a fix, or what the user decides, prefers, forbids or corrects.",
         needing(["text"], _REMEMBER), drop_in=False),
    Tool("forget", "Forget what the user wants gone. The first call previews it and gives a code.",
         needing(["what"], _FORGET), deletes=True, drop_in=False),
    Tool("history", "Who said this, when, in which session, and what changed since.",
         needing(["name"], _HISTORY), reads=True, drop_in=False),
)  # fmt: skip
TOOLS = NINE + OWN
# In Python, unlike in JSON, a bool is an int; `_is` distinguishes them.
TYPES = {"string": str, "array": list, "object": dict, "boolean": bool, "integer": int}


def problems(schema: Mapping[str, Any], value: Any, path: str = "") -> Iterator[str]:
    """Yield the errors of a value in the reference server's wording, with JavaScript's type names,
    like `Invalid input: expected string, received number at entities[0].name` (MEM-12). Keywords
    other than type, enum, minimum, maximum, items, properties and required are ignored.
    """
    expected = schema["type"]
    if not _is(expected, value):
        kinds = (name for name in ("boolean", "string", "array", "object") if _is(name, value))
        yield _problem(expected, "null" if value is None else next(kinds, "number"), path)
    elif expected == "object":
        for name, part in schema.get("properties", {}).items():
            place = f"{path}.{name}" if path else name
            if name in value:
                yield from problems(part, value[name], place)
            elif name in schema.get("required", ()):
                yield _problem(part["type"], "undefined", place)
    elif expected == "array":
        for position, item in enumerate(value):
            yield from problems(schema["items"], item, f"{path}[{position}]")
    elif "enum" in schema and value not in schema["enum"]:
        yield _problem(f"one of {', '.join(schema['enum'])}", f"{value!r:.80}", path)
    elif "minimum" in schema and value < schema["minimum"]:
        yield _problem(f"at least {schema['minimum']}", str(value), path)
    elif "maximum" in schema and value > schema["maximum"]:
        yield _problem(f"at most {schema['maximum']}", str(value), path)


def _problem(expected: str, received: str, path: str) -> str:
    return f"Invalid input: expected {expected}, received {received} at {path or 'arguments'}"


def _is(expected: str, value: Any) -> bool:
    return expected == "boolean" if isinstance(value, bool) else isinstance(value, TYPES[expected])


def known_part(schema: Mapping[str, Any], value: Any) -> Any:
    """Return a valid value without the properties that the schema does not list (MEM-12)."""
    if schema["type"] == "array":
        return [known_part(schema["items"], item) for item in value]
    if schema["type"] == "object" and "properties" in schema:
        parts = ((name, part) for name, part in schema["properties"].items() if name in value)
        return {name: known_part(part, value[name]) for name, part in parts}
    return value
