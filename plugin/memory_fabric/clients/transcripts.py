"""The transcripts that clients keep on this machine: where they are, and how each is read.

A client's module `transcripts` has `NAME`, `paths(root)`, `head(path)`, `agent(path)`,
`parser(head)` and `kept_days(root)`; its turns have Claude Code's names of tools. `CLIENTS` is the
only list of them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple

from memory_fabric.clients.claude_code import transcripts as claude_code
from memory_fabric.clients.claude_code.transcript import read_on
from memory_fabric.clients.codex import transcripts as codex
from memory_fabric.clients.head import Head
from memory_fabric.clients.qwen import transcripts as qwen
from memory_fabric.ids import timestamp

if TYPE_CHECKING:
    from memory_fabric.clients.claude_code.transcript import Reading

CLIENTS: Mapping[str, ModuleType] = {"claude-code": claude_code, "codex": codex, "qwen": qwen}
DAY_S = 24 * 3600


class Transcript(NamedTuple):
    """A transcript: the client's key in CLIENTS, path, head, size in bytes, time of its last change
    (seconds), and the time at which the client deletes it (0: never).
    """

    client: str
    path: str
    head: Head
    size: int
    changed_s: float
    deleted_s: float = 0.0


def find(
    roots: Mapping[str, str], *, agents: bool = False, failed: list[str] | None = None
) -> Iterator[Transcript]:
    """Yield the transcripts below the clients' folders (`config.transcript_roots`) that hold a
    conversation, a file with several names once; with `agents` each is searched for the type of
    agent that it runs as. `failed` takes what could not be read, and why.
    """
    seen: set[tuple[int, int]] = set()
    for client, root in roots.items():
        module = CLIENTS[client]
        days = module.kept_days(root)
        for path in module.paths(root):
            try:
                if os.path.islink(path):
                    path = os.path.realpath(path)  # a file's name is the session's id
                found = os.stat(path)
                if (found.st_dev, found.st_ino) in seen:
                    continue
                seen.add((found.st_dev, found.st_ino))
                head = module.head(path) if found.st_size else None
                if head is not None and agents:
                    head = head._replace(agent=module.agent(path))
            except FileNotFoundError:
                continue  # removed meanwhile
            except OSError as error:
                if failed is not None:
                    failed.append(f"{path}: {error.strerror or error}")
                continue
            if head is not None:
                deleted_s = found.st_mtime + days * DAY_S if days else 0.0
                yield Transcript(client, path, head, found.st_size, found.st_mtime, deleted_s)


class Earlier(NamedTuple):
    """The sessions before the first one with memory: how many by client's name, the date of the
    oldest, and the days after which their clients delete them, by client's name.
    """

    numbers: Mapping[str, int]
    since: str = ""
    kept_days: Mapping[str, int] = {}


def earlier(roots: Mapping[str, str], path: str) -> Earlier:
    """Return what there is beside the session with this transcript; no transcript is opened.

    The dates are those of their last changes.
    """
    count: dict[str, int] = {}
    days: dict[str, int] = {}
    changed = []
    for client, root in roots.items():
        module = CLIENTS[client]
        own = [at for other in module.paths(root) if other != path and (at := _changed_s(other))]
        if own:
            count[module.NAME] = len(own)
            changed += own
            if kept := module.kept_days(root):
                days[module.NAME] = kept
    return Earlier(count, timestamp(min(changed))[:10] if changed else "", days)


def _changed_s(path: str) -> float:
    try:
        found = os.stat(path)
    except OSError:
        return 0.0  # removed meanwhile
    return found.st_mtime if found.st_size else 0.0


class Reader:
    """Reads one transcript on, like `read_on`, and counts its bad lines in `bad`."""

    def __init__(self, transcript: Transcript) -> None:
        self._transcript, self.bad, self.trouble = transcript, 0, ""

    def __call__(
        self, path: str, offset: int, mark: str, max_bytes: int, *, max_said: int
    ) -> Reading:
        parse = CLIENTS[self._transcript.client].parser(self._transcript.head)
        reading = read_on(path, offset, mark, max_bytes, max_said=max_said, parse=parse)
        self.bad += reading.bad
        self.trouble = reading.trouble or self.trouble
        # They are reported with the run, not by the notices of a session.
        return reading._replace(bad=0, trouble="")
