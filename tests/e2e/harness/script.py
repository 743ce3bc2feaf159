"""The words of user and model in one session."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from e2e.harness.wire import Cue, Turn


@dataclass(frozen=True, slots=True)
class Script:
    """One session: the user's prompts and the model's turns, each queue consumed in order.

    An empty queue answers "OK."; `arguments` are further arguments of the client. With `answers`
    the main loop has no queue: it gives the turn to all that a request says. With `asks_first`
    the client's default permissions hold; nobody answers here, so what it would ask is refused.
    """

    prompts: tuple[str, ...] = ()
    main: tuple[Cue, ...] = ()
    answers: Callable[[str], Turn] | None = None
    subagent: tuple[Cue, ...] = ()
    summary: str = "<analysis>done</analysis><summary>A summary without particulars.</summary>"
    arguments: tuple[str, ...] = ()
    asks_first: bool = False
    env: Mapping[str, str] = field(default_factory=dict)


def call(tool: str, arguments: Mapping[str, object]) -> Turn:
    """A turn in which the model calls one tool."""
    return {"text": "Working on it.", "tool": tool, "input": arguments}


def delegate(prompt: str, agent_type: str = "general-purpose") -> Turn:
    """A turn in which the model hands a task to a subagent and waits for it."""
    return call(
        "Agent",
        {
            "description": "a task",
            "prompt": prompt,
            "subagent_type": agent_type,
            "run_in_background": False,
        },
    )
