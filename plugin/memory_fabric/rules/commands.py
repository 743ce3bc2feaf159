"""Shell commands in a form that can be compared: program, folder, and origin of the status.

From a line as people and assistants write it (`cd x && pytest -q 2>&1 | tail -5`), the module
extracts the command that was meant. A script is ignored, because its command is uncertain.
"""

import os
from collections.abc import Sequence
from typing import NamedTuple

from memory_fabric.rules import programs, shell
from memory_fabric.rules.programs import commands_named, words_of

MAX_READ_CHARS = 4000
CONNECTORS = frozenset(("&&", "||", "|&", "|", ";", "&"))
# Commands that inspect, wait or print: their failure is not a problem.
PROBES = words_of("probes")
_GIT_PROBES = words_of("probes of git")
# Commands that only prepare the shell for the actual command.
_SETTING_UP = frozenset("export source . set unset umask ulimit shopt".split())
# Commands that only shorten or save the output.
_FILTERS = words_of("filters")
_SPEAKING = frozenset("echo printf true : date".split())
# `uv run pytest` and `nice pytest` are equal to `pytest`; `sudo make` may pass when `make` fails.
_SAME_BEHIND = {*programs.OF_PROCESSES, *programs.OF_PACKAGES, ("env",)}
_MODULES = frozenset((("python", "-m"), ("python3", "-m")))
# Runners that check everything if they have no arguments: their pass includes each part.
RUNNERS = commands_named(" ".join(programs.sections()["runners"]))
# Different names of the same task: a pass of the whole under one name is a pass under the others.
_SAME_WORK = [*map(frozenset, map(commands_named, programs.sections()["runners of the same"]))]
_KINDS = {
    word: kind
    for kind, _, names in (line.partition(":") for line in programs.sections()["kinds of work"])
    for word in names.split()
}
# Programs that run the file or module in their arguments.
_INTERPRETERS = words_of("interpreters")
# Options that change a runner's output, not its checks.
_LOUDNESS = words_of("loudness")
# With these options, tests that passed before are skipped, so a pass does not cover the whole.
_PARTIAL = frozenset(("--lf", "--last-failed"))


class Command(NamedTuple):
    """A command: `text` for people, and `words` and `place` (its folder) for comparison.

    `speaks` means that the reported exit status is the command's, `probes` that it only inspects.
    """

    text: str
    words: tuple[str, ...]
    place: str = ""
    speaks: bool = True
    probes: bool = False


def command_in(line: str, place: str = "") -> Command | None:
    """Return the command that a line runs in the folder `place`; None if that is uncertain."""
    calls = shell.plain_list(line.strip()) if len(line) <= MAX_READ_CHARS else []
    # The words of each command, with the connector that follows it.
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
    # If one of several commands is a probe, the failed one is unknown and the result uncertain.
    return Command(" ".join(joined), compared, place, speaks, any(map(_is_probe, rows)))


def covers(passed: Command, failed: Command) -> bool:
    """Return True if the pass of one command proves that the other would pass as well."""
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
    """Return True for work whose output does not show that it passed, such as a build."""
    return _kind(command) in ("build", "lint")


def share_target(passed: Command, failed: Command) -> bool:
    """Return True if a pass of one command is evidence that the other no longer fails."""
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
    """Return the commands without final filters and prints, and True if the status is theirs."""
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
    """Return the words without wrappers that change no result, and without the program's folder."""
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
            break  # the wrapper's options may change the program
    return bare


def _is_probe(words: Sequence[str]) -> bool:
    words = [word for place, word in enumerate(words) if place or "=" not in word]
    if not words:
        return True
    if words[0] == "git":
        return len(words) < 2 or words[1] in _GIT_PROBES
    return os.path.basename(words[0]) in PROBES
