"""Notes through the hooks: whose words they are, what they replace, and how the user stops them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from memory_fabric.capture.notes.protocol import PROTOCOL, SUMMARY_REQUEST
from memory_fabric.deadline import Deadline
from memory_fabric.hooks import dispatcher
from memory_fabric.models import Record
from memory_fabric.store import files, journal
from simulated_client import SimulatedClient

RULE = "Never start the dev server, since the user runs it himself"
SAID = "Never start the dev server yourself, I run it on my own"


def only(client: SimulatedClient) -> Record:
    (record,) = client.records()
    return record


def with_(client: SimulatedClient, word: str) -> list[Record]:
    """The records that hold this word."""
    return [record for record in client.records() if word in record.what]


def start(client: SimulatedClient, source: str = "startup", session: str = "session-1") -> str:
    return client.whole_context("SessionStart", session, source=source)


class TestTrust:
    def test_a_note_with_a_quotation_has_the_users_trust_and_keeps_the_quotation(
        self, client: SimulatedClient
    ) -> None:
        notice = client.note("rule", RULE, SAID)

        record = only(client)
        assert (record.type, record.trust) == ("constraint", "user")
        assert record.evidence["quotation"] == SAID
        assert notice == f"memory-fabric remembered rule ({record.id[-8:]}) in your words"

    def test_the_confirmation_of_a_note_shows_the_users_words_or_a_short_extract(
        self, client: SimulatedClient
    ) -> None:
        quotation = "Never start the dev server"
        notice = client.note("rule", RULE, quotation, prompt=SAID, why="it takes the port")

        id_ = only(client).id[-8:]
        assert notice == f"memory-fabric remembered rule ({id_}) in your words: “{SAID}”"
        client.prompt("Look at the header.")
        lines = "Noted fact: The lamp is green.\nNoted fact: The staging host restarts every night."
        notice = client.stop(f"Done.\n\n{lines}")
        green, staging = (r.id[-8:] for word in ("green", "staging") for r in with_(client, word))
        assert notice == (
            f"memory-fabric remembered fact “The lamp is green” ({green}); "
            f"fact “The staging host restarts…” ({staging})"
        )

    def test_a_note_from_a_compaction_summary_is_shown_in_full(
        self, client: SimulatedClient
    ) -> None:
        client.prompt("Go on, please.")
        summary = "<summary>\nNoted fact: The staging host restarts every night.\n</summary>"
        client.fire("PostCompact", trigger="auto", compact_summary=summary)

        assert "fact “The staging host restarts every night” (" in client.stop("Done.")

    @pytest.mark.parametrize("quotation", ["", "yes, do it", "I never said any such words"])
    def test_a_note_with_a_missing_or_false_quotation_has_the_assistants_trust(
        self, client: SimulatedClient, quotation: str
    ) -> None:
        client.note("rule", RULE, quotation, prompt="Please start with the cart.")

        record = only(client)
        assert (record.trust, "quotation" in record.evidence) == ("assistant", False)
        assert not client.memory_md_file().exists()

    def test_only_prompts_of_the_same_session_can_be_quoted(self, client: SimulatedClient) -> None:
        client.prompt(SAID)
        client.stop("All right.")
        client.prompt("Look at the header.")
        client.note("rule", RULE, SAID, prompt="Now the cart, please.")
        assert only(client).trust == "user"

        other = client.project.parent / "other"
        (other / ".git").mkdir(parents=True)
        client.environ["CLAUDE_PROJECT_DIR"] = str(other)
        client.prompt(SAID, "session-2")
        client.note("rule", RULE, SAID, "session-3", prompt="Now the cart, please.")
        assert only(client).trust == "assistant"

    def test_quoting_text_found_only_in_the_transcript_gives_no_user_trust(
        self, client: SimulatedClient
    ) -> None:
        client.say("user", SAID)
        client.stop(f'Noted rule: {RULE}. From: "{SAID}"')

        assert only(client).trust == "assistant"

    @pytest.mark.parametrize(
        "environ",
        [{"CLAUDE_CODE_SESSION_ATTENDED": "0"}, {"CLAUDE_CODE_ENTRYPOINT": "sdk-py"}],
        ids=["unattended", "sdk"],
    )
    def test_a_quotation_in_an_unattended_session_gives_no_user_trust(
        self, client: SimulatedClient, environ: dict[str, str]
    ) -> None:
        client.environ |= environ
        client.note("rule", RULE, SAID)

        assert only(client).trust == "assistant"

    def test_an_assistants_proposal_that_the_user_accepts_gets_no_user_trust(
        self, client: SimulatedClient
    ) -> None:
        client.say("user", "Where should the cart be kept?")
        client.say("assistant", "Shall I keep the cart in Redis?")
        client.stop("Shall I keep the cart in Redis?")
        notice = client.note("decision", "The cart is kept in Redis", "yes, do it")

        record = only(client)
        agreed = "Shall I keep the cart in Redis? — “yes, do it”"
        assert (record.trust, record.evidence["agreed"]) == ("assistant", agreed)
        assert f"agreed: “{agreed}”" in notice
        assert not client.memory_md_file().exists()

    def test_a_note_of_a_subagent_is_stored_in_its_domain_with_the_assistants_trust(
        self, client: SimulatedClient
    ) -> None:
        client.prompt(SAID)
        said = f'Noted rule: {RULE}. From: "{SAID}"'
        client.fire(
            "SubagentStop", agent_id="a1", agent_type="code-reviewer", last_assistant_message=said
        )

        record = only(client)
        assert (record.trust, record.domain) == ("assistant", "code_reviewer")

    def test_a_note_that_quotes_private_text_is_stored_without_the_quotation(
        self, client: SimulatedClient
    ) -> None:
        said = "the launch of the Falcon is in May"
        prompt = f"Plan the pages. <private>{said}</private>"
        notice = client.note("fact", "The launch of the Falcon is in May", said, prompt=prompt)

        record = only(client)
        assert (record.trust, "quotation" in record.evidence) == ("assistant", False)
        assert notice == f"memory-fabric remembered fact ({record.id[-8:]})"

    def test_text_after_a_private_tag_in_backticks_is_not_treated_as_private(
        self, client: SimulatedClient
    ) -> None:
        prompt = f"Document `<private>` on the page of security. {SAID}"
        client.note("rule", RULE, SAID, prompt=prompt)

        assert only(client).trust == "user"

    def test_weak_passwords_in_a_prompt_are_never_stored(self, client: SimulatedClient) -> None:
        weak, spaced = "river" + "stone", "two words" + " 9!"
        prompt = f'Run curl -u bob:{weak} https://example.org with {{"password": "{spaced}"}}'
        client.note("fact", f"The call is curl -u bob:{weak} x", prompt=prompt)

        files = [path for path in client.fabric_home.rglob("*") if path.is_file()]
        assert files
        assert not [path for path in files if weak.encode() in path.read_bytes()]
        assert not [path for path in files if spaced.encode() in path.read_bytes()]

    def test_a_note_applies_to_all_projects_only_if_its_quotation_says_so(
        self, client: SimulatedClient
    ) -> None:
        said = "Always answer me in German, in all of my projects"
        notice = client.note("preference", "Answers are given in German", said, For="everywhere")
        client.note("preference", "Tables are indented by tabs", For="everywhere")

        assert "for every project" in notice
        noted = [r for r in client.records() if "noted" in r.evidence]
        assert {r.what[:7]: r.scope for r in noted} == {
            "Answers": "user",
            "Tables ": "team",
        }

    def test_user_and_assistant_are_told_if_a_note_is_limited_to_one_project(
        self, client: SimulatedClient
    ) -> None:
        said = "Answer me in German, please, with short sentences"
        notice = client.note("preference", "Answers are given in German", said, For="everywhere")

        assert "for this project only" in notice
        assert "no words of the user say everywhere" in client.feedback()


class TestKeeping:
    @pytest.mark.parametrize(
        ("said", "kept"),
        [
            ("Invoices are kept for ten years.", "Invoices are kept for ten years"),
            ("发票保存十年。", "发票保存十年"),
            ("請求書は十年保存する｡", "請求書は十年保存する"),
            ("चालान दस साल रखे जाते हैं।", "चालान दस साल रखे जाते हैं"),
            ("Invoices are never deleted!", "Invoices are never deleted!"),
            ("Invoices are kept, and so on...", "Invoices are kept, and so on..."),
            ("Invoices are kept in `/var/in.`", "Invoices are kept in `/var/in.`"),
        ],
    )
    def test_the_final_full_stop_of_a_note_is_removed(
        self, client: SimulatedClient, said: str, kept: str
    ) -> None:
        client.stop(f"Noted rule: {said} Why: the law")

        record = only(client)
        assert (record.what, record.why) == (kept, "the law")

    def test_messages_without_note_lines_create_no_records(self, client: SimulatedClient) -> None:
        prose = "We decided to use Redis because it is fast. The root cause was the pool size."
        client.say("user", "Go on.")
        client.say("assistant", prose)
        client.stop(prose)
        client.fire("SubagentStop", agent_id="a", agent_type="poet", last_assistant_message=prose)
        client.fire("PostCompact", compact_summary=prose)

        assert client.records("1") == []

    def test_a_note_in_a_code_block_is_treated_as_an_example(self, client: SimulatedClient) -> None:
        client.stop(f"So it looks:\n```\nNoted rule: {RULE}.\n```")

        assert client.records("1") == []

    def test_a_note_line_in_both_message_and_transcript_is_stored_once(
        self, client: SimulatedClient
    ) -> None:
        line = f'Noted rule: {RULE}. From: "{SAID}"'
        client.prompt(SAID)
        client.say("user", SAID)
        client.say("assistant", line)
        client.say("assistant", f"All done.\n\n{line}")
        notice = client.stop(f"All done.\n\n{line}")

        assert only(client).trust == "user"
        assert notice.count("remembered") == notice.count("rule (") == 1

    def test_only_the_first_twenty_notes_of_a_turn_are_stored_and_the_rest_is_reported(
        self, client: SimulatedClient
    ) -> None:
        said = "\n".join(f"Noted fact: Part {n} is made of steel." for n in range(23))
        client.prompt("Go on, please.")
        notice = client.stop(said)

        assert len(client.records("1")) == 20
        assert "3 lines not kept: Part 20 is made of steel; Part 21" in notice
        assert "not kept" not in client.stop(said)
        assert "Not kept: “Part 20 is made of steel" in client.feedback()

    def test_an_overlong_note_is_reported_with_the_length_limit(
        self, client: SimulatedClient
    ) -> None:
        client.prompt("Go on, please.")
        notice = client.stop(f"Noted fact: The oven {'is made of steel and ' * 30}glass.")

        assert client.records("1") == []
        assert "1 line not kept: over 600 characters: The oven" in notice
        assert "Not kept: “over 600 characters: The oven" in client.feedback()

    def test_a_note_written_before_a_tool_call_is_read(self, client: SimulatedClient) -> None:
        call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}
        client.say("user", "Go on.")
        client.say("assistant", f"Noted rule: {RULE}.", call)

        assert "remembered" in client.stop("Done.")

    def test_secrets_are_removed_from_notes(self, client: SimulatedClient) -> None:
        secret = "sk-" + "aB3dE5fG7hI9jK1lM2nO4pQ6"
        client.stop(f"Noted fact: {secret}\nNoted fact: The shop pays with {secret} at Stripe.")

        assert "[redacted: " in only(client).what
        assert secret not in only(client).what

    def test_no_note_is_kept_in_a_session_with_notes_off(self, client: SimulatedClient) -> None:
        done = client.fire("UserPromptSubmit", prompt="notes off")
        client.stop(f"Noted rule: {RULE}.")
        noted = {"agent_type": "poet", "last_assistant_message": f"Noted rule: {RULE}."}
        client.fire("SubagentStop", agent_id="a", **noted)

        assert "notes are off" in str(done)
        assert client.records("1") == []
        assert PROTOCOL not in start(client, session="session-2")
        client.fire("UserPromptSubmit", prompt="notes on")
        assert PROTOCOL in start(client, session="session-3")

    def test_memory_md_shows_only_rules_and_preferences_that_quote_the_user(
        self, client: SimulatedClient
    ) -> None:
        client.note("rule", RULE, SAID)
        client.note("preference", "Tables are always indented by tabs")
        client.note("decision", "The orders are kept in Postgres")
        client.note("fact", "The staging host restarts every night")
        client.note("rule", "Invoices carry a running number", quotation="")

        shown = client.memory_md_file().read_text("utf-8")
        assert SAID in shown and "indented by tabs" in shown
        assert not [word for word in ("Postgres", "staging", "running") if word in shown]


class TestReplacing:
    def test_the_assistant_can_close_its_own_record_by_id(self, client: SimulatedClient) -> None:
        client.note("fact", "The staging host restarts every night", quotation="")
        record = only(client)
        notice = client.stop(f"Dropped: {record.id[-8:]}")

        (closed,) = client.records("1")
        assert closed.valid_to != ""
        assert f"dropped {record.id[-8:]}" in notice

    def test_a_drop_that_the_transcript_repeats_is_told_once(self, client: SimulatedClient) -> None:
        client.note("fact", "The staging host restarts every night", quotation="")
        client.prompt("And now?")
        said = "Dropped: The staging host restarts every night.\nDropped: the moon is full."
        client.say("assistant", "Dropped: the sun is up.\nI look.")
        client.say("assistant", said)
        notice = client.stop(said)

        assert notice.startswith("memory-fabric dropped ") and notice.count("ropped") == 3
        assert "no memory for Dropped: the moon" in notice
        assert "no memory for Dropped: the sun" in notice

    def test_a_repeated_drop_does_not_close_a_similar_record(self, client: SimulatedClient) -> None:
        for host in ("staging", "cache"):
            client.note("fact", f"The {host} host restarts every night", quotation="")
        client.prompt("And now?")
        said = "Dropped: The cache host restarts every night."
        client.say("assistant", said)
        notice = client.stop(said)

        assert "dropped" in notice and "staging" not in notice
        assert client.is_open("staging") and not client.is_open("cache")

    def test_the_assistant_cannot_close_a_record_of_the_user(self, client: SimulatedClient) -> None:
        client.note("rule", RULE, SAID)
        client.stop(f"Dropped: {only(client).id[-8:]}")

        assert (only(client).valid_to, only(client).superseded_by) == ("", "")

    def test_the_notice_shows_which_record_a_note_replaces(self, client: SimulatedClient) -> None:
        client.note("rule", "Packages are always installed with npm")
        old = only(client)
        notice = client.note(
            "rule", "Packages are always installed with pnpm", instead_of=old.id[-8:]
        )

        assert f"replaces {old.id[-8:]}: {old.what}" in notice
        assert client.records(f"id = '{old.id}'")[0].superseded_by != ""

    def test_a_note_replaces_a_rule_that_differs_in_only_one_character(
        self, client: SimulatedClient
    ) -> None:
        client.note("rule", "Always start attribute names with 'j_'")
        old = only(client)
        client.note("rule", "Always start attribute names with 't_'", instead_of=old.what)

        assert client.records(f"id = '{old.id}'")[0].superseded_by != ""

    def test_a_note_replaces_the_statement_that_was_stored_from_the_quoted_prompt(
        self, client: SimulatedClient
    ) -> None:
        said = "From now on, always start attribute names with 'i_'."
        client.note("rule", "Attribute names begin with 'i_'", said)

        assert only(client).what == "Attribute names begin with 'i_'"


class TestStopping:
    def test_undo_with_the_id_of_a_note_removes_that_note(self, client: SimulatedClient) -> None:
        client.note("rule", RULE, SAID)
        reply = client.fire("UserPromptSubmit", prompt=f"undo {only(client).id[-8:]}")

        assert "undone" in str(reply)
        assert client.records() == []

    @pytest.mark.parametrize("quotation", ["", SAID])
    def test_a_forgotten_rule_returns_only_when_the_user_types_it_again(
        self, client: SimulatedClient, quotation: str
    ) -> None:
        client.note("rule", RULE, quotation, prompt=SAID)
        reply = client.fire("UserPromptSubmit", prompt=f"forget {only(client).id[-8:]}")
        line = f"Noted rule: {RULE}." + (f' From: "{quotation}"' if quotation else "")
        client.stop(line)

        assert "forgot" in str(reply)
        assert client.records("1") == []
        client.note("rule", RULE, SAID)
        assert only(client).trust == "user"  # said anew

    def test_forget_reports_an_unknown_id(self, client: SimulatedClient) -> None:
        assert "no memory has the id" in str(
            client.fire("UserPromptSubmit", prompt="forget 12345678")
        )


class TestAsking:
    def test_instructions_for_notes_are_shown_once_per_session_and_after_a_compaction(
        self, client: SimulatedClient
    ) -> None:
        given = [start(client), start(client, "resume"), start(client, "compact")]

        assert [text.count(PROTOCOL) for text in given] == [1, 0, 1]
        assert PROTOCOL not in client.whole_context("UserPromptSubmit", prompt="Go on, please.")

    def test_the_session_start_context_is_within_its_budget(self, client: SimulatedClient) -> None:
        for n in range(15):
            client.note("rule", f"Part {n} is made of steel, {'and polished, ' * 15}as ever")
            client.prompt(f"Never paint part {n} yourself, I do that on my own machine.")
            client.stop("All right.")

        assert len(start(client, session="session-2")) <= 3000 + 1200

    @pytest.mark.parametrize(
        ("environ", "is_asked"),
        [
            ({"CLAUDE_CODE_SESSION_ATTENDED": "0"}, False),
            ({"CLAUDE_CODE_ENTRYPOINT": "sdk-py"}, False),
            ({"CLAUDE_CODE_SESSION_ATTENDED": "0", "MEMORY_FABRIC_NOTES": "on"}, True),
            ({"MEMORY_FABRIC_NOTES": "off"}, False),
            ({"MEMORY_FABRIC": "off"}, False),
        ],
    )
    def test_notes_are_requested_only_in_attended_sessions_or_if_configured(
        self, client: SimulatedClient, environ: dict[str, str], is_asked: bool
    ) -> None:
        client.environ |= environ
        asked = client.fire("PreCompact", trigger="auto")

        assert (PROTOCOL in start(client)) is is_asked
        assert asked == ({"plain": SUMMARY_REQUEST} if is_asked else {})

    @pytest.mark.parametrize(
        ("task", "is_asked"),
        [("Look at the cart", True), ("Return only JSON with the names", False)],
    )
    def test_a_subagent_is_asked_for_notes_unless_its_task_demands_an_output_format(
        self, client: SimulatedClient, task: str, is_asked: bool
    ) -> None:
        fields = {"prompt": task, "subagent_type": "general-purpose"}
        client.fire("PreToolUse", tool_name="Agent", tool_use_id="t1", tool_input=fields)
        given = client.whole_context("SubagentStart", agent_id="a", agent_type="general-purpose")

        assert (PROTOCOL in given) is is_asked


def test_notes_from_a_compaction_summary_are_reported_after_the_next_turn(
    client: SimulatedClient,
) -> None:
    client.prompt(SAID)
    client.fire("PreCompact", trigger="manual", custom_instructions="")
    line = f'Noted rule: {RULE}. From: "{SAID}"'
    silent = client.fire("PostCompact", compact_summary=f"<summary>\n{line}\n</summary>")

    assert silent == {}
    assert only(client).trust == "user"
    assert "Never start the dev server" in client.stop("Done.")


class Limited(Deadline):
    """A deadline that is over once it was asked so many times."""

    def __init__(self, asked: int) -> None:
        super().__init__(3600)
        self.left = asked

    def is_over(self) -> bool:
        self.left -= 1
        return self.left < 0


@pytest.mark.parametrize("asked", range(0, 90, 6))
def test_notes_left_unread_at_the_time_limit_are_stored_after_the_next_turn(
    client: SimulatedClient, asked: int
) -> None:
    parts = ("parser", "mailer", "importer")
    said = "\n".join(f"Noted decision: The {part} is written in Rust." for part in parts)
    client.prompt("Go on, please.")
    client.say("assistant", said)
    event = {
        "hook_event_name": "Stop",
        "session_id": "session-1",
        "transcript_path": str(client.transcript),
        "cwd": str(client.project),
        "last_assistant_message": said,
    }
    first = dispatcher.run(json.dumps(event).encode(), client.environ, lambda _: Limited(asked))
    second = client.stop("Done.")

    assert sorted(r.what.split()[1] for r in client.records("1")) == sorted(parts)
    told = first.decode() + second
    assert [told.count(f"The {part} is written") for part in parts] == [1, 1, 1]


def test_notes_are_stored_while_a_queue_file_of_the_project_cannot_be_read(
    client: SimulatedClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.note("fact", "The attic is dry")
    name = f"{journal.WAITING}{'0' * 16}-{'0' * 12}.jsonl"
    path = client.project / ".claude" / "memory" / name
    path.write_text("{}\n")
    opened = files.opened

    def refused(place: str, *more: Any, **named: Any) -> Any:
        if str(place) == str(path):
            raise PermissionError(13, "Permission denied", place)
        return opened(place, *more, **named)

    monkeypatch.setattr(files, "opened", refused)
    client.note("fact", "The cellar is dry")

    assert "The cellar is dry" in [record.what for record in client.records()]
    assert path.exists()
