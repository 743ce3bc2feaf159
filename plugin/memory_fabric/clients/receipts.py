"""Evidence in the client's transcripts that hook output reached the model.

The client records what a hook added to a request as an attachment in the order of the conversation
(measured). Of long files only the end is read.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from memory_fabric.clients.transcript import table_in, text_in, turn_of
from memory_fabric.errors import BadInput
from memory_fabric.events import load_object
from memory_fabric.ids import short_id
from memory_fabric.store.files import open_regular
from memory_fabric.store.tiers import memory_md
from memory_fabric.text import CLOSE_FENCE, OPEN_FENCE

MAX_FILES, MAX_AGE_S = 20, 14 * 24 * 3600
MAX_BYTES_OF_FILE, MAX_BYTES, MAX_LINE_BYTES = 8 << 20, 64 << 20, 1 << 20
# Every entry of a conversation has a type.
HAS_TYPE = b'"type"'
# The client's request log: most of the file, without conversation.
BOOKKEEPING = (b'{"type":"api-request', b'{"type": "api-request')
GIVEN = "hook_additional_context"
PROMPT = "UserPromptSubmit"
# Channels of the ledger that show in the main conversation's transcript.
CHANNELS = ("session", "prompt", "compact")


class File(NamedTuple):
    """A session's transcript: its session, path, size and time of change."""

    session: str
    path: str
    size: int
    changed_s: float


class Receipt(NamedTuple):
    """One memory block in a request: its time, its event, and the memories in it.

    `references` are the last marks of its lines: short ids, or names of entities.
    """

    at: str
    event: str
    references: tuple[str, ...]


class Dialogue(NamedTuple):
    """The conversation of a session in its transcript; `whole` is False where only its end was
    read.

    Times are ISO 8601, empty where there is none. `folder` is the working folder of the first
    entry.
    """

    session: str
    prompts: tuple[str, ...]
    receipts: tuple[Receipt, ...]
    first_at: str = ""
    answered_at: str = ""
    version: str = ""
    whole: bool = True
    folder: str = ""


class Entry(NamedTuple):
    """A row of the ledger: an injection of a memory into a session, its time and channel."""

    session: str
    memory: str
    channel: str
    at: str


class HookDelivery(NamedTuple):
    """The injections of one hook run by the ledger, and whether a transcript shows that they
    arrived.
    """

    session: str
    at: str
    channel: str
    memories: tuple[str, ...]
    arrived: bool


def files_of(folders: Iterable[str], now_s: float) -> list[File]:
    """Return the newest transcripts in these folders, newest first: at most 20, at most 14 days
    old.

    A folder that is reachable by two paths is read once.
    """
    real = dict.fromkeys(map(os.path.realpath, folders))
    young = [f for path in real for f in _listed(path) if now_s - f.changed_s <= MAX_AGE_S]
    return sorted(young, key=lambda file: file.changed_s, reverse=True)[:MAX_FILES]


def _listed(folder: str) -> Iterator[File]:
    try:
        items = list(os.scandir(folder))
    except OSError:
        return  # no session was started there
    for item in items:
        try:
            if item.name.endswith(".jsonl") and item.is_file():
                status, session = item.stat(), item.name.removesuffix(".jsonl")
                yield File(session, item.path, status.st_size, status.st_mtime)
        except OSError:
            continue  # removed meanwhile, or a link that leads nowhere


def folder_of(config_dir: str, path: str) -> str:
    """Return the folder in which the client keeps transcripts of sessions started in a folder."""
    return os.path.join(config_dir, "projects", memory_md.slug_of(path))


def read(files: Iterable[File]) -> list[Dialogue]:
    """Return the conversation of each file, within the limits; unreadable files are skipped."""
    left, dialogues = MAX_BYTES, []
    for file in files:
        most = min(MAX_BYTES_OF_FILE, left)
        if most <= 0:
            break
        left -= min(file.size, most)
        try:
            shown = entries(file.path, most)
            dialogues.append(dialogue(file.session, shown, whole=file.size <= most))
        except OSError:
            continue  # removed meanwhile, or not readable: no evidence
    return dialogues


def entries(path: str, max_bytes: int) -> Iterator[dict[str, Any]]:
    """Yield conversation entries in the last `max_bytes` of a transcript, in order.

    Unreadable lines, and lines longer than any prompt, are skipped. Raises OSError.
    """
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > max_bytes:
            file.seek(size - max_bytes)
            file.readline()
        is_inside = False
        while line := file.readline(MAX_LINE_BYTES):
            is_whole = not is_inside and line.endswith(b"\n")
            is_inside = not line.endswith(b"\n")
            if not is_whole or HAS_TYPE not in line or line.startswith(BOOKKEEPING):
                continue
            try:
                yield load_object(line)
            except BadInput:
                continue  # incomplete, or not written by the client


def dialogue(session: str, said: Iterable[Mapping[str, Any]], *, whole: bool = True) -> Dialogue:
    """Return the conversation that a transcript's entries show."""
    view = Dialogue(session, (), (), whole=whole)
    prompts: list[str] = []
    receipts: list[Receipt] = []
    for entry in said:
        if entry.get("isSidechain") is True:
            continue
        at = text_in(entry, "timestamp")
        view = view._replace(
            first_at=view.first_at or at,
            version=text_in(entry, "version") or view.version,
            folder=view.folder or text_in(entry, "cwd"),
        )
        if entry.get("type") == "attachment":
            receipts += _receipts(table_in(entry, "attachment"), at)
            continue
        turn = turn_of(entry)
        if turn is None or not turn.text or (turn.role == "user" and turn.results):
            continue
        if turn.role == "user":
            prompts.append(at)
        else:
            view = view._replace(answered_at=at or view.answered_at)
    return view._replace(prompts=tuple(prompts), receipts=tuple(receipts))


def _receipts(attachment: Mapping[str, Any], at: str) -> Iterator[Receipt]:
    content = attachment.get("content") if attachment.get("type") == GIVEN else ""
    for text in content if isinstance(content, list) else [content]:
        if not isinstance(text, str) or OPEN_FENCE not in text:
            continue
        block = text.partition(OPEN_FENCE)[2].partition(CLOSE_FENCE)[0]
        parts = [line.partition("] ") for line in block.splitlines() if line.startswith("- [")]
        marks = (before.rpartition(" · ")[2] for before, end, _ in parts if end)
        yield Receipt(at, str(attachment.get("hookEvent") or ""), tuple(marks))


def deliveries(ledger: Iterable[Entry], dialogues: Iterable[Dialogue]) -> list[HookDelivery]:
    """Return the injections of the ledger that a transcript must show, oldest first.

    A transcript must show one if the model answered afterwards and the part that was read begins
    before it.
    """
    by_session = {dialogue.session: dialogue for dialogue in dialogues}
    groups: dict[tuple[str, str, str], list[str]] = {}
    for entry in ledger:
        shown = by_session.get(entry.session)
        if shown is None or entry.channel not in CHANNELS or entry.at >= shown.answered_at:
            continue
        if shown.whole or entry.at > shown.first_at:
            groups.setdefault((entry.at, entry.session, entry.channel), []).append(entry.memory)
    return [
        HookDelivery(session, at, channel, tuple(memories), _arrived(memories, by_session[session]))
        for (at, session, channel), memories in sorted(groups.items())
    ]


def reference(memory: str) -> str:
    """Return the name of a memory in a block: its short id, or its entity's name."""
    source, _, name = memory.partition(":")
    return name.rpartition("#")[0] or name if source == "graph" else short_id(name)


def _arrived(memories: Iterable[str], shown: Dialogue) -> bool:
    """Return True if one line of a hook's text is there: a text arrives whole or not at all."""
    references = {reference for receipt in shown.receipts for reference in receipt.references}
    # A relation is named by its first entity, a long name by its beginning.
    beginnings = tuple(name for r in references if (name := r.removesuffix("…")))
    return any(reference(memory).startswith(beginnings) for memory in memories)
