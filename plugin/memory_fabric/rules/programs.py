"""Find the programs that a command really runs, without wrappers, in one form for all package
managers. A wrapper runs the command in its arguments: `sudo make`, `uv run pytest`, `watch date`. A
script of package.json has the form `(manager, "run", script)`. `programs.txt` lists both.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import cache

from memory_fabric.rules import shell
from memory_fabric.rules.shell import Call

MANAGERS = ("npm", "pnpm", "yarn", "bun")
# If inserting values at `{}` could yield more characters than this, they are appended instead.
MAX_FILLED = 1 << 20
_MAX_NESTED = 8
# Options that specify the folder in which a command works.
FOLDER_OPTIONS = frozenset(("-C", "--prefix", "--dir", "--cwd", "--directory"))
_RUN = frozenset(("run", "run-script", "rum", "urn"))
# Scripts that npm runs without `run`; other managers run every script by its name alone.
_NPM_SCRIPTS = {"test": "test", "t": "test", "tst": "test", "start": "start", "stop": "stop",
                "restart": "restart"}  # fmt: skip
# Wrappers with an option to only report where a command is, without running it.
_LOOKING = frozenset((("command", "-v"), ("command", "-V")))
_KEYS = {"Enter": "\n", "C-m": "\n", "Space": " ", "KPEnter": "\n"}


@cache
def sections() -> dict[str, list[str]]:
    """Return the lines of each section of `programs.txt`, without comments."""
    sections: dict[str, list[str]] = {}
    with open(os.path.join(os.path.dirname(__file__), "programs.txt"), encoding="utf-8") as stream:
        for line in stream.read().split("\n"):
            if line[:1] == "[" and line[-1:] == "]":
                lines = sections[line[1:-1]] = []
            elif line and not line.startswith("# "):
                lines.append(line)
    return sections


@cache
def words_of(section: str) -> frozenset[str]:
    """Return the set of words in a section of `programs.txt`."""
    return frozenset(" ".join(sections()[section]).split())


def commands_named(text: str) -> tuple[tuple[str, ...], ...]:
    """Parse a comma-separated list of commands; return the words of each command."""
    return tuple(tuple(command.split()) for command in text.split(",") if command.strip())


@cache
def options_in(*names: str) -> dict[tuple[str, ...], frozenset[str]]:
    """Parse sections with lines `command, command: options`; return each command's options."""
    table: dict[tuple[str, ...], frozenset[str]] = {}
    for line in (line for name in names for line in sections()[name]):
        commands, _, options = line.partition(":")
        table |= dict.fromkeys(commands_named(commands), frozenset(options.split()))
    return table


LINES, EACH = options_in("wrappers of a line"), options_in("wrappers of lines")
TYPED, SCRIPTS = options_in("wrappers that type"), options_in("wrappers of scripts")
LINE_OPTIONS, EXECUTING = options_in("options with a line"), options_in("options with a command")
OF_PROCESSES, OF_PACKAGES = options_in("wrappers of processes"), options_in("wrappers of packages")
WRAPPERS = OF_PROCESSES | OF_PACKAGES | options_in("other wrappers")
WRAPPERS |= LINES | EACH | TYPED | SCRIPTS
VALUE_OPTIONS = {words[0]: options for words, options in options_in("options with a value").items()}
_OWN_COMMANDS = words_of("own commands")
_SAME_PROGRAM = {a: words for words, aliases in options_in("aliases").items() for a in aliases}


def commands_of(call: Call, depth: int = 0) -> Iterator[Call]:
    """Yield redirections as a separate call, the simplified command, then the commands it runs."""
    if call.written:
        yield Call((), call.folder, call.written)
    if words := shell_words(call.words) if call.words else ():
        plain_call = call._replace(words=words, written=())
        options = FOLDER_OPTIONS & VALUE_OPTIONS.get(words[0], frozenset())
        folders = [words[at + 1] for at, word in enumerate(words[:-1]) if word in options]
        pairs = (word.partition("=") for word in words)
        folders += [value for name, sign, value in pairs if sign and name in FOLDER_OPTIONS]
        folder = shell.path_in(call.folder, folders[0]) if folders else call.folder
        yield plain_call._replace(folder=folder)
        for inner in run_by(plain_call) if depth < _MAX_NESTED else ():
            yield from commands_of(inner, depth + 1)


def shell_words(words: Sequence[str]) -> tuple[str, ...]:
    """Simplify the program's name in a command: `python` for `/usr/bin/python3`."""
    while len(words) > 1 and shell.is_assignment(words[0]):
        words = words[1:]
    program = words[0]
    program = os.path.basename(program) if program[:1] == "/" else installed_name(program)
    program = program.removeprefix("./") if program in ("./gradlew", "./mvnw") else program
    program = program.removesuffix(".exe").removesuffix(".cmd").removeprefix("\\")
    if program[:6] == "python" and program[6:].replace(".", "").isdigit():
        program = "python"
    # Expand aliases defined in a git command by `-c alias.NAME=VALUE`.
    for at, word in enumerate(words[:-2] if program == "git" else ()):
        alias, sign, value = words[at + 1].partition("=")
        arguments = words[at + 2 :]
        if word == "-c" and sign and alias == f"alias.{arguments[0]}":
            is_line = value.startswith("!")
            expanded = ("-x", value[1:]) if is_line else (*value.split(), *arguments[1:])
            words = (program, *expanded)
            break
    return (*_SAME_PROGRAM.get(program, (program,)), *words[1:])


def as_script(words: Sequence[str]) -> tuple[str, str, str] | None:
    """Return (manager, "run", script) if a command runs a script of package.json, else None."""
    if not words or words[0] not in MANAGERS:
        return None
    arguments = plain_words(words)[1:]
    if words[0] == "yarn" and arguments[:1] in (("workspace",), ("workspaces",)):
        arguments = arguments[1 if arguments[:2] == ("workspaces", "run") else 2 :]
    if not arguments:
        return None
    if arguments[0] in _RUN:
        return (words[0], "run", arguments[1]) if len(arguments) > 1 else None
    if words[0] == "npm":
        script = _NPM_SCRIPTS.get(arguments[0])
        return (words[0], "run", script) if script else None
    is_file = "." in arguments[0] or "/" in arguments[0]
    if words[0] == "bun" and (is_file or arguments[0] == "test"):
        return None
    is_own = arguments[0] in _OWN_COMMANDS and (arguments[0] != "deploy" or words[0] == "pnpm")
    return None if is_own or is_file else (words[0], "run", arguments[0])


def plain_words(words: Sequence[str]) -> tuple[str, ...]:
    """Return the program and its arguments, without options and the values of known options."""
    value_options = VALUE_OPTIONS.get(words[0], frozenset())
    plain = [words[0]]
    at = 1
    while at < len(words):
        word = words[at]
        if word == "--":
            plain += words[at + 1 :]
            break
        if word.startswith("-") and len(word) > 1:
            at += 2 if word in value_options else 1
            continue
        plain.append(word)
        at += 1
    return tuple(plain)


def options_of(words: Sequence[str]) -> frozenset[str]:
    """Return the options before `--`, without values; `-rf` also yields `-r` and `-f`."""
    options: set[str] = set()
    for word in words[1:]:
        if word == "--":
            break
        if word.startswith("--"):
            options.add(word.partition("=")[0])
        elif word.startswith("-") and len(word) > 1:
            options.add(word)
            options.update(f"-{letter}" for letter in word[1:] if letter.isalpha())
    return frozenset(options)


def wrapper_of(words: Sequence[str]) -> tuple[str, ...]:
    """Return the words of the wrapper (a key of WRAPPERS) at the beginning of a command, or ()."""
    first = tuple(words[:3])
    if first[:2] in _LOOKING:
        return ()
    return next((wrapper for wrapper in (first, first[:2], first[:1]) if wrapper in WRAPPERS), ())


def installed_name(program: str) -> str:
    """Return the plain name of a program in a `bin` folder; return any other program unchanged."""
    return os.path.basename(program) if "/bin/" in program or "/.bin/" in program else program


def run_by(call: Call) -> Iterator[Call]:
    """Yield the commands that a call runs because its arguments or its input contain them."""
    words, stdin, folder = call.words, call.stdin, call.folder
    for line in _lines_in(words, stdin):
        yield from shell.calls_in(line, folder, 1)
    for part in _executed(words):
        yield Call(part, folder)
    wrapper = wrapper_of(words)
    options = WRAPPERS.get(wrapper, frozenset())
    at, mark, has_operand = len(wrapper), "", "+" in options
    while wrapper and at < len(words):
        word, following = words[at], "".join(words[at + 1 : at + 2])
        if word in ("-C", "--chdir", "--working-directory"):
            folder = shell.path_in(folder, following)
        mark = word[2:] or following if word.startswith("-I") else mark
        if word.startswith("-") and len(word) > 1:
            is_cluster = word[1:].isalpha() and f"-{word[-1]}" in options
            at += 2 if word in options or is_cluster else 1
        elif shell.is_assignment(word) or has_operand:
            has_operand = has_operand and shell.is_assignment(word)
            at += 1
        else:
            break
        if word == "--":
            break
    command = words[at:]
    if not wrapper or not command:
        return
    if words[0] in ("npx", "bunx", "pnpx", "corepack") and "@" in command[0][1:]:
        command = (command[0][: command[0].index("@", 1)], *command[1:])  # remove the version
    is_line = wrapper in LINES or (len(command) == 1 and " " in command[0])
    lines = [" ".join(command)] if is_line else []
    if wrapper in (("parallel",), ("sem",)):
        end = command.index(":::") if ":::" in command else len(command)
        values = command[end + 1 :] or stdin.splitlines() or [""]
        lines = [" ".join(_filled(command[:end], "{}", [value])) for value in values]
    elif wrapper in EACH:
        lines = [f"npm run {word[4:]}" if word[:4] == "npm:" else word for word in command]
        lines = [line.replace("\\n", "\n") for line in lines]
    elif wrapper in TYPED:
        lines = ["".join(_KEYS.get(word, f"{word} ") for word in command)]
    elif wrapper in SCRIPTS:
        lines = [f"npm run {name}" for name in command if not name.startswith(("-", "http"))]
    elif wrapper == ("xargs",):
        command = _filled(command, mark, stdin.splitlines() if mark else stdin.split())
    elif wrapper == ("tmux",) and words[1:2] != command[:1]:
        command = ("tmux", *command)
    for line in lines:
        yield from shell.calls_in(line, folder, 1)
    if not lines:
        yield Call(command[1:] if command[0] == "--" else command, folder, stdin=stdin)


def _lines_in(words: Sequence[str], stdin: str) -> Iterator[str]:
    """Yield the lines of shell code in a program's options or, if it is a shell, in its input."""
    options = LINE_OPTIONS.get((words[0],), frozenset())
    is_shell = words[0] in shell.SHELLS
    if words[0] in ("at", "batch") or (words[0] in ("source", ".") and shell.STDIN in words):
        yield stdin
        return
    for at, word in enumerate(words[1:], 1):
        name, sign, value = word.partition("=")
        is_short = word[:1] == "-" != word[1:2]
        if word in options or (word[-1:] == "c" and is_short and (is_shell or "-c" in options)):
            yield from words[at + 1 : at + 2]
            return
        if (sign and name in options) or (is_short and word[:2] in options):
            yield value if sign and name in options else word[2:]
        elif is_shell and words[at - 1][:1] in "-+" and words[at - 1][-1] in "oO":
            continue  # skip the value in `-o pipefail`
        elif is_shell and (word in ("-s", shell.STDIN) or word[:1] not in "-+"):
            yield stdin if word in ("-s", shell.STDIN) else ""  # script files are not read
            return
    if is_shell:
        yield stdin


def _executed(words: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield the commands in `find -exec`, `fd -x` and `tmux`; `find`'s folders replace `{}`."""
    options = EXECUTING.get((words[0],), frozenset())
    folders = shell.operands_of_find(words) if words[0] == "find" else ()
    at = 0
    while options and at < len(words):
        if words[at] in options:
            end = next((i for i in range(at, len(words)) if words[i] in (";", "+")), len(words))
            has_mark = "{}" in " ".join(words[at + 1 : end])
            yield _filled(words[at + 1 : end], "{}", folders if has_mark else ())
            at = end
        at += 1
    if words[0] == "tmux" and ";" in words:
        yield ("tmux", *words[words.index(";") + 1 :])


def _filled(words: Sequence[str], mark: str, values: Sequence[str]) -> tuple[str, ...]:
    """Return a command with its placeholder `mark` replaced by values, or with values appended."""
    chars = len(" ".join(words)) * len(" ".join(values))
    if not mark or not values or chars > MAX_FILLED or not any(mark in word for word in words):
        return (*words, *values)
    filled: list[str] = []
    for word in words:
        filled += [word.replace(mark, value) for value in values] if mark in word else [word]
    return tuple(filled)
