"""The tools as clients see them: names, titles, descriptions, schemas, annotations.

The first nine are the reference memory server's, field by field (MEM-14, MEM-15; compared with the
recorded `tests/contract/memory-server.tools.json`), but for the words of descriptions, and for the
dialect of what comes in, which tells a model nothing; the last four are ours.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from memory_fabric.models import RECORD_TYPES, SCOPES, TYPE_ALIASES

Schema = dict[str, Any]

DIALECT = "http://json-schema.org/draft-07/schema#"
STRING: Schema = {"type": "string"}
BOOLEAN: Schema = {"type": "boolean"}
CURSOR: Schema = {"type": "string", "description": "From a note."}
# `session` records are summaries that hooks write; nobody states one by hand.
STATED_TYPES = sorted((RECORD_TYPES | TYPE_ALIASES.keys()) - {"session"})
MAX_RECALL_LIMIT = 50
MAX_CHANGES = 100


class Tool(NamedTuple):
    """One tool; `output` is empty for tools that answer text only."""

    name: str
    title: str
    description: str
    input: Schema
    output: Schema = {}
    reads: bool = False
    deletes: bool = False
    drop_in: bool = True


def listed(tool: Tool) -> dict[str, Any]:
    """The tool as `tools/list` shows it."""
    wire: dict[str, Any] = {
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "inputSchema": tool.input,
        "annotations": {
            "readOnlyHint": tool.reads,
            "destructiveHint": tool.deletes,
            "idempotentHint": tool.reads or tool.deletes,
            "openWorldHint": False,
        },
    }
    if tool.drop_in:
        wire["execution"] = {"taskSupport": "forbidden"}
    if tool.output:
        wire["outputSchema"] = tool.output
    return wire


def _described(schema: Schema, description: str) -> Schema:
    return {**schema, "description": description}


def _text(description: str) -> Schema:
    return _described(STRING, description)


def _array(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _texts(description: str) -> Schema:
    return _described(_array(STRING), description)


def _object(closed: bool = False, **properties: Schema) -> Schema:
    schema: Schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {**schema, "additionalProperties": False} if closed else schema


def _result(**properties: Schema) -> Schema:
    """A closed object of these properties, with room for a note (nothing that models see else)."""
    schema = {"$schema": DIALECT, **_object(True, **properties)}
    return {**schema, "properties": {**properties, "note": STRING}}


def _paged(**properties: Schema) -> Schema:
    schema = _object(False, **properties)
    return {**schema, "properties": {**properties, "cursor": CURSOR}}


# In results, which no model reads the schema of, as the reference server has them.
_ENTITIES = _array(_object(True, name=STRING, entityType=STRING, observations=_array(STRING)))
# `from` is a word of Python, so the properties are given as a mapping.
_RELATIONS = _array(_object(True, **{"from": STRING, "to": STRING, "relationType": STRING}))
_ADDED = _array(_object(True, entityName=STRING, addedObservations=_array(STRING)))
_GRAPH = _result(entities=_ENTITIES, relations=_RELATIONS)
_SUCCESS = _result(success=BOOLEAN, message=STRING)

# In arguments, for the model.
_FACTS, _EXACT_NAME, _EXACT_NAMES = "One fact each.", "Exact name.", "Exact names."
_NEW_ENTITY = _object(
    name=_text("Unique."),
    entityType=_text("Kind: person."),
    observations=_texts(_FACTS),
)
_RELATION = _object(
    False,
    **{
        "from": _text("Source."),
        "to": _text("Target."),
        "relationType": _text("Verb: uses."),
    },
)

NINE = (
    Tool(
        "create_entities",
        "Create Entities",
        "Create entities; known ones get the observations they lack.",
        _object(entities=_array(_NEW_ENTITY)),
        _result(entities=_ENTITIES),
    ),
    Tool(
        "create_relations",
        "Create Relations",
        "Create relations in active voice (api uses Redis).",
        _object(relations=_array(_RELATION)),
        _result(relations=_RELATIONS),
    ),
    Tool(
        "add_observations",
        "Add Observations",
        "Add observations to entities that exist.",
        _object(
            observations=_array(_object(entityName=_text(_EXACT_NAME), contents=_texts(_FACTS)))
        ),
        _result(results=_ADDED),
    ),
    Tool(
        "delete_entities",
        "Delete Entities",
        "Delete entities with their relations.",
        _object(entityNames=_texts(_EXACT_NAMES)),
        _SUCCESS,
        deletes=True,
    ),
    Tool(
        "delete_observations",
        "Delete Observations",
        "Delete single observations.",
        _object(
            deletions=_array(
                _object(entityName=_text(_EXACT_NAME), observations=_texts("Exact texts."))
            )
        ),
        _SUCCESS,
        deletes=True,
    ),
    Tool(
        "delete_relations",
        "Delete Relations",
        "Delete relations; the entities stay.",
        _object(relations=_array(_RELATION)),
        _SUCCESS,
        deletes=True,
    ),
    Tool(
        "read_graph",
        "Read Graph",
        "Read the whole graph; prefer recall when it is large.",
        {"type": "object", "properties": {"cursor": CURSOR}},
        _GRAPH,
        reads=True,
    ),
    Tool(
        "search_nodes",
        "Search Nodes",
        "Search names, types and observations of entities, best match first.",
        _paged(query=_text("Words or a part; empty: all.")),
        _GRAPH,
        reads=True,
    ),
    Tool(
        "open_nodes",
        "Open Nodes",
        "Open entities by exact name, with their relations.",
        _paged(names=_texts(_EXACT_NAMES)),
        _GRAPH,
        reads=True,
    ),
)

RECALL = Tool(
    "recall",
    "Recall",
    "Search memory: decisions, preferences, problems, the graph, past sessions.",
    {
        "type": "object",
        "properties": {
            "query": _text(
                "Question or words; empty: the newest. Filters: type:decision domain:x agent:x "
                'since:7d "exact phrase".',
            ),
            "metadata_filters": {
                "type": "object",
                "description": "All must hold; a list: any of it. Keys: domain project type agent "
                "scope session category since before.",
            },
            "limit": {
                "type": "integer",
                "minimum": 1,
                "maximum": MAX_RECALL_LIMIT,
                "description": "Hits.",
            },
            "depth": {
                "type": "integer",
                "minimum": 1,
                "maximum": 3,
                "description": "Steps to walk the graph; shows the path.",
            },
        },
        "required": ["query"],
    },
    reads=True,
    drop_in=False,
)

REMEMBER = Tool(
    "remember",
    "Remember",
    "Keep a fix, or what the user decides, prefers, forbids or corrects.",
    {
        "type": "object",
        "properties": {
            "text": _text("One fact in a full sentence."),
            "type": {
                "type": "string",
                "enum": STATED_TYPES,
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
            "pinned": _described(BOOLEAN, "Show at each session start."),
        },
        "required": ["text"],
    },
    drop_in=False,
)

FORGET = Tool(
    "forget",
    "Forget",
    "Forget what the user wants gone. The first call previews it and gives a code.",
    {
        "type": "object",
        "properties": {
            "what": _text("Id, an entity's exact name, or words."),
            "confirm": _text("The code, once the user agreed."),
        },
        "required": ["what"],
    },
    deletes=True,
    drop_in=False,
)

HISTORY = Tool(
    "history",
    "History",
    "Who said this, when, in which session, and what changed since.",
    {
        "type": "object",
        "properties": {
            "name": _text("Entity's name or record's id."),
            "limit": {
                "type": "integer",
                "minimum": 1,
                "maximum": MAX_CHANGES,
                "description": "Changes.",
            },
        },
        "required": ["name"],
    },
    reads=True,
    drop_in=False,
)

TOOLS = (*NINE, RECALL, REMEMBER, FORGET, HISTORY)
