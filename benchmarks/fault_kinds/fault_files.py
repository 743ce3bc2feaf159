"""Fault 7: what is found damaged at the start, or is damaged under a running server."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable, Iterator, Mapping
from functools import partial

from damage import Damage, Row, Scale, create, damage, filled, until, write_many
from driver import Gone, Ours, Side, Theirs
from fault_kinds.fault_around import newer

SEED = 7
COUNT = 20
GARBAGE_BYTES = 64 << 10
Spoil = Callable[[bytes], bytes]


def corrupt_inputs(folder: str, scale: Scale) -> Iterator[Row]:
    """Every file that a server reads, each damaged in every way."""
    place = partial(_copied if scale.copied else _new, folder)
    lines = {"a BOM, broken UTF-8, null and a torn line": _all_of_it} if scale.at_once else LINES
    for name, spoil in lines.items():
        here = os.path.join(folder, name)
        theirs = _file(Theirs(os.path.join(here, "theirs")), spoil) if scale.reference else None
        file = os.path.join(here, "file", "memory.jsonl")
        ours = _file(Ours(os.path.dirname(file), file), spoil)
        yield Row(7, f"{name} in the file of MEMORY_FILE_PATH", ours, theirs)
        side = place(os.path.join(name, "queue"))
        yield Row(7, f"{name} in the queue", _queue(side, spoil))
        side = place(os.path.join(name, "journal"))
        yield Row(7, f"{name} in the journal, and the database is lost", _journal(side, spoil))
    for name, spoil in DATABASES.items():
        side = place(name)
        yield Row(7, f"{name} database", _database(side, spoil))
    for name, remove in REMOVALS.items():
        yield Row(7, name, remove(place(name)))


def _new(folder: str, name: str) -> Ours:
    """A place of its own that knows nothing yet."""
    return Ours(os.path.join(folder, name))


def _copied(folder: str, _name: str) -> Ours:
    """The one place in this folder, as it was when it had been filled.

    A store knows the path of its project, so it is put back where it was.
    """
    here, kept = os.path.join(folder, "copied"), os.path.join(folder, "kept")
    if not os.path.exists(kept):
        filled(Ours(here), COUNT)
        shutil.copytree(here, kept)
    shutil.rmtree(here)
    shutil.copytree(kept, here)
    return Ours(here)


def _filled(side: Ours) -> list[str]:
    """Names that a place knows: a copy already, a new one by now."""
    return (
        [f"known-{number}" for number in range(COUNT)] if side.databases() else filled(side, COUNT)
    )


def _after_first_line(extra: bytes) -> Spoil:
    def spoil(content: bytes) -> bytes:
        first, end, rest = content.partition(b"\n")
        return first + b"\n" + extra + (end + rest if rest else b"")

    return spoil


LINES: Mapping[str, Spoil] = {
    "a corrupt line": _after_first_line(b'{"type":"entity","name":"to'),
    "a BOM": lambda content: b"\xef\xbb\xbf" + content,
    "a line null": _after_first_line(b"null"),
    "invalid UTF-8": _after_first_line(b'{"type":"entity","name":"\xff\xfe\x80"'),
}
DATABASES: Mapping[str, Spoil] = {
    "truncated": lambda content: content[: len(content) // 2],
    "random garbage as": lambda _: random.Random(SEED).randbytes(GARBAGE_BYTES),
    "zero-length": lambda _: b"",
}


def _all_of_it(content: bytes) -> bytes:
    for spoil in LINES.values():
        content = spoil(content)
    return content


def _file(side: Side, spoil: Spoil) -> Damage:
    """The file of MEMORY_FILE_PATH, written by others and damaged by them."""
    before = filled(side, COUNT)
    _rewrite(side.file, spoil)
    told, message = _used(side)
    return damage(side, told, before, message or _said(side))


def _queue(side: Ours, spoil: Spoil) -> Damage:
    before = _filled(side)
    server = side.start()
    with newer(side):
        told = write_many(server, "queued", 3)
        server.stop()
    for queue in side.queues():
        _rewrite(queue, spoil)
    more, message = _used(side)
    return damage(side, told + more, before, message)


def _journal(side: Ours, spoil: Spoil) -> Damage:
    before = _filled(side)
    _rewrite(_journal_of(side), spoil)
    _rewrite(side.database, DATABASES["random garbage as"])
    message = _repaired(side)
    return damage(side, [], before, message)


def _database(side: Ours, spoil: Spoil) -> Damage:
    before = _filled(side)
    _rewrite(side.database, spoil)
    told, message = _used(side)
    broken = [] if message else ["nothing said that the memory is damaged"]
    repaired = _repaired(side)
    return damage(side, told, before, message or repaired, broken)


def _deleted_while_open(side: Ours) -> Damage:
    before = _filled(side)
    server = side.start()
    told = write_many(server, "open", 3)
    path = side.database
    for ending in ("", "-wal", "-shm"):
        os.unlink(path + ending)
    told += write_many(server, "deleted", 3)
    last = create(server, "last")
    told += [] if last.failed else ["last"]
    server.stop()
    repaired = _repaired(side)
    return damage(side, told, before, last.note or repaired)


def _log_deleted_after_a_kill(side: Ours) -> Damage:
    """Writes that only the write-ahead log has and the journal, which follows a second later."""
    before = _filled(side)
    server = side.start()
    told = write_many(server, "log", 3)
    until(lambda: told[-1].encode() in _content(_journal_of(side)))
    server.kill()
    server.stop()
    os.unlink(side.database + "-wal")
    repaired = _repaired(side)
    return damage(side, told, before, repaired)


def _log_deleted_while_open(side: Ours) -> Damage:
    before = _filled(side)
    server = side.start()
    told = write_many(server, "before", 3)
    os.unlink(side.database + "-wal")
    told += write_many(server, "after", 3)
    other = side.start()
    told += write_many(other, "other", 3)
    last = create(server, "last")
    told += [] if last.failed else ["last"]
    server.stop()
    other.stop()
    repaired = _repaired(side)
    return damage(side, told, before, last.note or repaired)


REMOVALS: Mapping[str, Callable[[Ours], Damage]] = {
    "database deleted while a server has it open": _deleted_while_open,
    "-wal deleted after a kill": _log_deleted_after_a_kill,
    "-wal deleted while servers have it open": _log_deleted_while_open,
}


def _used(side: Side) -> tuple[list[str], str]:
    """Return what a server that meets the damage acknowledges, and what it says first."""
    said: list[str] = []
    server = side.start()
    try:
        server.graph()
    except (Gone, ValueError) as error:
        said.append(str(error))
    told = []
    try:
        answer = create(server, "new")
        told += [] if answer.failed else ["new"]
        said += [answer.note] if answer.note else []
    except Gone as error:
        said.append(str(error))
    server.stop()
    return told, said[0] if said else ""


def _repaired(side: Ours) -> str:
    """Return the output of the command that every message about damage names."""
    done = side.command("repair")
    return done.stdout + done.stderr


def _said(side: Side) -> str:
    """Return what a server wrote to standard error."""
    with open(side.said, encoding="utf-8", errors="replace") as stream:
        return stream.read()


def _journal_of(side: Ours) -> str:
    return os.path.join(os.path.dirname(side.database), "operations.jsonl")


def _content(path: str) -> bytes:
    with open(path, "rb") as stream:
        return stream.read()


def _rewrite(path: str, spoil: Spoil) -> None:
    content = spoil(_content(path))
    with open(path, "wb") as stream:
        stream.write(content)
