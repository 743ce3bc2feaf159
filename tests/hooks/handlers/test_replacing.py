"""Notes close only what the user's own words are about, and nothing without a notice."""

from __future__ import annotations

import json
import os
import time

import pytest

from hook_transcripts import age
from memory_fabric.ids import timestamp
from memory_fabric.models import Provenance, Record
from memory_fabric.servers.mcp.memory_tools import remember
from simulated_client import SimulatedClient
from waiting import until

RULE = "Never push to the main branch"
MOVED = "The analytics tables are in Postgres now, we left MongoDB behind"


def stop(client: SimulatedClient, said: str, session: str = "session-1") -> str:
    """The notice at the end of a turn in which the assistant said this."""
    reply = client.fire("Stop", session, last_assistant_message=said)
    return str(reply.get("systemMessage", ""))


def typed(client: SimulatedClient, prompt: str, session: str = "session-1") -> str:
    """The notice for a prompt that is a command; '' if it went to the assistant."""
    reply = client.fire("UserPromptSubmit", session, prompt=prompt)
    return str(reply.get("reason", "")) if reply.get("decision") == "block" else ""


def start(client: SimulatedClient, session: str) -> tuple[str, str]:
    """The notice and the block of a session's start."""
    reply = client.fire("SessionStart", session, source="startup")
    block = reply.get("hookSpecificOutput", {}).get("additionalContext", "")
    return str(reply.get("systemMessage", "")), str(block)


def the(client: SimulatedClient, words: str) -> Record:
    """The record of these words, also one that was closed."""
    (record,) = [record for record in client.records("1") if words in record.what]
    return record


def id_of(client: SimulatedClient, words: str) -> str:
    """The id of a record as people type it."""
    return the(client, words).id[-8:]


def is_open(client: SimulatedClient, words: str) -> bool:
    record = the(client, words)
    return not (record.valid_to or record.superseded_by)


def contradict(client: SimulatedClient) -> tuple[str, str]:
    """Have the assistant contradict a rule of the user; the ids of both."""
    client.note("rule", RULE)
    client.note("rule", "Push to main after each task", quotation="", instead_of=RULE)
    return id_of(client, "Never push"), id_of(client, "after each task")


class TestBorrowedWords:
    @pytest.mark.parametrize(
        ("rule", "prompt", "sentence"),
        [
            (
                "Never delete the backups of the customers",
                "please summarise the page and list the open points",
                "Summaries list the open points of a page",
            ),
            (
                RULE,
                "push the button component to the design system",
                "The button component is in the design system",
            ),
            (
                "Die Testdaten werden nie gelöscht",
                "Bitte die Farbe der Knöpfe auf der Startseite ändern",
                "Die Knöpfe der Startseite sind blau",
            ),
            (
                "Les clés restent en dehors du dépôt",
                "regarde le fichier et corrige les fautes dans le titre",
                "Le titre est corrigé",
            ),
            (
                "Los informes nunca se envían en viernes",
                "mira en la tabla y ordena los clientes por nombre",
                "Los clientes se ordenan por nombre",
            ),
            ("发票必须保存十年", "请总结这一页并列出未解决的问题", "总结会列出未解决的问题"),
        ],
    )
    @pytest.mark.parametrize("by_drop", [False, True], ids=["instead of", "dropped"])
    def test_words_on_another_subject_close_nothing(
        self, client: SimulatedClient, rule: str, prompt: str, sentence: str, *, by_drop: bool
    ) -> None:
        client.note("rule", rule, session="earlier")
        id_ = id_of(client, rule)
        client.prompt(prompt)
        line = f'Noted rule: {sentence}. From: "{prompt}"'
        line += f"\nDropped: {id_}" if by_drop else f" Instead of: {id_}"
        notice = stop(client, line)

        assert is_open(client, rule)
        assert id_ in notice and ("did not drop" if by_drop else "contradicts") in notice

    def test_the_users_words_on_the_same_subject_close_the_old_decision(
        self, client: SimulatedClient
    ) -> None:
        client.note("decision", "The analytics tables are in MongoDB", session="earlier")
        old = id_of(client, "in MongoDB")
        notice = client.note("decision", "Tables are in Postgres", MOVED, instead_of=old)

        assert not is_open(client, "are in MongoDB")
        assert f"replaces {old}: The analytics tables are in MongoDB" in notice

    def test_a_fact_with_a_command_binds_nothing_and_can_be_replaced(
        self, client: SimulatedClient
    ) -> None:
        client.prompt("The analytics tables are in MongoDB, for mongodump")
        stop(
            client,
            "Noted fact: The analytics tables are in MongoDB. When: mongodump. "
            'From: "The analytics tables are in MongoDB, for mongodump"',
        )
        old = id_of(client, "in MongoDB")
        notice = client.note("fact", "Tables are in Postgres", MOVED, instead_of=old)

        assert not is_open(client, "are in MongoDB")
        assert f"replaces {old}" in notice

    def test_a_dropped_decision_is_closed_beside_a_note_on_the_same_subject(
        self, client: SimulatedClient
    ) -> None:
        client.note("decision", "The analytics tables are in MongoDB", session="earlier")
        client.prompt(MOVED)
        old = id_of(client, "in MongoDB")
        notice = stop(client, f'Noted decision: Postgres is used. From: "{MOVED}"\nDropped: {old}')

        assert not is_open(client, "are in MongoDB")
        assert f"dropped {old}" in notice

    def test_the_assistants_sentence_does_not_bring_the_users_words_to_a_subject(
        self, client: SimulatedClient
    ) -> None:
        client.note("rule", "Backups are kept for ten years on tape", session="earlier")
        old = id_of(client, "on tape")
        said = "please paint the header of the shop in dark green"
        sentence = "Backups are kept for ten years on tape no longer, the header is dark green"
        client.note("rule", sentence, said, instead_of=old)

        (kept,) = [r for r in client.records("1") if r.id.endswith(old)]
        assert (kept.valid_to, kept.superseded_by) == ("", "")

    def test_a_memory_that_is_said_again_lends_its_words_to_no_drop(
        self, client: SimulatedClient
    ) -> None:
        client.note("rule", "The release branch is tagged by Ann", session="earlier")
        client.note("rule", "The release branch is tagged after lunch", session="earlier")
        client.prompt("Go on, please.")
        old = id_of(client, "after lunch")
        stop(client, f"Noted rule: The release branch is tagged by Ann.\nDropped: {old}")

        assert is_open(client, "after lunch")

    def test_the_projects_own_name_is_no_subject(self, client: SimulatedClient) -> None:
        client.note("rule", "The shop never shows prices without taxes", session="earlier")
        old = id_of(client, "prices")
        client.note("rule", "The shop has a logo", "the shop has a new logo", instead_of=old)

        assert is_open(client, "prices")

    def test_two_words_that_name_no_record_for_certain_close_none(
        self, client: SimulatedClient
    ) -> None:
        client.note("fact", "Videos of several products are kept on the media host", quotation="")
        client.note(
            "fact", "Pictures are shown", quotation="", instead_of="several videos as media"
        )
        stop(client, "Dropped: media host")

        assert is_open(client, "Videos of several")


class TestProtected:
    def test_a_pinned_one_is_not_replaced_by_words_on_its_subject(
        self, client: SimulatedClient
    ) -> None:
        client.note("decision", "The analytics tables are in MongoDB", session="earlier")
        old = id_of(client, "in MongoDB")
        assert client.command("pin", old).returncode == 0
        client.note("decision", "Tables are in Postgres", MOVED, instead_of=old)
        stop(client, f"Dropped: {old}")

        assert is_open(client, "are in MongoDB")
        assert f"{old} (pinned)" in client.feedback()

    def test_nor_is_one_that_binds_calls(self, client: SimulatedClient) -> None:
        said = "Never run terraform apply on the production account"
        client.note("rule", said, session="earlier", when="terraform apply")
        old = id_of(client, "terraform")
        lifted = "You may run terraform apply on the production account now"
        client.note("rule", "Terraform may be applied", lifted, instead_of=old)

        assert is_open(client, "Never run")
        assert typed(client, f"replace {id_of(client, 'may be applied')}")
        assert not is_open(client, "Never run")

    def test_the_tool_of_the_assistant_obeys_the_same_rule(self, client: SimulatedClient) -> None:
        client.note("rule", RULE, session="earlier")
        old, words = id_of(client, "Never push"), "push the button component to the shelf"
        client.prompt(words)
        memory = client.memory()
        by = Provenance("mcp", session="session-1")
        call = {"text": "Buttons are on the shelf", "from": words, "instead_of": old}
        remember(memory, call, by)
        memory.close()

        assert is_open(client, "Never push")


class TestOneWord:
    def test_replace_closes_what_the_named_one_contradicts(self, client: SimulatedClient) -> None:
        old, new = contradict(client)
        assert is_open(client, "Never push")

        said = typed(client, f"replace {new}")

        assert f"{new}: Push to main after each task replaces {old}" in said
        assert not is_open(client, "Never push")
        assert the(client, "after each task").evidence["agreed"] == f"replace {new}"
        assert the(client, "after each task").trust == "assistant"

    def test_keep_leaves_a_contradicted_rule_and_ends_the_question(
        self, client: SimulatedClient
    ) -> None:
        old, _ = contradict(client)
        asked, block = start(client, "session-2")
        assert f"`keep {old}`" in asked
        assert "Dropped: the id" not in block

        said = typed(client, f"keep {old}", "session-2")

        assert said == f"memory-fabric: kept {old}: {RULE}"
        assert "contradicts" not in the(client, "after each task").evidence
        assert "contradicts" not in start(client, "session-3")[0]

    def test_the_same_in_a_shell(self, client: SimulatedClient) -> None:
        old, new = contradict(client)
        assert client.command("review", "--keep", new).returncode == 0
        assert json.loads(client.command("review", "--json").stdout)["due"] == []
        assert client.command("undo", "--last").returncode == 0
        done = client.command("review", "--replace", new)

        assert done.returncode == 0, done.stderr
        assert not is_open(client, "Never push")
        done = client.command("review", "--keep", old)
        assert "Taken back" in done.stdout
        assert is_open(client, "Never push")

    def test_a_candidate_is_kept_as_the_users(self, client: SimulatedClient) -> None:
        said = "Don't ever touch the generated files of the parser."
        client.prompt(said)
        stop(client, "All right.")
        (heard,) = client.records("status = 'candidate'")

        assert "remembered" in typed(client, f"keep {heard.id[-8:]}", "session-2")
        kept = the(client, "generated files")
        assert (kept.status, kept.trust) == ("active", "user")
        assert kept.evidence["quotation"] == said

    def test_the_assistant_is_not_asked_to_drop_a_rule_of_the_users(
        self, client: SimulatedClient
    ) -> None:
        contradict(client)

        starts = [start(client, f"later-{n}") for n in range(4)]

        assert ["contradicts" in notice for notice, _ in starts] == [True, True, False, False]
        assert not any("Dropped: the id" in block for _, block in starts)


class TestToldOnce:
    def test_what_was_replaced_is_told_at_the_next_start_and_taken_back(
        self, client: SimulatedClient
    ) -> None:
        client.note("decision", "The analytics tables are in MongoDB", session="earlier")
        old = id_of(client, "in MongoDB")
        client.note("decision", "Tables are in Postgres", MOVED, instead_of=old)
        client.fire("SessionStart", source="compact")

        told = [start(client, f"later-{n}") for n in range(2)]

        new = id_of(client, "Tables are in Postgres")
        day = "yesterday" if "Replaced yesterday" in told[0][0] else "today"  # at midnight
        line = f"Replaced {day}: [{old}] “The analytics tables are in MongoDB” → [{new}]"
        assert [(line in notice, line in block) for notice, block in told] == [
            (True, True),
            (False, False),
        ]
        assert "taken back" in typed(client, f"keep {old}", "later-0")
        assert is_open(client, "are in MongoDB") and is_open(client, "Tables are in Postgres")

    def test_what_was_taken_back_meanwhile_is_not_told(self, client: SimulatedClient) -> None:
        client.note("decision", "The analytics tables are in MongoDB", session="earlier")
        old = id_of(client, "in MongoDB")
        client.note("decision", "Tables are in Postgres", MOVED, instead_of=old)
        typed(client, f"keep {old}")

        assert "Replaced" not in "".join(start(client, "later"))


class TestFeedback:
    def test_feedback_on_notes_comes_once_with_the_next_prompt(
        self, client: SimulatedClient
    ) -> None:
        client.note("fact", "The staging host restarts every night", quotation="")
        gone = id_of(client, "staging host")
        client.prompt(RULE)
        client.prompt("Go on, please.")
        lines = [
            f'Noted rule: Main takes no pushes. From: "{RULE}"',
            'Noted fix: Restart the proxy. From: "I never typed these words at all"',
            f"Dropped: {gone}",
            "Dropped: 0123abcd",
        ]
        stop(client, "\n".join(lines))

        told = [client.feedback() for _ in range(2)]

        rule, fix = id_of(client, "Main takes"), id_of(client, "Restart the proxy")
        assert told == [
            f"Kept: {rule} rule (user's words), {fix} fix. "
            "Not the user's words: “I never typed these words at all”. "
            f"Dropped: {gone}. Not kept: “Dropped: 0123abcd”.",
            "",
        ]

    def test_feedback_names_an_earlier_note_on_the_same_subject_that_may_be_dropped(
        self, client: SimulatedClient
    ) -> None:
        said = "The signup mails of the billing service are sent by the cron container"
        client.note("fact", said, quotation="", session="earlier")
        client.note("fact", "The billing service has four workers", quotation="", session="earlier")
        old = id_of(client, "cron container")

        client.note("fact", "Signup mails of the billing service wait for the queue", quotation="")

        assert client.feedback() == (
            f"Kept: {id_of(client, 'wait for')} fact. On this before (if it no longer holds, note "
            f"Dropped: ID): {old} “{said}”."
        )
        stop(client, f"Dropped: {old}")
        assert not is_open(client, "cron container")

    def test_feedback_names_no_note_of_the_session_or_that_its_writer_may_not_close(
        self, client: SimulatedClient
    ) -> None:
        rule = "Send the signup mails of the billing service in the morning only"
        client.note("rule", rule, session="earlier")
        client.note("fact", "Signup mails of the billing service have a footer", quotation="")

        client.note("fact", "Signup mails of the billing service wait for the queue", quotation="")

        assert "On this before" not in client.feedback()

    def test_a_turn_that_is_read_again_is_told_once(self, client: SimulatedClient) -> None:
        line = f"Noted fact: The staging host restarts every night.\nDropped: {'9' * 8}"
        client.prompt("Go on, please.")
        stop(client, line)
        assert "Kept: " in client.feedback()
        client.say("user", "Go on, please.")
        client.say("assistant", line)  # the transcript lagged behind

        assert "not kept" not in stop(client, line)
        assert client.feedback() == ""

    def test_feedback_waits_through_a_command_and_comes_after_a_compaction(
        self, client: SimulatedClient
    ) -> None:
        client.prompt(RULE)
        client.fire("PreCompact", trigger="auto")
        summary = f'Noted rule: Main takes no pushes. From: "{RULE}"'
        client.fire("PostCompact", compact_summary=f"<summary>\n{summary}\n</summary>")
        client.fire("SessionStart", source="compact")
        typed(client, "notes on")

        assert f"Kept: {id_of(client, 'Main takes')}" in client.feedback()

    def test_its_characters_are_counted(self, client: SimulatedClient) -> None:
        client.note("fact", "The staging host restarts every night", quotation="")
        line = client.feedback()
        memory = client.memory()
        told = memory.session_database().rows("SELECT chars FROM told WHERE kind = 'cue'")
        memory.close()

        assert told == [(len(line),)]

    def test_feedback_on_forty_notes_has_at_most_300_characters(
        self, client: SimulatedClient
    ) -> None:
        client.prompt("Go on, please.")
        stop(client, "\n".join(f"Noted fact: Part {n} is of steel." for n in range(40)))

        assert 200 < len(client.feedback()) <= 300


def test_a_quotation_of_a_paragraph_deletes_only_what_the_note_says(
    client: SimulatedClient,
) -> None:
    first = "From now on, always indent the tables by tabs."
    second = "From now on, always ship the invoices as PDF."
    client.note("rule", "Tables are indented by tabs", f"{first} {second}")

    held = " ".join(record.what for record in client.records())
    assert "invoices as PDF" in held
    assert held.count("tabs") == 1


class TestTypedCommands:
    def test_undo_takes_back_the_last_change_of_the_session(self, client: SimulatedClient) -> None:
        client.note("fact", "The staging host restarts every night", quotation="")

        assert "staging host restarts" in typed(client, "undo")
        assert client.records("1") == []

    def test_undo_with_nothing_to_undo_is_for_the_assistant(self, client: SimulatedClient) -> None:
        client.note("fact", "The staging host restarts every night", quotation="")

        assert typed(client, "undo", "session-2") == ""
        assert "staging host" in typed(client, "undo last", "session-2")

    def test_four_characters_of_an_id_are_enough(self, client: SimulatedClient) -> None:
        client.note("fact", "The staging host restarts every night", quotation="")
        record = the(client, "staging")

        assert "forgot" in typed(client, f"forget [{record.id[-4:]}]")
        assert client.records("1") == []

    def test_an_ambiguous_id_is_answered_with_the_records_that_it_fits(
        self, client: SimulatedClient
    ) -> None:
        memory = client.memory()
        for n in (1, 2):
            id_ = f"01a20a98-0000-7000-8000-00000{n}00abcd"
            memory.remember(
                Record("note", f"Part {n} is of steel", confidence=0.9, id=id_),
                Provenance("cli", trust="user"),
            )
        memory.close()
        said = typed(client, "forget abcd")

        assert "fits several" in said and "Part 1" in said and "Part 2" in said
        assert len(client.records("1")) == 2

    @pytest.mark.parametrize(
        "prompt",
        ["keep face", "undo the last edit", "keep it", "keep", "replace", "forget dead code"],
    )
    def test_words_are_for_the_assistant(self, client: SimulatedClient, prompt: str) -> None:
        assert typed(client, prompt) == ""

    @pytest.mark.parametrize("session", ["session-1", "session-2"])
    @pytest.mark.parametrize("word", ["replace", "Keep"])
    def test_without_an_id_the_only_open_question_is_settled(
        self, client: SimulatedClient, word: str, session: str
    ) -> None:
        """It was asked at the end of this session's turn, or at the start of the next session."""
        old, new = contradict(client)
        start(client, session)

        said = typed(client, word, session)

        assert (f"{new}: Push to main" if word == "replace" else f"kept {old}: {RULE}") in said
        assert is_open(client, "Never push") == (word == "Keep")
        assert "contradicts" not in the(client, "after each task").evidence or word == "replace"

    def test_keep_alone_keeps_the_only_sentence_that_waits(self, client: SimulatedClient) -> None:
        client.prompt("No, always write the changelog in the present tense.")
        stop(client, "Done.")
        (heard,) = client.records("status = 'candidate'")

        assert typed(client, "replace") == ""
        assert heard.id[-8:] in typed(client, "keep")
        assert the(client, "changelog").status == "active"

    def test_without_an_id_nothing_is_settled_if_two_questions_are_open(
        self, client: SimulatedClient
    ) -> None:
        contradict(client)
        client.prompt("No, always write the changelog in the present tense.")
        stop(client, "Done.")

        assert typed(client, "keep") == typed(client, "replace") == ""
        assert is_open(client, "Never push")

    def test_without_an_id_the_answer_to_a_question_of_the_assistant_goes_to_it(
        self, client: SimulatedClient
    ) -> None:
        contradict(client)
        client.prompt("Now the old config file, please.")
        stop(client, "There are two of them. Keep the old one, or replace it?")

        assert typed(client, "keep") == typed(client, "replace") == ""

    def test_another_sessions_open_question_is_not_meant(self, client: SimulatedClient) -> None:
        contradict(client)

        assert typed(client, "keep", "session-2") == ""

    def test_forget_takes_the_words_of_a_memory(self, client: SimulatedClient) -> None:
        client.note("fact", "The staging host restarts every night", quotation="")
        client.note("fact", "The mail server restarts every week", quotation="")

        assert "forgot" in typed(client, "Forget: staging host restarts every night.")
        assert [record.what for record in client.records("1")] == [
            "The mail server restarts every week"
        ]

    @pytest.mark.parametrize(
        "prompt",
        [
            "forget the staging host",  # half of it: an errand, perhaps
            "forget the staging host, the mail server restarts",
            "forget it, the staging host restarts every night anyway",
            "forget never: the staging host restarts every night",
            "forget the staging host restarts every night?",
            "forget that for now",
        ],
    )
    def test_forget_with_words_that_may_mean_something_else_is_for_the_assistant(
        self, client: SimulatedClient, prompt: str
    ) -> None:
        client.note("fact", "The staging host restarts every night", quotation="")

        assert typed(client, prompt) == ""
        assert len(client.records("1")) == 1

    def test_forget_takes_the_words_of_the_user_that_a_memory_is_shown_with(
        self, client: SimulatedClient
    ) -> None:
        said = "No, exports use commas after all."
        client.prompt(said)
        text = "Exported files separate the fields by a comma, not a semicolon"
        stop(client, f'Done.\n\nNoted decision: {text}. From: "{said}"')

        assert "forgot" in typed(client, "forget exports use commas")
        assert client.records("1") == []

    @pytest.mark.parametrize("words", ["the cache decision", "that", "all that", "web Memcached"])
    def test_words_to_memory_without_a_certain_match_are_told_what_they_may_mean(
        self, client: SimulatedClient, words: str
    ) -> None:
        text = "The web app caches rendered pages in Redis, not Memcached"
        client.note("decision", text, quotation="")
        id_ = the(client, "web app").id[-8:]

        told = client.context("UserPromptSubmit", "session-1", prompt=f"forget {words}")

        assert f"To forget one of memory the user types `forget ID`: {id_}: {text}" in told
        assert "note it" not in told
        stop(client, "Which one?")
        assert [record.what for record in client.records("1")] == [text]

    @pytest.mark.parametrize(
        "prompt", ["forget that, always squash commits", "keep the tests fast", "undo the edit"]
    )
    def test_what_is_said_about_the_work_is_told_no_command(
        self, client: SimulatedClient, prompt: str
    ) -> None:
        client.note("fact", "The tests are fast after the edit of the commits", quotation="")

        assert "the user types" not in client.context("UserPromptSubmit", "s", prompt=prompt)

    def test_undo_of_a_contradicted_record_keeps_the_record_that_contradicts(
        self, client: SimulatedClient
    ) -> None:
        old, new = contradict(client)
        typed(client, f"undo {old}")

        assert [record.id[-8:] for record in client.records("1")] == [new]


class TestNotesOff:
    def test_what_was_written_meanwhile_is_never_kept(self, client: SimulatedClient) -> None:
        client.prompt("Go on, please.")
        typed(client, "notes off")
        client.say("user", "Go on, please.", timestamp=timestamp())
        at = timestamp()
        client.say("assistant", "Noted fact: The meeting is secret.", timestamp=at)
        until(lambda: timestamp() > at)
        typed(client, "notes on")
        client.say("assistant", "Noted fact: The host restarts at night.", timestamp=timestamp())
        stop(client, "Done.")

        assert [record.what for record in client.records("1")] == ["The host restarts at night"]

    @pytest.mark.parametrize("later", ["catching up", "learning"])
    def test_nor_by_a_later_session_or_learn(self, client: SimulatedClient, later: str) -> None:
        folder = client.memory_md_file().parents[1]
        folder.mkdir(parents=True)
        client.transcript = folder / "session-1.jsonl"
        if later == "catching up":
            client.prompt("Go on, please.")
        typed(client, "notes off", "session-0")
        client.say("user", "Go on, please.", timestamp=timestamp())
        at = timestamp()
        client.say("assistant", "Noted fact: The meeting is secret.", timestamp=at)
        until(lambda: timestamp() > at)
        typed(client, "notes on", "session-0")
        client.say("assistant", "Noted fact: The host restarts.", timestamp=timestamp())
        if later == "catching up":
            age(client, client.transcript)
            client.fire("SessionStart", "session-2", source="startup", transcript_path="")
        else:
            os.utime(client.transcript, (0, time.time() - 3600))
            done = client.command("learn", "--run")
            assert done.returncode == 0, done.stderr

        told = [record.what for record in client.records("type <> 'session'")]
        assert told == ["The host restarts"]


def test_the_words_of_a_replaced_rule_do_not_contradict_what_else_is_said_of_its_subject(
    client: SimulatedClient,
) -> None:
    rule = "Always show me the article worker before you go on"
    client.note("rule", rule, session="s-1")
    lifting = "You may go on without showing me the article worker"
    client.note("rule", lifting, session="s-2", instead_of=rule)

    client.note("fact", "The article worker listens on port 4010", "", session="s-3")

    in_force = client.records("status = 'active' AND valid_to = ''")
    assert sorted(record.what for record in in_force) == [
        "The article worker listens on port 4010",
        lifting,
    ]
    assert [record.evidence.get("contradicts") for record in in_force] == [None, None]
