"""A graph that is served from a file in the reference server's format: `MEMORY_FILE_PATH` (MEM-17).

The graph is in a separate database in the home folder, with backups and repair like any other. A
`Mirror` keeps the database and the file equal: it updates the file after each change, and merges
changes by other programs before the next answer. Unchanged lines are kept byte for byte.
"""

import os
import re
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from memory_fabric import ids
from memory_fabric.config import Settings
from memory_fabric.errors import BadInput, StoreUnavailable
from memory_fabric.models import Graph, Operation, Provenance, Relation
from memory_fabric.store import files
from memory_fabric.store.base_memory import BaseMemory
from memory_fabric.store.database import Database, translated
from memory_fabric.store.graph_file import agreed, exchange, merge_external
from memory_fabric.store.graph_file.agreed import Marked, Signature, State, mark_of, signature_of
from memory_fabric.store.graph_file.line_edits import edited, edits_since
from memory_fabric.store.memory import Memory
from memory_fabric.store.queries import graph
from memory_fabric.store.tiers import file_locations, sync
from memory_fabric.store.upkeep import backup

Report = Callable[[str], object]
Test = Callable[[bytes], bool]

# Seconds to wait for the file's lock. The first wait is long: another server may take half a minute
# to read a large file. Later, an answer without others' latest changes is better than a long wait.
WAIT_AT_FIRST_S, WAIT_S = 60.0, 3.0
# The maximum number of times that the file is read again while other programs keep changing it.
ATTEMPTS = 20
# Characters that are replaced in the name of the database's folder.
_PLAIN = re.compile(r"[^A-Za-z0-9._-]+")


def open_mirrored(settings: Settings, report: Report) -> Memory:
    """Open the memory of the mirrored file; `report` receives messages. Raises StoreUnavailable."""
    path = file_path(settings)
    home = home_of(settings.home, path)
    memory = Memory.open(settings._replace(home=home, project_dir=""), repair=True)
    memory.switched_by = (settings.home, "")
    memory.follow_switches()
    mirror = memory.mirror = Mirror(path, home, report)
    try:
        mirror.tidy()
        memory.refresh()
        memory.flush()
        # Register the file, so that a purge in another process can find it.
        try:
            file_locations.save_served(home, path)
        except OSError as error:
            report(f"{home} cannot be written: {_reason_of(error)}")
        # Back up now: this process has no session, at the end of which other backups are made.
        try:
            sync.backup_when_due(memory)
        except (OSError, sqlite3.Error) as error:
            report(f"no backup of {memory.path_of('user')} was made: {error}")
    except BaseException:
        memory.close()
        raise
    return memory


def file_path(settings: Settings) -> str:
    """Return the file's absolute path; resolve a relative one in the project or current folder."""
    path = settings.memory_file_path
    if path.startswith("~/"):
        path = settings.user_home + path[1:]
    return os.path.abspath(os.path.join(settings.project_dir or os.getcwd(), path))


def home_of(home: str, path: str) -> str:
    """Return the folder that contains the database and all other data of a mirrored file."""
    real = os.path.realpath(path)
    name = _PLAIN.sub("-", os.path.basename(real))[:40]
    return os.path.join(home, file_locations.SERVED, f"{ids.checksum(real):08x}-{name}")


class Mirror:
    """A mirrored file and its state. `home` is the folder of its database. `behind` is True if the
    file lacks changes, because it could not be written or was overwritten. After a `write`, another
    program that read the old file may still overwrite the new one, so the file must be read again
    after `look_in_s` seconds; 0 means that this is not needed.
    """

    def __init__(self, path: str, home: str, report: Report) -> None:
        self.path, self.home, self.behind, self.look_in_s = path, home, False, 0.0
        self._report, self._reported = report, set[str]()
        self._lock = files.lock_path(home, path)
        self._seen: Signature = agreed.UNSEEN
        self._was_read = self._saved = False
        # After a timeout, later calls do not wait for the same lock again.
        self._outwaited = False

    def tidy(self) -> None:
        """Remove temporary files that a killed process left next to the served file."""
        folder, name = os.path.split(os.path.realpath(self.path))
        temporary = re.compile(re.escape(name) + r"\.\d+-\d+\.tmp")
        try:
            with files.Locked(self._lock, WAIT_S):
                for other in filter(temporary.fullmatch, os.listdir(folder)):
                    os.unlink(os.path.join(folder, other))
        except OSError as error:
            # Ignore the error: another process with access to the folder will remove the files.
            self._outwaited = isinstance(error, TimeoutError)

    def refresh(self, memory: BaseMemory) -> None:
        """Merge others' changes to the file; if there are none, only call `stat`. Report an
        unreadable file, or raise StoreUnavailable if it was never readable or the database fails.
        """
        try:
            if signature_of(self.path) != self._seen:
                with files.Locked(self._lock, self._wait_s(memory)):
                    self._outwaited = False
                    self._merge_file(memory)
        except OSError as error:
            self._outwaited = isinstance(error, TimeoutError)
            problem = f"{self.path} cannot be read: {_reason_of(error)}."
            if not (self._was_read or (self._outwaited and _agreed(memory) is not None)):
                raise StoreUnavailable(self.path, problem) from error
            self._report_once(f"{problem} Answers lack what others have written into it since.")
        except sqlite3.Error as error:
            raise translated(memory.path_of("user"), error) from error
        while memory.messages:
            self._report(memory.messages.pop(0))

    def write(self, memory: BaseMemory) -> None:
        """Write the database's changes to the file; report errors. Raises StoreUnavailable."""
        self.look_in_s = 0.0
        self.refresh(memory)
        db = memory.database("user", create=False)
        self.behind = db is not None and agreed.is_ahead(db, agreed.state_of(db))
        if not self.behind:
            return
        try:
            with files.Locked(self._lock, self._wait_s(memory)):
                self._outwaited = False
                self._write(memory)
        except OSError as error:
            self._outwaited = isinstance(error, TimeoutError)
            self._report_once(
                f"{self.path} cannot be written, so it lacks what changed: {_reason_of(error)}. "
                "Nothing is lost; the file is updated as soon as it can be written."
            )

    def erase(self, memory: BaseMemory, is_gone: Test) -> None:
        """Rewrite the file without purged text. Raises OSError, StoreUnavailable, sqlite3.Error."""
        self.tidy()
        with files.Locked(self._lock, WAIT_S):
            self._write(memory, is_gone)

    def _wait_s(self, memory: BaseMemory) -> float:
        if not self._was_read and _agreed(memory) is None:
            return WAIT_AT_FIRST_S
        return 0.0 if self._outwaited else WAIT_S

    def _write(self, memory: BaseMemory, is_gone: Test | None = None) -> None:
        for _ in range(ATTEMPTS):
            self._merge_file(memory)
            is_written = self._edited(memory) if is_gone is None else None
            if is_written is None:
                is_written = self._replaced(memory, is_gone or (lambda _: False))
            if is_written:
                self.behind = False
                self._reported.clear()
                return
        raise OSError("others change it all the time")

    def _edited(self, memory: BaseMemory) -> bool | None:
        """Edit single lines; return None if this is impossible, False if the file has changed."""
        db = memory.session_database()
        state = agreed.state_of(db)
        if state is None or not agreed.can_be_edited(self.home, state):
            return None
        edits = edits_since(db, state, lambda: agreed.saved_lines(self.home, state))
        content = agreed.read(self.path) if edits else b""
        if edits is None or not exchange.is_of_lines(content):
            return None
        whole = edited(content, edits)
        if whole is None:
            return None
        marks = [edits.marks[line] for line in edits.replaced]
        digest = agreed.digest_after(state.digest, marks, map(mark_of, edits.new))
        after = State(None, digest, edits.seq, edits.operation)
        after = agreed.save_edits(self.home, state, after, marks, edits.new)
        self._note_own(db, edits.replaced, edits.new)
        written = self._written(whole, state) if edits.added or edits.replaced else state.signature
        if written is None:
            return False
        self._agree(db, written, after)
        return True

    def _replaced(self, memory: BaseMemory, is_gone: Test) -> bool:
        """Write the database's content to the file; return False if others changed it first."""
        db = memory.session_database()
        state = agreed.state_of(db) or agreed.NOTHING
        db.rows("BEGIN")
        try:
            last = db.row("SELECT seq, id FROM operations ORDER BY seq DESC LIMIT 1") or (0, "")
            whole = graph.read_graph(db)
        finally:
            db.rows("ROLLBACK")
        before = agreed.load_lines(self.home, state)
        lines, marked = _rendered(whole, (line for _, line in self._lines()), before, is_gone)
        digest = agreed.digest_of(lines)
        # Save the state first: if this process dies, the next one uses it to recognise the content.
        after = agreed.save_lines(self.home, State(None, digest, *last), marked)
        written = signature_of(self.path)
        if digest != state.digest:
            self._note_own(db, filter(None, before.values()), filter(None, marked.values()))
            written = self._written(exchange.content_of(lines), state)
            if written is None:
                return False
        self._agree(db, written, after)
        return True

    def _note_own(self, db: Database, before: Iterable[bytes], after: Iterable[bytes]) -> None:
        """Save our changes before the write: they must survive if others write old content."""
        if os.path.exists(self.path) and not os.access(self.path, os.W_OK):
            # Check here, because `_written` replaces even a read-only file without an error.
            raise PermissionError("it is read-only")
        merge_external.save(db, merge_external.load(db).after(before, after, time.time()))
        self.look_in_s = merge_external.WINDOW_S

    def _written(self, content: bytes, state: State) -> Signature:
        """Replace the file and return its signature. If others changed it since `state`, do nothing
        and return None; if they changed it just after the write, return UNSEEN.
        """
        still = lambda path: signature_of(path) == state.signature  # noqa: E731
        if not files.write_atomic(self.path, content, still=still):
            return None
        written = signature_of(self.path)
        is_ours = agreed.read(self.path) == content and signature_of(self.path) == written
        return written if is_ours else agreed.UNSEEN

    def _agree(self, db: Database, signature: Signature, state: State) -> None:
        # If others changed the file meanwhile, it has another signature: `refresh` reads it again.
        self._seen = signature
        agreed.agree(db, self.home, state._replace(signature=signature))

    def _merge_file(self, memory: BaseMemory) -> None:
        for _ in range(ATTEMPTS):
            signature = signature_of(self.path)
            state = _agreed(memory)
            is_same = signature == (state.signature if state else None)
            if not is_same:
                db, after = memory.session_database(), state or agreed.NOTHING
                digest = agreed.digest_of(line for _, line in self._lines()) if signature else ""
                if state is None or digest != state.digest:
                    ours = agreed.interrupted(db, self.home, state, digest) if state else None
                    after = ours or self._merge(memory, db, state, digest, signature)
                    self.behind = self.behind or after.owed
                after = after._replace(signature=signature, digest=digest)
                agreed.agree(db, self.home, after)
                self._saved = False
            if is_same or signature_of(self.path) == signature:
                self._seen, self._was_read = signature, True
                return
        raise OSError("others change it all the time")

    def _merge(
        self, memory: BaseMemory, db: Database, state: State | None, digest: str, stamp: Signature
    ) -> State:
        before = agreed.load_lines(self.home, state)
        now, bad = self._read_lines(before)
        # Do not back up again if a failed merge is repeated: it may already have deleted content.
        if any(before.values()) and not any(now.values()) and not self._saved:
            copy = backup.create(db.path)
            self._saved = True
            self._report(
                f"{self.path} was removed or emptied by someone, so its graph is gone; "
                f"its former content is in {copy}"
            )
        said_by = {"author": memory.settings.author, "origin": memory.settings.origin}
        by = Provenance("import", trust="tool", at=ids.timestamp(), **said_by)

        def apply(kind: str, payload: dict[str, Any]) -> Mapping[str, Any]:
            # Payloads need no redaction: the lines were redacted, or come from the database.
            result = memory.apply_now(Operation(ids.new_id(), kind, payload, by, "user"))
            for name in result.get("forgotten", ()):
                what = f"{name!r} was forgotten on request and is not added again"
                self._report_once(f"{self.path}: {what}")
            return result

        is_ahead = agreed.is_ahead(db, state)
        # If a relation's line was removed, its entities may have no line: rewrite the whole file.
        lost = (line for mark, line in before.items() if line and mark not in now)
        has_lost = any(isinstance(exchange.read(line), Relation) for line in lost)
        ours = merge_external.load(db).unknown_at(stamp[1] / 1e9 if stamp else time.time())
        clear = partial(agreed.clear, db)
        differs = merge_external.merge_changes(db, apply, before, now, clear, ours)
        if bad:
            aside = os.path.join(self.home, exchange.SET_ASIDE)
            exchange.set_aside(aside, self.path, bad)
            listed = ", ".join(f"line {b.number} ({b.because})" for b, _ in bad[:10])
            more = f" and {len(bad) - 10} more" if len(bad) > 10 else ""
            self._report(f"{self.path}: set aside in {aside}: {listed}{more}")
        after = state or agreed.NOTHING
        after = after._replace(digest=digest, owed=after.owed or differs)
        after = agreed.save_lines(self.home, after, now)
        # The next write replaces the whole file (`length` 0) to remove bad lines. It also does so
        # if both sides changed: logged operations then do not show all differences from the file.
        return after._replace(length=0) if bad or is_ahead or has_lost else after

    def _read_lines(self, before: Marked) -> tuple[Marked, list[tuple[exchange.BadLine, bytes]]]:
        now: Marked = {}
        bad = []
        for number, line in self._lines():
            mark, item = mark_of(line), None
            try:
                item = exchange.read(line) if mark not in before else None
            except BadInput as error:
                bad.append((exchange.BadLine(number, error.message), line))
            now[mark] = before.get(mark, exchange.line_of(exchange.cleaned(item)) if item else b"")
        return now, bad

    def _lines(self) -> Iterator[tuple[int, bytes]]:
        try:
            with files.open_regular(self.path) as stream:
                yield from exchange.lines(stream)
        except FileNotFoundError:
            return

    def _report_once(self, sentence: str) -> None:
        if sentence not in self._reported:
            self._reported.add(sentence)
            self._report(sentence)


def _agreed(memory: BaseMemory) -> State | None:
    """Return the state after the last merge by any process; None if nothing was ever merged."""
    db = memory.database("user", create=False)
    return agreed.state_of(db) if db else None


def _reason_of(error: OSError) -> str:
    """Return the reason in an error without the path, which may be of a temporary file."""
    return error.strerror or str(error)


def _rendered(
    stored: Graph, present: Iterable[bytes], before: Marked, is_gone: Test
) -> tuple[list[bytes], Marked]:
    """Return the new file's lines, and their digests (see Marked). Lines of the graph have the
    database's order, but keep their form in `present`. Lines of another kind stay before the graph
    if they preceded it, and otherwise follow it. Ignore lines of `present` that `is_gone` accepts.
    """
    plain = exchange.graph_lines(stored)
    other_forms: dict[bytes, bytes] = {}
    front: list[bytes] = []
    back: list[bytes] = []
    canonical = set(plain)
    graph_began = False
    for line in present:
        cleaned = before.get(mark_of(line), b"")
        graph_began = graph_began or bool(cleaned)
        if is_gone(line):
            continue
        if cleaned in canonical and line != cleaned:
            other_forms.setdefault(cleaned, line)
        elif not cleaned:
            try:
                is_of_another_kind = exchange.read(line) is None
            except BadInput:
                continue
            if is_of_another_kind:
                (back if graph_began else front).append(line)
    lines = [*front, *(other_forms.get(line, line) for line in plain), *back]
    marked = {mark_of(line): b"" for line in (*front, *back)}
    marked |= {mark_of(other_forms.get(line, line)): line for line in plain}
    return lines, marked
