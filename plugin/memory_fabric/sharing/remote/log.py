"""A log in the files of a git branch, `ops/MACHINE/DAY.jsonl`; a machine writes only its own files.

    push ── lines for my file of today ──▶ commit on top of the branch ──▶ push, or fetch and retry
    pull ── fetch ──▶ lines added since the commit of the last pull ──▶ operations

Each line is one operation, encrypted with the key of the user's machines; no other file in the
repository is read. No two machines change the same file, so a commit on top of the newest commit
needs no merging. Only replaced or erased operations may disappear. If any others are missing, the
repository was reset to an earlier state.
"""

import json
import random
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from memory_fabric import ids
from memory_fabric.sharing.remote.clone import PUSHED, READ, TIP, Clone
from memory_fabric.sharing.replica import outbox, wire
from memory_fabric.sharing.replica.wire import PURGE, Position, TeamOperation
from memory_fabric.sharing.team.errors import NoAnswer, NotAllowed, TooSlow
from memory_fabric.sharing.team.keys import Key
from memory_fabric.text import many

# The name of the only member of a space that is shared by one user's machines.
ME = "me"
EPOCH = 1
# The number of attempts to push, and the maximum number of seconds between two attempts.
TRIES, WAIT_S = 12, 0.5
# No line is appended to a larger file, because git hosts refuse large files.
MAX_FILE_BYTES = 8 << 20
# Daily files older than OLD_AFTER_S are merged into one file once there are OLD_FILES of them.
OLD_AFTER_S, OLD_FILES = 30 * 24 * 3600.0, 30
UNTIL = "until-"
# The number of files that one git process reads.
SOME = 50
# `Content` is the lines of one file; `Files` maps the paths of changed files to their contents.
Content = Sequence[bytes]
Files = Mapping[str, bytes]


class Lines(NamedTuple):
    """A commit's operations by path and id, and the ids in `base` that they replace or erase."""

    ids: Mapping[str, Mapping[str, TeamOperation]]
    replaced: frozenset[str]
    erased: frozenset[str]

    @property
    def known(self) -> frozenset[str]:
        """Return the ids of all operations, including replaced and erased ones."""
        return self.replaced.union(self.erased, *self.ids.values())


class GitLog:
    """A `wire.Log` in a branch of a git clone. `tell` receives a message about invalid lines."""

    # The maximum number of operations in one commit.
    at_once = 5000

    def __init__(
        self, clone: Clone, space: str, key: Key, origin: str, tell: Callable[[str], object]
    ) -> None:
        self._clone, self._space, self._key, self._tell = clone, space, key, tell
        self._folder, self._origin = f"ops/{origin}/", origin
        self._tip = ""
        # True if the last commit read is still in the clone and can be compared with the newest.
        self._is_compared = False
        self._reading: tuple[tuple[str, str], Iterator[TeamOperation]] | None = None
        self._refused = 0
        # True if an operation was read that demands the erasure of lines.
        self._is_purged = False

    def state(self) -> wire.SpaceState:
        """Fetch the branch and return its state; `members` counts the machines that wrote to it."""
        self._tip = self._clone.fetch()
        machines = {path.split("/")[1] for path in self._clone.files(self._tip) if "/" in path}
        return wire.SpaceState(EPOCH, ME, "owner", len(machines))

    def members(self) -> Sequence[wire.Member]:
        return ()  # no other members: all machines of a branch belong to one user

    def holds(self, position: Position) -> bool:
        """Return True unless a reset of the branch lost lines that this machine read or pushed."""
        # A new clone lacks the commit that was read last; then `self.has` must search all lines.
        self._is_compared = bool(position.last) and self._clone.has(position.last)
        before = position.last if self._is_compared else ""
        pushed = self._clone.marked(PUSHED)
        return not (self._lost(before, self._tip) or self._lost(pushed, self._tip, self._folder))

    def has(self, op_ids: Collection[str]) -> set[str]:
        return set(op_ids) if self._is_compared else set(op_ids) & self._lines(self._tip).known

    def push(
        self,
        operations: Sequence[TeamOperation],
        refused: Callable[[str, str], object] | None = None,
    ) -> list[str]:
        """Append operations to this machine's file for today; the rest is as in `wire.Log.push`."""
        lines: dict[str, bytes] = {}
        for operation in operations:
            try:
                lines[operation.op_id] = self._line(operation)
            except (ValueError, TypeError, RecursionError) as error:
                if refused is not None:
                    refused(operation.op_id, str(error))
        since = min((o.made_at[:10] for o in operations), default="")

        def changed() -> dict[str, bytes]:
            recent = [path for path in self._clone.files(self._tip) if _day(path) >= since]
            there = set[str]().union(*self._ids(recent).values())
            return self._appended([line for id_, line in lines.items() if id_ not in there])

        self._write(changed)
        return list(lines)

    def pull(self, position: Position, limit: int) -> tuple[list[TeamOperation], Position]:
        """Return at most `limit` operations from lines added since the commit at `position`, in no
        fixed order, and the next position. It stays the same until all these lines were returned.
        """
        ends = (position.last, self._tip)
        at_end = Position(EPOCH, 1, 0, self._tip)
        if self._reading is None or self._reading[0] != ends:
            if position == at_end:
                if self._is_purged:
                    self._clone.erase()
                self._is_purged = False
                return [], position
            before = position.last if self._clone.has(position.last) else ""
            self._reading, self._refused = (ends, self._added(before, self._tip)), 0
        operations = list(islice(self._reading[1], limit))
        if len(operations) == limit:
            return operations, position
        self._reading = None
        if self._refused:
            self._tell(
                f"Refused {many(self._refused, 'line')} in {self._clone.url}: damaged, or not "
                "written with the key of your machines. Nothing changed by that."
            )
        if self._is_purged:
            self._rewrite(lambda lines: self._without(lines, lines.erased))
        self._clone.mark(ends[1], READ)
        self._clone.mark(self._tip, PUSHED, TIP)
        return operations, at_end

    def purge(self, keys: Collection[str]) -> None:
        """Erase operations under these keys, and own replaced ones; rewrite the branch's history.
        Other machines erase theirs on demands written here.
        """
        wanted, now = set(keys) - {outbox.REPLACED}, ids.timestamp()

        def changed(lines: Lines) -> dict[str, bytes]:
            said: dict[str, list[str]] = {}
            for operation in (o for operations in lines.ids.values() for o in operations.values()):
                if operation.key in wanted and operation.value is not None:
                    said.setdefault(operation.key, []).append(operation.op_id)
            erased = {id_ for op_ids in said.values() for id_ in op_ids} - lines.erased
            files = self._without(lines, lines.erased | lines.replaced | erased)
            demands = [
                TeamOperation(ids.new_id(), self._origin, PURGE, key, None, tuple(op_ids), "", now)
                for key, op_ids in said.items()
                if not lines.erased.issuperset(op_ids)
            ]
            return self._appended(list(map(self._line, demands)), files)

        self._rewrite(changed)

    def compact(self) -> None:
        """Merge own old daily files; drop replaced and erased operations."""
        before = time.strftime("%Y-%m-%d", time.gmtime(time.time() - OLD_AFTER_S))
        own = [path for path in self._clone.files(self._tip) if path.startswith(self._folder)]
        old = [path for path in own if _day(path) < before]
        if sum(UNTIL not in path for path in old) < OLD_FILES:
            return

        def changed(lines: Lines) -> dict[str, bytes]:
            kept = self._without(lines, lines.erased | lines.replaced, all_of=old)
            merged = b"".join(content for path, content in kept.items() if path in old)
            stem = f"{self._folder}{UNTIL}{max(map(_day, old))}"
            files = kept | dict.fromkeys(old, b"")
            return _added_to(files, stem, merged.splitlines(keepends=True))

        self._rewrite(changed)

    def _lost(self, before: str, after: str, folder: str = "") -> bool:
        """Return True if commit `after` lost a line of `before` that was not replaced or erased."""
        gone: dict[str, TeamOperation] = {}
        for path, old, new in self._changes(before, after):
            removed = set(old).difference(new) if path.startswith(folder) else ()
            gone |= {o.op_id: o for o in map(self._read, removed) if o is not None}
        if not gone:
            return False
        replaced = {id_ for operation in gone.values() for id_ in operation.base}
        return bool(gone.keys() - replaced - self._lines(after).known)

    def _changes(self, before: str, after: str) -> Iterator[tuple[str, Content, Content]]:
        """Yield (path, old lines, new lines) of each changed file, in order of the files' days."""
        old, new = self._clone.files(before), self._clone.files(after)
        paths = [path for path in old.keys() | new.keys() if old.get(path) != new.get(path)]
        for path in sorted(paths, key=lambda path: (_day(path), path)):
            blobs = [files[path] for files in (old, new) if path in files]
            contents = [content.splitlines() for content in self._clone.contents(blobs)]
            yield path, contents[0] if path in old else (), contents[-1] if path in new else ()

    def _added(self, before: str, after: str) -> Iterator[TeamOperation]:
        """Yield operations of lines that only `after` has; count invalid lines in `_refused`."""
        operations: list[TeamOperation | None] = []
        for _, old, new in self._changes(before, after):
            known = set(old)
            operations += (self._read(line) for line in new if line not in known and line.strip())
        # Another machine removes what was erased from its file only when it reads the demand.
        erased = {id_ for o in operations if o and o.kind == PURGE for id_ in o.base}
        for operation in operations:
            if operation is None:
                self._refused += 1
            elif operation.kind == PURGE:
                self._is_purged = True
                yield operation._replace(base=())
            elif operation.op_id not in erased:
                yield operation

    def _lines(self, commit: str) -> Lines:
        read = self._ids(self._clone.files(commit), commit)
        operations = [o for by_id in read.values() for o in by_id.values()]
        replaced = frozenset(id_ for o in operations if o.kind != PURGE for id_ in o.base)
        erased = frozenset(id_ for o in operations if o.kind == PURGE for id_ in o.base)
        return Lines(read, replaced, erased)

    def _ids(
        self, paths: Collection[str], commit: str | None = None
    ) -> dict[str, dict[str, TeamOperation]]:
        """Map each path in a commit, by default the newest, to the file's operations by id."""
        files = self._clone.files(self._tip if commit is None else commit)
        wanted, found = list(paths), dict[str, dict[str, TeamOperation]]()
        for start in range(0, len(wanted), SOME):
            some = wanted[start : start + SOME]
            contents = self._clone.contents(files[path] for path in some)
            for path, content in zip(some, contents, strict=True):
                read = filter(None, map(self._read, content.splitlines()))
                found[path] = {operation.op_id: operation for operation in read}
        return found

    def _without(
        self, lines: Lines, unwanted: Collection[str], *, all_of: Collection[str] = ()
    ) -> dict[str, bytes]:
        """Return own files without `unwanted` ids: those that change, and those in `all_of`."""
        changed: dict[str, bytes] = {}
        for path, operations in lines.ids.items():
            if not path.startswith(self._folder):
                continue
            if path in all_of or not operations.keys().isdisjoint(unwanted):
                kept = (o for o in operations.values() if o.op_id not in unwanted)
                changed[path] = b"".join(map(self._line, kept))
        return changed

    def _appended(self, lines: Content, files: Files | None = None) -> dict[str, bytes]:
        """Return `files` together with this machine's file for today, with lines appended to it."""
        changed = dict(files or {})
        if not lines:
            return changed
        stem = self._folder + time.strftime("%Y-%m-%d", time.gmtime())
        there = self._clone.files(self._tip)
        paths = [path for path in there if path.startswith(stem) and path not in changed]
        contents = self._clone.contents(there[path] for path in paths)
        changed |= dict(zip(paths, contents, strict=True))
        return _added_to(changed, stem, lines)

    def _write(self, changed: Callable[[], Files], *, anew: bool = False) -> None:
        """Commit and push the files that `changed` returns per attempt. `anew` replaces history."""
        for attempt in range(TRIES):
            files = changed()
            before = self._clone.files(self._tip)
            if not any(content or path in before for path, content in files.items()):
                return
            kept = {path: blob for path, blob in before.items() if path not in files}
            commit = self._clone.commit("" if anew else self._tip, files, kept)
            if self._clone.push(commit, self._tip):
                self._tip = commit
                self._clone.mark(commit, PUSHED)
                return
            time.sleep(random.uniform(0, min(WAIT_S, 0.02 * 2**attempt)))
            newest = self._clone.fetch()
            if self._lost(self._tip, newest):
                text = f"{self._clone.url} was set back meanwhile."
                raise NoAnswer(text, remedy="The next synchronisation sends everything again.")
            self._tip = newest
        text = f"Other machines wrote to {self._clone.url} {TRIES} times before this one could."
        raise TooSlow(text, remedy="The next synchronisation tries again.")

    def _rewrite(self, changed: Callable[[Lines], Files]) -> None:
        """Replace the branch's history by one commit; keep history if forced pushes are refused."""
        try:
            self._write(lambda: changed(self._lines(self._tip)), anew=True)
        except NotAllowed:
            self._write(lambda: changed(self._lines(self._tip)))

    def _line(self, o: TeamOperation) -> bytes:
        whole = [o.op_id, o.origin, o.kind, o.made_at, wire.encode(o)]
        return self._key.hide(json.dumps(whole), self._space).encode() + b"\n"

    def _read(self, line: bytes) -> TeamOperation | None:
        """Return the operation in a line; None if the line is not encrypted with the user's key."""
        text = self._key.shown(line.decode("ascii", "replace"), self._space)
        try:
            op_id, origin, kind, made_at, payload = json.loads(text or "")
        except ValueError:
            return None
        return wire.decode(op_id, origin, ME, kind, payload, made_at)


def _day(path: str) -> str:
    """Return the day in a daily file's name, or the last day in a merged file's name."""
    return path.rpartition("/")[2].removeprefix(UNTIL)[:10]


def _added_to(files: Files, stem: str, lines: Content) -> dict[str, bytes]:
    """Return `files` with lines added to `<stem>.000.jsonl` or, if that is full, to `.001` etc."""
    added = {path: bytearray(content) for path, content in files.items()}
    number = 0
    for line in lines:
        while len(added.get(f"{stem}.{number:03d}.jsonl", b"")) > MAX_FILE_BYTES:
            number += 1
        added.setdefault(f"{stem}.{number:03d}.jsonl", bytearray()).extend(line)
    return {path: bytes(content) for path, content in added.items()}
