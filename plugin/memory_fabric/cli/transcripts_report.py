"""Up to when memory has the transcripts of clients, and what of them is not read."""

import time
from collections.abc import Sequence
from typing import Any

from memory_fabric.clients.transcripts import CLIENTS
from memory_fabric.importing import past_sessions
from memory_fabric.importing.past_sessions import Session
from memory_fabric.text import first_of, many

MAX_NAMED = 5


def lines(found: Sequence[Session], now_s: float) -> list[str]:
    """Return the lines of status; none if no client has a transcript."""
    if not found:
        return []
    rest = [one for one in found if one.state in past_sessions.TO_READ]
    until = past_sessions.read_until(found)[:10]
    if not rest:
        return [_all(found)]
    names = first_of(dict.fromkeys(one.place.name for one in reversed(rest)), MAX_NAMED)
    if until:
        told = f"memory has the sessions of {clients(found)} up to {until}; "
    else:
        told = f"memory has no session of {clients(found)} from before it was installed; "
    told += f"not read: {many(len(rest), 'session')} of {names} (memory-fabric learn)"
    return [told, *deletions(found, now_s)]


def deletions(found: Sequence[Session], now_s: float) -> list[str]:
    """Return a sentence on the unread sessions that a client deletes; none if it deletes none."""
    due = [one for one in found if one.state in past_sessions.TO_READ and one.transcript.deleted_s]
    if not due:
        return []
    soon = past_sessions.deleted_soon(found, now_s)
    first = max(now_s, min(one.transcript.deleted_s for one in due))
    day = time.strftime("%Y-%m-%d", time.gmtime(first))
    name = CLIENTS[due[0].transcript.client].name
    near = f", {len(soon)} of them within {past_sessions.SOON_DAYS} days" if soon else ""
    what = many(len(due), "unread session")
    return [f"{name} deletes {what} from {day} on{near} (cleanupPeriodDays)."]


def clients(found: Sequence[Session]) -> str:
    """Return the names of the clients, with their numbers of sessions if there are several."""
    count: dict[str, int] = {}
    for one in found:
        name = CLIENTS[one.transcript.client].name
        count[name] = count.get(name, 0) + 1
    if len(count) == 1:
        return next(iter(count))
    return ", ".join(f"{name} ({number})" for name, number in count.items())


def as_json(found: Sequence[Session], now_s: float) -> dict[str, Any]:
    """Return it for programs, without the projects."""
    told = past_sessions.as_json(found, now_s)
    unread = dict.fromkeys(one.place.name for one in found if one.state in past_sessions.TO_READ)
    del told["projects"]
    return told | {"unread_projects": list(unread)}


def _all(found: Sequence[Session]) -> str:
    left = [one for one in found if one.state in (past_sessions.GONE, past_sessions.OFF)]
    running = sum(one.state == past_sessions.RUNNING for one in found)
    began = found[0].transcript.head.began_at[:10]
    told = f"memory has all {many(len(found) - len(left), 'session')} of {clients(found)}"
    told += f" since {began}" + (f", {running} of them running" if running else "")
    return told + (f"; left out: {len(left)} (memory-fabric learn says why)" if left else "")
