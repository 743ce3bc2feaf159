"""Notices for the user, each shown once and kept until an event can show it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

from memory_fabric.store import files

NOTICES = "notices.jsonl"
LOCK_S = 0.2


def add(home: str, text: str, *, place: str = "") -> None:
    """Save a notice for the next event that can show one. Raises OSError, TimeoutError.

    With `place` (a project's id) it waits for the start of a session there.
    """
    # late: slow to import, and only needed with a notice
    from memory_fabric.redaction.redact import redact

    more = {"place": place} if place else {}
    path = os.path.join(home, NOTICES)
    with files.Locked(path + ".lock", LOCK_S):
        files.append_lines(path, [{"text": redact(text), **more}])


def take(home: str, place: str = "") -> list[str]:
    """Return all notices for any place or for this one, each once, and delete them.

    Never raises: notices that cannot be taken now, because of a lock or a read-only home, wait.
    """
    lines = _take_out(home, lambda line: line.get("place", "") in ("", place))
    return list(dict.fromkeys(str(line.get("text", "")) for line in lines if line.get("text")))


def _take_out(home: str, fits: Callable[[dict[str, Any]], bool]) -> list[dict[str, Any]]:
    path = os.path.join(home, NOTICES)
    if not os.path.exists(path):
        return []
    try:
        with files.Locked(path + ".lock", LOCK_S):
            lines, _ = files.read_lines(path)
            rest = [line for line in lines if not fits(line)]
            if len(rest) == len(lines):
                return []
            if rest:
                kept = "".join(json.dumps(o, ensure_ascii=False) + "\n" for o in rest)
                files.write_atomic(path, kept.encode("utf-8", "replace"))
            else:
                os.unlink(path)
    except OSError:
        return []
    return [line for line in lines if fits(line)]


def is_first_time(home: str, name: str) -> bool:
    """True the first time that `name` is asked for in this home."""
    folder = os.path.join(home, "told")
    try:
        files.make_folder(folder)
        os.close(os.open(os.path.join(folder, name), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        return False
    except OSError:
        return False  # in a home that cannot be written it would be shown at every start
    return True
