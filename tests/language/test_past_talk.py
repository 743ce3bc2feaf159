"""Prompts about earlier sessions, questions and their answers, and reports of trouble."""

from __future__ import annotations

import pytest

from memory_fabric.language.questions import (
    MAX_KIND_CHARS,
    NUMBER,
    PERSON,
    RESUMED_CHARS,
    TIME,
    asked_by,
    asked_kind,
    holds,
    reports_trouble,
    resumed,
)

ASKING = (
    "Where were we?",
    "ok, where did we leave off",
    "What did we do last time?",
    "Morning! Can you remind me what we were doing, where we left off yesterday?",
    "what was I working on",
    "Wo waren wir stehen geblieben?",
    "Was haben wir letztes Mal gemacht?",
    "Où en étions-nous ?",
    "Qu'est-ce qu'on a fait la dernière fois ?",
    "¿Dónde quedamos?",
    "¿Qué hicimos la última vez?",
    "Dove eravamo rimasti?",
    "Onde paramos?",
    "Waar waren we gebleven?",
    "На чём мы остановились?",
    "上次做到哪了？",
    "前回の続きをお願いします",
    "어디까지 했지?",
)
BARE = (
    "continue",
    "Continue please.",
    "ok, let's continue",
    "go on",
    "resume work",
    "keep going!",
    "weiter",
    "Bitte mach weiter",
    "on continue",
    "reprenons",
    "sigue",
    "Continúa, por favor",
    "vai avanti",
    "vamos continuar",
    "ga verder",
    "kontynuuj",
    "продолжай",
    "devam et",
    "继续",
    "继续吧。",
    "続けて",
    "계속",
)


@pytest.mark.parametrize("prompt", ASKING)
def test_a_question_about_where_work_ended_is_recognised_in_a_later_prompt(prompt: str) -> None:
    assert resumed(prompt, is_first=False) == ""


@pytest.mark.parametrize("prompt", BARE)
def test_a_bare_request_to_continue_resumes_earlier_work_only_in_a_first_prompt(
    prompt: str,
) -> None:
    assert resumed(prompt, is_first=True) == ""
    assert resumed(prompt, is_first=False) is None


@pytest.mark.parametrize(
    ("prompt", "rest"),
    [
        ("Continue with the importer", "importer"),
        ("Let's resume work on the CSV export", "csv export"),
        ("Mach weiter mit dem Importer", "mit dem importer"),
        ("继续实现导入", "实现导入"),
    ],
)
def test_the_subject_is_extracted_from_a_first_prompt_that_resumes_work(
    prompt: str, rest: str
) -> None:
    assert resumed(prompt, is_first=True) == rest


@pytest.mark.parametrize(
    "prompt",
    [
        "Add a button with which people continue to the next page",
        "Where were the tests before they moved?",
        "The deployment of last time failed",
        "See `where were we` in the manual",
        "Continue " + "with the importer and its tests " * 6,
        "hello",
        "",
    ],
)
def test_prompts_that_merely_mention_continuing_do_not_resume_earlier_work(prompt: str) -> None:
    assert resumed(prompt, is_first=True) is None


def test_a_first_prompt_resumes_work_only_up_to_a_maximum_length() -> None:
    longest = "continue " + "x" * (RESUMED_CHARS - len("continue "))

    assert resumed(longest, is_first=True) == longest.removeprefix("continue ")
    assert resumed(f"{longest}x", is_first=True) is None


@pytest.mark.parametrize(
    ("prompt", "spoken"),
    [
        ("What did we decide last session about redis?", "did we decide last session"),
        ("See ` last session", "last session"),
        ("See `last session`", ""),
        ("Rename the last-session flag", ""),
        ("Read last session.md", ""),
        ("The session lasts an hour", ""),
        ("x " * 1500 + "last session", "last session"),
        ("last session " + "x " * 1500, "last session"),
        ("x " * 650 + "last session " + "x " * 600, ""),
    ],
)
def test_a_phrase_about_earlier_sessions_counts_only_near_the_start_or_end_of_a_prompt(
    prompt: str, spoken: str
) -> None:
    assert asked_by(prompt) == frozenset(spoken.split())


def test_a_phrase_of_a_script_without_spaces_may_stand_anywhere() -> None:
    spoken = asked_by("上次我们说过什么")

    assert {"上次", "我们说过", "们说"} <= spoken
    assert "什么" not in spoken


OF_NO_KIND = (
    *("Is it known who?", "Which database?", "A version of what?", "How is the shop?", ""),
    *("So many workers?", "When tests fail, tell me", "Since did we move?"),
)


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("Who runs the shop?", PERSON),
        ("who", PERSON),
        ("Which version of Node?", NUMBER),
        ("What versions are there?", NUMBER),
        ("How many workers?", NUMBER),
        ("When did we move?", TIME),
        ("Who " + "x" * (MAX_KIND_CHARS - 4), PERSON),
        ("Who " + "x" * (MAX_KIND_CHARS - 3), ""),
        *((text, "") for text in OF_NO_KIND),
    ],
)
def test_the_first_words_of_a_short_question_show_the_kind_of_its_answer(
    question: str, kind: str
) -> None:
    assert asked_kind(question) == kind


@pytest.mark.parametrize(
    ("kind", "text", "is_answer"),
    [
        ("", "Whatever", True),
        (PERSON, "Ask Miller about it", True),
        (PERSON, "The legal department decides", True),
        (PERSON, "Deployed by hand", False),
        (PERSON, "It works. Later it broke", False),
        (PERSON, "It runs on Redis", False),
        (PERSON, "It runs on Falcon", False),
        (PERSON, "It uses the API", False),
        (NUMBER, "It has 5 workers", True),
        (NUMBER, "It has twelve workers", True),
        (NUMBER, "It moved on monday", False),
        (TIME, "It moved on monday", True),
        (TIME, "It runs until the review", True),
        (TIME, "It moved to Berlin", False),
    ],
)
def test_a_text_is_an_answer_only_if_it_has_the_kind_that_is_asked_for(
    kind: str, text: str, *, is_answer: bool
) -> None:
    assert holds(kind, text, ["Falcon"]) is is_answer


def test_a_text_reports_trouble_by_its_words_but_not_by_names_of_files() -> None:
    assert all(map(reports_trouble, ("The build fails", "构建失败")))
    assert not any(map(reports_trouble, ("Open fail.py and rename it", "继续", "Rename it")))
