"""What the user must be told once, kept until an event comes that can show it."""

from __future__ import annotations

import os

from memory_fabric.store import files

NOTICES = "notices.jsonl"
LOCK_S = 0.2


def leave(home: str, text: str) -> None:
    """Keep a notice for the next event that can show one. Raises OSError, TimeoutError."""
    from memory_fabric.redact import redact  # its expressions cost: only who speaks pays them

    path = os.path.join(home, NOTICES)
    with files.Locked(path + ".lock", LOCK_S):
        files.append_lines(path, [{"text": redact(text)}])


def take(home: str) -> list[str]:
    """All waiting notices, each once; they are gone afterwards.

    Never raises: what cannot be taken now, because another process is at it or the place cannot be
    written, waits for the next time.
    """
    path = os.path.join(home, NOTICES)
    if not os.path.exists(path):
        return []
    try:
        with files.Locked(path + ".lock", LOCK_S):
            lines, _ = files.read_lines(path)
            os.unlink(path)
    except OSError:
        return []
    return list(dict.fromkeys(str(line.get("text", "")) for line in lines if line.get("text")))


def once(home: str, name: str) -> bool:
    """Whether this is the first time that `name` is asked for in this home."""
    folder = os.path.join(home, "told")
    try:
        files.make_folder(folder)
        os.close(os.open(os.path.join(folder, name), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        return False
    except OSError:
        return False  # a home that cannot be written would hear the same at every start
    return True
