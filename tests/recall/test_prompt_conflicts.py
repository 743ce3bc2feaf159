from __future__ import annotations

from pathlib import Path

import pytest

from memory_fabric.models import Hit
from memory_fabric.recall.inject import contradicts, requests
from memory_fabric.recall.pipeline import Fabric
from recall.given import a_hit, open_memory, remember

NOW = "2026-03-01T12:00:00.000Z"


def a_rule(text: str, *, instead_of: str = "", **metadata: object) -> Hit:
    alternatives = [instead_of] if instead_of else []
    about = {"type": "constraint", "alternatives": alternatives, **metadata}
    return a_hit(text, metadata=about)


@pytest.mark.parametrize(
    ("prompt", "rule"),
    [
        ("Use npm to install lodash.", a_rule("pnpm installs packages", instead_of="npm")),
        ("please run npm install", a_rule("Use pnpm, never npm")),
        ("npm install express please", a_rule("Packages come from pnpm instead of npm")),
        ("Start the dev server and look at it", a_rule("Never start the dev server; I run it")),
        ("seed the lookup data again", a_rule("Lookup data is never seeded")),
        ("switch to REST for the mobile API", a_rule("GraphQL for the mobile API instead of REST")),
        ("instala axios con npm", a_rule("Se usa pnpm", instead_of="npm")),
        ("nutze npm dafür", a_rule("pnpm statt npm")),
        ("Move photos over to Thumbor", a_rule("imgproxy makes photos", instead_of="Thumbor")),
        ("commit this to main", a_rule("Do not commit to main")),
        ("please use npm", a_rule("pnpm installs packages", instead_of="npm")),
        ("use our own npm", a_rule("pnpm installs packages", instead_of="npm")),
        (
            "move all the old product photos to Thumbor",
            a_rule("imgproxy makes photos", instead_of="Thumbor"),
        ),
        ("use npm for lodash", a_rule("pnpm for lodash, never npm")),
        ("use pip3 here", a_rule("uv installs packages", instead_of="pip3", type="preference")),
    ],
)
def test_a_rule_contradicts_a_prompt_that_requests_what_the_rule_forbids(
    prompt: str, rule: Hit
) -> None:
    assert contradicts(rule, requests(prompt))


@pytest.mark.parametrize(
    ("prompt", "rule"),
    [
        ("Why don't we use npm?", a_rule("pnpm installs packages", instead_of="npm")),
        ("do not use npm for it", a_rule("Use pnpm, never npm")),
        ("the npm registry is slow today", a_rule("Use pnpm, never npm")),
        ("Stop the dev server", a_rule("Never start the dev server")),
        ("use REST for the partner feed", a_rule("GraphQL for the mobile API instead of REST")),
        ("use pnpm to install lodash", a_rule("Use pnpm, never npm")),
        ("use npm here", a_rule("pnpm is in use", instead_of="npm", trust="foreign")),
        ("use npm here", a_rule("npm was slow", instead_of="npm", type="solution")),
        ("use npm here", a_rule("pnpm is in use", instead_of="npm", trust="tool")),
        ("use any of our npm", a_rule("pnpm installs packages", instead_of="npm")),
        (
            "move all of the old product photos to Thumbor",
            a_rule("imgproxy makes photos", instead_of="Thumbor"),
        ),
        ("the photos came to Thumbor", a_rule("imgproxy makes photos", instead_of="Thumbor")),
        ("use yarn here", a_rule("pnpm installs packages", instead_of="npm")),
        ("seed the other data", a_rule("Lookup data is never seeded")),
        ("use npm for the docs", a_rule("pnpm for lodash, never npm")),
        ("show more cards in the POS view, I like it", a_rule("Filters belong here, not in views")),
    ],
)
def test_a_question_or_an_unrelated_request_does_not_contradict_a_rule(
    prompt: str, rule: Hit
) -> None:
    assert not contradicts(rule, requests(prompt))


def test_an_already_shown_rule_is_shown_once_more_if_a_prompt_contradicts_it(
    tmp_path: Path,
) -> None:
    memory = open_memory(tmp_path)
    remember(memory, "The lodash helpers are wrapped in src/util", names=["lodash"])
    rule = remember(
        memory, "Packages are installed with pnpm", type="constraint", alternatives=("npm",)
    )
    fabric = Fabric(memory, NOW)
    told = {f"record:{rule.id}"}

    first = fabric.inject_for_prompt("use npm to install lodash", seen=told)
    again = fabric.inject_for_prompt("use npm to install lodash", seen=told | set(first.ids))

    assert first.text.splitlines()[2].startswith("- [contradicts this prompt · rule · ")
    assert rule.id[-8:] in first.text
    assert "contradicts" not in again.text
    memory.close()
