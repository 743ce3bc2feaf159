"""The skills in the real client: typed, or called by the model; what they may do unasked."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from e2e.harness.home import Home
from e2e.harness.script import Script, call
from e2e.harness.stub import Request
from e2e.harness.tiers import Tiers, rows, tiers
from e2e.harness.wire import Turn

pytestmark = pytest.mark.e2e

SKILLS = Path(__file__).parents[2] / "skills"
TOOLS = "mcp__plugin_memory-fabric_memory__"
REFUSED = "requires approval"
RULE = "Use cursor-based pagination for all list endpoints"
LIMIT = "A list has at most fifty rows"
QUOTED = 'We chose "X" over `Y`, because $Z costs too much.'
HERE_DOCUMENT = f"memory-fabric remember - <<'END'\n{QUOTED}\nEND"
DECISION = "We decided to use Solr for the search because it scales."
# The client asks before it runs what nobody allowed; nobody answers.
ASKING = Script(asks_first=True, env={"ENABLE_TOOL_SEARCH": "false"})


@dataclass(frozen=True, slots=True)
class Answered:
    """One prompt: what the model read in each request, and what its tools gave back, in order."""

    texts: list[str]
    answers: list[str]


def answered(requests: list[Request]) -> Answered:
    """One prompt's part of a session."""
    main = [request for request in requests if request.kind == "main"]
    before, last = (main[n].body["messages"] for n in (0, -1))
    parts = [p for m in last[len(before) :] if isinstance(m["content"], list) for p in m["content"]]
    found = [part["content"] for part in parts if part.get("type") == "tool_result"]
    told = [one if isinstance(one, str) else json.dumps(one) for one in found]
    return Answered([request.text for request in main], told)


def shell(command: str) -> Turn:
    """A turn in which the model runs a command."""
    return call("Bash", {"command": command, "description": "use the memory"})


def skill(arguments: str) -> Turn:
    """A turn in which the model takes up the skill for remembering."""
    return call("Skill", {"skill": "memory-fabric:remember", "args": arguments})


# What one session of a person is asked to do, in order: the prompt and the turns of the model.
# A skill leaves its permissions behind, so that each first command is tried before its skill is
# typed, and what is reserved for the user is refused beside all permissions so far.
CASES: dict[str, tuple[str | Turn, ...]] = {
    "before remember": ("Hello.", shell(f"memory-fabric remember '{RULE}'")),
    "by the model": (
        "How should lists be paged?",
        skill(RULE),
        shell(f"memory-fabric remember '{RULE}'"),
    ),
    "the rule": (
        f"/memory-fabric:remember --category api --agent database-engineer {RULE}",
        shell(
            "memory-fabric remember --category api --agent database-engineer "
            f"--why 'offsets time out' '{RULE}'"
        ),
    ),
    "before memory": ("Hello.", shell("memory-fabric recall 'why cursors?'")),
    "recall": ("/memory-fabric:memory why cursors?", shell("memory-fabric recall 'why cursors?'")),
    "memory": ("/memory-fabric:memory x", shell("memory-fabric load && memory-fabric status")),
    "recall tool": ("/memory-fabric:memory x", call(f"{TOOLS}recall", {"query": ""})),
    "forget by memory": (
        "/memory-fabric:memory x",
        shell("memory-fabric forget cursor-pagination --yes"),
    ),
    "before memory-fabric": ("Hello.", shell("memory-fabric doctor")),
    "doctor": ("/memory-fabric:memory-fabric x", shell("memory-fabric doctor")),
    "uninstall": (
        "/memory-fabric:memory-fabric x",
        shell("memory-fabric uninstall --purge --yes"),
    ),
    "undo": ("/memory-fabric:memory-fabric x", shell("memory-fabric undo --last")),
    "before review": ("Hello.", shell("memory-fabric review")),
    "review": ("/memory-fabric:review", shell("memory-fabric review")),
    "edit": ("/memory-fabric:review", shell("memory-fabric edit 1a2b3c4d --text 'Use offsets'")),
    "holds": ("/memory-fabric:review", shell("memory-fabric review --holds 1a2b3c4d")),
    "here-document": ("/memory-fabric:remember x", shell(HERE_DOCUMENT)),
    "quotes": (
        "/memory-fabric:remember x",
        shell("memory-fabric remember 'It'\\''s \"X\"; not `Y` | $Z'"),
    ),
    "remember tool": (
        "/memory-fabric:remember x",
        call(f"{TOOLS}remember", {"text": "We use pnpm."}),
    ),
    "forget": (
        "/memory-fabric:remember x",
        shell("memory-fabric forget cursor-pagination --yes"),
    ),
    "contradiction": (
        "/memory-fabric:remember --success --failed Offset pagination",
        shell("memory-fabric remember --success --failed 'Offset pagination'"),
        shell("memory-fabric remember ''"),
    ),
    "failure": (
        "/memory-fabric:remember --failed Offset pagination caused timeouts",
        shell("memory-fabric remember 'Use offset pagination for the exports'"),
        shell("memory-fabric remember --failed 'Offset pagination caused timeouts'"),
        shell(
            "memory-fabric remember --failed --instead 'use cursors' "
            "'Offset pagination caused timeouts'"
        ),
    ),
}
SKILLS_TRIED = ("remember", "memory", "memory-fabric", "review")


@dataclass(frozen=True, slots=True)
class Typed:
    """A session in which skills were typed: by case its part, and the records after it."""

    home: Home
    parts: dict[str, Answered]
    told: dict[str, list[str]]


@pytest.fixture(scope="module")
def typed(shared_home: Callable[[], Home]) -> Typed:
    """A session in which the client asks before it runs what nobody allowed."""
    home = shared_home()
    parts, told = {}, {}
    with home.open(ASKING) as session:
        for name, (prompt, *turns) in CASES.items():
            parts[name] = answered(session.say(str(prompt), *turns, "OK."))
            told[name] = tiers(home).told
        session.end()
    return Typed(home, parts, told)


@dataclass(frozen=True, slots=True)
class Unasked:
    """A session in which everything was allowed, by prompt, one with a rule, and what they left."""

    parts: dict[str, Answered]
    by_rule: Answered
    kept: Tiers
    types: dict[str, str]
    registry: dict[str, object]


@pytest.fixture(scope="module")
def unasked(shared_home: Callable[[], Home]) -> Unasked:
    """A session with prompts to which skills belong, and a later one that asks but for a skill."""
    home = shared_home()
    home.attend()
    with home.open() as session:
        parts = {
            "memory": answered(session.say(f"/memory-fabric:memory {DECISION}")),
            "project": answered(
                session.say(
                    "/memory-fabric:project split",
                    call("Skill", {"skill": "memory-fabric:project", "args": "split"}),
                    shell("memory-fabric project split --yes"),
                    "OK.",
                )
            ),
            "remember": answered(
                session.say(
                    "How should lists be paged?",
                    skill(f"--success {RULE}"),
                    shell(f"memory-fabric remember --success '{RULE}'"),
                    "OK.",
                )
            ),
        }
        session.end()
    rules = json.dumps({"permissions": {"allow": ["Skill(memory-fabric:remember)"]}})
    with home.open(Script(asks_first=True, arguments=("--settings", rules))) as session:
        remember = shell(f"memory-fabric remember '{LIMIT}'")
        by_rule = answered(session.say("How long may lists be?", skill(LIMIT), remember, "OK."))
        session.end()
    kept = tiers(home)
    registry = json.loads((home.memory / "registry.json").read_text("utf-8"))
    return Unasked(parts, by_rule, kept, {r.what: r.type for r in kept.records}, registry)


def test_typing_the_remember_skill_stores_the_users_statement(
    typed: Typed,
) -> None:
    part = typed.parts["the rule"]

    assert f"The request: --category api --agent database-engineer {RULE}" in part.texts[0]
    assert "Before anything is stored, ask the user" in part.texts[0]
    [told] = part.answers
    assert told.startswith("Remembered: decision ")
    assert "list-endpoints (component)" in told
    kept = tiers(typed.home)
    [record] = [record for record in kept.records if record.what == RULE]
    assert (record.source, record.trust) == ("cli", "user")
    assert typed.told["the rule"] == [RULE]
    assert RULE in kept.fence


def test_the_typed_memory_skill_answers_a_question_from_memory(typed: Typed) -> None:
    part = typed.parts["recall"]

    assert "The request: why cursors?" in part.texts[0]
    [told] = part.answers
    assert f"{RULE} — because offsets time out" in told


@pytest.mark.parametrize(
    "case",
    ["here-document", "quotes", "remember tool", "memory", "review", "recall tool", "doctor"],
)
def test_the_commands_of_a_typed_skill_run_without_a_permission_prompt(
    typed: Typed, case: str
) -> None:
    [told] = typed.parts[case].answers

    assert REFUSED not in told
    assert "haven't granted" not in told
    assert any(sign in told for sign in ("Remembered", RULE, "python", "Nothing is due"))


@pytest.mark.parametrize(
    "case", ["forget", "forget by memory", "uninstall", "undo", "edit", "holds"]
)
def test_a_typed_skill_needs_permission_to_forget_edit_undo_or_uninstall(
    typed: Typed, case: str
) -> None:
    [told] = typed.parts[case].answers

    assert REFUSED in told
    assert RULE in typed.told[case]


@pytest.mark.parametrize("name", SKILLS_TRIED)
def test_a_skill_command_needs_permission_if_the_user_has_not_typed_the_skill(
    typed: Typed, name: str
) -> None:
    [told] = typed.parts[f"before {name}"].answers

    assert REFUSED in told
    assert typed.told["before remember"] == []


def test_the_request_of_a_typed_skill_is_not_stored_as_a_memory(unasked: Unasked) -> None:
    kept = unasked.kept

    assert f"The request: {DECISION}" in unasked.parts["memory"].texts[0]
    assert kept.told == [RULE, LIMIT]
    assert not any("solr" in name.lower() for name in kept.entities)
    assert not any("Solr" in turn or "Ask the memory" in turn for turn in kept.turns)


def test_the_model_is_offered_the_three_skills_with_their_descriptions(unasked: Unasked) -> None:
    first = unasked.parts["memory"].texts[0]

    for name in ("memory", "remember", "memory-fabric"):
        page = (SKILLS / name / "SKILL.md").read_text(encoding="utf-8")
        description = page.partition("\ndescription: ")[2].partition("\n")[0]
        assert f"- memory-fabric:{name}: {description}" in first


def test_the_model_can_invoke_a_skill_by_itself(unasked: Unasked) -> None:
    part = unasked.parts["remember"]

    assert f"The request: --success {RULE}" in part.texts[1]
    assert f"The request: --success {RULE}" not in part.texts[0]
    assert unasked.types[RULE] == "pattern"
    _, told = part.answers
    assert told.startswith("Remembered: pattern ")


def test_commands_of_a_skill_invoked_by_the_model_need_permission(typed: Typed) -> None:
    assert typed.told["by the model"] == []


def test_a_permission_rule_allows_commands_of_a_skill_invoked_by_the_model(
    unasked: Unasked,
) -> None:
    _, told = unasked.by_rule.answers

    assert told.startswith("Remembered: ")
    assert LIMIT in unasked.kept.told


def test_only_the_user_can_decide_which_project_a_folder_belongs_to(
    unasked: Unasked,
) -> None:
    """A hook does what is typed, where somebody sits; the model's shell and its skills do not."""
    part = unasked.parts["project"]

    assert "memory-fabric project split: Nothing was changed: nobody" in part.texts[0]
    by_skill, by_shell = part.answers
    assert "disable-model-invocation" in by_skill
    assert "only the user may decide which project" in by_shell
    assert "settled" not in unasked.registry


def test_contradictory_options_and_an_empty_text_of_a_skill_are_refused(typed: Typed) -> None:
    both, nothing = typed.parts["contradiction"].answers

    assert "contradict each other" in both
    assert "The text is empty" in nothing
    assert typed.told["contradiction"] == typed.told["forget"]


def test_remembering_a_failure_reports_a_missing_lesson_and_a_contradiction(
    typed: Typed,
) -> None:
    _, failed, completed = typed.parts["failure"].answers

    assert "It has no lesson yet." in failed
    assert ": Use offset pagination for the exports (" in failed
    assert "No lesson" not in completed
    [(why,)] = rows(typed.home, "SELECT why FROM records WHERE type = 'antipattern'")
    assert why == "instead: use cursors"
