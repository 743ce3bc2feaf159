"""Hooks that read: session start, prompts, subagents, after compaction; and their silence."""

from __future__ import annotations

from simulated_client import SimulatedClient

DECISION = "PostgreSQL holds the analytics DB, since the team knows it"
RULE = "Never run the analytics DB on anything but PostgreSQL"
SESSIONS = "Redis holds the sessions, since it is fast"
QUESTION = "Which database did we pick for analytics?"
OPEN = "<memory-fabric>"


def noted(client: SimulatedClient, text: str = DECISION, session: str = "session-1") -> None:
    """A decision in the user's words, which tier 3 does not show by itself."""
    client.fire("SessionStart", session, source="startup")
    client.note("decision", text, session=session)


def in_memory_md(client: SimulatedClient) -> None:
    """A rule in the user's words, which tier 3 shows."""
    client.fire("SessionStart", source="startup")
    client.note("rule", RULE)


class TestSessionStart:
    def test_recent_decisions_are_injected_only_once_per_session(
        self, client: SimulatedClient
    ) -> None:
        for number in range(12):
            client.note("decision", f"Queue {number} uses service-{number}", why="the cost")
        block = client.context("SessionStart", "session-2", source="startup")
        again = client.context("SessionStart", "session-2", source="resume")

        assert "Recent Project Decisions" in block
        assert len(block) <= 3000
        assert block.count("decision ·") == 10
        assert "because the cost" in block
        assert "service-11" in block
        assert again == ""

    def test_a_resumed_session_gets_only_changed_records(self, client: SimulatedClient) -> None:
        noted(client)
        first = client.context("SessionStart", "session-2", source="startup")
        noted(client, SESSIONS, "session-3")
        second = client.context("SessionStart", "session-2", source="resume")

        assert "PostgreSQL" in first
        assert "Redis" in second
        assert "PostgreSQL" not in second

    def test_session_start_context_is_identical_while_the_memory_is_unchanged(
        self, client: SimulatedClient
    ) -> None:
        noted(client)
        blocks = {client.context("SessionStart", f"s-{n}", source="startup") for n in range(3)}

        assert len(blocks) == 1

    def test_only_the_first_notice_explains_storage_and_how_to_inspect_or_stop_it(
        self, client: SimulatedClient
    ) -> None:
        first = client.fire("SessionStart", source="startup")
        second = client.fire("SessionStart", "session-2", source="startup")

        assert "kept on this machine only" in first["systemMessage"]
        assert "`notes off`" in first["systemMessage"]
        assert "`/memory-fabric:memory status`" in first["systemMessage"]
        assert "systemMessage" not in second

    def test_records_in_memory_md_are_not_injected_again(self, client: SimulatedClient) -> None:
        in_memory_md(client)

        assert "PostgreSQL" in client.memory_md_file().read_text()
        assert client.context("SessionStart", "session-2", source="startup") == ""
        assert client.prompt(QUESTION, "session-2") == ""

    def test_a_forked_session_does_not_get_the_memories_of_its_parent_again(
        self, client: SimulatedClient
    ) -> None:
        noted(client)
        client.fire("SessionStart", "parent", source="startup")
        client.say("user", "hello", session="child")
        client.say("assistant", "hello", session="child", requestSessionId="parent")

        assert client.context("SessionStart", "child", source="fork") == ""
        assert client.context("SessionStart", "stranger", source="startup") != ""


class TestPrompt:
    def test_a_paraphrased_question_recalls_the_decision(self, client: SimulatedClient) -> None:
        noted(client)
        client.fire("SessionStart", "session-2", source="clear")
        context = client.prompt(QUESTION, "session-9")

        assert OPEN in context
        assert "PostgreSQL" in context

    def test_a_memory_is_injected_only_once_per_session(self, client: SimulatedClient) -> None:
        noted(client)
        first = client.prompt(QUESTION, "session-2")
        second = client.prompt(QUESTION, "session-2")

        assert "PostgreSQL" in first
        assert second == ""

    def test_a_session_does_not_get_a_decision_it_noted(self, client: SimulatedClient) -> None:
        noted(client)

        assert client.prompt(QUESTION, "session-1") == ""
        assert "PostgreSQL" in client.prompt(QUESTION, "session-2")

    def test_after_a_compaction_a_session_gets_a_decision_that_it_noted_itself(
        self, client: SimulatedClient
    ) -> None:
        noted(client)
        client.fire("PreCompact", trigger="auto", custom_instructions=None)

        assert "PostgreSQL" in client.prompt(QUESTION)

    def test_a_session_does_not_get_a_record_that_it_noted_after_its_compaction(
        self, client: SimulatedClient
    ) -> None:
        client.prompt("The workers are slow today.")
        client.fire("PreCompact", trigger="auto", custom_instructions=None)
        client.fire("SessionStart", source="compact")
        noted(client)

        assert client.prompt(QUESTION) == ""
        assert "PostgreSQL" in client.prompt(QUESTION, "session-2")

    def test_a_prompt_unrelated_to_any_memory_gets_none(self, client: SimulatedClient) -> None:
        noted(client)
        client.fire("SessionStart", "session-2", source="startup")

        assert client.prompt("Rename the logo file to brand.svg", "session-2") == ""
        assert client.prompt("yes", "session-2") == ""
        assert client.prompt("continue", "session-2") == ""

    def test_the_first_prompt_gets_the_recent_decisions_if_the_session_start_was_missed(
        self, client: SimulatedClient
    ) -> None:
        noted(client)
        context = client.prompt("Rename the logo file to brand.svg", "session-2")

        assert "Recent Project Decisions" in context

    def test_memories_of_another_project_are_never_injected(self, client: SimulatedClient) -> None:
        noted(client)
        other = client.project.parent / "other" / "shop"
        (other / ".git").mkdir(parents=True)
        client.environ["CLAUDE_PROJECT_DIR"] = str(other)

        assert client.context("SessionStart", "session-2", source="startup") == ""
        assert client.prompt(QUESTION, "session-2") == ""

    def test_a_question_about_connections_is_answered_from_the_knowledge_graph(
        self, client: SimulatedClient
    ) -> None:
        noted(client, "database-engineer recommends cursor-pagination, since it scales")
        noted(client, "cursor-pagination requires opaque-tokens, always")

        context = client.prompt("What is connected to database-engineer?", "session-5")
        assert "cursor-pagination" in context


class TestSubagents:
    def test_a_subagent_gets_memories_for_its_task_within_1200_characters(
        self, client: SimulatedClient
    ) -> None:
        noted(client)
        client.fire(
            "PreToolUse",
            "session-2",
            tool_name="Agent",
            tool_use_id="toolu_1",
            tool_input={
                "subagent_type": "database-engineer",
                "prompt": "Design the schema of the analytics DB",
            },
        )
        context = client.context(
            "SubagentStart", "session-2", agent_id="a1", agent_type="database-engineer"
        )

        assert "PostgreSQL" in context
        assert len(context) <= 1200

    def test_only_subagents_that_do_not_load_memory_md_get_its_records_injected(
        self, client: SimulatedClient
    ) -> None:
        in_memory_md(client)
        client.fire("SessionStart", "session-2", source="startup")
        given = {}
        for kind in ("general-purpose", "Explore"):
            client.fire(
                "PreToolUse",
                "session-2",
                tool_name="Agent",
                tool_use_id=kind,
                tool_input={"prompt": "Look at the analytics DB", "subagent_type": kind},
            )
            given[kind] = client.context(
                "SubagentStart", "session-2", agent_id=kind, agent_type=kind
            )

        assert given["general-purpose"] == ""
        assert "PostgreSQL" in given["Explore"]

    def test_a_subagent_gets_memories_for_both_tasks_that_may_be_its_own(
        self, client: SimulatedClient
    ) -> None:
        noted(client)
        noted(client, "Redis holds the session tokens, since it is fast")
        for id_, prompt in (
            ("t1", "Tune the analytics DB"),
            ("t2", "Expire session tokens earlier"),
        ):
            client.fire(
                "PreToolUse",
                "session-2",
                tool_name="Task",
                tool_use_id=id_,
                tool_input={"prompt": prompt},
            )
        first = client.context(
            "SubagentStart", "session-2", agent_id="a1", agent_type="general-purpose"
        )

        assert "PostgreSQL" in first
        assert "Redis" in first

    def test_a_subagent_with_an_unrelated_task_gets_no_memories(
        self, client: SimulatedClient
    ) -> None:
        noted(client)
        client.fire(
            "PreToolUse",
            "session-2",
            tool_name="Agent",
            tool_use_id="t",
            tool_input={"prompt": "Rename the logo file to brand.svg"},
        )

        assert (
            client.context("SubagentStart", "session-2", agent_id="a", agent_type="general-purpose")
            == ""
        )


class TestCompaction:
    def test_a_compaction_restores_the_task_the_changed_files_and_the_decisions(
        self, client: SimulatedClient
    ) -> None:
        noted(client)
        client.say("user", "Build the analytics importer, please")
        client.say(
            "assistant",
            "I started with the importer.",
            {
                "type": "tool_use",
                "id": "t1",
                "name": "Write",
                "input": {"file_path": "/src/importer.py"},
            },
        )
        client.fire("PreCompact", trigger="auto", custom_instructions=None)
        context = client.context("SessionStart", source="compact")

        assert "Build the analytics importer, please" in context
        assert "/src/importer.py" in context
        assert "PostgreSQL" in context
        assert len(context) <= 3000

    def test_a_record_is_shown_once_more_after_a_compaction(self, client: SimulatedClient) -> None:
        noted(client)
        assert "PostgreSQL" in client.prompt(QUESTION, "session-2")
        client.fire("PreCompact", "session-2", trigger="auto", custom_instructions=None)
        restored = client.context("SessionStart", "session-2", source="compact")
        asked = client.prompt(QUESTION, "session-2")

        assert "PostgreSQL" in restored + asked
        assert not ("PostgreSQL" in restored and "PostgreSQL" in asked)


def test_the_original_message_of_an_already_shown_decision_is_not_shown_too(
    client: SimulatedClient,
) -> None:
    client.say("user", DECISION)
    noted(client)
    given = client.context("SessionStart", "session-2", source="startup")
    asked = client.prompt("And where does the analytics DB run, on PostgreSQL?", "session-2")

    assert "PostgreSQL" in given
    assert asked == ""


def test_records_are_injected_if_the_user_removed_memory_md(
    client: SimulatedClient,
) -> None:
    in_memory_md(client)
    client.memory_md_file().unlink()

    assert "PostgreSQL" in client.context("SessionStart", "session-2", source="startup")
    assert client.log == ""


def test_a_file_named_last_session_does_not_count_as_a_question_about_the_past(
    client: SimulatedClient,
) -> None:
    client.say("user", "The redis session keys of the shop expire after a day, as far as I know")
    client.fire("Stop", "session-1", last_assistant_message="They do.")

    named = [
        client.prompt(f"summarise {name} on how the redis session keys expire", "session-2")
        for name in ("@prior-chat.md", "docs/last_session.txt", "`last session`", "last-session")
    ]
    asked = client.prompt(
        "what did we say last time about how the redis session keys expire?", "session-2"
    )

    assert named == [""] * 4
    assert "redis session keys of the shop" in asked
