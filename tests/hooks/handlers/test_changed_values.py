"""One subject with two values: the newer one is told first, the older one marked, or not at all."""

from __future__ import annotations

import pytest

from hook_work import ERROR, PYTEST, changed, ran, stop
from simulated_client import SimulatedClient

OLD, NEW = "The basket limit is 40 items", "The basket limit is 60 items"
ASKED = "Validate the basket limit in the form."


def said_twice(client: SimulatedClient, quotation: str | None = None, kind: str = "fact") -> None:
    """Two sessions note another value each, without a word on the older one."""
    client.note(kind, OLD, quotation, session="session-1")
    client.note(kind, NEW, quotation, session="session-2")


def places(text: str) -> tuple[int, int]:
    """The places of the newer and of the older statement among the lines; -1 for none."""
    lines = text.splitlines()
    found = [[i for i, line in enumerate(lines) if said in line] for said in (NEW, OLD)]
    return found[0][0] if found[0] else -1, found[1][0] if found[1] else -1


@pytest.mark.parametrize("quotation", [None, ""])
def test_contradicting_records_both_remain_and_a_prompt_gets_the_newer_first(
    client: SimulatedClient, quotation: str | None
) -> None:
    said_twice(client, quotation)

    told = client.prompt(ASKED, "session-3")

    new, old = places(told)
    assert 0 <= new < old
    assert f"said before {client.record_of(NEW).id[-8:]}" in told.splitlines()[old]
    assert not client.record_of(OLD).superseded_by


def test_a_notice_asks_which_of_two_contradicting_values_is_valid(client: SimulatedClient) -> None:
    client.note("fact", OLD, session="session-1")

    notice = client.note("fact", NEW, session="session-2")

    old, new = client.record_of(OLD).id[-8:], client.record_of(NEW).id[-8:]
    assert f"contradicts {old}" in notice
    assert f"`replace {new}` or `keep {old}`" in notice


def test_an_older_contradicted_rule_is_hidden_from_memory_md_and_session_start(
    client: SimulatedClient,
) -> None:
    said_twice(client, kind="rule")

    shown = client.memory_md_file().read_text()
    block = client.context("SessionStart", "session-3", source="startup")

    assert NEW in shown
    assert OLD not in shown + block


@pytest.mark.parametrize("quotation", [None, ""])
def test_a_session_start_shows_a_newer_fact_before_the_older_decision_it_contradicts(
    client: SimulatedClient, quotation: str | None
) -> None:
    client.note("decision", OLD, quotation, session="session-1")
    client.note("fact", NEW, "", session="session-2")

    block = client.context("SessionStart", "session-3", source="startup")

    new, old = places(block)
    assert new > 0
    assert old == -1 or old == new + 1


def test_of_contradicting_values_only_the_users_newest_is_shown(client: SimulatedClient) -> None:
    suffixes = ("_fx", "_sample", "_case")
    for place, suffix in enumerate(suffixes):
        session = f"session-{place}"
        client.prompt(f"From now on end all fixture names with '{suffix}'.", session)
        client.fire("Stop", session, last_assistant_message="I will.")

    shown = client.memory_md_file().read_text()
    told = client.prompt("Write the fixture names of the basket tests.", "session-9")

    assert [suffix in shown for suffix in suffixes] == [False, False, True]
    assert "'_case'" in told
    assert "_fx" not in told and "_sample" not in told


def test_a_prompt_gets_only_the_newer_of_two_contradicting_values(
    client: SimulatedClient,
) -> None:
    client.note("fact", OLD, "", session="session-1")
    client.note("decision", NEW, "", session="session-2")
    start = client.context("SessionStart", "session-3", source="startup")

    told = client.prompt(ASKED, "session-3")

    assert NEW in start.partition("</memory-fabric>")[0]
    assert NEW in told and OLD not in told
    assert client.prompt(ASKED, "session-3") == ""


def test_memory_md_flags_a_users_rule_that_a_later_assistant_note_contradicts(
    client: SimulatedClient,
) -> None:
    client.note("rule", OLD, session="session-1")
    client.note("rule", NEW, "", session="session-2")

    (line,) = [x for x in client.memory_md_file().read_text().splitlines() if OLD in x]

    assert "noted otherwise since" in line


def test_a_restated_older_value_counts_as_the_newest(client: SimulatedClient) -> None:
    said_twice(client, kind="rule")
    client.note("rule", OLD, session="session-3")

    shown = client.memory_md_file().read_text()

    assert OLD in shown and NEW not in shown
    (first, *_) = client.recall("basket limit")["results"]
    assert first["text"] == OLD


def test_two_contradicting_rules_are_both_shown_after_the_user_keeps_the_older(
    client: SimulatedClient,
) -> None:
    said_twice(client, kind="rule")

    client.prompt(f"keep {client.record_of(OLD).id[-8:]}", "session-3")
    client.fire("Stop", "session-3", last_assistant_message="Done.")

    shown = client.memory_md_file().read_text()
    assert OLD in shown and NEW in shown


def test_recall_lists_the_newer_of_two_contradicting_values_first(client: SimulatedClient) -> None:
    said_twice(client, "")

    texts = [hit["text"] for hit in client.recall("basket limit")["results"]]

    assert texts.index(NEW) < texts.index(OLD)


def test_a_subagent_gets_the_newer_contradicting_value_first(client: SimulatedClient) -> None:
    said_twice(client, "")
    client.prompt("Let an agent do it.", "session-3")

    task = {"subagent_type": "developer", "description": "Basket limit", "prompt": ASKED}
    client.fire("PreToolUse", "session-3", tool_name="Task", tool_input=task, tool_use_id="t1")
    told = client.context(
        "SubagentStart", "session-3", agent_type="developer", agent_id="a1", tool_use_id="t1"
    )

    new, old = places(told)
    assert new >= 0
    assert old == -1 or new < old


class TestRefuted:
    def test_a_note_supersedes_a_contradicting_note_of_its_own_session(
        self, client: SimulatedClient
    ) -> None:
        wrong = "The cause of the slow checkout is the tax lookup"
        right = "The cause of the slow checkout is the missing index on orders"
        client.note("fact", wrong, "")
        client.note("fact", right, "")

        assert client.record_of(wrong).superseded_by == client.record_of(right).id

    def test_a_rule_without_a_quotation_of_the_user_does_not_replace_a_users_rule(
        self, client: SimulatedClient
    ) -> None:
        client.note("rule", OLD)
        client.note("rule", NEW, "")

        assert not client.record_of(OLD).superseded_by

    def test_a_fix_is_not_shown_before_its_command_succeeds(self, client: SimulatedClient) -> None:
        self.fixed(client, passes=False)

        assert client.record_of("KeyError").status == "candidate"
        assert "KeyError" not in client.prompt("The cart test fails: KeyError: 'total'", "s-2")

    def test_a_fix_is_active_once_its_command_has_passed(self, client: SimulatedClient) -> None:
        self.fixed(client, passes=False)
        changed(client)
        ran(client, PYTEST, "3 passed")
        stop(client)

        assert [r.status for r in client.records("type = 'solution'")] == ["active"]

    def test_a_fix_that_failed_again_becomes_a_candidate(self, client: SimulatedClient) -> None:
        self.fixed(client, passes=True)
        assert client.record_of("KeyError").status == "active"

        ran(client, PYTEST, ERROR, failed=True)
        stop(client, said="It still fails.")

        assert client.record_of("KeyError").status == "candidate"

    def test_a_fix_stays_active_if_its_command_later_fails_with_another_error(
        self, client: SimulatedClient
    ) -> None:
        self.fixed(client, passes=True)

        ran(client, PYTEST, "Exit code 1\nE   ValueError: no currency\n1 failed", failed=True)
        stop(client, said="Another test fails now.")

        assert client.record_of("KeyError").status == "active"

    @staticmethod
    def fixed(client: SimulatedClient, *, passes: bool) -> None:
        note = "Noted fix: The cart test failed with KeyError total since the cart had no total."
        ran(client, PYTEST, ERROR, failed=True)
        changed(client)
        if passes:
            ran(client, PYTEST, "3 passed")
        client.say("assistant", note)
        stop(client, said=note)
