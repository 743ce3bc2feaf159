"""The domain that a question names in so many words, and prose that only sounds like it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from memory_fabric.recall.agent_domains import MAX_CHARS, named
from memory_fabric.recall.pipeline import Fabric
from memory_fabric.store.memory import Memory
from recall.given import NOW, USER, open_memory, remember

KNOWN = ("code_reviewer", "legal_advisor", "security", "ops", "design", "driven", "session")
LONG_NAME = "data_base_admin"


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    opened = open_memory(tmp_path_factory.mktemp("rooms"))
    for domain in (*KNOWN, LONG_NAME, "general", "public", "knowledge"):
        remember(opened, f"Naming rules for {domain}", by=USER._replace(domain=domain))
    yield opened
    opened.close()


@pytest.mark.parametrize(
    ("text", "domain", "rest"),
    [
        ("in the code_reviewer domain, how to name?", "code_reviewer", ", how to name?"),
        ("In the Code-Reviewer domain: naming", "code_reviewer", ": naming"),
        ("domain legal_advisor naming", "legal_advisor", "naming"),
        ("the legal_advisor domain's rules", "legal_advisor", "rules"),
        ("the legal advisor domain’s rules", "legal_advisor", "rules"),
        ("what is said in the legal advisor domain", "legal_advisor", "what is said"),
        ("which rules apply in domain ops?", "ops", "which rules apply  ?"),
        ("within our security domain we name things", "security", "we name things"),
        ("in the ops domain", "ops", ""),
        ("code_reviewer domain: how to name?", "code_reviewer", ": how to name?"),
        ("which rules apply in domain ops", "ops", "which rules apply"),
        ("which rules apply in the data base admin domain", LONG_NAME, "which rules apply"),
        ("in the ops domain" + "?".rjust(MAX_CHARS - 17), "ops", "?"),
    ],
)
def test_a_known_domain_mentioned_in_a_question_becomes_a_filter(
    memory: Memory, text: str, domain: str, rest: str
) -> None:
    found = named(text, memory)

    assert found is not None
    assert (found.domain, found.rest) == (domain, rest)


@pytest.mark.parametrize(
    "text",
    [
        "domain driven design of the billing service",
        "domain-driven design",
        "general domain knowledge",
        "what is in the general domain",
        "the session domain model",
        "in the session domain",
        "the security domain model",
        "in the security domain model we name it",
        "the code_reviewer domain model",
        "our domain security rules",
        "domain knowledge of ops",
        "in domain security model we name it",
        "our domain security, please",
        "security domain experts",
        "from the public domain",
        "the domain name of ops",
        "not in the security domain",
        "this isn't in the ops domain",
        "outside the code_reviewer domain",
        "everything except the code_reviewer domain",
        "in the security domain and in the ops domain",
        "in the unknown_room domain",
        'what does "in the security domain" mean',
        "what is `domain legal_advisor`",
        "the ops domain",
        "in all domains: naming",
        "domain",
        "",
        "in the ops domain" + " x" * MAX_CHARS,
    ],
)
def test_an_unclear_or_negated_mention_of_a_domain_does_not_filter_the_results(
    memory: Memory, text: str
) -> None:
    assert named(text, memory) is None


def test_an_answer_limited_to_a_mentioned_domain_says_how_to_search_all_domains(
    memory: Memory,
) -> None:
    answer = Fabric(memory, NOW).recall("naming rules in the code_reviewer domain")

    assert [hit.text for hit in answer.hits] == ["Naming rules for code_reviewer"]
    assert answer.query.text == "naming rules in the code_reviewer domain"
    assert answer.notes == (
        "read as a question about the domain code_reviewer alone; without the word “domain” in it "
        "all domains are searched",
    )


def test_a_domain_filter_wins_over_a_domain_named_in_the_question(memory: Memory) -> None:
    answer = Fabric(memory, NOW).recall("domain:ops naming rules in the code_reviewer domain")

    assert [hit.text for hit in answer.hits] == ["Naming rules for ops"]
    assert answer.notes == ()


def test_a_mentioned_domain_without_a_match_returns_no_hits_of_other_domains(
    memory: Memory,
) -> None:
    answer = Fabric(memory, NOW).recall("kubernetes in the code_reviewer domain")

    assert answer.hits == ()
    assert answer.notes[0] == "nothing was found under the filter (expert_domain=code_reviewer)"


def test_a_prompt_that_mentions_a_domain_gets_labelled_memories_of_that_domain(
    memory: Memory,
) -> None:
    given = Fabric(memory, NOW).inject_for_prompt("Which naming rules apply in the ops domain?")

    assert "[Domain-Filtered Memory (expert_domain=ops)]\n" in given.text
    assert "Naming rules for ops" in given.text
    assert "legal_advisor" not in given.text


def test_a_prompt_without_a_match_in_the_mentioned_domain_gets_no_memory(memory: Memory) -> None:
    text = "How do we run Kubernetes in the ops domain?"

    assert Fabric(memory, NOW).inject_for_prompt(text).text == ""


def test_a_prompt_without_the_word_domain_causes_no_query_for_domains(memory: Memory) -> None:
    asked: list[str] = []
    [db] = memory.databases()
    db.connection.set_trace_callback(asked.append)

    Fabric(memory, NOW).inject_for_prompt("Which naming rules apply to ops?")

    db.connection.set_trace_callback(None)
    assert not [sql for sql in asked if "domain = " in sql]
