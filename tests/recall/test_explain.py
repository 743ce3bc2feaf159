"""The explanation agrees with what it explains: scores, what a prompt brings, and its silence."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from memory_fabric.recall import inject
from memory_fabric.recall.explain import (
    GIVEN,
    NO_SUBJECT,
    NOT_A_CANDIDATE,
    NOT_NEAR_THE_BEST,
    NOTHING_ABOVE,
    NOTHING_FOUND,
    answer_as_json,
    as_json,
    explain,
    explain_here,
)
from memory_fabric.recall.inject import A_PASTE
from memory_fabric.recall.pipeline import Fabric
from memory_fabric.recall.relevance import STEEPNESS
from memory_fabric.store.conversations import sessions
from recall.given import NOW, USER, open_memory, pagination_graph, remember
from simulated_client import SimulatedClient


@pytest.fixture
def fabric(tmp_path: Path) -> Fabric:
    """A memory of four records, one of them long over, and one of low trust."""
    memory = open_memory(tmp_path)
    remember(memory, "Use Redis for sessions", names=["Redis"], why="expiry is built in")
    remember(memory, "Sessions expire after a day", type="constraint")
    remember(memory, "Sessions live in files", valid_to="2026-01-01T00:00:00.000Z")
    remember(memory, "Sessions may be shared", by=USER._replace(trust="foreign"))
    return Fabric(memory, NOW)


def test_the_parts_shown_by_explain_add_up_to_the_relevance_and_score_of_a_hit(
    fabric: Fabric,
) -> None:
    told = explain(fabric, "redis sessions expiry policy", limit=10)

    assert len(told.answer.hits) == 4
    for hit in told.answer.hits:
        raw = sum(hit.metadata["parts"].values())
        assert hit.relevance == pytest.approx(1 - math.exp(-STEEPNESS * raw), abs=0.002)
        parts = dict(hit.metadata["score_parts"])
        factor = parts.pop("times")
        assert hit.score == pytest.approx(sum(parts.values()) * factor, abs=0.001)


def test_explain_returns_the_same_hits_as_recall(fabric: Fabric) -> None:
    told = explain(fabric, "redis sessions expiry policy", limit=10)
    plain = fabric.recall("redis sessions expiry policy", limit=10)

    assert [(h.id, h.score) for h in told.answer.hits] == [(h.id, h.score) for h in plain.hits]
    assert all("parts" not in hit.metadata for hit in plain.hits)


def test_explain_shows_which_hits_would_be_injected_into_a_prompt(fabric: Fabric) -> None:
    question = "redis sessions expiry policy"
    told = explain(fabric, question, limit=10)

    given = {hit.id for hit in fabric.hits_to_inject(question)}
    assert given
    assert {id_ for id_, verdict in told.verdicts.items() if not verdict} == given
    assert told.silence == ""
    over = next(hit for hit in told.answer.hits if hit.text == "Sessions live in files")
    assert told.verdicts[over.id] == "replaced, or no longer valid"
    assert over.metadata["score_parts"]["times"] == 0.5


def test_explain_reports_if_all_hits_were_already_shown_to_the_session(
    fabric: Fabric,
) -> None:
    question = "redis sessions expiry policy"
    given = frozenset(hit.id for hit in fabric.hits_to_inject(question))
    records = frozenset(id_.removeprefix("record:") for id_ in given)

    seen = explain(fabric, question, limit=10, known={"seen": given})
    shown = explain(fabric, question, limit=10, known={"shown": records})

    assert inject.GIVEN in seen.silence and inject.SHOWN in shown.silence
    assert {seen.verdicts[id_] for id_ in given} == {inject.GIVEN}
    assert {shown.verdicts[id_] for id_ in given} == {inject.SHOWN}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("yes please continue", NO_SUBJECT),
        ("kangaroos", NOTHING_FOUND),
        ("\n".join(f"2026-01-01 10:00:0{n} ERROR redis {{}}" for n in range(9)), A_PASTE),
    ],
)
def test_explain_states_why_nothing_would_be_injected_into_a_prompt(
    fabric: Fabric, text: str, reason: str
) -> None:
    told = explain(fabric, text, limit=10)

    assert told.silence == reason
    assert fabric.hits_to_inject(text) == []


def test_explain_does_not_report_that_nothing_was_found_if_past_turns_match(
    tmp_path: Path,
) -> None:
    client = SimulatedClient(tmp_path)
    client.say("user", "Which database do we use for the shop?")
    client.say("assistant", "The database of the shop is PostgreSQL.")
    client.fire("Stop", last_assistant_message="Done.")
    memory = client.memory()

    told = explain(Fabric(memory, NOW), "Which database", limit=10)

    assert told.answer.hits and told.silence == NOTHING_ABOVE


def test_recall_searches_the_words_of_a_quoted_phrase_if_the_phrase_is_not_found(
    fabric: Fabric,
) -> None:
    answer = fabric.recall('why "sessions redis"?')

    assert answer.hits[0].text == "Use Redis for sessions"
    assert answer.notes == ("nothing holds “sessions redis”: searched for the words instead",)
    assert fabric.recall('why "redis for sessions"?').notes == ()


def test_explain_traverses_the_graph_to_the_given_depth(fabric: Fabric) -> None:
    pagination_graph(fabric.memory)

    assert explain(fabric, "cursor-pagination", limit=10).answer.paths == ()
    assert explain(fabric, "cursor-pagination", limit=10, depth=2).answer.paths


def test_explain_states_why_a_found_memory_would_not_be_injected(fabric: Fabric) -> None:
    entity = {"name": "cart", "entityType": "thing", "observations": ["Redis sessions of carts"]}
    fabric.memory.write("create_entities", {"entities": [entity]}, USER)
    for part in ("orders", "refunds", "vouchers", "mails"):
        remember(fabric.memory, f"Redis sessions hold the expiry of {part}")

    told = explain(fabric, "redis sessions expiry", limit=20)

    verdicts = {hit.text: told.verdicts[hit.id] for hit in told.answer.hits}
    given = [text for text, verdict in verdicts.items() if not verdict]
    assert verdicts["Redis sessions of carts"] == NOT_A_CANDIDATE
    assert list(verdicts.values()).count(NOT_NEAR_THE_BEST) >= 1
    assert len(given) == inject.MAX_HITS
    assert {word for word, _ in told.words} == {"redis", "sessions", "expiry"}


def test_an_explanation_as_json_says_of_each_result_whether_a_prompt_gets_it(
    fabric: Fabric,
) -> None:
    told = explain(fabric, "redis sessions expiry policy", limit=10)

    answer = as_json(told)

    prompts = {result["text"]: result["prompt"] for result in answer["results"]}
    assert prompts["Use Redis for sessions"] == GIVEN
    assert prompts["Sessions live in files"] == "replaced, or no longer valid"
    assert "redis" in [searched["word"] for searched in answer["searched"]]
    assert answer["silence"] == told.silence == ""


def test_an_answer_about_an_earlier_time_names_that_time(fabric: Fabric) -> None:
    told = answer_as_json(fabric.recall("redis as_of:2026-02-21"))

    assert told["as_of"] == "2026-02-21T23:59:59.999Z"
    assert "as_of" not in answer_as_json(fabric.recall("redis"))
    assert "matched" not in told["results"][0]["metadata"]


def test_explain_knows_what_the_current_session_was_given_and_what_it_said(
    fabric: Fabric,
) -> None:
    memory, question = fabric.memory, "redis sessions expiry policy"
    given = [hit.id for hit in fabric.hits_to_inject(question)]

    def verdicts(session: str) -> set[str]:
        memory.settings = memory.settings._replace(session=session)
        told = explain_here(fabric, question, limit=10)
        return {told.verdicts[id_] for id_ in given}

    alone = verdicts("")
    own = verdicts("s1")
    sessions.touch(memory.session_database(), "s1", NOW)
    sessions.save_checkpoint(memory.session_database(), "s1", {"at": NOW})
    compacted = verdicts("s1")

    assert alone == compacted == verdicts("s9") == {""}
    assert own == {"said in this very session"}
