"""The projects' cards: a second copy of the registry's keys, asked when that is not sound.

Each project's folder in home has one (`project.json`): its id, name, keys, and which of them are
settled or asked about.
"""

from __future__ import annotations

import os
import time

from memory_fabric.ids import is_project_id
from memory_fabric.models import DAMAGED, LOST, OLD, Registry
from memory_fabric.store import files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    Cards = Mapping[str, Mapping[str, Any]]

# The fields that releases without a checksum wrote.
OLD_FIELDS = frozenset(("keys", "settled", "undo"))


def registry(cards: Cards, text: str | None) -> Registry:
    """The registry that the cards give, for one whose file holds this text; None: it has no file.

    A file without a checksum that is whole otherwise comes from an earlier release: it counts, and
    the cards add what it lacks.
    """
    page = files.parsed(text or "") or {}
    keys = page.get("keys")
    listed = keys if isinstance(keys, dict) else {}
    found = {str(key): str(id_) for key, id_ in listed.items() if is_project_id(id_)}
    known = read(cards)
    if text is None:
        return known._replace(state=LOST)
    is_old = {*page} <= OLD_FIELDS and bool(found) and len(found) == len(listed)
    if not is_old:
        return known._replace(keys=known.keys or found, state=DAMAGED)
    # A card of a project that the file does not name was hidden by damage to the file.
    missing = {
        k: owner for k, owner in known.keys.items() if found.get(k) not in {*known.keys.values()}
    }
    settled = files.texts(page.get("settled"))
    undo = page.get("undo")
    return Registry(
        {**found, **missing},
        tuple(sorted({*settled, *known.settled})),
        undo if isinstance(undo, dict) else {},
        known.asked,
        tuple(k for k in found if k.startswith("git:") and k not in settled),
        state=OLD,
    )


def read(cards: Cards) -> Registry:
    """Return the registry that cards give; a key of two is of the project it was settled for."""
    keys: dict[str, str] = {}
    settled: set[str] = set()
    asked: set[str] = set()
    for id_, card in cards.items():
        own = files.texts(card.get("settled"))
        for key in files.texts(card.get("keys")):
            if key in own or key not in keys:
                keys[key] = id_
        settled.update(own)
        asked.update(files.texts(card.get("asked")))
    return Registry(keys, tuple(sorted(settled)), {}, tuple(sorted(asked)))


def stale(cards: Cards, known: Registry) -> list[str]:
    """The ids of projects whose cards say other than the registry."""
    keys: dict[str, list[str]] = {}
    for key, id_ in known.keys.items():
        keys.setdefault(id_, []).append(key)
    return [
        id_
        for id_, mine in keys.items()
        if {*files.texts(cards.get(id_, {}).get("keys"))} != {*mine}
    ]


def missing(cards: Cards, known: Registry) -> list[str]:
    """The keys that stand in cards and not in the registry, or there as another project's."""
    return [key for key, id_ in read(cards).keys.items() if known.keys.get(key) != id_]


def set_aside(home: str, path: str, known: Registry) -> None:
    """Keep a damaged registry beside the new one, and leave word for the user. Raises OSError."""
    count = len({*known.keys.values()})
    again = f"it was built again from the cards of {count} projects"
    if known.state == DAMAGED and files.is_own_file(path):
        aside = f"{path}.damaged-{time.strftime('%Y%m%dT%H%M%S', time.gmtime())}"
        os.replace(path, aside)
        text = f"{path} was damaged; {again}, and what it was lies in {aside}."
    elif known.state in (DAMAGED, LOST) and known.keys:
        text = f"{path} was {known.state}; {again}."
    else:
        return
    from memory_fabric.store import notices  # the one time that there is something to tell

    notices.leave(home, text)
