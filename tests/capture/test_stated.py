"""Statements that a user makes to memory on purpose."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_fabric.capture.cues import Form, forms
from memory_fabric.capture.prompts import Statement, stated, stated_as
from memory_fabric.models import RECORD_TYPES


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Remember that the API key lives in Vault.",
         Statement("note", "The API key lives in Vault")),
        ("Please remember that the key lives in Vault",
         Statement("note", "The key lives in Vault")),
        ("Remember that this project lives in Vault",
         Statement("note", "This project lives in Vault")),
        ("请记住：部署使用 fly.io。", Statement("note", "部署使用 fly.io")),
        ("Remember: never edit generated files",
         Statement("constraint", "Never edit generated files")),
        ("From now on, use pnpm instead of npm because it is faster.",
         Statement("constraint", "From now on, use pnpm instead of npm", "it is faster", ("npm",))),
        ("In this project, never commit to main.",
         Statement("constraint", "In this project, never commit to main")),
        ("We decided on Postgres instead of MySQL because of JSONB.",
         Statement("decision", "We decided on Postgres instead of MySQL", "JSONB", ("MySQL",))),
        ("I prefer pytest over unittest.",
         Statement("preference", "I prefer pytest over unittest", "", ("unittest",))),
        ("Call me Ana.", Statement("note", "Call me Ana", scope="user", kind="identity")),
        ("I am a backend developer",
         Statement("note", "I am a backend developer", scope="user", kind="identity")),
        ("I work with Tom on billing.",
         Statement("note", "I work with Tom on billing", scope="user", kind="relationship")),
        ("My goal is to ship the beta in March.",
         Statement("note", "My goal is to ship the beta in March", scope="user", kind="goal")),
        ("In all my projects I use uv.",
         Statement("preference", "In all my projects I use uv", scope="user", kind="preference")),
        ("Remember that I am a backend developer.",
         Statement("note", "I am a backend developer", scope="user", kind="identity")),
    ],
)  # fmt: skip
def test_a_statement_is_parsed_with_its_text_reason_and_alternatives(
    text: str, expected: Statement
) -> None:
    (made,) = stated(text)
    assert made._replace(form="") == expected


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Decision: max_uploads is 3 for guests.", "max_uploads is 3 for guests"),
        (
            "Decision: totals.csv, like all exports, is append-only.",
            "totals.csv, like all exports,",
        ),
        ("Decision: src/legacy is never edited again.", "src/legacy is never edited again"),
        ("Decision: cursor pagination is used for lists.", "Cursor pagination is used for lists"),
    ],
)
def test_an_identifier_at_the_start_of_a_sentence_keeps_its_letter_case(
    text: str, kept: str
) -> None:
    (made,) = stated(text)
    assert made.text.startswith(kept)


# One sentence for each form and language that has it.
EXAMPLES = {
    "everywhere": (
        "In all my projects I prefer tabs.", "In allen meinen Projekten verwende ich uv.",
        "En todos mis proyectos uso pnpm.", "Dans tous mes projets, j'utilise pnpm.",
        "Em todos os meus projetos uso pnpm.", "在我的所有项目中都使用 pnpm。",
        "すべてのプロジェクトで pnpm を使います。", "모든 프로젝트에서 pnpm을 사용합니다.",
    ),
    "name": (
        "My name is Ana", "Nenn mich Ana.", "Me llamo Ana", "Appelle-moi Ana.",
        "Me chame de Ana.", "叫我小安吧。", "アナと呼んでください。", "아나라고 불러 주세요.",
    ),
    "age": ("I am 34 and work as a nurse in Lyon", "I'm 34 years old"),
    "close": ("My manager is Bob", "Mein Chef ist Otto", "Mi jefa es Ana", "Mon chef est Luc"),
    "role": (
        "I'm a data scientist.", "Ich bin Softwareentwicklerin.", "Soy desarrolladora web.",
        "Je suis développeuse.", "Sou engenheiro de dados.", "我是一名后端工程师。",
        "私はバックエンドエンジニアです。", "저는 백엔드 개발자입니다.",
    ),
    "work": (
        "I work at Acme.", "Ich arbeite bei Acme.", "Trabajo en Acme.",
        "Je travaille chez Acme.", "Trabalho na Acme.", "我在北京大学工作。",
        "私は銀行で働いています。", "저는 은행에서 일합니다.",
    ),
    "goal": (
        "My goal is to publish the game in May.", "Mein Ziel ist ein Release im Mai.",
        "Mi objetivo es publicar el juego en mayo.", "Mon objectif est de publier le jeu en mai.",
        "Meu objetivo é publicar o jogo em maio.", "我的目标是五月发布游戏。",
        "私の目標は五月にゲームを公開することです。", "제 목표는 5월에 게임을 출시하는 것입니다.",
    ),
    "from_now_on": (
        "From now on answer in German.", "Ab sofort bitte auf Deutsch antworten.",
        "A partir de ahora usa pnpm.", "Désormais, utilise pnpm.", "A partir de agora use pnpm.",
        "从现在起，请用中文回答。", "今後は日本語で回答してください。",
        "앞으로는 한국어로 답변해 주세요.",
    ),
    "in_this_project": (
        "In this project, always use UTC.", "In diesem Projekt nie direkt auf main pushen.",
        "En este proyecto nunca uses npm.", "Dans ce projet, on utilise toujours pnpm.",
        "Neste projeto sempre use pnpm.", "在这个项目中，禁止使用 npm。",
        "このプロジェクトでは必ず pnpm を使う。", "이 프로젝트에서는 항상 pnpm을 사용해 주세요.",
    ),
    "decision": (
        "Decision: the archive is SQLite.", "Entscheidung: Archive liegen in SQLite.",
        "Decisión: el archivo es SQLite.", "Décision : les archives sont en SQLite.",
    ),
    "decided": (
        "We've decided to use SQLite.", "Wir haben uns für SQLite entschieden.",
        "Hemos decidido usar SQLite.", "Nous avons décidé d'utiliser SQLite.",
        "Decidimos usar SQLite.", "我们决定使用 SQLite。",
        "SQLite を使うことに決めました。", "SQLite를 사용하기로 결정했습니다.",
    ),
    "prefer": (
        "I prefer small commits.", "Ich bevorzuge kleine Commits.", "Prefiero commits cortos.",
        "Je préfère pytest.", "Prefiro commits pequenos.", "我更喜欢小的提交。",
        "私は小さなコミットを好みます。", "저는 작은 커밋을 선호합니다.",
    ),
    "remember_decided": (
        "Remember that we decided to use Redis for the job queue.",
        "Remember that we chose Redis over Kafka.",
        "Merk dir, dass wir beschlossen haben, Redis zu nutzen.",
        "Souviens-toi qu'on a décidé d'utiliser Redis.",
    ),
    "remember_rule": (
        "Remember to never push on Fridays.", "Merk dir: Rechnungen nie löschen.",
    ),
    "remember": (
        "Remember that our staging has no mail server.",
        "Merk dir, dass Staging keinen Mailserver hat.",
        "Recuerda que staging no tiene correo.", "Rappelle-toi que staging n'a pas de mail.",
        "Lembre-se de que staging não tem correio.", "请记住：部署使用 fly.io。",
        "デプロイは fly.io で行うことを覚えておいてください。",
        "배포는 fly.io로 한다는 것을 기억해 주세요.",
    ),
}  # fmt: skip


@pytest.mark.parametrize("form", forms(), ids=lambda form: form.name)
def test_every_form_of_statement_is_recognised_in_all_its_languages(form: Form) -> None:
    missed = [text for text in EXAMPLES[form.name] if not stated_as(form, text)]

    assert missed == []
    assert form.type in RECORD_TYPES


@pytest.mark.parametrize(
    "text",
    [
        "",
        "remember to push",
        "remember that we decided to do this later",
        "remember that we decided to talk about Redis tomorrow",
        "remember that we chose it over the other one",
        "Do you remember that we decided to use Redis?",
        "Remember when we did the login?",
        "remember that one time",
        "remember: run the tests",
        "Remember that patience is always rewarded",
        "Remember that it lives in Vault",
        "I'm a beginner",
        "remember that you need to push first",
        "remember that I asked for a blue header",
        "记得提交代码",
        "recuerda que tienes que hacer push",
        "Should I remember that the key is in Vault?",
        "Can we decide on Postgres?",
        "I'm a bit confused",
        "I am a big fan of this",
        "I prefer the second one",
        "I prefer option 2",
        "from now on do that",
        "We decided to use it.",
        "call me when it is done",
        "call me crazy",
        "If we decided on Postgres, what would change?",
        'He said "from now on use pnpm" yesterday',
        "> From now on, use pnpm.",
        "```\nFrom now on, use pnpm.\n```",
        "# Rules\n\n- From now on, use pnpm for everything.\n",
        "<command-name>x</command-name> From now on use pnpm.",
        "I think we work at least on two things",
        "recuerda hacer push",
        "Ich bin ein bisschen verwirrt",
        "prefiero la segunda opción",
        "我是说第二个",
    ],
)
def test_tasks_questions_quotations_and_pasted_text_contain_no_statements(text: str) -> None:
    assert stated(text) == []


@given(st.text(max_size=300))
def test_any_text_is_read_without_an_error(text: str) -> None:
    assert all(statement.text for statement in stated(text))


def test_statements_keep_their_order_and_duplicates_are_removed() -> None:
    text = "Call me Ana. From now on answer in German. Call me Ana."

    assert [statement.text for statement in stated(text)] == [
        "Call me Ana",
        "From now on answer in German",
    ]


def test_a_remember_request_is_recognised_only_at_the_start_of_a_prompt() -> None:
    advice = "Remember that our staging has no mail server."

    assert stated(f"{advice} Go on.") != []
    assert stated(f"You did well. {advice}") == []
