"""The benchmark of rules that change, on an invented dialogue."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"
sys.path.insert(0, str(FOLDER))

import rules  # noqa: E402
from rules import is_told, is_told_as_current, note, prompts_of  # noqa: E402

OLD, NEW = "always start pier names with 'n_'", "always start pier names with 's_'"
OTHER = "always start buoy names with 'n_'"
CASE, OLD_CASE = "always use CamelCase for ship names", "always use snake_case for ship names"
FIRST = (
    "Ines: Good morning.\n\nTom: Hello.\n\n"
    "Ines: One thing. From now on, always start pier names with 'n_'."
)
DATA = {
    "rules": [{"id": 0, "text": [OLD, NEW], "eval_query": "function that names a pier"}],
    "conversations": [
        {
            "id": 1,
            "mentor": "Ines",
            "sessions": [
                {
                    "text": FIRST,
                    "type": ["instruction-add"],
                    "topic": [OLD],
                },
                {
                    "text": "Ines: From now on, always start pier names with 's_' instead.",
                    "type": ["filler-add", "instruction-update"],
                    "topic": ["the weather", NEW],
                },
            ],
        }
    ],
}


@pytest.mark.parametrize(
    ("line", "current"),
    [
        ("- [rule · 1630ad9a] Always start pier names with 'n_'.", True),
        ('- [rule · 1630ad9a] Start the names of piers with "n_"', True),
        ("- Always start pier names with 's_' (instead of 'n_')", False),
        ("- [rule · superseded by 1630ad9a] Always start pier names with 'n_'.", False),
        ("- Always start buoy names with 'n_'.", False),
        ("- Always start pier names with 's_'.", False),
    ],
)
def test_an_outdated_rule_counts_as_shown_only_if_it_is_shown_as_current(
    line: str, current: bool
) -> None:
    assert is_told_as_current(f"Rules\n{line}", OLD, [NEW, OTHER]) is current


def test_a_line_with_the_new_rule_does_not_count_as_showing_the_old_rule() -> None:
    told = "- Always use CamelCase for ship names."

    assert is_told(told, CASE)
    assert not is_told_as_current(told, OLD_CASE, [CASE])


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("Always start variable names with 'x_'", "always start function names with 'x_'"),
        ("Include a single digit in variable names", "include a single digit in class names"),
        ("Use docstrings in functions", "always use annotations for functions"),
    ],
)
def test_a_line_about_another_subject_does_not_count_as_showing_the_rule(
    line: str, rule: str
) -> None:
    assert is_told(rule, rule)
    assert not is_told(line, rule)


def test_a_generated_note_quotes_the_sentence_of_the_prompt_that_states_the_rule() -> None:
    prompt = prompts_of(FIRST, "Ines")[1]

    line = note(OLD, prompt, "1630ad9a")

    said = "From now on, always start pier names with 'n_'."
    rule = "Noted rule: Always start pier names with 'n_'."
    assert line == f'{rule} Instead of: 1630ad9a. From: "{said}"'


@pytest.mark.usefixtures("answered_here")
def test_the_rules_benchmark_compares_sessions_with_notes_and_without_notes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = tmp_path / "rules.json"
    data.write_text(json.dumps(DATA), "utf-8")

    assert rules.main(["--data", str(data)]) == 0

    with_notes, without = capsys.readouterr().out.split("without notes")
    for shown, noted in ((with_notes, "2 of 2"), (without, "0 of 2")):
        figures = {line[:40].strip(): line[40:] for line in shown.splitlines()}
        assert "of 1;" in figures["current rule told"]
        assert "of 1;" in figures["changed: replaced told as current"]
        assert noted in figures["rules noted"]
    assert "rules fit the block: 1 dialogues" in without
