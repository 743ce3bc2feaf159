"""GET /v1/memory/recall over real HTTP: what the command finds, filtered as it does, by a key."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.shell import Shell
from drawn import token
from memory_fabric.ingest_protocol import MAX_NAME_CHARS
from servers.http.http_server import Serving, serving

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


def test_recall_over_http_finds_what_the_recall_command_finds(
    shell: Shell, server: Serving
) -> None:
    question = "what is kept for a year?"

    answer = server.ask(RECALL, q=question, limit="2")

    by_command = shell.run("recall", question, "--limit", "2", "--json").json
    assert [r["id"] for r in answer["results"]] == [r["id"] for r in by_command["results"]]
    assert len(answer["results"]) == 2


def test_recall_is_refused_with_the_reason_while_it_is_switched_off(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    shell = Shell(tmp_path_factory.mktemp("off"))
    shell.remember("Backups are kept for a year")
    with serving(shell) as server:
        shell.run("off", "--here", "--read")
        reply = server.get(f"{RECALL}?q=backups")
        shell.run("on", "--here", "--read")

        assert (reply.status, reply.code) == (503, "unavailable")
        assert "switched off" in reply.json["error"]["message"]
        assert "Backups are kept for a year" in texts(server.ask(RECALL, q="backups"))


def test_recall_without_a_question_returns_the_newest_memories(server: Serving) -> None:
    assert "Backups are kept for a year" in texts(server.ask(RECALL))


def test_an_answer_is_filtered_and_labelled_with_its_filter(server: Serving) -> None:
    answer = server.ask(RECALL, q="kept for a year", expert_domain="legal_advisor")

    assert texts(answer) == {"Contracts are kept for a year"}
    assert answer["label"] == "[Domain-Filtered Memory (expert_domain=legal_advisor)]"


def test_a_result_must_match_one_value_of_every_filter(server: Serving) -> None:
    both = "domain=legal_advisor&domain=code_reviewer"

    either = server.get(f"{RECALL}?q=kept+for+a+year&{both}").json
    one = server.get(f"{RECALL}?q=kept+for+a+year&{both}&type=pattern").json

    assert texts(either) == {"Contracts are kept for a year", "Review notes are kept for a year"}
    assert texts(one) == {"Review notes are kept for a year"}


def test_an_empty_answer_mentions_the_filter_that_matched_nothing(server: Serving) -> None:
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
        ("domain=---", "domain"),
        ("expert_domain=legal_advisor&expert_domain=...", "expert_domain"),
        ("q=twice", "q"),
        ("limit=1&limit=2", "limit"),
        ("depth=1&depth=1", "depth"),
        ("as_of=2026-01-01&as_of=2026-02-01", "as_of"),
    ],
)
def test_the_error_names_an_invalid_query_field(server: Serving, question: str, field: str) -> None:
    reply = server.get(f"{RECALL}?q=kept&{question}")

    assert (reply.status, reply.json["error"]["field"]) == (400, field)


def test_a_filter_value_of_the_maximum_length_is_accepted_and_a_longer_one_refused(
    server: Serving,
) -> None:
    name = "p" * MAX_NAME_CHARS

    replies = [
        server.get(f"{RECALL}?{field}={name}{more}").status
        for field in ("project", "session", "agent", "domain")
        for more in ("", "p")
    ]

    assert replies == [200, 400] * 4


def test_a_secret_in_a_question_is_not_repeated_in_the_response(server: Serving) -> None:
    secret = token()
    taken = [
        server.get(f"{RECALL}?{asked}")
        for asked in (f"project={secret}", f"q=kept+by+{secret}", f"q=kept&domain={secret}")
    ]
    refused = [
        server.get(f"{RECALL}?{field}={secret}")
        for field in ("type", "limit", "since", "as_of", "scope")
    ]
    unknown = server.get(f"{RECALL}?{secret}=x")
    long_one = server.get(f"{RECALL}?limit=my+long+words+before+it+{secret}")

    assert [reply.status for reply in taken] == [200] * 3
    assert [reply.status for reply in (*refused, unknown, long_one)] == [400] * 7
    for reply in (*taken, *refused, unknown, long_one):
        assert secret[:16] not in reply.body.decode()
    assert "nothing" in taken[0].json["notes"][0]


def test_failures_in_a_response_contain_no_local_file_path(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    shell.remember("Backups are kept for a year")
    database = shell.database
    database.unlink()
    database.mkdir()
    with serving(shell) as server:
        answers = [server.get(f"{path}?q=kept") for path in (RECALL, "/api/recall")]

    for answer in answers:
        assert answer.status == 200
        failure = answer.json["failures"][0]
        assert failure.startswith("graph (project): ") and "…" in failure
        assert str(tmp_path) not in answer.body.decode()


def test_an_isolated_domain_limits_recall_over_the_api_but_not_on_the_page(
    tmp_path: Path,
) -> None:
    shell = Shell(tmp_path)
    shell.remember("Contracts are kept for a year", "--domain", "legal")
    shell.remember("Backups are kept for a year", "--domain", "ops")
    config = shell.memory / "config.toml"
    config.write_text("[domains.legal]\nisolate = true\n", "utf-8")
    with serving(shell, MEMORY_FABRIC_DOMAIN="legal") as server:
        assert server.send("a b c d", domain="review").json["domain"] == "legal"
        confined, newest = server.ask(RECALL, q="kept for a year"), server.ask(RECALL)
        on_the_page = server.ask("/api/recall", q="kept for a year")

        config.write_text("[domains.legal]\nisolate = true\nnotices = [\n", "utf-8")
        closed = server.get(f"{RECALL}?q=kept")

    assert texts(confined) == texts(newest) == {"Contracts are kept for a year"}
    assert "Backups are kept for a year" in texts(on_the_page)
    assert closed.status == 503 and "Backups" not in closed.body.decode()
    assert "memory is off until it is corrected" in closed.json["error"]["message"]


def test_recall_over_http_requires_a_key(server: Serving) -> None:
    assert server.get(f"{RECALL}?q=kept", key="none").status == 401
    assert server.get(f"{RECALL}?q=kept", key="another").status == 401
