"""Convert shell lines to a comparable form: the main command, its folder, and whether the line has
that command's exit status. People and assistants write `cd x && pytest -q 2>&1 | tail -5`: the main
command is `pytest` in `x`, but the status is that of `tail`. Lines with control structures or
substitutions are ignored, because it is not clear which of their commands is the main one.
"""

import os
from collections.abc import Sequence
from typing import NamedTuple

from memory_fabric.rules import programs, shell
from memory_fabric.rules.programs import commands_named, words_of

MAX_READ_CHARS = 4000
CONNECTORS = frozenset(("&&", "||", "|&", "|", ";", "&"))
# Commands that only inspect, wait or print; their failure does not indicate a problem.
PROBES = words_of("probes")
_GIT_PROBES = words_of("probes of git")
# Commands that only prepare the shell for a later command.
_SETTING_UP = frozenset("export source . set unset umask ulimit shopt".split())
_FILTERS = words_of("filters")  # commands that only shorten or save another command's output
_SPEAKING = frozenset("echo printf true : date".split())
# `uv run pytest` counts as `pytest`; `sudo make` is not `make`, which may fail without `sudo`.
_SAME_BEHIND = {*programs.OF_PROCESSES, *programs.OF_PACKAGES, ("env",)}
_MODULES = frozenset((("python", "-m"), ("python3", "-m")))
# Commands that check a whole project: if `pytest` passes, each of its parts (`pytest a.py`) does.
RUNNERS = commands_named(" ".join(programs.sections()["runners"]))
# Groups of commands that do the same whole task: if one of them passes, the other ones do, too.
_SAME_WORK = [*map(frozenset, map(commands_named, programs.sections()["runners of the same"]))]
_KINDS = {
    word: kind
    for kind, _, names in (line.partition(":") for line in programs.sections()["kinds of work"])
    for word in names.split()
}
_INTERPRETERS = words_of("interpreters")  # programs that run a file or module given as an argument
# Options that change how much a runner prints, but not what it checks.
_LOUDNESS = words_of("loudness")
# With these options, pytest runs only the tests that failed in the last run.
_PARTIAL = frozenset(("--lf", "--last-failed"))


class Command(NamedTuple):
    """A command in a comparable form."""

    text: str  # the text shown to people
    words: tuple[str, ...]
    place: str = ""  # the folder in which it is run
    speaks: bool = True  # the exit status of the line is that of this command
    probes: bool = False  # the command only inspects something


def command_in(line: str, place: str = "") -> Command | None:
    """Return the main command of a line run in the folder `place`; None if none is certain."""
    calls = shell.plain_list(line.strip()) if len(line) <= MAX_READ_CHARS else []
    # Pairs of a command's words and the connector (`&&`, `;`, `|` …) that follows the command.
    parts = [(list(call.raw), call.after.replace("\n", ";")) for call in calls if call.raw]
    while len(parts) > 1 and parts[0][1] in ("&&", ";"):
        words = parts[0][0]
        is_cd = words[0] == "cd" and len(words) == 2 and words[1] != "-"
        if is_cd and not set(words[1]) & set("$~*`"):
            place = os.path.normpath(os.path.join(place, words[1].strip("'\"")))
        elif words[0] not in _SETTING_UP:
            break
        parts = parts[1:]
    parts, speaks = _without_tail(parts)
    if not parts or parts[-1][1] == "&":
        return None
    rows = [_bare(words) for words, _ in parts]
    joined = [word for row, (_, sign) in zip(rows, parts, strict=True) for word in (*row, sign)]
    joined = [word for word in joined if word]
    if joined and joined[-1] in CONNECTORS:
        joined.pop()
    compared = tuple(joined)
    if len(rows) == 1:
        compared = tuple(rows[0])
        is_runner = any(compared[: len(runner)] == runner for runner in RUNNERS)
        if is_runner and _PARTIAL.isdisjoint(compared):
            compared = tuple(word for word in compared if word not in _LOUDNESS)
    # A line with a probe (`ls`) is a probe, too, because perhaps only the probe has failed.
    return Command(" ".join(joined), compared, place, speaks, any(map(_is_probe, rows)))


def covers(passed: Command, failed: Command) -> bool:
    """Return True if success of the `passed` command proves that the `failed` one would pass."""
    if passed.place != failed.place:
        return False
    if passed.words == failed.words:
        return True
    if passed.words not in RUNNERS:
        return False
    whole = passed.words[:-1] if passed.words[-1] in (".", "./...") else passed.words
    names = next((names for names in _SAME_WORK if passed.words in names), (whole,))
    return any(failed.words[: len(name)] == name for name in names)


def is_silent(command: Command) -> bool:
    """Return True if a command may pass without output that shows it, as builds and linters may."""
    return _kind(command) in ("build", "lint")


def share_target(passed: Command, failed: Command) -> bool:
    """Return True if `failed` would probably pass now: same folder and kind of work, or program."""
    if passed.place != failed.place:
        return False
    kind, failed_kind = _kind(passed), _kind(failed)
    if kind or failed_kind:
        return kind == failed_kind
    if passed.words[0] != failed.words[0]:
        return False
    if passed.words[0] not in _INTERPRETERS:
        return True
    return bool(set(passed.words[1:]) & {w for w in failed.words[1:] if not w.startswith("-")})


def _kind(command: Command) -> str:
    names = (part for word in command.words[:4] for part in word.lower().split(":"))
    return next((_KINDS[name] for name in names if name in _KINDS), "")


def _without_tail(parts: list[tuple[list[str], str]]) -> tuple[list[tuple[list[str], str]], bool]:
    """Remove a final `| tail` or `; echo`; also return whether the exit status is reliable."""
    speaks = True
    while len(parts) > 1:
        connector, words = parts[-2][1], parts[-1][0]
        filters = connector in ("|", "|&") and words[0] in _FILTERS
        if filters or (connector in (";", "||") and words[0] in _SPEAKING):
            speaks = False
        elif connector != "&&" or words[0] not in _SPEAKING:
            break
        parts = [*parts[:-2], (parts[-2][0], "")]
    return parts, speaks


def _bare(words: Sequence[str]) -> list[str]:
    """Remove the program's folder from the words, and wrappers that do not change the result."""
    bare, behind = list(words), list(words)
    while behind:
        bare = behind
        bare[0] = programs.installed_name(bare[0])
        module = tuple(bare[:2])
        wrapper = module if module in _MODULES else programs.wrapper_of(bare)
        behind = bare[len(wrapper) :] if wrapper in _SAME_BEHIND or wrapper in _MODULES else []
        if wrapper in programs.OF_PROCESSES:
            calls = programs.run_by(shell.Call(tuple(bare), ""))
            behind = list(next((call.words for call in calls), ()))
        if behind and behind[0].startswith("-"):
            break  # the wrapper's options may change what it runs
    return bare


def _is_probe(words: Sequence[str]) -> bool:
    words = [word for place, word in enumerate(words) if place or "=" not in word]
    if not words:
        return True
    if words[0] == "git":
        return len(words) < 2 or words[1] in _GIT_PROBES
    return os.path.basename(words[0]) in PROBES
