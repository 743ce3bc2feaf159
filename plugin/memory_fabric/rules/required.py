"""The commands of a line in order, and what has to pass before a call: "commit, first `pytest`".

A command passes in a line if the line goes on, or reports success, only where it passed. The pass
of a check (tests, lint, build) counts until a source file changes; that of another command for the
session.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import NamedTuple

from memory_fabric.errors import BadInput
from memory_fabric.rules import matching, paths, programs, shell
from memory_fabric.rules.bindings import (
    ACTIVITIES,
    ACTIVITY,
    FIRST,
    Binding,
    bindings_of,
    name_of,
    required_by,
    with_first,
)
from memory_fabric.rules.effects import is_named
from memory_fabric.rules.matching import Action
from memory_fabric.text import words as words_of

PIPES = ("|", "|&")
_CHECKS, _UNREAD = programs.words_of("checks"), programs.words_of("files that no check reads")
_LISTING = programs.words_of("options that run nothing")
_FIXES = frozenset(("--fix", "-a", "-A"))


class Step(NamedTuple):
    """A command of a line with the files that it changes, and the connector behind it."""

    action: Action
    after: str = ""


def steps_of(line: str, folder: str) -> list[Step]:
    """Return the commands of a line in order, those behind wrappers after the wrapper itself."""
    steps: list[Step] = []
    for outer in shell.calls_in(line, folder):
        calls = list(programs.commands_of(outer))
        is_negated = "!" in outer.raw[:2]
        for place, call in enumerate(calls):
            after = call.after if place else ""
            if place == len(calls) - 1 or outer.after == shell.SUBSTITUTED:
                after = "||" if is_negated else outer.after
            elif not after:
                after = "&&"  # behind a wrapper or a redirection
            steps.append(Step(matching.of_calls([call]), after))
    return steps[: matching.MAX_COMMANDS]


def is_gate(steps: Sequence[Step], at: int, end: int) -> bool:
    """Return True if the line reaches the command `end` only where the one `at` has passed; of the
    place behind the last command, if only then it reports success.
    """
    settings = [
        word
        for step in steps[:at]
        for call in step.action.calls
        if call.words[0] == "set"
        for word in call.words[1:]
    ]
    stops = any("e" in word for word in settings if word[:1] == "-") or "errexit" in settings
    signs = [step.after for step in steps[at:end] if step.after != shell.SUBSTITUTED]
    if end == len(steps) and signs and signs[-1] in ("", ";", "\n", ")"):
        signs.pop()
    if steps[at].after == shell.SUBSTITUTED:
        return False
    piped = len(list(takewhile(PIPES.__contains__, signs)))
    if piped and "pipefail" not in settings:
        return False
    if stops and signs[piped : piped + 1] and signs[piped] in (";", "\n", ")"):
        return True
    return all(sign in ("&&", *PIPES) for sign in signs[piped:])


def runs(binding: Binding, step: Step, roots: Sequence[str]) -> bool:
    """Return True if a command is the one that has to pass, or is part of that activity."""
    calls = [call for call in step.action.calls if _LISTING.isdisjoint(call.words)]
    return bool(matching.matched(binding, Action(tuple(calls)), roots)[0]) or any(
        matching.is_by_another_manager(binding, call, roots) for call in calls
    )


def is_check(binding: Binding) -> bool:
    """Return True if a change of a file undoes the pass."""
    return not _CHECKS.isdisjoint(words_of(binding.text.lower()))


def changed_source(action: Action, roots: Sequence[str]) -> str:
    """Return a changed file that a check may read, from the project's root; '' if there is none.

    Prose, what programs write, files elsewhere and what a formatter does undo no pass.
    """
    for call in action.calls:
        if call.words[0] in paths.IN_PLACE and _FIXES.isdisjoint(call.words):
            return ""
    for root in (root.rstrip("/") + "/" for root in roots):
        for path in action.paths:
            inside = path.removeprefix(root).rstrip("/") if path.startswith(root) else ""
            if inside and not any(paths.covers(pattern, inside) for pattern in _UNREAD):
                return inside
    return ""


def as_typed(when: str, typed: Sequence[str]) -> tuple[str, list[str]]:
    """Return the text of `When:`, and what it names that no prompt of the user names.

    Of a command that has to pass first, and that nobody typed, only the activity stays if that was
    typed: `test` for `pytest`, if the user wrote "the tests".
    """
    required = [_typed_form(binding, typed) for binding in required_by(when)]
    if required != list(required_by(when)):
        when = with_first(when, *map(name_of, required))
    return when, [b.text for b in (*bindings_of(when), *required) if not is_named(b, typed)]


def _typed_form(binding: Binding, typed: Sequence[str]) -> Binding:
    activities = () if is_named(binding, typed) or not binding.words else ACTIVITIES
    step = Step(Action((shell.Call(binding.words, ""),)))
    for activity in (Binding(ACTIVITY, name) for name in activities):
        if is_named(activity, typed) and runs(activity, step, ()):
            return activity
    return binding


def stated_first(when: str | None, first: str) -> str:
    """Return the text of `When:` with what has to pass first, as options of a command state both;
    without `when` it is added to the record's. Raises BadInput.
    """
    text = with_first(when or "", first)
    if first and not required_by(text):
        remedy = "Name a command in code marks, or an activity: '`npm test`', test, lint, build."
        raise BadInput("--first", f"{first!r} is no command or activity.", remedy=remedy)
    if first and when is not None and not bindings_of(when):
        remedy = "For instance --when commit, --when 'git push'."
        raise BadInput("--first", "--first needs the call before which it passes.", remedy=remedy)
    return text if when is not None else text or FIRST.rstrip()
