"""Integrity checks of databases, indexes, journals and queues, with a remedy for each problem."""

import os
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from memory_fabric.models import SOUND, Progress
from memory_fabric.store import files, journal
from memory_fabric.store.database import Database
from memory_fabric.store.forget import purge
from memory_fabric.store.forget.purge_steps import set_aside
from memory_fabric.store.memory import Memory
from memory_fabric.store.projects import identity, registry_file
from memory_fabric.store.queries import graph
from memory_fabric.store.queues import late_events
from memory_fabric.store.upkeep import backup, repair
from memory_fabric.text import first_of, many

# For an index with at least this many rows, only row numbers and samples are compared. SQLite's own
# check would block other changes for half a minute at a million observations.
LARGE_ROWS = 50_000
# Of a large index, this many of the newest rows are sampled, and as many across the whole table.
SAMPLES = 100
# For each index: its table, the table's column of row numbers, and a column of indexed text.
_TEXTS = {
    "entities_fts": ("entities", "id", "name"),
    "observations_fts": ("observations", "id", "text"),
    "records_fts": ("records", "seq", "what"),
    "episodes_fts": ("episodes", "id", "text"),
    "entities_trigrams": ("entities", "id", "name"),
    "observations_trigrams": ("observations", "id", "text"),
}
# Words that every tokenizer indexes as a single word.
_WORD = re.compile(r"(?<!\w)[A-Za-z0-9]{3,}(?!\w)")
TRIGRAM_CHARS = 3

MAX_SHOWN, MAX_ORPHANS = 5, 10_000


class Finding(NamedTuple):
    """A problem and its remedy; `harms` is False for a mere hint, such as a missing backup."""

    what: str
    where: str
    text: str
    remedy: str
    harms: bool = True


def findings(memory: Memory, full: bool = False, progress: Progress | None = None) -> list[Finding]:
    """Return all problems, harmful problems first. Unless `full`, only sample large indexes."""
    databases = memory.databases()  # also adds errors to `memory.failures`, used below
    remedy = "memory-fabric repair rebuilds a damaged database."
    problems = [Finding("database", "", failure, remedy) for failure in memory.failures]
    home = memory.settings.home
    # Use generators, so that progress is reported before each check runs.
    parts: list[Iterable[Finding]] = []
    for db in databases:
        parts.append(_damage(db))
        if not db.newer and not db.read_only:
            parts += [_index(db, table, full) for table in repair.FULL_TEXT]
            parts += [] if full else [_sampled(db)]
        parts += [_names(db), _copies(db, full)]
    parts += map(_lines, memory.queue_folders())
    for path in dict.fromkeys(map(memory.journal_of, ("project", "user"))):
        parts.append(_unreadable(path, journal.MAX_JOURNAL_BYTES))
    parts.append(_registered(home))
    for number, part in enumerate(parts):
        if progress is not None:
            progress(number, len(parts))
        problems += part
    problems += map(_set_aside, late_events.waiting(home, late_events.REFUSED))
    if purge.pending(home):
        text = "A purge was stopped before its end."
        remedy = "memory-fabric forget --purge --yes with any text completes it."
        problems.append(Finding("purge", home, text, remedy))
    return sorted(problems, key=lambda finding: not finding.harms)


def _registered(home: str) -> Iterator[Finding]:
    """Yield problems of the registry: damage, keys only on cards, projects whose folder is lost."""
    path = os.path.join(home, registry_file.REGISTRY)
    registry = registry_file.read_registry(home)
    if registry.state != SOUND and registry.keys:
        text = f"The registry of projects is {registry.state}; the cards replace it."
        yield Finding("registry", path, text, "The next session or command rewrites it.")
        return
    if hidden := registry_file.missing_keys(registry_file.read_cards(home), registry):
        text = f"Keys on project cards that the registry lacks: {first_of(hidden, MAX_SHOWN)}."
        remedy = "memory-fabric project link assigns them."
        yield Finding("registry", path, text, remedy)
    for id_ in dict.fromkeys(registry.keys.values()):
        if registry_file.has_lost_card(home, id_):
            text = f"The folder of the project {id_} is gone, with its memory."
            remedy = "A session or repair in the project's folder shows what its journal has."
            yield Finding("project", identity.folder_of(home, id_), text, remedy)


def _damage(database: Database) -> Iterator[Finding]:
    remedy = "memory-fabric repair rebuilds it from backup and journal."
    for (text,) in database.rows("PRAGMA quick_check(5)"):
        if text != "ok":
            yield Finding("damage", database.path, str(text), remedy)
    if broken := database.rows("PRAGMA foreign_key_check"):
        text = f"{many(len(broken), 'row')} with broken references, first in {broken[0][0]}."
        yield Finding("links", database.path, text, remedy)


def _index(database: Database, table: str, full: bool) -> Iterator[Finding]:
    is_sampled = not full and is_large(database, table)
    if not (samples_match if is_sampled else repair.index_matches)(database, table):
        text = f"The index {table} does not match its texts: searches miss some."
        yield Finding("index", database.path, text, "memory-fabric repair rebuilds it.")


def _sampled(database: Database) -> Iterator[Finding]:
    if large := [table for table in repair.FULL_TEXT if is_large(database, table)]:
        text = f"Compared by rows and samples only, since they are large: {', '.join(large)}."
        remedy = "memory-fabric check --full compares every text."
        yield Finding("sampled", database.path, text, remedy, harms=False)


def _names(database: Database) -> Iterator[Finding]:
    if alone := graph.orphans(database, MAX_ORPHANS):
        names = first_of(map(graph.shown, alone), MAX_SHOWN)
        text = f"Entities without observations and relations: {names}."
        remedy = "memory-fabric repair --orphans deletes them."
        yield Finding("orphans", database.path, text, remedy, harms=False)
    if unlinked := graph.left_alone(database):
        names = first_of(map(graph.shown, unlinked), MAX_SHOWN)
        text = f"Entities that a deletion left without relations: {names}."
        remedy = "memory-fabric forget NAME removes one, if it is not needed."
        yield Finding("orphans", database.path, text, remedy, harms=False)
    for spellings in graph.variants(database):
        text = f"One name in several spellings: {first_of(spellings, MAX_SHOWN)}."
        remedy = "memory-fabric merge combines them."
        yield Finding("variants", database.path, text, remedy, harms=False)
    for alias, entity, owner in graph.alias_conflicts(database):
        text = f"{alias!r} is an alias of {entity!r} and the name of {owner!r}."
        remedy = "memory-fabric merge, or alias --remove."
        yield Finding("alias", database.path, text, remedy, harms=False)


def _copies(database: Database, full: bool) -> Iterator[Finding]:
    copies = backup.list_backups(database.path)
    if not copies:
        text, remedy = "There is no backup yet.", "memory-fabric backup makes one."
        yield Finding("backup", files.backups_of(database.path), text, remedy, harms=False)
    for number, copy in enumerate(copies):
        if not backup.is_sound(copy, whole=full or not number or not backup.is_large(copy)):
            remedy = "Delete it; memory-fabric backup makes a new one."
            yield Finding("backup", copy, "The backup cannot be read.", remedy)
    for path in set_aside(database.path):
        if not path.endswith(("-wal", "-shm")):
            text, remedy = "A damaged database was set aside.", "Delete it if nothing is missing."
            yield Finding("set aside", path, text, remedy, harms=False)


def _lines(folder: str) -> Iterator[Finding]:
    for path in (os.path.join(folder, journal.DECISIONS), *journal.waiting_files(folder)):
        yield from _unreadable(path)
    try:
        waiting, _ = journal.queued(folder)
    except OSError:
        return  # `_unreadable` reports unreadable files
    if waiting:
        text = f"{many(len(waiting), 'change')} waiting for the graph."
        yield Finding("queue", folder, text, "memory-fabric sync applies them.", harms=False)
    asides = (os.path.join(folder, name) for name in (journal.BAD, journal.REFUSED))
    yield from map(_set_aside, filter(os.path.exists, asides))


def _set_aside(path: str) -> Finding:
    text = "Changes that could not be read or applied were set aside."
    return Finding("queue", path, text, "Look at them, then delete the file.")


def _unreadable(path: str, max_bytes: int = files.MAX_LINES_BYTES) -> Iterator[Finding]:
    try:
        bad = files.invalid_lines(path, max_bytes)
    except OSError as error:
        yield Finding("file", path, f"It cannot be read: {error}.", "Check its permissions.")
        return
    if bad:
        text = f"Unreadable lines: {first_of(map(str, bad), MAX_SHOWN)}."
        yield Finding("lines", path, text, "Look at them; delete what cannot be saved.")


def is_large(database: Database, table: str) -> bool:
    """Return True if an index is so large that `check` compares only a sample of its texts."""
    texts, number, _ = _TEXTS[table]
    query = f"SELECT count(*) FROM {texts} HAVING (SELECT max({number}) FROM {texts}) >= ?"
    counted = database.row(query, (LARGE_ROWS,))
    return counted is not None and counted[0] >= LARGE_ROWS


def samples_match(database: Database, table: str) -> bool:
    """Return True if index and table have the same rows, and a word of each sample is found."""
    texts, number, column = _TEXTS[table]
    sizes = f"{table}_docsize"
    # Trigram indexes have no table of row numbers, so only their samples are compared.
    if database.row("SELECT 1 FROM sqlite_master WHERE name = ?", (sizes,)):
        missing = "SELECT 1 FROM {} AS a WHERE NOT EXISTS (SELECT 1 FROM {} AS b WHERE b.{} = a.{})"
        pairs = (texts, sizes, "id", number), (sizes, texts, number, "id")
        if any(database.row(f"{missing.format(*pair)} LIMIT 1") for pair in pairs):
            return False
    select = f"SELECT {number}, {column} FROM {texts}"
    samples = database.rows(f"{select} ORDER BY {number} DESC LIMIT {SAMPLES}")
    most = samples[0][0] if samples else 0
    for at in range(0, most, max(1, most // SAMPLES)):
        samples += database.rows(f"{select} WHERE {number} >= ? ORDER BY {number} LIMIT 1", (at,))
    query = f"SELECT 1 FROM {table} WHERE {table} MATCH ? AND rowid = ?"
    for row, text in samples:
        words = _WORD.findall(text.partition("\0")[0])  # trigram indexes ignore text after a NUL
        if not words:
            continue
        word = max(words, key=len)
        word = word[:TRIGRAM_CHARS] if table.endswith("_trigrams") else word
        if not database.row(query, (f'"{word}"', row)):
            return False
    return True
