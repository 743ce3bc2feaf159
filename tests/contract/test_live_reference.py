"""The same calls to our server and to the reference server, both real processes, and one answer.

Every difference is recorded: a step of a story that `differs` names its entry in behaviours.toml,
and fails when there is no difference any more.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from contract.sides import Answer, Reference, answer, clear
from contract.stories import STORIES
from contract.story_steps import Step, Story, entity, relation
from servers.mcp_clients import Process


class Sides(NamedTuple):
    """Both servers, greeted."""

    ours: Process
    theirs: Process


@pytest.fixture(scope="module")
def sides(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sides]:
    folder = tmp_path_factory.mktemp("contract")
    with Process(folder / "home") as ours, Reference(folder / "memory.jsonl") as theirs:
        ours.greet()
        theirs.greet()
        yield Sides(ours, theirs)


@pytest.fixture
def both(sides: Sides) -> Sides:
    """Both servers with an empty graph."""
    for side in sides:
        clear(side)
    return sides


@pytest.mark.parametrize(
    "story",
    [
        pytest.param(story, id=story.about, marks=[pytest.mark.behaviour(*story.behaviours)])
        for story in STORIES
    ],
)
def test_each_sequence_of_calls_is_answered_as_by_the_reference_server(
    both: Sides, story: Story
) -> None:
    for number, step in enumerate(story.steps):
        ours, theirs = (answer(side, step.tool, dict(step.arguments)) for side in both)

        place = f"step {number}: {step.tool} {step.arguments!r:.200}"
        if step.differs:
            assert_recorded_difference(step, ours, theirs, place)
        else:
            assert ours == theirs, place


def assert_recorded_difference(step: Step, ours: Answer, theirs: Answer, place: str) -> None:
    """Ours differs, in nothing but what the step says, and in the form of the reference."""
    assert ours != theirs, f"{place}: {step.differs} is no difference any more"
    assert ours.failed == theirs.failed, place
    if ours.failed:
        shown = [text.removesuffix("…") for text in ours.texts]
        assert all(map(str.startswith, theirs.texts, shown)), place
        return
    structure = {key: value for key, value in ours.structure.items() if key != "note"}
    assert structure == (theirs.structure if step.ours is None else step.ours), place
    assert json.loads(ours.texts[0]) == _as_first_text(step, ours.structure), place
    if step.ours is None:
        assert ours.texts[1:] == (ours.structure["note"],), place


def _as_first_text(step: Step, structure: dict[str, Any]) -> Any:
    """The structure as a first text holds it (MEM-15c): create and add answer the bare array."""
    if step.tool.startswith(("create_", "add_")):
        return next(iter(structure.values()))
    return structure


SENTENCES = (
    "The job queue retries 3 times, then pages ann@example.org (see docs/on-call.md#retries).",
    "FastAPIRouter.include_router(prefix='/v2') -- 100% of user_id's are UUIDs; cost: $4.50/GB",
    "Größe ÄÖÜ, naïve café, ŁÓDŹ, Ελλάδα ΟΔΟΣ, Кеш на сервере, עברית, العربية, हिन्दी",
    "東京都の会社は品川にあります。한국어 테스트 👩\u200d💻🎉 ǅ \u212a Ⅷ ﬁ ﬀ ẞ",
    "DİYARBAKIR ili, İzmİr",
    'tab\there\nnewline  two spaces \u00a0nbsp "quoted" back\\slash * ? [x] {y} ^$ %_',
)
LONGER_PIECES = 150


@pytest.mark.behaviour("MEM-07c")
def test_our_search_finds_every_part_of_a_text_that_the_reference_server_finds(both: Sides) -> None:
    entities = [entity(f"e{n}", text, kind=f"k{n}") for n, text in enumerate(SENTENCES)]
    for side in both:
        side.call("create_entities", {"entities": entities})

    missed = []
    for piece in pieces():
        answers = (answer(side, "search_nodes", {"query": piece}).structure for side in both)
        ours, theirs = ({each["name"] for each in found["entities"]} for found in answers)
        missed += [] if theirs <= ours else [piece]

    assert missed == []


def pieces() -> list[str]:
    """Every sign, every two in a row, and by chance longer pieces, in any case."""
    chance = random.Random(7)
    places = [(text, at) for text in SENTENCES for at in range(len(text))]
    found = {text[at : at + size] for text, at in places for size in (1, 2)}
    for _ in range(LONGER_PIECES):
        text = chance.choice(SENTENCES)
        at = chance.randrange(len(text))
        piece = text[at : at + chance.randint(3, 12)]
        found.add(chance.choice((piece, piece.upper(), piece.lower())))
    return sorted(found)


BIG = [entity(f"e{n}", *(f"{n}.{m} {'pagination ' * 9}" for m in range(20))) for n in range(60)]
BIG_RELATIONS = [
    relation(f"e{n}", "before", f"e{(n * 7 + m) % 60}") for n in range(60) for m in (1, 2)
]
# What a read may take: the limit of about 40,000, and its note.
MAX_PAGE_CHARS = 44_000
CURSOR = re.compile(r"cursor ([\w.]+?)\.?(?:\s|$)")


@pytest.mark.behaviour("MEM-10c", "MEM-15b")
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("read_graph", {}),
        ("search_nodes", {"query": ""}),
        ("search_nodes", {"query": "pagination"}),
        ("open_nodes", {"names": [each["name"] for each in BIG]}),
    ],
    ids=["read_graph", "search_nodes, empty", "search_nodes", "open_nodes"],
)
def test_the_pages_of_a_large_answer_add_up_to_the_reference_answer(
    both: Sides, tool: str, arguments: dict[str, Any]
) -> None:
    for side in both:
        side.call("create_entities", {"entities": BIG})
        side.call("create_relations", {"relations": BIG_RELATIONS})

    whole = answer(both.theirs, tool, arguments).structure
    pages = list(paged(both.ours, tool, arguments))

    assert len(pages) > 1
    for page in pages:
        assert len(json.dumps(page, separators=(",", ":"))) <= MAX_PAGE_CHARS
    entities = [each for page in pages for each in page["entities"]]
    assert sorted(entities, key=_name) == sorted(whole["entities"], key=_name)
    relations = {tuple(each.values()) for page in pages for each in page["relations"]}
    assert relations == {tuple(each.values()) for each in whole["relations"]}


def paged(side: Process, tool: str, arguments: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Every page of an answer, by the cursors in their notes."""
    cursor: dict[str, str] = {}
    while True:
        page = answer(side, tool, {**arguments, **cursor}).structure
        yield page
        found = CURSOR.search(page.get("note", ""))
        if not found:
            return
        assert cursor != {"cursor": found[1]}
        cursor = {"cursor": found[1]}


def _name(each: dict[str, Any]) -> str:
    return str(each["name"])


@pytest.mark.behaviour("MEM-16b")
def test_the_resource_of_a_large_graph_equals_that_of_the_reference_server(both: Sides) -> None:
    texts = []
    for side in both:
        side.call("create_entities", {"entities": BIG})
        side.call("create_relations", {"relations": BIG_RELATIONS})
        result = side.ask("resources/read", {"uri": "memory://knowledge-graph"})["result"]
        texts.append(result["contents"][0]["text"])

    assert texts[0] == texts[1]


@pytest.mark.behaviour("MEM-11d")
def test_an_observation_of_one_megabyte_is_returned_completely(both: Sides) -> None:
    big = entity("big", "pagination " * 95_000)

    answers = [
        [
            answer(side, "create_entities", {"entities": [big]}),
            answer(side, "open_nodes", {"names": ["big"]}),
        ]
        for side in both
    ]

    assert answers[0] == answers[1]
    assert answers[0][1].structure["entities"] == [big]
