from __future__ import annotations

from typing import Any

from memory_fabric.models import Hit
from memory_fabric.recall.normalize import collapse, dedupe
from recall.given import a_hit

TEXT = "Use cursor based pagination for all list endpoints of the public API today"


def twins(**other: Any) -> tuple[Hit, Hit]:
    first = a_hit(
        TEXT,
        id="record:1",
        relevance=0.9,
        entities=("pagination",),
        metadata={"session": "s1", "author": "ada", "why": "it scales"},
    )
    second = a_hit(
        TEXT.upper() + "!", id="record:2", relevance=0.4, entities=("API",), metadata=other
    )
    return first, second


def test_near_duplicates_are_merged_and_the_more_relevant_text_is_kept() -> None:
    first, second = twins(session="s2")

    [hit] = dedupe([second, first])

    assert hit.text == TEXT
    assert hit.entities == ("pagination", "API")
    assert hit.metadata["why"] == "it scales"
    assert hit.metadata["source_session"] == "s2"
    assert hit.metadata["source_id"] == "record:2"
    assert hit.metadata["cross_validated"] is True


def test_only_texts_above_the_similarity_threshold_are_merged() -> None:
    four_of_five = [
        a_hit("alpha beta gamma delta epsilon", id="record:1"),
        a_hit("alpha beta gamma delta", id="record:2"),
    ]

    assert len(dedupe(four_of_five, 0.85)) == 2
    assert len(dedupe(four_of_five, 0.8)) == 2
    assert len(dedupe(four_of_five, 0.79)) == 1


def test_equal_hits_from_two_authors_are_marked_as_cross_validated() -> None:
    [hit] = dedupe(twins(session="s1", author="bob"))

    assert hit.metadata["cross_validated"] is True


def test_equal_records_of_one_session_confirm_each_other_but_a_record_and_a_turn_do_not() -> None:
    first, second = twins(session="s1", author="ada")

    [hit] = dedupe([first, second])
    [record] = dedupe([first, second._replace(source="episodes")])

    assert hit.metadata["cross_validated"] is True
    assert "cross_validated" not in record.metadata


def test_a_lower_threshold_merges_texts_that_differ_in_words_and_names() -> None:
    first = a_hit("Imports run in batches with Celery", id="record:1", entities=("Celery",))
    second = a_hit("Imports run in batches at night", id="record:2")
    denied = a_hit("Imports never run in batches at night", id="record:3")

    assert len(dedupe([first, second])) == 2
    assert len(dedupe([first, second], 0.2)) == 1
    assert len(dedupe([second, denied], 0.2)) == 2


def test_duplicate_hits_of_one_record_are_merged_without_cross_validation() -> None:
    copy = a_hit("Use Redis", id="record:1", source="graph", entities=("Redis",), relevance=0.9)
    record = a_hit("Use Redis", id="record:1", entities=("cache",), metadata={"why": "speed"})

    [hit] = collapse([copy, record])

    assert hit.source == "records"
    assert hit.relevance == 0.9
    assert set(hit.entities) == {"Redis", "cache"}
    assert hit.metadata["why"] == "speed"
    assert dedupe([copy, record]) == [hit]
    assert "cross_validated" not in hit.metadata


def test_merging_three_copies_keeps_the_metadata_of_each() -> None:
    first, second = twins(session="s2")
    third = second._replace(id="record:3", metadata={"session": "s3"})

    [hit] = dedupe([first, second, third])

    assert hit.metadata["source_session"] == "s2"
    assert hit.metadata["source_2_session"] == "s3"


def test_texts_that_differ_in_a_number_or_a_negation_are_not_merged() -> None:
    port = "The staging gateway listens on port 8001 for every service of the shop cluster"
    hits = [
        a_hit(port, id="record:1"),
        a_hit(port.replace("8001", "8002"), id="record:2"),
        a_hit(port.replace("listens", "does not listen"), id="record:3"),
    ]

    assert len(dedupe(hits, 0.5)) == 3


def test_texts_that_differ_only_in_must_and_should_count_as_duplicates() -> None:
    text = (
        "The gateway must check the signature of each webhook against the key of the tenant, and "
        "log a refused one with its address and time for the support team"
    )

    def merged(duty: str) -> int:
        other = text.replace("must", duty)
        return len(dedupe([a_hit(text, id="record:1"), a_hit(other, id="record:2")]))

    assert [merged(duty) for duty in ("should", "shall", "may", "must not")] == [1, 1, 2, 2]


def test_a_replaced_record_is_not_merged_with_its_successor() -> None:
    first, second = twins(superseded_by="record:1")

    assert len(dedupe([first, second])) == 2


def test_two_texts_without_words_are_not_merged() -> None:
    assert len(dedupe([a_hit("!!!", id="record:1"), a_hit("???", id="record:2")])) == 2


def test_duplicate_hits_of_one_record_keep_all_matched_words_and_the_best_coverage() -> None:
    first = a_hit("Use Redis", id="record:1", metadata={"matched": ["redis"], "coverage": 0.3})
    other = a_hit("Use Redis", id="record:1", metadata={"matched": ["cache"], "coverage": 0.6})
    apart = a_hit("Use tabs", id="record:2")

    hit, last = collapse([first, apart, other])

    assert (hit.metadata["matched"], hit.metadata["coverage"]) == (["redis", "cache"], 0.6)
    assert last == apart


def test_a_users_own_record_is_kept_instead_of_another_persons_copy() -> None:
    theirs, own = twins(trust="user")
    theirs = theirs._replace(metadata={**theirs.metadata, "trust": "foreign"})

    [hit] = dedupe([theirs, own])

    assert (hit.id, hit.relevance, hit.metadata["source_id"]) == ("record:2", 0.9, "record:1")
    assert "cross_validated" not in hit.metadata


def test_a_record_is_kept_instead_of_the_turn_in_which_it_was_stated() -> None:
    turn, record = twins(session="s2")
    turn = turn._replace(source="episodes", id="episode:1")

    [hit] = dedupe([turn, record])

    assert (hit.id, hit.relevance) == ("record:2", 0.9)
    assert (hit.entities, hit.metadata["cross_validated"]) == (("API", "pagination"), True)
    [same] = dedupe([turn, record.marked({"session": "s1"})])
    assert "cross_validated" not in same.metadata


def test_two_replaced_copies_do_not_confirm_each_other() -> None:
    first, second = (hit.marked({"superseded_by": "record:9"}) for hit in twins(session="s2"))

    [hit] = dedupe([first, second])

    assert "cross_validated" not in hit.metadata


def test_texts_that_differ_in_a_single_letter_or_a_named_entity_are_not_merged() -> None:
    plan = "The team ships plan A of the new order import with all its checks this week"
    other = plan.replace("plan A", "plan B")
    tool = plan.replace("plan A", "plan Celery")

    assert len(dedupe([a_hit(plan, id="record:1"), a_hit(other, id="record:2")], 0.5)) == 2
    named = a_hit(tool, id="record:2", entities=("Celery",))
    assert len(dedupe([a_hit(plan.replace(" A", ""), id="record:1"), named])) == 2
