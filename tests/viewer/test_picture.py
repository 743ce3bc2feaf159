"""The picture: one JSON object with everything the page shows, and nothing it must not."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from drawn import token
from memory_fabric import __version__, models
from memory_fabric.models import Provenance
from memory_fabric.store.memory import Memory
from memory_fabric.viewer import picture as module
from memory_fabric.viewer.picture import age_of, graph, picture, review
from store.support import (
    TOOL,
    USER,
    World,
    create,
    database,
    decision,
    entity,
    pagination,
    relation,
)

NOW = "2026-11-21T10:00:00.000Z"
LONG_AGO = "2026-01-02T10:00:00.000Z"
TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1)


def test_the_graph_data_contains_exactly_the_expected_fields(tmp_path: Path) -> None:
    memory = World(tmp_path).memory()
    memory.remember(pagination(), USER)

    seen = picture(memory, NOW)

    assert set(seen) == set(
        "version made_at live project entities relations records changes review tiers worth "
        "left_out".split()
    )
    assert (seen["version"], seen["made_at"], seen["live"]) == (__version__, NOW, False)
    assert seen["project"]["name"] == "billing"
    assert set(seen["entities"][0]) == set(
        "name type domain scope trust at stale days aliases observations".split()
    )
    assert set(seen["entities"][0]["observations"][0]) == set(
        "text at trust source session agent domain scope record".split()
    )
    assert set(seen["relations"][0]) == set("from to type at domain record".split())
    assert set(seen["records"][0]) == set(
        "id short_id type what worded why alternatives outcome category scope domain trust author "
        "source client imported session agent confidence status pinned at valid_from valid_to "
        "superseded_by stale days entities changed_files when version".split()
    )
    assert set(seen["changes"][0]) == set("id short_id at by what undone entities records".split())
    assert [tier["tier"] for tier in seen["tiers"]] == ["graph", "local", "native"]


def test_records_and_relations_in_the_graph_data_refer_to_the_right_entities(
    tmp_path: Path,
) -> None:
    memory = World(tmp_path).memory()
    known = memory.remember(pagination(), USER)
    assert known is not None

    seen = picture(memory, NOW)

    (record,), (change,), (edge,) = seen["records"], seen["changes"], seen["relations"]
    names = [seen["entities"][n]["name"] for n in record["entities"]]
    assert names == ["cursor-pagination", "list-endpoints", "billing"]
    assert seen["entities"][edge["from"]]["name"] == "billing"
    assert seen["entities"][edge["to"]]["name"] == "cursor-pagination"
    assert seen["entities"][0]["observations"][0]["record"] == known.id
    assert (change["records"], change["entities"]) == ([known.id], record["entities"])
    assert change["by"] == "ann prompt"


def test_the_scope_of_an_entity_tells_whether_it_belongs_to_the_user_the_team_or_both(
    tmp_path: Path,
) -> None:
    memory = World(tmp_path).memory()
    create(memory, entity("ours", "said"), entity("shared", "said"), store="project")
    create(memory, entity("mine", "said"), entity("shared", "said too"), store="user")

    scopes = {e["name"]: e["scope"] for e in picture(memory, NOW)["entities"]}

    assert scopes == {"ours": "team", "mine": "user", "shared": "both"}


def test_the_trust_of_an_entity_is_the_highest_trust_of_its_observations(tmp_path: Path) -> None:
    memory = World(tmp_path).memory()
    create(memory, entity("Redis", "said by a tool"), entity("api"))
    said = {"observations": [{"entityName": "Redis", "contents": ["said by the user"]}]}
    memory.write("add_observations", said, Provenance("cli", trust="user"))

    assert [e["trust"] for e in picture(memory, NOW)["entities"]] == ["user", ""]


def test_a_record_that_is_too_old_is_marked_as_stale_unless_it_is_pinned(tmp_path: Path) -> None:
    memory = World(tmp_path).memory()
    old = USER._replace(at=LONG_AGO)
    memory.remember(pagination(), old)
    memory.remember(decision("Keep logs in UTC always", pinned=True), old)

    seen = picture(memory, NOW)

    assert {r["what"][:4]: (r["stale"], r["days"]) for r in seen["records"]} == {
        "Use ": (True, 323),
        "Keep": (False, 323),
    }
    assert (seen["entities"][0]["stale"], seen["entities"][0]["days"]) == (True, 323)


def test_a_secret_stored_unredacted_is_redacted_in_the_graph_data(tmp_path: Path) -> None:
    memory = World(tmp_path).memory()
    secret = token()
    create(memory, entity("api", "waits for a text"))
    with database(memory).transaction() as connection:
        connection.execute("UPDATE observations SET text = ?", (f"the key is {secret}",))
        connection.execute("UPDATE entities SET name = ?", (f"api {secret}",))

    text = json.dumps(picture(memory, NOW))

    assert secret not in text
    assert "[redacted: " in text


def test_the_graph_data_outside_a_project_contains_only_personal_memories(tmp_path: Path) -> None:
    memory = World(tmp_path).memory(CLAUDE_PROJECT_DIR="")
    create(memory, entity("mine", "said"))

    seen = picture(memory, NOW)

    assert seen["project"] is None
    assert [e["scope"] for e in seen["entities"]] == ["user"]


@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(TEXTS, TEXTS, st.lists(TEXTS, max_size=3)), min_size=1, max_size=5))
def test_any_graph_is_a_picture_that_json_can_hold(graph: list[tuple[str, str, list[str]]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        memory = World(Path(folder)).memory()
        create(memory, *(entity(name, *texts, kind=kind) for name, kind, texts in graph))
        names = [name for name, _, _ in graph]
        edges = [relation(a, "knows", b) for a, b in zip(names, reversed(names), strict=True)]
        memory.write("create_relations", {"relations": edges}, TOOL)

        seen = picture(memory, NOW)

        memory.close()
    text: Any = json.dumps(seen, ensure_ascii=False, allow_nan=False).encode()
    assert json.loads(text) == seen
    assert len(seen["entities"]) == len(dict.fromkeys(names))


def test_a_record_lists_which_of_its_files_have_changed(tmp_path: Path) -> None:
    world = World(Path(os.path.realpath(tmp_path)))
    (world.project / "api.py").write_text("page = 1\n")
    memory = world.memory()
    memory.remember(decision("Cursors page through api.py"), USER)
    memory.flush()
    (world.project / "api.py").write_text("pages = 1\n")

    (record,) = picture(memory, NOW)["records"]

    assert record["changed_files"] == {"api.py": "changed"}


def at(day: int) -> str:
    """A time on that day of November."""
    return f"2026-11-{day:02}T10:00:00.000Z"


def say(memory: Memory, name: str, text: str, day: int, store: str) -> None:
    """Store an entity, if it is new, with an observation of that day."""
    said = {"entities": [entity(name, text)]}
    memory.write("create_entities", said, TOOL._replace(at=at(day)), store=store)


def relate(memory: Memory, *edges: tuple[str, str], store: str = "project", day: int = 1) -> None:
    relations = {"relations": [relation(a, "uses", b) for a, b in edges]}
    memory.write("create_relations", relations, TOOL._replace(at=at(day)), store=store)


def names(seen: dict[str, Any]) -> list[str]:
    """The names of the entities that are shown, in their order."""
    return [one["name"] for one in seen["entities"]]


def test_of_too_many_observations_and_relations_the_newest_of_both_databases_are_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = World(tmp_path).memory()
    for day, store in ((1, "project"), (2, "user"), (3, "project"), (4, "user")):
        say(memory, "api", f"of day {day}", day, store)
        relate(memory, (f"part-{day}", "api"), store=store, day=day)
    monkeypatch.setattr(module, "MAX_OBSERVATIONS", 3)
    monkeypatch.setattr(module, "MAX_RELATIONS", 2)

    seen = picture(memory, NOW)

    api = seen["entities"][names(seen).index("api")]
    assert [one["text"] for one in api["observations"]] == ["of day 3", "of day 2", "of day 4"]
    assert api["at"] == at(4)
    sources = [seen["entities"][edge["from"]]["name"] for edge in seen["relations"]]
    assert sources == ["part-3", "part-4"]
    assert (seen["left_out"]["observations"], seen["left_out"]["relations"]) == (1, 2)


def test_an_entity_in_both_databases_counts_the_relations_of_both_and_is_as_old_as_the_older(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = World(tmp_path).memory()
    relate(memory, ("shared", "x"), ("a", "b"), day=3)
    relate(memory, ("y", "shared"), store="user", day=2)
    monkeypatch.setattr(module, "MAX_ENTITIES", 2)

    seen = picture(memory, NOW)

    assert names(seen) == ["shared", "x"]
    assert [one["at"] for one in seen["entities"]] == [at(2), at(3)]
    assert [edge["to"] for edge in seen["relations"]] == [1]
    assert (seen["left_out"]["entities"], seen["left_out"]["relations"]) == (3, 2)


@pytest.mark.parametrize(
    ("most", "shown"),
    [
        (5, ["n0", "n1", "n2", "n3", "hub"]),  # three steps away, and the most connected other
        (4, ["n0", "n1", "n2", "n3"]),
        (3, ["n0", "n1", "n2"]),
        (2, ["n0", "n1"]),
    ],
)
def test_a_drawing_around_an_entity_shows_what_is_at_most_three_relations_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int, shown: list[str]
) -> None:
    memory = World(tmp_path).memory()
    relate(memory, ("n0", "n1"), ("n2", "n1"), ("n2", "n3"), ("n3", "n4"), ("n4", "n5"))
    relate(memory, *(("hub", f"e{n}") for n in range(5)))
    monkeypatch.setattr(module, "MAX_ENTITIES", most)

    assert names(graph(memory, NOW, "n0")) == shown


def test_a_drawing_of_the_graph_has_no_records_and_no_secrets(tmp_path: Path) -> None:
    memory = World(tmp_path).memory()
    memory.remember(pagination(), USER)
    secret = token()
    with database(memory).transaction() as connection:
        connection.execute("UPDATE entities SET name = name || ?", (f" {secret}",))

    seen = graph(memory, NOW)

    assert (len(seen["entities"]), len(seen["relations"])) == (3, 1)
    assert (seen["records"], seen["changes"]) == ([], [])
    assert secret not in json.dumps(seen)


def test_a_change_of_very_many_memories_lists_only_the_first_of_its_entities(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = World(tmp_path).memory()
    create(memory, *(entity(f"e{n}") for n in range(3)))
    monkeypatch.setattr(module, "MAX_TOUCHED", 2)

    (change,) = picture(memory, NOW)["changes"]

    assert (change["entities"], change["records"], change["undone"]) == ([0, 1], [], False)


def test_a_record_shows_its_evidence_its_client_and_its_version(tmp_path: Path) -> None:
    memory = World(tmp_path).memory()
    evidence = {models.WHEN: "git push", models.IMPORTED: "claude-mem", "client": "codex"}
    memory.remember(decision("Pushes wait for the build", evidence=evidence), USER)
    memory.remember(decision("Keep logs in UTC always"), USER)

    plain, full = picture(memory, NOW)["records"]

    assert (full["when"], full["imported"]) == ("git push", "claude-mem")
    assert (plain["when"], plain["imported"], plain["changed_files"]) == ("", "", {})
    assert full["version"] != plain["version"] and len(full["version"]) == 8
    assert (full["short_id"], full["status"]) == (full["id"][-8:], "active")


def test_of_many_memories_to_review_some_are_listed_and_all_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = World(tmp_path).memory()
    around = {models.PROMPT: "Shall we?", models.BEFORE: "I ask."}
    for what, evidence in (("Perhaps use GraphQL", {}), ("Perhaps deploy on Fridays", around)):
        memory.remember(decision(what, confidence=0.35, evidence=evidence), USER)
    whole = review(memory, NOW)
    monkeypatch.setattr(module, "MAX_DUE", 1)

    seen = review(memory, NOW)

    shown = {one["what"]: (one["prompt"], one["before"]) for one in whole["candidates"]}
    assert shown == {
        "Perhaps use GraphQL": ("", ""),
        "Perhaps deploy on Fridays": ("Shall we?", "I ask."),
    }
    assert whole["total"] == seen["total"] and seen["total"]["candidate"] == 2
    assert [one["record"] for one in seen["due"]] == [one["id"] for one in seen["candidates"]]
    assert len(seen["due"]) == 1 and seen["brought"] == whole["brought"] == []


def test_the_age_of_a_memory_without_a_time_is_unknown() -> None:
    assert age_of("decision", "", NOW) == {"stale": False, "days": None}
    assert age_of("decision", NOW, NOW) == {"stale": False, "days": 0}
    assert age_of("decision", LONG_AGO, NOW) == {"stale": True, "days": 323}
