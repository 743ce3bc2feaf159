"""Filters beside a question: what may be stated, how it joins those in it, what is said of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memory_fabric.errors import BadInput
from memory_fabric.models import Filters
from memory_fabric.recall import filters
from memory_fabric.recall.explain import answer_as_json
from memory_fabric.recall.pipeline import Fabric
from memory_fabric.store.scoped_memory import within
from recall.given import NOW, USER, open_memory, remember


@pytest.fixture
def fabric(tmp_path: Path) -> Iterator[Fabric]:
    memory = open_memory(tmp_path)
    reviewer = USER._replace(domain="code_reviewer")
    remember(memory, "Name branches after issues", by=reviewer, project="frontend")
    remember(memory, "Name tables in the singular", by=reviewer)
    remember(memory, "Name releases after rivers")
    yield Fabric(memory, NOW)
    memory.close()


def texts(fabric: Fabric, question: str, **given: Any) -> list[str]:
    answer = fabric.recall(question, filters=filters.stated(given, NOW))
    return sorted(hit.text for hit in answer.hits)


def test_a_result_must_match_all_metadata_filters(fabric: Fabric) -> None:
    found = texts(fabric, "name", expert_domain="code_reviewer", project="frontend")

    assert found == ["Name branches after issues"]


def test_a_category_filter_finds_only_records_of_that_category(fabric: Fabric) -> None:
    remember(fabric.memory, "Sign releases with Sigstore", category="Security")
    remember(fabric.memory, "Name Redis keys after their owner", category="data model")

    assert texts(fabric, "releases", category="security") == ["Sign releases with Sigstore"]
    assert texts(fabric, "category:security") == ["Sign releases with Sigstore"]
    assert texts(fabric, 'name category:"data model"') == ["Name Redis keys after their owner"]
    assert texts(fabric, "name", category="style") == []


def test_several_values_of_a_filter_are_alternatives(fabric: Fabric) -> None:
    assert len(texts(fabric, "name", domain=["code_reviewer", "general"])) == 3
    assert len(texts(fabric, "name", domain=["Code Reviewer"])) == 2


def test_records_without_a_project_tag_match_a_filter_for_the_current_project(
    fabric: Fabric,
) -> None:
    assert len(texts(fabric, "name", project="PROJECT")) == 2
    assert texts(fabric, "name", project="other") == []


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"color": "red"}, "metadata_filters.color"),
        ({"type": "banana"}, "metadata_filters.type"),
        ({"scope": ["team", "x"]}, "metadata_filters.scope"),
        ({"domain": 7}, "metadata_filters.domain"),
        ({"domain": []}, "metadata_filters.domain"),
        ({"agent": ["a", None]}, "metadata_filters.agent"),
        ({"project": " "}, "metadata_filters.project"),
        ({"session": "x" * 257}, "metadata_filters.session"),
        ({"domain": "---"}, "metadata_filters.domain"),
        ({"since": "soon"}, "metadata_filters.since"),
        ({"before": ["2026-01-01"]}, "metadata_filters.before"),
    ],
)
def test_br19_an_unusable_filter_raises_an_error_that_mentions_the_filter(
    given: dict[str, Any], named: str
) -> None:
    with pytest.raises(BadInput, match=named) as caught:
        filters.stated(given, NOW)

    assert caught.value.field == named


def test_filters_in_a_question_and_in_the_call_must_both_match(fabric: Fabric) -> None:
    assert texts(fabric, "name project:frontend", domain="code_reviewer") == [
        "Name branches after issues"
    ]
    assert texts(fabric, "name domain:general,code_reviewer", domain="general") == [
        "Name releases after rivers"
    ]


def test_mutually_exclusive_filters_return_no_hits_and_a_reason(fabric: Fabric) -> None:
    answer = fabric.recall("name domain:general", filters=Filters(domains=("code_reviewer",)))

    assert answer.hits == ()
    assert answer.notes == (
        "nothing can be found: these filters exclude each other: expert_domain=general and "
        "expert_domain=code_reviewer",
    )


def test_a_time_filter_that_ends_before_it_begins_is_reported_in_the_answer(
    fabric: Fabric,
) -> None:
    answer = fabric.recall("name since:2026-03-01 before:2026-01-01")

    assert answer.hits == ()
    assert "since=2026-03-01 and before=2026-01-01" in answer.notes[0]


def test_a_json_answer_without_results_lists_the_active_filters(fabric: Fabric) -> None:
    told = answer_as_json(fabric.recall("name type:antipattern domain:code_reviewer"))

    assert told["results"] == []
    assert told["filters"] == {"expert_domain": ["code_reviewer"], "type": ["antipattern"]}
    assert told["notes"] == [
        "nothing was found under the filter (expert_domain=code_reviewer, type=antipattern)"
    ]
    assert "filters" not in answer_as_json(fabric.recall("name"))


def test_an_invalid_filter_in_a_question_is_reported(fabric: Fabric) -> None:
    answer = fabric.recall("name type:nonsense scope:x since:gibberish depth:9")

    assert len(answer.hits) == 3
    assert len(answer.notes) == 4
    assert answer.notes[0].startswith("“type:nonsense” is no filter and was read as words: type")


def test_a_negated_filter_is_reported_as_unsupported(fabric: Fabric) -> None:
    answer = fabric.recall("retention -domain:general")

    assert answer.notes == (
        "“-domain:general” is no filter and was read as words: nothing can be left out by a filter",
    )


def test_answers_limited_to_one_domain_are_labelled_with_that_domain(fabric: Fabric) -> None:
    inside = Fabric(within(fabric.memory, ("general",)), NOW)

    told = answer_as_json(inside.recall("name"))
    assert told["label"] == "[Domain-Filtered Memory (expert_domain=general)]"
    assert [one["text"] for one in told["results"]] == ["Name releases after rivers"]
    assert inside.recall("name domain:code_reviewer").hits == ()
    injection = inside.inject_for_prompt("How do we name releases?")
    assert "[Domain-Filtered Memory (expert_domain=general)]" in injection.text


@pytest.mark.parametrize(
    "given",
    [{"domain": ["x"] * 50}, {"agent": "x" * 256}, {"project": ["a", "a", "b"]}],
)
def test_the_most_values_and_the_longest_value_of_a_filter_are_accepted(
    given: dict[str, Any],
) -> None:
    [(name, values)] = filters.as_object(filters.stated(given, NOW)).items()

    stated = next(iter(given.values()))
    assert values == sorted({stated} if isinstance(stated, str) else set(stated))
    assert name in ("expert_domain", "agent", "project")


@pytest.mark.parametrize(
    ("field", "named"), [("--", "--domain"), ("", "domain"), ("query", "query.domain")]
)
def test_an_error_names_the_filter_as_the_caller_wrote_it(field: str, named: str) -> None:
    with pytest.raises(BadInput) as caught:
        filters.stated({"domain": ["x"] * 51}, NOW, field)

    assert caught.value.field == named


@pytest.mark.parametrize(
    ("first", "second", "whole", "conflicts"),
    [
        ({"types": ("decision", "note")}, {"types": ("note", "pattern")}, {"types": ("note",)}, ()),
        (
            *({"types": ("decision",)}, {"types": ("note",)}, {"types": ("note",)}),
            ("type=decision and type=note",),
        ),
        ({"agents": ("ui",)}, {}, {"agents": ("ui",)}, ()),
        ({}, {"agents": ("ui",)}, {"agents": ("ui",)}, ()),
        ({"projects": ("Shop",)}, {"projects": ("shop",)}, {"projects": ("Shop",)}, ()),
        ({"categories": ("API",)}, {"categories": ("api",)}, {"categories": ("API",)}, ()),
        (
            *({"agents": ("UI",)}, {"agents": ("ui",)}, {"agents": ("ui",)}),
            ("agent=UI and agent=ui",),
        ),
        ({"since": "2026-01-01"}, {"since": "2026-01-02"}, {"since": "2026-01-02"}, ()),
        ({"before": "2026-03-01"}, {"before": "2026-03-02"}, {"before": "2026-03-01"}, ()),
        ({"as_of": "2026-02-01"}, {"as_of": "2026-02-02"}, {"as_of": "2026-02-01"}, ()),
        (
            *({"since": "2026-01-01"}, {"before": "2026-01-01"}),
            {"since": "2026-01-01", "before": "2026-01-01"},
            ("since=2026-01-01 and before=2026-01-01",),
        ),
    ],
)
def test_two_filters_are_combined_to_what_meets_both(
    first: dict[str, Any], second: dict[str, Any], whole: dict[str, Any], conflicts: tuple[str, ...]
) -> None:
    merged = filters.merged(Filters(**first), Filters(**second))

    assert merged == (Filters(**whole), conflicts)


def test_a_filter_with_a_name_of_at_most_80_characters_is_read() -> None:
    read, unread = (filters.in_text(f"name agent:{'x' * count}", NOW) for count in (80, 81))

    assert read == ("name", Filters(agents=("x" * 80,)), 0, ())
    text, none, _, [note] = unread
    assert (text, none) == (f"name agent:{'x' * 81}", Filters())
    assert note.startswith(f"“agent:{'x' * 74}…” is no filter")
    assert "takes names of at most 80 characters" in note


def test_an_invalid_filter_of_80_characters_is_quoted_in_full() -> None:
    invalid = f"type:{'x' * 75}"

    assert filters.in_text(invalid, NOW)[3][0].startswith(f"“{invalid}” is no filter")


def test_a_filter_without_a_value_is_read_as_a_word_without_a_note() -> None:
    assert filters.in_text('domain: naming since:""', NOW)[3] == ()


def test_a_repeated_filter_narrows_times_and_takes_the_last_depth() -> None:
    text = "since:2026-01 since:2026-02 before:2026-05 before:2026-04 depth:1 depth:3 name"

    rest, found, depth, _ = filters.in_text(text, NOW)

    assert (rest, depth) == ("name", 3)
    assert found == Filters(since="2026-02-01", before="2026-04-01")


def test_a_time_of_more_than_80_characters_is_invalid() -> None:
    padded = "2026-01-31".rjust(81)

    assert filters.time_of("since", padded, NOW) == ""
    assert filters.time_of("since", "", NOW) == ""
