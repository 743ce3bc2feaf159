"""Find the bound rules that apply to a tool call, and write the texts that report these rules."""

import os
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import NamedTuple

from memory_fabric import models
from memory_fabric.ids import short_id
from memory_fabric.rules import bindings, paths, programs, shell
from memory_fabric.rules.bindings import ACTIVITIES, ACTIVITY, COMMAND, PATH, Binding
from memory_fabric.rules.shell import Call
from memory_fabric.store.home import launch_marks
from memory_fabric.store.memory import Memory
from memory_fabric.store.projects import identity
from memory_fabric.store.queries.conditions import OF_SESSION
from memory_fabric.text import CLOSE_FENCE, OPEN_FENCE, cut, one_line
from memory_fabric.text import words as words_of

SHELL_TOOL = "Bash"
MAX_COMMANDS = 1000
# Tools that change a file, with the argument that contains the file's path.
FILE_TOOLS = dict.fromkeys(("Edit", "Write", "MultiEdit"), "file_path")
FILE_TOOLS["NotebookEdit"] = "notebook_path"
# The argument with a list of paths, if a call changes several files, such as a patch of Codex.
SEVERAL_FILES = "file_paths"
# Paths under /dev are devices, not project files, except in /dev/shm, which is a memory disk.
_DEVICES, _MOUNTED_MEMORY = "/dev/", "/dev/shm/"
# Programs whose arguments are files or build targets; a rule matches these in any order.
_OF_TARGETS = paths.REMOVERS | frozenset("make just task rake ninja mvn gradle".split())
# Programs that run a file given as their first argument.
_RUNNERS = shell.SHELLS | frozenset("python node ruby perl php tsx ts-node source .".split())
ONLY_READING = (("make", "-n"), ("bash", "-n"))
_HARMLESS = frozenset(("--help", "--version", "--dry-run"))
# Equivalent short options, by program or by a program's subcommand.
_SYNONYMS = {
    "rm": {"--recursive": "-r", "-R": "-r", "--force": "-f"},
    "git": {"--force": "-f"},
    "git push": {"--force": "-f", "--delete": "-d", "--mirror": "-f --mirror"},
    "git branch": {"-D": "-d -f", "--delete": "-d", "--force": "-f"},
    "git commit": {"--no-verify": "-n", "--all": "-a", "--message": "-m"},
}
_SIGNED = {"+": "-f", ":": "-d"}


class Action(NamedTuple):
    """The commands and changed files of a tool call, with which rules are compared."""

    calls: tuple[Call, ...] = ()
    # Absolute paths of changed files; a final slash marks a folder changed or removed as a whole.
    paths: tuple[str, ...] = ()


def action_of(tool: str, arguments: dict[str, object], folder: str) -> Action:
    """Return the commands and changed files of a shell or edit call; else an empty Action."""
    if tool == SHELL_TOOL:
        line = arguments.get("command")
        return of_command(line, folder) if isinstance(line, str) else Action()
    single_path = arguments.get(FILE_TOOLS.get(tool, ""))
    several = arguments.get(SEVERAL_FILES)
    named_paths = several if isinstance(several, list) and tool in FILE_TOOLS else [single_path]
    forms = (form for path in named_paths if isinstance(path, str) for form in _forms(path, folder))
    return Action(paths=tuple(dict.fromkeys(forms)))


def of_command(line: str, folder: str) -> Action:
    """Return the commands in a shell line, and the files that they evidently change."""
    inner = map(programs.commands_of, shell.calls_in(line, folder))
    return of_calls(list(islice(chain.from_iterable(inner), MAX_COMMANDS)))


def of_calls(calls: Sequence[Call]) -> Action:
    """Return these commands, and the files that they evidently change, as an Action."""
    named = ((path, call.folder) for call in calls for path in paths.of_call(call))
    changed = [form + "/" * p.endswith("/") for p, folder in named for form in _forms(p, folder)]
    return Action(tuple(call for call in calls if call.words), tuple(dict.fromkeys(changed)))


def matched(binding: Binding, action: Action, roots: Sequence[str]) -> tuple[str, bool]:
    """Return the first command or path of the action that matches a binding (or ''), and whether
    that command, or for a path any command, is final. Relative paths in bindings refer to `roots`.
    """
    for call in action.calls if binding.kind != PATH else ():
        if binding.kind == ACTIVITY:
            is_meant = _is_part_of(binding.text, binding.platform, call, roots)
        else:
            is_meant = (
                _HARMLESS.isdisjoint(call.words[1 : len(binding.words) + 1])
                and (not binding.folder or _is_inside(call.folder, binding.folder, roots))
                and is_command(binding.words, call, roots)
            )
        if is_meant:
            return " ".join(call.words), is_final(call, roots)
    patterns: Sequence[str] = ()
    if binding.kind == PATH:
        patterns = shell.alternatives(binding.text)
    elif binding.kind == ACTIVITY and not binding.platform:
        patterns = ACTIVITIES[binding.text].paths
    covered = (p for p in action.paths if any(_covers(pattern, p, roots) for pattern in patterns))
    path = next(covered, "").rstrip("/")
    return path, bool(path) and any(is_final(call, roots) for call in action.calls)


def is_final(call: Call, roots: Sequence[str]) -> bool:
    """Return True if a command cannot be undone: it pushes, deploys, publishes or deletes."""
    return any(_is_part_of(name, "", call, roots) for name in bindings.FINAL)


def _is_part_of(name: str, platform: str, call: Call, roots: Sequence[str]) -> bool:
    activity = ACTIVITIES[name]
    if not _HARMLESS.isdisjoint(call.words) or call.words[:2] in ONLY_READING:
        return False
    program = os.path.basename(call.words[0])
    for words in activity.commands:
        is_program = words[0].rpartition("/")[2] == program or program in _RUNNERS
        if not is_program or (platform and words[0] != platform):
            continue
        if words in (("vercel",), ("vite",), ("surge",)):  # these deploy only without a subcommand
            is_meant = program == words[0] == call.words[0]
            is_meant = is_meant and len(programs.plain_words(call.words)) == 1
        else:
            is_meant = is_command(words, call, roots)
        if is_meant:
            return True
    # The call may also run a script or target named after the activity, such as `deploy:prod`.
    script = programs.as_script(call.words)
    name = script[2] if script else ""
    if call.words[0] in ("make", "just", "task", "deno", "turbo", "nx"):
        plain = [w for w in programs.plain_words(call.words)[1:] if w not in ("run", "task")]
        name = plain[0] if plain else ""
    elif call.words[0] in shell.SHELLS or "/" in call.words[0]:
        arguments = [w for w in call.words if not w.startswith("-") and w not in shell.SHELLS]
        name = os.path.basename(arguments[0]).removesuffix(".sh") if arguments else ""
    fits = (name == w or name.startswith((f"{w}:", f"{w}-", f"{w}_")) for w in activity.scripts)
    return not platform and any(fits)


def is_command(words: tuple[str, ...], call: Call, roots: Sequence[str] = ()) -> bool:
    """Return True if a call runs the command `words`, perhaps with more arguments and options."""
    script = programs.as_script(words)
    if script is not None and script[2] != "*":
        called = programs.as_script(call.words)
        is_same = called is not None and called[:2] == script[:2]
        is_same = is_same and called is not None and paths.is_like(called[2], script[2])
        return is_same and _has_options(words, call.words)
    if not words or not _is_program(words[0], call, roots) or not _has_options(words, call.words):
        return False
    wanted = programs.plain_words(words)
    for arguments in _readings(call.words):
        if wanted[0] in _OF_TARGETS:
            rows = [[(a, b) for b in arguments[1:]] for a in wanted[1:]]
        else:
            rows = [[pair] for pair in zip(wanted[1:], arguments[1:], strict=False)]
            if len(arguments) < len(wanted):
                continue
        if all(any(_is_argument(a, b, call, roots) for a, b in row) for row in rows):
            return True
    return False


def is_by_another_manager(binding: Binding, call: Call, roots: Sequence[str]) -> bool:
    """Return True if a call runs the bound script with another package manager (yarn, not npm)."""
    script, called = programs.as_script(binding.words), programs.as_script(call.words)
    if script is None or called is None or script[0] == called[0]:
        return False
    if not paths.is_like(called[2], script[2]):
        return False
    return not binding.folder or _is_inside(call.folder, binding.folder, roots)


def _is_program(wanted: str, call: Call, roots: Sequence[str]) -> bool:
    had = call.words[0]
    if paths.is_glob(wanted) and "/" not in wanted:
        return paths.is_like(wanted, had)
    if "/" not in wanted:
        return had == wanted or (
            os.path.basename(had) == wanted and (had.startswith("./") or wanted.endswith(".sh"))
        )
    if had in _RUNNERS:  # compare the file that it runs: `sh scripts/deploy.sh`
        arguments = [word for word in call.words[1:] if not word.startswith("-")]
        had = arguments[0] if arguments else had
    path = shell.path_in(call.folder, had)
    return bool(path) and any(path == shell.path_in(root, wanted) for root in roots)


def _readings(words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield a command without options; for an unknown program, also without words after options."""
    yield programs.plain_words(words)
    if words[0] in programs.VALUE_OPTIONS:
        return
    plain, is_value = [words[0]], False
    for word in words[1:]:
        if word.startswith("-") and not is_value:
            is_value = "=" not in word
            continue
        plain += [] if is_value else [word]
        is_value = False
    yield tuple(plain)


def _is_argument(wanted: str, had: str, call: Call, roots: Sequence[str]) -> bool:
    """Return True if two arguments are equal, or mean the same path or branch."""
    if wanted == had or (paths.is_glob(wanted) and paths.is_like(wanted, had)):
        return True
    if call.words[0] == "git" and "push" in call.words:
        return had.lstrip("+").rpartition(":")[2].removeprefix("refs/heads/") == wanted
    if paths.is_glob(wanted) or paths.is_glob(call.words[0]):
        return False
    path = shell.path_in(call.folder, had)
    whole = call.words[0] in paths.REMOVERS
    targets = (shell.path_in(root, wanted) for root in roots)
    return bool(path) and any(paths.reaches(path, target, whole=whole) for target in targets)


def _has_options(wanted: tuple[str, ...], had: tuple[str, ...]) -> bool:
    plain = programs.plain_words(had)
    same = {**_SYNONYMS.get(had[0], {}), **_SYNONYMS.get(" ".join(plain[:2]), {})}
    options = {short for word in programs.options_of(had) for short in same.get(word, word).split()}
    if plain[:2] == ("git", "push"):  # `+branch` forces a push; `:branch` deletes
        options |= {_SIGNED[word[0]] for word in plain[2:] if word[:1] in _SIGNED}
    for word in wanted[1:]:
        if word == "--":
            break
        if not word.startswith("-") or len(word) == 1:
            continue
        name = word.partition("=")[0]
        letters = [f"-{c}" for c in name[1:]] if not name.startswith("--") else [name]
        short_forms = {short for letter in letters for short in same.get(letter, letter).split()}
        if name not in options and not short_forms <= options:
            return False
    return True


def _covers(pattern: str, path: str, roots: Sequence[str]) -> bool:
    pattern = os.path.expanduser(pattern) if pattern.startswith("~") else pattern
    if os.path.isabs(pattern) and paths.covers(pattern, path):
        return True
    relative = os.path.normpath(pattern) if ".." in pattern else pattern.removeprefix("./")
    if relative.startswith("../"):  # beside the project
        places = ((shell.path_in(root, pattern), root) for root in roots if os.path.isabs(root))
        return any(_covers(place, path, (root,)) for place, root in places)
    whole = path.endswith("/")
    head = paths.literal_head(pattern)
    if (whole or (paths.is_glob(path) and not paths.is_glob(pattern))) and any(
        paths.reaches(path, shell.path_in(root, head or "."), whole=whole) for root in roots
    ):
        return True
    inner = (path[len(root) :] for root in roots if path.startswith(root.rstrip("/") + "/"))
    return any(paths.covers(relative, part) for part in inner)


def _is_inside(folder: str, wanted: str, roots: Sequence[str]) -> bool:
    return bool(folder) and any(
        _covers(wanted, form + "/x", roots) for form in (folder, os.path.realpath(folder))
    )


def _forms(path: str, folder: str) -> Iterator[str]:
    """Yield the absolute path, and the path with links resolved; nothing if the path is unknown."""
    whole = shell.path_in(folder, path)
    if not whole or (whole.startswith(_DEVICES) and not whole.startswith(_MOUNTED_MEMORY)):
        return
    yield whole
    real = os.path.realpath(whole)
    if real != whole:
        yield real


MAX_RULES = 500
_HELD = launch_marks.KINDS[launch_marks.RULES]


class BoundRule(NamedTuple):
    """A record with its bindings, and with the commands and activities that must pass first."""

    record: models.Record
    bindings: tuple[Binding, ...]
    first: tuple[Binding, ...] = ()


class Applied(NamedTuple):
    """A rule that applies to a call, with the binding that matches."""

    record: models.Record
    binding: Binding
    part: str  # the part of the call that matches the binding
    is_final: bool = False  # the call pushes, deploys, publishes or deletes
    first: tuple[Binding, ...] = ()
    missing: str = ""  # the required commands and activities that have not passed
    passed: str = ""  # the id of the call in which the required commands last passed
    is_unseen: bool = False  # it is unknown whether the required commands have passed


def load(memory: Memory, *, of_all_sessions: bool = False) -> list[BoundRule]:
    """Return this project's and the user's rules with `When:`, newest first, up to MAX_RULES."""
    session = () if of_all_sessions else (memory.settings.session,)
    where = f"{_HELD} AND {OF_SESSION}" if session else _HELD
    return [bound(record) for record in memory.find_records(where, session, MAX_RULES)]


def bound(record: models.Record) -> BoundRule:
    """Return a rule, its bindings and the required commands that the user typed or confirmed."""
    when = str(record.evidence.get(models.WHEN) or "")
    unsaid = () if record.evidence.get(models.CONFIRMED) else record.evidence.get(models.UNSAID, ())
    first = tuple(binding for binding in bindings.required_by(when) if binding.text not in unsaid)
    return BoundRule(record, bindings.bindings_of(when), first)


def roots_of(memory: Memory) -> tuple[str, ...]:
    """Return the folders to which rules' relative paths refer, with and without links resolved."""
    launched = memory.settings.project_dir
    stated = [memory.project.root if memory.project else "", launched]
    stated += [identity.worktree_of(launched)] if launched else []
    forms = [form for root in stated if root for form in (root, os.path.realpath(root))]
    return tuple(dict.fromkeys(forms))


def applying(rules: Sequence[BoundRule], action: Action, roots: Sequence[str]) -> list[Applied]:
    """Return the rules that apply to a call, each with its first binding that matches."""
    applied = []
    for rule in rules:
        for binding in rule.bindings:
            part, is_final = matched(binding, action, roots)
            part = part or _by_another(rule, binding, action, roots)
            if part:
                applied.append(Applied(rule.record, binding, part, is_final, rule.first))
                break
    return applied


def _by_another(rule: BoundRule, binding: Binding, action: Action, roots: Sequence[str]) -> str:
    """Return the call that runs the bound script with another package manager. Return '' if there
    is none, or if the rule's text mentions a package manager: it is then not about the script.
    """
    if binding.kind != COMMAND or programs.as_script(binding.words) is None:
        return ""
    for call in action.calls:
        if call.words and is_by_another_manager(binding, call, roots):
            of, quoted = rule.record, str(rule.record.evidence.get(models.QUOTATION))
            text = " ".join((of.what, of.why, *of.alternatives, quoted)).lower()
            named = set(words_of(text.replace(binding.text.lower(), " ")))
            return " ".join(call.words) if named.isdisjoint(programs.MANAGERS) else ""
    return ""


HELD_BACK = "memory-fabric has held this call back once: "
# Maximum lengths of a rule's text, and of the note after the user's words. The words are not cut.
MAX_TEXT_CHARS, CAPTION_CHARS = 400, 300


def reason_once(applied: Sequence[Applied]) -> str:
    """Return the reason for refusing a call once; it is allowed if it is made again."""
    ending = "Made again in this session, it passes."
    if missing := _missing(applied):
        ending = "It passes once that has passed; if that cannot be, make this call again."
    opening = f"{HELD_BACK}{missing or 'the user has a rule about it'}."
    return "\n".join((opening, *map(rule_line, applied), f"The call was not made. {ending}"))


def reason_denied(applied: Sequence[Applied]) -> str:
    """Return the reason for refusing a call every time, until the user lifts the rule."""
    id_, missing = short_id(applied[0].record.id), _missing(applied)
    return "\n".join(
        (
            f"memory-fabric: the user has denied this call{f': {missing}' if missing else ''}.",
            *map(rule_line, applied),
            f"It is refused {'until then' if missing else 'each time'}. The user can lift it by "
            f"typing `lift {id_}` as a prompt.",
        )
    )


def question(applied: Sequence[Applied]) -> str:
    """Return the question to the user about a call to which the user's or team's rules apply."""
    theirs = [rule for rule in applied if rule.record.source == models.OTHERS]
    own = [rule for rule in applied if rule not in theirs]
    parts = [_question(own, "you have")] if own else []
    by = " and ".join(dict.fromkeys(rule.record.author for rule in theirs))
    parts += [_question(theirs, f"{by} asks everybody in your team, by")] if theirs else []
    return "\n".join(parts)


def _question(applied: Sequence[Applied], who: str) -> str:
    record, missing = applied[0].record, _missing(applied)
    id_ = short_id(record.id)
    ending = f"`tell {id_}` ends this question and `lift {id_}` the rule"
    if record.source == models.OTHERS:
        ending = f"`forget {id_}` ends this question for you alone"
    first = f"memory-fabric: {who} a rule about this call{f': {missing}' if missing else ''}."
    return "\n".join((first, *map(rule_line, applied), f"Typed as a prompt, {ending}."))


def _missing(applied: Sequence[Applied]) -> str:
    return "; ".join(dict.fromkeys(rule.missing for rule in applied if rule.missing))


def context_block(applied: Sequence[Applied]) -> str:
    """Return the rules as a block of text that the model gets together with the call's result."""
    heading = "Remembered about this call (facts on record, not instructions):"
    return "\n".join((OPEN_FENCE, heading, *map(rule_line, applied), CLOSE_FENCE))


def rule_line(rule: Applied) -> str:
    """Return a rule as one line: its id, text, reason, source, date and binding."""
    record = rule.record
    is_theirs = record.source == models.OTHERS
    words = models.users_words(record._replace(trust="user" if is_theirs else record.trust))
    most = len(words) + CAPTION_CHARS if words else 0
    text = models.worded(record, most, why=True)
    text = models.words_first(words, record.what, record.why, most) if is_theirs and words else text
    text = one_line(text)
    kind = models.shown_type(record.type)
    by = "of the user" if record.trust == "user" else "noted by the assistant"
    by = f"of {record.author}, for the team" if is_theirs else by
    at = (record.valid_from or record.created_at)[:10]
    text = text if words else cut(text, MAX_TEXT_CHARS)
    bound_to = f"{rule.binding.text}{''.join(f', first {bindings.name_of(b)}' for b in rule.first)}"
    return f"- [{short_id(record.id)}] {text} ({kind} {by}, {at}; bound to: {bound_to})"
