"""Check the client's transcripts for receipts: attachments in which the client has stored a hook's
text, evidence that the memories reached the model. Of a long transcript, only the end is read.
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

MAX_FILES, DAYS = 20, 14
MAX_AGE_S = DAYS * 24 * 3600
MAX_BYTES_OF_FILE, MAX_BYTES, MAX_LINE_BYTES = 8 << 20, 64 << 20, 1 << 20
# Lines with these prefixes log the client's API requests. They can be large, and are skipped.
BOOKKEEPING = (b'{"type":"api-request', b'{"type": "api-request')
PROMPT = "UserPromptSubmit"
SHOWN_RECEIPTS, SHOWN_IDS = 5, 6
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


class Receipt(NamedTuple):
    """A hook's text that reached the model; `references` are short record ids or entity names."""

    at: str
    event: str
    references: tuple[str, ...]


class Dialogue(NamedTuple):
    """A conversation read from a transcript; `whole` is False if only the file's end was read."""

    session: str
    prompts: list[str]
    receipts: list[Receipt]
    first_at: str
    answered_at: str
    whole: bool
    folder: str


def files_of(folders: Iterable[str], now_s: float) -> list[str]:
    """Return at most MAX_FILES transcripts of the last DAYS in these folders, newest first."""
    young = []
    for folder in dict.fromkeys(map(os.path.realpath, folders)):
        for name in (name for name in names_in(folder) if name.endswith(".jsonl")):
            path = os.path.join(folder, name)
            try:
                changed_s = os.path.getmtime(path)
            except OSError:
                continue  # deleted in the meantime, or a broken link
            if now_s - changed_s <= MAX_AGE_S and os.path.isfile(path):
                young.append((changed_s, path))
    return [path for _, path in sorted(young, reverse=True)[:MAX_FILES]]


def folder_of(config_dir: str, path: str) -> str:
    """Return the client's transcript folder for sessions that were started in `path`."""
    return os.path.join(config_dir, "projects", memory_md.slug_of(path))


def read(paths: Iterable[str]) -> list[Dialogue]:
    """Return the conversations in these files, within the size limits; skip unreadable files."""
    left, dialogues = MAX_BYTES, []
    for path in paths:
        most = min(MAX_BYTES_OF_FILE, left)
        try:
            size = os.path.getsize(path)
            session = os.path.basename(path).removesuffix(".jsonl")
            dialogues.append(dialogue(session, entries(path, most), whole=size <= most))
        except OSError:
            continue  # deleted or unreadable: no evidence
        left -= min(size, most)
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
            # Every entry of a conversation has a field "type".
            if not is_whole or b'"type"' not in line or line.startswith(BOOKKEEPING):
                continue
            try:
                yield load_object(line)
            except BadInput:
                continue  # cut off, or not written by the client


def dialogue(session: str, said: Iterable[Mapping[str, Any]], *, whole: bool = True) -> Dialogue:
    """Build a conversation from the entries of its transcript."""
    prompts: list[str] = []
    receipts: list[Receipt] = []
    first_at = answered_at = folder = ""
    for entry in (entry for entry in said if entry.get("isSidechain") is not True):
        at, turn = text_in(entry, "timestamp"), turn_of(entry)
        first_at, folder = first_at or at, folder or text_in(entry, "cwd")
        if entry.get("type") == "attachment":
            receipts += _receipts(table_in(entry, "attachment"), at)
        elif turn is None or not turn.text or (turn.role == "user" and turn.results):
            continue
        elif turn.role == "user":
            prompts.append(at)
        else:
            answered_at = at or answered_at
    return Dialogue(session, prompts, receipts, first_at, answered_at, whole, folder)


def _receipts(attachment: Mapping[str, Any], at: str) -> Iterator[Receipt]:
    is_of_hook = attachment.get("type") == "hook_additional_context"
    content = attachment.get("content") if is_of_hook else ""
    for text in content if isinstance(content, list) else [content]:
        if not isinstance(text, str) or OPEN_FENCE not in text:
            continue
        block = text.partition(OPEN_FENCE)[2].partition(CLOSE_FENCE)[0]
        parts = [line.partition("] ") for line in block.splitlines() if line.startswith("- [")]
        marks = (before.rpartition(" · ")[2] for before, end, _ in parts if end)
        yield Receipt(at, str(attachment.get("hookEvent") or ""), tuple(marks))


def lost(
    ledger: Iterable[tuple[str, str, str, str]], dialogues: Iterable[Dialogue]
) -> tuple[int, list[str]]:
    """Return how many hook runs must be visible in the transcripts, and a line (time, session,
    memories) for each run that is not. Rows of `ledger` (session, memory, channel, time) that
    differ only in the memory are one run. A run counts only if an answer follows it in the
    transcript; otherwise, its prompt may have been cancelled.
    """
    by_session = {dialogue.session: dialogue for dialogue in dialogues}
    runs: dict[tuple[str, str, str], list[str]] = {}
    for session, memory, channel, at in ledger:
        shown = by_session.get(session)
        if shown is None or at >= shown.answered_at or not (shown.whole or at > shown.first_at):
            continue
        # Memories of other channels are not in the main conversation's transcript, so skip them.
        if channel in ("session", "prompt", "compact"):
            # The shown text contains a record's short id or an entity's name.
            source, _, name = memory.partition(":")
            name = name.rpartition("#")[0] or name if source == "graph" else short_id(name)
            runs.setdefault((at, session, channel), []).append(name)
    lines = []
    for (at, session, _), names in sorted(runs.items()):
        shown_names = {r for receipt in by_session[session].receipts for r in receipt.references}
        # Relations are shown under their first entity's name. Long names are cut, with "…".
        beginnings = tuple(name for r in shown_names if (name := r.removesuffix("…")))
        # One of the memories is sufficient evidence: a hook's text arrives whole or not at all.
        if not any(name.startswith(beginnings) for name in names):
            lines.append(f"{when(at)}, session {session[:8]}: {first_of(names, SHOWN_IDS)}")
    return len(runs), lines


def client_version(sight: Sight) -> Finding:
    """Check that the newest transcript's client is not outdated, and prompts' origins are known."""
    for path in files_of(_folders(sight), sight.now_s):
        try:
            last = list(entries(path, 256 << 10))
        except OSError:
            continue  # deleted in the meantime, or unreadable
        versions = [text_in(e, "version") for e in last if e.get("isSidechain") is not True]
        if version := next(filter(None, reversed(versions)), ""):
            strange = sorted({mark for mark in map(unknown_mark, last) if mark})
            text = f"{version} marks prompts in a way that is not known: {'; '.join(strange)}"
            return warning(text, UNKNOWN_MARK) if strange else version_check(version)
    return version_check("")


def checks(sight: Sight) -> Iterator[Finding]:
    """Check recent transcripts for injected memories; without transcripts, report no fault."""
    databases = sight.memory.databases()
    sessions = trace.sessions(databases)
    # Use only this project's conversations: other projects may share the transcript folder.
    places = tuple(os.path.join(place, "") for place in _places(sight))
    dialogues = [
        d
        for d in read(files_of(_folders(sight), sight.now_s))
        if d.prompts
        if d.session in sessions or os.path.join(d.folder or places[0], "").startswith(places)
    ]
    if not dialogues:
        text = f"no transcript of this project with a prompt in the last {DAYS} days"
        yield fine(text)._replace(name="receipts")
        return
    yield _delivered(dialogues)._replace(name="receipts")
    yield _hooks_ran(sight, dialogues, sessions)._replace(name="hooks ran")
    rows = trace.injections_since(databases, timestamp(sight.now_s - MAX_AGE_S))
    # Exclude this plugin's request for notes: the ledger lists it, too, but it is not a memory.
    expected, missing = lost((row for row in rows if row[1] != protocol.ID), dialogues)
    times = many(expected, "time")
    finding = fine(f"the transcripts show everything in the ledger: {times}")
    if not expected:
        finding = fine("the ledger has nothing that a transcript must show yet")
    elif missing:
        state = FAULT if 2 * len(missing) >= expected else WARNING
        text = f"given but never arrived: {len(missing)} of {times}"
        finding = Finding(state, text, NOT_ARRIVED, details=tuple(missing[-SHOWN_RECEIPTS:]))
    yield finding._replace(name="given and arrived")


def _folders(sight: Sight) -> list[str]:
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
    pairs = [(receipt, dialogue.session) for dialogue in dialogues for receipt in dialogue.receipts]
    with_prompt = sum(receipt.event == PROMPT for receipt, _ in pairs)
    others = len(pairs) - with_prompt
    text = f"{with_prompt} of {many(prompts, 'prompt')} were given memories"
    text += f", {others} more at a session's start or after a compaction" if others else ""
    text += f" ({many(len(dialogues), 'session')} in {DAYS} days)"
    details = []
    for receipt, session in sorted(pairs, reverse=True)[:SHOWN_RECEIPTS]:
        where = "with a prompt" if receipt.event == PROMPT else f"at {receipt.event}"
        memories = first_of(receipt.references, SHOWN_IDS) or "nothing with an id"
        details.append(f"{when(receipt.at)}, session {session[:8]}, {where}: {memories}")
    return Finding(OK, text, details=tuple(details))


def _hooks_ran(sight: Sight, dialogues: Sequence[Dialogue], sessions: set[str]) -> Finding:
    settings = sight.memory.settings
    if not (settings.reads and settings.writes):
        return fine("not checked: memory is switched off here, or in part")
    # Hooks should have run in each session that began after a certain time: the first known hook
    # run, or else the plugin's installation, or else the last change of a settings file.
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
    names = first_of([dialogue.session[:8] for dialogue in silent], 3)
    newest = max(judged, key=lambda dialogue: dialogue.first_at)
    text = f"the hooks did not run in {len(silent)} of {number}: {names}"
    return Finding(FAULT if newest in silent else WARNING, text, NOT_RUN)
