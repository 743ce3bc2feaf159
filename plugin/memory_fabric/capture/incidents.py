"""Problems solved on the way: a command that failed, what was changed, and that it passes now.

Precision goes before recall: what looks or waits, what was refused or interrupted, what nobody
changed a file for, is no problem. What is still failing is handed to the next reading.
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
# Commands that are watched at a time; the one that failed longest ago is let go.
MAX_OPEN = 8
# A change of these alone makes no command pass.
_PROSE = (".md", ".markdown", ".rst", ".txt", ".adoc")
# How one says what it was, the surest first; and how one says that one does not know yet.
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
    """One thing done or said: a command with its outcome, a changed file, or what was said."""

    command: str = ""
    failed: bool = False
    output: str = ""
    changed_file: str = ""
    place: str = ""
    said: str = ""


class Failure(Value):
    """A command that fails, its error, the files changed since, and what was said to be why."""

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
    """What was solved in these steps, and what fails after them; `failing` is what did before."""
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
    """The sentence in which the assistant says what it was; '' where it does not surely."""
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
    """The problem that a failure was, and its solution, not yet linked."""
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
    """A failure as JSON, for the next reading."""
    return failure._asdict() | {"command": failure.command._asdict()}


def from_object(value: Mapping[str, Any]) -> Failure | None:
    """The failure in a JSON object; None where it is none."""
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
    """What fails after a command, and what its pass has solved."""
    # Before it is parted: a word alone does not tell what the option before it brings.
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
    """Whether the command passed; None where nothing tells."""
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
