"""The figures of `worth` for three weeks of recorded sessions, as the command prints them."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from command_line import run_here
from memory_fabric.config import read_settings
from memory_fabric.store.memory import Memory
from memory_fabric.store.queries.counts import FIGURES
from replay.sessions import Replay, Step
from replay.three_weeks import (
    DECISION,
    EDIT,
    FIRST,
    INSTALL,
    KEY_ERROR,
    LEGACY,
    STORY,
    TEST,
    WEEK_S,
    call,
    prompt,
    start,
    stop,
)
from replay.ways import in_process

CHANGED = "The file has been updated."


def worth(replay: Replay, *options: str) -> dict[str, Any]:
    """The output of the command as JSON."""
    done = run_here(("worth", "--json", *options), replay.hooks.environ, replay.hooks.project)
    assert done.status in (0, 3), done.err
    answer: dict[str, Any] = json.loads(done.out)
    return answer


def cases(week: dict[str, Any]) -> dict[str, tuple[int, int]]:
    """The figures of a week that have any cases, as (yes, n)."""
    found = {name: (week[name]["yes"], week[name]["n"]) for name in FIGURES}
    return {name: figure for name, figure in found.items() if figure[1]}


def played(folder: Path, steps: list[Step]) -> Replay:
    """Return a replay in a new folder in which these steps were played."""
    with Replay(Path(os.path.realpath(folder)) / "world", in_process) as replay:
        replay.play(steps)
    return replay


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Replay:
    """The replay of all three weeks, whose memory is only read."""
    return played(tmp_path_factory.mktemp("story"), STORY)


@pytest.fixture(scope="module")
def kept_first(tmp_path_factory: pytest.TempPathFactory) -> Replay:
    """The replay of the first week, and a copy of its folder beside it."""
    replay = played(tmp_path_factory.mktemp("first"), FIRST)
    world = replay.hooks.folder
    shutil.copytree(world, world.with_name("kept"), symlinks=True)
    return replay


@pytest.fixture
def first(kept_first: Replay) -> Replay:
    """The replay as the first week left it; the next session is a new one."""
    world = kept_first.hooks.folder
    shutil.rmtree(world)
    shutil.copytree(world.with_name("kept"), world, symlinks=True)
    return kept_first


def of_second(first: Replay, *steps: Step) -> dict[str, Any]:
    """The figures of a second week with these steps, after the first one."""
    with first as replay:
        replay.play([*start("second", after_s=WEEK_S), prompt("Go on."), *steps])
        newest, *_ = worth(replay)["weeks"]
        assert replay.hooks.log == []
    assert newest["week"] == "2026-03-09"
    return cases(newest)


def test_the_worth_command_counts_the_outcomes_of_each_week_separately(story: Replay) -> None:
    with story as replay:
        answer = worth(replay)
        shown = run_here(("worth",), replay.hooks.environ, replay.hooks.project).out
        priced = worth(replay, "--price", "8")

    third, second, first = answer["weeks"]
    assert [week["week"] for week in answer["weeks"]] == ["2026-03-16", "2026-03-09", "2026-03-02"]
    assert cases(first) == {"said_again": (0, 3)}
    followed = ("held_not_run", "asked_not_run", "fixes_applied", "decisions_named")
    assert cases(second) == dict.fromkeys(followed, (1, 1))
    assert cases(third) == {**dict.fromkeys(followed, (0, 1)), "said_again": (1, 1)}
    assert [week["sessions"] for week in answer["weeks"]] == [1, 1, 1]
    assert sum(w["tokens"] for w in answer["weeks"]) == pytest.approx(answer["total"]["tokens"], 2)
    assert set(answer["figures"]) == set(FIGURES) and answer["limits"] in " ".join(shown.split())
    assert "2026-03-09" in shown and shown.count("1 of 1") == 5 and shown.count("0 of 1") == 4
    costs = [week["cost"] for week in priced["weeks"]]
    assert costs == [pytest.approx(week["tokens"] * 8e-6, abs=8e-6) for week in answer["weeks"]]


def test_the_worth_command_leaves_out_weeks_before_the_requested_period(story: Replay) -> None:
    with story as replay:
        answer = worth(replay, "--days", "3")

    assert [week["week"] for week in answer["weeks"]] == ["2026-03-16"]


def test_the_outcome_of_a_shown_memory_is_not_judged_before_the_turn_ends(first: Replay) -> None:
    assert of_second(first, *call("b1", "Bash", INSTALL)) == {}


def test_repeating_a_refused_call_in_a_later_turn_counts_as_not_following_the_rule(
    first: Replay,
) -> None:
    held, turn = call("b1", "Bash", INSTALL), [stop(), prompt("Go on.")]

    figures = of_second(first, *held, *turn, *call("b2", "Bash", INSTALL, "added"), stop())

    assert figures["held_not_run"] == (0, 1)


def test_a_refused_call_repeated_in_another_session_counts_only_for_that_session(
    first: Replay,
) -> None:
    held = [*call("b1", "Bash", INSTALL), stop()]
    other = [*start("third"), prompt("Go on."), *call("c1", "Bash", INSTALL)]

    figures = of_second(
        first, *held, *other, *call("c2", "Bash", INSTALL, "added 1 package"), stop()
    )

    assert figures["held_not_run"] == (1, 2)


def test_a_call_that_the_user_declined_counts_as_following_the_rule(first: Replay) -> None:
    declined = "The user doesn't want to proceed with this tool use."

    figures = of_second(first, *call("b1", "Edit", LEGACY, error=declined), stop())

    assert figures["asked_not_run"] == (1, 1)


def test_calls_refused_to_a_subagent_are_not_counted_by_the_worth_command(first: Replay) -> None:
    whose = {"agent_id": "a1", "agent_type": "general-purpose"}
    calls = [{**step, **whose} for step in call("b1", "Bash", INSTALL)]

    assert "held_not_run" not in of_second(first, *calls, stop())


@pytest.mark.parametrize(
    ("given", "outcome", "is_applied"),
    [
        (EDIT, {"output": "1 passed in 0.10s"}, True),
        (EDIT, {"error": KEY_ERROR}, False),  # the command never passes
        ({**LEGACY, "file_path": "tests/conftest.py"}, {"output": "1 passed in 0.10s"}, False),
    ],
    ids=["used", "in vain", "another change"],
)
def test_a_fix_counts_as_applied_if_the_edit_before_the_passing_run_has_its_words(
    first: Replay, given: dict[str, str], outcome: dict[str, str], *, is_applied: bool
) -> None:
    failure = call("b1", "Bash", TEST, error=KEY_ERROR)

    figures = of_second(
        first,
        *failure,
        *call("b2", "Edit", given, CHANGED),
        *call("b3", "Bash", TEST, **outcome),
        stop(),
    )

    assert figures["fixes_applied"] == (int(is_applied), 1)


def test_a_fix_applied_one_turn_after_the_error_is_counted(first: Replay) -> None:
    failure = [*call("b1", "Bash", TEST, error=KEY_ERROR), stop(), prompt("Go on.")]
    mended = [*call("b2", "Edit", EDIT, CHANGED), *call("b3", "Bash", TEST, "1 passed in 0.10s")]

    assert of_second(first, *failure, *mended, stop())["fixes_applied"] == (1, 1)


def test_reading_a_file_mentioned_in_a_fix_does_not_count_as_applying_the_fix(
    first: Replay,
) -> None:
    failure = call("b1", "Bash", TEST, error=KEY_ERROR)
    read = call("b2", "Read", {"file_path": "src/cart.py", "note": "sum item.cents"}, "def total")

    figures = of_second(first, *failure, *read, *call("b3", "Bash", TEST, "1 passed"), stop())

    assert figures["fixes_applied"] == (0, 1)


@pytest.mark.parametrize(
    ("asked", "answer", "is_named"),
    [
        ("Where do the reports come from?", f"From there: {DECISION.lower()}.", True),
        (
            "Where do the reports come from?",
            "Analytics is slow. PostgreSQL is up. Port 6543.",
            False,
        ),
        (f"Is it true that {DECISION}?", f"Yes, {DECISION}.", False),
        ("Where do the reports come from?", "From MySQL.", False),
    ],
    ids=["one sentence", "several sentences", "words of the prompt", "no word"],
)
def test_a_decision_counts_as_mentioned_if_a_sentence_of_the_answer_states_it(
    first: Replay, asked: str, answer: str, *, is_named: bool
) -> None:
    figures = of_second(first, stop(), prompt(asked), stop(answer))

    assert figures["decisions_named"] == (int(is_named), 1)


def test_a_decision_counts_as_mentioned_if_the_answer_contains_its_id(first: Replay) -> None:
    memory = Memory.open(read_settings(first.hooks.environ, {}))
    (record,) = memory.find_records(f"what = '{DECISION}'")
    memory.close()
    with first as replay:
        replay.play([*start("second", after_s=WEEK_S), prompt("Go on.")])
        replay.play([stop(f"As {record.id[-8:]} says.")])
        newest, *_ = worth(replay)["weeks"]

    assert cases(newest)["decisions_named"] == (1, 1)


NOTED_AGAIN = f'Noted decision: {DECISION}. From: "{DECISION}"'
REPEATED = [prompt(f"Remember that {DECISION}."), stop()]


@pytest.mark.parametrize(
    ("turns", "expected"),
    [
        (REPEATED, (1, 1)),
        (REPEATED * 2, (1, 1)),
        ([prompt(f"{DECISION}."), stop(NOTED_AGAIN)], (1, 1)),
        ([prompt("From now on, sessions are kept in Redis."), stop()], (0, 1)),
        ([prompt("Where?"), stop(f"Noted decision: {DECISION}.")], None),
        ([prompt(f"<task-notification>Remember that {DECISION}.</task-notification>")], None),
    ],
    ids=["stated", "stated twice", "quoted", "another", "the assistant's words", "a machine's"],
)
def test_a_record_counts_as_repeated_if_the_user_states_it_again_in_a_later_session(
    first: Replay, turns: list[Step], expected: tuple[int, int] | None
) -> None:
    assert of_second(first, stop(), *turns).get("said_again") == expected


def test_a_record_stated_again_in_its_own_session_does_not_count_as_repeated(
    tmp_path: Path,
) -> None:
    with Replay(Path(os.path.realpath(tmp_path)), in_process) as replay:
        replay.play([*FIRST, *REPEATED])
        (week,) = worth(replay)["weeks"]

    assert cases(week) == {"said_again": (0, 3)}
