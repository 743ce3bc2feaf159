"""Programs that run the command in their arguments: `sudo make`, `uv run pytest`."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# Those that only change how the process runs, each with its options that take a value.
_OF_PROCESSES = {
    "time": "-f --format -o --output",
    "timeout": "-s --signal -k --kill-after",
    "nohup": "",
    "nice": "-n --adjustment",
    "ionice": "-c -n",
    "stdbuf": "-i -o -e",
    "setsid": "",
    "command": "",
    "builtin": "",
    "exec": "-a",
    "caffeinate": "-t -w",
    "unbuffer": "",
    "chronic": "",
}
# Those that find the program among the packages of a project, or fetch it.
_OF_PACKAGES = {
    "npx": "-p --package -w --workspace",
    "bunx": "-p --package",
    "pnpx": "-p --package",
    "uv run": "-p --python --with --extra --group --env-file --project",
    "poetry run": "",
    "pdm run": "",
    "hatch run": "",
    "rye run": "",
    "pipenv run": "",
    "bundle exec": "",
    "pnpm exec": "",
    "pnpm dlx": "--package",
    "yarn exec": "",
    "yarn dlx": "-p --package",
    "npm exec": "-p --package -w --workspace",
    "npm x": "-p --package",
    "bun x": "",
}
# Those that change the user or the environment, or run the command several times.
_OTHERS = {
    "sudo": "-u --user -g --group -h --host -p -C -T -R -D",
    "doas": "-u -C",
    "env": "-u --unset -C --chdir",
    "xargs": "-a -d -E -I -L -n -P -s --max-args --max-procs --replace --delimiter",
    "cross-env": "",
    "dotenv": "-e -v -p",
    "direnv": "",
    "with-env": "",
    "busybox": "",
    "rtk": "",
    "strace": "-e -o -p -s",
    "script": "",
    "direnv exec": "",
    "mise exec": "",
    "doppler run": "-p --project -c --config",
    "op run": "--env-file",
    "infisical run": "--env --path",
}
# The options that take a value, by the one or two words of the wrapper.
WRAPPERS: Mapping[tuple[str, ...], frozenset[str]] = {
    tuple(name.split()): frozenset(options.split())
    for table in (_OF_PROCESSES, _OF_PACKAGES, _OTHERS)
    for name, options in table.items()
}
OF_PROCESSES = frozenset(tuple(name.split()) for name in _OF_PROCESSES)
OF_PACKAGES = frozenset(tuple(name.split()) for name in _OF_PACKAGES)
TIMEOUT, ENV = ("timeout",), ("env",)
# They say where the command is, and do not run it.
_LOOKING = frozenset((("command", "-v"), ("command", "-V")))


def wrapper_of(words: Sequence[str]) -> tuple[str, ...]:
    """Return the words of the wrapper with which a command begins, a key of WRAPPERS; or ()."""
    first = tuple(words[:2])
    if first in _LOOKING:
        return ()
    return next((found for found in (first, first[:1]) if found in WRAPPERS), ())


def options_at(words: Sequence[str], at: int, with_value: frozenset[str]) -> int:
    """Return the number of words of the option that stands at a place, with its value; or 0."""
    if not words[at].startswith("-") or len(words[at]) == 1:
        return 0
    return 2 if words[at] in with_value else 1


def installed_name(program: str) -> str:
    """Return the name of a program that was installed: `.venv/bin/pytest` is `pytest`."""
    is_installed = "/bin/" in program or "/.bin/" in program
    return os.path.basename(program) if is_installed else program
