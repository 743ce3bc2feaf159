"""Any sequence of the nine tools against a plain model of the reference's graph.

The model does what the reference server's source does, with our recorded differences: one entity of
a name, one observation of a text, no relation without its ends (MEM-01b to MEM-03b).
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from anyio.from_thread import start_blocking_portal
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from hypothesis.stateful import run_state_machine_as_test as run_machine

from contract.story_steps import entity, relation
from memory_fabric.language.vocabulary import entity_type
from servers.mcp_clients import connected
from thorough import examples

NAMES = st.sampled_from(["api", "Redis", "redis", "", "job queue", "a\nb", "nul\0in", "🎉", "Ä"])
KINDS = st.sampled_from(["service", "", "person"])
TEXTS = st.sampled_from(
    ["written in Go", "uses Redis", "", "line\none", "東京", "ÄÖÜ", "redis", "%"]
)
QUERIES = st.sampled_from(["redis", "REDIS", "Go", "s r", "", "ä", "京", "\n", "%", "nobody", "🎉"])
ENTITIES = st.lists(
    st.builds(
        lambda name, kind, texts: entity(name, *texts, kind=kind),
        NAMES,
        KINDS,
        st.lists(TEXTS, max_size=3),
    ),
    max_size=3,
)
RELATIONS = st.lists(st.builds(relation, NAMES, KINDS, NAMES), max_size=3)
SAID = st.lists(st.tuples(NAMES, st.lists(TEXTS, max_size=3)), max_size=2)

Graph = dict[str, Any]


class Model:
    """The graph as two lists, and what each tool answers."""

    def __init__(self) -> None:
        self.entities: dict[str, dict[str, Any]] = {}
        self.relations: list[dict[str, str]] = []

    def create_entities(self, entities: list[dict[str, Any]]) -> Graph:
        """The new ones, each with its own texts; the known ones take the texts that they lack."""
        created = []
        for item in entities:
            if item["name"] in self.entities:
                self._say(item["name"], item["observations"])
            else:
                self.entities[item["name"]] = {**item, "observations": []}
                texts = self._say(item["name"], item["observations"])
                created.append({**item, "observations": texts})
        return {"entities": created}

    def create_relations(self, relations: list[dict[str, str]]) -> Graph:
        """The new ones; missing ends are created."""
        created = []
        for item in relations:
            for end in (item["from"], item["to"]):
                self.entities.setdefault(end, entity(end, kind=entity_type(end) or "unknown"))
            if item not in self.relations:
                self.relations.append(item)
                created.append(item)
        return {"relations": created}

    def add_observations(self, observations: list[dict[str, Any]]) -> Graph | None:
        """Add observations and return the new ones; add nothing if an entity is unknown (None)."""
        if any(item["entityName"] not in self.entities for item in observations):
            return None
        results = [
            {"entityName": name, "addedObservations": self._say(name, item["contents"])}
            for item in observations
            for name in (item["entityName"],)
        ]
        return {"results": results}

    def delete_entities(self, names: list[str]) -> Graph:
        """Entities with the relations at either end."""
        for name in names:
            self.entities.pop(name, None)
        gone = set(names)
        self.relations = [r for r in self.relations if not {r["from"], r["to"]} & gone]
        return {"success": True, "message": "Entities deleted successfully"}

    def delete_observations(self, deletions: list[dict[str, Any]]) -> Graph:
        """Exactly these texts."""
        for item in deletions:
            held = self.entities.get(item["entityName"], {"observations": []})
            held["observations"] = [
                text for text in held["observations"] if text not in item["observations"]
            ]
        return {"success": True, "message": "Observations deleted successfully"}

    def delete_relations(self, relations: list[dict[str, str]]) -> Graph:
        """Exactly these relations; their ends stay."""
        self.relations = [r for r in self.relations if r not in relations]
        return {"success": True, "message": "Relations deleted successfully"}

    def graph_of(self, names: set[str]) -> Graph:
        """The entities of these names, with every relation that touches one."""
        return {
            "entities": [item for name, item in self.entities.items() if name in names],
            "relations": [r for r in self.relations if {r["from"], r["to"]} & names],
        }

    def holding(self, query: str) -> set[str]:
        """Names of the entities that hold the query anywhere, in any case."""
        return {
            name
            for name, item in self.entities.items()
            for text in (name, item["entityType"], *item["observations"])
            if query.lower() in text.lower()
        }

    def _say(self, name: str, texts: list[str]) -> list[str]:
        known = self.entities[name]["observations"]
        new = [text for text in dict.fromkeys(texts) if text not in known]
        known += new
        return new


class Tools(RuleBasedStateMachine):
    """The nine tools on our server and on the model; reads are compared after each step."""

    def __init__(self) -> None:
        super().__init__()
        self.model = Model()
        self._folder = tempfile.TemporaryDirectory()
        self._portal_context = start_blocking_portal("asyncio")
        self._portal = self._portal_context.__enter__()
        server = connected(Path(self._folder.name) / "home")
        self._connection = self._portal.wrap_async_context_manager(server)
        self._client = self._connection.__enter__()

    def teardown(self) -> None:
        """End the server."""
        self._connection.__exit__(None, None, None)
        self._portal_context.__exit__(None, None, None)
        self._folder.cleanup()

    def asked(self, tool: str, **arguments: Any) -> Graph | None:
        """The structure of an answer without its note; None for an error."""
        result = self._portal.call(self._client.call_tool, tool, arguments)
        if result.is_error:
            return None
        assert result.structured_content is not None
        return {k: v for k, v in result.structured_content.items() if k != "note"}

    @rule(entities=ENTITIES)
    def create_entities(self, entities: list[dict[str, Any]]) -> None:
        expected = self.model.create_entities(entities)
        assert self.asked("create_entities", entities=entities) == expected

    @rule(relations=RELATIONS)
    def create_relations(self, relations: list[dict[str, str]]) -> None:
        expected = self.model.create_relations(relations)
        assert self.asked("create_relations", relations=relations) == expected

    @rule(said=SAID)
    def add_observations(self, said: list[tuple[str, list[str]]]) -> None:
        items = [{"entityName": name, "contents": texts} for name, texts in said]
        expected = self.model.add_observations(items)
        assert self.asked("add_observations", observations=items) == expected

    @rule(names=st.lists(NAMES, max_size=2))
    def delete_entities(self, names: list[str]) -> None:
        expected = self.model.delete_entities(names)
        assert self.asked("delete_entities", entityNames=names) == expected

    @rule(said=SAID)
    def delete_observations(self, said: list[tuple[str, list[str]]]) -> None:
        items = [{"entityName": name, "observations": texts} for name, texts in said]
        expected = self.model.delete_observations(items)
        assert self.asked("delete_observations", deletions=items) == expected

    @rule(relations=RELATIONS)
    def delete_relations(self, relations: list[dict[str, str]]) -> None:
        expected = self.model.delete_relations(relations)
        assert self.asked("delete_relations", relations=relations) == expected

    @rule(names=st.lists(NAMES, max_size=3))
    def open_nodes(self, names: list[str]) -> None:
        known = set(names) & set(self.model.entities)
        assert self.asked("open_nodes", names=names) == self.model.graph_of(known)

    @rule(query=QUERIES)
    def search_nodes(self, query: str) -> None:
        found = self.asked("search_nodes", query=query)
        assert found is not None
        names = [item["name"] for item in found["entities"]]
        assert len(names) == len(set(names))
        assert self.model.holding(query) <= set(names)
        # More may be found, best first; whatever is found is whole, with all its relations.
        expected = self.model.graph_of(set(names))
        assert sorted(found["entities"], key=str) == sorted(expected["entities"], key=str)
        assert found["relations"] == expected["relations"]
        if not query:
            assert names == list(self.model.entities)

    @invariant()
    def read_graph(self) -> None:
        assert self.asked("read_graph") == self.model.graph_of(set(self.model.entities))


@pytest.mark.behaviour(
    *("MEM-01a", "MEM-01b", "MEM-01c", "MEM-01d", "MEM-02a", "MEM-02b", "MEM-02c", "MEM-03a"),
    *("MEM-03b", "MEM-04", "MEM-05", "MEM-06", "MEM-07a", "MEM-07b", "MEM-07c", "MEM-08"),
    *("MEM-09a", "MEM-09b", "MEM-10a", "MEM-10b", "MEM-11a"),
)
def test_after_any_sequence_of_calls_the_graph_equals_a_reference_model() -> None:
    run_machine(
        Tools,
        settings=settings(max_examples=examples(50, 12), stateful_step_count=20, deadline=None),
    )
