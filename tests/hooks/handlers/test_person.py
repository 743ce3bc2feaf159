"""The user as memory knows them: records of scope user name people, employers, places and goals."""

from __future__ import annotations

import json

import pytest

from simulated_client import SimulatedClient

NAMED = {
    "The user's goal is to learn Rust": {"learn Rust": "goal", "Rust": "technology"},
    "The user wants to run a marathon by June": {"run a marathon": "goal"},
    "The user works for Contoso": {"Contoso": "organisation"},
    "The user works as a designer at Contoso and lives in Lisbon": {
        "Contoso": "organisation",
        "Lisbon": "place",
    },
    "The user is on the payments team": {"payments team": "organisation"},
    "The user's name is Zorblan, and his manager is Ada": {"Zorblan": "person", "Ada": "person"},
    "Der Nutzer arbeitet bei Contoso": {"Contoso": "organisation"},
    "Ich arbeite im Zahlungsteam": {"Zahlungsteam": "organisation"},
    "Mi objetivo es correr un maratón": {"correr un maratón": "goal"},
    "Je travaille chez Contoso": {"Contoso": "organisation"},
    "Meu objetivo é publicar um livro": {"publicar um livro": "goal"},
    "用户的目标是跑完马拉松": {"跑完马拉松": "goal"},
    "私の目標は本を書くことです": {"本を書く": "goal"},
}
UNNAMED = [
    "The user wants to learn why the nightly export is slow",
    "The user wants to be asked before each commit by the end of June",
    "The user wants to run the dev server himself",
    "The user prefers fixes that work with the whole team",
    "El usuario trabaja en Galicia",  # a town or a company
]


def entities(client: SimulatedClient, *words: str) -> dict[str, str]:
    done = client.command("remember", "--json", *words)
    assert done.returncode == 0, done.stderr
    id_ = json.loads(done.stdout)["id"]
    (record,) = client.records(f"id = '{id_}'")
    return {entity.name: entity.type for entity in record.entities}


@pytest.mark.parametrize(("text", "named"), NAMED.items())
def test_names_in_statements_about_the_user_become_entities_of_the_right_type(
    client: SimulatedClient, text: str, named: dict[str, str]
) -> None:
    assert entities(client, text, "--scope", "user") == named


@pytest.mark.parametrize("text", UNNAMED)
def test_ambiguous_names_in_statements_about_the_user_create_no_entity(
    client: SimulatedClient, text: str
) -> None:
    assert entities(client, text, "--scope", "user") == {}


def test_a_goal_of_a_project_is_not_stored_as_a_goal_of_the_user(client: SimulatedClient) -> None:
    assert "goal" not in entities(client, "The user's goal is to learn Rust").values()


def test_personal_notes_create_entities_for_the_goal_and_the_name_of_the_user(
    client: SimulatedClient,
) -> None:
    said = "In all my projects remember that my goal is to learn Rust"
    client.note("fact", "The user's goal is to learn Rust", said, For="everywhere")
    client.prompt("Call me Ana. I am a backend developer.")

    made = {e.name: e.type for record in client.records() for e in record.entities}
    assert made == {"learn Rust": "goal", "Rust": "technology", "Ana": "person"}


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("Remember that I prefer metric units everywhere", "I prefer metric units everywhere"),
        ("I am 34 and work as a nurse in Lyon.", "I am 34 and work as a nurse in Lyon"),
        ("My manager is Bob.", "My manager is Bob"),
    ],
)
def test_a_statement_about_oneself_applies_in_every_project(
    client: SimulatedClient, said: str, kept: str
) -> None:
    client.prompt(said)

    (record,) = client.records()
    assert (record.what, record.scope) == (kept, "user")


@pytest.mark.parametrize("said", ["My manager is on vacation.", "I am 2 minutes late."])
def test_a_casual_remark_about_the_user_is_not_stored(client: SimulatedClient, said: str) -> None:
    client.prompt(said)

    assert client.records("1") == []
