from __future__ import annotations

import pytest

from memory_fabric.models import Relation
from memory_fabric.recall.rank import MAX_RELATIONS, boost, keys_in
from recall.given import a_hit

USES = Relation("cursor-pagination", "uses", "PostgreSQL")
RECOMMENDS = Relation("database-engineer", "recommends", "cursor-pagination")


def test_a_search_hit_that_mentions_an_entity_is_boosted_and_gets_its_relations() -> None:
    hit = a_hit("Lists need PostgreSQL 15", relevance=0.5)

    [raised] = boost([hit], {"PostgreSQL": (USES,)}, 1.2)

    assert raised.relevance == pytest.approx(0.6)
    assert raised.graph_relations == (USES,)
    assert raised.metadata["cross_referenced"] is True
    assert "PostgreSQL" in raised.entities


def test_the_relevance_of_a_boosted_hit_is_at_most_1() -> None:
    [raised] = boost([a_hit("on PostgreSQL", relevance=0.95)], {"PostgreSQL": (USES,)}, 1.2)

    assert raised.relevance == 1.0


def test_spelling_variants_of_an_entity_name_are_recognised() -> None:
    [raised] = boost([a_hit("use cursor pagination")], {"cursor-pagination": (USES,)})

    assert raised.metadata["cross_referenced"] is True


def test_entities_of_a_record_boost_it_only_through_relations_from_other_records() -> None:
    own = a_hit("Use cursors", entities=("cursor-pagination",), metadata={"relations": [[*USES]]})
    around = {"cursor-pagination": (USES,)}

    [same] = boost([own], around, 1.2)
    [raised] = boost([own], {"cursor-pagination": (USES, RECOMMENDS)}, 1.2)

    assert same.relevance == own.relevance
    assert "cross_referenced" not in same.metadata
    assert raised.relevance == pytest.approx(1.2 * own.relevance)
    assert raised.metadata["cross_referenced"] is True


def test_a_graph_hit_gets_the_relations_of_its_own_entity_without_a_boost() -> None:
    hit = a_hit("Use cursor-based pagination", entities=("cursor-pagination",), source="graph")

    [same] = boost([hit], {"cursor-pagination": (RECOMMENDS,)})

    assert same.relevance == hit.relevance
    assert same.graph_relations == (RECOMMENDS,)
    assert same.entities == ("cursor-pagination", "database-engineer")
    assert "cross_referenced" not in same.metadata


def test_an_entity_without_relations_does_not_change_a_hit() -> None:
    hit = a_hit("Ada said so")

    assert boost([hit], {"Ada": ()}) == [hit]


def test_a_hit_gets_only_a_few_of_the_many_relations_of_an_entity() -> None:
    many = tuple(Relation("Redis", "used_by", f"service-{i}") for i in range(50))

    [raised] = boost([a_hit("on Redis")], {"Redis": many})

    assert len(raised.graph_relations) == MAX_RELATIONS


def test_a_boosted_hit_gets_at_most_eight_entities() -> None:
    names = tuple(f"service-{number}" for number in range(7))
    hit = a_hit("on PostgreSQL and Redis", entities=names)
    around = {"PostgreSQL": (USES,), "Redis": (Relation("Redis", "runs_on", "Linux"),)}

    [raised] = boost([hit], around)

    assert raised.entities == (*names, "PostgreSQL")


def test_single_letters_in_a_text_are_no_entities_but_two_adjacent_words_may_be_one() -> None:
    assert keys_in("a go to market plan") == {
        *("go", "to", "market", "plan"),
        *("ago", "goto", "tomarket", "marketplan"),
    }


def test_a_record_that_states_some_relations_of_its_entity_is_raised_by_the_others() -> None:
    own = a_hit("Use cursors", entities=("cursor-pagination",), metadata={"relations": [[*USES]]})

    [graph_only] = boost([own._replace(source="graph")], {"cursor-pagination": (RECOMMENDS,)})
    [raised] = boost([own], {"cursor-pagination": (RECOMMENDS,)})

    assert graph_only.relevance == own.relevance < raised.relevance
    assert raised.graph_relations == (RECOMMENDS,)
