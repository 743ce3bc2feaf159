"""Records: landed, strengthened, forgotten; in three places (BR-11), in their scope (BR-18)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memory_fabric.errors import StoreUnavailable
from memory_fabric.ids import new_id
from memory_fabric.models import AGAIN, PROMPT, Entity, Graph, Provenance, Record, Relation
from memory_fabric.store import journal, records
from memory_fabric.store.files import read_lines
from memory_fabric.store.memory import Memory
from memory_fabric.store.queries import conditions, graph, search
from memory_fabric.store.tiers import sync
from store.support import TOOL, USER, World, create, database, decision, entity, names, pagination


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.fixture
def memory(world: World) -> Memory:
    return world.memory()


def remembered(memory: Memory, record: Record, by: Provenance = USER) -> Record:
    stored = memory.remember(record, by)
    assert stored is not None
    return stored


def active(memory: Memory) -> list[Record]:
    return memory.find_records("status = 'active'")


def whole(memory: Memory, kind: str = "project") -> Graph:
    return graph.read_graph(database(memory, kind))


def test_a_decision_is_stored_in_the_graph_the_journal_and_memory_md(
    world: World, memory: Memory
) -> None:
    stored = remembered(memory, pagination())
    memory.flush()
    assert memory.failures == []
    said = "Use cursor-based pagination for all list endpoints — because offsets are slow"
    assert whole(memory) == Graph(
        (
            Entity("cursor-pagination", "pattern", (said,)),
            Entity("list-endpoints", "component", (said,)),
            Entity("billing", "project", (said,)),
        ),
        (Relation("billing", "chose", "cursor-pagination"),),
    )
    [line], bad = read_lines(str(world.local / journal.DECISIONS))
    assert (line["id"], line["what"], bad) == (stored.id, stored.what, [])
    assert said in world.native().read_text("utf-8")
    assert (world.local / ".gitignore").read_text() == "*\n"


@pytest.mark.parametrize("confidence", [0.5, 0.65, 0.69])
def test_a_record_below_the_confidence_limit_is_not_written_to_memory_md(
    world: World, memory: Memory, confidence: float
) -> None:
    remembered(memory, pagination(confidence=confidence))
    memory.flush()
    assert not world.native().exists()
    assert len(read_lines(str(world.local / journal.DECISIONS))[0]) == 1
    assert search.records(database(memory), '"pagination"', 5) != []


@pytest.mark.parametrize("trust", ["assistant", "tool", "foreign"])
def test_only_statements_of_the_user_are_written_to_memory_md(
    world: World, memory: Memory, trust: str
) -> None:
    remembered(memory, pagination(confidence=0.95), USER._replace(trust=trust))
    memory.flush()
    assert not world.native().exists()


def test_a_stored_record_has_its_times_and_provenance(memory: Memory) -> None:
    stored = remembered(memory, decision(), USER._replace(agent="a", at="2026-01-15T10:00:00.000Z"))
    assert stored == records.find(database(memory).connection, "id = ?", (stored.id,))[0][0]
    assert (stored.trust, stored.source, stored.session, stored.agent) == (
        "user",
        "prompt",
        "s1",
        "a",
    )
    assert stored.author == "ann" and stored.origin and stored.project == "billing"
    assert stored.created_at == stored.valid_from == "2026-01-15T10:00:00.000Z"


def test_repeating_a_record_increases_its_confidence_instead_of_duplicating_it(
    memory: Memory,
) -> None:
    first = remembered(memory, decision("Use Redis for caching", confidence=0.6), TOOL)
    again = remembered(
        memory,
        decision(" use Redis  for CACHING! ", why="it is fast", confidence=0.8),
        USER._replace(session="s2"),
    )
    assert again.id == first.id
    assert (again.confidence, again.trust, again.why) == (0.8, "user", "it is fast")
    assert len(active(memory)) == 1


def test_adding_a_reason_to_a_record_adds_the_reason_to_its_observations(memory: Memory) -> None:
    remembered(memory, pagination(why=""))
    remembered(memory, pagination(why="offsets are slow"))
    assert all(len(e.observations) == 1 for e in whole(memory).entities)
    assert "because offsets" in whole(memory).entities[0].observations[0]


def test_repeating_a_record_with_a_reason_adds_new_entities_and_relations(memory: Memory) -> None:
    first = remembered(memory, pagination(why=""))
    keyset = Entity("keyset", "pattern")
    uses = Relation("cursor-pagination", "uses", "keyset")
    fuller = pagination(why="instead: a keyset")
    fuller = fuller._replace(
        entities=(keyset, *fuller.entities), relations=(uses, *fuller.relations)
    )

    completed = remembered(memory, fuller)
    again = remembered(memory, pagination(why="another reason")._replace(entities=(keyset,)))

    assert completed.entities == (*first.entities, keyset)
    assert completed.relations == (*first.relations, uses)
    assert (again.entities, again.why) == (completed.entities, "instead: a keyset")
    assert "keyset" in {entity.name for entity in whole(memory).entities}


@pytest.mark.parametrize(
    "other",
    [
        decision("Use Redis for sessions"),
        decision("Use Redis for caching", scope="user"),
        decision("Use Redis for caching", domain="frontend"),
        Record("question", "Use Redis for caching", confidence=0.8),
    ],
)
def test_records_that_differ_in_text_scope_or_domain_or_are_questions_are_separate(
    memory: Memory, other: Record
) -> None:
    first = remembered(memory, decision("Use Redis for caching"))
    assert remembered(memory, other).id != first.id


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"type": "pattern", "outcome": "success"}, {"type": "antipattern", "outcome": "failed"}),
        ({"type": "antipattern", "outcome": "failed"}, {"type": "decision"}),
    ],
    ids=["worked, then failed", "failed, then chosen"],
)
def test_a_failure_and_a_success_in_the_same_words_are_separate_records(
    memory: Memory, first: dict[str, str], second: dict[str, str]
) -> None:
    old = remembered(memory, pagination()._replace(**first))  # type: ignore[arg-type]

    new = remembered(memory, pagination()._replace(**second))  # type: ignore[arg-type]

    assert new.id != old.id
    assert {record.id for record in active(memory)} == {old.id, new.id}
    # Each is strengthened by its own repeats only.
    again = remembered(memory, pagination()._replace(**first))  # type: ignore[arg-type]
    assert again.id == old.id
    assert len(active(memory)) == 2


def test_two_long_records_with_the_same_beginning_remain_separate(memory: Memory) -> None:
    begin = "Use the very long name of this thing " * 40
    assert (
        remembered(memory, decision(begin + "here")).id
        != remembered(memory, decision(begin + "there")).id
    )


def test_a_candidate_becomes_a_record_when_a_second_session_repeats_it(memory: Memory) -> None:
    weak = pagination(confidence=0.4)
    assert remembered(memory, weak).status == "candidate"
    assert remembered(memory, weak).status == "candidate"
    assert whole(memory).entities == ()
    stored = remembered(memory, weak, USER._replace(session="s2"))
    assert (stored.status, stored.confidence) == ("active", 0.5)
    assert len(whole(memory).entities) == 3


@pytest.mark.parametrize(("confidence", "status"), [(0.49, "candidate"), (0.5, "active")])
def test_a_reason_given_in_the_same_session_makes_a_candidate_active_from_confidence_one_half(
    memory: Memory, confidence: float, status: str
) -> None:
    remembered(memory, pagination(why="", confidence=0.4))

    stored = remembered(memory, pagination(confidence=confidence))

    assert (stored.status, stored.confidence) == (status, confidence)


def test_a_candidate_is_written_to_the_decision_journal_only_when_it_becomes_active(
    world: World, memory: Memory
) -> None:
    remembered(memory, pagination(confidence=0.4))
    memory.flush()
    assert not (world.local / journal.DECISIONS).exists()
    remembered(memory, pagination(confidence=0.4), USER._replace(session="s2"))
    memory.flush()
    [line], _ = read_lines(str(world.local / journal.DECISIONS))
    assert (line["status"], line["confidence"]) == ("active", 0.5)


def test_a_statement_of_very_low_confidence_is_not_stored_as_a_candidate(memory: Memory) -> None:
    assert memory.remember(decision(confidence=0.29), USER) is None
    assert memory.databases() == []


def test_a_repeated_record_is_written_to_the_journal_with_its_first_id(
    world: World, memory: Memory
) -> None:
    first = remembered(memory, pagination(confidence=0.6))
    memory.flush()
    remembered(memory, pagination(confidence=0.9), USER._replace(session="s2"))
    remembered(memory, pagination(confidence=0.9), USER._replace(session="s2"))
    memory.flush()
    lines, _ = read_lines(str(world.local / journal.DECISIONS))
    assert [(line["id"], line["confidence"]) for line in lines] == [
        (first.id, 0.6),
        (first.id, 0.9),
    ]


def test_entity_names_in_records_are_resolved_to_known_entities(memory: Memory) -> None:
    create(memory, entity("PostgreSQL", kind="technology"))
    remembered(memory, decision("Use it", entities=(Entity("postgre-SQL", "technology"),)))
    assert whole(memory).entities == (Entity("PostgreSQL", "technology", ("Use it",)),)


# --- forgetting -----------------------------------------------------------------------------------


def test_forgetting_a_record_removes_its_own_rows_and_nothing_else(memory: Memory) -> None:
    create(memory, entity("list-endpoints", "there are nine", kind="component"))
    stored = remembered(memory, pagination())
    assert memory.forget([stored.id, "unknown"], USER) == 1
    assert whole(memory) == Graph((Entity("list-endpoints", "component", ("there are nine",)),))
    assert search.records(database(memory), '"pagination"', 5) == []
    assert search.observations(database(memory), '"pagination"', 5) == []


def test_forgetting_a_record_keeps_rows_that_another_record_also_supports(memory: Memory) -> None:
    one = remembered(memory, pagination())
    other = remembered(memory, pagination(what="Page with cursors", why=""))
    same = remembered(memory, pagination(domain="frontend"))
    before = whole(memory)
    memory.forget([one.id], USER)
    assert whole(memory) == before
    memory.forget([same.id], USER)
    assert whole(memory).relations == before.relations
    assert whole(memory).entities[0].observations == ("Page with cursors",)
    memory.forget([other.id], USER)
    assert whole(memory) == Graph()


def test_forgetting_a_record_keeps_rows_that_were_also_added_directly(memory: Memory) -> None:
    stored = remembered(memory, pagination())
    said = whole(memory).entities[0].observations[0]
    wanted = [{"entityName": "cursor-pagination", "contents": [said]}]
    memory.write("add_observations", {"observations": wanted}, TOOL)
    edge = {"from": "billing", "relationType": "chose", "to": "cursor-pagination"}
    memory.write("create_relations", {"relations": [edge]}, TOOL)
    memory.forget([stored.id], USER)
    assert whole(memory).entities[0] == Entity("cursor-pagination", "pattern", (said,))
    assert whole(memory).relations == (Relation("billing", "chose", "cursor-pagination"),)
    assert names(whole(memory).entities) == ["cursor-pagination", "billing"]


def test_a_forgotten_record_is_stored_again_only_if_the_user_states_it_later(
    memory: Memory,
) -> None:
    at, forgotten_at = "2026-01-15T10:00:00.000Z", "2026-01-15T11:00:00.000Z"
    stored = remembered(memory, pagination(), USER._replace(at=at))
    memory.forget([stored.id], USER._replace(at=forgotten_at))
    assert memory.remember(pagination(), USER._replace(trust="assistant")) is None
    assert memory.remember(pagination(), USER._replace(at=at)) is None
    assert memory.remember(pagination(), USER._replace(at=forgotten_at)) is None
    assert memory.remember(pagination(id=stored.id), USER) is None
    again = remembered(memory, pagination())
    assert again.id != stored.id


def test_forgetting_a_record_is_written_to_the_journal(world: World, memory: Memory) -> None:
    stored = remembered(memory, pagination())
    memory.flush()
    memory.forget([stored.id], USER)
    memory.flush()
    assert not world.native().read_bytes()
    lines, _ = read_lines(str(world.local / journal.DECISIONS))
    assert lines[-1]["id"] == stored.id and lines[-1]["forgotten"] is True


# --- scopes --------------------------------------------------------------------------------------


def test_a_local_record_is_stored_only_in_the_database_and_found_only_in_its_session(
    world: World, memory: Memory
) -> None:
    word = new_id()
    stored = remembered(memory, pagination(what=f"Try {word}", scope="local", confidence=0.9))
    memory.flush()
    files = [p for p in world.root.rglob("*") if p.is_file() and ".db" not in p.name]
    assert not any(word.encode() in p.read_bytes() for p in files)
    assert not world.native().exists() and not world.local.exists()
    assert whole(memory).entities == ()
    db = database(memory)
    match = conditions.match_expression([word], [])
    assert [c.id for c in search.records(db, match, 5, session="s1")] == [f"record:{stored.id}"]
    assert search.records(db, match, 5, session="s2") == []
    assert search.records(db, match, 5) == search.recent(db, 5) == []
    assert len(search.recent(db, 5, session="s1")) == 1
    memory.forget([stored.id], USER)
    memory.flush()
    for table in ("records", "operations", "tombstones"):
        assert word not in repr(db.rows(f"SELECT * FROM {table}"))


def test_a_local_record_is_refused_instead_of_queued_if_the_database_is_damaged(
    world: World,
) -> None:
    world.home.mkdir(parents=True)
    memory = world.memory()
    Path(memory.path_of("project")).parent.mkdir(parents=True, exist_ok=True)
    Path(memory.path_of("project")).write_bytes(b"x" * 5000)
    word = new_id()
    with pytest.raises(StoreUnavailable):
        memory.remember(decision(f"Try {word}", scope="local"), USER)
    assert word.encode() not in world.all_bytes()


@pytest.mark.parametrize("scope", ["user", "global"])
def test_a_record_of_user_or_global_scope_is_visible_in_every_project(
    tmp_path: Path, scope: str
) -> None:
    one = World(tmp_path, "billing").memory()
    remembered(one, decision("Always validate input at boundaries", scope=scope))
    remembered(one, decision("Use Redis here", scope="team"))
    other = World(tmp_path, "shop").memory()
    assert [r.what for r in active(other)] == ["Always validate input at boundaries"]


def test_a_global_record_does_not_reveal_its_user_project_or_machine(tmp_path: Path) -> None:
    world = World(tmp_path)
    git = world.project / ".git" / "config"
    git.write_text('[remote "origin"]\n\turl = git@git.acme.example:Acme-Corp/Billing-Core.git\n')
    memory = world.memory(USER="annabel")
    origin = memory.settings.origin
    record = decision(
        f"In billing_core (Billing Core, acme corp, {world.project}/api.py, src/pay/x.py) always "
        f"validate input at API boundaries, says annabel <annabel@acme.example> on {origin}",
        why=f"seen at https://git.acme.example/x and 10.0.0.7 in ~/work/pay and {origin}",
        scope="global",
        entities=(Entity("API", "component"), Entity("billing-core", "project")),
        relations=(Relation("billing-core", "chose", "API"), Relation("API", "uses", "Redis")),
        alternatives=("trust billing-core",),
        evidence={"file": "/home/annabel/x"},
    )
    stored = remembered(memory, record, USER._replace(agent="annabels-agent"))
    assert "always validate input at API boundaries" in stored.what
    assert stored.entities == (Entity("API", "component"),)
    assert stored.relations == (Relation("API", "uses", "Redis"),)
    memory.flush()
    db = database(memory, "user")
    kept = repr([db.rows(f"SELECT * FROM {t}") for t in ("records", "operations", "observations")])
    lines = [p.read_text("utf-8") for p in world.home.rglob("*.jsonl")]
    for telling in ("billing", "acme", "annabel", str(tmp_path), origin, "10.0.0.7", "/pay", "s1"):
        assert telling.lower() not in (kept + "".join(lines)).lower(), telling


def test_a_global_record_keeps_a_capitalised_word_that_resembles_the_project_name(
    tmp_path: Path,
) -> None:
    memory = World(tmp_path, "api").memory()
    stored = remembered(memory, decision("Validate input at API boundaries of api", scope="global"))
    assert stored.what == "Validate input at API boundaries of the project"


def test_global_records_are_written_to_no_project_file(world: World, memory: Memory) -> None:
    remembered(memory, decision("Always validate input", scope="global", confidence=0.9))
    memory.flush()
    assert not world.local.exists() and not world.native().exists()
    [line], _ = read_lines(str(world.home / "local" / journal.DECISIONS))
    assert line["scope"] == "global"


# --- MEMORY.md knows what the database knows ------------------------------------------------------


def test_the_records_in_memory_md_at_a_given_time_are_listed(tmp_path: Path) -> None:
    world = World(tmp_path)
    memory = world.memory()
    stored = remembered(memory, pagination(confidence=0.9))
    assert memory.native_ids("9999") == frozenset()
    memory.flush()
    assert memory.native_ids("9999") == {stored.id}
    assert memory.native_ids("2000") == frozenset()
    remembered(memory, pagination(confidence=0.95), USER._replace(session="s2"))
    assert memory.native_ids("9999") == {stored.id}
    memory.forget([stored.id], USER)
    memory.flush()
    assert memory.native_ids("9999") == frozenset()


def test_only_records_in_the_memory_md_of_the_project_itself_are_listed(tmp_path: Path) -> None:
    one, other = World(tmp_path, "billing"), World(tmp_path, "shop")
    memory = one.memory()
    stored = remembered(memory, decision("Never guess", scope="user", confidence=0.9))
    memory.flush()
    there = other.memory()
    assert there.native_ids("9999") == frozenset()
    there.flush()
    assert there.native_ids("9999") == one.memory().native_ids("9999") == {stored.id}
    assert "Never guess" in other.native().read_text("utf-8")


def test_a_pinned_record_comes_first_in_memory_md_even_if_it_is_old(
    world: World, memory: Memory
) -> None:
    old = USER._replace(at="2020-01-01T00:00:00.000Z")
    remembered(memory, decision("Pinned", pinned=True, confidence=0.6), old)
    for i in range(120):
        remembered(memory, decision(f"Choose number {i}", confidence=0.9))
    assert sync.promotable(memory)[0].what == "Pinned"
    memory.flush()
    shown = world.native().read_text("utf-8").split("\n")
    assert shown[3].endswith("Pinned")


def test_a_rule_remains_in_memory_md_after_many_newer_decisions(
    world: World, memory: Memory
) -> None:
    remembered(memory, Record("constraint", "Never edit the vendored parser", confidence=0.9))
    for i in range(120):
        remembered(memory, decision(f"Choose number {i}", confidence=0.9))
    memory.flush()
    lines = world.native().read_text("utf-8").split("\n")
    assert lines[3].endswith("Never edit the vendored parser")
    assert lines[5].endswith("Choose number 119")


def test_no_record_is_written_to_memory_md_if_the_client_has_automatic_memory_disabled(
    tmp_path: Path,
) -> None:
    world = World(tmp_path)
    memory = world.memory(CLAUDE_CODE_DISABLE_AUTO_MEMORY="1")
    remembered(memory, pagination(confidence=0.9))
    memory.flush()
    assert not world.native().exists() and memory.native_ids("9999") == frozenset()


def test_a_candidate_from_a_prompt_remains_a_candidate_if_later_prompts_repeat_it(
    memory: Memory,
) -> None:
    heard = Record(
        "constraint", "I'll run the server", confidence=0.4, evidence={PROMPT: "No. I'll"}
    )
    for number in range(3):
        again = heard._replace(evidence={PROMPT: "I'll", AGAIN: number}) if number else heard
        remembered(memory, again, Provenance("prompt", trust="user", session=f"session-{number}"))

    (candidate,) = memory.find_records("1")
    assert (candidate.status, candidate.confidence) == ("candidate", 0.4)
    assert candidate.evidence == {PROMPT: "No. I'll", AGAIN: 2}

    remembered(memory, Record("constraint", "I'll run the server", confidence=0.85))
    assert [record.status for record in memory.find_records("1")] == ["active"]


# --- the value and its JSON -----------------------------------------------------------------------


def test_a_record_survives_a_round_trip_through_json() -> None:
    record = pagination(
        id=new_id(),
        alternatives=("offsets",),
        evidence={"file": "a"},
        pinned=True,
        outcome="failed",
    )
    assert records.from_object(json.loads(json.dumps(records.as_object(record)))) == record


@pytest.mark.parametrize(
    "fields",
    [
        {"confidence": "much"},
        {"confidence": float("nan")},
        {"confidence": 7},
        {"entities": [["a"], 3, ["a", "b", "c"]]},
        {"relations": "x", "alternatives": {"a": 1}, "evidence": [], "why": None, "scope": 3},
    ],
)
def test_invalid_fields_of_a_stored_record_get_their_defaults(
    fields: dict[str, object],
) -> None:
    plain = Record("note", "x")
    assert records.from_object({"type": "note", "what": "x", **fields}) == plain
