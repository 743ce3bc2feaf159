"""What headings, leads and neighbours say about a sentence."""

from __future__ import annotations

import pytest

from memory_fabric.capture import sections
from memory_fabric.capture.segments import Sentence, segments


@pytest.mark.parametrize(
    ("heading", "says"),
    [
        ("decision", True),
        ("decision outcome", True),
        ("decision drivers", False),
        ("options considered", False),
        ("context", False),
    ],
)
def test_a_heading_may_announce_what_was_decided(heading: str, says: bool) -> None:
    assert sections.decides(Sentence("Run one instance.", heading=heading)) is says


def test_a_text_of_standing_orders_is_one_of_rules() -> None:
    assert sections.are_rules(segments("- Always squash.\n- Never push to main.\n- Use tabs."))
    assert sections.are_rules(segments("Do not use sleep in tests. Tests must be deterministic."))


@pytest.mark.parametrize(
    "text",
    [
        "Never mind.",
        "Add a button. Rename the page. Move the footer.",
        "Please always squash. Never push to main.",
        "Always squash. Never push. Should we tag?",
    ],
)
def test_requests_and_single_remarks_are_none(text: str) -> None:
    assert not sections.are_rules(segments(text))


@pytest.mark.parametrize(
    "text", ["Use [PACKAGE MANAGER] here", "Chosen option: [option 1]", "{{x}}"]
)
def test_what_waits_to_be_filled_in_is_a_template(text: str) -> None:
    assert sections.is_template(text)


def test_a_link_in_brackets_is_none() -> None:
    assert not sections.is_template("See [the guide](docs/guide.md) for more")
