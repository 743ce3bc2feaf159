"""What the client's transcripts show of what hooks gave: receipts, and whether answers mention it.

The client notes what a hook added to a request as an attachment of its own, in the order of what
was said (measured). Of long files only the end is read.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from memory_fabric.clients.claude_code.transcript import Turn, turn_of
from memory_fabric.errors import BadInput
from memory_fabric.events import load_object
from memory_fabric.ids import short_id
from memory_fabric.store.files import open_regular
from memory_fabric.store.tiers import memory_md
from memory_fabric.text import CLOSE_FENCE, OPEN_FENCE, STOPWORDS, stem, words

MAX_FILES, MAX_AGE_S = 20, 14 * 24 * 3600
MAX_BYTES_OF_FILE, MAX_BYTES, MAX_LINE_BYTES = 8 << 20, 64 << 20, 1 << 20
# Every entry that tells of a conversation names its type.
TELLING = b'"type"'
# What the client keeps of its requests: most of the file, and nothing of it is said by anyone.
BOOKKEEPING = (b'{"type":"api-request', b'{"type": "api-request')
GIVEN = "hook_additional_context"
PROMPT = "UserPromptSubmit"
# How many words of a memory an answer must hold, unless one of them is a name.
ENOUGH_WORDS = 2
AROUND_WORDS = ".,;:!?()[]“”\"'`"
# Hooks write these channels of the ledger; the main conversation's transcript shows them.
CHANNELS = ("session", "prompt", "compact")


@dataclass(frozen=True, slots=True)
class File:
    """A session's transcript: its session, its path, its size and when it was changed."""

    session: str
    path: str
    size: int
    changed_s: float


@dataclass(frozen=True, slots=True)
class Receipt:
    """One block of ours that a request had: when, by which event, and which memories stood in it.

    `references` are what the lines end their marks with: short ids, or names of entities.
    `mentioned` are words of the memories that no prompt had and an answer after them has.
    """

    at: str
    event: str
    references: tuple[str, ...]
    mentioned: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Dialogue:
    """What a transcript shows of a session; `whole` is False where only its end was read.

    Times are ISO 8601, empty where there is none. `folder` is where the first entry was said.
    """

    session: str
    prompts: tuple[str, ...]
    receipts: tuple[Receipt, ...]
    first_at: str = ""
    answered_at: str = ""
    version: str = ""
    whole: bool = True
    folder: str = ""


@dataclass(frozen=True, slots=True)
class Entry:
    """A row of the ledger: which memory a session was given, when, and by which channel."""

    session: str
    memory: str
    channel: str
    at: str


@dataclass(frozen=True, slots=True)
class Moment:
    """What the ledger says that one hook gave, and whether a transcript shows that it arrived."""

    session: str
    at: str
    channel: str
    memories: tuple[str, ...]
    arrived: bool


def files_of(folders: Iterable[str], now_s: float) -> list[File]:
    """The newest transcripts in these folders, newest first: at most 20, at most 14 days old.

    A folder that is reached in two ways is read once.
    """
    found = [f for folder in dict.fromkeys(map(os.path.realpath, folders)) for f in _listed(folder)]
    young = [file for file in found if now_s - file.changed_s <= MAX_AGE_S]
    young.sort(key=lambda file: file.changed_s, reverse=True)
    return young[:MAX_FILES]


def folder_of(config_dir: str, path: str) -> str:
    """Where the client keeps the transcripts of sessions that were started in a folder."""
    return os.path.join(config_dir, "projects", memory_md.slug_of(path))


def read(files: Iterable[File]) -> list[Dialogue]:
    """What was said and given in each, within the limits; what cannot be read is left out."""
    left, dialogues = MAX_BYTES, []
    for file in files:
        most = min(MAX_BYTES_OF_FILE, left)
        if most <= 0:
            break
        left -= min(file.size, most)
        try:
            dialogues.append(
                dialogue(file.session, entries(file.path, most), whole=file.size <= most)
            )
        except OSError:
            continue  # removed meanwhile, or not ours to read: it shows nothing
    return dialogues


def entries(path: str, max_bytes: int) -> Iterator[dict[str, Any]]:
    """The entries in the last `max_bytes` of a transcript that tell of a conversation, in order.

    Lines that cannot be read, and those longer than a prompt ever is, are passed over. Raises
    OSError.
    """
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > max_bytes:
            file.seek(size - max_bytes)
            file.readline()
        inside = False
        while line := file.readline(MAX_LINE_BYTES):
            whole = not inside and line.endswith(b"\n")
            inside = not line.endswith(b"\n")
            if not whole or TELLING not in line or line.startswith(BOOKKEEPING):
                continue
            try:
                yield load_object(line)
            except BadInput:
                continue  # being written, or none of the client's


def dialogue(session: str, said: Iterable[Mapping[str, Any]], *, whole: bool = True) -> Dialogue:
    """What a transcript's entries show."""
    heard = _Heard()
    for entry in said:
        if entry.get("isSidechain") is not True:
            heard.take(entry)
    return Dialogue(
        session,
        tuple(heard.prompts),
        tuple(heard.receipts),
        heard.first_at,
        heard.answered_at,
        heard.version,
        whole,
        heard.folder,
    )


def moments(ledger: Iterable[Entry], dialogues: Iterable[Dialogue]) -> list[Moment]:
    """What the ledger says was given where a transcript must show it, oldest first.

    A transcript must show it when the model answered afterwards, and the part that was read begins
    before it.
    """
    known = {dialogue.session: dialogue for dialogue in dialogues}
    groups: dict[tuple[str, str, str], list[str]] = {}
    for entry in ledger:
        shown = known.get(entry.session)
        if shown is None or entry.channel not in CHANNELS or entry.at >= shown.answered_at:
            continue
        if shown.whole or entry.at > shown.first_at:
            groups.setdefault((entry.at, entry.session, entry.channel), []).append(entry.memory)
    return [
        Moment(session, at, channel, tuple(memories), _arrived(memories, known[session]))
        for (at, session, channel), memories in sorted(groups.items())
    ]


def reference(memory: str) -> str:
    """How a memory of the ledger is named in a block: by its short id, or its entity's name."""
    source, _, name = memory.partition(":")
    return name.rpartition("#")[0] or name if source == "graph" else short_id(name)


def _listed(folder: str) -> Iterator[File]:
    try:
        found = list(os.scandir(folder))
    except OSError:
        return  # no session was started there
    for item in found:
        try:
            if item.name.endswith(".jsonl") and item.is_file():
                known = item.stat()
                session = item.name.removesuffix(".jsonl")
                yield File(session, item.path, known.st_size, known.st_mtime)
        except OSError:
            continue  # removed meanwhile, or a link that leads nowhere


def _arrived(memories: Iterable[str], shown: Dialogue) -> bool:
    """One hook's text arrives whole or not at all: one line of it is enough."""
    there = {reference for receipt in shown.receipts for reference in receipt.references}
    # An edge is named by its first entity, a long name by its beginning.
    beginnings = tuple(name for r in there if (name := r.removesuffix("…")))
    return any(reference(memory).startswith(beginnings) for memory in memories)


class Word(NamedTuple):
    """A word of a memory: what it is compared by, how it was written, whether it is a name."""

    root: str
    shown: str
    is_name: bool


class _Heard:
    """A conversation as far as it was read."""

    def __init__(self) -> None:
        self.prompts: list[str] = []
        self.receipts: list[Receipt] = []
        self.first_at = self.answered_at = self.version = self.folder = ""
        self._telling: list[list[Word]] = []  # of each receipt, its memories' words
        self._open_from = 0  # receipts before this one belong to earlier prompts
        self._asked: set[str] = set()

    def take(self, entry: Mapping[str, Any]) -> None:
        """The next entry."""
        at = entry.get("timestamp")
        at = at if isinstance(at, str) else ""
        version = entry.get("version")
        self.first_at = self.first_at or at
        self.version = version if isinstance(version, str) else self.version
        folder = entry.get("cwd")
        self.folder = self.folder or (folder if isinstance(folder, str) else "")
        if entry.get("type") == "attachment":
            self._attached(entry.get("attachment"), at)
            return
        turn = turn_of(entry)
        if turn is not None and turn.text:
            self._said(turn, at)

    def _attached(self, attachment: object, at: str) -> None:
        if not isinstance(attachment, dict) or attachment.get("type") != GIVEN:
            return
        content = attachment.get("content")
        texts = content if isinstance(content, list) else [content]
        for text in texts:
            if isinstance(text, str) and OPEN_FENCE in text:
                lines = list(_lines(text))
                event = str(attachment.get("hookEvent") or "")
                self.receipts.append(Receipt(at, event, tuple(name for name, _ in lines)))
                self._telling.append([word for _, line in lines for word in _words(line)])

    def _said(self, turn: Turn, at: str) -> None:
        if turn.role == "user":
            if turn.results:
                return
            self.prompts.append(at)
            self._asked |= set(map(stem, words(turn.text)))
            self._open_from = len(self.receipts)
            return
        self.answered_at = at or self.answered_at
        answer = {stem(word) for word in words(turn.text)}
        for number, receipt in enumerate(self.receipts):
            if receipt.event == PROMPT and number < self._open_from:
                continue  # it came with an earlier prompt
            found = _mentioned(self._telling[number], self._asked, answer)
            both = tuple(dict.fromkeys((*receipt.mentioned, *found)))
            self.receipts[number] = Receipt(receipt.at, receipt.event, receipt.references, both)


def _lines(block: str) -> Iterator[tuple[str, str]]:
    """The memories of a block: what each is named by, and its text."""
    inside = block.partition(OPEN_FENCE)[2].partition(CLOSE_FENCE)[0]
    for line in inside.splitlines():
        marks, closed, text = line.partition("] ")
        if line.startswith("- [") and closed:
            yield marks.rpartition(" · ")[2], text


def _words(text: str) -> Iterator[Word]:
    """The words of a memory that tell something."""
    for number, word in enumerate(text.replace("/", " ").split()):
        shown = word.strip(AROUND_WORDS)
        own = shown if number else shown[1:]
        is_name = any(c.isupper() or c.isdigit() for c in own)
        for plain in words(word):
            if plain not in STOPWORDS and plain[2:]:
                yield Word(stem(plain), shown, is_name)


def _mentioned(telling: Iterable[Word], asked: set[str], answer: set[str]) -> list[str]:
    """The memories' words that an answer has and no prompt had; none where one alone may be chance.

    A name is enough: a word with a digit, or with a capital that begins no text.
    """
    names: dict[str, str] = {}
    others: dict[str, str] = {}
    for word in telling:
        if word.root in answer and word.root not in asked:
            (names if word.is_name else others).setdefault(word.root, word.shown)
    found = list(dict.fromkeys((names | others).values()))
    return found if names or len(others) >= ENOUGH_WORDS else []
