"""The programs that a command really runs: without wrappers, and with package managers alike.

A script of package.json has one form for all managers, `(manager, "run", script)`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from memory_fabric.rules import shell, wrappers
from memory_fabric.rules.shell import Call

MANAGERS = ("npm", "pnpm", "yarn", "bun")
# Options of programs that take a value in the next word. Where a program is listed, no other does.
_VALUE_OPTIONS = """git: -C -c --git-dir --work-tree --namespace --exec-path
npm: --prefix -C -w --workspace --loglevel --registry --userconfig --name
pnpm: --dir -C --filter -F --loglevel --reporter --registry
yarn: --cwd --registry
bun: --cwd --filter -F --config -c --env-file
docker: --context -c -H --host -l --log-level --config -f --file -p --project-name --profile \
 --env-file --project-directory
kubectl: -n --namespace --context --kubeconfig --cluster -s --server --user
helm: -n --namespace --kube-context --kubeconfig
make: -C --directory -f --file -j --jobs -I -o -W
cargo: -C --config --color -Z
go: -C
gh: -R --repo
gradle: -p -b
mvn: -f -s -P -pl -T
python: -W -X
terraform, rm: """
VALUE_OPTIONS = {words[0]: options for words, options in wrappers.read(_VALUE_OPTIONS).items()}
# Options that name the folder in which the command works.
FOLDER_OPTIONS = frozenset(("-C", "--prefix", "--dir", "--cwd", "--directory"))
_SAME_PROGRAM = {
    "python3": "python", "py": "python", "pip3": "pip", "docker-compose": "docker compose",
    "flyctl": "fly", "nodejs": "node", "gmake": "make", "gradlew": "gradle", "mvnw": "mvn",
    "sls": "serverless", "netlify-cli": "netlify", "firebase-tools": "firebase", "aws-cdk": "cdk",
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
_MAX_NESTED = 8


def commands_of(call: Call, depth: int = 0) -> Iterator[Call]:
    """Yield the command itself, with its wrappers and without, and those that it runs from its
    arguments. What a redirection writes is a call of its own, without words.
    """
    if call.written:
        yield Call((), call.folder, call.written)
    words = shell_words(call.words) if call.words else ()
    if words:
        named = call._replace(words=words, written=())
        yield named._replace(folder=_worked_in(words, call.folder))
        for inner in wrappers.run_by(named) if depth < _MAX_NESTED else ():
            yield from commands_of(inner, depth + 1)


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
    program = program.removesuffix(".exe").removesuffix(".cmd").removeprefix("\\")
    if program[:6] == "python" and program[6:].replace(".", "").isdigit():
        program = "python"
    if program == "git":
        words = _without_aliases(words)
    return (*_SAME_PROGRAM.get(program, program).split(), *words[1:])


def _without_aliases(words: Sequence[str]) -> Sequence[str]:
    """Return a git command with the aliases that its own options define replaced."""
    for at, word in enumerate(words[:-2]):
        name, sign, value = words[at + 1].partition("=")
        if word == "-c" and sign and name.startswith("alias."):
            rest = words[at + 2 :]
            if rest[:1] == (name.removeprefix("alias."),):
                is_line = value.startswith("!")
                return ("git", "-x", value[1:]) if is_line else ("git", *value.split(), *rest[1:])
    return words


def as_script(words: Sequence[str]) -> tuple[str, str, str] | None:
    """Return (manager, "run", script) for a command that runs a script of package.json."""
    if not words or words[0] not in MANAGERS:
        return None
    rest = plain_words(words)[1:]
    if words[0] == "yarn" and rest[:1] in (("workspace",), ("workspaces",)):
        rest = rest[1 if rest[:2] == ("workspaces", "run") else 2 :]
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
    is_own = rest[0] in _OWN_COMMANDS and (rest[0] != "deploy" or words[0] == "pnpm")
    return None if is_own or is_file else (words[0], "run", rest[0])


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


def _worked_in(words: Sequence[str], folder: str) -> str:
    """Return the folder in which a program works by its options, such as `git -C app`."""
    for at, word in enumerate(words[:-1]):
        if word in FOLDER_OPTIONS and word in VALUE_OPTIONS.get(words[0], ()):
            return shell.path_in(folder, words[at + 1])
    for word in words:
        name, sign, value = word.partition("=")
        if sign and name in FOLDER_OPTIONS:
            return shell.path_in(folder, value)
    return folder
