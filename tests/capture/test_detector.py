"""Prompts in which something is heard, and the habits that are said again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_fabric.capture.cues import (
    ENOUGH,
    HEAD_CHARS,
    TAIL_CHARS,
    cues,
    forms,
    may_hear,
    typed_ends,
)
from memory_fabric.capture.prompts import Heard, heard, said_again


@pytest.mark.parametrize(
    ("prompt", "kind"),
    [
        ("Never restart the queue worker by hand.", "rule"),
        ("ok, please don't touch the billing module", "rule"),
        ("From now on run the linter first", "rule"),
        ("The exports shouldn't contain deleted rows", "rule"),
        ("Commit after every finished ticket.", ""),
        ("No, not on that page", "correction"),
        ("that's wrong, the port is 8080", "correction"),
        ("I said no new dependencies", "correction"),
        ("Why did you rewrite the parser?", "correction"),
        ("This helper goes into the service, not in the controller.", "correction"),
        ("I don't like this layout", "correction"),
        ("use valkey instead of redis", "choice"),
        ("Let's keep both tables", "choice"),
        ("I want to use the plain driver", "choice"),
        ("just kidding, leave the colours", "change"),
        ("Actually, let me keep the old name", "change"),
        ("we no longer need the nightly export", "change"),
        ("I'll run the migrations myself", "person"),
        ("we're prototyping here", "person"),
        ("There will be just four tenants", "person"),
        ("Invoices are handled in the ERP", "person"),
        ("I usually test on an old phone", "person"),
        ("Bitte immer auf Deutsch antworten", "rule"),
        ("nimm lieber pnpm statt npm", "choice"),
        ("eso no es correcto", "correction"),
        ("No toques la configuración de despliegue", "rule"),
        ("ne touche pas à la base", "rule"),
        ("Não mexa no módulo fiscal", "rule"),
        ("以后都用中文回答", "rule"),
        ("不对，应该是第二个表", "correction"),
        ("今後はテストを先に書いてください", "rule"),
        ("npm ではなく pnpm を使って", "correction"),
        ("앞으로는 테스트를 먼저 작성해 주세요", "rule"),
        ("서버는 제가 직접 실행할게요", "person"),
    ],
)
def test_a_sentence_worth_remembering_is_detected_and_classified(prompt: str, kind: str) -> None:
    found = heard(prompt)

    assert (found.kind if found else "") == kind


@pytest.mark.parametrize(
    "prompt",
    [
        "",
        "continue",
        "run the tests",
        "Add a spinner to the orders page",
        "what does this function do?",
        "It always fails on the second request",
        "never mind",
        "Should we always use transactions?",
        "Should we never use tabs",
        "Never use tabs?",
        "Never use [redacted: token] tabs",
        "Can you show me the last diff",
        "I get an error: column does not exist",
        "Start with task 4. There is no need to stop after each subtask. Go on until it is done.",
        "No need to wait for me",
        "Füge einen Spinner hinzu",
        "Agrega un botón a la página de pedidos",
        "テストを実行して",
        "테스트를 실행해 줘",
        "运行测试",
        "/compact never forget this",
        "<task-notification>never do this again</task-notification>",
        "Implement the following plan:\n\nNever use globals.",
    ],
)
def test_tasks_questions_and_machine_text_are_not_detected_as_statements(prompt: str) -> None:
    expected = "change" if prompt == "never mind" else None

    found = heard(prompt)

    assert (found.kind if found else None) == expected


def test_only_the_detected_sentence_of_a_prompt_is_returned() -> None:
    prompt = "Looks good so far. Filters belong in the query, not in the view. Go on please."

    assert heard(prompt) == Heard("correction", "Filters belong in the query, not in the view.")


def test_of_two_detected_sentences_the_one_with_more_cues_is_returned() -> None:
    last = "Always use spaces from now on."

    assert heard(f"Never use tabs. {last}") == Heard("rule", last)


def test_a_long_detected_sentence_is_truncated_to_320_characters() -> None:
    found = heard("Never deploy " + "on a day before a holiday " * 20)

    assert found is not None
    assert len(found.sentence) <= 320


def test_a_numbered_task_list_is_not_detected_as_an_answer() -> None:
    items = "\n".join(f"{n}. Add column number {n} to the report" for n in range(1, 60))

    assert heard(items) is None


def test_a_list_item_of_a_pasted_specification_is_not_detected_as_a_rule() -> None:
    document = "# Import\n\n## Goals\n\n- Rows must never be imported twice\n- Dates must be UTC\n"

    assert heard(document) is None


def test_a_rule_typed_before_a_pasted_specification_is_detected() -> None:
    document = "Never write such files into src.\n\n# Import\n\n- Rows must be unique\n"

    found = heard(document)

    assert found == Heard("rule", "Never write such files into src.")


def test_cues_in_a_pasted_log_are_ignored() -> None:
    log = "```\nnever always must not\n```\nerror TS6133: 'db' is declared but never used."

    assert heard(log) is None


def test_the_middle_of_a_long_paste_is_not_searched_for_cues() -> None:
    filler = "lorem ipsum dolor sit amet\n" * 200

    assert heard(filler + "Never use tabs.\n" + filler) is None
    assert heard("Never use tabs.\n" + filler) is not None
    assert heard(filler + "\nNever use tabs.") is not None


@given(st.text(max_size=400))
def test_nothing_is_heard_that_the_gate_holds_back(prompt: str) -> None:
    if not may_hear(prompt):
        assert heard(prompt) is None


@pytest.mark.parametrize("language", [name for name in cues() if name != "against"])
def test_every_cue_has_a_known_kind_and_lower_case_words(language: str) -> None:
    for kind, weight, words, _ in cues()[language]:
        assert kind in ("rule", "correction", "choice", "change", "person")
        assert 0 < weight < 3
        assert all(words), words
        assert [word for word in words if word != word.lower()] == []


def test_the_fast_prefilter_passes_every_word_that_the_detector_searches_for() -> None:
    of_cues = [cue for name, table in cues().items() for cue in table if name != "against"]
    words = {word for cue in of_cues if cue.weight >= ENOUGH for word in cue.words}
    words |= {word for form in forms() for word in form.words}

    assert len(words) > 500
    assert [word for word in words if not may_hear(f"x{word}x")] == []


EARLIER = [
    "Looks good. I'll run the dev server myself.",
    "run the server",
    "Why does the server crash?",
    "I will run the server myself, thanks",
]


def test_earlier_prompts_that_state_the_same_habit_are_counted() -> None:
    assert said_again("I'll run the server myself", EARLIER) == 2


@pytest.mark.parametrize("errand", ["run the tests", "continue", "commit", "push it", "run server"])
def test_repeated_routine_commands_are_not_counted_as_habits(errand: str) -> None:
    assert said_again(errand, [errand] * 5) == 0


def test_each_earlier_prompt_with_similar_words_is_counted_once() -> None:
    sentence = "Always commit after each subtask"

    assert said_again(sentence, ["Always commit after each subtask. " * 3]) == 1
    assert said_again(sentence, ["Always ask before deploying", "commit the subtask"]) == 0


def test_a_sentence_with_a_secret_is_not_detected() -> None:
    said = "there is a local server. let's use sa / {} to connect."

    assert heard(said.format("the other account")) is not None
    assert heard(said.format(2 * ("Kol1" + "bri") + "!")) is None


@pytest.mark.parametrize(
    ("prompt", "answers"),
    [
        ("1. two\n2. three\n3. four", "1. two 2. three 3. four"),
        ("1) two\n2) three", "1) two 2) three"),
        ("Fine ok you.\n1. two\n2. three", "1. two 2. three"),
        ("Fine ok you all.\n1. two\n2. three", ""),
        ("My answers to those:\n1. two\n2. three", "1. two 2. three"),
        ("1. two\n2. three\nnote it", "1. two 2. three"),
        ("1. two\n2. three\na b\nc d", ""),
        ("1. two\n2. " + "x" * 197, "1. two 2. " + "x" * 197),
        ("1. two\n2. " + "x" * 198, ""),
        ("1. two\n3. three", ""),
        ("1. two", ""),
    ],
)
def test_numbered_answers_are_few_short_and_follow_a_short_introduction(
    prompt: str, answers: str
) -> None:
    assert heard(prompt) == (Heard("choice", answers) if answers else None)


def test_the_beginning_and_the_end_of_a_long_prompt_are_read() -> None:
    whole = "a" * HEAD_CHARS + "c" * TAIL_CHARS

    assert typed_ends(whole) == whole
    assert typed_ends(whole.replace("ac", "abc")) == "a" * HEAD_CHARS + "\n\n" + "c" * TAIL_CHARS


def test_a_habit_needs_the_same_kind_of_cue_and_most_of_its_words() -> None:
    earlier = [
        "never use tabs here",
        "never use tabs",
        "never",
        "Never use spaces or tabs or anything else here",
    ]

    assert said_again("Never use tabs", earlier) == 2
    assert said_again("tabs tabs", ["tabs"]) == said_again("Never use tabs", []) == 0
