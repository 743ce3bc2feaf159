"""GET /v1/memory/recall over real HTTP: what the command finds, filtered as it does, by a key."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.shell import Shell
from servers.http_door import Serving, serving

RECALL = "/v1/memory/recall"
SAID = (
    ("Contracts are kept for a year", "legal_advisor", "decision"),
    ("Review notes are kept for a year", "code_reviewer", "pattern"),
)


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    """A shell whose memory holds what is kept for a year, in two domains and without one."""
    shell = Shell(tmp_path_factory.mktemp("asked"))
    shell.remember(
        "Contracts are kept for a year", "--domain", "legal_advisor", "--type", "decision"
    )
    shell.remember(
        "Review notes are kept for a year", "--domain", "code_reviewer", "--type", "pattern"
    )
    shell.remember("Backups are kept for a year")
    return shell


@pytest.fixture(scope="module")
def server(shell: Shell) -> Iterator[Serving]:
    with serving(shell) as found:
        yield found


def texts(answer: dict[str, list[dict[str, str]]]) -> set[str]:
    return {result["text"] for result in answer["results"]}


def test_it_finds_what_the_command_finds(shell: Shell, server: Serving) -> None:
    question = "what is kept for a year?"

    answer = server.ask(RECALL, q=question, limit="2")

    by_command = shell.run("recall", question, "--limit", "2", "--json").json
    assert [r["id"] for r in answer["results"]] == [r["id"] for r in by_command["results"]]
    assert len(answer["results"]) == 2


def test_without_a_question_the_newest_come(server: Serving) -> None:
    assert "Backups are kept for a year" in texts(server.ask(RECALL))


def test_a_filter_holds_and_stands_in_the_label(server: Serving) -> None:
    answer = server.ask(RECALL, q="kept for a year", expert_domain="legal_advisor")

    assert texts(answer) == {"Contracts are kept for a year"}
    assert answer["label"] == "[Domain-Filtered Memory (expert_domain=legal_advisor)]"


def test_of_a_repeated_field_any_value_holds_and_all_fields_must(server: Serving) -> None:
    both = "domain=legal_advisor&domain=code_reviewer"

    either = server.get(f"{RECALL}?q=kept+for+a+year&{both}").json
    one = server.get(f"{RECALL}?q=kept+for+a+year&{both}&type=pattern").json

    assert texts(either) == {"Contracts are kept for a year", "Review notes are kept for a year"}
    assert texts(one) == {"Review notes are kept for a year"}


def test_a_filter_that_nothing_meets_says_so(server: Serving) -> None:
    answer = server.ask(RECALL, q="kept for a year", domain="medical_consult")

    assert answer["results"] == []
    assert any("medical_consult" in note for note in answer["notes"])


@pytest.mark.parametrize(
    ("question", "field"),
    [
        ("type=nonsense", "type"),
        ("since=whenever", "since"),
        ("since=2026-01-01&since=2026-02-01", "since"),
        ("limit=0", "limit"),
        ("depth=4", "depth"),
        ("as_of=never", "as_of"),
        ("filter=x", "filter"),
        ("domain=", "domain"),
        ("scope=everywhere", "scope"),
    ],
)
def test_a_field_that_means_nothing_is_named(server: Serving, question: str, field: str) -> None:
    reply = server.get(f"{RECALL}?q=kept&{question}")

    assert (reply.status, reply.json["error"]["field"]) == (400, field)


def test_a_server_in_an_isolated_domain_shows_programs_that_alone_and_the_person_all(
    tmp_path: Path,
) -> None:
    shell = Shell(tmp_path)
    shell.remember("Contracts are kept for a year", "--domain", "legal")
    shell.remember("Backups are kept for a year", "--domain", "ops")
    config = shell.memory / "config.toml"
    config.write_text("[domains.legal]\nisolate = true\n", "utf-8")
    with serving(shell, MEMORY_FABRIC_DOMAIN="legal") as server:
        confined, newest = server.ask(RECALL, q="kept for a year"), server.ask(RECALL)
        on_the_page = server.ask("/api/recall", q="kept for a year")

        config.write_text("[domains.legal]\nisolate = true\nnotices = [\n", "utf-8")
        closed = server.get(f"{RECALL}?q=kept")

    assert texts(confined) == texts(newest) == {"Contracts are kept for a year"}
    assert "Backups are kept for a year" in texts(on_the_page)
    assert closed.status == 503 and "Backups" not in closed.body.decode()
    assert "memory is off until it is mended" in closed.json["error"]["message"]


def test_it_reads_memory_so_it_needs_a_key(server: Serving) -> None:
    assert server.get(f"{RECALL}?q=kept", key="none").status == 401
    assert server.get(f"{RECALL}?q=kept", key="another").status == 401
