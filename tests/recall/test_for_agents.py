"""The context of a subagent: its tasks share the room, its kind comes after them (BR-14)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_fabric.errors import DeadlinePassed
from memory_fabric.models import Hit
from memory_fabric.recall import for_agents, inject, render
from memory_fabric.recall.pipeline import Fabric
from memory_fabric.store.memory import Memory
from recall.given import NOW, USER, a_hit, open_memory, remember

ROOM = inject.AGENT_CHARS - for_agents.FRAME_CHARS


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    opened = open_memory(tmp_path)
    yield opened
    opened.close()


@pytest.fixture
def fabric(memory: Memory) -> Fabric:
    return Fabric(memory, NOW)


def stated(memory: Memory, **terms: str) -> None:
    memory.settings = memory.settings._replace(agent_terms=terms)


hits = st.builds(
    lambda number, words, why, names: a_hit(
        f"Memory {number} " + "word " * words,
        id=f"record:{number:036}",
        entities=tuple(f"entity-{n}" for n in range(names)),
        metadata={"why": "reason " * why},
    ),
    st.integers(0, 30),
    st.integers(0, 120),
    st.integers(0, 60),
    st.integers(0, 3),
)
queues_of_hits = st.lists(
    st.lists(hits, min_size=1, max_size=6, unique_by=lambda hit: hit.id), max_size=8
)


class TestSharing:
    @given(queues_of_hits, st.integers(0, 1500))
    def test_shared_hits_fit_into_the_available_characters(
        self, queues: list[list[Hit]], chars_left: int
    ) -> None:
        kept = for_agents.shared(queues, chars_left, for_agents.MAX_HITS)

        assert sum(len(render.hit_line(hit)) + 1 for hit in kept) <= chars_left

    @given(queues_of_hits)
    def test_the_best_hit_of_every_task_is_chosen(self, queues: list[list[Hit]]) -> None:
        kept = {hit.id for hit in for_agents.shared(queues, ROOM, for_agents.MAX_HITS)}

        assert {queue[0].id for queue in queues} <= kept

    @given(queues_of_hits)
    def test_no_hit_is_chosen_twice_and_the_choice_is_deterministic(
        self, queues: list[list[Hit]]
    ) -> None:
        kept = for_agents.shared(queues, ROOM, for_agents.MAX_HITS)

        assert len({hit.id for hit in kept}) == len(kept)
        assert for_agents.shared(queues, ROOM, for_agents.MAX_HITS) == kept

    @given(queues_of_hits)
    def test_all_chosen_hits_are_rendered_within_the_limit(self, queues: list[list[Hit]]) -> None:
        kept = for_agents.shared(queues, ROOM, for_agents.MAX_HITS)
        text = render.render(kept, heading=render.AGENT_HEADING, max_chars=inject.AGENT_CHARS)

        assert len(text) <= inject.AGENT_CHARS
        assert all(render.hit_line(hit) in text for hit in kept)

    @given(st.lists(hits, min_size=1, max_size=6, unique_by=lambda hit: hit.id))
    def test_a_single_task_loses_no_words_while_there_is_room(self, queue: list[Hit]) -> None:
        [first, *_] = for_agents.shared([queue], ROOM, for_agents.MAX_HITS)

        assert first == queue[0]

    def test_many_hits_for_one_subagent_task_leave_room_for_hits_of_another_task(self) -> None:
        many = [a_hit("word " * 70, id=f"record:{n:036}") for n in range(6)]
        one = a_hit("The one thing", id="record:other")

        kept = for_agents.shared([many, [one]], ROOM, for_agents.MAX_HITS)

        assert [hit.id for hit in kept[:2]] == [many[0].id, one.id]
        assert kept[0].text == many[0].text

    def test_a_shortened_hit_keeps_its_labels_and_the_beginning_of_its_text(self) -> None:
        hit = a_hit("Sessions live in Redis " + "and more " * 40, metadata={"why": "speed " * 20})

        short = for_agents.within(hit, 120)

        assert short is not None
        line = render.hit_line(short)
        assert len(line) <= 120
        assert line.startswith("- [decision · 2026-02-20 · team · 1a2b3c4d] Sessions live in Redis")
        assert for_agents.within(hit, 60) is None


class TestTasks:
    def test_a_matching_memory_is_injected_for_each_of_several_tasks(self, fabric: Fabric) -> None:
        for n in range(8):
            remember(fabric.memory, f"Analytics schema rule {n}: " + f"partition by day{n} " * 12)
        remember(fabric.memory, "Session tokens live in Redis")
        tasks = ["Analytics schema\nTune the analytics schema", "Tokens\nExpire session tokens"]

        given = fabric.inject_for_agent("general-purpose", tasks)

        assert "Analytics schema rule" in given.text
        assert "Session tokens live in Redis" in given.text
        assert len(given.text) <= inject.AGENT_CHARS

    def test_a_memory_is_found_for_a_long_prompt_full_of_working_instructions(
        self, fabric: Fabric
    ) -> None:
        remember(fabric.memory, "Celery retries webhooks with exponential backoff")
        prompt = (
            "You are a senior backend engineer.\nWorking directory: /home/ann/work/shop\n"
            "## Background\nPartners complain about the webhooks that our system sends to them.\n"
            + "".join(f"{n}. Look at module number {n} of the sender.\n" for n in range(30))
            + "Do not change the public interface.\nReturn a report with file paths."
        )

        given = fabric.inject_for_agent("general-purpose", [f"Check webhook retries\n{prompt}"])

        assert len(prompt) > 1000
        assert "exponential backoff" in given.text

    def test_the_end_of_a_long_task_is_also_searched(self, fabric: Fabric) -> None:
        remember(fabric.memory, "Invoices are numbered without gaps")
        pages = "".join(f"The team wants page {n} of the ledger quicker.\n" for n in range(12))
        prompt = pages + "Afterwards check how invoices get numbered, whether there are gaps."

        given = fabric.inject_for_agent("general-purpose", [f"Ledger page\n{prompt}"])

        assert "without gaps" in given.text

    def test_subagent_recall_returns_the_hits_found_before_the_deadline(self) -> None:
        answers = iter([[a_hit("Use Redis")]])

        def ask(question: str) -> list[Hit]:
            for found in answers:
                return found
            raise DeadlinePassed("late")

        tasks = ["\nredis sessions", "\nanother thing"]
        found = for_agents.asked_for(tasks, ask, for_agents.strong_at(NOW))
        assert [[hit.text for hit in queue] for queue in found] == [["Use Redis"]]

        with pytest.raises(DeadlinePassed):
            for_agents.asked_for(tasks, ask, for_agents.strong_at(NOW))


class TestSearchers:
    def test_a_memory_that_clearly_matches_the_task_is_injected(self, fabric: Fabric) -> None:
        remember(fabric.memory, "The importer streams CSV files instead of reading them whole")

        given = fabric.inject_for_agent(
            "Explore", ["Find CSV import\nWhere does the importer read?"]
        )

        assert "streams CSV files" in given.text

    @pytest.mark.parametrize(
        "task",
        [
            "Explore the codebase\nDescribe the overall structure and the main modules.",
            "Find uploads\nWhere are CSV uploads of the warehouse stock page validated?",
            "Find tests\nList all test files.",
        ],
    )
    def test_a_memory_that_shares_only_one_word_with_the_task_is_not_injected(
        self, fabric: Fabric, task: str
    ) -> None:
        remember(fabric.memory, "The importer streams CSV files instead of reading them whole")

        assert fabric.inject_for_agent("Explore", [task]).text == ""

    def test_search_agents_get_at_most_two_memories_and_none_without_a_task(
        self, fabric: Fabric
    ) -> None:
        for n in range(5):
            remember(fabric.memory, f"The CSV importer checks column {'abcde'[n] * 4}")
        remember(fabric.memory, "Architecture: modules follow the convention of layers")

        given = fabric.inject_for_agent(
            "Explore", ["CSV importer\nHow does the CSV importer check?"]
        )

        assert 1 <= len(given.ids) <= for_agents.SEARCHER_HITS
        assert len(given.text) <= for_agents.SEARCHER_CHARS
        assert fabric.inject_for_agent("Plan").text == ""


class TestKinds:
    def test_an_agent_gets_rules_before_problems_and_no_questions_or_entities(
        self, fabric: Fabric
    ) -> None:
        remember(fabric.memory, "The schema keeps one migration a release", type="constraint")
        remember(fabric.memory, "The migration of May failed", type="problem")
        remember(fabric.memory, "Which migration comes first?", type="question")
        graph = {
            "entities": [
                {"name": "Cats", "entityType": "thing", "observations": ["a schema of cats"]}
            ]
        }
        fabric.memory.write("create_entities", graph, USER)

        given = fabric.inject_for_agent("database-engineer").text

        assert 0 < given.index("one migration a release") < given.index("May")
        assert "cats" not in given and "comes first" not in given

    def test_an_agent_gets_four_memories_pinned_ones_first_and_then_the_newest(
        self, fabric: Fabric
    ) -> None:
        for n in range(9):
            by = USER._replace(at=f"2026-02-0{n + 1}T10:00:00.000Z")
            remember(fabric.memory, f"Schema rule {n}", pinned=n == 1, by=by)

        given = fabric.inject_for_agent("database-engineer").text

        assert [line[-1] for line in given.splitlines()[2:-1]] == ["1", "8", "7", "6"]

    def test_an_agent_gets_memories_stated_by_agents_of_the_same_type(self, fabric: Fabric) -> None:
        by = USER._replace(agent="poem-writer", domain="poem_writer")
        remember(fabric.memory, "Verses end on a stressed syllable", by=by)
        remember(fabric.memory, "Prose is fine elsewhere")

        given = fabric.inject_for_agent("poem-writer").text

        assert "Verses" in given
        assert "Prose" not in given

    def test_configured_search_terms_determine_which_memories_an_agent_type_gets(
        self, fabric: Fabric
    ) -> None:
        remember(fabric.memory, "Invoices are numbered without gaps")
        remember(fabric.memory, "The schema keeps one migration a release")
        stated(fabric.memory, **{"billing-expert": "invoices", "database-engineer": ""})

        assert "without gaps" in fabric.inject_for_agent("shop:billing-expert").text
        assert fabric.inject_for_agent("database-engineer").text == ""
        task = ["Migration\nWrite the schema migration"]
        assert "one migration" in fabric.inject_for_agent("database-engineer", task).text

    def test_an_agent_gets_no_memories_that_are_expired_or_were_already_shown(
        self, fabric: Fabric
    ) -> None:
        known = remember(fabric.memory, "Schema rule one")
        shown = remember(fabric.memory, "Schema rule two")
        remember(fabric.memory, "Schema rule three", valid_to="2026-02-21T00:00:00.000Z")

        given = fabric.inject_for_agent(
            "database-engineer", seen={f"record:{known.id}"}, shown={shown.id}
        )

        assert given.text == ""

    def test_memories_for_the_agent_type_follow_those_for_the_task(self, fabric: Fabric) -> None:
        for n in range(7):
            remember(fabric.memory, f"Ledger import checks column {'abcdefg'[n] * 4}")
        remember(fabric.memory, "The schema keeps one migration a release")

        given = fabric.inject_for_agent("database-engineer", ["Ledger\nThe ledger import checks"])

        assert len(given.ids) <= for_agents.MAX_HITS
        assert given.text.index("Ledger") < given.text.find("one migration") % 10_000


class TestQuestions:
    """The questions that are asked for the open tasks, and the hits that are kept."""

    def ask(self, *answers: list[Hit], tasks: Sequence[str], searches: bool = False) -> list[str]:
        """Ask for tasks with these answers in turn; return the questions, then the kept hits."""
        asked: list[str] = []
        left = iter(answers)

        def answer(question: str) -> list[Hit]:
            asked.append(question)
            return next(left, [])

        def is_strong(hit: Hit, question: str) -> bool:
            return hit.text == "strong"

        queues = for_agents.asked_for(tasks, answer, is_strong, searches=searches)
        return [*asked, "|", *(hit.text for queue in queues for hit in queue)]

    def hits(self, *texts: str) -> list[Hit]:
        return [a_hit(text, id=f"record:{place}{text}") for place, text in enumerate(texts)]

    def test_the_title_of_a_task_is_searched_only_if_its_text_yields_fewer_than_two_hits(
        self,
    ) -> None:
        task, whole = "Webhook retries\nPartners complain about them.", "Partners complain"
        one, two = self.hits("one"), self.hits("one", "two")

        few = self.ask(one, self.hits("weak", "strong"), tasks=[task])
        enough = self.ask(two, tasks=[task])

        assert whole in few[0] and few[1:] == ["Webhook retries", "|", "one", "strong"]
        assert enough == [few[0], "|", "one", "two"]

    def test_the_rest_of_a_long_task_is_searched_only_if_it_is_alone_and_found_nothing(
        self,
    ) -> None:
        long = "\n" + "".join(f"The ledger shows page{n} to its owner{n}.\n" for n in range(30))

        alone, found = self.ask(tasks=[long]), self.ask(self.hits("one"), tasks=[long])
        beside = self.ask(tasks=[long, "\nAnother ledger"])

        assert [text == "|" for text in alone] == [False, False, True]
        assert len(alone[0]) < len(alone[1])
        assert found == [alone[0], "|", "one"]
        assert beside == [alone[0], "Another ledger", "|"]

    def test_a_repeated_task_is_searched_once_and_a_search_agent_gets_strong_hits(self) -> None:
        once = self.ask(self.hits("one"), tasks=["\nredis", "\nredis"])
        strong = self.ask(self.hits("weak", "strong"), tasks=["\nredis"], searches=True)

        assert once == ["redis", "|", "one"]
        assert strong == ["redis", "|", "strong"]

    def test_hits_of_a_task_found_before_the_deadline_are_kept(self) -> None:
        def ask(question: str) -> list[Hit]:
            if question == "Webhook retries":
                raise DeadlinePassed("late")
            return self.hits("one")

        task = "Webhook retries\nPartners complain about them."

        assert len(for_agents.asked_for([task], ask, for_agents.strong_at(NOW))) == 1


@pytest.mark.parametrize(
    ("matched", "coverage", "words", "source", "is_strong"),
    [
        (2, 0.45, 8, "records", True),
        (2, 0.44, 8, "records", False),
        (2, 0.0, 5, "records", True),
        (2, 0.0, 6, "records", False),
        (1, 0.9, 5, "records", False),
        (2, 0.9, 5, "episodes", False),
    ],
)
def test_a_strong_hit_shares_two_topics_and_many_words_with_the_task(
    matched: int, coverage: float, words: int, source: str, is_strong: bool
) -> None:
    topics = ["harbour", "lighthouse", "orchard"]
    text = " ".join([*topics, *"pebble gravel mortar timber girder".split()][:words])
    metadata = {"matched": topics[:matched], "coverage": coverage}

    found = for_agents.strong_at(NOW)(
        a_hit(text, source=source, metadata=metadata), "harbour lighthouse orchard"
    )

    assert found is is_strong


def test_a_hit_is_shortened_to_exactly_the_available_characters_or_left_out() -> None:
    hit = a_hit("Sessions live in Redis " * 9, entities=("Redis",), metadata={"why": "speed " * 9})
    least_chars = len(render.hit_line(a_hit("x" * for_agents.MIN_TEXT_CHARS)))

    whole = for_agents.within(hit, len(render.hit_line(hit)))
    least = for_agents.within(hit, least_chars)

    assert whole == hit
    assert least is not None and len(least.text) <= for_agents.MIN_TEXT_CHARS
    assert for_agents.within(hit, least_chars - 1) is None


def test_a_hit_that_just_fits_is_added_and_a_longer_one_before_it_is_skipped() -> None:
    short, long = a_hit("One", id="record:1"), a_hit("One two", id="record:2")
    room = len(render.hit_line(short)) + 1

    assert for_agents.with_more([], [long, short], room) == [short]
    assert for_agents.with_more([short], [long, short], room) == [short]
    assert for_agents.with_more([], [short], room - 1) == []
