"""Prompts that go on with an earlier session, in the larger languages."""

from __future__ import annotations

import pytest

from memory_fabric.language.questions import resumed

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
