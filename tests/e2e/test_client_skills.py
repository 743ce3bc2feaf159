"""The skills in the real client: typed, or called by the model; what they may do unasked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from e2e.harness.home import Home
from e2e.harness.result import Result
from e2e.harness.script import Script, call
from e2e.harness.tiers import rows, tiers
from e2e.harness.wire import Turn

pytestmark = pytest.mark.e2e

SKILLS = Path(__file__).parents[2] / "skills"
TOOLS = "mcp__plugin_memory-fabric_memory__"
REFUSED = "requires approval"
RULE = "Use cursor-based pagination for all list endpoints"
QUOTED = 'We chose "X" over `Y`, because $Z costs too much.'
HERE_DOCUMENT = f"memory-fabric remember - <<'END'\n{QUOTED}\nEND"


def shell(command: str) -> Turn:
    """A turn in which the model runs a command."""
    return call("Bash", {"command": command, "description": "use the memory"})


def typed(home: Home, prompt: str, *turns: Turn) -> Result:
    """A session with one prompt, in which the client asks before it runs what nobody allowed."""
    script = Script(
        prompts=(prompt,),
        main=(*turns, "OK."),
        asks_first=True,
        env={"ENABLE_TOOL_SEARCH": "false"},
    )
    return home.session(script)


def answers(result: Result) -> list[str]:
    """What the tools gave back to the model, in order."""
    last = result.requests("main")[-1].body["messages"]
    parts = [part for m in last if isinstance(m["content"], list) for part in m["content"]]
    found = [part["content"] for part in parts if part.get("type") == "tool_result"]
    return [one if isinstance(one, str) else json.dumps(one) for one in found]


def test_a_typed_remember_tells_the_model_how_and_stores_what_the_user_said(home: Home) -> None:
    prompt = f"/memory-fabric:remember --category api --agent database-engineer {RULE}"
    command = f"memory-fabric remember --category api --agent database-engineer '{RULE}'"

    session = typed(home, prompt, shell(command))
    later = home.session(Script(prompts=("Hello.",)))

    assert f"The request: --category api --agent database-engineer {RULE}" in session.main_texts[0]
    assert "Before anything is stored, ask the user" in session.main_texts[0]
    [told] = answers(session)
    assert told.startswith("Remembered: decision ")
    assert "list-endpoints (component)" in told
    [record] = tiers(home).records
    assert (record.what, record.source, record.trust) == (RULE, "cli", "user")
    # By MEMORY.md, which the client loads itself: no hook gives it a second time.
    assert RULE in later.main_texts[0]
    assert RULE in tiers(home).fence


def test_a_typed_memory_answers_from_memory(home: Home) -> None:
    home.fabric("remember", "--why", "offsets time out", RULE)

    session = typed(
        home, "/memory-fabric:memory why cursors?", shell("memory-fabric recall 'why cursors?'")
    )

    assert "The request: why cursors?" in session.main_texts[0]
    [told] = answers(session)
    assert f"{RULE} — because offsets time out" in told


@pytest.mark.parametrize(
    ("prompt", "turn"),
    [
        ("/memory-fabric:remember x", shell(HERE_DOCUMENT)),
        (
            "/memory-fabric:remember x",
            shell("memory-fabric remember 'It'\\''s \"X\"; not `Y` | $Z'"),
        ),
        ("/memory-fabric:remember x", call(f"{TOOLS}remember", {"text": "We use pnpm."})),
        ("/memory-fabric:memory x", shell("memory-fabric load && memory-fabric status")),
        ("/memory-fabric:memory x", call(f"{TOOLS}recall", {"query": ""})),
        ("/memory-fabric:memory-fabric x", shell("memory-fabric doctor")),
    ],
    ids=["here-document", "quotes", "remember tool", "memory", "recall tool", "doctor"],
)
def test_what_a_typed_skill_is_for_runs_without_a_question(
    home: Home, prompt: str, turn: Turn
) -> None:
    home.fabric("remember", RULE)

    [told] = answers(typed(home, prompt, turn))

    assert REFUSED not in told
    assert "haven't granted" not in told
    assert any(sign in told for sign in ("Remembered", RULE, "python"))


@pytest.mark.parametrize(
    ("prompt", "command"),
    [
        ("/memory-fabric:remember x", "memory-fabric forget cursor-pagination --yes"),
        ("/memory-fabric:memory x", "memory-fabric forget cursor-pagination --yes"),
        ("/memory-fabric:memory-fabric x", "memory-fabric uninstall --purge --yes"),
        ("/memory-fabric:memory-fabric x", "memory-fabric undo --last"),
    ],
)
def test_what_the_user_decides_is_asked_for_also_in_a_skill(
    home: Home, prompt: str, command: str
) -> None:
    home.fabric("remember", RULE)

    [told] = answers(typed(home, prompt, shell(command)))

    assert REFUSED in told
    assert tiers(home).told == [RULE]


def test_without_a_skill_the_same_command_is_asked_for(home: Home) -> None:
    [told] = answers(typed(home, "Hello.", shell(f"memory-fabric remember '{RULE}'")))

    assert REFUSED in told
    assert tiers(home).told == []


def test_a_typed_skill_is_no_memory_itself(home: Home) -> None:
    home.attend()
    decision = "We decided to use Solr for the search because it scales."

    session = home.session(Script(prompts=(f"/memory-fabric:memory {decision}",), main=("OK.",)))
    home.session(Script(prompts=("Hello.",)))

    assert f"The request: {decision}" in session.main_texts[0]
    kept = tiers(home)
    assert (kept.told, kept.entities) == ([], {})
    assert not any("Solr" in turn or "Ask the memory" in turn for turn in kept.turns)


def test_the_three_skills_are_offered_with_when_to_use_them(home: Home) -> None:
    [first, *_] = home.session(Script(prompts=("Hello.",))).main_texts

    for name in ("memory", "remember", "memory-fabric"):
        page = (SKILLS / name / "SKILL.md").read_text(encoding="utf-8")
        description = page.partition("\ndescription: ")[2].partition("\n")[0]
        assert f"- memory-fabric:{name}: {description}" in first


def test_the_model_can_call_a_skill_by_itself(home: Home) -> None:
    script = Script(
        prompts=("How should lists be paged?",),
        main=(
            call("Skill", {"skill": "memory-fabric:remember", "args": f"--success {RULE}"}),
            shell(f"memory-fabric remember --success '{RULE}'"),
            "OK.",
        ),
    )

    session = home.session(script)

    assert f"The request: --success {RULE}" in session.main_texts[1]
    [record] = tiers(home).records
    assert (record.type, record.what) == ("pattern", RULE)


@pytest.mark.parametrize("allowed", [False, True])
def test_a_skill_that_the_model_takes_up_is_asked_for_unless_a_rule_allows_it(
    home: Home, allowed: bool
) -> None:
    rules = {"permissions": {"allow": ["Skill(memory-fabric:remember)"] if allowed else []}}
    script = Script(
        prompts=("How should lists be paged?",),
        main=(
            call("Skill", {"skill": "memory-fabric:remember", "args": RULE}),
            shell(f"memory-fabric remember '{RULE}'"),
            "OK.",
        ),
        asks_first=True,
        arguments=("--settings", json.dumps(rules)),
    )

    home.session(script)

    assert tiers(home).told == ([RULE] if allowed else [])


def test_only_a_person_says_whose_memory_a_folder_has(home: Home) -> None:
    """A hook does what is typed, where somebody sits; the model's shell and its skills do not."""
    command = "memory-fabric project split --yes"
    session = home.session(
        Script(
            prompts=("/memory-fabric:project split",),
            main=(call("Skill", {"skill": "memory-fabric:project", "args": "split"}),
                  shell(command), "OK."),
        )
    )  # fmt: skip

    assert "memory-fabric project split: Nothing was changed: nobody" in session.main_texts[0]
    by_skill, by_shell = answers(session)
    assert "disable-model-invocation" in by_skill
    assert "only the user may decide which project" in by_shell
    registry = json.loads((home.memory / "registry.json").read_text("utf-8"))
    assert "settled" not in registry


def test_a_request_that_cannot_be_meant_comes_back_to_be_asked(home: Home) -> None:
    session = typed(
        home,
        "/memory-fabric:remember --success --failed Offset pagination",
        shell("memory-fabric remember --success --failed 'Offset pagination'"),
        shell("memory-fabric remember ''"),
    )

    both, nothing = answers(session)
    assert "contradict each other" in both
    assert "The text is empty" in nothing
    assert tiers(home).told == []


def test_what_failed_is_told_with_what_it_lacks_and_what_speaks_against_it(home: Home) -> None:
    session = typed(
        home,
        "/memory-fabric:remember --failed Offset pagination caused timeouts",
        shell("memory-fabric remember 'Use offset pagination for the exports'"),
        shell("memory-fabric remember --failed 'Offset pagination caused timeouts'"),
        shell(
            "memory-fabric remember --failed --instead 'use cursors' "
            "'Offset pagination caused timeouts'"
        ),
    )

    _, failed, completed = answers(session)
    assert "It has no lesson yet." in failed
    assert ": Use offset pagination for the exports (" in failed
    assert "No lesson" not in completed
    [(why,)] = rows(home, "SELECT why FROM records WHERE type = 'antipattern'")
    assert why == "instead: use cursors"
