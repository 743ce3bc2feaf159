"""Store commands that failed and then passed as linked problems and solutions."""

from __future__ import annotations

import os

from memory_fabric import ids
from memory_fabric.capture import incidents
from memory_fabric.capture.shell_commands import MAX_READ_CHARS
from memory_fabric.models import Provenance
from memory_fabric.session.working_state import CHANGING_TOOLS, failed_calls
from memory_fabric.store.projects import commits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from memory_fabric.clients.claude_code.transcript import Turn
    from memory_fabric.models import Record
    from memory_fabric.recall.request_context import RequestContext
    from memory_fabric.store.memory import Memory

SHELL = "Bash"
# Commands whose results were missing when the transcript was read.
MAX_CALLS = 20


def keep_incidents(
    context: RequestContext, session: str, turns: Sequence[Turn], notes: Mapping[str, Any]
) -> tuple[list[Record], dict[str, Any]]:
    """Return the new records, and the notes with what still fails after these turns."""
    steps, calls = steps_in(turns, notes.get("calls", {}))
    solved, failing = incidents.follow(steps, still_failing(notes))
    by = Provenance(
        "assistant",
        trust="assistant",
        session=session,
        agent=context.agent_type,
        domain=context.domain.name,
    )
    new = [record for incident in solved for record in _keep(context.memory, incident, by)]
    more = {"calls": calls, "failing": [incidents.as_object(failure) for failure in failing]}
    return new, {**notes, **more, "solved": int(notes.get("solved", 0)) + len(solved)}


def still_failing(notes: Mapping[str, Any]) -> list[incidents.Failure]:
    """Return the failures in a session's notes."""
    kept = [incidents.from_object(f) for f in notes.get("failing", ()) if isinstance(f, dict)]
    return [failure for failure in kept if failure is not None]


def steps_in(
    turns: Sequence[Turn], calls: Mapping[str, Sequence[str]]
) -> tuple[list[incidents.Step], dict[str, list[str]]]:
    """Return commands with their outcomes, changed files and messages, in order.

    `calls` are earlier commands without a result, as id to command and folder; those that still
    have none are returned.
    """
    failed = failed_calls(turns)
    waiting = {id_: list(call) for id_, call in calls.items() if len(call) == 2}
    steps: list[incidents.Step] = []
    for turn in turns:
        if turn.text and turn.role == "assistant":
            steps.append(incidents.Step(said=turn.text))
        for tool in turn.tools:
            if tool.name == SHELL:
                # A longer one is not read anyway, and would make the notes long.
                command = str(tool.input.get("command", ""))[: MAX_READ_CHARS + 1]
                waiting[tool.id] = [command, turn.cwd]
            elif tool.name in CHANGING_TOOLS and tool.id not in failed:
                path = str(tool.input.get(CHANGING_TOOLS[tool.name], ""))
                steps.append(incidents.Step(changed_file=_relative(path, turn.cwd)))
        for result in turn.results:
            command, place = waiting.pop(result.tool_use_id, ("", ""))
            if command:
                steps.append(
                    incidents.Step(
                        command=command, failed=result.is_error, output=result.text, place=place
                    )
                )
    return steps, dict(list(waiting.items())[-MAX_CALLS:])


def _keep(memory: Memory, incident: incidents.Incident, by: Provenance) -> list[Record]:
    """Store problem and solution, each with the other's id in its evidence; return the new ones.

    A known problem keeps its own evidence: the new solution names it.
    """
    ours = ids.new_id(), ids.new_id()
    commit = commits.commit_at(memory.settings.project_dir)
    evidence = dict(incident.problem.evidence) | ({"commit": commit} if commit else {})
    problem = incident.problem._replace(id=ours[0], evidence=evidence | {"solution": ours[1]})
    known = memory.remember(problem, by)
    linked = evidence | ({"problem": known.id} if known else {})
    solved = memory.remember(incident.solution._replace(id=ours[1], evidence=linked), by)
    return [r for r, id_ in zip((known, solved), ours, strict=True) if r and r.id == id_]


def _relative(path: str, place: str) -> str:
    inside = bool(place) and path.startswith(place.rstrip(os.sep) + os.sep)
    return path[len(place.rstrip(os.sep)) + 1 :] if inside else path
