"""Search command lines for the commands that rules require before a tool call."""

from collections.abc import Sequence
from itertools import takewhile

from memory_fabric.errors import BadInput
from memory_fabric.rules import bindings, matching, paths, programs, shell
from memory_fabric.rules.bindings import ACTIVITY, FIRST, Binding, bindings_of, required_by
from memory_fabric.rules.effects import is_named
from memory_fabric.rules.matching import Action
from memory_fabric.rules.shell import Call
from memory_fabric.text import words as words_of

PIPES, _ENDS = ("|", "|&"), (";", "\n", ")")
_CHECKS, _UNREAD = programs.words_of("checks"), programs.words_of("files that no check reads")
_LISTING = programs.words_of("options that run nothing")
_FIXES = frozenset(("--fix", "-a", "-A"))


def calls_of(line: str, folder: str) -> list[Call]:
    """Return the commands in a line, in order; wrappers and redirections precede their command."""
    # Put `&&` after a wrapper, and `||` after a negated command: `! a && b` runs `b` if `a` fails.
    calls: list[Call] = []
    for outer in shell.calls_in(line, folder):
        after = "||" if "!" in outer.raw[:2] else outer.after
        first, *inner = [*programs.commands_of(outer)] or [outer]
        calls.append(first._replace(after=after if not inner else "&&"))
        calls += [call._replace(after=call.after or "&&") for call in inner]
        calls[-1] = calls[-1]._replace(after=after)
    return calls[: matching.MAX_COMMANDS]


def is_gate(calls: Sequence[Call], at: int, end: int) -> bool:
    """Return True if the command at index `at` must pass for the one at `end` to run. If `end` is
    past the last command, return True if the whole line passes only if the command at `at` passes.
    """
    sets = [word for c in calls[:at] if c.words[:1] == ("set",) for word in c.words[1:]]
    exits = "errexit" in sets or any("e" in word for word in sets if word[0] == "-")
    signs = [call.after for call in calls[at:end] if call.after != shell.SUBSTITUTED]
    if end == len(calls) and signs[-1:] and signs[-1] in ("", *_ENDS):
        signs.pop()
    piped = len(list(takewhile(PIPES.__contains__, signs)))
    may_not_run = at > 0 and calls[at - 1].after == "||"
    if may_not_run or calls[at].after == shell.SUBSTITUTED or (piped and "pipefail" not in sets):
        return False
    is_over = exits and piped < len(signs) and signs[piped] in _ENDS
    return is_over or all(sign in ("&&", *PIPES) for sign in signs[piped:])


def runs(binding: Binding, call: Call, roots: Sequence[str]) -> bool:
    """Return True if a call runs the required command or is part of the required activity."""
    is_read = call.words[:2] in matching.ONLY_READING or not _LISTING.isdisjoint(call.words)
    if not call.words or is_read:
        return False
    plain = binding._replace(words=_without_python(binding.words))
    return matching.is_by_another_manager(binding, call, roots) or any(
        matching.matched(plain, Action((call._replace(words=words),)), roots)[0]
        for words in {call.words, _without_python(call.words)}
    )


def _without_python(words: tuple[str, ...]) -> tuple[str, ...]:
    return words[2:] if words[:2] == ("python", "-m") and words[2:] else words


def is_check(binding: Binding) -> bool:
    """Return True if a command checks files, so that a later file change invalidates a pass."""
    return not _CHECKS.isdisjoint(words_of(binding.text.lower()))


def changed_source(action: Action, roots: Sequence[str]) -> str:
    """Return a changed file that may invalidate a passed check, relative to its root, or ''."""
    if any(c.words[0] in paths.IN_PLACE and _FIXES.isdisjoint(c.words) for c in action.calls):
        return ""
    folders = [root.rstrip("/") + "/" for root in roots]
    inner = (p[len(f) :].rstrip("/") for p in action.paths for f in folders if p.startswith(f))
    sources = (p for p in inner if p and not any(paths.covers(unread, p) for unread in _UNREAD))
    return next(sources, "")


def as_typed(when: str, typed: Sequence[str]) -> tuple[str, list[str]]:
    """Return `When:`, adapted to the texts that the user typed, and the commands, paths and
    activities in it that these do not mention. If the user typed only the activity of a required
    command, it replaces the command: `pytest` becomes `test` if the user typed "the tests".
    """
    stated = required_by(when)
    activities = [Binding(ACTIVITY, name) for name in bindings.ACTIVITIES]
    required = []
    for binding in stated:
        call, is_typed = Call(binding.words, ""), not binding.words or is_named(binding, typed)
        instead = (a for a in activities if is_named(a, typed) and runs(a, call, ()))
        required.append(binding if is_typed else next(instead, binding))
    if tuple(required) != stated:
        when = bindings.with_first(when, *map(bindings.name_of, required))
    return when, [b.text for b in (*bindings_of(when), *required) if not is_named(b, typed)]


def stated_first(when: str | None, first: str) -> str:
    """Build the text of `When:` from the options --when and --first (what has to pass first). If
    `when` is None, return only the part to add to the rule's existing `When:`. Raises BadInput.
    """
    if first and not required_by(FIRST + first):
        remedy = "Name a command in code marks, or an activity: '`make lint`', test, lint, build."
        raise BadInput("--first", f"{first!r} is no command or activity.", remedy=remedy)
    if first and when is not None and not bindings_of(when):
        remedy = "For instance --when commit, --when 'git push'."
        raise BadInput("--first", "--first needs a call that --when binds.", remedy=remedy)
    return FIRST.rstrip() + f" {first}" if when is None else bindings.with_first(when, first)
