from __future__ import annotations

import pytest

from memory_fabric.models import Hit, Query
from memory_fabric.recall.inject import query_of
from memory_fabric.recall.old_tasks import closing, line, nearest
from recall.given import a_hit


def prompt(text: str) -> Query:
    return query_of(text, "2026-03-01T12:00:00Z")


def turn(session: str, *matched: str, role: str = "user") -> Hit:
    metadata = {"matched": list(matched), "session": session, "role": role}
    return a_hit(
        f"{role} of {session}", id=f"episode:{session}", source="episodes", metadata=metadata
    )


QUERY = prompt("The sprocket of the carburettor squeaks under the bonnet")


def test_the_only_earlier_session_with_the_rare_words_of_a_prompt_is_found() -> None:
    hits = [turn("a", "sprocket"), turn("a", "carburettor", role="assistant"), turn("b", "bonnet")]

    found = nearest(hits, QUERY, sessions=12)

    assert found is not None
    assert (found.session, found.request.text) == ("a", "user of a")
    assert found.rare == ("carburettor", "sprocket")


def test_no_earlier_task_is_found_by_common_words_or_in_several_sessions() -> None:
    everywhere = [turn(name, "sprocket", "carburettor") for name in "abcd"]
    two = [turn("a", "sprocket", "carburettor"), turn("b", "squeaks", "bonnet")]
    answers = [turn("a", "sprocket", "carburettor", role="assistant")]

    assert nearest(everywhere, QUERY, sessions=12) is None
    assert nearest(two, QUERY, sessions=12) is None
    assert nearest(answers, QUERY, sessions=12) is None


def test_an_earlier_task_must_share_more_words_with_the_prompt_if_few_sessions_exist() -> None:
    long = prompt("The sprocket of the carburettor squeaks under the bonnet of this lorry at dawn")
    hits = [turn("a", "sprocket", "carburettor")]

    assert nearest(hits, long, sessions=12) is not None
    assert nearest(hits, long, sessions=3) is None


def test_the_line_about_an_earlier_task_is_short_and_lists_at_most_three_files() -> None:
    said = line("Mend it " * 90, "It was mended " * 90, ["a.py", "b.py", "c.py", "d.py", "a.py"])
    three = line("Mend it", "", ["a.py", "b.py", "win\\c.py"])

    assert len(said) < 360
    assert three.endswith("(files: a.py, b.py, win/c.py)")
    assert said.endswith("(files: a.py, b.py, c.py and 1 more)")
    assert line("Mend it", "", ()) == "“Mend it”"


def test_the_conclusion_of_an_answer_is_its_last_prose_about_the_subject() -> None:
    code = "```\noil()\n\nsprocket()\n```"
    answer = f"## Summary\n\nThe sprocket was dry.\n\n{code}\n\nAll is well.\n\nMore?"

    assert closing(answer, ["sprocket"]) == "The sprocket was dry."
    assert closing(answer, ["bonnet"]) == "All is well."
    assert closing("", ["bonnet"]) == ""


@pytest.mark.parametrize(("sessions", "is_found"), [(10, True), (9, False)])
def test_a_word_of_a_fifth_of_the_sessions_is_still_rare(sessions: int, *, is_found: bool) -> None:
    hits = [turn("a", "sprocket", "carburettor", "squeaks"), turn("b", "sprocket")]

    found = nearest(hits, QUERY, sessions=sessions)

    assert (found is not None and "sprocket" in found.rare) is is_found


def test_the_request_is_the_users_turn_with_the_most_rare_words() -> None:
    hits = [
        turn("a", "bonnet")._replace(text="the first"),
        turn("a", "sprocket", "carburettor")._replace(text="the second"),
        turn("a", "sprocket")._replace(text="the third"),
    ]

    found = nearest(hits, QUERY, sessions=12)

    assert found is not None and found.request.text == "the second"


def test_of_two_similar_sessions_neither_is_found() -> None:
    both = ("sprocket", "carburettor", "bonnet")

    assert nearest([turn("a", *both), turn("b", "squeaks")], QUERY, sessions=12)
    assert nearest([turn("a", *both), turn("b", *both[:2])], QUERY, sessions=12) is None


def test_a_word_that_is_part_of_another_word_is_not_counted_beside_it() -> None:
    query = prompt("Mend the sprocketholder and the sprocket of the lorryfleet")

    found = nearest([turn("a", "sprocketholder", "sprocket", "lorryfleet")], query, sessions=12)

    assert found is not None and found.rare == ("lorryfleet", "sprocketholder")


def test_code_headings_and_questions_are_no_conclusion_of_an_answer() -> None:
    code = "```\nsprocket()\n```"
    dry = closing(f"The sprocket was dry.\n\nNow run this:\n\n{code}", ["sprocket"])

    assert dry == "The sprocket was dry."
    assert closing("Oiled.\n\n- The SPROCKET is oiled.\n\n(Not it.)", ["sprocket"]) == (
        "The SPROCKET is oiled."
    )
    assert closing("Shall I oil the sprocket?\n\nIt ends {", ["sprocket"]) == ""
