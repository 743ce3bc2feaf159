"""Notices for the person: one short line each, limited by the setting `notices`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from memory_fabric.config import TIES, Settings
from memory_fabric.ids import short_id
from memory_fabric.models import (
    QUOTATION,
    WHEN,
    Record,
    contradicted,
    shown,
    shown_type,
    users_words,
    worded,
)
from memory_fabric.text import cut, first_of, many, neutralised, one_line

if TYPE_CHECKING:
    from memory_fabric.capture.notes.debt import Debt
    from memory_fabric.capture.notes.protocol import Kept
    from memory_fabric.clients.transcripts import Earlier

MAX_SHOWN = 3
MAX_SHOWN_CHARS = 80
# A note beyond the first MAX_SHOWN is named by the beginning of its words.
MAX_SHORT_CHARS = 120
# What may bind or be told as the user's is shown with what could turn it.
MAX_NOTED_CHARS = 400


def remembered(records: Sequence[Record], settings: Settings) -> str:
    """Return the notice of new records; '' if there are none or such notices are off."""
    waiting = ": `keep {}` if you mean it"
    parts = [
        _named(record, n)
        + (waiting.format(short_id(record.id)) if record.status == "candidate" else "")
        + "".join(
            f", contradicts {short_id(old)} ({settles(record.id, old)})"
            for old in contradicted(record)[:1]
        )
        for n, record in enumerate(records)
    ]
    verb = "heard" if any(record.status == "candidate" for record in records) else "remembered"
    return _notice(parts, settings, verb, len(parts))


def kept(found: Sequence[Kept], settings: Settings) -> str:
    """Return the notice of what became of notes; '' if nothing is new or such notices are off.

    What was not dropped and not kept is said in any case, unless notices are off.
    """
    changes, questions = [], []
    quoted = [
        result for result in found if result.record and result.is_new and _is_quoted(result.record)
    ]
    lost = [neutralised(cut(result.lost, MAX_SHOWN_CHARS)) for result in found if result.lost]
    for result in (*quoted, *(result for result in found if result not in quoted)):
        closed = "; ".join(map(_short, result.replaced))
        if result.record is None:
            changes += [f"dropped {closed}"] if closed else []
            questions += [
                f"did not drop {neutralised(one_line(name))} ({reason}): "
                f"`forget {name.partition(':')[0]}` does"
                for name, reason in result.refused
            ]
        elif result.is_new:
            scope = " for every project" if result.record.scope == "user" else ""
            scope = " for this project only" if result.only_here else scope
            text = _named(result.record, len(changes)) + scope
            changes.append(text + (f", replaces {closed}" if closed else ""))
            if result.contradicted:
                against = "; ".join(map(_short, result.contradicted))
                settling = settles(result.record.id, result.contradicted[0].id)
                changes[-1] += f", contradicts {against} ({settling})"
    questions += [f"{many(len(lost), 'line')} not kept: {first_of(lost, MAX_SHOWN, '; ')}"] * bool(
        lost
    )
    notice_text = _notice(changes, settings, most=max(MAX_SHOWN, len(quoted)))
    return " · ".join(filter(None, (notice_text, *(problem(text, settings) for text in questions))))


def settles(new: str, old: str) -> str:
    """Return the words that settle which of two contradictory records (ids) holds."""
    return f"`replace {short_id(new)}` or `keep {short_id(old)}`"


def waiting(due: Debt, settings: Settings) -> str:
    """Return what the user is asked and told at a session's start: contradictions, and what other
    sessions' notes closed.
    """
    parts = [
        f"{_short(new)} contradicts {_short(old)}: type {settles(new.id, old.id)}"
        for new, old in due.asked
    ]
    return problem("; ".join([*parts, *due.closed_lines]), settings)


def _notice(
    parts: Sequence[str], settings: Settings, verb: str = "remembered", most: int = MAX_SHOWN
) -> str:
    if not parts or settings.notices != "all":
        return ""
    return f"memory-fabric {verb} {first_of(parts, most, '; ')}"


def _is_quoted(record: Record) -> bool:
    """Return True for a record with the user's trust, or that may have it with the next event."""
    return record.trust == "user" or bool(record.evidence.get(QUOTATION))


def _named(record: Record, place: int) -> str:
    """Return a record with its reason and `When:`, the user's words whole before its sentence; in a
    later place only the beginning of the words.
    """
    if place >= MAX_SHOWN:
        return cut(_short(record), MAX_SHORT_CHARS)
    record = record._replace(trust="user") if _is_quoted(record) else record
    text = neutralised(one_line(worded(record, why=True)))
    if not text.startswith("“"):
        text = f"“{text if users_words(record) else cut(text, MAX_NOTED_CHARS)}”"
    kind = record.evidence.get("noted") or shown_type(record.type)
    when = cut(neutralised(one_line(str(record.evidence.get(WHEN) or ""))), MAX_SHOWN_CHARS)
    return f"{kind} {text}{f', when: {when}' if when else ''} ({short_id(record.id)})"


def _short(record: Record) -> str:
    shown_as = record._replace(trust="user") if _is_quoted(record) else record
    return f"{short_id(record.id)}: {shown(shown_as)}"


def problem(text: str, settings: Settings) -> str:
    """Return the notice of a problem, unless notices are off."""
    return f"memory-fabric: {text}" if text and settings.notices != "off" else ""


def welcome(settings: Settings, local: str) -> str:
    """Return the notice of the very first run: what is stored, where, and how to stop it."""
    if settings.notices == "off":
        return ""
    places = f"{settings.home}" + (f" and {local}" if local else "")
    leaves = settings.forward_url or os.path.exists(os.path.join(settings.home, TIES))
    only = "machine" if leaves else "machine only"
    return (
        "memory-fabric is on: what is settled and what was said is kept on this "
        f"{only}, in {places}. {settings.client.assistant} ends a message with lines such as "
        "“Noted rule: …” to have them remembered; the prompt `notes off` stops these lines. "
        "`/memory-fabric:memory status` shows what is kept; in a shell, in "
        f"the project's folder, `{command(settings)} off --here` stops all of it for this project."
    )


def past_sessions(found: Earlier, settings: Settings) -> str:
    """Return the offer to read in sessions from before memory was on; '' if there are none."""
    if settings.notices == "off" or not found.numbers:
        return ""
    (first, number), *other_clients = found.numbers.items()
    text = f"{many(number, 'earlier session')} of {first}"
    text += "".join(f", {count} of {name}" for name, count in other_clients)
    deleted = "".join(
        f" ({name} deletes its own after {days} days)" for name, days in found.kept_days.items()
    )
    skill = ", or here `/memory-fabric:learn`," if settings.client.has_skills else ""
    return (
        f"{text}, the oldest of {found.since}, can be read into memory{deleted}: in a shell "
        f"`{command(settings)} learn`{skill} shows them first."
    )


def command(settings: Settings) -> str:
    """Return the command that a person's own shell finds, even if it is not in PATH."""
    if not settings.plugin_root:
        return "memory-fabric"
    path = f"{settings.plugin_root.rstrip('/')}/bin/memory-fabric"
    return f"'{path}'" if " " in path else path
