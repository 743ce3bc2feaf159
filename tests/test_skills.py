"""The skills: their front matter is valid, and what they mention exists."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import typer

from memory_fabric.cli.app import build
from memory_fabric.cli.registry import COMMANDS
from memory_fabric.servers.mcp.schema import TOOLS
from memory_fabric.store.queries.counts import tokens

SKILLS = Path(__file__).parents[1] / "skills"
PAGES = sorted(SKILLS.rglob("*.md"))
NAMES = ("learn", "memory", "memory-fabric", "project", "remember", "review")
# Those that only a person may call.
TYPED_ONLY = frozenset(("learn", "project", "review"))
# What the names and descriptions of the others cost each session.
MAX_TOKENS = 150
# What the client reads; another key would be ignored with a warning.
KEYS = {"name", "description", "argument-hint", "allowed-tools"}
MAX_DESCRIPTION_CHARS = 1024
# Commands that only look, or do what the skill was called for, whatever their arguments.
UNASKED = frozenset("recall load sync history why stale status check domains remember".split())
TOOLS_PREFIX = "mcp__plugin_memory-fabric_memory__"


def front_matter(name: str) -> dict[str, str]:
    """The keys and raw values between the two marks at the top."""
    text = (SKILLS / name / "SKILL.md").read_text("utf-8")
    _, head, _ = text.split("---\n", 2)
    pairs = (line.split(": ", 1) for line in head.strip().splitlines())
    return dict(pairs)


def test_the_skills_folder_contains_exactly_the_expected_skills() -> None:
    assert sorted(p.parent.name for p in SKILLS.glob("*/SKILL.md")) == list(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_the_front_matter_of_each_skill_is_plain_and_valid(name: str) -> None:
    found = front_matter(name)

    assert found.pop("disable-model-invocation", "") == ("true" if name in TYPED_ONLY else "")
    assert set(found) == KEYS
    assert found["name"] == name
    assert found["description"].startswith("Use when ")
    assert len(found["description"]) <= MAX_DESCRIPTION_CHARS
    for value in found.values():
        quoted = value[0] == value[-1] == '"'
        assert quoted or (": " not in value and " #" not in value and value[0].isalnum())


def test_the_skill_descriptions_loaded_in_each_session_are_short() -> None:
    told = (name for name in NAMES if name not in TYPED_ONLY)

    lines = [f"- memory-fabric:{name}: {front_matter(name)['description']}" for name in told]

    assert tokens(len("\n".join(lines))) <= MAX_TOKENS


@pytest.mark.parametrize("name", NAMES)
def test_skills_use_without_approval_only_tools_that_read_or_store(name: str) -> None:
    rules = front_matter(name)["allowed-tools"].split(", ")
    shell = [re.fullmatch(r"Bash\(memory-fabric ([a-z]+)([^()]*)\)", rule) for rule in rules]
    commands = [(found[1], found[2]) for found in shell if found]
    tools = {rule.removeprefix(TOOLS_PREFIX) for rule in rules if rule.startswith(TOOLS_PREFIX)}

    assert len(rules) == len(commands) + len(tools)
    assert {command for command, _ in commands} <= {command.name for command in COMMANDS}
    # What can change something is allowed as it stands only, without arguments.
    free = {command for command, rest in commands if rest == ":*"}
    assert free <= UNASKED
    assert tools <= {tool.name for tool in TOOLS if tool.reads} | {"remember"}


@pytest.mark.parametrize("name", NAMES)
def test_every_skill_uses_the_arguments_typed_by_the_user(name: str) -> None:
    assert "$ARGUMENTS" in (SKILLS / name / "SKILL.md").read_text("utf-8")


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(SKILLS)))
def test_every_command_mentioned_in_a_skill_exists(page: Path) -> None:
    mentioned = set(re.findall(r"(?:`|^)memory-fabric ([a-z]+)", page.read_text("utf-8"), re.M))

    assert mentioned <= {command.name for command in COMMANDS}


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(SKILLS)))
def test_every_command_option_mentioned_in_a_skill_exists(page: Path) -> None:
    known: dict[str, Any] = typer.main.get_command(build()).commands  # type: ignore[attr-defined]
    taken = {name: {o for p in known[name].params for o in p.opts} for name in known}
    mentioned = re.findall(r"(?:`|^)memory-fabric ([a-z]+)([^`\n]*)", page.read_text("utf-8"), re.M)

    named = {(name, o) for name, rest in mentioned for o in re.findall(r"(?<=\s)--[a-z-]+", rest)}
    assert [(name, o) for name, o in named if o not in taken[name] | {"--help"}] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(SKILLS)))
def test_every_link_in_a_skill_points_to_a_page(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#]+)\)", page.read_text("utf-8"))

    assert [t for t in targets if not (page.parent / t).is_file()] == []
