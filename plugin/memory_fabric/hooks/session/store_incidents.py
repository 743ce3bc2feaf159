"""Store fixes: commands that failed and then passed, with the cause stated by the assistant."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

from memory_fabric import ids
from memory_fabric.capture import incidents
from memory_fabric.capture.notes.typed import typed_words
from memory_fabric.capture.remember import kind_of
from memory_fabric.clients.transcript import Turn
from memory_fabric.hooks.session.checkpoint import CHANGING_TOOLS, failed_calls
from memory_fabric.models import Payload, Provenance, Record
from memory_fabric.recall.request_context import RequestContext
from memory_fabric.rules.commands import MAX_READ_CHARS
from memory_fabric.store import records
from memory_fabric.store.projects import identity
from memory_fabric.text import terms, without_injected

SHELL = "Bash"
# At most this many commands without a result are stored until their results can be read.
MAX_CALLS = 20
MAX_ASKED_CHARS = 8000
# A note is about a failure or a prompt with which it shares at least this many content words.
MIN_SHARED_TERMS = 2
# The status of a fix until its command has passed; such a fix is not shown to sessions.
UNCONFIRMED = "candidate"


def keep_incidents(
    context: RequestContext,
    session: str,
    turns: Sequence[Turn],
    notes: Mapping[str, Any],
    noted: Sequence[Record] = (),
) -> dict[str, Any]:
    """Store the fixes in these turns; return the session's data `notes`, updated with the commands
    that still fail. Each fix `noted` by the assistant gets its failure's command, error and files.
    A fix has the status "candidate" until its command has passed, and again if the failure returns.
    """
    steps, calls = steps_in(turns, notes.get("calls", {}))
    passed = failures(notes, "passed")
    solved, failing = incidents.follow(steps, failures(notes, "failing"), passed)
    at = max((turn.created_at for turn in turns), default="") if context.is_past else ""
    by = context.by("assistant", session)
    waiting = [note for note in noted if incidents.FILES not in note.evidence]
    is_only = len(solved) == len(waiting) == 1
    unexplained: list[incidents.Failure] = []
    for place, failure in enumerate(solved):
        note = _note_about(failure, waiting, is_only=is_only)
        if note is not None:
            waiting.remove(note)
            _add_evidence(context, note, incidents.evidence_of(failure), by)
            continue
        # The session's fixes for this failure become active, because their command has now passed.
        fixes = _fixes_of(context, failure, by, UNCONFIRMED)
        for fix in fixes:
            _put(context, fix._replace(status="active"), by)
        record = None if fixes else incidents.fix_of(failure)
        if record is not None:
            evidence = _with_commit(context, record.evidence)
            context.memory.remember(record._replace(id=ids.new_id(), evidence=evidence), by, at=at)
        elif not fixes and place >= len(passed):
            unexplained.append(failure)
    for failure in failing:
        if not failure.passes:
            _doubt(context, failure, waiting, by)
    for note in waiting:
        _add_evidence(context, note, _reported(note, steps), by)
    # Save these failures: the answer that states their cause may not be in the transcript yet.
    kept = {"failing": failing, "passed": unexplained}
    more = {name: [incidents.as_object(f) for f in failures] for name, failures in kept.items()}
    return {**notes, "calls": calls, **more}


def failures(notes: Mapping[str, Any], name: str) -> list[incidents.Failure]:
    """Return the failures stored in a session's notes under `name`: `failing` or `passed`."""
    failures = (incidents.from_object(f) for f in notes.get(name, ()) if isinstance(f, dict))
    return [failure for failure in failures if failure]


def steps_in(
    turns: Sequence[Turn], calls: Mapping[str, Sequence[str]]
) -> tuple[list[incidents.Step], dict[str, list[str]]]:
    """Return the steps of these turns in order: commands with outcomes, changed files, messages.
    Also return the commands that have no result yet, as {id of the call: [command, folder]};
    `calls` are those that earlier turns left.
    """
    failed = failed_calls(turns)
    waiting = {id_: list(call) for id_, call in calls.items() if len(call) == 2}
    steps: list[incidents.Step] = []
    for turn in turns:
        if turn.text and turn.role == "assistant":
            steps.append(incidents.Step(said=turn.text))
        elif turn.text and (request := typed_words(without_injected(turn.text))).strip():
            steps.append(incidents.Step(asked=request[:MAX_ASKED_CHARS]))
        for tool in turn.tools:
            if tool.name == SHELL:
                # Longer commands are not parsed, and would only enlarge the session's notes.
                command = str(tool.input.get("command", ""))[: MAX_READ_CHARS + 1]
                waiting[tool.id] = [command, turn.cwd]
            elif tool.name in CHANGING_TOOLS and tool.id not in failed:
                path = str(tool.input.get(CHANGING_TOOLS[tool.name], ""))
                inside = turn.cwd.rstrip(os.sep) + os.sep if turn.cwd else ""
                steps.append(incidents.Step(changed_file=path.removeprefix(inside)))
        for result in turn.results:
            command, place = waiting.pop(result.tool_use_id, ("", ""))
            if command:
                steps.append(incidents.Step(command, result.is_error, result.text, place=place))
    return steps, dict(list(waiting.items())[-MAX_CALLS:])


def _note_about(
    failure: incidents.Failure, noted: Sequence[Record], *, is_only: bool
) -> Record | None:
    """Return the noted fix most similar to this failure, or None; the only one if `is_only`."""
    if is_only:
        return noted[0] if noted else None
    of_failure = set(terms(f"{failure.cause} {incidents.evidence_of(failure)}"))
    shared = [len(of_failure.intersection(terms(note.what))) for note in noted]
    best = max(shared, default=0)
    return noted[shared.index(best)] if best >= MIN_SHARED_TERMS else None


def _doubt(
    context: RequestContext, failure: incidents.Failure, noted: list[Record], by: Provenance
) -> None:
    """Set a failure's fixes, except the user's own, to "candidate" until its command passes."""
    note = _note_about(failure, noted, is_only=False)
    if note is not None and note.trust != "user":
        noted.remove(note)
        evidence = incidents.evidence_of(failure) | dict(note.evidence)
        _put(context, note._replace(evidence=evidence, status=UNCONFIRMED), by)
    for fix in _fixes_of(context, failure, by, "active"):
        if incidents.is_same_error(failure.error, str(fix.evidence.get(incidents.ERROR, ""))):
            _put(context, fix._replace(status=UNCONFIRMED), by)


def _fixes_of(
    context: RequestContext, failure: incidents.Failure, by: Provenance, status: str
) -> list[Record]:
    where = "type = 'solution' AND trust <> 'user' AND pinned = 0 AND session = ? AND status = ?"
    command = f"json_extract(body, '$.evidence.{incidents.COMMAND}') = ?"
    values = (by.session, status, failure.command.text)
    return context.memory.find_records(f"{where} AND {command}", values)


def _put(context: RequestContext, record: Record, by: Provenance) -> None:
    payload: dict[str, Any] = {"record": records.as_object(record), "seen_in": [by.session]}
    context.memory.write("put_record", payload, by, store=kind_of(context.memory, record))


def _reported(note: Record, steps: Sequence[incidents.Step]) -> dict[str, Any]:
    """Return evidence for a noted fix: the error in the user's prompt, and the changed files."""
    about = set(terms(note.what))
    for step in reversed(steps):
        if len(about.intersection(terms(step.asked))) >= MIN_SHARED_TERMS:
            evidence = incidents.report_in(step.asked)
            files = dict.fromkeys(step.changed_file for step in steps if step.changed_file)
            if evidence and files:
                evidence[incidents.FILES] = list(files)[: incidents.MAX_FILES]
            return evidence
    return {}


def _add_evidence(context: RequestContext, note: Record, known: Payload, by: Provenance) -> None:
    """Add a failure's `known` evidence to a note's record, without changing existing evidence."""
    evidence = _with_commit(context, known) | dict(note.evidence) if known else {}
    if evidence and evidence != dict(note.evidence):
        _put(context, note._replace(evidence=evidence), by)


def _with_commit(context: RequestContext, evidence: Mapping[str, Any]) -> dict[str, Any]:
    if context.is_past:
        return dict(evidence)
    commit = identity.commit_at(context.memory.settings.project_dir)
    return dict(evidence) | ({"commit": commit} if commit else {})
