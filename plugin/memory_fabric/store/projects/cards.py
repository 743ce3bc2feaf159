"""Project cards: a second copy of the registry's keys, used when the registry is damaged.

Each project's folder in home has one (`project.json`): its id, name and keys, and which of these
are settled or await the user's answer.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from typing import Any

from memory_fabric.ids import is_project_id
from memory_fabric.models import DAMAGED, LOST, OLD, Registry
from memory_fabric.store import files

Cards = Mapping[str, Mapping[str, Any]]

# The fields in files of releases without a checksum.
OLD_FIELDS = frozenset(("keys", "settled", "undo"))


def rebuild_registry(cards: Cards, text: str | None) -> Registry:
    """Return the registry from the cards and the text of a registry that is lost, damaged or old.

    None as text means that there is no file. A file without a checksum that is otherwise complete
    comes from an earlier release: it is used, and the cards add what it lacks.
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
    # A card of a project that the file does not name is there because the file was damaged.
    missing = {
        k: owner for k, owner in known.keys.items() if found.get(k) not in {*known.keys.values()}
    }
    settled = files.text_list(page.get("settled"))
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
    """Return the registry that cards give; a key on two cards belongs to the project that settled
    it.
    """
    keys: dict[str, str] = {}
    settled: set[str] = set()
    asked: set[str] = set()
    for id_, card in cards.items():
        own = files.text_list(card.get("settled"))
        for key in files.text_list(card.get("keys")):
            if key in own or key not in keys:
                keys[key] = id_
        settled.update(own)
        asked.update(files.text_list(card.get("asked")))
    return Registry(keys, tuple(sorted(settled)), {}, tuple(sorted(asked)))


def stale(cards: Cards, known: Registry) -> list[str]:
    """Return the ids of projects whose cards differ from the registry."""
    keys: dict[str, list[str]] = {}
    for key, id_ in known.keys.items():
        keys.setdefault(id_, []).append(key)
    return [
        id_
        for id_, mine in keys.items()
        if {*files.text_list(cards.get(id_, {}).get("keys"))} != {*mine}
    ]


def missing_keys(cards: Cards, known: Registry) -> list[str]:
    """Return keys on cards that the registry lacks or gives to another project."""
    return [key for key, id_ in read(cards).keys.items() if known.keys.get(key) != id_]


def set_aside(home: str, path: str, known: Registry) -> None:
    """Keep a damaged registry under another name, and leave a notice. Raises OSError."""
    count = len({*known.keys.values()})
    again = f"it was rebuilt from the cards of {count} projects"
    if known.state == DAMAGED and files.is_own_file(path):
        aside = f"{path}.damaged-{time.strftime('%Y%m%dT%H%M%S', time.gmtime())}"
        os.replace(path, aside)
        text = f"{path} was damaged; {again}, and the damaged file was kept as {aside}."
    elif known.state in (DAMAGED, LOST) and known.keys:
        text = f"{path} was {known.state}; {again}."
    else:
        return
    from memory_fabric.store import notices  # only needed with a notice

    notices.add(home, text)
