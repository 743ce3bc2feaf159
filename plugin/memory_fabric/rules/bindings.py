"""The commands, paths and activities that the text of `When:` names.

The text is written by people and models: `npm run dev`, "before committing", "src/api/**, docs/".
A part that is none of these binds nothing; the rule is then told where others are.
"""

from __future__ import annotations

from typing import NamedTuple

from memory_fabric.rules import activities, globs, programs, shell, wrappers

COMMAND, PATH, ACTIVITY = "command", "path", "activity"
MAX_BINDINGS = 12
MAX_WORDS = 8
# Words before the thing itself; what is left when they are gone must be the thing.
_BEFORE = frozenset(
    """a an the any each every when whenever while before after during on upon for of in under below
    inside to running run runs executing execute calling call using starting start invoking
    changing change changes editing edit edits modifying modify touching touch writing write
    creating adding updating working doing making files file folder directory command commands
    path paths new code all
    bei beim vor vom in im auf dem den der die das jedem jeder jedes
    avant au en le la les un une lors de cada antes al el los las""".split()
)
_SEPARATORS = (",", ";", "、", "，")
# Files that are run, too.
_SCRIPTS = (".sh", ".py", ".bash")
_JOINERS = frozenset(("and", "or", "und", "oder", "et", "ou", "y", "o"))
# Programs by which a command is recognised that no code marks surround.
_PROGRAMS = frozenset(
    """npm pnpm yarn bun npx bunx node deno git gh glab docker kubectl helm make just task cargo go
    python pip uv poetry pytest ruff mypy black tox nox alembic flask django-admin uvicorn celery
    rails rake bundle gem rspec mix iex elixir php composer artisan dotnet mvn gradle java sbt swift
    flutter dart terraform tofu pulumi ansible ansible-playbook fly vercel netlify wrangler railway
    heroku firebase gcloud aws az supabase prisma drizzle-kit knex typeorm sequelize vite vitest
    jest next nuxt astro ng tsc eslint prettier turbo nx lerna playwright cypress psql mysql sqlite3
    mongosh redis-cli rm mv cp curl wget ssh scp rsync sudo systemctl brew apt apt-get sh bash
    convex changeset task-master hugo jekyll twine rclone chmod chown kill pkill killall dd
    serverless cdk sam eb kamal cap semantic-release goreleaser""".split()
)


class Binding(NamedTuple):
    """One thing that a rule is bound to.

    `text` is the command, the glob or the activity as it is shown. `words` are those of a command;
    `folder` limits a command to calls that work in it; `platform` an activity to one program.
    """

    kind: str
    text: str
    words: tuple[str, ...] = ()
    folder: str = ""
    platform: str = ""


def bindings_of(when: str) -> tuple[Binding, ...]:
    """Return the bindings that a text of `When:` names, in its order."""
    found: dict[Binding, None] = {}
    for part in _parts(when):
        for binding in _bound(part):
            found[binding] = None
    return tuple(found)[:MAX_BINDINGS]


def _parts(when: str) -> list[str]:
    """Split at commas, semicolons and joining words, but not inside code marks or braces."""
    parts, current, quote, depth = [], "", "", 0
    for c in when:
        if c == quote:
            quote = ""
        elif not quote and c in "`'\"":
            quote = c if when.count(c) > 1 else ""
        elif c in "{}" and not quote:
            depth += 1 if c == "{" else -1
        if c in _SEPARATORS and not quote and depth <= 0:
            parts.append(current)
            current = ""
        else:
            current += c
    return [piece for part in [*parts, current] for piece in _split_at_joiners(part)]


def _split_at_joiners(part: str) -> list[str]:
    pieces: list[list[str]] = [[]]
    in_code = False
    for word in part.split():
        if word.lower() in _JOINERS and not in_code:
            pieces.append([])
        else:
            pieces[-1].append(word)
        in_code ^= word.count("`") % 2 == 1
    return [" ".join(words) for words in pieces if words]


def _bound(part: str) -> list[Binding]:
    """Return what one part names; several code spans in a part are several things."""
    spans = part.split("`")
    if len(spans) >= 3 and len(spans) % 2:
        around = " ".join(spans[::2])
        folder, rest = _with_folder(around.split())
        if _meaning(rest):
            return []  # more than the code is said: it may mean something else
        return [b for code in spans[1::2] for b in _of_code(code.strip(), folder)]
    words = part.strip().rstrip(".:!").strip("\"'“”«» ").split()
    meant = " ".join(words).lower()
    activity = activities.named(meant) or activities.named(" ".join(_stripped(words)).lower())
    if activity:
        return [Binding(ACTIVITY, activity[0], platform=activity[1])]
    words = _stripped(words)
    if len(words) == 1 and is_path(words[0]):
        return _of_code(words[0], "")
    folder, rest = _with_folder(words)
    if rest and len(rest) <= MAX_WORDS and _begins_command(rest):
        return _of_code(" ".join(rest), folder)
    return []


def _of_code(code: str, folder: str) -> list[Binding]:
    words = code.split()
    if not words:
        return []
    found: list[Binding] = []
    if len(words) == 1 and words[0] not in _PROGRAMS:
        activity = activities.named(code.lower())
        if activity:
            return [Binding(ACTIVITY, activity[0], platform=activity[1])]
        found = [Binding(PATH, words[0])] if is_path(words[0]) and not folder else []
        if not words[0].endswith(_SCRIPTS):
            return found  # a file that nobody runs, or a name from the code
    code = " ".join("*" if _is_placeholder(word) else word for word in words)
    for call in shell.calls_in(code, ""):
        if call.words:
            found.append(Binding(COMMAND, " ".join(call.words), _known(call.words), folder))
    return found


def _known(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return the words of a command in the form in which calls are compared."""
    known = programs.shell_words(words)
    calls = wrappers.run_by(shell.Call(known, "")) if known else ()
    inner = [call.words for call in calls if call.words]
    return _known(inner[0]) if len(inner) == 1 and inner[0] != known else known or words


def _is_placeholder(word: str) -> bool:
    return (word[:1] in "<[{" and word[-1:] in ">]}") or word in ("…", "...", "*", "$")


def is_path(word: str) -> bool:
    """Return True for a word that names a file or folder, or a pattern of some."""
    if (
        "://" in word
        or word.startswith(("-", "@", "$", "#"))
        or word in (".", "..", "/", "*", "**")
    ):
        return False
    if any(c in word for c in "()=\"'<>|&:"):
        return False
    if word.startswith(("./", "../", "~/", "/")) or word.endswith("/") or globs.is_glob(word):
        return any(map(str.isalnum, word))
    name, dot, ending = word.rpartition("/")[2].rpartition(".")
    is_file = bool(dot) and 0 < len(ending) <= 10 and ending.isalnum() and not ending.isdigit()
    if "/" in word:
        return True
    return is_file and (name or word.startswith(".")) is not False and ending.islower()


def _with_folder(words: list[str]) -> tuple[str, list[str]]:
    """Return the folder of "… in apps/web", and the other words."""
    if len(words) >= 2 and words[-2].lower() in ("in", "under", "inside", "from"):
        folder = words[-1].strip("`.,")
        if "/" in folder and is_path(folder):
            return folder, words[:-2]
    return "", words


def _stripped(words: list[str]) -> list[str]:
    at = 0
    while at < len(words) and words[at].lower().strip("'’") in _BEFORE:
        at += 1
    return words[at:]


def _meaning(words: list[str]) -> list[str]:
    return [word for word in words if word.lower().strip(".,:()") not in _BEFORE | {""}]


def _begins_command(words: list[str]) -> bool:
    first = words[0]
    if first.startswith("./") and len(first) > 2:
        return True
    return first in _PROGRAMS and (len(words) > 1 or first not in _WORDS_TOO)


# Programs whose names alone are ordinary words.
_WORDS_TOO = frozenset("make go task just next cap node java dart swift helm black".split())
