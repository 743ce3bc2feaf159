"""Notices say what is so."""

from __future__ import annotations

from pathlib import Path
from textwrap import wrap
from typing import Any

import pytest

from memory_fabric.capture.notes.debt import Debt
from memory_fabric.capture.notes.protocol import Kept
from memory_fabric.config import TIES, read_settings
from memory_fabric.hooks.session import notice_texts
from memory_fabric.models import CONTRADICTS, EFFECT, QUOTATION, WHEN, Record


@pytest.mark.parametrize("tied", [False, True])
def test_the_welcome_claims_local_storage_only_if_no_space_is_linked(
    tmp_path: Path, *, tied: bool
) -> None:
    settings = read_settings({"MEMORY_FABRIC_HOME": str(tmp_path)}, {})
    if tied:
        (tmp_path / TIES).write_text("{}", "utf-8")

    text = notice_texts.welcome(settings, {})

    assert "on this machine" in text
    assert ("on this machine only" in text) is not tied


@pytest.mark.parametrize("client", ["claude-code", "codex"])
def test_the_welcome_has_at_most_three_lines_and_contains_no_path(
    tmp_path: Path, client: str
) -> None:
    environ = {"MEMORY_FABRIC_HOME": str(tmp_path), "MEMORY_FABRIC_CLIENT": client}
    settings = read_settings({**environ, "CLAUDE_PLUGIN_ROOT": str(tmp_path)}, {})

    text = notice_texts.welcome(settings, {"Claude Code": 113})

    assert len(wrap(text, 80)) <= 3
    assert str(tmp_path) not in text and "113 earlier sessions of Claude Code" in text


@pytest.mark.parametrize("trust", ["user", "assistant"])
def test_a_question_about_contradictory_records_shows_the_quoted_words(
    tmp_path: Path, trust: str
) -> None:
    settings = read_settings({"MEMORY_FABRIC_HOME": str(tmp_path)}, {})
    quoted = {QUOTATION: "never deploy on a friday"}
    new = Record("constraint", "No deploys on Fridays", id="1" * 8, trust=trust, evidence=quoted)
    old = Record("constraint", "Deploy daily", id="2" * 8, trust="assistant")

    text = notice_texts.waiting(Debt(asked=((new, old),)), settings)

    assert "never deploy on a friday" in text and "Deploy daily" in text


ALL = read_settings({"HOME": "/home/ann"}, {})
PROBLEMS, OFF = ALL._replace(notices="problems"), ALL._replace(notices="off")


def noted(number: int, what: str = "It rains", **fields: Any) -> Record:
    return Record("constraint", what, id=str(number) * 8, **fields)


def test_a_remembered_record_is_shown_only_if_all_notices_are_on() -> None:
    assert notice_texts.remembered([noted(1)], ALL) == (
        "memory-fabric remembered rule “It rains” (11111111)"
    )
    assert notice_texts.remembered([], ALL) == ""
    for settings in (PROBLEMS, OFF):
        assert notice_texts.remembered([noted(1)], settings) == ""


def test_notices_on_a_candidate_and_on_a_contradiction_name_the_commands() -> None:
    waiting = noted(1, status="candidate")
    contradicting = noted(2, evidence={CONTRADICTS: ["3" * 8, "4" * 8]})

    text = notice_texts.remembered([waiting, contradicting], ALL)

    assert text.startswith("memory-fabric heard rule “It rains” (11111111): `keep 11111111`")
    assert "contradicts 33333333 (`replace 22222222` or `keep 33333333`)" in text
    assert "44444444" not in text


def test_the_fourth_record_in_a_notice_is_shown_in_a_short_form() -> None:
    records = [noted(number, f"Number {number} {'x' * 200}") for number in range(1, 5)]

    parts = notice_texts.remembered(records, ALL).split("; ")

    assert [len(part) > 200 for part in parts] == [True, True, True, False]
    assert parts[3].startswith("44444444: Number 4")


def test_a_remembered_rule_is_shown_with_its_condition_or_its_quotation() -> None:
    bound, quoted = {WHEN: "git push"}, {QUOTATION: "rain, always"}

    text = notice_texts.remembered([noted(1, evidence=bound), noted(2, evidence=quoted)], ALL)

    assert "rule “It rains”, when: git push (11111111)" in text
    assert "“rain, always” (noted as: It rains)" in text


def test_one_noted_record_is_named_by_its_id_and_several_by_their_first_words() -> None:
    one, two = Kept(noted(1)), Kept(noted(2, "It snows in the mountains every winter"))
    prompted = Kept(noted(3, source="prompt"))

    assert notice_texts.kept([one], ALL) == "memory-fabric remembered rule (11111111)"
    assert notice_texts.kept([one, two], ALL) == (
        "memory-fabric remembered rule “It rains” (11111111); "
        "rule “It snows in the mountains…” (22222222)"
    )
    assert "“It rains” (33333333)" in notice_texts.kept([prompted], ALL)
    assert notice_texts.kept([one._replace(is_new=False)], ALL) == ""
    assert notice_texts.kept([], ALL) == notice_texts.kept([one], PROBLEMS) == ""


def test_a_notice_on_notes_names_scope_binding_and_what_they_replace() -> None:
    words = {QUOTATION: "never push", WHEN: "git push", EFFECT: "deny"}
    old = noted(2, "It shines")
    quoted = Kept(noted(1, trust="user", scope="user", evidence=words), replaced=(old,))
    here = Kept(noted(3), contradicted=(old, noted(4)), only_here=True)
    unread = Kept(noted(5, evidence={QUOTATION: "snow"}), unread="rain and snow")

    first, second, third = notice_texts.kept([here, quoted, unread], ALL).split("; rule")

    assert first == (
        "memory-fabric remembered rule “It rains” (11111111) in your words, binds git push"
        " for every project, replaces 22222222: It shines"
    )
    assert second.endswith("(55555555) in your words: “rain and snow”")
    assert "(33333333) for this project only, contradicts 22222222: It shines" in third
    assert "44444444" in third and third.endswith("(`replace 33333333` or `keep 22222222`)")


def test_dropped_refused_and_lost_notes_are_reported() -> None:
    dropped = Kept(None, replaced=(noted(1), noted(2)))
    refused = Kept(None, refused=(("33333333: x", "not yours"),))
    lost = [Kept(noted(4), is_new=False, lost=f"line {number}") for number in range(4)]

    assert notice_texts.kept([dropped], ALL) == (
        "memory-fabric dropped 11111111: It rains; 22222222: It rains"
    )
    several = [dropped, *(Kept(noted(number)) for number in range(3, 8))]
    assert notice_texts.kept(several, ALL).endswith(
        "dropped 11111111: It rains; 22222222: It rains"
    )
    with_new = notice_texts.kept([dropped, Kept(noted(3))], ALL)
    assert with_new.startswith("memory-fabric remembered rule (33333333)")
    assert with_new.endswith("; dropped 11111111: It rains; 22222222: It rains")
    assert notice_texts.kept([refused], PROBLEMS) == (
        "memory-fabric: did not drop 33333333: x (not yours): `forget 33333333` does"
    )
    assert notice_texts.kept(lost[:1], ALL) == "memory-fabric: 1 line not kept: line 0"
    assert notice_texts.kept(lost, ALL).endswith(
        "4 lines not kept: line 0; line 1; line 2 and 1 more"
    )
    assert notice_texts.kept([refused, *lost], OFF) == ""


def test_a_problem_is_shown_unless_notices_are_off() -> None:
    assert notice_texts.problem("It broke", PROBLEMS) == "memory-fabric: It broke"
    assert notice_texts.problem("", ALL) == notice_texts.problem("It broke", OFF) == ""
    assert notice_texts.waiting(Debt(), ALL) == ""


def test_the_welcome_counts_earlier_sessions_and_depends_on_client_and_settings() -> None:
    text = notice_texts.welcome(ALL, {"Claude Code": 1, "Codex": 2})
    forwarding = ALL._replace(forward_url="https://example.org")
    other = ALL._replace(client=ALL.client._replace(has_skills=False))

    assert "1 earlier session of Claude Code, 2 of Codex can be read in" in text
    assert "`/memory-fabric:learn`" in text and "`/memory-fabric:memory status`" in text
    assert "can be read in" not in notice_texts.welcome(ALL, {})
    assert "this machine only" not in notice_texts.welcome(forwarding, {})
    assert "`memory-fabric status`" in notice_texts.welcome(other, {})
    assert notice_texts.welcome(OFF, {"Codex": 2}) == ""
    assert notice_texts.welcome(PROBLEMS, {}) != ""


@pytest.mark.parametrize(
    ("authors", "against", "compared", "ending"),
    [
        (["ben", "", "ben"], 0, 3, "2 from ben, 1 from your other machines"),
        (["ben"], 1, 1, "1 from ben, 1 contradicts yours (/memory-fabric:review)"),
        (["b"] * 3, 2, 2, "3 from b, 2 of the newest 2 contradict yours (/memory-fabric:review)"),
        (list("abcde"), 0, 5, "1 from a, 1 from b, 1 from c and 2 more"),
    ],
)
def test_arrived_records_are_counted_by_author(
    authors: list[str], against: int, compared: int, ending: str
) -> None:
    text = notice_texts.arrived(authors, against, compared)

    assert text == f"memory-fabric, since you were away: {ending}"
