"""A graph that is served from a file in the reference server's format: `MEMORY_FILE_PATH` (MEM-17).

The graph is in a database of its own in home, with everything that makes a database safe. The file
is updated after each change, and changes by other programs are merged before the next answer. Lines
whose content did not change are kept byte for byte.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import time

from memory_fabric import ids
from memory_fabric.errors import BadInput, StoreUnavailable
from memory_fabric.models import Graph, Operation, Provenance
from memory_fabric.store import backup, files, graph
from memory_fabric.store.database import translated
from memory_fabric.store.graph_file import exchange, own_writes, sync_state
from memory_fabric.store.graph_file.merge_external import merge_changes
from memory_fabric.store.graph_file.sync_state import NOTHING, State
from memory_fabric.store.memory import Memory
from memory_fabric.store.sqlite import sqlite3
from memory_fabric.store.tiers import file_locations, sync

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    from memory_fabric.config import Settings
    from memory_fabric.store.database import Database
    from memory_fabric.store.graph_file.sync_state import Marked, Signature
    from memory_fabric.store.protocols import Memory as AnyMemory

    Report = Callable[[str], object]
    Test = Callable[[bytes], bool]

# A new file may be in use by another server, and a large one takes half a minute to read. Later, an
# answer without others' latest changes is better than a long wait.
WAIT_AT_FIRST_S, WAIT_S = 60.0, 3.0
# Attempts to read while others keep writing.
ATTEMPTS = 20
# The signature of no file: forces reading it.
UNSEEN = (-1, -1, -1)
CHUNK_BYTES = 1 << 20
# Characters replaced in a folder's name.
_PLAIN = re.compile(r"[^A-Za-z0-9._-]+")


def open_mirrored(settings: Settings, report: Report) -> Memory:
    """Open the memory that serves exactly the file of `settings.memory_file_path`.

    `report` receives sentences for the operator of the server. Raises StoreUnavailable.
    """
    path = file_path(settings)
    home = home_of(settings.home, path)
    memory = Memory.open(settings._replace(home=home, project_dir=""), repair=True)
    memory.switched_by = (settings.home, "")
    memory.follow_switches()
    memory.mirror = Mirror(path, home, report)
    try:
        memory.mirror.tidy()
        memory.refresh()
        memory.flush()
        _note_served(home, path, report)
        _back_up(memory, report)
    except BaseException:
        memory.close()
        raise
    return memory


def file_path(settings: Settings) -> str:
    """Return the file's absolute path; a relative one starts in the project's folder, else in the
    current.
    """
    path = settings.memory_file_path
    if path.startswith("~/"):
        path = settings.user_home + path[1:]
    return os.path.abspath(os.path.join(settings.project_dir or os.getcwd(), path))


def home_of(home: str, path: str) -> str:
    """Return the folder for the database and everything else of a mirrored file."""
    real = os.path.realpath(path)
    name = _PLAIN.sub("-", os.path.basename(real))[:40]
    return os.path.join(home, file_locations.SERVED, f"{ids.checksum(real):08x}-{name}")


class Mirror:
    """One served file and its state; `home` is the folder of its database.

    `behind` is true if the file lacks changes, because it could not be written or others have
    overwritten it. `look_in_s` is set when `write` has written it: a program that had read it
    before may still write its old content, so the file must be read again after that many seconds;
    else it is 0.
    """

    def __init__(self, path: str, home: str, report: Report) -> None:
        self.path, self.home, self.behind, self.look_in_s = path, home, False, 0.0
        self._report, self._reported = report, set[str]()
        self._lock = files.lock_path(home, path)
        self._seen: Signature = UNSEEN
        self._was_read = self._saved = False
        # After one timeout, later calls do not wait for the same lock.
        self._outwaited = False

    def tidy(self) -> None:
        """Remove temporary files that a killed writer left next to the file."""
        folder, name = os.path.split(os.path.realpath(self.path))
        left = re.compile(re.escape(name) + r"\.\d+-\d+\.tmp")
        try:
            with files.Locked(self._lock, WAIT_S):
                for other in filter(left.fullmatch, os.listdir(folder)):
                    os.unlink(os.path.join(folder, other))
        except OSError as error:
            # A process that can write there removes them.
            self._outwaited = isinstance(error, TimeoutError)

    def refresh(self, memory: AnyMemory) -> None:
        """Merge what others wrote into the file; costs one stat if nothing changed.

        A file that can no longer be read, or is locked by another process, is reported, and the
        database answers. Raises StoreUnavailable if it never could be read, or if the database
        cannot be written.
        """
        try:
            if _signature(self.path) != self._seen:
                with files.Locked(self._lock, self._wait_s(memory)):
                    self._outwaited = False
                    self._merge_file(memory)
        except OSError as error:
            self._outwaited = isinstance(error, TimeoutError)
            answers = self._was_read or (self._outwaited and _agreed(memory) is not None)
            if not answers:
                raise StoreUnavailable(
                    self.path, f"{self.path} cannot be read: {_reason(error)}."
                ) from error
            self._report_once(
                f"{self.path} cannot be read: {_reason(error)}. "
                "Answers lack what others have written into it since."
            )
        except sqlite3.Error as error:
            raise translated(memory.path_of("user"), error) from error
        while memory.messages:
            self._report(memory.messages.pop(0))

    def write(self, memory: AnyMemory) -> None:
        """Write the database's changes to the file, merged with what others wrote into it
        meanwhile.

        A file that cannot be written is reported once and tried again with the next change. Raises
        StoreUnavailable, sqlite3.Error.
        """
        self.look_in_s = 0.0
        self.refresh(memory)
        db = memory.database("user", create=False)
        if db is None or not sync_state.is_ahead(db, sync_state.state_of(db)):
            self.behind = False
            return
        self.behind = True
        try:
            with files.Locked(self._lock, self._wait_s(memory)):
                self._outwaited = False
                self._write(memory)
        except OSError as error:
            self._outwaited = isinstance(error, TimeoutError)
            self._report_once(
                f"{self.path} cannot be written, so it lacks what changed: {_reason(error)}. "
                "Nothing is lost; the file is updated as soon as it can be written."
            )

    def erase(self, memory: AnyMemory, is_gone: Test) -> None:
        """Rewrite the file without lines that hold purged text, of whatever kind they are.

        Raises OSError, StoreUnavailable, sqlite3.Error.
        """
        self.tidy()
        with files.Locked(self._lock, WAIT_S):
            self._write(memory, is_gone)

    def _wait_s(self, memory: AnyMemory) -> float:
        """Return how long to wait for the lock."""
        if not self._was_read and _agreed(memory) is None:
            return WAIT_AT_FIRST_S
        return 0.0 if self._outwaited else WAIT_S

    def _write(self, memory: AnyMemory, is_gone: Test = lambda _: False) -> None:
        for _ in range(ATTEMPTS):
            self._merge_file(memory)
            if self._replaced(memory, is_gone):
                self.behind = False
                self._reported.clear()
                return
        raise OSError("others change it all the time")

    def _replaced(self, memory: AnyMemory, is_gone: Test) -> bool:
        """Write the database's content to the file; return False if the file changed meanwhile."""
        db = _database(memory)
        state = sync_state.state_of(db) or NOTHING
        held, seq, operation = _snapshot(db)
        before = sync_state.load_lines(self.home, state)
        lines, marked = self._rendered(held, before, is_gone)
        content = exchange.content_of(lines)
        digest = _digest_of(content)
        # The state is saved first, under the digest of the new content: if this process dies before
        # the end, the next one recognizes that content as its own.
        sync_state.save_lines(self.home, State(None, digest, seq, operation), marked)
        if digest != state.digest:
            _must_be_writable(self.path)
            known = own_writes.load(db)
            own_writes.save(db, known.after(_of_graph(before), _of_graph(marked), time.time()))
            self.look_in_s = own_writes.WINDOW_S
            still = lambda: _signature(self.path) == state.signature  # noqa: E731
            if not files.write_atomic(self.path, content, still=still):
                return False
        # If others have replaced it already, it is read at the next check.
        written = _signature(self.path)
        is_ours = self._digest() == digest and _signature(self.path) == written
        self._seen = written if is_ours else UNSEEN
        sync_state.agree(db, self.home, State(self._seen, digest, seq, operation))
        return True

    def _rendered(self, held: Graph, before: Marked, is_gone: Test) -> tuple[list[bytes], Marked]:
        """Return the lines of the new file, and their digests.

        Entities and relations keep the order of the database. Lines of another kind stay in front
        if they were there, else they move to the end; purged lines are dropped.
        """
        plain = exchange.graph_lines(held)
        odd: dict[bytes, bytes] = {}
        front: list[bytes] = []
        back: list[bytes] = []
        wanted = set(plain)
        graph_began = False
        for line in self._lines():
            cleaned = before.get(_mark(line), b"")
            graph_began = graph_began or bool(cleaned)
            if is_gone(line):
                continue
            if cleaned in wanted and line != cleaned:
                odd.setdefault(cleaned, line)
            elif not cleaned and _is_of_another_kind(line):
                (back if graph_began else front).append(line)
        lines = [*front, *(odd.get(line, line) for line in plain), *back]
        marked = {_mark(line): b"" for line in (*front, *back)}
        marked |= {_mark(odd.get(line, line)): line for line in plain}
        return lines, marked

    def _merge_file(self, memory: AnyMemory) -> None:
        """Update the database with the changes that others made to the file."""
        for _ in range(ATTEMPTS):
            seen = _signature(self.path)
            state = _agreed(memory)
            if seen == (state.signature if state else None):
                self._seen, self._was_read = seen, True
                return
            self._read(memory, _database(memory), state, seen)
            if _signature(self.path) == seen:
                self._seen, self._was_read = seen, True
                return
        raise OSError("others change it all the time")

    def _read(self, memory: AnyMemory, db: Database, state: State | None, seen: Signature) -> None:
        digest = self._digest() if seen else ""
        agreed = state or NOTHING
        if state is None or digest != state.digest:
            ours = sync_state.interrupted(db, self.home, digest) if state else None
            if ours is None:
                written_s = seen[1] / 1e9 if seen else time.time()
                kept = self._merge(memory, db, state, digest, written_s)
                agreed = agreed._replace(owed=agreed.owed or kept)
            agreed = ours or agreed
            self.behind = self.behind or agreed.owed
        sync_state.agree(db, self.home, agreed._replace(signature=seen, digest=digest))
        self._saved = False

    def _merge(
        self, memory: AnyMemory, db: Database, state: State | None, digest: str, written_s: float
    ) -> bool:
        """Apply to the database what others changed in the file; return True if the file now lacks
        own changes.
        """
        before = sync_state.load_lines(self.home, state)
        now, bad = self._read_lines(before)
        if any(before.values()) and not any(now.values()):
            self._save_first(db)
        by = _said_by(memory.settings)

        def apply(kind: str, payload: dict[str, Any]) -> Mapping[str, Any]:
            # The payloads were redacted line by line, or come from the database.
            result = memory.apply_now(Operation(ids.new_id(), kind, payload, by, "user"))
            for name in result.get("forgotten", ()):
                self._report_once(
                    f"{self.path}: {name!r} was forgotten on request and is not added again"
                )
            return result

        ours = own_writes.load(db).unknown_at(written_s)
        kept = merge_changes(db, apply, before, now, lambda: sync_state.clear(db), ours)
        if bad:
            self._set_aside(bad)
        sync_state.save_lines(self.home, (state or NOTHING)._replace(digest=digest), now)
        return kept

    def _read_lines(self, before: Marked) -> tuple[Marked, list[tuple[exchange.BadLine, bytes]]]:
        """Return the file's lines by their digests, and unreadable lines that are new."""
        now: Marked = {}
        bad = []
        for number, line in self._numbered_lines():
            mark = _mark(line)
            if mark in before:
                now[mark] = before[mark]
                continue
            try:
                item = exchange.read(line)
            except BadInput as error:
                bad.append((exchange.BadLine(number, error.message), line))
                item = None
            now[mark] = exchange.line_of(exchange.cleaned(item)) if item else b""
        return now, bad

    def _set_aside(self, bad: list[tuple[exchange.BadLine, bytes]]) -> None:
        aside = os.path.join(self.home, exchange.SET_ASIDE)
        exchange.set_aside(aside, self.path, bad)
        named = ", ".join(f"line {b.number} ({b.because})" for b, _ in bad[:10])
        more = f" and {len(bad) - 10} more" if len(bad) > 10 else ""
        self._report(f"{self.path}: set aside in {aside}: {named}{more}")

    def _save_first(self, db: Database) -> None:
        if self._saved:  # a retry after a failure: another copy would hold less
            return
        copy = backup.create(db.path)
        self._saved = True
        self._report(
            f"{self.path} was removed or emptied by someone, so its graph is gone; "
            f"its former content is in {copy}"
        )

    def _numbered_lines(self) -> Iterator[tuple[int, bytes]]:
        try:
            with files.open_regular(self.path) as stream:
                yield from exchange.lines(stream)
        except FileNotFoundError:
            return

    def _lines(self) -> Iterator[bytes]:
        for _, line in self._numbered_lines():
            yield line

    def _digest(self) -> str:
        sum_ = hashlib.blake2b(digest_size=16)
        try:
            with files.open_regular(self.path) as stream:
                while part := stream.read(CHUNK_BYTES):
                    sum_.update(part)
        except FileNotFoundError:
            return ""
        return sum_.hexdigest()

    def _report_once(self, sentence: str) -> None:
        if sentence not in self._reported:
            self._reported.add(sentence)
            self._report(sentence)


def _note_served(home: str, path: str, report: Report) -> None:
    """Register the file, so that a purge elsewhere can name it."""
    try:
        file_locations.save_served(home, path)
    except OSError as error:
        report(f"{home} cannot be written: {_reason(error)}")


def _back_up(memory: AnyMemory, report: Report) -> None:
    """Make a backup when one is due: no client session ends here, which would trigger it."""
    try:
        sync.backup_when_due(memory)
    except (OSError, sqlite3.Error) as error:
        report(f"no backup of {memory.path_of('user')} was made: {error}")


def _database(memory: AnyMemory) -> Database:
    found = memory.database("user", create=True)
    assert found is not None
    return found


def _agreed(memory: AnyMemory) -> State | None:
    """Return the state after the last merge by any process; None if there was none."""
    db = memory.database("user", create=False)
    return sync_state.state_of(db) if db else None


def _of_graph(lines: Marked) -> list[bytes]:
    return [line for line in lines.values() if line]


def _said_by(settings: Settings) -> Provenance:
    return Provenance(
        source="import",
        trust="tool",
        author=settings.author,
        origin=settings.origin,
        at=ids.timestamp(),
    )


def _signature(path: str) -> Signature:
    """Return size, time and inode of the file. Raises OSError if it is not a regular file."""
    try:
        found = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    if not stat.S_ISREG(found.st_mode):
        raise OSError("it is not a file")
    return found.st_size, found.st_mtime_ns, found.st_ino


def _must_be_writable(path: str) -> None:
    """Raise PermissionError for a read-only file: replacing it would bypass its mode."""
    if os.path.exists(path) and not os.access(path, os.W_OK):
        raise PermissionError("it is read-only")


def _reason(error: OSError) -> str:
    """Return the error's reason without its path, which may be that of a temporary file."""
    return error.strerror or str(error)


def _mark(line: bytes) -> bytes:
    return hashlib.blake2b(line, digest_size=8).digest()


def _digest_of(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def _is_of_another_kind(line: bytes) -> bool:
    try:
        return exchange.read(line) is None
    except BadInput:
        return False


def _snapshot(db: Database) -> tuple[Graph, int, str]:
    """Return the graph and the last operation in it, read in one transaction. Raises
    StoreUnavailable.
    """
    db.rows("BEGIN")
    try:
        seq, operation = db.row("SELECT seq, id FROM operations ORDER BY seq DESC LIMIT 1") or (
            0,
            "",
        )
        return graph.read_graph(db), seq, operation
    finally:
        db.rows("ROLLBACK")
