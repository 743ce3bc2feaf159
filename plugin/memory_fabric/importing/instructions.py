"""Reader of instruction files for assistants: CLAUDE.md, AGENTS.md, GEMINI.md, Cursor's rules, etc.

Each bullet is a statement, and so is each sentence of a paragraph that states a rule. A bullet that
describes a path or a command (`src/` – the server) becomes a note; other sentences are left out.
"""

import os
from collections.abc import Iterator
from typing import Any, NamedTuple

from memory_fabric import deadline
from memory_fabric.capture.statement import PURPOSE, stated_type
from memory_fabric.clients.table import INSTRUCTION_FILES
from memory_fabric.ids import timestamp
from memory_fabric.importing import items as files_read
from memory_fabric.importing import markdown
from memory_fabric.importing.items import Here, Item, Left, decoded, names_below
from memory_fabric.importing.markdown import Block
from memory_fabric.store import files
from memory_fabric.store.tiers import memory_md
from memory_fabric.text import same_form, words

MAX_HOPS = 5
MAX_POINTER_WORDS = 6
# Maximum number of files in one reading, and the minimum number of bytes counted for each file.
MAX_FILES, LEAST_COST_BYTES = 500, 512
# Folders, each with endings: all files in the folder with such an ending are instructions.
FOLDERS = (
    (os.path.join(".cursor", "rules"), (".mdc", ".md")),
    (os.path.join(".claude", "rules"), (".md",)),
)
NAMES = frozenset(os.path.basename(name) for name in INSTRUCTION_FILES if "*" not in name)
_IN_ROOT = [name for name in INSTRUCTION_FILES if name[0] != "~" and "*" not in name]
PROSE = "paragraphs that state no rule"
POINTERS = "lines that only point to a file"
OUTSIDE = "files outside the project that it imports"
TOO_MANY = f"files beyond the first {MAX_FILES} that it imports"
UNREADABLE = "files that cannot be read"
RULE_TYPES = ("constraint", "preference", "decision")
BLOCK_BEGIN = "<!-- memory-fabric:begin"
SENTENCE_ENDS, ABBREVIATIONS = (".", "!", "?", "。", "！", "？"), ("e.g.", "i.e.", "etc.")
# English verbs that begin an instruction, without apostrophes. `stated_type` knows other languages.
_OPENING = frozenset(
    """add ask avoid build call check commit confirm consider create delete do document dont edit
    ensure explain fix follow format go import include install keep leave let limit look make mark
    mention move name never note only open pass place plan prefer put read refer remove rename reply
    report respond return review run see set show skip start stay stick stop test treat try update
    use validate verify wait watch wrap write""".split()
)


class File(NamedTuple):
    """An instruction file: real path, name, `via` (importing files and links to it), statements."""

    path: str
    place: str
    via: tuple[str, ...]
    items: tuple[Item, ...]


def is_instructions(path: str) -> bool:
    """Return True if this is the path of an instruction file of a client."""
    folder, name = os.path.split(os.path.realpath(path))
    if name in NAMES or name.endswith(".mdc"):
        return True
    below = f"{folder}{os.sep}"
    return any(f"{os.sep}{part}{os.sep}" in below and name.endswith(ends) for part, ends in FOLDERS)


def files_of(path: str) -> list[str]:
    """Return the instruction files at a path: the file itself, or all in a project's folder."""
    if not os.path.isdir(path):
        return [path]
    root = os.path.realpath(path)
    paths = [named for name in _IN_ROOT if os.path.isfile(named := os.path.join(root, name))]
    folders = [(os.path.join(root, inside), endings) for inside, endings in FOLDERS]
    folders += [(root, (".mdc", ".md"))] if os.path.basename(root) == "rules" else []
    for below, endings in folders:
        paths += [os.path.join(below, name) for name in names_below(below, endings)]
    return list(dict.fromkeys(paths))


class TooLarge(Exception):
    """Raised if the files have more bytes than one reading may have."""


def read_files(path: str, here: Here, left: Left, max_bytes: float = float("inf")) -> list[File]:
    """Return the instruction files at a path, together with the files that they import.

    Raises DeadlinePassed, and TooLarge if the files have more than `max_bytes` in total.
    """
    reading = _Reading(here, left, max_bytes)
    is_folder = os.path.isdir(path)
    for file in files_of(path):
        if _leaves(file, path if is_folder else "", here):
            left.add(files_read.OUTSIDE, place_of(file, here) if is_folder else file)
        else:
            reading.read(file, ())
    return list(reading.files.values())


class _Reading:
    """All instruction files read so far, including imported files, by real path."""

    def __init__(self, here: Here, left: Left, max_bytes: float) -> None:
        self._here, self._left, self._bytes_left = here, left, max_bytes
        self.files: dict[str, File] = {}
        paths = {name: os.path.join(root, name) for root in here.roots[:1] for name in _IN_ROOT}
        links = ((name, path) for name, path in paths.items() if os.path.islink(path))
        self._links = {name: os.path.realpath(path) for name, path in links}

    def read(self, path: str, via: tuple[str, ...]) -> None:
        """Read a file and the files it imports; `via` is the chain of files that led to it."""
        real, here, left = os.path.realpath(path), self._here, self._left
        if real in self.files or len(via) > MAX_HOPS:
            return
        place = place_of(path, here)
        if len(self.files) >= MAX_FILES:
            left.add(TOO_MANY, place)
            return
        try:
            status = os.stat(real)
            deadline.current().check("all instruction files were read")
            self._bytes_left -= max(status.st_size, LEAST_COST_BYTES)
            if self._bytes_left < 0:
                raise TooLarge
            text = decoded(real)
        except files.Refused as error:
            left.add(UNREADABLE, str(error))
            return
        except OSError as error:
            left.add(UNREADABLE, f"{place}: {error.strerror or error}")
            return
        if text is None:
            left.add(files_read.NOT_TEXT, place)
            return
        stated = statements(text, place, timestamp(status.st_mtime), left)
        links = (name for name, target in self._links.items() if target == real)
        self.files[real] = File(real, place, (*via, *links), tuple(stated))
        for named in dict.fromkeys(imports(text)):
            target = os.path.join(os.path.dirname(real), os.path.expanduser(named))
            if not os.path.isfile(target):
                continue
            if may_import(real, os.path.realpath(target), here):
                self.read(target, (*via, place))
            else:
                left.add(OUTSIDE, named)


def place_of(path: str, here: Here) -> str:
    """Return a file's name for evidence: relative to the project or to home (`~`), or absolute."""
    real = os.path.realpath(path)
    for root in here.roots:
        if _is_in(real, root):
            return real[len(root) + 1 :]
    home = os.path.realpath(here.user_home) if here.user_home else ""
    return f"~{real[len(home) :]}" if home and _is_in(real, home) else real


def imports(text: str) -> list[str]:
    """Return the paths that a CLAUDE.md imports with `@path`; code is ignored."""
    paths, code = [], ""
    for line in text.split("\n"):
        bare = line.strip()
        if code or bare.startswith(markdown.CODE):
            code = bare[:3] if not code else "" if bare.startswith(code) else code
            continue
        bare_words = "".join(bare.split("`")[::2]).split()
        targets = (word[1:] for word in bare_words if word.startswith("@") and len(word) > 2)
        paths += [path.rstrip(".,;:)") for path in targets if "." in path or "/" in path]
    return paths


def may_import(real: str, target: str, here: Here) -> bool:
    """Return True if the file `real` may import `target`: both are in the project, or both in the
    folder of one client of the user. Claude Code's folder `projects` is excluded.
    """
    projects = os.path.join(os.path.realpath(here.config_dir), "projects")
    if here.config_dir and _is_in(target, projects):
        return False
    if any(_is_in(real, root) for root in here.roots):
        return any(_is_in(target, root) for root in here.roots)
    return any(_is_in(real, own) and _is_in(target, own) for own in _client_folders(here))


def _leaves(path: str, folder: str, here: Here) -> bool:
    """Return True if a link in the path leads out of `folder` (if given) or out of the project."""
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


def statements(text: str, place: str, changed_at: str, left: Left) -> list[Item]:
    """Return an instruction file's statements; the scope is "user" for files in the user's home."""
    lines, is_inside = [], False
    for line in text.split("\n") if memory_md.parse(text).fenced else ():
        # memory-fabric's own block is blanked, so that other lines keep their line numbers.
        is_inside = is_inside or line.startswith(BLOCK_BEGIN)
        lines.append("" if is_inside else line)
        is_inside = is_inside and not line.startswith(memory_md.END)
    page = markdown.parse("\n".join(lines) if lines else text)
    about: dict[str, Any] = {"category": "instructions", "confidence": PURPOSE}
    about["scope"] = "user" if place.startswith("~") else "team"
    about["also"] = page.head.get("globs") or page.head.get("paths") or ""
    by_key: dict[str, Item] = {}
    for block in page.blocks:
        is_headed = block.heading not in ("", page.title)
        for statement, kind in _statements(block, left):
            text = f"{block.heading}: {statement}" if is_headed else statement
            key = f"{place}\n{same_form(text)}"
            item = Item(text, key, kind, at=changed_at, place=place, line=block.line, **about)
            by_key.setdefault(key, item)
    return list(by_key.values())


def _statements(block: Block, left: Left) -> Iterator[tuple[str, str]]:
    text = markdown.plain(block.text)
    if not any(c.isalpha() for c in text):
        return
    for sentence in [text] if block.is_bullet else _sentences(text):
        kind = stated_type(sentence)
        if imports(sentence) and len(sentence.split()) <= MAX_POINTER_WORDS:
            left.add(POINTERS, sentence)
        elif kind == "preference":
            yield sentence, kind
        elif block.is_bullet:
            yield sentence, "note" if _describes(block.text) else "constraint"
        elif kind in RULE_TYPES or (
            _OPENING.intersection(words(sentence.replace("'", ""))[:1])
            and not sentence.rstrip().endswith("?")
        ):
            yield sentence, "constraint"
        else:
            left.add(PROSE, sentence)


def _describes(text: str) -> bool:
    """Return True if a bullet describes a path, command or page, like "`src/` – the server"."""
    rest = text.lstrip("*`").partition("`")[2].lstrip("* ")
    is_named = text.startswith(("`", "**`"))
    is_described = rest.startswith(("-", "–", "—", ":", "(", "→", "=", "|", "#")) or not rest
    return text.startswith("[") or (is_named and is_described)


def _sentences(text: str) -> list[str]:
    sentences = [""]
    for word in text.split(" "):
        sentences[-1] += f"{word} "
        if word.endswith(SENTENCE_ENDS) and not word.endswith(ABBREVIATIONS):
            sentences.append("")
    return list(filter(None, map(str.strip, sentences)))
