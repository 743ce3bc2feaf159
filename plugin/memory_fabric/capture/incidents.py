"""Incidents: commands that failed, the changes made then, and the pass that followed.

Precision is more important than recall: a command that looks or waits, was refused or interrupted,
or passed without a changed file is no problem. Open failures are handed to the next reading.
"""

from __future__ import annotations

from memory_fabric.capture.command_output import is_no_failure, outcome, telling_line
from memory_fabric.capture.confidence import BASE
from memory_fabric.capture.shell_commands import Command, command_in, covers
from memory_fabric.models import Record
from memory_fabric.redaction.prefilter import without_secrets
from memory_fabric.text import cut, first_of, one_line
from memory_fabric.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

MAX_COMMAND_CHARS = 200
MAX_ERROR_CHARS = 300
MAX_CAUSE_CHARS = 240
MAX_FILES, MAX_FILES_NAMED = 20, 5
# The most commands that are watched at a time; the oldest failure is dropped.
MAX_OPEN = 8
# A change of only these files makes no command pass.
_PROSE = (".md", ".markdown", ".rst", ".txt", ".adoc")
# Phrases that state a cause, surest first; and phrases of not knowing it yet.
_CAUSES = (
    ("root cause",),
    ("caused by", "because", "due to"),
    ("the problem was", "the problem is", "the issue was", "the issue is", "the bug was",
     "the bug is", "the error was", "turns out", "turned out", "the culprit"),
)  # fmt: skip
_UNSURE = (
    "might", "maybe", "perhaps", "probably", "possibly", "could be", "likely", "let me", "let's",
    "i'll", "i will", "if ", "whether", "seems", "not sure", "unclear", "i need", "i should",
)  # fmt: skip


class Step(Value):
    """One step: a command with its outcome, a changed file, or a message."""

    command: str = ""
    failed: bool = False
    output: str = ""
    changed_file: str = ""
    place: str = ""
    said: str = ""


class Failure(Value):
    """A failing command, its error, the files changed since, and the stated cause."""

    command: Command
    error: str = ""
    files: tuple[str, ...] = ()
    cause: str = ""


class Incident(Value):
    """A problem and its solution, whose `evidence` names the command, the error and the files."""

    problem: Record
    solution: Record


def follow(
    steps: Iterable[Step], failing: Sequence[Failure] = ()
) -> tuple[list[Incident], list[Failure]]:
    """Return the incidents solved in these steps, and the failures after them.

    `failing` are the failures before them.
    """
    open_: list[Failure] = list(failing)
    solved: list[Failure] = []
    fresh: list[int] = []
    for step in steps:
        if step.changed_file:
            open_ = [_changed(failure, step.changed_file) for failure in open_]
        elif step.said:
            cause = cause_in(step.said)
            if cause:
                open_ = [failure._replace(cause=cause) for failure in open_]
                for place in fresh:
                    if not solved[place].cause:
                        solved[place] = solved[place]._replace(cause=cause)
            fresh = []
        elif step.command:
            open_, over = _ran(step, open_)
            fresh += range(len(solved), len(solved) + len(over))
            solved += over
    return [incident(failure) for failure in solved], open_[-MAX_OPEN:]


def cause_in(said: str) -> str:
    """Return the sentence in which the assistant states the cause; '' unless that is certain."""
    sentences = [
        sentence
        for line in said[: 16 << 10].splitlines()
        for sentence in one_line(line).replace("! ", ". ").split(". ")
        if 15 <= len(sentence) <= MAX_CAUSE_CHARS and not sentence.endswith(("?", ":"))
    ]
    for cues in _CAUSES:
        for sentence in sentences:
            folded = sentence.casefold()
            if any(c in folded for c in cues) and not any(u in folded for u in _UNSURE):
                return sentence.strip("*_#->• ").rstrip(".")
    return ""


def incident(failure: Failure) -> Incident:
    """Return the problem of a failure and its solution, not linked yet."""
    command = cut(without_secrets(one_line(failure.command.text)), MAX_COMMAND_CHARS)
    error = cut(without_secrets(failure.error), MAX_ERROR_CHARS)
    names = first_of(failure.files, MAX_FILES_NAMED)
    evidence = {"command": command, "error": error, "files": list(failure.files)}
    failed = f"`{command}` failed" + (f" ({error})" if error else "")
    return Incident(
        Record(
            type="problem",
            what=f"`{command}` failed" + (f": {error}" if error else ""),
            outcome="failed",
            confidence=BASE,
            evidence=evidence,
        ),
        Record(
            type="solution",
            what=f"{failed}; it passed after changing {names}",
            why=failure.cause,
            outcome="success",
            confidence=BASE,
            evidence=evidence,
        ),
    )


def as_object(failure: Failure) -> dict[str, Any]:
    """Return a failure as JSON, for the next reading."""
    return failure._asdict() | {"command": failure.command._asdict()}


def from_object(value: Mapping[str, Any]) -> Failure | None:
    """Return the failure in a JSON object; None if it is none."""
    stated = value.get("command")
    if not isinstance(stated, dict) or not isinstance(stated.get("words"), list):
        return None
    words = tuple(str(word) for word in stated["words"])
    text, place = str(stated.get("text", "")), str(stated.get("place", ""))
    files = value.get("files")
    return Failure(
        Command(text, words, place),
        str(value.get("error", "")),
        tuple(str(file) for file in files) if isinstance(files, list) else (),
        str(value.get("cause", "")),
    )


def _ran(step: Step, open_: list[Failure]) -> tuple[list[Failure], list[Failure]]:
    """Return the failures after a command, and those that its pass has solved."""
    # Before it is split: a single word does not show which option it belongs to.
    command = command_in(without_secrets(step.command), step.place)
    if command is None or command.probes or not command.words:
        return open_, []
    passed = _passed(step, command)
    if passed is None:
        return open_, []
    if not passed:
        known = next((f for f in open_ if f.command.words == command.words), None)
        known = known if known and known.command.place == command.place else None
        files, cause = (known.files, known.cause) if known else ((), "")
        error = telling_line(step.output)
        command = command._replace(speaks=True)
        kept = [failure for failure in open_ if failure is not known]
        return [
            *kept,
            Failure(command, cut(without_secrets(error), MAX_ERROR_CHARS), files, cause),
        ], []
    over = [failure for failure in open_ if covers(command, failure.command)]
    solved = [f for f in over if any(not file.endswith(_PROSE) for file in f.files)]
    return [failure for failure in open_ if failure not in over], solved


def _passed(step: Step, command: Command) -> bool | None:
    """Return True if the command passed, False if it failed; None if unknown."""
    if step.failed and is_no_failure(step.output):
        return None
    report = outcome(step.output)
    if not command.speaks:
        return report
    if step.failed:
        return False
    return None if report is False else True


def _changed(failure: Failure, file: str) -> Failure:
    if file in failure.files or len(failure.files) >= MAX_FILES:
        return failure
    return failure._replace(files=(*failure.files, file))
