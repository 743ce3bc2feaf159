"""The limits and the wording of single checks of doctor."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memory_fabric.health import installation, storage, work
from memory_fabric.health.check import (
    FAULT,
    OK,
    WARNING,
    Finding,
    Sight,
    ago,
    fine,
    span,
    warning,
    when,
)
from memory_fabric.health.checks import CHECKS, Check, findings
from memory_fabric.health.tiers import DEGRADED, HEALTHY, UNAVAILABLE, Problem, Tier
from memory_fabric.ids import timestamp
from memory_fabric.sharing.team import ties
from memory_fabric.store.home import log as hook_log
from memory_fabric.store.memory import Memory
from recall.given import open_memory, remember

NOW_S = 1772366400.0  # 2026-03-01 12:00 UTC


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    opened = open_memory(tmp_path)
    yield opened
    opened.close()


def sight(memory: Memory, **changes: Any) -> Sight:
    """Return the input of a check, with some settings changed."""
    memory.settings = memory.settings._replace(**changes)
    return Sight(memory.settings, [], memory, NOW_S, ("Stop",))


def write(memory: Memory, name: str, text: str) -> None:
    """Write a file of the home."""
    path = Path(memory.settings.home) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (-5, "0 s"),
        (59, "59 s"),
        (60, "1 min"),
        (7199, "120 min"),
        (7200, "2 h"),
        (172_799, "48 h"),
        (172_800, "2 days"),
    ],
)
def test_a_duration_is_told_in_its_largest_unit(seconds: float, told: str) -> None:
    assert span(seconds) == told
    assert ago(timestamp(NOW_S - seconds), NOW_S) == f"{told} ago"


def test_a_time_is_told_to_the_minute_and_an_empty_one_as_unknown() -> None:
    assert when("2026-01-15T10:00:59.000Z") == "2026-01-15 10:00 UTC"
    assert when("") == "an unknown date"


def test_a_finding_as_json_is_fixable_only_if_it_is_a_problem() -> None:
    well = fine("all is well")._replace(fixable=True).as_json()
    broken = warning("it is gone", "Look.", fixable=True, details=("a",)).as_json()

    assert (well["fixable"], broken["fixable"]) == (False, True)
    assert (well["state"], broken["state"]) == (OK, WARNING)
    assert broken["details"] == ["a"] and not {"mended", "details"} & well.keys()
    assert warning("it is gone", "Look.").as_json()["fixable"] is False


def test_an_error_of_a_check_becomes_a_fault_in_one_line(memory: Memory) -> None:
    def look(_: Sight) -> Finding:
        raise OSError("no\nsuch disk")

    [found] = findings(Check("Storage", "disk", look), sight(memory))

    assert (found.state, found.told, found.area) == (FAULT, "no such disk", "Storage")
    assert found.name == "disk" and found.remedy


@pytest.mark.parametrize(
    ("version", "state"),
    [
        ("2.1.329", OK),
        ("2.1.328", WARNING),
        ("2.1.328-beta", WARNING),
        ("2.2", OK),
        ("2.0", WARNING),
        ("", OK),
    ],
)
def test_a_client_older_than_the_tested_one_is_reported(
    monkeypatch: pytest.MonkeyPatch, version: str, state: str
) -> None:
    monkeypatch.setattr(installation, "TESTED_VERSION", (2, 1, 329))

    assert installation.version_check(version).state == state


@pytest.mark.parametrize(
    ("ways", "state"),
    [
        ("N" * 19, OK),
        ("N" * 20, WARNING),
        ("W" * 30 + "N" * 30, OK),
        ("W" * 30 + "N" * 31, WARNING),
        ("N" * 10 + "S" * 10, WARNING),
    ],
)
def test_the_server_must_answer_most_events_once_twenty_were_missed(
    memory: Memory, ways: str, state: str
) -> None:
    write(memory, work.WAYS, ways)

    assert work.answers(sight(memory)).state == state


@pytest.mark.parametrize(
    ("ways", "told"),
    [
        ("", ""),
        ("WW", "The session's server answered 2 of the latest 2 hook events."),
        (
            "WWNSSX",
            "The session's server answered 2 of the latest 5 hook events "
            "(no server listened: 1, it did not answer in time: 2).",
        ),
    ],
)
def test_missing_answers_of_the_server_are_counted_by_reason(
    memory: Memory, ways: str, told: str
) -> None:
    write(memory, work.WAYS, ways)

    assert work.answers_line(memory.settings.home) == told


@pytest.mark.parametrize(
    ("changed", "state", "told"),
    [
        ({}, OK, ""),
        ({"complaints": ("a is unknown", "b, too")}, WARNING, "a is unknown; b, too"),
        ({"reads": False}, WARNING, "recall"),
        ({"writes": False}, WARNING, "capture"),
    ],
)
def test_a_switch_that_is_off_and_an_invalid_setting_are_reported(
    memory: Memory, changed: dict[str, Any], state: str, told: str
) -> None:
    found = work.switched(sight(memory, **changed))

    assert found.state == state and told in found.told


def test_warnings_of_today_in_either_log_are_reported(memory: Memory, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / hook_log.LOG_NAME).write_text("2026-03-01 11:00 later\n", "utf-8")
    name = os.path.join("logs", hook_log.LOG_NAME)
    write(memory, name, "2026-03-01 10:00 first\n2026-02-28 12:00 yesterday\n")

    both = work.log(sight(memory, data_dir=str(data)))
    one = work.log(sight(memory, data_dir=""))
    write(memory, name, "2026-03-01 10:00 first\n" + "2026-02-28 12:00 yesterday\n" * 200)
    old = work.log(sight(memory))

    assert (both.state, both.told) == (WARNING, "2 lines today, last: 2026-03-01 11:00 later")
    assert one.told == "1 line today, last: 2026-03-01 10:00 first"
    assert old.state == OK


def test_a_home_that_cannot_be_a_folder_is_a_fault(memory: Memory, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", "utf-8")

    broken = storage.home(sight(memory, home=str(tmp_path / "file" / "home")))
    to_come = storage.home(sight(memory, home=str(tmp_path / "new" / "home")))

    assert (broken.state, to_come.state) == (FAULT, OK)
    assert broken.told.startswith(str(tmp_path / "file"))
    assert to_come.told == str(tmp_path / "new" / "home")


def test_indexes_of_a_large_database_are_neither_checked_nor_rebuilt(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    remember(memory, "Use Redis")
    [database] = memory.databases()
    database.connection.execute("INSERT INTO records_fts (records_fts) VALUES ('delete-all')")
    size = os.path.getsize(database.path)

    monkeypatch.setattr(storage, "MAX_INDEXED_BYTES", size - 1)
    large, kept = storage.indexes(sight(memory)), storage.rebuild_indexes(sight(memory))
    monkeypatch.setattr(storage, "MAX_INDEXED_BYTES", size)
    small, rebuilt = storage.indexes(sight(memory)), storage.rebuild_indexes(sight(memory))

    assert (large.state, kept) == (OK, []) and "too large" in large.told
    assert small.state == WARNING and any("records_fts" in line for line in rebuilt)


def test_nothing_is_repaired_while_capture_is_off(memory: Memory) -> None:
    on = storage.update_tiers(sight(memory))
    off = storage.update_tiers(sight(memory, writes=False))

    assert (on, off) == (["journals and MEMORY.md are up to date"], [])


def test_the_worst_problem_is_the_state_of_a_tier() -> None:
    slow, gone = Problem(DEGRADED, "It is slow."), Problem(UNAVAILABLE, "It is gone.")

    states = [Tier("graph", "", findings=some).state for some in ((), (slow,), (slow, gone))]

    assert states == [HEALTHY, DEGRADED, UNAVAILABLE]


def test_each_check_of_a_new_project_names_its_area_and_state(memory: Memory) -> None:
    remember(memory, "Use Redis")
    memory.flush()
    seen = sight(memory)

    found = [one for check in CHECKS[5:] for one in findings(check, seen)]

    assert len({one.name for one in found}) == len(found)
    assert all(one.state in (OK, WARNING, FAULT) and one.told for one in found)
    assert all(one.remedy or one.state == OK or one.name == "log" for one in found)
    assert {one.state for one in found if one.area == "Storage"} == {OK}
    assert storage.rebuild_indexes(seen) == storage.delete_leftovers(seen) == []


def report(memory: Memory, **state: Any) -> work.TieReport:
    """Return the report on a shared log whose last exchange left this state."""
    tie = ties.Tie(ties.USER, space="crew", member="ann", dsn="pg")
    Path(memory.settings.home).mkdir(parents=True, exist_ok=True)
    ties.update_state(memory.settings.home, tie.key, **state)
    return work.TieReport(memory, tie, NOW_S)


@pytest.mark.parametrize(
    ("state", "is_bad"),
    [
        ({}, False),
        ({"cause": "Refused"}, True),
        ({"last_success": timestamp(NOW_S - 7 * 86_400)}, False),
        ({"last_success": timestamp(NOW_S - 7 * 86_400 - 1)}, True),
        ({"last_success": timestamp(NOW_S), "cause": "Refused"}, False),
        ({"last_success": timestamp(NOW_S), "told": "Refused"}, True),
    ],
)
def test_an_exchange_is_bad_if_it_never_worked_or_not_for_a_week_or_needs_the_user(
    memory: Memory, state: dict[str, str], is_bad: bool
) -> None:
    assert report(memory, **state).is_bad is is_bad


def test_the_headline_of_a_shared_log_tells_the_last_exchange_and_what_waits(
    memory: Memory,
) -> None:
    never = report(memory)
    lately = report(memory, last_success=timestamp(NOW_S - 120))
    lately.counts = lately.counts._replace(due=2, waiting=1, oldest=timestamp(NOW_S - 60))

    assert never.headline.startswith("shared log: your own memories in ")
    assert never.headline.endswith(", never exchanged.")
    assert lately.headline.endswith(
        ", exchanged 2 min ago; 3 changes to send, the oldest 1 min ago."
    )


def test_the_troubles_of_a_shared_log_are_only_those_that_it_has(memory: Memory) -> None:
    found = report(memory, silent="bob, eve", last_error="It is down.")
    few = [message.text for message in found.troubles]
    found.counts = found.counts._replace(unsent=1, unread=2, asked=1, conflicts=1)
    found.state = found.state._replace(cause="Refused", remedy="Ask Bob.")

    first, *others = [message.text for message in found.troubles]
    told = found.as_json()

    assert few == ["Members who have not read crew for a week: bob, eve."]
    assert first == "The exchange with crew fails, first lately: It is down."
    assert [text.split()[0] for text in others] == ["The", "2", "1", "Your", "Members"]
    assert (told["silent"], told["scope"], told["unread"]) == (["bob", "eve"], "user", 2)
