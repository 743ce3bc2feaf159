"""Detection of fixes: a command fails, files are changed, and the command passes. A fix is recorded
only if the error is informative, a file other than documentation changed, and the cause is stated.
A command that only reads or waits is ignored, and so is a run that was refused or interrupted.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from memory_fabric.capture.command_output import is_no_failure, outcome, pasted_error, signature
from memory_fabric.capture.stated_causes import admits_failure, cause_in, sentences_in
from memory_fabric.capture.statement import BASE
from memory_fabric.language.word_lists import phrases
from memory_fabric.models import Record
from memory_fabric.patterns import pattern
from memory_fabric.redaction.redact import without_secrets
from memory_fabric.rules.commands import Command, command_in, covers, is_silent, share_target
from memory_fabric.text import cut, first_of, one_line, words

MAX_COMMAND_CHARS, MAX_COMMAND_NAMED = 200, 80
MAX_ERROR_CHARS, MAX_ERROR_NAMED = 300, 160
MAX_SYMPTOM_CHARS = 200
MAX_FILES, MAX_FILES_NAMED = 20, 3
# The maximum number of failing commands that are tracked at a time; the oldest are dropped.
MAX_OPEN = 8
# Endings of prose files; a change in documentation cannot make a failing command pass.
_PROSE = (".md", ".markdown", ".rst", ".txt", ".adoc")
# Keys of a record's evidence.
COMMAND, ERROR, FILES, SYMPTOM = "command", "error", "files", "symptom"
# The share of the shorter error's words that two messages about the same error have in common.
SAME_ERROR = 0.8


class Step(NamedTuple):
    """A step of a session: a command with its outcome, a changed file, an answer or a prompt."""

    command: str = ""
    failed: bool = False
    output: str = ""
    changed_file: str = ""
    place: str = ""
    said: str = ""
    asked: str = ""


class Failure(NamedTuple):
    """A failing command that is tracked until it passes."""

    command: Command
    error: str = ""  # '' if the output describes no error
    files: tuple[str, ...] = ()  # changed since the failure
    cause: str = ""
    symptom: str = ""  # in the user's words
    passes: bool = False  # a similar command passed, so `command` probably passes too
    is_over: bool = False  # probably solved: `passes` is True, or the assistant reports no failure


def follow(
    steps: Iterable[Step], failing: Sequence[Failure] = (), passed: Sequence[Failure] = ()
) -> tuple[list[Failure], list[Failure]]:
    """Return (solved, open): the solved failures, and those that are still open after the steps.
    `failing` were open before. `passed` were solved shortly before, and come first in `solved`. A
    solved failure gets the cause that the assistant states before the next prompt or new failure.
    """
    open_: list[Failure] = list(failing)
    solved = list(passed)
    fresh = list(range(len(solved)))
    prompt = ""
    for step in steps:
        if step.changed_file:
            every = (tuple(dict.fromkeys((*f.files, step.changed_file))) for f in open_)
            open_ = [f._replace(files=new[:MAX_FILES]) for f, new in zip(open_, every, strict=True)]
        elif step.asked:
            prompt, fresh = step.asked, []
        elif step.said:
            admits = admits_failure(step.said) if open_ else None
            if admits is not None:
                open_ = [failure._replace(is_over=not admits) for failure in open_]
            if newest_cause := _cause(step.said, open_[-1]) if open_ else "":
                open_[-1] = open_[-1]._replace(cause=newest_cause)
            for place in fresh:
                if cause := _cause(step.said, solved[place]):
                    solved[place] = solved[place]._replace(cause=cause)
                    fresh = [earlier for earlier in fresh if earlier != place]
        elif step.command:
            count = len(open_)
            open_, over = _ran(step, open_, prompt)
            fresh = [] if len(open_) > count else fresh
            fresh += range(len(solved), len(solved) + len(over))
            solved += over
    return solved, open_[-MAX_OPEN:]


def fix_of(failure: Failure) -> Record | None:
    """Return the record of a solved failure; None if its cause or its error is unknown."""
    if not failure.error or not failure.cause:
        return None
    command = cut(failure.command.text, MAX_COMMAND_NAMED)
    error = cut(failure.error, MAX_ERROR_NAMED)
    names = first_of(failure.files, MAX_FILES_NAMED)
    fixed = f"; fixed in {names}" if len(failure.files) <= MAX_FILES_NAMED else ""
    text = f"{failure.cause[:1].upper()}{failure.cause[1:]} (`{command}` failed: {error}{fixed})"
    evidence = evidence_of(failure)
    return Record("solution", text, outcome="success", confidence=BASE, evidence=evidence)


def evidence_of(failure: Failure) -> dict[str, Any]:
    """Return the evidence of a solved failure: command, error, files and the user's symptom."""
    command, files = failure.command.text, list(failure.files)
    evidence: dict[str, Any] = {COMMAND: command, ERROR: failure.error, FILES: files}
    return evidence | ({SYMPTOM: failure.symptom} if failure.symptom else {})


def is_same_error(one: str, other: str) -> bool:
    """Return True if two error messages share most of the shorter message's words."""
    first, second = ({w for w in words(error) if not w.isdigit()} for error in (one, other))
    least = min(len(first), len(second))
    return least > 0 and len(first & second) >= SAME_ERROR * least


def symptom_in(asked: str, error: str) -> str:
    """Return a prompt's sentence on a symptom, preferably with a word of `error`; '' if none."""
    symptom = pattern(phrases("stated_causes", "symptom"))
    symptoms = [sentence for sentence in sentences_in(asked) if symptom.search(sentence)]
    in_error = {word for word in words(error) if len(word) > 3}
    shared = (sentence for sentence in symptoms if in_error.intersection(words(sentence)))
    return cut(without_secrets(next(shared, symptoms[0] if symptoms else "")), MAX_SYMPTOM_CHARS)


def report_in(asked: str) -> dict[str, Any]:
    """Return a prompt's error line and symptom as evidence; {} if the prompt has neither."""
    error = cut(without_secrets(pasted_error(asked)), MAX_ERROR_CHARS)
    symptom = symptom_in(asked, error)
    return ({ERROR: error} if error else {}) | ({SYMPTOM: symptom} if symptom else {})


def as_object(failure: Failure) -> dict[str, Any]:
    """Return a failure as a JSON object, stored until the next part of the transcript is read."""
    return failure._asdict() | {"command": failure.command._asdict()}


def from_object(value: Mapping[str, Any]) -> Failure | None:
    """Return the failure stored in a JSON object; None if the object is invalid."""
    command, files = value.get("command"), value.get("files")
    if not isinstance(command, dict) or not isinstance(command.get("words"), list):
        return None
    words = tuple(map(str, command["words"]))
    error, cause, symptom = (str(value.get(key, "")) for key in ("error", "cause", "symptom"))
    return Failure(
        Command(str(command.get("text", "")), words, str(command.get("place", ""))),
        error,
        tuple(map(str, files)) if isinstance(files, list) else (),
        cause,
        symptom,
        value.get("passes") is True,
        value.get("is_over") is True,
    )


def _ran(step: Step, open_: list[Failure], asked: str) -> tuple[list[Failure], list[Failure]]:
    """Return the failures that are open after a command, and the failures that it solved."""
    # Redact before splitting: a secret is recognised only together with its option, as in `-p x`.
    command = command_in(without_secrets(step.command), step.place)
    if command is None or command.probes or not command.words:
        return open_, []
    passed = has_passed(step, command)
    if passed is None:
        return open_, []
    if passed:
        over = [failure for failure in open_ if covers(command, failure.command)]
        solved = [f for f in over if any(not file.endswith(_PROSE) for file in f.files)]
        still_open = [failure for failure in open_ if failure not in over]
        return [
            f._replace(passes=True, is_over=True) if share_target(command, f.command) else f
            for f in still_open
        ], solved
    key = (command.words, command.place)
    same = [f for f in open_ if (f.command.words, f.command.place) == key]
    error = cut(without_secrets(signature(step.output)), MAX_ERROR_CHARS)
    text = cut(one_line(command.text), MAX_COMMAND_CHARS)
    failure = Failure(command._replace(text=text, speaks=True), symptom=symptom_in(asked, error))
    failure = same[0]._replace(symptom=same[0].symptom or failure.symptom) if same else failure
    failure = failure._replace(error=error, passes=False, is_over=False)
    return [*(f for f in open_ if f not in same), failure], []


def has_passed(step: Step, command: Command) -> bool | None:
    """Return True if the command passed, False if it failed, None if its outcome is unknown."""
    if step.failed and is_no_failure(step.output):
        return None
    report = outcome(step.output)
    if not command.speaks:
        return True if report is None and not step.failed and is_silent(command) else report
    if step.failed:
        return False
    return None if report is False else True


def _cause(said: str, failure: Failure) -> str:
    cause = cause_in(said, f"{failure.error} {' '.join(failure.files)} {failure.symptom}")
    return without_secrets(cause)
