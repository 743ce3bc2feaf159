"""Notices for the person: one short line each, limited by the setting `notices`."""

from __future__ import annotations

import os

from memory_fabric.config import TIES
from memory_fabric.ids import short_id
from memory_fabric.text import cut, many, neutralised, one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory_fabric.clients.transcripts import Earlier
    from memory_fabric.config import Settings
    from memory_fabric.models import Record
    from memory_fabric.notes.keep import Kept
    from memory_fabric.session.week import Week

MAX_SHOWN = 3
MAX_SHOWN_CHARS = 80


def remembered(records: Sequence[Record], settings: Settings) -> str:
    """Return the notice of new records; '' if there are none or such notices are off."""
    return _notice([_named(record) for record in records], settings)


def kept(found: Sequence[Kept], settings: Settings) -> str:
    """Return the notice of what became of notes; '' if nothing is new or such notices are off."""
    parts = []
    for one in found:
        closed = "; ".join(_short(old) for old in one.replaced)
        against = "; ".join(_short(old) for old in one.contradicted)
        if one.record is None:
            parts.append(f"dropped {closed}")
        elif one.is_new:
            parts.append(
                _named(one.record)
                + (" for every project" if one.record.scope == "user" else "")
                + (f", replaces {closed}" if closed else "")
                + (f", contradicts {against}" if against else "")
            )
    return _notice(parts, settings)


def _notice(parts: Sequence[str], settings: Settings) -> str:
    if not parts or settings.notices != "all":
        return ""
    more = f" and {len(parts) - MAX_SHOWN} more" if len(parts) > MAX_SHOWN else ""
    return f"memory-fabric remembered {'; '.join(parts[:MAX_SHOWN])}{more}"


def _named(record: Record) -> str:
    what = cut(neutralised(one_line(record.what)), MAX_SHOWN_CHARS)
    kind = record.evidence.get("noted") or record.type
    return f"{kind} “{what}” ({short_id(record.id)})"


def _short(record: Record) -> str:
    what = cut(neutralised(one_line(record.what)), MAX_SHOWN_CHARS)
    return f"{short_id(record.id)}: {what}"


def problem(text: str, settings: Settings) -> str:
    """Return the notice of a problem, unless notices are off."""
    return f"memory-fabric: {text}" if text and settings.notices != "off" else ""


def weekly(week: Week) -> str:
    """Return the counts of a week without those that are 0; '' if all are."""
    counts = ((week.noted, "noted"), (week.replaced, "replaced"), (week.to_review, "to review"))
    parts = [f"{number} {name}" for number, name in counts if number]
    where = " (/memory-fabric:review)" if week.to_review else ""
    return f"memory-fabric this week: {', '.join(parts)}{where}" if parts else ""


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
    (first, number), *others = found.numbers.items()
    named = f"{many(number, 'earlier session')} of {first}"
    named += "".join(f", {other} of {name}" for name, other in others)
    deleted = "".join(
        f" ({name} deletes its own after {days} days)" for name, days in found.kept_days.items()
    )
    skill = ", or here `/memory-fabric:learn`," if settings.client.has_skills else ""
    return (
        f"{named}, the oldest of {found.since}, can be read into memory{deleted}: in a shell "
        f"`{command(settings)} learn`{skill} shows them first."
    )


def command(settings: Settings) -> str:
    """Return the command that a person's own shell finds, even if it is not in PATH."""
    if not settings.plugin_root:
        return "memory-fabric"
    path = f"{settings.plugin_root.rstrip('/')}/bin/memory-fabric"
    return f"'{path}'" if " " in path else path
