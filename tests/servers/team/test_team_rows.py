"""Rows of a shared log, as they are shown to a member; any member may have written them."""

from __future__ import annotations

from typing import Any

import pytest

from memory_fabric.errors import DeadlinePassed, FabricError, StoreUnavailable
from memory_fabric.models import Filters, Relation
from memory_fabric.servers.http import team_rows, team_store
from memory_fabric.servers.http.responses import Forbidden
from memory_fabric.servers.http.team_reader import TeamReader
from memory_fabric.servers.http.team_rows import Row, Said
from memory_fabric.servers.http.team_words import Vocabulary
from memory_fabric.sharing.replica import wire
from memory_fabric.sharing.replica.wire import TeamOperation
from memory_fabric.sharing.team import errors
from team.postgres import ANN, BOB
from team.statements import AT, entity, observation, record, relation

LATER, NOW = "2026-02-11T10:00:00.000Z", "2026-03-01T10:00:00.000Z"


def row(operation: TeamOperation, author: str = ANN, **changed: Any) -> Row:
    """A row of the log with what an operation states, except for changed fields."""
    value = {**(operation.value or {}), **changed}
    return Row(operation.op_id, 7, author, operation.kind, operation.key, value, 1.5)


def fields(given: Row, member: str = ANN) -> dict[str, Any]:
    found = team_rows.record_fields(given, member)
    assert found is not None
    return found


def test_only_the_author_of_a_record_sees_what_it_states_about_itself() -> None:
    own = {"trust": "user", "pinned": True, "source": "prompt", "confidence": 0.8}
    own |= {"evidence": {"confirmed_at": AT}, "project": "app"}
    said = row(record("Use UTC"), own=own, agent="reviewer")
    names = ("author", "trust", "source", "pinned", "evidence", "confidence", "project", "agent")

    mine, theirs = ([fields(said, member)[name] for name in names] for member in (ANN, BOB))

    assert mine == [ANN, "user", "prompt", True, {"confirmed_at": AT}, 0.8, "app", "reviewer"]
    assert theirs == [ANN, "foreign", "journal", False, {}, 0.5, "", "reviewer"]


@pytest.mark.parametrize(
    ("stated", "shown"),
    [
        ({"trust": "assistant", "pinned": "yes"}, ("assistant", False, 0.5)),
        ({"confidence": 0}, ("tool", False, 0)),
        ({"confidence": 1}, ("tool", False, 1)),
        *(
            (invalid, ("tool", False, 0.5))
            for invalid in (
                *({"confidence": value} for value in (1.01, -0.01, True, "0.9")),
                *({"trust": "foreign"}, {"evidence": ["x"]}, "user"),
            )
        ),
    ],
    ids=str,
)
def test_invalid_fields_that_an_author_states_about_a_record_are_ignored(
    stated: Any, shown: tuple[str, bool, float]
) -> None:
    found = fields(row(record("Use UTC"), own=stated))

    assert (found["trust"], found["pinned"], found["confidence"]) == shown
    assert found["evidence"] == {}


def test_a_record_that_is_not_valid_for_a_team_is_not_shown() -> None:
    said = record("Use UTC")
    invalid: list[dict[str, Any]] = [{"id": "x"}, {"id": None}]
    invalid += [{"scope": "user"}, {"status": "candidate"}]

    assert team_rows.record_fields(row(said), BOB) is not None
    for changed in invalid:
        assert team_rows.record_fields(row(said, **changed), BOB) is None
    assert team_rows.record_fields(row(said)._replace(key="r:another"), BOB) is None
    assert team_rows.record_candidate(row(said, what=" "), BOB) is None


def test_a_record_becomes_a_hit_with_its_score_time_entities_and_evidence() -> None:
    own = {"evidence": {"confirmed": AT, "contradicts": [], "when": "git push"}}
    said = record("Use Redis", entities=["Redis"], why="it is quick", superseded_by="x")

    found = team_rows.record_candidate(row(said, own=own), ANN)

    assert found is not None
    id_ = said.key.removeprefix("r:")
    assert (found.id, found.source, found.text) == (f"record:{id_}", "records", "Use Redis")
    assert (found.timestamp, found.bm25, found.store) == (AT, 1.5, "team")
    about = dict(found.metadata)
    assert (about["record"], about["entities"], about["why"]) == (id_, ["Redis"], "it is quick")
    assert (about["scope"], about["trust"], about["superseded_by"]) == ("team", "tool", "")
    assert (about["session"], about["promoted_at"], about["said_in"]) == ("", "", "journal")
    assert about["confirmed"] == AT and not {"contradicts", "when"} & about.keys()


def test_an_observation_becomes_a_hit_that_names_its_author() -> None:
    said = observation("Redis", "It caches", domain="ops")

    mine, theirs = (team_rows.observation_candidate(row(said), one) for one in (ANN, BOB))

    assert mine is not None and theirs is not None
    assert (mine.id, mine.source, mine.text) == ("graph:Redis#7", "graph", "It caches")
    assert (mine.entity, mine.timestamp, mine.bm25) == ("Redis", AT, 1.5)
    assert (mine.metadata["trust"], theirs.metadata["trust"]) == ("tool", "foreign")
    assert (mine.metadata["author"], mine.metadata["domain"]) == (ANN, "ops")
    assert (mine.metadata["said_in"], mine.metadata["record"]) == ("mcp", "")
    assert team_rows.observation_candidate(row(said, text=""), ANN) is None
    assert team_rows.observation_candidate(row(said, entity=7), ANN) is None


def test_an_entity_is_described_by_its_observations_or_its_type() -> None:
    said = row(entity("Redis", "cache"))

    described = team_rows.entity_candidate(said, ["It caches", "It is old"])
    bare = team_rows.entity_candidate(said, ())

    assert described is not None and bare is not None
    assert (described.text, bare.text) == ("It caches; It is old", "Redis (cache)")
    assert described.metadata["whole_entity"] is True
    assert (described.id, described.metadata["entityType"]) == ("graph:Redis", "cache")
    assert team_rows.entity_candidate(row(entity("Redis"), name=" "), ()) is None


def test_invalid_fields_of_an_entity_are_left_out() -> None:
    said = row(entity("Redis", "cache"), aliases=["r", 7], domain=None, created_at="today")

    assert team_rows.said_in(said) == Said("Redis", "", "cache", ("r",), "general", "")
    assert team_rows.said_in(row(entity("Redis"), aliases="r")) == Said(
        "Redis", "", "service", (), "general", AT
    )


def test_a_relation_needs_both_ends_and_a_type() -> None:
    said = relation("api", "uses", "Redis")

    assert team_rows.relation_in(row(said)) == Relation("api", "uses", "Redis")
    for name in ("from", "relationType", "to"):
        changed: dict[str, Any] = {name: ""}
        assert team_rows.relation_in(row(said, **changed)) is None


def test_an_author_whose_name_cannot_be_shown_is_called_a_member() -> None:
    assert team_rows.author_of(row(entity("Redis"), author=ANN)) == ANN
    assert team_rows.author_of(row(entity("Redis"), author="()")) == "a member"


@pytest.mark.parametrize(
    ("operation", "line"),
    [
        (record("Use UTC"), "Use UTC"),
        (relation("api", "uses", "Redis"), "api uses Redis"),
        (entity("Redis", "cache"), "Redis (cache)"),
        (observation("Redis", "It caches"), "Redis: It caches"),
    ],
)
def test_each_kind_of_statement_is_told_in_a_line(operation: TeamOperation, line: str) -> None:
    assert team_rows.said_of(operation.kind, operation.value) == line
    assert team_rows.said_of(operation.kind, None).startswith("(withdrawn")


@pytest.mark.parametrize(
    ("error", "kind", "words"),
    [
        (errors.TooSlow, DeadlinePassed, "took too long"),
        (errors.ServerReadOnly, StoreUnavailable, "read-only"),
        (errors.NotAMember, Forbidden, "may not do this"),
        (errors.NotAllowed, Forbidden, "may not do this"),
        (errors.NoAnswer, StoreUnavailable, "does not answer"),
        (errors.ServerFull, StoreUnavailable, "does not answer"),
        (errors.LoginFailed, StoreUnavailable, "does not answer"),
        (errors.UnfitServer, FabricError, "could not answer this"),
    ],
)
def test_an_error_of_the_database_is_told_without_its_details(
    error: type[errors.TeamError],
    kind: type[FabricError],
    words: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    told = team_rows.of_log(error("It is at db.example.org."))

    assert type(told) is kind
    assert words in told.message and told.remedy
    assert "db.example.org" not in str(told)
    is_logged = kind is FabricError
    assert ("db.example.org" in capsys.readouterr().err) is is_logged


def reader(*domains: str) -> TeamReader:
    """A reader without a database connection."""
    nowhere: Any = None
    return TeamReader(nowhere, "app", ANN, Vocabulary(), domains or None)


@pytest.mark.parametrize(
    ("filters", "condition"),
    [
        (Filters(), "{}"),
        (
            Filters(types=("Decision",), agents=("Ann",)),
            '{"types": ["decision"], "agents": ["Ann"]}',
        ),
        (Filters(scopes=("user", "team"), since="2026"), '{"since": "2026"}'),
        (Filters(scopes=("user",)), None),
        (Filters(sessions=("s1",)), None),
    ],
)
def test_filters_that_no_row_of_a_log_can_match_give_no_condition(
    filters: Filters, condition: str | None
) -> None:
    assert reader().condition(filters) == condition


def test_a_reader_of_some_domains_requires_one_of_them() -> None:
    assert reader("legal", "ops").condition(Filters()) == '{"domains": ["legal", "ops"]}'
    assert not reader("legal").has_domain("ops")


def test_a_reader_runs_no_query_for_an_empty_list_or_a_filter_that_matches_nothing() -> None:
    none = reader()
    never = Filters(sessions=("s1",))

    assert none.newest(wire.RECORD, 0) == none.newest(wire.RECORD, 5, names=[]) == []
    assert none.newest(wire.RECORD, 5, never) == none.standing(["r:x"], never) == []
    assert none.relations_of([], "", Filters()) == none.relations_of(["api"], "", never) == []
    for kind in ("agents", "types", "categories"):
        stated: dict[str, Any] = {kind: ("x",)}
        assert none.relations_of(["api"], "", Filters(**stated)) == []
    assert none.fetched([]) == none.about([]) == []
    assert none.entities_by_key([]) == {}
    assert none.observations([["api"]], 5, never) == none.records([["api"]], 5, never, "") == []
    assert none.observations([], 5, Filters()) == []


def shown(*rows: Row) -> dict[str, list[Row]]:
    """Rows of the log by the list of the page that shows them."""
    names = {kind: name for name, kind in team_rows.COUNTED.items()}
    found: dict[str, list[Row]] = {name: [] for name in team_rows.COUNTED}
    for one in rows:
        found[names[one.kind]].append(one)
    return found


def test_the_page_lists_entities_that_only_relations_records_or_observations_mention() -> None:
    said = shown(
        row(entity("Redis", "cache", ["r"]), BOB),
        row(observation("Redis", "It caches"), ANN, created_at=LATER),
        row(observation("api", "It is old", "ops"), BOB),
        row(relation("api", "uses", "disk")),
        row(relation("", "uses", "tape")),
    )
    about = fields(row(record("Use tabs", entities=["Makefile"])))

    found = team_store._entities(said, [about], ANN, NOW)

    assert list(found) == ["Redis", "api", "disk", "Makefile"]
    redis, api = found["Redis"], found["api"]
    assert (redis["type"], redis["aliases"], redis["trust"]) == ("cache", ["r"], "foreign")
    assert (redis["at"], redis["days"], redis["scope"]) == (LATER, 18, "team")
    (caches,) = redis["observations"]
    assert (caches["text"], caches["trust"], caches["source"]) == ("It caches", "tool", ANN)
    assert (caches["at"], caches["domain"], caches["scope"]) == (LATER, "general", "team")
    of_api = (api["type"], api["domain"], api["trust"], api["at"])
    assert of_api == ("unknown", "ops", "foreign", AT)
    assert (found["disk"]["at"], found["disk"]["observations"]) == ("", [])
    assert (found["Makefile"]["type"], found["Makefile"]["at"]) == ("technology", AT)


def test_the_page_lists_relations_only_between_entities_that_it_lists() -> None:
    rows = [
        row(relation("api", "uses", "Redis"), domain="ops"),
        row(relation("api", "uses", "disk")),
        row(relation("disk", "holds", "api")),
        row(relation("api", "", "Redis")),
        row(relation("Redis", "calls", "api"), domain="", created_at=None),
    ]

    found = team_store._relations(rows, {"Redis": 0, "api": 1})

    uses = {"from": 1, "to": 0, "type": "uses", "at": AT, "domain": "ops", "record": ""}
    calls = {"from": 0, "to": 1, "type": "calls", "at": "", "domain": "general", "record": ""}
    assert found == [uses, calls]


def test_the_page_shows_a_record_with_its_age_and_the_entities_that_it_lists() -> None:
    at, named = "2025-01-01T10:00:00.000Z", [["Redis", "cache"], ["gone", ""]]

    def on_page(**changed: Any) -> dict[str, Any]:
        said = row(record("Use Redis"), **changed)
        return team_store._record(fields(said), {"redis": 0, "other": 1}, NOW)

    aged = on_page(created_at=at, entities=named)
    pinned = on_page(created_at=at, own={"pinned": True})
    fresh = on_page()

    assert (aged["entities"], aged["days"], aged["stale"]) == ([0], 424, True)
    assert (aged["what"], aged["at"]) == ("Use Redis", at)
    assert (aged["status"], aged["short_id"]) == ("active", aged["id"][-8:])
    assert (pinned["stale"], pinned["pinned"]) == (False, True)
    assert (fresh["stale"], fresh["days"]) == (False, 28)
