"""Files of instructions for assistants: CLAUDE.md, AGENTS.md, GEMINI.md, Cursor's rules and others.

Each bullet, and each paragraph that states a rule, is one statement. Bullets that describe a path
or a command (`src/` – the server) are notes, other paragraphs are left out.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from memory_fabric import deadline
from memory_fabric.capture.confidence import PURPOSE
from memory_fabric.capture.statement import stated_type
from memory_fabric.clients.table import INSTRUCTION_FILES
from memory_fabric.ids import timestamp
from memory_fabric.importing import folders, markdown
from memory_fabric.importing.items import MAX_WHAT_CHARS, Here, Item, Left, Reading
from memory_fabric.store import files
from memory_fabric.store.tiers import memory_md
from memory_fabric.text import cut, same_form, words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from memory_fabric.importing.markdown import Block

MAX_HOPS = 5
MAX_POINTER_WORDS = 6
# Files of one reading together, and the bytes that each counts for at least.
MAX_FILES, LEAST_COST_BYTES = 500, 512
# Whole folders of such files, each as (folder, endings).
FOLDERS = (
    (os.path.join(".cursor", "rules"), (".mdc", ".md")),
    (os.path.join(".claude", "rules"), (".md",)),
)
NAMES = frozenset(os.path.basename(name) for name in INSTRUCTION_FILES if "*" not in name)
PROSE = "paragraphs that state no rule"
POINTERS = "lines that only point to a file"
OUTSIDE = "files outside the project that it imports"
TOO_MANY = f"files beyond the first {MAX_FILES} that it imports"
RULE_TYPES = ("constraint", "preference", "decision")
# Verbs that open an instruction; in other languages the words of `stated_type` tell it.
_OPENING = frozenset(
    """add ask avoid build call check commit confirm consider create delete do document don't edit
    ensure explain fix follow format go import include install keep leave let limit look make mark
    mention move name never note only open pass place plan prefer put read refer remove rename reply
    report respond return review run see set show skip start stay stick stop test treat try update
    use validate verify wait watch wrap write""".split()
)


class File(NamedTuple):
    """An instruction file: its real path, its name as evidence, the names of the files that import
    it, its statements, its bytes.
    """

    path: str
    place: str
    via: tuple[str, ...]
    items: tuple[Item, ...]
    size: int = 0


def is_instructions(path: str) -> bool:
    """Return True for a path that some client reads instructions from."""
    folder, name = os.path.split(os.path.realpath(path))
    if name in NAMES or name.endswith(".mdc"):
        return True
    return any(
        f"{os.sep}{inside}{os.sep}" in f"{folder}{os.sep}" and name.endswith(endings)
        for inside, endings in FOLDERS
    )


def files_of(path: str) -> list[str]:
    """Return the instruction files at a path: the file itself, or those of a project's folder."""
    if not os.path.isdir(path):
        return [path]
    root = os.path.realpath(path)
    found = [os.path.join(root, name) for name in INSTRUCTION_FILES if name[0] != "~"]
    named = [one for one in found if "*" not in one and os.path.isfile(one)]
    for inside, endings in FOLDERS:
        below = os.path.join(root, inside)
        named += [os.path.join(below, name) for name in folders.names_below(below, endings)]
    if os.path.basename(root) == "rules":
        named += [os.path.join(root, name) for name in folders.names_below(root, (".mdc", ".md"))]
    return list(dict.fromkeys(named))


def read(path: str, here: Here) -> Reading:
    """Read a file with those that it imports, or all of a folder. Raises OSError."""
    left = Left()
    found = read_files(path, here, left)
    items = [item for one in found for item in one.items]
    return Reading(tuple(items), left=left.all, files=tuple(one.path for one in found))


class Budget:
    """A limit for one reading: bytes and number of files; each costs some, however small it is."""

    def __init__(self, most: float = float("inf")) -> None:
        self.left, self.files = most, MAX_FILES

    def takes(self, size: int) -> bool:
        """Take a file; return False if it is one too many. Raises TooLarge, DeadlinePassed."""
        deadline.current().check("all instruction files were read")
        self.left -= max(size, LEAST_COST_BYTES)
        if self.left < 0:
            raise TooLarge
        self.files -= 1
        return self.files >= 0


class TooLarge(Exception):
    """The files have more bytes than the budget of this reading."""


def read_files(path: str, here: Here, left: Left, budget: Budget | None = None) -> list[File]:
    """Return the instruction files at a path, each with those that it imports.

    Raises TooLarge beyond the budget.
    """
    reading = _Reading(here, left, budget or Budget())
    is_folder = os.path.isdir(path)
    for one in files_of(path):
        if _leaves(one, path if is_folder else "", here):
            left.add(folders.OUTSIDE, place_of(one, here) if is_folder else one)
        else:
            reading.read(one, ())
    return list(reading.found.values())


def statements(text: str, place: str, changed_at: str, scope: str, left: Left) -> list[Item]:
    """Return the statements of the text of an instruction file that is called `place`."""
    parts = memory_md.parse(text)
    # Lines keep their numbers, whatever stands between.
    page = markdown.parse(text if not parts.fenced else _without_block(text))
    applies = page.head.get("globs") or page.head.get("paths") or ""
    found: dict[str, Item] = {}
    for block in page.blocks:
        for item in _statements(block, left):
            what = f"{block.heading}: {item.what}" if _is_headed(block, page.title) else item.what
            key = f"{place}\n{same_form(what)}"
            found.setdefault(
                key,
                item._replace(
                    what=cut(what, MAX_WHAT_CHARS),
                    key=key,
                    at=changed_at,
                    place=place,
                    scope=scope,
                    also=applies,
                    category="instructions",
                ),
            )
    return list(found.values())


def place_of(path: str, here: Here) -> str:
    """Return the name of a file as evidence: relative to the project, or with `~`."""
    real = os.path.realpath(path)
    for root in here.roots:
        if real.startswith(root + os.sep):
            return real[len(root) + 1 :]
    home = os.path.realpath(here.user_home) if here.user_home else ""
    return f"~{real[len(home) :]}" if home and real.startswith(home + os.sep) else real


def scope_of(place: str) -> str:
    """Return the scope of what a file states: those of the user's home are for every project."""
    return "user" if place.startswith("~") else "team"


class _Reading:
    """The files that were read so far by their real paths, with their imports."""

    def __init__(self, here: Here, left: Left, budget: Budget) -> None:
        self._here, self._left, self._budget = here, left, budget
        self.found: dict[str, File] = {}

    def read(self, path: str, via: tuple[str, ...]) -> None:
        """Read a file and those that it imports, which `via` leads to."""
        real, here, left = os.path.realpath(path), self._here, self._left
        if real in self.found or len(via) > MAX_HOPS:
            return
        place = place_of(path, here)
        try:
            status = os.stat(real)
            if not self._budget.takes(status.st_size):
                left.add(TOO_MANY, place)
                return
            text = folders.decoded(real)
        except files.Refused as error:
            left.add("files that cannot be read", str(error))
            return
        except OSError as error:
            left.add("files that cannot be read", f"{place}: {error.strerror or error}")
            return
        if text is None:
            left.add(folders.NOT_TEXT, place)
            return
        changed_at = timestamp(status.st_mtime)
        said = statements(text, place, changed_at, scope_of(place), left)
        self.found[real] = File(real, place, via, tuple(said), status.st_size)
        for named in dict.fromkeys(imports(text)):
            target = os.path.join(os.path.dirname(real), os.path.expanduser(named))
            if not os.path.isfile(target):
                continue
            if may_import(real, os.path.realpath(target), here):
                self.read(target, (*via, place))
            else:
                left.add(OUTSIDE, named)


def imports(text: str) -> list[str]:
    """Return the paths that lines of a CLAUDE.md import with `@`; none in code."""
    found, code = [], ""
    for line in text.split("\n"):
        bare = line.strip()
        if code or bare.startswith(("```", "~~~")):
            code = bare[:3] if not code else "" if bare.startswith(code) else code
            continue
        found += [
            word[1:].rstrip(".,;:)")
            for word in "".join(bare.split("`")[::2]).split()
            if word.startswith("@") and len(word) > 2 and ("." in word or "/" in word)
        ]
    return found


def may_import(real: str, target: str, here: Here) -> bool:
    """Return True if a file may import another: within the project, or within the folder of the
    user's client that both are in; never what that client keeps of projects.
    """
    kept = os.path.join(os.path.realpath(here.config_dir), "projects") if here.config_dir else ""
    if kept and _is_in(target, kept):
        return False
    if any(_is_in(real, root) for root in here.roots):
        return any(_is_in(target, root) for root in here.roots)
    return any(_is_in(real, own) and _is_in(target, own) for own in _client_folders(here))


def _leaves(path: str, folder: str, here: Here) -> bool:
    """Return True if a link leads a file out of the folder that it was found in, or out of the
    project.
    """
    real = os.path.realpath(path)
    roots = [*here.roots, *([os.path.realpath(folder)] if folder else [])]
    if any(_is_in(real, root) for root in roots):
        return False
    if folder or any(_is_in(os.path.abspath(path), root) for root in roots):
        return True
    return os.path.islink(path) and not any(_is_in(real, own) for own in _client_folders(here))


def _client_folders(here: Here) -> list[str]:
    places = [here.config_dir, here.codex_home]
    if here.user_home:
        places += [os.path.join(here.user_home, name) for name in (".gemini", ".qwen", ".cursor")]
    return [os.path.realpath(place) for place in places if place]


def _is_in(real: str, folder: str) -> bool:
    return real.startswith(os.path.join(folder, ""))


def _without_block(text: str) -> str:
    """Return the text with the lines of our own block emptied."""
    inside, kept = False, []
    for line in text.split("\n"):
        begins = line.startswith("<!-- memory-fabric:begin")
        inside = inside or begins
        kept.append("" if inside else line)
        inside = inside and not line.startswith(memory_md.END)
    return "\n".join(kept)


def _is_headed(block: Block, title: str) -> bool:
    return bool(block.heading) and block.heading != title


def _statements(block: Block, left: Left) -> Iterator[Item]:
    text = markdown.plain(block.text)
    if not any(c.isalpha() for c in text):
        return
    if block.is_bullet:
        if _points(text):
            left.add(POINTERS, text)
            return
        kind = "note" if _describes(block.text) else "constraint"
        kind = "preference" if stated_type(text) == "preference" else kind
        yield Item(text, "", kind, line=block.line, confidence=PURPOSE)
        return
    line = block.line
    for one in _sentences(block):
        if _points(one):
            left.add(POINTERS, one)
            continue
        kind = stated_type(one)
        if kind in RULE_TYPES or _opens_as_instruction(one):
            kind = "preference" if kind == "preference" else "constraint"
            yield Item(one, "", kind, line=line, confidence=PURPOSE)
        else:
            left.add(PROSE, one)


def _points(text: str) -> bool:
    """Return True for a line that does little more than import a file."""
    return bool(imports(text)) and len(text.split()) <= MAX_POINTER_WORDS


def _describes(text: str) -> bool:
    """Return True for a bullet that describes a path, command or page: `src/` – the server."""
    if text.startswith("["):
        return True
    if not text.startswith(("`", "**`")):
        return False
    rest = text.lstrip("*`").partition("`")[2].lstrip("* ")
    return rest.startswith(("-", "–", "—", ":", "(", "→", "=", "|", "#")) or not rest


def _opens_as_instruction(text: str) -> bool:
    first = words(text.replace("'", ""))[:1]
    opening = {word.replace("'", "") for word in _OPENING}
    return bool(first) and (first[0] in opening) and not text.rstrip().endswith("?")


def _sentences(block: Block) -> list[str]:
    """Return the sentences of a paragraph."""
    found: list[str] = []
    held = ""
    for word in markdown.plain(block.text).split(" "):
        held = f"{held} {word}" if held else word
        if word.endswith((".", "!", "?", "。", "！", "？")) and not word.endswith(
            ("e.g.", "i.e.", "etc.")
        ):
            found.append(held)
            held = ""
    return [*found, held] if held else found
