"""The programs that a command really runs: without wrappers, and with package managers alike.

A script of package.json has one form for all managers, `(manager, "run", script)`.
"""

from __future__ import annotations

import os

from memory_fabric.rules import shell, wrappers
from memory_fabric.rules.shell import Call

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

MANAGERS = ("npm", "pnpm", "yarn", "bun")
# Options of programs that take a value in the next word. Where a program is listed, no other does.
VALUE_OPTIONS: Mapping[str, frozenset[str]] = {
    name: frozenset(options.split())
    for name, options in {
        "git": "-C -c --git-dir --work-tree --namespace --exec-path",
        "npm": "--prefix -C -w --workspace --loglevel --registry --userconfig",
        "pnpm": "--dir -C --filter -F --loglevel --reporter --registry",
        "yarn": "--cwd --registry",
        "bun": "--cwd --filter -F --config -c --env-file",
        "docker": "--context -c -H --host -l --log-level --config -f --file -p --project-name"
        " --profile --env-file --project-directory",
        "kubectl": "-n --namespace --context --kubeconfig --cluster -s --server --user",
        "helm": "-n --namespace --kube-context --kubeconfig",
        "make": "-C --directory -f --file -j --jobs -I -o -W",
        "cargo": "-C --config --color -Z",
        "go": "-C",
        "gh": "-R --repo",
        "gradle": "-p -b",
        "mvn": "-f -s -P -pl -T",
        "terraform": "",
        "python": "-W -X",
        "rm": "",
    }.items()
}
# Options that name the folder in which the command works.
FOLDER_OPTIONS = frozenset(("-C", "--prefix", "--dir", "--cwd", "--directory"))
_SAME_PROGRAM = {
    "python3": "python", "py": "python", "pip3": "pip", "docker-compose": "docker compose",
    "flyctl": "fly", "nodejs": "node", "gmake": "make", "gradlew": "gradle", "mvnw": "mvn",
    "sls": "serverless",
}  # fmt: skip
_RUN = frozenset(("run", "run-script", "rum", "urn"))
# `npm test` runs the script `test`; so do other managers with every script.
_NPM_SCRIPTS = {"test": "test", "t": "test", "tst": "test", "start": "start", "stop": "stop",
                "restart": "restart"}  # fmt: skip
_OWN_COMMANDS = frozenset(
    """add audit bin cache config create dedupe deploy dlx env exec fetch help i import info init
    install install-test it link list licenses login logout ls node outdated owner pack patch
    plugin prune publish rebuild remove rm root run self-update server set setup store switch
    unlink uninstall up update upgrade upgrade-interactive version versions view why workspace
    workspaces x c ci pm repl build""".split()
)
_MAX_NESTED = 4


def commands_of(call: Call, depth: int = 0) -> Iterator[Call]:
    """Yield the command itself without wrappers, and those that it runs from its arguments."""
    words, folder = call.words, call.folder
    while words:
        words = shell_words(words)
        if not words:
            break
        inner = _inner_text(words, call.stdin)
        if inner is not None:
            if depth < _MAX_NESTED:
                for found in shell.nested(inner, folder):
                    yield from commands_of(found, depth + 1)
            break
        rest, folder = _unwrapped(words, folder)
        if rest is None:
            break
        words = rest
    if words and words[0] == "find" and depth < _MAX_NESTED:
        for part in _executed(words):
            yield from commands_of(Call(part, folder), depth + 1)
    if words or call.written:
        yield call._replace(words=tuple(words), folder=_worked_in(words, folder))


def shell_words(words: Sequence[str]) -> tuple[str, ...]:
    """Return the words with the program's plain name: `python` for `/usr/bin/python3`.

    A path into the project stays, but for programs that a package manager installed there.
    """
    program = words[0]
    while len(words) > 1 and shell.is_assignment(program):
        words = words[1:]
        program = words[0]
    absolute = program.startswith("/")
    program = os.path.basename(program) if absolute else wrappers.installed_name(program)
    program = program.removeprefix("./") if program in ("./gradlew", "./mvnw") else program
    program = program.removesuffix(".exe").removeprefix("\\")
    if program[:6] == "python" and program[6:].replace(".", "").isdigit():
        program = "python"
    return (*_SAME_PROGRAM.get(program, program).split(), *words[1:])


def as_script(words: Sequence[str]) -> tuple[str, str, str] | None:
    """Return (manager, "run", script) for a command that runs a script of package.json."""
    if not words or words[0] not in MANAGERS:
        return None
    rest = plain_words(words)[1:]
    if words[0] == "yarn" and rest[:1] == ("workspace",):
        rest = rest[2:]
    if not rest:
        return None
    if rest[0] in _RUN:
        return (words[0], "run", rest[1]) if len(rest) > 1 else None
    if words[0] == "npm":
        script = _NPM_SCRIPTS.get(rest[0])
        return (words[0], "run", script) if script else None
    is_file = "." in rest[0] or "/" in rest[0]
    if words[0] == "bun" and (is_file or rest[0] == "test"):
        return None
    return None if rest[0] in _OWN_COMMANDS or is_file else (words[0], "run", rest[0])


def plain_words(words: Sequence[str]) -> tuple[str, ...]:
    """Return program and arguments without options and their values, as far as they are known."""
    known = VALUE_OPTIONS.get(words[0], frozenset())
    kept = [words[0]]
    at = 1
    while at < len(words):
        word = words[at]
        if word == "--":
            kept += words[at + 1 :]
            break
        if word.startswith("-") and len(word) > 1:
            at += 2 if word in known else 1
            continue
        kept.append(word)
        at += 1
    return tuple(kept)


def options_of(words: Sequence[str]) -> frozenset[str]:
    """Return the options of a command before `--`, without values: `-rf` as `-r` and `-f`."""
    found: set[str] = set()
    for word in words[1:]:
        if word == "--":
            break
        if word.startswith("--"):
            found.add(word.partition("=")[0])
        elif word.startswith("-") and len(word) > 1:
            found.add(word)
            found.update(f"-{letter}" for letter in word[1:] if letter.isalpha())
    return frozenset(found)


def _inner_text(words: Sequence[str], stdin: str) -> str | None:
    """Return the text that a shell or `eval` runs; None for other programs."""
    program = words[0]
    if program == "eval":
        return " ".join(words[1:])
    if program in ("watch", "concurrently", "parallel", "wsl"):
        return "\n".join(word for word in words[1:] if not word.startswith("-"))
    if program not in shell.SHELLS:
        return None
    for at, word in enumerate(words[1:], 1):
        if word.startswith("-") and not word.startswith("--") and word.endswith("c"):
            return words[at + 1] if at + 1 < len(words) else ""
        if not word.startswith(("-", "+")):
            return None  # a script
    return stdin or None


def _unwrapped(words: tuple[str, ...], folder: str) -> tuple[tuple[str, ...] | None, str]:
    """Return the command behind a wrapper and its folder; None where there is no wrapper."""
    wrapper = wrappers.wrapper_of(words)
    if not wrapper:
        return None, folder
    at, is_timed = len(wrapper), wrapper == wrappers.TIMEOUT
    while at < len(words):
        word = words[at]
        if word in ("-c", "--call") and words[0] in ("npx", "npm"):
            return ("sh", "-c", *words[at + 1 :]), folder
        if word in ("-C", "--chdir") and words[0] == "env" and at + 1 < len(words):
            folder = _joined(folder, words[at + 1])
        if word == "--":
            at += 1
            break
        option_words = wrappers.options_at(words, at, wrappers.WRAPPERS[wrapper])
        if option_words:
            at += option_words
        elif shell.is_assignment(word):
            at += 1
        elif is_timed:
            is_timed = False
            at += 1
        else:
            break
    rest = words[at:]
    if rest and words[0] in ("npx", "bunx", "pnpx") and "@" in rest[0][1:]:
        rest = (rest[0][: rest[0].index("@", 1)], *rest[1:])  # a version
    return (rest or None), folder


def _executed(words: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield the commands of `find -exec`."""
    at = 0
    while at < len(words):
        if words[at] in ("-exec", "-execdir", "-ok", "-okdir"):
            end = next((i for i in range(at, len(words)) if words[i] in (";", "+")), len(words))
            if end > at + 1:
                yield tuple(words[at + 1 : end])
            at = end
        at += 1


def _worked_in(words: Sequence[str], folder: str) -> str:
    """Return the folder in which a program works by its options, such as `git -C app`."""
    for at, word in enumerate(words[:-1]):
        if word in FOLDER_OPTIONS and word in VALUE_OPTIONS.get(words[0], ()):
            return _joined(folder, words[at + 1])
    for word in words:
        name, sign, value = word.partition("=")
        if sign and name in FOLDER_OPTIONS:
            return _joined(folder, value)
    return folder


def _joined(folder: str, path: str) -> str:
    if "$" in path:
        return ""
    if os.path.isabs(path):
        return os.path.normpath(path)
    return os.path.normpath(os.path.join(folder, path)) if folder else ""
