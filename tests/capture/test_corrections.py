"""What corrections leave: rules for good, nothing of edits, pointers, questions, quotations."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capture import corrections_held_back, corrections_told
from memory_fabric.capture.capture import capture
from memory_fabric.capture.correction_cues import may_correct
from memory_fabric.capture.corrections import corrections, joined
from memory_fabric.models import Record


def only(text: str) -> Record:
    (found,) = corrections(text)
    return found


@pytest.mark.parametrize("sentence", corrections_told.HOLD)
def test_a_correction_that_holds_is_a_sure_constraint(sentence: str) -> None:
    rule = only(sentence)

    assert rule.type == "constraint"
    assert rule.confidence >= 0.8
    assert rule.category == "correction"


@pytest.mark.parametrize("sentence", corrections_told.PASS_BY)
def test_an_edit_a_pointer_or_a_question_leaves_nothing(sentence: str) -> None:
    assert corrections(sentence) == []


def test_of_the_sentences_held_back_most_are_found_and_nothing_else() -> None:
    """37 of 40 at first reading; they were written before, and nothing was tuned on them."""
    found = [s for s in corrections_held_back.HOLD if corrections(s)]
    wrong = [s for s in corrections_held_back.PASS_BY if corrections(s)]

    assert len(found) >= 37
    assert wrong == []


def test_both_sets_are_as_large_as_they_say_and_share_nothing() -> None:
    told, held = corrections_told, corrections_held_back

    assert len(set(told.HOLD)) >= 60 and len(set(told.PASS_BY)) >= 60
    assert len(set(held.HOLD)) == len(set(held.PASS_BY)) == 40
    assert not {*told.HOLD, *told.PASS_BY} & {*held.HOLD, *held.PASS_BY}


@pytest.mark.parametrize(
    ("said", "kept", "rejected"),
    [
        ("No, use pnpm, not npm.", "Use pnpm, not npm", ("npm",)),
        ("No, we use pnpm instead of npm here.", "We use pnpm instead of npm here", ("npm",)),
        ("Not npm, pnpm.", "Use pnpm, not npm", ("npm",)),
        ("You're using npm again, we use pnpm here.", "We use pnpm here", ("npm",)),
        ("You keep using var instead of const.", "Stop using var instead of const", ("var",)),
        ("You keep adding type: ignore comments.", "Stop adding type: ignore comments", ()),
        ("I told you not to touch generated code.", "Do not touch generated code", ()),
        (
            "That's wrong, the config lives in config/app.toml, not in .env files.",
            "The config lives in config/app.toml, not in .env files",
            (".env files",),
        ),
    ],
)
def test_the_rule_stands_alone_and_names_what_was_rejected(
    said: str, kept: str, rejected: tuple[str, ...]
) -> None:
    rule = only(said)

    assert (rule.what, rule.alternatives) == (kept, rejected)


def test_a_reason_is_kept_apart_and_with_a_known_thing_it_holds_elsewhere_too() -> None:
    rule = only("No, we use PostgreSQL here, not MySQL, because we need partial indexes.")

    assert rule.why == "we need partial indexes"
    assert rule.generalizable
    assert not only("No, we use PostgreSQL here, not MySQL.").generalizable


def test_every_form_passes_the_cheap_gate() -> None:
    assert [s for s in corrections_told.HOLD if not may_correct(s)] == []


@pytest.mark.parametrize(
    "text",
    [
        "Add a button to the settings page.",
        "Fix the failing login and open a pull request.",
        "What does this function return?",
        "The test does not pass, and there is no log.",
    ],
)
def test_plain_requests_do_not_even_pass_the_gate(text: str) -> None:
    assert not may_correct(text)


@pytest.mark.parametrize(
    "shown",
    [
        "```\nNo, we use pnpm here, not npm.\n```",
        "> No, we use pnpm here, not npm.",
        "<memory-fabric>\nNo, we use pnpm here, not npm.\n</memory-fabric>",
        "<system-reminder>No, we use pnpm here, not npm.</system-reminder>",
        'Rename the heading to "no, we use pnpm here, and that has been so for a long time".',
    ],
)
def test_what_is_only_shown_corrects_nobody(shown: str) -> None:
    assert corrections(shown) == []


def test_several_corrections_of_one_text_are_several_rules() -> None:
    text = "No, we use pnpm here, not npm. And stop adding comments to every line."

    assert [r.what for r in corrections(text)] == [
        "We use pnpm here, not npm",
        "Stop adding comments to every line",
    ]


def test_where_capture_reads_the_same_sentence_only_the_correction_stays() -> None:
    text = "No, we use PostgreSQL instead of MySQL for every service. We decided to use Redis."

    both = joined(capture(text, speaker="user"), corrections(text))

    assert [(r.type, "PostgreSQL" in r.what) for r in both] == [
        ("constraint", True),
        ("decision", False),
    ]


@given(st.text(max_size=400), st.sampled_from(corrections_told.HOLD))
def test_any_text_is_read(noise: str, sentence: str) -> None:
    for text in (noise, noise + sentence, sentence + noise, f"{sentence}\n{noise}"):
        for record in corrections(text):
            assert record.what == record.what.strip()
            assert 8 <= len(record.what) <= 240


@pytest.mark.parametrize(
    "part",
    ["no, we use ", "stop adding ", "you keep using a, ", "as i said, ", "not a, b, ", "the a ",
     "i told you to ", "no no no, ", ": we use x", "nein, hier verwenden wir ", "不，我们这里用"],
)  # fmt: skip
def test_a_hostile_text_costs_no_more_than_its_length(part: str) -> None:
    text = (part * 60)[:690] + "\n\n"
    started = time.process_time()
    corrections(text * 20)
    assert time.process_time() - started < 3
