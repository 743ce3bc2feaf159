"""Comparison of tool calls with the bindings of rules."""

from __future__ import annotations

import os

from memory_fabric.rules import activities, globs, programs, shell
from memory_fabric.rules.bindings import ACTIVITY, COMMAND, PATH
from memory_fabric.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from memory_fabric.rules.bindings import Binding
    from memory_fabric.rules.shell import Call

SHELL_TOOL = "Bash"
# Tools that change one file, with the argument that names it.
FILE_TOOLS = {
    "Edit": "file_path",
    "Write": "file_path",
    "MultiEdit": "file_path",
    "NotebookEdit": "notebook_path",
}
# The argument of an edit that changes several files at once, such as Codex's patches.
SEVERAL_FILES = "file_paths"
# Devices are no files of a project; memory that is mounted there can hold one.
_DEVICES, _MOUNTED_MEMORY = "/dev/", "/dev/shm/"
# Programs whose arguments are files that they change or remove; of `cp` it is the last one.
_CHANGERS = frozenset("rm mv tee touch truncate unlink shred".split())
# Programs that run the file in their first argument.
_RUNNERS = shell.SHELLS | frozenset("python node ruby perl php tsx ts-node source .".split())
_HARMLESS = frozenset(("--help", "--version", "--dry-run"))
_SYNONYMS = {
    "rm": {"--recursive": "-r", "-R": "-r", "--force": "-f"},
    "git": {"--force": "-f"},
}


class Action(Value):
    """The part of a tool call that rules are compared with: commands, and absolute paths."""

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
    calls = [found for call in shell.calls_in(line, folder) for found in programs.commands_of(call)]
    paths = [path for call in calls for path in _written(call)]
    return Action(tuple(calls), tuple(dict.fromkeys(paths)))


def matched(binding: Binding, action: Action, roots: Sequence[str]) -> str:
    """Return the command or path of the action that a binding means; '' if there is none.

    `roots` are the folders from which relative paths of bindings count.
    """
    if binding.kind == PATH:
        return _path_in(globs.alternatives(binding.text), action, roots)
    for call in action.calls:
        if call.words and _means(binding, call, roots):
            return " ".join(call.words)
    if binding.kind == ACTIVITY and not binding.platform:
        return _path_in(activities.ACTIVITIES[binding.text].paths, action, roots)
    return ""


def _means(binding: Binding, call: Call, roots: Sequence[str]) -> bool:
    if binding.kind == COMMAND:
        if binding.folder and not _is_inside(call.folder, binding.folder, roots):
            return False
        return is_command(binding.words, call, roots)
    activity = activities.ACTIVITIES[binding.text]
    if not _HARMLESS.isdisjoint(call.words):
        return False
    platform = binding.platform
    commands = [c for c in activity.commands if not platform or c[0] == platform]
    if any(_is_activity(words, call, roots) for words in commands):
        return True
    return not platform and _is_script(activity.scripts, call)


def _is_activity(words: tuple[str, ...], call: Call, roots: Sequence[str]) -> bool:
    if words == ("vercel",):  # deploys without any subcommand
        return call.words[0] == "vercel" and len(programs.plain_words(call.words)) == 1
    if len(words) == 1 and words[0] in ("vite", "surge"):
        return call.words[0] == words[0] and len(programs.plain_words(call.words)) == 1
    return is_command(words, call, roots)


def _is_script(scripts: Sequence[str], call: Call) -> bool:
    """Return True for a script or target whose name begins with one of these words."""
    script = programs.as_script(call.words)
    name = script[2] if script else ""
    if call.words[0] in ("make", "just", "task", "deno", "turbo", "nx"):
        plain = [
            word for word in programs.plain_words(call.words)[1:] if word not in ("run", "task")
        ]
        name = plain[0] if plain else ""
    elif call.words[0] in shell.SHELLS or "/" in call.words[0]:
        named = [w for w in call.words if not w.startswith("-") and w not in shell.SHELLS]
        name = os.path.basename(named[0]).removesuffix(".sh") if named else ""
    return any(
        name == word or name.startswith((f"{word}:", f"{word}-", f"{word}_")) for word in scripts
    )


def is_command(words: tuple[str, ...], call: Call, roots: Sequence[str] = ()) -> bool:
    """Return True if a call is the command `words`, with any further arguments.

    Options of `words` must be among those of the call, in any order and form; other options of the
    call may stand anywhere.
    """
    script = programs.as_script(words)
    if script is not None and script[2] != "*":
        called = programs.as_script(call.words)
        return called == script and _has_options(words, call.words)
    if not words or not _is_program(words[0], call, roots):
        return False
    wanted = programs.plain_words(words)
    if not _has_options(words, call.words):
        return False
    return any(_begins(wanted, had) for had in _readings(call.words))


def is_by_another_manager(binding: Binding, call: Call, roots: Sequence[str]) -> bool:
    """Return True if a call runs the bound script of package.json by another package manager."""
    script, called = programs.as_script(binding.words), programs.as_script(call.words)
    if script is None or called is None or script[1:] != called[1:] or script[0] == called[0]:
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
    path = _absolute(had, call.folder)
    return bool(path) and any(path == _absolute(wanted, root) for root in roots)


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


def _begins(wanted: tuple[str, ...], had: tuple[str, ...]) -> bool:
    if len(had) < len(wanted):
        return False
    pairs = zip(wanted[1:], had[1:], strict=False)
    return all(a == b or (globs.is_glob(a) and globs.is_like(a, b)) for a, b in pairs)


def _has_options(wanted: tuple[str, ...], had: tuple[str, ...]) -> bool:
    same = _SYNONYMS.get(wanted[0], {})
    there = {same.get(option, option) for option in programs.options_of(had)}
    for word in wanted[1:]:
        if word == "--":
            break
        if not word.startswith("-") or len(word) == 1:
            continue
        name = word.partition("=")[0]
        letters = [f"-{c}" for c in name[1:]] if not name.startswith("--") else [name]
        known = {same.get(letter, letter) for letter in letters}
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
    return any(
        globs.covers(os.path.normpath(pattern) if ".." in pattern else pattern.removeprefix("./"),
                     path[len(root) :])
        for root in roots
        if path.startswith(root.rstrip("/") + "/")
    )  # fmt: skip


def _is_inside(folder: str, wanted: str, roots: Sequence[str]) -> bool:
    """Return True if a folder is the wanted one or below it."""
    return bool(folder) and any(
        _covers(wanted, form + "/x", roots) for form in (folder, os.path.realpath(folder))
    )


def _written(call: Call) -> Iterator[str]:
    """Yield the files that a command visibly changes, in the forms that `_forms` gives."""
    for target in call.written:
        yield from _forms(target, call.folder)
    if not call.words:
        return
    program, plain = call.words[0], programs.plain_words(call.words)[1:]
    changed: Sequence[str] = ()
    if program in _CHANGERS:
        changed = plain
    elif program in ("cp", "install", "ln"):
        changed = plain[-1:]
    elif program in ("sed", "perl") and any(
        w.startswith(("-i", "--in-place", "-pi")) for w in call.words
    ):
        changed = plain[1:] or plain
    elif program == "git" and plain[:1] in (("rm",), ("mv",), ("restore",)):
        changed = plain[1:]
    for target in changed:
        yield from _forms(target, call.folder)


def _forms(path: str, folder: str) -> Iterator[str]:
    """Yield a path as absolute, and without symbolic links; nothing if it cannot be known."""
    whole = _absolute(path, folder)
    is_device = whole.startswith(_DEVICES) and not whole.startswith(_MOUNTED_MEMORY)
    if not whole or is_device:
        return
    yield whole
    real = os.path.realpath(whole)
    if real != whole:
        yield real


def _absolute(path: str, folder: str) -> str:
    if not path or "$" in path or "\0" in path:
        return ""
    path = os.path.expanduser(path) if path.startswith("~") else path
    if os.path.isabs(path):
        return os.path.normpath(path)
    return os.path.normpath(os.path.join(folder, path)) if folder else ""
