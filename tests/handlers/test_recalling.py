"""Hooks that read: session start, prompts, subagents, after compaction; and their silence."""

from __future__ import annotations

from house import House

DECISION = "Let's use PostgreSQL for the analytics DB because the team knows it."
QUESTION = "Which database did we pick for analytics?"
OPEN = "<memory-fabric>"


def stated(house: House, text: str = DECISION, session: str = "session-1") -> None:
    """A decision that tier 3 does not show yet: said in a session that has not stopped."""
    house.fire("SessionStart", session, source="startup")
    house.fire("UserPromptSubmit", session, prompt=text)


class TestSessionStart:
    def test_br13_the_recent_decisions_are_given_once_a_session(self, house: House) -> None:
        for number in range(12):
            stated(house, f"We decided to use service-{number} for queue {number} because of cost.")
        block = house.context("SessionStart", "session-2", source="startup")
        again = house.context("SessionStart", "session-2", source="resume")

        assert "Recent Project Decisions" in block
        assert len(block) <= 3000
        assert block.count("decision ·") == 10
        assert "because cost" in block
        assert "service-11" in block
        assert again == ""

    def test_a_resume_repeats_only_when_something_changed(self, house: House) -> None:
        stated(house)
        first = house.context("SessionStart", "session-2", source="startup")
        stated(house, "We decided to use Redis for sessions because it is fast.", "session-3")
        second = house.context("SessionStart", "session-2", source="resume")

        assert "PostgreSQL" in first
        assert "Redis" in second
        assert "PostgreSQL" not in second

    def test_the_block_is_byte_stable_while_the_memory_is_unchanged(self, house: House) -> None:
        stated(house)
        blocks = {house.context("SessionStart", f"s-{n}", source="startup") for n in range(3)}

        assert len(blocks) == 1

    def test_the_very_first_run_says_what_is_stored_where_and_how_to_stop(
        self, house: House
    ) -> None:
        first = house.fire("SessionStart", source="startup")
        second = house.fire("SessionStart", "session-2", source="startup")

        assert str(house.fabric_home) in first["systemMessage"]
        assert "off" in first["systemMessage"]
        assert second == {}

    def test_what_memory_md_shows_is_not_repeated(self, house: House) -> None:
        stated(house)
        house.fire("Stop", last_assistant_message="ok")

        assert "PostgreSQL" in house.memory_md_file().read_text()
        assert house.context("SessionStart", "session-2", source="startup") == ""
        assert house.prompt(QUESTION, "session-2") == ""

    def test_a_fork_has_what_its_parent_had(self, house: House) -> None:
        stated(house)
        house.fire("SessionStart", "parent", source="startup")
        house.say("user", "hello", session="child")
        house.say("assistant", "hello", session="child", requestSessionId="parent")

        assert house.context("SessionStart", "child", source="fork") == ""
        assert house.context("SessionStart", "stranger", source="startup") != ""


class TestPrompt:
    def test_a_paraphrased_question_recalls_the_decision(self, house: House) -> None:
        stated(house)
        house.fire("SessionStart", "session-2", source="clear")
        context = house.prompt(QUESTION, "session-9")

        assert OPEN in context
        assert "PostgreSQL" in context

    def test_a_memory_is_given_once(self, house: House) -> None:
        stated(house)
        first = house.prompt(QUESTION, "session-2")
        second = house.prompt(QUESTION, "session-2")

        assert "PostgreSQL" in first
        assert second == ""

    def test_what_a_session_said_itself_is_no_news_to_it(self, house: House) -> None:
        stated(house)

        assert house.prompt(QUESTION, "session-1") == ""
        assert "PostgreSQL" in house.prompt(QUESTION, "session-2")

    def test_after_a_compaction_it_is_given_what_it_said_itself(self, house: House) -> None:
        stated(house)
        house.fire("PreCompact", trigger="auto", custom_instructions=None)

        assert "PostgreSQL" in house.prompt(QUESTION)

    def test_what_was_said_since_a_compaction_is_not_given_again(self, house: House) -> None:
        house.prompt("The workers are slow today.")
        house.fire("PreCompact", trigger="auto", custom_instructions=None)
        house.fire("SessionStart", source="compact")
        stated(house)

        assert house.prompt(QUESTION) == ""
        assert "PostgreSQL" in house.prompt(QUESTION, "session-2")

    def test_an_unrelated_prompt_gets_nothing(self, house: House) -> None:
        stated(house)
        house.fire("SessionStart", "session-2", source="startup")

        assert house.prompt("Rename the logo file to brand.svg", "session-2") == ""
        assert house.prompt("yes", "session-2") == ""
        assert house.prompt("continue", "session-2") == ""

    def test_the_session_block_comes_with_the_first_prompt_when_session_start_never_ran(
        self, house: House
    ) -> None:
        stated(house)
        context = house.prompt("Rename the logo file to brand.svg", "session-2")

        assert "Recent Project Decisions" in context

    def test_another_projects_memory_is_never_given(self, house: House) -> None:
        stated(house)
        other = house.project.parent / "other" / "shop"
        (other / ".git").mkdir(parents=True)
        house.environ["CLAUDE_PROJECT_DIR"] = str(other)

        assert house.context("SessionStart", "session-2", source="startup") == ""
        assert house.prompt(QUESTION, "session-2") == ""

    def test_br12_relationship_words_add_traversal(self, house: House) -> None:
        stated(
            house,
            "We decided: database-engineer recommends cursor-pagination because it scales.",
        )
        stated(house, "We decided: cursor-pagination requires opaque-tokens, always.")
        house.fire("Stop", last_assistant_message="ok")
        house.environ["CLAUDE_CODE_DISABLE_AUTO_MEMORY"] = "1"
        house.fire("Stop", last_assistant_message="ok")

        context = house.prompt("What is connected to database-engineer?", "session-5")
        assert "cursor-pagination" in context


class TestSubagents:
    def test_br14_a_subagent_gets_what_its_task_and_domain_need(self, house: House) -> None:
        stated(house)
        house.fire(
            "PreToolUse",
            "session-2",
            tool_name="Agent",
            tool_use_id="toolu_1",
            tool_input={
                "subagent_type": "database-engineer",
                "prompt": "Design the schema of the analytics DB",
            },
        )
        context = house.context(
            "SubagentStart", "session-2", agent_id="a1", agent_type="database-engineer"
        )

        assert "PostgreSQL" in context
        assert len(context) <= 1200

    def test_what_memory_md_shows_is_given_only_to_agents_that_start_without_it(
        self, house: House
    ) -> None:
        stated(house)
        house.fire("Stop", last_assistant_message="ok")
        house.fire("SessionStart", "session-2", source="startup")
        given = {}
        for kind in ("general-purpose", "Explore"):
            house.fire(
                "PreToolUse",
                "session-2",
                tool_name="Agent",
                tool_use_id=kind,
                tool_input={"prompt": "Look at the analytics DB", "subagent_type": kind},
            )
            given[kind] = house.context(
                "SubagentStart", "session-2", agent_id=kind, agent_type=kind
            )

        assert given["general-purpose"] == ""
        assert "PostgreSQL" in given["Explore"]

    def test_two_open_tasks_of_one_type_share_the_budget(self, house: House) -> None:
        stated(house)
        stated(house, "We decided to use Redis for session tokens because it is fast.")
        for id_, prompt in (
            ("t1", "Tune the analytics DB"),
            ("t2", "Expire session tokens earlier"),
        ):
            house.fire(
                "PreToolUse",
                "session-2",
                tool_name="Task",
                tool_use_id=id_,
                tool_input={"prompt": prompt},
            )
        first = house.context(
            "SubagentStart", "session-2", agent_id="a1", agent_type="general-purpose"
        )

        assert "PostgreSQL" in first
        assert "Redis" in first

    def test_an_unrelated_task_gets_nothing(self, house: House) -> None:
        stated(house)
        house.fire(
            "PreToolUse",
            "session-2",
            tool_name="Agent",
            tool_use_id="t",
            tool_input={"prompt": "Rename the logo file to brand.svg"},
        )

        assert (
            house.context("SubagentStart", "session-2", agent_id="a", agent_type="general-purpose")
            == ""
        )


class TestCompaction:
    def test_i5_the_checkpoint_and_the_sessions_records_come_back(self, house: House) -> None:
        stated(house)
        house.say("user", "Build the analytics importer, please")
        house.say(
            "assistant",
            "I started with the importer.",
            {
                "type": "tool_use",
                "id": "t1",
                "name": "Write",
                "input": {"file_path": "/src/importer.py"},
            },
        )
        silent = house.fire("PreCompact", trigger="auto", custom_instructions=None)
        context = house.context("SessionStart", source="compact")

        assert silent == {}
        assert "Build the analytics importer, please" in context
        assert "/src/importer.py" in context
        assert "PostgreSQL" in context
        assert len(context) <= 3000

    def test_after_a_compaction_a_memory_may_be_given_again(self, house: House) -> None:
        stated(house)
        assert "PostgreSQL" in house.prompt(QUESTION, "session-2")
        house.fire("PreCompact", "session-2", trigger="auto", custom_instructions=None)
        restored = house.context("SessionStart", "session-2", source="compact")
        asked = house.prompt(QUESTION, "session-2")

        assert "PostgreSQL" in restored + asked
        assert not ("PostgreSQL" in restored and "PostgreSQL" in asked)


def test_the_turn_in_which_a_known_decision_was_stated_is_not_given_beside_it(
    house: House,
) -> None:
    house.say("user", DECISION)
    stated(house)
    house.environ["CLAUDE_CODE_SESSION_ATTENDED"] = "0"
    house.fire("Stop", last_assistant_message="Understood.")
    house.environ["CLAUDE_CODE_DISABLE_AUTO_MEMORY"] = "1"
    house.fire("Stop", last_assistant_message="Understood.")
    given = house.context("SessionStart", "session-2", source="startup")
    asked = house.prompt("And where does the analytics DB run, on PostgreSQL?", "session-2")

    assert "PostgreSQL" in given
    assert asked == ""


def test_a_memory_md_that_the_user_removed_shows_nothing_so_the_session_is_told(
    house: House,
) -> None:
    stated(house)
    house.fire("Stop", last_assistant_message="ok")
    house.memory_md_file().unlink()

    assert "PostgreSQL" in house.context("SessionStart", "session-2", source="startup")
    assert house.log == ""
