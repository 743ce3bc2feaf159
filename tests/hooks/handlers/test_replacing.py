"""Notes close only what the user's own words are about, and nothing without a notice."""

from __future__ import annotations

import os
import time

import pytest

from hook_transcripts import age
from memory_fabric.ids import timestamp
from memory_fabric.models import Provenance
from memory_fabric.servers.mcp.memory_tools import remember
from simulated_client import SimulatedClient
from waiting import until

RULE = "Never push to the main branch"
MOVED = "The analytics tables are in Postgres now, we left MongoDB behind"


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
    def test_a_note_on_another_subject_supersedes_no_record(
        self, client: SimulatedClient, rule: str, prompt: str, sentence: str, *, by_drop: bool
    ) -> None:
        client.note("rule", rule, session="earlier")
        id_ = client.id_of(rule)
        client.prompt(prompt)
        line = f'Noted rule: {sentence}. From: "{prompt}"'
        line += f"\nDropped: {id_}" if by_drop else f" Instead of: {id_}"
        notice = client.stop(line)

        assert client.is_open(rule)
        assert id_ in notice and ("did not drop" if by_drop else "contradicts") in notice

    def test_a_note_that_quotes_the_user_supersedes_a_decision_on_the_same_subject(
        self, client: SimulatedClient
    ) -> None:
        client.note("decision", "The analytics tables are in MongoDB", session="earlier")
        old = client.id_of("in MongoDB")
        notice = client.note("decision", "Tables are in Postgres", MOVED, instead_of=old)

        assert not client.is_open("are in MongoDB")
        assert f"replaces {old}: The analytics tables are in MongoDB" in notice

    def test_a_quoted_note_can_replace_a_fact_that_mentions_a_command(
        self, client: SimulatedClient
    ) -> None:
        client.prompt("The analytics tables are in MongoDB, for mongodump")
        client.stop(
            "Noted fact: The analytics tables are in MongoDB. When: mongodump. "
            'From: "The analytics tables are in MongoDB, for mongodump"',
        )
        old = client.id_of("in MongoDB")
        notice = client.note("fact", "Tables are in Postgres", MOVED, instead_of=old)

        assert not client.is_open("are in MongoDB")
        assert f"replaces {old}" in notice

    def test_the_assistant_can_drop_a_decision_if_a_quotation_is_on_the_same_subject(
        self, client: SimulatedClient
    ) -> None:
        client.note("decision", "The analytics tables are in MongoDB", session="earlier")
        client.prompt(MOVED)
        old = client.id_of("in MongoDB")
        notice = client.stop(f'Noted decision: Postgres is used. From: "{MOVED}"\nDropped: {old}')

        assert not client.is_open("are in MongoDB")
        assert f"dropped {old}" in notice

    def test_a_rule_is_not_replaced_by_a_note_whose_quotation_is_on_another_subject(
        self, client: SimulatedClient
    ) -> None:
        client.note("rule", "Backups are kept for ten years on tape", session="earlier")
        old = client.id_of("on tape")
        said = "please paint the header of the shop in dark green"
        sentence = "Backups are kept for ten years on tape no longer, the header is dark green"
        client.note("rule", sentence, said, instead_of=old)

        (kept,) = [r for r in client.records("1") if r.id.endswith(old)]
        assert (kept.valid_to, kept.superseded_by) == ("", "")

    def test_a_repeated_note_does_not_let_the_assistant_drop_another_rule(
        self, client: SimulatedClient
    ) -> None:
        client.note("rule", "The release branch is tagged by Ann", session="earlier")
        client.note("rule", "The release branch is tagged after lunch", session="earlier")
        client.prompt("Go on, please.")
        old = client.id_of("after lunch")
        client.stop(f"Noted rule: The release branch is tagged by Ann.\nDropped: {old}")

        assert client.is_open("after lunch")

    def test_a_note_that_shares_only_the_project_name_with_a_rule_does_not_replace_it(
        self, client: SimulatedClient
    ) -> None:
        client.note("rule", "The shop never shows prices without taxes", session="earlier")
        old = client.id_of("prices")
        client.note("rule", "The shop has a logo", "the shop has a new logo", instead_of=old)

        assert client.is_open("prices")

    def test_a_record_is_neither_replaced_nor_dropped_by_partly_matching_words(
        self, client: SimulatedClient
    ) -> None:
        client.note("fact", "Videos of several products are kept on the media host", quotation="")
        client.note(
            "fact", "Pictures are shown", quotation="", instead_of="several videos as media"
        )
        client.stop("Dropped: media host")

        assert client.is_open("Videos of several")


class TestProtected:
    def test_a_pinned_record_is_not_replaced_by_a_note_on_its_subject(
        self, client: SimulatedClient
    ) -> None:
        client.note("decision", "The analytics tables are in MongoDB", session="earlier")
        old = client.id_of("in MongoDB")
        assert client.command("pin", old).returncode == 0
        client.note("decision", "Tables are in Postgres", MOVED, instead_of=old)
        client.stop(f"Dropped: {old}")

        assert client.is_open("are in MongoDB")
        assert f"{old} (pinned)" in client.feedback()

    def test_a_rule_that_restricts_tool_calls_is_replaced_only_if_the_user_says_replace(
        self, client: SimulatedClient
    ) -> None:
        said = "Never run terraform apply on the production account"
        client.note("rule", said, session="earlier", when="terraform apply")
        old = client.id_of("terraform")
        lifted = "You may run terraform apply on the production account now"
        client.note("rule", "Terraform may be applied", lifted, instead_of=old)

        assert client.is_open("Never run")
        assert client.types(f"replace {client.id_of('may be applied')}")
        assert not client.is_open("Never run")

    def test_the_remember_tool_does_not_replace_a_rule_on_another_subject(
        self, client: SimulatedClient
    ) -> None:
        client.note("rule", RULE, session="earlier")
        old, words = client.id_of("Never push"), "push the button component to the shelf"
        client.prompt(words)
        memory = client.memory()
        by = Provenance("mcp", session="session-1")
        call = {"text": "Buttons are on the shelf", "from": words, "instead_of": old}
        remember(memory, call, by)
        memory.close()

        assert client.is_open("Never push")


class TestToldOnce:
    def test_a_replacement_is_reported_at_the_next_start_and_can_be_undone(
        self, client: SimulatedClient
    ) -> None:
        client.note("decision", "The analytics tables are in MongoDB", session="earlier")
        old = client.id_of("in MongoDB")
        client.note("decision", "Tables are in Postgres", MOVED, instead_of=old)
        client.fire("SessionStart", source="compact")

        told = [client.starts(f"later-{n}") for n in range(2)]

        new = client.id_of("Tables are in Postgres")
        day = "yesterday" if "Replaced yesterday" in told[0][0] else "today"  # at midnight
        line = f"Replaced {day}: [{old}] “The analytics tables are in MongoDB” → [{new}]"
        assert [(line in notice, line in block) for notice, block in told] == [
            (True, True),
            (False, False),
        ]
        assert "taken back" in client.types(f"keep {old}", "later-0")
        assert client.is_open("are in MongoDB") and client.is_open("Tables are in Postgres")

    def test_a_replacement_undone_before_the_next_start_is_not_reported(
        self, client: SimulatedClient
    ) -> None:
        client.note("decision", "The analytics tables are in MongoDB", session="earlier")
        old = client.id_of("in MongoDB")
        client.note("decision", "Tables are in Postgres", MOVED, instead_of=old)
        client.types(f"keep {old}")

        assert "Replaced" not in "".join(client.starts("later"))

    def test_a_memory_that_is_replaced_again_after_it_was_taken_back_is_reported_again(
        self, client: SimulatedClient
    ) -> None:
        client.note("decision", "The analytics tables are in MongoDB", session="earlier")
        old = client.id_of("in MongoDB")
        client.note("decision", "Tables are in Postgres", MOVED, instead_of=old)
        client.starts("later")
        client.types(f"keep {old}", "later")
        client.note("decision", "Tables are in DuckDB", MOVED, "later", instead_of=old)

        told = [client.starts(f"next-{n}")[0] for n in range(2)]

        assert not client.is_open("are in MongoDB")
        new = f"[{client.id_of('are in DuckDB')}]"
        assert ["Replaced" in notice and new in notice for notice in told] == [True, False]


class TestFeedback:
    def test_feedback_on_notes_is_shown_once_with_the_next_prompt(
        self, client: SimulatedClient
    ) -> None:
        client.note("fact", "The staging host restarts every night", quotation="")
        gone = client.id_of("staging host")
        client.prompt(RULE)
        client.prompt("Go on, please.")
        lines = [
            f'Noted rule: Main takes no pushes. From: "{RULE}"',
            'Noted fix: Restart the proxy. From: "I never typed these words at all"',
            f"Dropped: {gone}",
            "Dropped: 0123abcd",
        ]
        client.stop("\n".join(lines))

        told = [client.feedback() for _ in range(2)]

        rule, fix = client.id_of("Main takes"), client.id_of("Restart the proxy")
        assert told == [
            f"Kept: {rule} rule (user's words), {fix} fix. "
            "Not the user's words: “I never typed these words at all”. "
            f"Dropped: {gone}. Not kept: “no memory for Dropped: 0123abcd”.",
            "",
        ]

    def test_feedback_on_a_note_offers_to_drop_an_earlier_note_on_the_same_subject(
        self, client: SimulatedClient
    ) -> None:
        said = "The signup mails of the billing service are sent by the cron container"
        client.note("fact", said, quotation="", session="earlier")
        client.note("fact", "The billing service has four workers", quotation="", session="earlier")
        old = client.id_of("cron container")

        client.note("fact", "Signup mails of the billing service wait for the queue", quotation="")

        assert client.feedback() == (
            f"Kept: {client.id_of('wait for')} fact. On this before (if it no longer holds, note "
            f"Dropped: ID): {old} “{said}”."
        )
        client.stop(f"Dropped: {old}")
        assert not client.is_open("cron container")

    @pytest.mark.parametrize("is_shell", [False, True], ids=["chat", "shell"])
    def test_feedback_does_not_repeat_an_earlier_note_that_was_forgotten_since(
        self, client: SimulatedClient, *, is_shell: bool
    ) -> None:
        said = "The signup mails of the billing service are sent by the cron container"
        client.note("fact", said, quotation="", session="earlier")
        client.note("fact", "Signup mails of the billing service wait for the queue", quotation="")
        old, new = client.id_of("cron container"), client.id_of("wait for")

        if is_shell:
            assert client.command("forget", "--yes", old).returncode == 0
        else:
            assert f"forgot {old}" in client.types(f"forget {old}")

        assert client.feedback() == f"Kept: {new} fact."

    def test_feedback_omits_notes_of_the_same_session_and_rules_of_the_user(
        self, client: SimulatedClient
    ) -> None:
        rule = "Send the signup mails of the billing service in the morning only"
        client.note("rule", rule, session="earlier")
        client.note("fact", "Signup mails of the billing service have a footer", quotation="")

        client.note("fact", "Signup mails of the billing service wait for the queue", quotation="")

        assert "On this before" not in client.feedback()

    def test_a_note_read_twice_gets_feedback_only_once(self, client: SimulatedClient) -> None:
        line = f"Noted fact: The staging host restarts every night.\nDropped: {'9' * 8}"
        client.prompt("Go on, please.")
        client.stop(line)
        assert "Kept: " in client.feedback()
        client.say("user", "Go on, please.")
        client.say("assistant", line)  # the transcript lagged behind

        assert "not kept" not in client.stop(line)
        assert client.feedback() == ""

    def test_feedback_on_compaction_notes_is_still_given_after_a_memory_command(
        self, client: SimulatedClient
    ) -> None:
        client.prompt(RULE)
        client.fire("PreCompact", trigger="auto")
        summary = f'Noted rule: Main takes no pushes. From: "{RULE}"'
        client.fire("PostCompact", compact_summary=f"<summary>\n{summary}\n</summary>")
        client.fire("SessionStart", source="compact")
        client.types("notes on")

        assert f"Kept: {client.id_of('Main takes')}" in client.feedback()

    def test_the_number_of_characters_of_note_feedback_is_recorded(
        self, client: SimulatedClient
    ) -> None:
        client.note("fact", "The staging host restarts every night", quotation="")
        line = client.feedback()
        memory = client.memory()
        told = memory.session_database().rows("SELECT chars FROM told WHERE kind = 'cue'")
        memory.close()

        assert told == [(len(line),)]

    def test_feedback_is_limited_to_300_characters_even_for_forty_notes(
        self, client: SimulatedClient
    ) -> None:
        client.prompt("Go on, please.")
        client.stop("\n".join(f"Noted fact: Part {n} is of steel." for n in range(40)))

        assert 200 < len(client.feedback()) <= 300


def test_a_note_that_quotes_two_statements_replaces_only_the_one_it_repeats(
    client: SimulatedClient,
) -> None:
    first = "From now on, always indent the tables by tabs."
    second = "From now on, always ship the invoices as PDF."
    client.note("rule", "Tables are indented by tabs", f"{first} {second}")

    held = " ".join(record.what for record in client.records())
    assert "invoices as PDF" in held
    assert held.count("tabs") == 1


class TestNotesOff:
    def test_notes_written_while_notes_are_off_are_not_stored_later(
        self, client: SimulatedClient
    ) -> None:
        client.prompt("Go on, please.")
        client.types("notes off")
        client.say("user", "Go on, please.", timestamp=timestamp())
        at = timestamp()
        client.say("assistant", "Noted fact: The meeting is secret.", timestamp=at)
        until(lambda: timestamp() > at)
        client.types("notes on")
        client.say("assistant", "Noted fact: The host restarts at night.", timestamp=timestamp())
        client.stop("Done.")

        assert [record.what for record in client.records("1")] == ["The host restarts at night"]

    @pytest.mark.parametrize("later", ["catching up", "learning"])
    def test_a_session_that_is_read_later_skips_notes_written_while_notes_were_off(
        self, client: SimulatedClient, later: str
    ) -> None:
        folder = client.memory_md_file().parents[1]
        folder.mkdir(parents=True)
        client.transcript = folder / "session-1.jsonl"
        if later == "catching up":
            client.prompt("Go on, please.")
        client.types("notes off", "session-0")
        client.say("user", "Go on, please.", timestamp=timestamp())
        at = timestamp()
        client.say("assistant", "Noted fact: The meeting is secret.", timestamp=at)
        until(lambda: timestamp() > at)
        client.types("notes on", "session-0")
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


def test_a_fact_on_the_same_subject_as_a_changed_rule_is_not_a_contradiction(
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


class TestRejectedAlternative:
    SAID = "We decided on Redis instead of Memcached for the session cache"

    def noted(self, client: SimulatedClient, line: str, session: str = "session-1") -> str:
        """Let the assistant note, after the user's statement; return the notice and feedback."""
        notice = client.stop(f"Noted decision: {line}", session)
        told = client.context("UserPromptSubmit", session, prompt="Go on, please.")
        return f"{notice}\n{told}"

    @pytest.mark.parametrize("sentence", ["The session cache is Redis", SAID])
    @pytest.mark.parametrize("instead", ["Memcached", "Memcached for the session cache", "{id}"])
    def test_a_note_does_not_contradict_the_statement_that_it_quotes(
        self, client: SimulatedClient, sentence: str, instead: str
    ) -> None:
        client.prompt(f"{self.SAID}, because it persists.")
        instead = instead.format(id=client.id_of("Redis"))

        told = self.noted(client, f'{sentence}. Instead of: {instead}. From: "{self.SAID}"')

        (record,) = client.records("1")
        assert (record.what, record.trust) == (sentence, "user")
        assert "contradicts" not in record.evidence
        assert "contradicts" not in told and "Not replaced" not in told

    def test_a_note_does_not_contradict_a_rule_that_shares_few_of_its_words(
        self, client: SimulatedClient
    ) -> None:
        client.prompt("In this project, always use pnpm instead of npm for installs.")
        quotation = "always use pnpm instead of npm for installs"

        line = f'Packages are installed with pnpm. Instead of: npm. From: "{quotation}"'

        assert "contradicts" not in self.noted(client, line)

    def test_a_later_note_agrees_with_a_record_that_rejects_the_same_alternative(
        self, client: SimulatedClient
    ) -> None:
        client.prompt(f"{self.SAID}.", "session-0")
        client.stop("Done.", "session-0")
        client.prompt("Go on, please.")

        told = self.noted(client, "The session cache is Redis. Instead of: Memcached.")

        assert client.is_open("We decided on Redis") and "contradicts" not in told
        assert client.record_of("cache is Redis").alternatives == ("Memcached",)

    @pytest.mark.parametrize("instead", ["{id}", "Redis for the session cache"])
    @pytest.mark.parametrize(
        "correction",
        [
            "We decided on Valkey instead of Redis or Memcached for the session cache",
            "We no longer use what we decided on, Redis instead of Memcached for the session cache",
        ],
    )
    def test_a_note_replaces_a_statement_whose_words_a_later_correction_repeats(
        self, client: SimulatedClient, correction: str, instead: str
    ) -> None:
        client.prompt(f"{self.SAID}.")
        old = client.id_of("Redis")
        client.prompt(f"{correction}.")

        line = f'Valkey holds them. Instead of: {instead.format(id=old)}. From: "{correction}"'

        assert f"Replaced: {old}" in self.noted(client, line)
        assert old not in [record.id[-8:] for record in client.records("valid_to = ''")]

    def test_a_correction_in_the_same_prompt_still_contradicts_the_statement(
        self, client: SimulatedClient
    ) -> None:
        client.prompt(f"{self.SAID}. No wait, the session cache goes into Valkey after all.")
        quotation = "No wait, the session cache goes into Valkey after all"

        told = self.noted(
            client, f'The session cache is Valkey. Instead of: Redis. From: "{quotation}"'
        )

        assert "contradicts" in told or not client.is_open("We decided on Redis")
