"""Receipts: compare the ledger of injections with the client's transcripts."""

import os
from collections.abc import Iterable, Sequence

from memory_fabric.capture.notes import protocol
from memory_fabric.cli import formatting
from memory_fabric.cli.doctor.finding import FAULT, OK, WARNING, Check, Sight
from memory_fabric.clients import receipts
from memory_fabric.clients import settings as client_settings
from memory_fabric.clients.receipts import Dialogue, Entry, HookDelivery, Receipt
from memory_fabric.ids import timestamp
from memory_fabric.store.history import trace
from memory_fabric.text import first_of, many

SHOWN_RECEIPTS, SHOWN_WORDS, SHOWN_IDS, SHOWN_SESSIONS = 5, 5, 6, 3
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


def version(sight: Sight) -> str:
    """Return the client's version from the newest transcript of this project; empty without one."""
    for file in receipts.files_of(_folders(sight), sight.now_s):
        try:
            entries = receipts.entries(file.path, VERSION_BYTES)
            if told := receipts.dialogue(file.session, entries).version:
                return told
        except OSError:
            continue  # removed meanwhile, or not readable
    return ""


def checks(sight: Sight) -> list[Check]:
    """Check the transcripts of the last days; it is no fault if there are none."""
    dialogues = receipts.read(receipts.files_of(_folders(sight), sight.now_s))
    databases = sight.memory.databases()
    known, places = trace.sessions(databases), _places(sight)
    dialogues = [
        dialogue
        for dialogue in dialogues
        if dialogue.prompts and (dialogue.session in known or _lies_in(dialogue.folder, places))
    ]
    if not dialogues:
        told = f"no transcript of this project with a prompt in the last {DAYS} days"
        return [Check("receipts", OK, told)]
    rows = trace.injections_since(databases, timestamp(sight.now_s - receipts.MAX_AGE_S))
    # The request for notes is no memory, and no line of a block.
    ledger = [Entry(*row) for row in rows if row[1] != protocol.ID]
    return [
        _delivered(dialogues),
        _hooks_ran(sight, dialogues, known),
        _arrived(receipts.deliveries(ledger, dialogues)),
    ]


def _folders(sight: Sight) -> list[str]:
    """Return the transcript folders of this project, from its folders and the hooks' events."""
    settings, places = sight.settings, _places(sight)
    kept = os.path.join(settings.config_dir, "projects", "")
    told = trace.transcript_folders(sight.memory.databases())
    return [
        *(receipts.folder_of(settings.config_dir, path) for path in places),
        *(folder for folder in told if folder.startswith(kept)),
    ]


def _places(sight: Sight) -> list[str]:
    """The project's folders."""
    here, project = sight.settings.project_dir, sight.memory.project
    return [here, os.path.realpath(here), *([project.root] if project else [])]


def _lies_in(folder: str, places: Iterable[str]) -> bool:
    """Return True if a session began in or below one of these folders, or if that is unknown.

    The client replaces special characters of a path by "-", so projects can share its folder.
    """
    inside = os.path.join(folder, "")
    return not folder or any(inside.startswith(os.path.join(place, "")) for place in places)


def _delivered(dialogues: Sequence[Dialogue]) -> Check:
    prompts = sum(len(dialogue.prompts) for dialogue in dialogues)
    found = [(d, receipt) for d in dialogues for receipt in d.receipts]
    with_prompt = sum(receipt.event == receipts.PROMPT for _, receipt in found)
    mentioned = sum(bool(receipt.mentioned) for _, receipt in found)
    began = len(found) - with_prompt
    told = f"{with_prompt} of {many(prompts, 'prompt')} were given memories"
    told += f", {began} more at a session's start or after a compaction" if began else ""
    told += f"; answers mention {mentioned} of these {len(found)}" if found else ""
    told += f" ({many(len(dialogues), 'session')} in {DAYS} days)"
    newest = sorted(found, key=lambda pair: pair[1].at, reverse=True)[:SHOWN_RECEIPTS]
    return Check("receipts", OK, told, details=tuple(_receipt(d, r) for d, r in newest))


def _receipt(dialogue: Dialogue, receipt: Receipt) -> str:
    where = "with a prompt" if receipt.event == receipts.PROMPT else f"at {receipt.event}"
    given = first_of(receipt.references, SHOWN_IDS) or "nothing with an id"
    used = "no answer mentions it"
    if receipt.mentioned:
        whose = "the answer" if receipt.event == receipts.PROMPT else "an answer"
        used = f"{whose} mentions it: {first_of(receipt.mentioned, SHOWN_WORDS)}"
    return (
        f"{formatting.when(receipt.at)}, session {dialogue.session[:8]}, {where}: {given}; {used}"
    )


def _hooks_ran(sight: Sight, dialogues: Sequence[Dialogue], known: set[str]) -> Check:
    """Check for sessions since the installation without a trace of hooks."""
    name, now = "hooks ran", sight.memory.settings
    if not (now.reads and now.writes):
        return Check(name, OK, "not checked: memory is switched off here, or in part")
    since = _installed(sight)
    judged = [
        dialogue
        for dialogue in dialogues
        if dialogue.session in known or (dialogue.whole and dialogue.first_at > since)
    ]
    silent = [d for d in judged if d.session not in known and not d.receipts]
    if not silent:
        told = f"in each of {many(len(judged), 'session')} since the installation"
        return Check(name, OK, told)
    told = (
        f"the hooks did not run in {len(silent)} of {many(len(judged), 'session')}: "
        f"{first_of([dialogue.session[:8] for dialogue in silent], SHOWN_SESSIONS)}"
    )
    newest = max(judged, key=lambda dialogue: dialogue.first_at)
    return Check(name, FAULT if newest in silent else WARNING, told, NOT_RUN)


def _installed(sight: Sight) -> str:
    """Return the time from which hooks should run here.

    It is the first run of a hook, else the installation of the plugin, else the last change of the
    settings, which cannot be earlier.
    """
    first, _ = trace.span(sight.memory.databases())
    if first:
        return first
    stated = client_settings.installed_at(sight.settings.config_dir)
    changed = [timestamp(os.path.getmtime(x.path)) for x in sight.layers if os.path.exists(x.path)]
    return stated or max(changed, default=timestamp(sight.now_s))


def _arrived(deliveries: Sequence[HookDelivery]) -> Check:
    """Check for injections in the ledger that no transcript shows."""
    name = "given and arrived"
    lost = [delivery for delivery in deliveries if not delivery.arrived]
    if not deliveries:
        return Check(name, OK, "the ledger has nothing that a transcript must show yet")
    if not lost:
        times = many(len(deliveries), "time")
        return Check(name, OK, f"the transcripts show everything in the ledger: {times}")
    told = f"given but never arrived: {len(lost)} of {many(len(deliveries), 'time')}"
    state = FAULT if 2 * len(lost) >= len(deliveries) else WARNING
    details = tuple(map(_describe, lost[-SHOWN_RECEIPTS:]))
    return Check(name, state, told, NOT_ARRIVED, details=details)


def _describe(delivery: HookDelivery) -> str:
    memories = first_of([receipts.reference(memory) for memory in delivery.memories], SHOWN_IDS)
    return f"{formatting.when(delivery.at)}, session {delivery.session[:8]}: {memories}"
