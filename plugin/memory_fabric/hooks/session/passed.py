"""The rules about a call before which something has to pass that has not, by the transcripts.

They are read only for a call that such a rule is about: the session's own and those of its
subagents. A change of a file by anything but a tool call is not seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from memory_fabric import deadline, events
from memory_fabric.capture.command_output import is_no_failure, outcome, pasted_error
from memory_fabric.client import CLAUDE_CODE
from memory_fabric.clients.transcript import (
    ToolResult,
    ToolUse,
    Turn,
    paths_of_agents,
    read_turns,
)
from memory_fabric.config import Settings
from memory_fabric.events import Event
from memory_fabric.patterns import pattern
from memory_fabric.rules import matching, required
from memory_fabric.rules.bindings import ACTIVITY, Binding, name_of
from memory_fabric.rules.matching import Applied, BoundRule
from memory_fabric.rules.required import PIPES, Step
from memory_fabric.store import files
from memory_fabric.text import cut, neutralised, one_line

# The ends of transcripts that are read: of the session, and of each subagent.
MAX_BYTES, MAX_AGENT_BYTES = 8 << 20, 1 << 20
MAX_FILE_CHARS = 80
# The client's answer to a command that goes on in the background, and its notice of a pass there.
_BACKGROUND = r"Command .{0,80}background"
_PASSED_THERE = r"<tool-use-id>([^<]+)</tool-use-id>[^\0]*completed \(exit code 0\)</summary>"
# A line that only states that the command before it failed: "exit: 1", "rc=2", "1".
_STATUS = r"(?i)(?:\D*\b(?:exit|status|code|rc|ret)\b\D{0,12})?[1-9]\d{0,2}(?: \d{1,3})*\D{0,3}"
_STATUS_VARIABLES = ("$?", "PIPESTATUS", "pipestatus")


class Made(NamedTuple):
    """A tool call with its folder. `result` is None while there is none; `is_over` is True if it
    has passed in the background.
    """

    use: ToolUse
    folder: str
    result: ToolResult | None = None
    is_over: bool = False

    @property
    def line(self) -> str:
        """The line for the shell; '' for a call of another tool."""
        line = self.use.input.get("command") if self.use.name == matching.SHELL_TOOL else ""
        return line if isinstance(line, str) else ""


def unmet(
    event: Event,
    settings: Settings,
    applied: Sequence[Applied],
    roots: Sequence[str],
    folder: str,
) -> list[Applied]:
    """Return the rules about a call without those whose `first` has passed before it, in the same
    line or in the session; the others say what is missing.
    """
    now = Made(ToolUse("", events.tool_name(event), events.tool_input(event)), folder)
    steps = required.steps_of(now.line, folder)

    @cache
    def earlier() -> list[Made] | None:
        return _made(settings, event.transcript_path, folder)

    kept = []
    for rule in applied:
        end = _place(rule, steps, roots)
        missing, passed = [], ""
        for binding in rule.first:
            is_met, changed = _seen(binding, now, steps, end, roots)
            made = earlier() if not is_met or changed else []
            id_, before = _last_pass(binding, made or (), roots)
            changed = changed or before
            if changed or not (is_met or id_):
                missing.append(_missing(binding, changed if is_met or id_ else ""))
                passed = max(passed, id_)
        is_unseen = bool(missing) and earlier() is None
        if missing or not rule.first:
            text = "; ".join(missing)
            kept.append(rule._replace(missing=text, passed=passed, is_unseen=is_unseen))
    return kept


def _place(rule: Applied, steps: Sequence[Step], roots: Sequence[str]) -> int:
    """Return the place of the command in the line that a rule is about."""
    alone = [BoundRule(rule.record, (rule.binding,))]
    places = (at for at, step in enumerate(steps) if matching.applying(alone, step.action, roots))
    return next(places, len(steps))


def _missing(binding: Binding, changed: str) -> str:
    name = f"“{name_of(binding)}”" if binding.kind == ACTIVITY else name_of(binding)
    file = cut(neutralised(one_line(changed)), MAX_FILE_CHARS)
    return f"{name} comes first, and has not passed {f'since {file} changed' if file else 'yet'}"


def _last_pass(binding: Binding, made: Sequence[Made], roots: Sequence[str]) -> tuple[str, str]:
    """Return the id of the last call in which a command passed, and the file changed since."""
    changed = ""
    for call in reversed(made):
        deadline.current().check("the runs of the session were read")
        steps = required.steps_of(call.line, call.folder)
        has_passed, file = _seen(binding, call, steps, len(steps), roots)
        changed = changed or file
        if has_passed:
            return call.use.id, changed
    return "", changed


def _seen(
    binding: Binding, made: Made, steps: Sequence[Step], end: int, roots: Sequence[str]
) -> tuple[bool, str]:
    """Return True if a command has passed in a call before its part `end`, and the file that this
    call has changed after that.
    """
    has_passed, changed, is_piped = False, "", False
    is_check = required.is_check(binding)
    if is_check and made.result and not (made.line or made.result.is_error):
        action = matching.action_of(made.use.name, dict(made.use.input), made.folder)
        changed = required.changed_source(action, roots)
    for at, step in enumerate(steps[:end]):
        if is_check and not is_piped:
            changed = required.changed_source(step.action, roots) or changed
        is_run = required.runs(binding, step, roots)
        if is_run and _has_passed(made, steps, at, end):
            has_passed, changed = True, ""
        is_piped = (is_run or is_piped) and step.after in PIPES
    return has_passed, changed


def _has_passed(made: Made, steps: Sequence[Step], at: int, end: int) -> bool:
    """Return True if a command of a line has passed: by the status of the line if that is its own,
    else unless the output shows that it failed.
    """
    is_gate = required.is_gate(steps, at, end)
    if made.result is None:
        return is_gate and not made.use.id  # the call that is held, or one without an answer yet
    text, after = made.result.text, steps[at].after
    if pattern(_BACKGROUND).match(text):
        return is_gate and made.is_over
    report = outcome(text)
    if made.result.is_error:  # of another command of the line, if it goes on behind this one
        goes_on = at + 1 < len(steps) and after in ("&&", ";", "\n")
        return goes_on and report is True and not is_no_failure(text)
    if is_gate or report is not None:
        return is_gate or report is True
    if after == "&" or (at and steps[at - 1].after == "||"):
        return False  # it was not awaited, or may not have run
    is_stated = any(sign in made.line for sign in _STATUS_VARIABLES)
    status = pattern(_STATUS)
    return not (pasted_error(text) or (is_stated and any(map(status.fullmatch, text.splitlines()))))


def _made(settings: Settings, path: str, folder: str) -> list[Made] | None:
    """Return the tool calls of a session and its subagents, in order; None if none can be read."""
    turns = _turns(settings, path, MAX_BYTES)
    agents = paths_of_agents(path)
    for agent_path in agents:
        turns += _turns(settings, agent_path, MAX_AGENT_BYTES)
    if not turns:
        return None
    if agents:
        turns.sort(key=lambda turn: turn.created_at)
    results = {result.tool_use_id: result for turn in turns for result in turn.results}
    notices = (pattern(_PASSED_THERE).search(turn.text) for turn in turns if turn.role == "user")
    over = {notice[1] for notice in notices if notice}
    tools = (matching.SHELL_TOOL, *matching.FILE_TOOLS)
    return [
        Made(tool, turn.cwd or folder, results.get(tool.id), tool.id in over)
        for turn in turns
        for tool in turn.tools
        if tool.name in tools
    ]


def _turns(settings: Settings, path: str, max_bytes: int) -> list[Turn]:
    start = max(0, files.size_of(path) - max_bytes)
    if settings.client.transcripts == CLAUDE_CODE.transcripts:
        return read_turns(path, start, max_bytes, sidechain=True)[0]
    from memory_fabric.clients.transcripts import read_running  # late: for other clients only

    form = settings.client.transcripts
    return read_running(form, path, start, "", max_bytes, max_said=max_bytes).turns
