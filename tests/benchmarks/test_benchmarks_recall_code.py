"""The questions about code: the shape of the set, figures by hand, a run through the product."""

from __future__ import annotations

import hashlib
import importlib
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memory_fabric.models import ENTITY_TYPES, RECORD_TYPES
from memory_fabric.redaction.redact import redact

FOLDER = Path(__file__).parents[2] / "benchmarks"
MODULES = ("recall_code", "recall_rankers")
BY_TIME = {"superseded", "past"}


@pytest.fixture(scope="module")
def benchmark() -> Iterator[Any]:
    """The benchmark as a module, as its own folder's modules see it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(FOLDER)
        yield importlib.import_module("recall_code")
    for name in MODULES:
        sys.modules.pop(name, None)


@pytest.fixture(scope="module")
def known(benchmark: Any) -> Any:
    return benchmark.recall_set.read()


@pytest.fixture(scope="module")
def by_id(known: Any) -> dict[str, Any]:
    return {memory.id: memory for memory in known.memories}


def test_the_benchmark_has_enough_questions_of_each_kind(known: Any) -> None:
    kinds = Counter(question.kind for question in known.questions)

    assert set(kinds) == set(importlib.import_module("workloads.recall_set").KINDS)
    assert sum(kinds.values()) >= 200
    assert sum(bool(question.gold) for question in known.questions) >= 150
    assert kinds["near_miss"] >= 0.3 * len(known.questions)
    assert kinds["no_answer"] >= 30
    assert kinds["other_project"] >= 15
    assert kinds["superseded"] >= 15
    assert kinds["past"] >= 5


def test_every_project_has_enough_memories_to_make_ranking_matter(known: Any) -> None:
    assert len(known.projects) >= 8
    for project in known.projects:
        assert 20 <= len(known.of(project)) <= 30, project
        assert len(known.asked("all", [project])) >= 15, project


def test_ids_are_unique_and_a_question_refers_only_to_memories_of_its_own_project(
    known: Any, by_id: dict[str, Any]
) -> None:
    assert len(by_id) == len(known.memories)
    assert len({question.id for question in known.questions}) == len(known.questions)
    for question in known.questions:
        assert not set(question.gold) & set(question.trap), question.id
        for name in (*question.gold, *question.trap):
            assert by_id[name].project == question.project, question.id


def test_the_kind_of_a_question_determines_whether_it_has_an_answer(
    known: Any, by_id: dict[str, Any]
) -> None:
    for question in known.questions:
        if question.kind in ("no_answer", "other_project"):
            assert not question.gold, question.id
        elif question.kind != "near_miss":
            assert question.gold, question.id
        if question.kind == "near_miss":
            assert question.trap, question.id
        is_elsewhere = question.kind == "other_project"
        assert bool(question.elsewhere) is is_elsewhere, question.id
        for name in question.elsewhere:
            assert by_id[name].project != question.project, question.id


def test_the_newer_fact_is_the_answer_except_for_questions_about_the_past(
    known: Any, by_id: dict[str, Any]
) -> None:
    for memory in known.memories:
        if memory.replaces:
            assert by_id[memory.replaces].at < memory.at < known.now, memory.id
    for question in known.questions:
        if question.kind in BY_TIME:
            older, newer = question.trap, question.gold
            if question.kind == "past":
                older, newer = newer, older
            assert [by_id[name].replaces for name in newer] == list(older), question.id


def test_misleading_memories_are_both_older_and_newer_than_the_answers(
    known: Any, by_id: dict[str, Any]
) -> None:
    older = [
        by_id[trap].at < by_id[question.gold[0]].at
        for question in known.questions
        if question.gold and question.kind not in BY_TIME
        for trap in question.trap
    ]

    assert 0.3 < sum(older) / len(older) < 0.7


def test_half_of_each_kind_of_question_is_held_out_by_a_hash_of_the_id(known: Any) -> None:
    for kind in {question.kind for question in known.questions}:
        asked = [question for question in known.questions if question.kind == kind]
        asked.sort(key=lambda question: hashlib.sha256(question.id.encode()).hexdigest())
        splits = [question.split for question in asked]
        assert splits == [("tune", "held")[number % 2] for number in range(len(asked))], kind


def test_memories_have_valid_types_and_scopes(known: Any) -> None:
    for memory in known.memories:
        assert memory.entity or memory.type in RECORD_TYPES, memory.id
        assert memory.scope in ("team", "user"), memory.id
        assert {kind for _, kind in memory.entities} <= ENTITY_TYPES, memory.id


def test_no_text_of_the_benchmark_would_be_redacted(known: Any) -> None:
    for memory in known.memories:
        assert redact(memory.words) == memory.words, memory.id


def found(benchmark: Any, kind: str, pulled: str, pushed: str, **fields: Any) -> Any:
    question = benchmark.recall_set.Question("q", "p", kind, "tune", "?", **fields)
    push = benchmark.Push(tuple(pushed.split()), len(pushed))
    return benchmark.Found(question, tuple(pulled.split()), push)


def test_recall_at_k_and_mrr_are_computed_over_answerable_questions_only(benchmark: Any) -> None:
    asked = [
        found(benchmark, "exact", "g x y", "", gold=("g",)),
        found(benchmark, "exact", "x g y", "", gold=("g",)),
        found(benchmark, "exact", "x y z w g", "", gold=("g",)),
        found(benchmark, "exact", "x y", "", gold=("g",)),
        found(benchmark, "no_answer", "x y", ""),
    ]

    row = benchmark.rows(asked)[-1]

    assert (row.row, row.questions) == ("all", 5)
    assert (row.r1, row.r3, row.r10) == (0.25, 0.5, 0.75)
    assert row.mrr == pytest.approx((1 + 1 / 2 + 1 / 5) / 4)


@pytest.mark.parametrize(
    ("pushed", "is_given", "is_trapped"),
    [
        ("", False, False),
        ("g", True, False),
        ("g t", True, False),
        ("t g", True, True),
        ("x t", False, True),
    ],
)
def test_a_misleading_memory_counts_if_shown_before_or_instead_of_the_answer(
    benchmark: Any, pushed: str, is_given: bool, is_trapped: bool
) -> None:
    one = found(benchmark, "near_miss", "", pushed, gold=("g",), trap=("t",))

    assert (one.is_given, one.is_trapped) == (is_given, is_trapped)


def test_noise_is_measured_only_with_questions_that_have_no_answer(benchmark: Any) -> None:
    asked = [
        found(benchmark, "no_answer", "", "t", trap=("t",)),
        found(benchmark, "no_answer", "", ""),
        found(benchmark, "exact", "", "x", gold=("g",)),
    ]

    table = {row.row: row for row in benchmark.rows(asked)}

    assert table["all"].noise == table["no_answer"].noise == 0.5
    assert table["all"].gold == 0.0
    assert table["exact"].noise is table["no_answer"].gold is None
    assert table["no_answer"].trap == 1.0


@pytest.mark.parametrize("ranker", ["substring", "keyword", "fts5", "porter"])
def test_a_baseline_ranker_finds_a_known_word_and_nothing_for_unknown_words(
    benchmark: Any, known: Any, ranker: str
) -> None:
    plain = benchmark.Plain(known.of("firmware"), ranker)

    assert plain.pull("TC-TSTAT-2.2")[0] == "firmware-19"
    assert plain.push("TC-TSTAT-2.2").ids[0] == "firmware-19"
    assert plain.pull("xyzzy frobnicate") == []
    assert plain.push("xyzzy frobnicate").ids == ()


def test_recall_ranks_the_right_memory_first_for_exact_questions(tmp_path: Path) -> None:
    out = tmp_path / "report.json"
    command = [sys.executable, str(FOLDER / "recall_code.py"), "--projects", "shop", "cli"]

    done = subprocess.run([*command, "--json", "--out", str(out)], capture_output=True, text=True)

    assert done.returncode == 0, done.stderr
    report, told = json.loads(done.stdout), json.loads(out.read_text())["questions"]
    assert set(report["splits"]) == {"tune", "held"}
    exact = [question for question in told if question["kind"] == "exact"]
    assert exact
    assert all(question["place"] == 1 for question in exact)
    # A hit may be something else than a memory of the set, as a relation is; few are.
    names = [name for question in told for name in (*question["pulled"], *question["pushed"])]
    assert names.count("") < 0.05 * len(names)


def test_single_results_of_held_out_questions_are_not_in_the_report(tmp_path: Path) -> None:
    out = tmp_path / "report.json"
    command = [sys.executable, str(FOLDER / "recall_code.py"), "--baseline", "keyword"]

    subprocess.run([*command, "--out", str(out)], capture_output=True, check=True)

    report = json.loads(out.read_text())
    assert {question["split"] for question in report["questions"]} == {"tune"}
    assert report["splits"]["held"][-1]["questions"] >= 100


@pytest.mark.parametrize("wrong", [["--projects", "nobody"], ["--split", "none"]])
def test_an_invalid_argument_fails_with_a_message_that_quotes_it(wrong: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, str(FOLDER / "recall_code.py"), *wrong], capture_output=True, text=True
    )

    assert done.returncode != 0
    assert wrong[1] in done.stderr
    assert "Traceback" not in done.stderr
