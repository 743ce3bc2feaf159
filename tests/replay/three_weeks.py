"""A session in each of three weeks: one settles, one follows what it is told, one does not."""

from __future__ import annotations

from typing import Any

from replay.sessions import Step

WEEK_S = 7 * 24 * 3600
TEST, INSTALL, ANSWER = "pytest tests/test_cart.py", "npm install vite", "Done."
KEY_ERROR = "Exit code 1\nE   KeyError: 'cart_total_cents'\n1 failed in 0.12s"
DECISION = "Analytics queries run against PostgreSQL on port 6543"
FIX = (
    "\"KeyError: 'cart_total_cents'\" at the checkout, since the basket summed prices in euros; "
    "sum item.cents in src/cart.py"
)
PNPM, FROZEN = "install packages with pnpm", "do not touch src/legacy any more"
EDIT = {"file_path": "src/cart.py", "old_string": "sum(item.price)", "new_string": "item.cents"}
LEGACY = {"file_path": "src/legacy/old.py", "old_string": "a", "new_string": "b"}


def start(session: str, *, after_s: float = 0) -> list[Step]:
    """A session begins, so long after the last event."""
    waiting: list[Step] = [{"wait": after_s}] if after_s else []
    return [*waiting, {"session": session}, {"event": "SessionStart", "source": "startup"}]


def prompt(text: str) -> Step:
    """The user types."""
    return {"event": "UserPromptSubmit", "prompt": text}


def stop(text: str = ANSWER) -> Step:
    """The assistant ends its turn."""
    return {"event": "Stop", "last_assistant_message": text}


def call(id_: str, tool: str, given: Any, output: str = "", error: str = "") -> list[Step]:
    """A call of a tool with its result; without one it is only asked for."""
    given = {"command": given} if tool == "Bash" else given
    # The recorded event is one of a subagent.
    whose = {"agent_id": "", "agent_type": ""}
    named = {"tool_name": tool, "tool_use_id": id_, "tool_input": given, **whose}
    asked: list[Step] = [{"event": "PreToolUse", **named}]
    if error:
        return [*asked, {"event": "PostToolUseFailure", **named, "error": error}]
    answer = {"stdout": output, "stderr": "", "interrupted": False}
    return [*asked, {"event": "PostToolUse", **named, "tool_response": answer}] if output else asked


FIRST = [
    *start("first"),
    prompt(f"{DECISION}. Please {PNPM}, and {FROZEN}."),
    *call("a1", "Bash", TEST, error=KEY_ERROR),
    *call("a2", "Edit", EDIT, "The file src/cart.py has been updated."),
    *call("a3", "Bash", TEST, "1 passed in 0.10s"),
    stop(
        f'Noted decision: {DECISION}. From: "{DECISION}"\n'
        f'Noted rule: Packages come by pnpm. When: `npm install`. From: "{PNPM}"\n'
        f'Noted rule: src/legacy is frozen. When: src/legacy/**. From: "{FROZEN}"\n'
        f"Noted fix: {FIX}."
    ),
]
# Everything told is followed: pnpm is used, the legacy file is left, the fix is used, the decision
# is named.
SECOND = [
    *start("second", after_s=WEEK_S),
    prompt("Add vite, and run the tests of the cart."),
    *call("b1", "Bash", INSTALL),
    *call("b2", "Bash", "pnpm add vite", "Packages: +1"),
    *call("b3", "Edit", LEGACY),
    *call("b4", "Bash", TEST, error=KEY_ERROR),
    *call("b5", "Edit", EDIT, "The file src/cart.py has been updated."),
    *call("b6", "Bash", TEST, "1 passed in 0.10s"),
    stop(
        "The queries for analytics go to PostgreSQL on port 6543, so the cart keeps its own file."
    ),
]
# Nothing is: the held call is made again, the user lets the legacy file be changed, another change
# makes the test pass, nothing is named, and the user says the decision again.
THIRD = [
    *start("third", after_s=WEEK_S),
    prompt("Add vite, and run the tests of the cart."),
    *call("c1", "Bash", INSTALL),
    *call("c2", "Bash", INSTALL, "added 1 package"),
    *call("c3", "Edit", LEGACY, "The file src/legacy/old.py has been updated."),
    *call("c4", "Bash", TEST, error=KEY_ERROR),
    *call("c5", "Edit", {**LEGACY, "file_path": "tests/conftest.py"}, "updated"),
    *call("c6", "Bash", TEST, "1 passed in 0.10s"),
    stop(),
    prompt(f"{DECISION}."),
    stop(f'I see.\n\nNoted decision: {DECISION}. From: "{DECISION}"'),
]
STORY = [*FIRST, *SECOND, *THIRD]
