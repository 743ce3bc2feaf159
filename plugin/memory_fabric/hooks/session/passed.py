"""Find the rules whose required command (`First: pytest`) has not passed yet. The commands are read
from the transcripts of the session and its subagents. File changes outside tool calls go unnoticed.
"""

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from memory_fabric import deadline, events
from memory_fabric.capture.command_output import is_no_failure, outcome, pasted_error
from memory_fabric.client import CLAUDE_CODE
from memory_fabric.clients.transcript import Reading, ToolResult, ToolUse, paths_of_agents, read_on
from memory_fabric.config import Settings
from memory_fabric.patterns import pattern
from memory_fabric.rules import matching, required
from memory_fabric.rules.bindings import ACTIVITY, Binding, name_of
from memory_fabric.rules.matching import Applied, BoundRule
from memory_fabric.rules.shell import Call
from memory_fabric.store import files
from memory_fabric.text import cut, neutralised, one_line

# Maximum bytes to read at the end of the session's and each agent's transcript; maximum tool calls.
MAX_BYTES, MAX_AGENT_BYTES, MAX_CALLS = 4 << 20, 1 << 20, 500
MAX_FILE_CHARS = 80
# The client's result for a command moved to the background; its message that the command passed.
_BACKGROUND = r"Command .{0,80}background"
_PASSED_THERE = r"<tool-use-id>([^<]+)</tool-use-id>[^\0]*completed \(exit code 0\)</summary>"
# An output line that shows a command's exit status other than 0: "exit: 1", "rc=2", "1".
_STATUS = r"(?i)(?:\D*\b(?:exit|status|code|rc|ret)\b\D{0,12})?[1-9]\d{0,2}(?: \d{1,3})*\D{0,3}"
_STATUS_VARIABLES = ("$?", "PIPESTATUS", "pipestatus")


class Made(NamedTuple):
    """A tool call with its folder and its result."""

    use: ToolUse  # has an empty id if the call has not been made yet
    folder: str
    result: ToolResult | None = None
    is_over: bool = False  # the command has passed in the background

    @property
    def line(self) -> str:
        """Return the shell command of this tool call; '' if the tool is not the shell."""
        return str(self.use.input.get("command", "")) * (self.use.name == matching.SHELL_TOOL)


def unmet(
    event: events.Event, settings: Settings, applied: Sequence[Applied], roots: Sequence[str]
) -> list[Applied]:
    """Return the rules in `applied`, which match the event's tool call, except those whose required
    commands have all passed. `roots` are the project's folders.
    """
    folder = event.cwd or settings.project_dir
    now = Made(ToolUse("", event.text("tool_name"), events.tool_input(event)), folder)
    calls = required.calls_of(now.line, folder)

    @cache
    def earlier() -> list[Made] | None:
        return _calls_made(settings, event.transcript_path, folder)

    kept = []
    for rule in applied:
        alone = [BoundRule(rule.record, (rule.binding,))]
        meant = (matching.applying(alone, matching.of_calls([call]), roots) for call in calls)
        end = next((at for at, is_meant in enumerate(meant) if is_meant), len(calls))
        missing, passed = [], ""
        for binding in rule.first:
            is_met, undone = _seen(binding, now, calls, end, roots)
            if is_met and not undone:
                continue
            id_, before = _last_pass(binding, earlier() or (), roots)
            undone = undone or before
            if undone or not id_:
                name = f"“{name_of(binding)}”" if binding.kind == ACTIVITY else name_of(binding)
                reason = (undone if id_ or is_met else "") or "has not passed yet"
                missing.append(f"{name} comes first, and {reason}")
                passed = max(passed, id_)
        if missing or not rule.first:
            is_unseen = bool(missing) and earlier() is None
            text = "; ".join(missing) + ", as far as can be seen here" * is_unseen
            kept.append(rule._replace(missing=text, passed=passed, is_unseen=is_unseen))
    return kept


def _last_pass(binding: Binding, made: Sequence[Made], roots: Sequence[str]) -> tuple[str, str]:
    """Return the id of the newest call in which the required command passed ('' if there is none),
    and the reason why passes no longer count ('' if they do), as from `_seen`.
    """
    undone = ""
    for one in reversed(made):
        deadline.current().check("the runs of the session were read")
        calls = required.calls_of(one.line, one.folder)
        has_passed, then = _seen(binding, one, calls, len(calls), roots)
        undone = undone or then
        if has_passed:
            return one.use.id, undone
    return "", undone


def _seen(
    binding: Binding, made: Made, calls: Sequence[Call], end: int, roots: Sequence[str]
) -> tuple[bool, str]:
    """Return whether the required command passed in `calls[:end]`, the first commands of the call
    `made`, and why earlier passes no longer count (a failure or a changed file), or ''.
    """
    has_passed, is_piped, file, undone = False, False, "", ""
    is_check = required.is_check(binding)
    if is_check and not calls and made.result and not made.result.is_error:
        action = matching.action_of(made.use.name, dict(made.use.input), made.folder)
        file = required.changed_source(action, roots)
    for at, call in enumerate(calls[:end]):
        if is_check and not is_piped:
            file = required.changed_source(matching.of_calls([call]), roots) or file
        is_run = required.runs(binding, call, roots)
        if is_run and (passed := _outcome(made, calls, at, end)) is not None:
            has_passed, file, undone = passed, "", "" if passed else "failed the last time"
        is_piped = (is_run or is_piped) and call.after in required.PIPES
    changed = f"has not passed since {cut(neutralised(one_line(file)), MAX_FILE_CHARS)} changed"
    return has_passed, undone or (changed if file else "")


def _outcome(made: Made, calls: Sequence[Call], at: int, end: int) -> bool | None:
    """Return whether the command `calls[at]` passed; None if unknown. For `end`, see `is_gate`."""
    is_gate, after = required.is_gate(calls, at, end), calls[at].after
    if made.result is None:
        return True if is_gate and not made.use.id else None
    text = made.result.text
    if pattern(_BACKGROUND).match(text):
        return True if is_gate and made.is_over else None
    report = outcome(text)
    if made.result.is_error and is_no_failure(text):
        return None
    if made.result.is_error:  # the error may come from a later command
        return at + 1 < len(calls) and after in ("&&", ";", "\n") and report is True
    if is_gate or report is not None:
        return is_gate or report
    if after == "&" or (at and calls[at - 1].after == "||"):
        return None  # unknown: `&` runs it in the background; after `||` it may not have run
    has_status = any(sign in made.line for sign in _STATUS_VARIABLES)
    states = map(pattern(_STATUS).fullmatch, text.splitlines() if has_status else ())
    return not (pasted_error(text) or any(states))


def _calls_made(settings: Settings, path: str, folder: str) -> list[Made] | None:
    """Return the session's and its subagents' tool calls, in order; None if no turn is readable."""
    readings = [_read(settings, path, MAX_BYTES)]
    readings += [_read(settings, agent, MAX_AGENT_BYTES) for agent in paths_of_agents(path)]
    turns = [turn for reading in readings for turn in reading.turns]
    if len(readings) > 1:
        turns.sort(key=lambda turn: turn.created_at)
    results = {result.tool_use_id: result for turn in turns for result in turn.results}
    prompts = (prompt.text for reading in readings for prompt in reading.prompts)
    over = {notice[1] for text in prompts if (notice := pattern(_PASSED_THERE).search(text))}
    names = (matching.SHELL_TOOL, *matching.FILE_TOOLS)
    uses = [(use, turn.cwd or folder) for turn in turns for use in turn.tools if use.name in names]
    made = [Made(use, place, results.get(use.id), use.id in over) for use, place in uses]
    return made[-MAX_CALLS:] if turns else None


def _read(settings: Settings, path: str, max_bytes: int) -> Reading:
    start = max(0, files.size_of(path) - max_bytes)
    if settings.client.transcripts == CLAUDE_CODE.transcripts:
        return read_on(path, start, max_bytes=max_bytes, sidechain=True)
    from memory_fabric.clients.transcripts import read_running  # late: not needed for Claude Code

    return read_running(settings.client.transcripts, path, start, "", max_bytes, max_said=max_bytes)
