"""Notices for the user, each one short line. The setting `notices` determines which are shown."""

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from memory_fabric import models
from memory_fabric.config import TIES, Settings
from memory_fabric.ids import short_id
from memory_fabric.models import Record, shown
from memory_fabric.text import cut, first_of, many, neutralised, one_line

if TYPE_CHECKING:
    from memory_fabric.capture.notes.debt import Debt
    from memory_fabric.capture.notes.protocol import Kept

MAX_SHOWN, MAX_SHOWN_CHARS = 3, 80
MAX_SHORT_CHARS = 120  # the length to which notes are cut after the first MAX_SHOWN notes
# Up to this many characters from the beginning of a note identify it among several notes.
MAX_FIRST_CHARS = 30
# In the first MAX_SHOWN notes, a text is cut to this length, unless it has the user's own words.
MAX_NOTED_CHARS = 400


def remembered(records: Sequence[Record], settings: Settings) -> str:
    """Return the notice about new records; '' if there are none or such notices are off."""
    waiting = ": `keep {}` if you mean it"
    parts = [
        _named(record, n)
        + (waiting.format(short_id(record.id)) if record.status == "candidate" else "")
        + "".join(
            f", contradicts {short_id(old)} ({settles(record.id, old)})"
            for old in models.contradicted(record)[:1]
        )
        for n, record in enumerate(records)
    ]
    verb = "heard" if any(record.status == "candidate" for record in records) else "remembered"
    return _notice(parts, settings, verb)


def kept(found: "Sequence[Kept]", settings: Settings) -> str:
    """Return a notice about the results `found`: what notes stored or dropped, and lines that were
    not stored. Return '' if nothing is new or such notices are off. The assistant's message just
    above shows its notes. So only the first words of each are repeated, if there are several, and
    the user's words only if they were stored in another form than quoted.
    """
    changes, drops, questions = list[str](), [], []
    new = [(result, result.record) for result in found if result.record and result.is_new]
    quoted = [result for result, record in new if _is_quoted(record)]
    unread = ""
    lost = [neutralised(cut(result.lost, MAX_SHOWN_CHARS)) for result in found if result.lost]
    for result in (*quoted, *(result for result in found if result not in quoted)):
        closed = "; ".join(map(_short, result.replaced))
        if result.record is None:
            drops += [closed] if closed else []
            questions += [
                f"did not drop {neutralised(one_line(name))} ({reason}): "
                f"`forget {name.partition(':')[0]}` does"
                for name, reason in result.refused
            ]
        elif result.is_new:
            record, is_above = result.record, result.record.source == "assistant"
            scope = " for every project" if record.scope == "user" else ""
            scope = " for this project only" if result.only_here else scope
            above = _above(record, result.unread, unread, len(new) > 1) if is_above else ""
            unread = result.unread
            text = (above or _named(record, len(changes))) + scope
            changes.append(text + (f", replaces {closed}" if closed else ""))
            if result.contradicted:
                changes[-1] += f", contradicts {'; '.join(map(_short, result.contradicted))}"
                changes[-1] += f" ({settles(record.id, result.contradicted[0].id)})"
    if lost:
        questions.append(f"{many(len(lost), 'line')} not kept: {first_of(lost, MAX_SHOWN, '; ')}")
    told = [first_of(changes, max(MAX_SHOWN, len(quoted)), "; ")] if changes else []
    told += [f"dropped {closed}" for closed in drops] if changes else drops
    notice_text = _notice(told, settings, "remembered" if changes else "dropped")
    return " · ".join(filter(None, (notice_text, *(problem(text, settings) for text in questions))))


def settles(new: str, old: str) -> str:
    """Return the commands for choosing one of two contradictory records, given by their ids."""
    return f"`replace {short_id(new)}` or `keep {short_id(old)}`"


def waiting(due: "Debt", settings: Settings) -> str:
    """Return the notice about contradictions and closed records, shown at a session's start."""
    parts = [
        f"{_short(new)} contradicts {_short(old)}: type {settles(new.id, old.id)}"
        for new, old in due.asked
    ]
    return problem("; ".join([*parts, *due.closed_lines]), settings)


def _notice(parts: Sequence[str], settings: Settings, verb: str) -> str:
    return f"memory-fabric {verb} {'; '.join(parts)}" if parts and settings.notices == "all" else ""


def _is_quoted(record: Record) -> bool:
    """Return True if a record has the trust "user" or quotes the user and so may get this trust."""
    return record.trust == "user" or bool(record.evidence.get(models.QUOTATION))


def _named(record: Record, place: int) -> str:
    """Return a record's text, reason and condition; at `place` >= MAX_SHOWN, only its cut text."""
    if place >= MAX_SHOWN:
        return cut(_short(record), MAX_SHORT_CHARS)
    record = record._replace(trust="user") if _is_quoted(record) else record
    text = neutralised(one_line(models.worded(record, why=True)))
    if not text.startswith("“"):
        text = f"“{text if models.users_words(record) else cut(text, MAX_NOTED_CHARS)}”"
    when = cut(neutralised(one_line(str(record.evidence.get(models.WHEN) or ""))), MAX_SHOWN_CHARS)
    return f"{_kind(record)} {text}{f', when: {when}' if when else ''} ({short_id(record.id)})"


def _above(record: Record, unread: str, shown: str, several: bool) -> str:
    """Describe a note that the message above shows: kind, id and, if it binds tool calls,
    condition. `several` adds its first words, and `unread` (unless just `shown`) the user's words.
    """
    from memory_fabric.rules.effects import binds  # imported late: needed only after notes

    words = f" “{neutralised(cut(one_line(record.what), MAX_FIRST_CHARS))}”" if several else ""
    whose = " in your words" if _is_quoted(record) else ""
    if unread != shown and unread:
        whose = f"{whose or ', agreed'}: “{neutralised(one_line(unread))}”"
    when = cut(neutralised(one_line(str(record.evidence.get(models.WHEN) or ""))), MAX_SHOWN_CHARS)
    binding = f", binds {when}" if binds(record) else ""
    return f"{_kind(record)}{words} ({short_id(record.id)}){whose}{binding}"


def _kind(record: Record) -> str:
    return str(record.evidence.get("noted") or models.shown_type(record.type))


def _short(record: Record) -> str:
    shown_as = record._replace(trust="user") if _is_quoted(record) else record
    return f"{short_id(record.id)}: {shown(shown_as)}"


def problem(text: str, settings: Settings) -> str:
    """Return the notice about a problem; '' if notices are off."""
    return f"memory-fabric: {text}" if text and settings.notices != "off" else ""


def welcome(settings: Settings, earlier: Mapping[str, int]) -> str:
    """Return the notice at the first start: what is stored, and which sessions can be imported."""
    if settings.notices == "off":
        return ""
    leaves = settings.forward_url or os.path.exists(os.path.join(settings.home, TIES))
    skill = "/memory-fabric:" if settings.client.has_skills else "memory-fabric "
    status = f"{skill}{'memory ' if settings.client.has_skills else ''}status"
    text = (
        f"memory-fabric is on: what is settled and said is kept on this machine"
        f"{'' if leaves else ' only'}. `notes off` stops the lines “Noted …”; `{status}` shows all."
    )
    (first, number), *others = earlier.items() or [("", 0)]
    if number:
        text += f" {many(number, 'earlier session')} of {first}"
        text += "".join(f", {count} of {name}" for name, count in others)
        text += f" can be read in: `{skill}learn`."
    return text


def arrived(authors: Sequence[str], against: int, compared: int) -> str:
    """Return the notice that counts new shared records by author (`authors` has one for each
    record). Of the newest `compared` of these records, `against` contradict the user's own records.
    """
    numbers = Counter(authors).most_common()
    parts = [f"{number} from {name or 'your other machines'}" for name, number in numbers]
    text = f"memory-fabric, since you were away: {first_of(parts, MAX_SHOWN)}"
    if against:
        text += f", {against}{f' of the newest {compared}' if compared < len(authors) else ''}"
        text += f" contradict{'s' if against == 1 else ''} yours (/memory-fabric:review)"
    return text
