"""Shell commands in a form that can be compared: program, folder, and origin of the status.

Of a line as people and assistants write it (`cd x && pytest -q 2>&1 | tail -5`) it says which
command was meant; a script, of which that is uncertain, is ignored.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

from memory_fabric.rules import shell, wrappers
from memory_fabric.rules.activities import commands_named

MAX_READ_CHARS = 4000
CONNECTORS = frozenset(("&&", "||", "|&", "|", ";", "&"))
# Commands that look, wait or print: their failure is no problem.
PROBES = frozenset(
    """grep egrep fgrep rg ag ack find fd ls ll dir tree cat bat head tail less more wc sed awk sort
    uniq cut tr diff cmp comm test [ [[ which whereis type command hash pgrep pkill pidof kill
    killall ps lsof stat file du df echo printf pwd true false read sleep wait timeout ping nc man
    env printenv date jq tee xargs cp mv rm mkdir rmdir touch ln chmod clear history open""".split()
)
_GIT_PROBES = frozenset(
    """diff grep log show status ls-files ls-remote rev-parse merge-base check-ignore cat-file
    branch blame remote config stash""".split()
)
# Wrappers of the actual command.
_SETTING_UP = frozenset("export source . set unset umask ulimit shopt".split())
# Commands that only shorten or save the output.
_FILTERS = frozenset(
    "tail head cat tee less more grep egrep rg sed awk sort uniq wc cut tr".split()
)
_SPEAKING = frozenset("echo printf true : date".split())
# `uv run pytest` and `nice pytest` are `pytest`; `sudo make` may pass where `make` fails.
_SAME_BEHIND = wrappers.OF_PROCESSES | wrappers.OF_PACKAGES | {("env",)}
_MODULES = frozenset((("python", "-m"), ("python3", "-m")))
# Runners that check everything if no arguments follow: their pass includes each part.
RUNNERS = commands_named("""
pytest, npm test, npm run test, yarn test, pnpm test, cargo test, cargo build, cargo check,
cargo clippy, go test ./..., go build ./..., go vet ./..., make test, tox, nox, jest, vitest,
vitest run, rspec, tsc, mypy, ruff check, ruff check ., mypy ., mvn test, gradle test,
./gradlew test, phpunit, mix test, dotnet test, npm t, yarn run test, pnpm run test, bun test,
bun run test, vitest --run
""")
# Several names of the same task: a pass of the whole by one is a pass of the others.
_SAME_WORK = (
    frozenset(
        commands_named("""npm test, npm t, npm run test, yarn test, yarn run test, pnpm test,
    pnpm run test, bun test, bun run test, jest, vitest, vitest run, vitest --run""")
    ),
    frozenset(commands_named("pytest, tox, nox")),
)
# Words that tell the kind of work, by kind.
_KINDS = {
    word: kind
    for kind, names in (
        ("test", "test tests t pytest tox nox jest vitest rspec phpunit playwright cypress"),
        ("build", "build tsc compile typecheck type-check check mypy next vite webpack"),
        ("lint", "lint eslint ruff clippy stylelint format prettier"),
        ("install", "install i ci add sync"),
        ("run", "start dev serve preview up"),
        ("migration", "migrate migration migrations"),
        ("deployment", "deploy publish release"),
    )
    for word in names.split()
}
# Programs that run what their arguments name.
_INTERPRETERS = frozenset(
    "python python3 node bash sh zsh deno bun ruby php perl npm npx yarn pnpm make docker".split()
)
_SILENT_KINDS = frozenset(("build", "lint"))
# Options that change the output of a runner, not what it checks.
_LOUDNESS = frozenset(
    """-q -qq -v -vv -vvv -s -x -rA -ra -rf --quiet --verbose --no-header --no-summary --exitfirst
    --silent --color=no --color=yes --color=never --no-color --tb=short --tb=line --tb=long
    --tb=native --tb=no --showlocals -l --nocapture --pretty --output-format=concise
    --ff --lf --last-failed --failed-first""".split()
)
# Some of these options skip what passed before, so that a pass does not cover the whole.
_PARTIAL = frozenset(("--lf", "--last-failed"))


class Command(NamedTuple):
    """A command: `text` for people, `words` and `place` (its folder) to compare it.

    `speaks` means that the reported exit status is its own. `probes` means that it only looks, so
    that its failure is no problem.
    """

    text: str
    words: tuple[str, ...]
    place: str = ""
    speaks: bool = True
    probes: bool = False


def command_in(line: str, place: str = "") -> Command | None:
    """Return the command that a line runs in the folder `place`; None if that is uncertain."""
    parts = _parts(line.strip()) if len(line) <= MAX_READ_CHARS else []
    parts, place = _without_set_up(parts, place)
    parts, speaks = _without_tail(parts)
    if not parts or parts[-1][1] == "&":
        return None
    rows = [_bare(words) for words, _ in parts]
    joined: list[str] = []
    for words, (_, connector) in zip(rows, parts, strict=True):
        joined += [*words, *([connector] if connector else [])]
    if joined and joined[-1] in CONNECTORS:
        joined.pop()
    text = " ".join(joined)
    if len(rows) == 1:
        return Command(text, _quietly(rows[0]), place, speaks, _is_probe(rows[0]))
    # It is unknown which of several failed: one that only looks makes the result uncertain.
    return Command(text, tuple(joined), place, speaks, any(map(_is_probe, rows)))


def covers(passed: Command, failed: Command) -> bool:
    """Return True if the pass of one command proves that the other would pass, too."""
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
    """Return True for work that prints nothing certain when it passes, such as a build."""
    return _kind(command) in _SILENT_KINDS


def share_target(passed: Command, failed: Command) -> bool:
    """Return True if a pass of one command speaks against the other still failing.

    That is the same kind of work in the same folder, or the same program, which for an interpreter
    must have run the same thing.
    """
    if passed.place != failed.place:
        return False
    kind, other = _kind(passed), _kind(failed)
    if kind or other:
        return kind == other
    if passed.words[0] != failed.words[0]:
        return False
    if passed.words[0] not in _INTERPRETERS:
        return True
    return bool(set(passed.words[1:]) & {w for w in failed.words[1:] if not w.startswith("-")})


def _kind(command: Command) -> str:
    names = (part for word in command.words[:4] for part in word.lower().split(":"))
    return next((_KINDS[name] for name in names if name in _KINDS), "")


def _parts(text: str) -> list[tuple[list[str], str]]:
    """Return the commands of a line as words, each with the connector after it; [] for a script."""
    calls = shell.plain_list(text)
    return [(list(call.raw), call.after.replace("\n", ";")) for call in calls if call.raw]


def _without_set_up(
    parts: list[tuple[list[str], str]], place: str
) -> tuple[list[tuple[list[str], str]], str]:
    """Return the commands without those that only prepare, such as `cd`, and their folder."""
    while len(parts) > 1 and parts[0][1] in ("&&", ";"):
        words = parts[0][0]
        if words[0] == "cd" and len(words) == 2 and _is_plain(words[1]):
            place = os.path.normpath(os.path.join(place, words[1].strip("'\"")))
        elif words[0] not in _SETTING_UP:
            break
        parts = parts[1:]
    return parts, place


def _without_tail(
    parts: list[tuple[list[str], str]],
) -> tuple[list[tuple[list[str], str]], bool]:
    """Return the commands without filters and prints at the end, and if the status is theirs."""
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
    """Return the words without wrappers, and the folder of the program."""
    kept = list(words)
    while kept:
        kept[0] = wrappers.installed_name(kept[0])
        behind = _unwrapped(kept)
        if not behind:
            break
        kept = behind
    return kept


def _unwrapped(words: Sequence[str]) -> list[str]:
    """Return the command behind a wrapper, if it is the same work without; [] otherwise.

    Options of a wrapper that finds the program may change what is run.
    """
    wrapper = tuple(words[:2]) if tuple(words[:2]) in _MODULES else wrappers.wrapper_of(words)
    rest: Sequence[str] = words[len(wrapper) :]
    if wrapper in wrappers.OF_PROCESSES:
        rest = next((call.words for call in wrappers.run_by(shell.Call(tuple(words), ""))), ())
    elif wrapper not in _SAME_BEHIND and wrapper not in _MODULES:
        return []
    return [] if rest and rest[0].startswith("-") else list(rest)


def _quietly(words: Sequence[str]) -> tuple[str, ...]:
    """Return the words of a runner without options of its output; for other programs all words."""
    is_runner = any(tuple(words[: len(r)]) == r for r in RUNNERS)
    if not is_runner or not _PARTIAL.isdisjoint(words):
        return tuple(words)
    return tuple(word for word in words if word not in _LOUDNESS)


def _is_probe(words: Sequence[str]) -> bool:
    words = [word for place, word in enumerate(words) if place or "=" not in word]
    if not words:
        return True
    if words[0] == "git":
        return len(words) < 2 or words[1] in _GIT_PROBES
    return os.path.basename(words[0]) in PROBES


def _is_plain(path: str) -> bool:
    return not any(c in path for c in "$~*`") and path != "-"
