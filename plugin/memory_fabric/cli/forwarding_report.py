"""Report on forwarding, for status, sync and doctor: waiting, rejected and failed items."""

import os
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memory_fabric.config import Settings
from memory_fabric.store.queues import spool
from memory_fabric.store.queues.spool import Backlog
from memory_fabric.text import many

LOCKED = "Nothing was sent: another process is sending or will retry within seconds."
OTHER_RECEIVER_REMEDY = (
    "Set MEMORY_FABRIC_FORWARD_URL to it and run memory-fabric sync, or delete the items."
)


@dataclass(frozen=True, slots=True)
class Message:
    """A sentence about forwarding, with a remedy if something is wrong."""

    text: str
    remedy: str = ""


def lines(settings: Settings, now_s: float) -> list[str]:
    """Return the lines of `status`; none if no receiver is set and nothing waits."""
    found = spool.backlog(settings.home, settings.forward_url)
    told = []
    if settings.forward_url:
        told.append(f"sessions are forwarded to {settings.forward_url}{_last(found, now_s)}")
    return told + [f"{t.text} {t.remedy}".rstrip() for t in troubles(settings, found, now_s)]


def troubles(settings: Settings, found: Backlog, now_s: float) -> list[Message]:
    """Return messages on items that wait, failed, were rejected or were dropped."""
    told = []
    if found.waiting:
        told.append(Message(f"{describe_waiting(found, now_s)}.", _waiting_remedy(settings)))
    if is_failing(found):
        when = ago(found.error_at, now_s)
        told.append(
            Message(f"Forwarding failed {when}: {found.last_error}{_next(found)}", found.remedy)
        )
    told += [
        Message(
            f"Some items wait for {other}, which is not the configured receiver.",
            OTHER_RECEIVER_REMEDY,
        )
        for other in found.elsewhere
    ]
    if found.rejected:
        reason = f", the last: {found.refusal.rstrip('.')}." if found.refusal else "."
        place = os.path.join(spool.folder_of(settings.home), spool.REJECTED)
        remedy = f"Read each item with the receiver's response in {place}, then delete it."
        told.append(
            Message(f"The receiver rejected {many(found.rejected, 'item')}{reason}", remedy)
        )
    if found.dropped:
        lost = f"{many(found.dropped, 'time')} the spool was full"
        told.append(Message(f"{lost}: nothing was forwarded.", "Send or delete the items in it."))
    return told


def is_failing(found: Backlog) -> bool:
    """Return True if the last attempt failed and items still wait."""
    return bool(found.last_error and found.waiting and found.error_at > found.last_success)


def describe_waiting(found: Backlog, now_s: float) -> str:
    """Describe how many items wait and since when."""
    return f"{many(found.waiting, 'item')} to forward, the oldest {ago(found.oldest_at, now_s)}"


def ago(at: str, now_s: float) -> str:
    """Describe the age of an ISO time: `40 s ago`."""
    age_s = max(0.0, now_s - datetime.fromisoformat(at).timestamp())
    for unit, size in (("days", 86400), ("h", 3600), ("min", 60)):
        if age_s >= size:
            return f"{age_s / size:.0f} {unit} ago"
    return f"{age_s:.0f} s ago"


def as_json(settings: Settings) -> dict[str, Any]:
    """Return the state of the spool as a JSON object."""
    found = spool.backlog(settings.home, settings.forward_url)
    return {"to": settings.forward_url, **found._asdict(), "elsewhere": list(found.elsewhere)}


def send(settings: Settings) -> tuple[str, dict[str, int] | None, list[str]]:
    """Send the waiting items now.

    Returns a sentence for people, the counts (None without a receiver) and the failures.
    """
    if not settings.forward_url or not spool.waiting(settings.home):
        return "", None if not settings.forward_url else _counts(settings, 0, 0), []
    from memory_fabric.forwarding import sender  # loads what can reach a network
    from memory_fabric.forwarding.sender import over_network

    if not sender.may_send(settings):
        return "", None, ["forward: nothing was sent, because memory is switched off here."]
    try:
        done = sender.send_now(settings, over_network(settings), sender.Clock())
    except TimeoutError:
        return LOCKED, _counts(settings, 0, 0), []
    counts = _counts(settings, done.arrived, done.refused)
    told = f"{done.arrived} forwarded, {counts['waiting']} still wait, {done.refused} rejected."
    failed = []
    if done.failure:
        failed.append(f"forward: {done.failure.message} {done.failure.remedy}".rstrip())
    if done.refused:
        failed.append("forward: the receiver rejected some; memory-fabric status says more.")
    return told, counts, failed


def _next(found: Backlog) -> str:
    if not found.next_at:
        return ""
    return f" The next attempt: {found.next_at[:16].replace('T', ' ')} UTC."


def _counts(settings: Settings, arrived: int, refused: int) -> dict[str, int]:
    left = len(spool.waiting(settings.home))
    return {"sent": arrived, "rejected": refused, "waiting": left}


def _last(found: Backlog, now_s: float) -> str:
    if not found.last_success:
        return "; nothing was sent yet"
    return f"; the last arrived {ago(found.last_success, now_s)}"


def _waiting_remedy(settings: Settings) -> str:
    if settings.forward_url:
        return "memory-fabric sync sends them now."
    return "No receiver is configured: set MEMORY_FABRIC_FORWARD_URL, or delete them."
