"""List the clients' sessions on this machine, and how far memory has read each. Writes nothing."""

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing, suppress
from functools import cache
from typing import Any, NamedTuple

from memory_fabric import ids
from memory_fabric.clients import transcripts
from memory_fabric.config import Settings
from memory_fabric.errors import FabricError
from memory_fabric.importing import runs
from memory_fabric.models import Registry
from memory_fabric.store import files
from memory_fabric.store.conversations import sessions as sessions_stored
from memory_fabric.store.database import open_to_look
from memory_fabric.store.home import switches
from memory_fabric.store.projects import identity, registry_file

NEW, REST, READ, RUNNING, GONE, OFF = "new", "rest", "read", "running", "gone", "off"
TO_READ = (NEW, REST)
# A session counts as running if its transcript changed within this many seconds.
RUNNING_S = 600
# An unread line counts as incomplete if it does not end within this many bytes.
MAX_LINE_BYTES = 2 << 20
# Unread sessions are reported if a client will delete them within this many days.
SOON_DAYS = 7


class Place(NamedTuple):
    """The project of a folder; `id` is '' if unknown. `gone`: the folder was deleted and may not
    have belonged to this project, so `learn` reads only those of its sessions that it has begun.
    """

    id: str
    root: str
    name: str
    gone: bool = False

    @property
    def key(self) -> str:
        """The project's id, or its root folder if the project has no id yet."""
        return self.id or self.root


class Session(NamedTuple):
    """A past session: its project, its state, and the byte offset up to which it was read."""

    transcript: transcripts.Transcript
    place: Place
    state: str
    offset: int = 0

    @property
    def left(self) -> int:
        """The number of bytes that memory has not read yet."""
        return max(0, self.transcript.size - self.offset)


def make(
    settings: Settings,
    roots: Mapping[str, str],
    now_s: float,
    moved: Mapping[str, str] | None = None,
    failed: list[str] | None = None,
) -> list[Session]:
    """Return all sessions in the clients' folders `roots`, in chronological order. `moved` maps old
    to new paths of folders, in addition to the moves in the run log; `failed` collects errors.
    """
    registry = registry_file.read_registry(settings.home)
    new_places = runs.moved(settings.home) | dict(moved or {})
    sessions = []
    place_of = cache(lambda folder: _place(registry, folder))
    offsets_of = cache(lambda id_: _offsets(settings.home, id_) if id_ else {})
    for transcript in transcripts.find(roots, agents=settings.domains.configured, failed=failed):
        folder = transcript.head.folder
        place = place_of(folder)
        inside = f"{folder}{os.sep}"
        moves = (pair[::-1] for pair in new_places.items() if inside.startswith(pair[0] + os.sep))
        if place.gone and (move := next(moves, None)):
            folder = f"{move[0]}{folder[len(move[1]) :]}"
            transcript = transcript._replace(head=transcript.head._replace(folder=folder))
            place = place_of(folder)
            # A moved repository must exist at its new path, but the session's subfolder need not.
            place = place._replace(gone=place.gone and not os.path.isdir(place.root))
        offset = offsets_of(place.id).get(transcript.head.session, -1)
        state = _state(settings, transcript, place, offset, now_s)
        if state == GONE:
            place = Place("", folder, os.path.basename(folder), gone=True)
        sessions.append(Session(transcript, place, state, max(0, min(offset, transcript.size))))
    return sorted(sessions, key=lambda s: (s.transcript.head.began_at, s.transcript.path))


def to_read(sessions: Iterable[Session]) -> list[Session]:
    """Return the sessions that a run of `learn` would read: new and partly read sessions."""
    return [session for session in sessions if session.state in TO_READ]


def groups(sessions: Iterable[Session]) -> list[list[Session]]:
    """Group the sessions by project, with the most recently used project first."""
    by_key: dict[str, list[Session]] = {}
    for session in sessions:
        by_key.setdefault(session.place.key, []).append(session)
    return sorted(by_key.values(), key=lambda some: max(_changes(some)), reverse=True)


def _changes(sessions: Iterable[Session]) -> list[float]:
    return [session.transcript.changed_s for session in sessions]


def of_folder(sessions: Iterable[Session], folder: str, home: str) -> list[Session]:
    """Return the sessions of the project to which a folder belongs."""
    key = _place(registry_file.read_registry(home), folder).key
    return [session for session in sessions if session.place.key == key]


def deleted_soon(sessions: Iterable[Session], now_s: float) -> list[Session]:
    """Return the unread sessions that their client will delete within SOON_DAYS, earliest first."""
    until = now_s + SOON_DAYS * transcripts.DAY_S
    soon = [s for s in to_read(sessions) if 0 < s.transcript.deleted_s < until]
    return sorted(soon, key=lambda session: session.transcript.deleted_s)


def expired(sessions: Sequence[Session], settings: Settings, now_s: float) -> list[Session]:
    """Return unread sessions older than `episodes_keep_days`; of these, only records are stored."""
    since_s = now_s - settings.episodes_keep_days * transcripts.DAY_S
    return [session for session in to_read(sessions) if session.transcript.changed_s < since_s]


def read_until(sessions: Iterable[Session]) -> str:
    """Return the time of the newest read session older than all sessions yet to be read, or ''."""
    sessions = list(sessions)
    first = min(_changes(to_read(sessions)), default=float("inf"))
    times = _changes(session for session in sessions if session.state == READ)
    before = [at for at in times if at <= first]
    return ids.timestamp(max(before)) if before else ""


def as_json(sessions: Sequence[Session], now_s: float) -> dict[str, Any]:
    """Convert the sessions to objects for JSON output."""
    soon, unread = deleted_soon(sessions, now_s), to_read(sessions)
    return {
        "sessions": len(sessions),
        "to_read": len(unread),
        "bytes": sum(session.left for session in unread),
        "deleted_soon": len(soon),
        "next_deletion": ids.timestamp(soon[0].transcript.deleted_s) if soon else "",
        "read_until": read_until(sessions),
        "projects": [
            {
                "project": some[0].place.name,
                "id": some[0].place.id,
                "root": some[0].place.root,
                "clients": sorted({session.transcript.client for session in some}),
                "since": some[0].transcript.head.began_at,
                "until": ids.timestamp(max(_changes(some))),
                "bytes": sum(session.transcript.size for session in some),
                "sessions": dict(Counter(session.state for session in some)),
            }
            for some in groups(sessions)
        ],
    }


def _place(registry: Any, folder: str) -> Place:
    real = os.path.realpath(folder)
    project = identity.identify(real)
    id_ = registry_file.place_owner(registry, project)
    if os.path.isdir(real):
        return Place(id_, project.root, project.name)
    top = identity.worktree_of(real)
    is_known = bool(id_) if top == real else _belongs(registry, real, top, id_)
    return Place(id_, project.root, project.name, gone=not is_known)


def _belongs(registry: Registry, folder: str, top: str, id_: str) -> bool:
    """Return True if a deleted folder inside the worktree `top` belonged to the project `id_`. This
    holds for Claude Code's worktrees, and if the registry assigns the folder to the project. If it
    does not list the folder, its nearest listed parent below `top` counts. Any other folder may
    have been a separate project inside a larger repository, for instance if the home folder is one.
    """
    if folder.startswith(os.path.join(top, ".claude", "worktrees", "")):
        return True
    while folder != top:
        keys = (f"worktree:{folder}", f"folder:{folder}", f"git:{os.path.join(folder, '.git')}")
        owners = {registry.keys[key] for key in keys if key in registry.keys}
        if owners:
            return owners == {id_}
        folder = os.path.dirname(folder)
    return False


def _offsets(home: str, project: str) -> dict[str, int]:
    path = os.path.join(identity.folder_of(home, project), "graph.db")
    try:
        if database := open_to_look(path, "project"):
            with closing(database):
                return sessions_stored.read_to(database)
    except FabricError:
        return {}  # the command `status` will report this error
    return {}


def _state(
    settings: Settings, transcript: transcripts.Transcript, place: Place, known: int, now_s: float
) -> str:
    if known >= transcript.size:
        return READ
    if known > 0:
        with suppress(OSError), files.open_regular(transcript.path) as file:
            file.seek(known)
            # A session counts as read if only an incomplete line is left, as after a crash.
            if b"\n" not in file.read(MAX_LINE_BYTES):
                return READ
    if place.gone and known < 0:
        return GONE
    unwanted = not transcript.head.is_attended and settings.capture_unattended == "off"
    if unwanted or (place.id and not switches.state(settings.home, place.id)["write"]):
        return OFF
    if now_s - transcript.changed_s < RUNNING_S:
        return RUNNING
    return NEW if known < 0 else REST
