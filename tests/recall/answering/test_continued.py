"""A long message finds the session that it carries on; a short question finds a statement."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from memory_fabric.language.concepts import concepts
from memory_fabric.models import Provenance
from memory_fabric.recall.answering import LEAST_CONCEPTS, continued, is_message, scored
from memory_fabric.recall.parse import parse
from memory_fabric.recall.pipeline import Fabric
from memory_fabric.store.memory import Memory
from recall.given import NOW, open_memory

MESSAGE = (
    "Hi, I am back. The invoices went out on Monday just as you proposed, the customers were "
    "friendly on the phone, so what is next for the payment reminders that we planned?"
)
INVOICES = (
    ("user", "I run a bakery and my customers pay their invoices late."),
    ("assistant", "Send invoices on Monday; plan payment reminders after seven days."),
    ("user", "Reminders by phone are friendly. I propose the first in the second week."),
)
HOLIDAY = (
    ("user", "We walk in Norway in June and sleep in huts."),
    ("assistant", "Pack light. The friendly hut keeper answers the phone on Monday."),
)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    memory = open_memory(tmp_path)
    yield memory
    memory.close()


def say(memory: Memory, session: str, turns: Sequence[tuple[str, str]], day: int = 1) -> None:
    episodes = [
        {
            "id": f"{session}-{number}",
            "session": session,
            "role": role,
            "text": text,
            "created_at": f"2026-02-{day:02}T10:{number:02}:00.000Z",
        }
        for number, (role, text) in enumerate(turns)
    ]
    memory.write("add_episodes", {"episodes": episodes}, Provenance("prompt", "user"))


CHISEL = concepts(parse("How do we sharpen a chisel?"))
PLANTS = (
    "amber basil cedar dahlia elder fennel ginger hazel iris jasmine kelp laurel "
    "myrtle nettle olive pepper"
).split()


def test_several_sentences_count_as_a_message_and_a_single_question_does_not() -> None:
    assert is_message(parse(MESSAGE))
    assert is_message(parse("I am back from lunch. What is next?"))
    assert not is_message(parse("When do the payment reminders go out?"))
    assert not is_message(parse("Did Dr. Seuss ever live in the U.S. or not?"))
    assert is_message(parse("Done. What is next?"))
    assert is_message(parse("So! What is next"))
    assert not is_message(parse("What is next!"))


def test_a_sentence_of_sixteen_content_words_counts_as_a_message() -> None:
    assert len(PLANTS) == LEAST_CONCEPTS
    assert is_message(parse(" ".join(PLANTS)))
    assert not is_message(parse(" ".join(PLANTS[1:])))


def test_turns_of_the_session_that_a_message_continues_rank_first(memory: Memory) -> None:
    say(memory, "holiday", HOLIDAY, 3)
    say(memory, "invoices", INVOICES, 2)

    hits = Fabric(memory, NOW).recall(MESSAGE).hits

    assert hits[0].metadata["session"] == "invoices"


def test_the_score_of_a_past_session_combines_the_matches_of_all_its_turns(memory: Memory) -> None:
    say(memory, "spread", [("user", f"We planted {plant} by the wall") for plant in PLANTS], 1)
    say(memory, "dense", [("user", f"Buy {' '.join(PLANTS[:4])}"), ("assistant", "Done.")], 2)

    found = continued(parse(" ".join(PLANTS)), memory, ())

    assert found.scores["spread"] > found.scores["dense"]
    assert not found.failures


def test_the_newer_of_two_sessions_with_the_same_text_scores_higher() -> None:
    texts = {"old": "sharpen the chisel", "new": "sharpen the chisel", "other": "bake the bread"}

    scores = scored(texts, concepts(parse("How do we sharpen a chisel?")))

    assert scores["new"] == 1.0
    assert scores["new"] > scores["old"] > scores["other"]


def test_a_session_similar_to_the_best_match_scores_higher_than_an_unrelated_one() -> None:
    texts = {
        "unlike": "bread butter honey jam",
        "like": "lathe spindle gouge mandrel",
        "best": "chisel sharpen lathe spindle gouge mandrel",
        "filler": "rain wind snow hail",
    }

    scores = scored(texts, concepts(parse("How do we sharpen a chisel?")))

    assert scores["like"] > max(scores["unlike"], scores["filler"])


def test_short_questions_and_exact_phrases_do_not_rank_past_sessions(memory: Memory) -> None:
    say(memory, "invoices", INVOICES)

    assert not continued(parse("When do reminders go out?"), memory, ()).scores
    assert not continued(parse(f'{MESSAGE} "seven days"'), memory, ()).scores
    assert continued(parse(MESSAGE), memory, ()).scores


def test_recall_adds_each_turn_of_the_continued_session_only_once(memory: Memory) -> None:
    say(memory, "invoices", INVOICES)

    found = continued(parse(MESSAGE), memory, ())
    again = continued(parse(MESSAGE), memory, found.candidates)

    assert {one.metadata["session"] for one in found.candidates} == {"invoices"}
    assert not again.candidates


def test_a_session_filter_in_a_message_limits_the_hits_to_that_session(memory: Memory) -> None:
    say(memory, "invoices", INVOICES, 2)
    say(memory, "holiday", HOLIDAY, 3)

    answer = Fabric(memory, NOW).recall(f"{MESSAGE} session:holiday")

    assert {hit.metadata["session"] for hit in answer.hits} == {"holiday"}


def test_explain_shows_how_much_a_continued_session_adds_to_the_score(memory: Memory) -> None:
    say(memory, "invoices", INVOICES)

    hits = Fabric(memory, NOW).recall(MESSAGE, explain=True).hits

    assert hits[0].metadata["parts"]["session carried on"] == 1.0


def test_a_store_whose_turns_cannot_be_read_is_reported(memory: Memory) -> None:
    say(memory, "invoices", INVOICES)
    memory.session_database().connection.execute("DROP TABLE episodes_fts")

    found = continued(parse(MESSAGE), memory, ())

    assert (found.scores, found.candidates) == ({}, ())
    assert [failure.partition(":")[0] for failure in found.failures] == ["episodes (project)"]


def test_sessions_without_texts_or_matches_have_no_score() -> None:
    assert scored({}, CHISEL) == {}
    assert scored({"one": "", "other": "bake the bread"}, CHISEL) == {"one": 0.0, "other": 0.0}


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        ("chisel chisel rain wind", "chisel rain wind snow"),
        ("chisel", "chisel rain wind snow hail fog sleet frost thaw"),
        ("sharpen chisel rain wind", "sharpen sharpen rain wind"),
    ],
    ids=["more often", "in a shorter text", "more words"],
)
def test_a_session_that_matches_better_scores_higher_than_a_newer_one(
    better: str, worse: str
) -> None:
    scores = scored({"better": better, "worse": worse, "other": "bake the bread"}, CHISEL)

    assert scores["better"] == 1.0
    assert scores["better"] > scores["worse"] > scores["other"] == 0.0


def test_a_rare_word_of_the_message_counts_more_than_a_common_one() -> None:
    texts = {"rare": "chisel blade", "common": "sharpen blade", "third": "sharpen saw"}

    scores = scored(texts | {"fourth": "sharpen plane"}, CHISEL)

    assert scores["rare"] > max(scores[name] for name in ("common", "third", "fourth"))
