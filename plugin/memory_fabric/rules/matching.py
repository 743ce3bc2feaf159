"""Comparison of tool calls with the bindings of rules."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from memory_fabric.rules import activities, changed_files, globs, programs, shell
from memory_fabric.rules.bindings import ACTIVITY, COMMAND, PATH, Binding
from memory_fabric.rules.shell import Call

SHELL_TOOL = "Bash"
MAX_COMMANDS = 1000
# Tools that change one file, with the argument that names it.
FILE_TOOLS = dict.fromkeys(("Edit", "Write", "MultiEdit"), "file_path")
FILE_TOOLS["NotebookEdit"] = "notebook_path"
# The argument of an edit that changes several files at once, such as Codex's patches.
SEVERAL_FILES = "file_paths"
# Devices are no files of a project; memory that is mounted there can hold one.
_DEVICES, _MOUNTED_MEMORY = "/dev/", "/dev/shm/"
# Programs whose arguments are targets of which each counts, in any order.
_OF_TARGETS = changed_files.REMOVERS | frozenset("make just task rake ninja mvn gradle".split())
# Programs that run the file in their first argument.
_RUNNERS = shell.SHELLS | frozenset("python node ruby perl php tsx ts-node source .".split())
_HARMLESS = frozenset(("--help", "--version", "--dry-run"))
# Options by their short forms, of a program or one of its commands.
_SYNONYMS = {
    "rm": {"--recursive": "-r", "-R": "-r", "--force": "-f"},
    "git": {"--force": "-f"},
    "git push": {"--force": "-f", "--delete": "-d", "--mirror": "-f --mirror"},
    "git branch": {"-D": "-d -f", "--delete": "-d", "--force": "-f"},
    "git commit": {"--no-verify": "-n", "--all": "-a", "--message": "-m"},
}
_SIGNED = {"+": "-f", ":": "-d"}


class Action(NamedTuple):
    """The part of a tool call that rules are compared with: commands, and absolute paths.

    A path that ends with a slash is a folder that goes away or changes with all that it holds.
    """

    calls: tuple[Call, ...] = ()
    paths: tuple[str, ...] = ()


def action_of(tool: str, arguments: dict[str, object], folder: str) -> Action:
    """Return the commands and files of a tool call made in a folder; empty for other tools."""
    if tool == SHELL_TOOL:
        line = arguments.get("command")
        return of_command(line, folder) if isinstance(line, str) else Action()
    named = arguments.get(FILE_TOOLS.get(tool, ""))
    several = arguments.get(SEVERAL_FILES)
    paths = several if isinstance(several, list) and tool in FILE_TOOLS else [named]
    forms = (form for path in paths if isinstance(path, str) for form in _forms(path, folder))
    return Action(paths=tuple(dict.fromkeys(forms)))


def of_command(line: str, folder: str) -> Action:
    """Return the commands of a line, and the files that it visibly changes."""
    found = (inner for call in shell.calls_in(line, folder) for inner in programs.commands_of(call))
    calls = list(islice(found, MAX_COMMANDS))
    paths = [
        form + "/" * path.endswith("/")
        for call in calls
        for path in changed_files.of_call(call)
        for form in _forms(path, call.folder)
    ]
    commands = tuple(call for call in calls if call.words)
    return Action(commands, tuple(dict.fromkeys(paths)))


def matched(binding: Binding, action: Action, roots: Sequence[str]) -> tuple[str, bool]:
    """Return the command or path of the action that a binding means, '' if there is none, and True
    if it cannot be taken back: it pushes, deploys, publishes or deletes.

    `roots` are the folders from which relative paths of bindings count.
    """
    for call in action.calls:
        if binding.kind != PATH and _means(binding, call, roots):
            return " ".join(call.words), is_final(call, roots)
    patterns: Sequence[str] = ()
    if binding.kind == PATH:
        patterns = globs.alternatives(binding.text)
    elif binding.kind == ACTIVITY and not binding.platform:
        patterns = activities.ACTIVITIES[binding.text].paths
    path = _path_in(patterns, action, roots).rstrip("/")
    return path, bool(path) and any(is_final(call, roots) for call in action.calls)


def is_final(call: Call, roots: Sequence[str]) -> bool:
    """Return True for a command that pushes, deploys, publishes or deletes."""
    return any(_is_part_of(name, "", call, roots) for name in activities.FINAL)


def _means(binding: Binding, call: Call, roots: Sequence[str]) -> bool:
    if binding.kind == COMMAND:
        if not _HARMLESS.isdisjoint(call.words[1 : len(binding.words) + 1]):
            return False
        if binding.folder and not _is_inside(call.folder, binding.folder, roots):
            return False
        return is_command(binding.words, call, roots)
    return _is_part_of(binding.text, binding.platform, call, roots)


def _is_part_of(name: str, platform: str, call: Call, roots: Sequence[str]) -> bool:
    activity = activities.ACTIVITIES[name]
    if not _HARMLESS.isdisjoint(call.words) or call.words[:2] in (("make", "-n"), ("bash", "-n")):
        return False
    program = os.path.basename(call.words[0])
    commands = [
        words
        for words in activity.commands
        if (not platform or words[0] == platform)
        and (words[0].rpartition("/")[2] == program or program in _RUNNERS)
    ]
    if any(_is_activity(words, call, roots) for words in commands):
        return True
    return not platform and _is_script(activity.scripts, call)


def _is_activity(words: tuple[str, ...], call: Call, roots: Sequence[str]) -> bool:
    if words in (("vercel",), ("vite",), ("surge",)):  # without any subcommand
        return call.words[0] == words[0] and len(programs.plain_words(call.words)) == 1
    return is_command(words, call, roots)


def _is_script(scripts: Sequence[str], call: Call) -> bool:
    """Return True for a script or target whose name begins with one of these words."""
    script = programs.as_script(call.words)
    name = script[2] if script else ""
    if call.words[0] in ("make", "just", "task", "deno", "turbo", "nx"):
        plain = [w for w in programs.plain_words(call.words)[1:] if w not in ("run", "task")]
        name = plain[0] if plain else ""
    elif call.words[0] in shell.SHELLS or "/" in call.words[0]:
        named = [w for w in call.words if not w.startswith("-") and w not in shell.SHELLS]
        name = os.path.basename(named[0]).removesuffix(".sh") if named else ""
    return any(name == w or name.startswith((f"{w}:", f"{w}-", f"{w}_")) for w in scripts)


def is_command(words: tuple[str, ...], call: Call, roots: Sequence[str] = ()) -> bool:
    """Return True if a call is the command `words`, with any further arguments.

    Options of `words` must be among those of the call, in any order and form; other options of the
    call may stand anywhere.
    """
    script = programs.as_script(words)
    if script is not None and script[2] != "*":
        called = programs.as_script(call.words)
        is_same = called is not None and called[:2] == script[:2]
        is_same = is_same and called is not None and globs.is_like(called[2], script[2])
        return is_same and _has_options(words, call.words)
    if not words or not _is_program(words[0], call, roots):
        return False
    wanted = programs.plain_words(words)
    if not _has_options(words, call.words):
        return False
    return any(_begins(wanted, had, call, roots) for had in _readings(call.words))


def is_by_another_manager(binding: Binding, call: Call, roots: Sequence[str]) -> bool:
    """Return True if a call runs the bound script of package.json by another package manager."""
    script, called = programs.as_script(binding.words), programs.as_script(call.words)
    if script is None or called is None or script[0] == called[0]:
        return False
    if not globs.is_like(called[2], script[2]):
        return False
    return not binding.folder or _is_inside(call.folder, binding.folder, roots)


def _is_program(wanted: str, call: Call, roots: Sequence[str]) -> bool:
    had = call.words[0]
    if globs.is_glob(wanted) and "/" not in wanted:
        return globs.is_like(wanted, had)
    if "/" not in wanted:
        return had == wanted or (
            os.path.basename(had) == wanted and (had.startswith("./") or wanted.endswith(".sh"))
        )
    if had in _RUNNERS:  # `sh scripts/deploy.sh`
        named = [word for word in call.words[1:] if not word.startswith("-")]
        had = named[0] if named else had
    path = shell.path_in(call.folder, had)
    return bool(path) and any(path == shell.path_in(root, wanted) for root in roots)


def _readings(words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield the arguments without options; where a program is unknown, also without the words
    after options, which may be their values.
    """
    yield programs.plain_words(words)
    if words[0] in programs.VALUE_OPTIONS:
        return
    kept = [words[0]]
    at = 1
    while at < len(words):
        if words[at].startswith("-"):
            at += 1 if "=" in words[at] else 2
            continue
        kept.append(words[at])
        at += 1
    yield tuple(kept)


def _begins(
    wanted: tuple[str, ...], had: tuple[str, ...], call: Call, roots: Sequence[str]
) -> bool:
    if wanted[0] in _OF_TARGETS:
        return all(any(_is_argument(a, b, call, roots) for b in had[1:]) for a in wanted[1:])
    if len(had) < len(wanted):
        return False
    pairs = zip(wanted[1:], had[1:], strict=False)
    return all(_is_argument(a, b, call, roots) for a, b in pairs)


def _is_argument(wanted: str, had: str, call: Call, roots: Sequence[str]) -> bool:
    """Return True for the same word, or another spelling of the same path or branch."""
    if wanted == had or (globs.is_glob(wanted) and globs.is_like(wanted, had)):
        return True
    if call.words[0] == "git" and "push" in call.words:
        return had.lstrip("+").rpartition(":")[2].removeprefix("refs/heads/") == wanted
    if globs.is_glob(wanted) or globs.is_glob(call.words[0]):
        return False
    path = shell.path_in(call.folder, had)
    whole = call.words[0] in changed_files.REMOVERS
    return bool(path) and any(
        globs.reaches(path, shell.path_in(root, wanted), whole=whole) for root in roots
    )


def _has_options(wanted: tuple[str, ...], had: tuple[str, ...]) -> bool:
    plain = programs.plain_words(had)
    same = {**_SYNONYMS.get(had[0], {}), **_SYNONYMS.get(" ".join(plain[:2]), {})}
    there = {short for word in programs.options_of(had) for short in same.get(word, word).split()}
    if plain[:2] == ("git", "push"):  # a branch with a sign
        there |= {_SIGNED[word[0]] for word in plain[2:] if word[:1] in _SIGNED}
    for word in wanted[1:]:
        if word == "--":
            break
        if not word.startswith("-") or len(word) == 1:
            continue
        name = word.partition("=")[0]
        letters = [f"-{c}" for c in name[1:]] if not name.startswith("--") else [name]
        known = {short for letter in letters for short in same.get(letter, letter).split()}
        if name not in there and not known <= there:
            return False
    return True


def _path_in(patterns: Sequence[str], action: Action, roots: Sequence[str]) -> str:
    for path in action.paths:
        for pattern in patterns:
            if _covers(pattern, path, roots):
                return path
    return ""


def _covers(pattern: str, path: str, roots: Sequence[str]) -> bool:
    if pattern.startswith("~"):
        pattern = os.path.expanduser(pattern)
    if os.path.isabs(pattern) and globs.covers(pattern, path):
        return True
    relative = os.path.normpath(pattern) if ".." in pattern else pattern.removeprefix("./")
    whole = path.endswith("/")
    head = globs.literal_head(pattern)
    if (whole or (globs.is_glob(path) and not globs.is_glob(pattern))) and any(
        globs.reaches(path, shell.path_in(root, head or "."), whole=whole) for root in roots
    ):
        return True
    return any(
        globs.covers(relative, path[len(root) :])
        for root in roots
        if path.startswith(root.rstrip("/") + "/")
    )


def _is_inside(folder: str, wanted: str, roots: Sequence[str]) -> bool:
    """Return True if a folder is the wanted one or below it."""
    return bool(folder) and any(
        _covers(wanted, form + "/x", roots) for form in (folder, os.path.realpath(folder))
    )


def _forms(path: str, folder: str) -> Iterator[str]:
    """Yield a path as absolute, and without symbolic links; nothing if it cannot be known."""
    whole = shell.path_in(folder, path)
    is_device = whole.startswith(_DEVICES) and not whole.startswith(_MOUNTED_MEMORY)
    if not whole or is_device:
        return
    yield whole
    real = os.path.realpath(whole)
    if real != whole:
        yield real
