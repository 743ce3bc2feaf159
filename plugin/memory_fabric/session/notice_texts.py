"""Notices for the person: one short line each, limited by the setting `notices`."""

from __future__ import annotations

from memory_fabric.ids import short_id
from memory_fabric.text import cut, neutralised, one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory_fabric.config import Settings
    from memory_fabric.models import Record

MAX_SHOWN = 3
MAX_SHOWN_CHARS = 80


def remembered(records: Sequence[Record], settings: Settings) -> str:
    """Return the notice of new records; '' if there are none or such notices are off."""
    if not records or settings.notices != "all":
        return ""
    shown = "; ".join(
        f"{r.type} “{cut(neutralised(one_line(r.what)), MAX_SHOWN_CHARS)}” ({short_id(r.id)})"
        for r in records[:MAX_SHOWN]
    )
    more = f" and {len(records) - MAX_SHOWN} more" if len(records) > MAX_SHOWN else ""
    return f"memory-fabric remembered {shown}{more}"


def problem(text: str, settings: Settings) -> str:
    """Return the notice of a problem, unless notices are off."""
    return f"memory-fabric: {text}" if text and settings.notices != "off" else ""


def welcome(settings: Settings, local: str) -> str:
    """Return the notice of the very first run: what is stored, where, and how to stop it."""
    if settings.notices == "off":
        return ""
    places = f"{settings.home}" + (f" and {local}" if local else "")
    only = "machine" if settings.forward_url else "machine only"
    return (
        "memory-fabric is on: decisions, preferences, problems and what was said are kept on this "
        f"{only}, in {places}. `/memory-fabric:memory status` shows what is kept; in a shell, in "
        f"the project's folder, `{command(settings)} off --here` stops it for this project."
    )


def command(settings: Settings) -> str:
    """Return the command that a person's own shell finds, even if it is not in PATH."""
    if not settings.plugin_root:
        return "memory-fabric"
    path = f"{settings.plugin_root.rstrip('/')}/bin/memory-fabric"
    return f"'{path}'" if " " in path else path
