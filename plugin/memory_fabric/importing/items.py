"""Statements read from other programs, the records made of them, and reasons for omissions."""

import os
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from memory_fabric import models
from memory_fabric.capture.statement import NOTE
from memory_fabric.errors import BadInput
from memory_fabric.events import is_machine_text
from memory_fabric.ids import id_for, timestamp
from memory_fabric.recall.agent_domains import domain_for
from memory_fabric.redaction.redact import says_only_secrets, without_secrets
from memory_fabric.store import files
from memory_fabric.store.memory import Memory
from memory_fabric.store.projects.identity import worktree_of
from memory_fabric.text import cut, without_controls

# Imported texts come from other programs and their models, so they do not count as the user's.
SOURCE, TRUST = "import", "tool"
# Prefixes of texts that clients insert into conversations.
_MACHINE = ("<system-reminder", "<claude-mem-context", "Caveat: The messages below")

# Reasons for omitting a statement.
EMPTY = "empty"
NOISE = "machine noise: tags, paths or commands only"
SECRET = "nothing but a secret"
ELSEWHERE = "another project's"
UNSTATED = "no project stated (--all takes them into this one)"
TWICE = "said twice in the source"
KNOWN = "in memory already"
FORGOTTEN = "forgotten earlier"
UNREADABLE = "cannot be read"
OUTSIDE = "links out of the folder"
NOT_TEXT = "files that are no UTF-8 text"
MAX_EXAMPLES, MAX_EXAMPLE_CHARS = 3, 100
MAX_WHAT_CHARS = 2000
MAX_FILES, MAX_FILE_BYTES = 20_000, 4 << 20
TOO_MANY = f"files beyond the first {MAX_FILES:,}"
# Folders that tools create; they do not contain notes.
PASSED_OVER = frozenset(("node_modules", "__pycache__"))


class Item(NamedTuple):
    """One imported statement. `key` identifies it in its source, so that it is imported only once.
    `at` is its time (ISO 8601), or ''. `project` is the project's name or folder in the source, or
    ''. `also` is more text for search. `place` is the file, `line` the line from 1 (0: unknown).
    """

    what: str
    key: str
    type: str = "note"
    why: str = ""
    at: str = ""
    project: str = ""
    category: str = ""
    scope: str = "team"
    also: str = ""
    place: str = ""
    line: int = 0
    confidence: float = NOTE
    entities: tuple[models.Entity, ...] = ()


class LeftOut(NamedTuple):
    """The number of statements omitted for one reason, with a few of their texts as examples."""

    reason: str
    number: int = 0
    examples: tuple[str, ...] = ()


class Reading(NamedTuple):
    """The content of a source: its statements in order, its relations, and what was left out."""

    items: tuple[Item, ...] = ()
    relations: tuple[models.Relation, ...] = ()
    left: tuple[LeftOut, ...] = ()


class Left:
    """Counts the omitted statements by reason, and stores a few examples for each reason."""

    def __init__(self, counted: Iterable[LeftOut] = ()) -> None:
        self._by_reason = {one.reason: one for one in counted}

    def add(self, reason: str, example: str = "", number: int = 1) -> None:
        """Count `number` statements as omitted for a reason; `example` is one statement's text."""
        _, before, examples = self._by_reason.get(reason) or LeftOut(reason)
        if example and len(examples) < MAX_EXAMPLES:
            # Redact before truncating, because a truncated secret may not be recognised.
            text = " ".join(without_secrets(example).split())[:MAX_EXAMPLE_CHARS]
            examples = tuple(dict.fromkeys(filter(None, (*examples, text))))
        self._by_reason[reason] = LeftOut(reason, before + number, examples)

    @property
    def all(self) -> tuple[LeftOut, ...]:
        """Return the counts of all reasons, in the order in which the reasons first occurred."""
        return tuple(self._by_reason.values())


class Here(NamedTuple):
    """The project that receives an import, and the folders of the user's clients. `roots` are the
    real paths of the project's folders. `whole` accepts statements about all projects.
    """

    name: str = ""
    roots: tuple[str, ...] = ()
    user_home: str = ""
    config_dir: str = ""
    codex_home: str = ""
    whole: bool = False

    def is_stated(self, project: str) -> bool:
        """Return True if `project`, a name or folder given by a source, is this project."""
        if not project:
            return False
        if os.path.isabs(project):
            real = os.path.realpath(project)
            # A subfolder is in this project only if both are in the same git worktree.
            is_folder = real in self.roots or os.path.isdir(real)
            return is_folder and worktree_of(real) in {worktree_of(root) for root in self.roots}
        names = {self.name.casefold(), *(os.path.basename(root).casefold() for root in self.roots)}
        # A source may name a worktree as `project/worktree`.
        return bool({project.casefold(), project.casefold().split("/")[0]} & (names - {""}))


def here_of(memory: Memory, codex_home: str = "") -> Here:
    """Return a memory's project and the user's client folders, for use by the source readers."""
    settings, project = memory.settings, memory.project
    roots = (project.root, settings.project_dir) if project else (settings.project_dir,)
    name = project.name if project else ""
    real_roots = tuple(dict.fromkeys(os.path.realpath(root) for root in roots if root))
    return Here(name, real_roots, settings.user_home, settings.config_dir, codex_home)


def record_of(item: Item, source: str, memory: Memory, now: str, domain: str = "") -> models.Record:
    """Convert a statement to a redacted record; for domain '', use the current folder's domain."""
    what = without_controls(without_secrets(cut(item.what, MAX_WHAT_CHARS)))
    # Show people where a statement is from: the instruction file, or else the name of the source.
    is_instruction = source == models.INSTRUCTIONS and bool(item.place)
    evidence: dict[str, Any] = {
        models.IMPORTED: item.place if is_instruction else source,
        models.PLACE: item.place,
        "also": item.also,
        "project": item.project,
        models.LINE: item.line,
        models.INSTRUCTIONS: item.place if is_instruction else "",
    }
    at = min(item.at, now) if item.at else now
    copied = ("type", "entities", "category", "confidence")
    return models.Record(
        **{name: getattr(item, name) for name in copied},
        what=cut(what, MAX_WHAT_CHARS).strip(),
        why=without_controls(item.why),
        id=id_for(f"{source}\n{item.key}"),
        trust=TRUST,
        source=SOURCE,
        scope=item.scope if memory.project else "user",
        domain=domain or domain_for(memory.settings).name,
        project=memory.project.name if memory.project and item.scope == "team" else "",
        created_at=at,
        valid_from=at,
        evidence={name: value for name, value in evidence.items() if value},
    )


def worthless(record: models.Record) -> str:
    """Return the reason why a record's text is not worth storing; '' if it is worth storing."""
    bare = record.what.strip()
    if not bare or bare == "[private]":
        return EMPTY
    if bare.startswith(_MACHINE) or is_machine_text(bare):
        return NOISE
    if "[redacted: " in bare and says_only_secrets(bare):
        return SECRET
    words = [word for word in bare.split() if "/" not in word and sum(map(str.isalpha, word)) > 1]
    is_dense = any(c.isalpha() and not c.isascii() for c in bare)
    return "" if words or is_dense else NOISE


def provenance(memory: Memory, domain: str = "") -> models.Provenance:
    """Return the provenance of imports: written by another program, not confirmed by the user."""
    return models.Provenance(SOURCE, trust=TRUST, domain=domain or domain_for(memory.settings).name)


def unusable(problem: str, remedy: str) -> BadInput:
    """Return a BadInput error that explains why a source is unreadable and what the user can do."""
    return BadInput("PATH", problem, remedy=f"{remedy} Nothing was imported.".strip())


class Text(NamedTuple):
    """A text file: its path relative to the imported folder, its content and modification time."""

    name: str
    text: str
    changed_at: str


def read_at(path: str, endings: tuple[str, ...], left: Left) -> Iterator[Text]:
    """Yield the text files in a folder, or a single file. Omitted files are counted in `left`."""
    root = os.path.realpath(path)
    names = names_below(root, endings)
    if not os.path.isdir(path):
        root, name = os.path.split(root)
        names = [name]
    number = 0
    for name in names:
        if number >= MAX_FILES:
            left.add(TOO_MANY, name)
        elif text := read_one(root, name, left):
            number += 1
            yield text


def names_below(root: str, endings: tuple[str, ...]) -> list[str]:
    """Return the sorted relative paths of all files with these endings, except hidden files."""
    paths = []
    for above, folders, names in os.walk(root):
        folders[:] = [f for f in folders if f[0] != "." and f not in PASSED_OVER]
        chosen = [name for name in names if name.lower().endswith(endings) and name[0] != "."]
        paths += [os.path.relpath(os.path.join(above, name), root) for name in chosen]
    return sorted(paths)


def read_one(root: str, name: str, left: Left) -> Text | None:
    """Read a file below a folder; if it lies outside or is not text, count it and return None."""
    path = os.path.realpath(os.path.join(root, name))
    if not path.startswith(os.path.join(os.path.realpath(root), "")):
        left.add(OUTSIDE, name)
        return None
    try:
        if (text := decoded(path)) is not None:
            return Text(name, text, timestamp(os.stat(path).st_mtime))
        left.add(NOT_TEXT, name)
    except OSError as error:
        left.add(UNREADABLE, f"{name}: {error.strerror or error}")
    return None


def decoded(path: str) -> str | None:
    """Return the text of a file, or None if the file is not UTF-8 text. Raises OSError."""
    if (data := files.read_bytes(path, MAX_FILE_BYTES)) is None:
        raise FileNotFoundError(2, "it does not exist")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text
