"""Parse a rule's `When:`, in which people and models write what it is bound to: commands (`npm run
dev`), activities ("before committing") and paths ("src/api/**, docs/"). Other text is ignored. A
rule without a command, path or activity is not bound: it applies to no call. Commands and
activities after `, first ` must have passed before the call: "commit, first `pytest -q`".
`programs.txt` lists the names, commands, scripts and files of each activity. A command is listed by
its first words, without options; `*` stands for any word. A script in package.json, make or a task
runner belongs to an activity if its name begins with a listed word (`deploy:prod`, `deploy-web`).
"""

from collections.abc import Iterable
from typing import NamedTuple

from memory_fabric.rules import programs, shell
from memory_fabric.rules.paths import is_glob
from memory_fabric.rules.programs import commands_named, words_of

COMMAND, PATH, ACTIVITY = "command", "path", "activity"
MAX_BINDINGS, MAX_WORDS = 12, 8
FIRST = ", first "
# Words that may precede a command, path or activity, such as "before".
_BEFORE = words_of("before a binding")
_SEPARATORS = (",", ";", "、", "，")
_SCRIPTS = (".sh", ".py", ".bash")  # extensions of files that can also be run as commands
_JOINERS = frozenset(("and", "or", "und", "oder", "et", "ou", "y", "o"))
# Programs that are recognised without backticks. Those in _WORDS_TOO are also plain words (`go`).
_PROGRAMS, _WORDS_TOO = words_of("programs"), words_of("programs and words")


class Binding(NamedTuple):
    """A command, path or activity to which a rule is bound."""

    kind: str
    text: str  # the text shown to people
    words: tuple[str, ...] = ()  # the words of a command
    folder: str = ""  # the folder in which a command must run, or '' for any
    platform: str = ""  # the platform of an activity


class Activity(NamedTuple):
    """An activity such as deploy: `names` for `When:`, and `words` that mention it in prompts."""

    names: frozenset[str]
    words: frozenset[str]
    commands: tuple[tuple[str, ...], ...]
    scripts: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()


def _activity(lines: Iterable[str]) -> Activity:
    fields: dict[str, list[str]] = {}
    for line in lines:
        field, _, values = line.partition(": ")
        fields.setdefault(field, []).extend(values.split(", "))
    return Activity(
        frozenset(fields["names"]),
        frozenset(fields["words"]),
        commands_named(",".join(fields["commands"])),
        tuple(fields.get("scripts", ())),
        tuple(fields.get("paths", ())),
    )


ACTIVITIES = {
    section.removeprefix("activity "): _activity(lines)
    for section, lines in programs.sections().items()
    if section.startswith("activity ")
}
# Activities that cannot be undone: rules that ask the user do so before each, not once a session.
FINAL = ("push", "deploy", "release", "delete")
# Programs that also name a platform: "Vercel deployment" means only deployments with `vercel`.
_PLATFORMS = words_of("platforms")
_PLATFORM_NAMES = {"fly.io": "fly", "flyio": "fly", "cloudflare": "wrangler", "next.js": "next",
                   "kubernetes": "kubectl", "drizzle": "drizzle-kit"}  # fmt: skip
_BY_NAME = {name: key for key, activity in ACTIVITIES.items() for name in activity.names}


def activity_named(text: str) -> Binding | None:
    """Return the activity that a lower-case text names ("deploy", "vercel deployment"), or None."""
    first, _, behind = text.partition(" ")
    platform = _PLATFORM_NAMES.get(first, first)
    if text in _BY_NAME:
        return Binding(ACTIVITY, _BY_NAME[text])
    if platform in _PLATFORMS and behind in _BY_NAME:
        return Binding(ACTIVITY, _BY_NAME[behind], platform=platform)
    return None


def bindings_of(when: str) -> tuple[Binding, ...]:
    """Return the bindings before `, first ` in the text of `When:`, in the order of the text."""
    bindings = (b for part in _parts(when.partition(FIRST)[0]) for b in _bound(part))
    return tuple(dict.fromkeys(bindings))[:MAX_BINDINGS]


def required_by(when: str) -> tuple[Binding, ...]:
    """Return the commands and activities after `, first ` in the text of `When:`."""
    bindings = (b for part in _parts(when.partition(FIRST)[2]) for b in _bound(part))
    return tuple(dict.fromkeys(b for b in bindings if b.kind != PATH))[:MAX_BINDINGS]


def with_first(when: str, *required: str) -> str:
    """Replace the required commands and activities in the text of `When:` with `required`."""
    stated = ", ".join(filter(None, required))
    return when.partition(FIRST)[0] + (f"{FIRST}{stated}" if stated else "")


def name_of(binding: Binding) -> str:
    """Return a binding's name in the form used in `When:`."""
    if binding.kind == ACTIVITY:
        return f"{binding.platform} {binding.text}".strip()
    code = f"`{binding.text}`" if binding.kind == COMMAND else binding.text
    return f"{code} in {binding.folder}" if binding.folder else code


def _parts(when: str) -> list[str]:
    """Split a text at commas, semicolons and words like "and", but not in code, quotes, braces."""
    parts, quote, depth = [""], "", 0
    for c in when:
        if c == quote:
            quote = ""
        elif not quote and c in "`'\"":
            quote = c if when.count(c) > 1 else ""
        elif c in "{}" and not quote:
            depth += 1 if c == "{" else -1
        if c in _SEPARATORS and not quote and depth <= 0:
            parts.append("")
        else:
            parts[-1] += c
    pieces: list[list[str]] = []
    for part in parts:
        pieces.append([])
        in_code = False
        for word in part.split():
            if word.lower() in _JOINERS and not in_code:
                pieces.append([])
            else:
                pieces[-1].append(word)
            in_code ^= word.count("`") % 2 == 1
    return [" ".join(words) for words in pieces if words]


def _bound(part: str) -> list[Binding]:
    """Return the bindings in one part of `When:`; each code span is parsed as its own binding."""
    spans = part.split("`")
    if len(spans) >= 3 and len(spans) % 2:
        folder, words = _with_folder(" ".join(spans[::2]).split())
        if any(word.lower().strip(".,:()") not in _BEFORE | {""} for word in words):
            return []  # other words beside the code span may change its meaning
        return [binding for code in spans[1::2] for binding in _of_code(code.strip(), folder)]
    words = part.strip().rstrip(".:!").strip("\"'“”«» ").split()
    start = 0
    while start < len(words) and words[start].lower().strip("'’") in _BEFORE:
        start += 1
    activity = activity_named(" ".join(words).lower())
    activity = activity or activity_named(" ".join(words[start:]).lower())
    if activity:
        return [activity]
    words = words[start:]
    if len(words) == 1 and is_path(words[0]):
        return _of_code(words[0], "")
    folder, words = _with_folder(words)
    if not words or len(words) > MAX_WORDS:
        return []
    program = words[0]
    is_program = program in _PROGRAMS and (len(words) > 1 or program not in _WORDS_TOO)
    is_command = is_program or (program.startswith("./") and len(program) > 2)
    return _of_code(" ".join(words), folder) if is_command else []


def _of_code(code: str, folder: str) -> list[Binding]:
    words = code.split()
    if not words:
        return []
    bindings: list[Binding] = []
    if len(words) == 1 and words[0] not in _PROGRAMS:
        if activity := activity_named(code.lower()):
            return [activity]
        bindings = [Binding(PATH, words[0])] if is_path(words[0]) and not folder else []
        if not words[0].endswith(_SCRIPTS):
            return bindings  # not a command: an identifier, or a path that cannot be run
    for at, word in enumerate(words):
        if (word[:1] in "<[{" and word[-1:] in ">]}") or word in ("…", "...", "$"):
            words[at] = "*"  # a placeholder (`<name>`, `…`) stands for any word
    calls = [call.words for call in shell.calls_in(" ".join(words), "") if call.words]
    return bindings + [Binding(COMMAND, " ".join(c), _compared(c), folder) for c in calls]


def _compared(words: tuple[str, ...]) -> tuple[str, ...]:
    """Normalize a command for comparison: `uv run /usr/bin/python3 x` becomes `python x`."""
    plain = programs.shell_words(words)
    calls = programs.run_by(shell.Call(plain, "")) if plain else ()
    inner = [call.words for call in calls if call.words]
    return _compared(inner[0]) if len(inner) == 1 and inner[0] != plain else plain or words


def is_path(word: str) -> bool:
    """Return True if a word is a path to a file or folder, or a pattern of paths."""
    if word.startswith(("-", "@", "$", "#")) or word in (".", "..", "/", "*", "**"):
        return False
    if any(sign in word for sign in "()=\"'<>|&:"):
        return False
    if word.startswith(("./", "../", "~/", "/")) or word.endswith("/") or is_glob(word):
        return any(map(str.isalnum, word))
    ending = word.rpartition(".")[2] if "." in word else ""
    is_file = 0 < len(ending) <= 10 and ending.isalnum() and not ending.isdigit()
    return "/" in word or (is_file and ending.islower())


def _with_folder(words: list[str]) -> tuple[str, list[str]]:
    """Split "… in apps/web" into the folder ('' if there is none) and the words before it."""
    if len(words) >= 2 and words[-2].lower() in ("in", "under", "inside", "from"):
        folder = words[-1].strip("`.,")
        if "/" in folder and is_path(folder):
            return folder, words[:-2]
    return "", words
