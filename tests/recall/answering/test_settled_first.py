"""What was settled stands before talk about it, and in chats the user's turns before answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from memory_fabric.language.questions import asks_for_the_assistant
from memory_fabric.models import Hit, Provenance, Query
from memory_fabric.recall.answering import settled_first, worth_ranking
from memory_fabric.recall.pipeline import Fabric
from memory_fabric.store.memory import Memory
from recall.given import NOW, USER, a_hit, open_memory, remember

RULE = "Maps are drawn with Leaflet"
LONG = "Leaflet draws maps from tiles, and a map can be drawn on a canvas as well as in SVG. " * 8
LONG_AGO = USER._replace(at="2026-01-02T10:00:00.000Z")


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    memory = open_memory(tmp_path)
    yield memory
    memory.close()


def talk(memory: Memory, turns: Sequence[tuple[str, str]], session: str = "s7") -> None:
    episodes = [
        {
            "id": f"{session}-{number}",
            "session": session,
            "role": role,
            "text": text,
            "created_at": f"2026-02-28T10:{number:02}:00.000Z",
        }
        for number, (role, text) in enumerate(turns)
    ]
    memory.write("add_episodes", {"episodes": episodes}, Provenance("prompt", "user"))


def found(memory: Memory, question: str, session: str = "") -> list[str]:
    return [hit.text for hit in Fabric(memory, NOW).recall(question, session=session).hits]


def test_an_old_record_ranks_above_newer_turns_with_the_same_words(memory: Memory) -> None:
    remember(memory, RULE, by=LONG_AGO)
    talk(memory, [("user", "Tell me of maps in Leaflet."), ("assistant", LONG)] * 6)

    assert found(memory, "maps Leaflet")[0] == RULE


def test_many_turns_do_not_displace_a_record_from_the_hits(memory: Memory) -> None:
    remember(memory, RULE, by=LONG_AGO)
    for number in range(12):
        turns = [
            ("user", f"Leaflet maps, case {number}, please."),
            ("assistant", f"{number} {LONG}"),
        ]
        talk(memory, turns, f"s{number}")

    assert found(memory, "maps Leaflet")[0] == RULE


def test_a_decision_ranks_above_a_question_and_a_proposal_that_match_more_words(
    memory: Memory,
) -> None:
    remember(memory, RULE, by=LONG_AGO)
    proposal = f"I propose Cesium rather than Leaflet for maps. {LONG}"
    talk(
        memory,
        [
            ("user", "Do we draw maps of the coast with Leaflet or Cesium?"),
            ("assistant", proposal),
        ],
    )
    remember(memory, "Which fits the maps, Cesium or Leaflet?", type="question", by=USER)

    texts = found(memory, "Leaflet or Cesium for maps")

    assert texts.index(RULE) < texts.index("Do we draw maps of the coast with Leaflet or Cesium?")
    assert texts.index(RULE) < texts.index("Which fits the maps, Cesium or Leaflet?")


def test_a_record_with_few_matching_words_ranks_below_an_answering_turn(memory: Memory) -> None:
    remember(memory, "The harbour is on the map", by=LONG_AGO)
    said = "The harbour opens its gates at six on winter mornings."
    talk(memory, [("user", said)])

    assert found(memory, "when does the harbour open its gates in winter")[0] == said


def test_a_user_statement_ranks_above_an_equally_matching_long_answer(
    memory: Memory,
) -> None:
    said = "I keep two hens, and the coop is red."
    answer = "A coop for hens needs air and light; a coop keeps hens dry and safe at night. " * 6
    talk(memory, [("user", said), ("assistant", answer), ("user", "Thank you, and good night.")])
    talk(memory, [("user", "Any ideas for supper?"), ("assistant", answer)], "s8")

    assert found(memory, "hens coop")[0] == said


def test_a_question_about_an_assistants_advice_ranks_assistant_turns_first(memory: Memory) -> None:
    said = "I keep two hens, and the coop is red."
    answer = (
        "I recommend cedar for the coop of the hens: cedar lasts, and hens like a dry coop. " * 5
    )
    talk(memory, [("user", said), ("assistant", answer)])

    assert found(memory, "What did you recommend for the coop of the hens?")[0] == answer


@pytest.mark.parametrize(
    ("question", "asks"),
    [
        ("What did you recommend for the coop?", True),
        ("which book have you suggested", True),
        ("Was hast du mir für den Stall empfohlen?", True),
        ("¿Qué me recomendaste para el gallinero?", True),
        ("你上次推荐了什么", True),
        ("What colour is the coop?", False),
        ("Can you make the coop larger?", False),
    ],
)
def test_a_question_about_what_the_assistant_said_is_recognised(question: str, asks: bool) -> None:
    assert asks_for_the_assistant(question) is asks


def a_settled(coverage: float, **fields: Any) -> Hit:
    metadata = {"coverage": coverage} | fields.pop("metadata", {})
    return a_hit(RULE, id="record:settled", score=0.2, metadata=metadata, **fields)


def a_turn(coverage: float, role: str, text: str = "Leaflet it is.") -> Hit:
    metadata = {"coverage": coverage, "role": role}
    return a_hit(text, id=f"episode:{role}", source="episodes", score=0.7, metadata=metadata)


def first_of(*hits: Hit) -> Hit:
    return settled_first(hits, Query("maps Leaflet"), hits)[0]


@pytest.mark.parametrize(
    ("turn", "covered", "is_moved"),
    [
        (a_turn(0.8, "user"), 0.8, True),
        (a_turn(0.8, "user"), 0.79, False),
        (a_turn(0.8, "user", "Is it Leaflet?"), 0.4, True),
        (a_turn(0.8, "user", "Hm. Is it Leaflet?"), 0.4, False),
        (a_turn(0.8, "assistant"), 0.4, True),
        (a_turn(0.9, "assistant"), 0.44, False),
        (a_hit("Is it Leaflet?", id="record:q", score=0.7, metadata={"coverage": 0.8}), 0.4, True),
        (a_hit("It is Leaflet.", id="record:s", score=0.7, metadata={"coverage": 0.8}), 0.8, False),
    ],
)
def test_a_record_moves_before_a_turn_or_question_that_covers_hardly_more_of_the_query(
    turn: Hit, covered: float, is_moved: bool
) -> None:
    first = first_of(turn, a_settled(covered))

    assert (first.id == "record:settled") is is_moved
    assert first.score == 0.7


@pytest.mark.parametrize(
    ("hit", "is_moved"),
    [
        (a_settled(0.4), True),
        (a_settled(0.39), False),
        (a_settled(0.8, source="graph"), True),
        (a_settled(0.8, source="native"), False),
        (a_settled(0.8, source="graph", metadata={"entityType": "relation"}), False),
        (a_settled(0.8, metadata={"superseded_by": "x"}), False),
        (a_settled(0.8, metadata={"trust": "tool"}), False),
        (a_settled(0.8, metadata={"type": "question"}), False),
    ],
)
def test_only_a_current_trusted_statement_moves_before_a_turn(hit: Hit, is_moved: bool) -> None:
    turn = a_turn(0.4, "user")

    assert (first_of(turn, hit) != turn) is is_moved


def test_a_moved_record_keeps_a_score_that_is_better_than_its_new_position() -> None:
    better = a_settled(0.8)._replace(score=0.9)

    assert first_of(a_turn(0.8, "user"), better).score == 0.9


@pytest.mark.parametrize(
    ("answer_chars", "said", "is_moved"),
    [
        (400, a_turn(0.4, "user"), True),
        (399, a_turn(0.4, "user"), False),
        (500, a_turn(0.39, "user"), False),
        (500, a_turn(0.8, "user", "Is it Leaflet?"), False),
        (500, a_turn(0.8, "user", "b" * 251), False),
        (500, a_turn(0.8, "user", "b" * 250), True),
    ],
)
def test_a_users_statement_moves_before_a_long_answer_that_covers_hardly_more(
    answer_chars: int, said: Hit, is_moved: bool
) -> None:
    answer = a_turn(0.8, "assistant", "a" * answer_chars)

    first = first_of(answer, said)

    assert first.text == (said.text if is_moved else answer.text)
    assert first.score == 0.7


def test_statements_far_behind_the_best_hits_are_ranked_with_them_and_other_hits_are_not() -> None:
    turns = [a_turn(0.8, "user")._replace(id=f"episode:{n}") for n in range(4)]
    settled = [a_settled(0.8)._replace(id=f"record:{n}") for n in range(12)]

    found = worth_ranking([*turns, *settled], 2)

    assert found == [*turns[:2], *settled[:10]]
