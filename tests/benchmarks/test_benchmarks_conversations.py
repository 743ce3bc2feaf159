"""The benchmarks of recall in conversations, and of pruning, run on files of our own."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"
sys.path.insert(0, str(FOLDER))

import locomo  # noqa: E402 - the benchmark's own folder is where its modules are found
import pruning  # noqa: E402

SAID = {
    "a": ("Ines", "I planted tomatoes on the balcony", "Tom", "My bike has a flat tyre again"),
    "b": ("Vera", "The choir sings Bach in June", "Luis", "I baked rye bread with walnuts"),
}
ASKED = {
    "a": ("What did Ines plant on the balcony?", "What is wrong with Tom's bike?"),
    "b": ("What does the choir of Vera sing in June?", "Which bread did Luis bake with walnuts?"),
}


def conversation(name: str) -> dict[str, Any]:
    """Two turns, an observation of each, and a question about each."""
    first, planted, second, rode = SAID[name]
    turns = [
        {"id": f"{name}1", "session": 1, "speaker": first, "text": planted, "caption": ""},
        {"id": f"{name}2", "session": 2, "speaker": second, "text": rode, "caption": "a tyre"},
    ]
    return {
        "id": name,
        "speakers": [first, second],
        "sessions": [
            {"n": 1, "date": "2023-05-08T13:56:00"},
            {"n": 2, "date": "2023-05-25T10:00:00"},
        ],
        "turns": turns,
        "observations": [
            {
                "id": f"o{t['id']}",
                "session": t["session"],
                "speaker": t["speaker"],
                "text": f"{t['speaker']} said: {t['text']}",
                "evidence": [t["id"]],
            }
            for t in turns
        ],
        "questions": [
            {"id": f"q{name}{i}", "question": text, "category": 4, "evidence": [f"{name}{i}"]}
            for i, text in enumerate(ASKED[name], 1)
        ]
        + [{"id": f"q{name}3", "question": "Why?", "category": 5, "evidence": []}],
    }


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "conversations.json.gz"
    whole = {"conversations": [conversation("a"), conversation("b")]}
    path.write_bytes(gzip.compress(json.dumps(whole).encode()))
    return path


def run(main: Callable[[Sequence[str]], int], *arguments: str) -> str:
    """Return what a benchmark prints, run in this process."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert main(arguments) == 0
    return out.getvalue()


@pytest.mark.parametrize(
    ("unit", "documents"),
    [("turn", ["a1", "a2"]), ("observation", ["oa1", "oa2"]), ("session", ["1", "2"])],
)
@pytest.mark.parametrize("path", ["hot", "warm"])
def test_predictions_rank_the_matching_document_of_each_question_first(
    file: Path, tmp_path: Path, unit: str, documents: list[str], path: str
) -> None:
    out = tmp_path / "predictions.jsonl"

    shown = run(locomo.main, "--data", str(file), "--unit", unit, "--path", path, "--out", str(out))

    lines = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
    assert [line["question"] for line in lines] == ["qa1", "qa2", "qa3", "qb1", "qb2", "qb3"]
    assert [line["ranked"][0] for line in lines[:2]] == documents
    assert all(line["injected"] == len(line["pushed"]) for line in lines)
    assert f"{unit}, {path} path: 4 questions" in shown
    assert "R@10 100.0" in shown
    assert "FTS5, all texts: R@5 100.0" in shown
    assert ("FTS5, whole sessions: R@5 100.0" in shown) == (unit == "session")


def test_the_benchmark_of_automatic_recall_needs_only_the_standard_library(file: Path) -> None:
    without_packages = [sys.executable, "-S", str(FOLDER / "locomo.py")]

    done = subprocess.run(
        [*without_packages, "--data", str(file), "--path", "hot"], capture_output=True, text=True
    )

    assert done.returncode == 0, done.stderr
    assert "hot path" in done.stdout


def test_a_question_is_answered_only_from_sessions_before_its_own_session(
    tmp_path: Path,
) -> None:
    whole = conversation("a")
    whole["speakers"] = ["user", "assistant"]
    for turn, speaker in zip(whole["turns"], whole["speakers"], strict=True):
        turn["speaker"] = speaker
    early = {"id": "early", "question": ASKED["a"][1], "category": 2, "evidence": ["a2"]}
    silent = {"id": "none", "question": "Who sells violins?", "category": 3, "evidence": []}
    whole["questions"] = [*whole["questions"][:1], {**early, "asked_in": 2}, silent]
    path, out = tmp_path / "conversations.json", tmp_path / "predictions.jsonl"
    named = {"2": "asked too early", "3": "abstention"}
    path.write_text(json.dumps({"conversations": [whole], "categories": named}), "utf-8")

    shown = run(locomo.main, "--data", str(path), "--out", str(out))

    found = {line["question"]: line for line in map(json.loads, out.read_text().splitlines())}
    assert list(found) == ["early", "qa1", "none"]
    assert "a2" not in found["early"]["ranked"]
    assert found["qa1"]["ranked"][0] == "a1"
    assert "asked too early (1): R@5 0.0" in shown
    assert "FTS5, the user's turns: R@5 50.0" in shown
    assert "without evidence (1): nothing is injected for 100.0 %" in shown


def test_noise_is_measured_with_questions_about_another_conversation(file: Path) -> None:
    # Prompts are given no turns that they do not ask for.
    shown = run(locomo.main, "--data", str(file), "--noise", "--unit", "observation").splitlines()

    assert shown[0] == "observation, hot path: 4 questions to another conversation's memory"
    assert shown[1] == "with any injection: 0.0 %"
    assert "hold 100.0 % of the right ones" in shown[2]


def test_the_table_has_a_row_for_each_baseline_and_for_each_ranking_signal_left_out(
    file: Path,
) -> None:
    shown = run(locomo.main, "--data", str(file), "--table")

    names = [line[:34].strip() for line in shown.splitlines()[1:]]
    assert names[: names.index("ours, hot path")] == ["substring", "keyword", "fts5", "porter"]
    assert {"without bm25", "without name", "without dedup", "without boost"} <= set(names)


def test_a_pruned_search_ranks_fewer_rows_than_a_full_search() -> None:
    size = ("--rows", "400", "--questions", "15", "--as", "40000")
    shown = run(pruning.main, *size).splitlines()

    assert shown[0] == "400 rows asked as if they were 40,000; 15 questions each"
    figures = [line.split() for line in shown[2:]]
    assert [row[0] for row in figures] == ["0", "1", "2", "4"]
    assert all(float(row[1]) > 70 for row in figures)
    ranked, every = (int(figures[-1][column]) for column in (-3, -1))
    assert ranked < every
