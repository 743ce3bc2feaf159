"""The texts that a solver is given beside files and prompt, in each arm.

Memory is filled and asked through the real hooks, in sessions before the task's.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence

from coding_tasks.sets import Note, Task
from replays.hooks import ROOT, Hooks, installed_clock

DAY_S, GAP_DAYS, POINTS_A_SESSION = 86400, 3, 5
# The placebo's words, repeated up to the length of the memory arm's text.
NEUTRAL = (
    "This project grew over several years, and several people have looked after it. Its modules "
    "are small, and each does one thing. Names follow the usual style of the language. The "
    "tests are quick. Most changes touch one file. Reviews are friendly and brief. The history "
    "is kept tidy, and older branches are removed from time to time. Newcomers find their way "
    "within a day."
)


def memory(
    folder: str, task: Task, others: Sequence[Note], *, is_linked: bool, plugin: str = ROOT
) -> Hooks:
    """Return the hooks of a memory with the task's facts among `others`, today.

    In the stratum `changed` the older facts were noted first. `is_linked` says whether the notes of
    the newer ones name what they replace; without it the older facts come first in any stratum.
    """
    hooks = Hooks(folder, f"example/{task.repository}", plugin, installed_clock())
    now = time.time()
    middle = len(others) // 2
    old = task.old if task.stratum == "changed" or not is_linked else ()
    groups = [[*others[:middle]], [*old], [*task.facts], [*others[middle:]]]
    sessions = [
        points[i : i + POINTS_A_SESSION]
        for points in groups
        for i in range(0, len(points), POINTS_A_SESSION)
    ]
    hooks.now_s = now - (GAP_DAYS + len(sessions) / 2) * DAY_S
    for number, points in enumerate(sessions):
        is_new = is_linked and points == [*task.facts]
        _settle(hooks, f"past-{number:02d}", points, old if is_new else ())
        hooks.now_s += DAY_S / 2
    hooks.now_s = now
    return hooks


def ask(hooks: Hooks, prompt: str) -> str:
    """Return what MEMORY.md and the hooks show in a new session with this first prompt."""
    hooks.start("task")
    start = hooks.fire("SessionStart", source="startup").context
    hooks.write("user", prompt)
    told = hooks.fire("UserPromptSubmit", prompt=prompt).context
    return "\n\n".join(part for part in (memory_md(hooks), start.strip(), told.strip()) if part)


def memory_md(hooks: Hooks) -> str:
    """Return MEMORY.md without the comments that a client does not show."""
    texts = []
    for path in hooks.memory_files():
        with open(path, encoding="utf-8") as file:
            texts.append(file.read())
    return re.sub(r"<!--.*?-->\n?", "", "".join(texts), flags=re.DOTALL).strip()


def claude_md(others: Sequence[Note], facts: Sequence[Note]) -> str:
    """Return every settled sentence of a project as its CLAUDE.md."""
    middle = len(others) // 2
    lines = [f"- {note.text}" for note in (*others[:middle], *facts, *others[middle:])]
    return "# Project notes\n\n" + "\n".join(lines)


def placebo(words: int) -> str:
    """Return neutral prose of as many words."""
    prose = NEUTRAL.split()
    return " ".join((prose * (words // len(prose) + 1))[:words])


def _settle(hooks: Hooks, session: str, points: Sequence[Note], old: Sequence[Note]) -> None:
    """Play a session in which the user states each point and the assistant notes it.

    A note names the one of `old` that the session's start or its cue shows as what it replaces.
    """
    hooks.start(session)
    shown = hooks.fire("SessionStart", source="startup").context
    for kind, text in points:
        hooks.write("user", text)
        shown += "\n" + hooks.fire("UserPromptSubmit", prompt=text).context
        ids = [found for note in old for found in _ids(shown, note.text)]
        instead = f" Instead of: {ids[0]}." if ids else ""
        answer = f'Understood, I will keep to that.\n\nNoted {kind}: {text}{instead} From: "{text}"'
        hooks.write("assistant", [{"type": "text", "text": answer}])
        hooks.fire("Stop", last_assistant_message=answer)
        hooks.now_s += 120
    hooks.fire("SessionEnd", reason="prompt_input_exit")


def _ids(shown: str, text: str) -> list[str]:
    """Return the ids of the shown lines that tell the beginning of this text."""
    lines = [line for line in shown.splitlines() if text[:30].casefold() in line.casefold()]
    return [found for line in lines for found in re.findall(r"\b([0-9a-f]{8})\]", line)]
