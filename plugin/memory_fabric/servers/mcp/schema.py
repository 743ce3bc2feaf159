"""The tools as clients see them: names, titles, descriptions, schemas, annotations.

The first nine are the reference memory server's, field by field (MEM-14, MEM-15; compared with the
recorded `tests/contract/memory-server.tools.json`), but for the words of descriptions, and for the
dialect of what comes in, which tells a model nothing; the last four are ours.
"""

from __future__ import annotations

from memory_fabric.models import RECORD_TYPES, SCOPES, TYPE_ALIASES
from memory_fabric.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Schema = dict[str, Any]

DIALECT = "http://json-schema.org/draft-07/schema#"
STRING: Schema = {"type": "string"}
BOOLEAN: Schema = {"type": "boolean"}
CURSOR: Schema = {"type": "string", "description": "From a note."}
# `session` records are summaries that hooks write; nobody states one by hand.
STATED_TYPES = sorted((RECORD_TYPES | TYPE_ALIASES.keys()) - {"session"})
MAX_RECALL_LIMIT = 50
MAX_CHANGES = 100


class Tool(Value):
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
_FACTS, _EXACT_NAME, _EXACT_NAMES = "Facts, one each.", "Its exact name.", "Exact names."
_NEW_ENTITY = _object(
    name=_text("Unique name."),
    entityType=_text("Its kind: person."),
    observations=_texts(_FACTS),
)
_RELATION = _object(
    False,
    **{
        "from": _text("Source entity."),
        "to": _text("Target entity."),
        "relationType": _text("Verb: uses."),
    },
)

NINE = (
    Tool(
        "create_entities",
        "Create Entities",
        "Create entities. Observations for a name that exists are added to it.",
        _object(entities=_array(_NEW_ENTITY)),
        _result(entities=_ENTITIES),
    ),
    Tool(
        "create_relations",
        "Create Relations",
        "Create relations between entities, in active voice (api uses Redis).",
        _object(relations=_array(_RELATION)),
        _result(relations=_RELATIONS),
    ),
    Tool(
        "add_observations",
        "Add Observations",
        "Add observations, one fact each, to entities that exist.",
        _object(
            observations=_array(_object(entityName=_text(_EXACT_NAME), contents=_texts(_FACTS)))
        ),
        _result(results=_ADDED),
    ),
    Tool(
        "delete_entities",
        "Delete Entities",
        "Delete entities together with their relations.",
        _object(entityNames=_texts(_EXACT_NAMES)),
        _SUCCESS,
        deletes=True,
    ),
    Tool(
        "delete_observations",
        "Delete Observations",
        "Delete single observations of entities.",
        _object(
            deletions=_array(
                _object(entityName=_text(_EXACT_NAME), observations=_texts("Their exact texts."))
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
        "Read the entire knowledge graph; prefer search_nodes or recall when it is large.",
        {"type": "object", "properties": {"cursor": CURSOR}},
        _GRAPH,
        reads=True,
    ),
    Tool(
        "search_nodes",
        "Search Nodes",
        "Search names, types and observations of entities, best match first; the words need not "
        "stand together.",
        _paged(query=_text("Words or a part; empty: all.")),
        _GRAPH,
        reads=True,
    ),
    Tool(
        "open_nodes",
        "Open Nodes",
        "Open entities by their exact names, with their relations.",
        _paged(names=_texts(_EXACT_NAMES)),
        _GRAPH,
        reads=True,
    ),
)

RECALL = Tool(
    "recall",
    "Recall",
    "Search everything remembered: decisions, preferences, problems, the graph, past sessions.",
    {
        "type": "object",
        "properties": {
            "query": _text(
                "Question or words; empty for the newest. May hold filters: type:decision "
                'domain:x agent:x since:2026-01-31 "exact phrase".',
            ),
            "metadata_filters": {
                "type": "object",
                "description": "All must hold; a list: any of it. {domain, project, type, agent, "
                "scope, session, category, since, before}",
            },
            "limit": {
                "type": "integer",
                "minimum": 1,
                "maximum": MAX_RECALL_LIMIT,
                "description": "Most hits.",
            },
            "depth": {
                "type": "integer",
                "minimum": 1,
                "maximum": 3,
                "description": "Walk the graph so many steps; shows the path.",
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
    "Keep one decision, preference, constraint, problem or solution for later sessions.",
    {
        "type": "object",
        "properties": {
            "text": _text("What to remember, one fact in a full sentence."),
            "type": {
                "type": "string",
                "enum": STATED_TYPES,
                "description": "Kind of fact.",
            },
            "kind": _text("Same as type."),
            "why": _text("The reason."),
            "instead_of": _text("Id it replaces."),
            "when": _text("Command, path or activity."),
            "for": _text("everywhere"),
            "from": _text("User's words."),
            "also": _text("Other words for it."),
            "alternatives": _texts("What was rejected."),
            "entities": _texts("Names it is about."),
            "scope": {
                "type": "string",
                "enum": list(SCOPES),
                "description": "team (this project; default), user (me, everywhere), local "
                "(this session), global (best practice).",
            },
            "domain": _text("Namespace inside the project."),
            "pinned": _described(BOOLEAN, "Show at every session start."),
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
            "what": _text("An id, an entity's exact name, or words."),
            "confirm": _text("The code, once the user agreed to the preview."),
        },
        "required": ["what"],
    },
    deletes=True,
    drop_in=False,
)

HISTORY = Tool(
    "history",
    "History",
    "Why is this known: who said it, when, in which session, and what changed since.",
    {
        "type": "object",
        "properties": {
            "name": _text("An entity's name or a record's id."),
            "limit": {
                "type": "integer",
                "minimum": 1,
                "maximum": MAX_CHANGES,
                "description": "Most changes.",
            },
        },
        "required": ["name"],
    },
    reads=True,
    drop_in=False,
)

TOOLS = (*NINE, RECALL, REMEMBER, FORGET, HISTORY)
