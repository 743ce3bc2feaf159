"""A served file and its database: each is updated with the changes of the other.

The file is updated after each change, and changes by other programs are merged before the next
answer. Lines whose content did not change are kept byte for byte.
"""

from __future__ import annotations

import os
import re
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from memory_fabric import ids
from memory_fabric.config import Settings
from memory_fabric.errors import BadInput, StoreUnavailable
from memory_fabric.models import Operation, Provenance, Relation
from memory_fabric.store import backup, files
from memory_fabric.store.database import Database, translated
from memory_fabric.store.graph_file import (
    exchange,
    file_content,
    own_writes,
    sync_state,
    whole_file,
)
from memory_fabric.store.graph_file.file_content import UNSEEN, reason_of
from memory_fabric.store.graph_file.file_content import signature as _signature
from memory_fabric.store.graph_file.line_edits import (
    Agreed,
    can_be_appended,
    edited,
    edits_since,
    is_of_lines,
)
from memory_fabric.store.graph_file.merge_external import merge_changes
from memory_fabric.store.graph_file.sync_state import NOTHING, Digest, State, digest_of, mark_of

if TYPE_CHECKING:
    from memory_fabric.store.graph_file.sync_state import Marked, Signature
    from memory_fabric.store.protocols import Memory as AnyMemory

Report = Callable[[str], object]
Test = Callable[[bytes], bool]

# A new file may be in use by another server, and a large one takes half a minute to read. Later, an
# answer without others' latest changes is better than a long wait.
WAIT_AT_FIRST_S, WAIT_S = 60.0, 3.0
# Attempts to read while others keep writing.
ATTEMPTS = 20


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
                    self.path, f"{self.path} cannot be read: {reason_of(error)}."
                ) from error
            self._report_once(
                f"{self.path} cannot be read: {reason_of(error)}. "
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
                f"{self.path} cannot be written, so it lacks what changed: {reason_of(error)}. "
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

    def _write(self, memory: AnyMemory, is_gone: Test | None = None) -> None:
        for _ in range(ATTEMPTS):
            self._merge_file(memory)
            done = self._edited(memory) if is_gone is None else None
            if done is None:
                done = self._replaced(memory, is_gone or (lambda _: False))
            if done:
                self.behind = False
                self._reported.clear()
                return
        raise OSError("others change it all the time")

    def _edited(self, memory: AnyMemory) -> bool | None:
        """Write the database's changes by editing single lines; None if that is not possible, False
        if the file changed meanwhile.
        """
        db = _database(memory)
        state = sync_state.state_of(db)
        if state is None or not sync_state.can_be_edited(self.home, state):
            return None
        agreed = Agreed(lambda: sync_state.saved_lines(self.home, state))
        found = edits_since(db, state, agreed)
        if found is None:
            return None
        old, new, marks = found.edits.replaced, found.edits.new, found.edits.marks
        content = file_content.read(self.path)
        if not is_of_lines(content):
            return None
        is_appended = can_be_appended(content, found.edits)
        whole = b"" if is_appended else edited(content, found.edits)
        if whole is None:
            return None
        digest = Digest(state.digest)
        for line in old:
            digest.remove(marks[line])
        for line in new:
            digest.add(mark_of(line))
        after = State(None, str(digest), found.seq, found.operation)
        after = sync_state.save_edits(self.home, state, after, [marks[line] for line in old], new)
        self._note_own(db, old, new)
        if is_appended:
            written = file_content.append(self.path, state.signature, found.edits.added)
        else:
            written = self._written(whole, state)
        if written is None:
            return False
        self._agree(db, written, after)
        return True

    def _replaced(self, memory: AnyMemory, is_gone: Test) -> bool:
        """Write the database's content to the file; return False if the file changed meanwhile."""
        db = _database(memory)
        state = sync_state.state_of(db) or NOTHING
        held, seq, operation = whole_file.snapshot(db)
        before = sync_state.load_lines(self.home, state)
        lines, marked = whole_file.rendered(held, self._lines(), before, is_gone)
        digest = digest_of(lines)
        # The state is saved first, under the digest of the new content: if this process dies before
        # the end, the next one recognizes that content as its own.
        after = State(None, digest, seq, operation)
        after = sync_state.save_lines(self.home, after, marked)
        written = _signature(self.path)
        if digest != state.digest:
            self._note_own(db, filter(None, before.values()), filter(None, marked.values()))
            replaced = self._written(exchange.content_of(lines), state)
            if replaced is None:
                return False
            written = replaced
        self._agree(db, written, after)
        return True

    def _note_own(self, db: Database, before: Iterable[bytes], after: Iterable[bytes]) -> None:
        """Save what is about to change, for programs that read the file before. Raises OSError."""
        _must_be_writable(self.path)
        own_writes.save(db, own_writes.load(db).after(before, after, time.time()))
        self.look_in_s = own_writes.WINDOW_S

    def _written(self, content: bytes, state: State) -> Signature:
        """Replace the file; return its signature, UNSEEN if others have replaced it already, and
        None if they had changed it before.
        """
        still = lambda: _signature(self.path) == state.signature  # noqa: E731
        if not files.write_atomic(self.path, content, still=still):
            return None
        written = _signature(self.path)
        is_ours = file_content.read(self.path) == content and _signature(self.path) == written
        return written if is_ours else UNSEEN

    def _agree(self, db: Database, signature: Signature, state: State) -> None:
        # If others have replaced it already, it is read at the next check.
        self._seen = signature
        sync_state.agree(db, self.home, state._replace(signature=signature))

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
        if state is not None and digest != state.digest and self._mended(state, seen):
            return  # it is read again
        if state is None or digest != state.digest:
            ours = sync_state.interrupted(db, self.home, state, digest) if state else None
            if ours is None:
                written_s = seen[1] / 1e9 if seen else time.time()
                agreed = self._merge(memory, db, state, digest, written_s)
            agreed = ours or agreed
            self.behind = self.behind or agreed.owed
        sync_state.agree(db, self.home, agreed._replace(signature=seen, digest=digest))
        self._saved = False

    def _merge(
        self, memory: AnyMemory, db: Database, state: State | None, digest: str, written_s: float
    ) -> State:
        """Apply to the database what others changed in the file, and save its lines; return the
        state, with `owed` if the file now lacks own changes.
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

        is_ahead = sync_state.is_ahead(db, state)
        # The ends of a relation may have no lines of their own.
        has_lost = any(
            isinstance(exchange.read(line), Relation)
            for mark, line in before.items()
            if line and mark not in now
        )
        ours = own_writes.load(db).unknown_at(written_s)
        kept = merge_changes(db, apply, before, now, lambda: sync_state.clear(db), ours)
        if bad:
            self._set_aside(bad)
        agreed = state or NOTHING
        agreed = agreed._replace(digest=digest, owed=agreed.owed or kept)
        agreed = sync_state.save_lines(self.home, agreed, now)
        # Bad lines leave the file when it is written as a whole; and of two changes that met, not
        # every line follows from the operations.
        return agreed._replace(length=0) if bad or is_ahead or has_lost else agreed

    def _mended(self, state: State, seen: Signature) -> bool:
        """Complete own lines of which a killed process has appended only a part; return True if
        there were any.
        """
        pending = sync_state.pending(self.home, state)
        if pending is None or seen is None or state.signature is None:
            return False
        size = state.signature[0]
        if not 0 <= size < seen[0]:
            return False
        content = file_content.read(self.path)
        rest = file_content.missing(content, size, pending[1])
        if not rest or digest_of(exchange.lines_of(content[:size])) != state.digest:
            return False
        return file_content.append_bytes(self.path, seen, rest) is not None

    def _read_lines(self, before: Marked) -> tuple[Marked, list[tuple[exchange.BadLine, bytes]]]:
        """Return the file's lines by their digests, and unreadable lines that are new."""
        now: Marked = {}
        bad = []
        for number, line in self._numbered_lines():
            mark = mark_of(line)
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
        return digest_of(self._lines())

    def _report_once(self, sentence: str) -> None:
        if sentence not in self._reported:
            self._reported.add(sentence)
            self._report(sentence)


def _database(memory: AnyMemory) -> Database:
    found = memory.database("user", create=True)
    assert found is not None
    return found


def _agreed(memory: AnyMemory) -> State | None:
    """Return the state after the last merge by any process; None if there was none."""
    db = memory.database("user", create=False)
    return sync_state.state_of(db) if db else None


def _said_by(settings: Settings) -> Provenance:
    return Provenance(
        source="import",
        trust="tool",
        author=settings.author,
        origin=settings.origin,
        at=ids.timestamp(),
    )


def _must_be_writable(path: str) -> None:
    """Raise PermissionError for a read-only file: replacing it would bypass its mode."""
    if os.path.exists(path) and not os.access(path, os.W_OK):
        raise PermissionError("it is read-only")
