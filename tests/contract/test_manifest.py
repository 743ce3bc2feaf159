"""The manifest and the tests name each other, and the page says what the manifest says."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from contract.manifest import STATUSES, behaviours
from contract.stories import STORIES
from contract.write_page import PAGE, page

TESTS = Path(__file__).parents[1]
LAST_NUMBER = 20


def marked() -> Iterator[str]:
    """Every key in a marker of a test, and every key of a story."""
    texts = (path.read_text("utf-8") for path in TESTS.glob("*/**/test_*.py"))
    for text in texts:
        for node in ast.walk(ast.parse(text)) if "mark.behaviour" in text else ():
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.behaviour":
                parts = (part for part in ast.walk(node) if isinstance(part, ast.Constant))
                yield from (str(part.value) for part in parts)
    for story in STORIES:
        yield from story.behaviours


def test_every_section_of_the_compatibility_contract_lists_behaviours() -> None:
    numbers = {behaviour.number for behaviour in behaviours().values()}

    assert numbers == {f"MEM-{number:02d}" for number in range(1, LAST_NUMBER + 1)}


def test_each_contract_entry_is_described_and_each_deviation_has_a_reason() -> None:
    for behaviour in behaviours().values():
        assert behaviour.what
        assert behaviour.source
        assert behaviour.status in STATUSES
        assert bool(behaviour.reason) == (behaviour.status != "kept"), behaviour.key


def test_every_behaviour_of_the_contract_is_covered_by_a_test() -> None:
    assert set(marked()) == set(behaviours())


def test_every_difference_from_the_reference_server_is_in_the_contract() -> None:
    differing = {step.differs for story in STORIES for step in story.steps if step.differs}

    assert {behaviours()[key].status for key in differing} <= {"improved", "diverges"}
    for story in STORIES:
        assert {step.differs for step in story.steps if step.differs} <= set(story.behaviours)


def test_the_contract_page_equals_the_one_generated_from_the_manifest() -> None:
    assert PAGE.read_text("utf-8") == page()
