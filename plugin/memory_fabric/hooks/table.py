"""The table of events: each event's handlers, its time limits, and the readers of its output."""

from collections.abc import Callable, Container, Mapping
from typing import NamedTuple

from memory_fabric.deadline import NEVER_S, Deadline
from memory_fabric.events import Event

# READS needs recall to be on, WRITES capture, EITHER one of them. FORWARDS needs capture and a URL
# to which texts are forwarded, EXCHANGES capture and a team log.
READS, WRITES, EITHER, FORWARDS, EXCHANGES = "reads", "writes", "either", "forwards", "exchanges"
# Handlers that run only for these tools. While memory has no rules or fixes for these tools,
# hooks/launch exits without starting Python (see store.home.launch_marks).
ON_TOOLS: Mapping[str, frozenset[str]] = {
    "rule_check": frozenset(("Bash", "Edit", "Write", "MultiEdit", "NotebookEdit")),
    "fix_inject": frozenset(("Bash",)),
}
# Modules with several handlers; any other handler is the function `handle` of its own module.
SHARED_MODULES: Mapping[str, str] = {
    **dict.fromkeys(("task_note", "caller_note", "answer_note"), "tool_notes"),
    **dict.fromkeys(("waiting_forward", "team_exchange"), "outgoing"),
    **dict.fromkeys(("agent_memory_store", "summary_store"), "noted_elsewhere"),
}
# Handlers that do nothing but add memories to the model's context.
TELLERS = ("memory_context", "graph_memory_inject")


class Entry(NamedTuple):
    """An event's handlers, in the order in which their replies are joined, and its time limits in
    seconds since the start of the process. Each handler is a pair: its name in hooks.handlers, and
    the switch that turns it on (READS, WRITES, EITHER, FORWARDS or EXCHANGES).
    """

    handlers: tuple[tuple[str, str], ...]
    wall_s: float  # wall-clock time
    lock_s: float  # maximum wait for other processes, separately for databases and files
    work_s: float = NEVER_S  # CPU time
    hurried: bool = False  # the user waits for this event in every turn
    recalls: bool = False  # the event searches memory
    shows_notices: bool = False  # the event reports storage failures, each once
    repairs: bool = False  # the event has time to finish an interrupted process's work
    notes_place: bool = False  # the event saves the folder's project for hooks/launch
    # The event reads the transcript or writes files beside the databases. It commits each change at
    # once, so that a second run of the event finds what the first has done.
    reads_transcript: bool = False
    tells_model: bool = False  # context reaches the model; False if context would extend the turn
    tells_person: bool = False  # the user sees a notice, even if nothing reaches the model


def _entry(handlers: str, limits: tuple[float, float, float], traits: str = "") -> Entry:
    """Build an entry from "switch:name" pairs, limits (wall_s, lock_s, work_s) and flags to set."""
    rows = (row.partition(":") for row in handlers.split())
    flags = dict.fromkeys(traits.split(), True)
    return Entry(tuple((name, use) for use, _, name in rows), *limits, **flags)


# The client's own limits are 5 s for a prompt, about 1.5 s for all hooks at a session's end, and
# longer for other events. CPU time is a prompt's main limit, because a loaded machine is slow.
_PROMPT, _TOOL, _TURN = (1.5, 0.15, 0.5), (2.0, 0.5, NEVER_S), (4.0, 1.0, NEVER_S)
_START, _COMMAND, _END = (1.6, 0.4, NEVER_S), (55.0, 5.0, NEVER_S), (0.9, 0.25, NEVER_S)
_TEAM = " exchanges:team_exchange"
HANDLERS: Mapping[str, Entry] = {
    "SessionStart": _entry(
        "reads:context_loader reads:checkpoint_restore forwards:waiting_forward" + _TEAM,
        _START,
        "shows_notices repairs notes_place tells_model",
    ),
    # hooks/launch may skip tool events, so prompts tell it of a new project or of enabled recall.
    "UserPromptSubmit": _entry(
        "reads:memory_context writes:capture_user_intent",
        _PROMPT,
        "hurried recalls shows_notices notes_place tells_model",
    ),
    # Long limit: the user waits while two projects merge, which affects both recall and capture.
    "UserPromptExpansion": _entry("either:project_link", _COMMAND, "tells_model"),
    # `task_note` saves a subagent's task, for which `graph_memory_inject` later recalls memories.
    # `caller_note` saves which agent calls an MCP tool. The server needs it to read and to write.
    "PreToolUse": _entry(
        "reads:task_note either:caller_note reads:rule_check",
        _PROMPT,
        "hurried notes_place tells_model",
    ),
    "PostToolUse": _entry(
        "writes:memory_bridge writes:answer_note reads:fix_inject", _TOOL, "notes_place tells_model"
    ),
    "PostToolUseFailure": _entry("reads:fix_inject", _TOOL, "notes_place tells_model"),
    "SubagentStart": _entry("reads:graph_memory_inject", _PROMPT, "hurried recalls tells_model"),
    "SubagentStop": _entry("writes:agent_memory_store", _TURN, "tells_person"),
    "Stop": _entry(
        "writes:auto_remember forwards:session_forward" + _TEAM,
        _TURN,
        "shows_notices repairs reads_transcript tells_person",
    ),
    "PreCompact": _entry("writes:precompact_save", _TURN, "reads_transcript"),
    "PostCompact": _entry(
        "writes:summary_store forwards:session_forward", _TURN, "reads_transcript"
    ),
    "SessionEnd": _entry(
        "writes:session_flush forwards:waiting_forward" + _TEAM, _END, "repairs reads_transcript"
    ),
}
# An environment variable by which tests multiply time limits, because they load the machine.
PATIENCE = "MEMORY_FABRIC_PATIENCE"
# The minimum time for the work itself, even if Python was slow to start from a cold disk.
LEAST_WORK_S = 0.1
# Extra seconds for work after the reply. AFTER_REPLY_S is wall-clock time; `hurried` events get
# AFTER_PROMPT_S instead, so that a prompt can still be saved. AFTER_REPLY_WORK_S is CPU time.
AFTER_REPLY_S, AFTER_PROMPT_S, AFTER_REPLY_WORK_S = 0.3, 1.0, 0.15


def writers(event: Event, names: Container[str]) -> list[str]:
    """Return the event's handlers that are in `names` and store memories (those with WRITES)."""
    return [n for n, use in HANDLERS[event.name].handlers if use == WRITES and n in names]


def deadlines(
    environ: Mapping[str, str], age_s: float, worked_s: float = 0.0, least_s: float = LEAST_WORK_S
) -> Callable[[str], Deadline]:
    """Return a function that maps an event's name to its deadline. The limits count from the start
    of the process, `age_s` seconds ago; it has used `worked_s` seconds of CPU time. At least
    LEAST_WORK_S remains, or for `hurried` events at least `least_s` of wall-clock time.
    """
    patience = _patience(environ)

    def deadline_of(event_name: str) -> Deadline:
        entry = HANDLERS[event_name]
        wall_s = max(least_s if entry.hurried else LEAST_WORK_S, patience * entry.wall_s - age_s)
        work_s = max(LEAST_WORK_S, patience * entry.work_s - worked_s)
        return Deadline(wall_s, work_s=work_s, lock_s=entry.lock_s, hurried=entry.hurried)

    return deadline_of


def _patience(environ: Mapping[str, str]) -> int:
    stated = environ.get(PATIENCE, "")
    return int(stated) if stated.isdecimal() else 1


def longest_s(event_name: str, environ: Mapping[str, str]) -> float:
    """Return an event's maximum duration in seconds, including the tasks after its reply."""
    entry = HANDLERS[event_name]
    return _patience(environ) * entry.wall_s + (AFTER_PROMPT_S if entry.hurried else AFTER_REPLY_S)
