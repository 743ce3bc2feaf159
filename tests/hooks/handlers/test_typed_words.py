"""Words typed to memory: they are carried out if they are certain, else the assistant gets them."""

from __future__ import annotations

import json

import pytest

from memory_fabric.models import Provenance, Record
from simulated_client import SimulatedClient

RULE = "Never push to the main branch"


def contradict(client: SimulatedClient) -> tuple[str, str]:
    """Have the assistant contradict a rule of the user; the ids of both."""
    client.note("rule", RULE)
    client.note("rule", "Push to main after each task", quotation="", instead_of=RULE)
    return client.id_of("Never push"), client.id_of("after each task")


class TestOneWord:
    def test_the_replace_command_closes_the_contradicted_rule(
        self, client: SimulatedClient
    ) -> None:
        old, new = contradict(client)
        assert client.is_open("Never push")

        said = client.types(f"replace {new}")

        assert f"{new}: Push to main after each task replaces {old}" in said
        assert not client.is_open("Never push")
        assert client.record_of("after each task").evidence["agreed"] == f"replace {new}"
        assert client.record_of("after each task").trust == "assistant"

    def test_the_keep_command_keeps_a_contradicted_rule_and_ends_the_contradiction(
        self, client: SimulatedClient
    ) -> None:
        old, _ = contradict(client)
        asked, block = client.starts("session-2")
        assert f"`keep {old}`" in asked
        assert "Dropped: the id" not in block

        said = client.types(f"keep {old}", "session-2")

        assert said == f"memory-fabric: kept {old}: {RULE}"
        assert "contradicts" not in client.record_of("after each task").evidence
        assert "contradicts" not in client.starts("session-3")[0]

    def test_keep_and_replace_also_work_as_shell_commands(self, client: SimulatedClient) -> None:
        old, new = contradict(client)
        assert client.command("review", "--keep", new).returncode == 0
        assert json.loads(client.command("review", "--json").stdout)["due"] == []
        assert client.command("undo", "--last").returncode == 0
        done = client.command("review", "--replace", new)

        assert done.returncode == 0, done.stderr
        assert not client.is_open("Never push")
        done = client.command("review", "--keep", old)
        assert "Taken back" in done.stdout
        assert client.is_open("Never push")

    def test_keep_stores_a_candidate_with_the_users_trust(self, client: SimulatedClient) -> None:
        said = "Don't ever touch the generated files of the parser."
        client.prompt(said)
        client.stop("All right.")
        (heard,) = client.records("status = 'candidate'")

        assert "remembered" in client.types(f"keep {heard.id[-8:]}", "session-2")
        kept = client.record_of("generated files")
        assert (kept.status, kept.trust) == ("active", "user")
        assert kept.evidence["quotation"] == said

    def test_the_assistant_is_not_asked_to_drop_a_rule_of_the_user(
        self, client: SimulatedClient
    ) -> None:
        contradict(client)

        starts = [client.starts(f"later-{n}") for n in range(4)]

        assert ["contradicts" in notice for notice, _ in starts] == [True, True, False, False]
        assert not any("Dropped: the id" in block for _, block in starts)


class TestTypedCommands:
    def test_undo_reverts_the_last_change_of_the_session(self, client: SimulatedClient) -> None:
        client.note("fact", "The staging host restarts every night", quotation="")

        assert "staging host restarts" in client.types("undo")
        assert client.records("1") == []

    def test_undo_without_changes_is_passed_to_the_assistant(self, client: SimulatedClient) -> None:
        client.note("fact", "The staging host restarts every night", quotation="")

        assert client.types("undo", "session-2") == ""
        assert "staging host" in client.types("undo last", "session-2")

    def test_four_characters_of_an_id_identify_a_record(self, client: SimulatedClient) -> None:
        client.note("fact", "The staging host restarts every night", quotation="")
        record = client.record_of("staging")

        assert "forgot" in client.types(f"forget [{record.id[-4:]}]")
        assert client.records("1") == []

    def test_an_ambiguous_id_is_answered_with_the_matching_records(
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
        said = client.types("forget abcd")

        assert "fits several" in said and "Part 1" in said and "Part 2" in said
        assert len(client.records("1")) == 2

    @pytest.mark.parametrize(
        "prompt",
        ["keep face", "undo the last edit", "keep it", "keep", "replace", "forget dead code"],
    )
    def test_prompts_that_only_resemble_commands_are_passed_on(
        self, client: SimulatedClient, prompt: str
    ) -> None:
        assert client.types(prompt) == ""

    @pytest.mark.parametrize("session", ["session-1", "session-2"])
    @pytest.mark.parametrize("word", ["replace", "Keep"])
    def test_keep_or_replace_without_an_id_applies_to_the_only_open_contradiction(
        self, client: SimulatedClient, word: str, session: str
    ) -> None:
        """It was asked at the end of this session's turn, or at the start of the next session."""
        old, new = contradict(client)
        client.starts(session)

        said = client.types(word, session)

        assert (f"{new}: Push to main" if word == "replace" else f"kept {old}: {RULE}") in said
        assert client.is_open("Never push") == (word == "Keep")
        assert (
            "contradicts" not in client.record_of("after each task").evidence or word == "replace"
        )

    def test_keep_without_an_id_keeps_the_only_candidate(self, client: SimulatedClient) -> None:
        client.prompt("No, always write the changelog in the present tense.")
        client.stop("Done.")
        (heard,) = client.records("status = 'candidate'")

        assert client.types("replace") == ""
        assert heard.id[-8:] in client.types("keep")
        assert client.record_of("changelog").status == "active"

    def test_keep_and_replace_without_an_id_do_nothing_if_two_questions_are_open(
        self, client: SimulatedClient
    ) -> None:
        contradict(client)
        client.prompt("No, always write the changelog in the present tense.")
        client.stop("Done.")

        assert client.types("keep") == client.types("replace") == ""
        assert client.is_open("Never push")

    def test_the_bare_word_keep_is_passed_on_if_the_assistant_asked_another_question(
        self, client: SimulatedClient
    ) -> None:
        contradict(client)
        client.prompt("Now the old config file, please.")
        client.stop("There are two of them. Keep the old one, or replace it?")

        assert client.types("keep") == client.types("replace") == ""

    def test_keep_without_an_id_ignores_a_contradiction_found_in_another_session(
        self, client: SimulatedClient
    ) -> None:
        contradict(client)

        assert client.types("keep", "session-2") == ""

    def test_forget_accepts_a_text_instead_of_an_id(self, client: SimulatedClient) -> None:
        client.note("fact", "The staging host restarts every night", quotation="")
        client.note("fact", "The mail server restarts every week", quotation="")

        assert "forgot" in client.types("Forget: staging host restarts every night.")
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
    def test_an_ambiguous_forget_sentence_is_passed_to_the_assistant(
        self, client: SimulatedClient, prompt: str
    ) -> None:
        client.note("fact", "The staging host restarts every night", quotation="")

        assert client.types(prompt) == ""
        assert len(client.records("1")) == 1

    def test_forget_finds_a_memory_by_the_quoted_words_of_the_user(
        self, client: SimulatedClient
    ) -> None:
        said = "No, exports use commas after all."
        client.prompt(said)
        text = "Exported files separate the fields by a comma, not a semicolon"
        client.stop(f'Done.\n\nNoted decision: {text}. From: "{said}"')

        assert "forgot" in client.types("forget exports use commas")
        assert client.records("1") == []

    @pytest.mark.parametrize("words", ["the cache decision", "that", "all that", "web Memcached"])
    def test_an_uncertain_forget_command_suggests_the_same_command_with_an_id(
        self, client: SimulatedClient, words: str
    ) -> None:
        text = "The web app caches rendered pages in Redis, not Memcached"
        client.note("decision", text, quotation="")
        id_ = client.record_of("web app").id[-8:]

        told = client.context("UserPromptSubmit", "session-1", prompt=f"forget {words}")

        assert f"To forget one of memory the user types `forget ID`: {id_}: {text}" in told
        assert "note it" not in told
        client.stop("Which one?")
        assert [record.what for record in client.records("1")] == [text]

    @pytest.mark.parametrize(
        "prompt", ["forget that, always squash commits", "keep the tests fast", "undo the edit"]
    )
    def test_a_prompt_about_the_work_does_not_suggest_a_memory_command(
        self, client: SimulatedClient, prompt: str
    ) -> None:
        client.note("fact", "The tests are fast after the edit of the commits", quotation="")

        assert "the user types" not in client.context("UserPromptSubmit", "s", prompt=prompt)

    def test_undoing_an_older_record_keeps_the_newer_record_that_contradicts_it(
        self, client: SimulatedClient
    ) -> None:
        old, new = contradict(client)
        client.types(f"undo {old}")

        assert [record.id[-8:] for record in client.records("1")] == [new]
