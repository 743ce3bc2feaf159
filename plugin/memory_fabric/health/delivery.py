"""Receipts: evidence in the client's transcripts that injected memories reached the model.

The client stores a hook's text as an attachment (measured). Only the end of a long file is read.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from memory_fabric.capture.notes import protocol
from memory_fabric.clients import settings as client_settings
from memory_fabric.clients.transcript import table_in, text_in, turn_of, unknown_mark
from memory_fabric.errors import BadInput
from memory_fabric.events import load_object
from memory_fabric.health.check import FAULT, OK, WARNING, Finding, Sight, fine, warning, when
from memory_fabric.health.installation import version_check
from memory_fabric.ids import short_id, timestamp
from memory_fabric.store.files import names_in, open_regular
from memory_fabric.store.history import trace
from memory_fabric.store.tiers import memory_md
from memory_fabric.text import CLOSE_FENCE, OPEN_FENCE, first_of, many

MAX_FILES, MAX_AGE_S = 20, 14 * 24 * 3600
MAX_BYTES_OF_FILE, MAX_BYTES, MAX_LINE_BYTES = 8 << 20, 64 << 20, 1 << 20
# Every entry of a conversation contains this text, because every entry has a type.
HAS_TYPE = b'"type"'
# Beginnings of lines that log the client's requests: much of a file, but no conversation.
BOOKKEEPING = (b'{"type":"api-request', b'{"type": "api-request')
GIVEN = "hook_additional_context"
PROMPT = "UserPromptSubmit"
# The channels whose injections appear in the transcript of the main conversation.
CHANNELS = ("session", "prompt", "compact")
SHOWN_RECEIPTS, SHOWN_IDS, SHOWN_SESSIONS = 5, 6, 3
# The version is looked up in this many bytes at the end, because every entry has it.
VERSION_BYTES = 256 << 10
DAYS = MAX_AGE_S // 86400
NOT_RUN = (
    "Start these sessions again: hooks are read at a session's start. Claude Code may skip hooks "
    "in a folder that is not trusted. See the checks of Claude Code above. A session with memory "
    "switched off looks the same."
)
NOT_ARRIVED = (
    "claude --debug hooks shows the output of hooks; a hook that takes longer than its timeout in "
    "hooks.json is dropped. A prompt that was cancelled with Esc looks the same."
)
UNKNOWN_MARK = (
    "Claude Code has changed: its prompts get the assistant's trust until memory-fabric knows the "
    "mark. Update memory-fabric; until then remember what is to bind with memory-fabric remember."
)


class File(NamedTuple):
    """The transcript file of a session: session id, path, size in bytes, and modification time."""

    session: str
    path: str
    size: int
    changed_s: float


class Receipt(NamedTuple):
    """A memory block in a transcript: its time, its event, and its memories' short ids or names."""

    at: str
    event: str
    references: tuple[str, ...]


class Dialogue(NamedTuple):
    """A conversation as read from its transcript; `whole` is False if only the end was read."""

    session: str
    prompts: tuple[str, ...]
    receipts: tuple[Receipt, ...]
    first_at: str = ""
    answered_at: str = ""
    version: str = ""
    whole: bool = True
    folder: str = ""


class Entry(NamedTuple):
    """A row of the injection ledger: a session, a memory that it was given, channel and time."""

    session: str
    memory: str
    channel: str
    at: str


class HookDelivery(NamedTuple):
    """The memories that one hook run injected; `arrived` if a transcript shows one of them."""

    session: str
    at: str
    memories: tuple[str, ...]
    arrived: bool


def files_of(folders: Iterable[str], now_s: float) -> list[File]:
    """Return the transcripts of the last days in these folders, newest first, at most MAX_FILES."""
    young = []
    for folder in dict.fromkeys(map(os.path.realpath, folders)):
        for name in (name for name in names_in(folder) if name.endswith(".jsonl")):
            path = os.path.join(folder, name)
            try:
                status = os.stat(path)
            except OSError:
                continue  # deleted meanwhile, or a broken link
            if now_s - status.st_mtime <= MAX_AGE_S and os.path.isfile(path):
                session = name.removesuffix(".jsonl")
                young.append(File(session, path, status.st_size, status.st_mtime))
    return sorted(young, key=lambda file: file.changed_s, reverse=True)[:MAX_FILES]


def folder_of(config_dir: str, path: str) -> str:
    """Return the client's transcript folder for sessions that were started in the folder `path`."""
    return os.path.join(config_dir, "projects", memory_md.slug_of(path))


def read(files: Iterable[File]) -> list[Dialogue]:
    """Return the conversations in these files within the size limits; skip unreadable files."""
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
            continue  # deleted meanwhile or unreadable, so it proves nothing
    return dialogues


def entries(path: str, max_bytes: int) -> Iterator[dict[str, Any]]:
    """Yield the valid entries in the last `max_bytes` of a transcript. Raises OSError."""
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
                continue  # The line is incomplete or was not written by the client.


def dialogue(session: str, said: Iterable[Mapping[str, Any]], *, whole: bool = True) -> Dialogue:
    """Build the conversation from the entries of its transcript."""
    view = Dialogue(session, (), (), whole=whole)
    prompts: list[str] = []
    receipts: list[Receipt] = []
    for entry in (entry for entry in said if entry.get("isSidechain") is not True):
        at = text_in(entry, "timestamp")
        view = view._replace(
            first_at=view.first_at or at,
            version=text_in(entry, "version") or view.version,
            folder=view.folder or text_in(entry, "cwd"),
        )
        turn = turn_of(entry)
        if entry.get("type") == "attachment":
            receipts += _receipts(table_in(entry, "attachment"), at)
        elif turn is None or not turn.text or (turn.role == "user" and turn.results):
            continue
        elif turn.role == "user":
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
    """Return the injections that came before an answer in a transcript, oldest first."""
    by_session = {dialogue.session: dialogue for dialogue in dialogues}
    groups: dict[tuple[str, str, str], list[str]] = {}
    for entry in ledger:
        shown = by_session.get(entry.session)
        if shown is None or entry.channel not in CHANNELS or entry.at >= shown.answered_at:
            continue
        if shown.whole or entry.at > shown.first_at:
            groups.setdefault((entry.at, entry.session, entry.channel), []).append(entry.memory)
    expected = []
    for (at, session, _), ids in sorted(groups.items()):
        shown_names = {r for receipt in by_session[session].receipts for r in receipt.references}
        # A block shows a relation by the name of its first entity, and cuts long names.
        beginnings = tuple(name for r in shown_names if (name := r.removesuffix("…")))
        # One memory is enough evidence, because a hook's text arrives whole or not at all.
        arrived = any(reference(memory).startswith(beginnings) for memory in ids)
        expected.append(HookDelivery(session, at, tuple(ids), arrived))
    return expected


def reference(memory: str) -> str:
    """Return the name by which a block refers to a memory: its short id, or its entity's name."""
    source, _, name = memory.partition(":")
    return name.rpartition("#")[0] or name if source == "graph" else short_id(name)


# --- checks


def client_version(sight: Sight) -> Finding:
    """Check the newest transcript: the client's version, and how it shows who wrote a prompt."""
    for file in files_of(_folders(sight), sight.now_s):
        try:
            last = list(entries(file.path, VERSION_BYTES))
            if version := dialogue(file.session, last).version:
                strange = sorted({mark for mark in map(unknown_mark, last) if mark})
                text = f"{version} marks prompts in a way that is not known: {'; '.join(strange)}"
                return warning(text, UNKNOWN_MARK) if strange else version_check(version)
        except OSError:
            continue  # deleted meanwhile, or unreadable
    return version_check("")


def checks(sight: Sight) -> Iterator[Finding]:
    """Check recent transcripts for injected memories; a lack of transcripts is not a fault."""
    databases = sight.memory.databases()
    sessions = trace.sessions(databases)
    dialogues = [d for d in read(files_of(_folders(sight), sight.now_s)) if d.prompts]
    # Keep this project's conversations only: other projects may use the same transcript folder.
    places = tuple(os.path.join(place, "") for place in _places(sight))
    dialogues = [
        d
        for d in dialogues
        if d.session in sessions or os.path.join(d.folder or places[0], "").startswith(places)
    ]
    if not dialogues:
        text = f"no transcript of this project with a prompt in the last {DAYS} days"
        yield fine(text)._replace(name="receipts")
        return
    yield _delivered(dialogues)._replace(name="receipts")
    yield _hooks_ran(sight, dialogues, sessions)._replace(name="hooks ran")
    rows = trace.injections_since(databases, timestamp(sight.now_s - MAX_AGE_S))
    # Leave out the request for notes, which the ledger also lists but which is not a memory.
    ledger = [Entry(*row) for row in rows if row[1] != protocol.ID]
    expected = deliveries(ledger, dialogues)
    lost = [delivery for delivery in expected if not delivery.arrived]
    times = many(len(expected), "time")
    finding = fine(f"the transcripts show everything in the ledger: {times}")
    if not expected:
        finding = fine("the ledger has nothing that a transcript must show yet")
    elif lost:
        details = []
        for delivery in lost[-SHOWN_RECEIPTS:]:
            ids = first_of([reference(memory) for memory in delivery.memories], SHOWN_IDS)
            details.append(f"{when(delivery.at)}, session {delivery.session[:8]}: {ids}")
        state = FAULT if 2 * len(lost) >= len(expected) else WARNING
        text = f"given but never arrived: {len(lost)} of {times}"
        finding = Finding(state, text, NOT_ARRIVED, details=tuple(details))
    yield finding._replace(name="given and arrived")


def _folders(sight: Sight) -> list[str]:
    """Return the transcript folders for this project's folders, and those named in hook events."""
    config_dir = sight.settings.config_dir
    top = os.path.join(config_dir, "projects", "")
    of_events = trace.transcript_folders(sight.memory.databases())
    own = [folder_of(config_dir, path) for path in _places(sight)]
    return own + [folder for folder in of_events if folder.startswith(top)]


def _places(sight: Sight) -> list[str]:
    here, project = sight.settings.project_dir, sight.memory.project
    return [here, os.path.realpath(here), *([project.root] if project else [])]


def _delivered(dialogues: Sequence[Dialogue]) -> Finding:
    prompts = sum(len(dialogue.prompts) for dialogue in dialogues)
    pairs = [(dialogue, receipt) for dialogue in dialogues for receipt in dialogue.receipts]
    with_prompt = sum(receipt.event == PROMPT for _, receipt in pairs)
    others = len(pairs) - with_prompt
    text = f"{with_prompt} of {many(prompts, 'prompt')} were given memories"
    text += f", {others} more at a session's start or after a compaction" if others else ""
    text += f" ({many(len(dialogues), 'session')} in {DAYS} days)"
    newest = sorted(pairs, key=lambda pair: pair[1].at, reverse=True)[:SHOWN_RECEIPTS]
    details = []
    for dialogue, receipt in newest:
        where = "with a prompt" if receipt.event == PROMPT else f"at {receipt.event}"
        memories = first_of(receipt.references, SHOWN_IDS) or "nothing with an id"
        session = f"session {dialogue.session[:8]}"
        details.append(f"{when(receipt.at)}, {session}, {where}: {memories}")
    return Finding(OK, text, details=tuple(details))


def _hooks_ran(sight: Sight, dialogues: Sequence[Dialogue], sessions: set[str]) -> Finding:
    settings = sight.memory.settings
    if not (settings.reads and settings.writes):
        return fine("not checked: memory is switched off here, or in part")
    # A session should show that hooks ran if it began after the first hook run, or else after the
    # installation of the plugin, or else after the last change of the settings.
    first, _ = trace.span(sight.memory.databases())
    entries = client_settings.installed(sight.settings.config_dir).values()
    times = (str(entry.get("installedAt") or "") for notes in entries for entry in notes)
    installed = first or min(filter(None, times), default="")
    paths = [layer.path for layer in sight.layers if os.path.exists(layer.path)]
    changed = (timestamp(os.path.getmtime(path)) for path in paths)
    since = installed or max(changed, default=timestamp(sight.now_s))
    judged = [d for d in dialogues if d.session in sessions or (d.whole and d.first_at > since)]
    silent = [d for d in judged if d.session not in sessions and not d.receipts]
    number = many(len(judged), "session")
    if not silent:
        return fine(f"in each of {number} since the installation")
    names = first_of([dialogue.session[:8] for dialogue in silent], SHOWN_SESSIONS)
    newest = max(judged, key=lambda dialogue: dialogue.first_at)
    text = f"the hooks did not run in {len(silent)} of {number}: {names}"
    return Finding(FAULT if newest in silent else WARNING, text, NOT_RUN)
