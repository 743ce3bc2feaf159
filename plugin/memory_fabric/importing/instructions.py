"""Read assistants' instruction files: CLAUDE.md, AGENTS.md, GEMINI.md, Cursor's rules, etc. Each
bullet is a statement; so is each sentence of a paragraph if it states a rule. A bullet that
describes a path or a command (`src/` – the server) becomes a note. Other sentences are left out.

After the import, changes to the files are followed: new lines become records. If a line is removed,
its record is closed, unless the user pinned, confirmed or reworded it. The files are never written.
"""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from memory_fabric import deadline, ids
from memory_fabric.capture.statement import PURPOSE, stated_type
from memory_fabric.clients.table import INSTRUCTION_FILES
from memory_fabric.importing import items, markdown
from memory_fabric.importing.items import Here, Item, Left
from memory_fabric.models import INSTRUCTIONS, Record
from memory_fabric.recall.agent_domains import domain_for
from memory_fabric.store import records, write
from memory_fabric.store.database import Database
from memory_fabric.store.home import log
from memory_fabric.store.memory import Memory
from memory_fabric.store.operations.remember import OPEN, is_forgotten
from memory_fabric.store.projects import instruction_files
from memory_fabric.store.projects.instruction_files import GONE, Followed
from memory_fabric.store.tiers import memory_md
from memory_fabric.text import same_form, words

MAX_HOPS = 5
MAX_POINTER_WORDS = 6
# `read_files` reads at most MAX_FILES files; small ones count as LEAST_COST_BYTES of `max_bytes`.
MAX_FILES, LEAST_COST_BYTES = 500, 512
# Folders of instruction files, and the endings of these files' names.
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
# The space between two sentences.
_BETWEEN = re.compile(r"(?<=[.!?。！？])(?<!e\.g\.|i\.e\.|etc\.) ")
# English verbs that begin an instruction (`dont` is "don't"). `stated_type` knows other languages.
_OPENING = frozenset(
    """add ask avoid build call check commit confirm consider create delete do document dont edit
    ensure explain fix follow format go import include install keep leave let limit look make mark
    mention move name never note only open pass place plan prefer put read refer remove rename reply
    report respond return review run see set show skip start stay stick stop test treat try update
    use validate verify wait watch wrap write""".split()
)


class File(NamedTuple):
    """An instruction file with its statements; `via` lists the files and links that lead to it."""

    path: str
    place: str
    via: tuple[str, ...]
    items: tuple[Item, ...]


def is_instructions(path: str) -> bool:
    """Return True if this is the path of an instruction file of one of the clients."""
    folder, name = os.path.split(os.path.realpath(path))
    if name in NAMES or name.endswith(".mdc"):
        return True
    below = f"{folder}{os.sep}"
    return any(f"{os.sep}{part}{os.sep}" in below and name.endswith(ends) for part, ends in FOLDERS)


def files_of(path: str) -> list[str]:
    """Return the instruction files at a path: the file itself, or those in a project's folder."""
    if not os.path.isdir(path):
        return [path]
    root = os.path.realpath(path)
    paths = [named for name in _IN_ROOT if os.path.isfile(named := os.path.join(root, name))]
    folders = [(os.path.join(root, inside), endings) for inside, endings in FOLDERS]
    folders += [(root, (".mdc", ".md"))] if os.path.basename(root) == "rules" else []
    for below, endings in folders:
        paths += [os.path.join(below, name) for name in items.names_below(below, endings)]
    return list(dict.fromkeys(paths))


class TooLarge(Exception):
    """Raised if the files together exceed the maximum number of bytes for one reading."""


def read_files(path: str, here: Here, left: Left, max_bytes: float = float("inf")) -> list[File]:
    """Return the instruction files at a path (a file, or a project's folder) and all that they
    import. Omitted files are counted in `left`. Raises DeadlinePassed, and TooLarge if all these
    files together have more than `max_bytes`.
    """
    files: dict[str, File] = {}  # keys are real paths
    in_root = {name: os.path.join(root, name) for root in here.roots[:1] for name in _IN_ROOT}
    links = {name: path for name, path in in_root.items() if os.path.islink(path)}
    pending: list[tuple[str, tuple[str, ...]]] = []  # paths, each with the chain of files to it
    is_folder = os.path.isdir(path)
    for file in files_of(path):
        if _leaves(file, path if is_folder else "", here):
            left.add(items.OUTSIDE, place_of(file, here) if is_folder else file)
        else:
            pending.append((file, ()))
    while pending:
        file, via = pending.pop(0)
        real, place = os.path.realpath(file), place_of(file, here)
        if real in files or len(via) > MAX_HOPS:
            continue
        if len(files) >= MAX_FILES:
            left.add(TOO_MANY, place)
            continue
        try:
            status = os.stat(real)
            deadline.current().check("all instruction files were read")
            max_bytes -= max(status.st_size, LEAST_COST_BYTES)
            if max_bytes < 0:
                raise TooLarge
            text = items.decoded(real)
        except OSError as error:
            left.add(UNREADABLE, f"{place}: {error.strerror or error}")
            continue
        if text is None:
            left.add(items.NOT_TEXT, place)
            continue
        stated = statements(text, place, ids.timestamp(status.st_mtime), left)
        names = [name for name, link in links.items() if os.path.realpath(link) == real]
        files[real] = File(real, place, (*via, *names), tuple(stated))
        imported = []
        for named in dict.fromkeys(imports(text)):
            target = os.path.join(os.path.dirname(real), os.path.expanduser(named))
            if not os.path.isfile(target):
                continue
            if may_import(real, os.path.realpath(target), here):
                imported.append((target, (*via, place)))
            else:
                left.add(OUTSIDE, named)
        pending = imported + pending
    return list(files.values())


def place_of(path: str, here: Here) -> str:
    """Return a file's path as shown in evidence: relative to project or home (`~`), or absolute."""
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
    """Return True if the file `real` may import `target`: both must be in the project, or both in
    the user's folder of the same client (e.g. `~/.gemini`), but not in Claude Code's `projects`.
    """
    projects = os.path.join(os.path.realpath(here.config_dir), "projects")
    if here.config_dir and _is_in(target, projects):
        return False
    if any(_is_in(real, root) for root in here.roots):
        return any(_is_in(target, root) for root in here.roots)
    return any(_is_in(real, own) and _is_in(target, own) for own in _client_folders(here))


def _leaves(path: str, folder: str, here: Here) -> bool:
    """Return True if the path leads through a link to a file outside the project and `folder`."""
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
    """Return a file's statements: scope "user" if its path `place` begins with `~`, else "team"."""
    lines, is_inside, before, fenced = [], False, "", memory_md.parse(text).fenced
    pointers = {f"@{path}" for path in imports(text)}
    for line in text.split("\n"):
        # Blank this plugin's block, and imports outside of sentences; line numbers stay the same.
        is_inside = is_inside or bool(fenced and line.startswith(BLOCK_BEGIN))
        is_apart = not before or before[0] in "-*+" or before[-1] in ".:;!?"
        if line[:1] == "@" and pointers.issuperset(line.split()) and is_apart and not is_inside:
            left.add(POINTERS, line)
            line = ""
        before = line.strip()
        lines.append("" if is_inside else line)
        is_inside = is_inside and not line.startswith(memory_md.END)
    page = markdown.parse("\n".join(lines))
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


def _statements(block: markdown.Block, left: Left) -> Iterator[tuple[str, str]]:
    text = markdown.plain(block.text)
    if not any(c.isalpha() for c in text):
        return
    sentences = [text] if block.is_bullet else _BETWEEN.split(text)
    for sentence in filter(None, map(str.strip, sentences)):
        kind = stated_type(sentence)
        if imports(sentence) and len(sentence.split()) <= MAX_POINTER_WORDS:
            left.add(POINTERS, sentence)
        elif kind == "preference":
            yield sentence, kind
        elif block.is_bullet:
            # A bullet like "`src/` – the server" describes a path, command or page.
            rest = block.text.lstrip("*`").partition("`")[2].lstrip("* ")
            is_described = not rest or rest[0] in "-–—:(→=|#"
            is_note = is_described and block.text.startswith(("`", "**`"))
            yield sentence, "note" if is_note or block.text.startswith("[") else "constraint"
        elif kind in RULE_TYPES or (
            _OPENING.intersection(words(sentence.replace("'", ""))[:1])
            and not sentence.rstrip().endswith("?")
        ):
            yield sentence, "constraint"
        else:
            left.add(PROSE, sentence)


class Followings(NamedTuple):
    """Counts of the records that an update added and of the records that it closed."""

    new: int = 0
    closed: int = 0


def begin(memory: Memory, path: str) -> None:
    """Start following imported instruction files at a path. Raises StoreUnavailable, OSError."""
    batch = f"follow-{ids.new_id()[-8:]}"
    for file in read_files(path, items.here_of(memory), Left()):
        _bring(memory, file.place, file, batch)


def update(
    memory: Memory,
    names: Iterable[str],
    max_bytes: float = float("inf"),
    max_new: int | None = None,
    *,
    is_last: bool = False,
) -> Followings:
    """Update the records of these instruction files and of their imports, as one undo step. A file
    is skipped if it and its imports exceed `max_bytes`. A later call reads it or, if this is the
    last try (`is_last`), a notice tells the user to import it. At most `max_new` records are added
    per file; a later call adds the rest. Raises StoreUnavailable, DeadlinePassed, OSError.
    """
    batch = f"follow-{ids.new_id()[-8:]}"  # all changes of this batch are undone together
    here, new, closed = items.here_of(memory), 0, 0
    for name in names:
        database = memory.database(instruction_files.kind_of(name), create=False)
        path = instruction_files.path_of(memory, name)
        followed = instruction_files.load(database) if database and path else {}
        if database is None or name not in followed:
            continue
        before = followed[name]
        if before.ids and not any(records.among(database, "id", before.ids)):
            # Stop following the file: its import was undone, or all its records were forgotten.
            instruction_files.save(database, {n: f for n, f in followed.items() if n != name})
            continue
        try:
            files = read_files(path, here, Left(), max_bytes) if os.path.isfile(path) else []
        except TooLarge:
            if is_last:
                size, mtime_ns = instruction_files.stamp(path)
                seen = {name: before._replace(size=size, mtime_ns=mtime_ns)}
                instruction_files.save(database, followed | seen)
                most = f"more than {int(max_bytes) >> 10} KB"
                text = f"{name} and the files that it imports have {most}"
                remedy = f"so their change was not read; run memory-fabric import {name}"
                try:
                    log.add(memory.settings.home, f"{text}, {remedy}")
                except (OSError, TimeoutError) as error:
                    memory.fail(f"notices: {error}")
            continue
        by_place = {file.place: file for file in files}
        for place, file in {**by_place, name: by_place.get(name)}.items():
            done = _bring(memory, place, file, batch, max_new)
            new, closed = new + done.new, closed + done.closed
    return Followings(new, closed)


def _bring(
    memory: Memory, place: str, file: File | None, batch: str, max_new: int | None = None
) -> Followings:
    """Update the records of one file (None if it was deleted) in one transaction; see `update`."""
    database = memory.database(instruction_files.kind_of(place), create=True)
    assert database is not None
    followed = instruction_files.load(database)
    before = followed.pop(place, Followed(GONE, 0, ()))
    own = list(records.among(database, "id", before.ids))
    # New records get the domain of the file's first import, not that of the session reading it now.
    domain = before.domain or (own[0].domain if own else domain_for(memory.settings).name)
    now = ids.timestamp()
    found = file.items if file else ()
    stated = [items.record_of(item, INSTRUCTIONS, memory, now, domain) for item in found]
    kept, new = _compared(database, own, [r for r in stated if not items.worthless(r)], domain)
    added = new[:max_new]
    # Reopen a record that was closed because its line was removed, if the line has returned.
    again = [r for r in kept.values() if r.id not in before.ids and not r.superseded_by]
    again = [r for r in again if r.valid_to and r.status == "active"]
    stay = {*kept, *(id_ for other in followed.values() for id_ in other.ids)}
    own_open = [r for r in own if r.id not in stay and _holds(r)]
    gone = [r for r in own_open if r.trust == items.TRUST and not r.pinned]
    links = [{"id": r.id, **OPEN, "was": {"by": "", "at": r.valid_to}} for r in again]
    links += [{"id": r.id, "by": "", "at": now, "was": OPEN} for r in gone]
    changes = [("remember", {"record": records.as_object(r), "past": True}) for r in added]
    changes += [("supersede", {"links": links})] if links else []
    by, kind = items.provenance(memory, domain), database.kind
    made = [memory.operation(name, {**p, "batch": batch}, by, kind) for name, p in changes]
    write.apply_all(database, made)
    path = file.path if file else instruction_files.path_of(memory, place)
    is_whole = len(added) == len(new)
    stamp = instruction_files.stamp(path) if is_whole else (before.size, before.mtime_ns)
    every = (*kept, *(record.id for record in added))
    via = file.via if file and file.via else before.via
    instruction_files.save(database, {**followed, place: Followed(*stamp, every, via, domain)})
    return Followings(len(added) + len(again), len(gone))


def _compared(
    database: Database, own: Iterable[Record], stated: Sequence[Record], domain: str
) -> tuple[dict[str, Record], list[Record]]:
    by_id = {r.id: r for r in (*own, *records.among(database, "id", [r.id for r in stated]))}
    # Also find records with the same text that come from other files or programs.
    same_key = records.among(database, "key", [records.key_of(r.what) for r in stated])
    in_force = (r for r in same_key if _holds(r) and r.domain == domain)
    others = [record for record in in_force if record.scope != "local"]
    by_form = {same_form(record.what): record for record in (*by_id.values(), *others)}
    kept, new = {}, []
    for record in stated:
        if (same := by_form.get(same_form(record.what)) or by_id.get(record.id)) is not None:
            kept[same.id] = same
        elif not is_forgotten(database.connection, record):
            new.append(record)
    return kept, new


def _holds(record: Record) -> bool:
    return record.status == "active" and not record.superseded_by and not record.valid_to
