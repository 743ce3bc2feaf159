"""Receipts: compare the ledger of injections with the client's transcripts."""

import os
from collections.abc import Iterator, Sequence

from memory_fabric.capture.notes import protocol
from memory_fabric.clients import receipts
from memory_fabric.clients import settings as client_settings
from memory_fabric.clients.receipts import Dialogue, Entry, Receipt
from memory_fabric.clients.transcript import unknown_mark
from memory_fabric.health.check import FAULT, OK, WARNING, Finding, Sight, fine, warning, when
from memory_fabric.health.installation import version_check
from memory_fabric.ids import timestamp
from memory_fabric.store.history import trace
from memory_fabric.text import first_of, many

SHOWN_RECEIPTS, SHOWN_IDS, SHOWN_SESSIONS = 5, 6, 3
# Every entry names the version, so the end of the newest file is enough.
VERSION_BYTES = 256 << 10
DAYS = receipts.MAX_AGE_S // 86400
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


def client_version(sight: Sight) -> Finding:
    """Check the client's version, and its marks of prompts, in the project's newest transcript."""
    for file in receipts.files_of(_folders(sight), sight.now_s):
        try:
            entries = list(receipts.entries(file.path, VERSION_BYTES))
            if version := receipts.dialogue(file.session, entries).version:
                strange = sorted({mark for mark in map(unknown_mark, entries) if mark})
                text = f"{version} marks prompts in a way that is not known: {'; '.join(strange)}"
                return warning(text, UNKNOWN_MARK) if strange else version_check(version)
        except OSError:
            continue  # removed meanwhile, or not readable
    return version_check("")


def checks(sight: Sight) -> Iterator[Finding]:
    """Check the transcripts of the last days; having none is no fault."""
    databases = sight.memory.databases()
    sessions = trace.sessions(databases)
    dialogues = [
        dialogue
        for dialogue in receipts.read(receipts.files_of(_folders(sight), sight.now_s))
        if dialogue.prompts and (dialogue.session in sessions or _is_of_project(dialogue, sight))
    ]
    if not dialogues:
        text = f"no transcript of this project with a prompt in the last {DAYS} days"
        yield fine(text)._replace(name="receipts")
        return
    rows = trace.injections_since(databases, timestamp(sight.now_s - receipts.MAX_AGE_S))
    # The request for notes is no memory, and no line of a block.
    ledger = [Entry(*row) for row in rows if row[1] != protocol.ID]
    yield _delivered(dialogues)._replace(name="receipts")
    yield _hooks_ran(sight, dialogues, sessions)._replace(name="hooks ran")
    yield _arrived(ledger, dialogues)._replace(name="given and arrived")


def _folders(sight: Sight) -> list[str]:
    """Return the transcript folders of this project, from its folders and the hooks' events."""
    config_dir = sight.settings.config_dir
    top = os.path.join(config_dir, "projects", "")
    of_events = trace.transcript_folders(sight.memory.databases())
    return [
        *(receipts.folder_of(config_dir, path) for path in _places(sight)),
        *(folder for folder in of_events if folder.startswith(top)),
    ]


def _places(sight: Sight) -> list[str]:
    here, project = sight.settings.project_dir, sight.memory.project
    return [here, os.path.realpath(here), *([project.root] if project else [])]


def _is_of_project(dialogue: Dialogue, sight: Sight) -> bool:
    """Return True if a session began in or below the project's folders, or if that is unknown.

    The client replaces special characters of a path by "-", so projects can share its folder.
    """
    inside = os.path.join(dialogue.folder, "")
    places = (os.path.join(place, "") for place in _places(sight))
    return not dialogue.folder or any(inside.startswith(place) for place in places)


def _delivered(dialogues: Sequence[Dialogue]) -> Finding:
    prompts = sum(len(dialogue.prompts) for dialogue in dialogues)
    pairs = [(dialogue, receipt) for dialogue in dialogues for receipt in dialogue.receipts]
    with_prompt = sum(receipt.event == receipts.PROMPT for _, receipt in pairs)
    others = len(pairs) - with_prompt
    text = f"{with_prompt} of {many(prompts, 'prompt')} were given memories"
    text += f", {others} more at a session's start or after a compaction" if others else ""
    text += f" ({many(len(dialogues), 'session')} in {DAYS} days)"
    newest = sorted(pairs, key=lambda pair: pair[1].at, reverse=True)[:SHOWN_RECEIPTS]
    return Finding(OK, text, details=tuple(_receipt(*pair) for pair in newest))


def _receipt(dialogue: Dialogue, receipt: Receipt) -> str:
    is_prompt = receipt.event == receipts.PROMPT
    where = "with a prompt" if is_prompt else f"at {receipt.event}"
    memories = first_of(receipt.references, SHOWN_IDS) or "nothing with an id"
    return f"{when(receipt.at)}, session {dialogue.session[:8]}, {where}: {memories}"


def _hooks_ran(sight: Sight, dialogues: Sequence[Dialogue], sessions: set[str]) -> Finding:
    settings = sight.memory.settings
    if not (settings.reads and settings.writes):
        return fine("not checked: memory is switched off here, or in part")
    since = _installed_at(sight)
    judged = [
        dialogue
        for dialogue in dialogues
        if dialogue.session in sessions or (dialogue.whole and dialogue.first_at > since)
    ]
    silent = [d for d in judged if d.session not in sessions and not d.receipts]
    number = many(len(judged), "session")
    if not silent:
        return fine(f"in each of {number} since the installation")
    names = first_of([dialogue.session[:8] for dialogue in silent], SHOWN_SESSIONS)
    newest = max(judged, key=lambda dialogue: dialogue.first_at)
    text = f"the hooks did not run in {len(silent)} of {number}: {names}"
    return Finding(FAULT if newest in silent else WARNING, text, NOT_RUN)


def _installed_at(sight: Sight) -> str:
    """Return the time from which hooks should run here.

    It is the first run of a hook, else the installation of the plugin, else the last change of the
    settings, which cannot be earlier.
    """
    first, _ = trace.span(sight.memory.databases())
    installed = first or client_settings.installed_at(sight.settings.config_dir)
    paths = [layer.path for layer in sight.layers if os.path.exists(layer.path)]
    changed = (timestamp(os.path.getmtime(path)) for path in paths)
    return installed or max(changed, default=timestamp(sight.now_s))


def _arrived(ledger: Sequence[Entry], dialogues: Sequence[Dialogue]) -> Finding:
    expected = receipts.deliveries(ledger, dialogues)
    lost = [delivery for delivery in expected if not delivery.arrived]
    times = many(len(expected), "time")
    if not expected:
        return fine("the ledger has nothing that a transcript must show yet")
    if not lost:
        return fine(f"the transcripts show everything in the ledger: {times}")
    details = []
    for delivery in lost[-SHOWN_RECEIPTS:]:
        ids = first_of([receipts.reference(memory) for memory in delivery.memories], SHOWN_IDS)
        details.append(f"{when(delivery.at)}, session {delivery.session[:8]}: {ids}")
    state = FAULT if 2 * len(lost) >= len(expected) else WARNING
    text = f"given but never arrived: {len(lost)} of {times}"
    return Finding(state, text, NOT_ARRIVED, details=tuple(details))
