"""Programs that run the command in their arguments: `sudo make`, `uv run pytest`, `watch date`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence

from memory_fabric.rules import shell
from memory_fabric.rules.shell import Call

# A command and its values of which the lengths multiply to more are not put together.
MAX_FILLED = 1 << 20
# A wrapper is its first one to three words; after the colon, its options that take a value, and
# `+` if a word stands before the command: a time, a file, a user, a folder.
# These only change how the process runs.
_OF_PROCESSES = """time: -f --format -o --output
timeout, gtimeout: + -s --signal -k --kill-after
nice: -n --adjustment
ionice: -c -n
stdbuf: -i -o -e
exec: -a
caffeinate: -t -w
nohup, setsid, command, builtin, lerna exec, unbuffer, chronic, winpty, tini"""
# These find the program among the packages of a project, or fetch it.
_OF_PACKAGES = """npx, npm exec, npm x: -p --package -w --workspace
bunx, pnpx, pnpm dlx, yarn dlx: -p --package
uv run: -p --python --with --extra --group --env-file --project
poetry run, pdm run, hatch run, rye run, pipenv run, bundle exec, pnpm exec, yarn exec, bun x"""
# These change the user or the environment, wait, or run the command several times.
_OTHERS = """sudo: -u --user -g --group -h --host -p -C -T -R -D
doas, pkexec, run0: -u -C --user
env: -u --unset -C --chdir
su, runuser: -u --user -s --shell -g -G -w
xargs: -a -d -E -I -L -n -P -s --max-args --max-procs --replace --delimiter
parallel, sem: -j --jobs -a --arg-file -I --delay --timeout --colsep
dotenv, env-cmd: -e -v -p -f
strace, ltrace: -e -o -p -s
script: + -t -T -E -m
watchexec, nodemon: -e --exts --ext -w --watch -i --ignore -d --debounce --delay --exec -x
flock, gosu, su-exec, nvm exec: + -w --wait --timeout -E
chroot, taskset, chrt, faketime, setarch, when-changed, aws-vault exec, chamber exec, direnv exec: +
systemd-run: -u --unit -p --property --uid --gid --slice --working-directory -E --setenv
nsenter, xvfb-run, retry: -n -s -t -d
conda run, micromamba run, pixi run, volta run, fnm exec: --using -n --name -p --node --npm --yarn
doppler run: -p --project -c --config
op run, infisical run: --env-file --env --path
nix-shell: -p -I -A
tmux: -L -S -f -T
screen: -S -t -p -h -s -T
new-session, tmux new, new-window, tmux neww, split-window, tmux splitw: -s -n -t -c -x -y -F -e -l
respawn-pane, respawn-window, run-shell, tmux run: -t -c -d
pm2 start: -n --name -i
git bisect run, entr, cross-env, direnv, with-env, busybox, toybox, rtk, mise exec, mise x,
corepack, asdf exec, rbenv exec, pyenv exec, fakeroot, eatmydata, dbus-run-session, valgrind,
perf stat, gdb, dotenvx run, pipx run, uvx, tsp, pueue add, nq, ssh-agent, unshare, prlimit,
numactl, setpriv, firejail, proxychains4, torsocks, nix develop"""
# These give the rest of their words to a shell as one line, each word as a line, or type them.
_LINES = """eval, git submodule foreach
watch: -n --interval -q --equexit
sg, cmd: +"""
_EACH = """concurrently: -n --names -c --prefix-colors -k -p --prefix -l --restart-tries
hyperfine: -w --warmup -r --runs -n -N -m -M
trap, stuff"""
_TYPED = "send-keys, tmux send: -t -N"
# These run scripts of package.json by their names.
_SCRIPTS = """npm-run-all, npm-run-all2, run-s, run-p, start-server-and-test, nr, rushx, node --run,
lerna run, turbo, turbo run, nx, nx run-many"""
# Options whose value is a line for a shell.
_LINE_OPTIONS = """su, runuser, script, flock, chokidar, sg: -c --command --session-command
npx, npm: -c --call
nodemon: -x --exec
env: -S --split-string
git: -x --exec
nix-shell: --run --command
powershell, pwsh: -c -Command -command
cargo: -s --shell
tsc-watch: --onSuccess
hyperfine: -p --prepare"""
# Options after which a command follows, up to `;` or `+`.
_EXECUTING = """find: -exec -execdir -ok -okdir
fd, fdfind: -x --exec -X --exec-batch"""


def read(table: str) -> dict[tuple[str, ...], frozenset[str]]:
    """Return the options of a table by the words before them."""
    read: dict[tuple[str, ...], frozenset[str]] = {}
    for line in table.replace(",\n", ", ").splitlines():
        names, _, options = line.partition(":")
        for name in names.split(","):
            read[tuple(name.split())] = frozenset(options.split())
    return read


LINES, EACH, TYPED, SCRIPTS = map(read, (_LINES, _EACH, _TYPED, _SCRIPTS))
LINE_OPTIONS, EXECUTING = read(_LINE_OPTIONS), read(_EXECUTING)
WRAPPERS: Mapping[tuple[str, ...], frozenset[str]] = {
    **read("\n".join((_OF_PROCESSES, _OF_PACKAGES, _OTHERS))), **LINES, **EACH, **TYPED, **SCRIPTS
}  # fmt: skip
OF_PROCESSES, OF_PACKAGES = frozenset(read(_OF_PROCESSES)), frozenset(read(_OF_PACKAGES))
# They say where the command is, and do not run it.
_LOOKING = frozenset((("command", "-v"), ("command", "-V")))
_KEYS = {"Enter": "\n", "C-m": "\n", "Space": " ", "KPEnter": "\n"}


def wrapper_of(words: Sequence[str]) -> tuple[str, ...]:
    """Return the words of the wrapper with which a command begins, a key of WRAPPERS; or ()."""
    first = tuple(words[:3])
    if first[:2] in _LOOKING:
        return ()
    return next((found for found in (first, first[:2], first[:1]) if found in WRAPPERS), ())


def installed_name(program: str) -> str:
    """Return the name of a program that was installed: `.venv/bin/pytest` is `pytest`."""
    is_installed = "/bin/" in program or "/.bin/" in program
    return os.path.basename(program) if is_installed else program


def run_by(call: Call) -> Iterator[Call]:
    """Yield the commands that a command runs from its arguments or its input."""
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
        if word.startswith("-I"):
            mark = word[2:] or following
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
    rest = words[at:]
    if not wrapper or not rest:
        return
    if words[0] in ("npx", "bunx", "pnpx", "corepack") and "@" in rest[0][1:]:
        rest = (rest[0][: rest[0].index("@", 1)], *rest[1:])  # a version
    lines = [" ".join(rest)] if wrapper in LINES or (len(rest) == 1 and " " in rest[0]) else []
    if wrapper in (("parallel",), ("sem",)):
        end = rest.index(":::") if ":::" in rest else len(rest)
        values = rest[end + 1 :] or stdin.splitlines() or [""]
        lines = [" ".join(_filled(rest[:end], "{}", [value])) for value in values]
    elif wrapper in EACH:
        lines = [f"npm run {one[4:]}" if one[:4] == "npm:" else one for one in rest]
        lines = [line.replace("\\n", "\n") for line in lines]
    elif wrapper in TYPED:
        lines = ["".join(_KEYS.get(word, f"{word} ") for word in rest)]
    elif wrapper in SCRIPTS:
        lines = [f"npm run {name}" for name in rest if not name.startswith(("-", "http"))]
    elif wrapper == ("xargs",):
        rest = _filled(rest, mark, stdin.splitlines() if mark else stdin.split())
    elif wrapper == ("tmux",) and words[1:2] != rest[:1]:
        rest = ("tmux", *rest)
    for line in lines:
        yield from shell.calls_in(line, folder, 1)
    if not lines:
        yield Call(rest[1:] if rest[0] == "--" else rest, folder, stdin=stdin)


def _lines_in(words: Sequence[str], stdin: str) -> Iterator[str]:
    """Yield the lines for a shell that options of a program hold, or that a shell reads."""
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
            continue  # `-o pipefail`
        elif is_shell and (word in ("-s", shell.STDIN) or word[:1] not in "-+"):
            yield stdin if word in ("-s", shell.STDIN) else ""  # a script
            return
    if is_shell:
        yield stdin


def _executed(words: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield the commands of `find -exec` and `fd -x`, with the folders for `{}`, and of `tmux`."""
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
    """Return a command with values where its mark stands; without one, at its end."""
    chars = len(" ".join(words)) * len(" ".join(values))
    if not mark or not values or chars > MAX_FILLED or not any(mark in word for word in words):
        return (*words, *values)
    filled: list[str] = []
    for word in words:
        filled += [word.replace(mark, value) for value in values] if mark in word else [word]
    return tuple(filled)
