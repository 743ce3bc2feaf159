"""Arguments against schemas, in the reference server's words."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_fabric.servers.mcp import tools
from memory_fabric.servers.mcp.schema import TOOLS, known_part, problems

SCHEMAS = {tool.name: tool.input for tool in TOOLS}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.behaviour("MEM-12b")
@pytest.mark.parametrize(
    ("tool", "arguments", "problem"),
    [
        ("create_entities", {}, "expected array, received undefined at entities"),
        ("create_entities", {"entities": {}}, "expected array, received object at entities"),
        ("create_entities", {"entities": [None]}, "expected object, received null at entities[0]"),
        (
            "create_entities",
            {"entities": [{"name": True, "entityType": "t", "observations": []}]},
            "expected string, received boolean at entities[0].name",
        ),
        (
            "create_entities",
            {"entities": [{"name": "n", "entityType": "t", "observations": ["o", 1.5]}]},
            "expected string, received number at entities[0].observations[1]",
        ),
        ("search_nodes", {"query": ["a"]}, "expected string, received array at query"),
        ("recall", {"query": "", "limit": 0}, "expected at least 1, received 0 at limit"),
        ("recall", {"query": "", "limit": 51}, "expected at most 50, received 51 at limit"),
        ("recall", {"query": "", "limit": True}, "expected integer, received boolean at limit"),
        ("recall", {"query": "", "limit": 1.5}, "expected integer, received number at limit"),
        ("recall", {"query": "", "depth": 4}, "expected at most 3, received 4 at depth"),
        ("recall", {"query": "", "depth": 0}, "expected at least 1, received 0 at depth"),
        ("history", {"name": "", "limit": 101}, "expected at most 100, received 101 at limit"),
        ("recall", ["query"], "expected object, received array at arguments"),
        ("recall", None, "expected object, received null at arguments"),
    ],
)
def test_an_invalid_argument_is_reported_with_its_path(
    tool: str, arguments: Any, problem: str
) -> None:
    assert list(problems(SCHEMAS[tool], arguments)) == [f"Invalid input: {problem}"]


def test_a_value_that_is_not_allowed_is_refused_with_the_allowed_values() -> None:
    (problem,) = problems(SCHEMAS["remember"], {"text": "x", "scope": "galaxy"})

    assert "one of local, user, team, global" in problem
    assert "'galaxy' at scope" in problem


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("recall", {"query": "", "limit": 1, "depth": 1}),
        ("recall", {"query": "", "limit": 50, "depth": 3}),
        ("history", {"name": "", "limit": 1}),
        ("history", {"name": "", "limit": 100}),
    ],
)
def test_a_number_at_its_limit_is_accepted(tool: str, arguments: dict[str, Any]) -> None:
    assert list(problems(SCHEMAS[tool], arguments)) == []


@pytest.mark.parametrize(("count", "ending"), [(10, "observations[9]"), (11, "…")])
def test_only_the_first_ten_invalid_arguments_are_reported(count: int, ending: str) -> None:
    deletion = {"entityName": "api", "observations": list(range(count))}

    told = tools.complaint("delete_observations", {"deletions": [deletion]})

    assert told is not None and told.failed
    lines = told.texts[0].splitlines()
    assert lines[-1].endswith(ending) and len(lines) == count
    assert "delete_observations" in lines[0]


def test_a_tool_that_takes_no_domain_ignores_an_invalid_one() -> None:
    assert tools.complaint("delete_entities", {"entityNames": [], "domain": 7}) is None
    assert tools.complaint("open_nodes", {"names": [], "domain": 7}) is not None
    assert tools.complaint("open_nodes", {"names": [], "domain": ""}) is None
    same = {"domain": "Tax Law", "expert_domain": "tax_law"}
    assert tools.complaint("remember", {"text": "x", **same}) is None


def test_optional_arguments_may_be_left_out() -> None:
    assert list(problems(SCHEMAS["recall"], {"query": "x"})) == []


@pytest.mark.behaviour("MEM-12a")
def test_unknown_keys_are_removed_at_every_level_of_the_arguments() -> None:
    relation = {"from": "a", "to": "b", "relationType": "c"}

    kept = known_part(
        SCHEMAS["create_relations"], {"relations": [relation | {"weight": 1}], "more": {}}
    )

    assert kept == {"relations": [relation]}


@given(st.sampled_from(sorted(SCHEMAS)), st.dictionaries(st.text(), JSON, max_size=4) | JSON)
def test_any_json_value_is_answered_with_problems_or_reduced_to_the_schema(
    tool: str, value: Any
) -> None:
    found = list(problems(SCHEMAS[tool], value))

    assert all(problem.startswith("Invalid input: expected ") for problem in found)
    if not found:
        assert set(known_part(SCHEMAS[tool], value)) <= set(SCHEMAS[tool]["properties"])
