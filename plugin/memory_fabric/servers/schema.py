"""The tools as clients see them: names, titles, descriptions, schemas, annotations.

The first nine are the reference memory server's, field by field (MEM-14, MEM-15; compared with the
recorded `tests/contract/memory-server.tools.json`); the last four are ours.
"""

from __future__ import annotations

from memory_fabric.models import RECORD_TYPES, SCOPES
from memory_fabric.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Schema = dict[str, Any]

DIALECT = "http://json-schema.org/draft-07/schema#"
STRING: Schema = {"type": "string"}
BOOLEAN: Schema = {"type": "boolean"}
# What it is says the note of an answer that was cut; nobody else needs it.
CURSOR = STRING
# `session` records are summaries that hooks write; nobody states one by hand.
STATED_TYPES = sorted(RECORD_TYPES - {"session"})
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


def _array(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _object(closed: bool = False, **properties: Schema) -> Schema:
    schema: Schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {**schema, "additionalProperties": False} if closed else schema


def _noted(**properties: Schema) -> Schema:
    """A closed object of these properties, with room for a note (nothing that models see else)."""
    schema = _object(True, **properties)
    return {**schema, "properties": {**properties, "note": STRING}}


def _paged(**properties: Schema) -> Schema:
    schema = _object(False, **properties)
    return {**schema, "properties": {**properties, "cursor": CURSOR}}


def _top(schema: Schema) -> Schema:
    return {"$schema": DIALECT, **schema}


def _entity(closed: bool = False) -> Schema:
    return _object(closed, name=STRING, entityType=STRING, observations=_array(STRING))


def _relation(closed: bool = False) -> Schema:
    # `from` is a word of Python, so the properties are given as a mapping.
    return _object(closed, **{"from": STRING, "to": STRING, "relationType": STRING})


def _described(schema: Schema, description: str) -> Schema:
    return {**schema, "description": description}


_GRAPH = _top(_noted(entities=_array(_entity(True)), relations=_array(_relation(True))))
_SUCCESS = _top(_noted(success=BOOLEAN, message=STRING))

NINE = (
    Tool(
        "create_entities",
        "Create Entities",
        "Create entities. Observations for a name that exists are added to it.",
        _top(_object(entities=_array(_entity()))),
        _top(_noted(entities=_array(_entity(True)))),
    ),
    Tool(
        "create_relations",
        "Create Relations",
        "Create relations between entities, in active voice (api uses Redis).",
        _top(_object(relations=_array(_relation()))),
        _top(_noted(relations=_array(_relation(True)))),
    ),
    Tool(
        "add_observations",
        "Add Observations",
        "Add observations, one fact each, to entities that exist.",
        _top(_object(observations=_array(_object(entityName=STRING, contents=_array(STRING))))),
        _top(
            _noted(
                results=_array(_object(True, entityName=STRING, addedObservations=_array(STRING)))
            )
        ),
    ),
    Tool(
        "delete_entities",
        "Delete Entities",
        "Delete entities together with their relations.",
        _top(_object(entityNames=_array(STRING))),
        _SUCCESS,
        deletes=True,
    ),
    Tool(
        "delete_observations",
        "Delete Observations",
        "Delete single observations of entities.",
        _top(_object(deletions=_array(_object(entityName=STRING, observations=_array(STRING))))),
        _SUCCESS,
        deletes=True,
    ),
    Tool(
        "delete_relations",
        "Delete Relations",
        "Delete relations; the entities stay.",
        _top(_object(relations=_array(_relation()))),
        _SUCCESS,
        deletes=True,
    ),
    Tool(
        "read_graph",
        "Read Graph",
        "Read the entire knowledge graph; prefer search_nodes or recall when it is large.",
        _top({"type": "object", "properties": {"cursor": CURSOR}}),
        _GRAPH,
        reads=True,
    ),
    Tool(
        "search_nodes",
        "Search Nodes",
        "Search names, types and observations of entities, best match first; the words need not "
        "stand together.",
        _top(_paged(query=STRING)),
        _GRAPH,
        reads=True,
    ),
    Tool(
        "open_nodes",
        "Open Nodes",
        "Open entities by their exact names, with their relations.",
        _top(_paged(names=_array(STRING))),
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
            "query": _described(
                STRING,
                "Question or words; empty for the newest. May hold filters: type:decision "
                'domain:x agent:x since:2026-01-31 "exact phrase".',
            ),
            "metadata_filters": {
                "type": "object",
                "description": "All must hold; a list: any of it. {domain, project, type, agent, "
                "scope, session, since, before}",
            },
            "limit": {"type": "integer", "minimum": 1, "maximum": MAX_RECALL_LIMIT},
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
            "text": _described(STRING, "What to remember, one fact in a full sentence."),
            "type": {"type": "string", "enum": STATED_TYPES},
            "why": _described(STRING, "The reason."),
            "alternatives": _described(_array(STRING), "What was rejected."),
            "entities": _described(_array(STRING), "Names it is about."),
            "scope": {
                "type": "string",
                "enum": list(SCOPES),
                "description": "team (this project; default), user (me, everywhere), local "
                "(this session), global (best practice).",
            },
            "domain": _described(STRING, "Namespace inside the project."),
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
            "what": _described(STRING, "An id, an entity's exact name, or words."),
            "confirm": _described(STRING, "The code, once the user agreed to the preview."),
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
            "name": _described(STRING, "An entity's name or a record's id."),
            "limit": {"type": "integer", "minimum": 1, "maximum": MAX_CHANGES},
        },
        "required": ["name"],
    },
    reads=True,
    drop_in=False,
)

TOOLS = (*NINE, RECALL, REMEMBER, FORGET, HISTORY)
