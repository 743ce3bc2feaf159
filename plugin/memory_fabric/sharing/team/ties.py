"""Ties of projects, and of the user, to the spaces of shared logs; how their exchange went, and its
start by a hook.

`team.json` in home has the ties, without passwords, which are in the places of libpq:
    {"<project id>" or "user": {"dsn": …, "space": …, "member": …, "insecure": …, "me": …,
                                "owner": …, "packages": …}}
`team/state.json` has the outcome of the last exchange of each (`State`), without any content.

    hook ── start_when_due() ──▶ team.sync, detached ──▶ PostgreSQL

This module never uses the network and imports nothing of the extra; the detached process does.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from memory_fabric import ids, processes
from memory_fabric.config import TIES, Settings, environment
from memory_fabric.store import files
from memory_fabric.store.memory import Memory

# Stands in place of a project's id in the tie of the user's own memories.
USER = "user"
# By which a tie is exchanged, if not by a PostgreSQL.
GIT = "git"
FOLDER, NAME, ORIGIN = "team", "state.json", "origin"
# Uses of a tie that exclude each other: the exchange, and following it all the time.
SYNC, FOLLOW = "sync", "follow"
# As long as a clock of operations holds (sharing.replica.wire).
ORIGIN_CHARS = 8
# The back-off doubles from the first to the last delay, less a random part of up to half.
FIRST_DELAY_S, LAST_DELAY_S = 5.0, 900.0
# A clock that was set back must not stop the exchange for longer.
MAX_WAIT_S = 24 * 3600
# Starting the process costs half a second of CPU time: a turn that says nothing new starts none
# sooner than this after the last one.
EVERY_S = 30.0
# Asks a tied database if something of it has not been sent.
WAITS = (
    "SELECT EXISTS (SELECT 1 FROM team_due) "
    "OR EXISTS (SELECT 1 FROM team_heads WHERE state = 'waiting')"
)


class Tie(NamedTuple):
    """A tie of one database to one space of a shared log.

    `key` is a project's id or USER. `me`: operations are proved to be this user's own with the key
    of the user's machines. `owner` is the DSN by which `team init` made the space, `packages` the
    folder in which the driver was when the tie was made. Without a `member` nothing is exchanged:
    the space was made here, and not joined. With `via` GIT, `dsn` is the address of a repository.
    """

    key: str
    dsn: str = ""
    space: str = ""
    member: str = ""
    insecure: bool = False
    me: bool = False
    owner: str = ""
    packages: str = ""
    via: str = ""

    @property
    def name(self) -> str:
        """The log as messages name it."""
        if not self.via:
            return f"the shared log of {self.space}"
        return f"the sync of {'your own memories' if self.key == USER else self.space} by git"

    @property
    def place(self) -> str:
        """The address as status shows it: the repository, or the space and one's name there."""
        return self.dsn if self.via else f"{self.space} as {self.member}"

    @property
    def is_sealed(self) -> bool:
        """True if its operations are sealed one by one; in a repository whole lines are."""
        return self.key == USER and not self.via

    @property
    def command(self) -> str:
        """The command that shows, and ends, the tie."""
        return "memory-fabric sync git" if self.via else "memory-fabric team"

    @property
    def kind(self) -> str:
        """The kind of the database that it ties: "user" or "project"."""
        return "user" if self.key == USER else "project"


class State(NamedTuple):
    """The state of one tie. Times are ISO 8601, empty for never; `next_at`, `ran_at` and `asked_at`
    are seconds since 1970.

    `cause` is the kind of the last failure, empty after a success, and `since` the time of the
    first of those in a row; `told` is the cause that the user has been told of. `silent` are the
    members, separated by commas, who had not read the log for a week at `asked_at`, `removed` those
    who were members.
    """

    last_success: str = ""
    failures: int = 0
    next_at: float = 0.0
    last_error: str = ""
    remedy: str = ""
    cause: str = ""
    since: str = ""
    told: str = ""
    ran_at: float = 0.0
    silent: str = ""
    removed: str = ""
    asked_at: float = 0.0


class Outcome(NamedTuple):
    """The numbers of one exchange.

    `sent` operations were appended, `refused` ones never will be; `read` ones came, of which
    `applied` changed something here. `conflicts` are keys that two of this user's machines changed
    at once, `asked` demands to erase what this user said. `again` is the reason why everything was
    sent and read again, empty if it was not.
    """

    sent: int = 0
    refused: int = 0
    read: int = 0
    applied: int = 0
    conflicts: int = 0
    asked: int = 0
    unread: int = 0
    again: str = ""

    def plus(self, other: Outcome) -> Outcome:
        """Return the sum of two outcomes."""
        sums = {name: getattr(self, name) + getattr(other, name) for name in self._fields[:-1]}
        return Outcome(**sums, again=self.again or other.again)


def path_of(home: str) -> str:
    """Return the path of the file with the ties."""
    return os.path.join(home, TIES)


def exist(home: str) -> bool:
    """True if this home may have ties; costs one stat."""
    return os.path.exists(path_of(home))


def read(home: str) -> tuple[Tie, ...]:
    """Return all ties of a home, those of projects that were not joined, too."""
    stored = files.read_json(path_of(home))
    return tuple(Tie(key, **_fields(Tie, v)) for key, v in stored.items() if isinstance(v, dict))


def of(home: str, key: str) -> Tie | None:
    """Return the tie of a project or of USER, joined or not; None if there is none."""
    return next((tie for tie in read(home) if tie.key == key), None)


def joined(home: str, project_id: str) -> tuple[Tie, ...]:
    """Return the ties of this project and of the user by which operations are exchanged."""
    keys = (project_id, USER) if project_id else (USER,)
    return tuple(tie for tie in read(home) if tie.key in keys and tie.member and tie.dsn)


def joined_by(memory: Memory) -> tuple[Tie, ...]:
    """Return the ties of this memory's project and of the user, as `joined`."""
    return joined(memory.settings.home, memory.project.id if memory.project else "")


def save(home: str, tie: Tie) -> None:
    """Add or replace a tie. Raises OSError, TimeoutError."""
    value = {name: part for name, part in tie._asdict().items() if part and name != "key"}
    _change(path_of(home), path_of(home) + ".lock", tie.key, lambda _: value)


def remove(home: str, key: str) -> None:
    """Remove a tie; the file goes with the last one. Raises OSError, TimeoutError."""
    _change(path_of(home), path_of(home) + ".lock", key, lambda _: None)


def lock_path(home: str, key: str, use: str) -> str:
    """Return the path of the lock file for one use (SYNC or FOLLOW) of a tie between a database and
    a shared space.
    """
    return os.path.join(home, FOLDER, f"{key}.{use}.lock")


def state_of(home: str, key: str) -> State:
    """Return the state of a tie; an empty state if nothing is known."""
    return State(**_fields(State, files.read_json(os.path.join(home, FOLDER, NAME)).get(key)))


def update_state(home: str, key: str, **changes: Any) -> None:
    """Change the state of a tie. Raises OSError, TimeoutError."""

    def changed(before: object) -> dict[str, Any]:
        new = State(**_fields(State, before))._replace(**changes)
        return {name: value for name, value in new._asdict().items() if value}

    _change_state(home, key, changed)


def forget_state(home: str, key: str) -> None:
    """Drop the state of a tie, if it has one. Raises OSError, TimeoutError."""
    if key in files.read_json(os.path.join(home, FOLDER, NAME)):
        _change_state(home, key, lambda _: None)


def succeeded(home: str, key: str, now_s: float) -> None:
    """Note a success. Raises OSError, TimeoutError."""
    cleared = dict.fromkeys(("last_error", "remedy", "cause", "since", "told"), "")
    at = ids.timestamp(now_s)
    update_state(home, key, last_success=at, failures=0, next_at=0.0, ran_at=now_s, **cleared)


def failed(home: str, key: str, now_s: float, chance: float, **failure: str) -> State:
    """Note a failure, hold the next attempt off, and return the state.

    `failure` is its `cause`, `last_error` and `remedy`. Raises OSError, TimeoutError.
    """
    before = state_of(home, key)
    failures = before.failures + 1
    new = {
        "failures": failures,
        "next_at": now_s + delay_after(failures, chance),
        "ran_at": now_s,
        "since": before.since or ids.timestamp(now_s),
    }
    update_state(home, key, **new, **failure)
    return state_of(home, key)


def is_held_off(state: State, now_s: float) -> bool:
    """True while the back-off after a failure lasts."""
    return 0 < state.next_at - now_s <= MAX_WAIT_S


def is_followed(home: str, key: str) -> bool:
    """True if a server exchanges this tie all the time."""
    path = lock_path(home, key, FOLLOW)
    if not os.path.exists(path):
        return False
    try:
        with files.Locked(path, 0):
            return False
    except TimeoutError:
        return True


def delay_after(failures: int, chance: float) -> float:
    """Return the seconds until the next attempt after some failures in a row; `chance` is from 0
    to 1.
    """
    grown = min(LAST_DELAY_S, FIRST_DELAY_S * 2.0 ** min(max(failures, 1) - 1, 30))
    return grown * (0.5 + chance / 2)


def origin(home: str) -> str:
    """Return the id of this machine among those of its user; made once. Raises OSError."""
    path = os.path.join(home, FOLDER, ORIGIN)
    with files.Locked(path + ".lock"):
        id_ = (files.read_text(path) or "").strip()
        if not id_:
            id_ = ids.new_id()[-ORIGIN_CHARS:]
            files.write_atomic(path, id_.encode())
    return id_


def receipts(memory: Memory, event_name: str) -> tuple[Callable[[], None], ...]:
    """Return actions for after the hook's reply: start the exchange if it is due."""
    settings = memory.settings
    if not settings.writes or settings.ci or not exist(settings.home):
        return ()
    return (lambda: start_when_due(memory, event_name),)


def start_when_due(memory: Memory, event_name: str) -> None:
    """Start the exchange if a tie of this project or of the user is due.

    At Stop it is if something waits, or the last one was a while ago. A tie that an MCP server
    follows is left to it, except at a session's end, where the server ends, too. Raises
    StoreUnavailable, OSError.
    """
    home, now_s = memory.settings.home, time.time()
    for tie in joined_by(memory):
        state = state_of(home, tie.key)
        if is_held_off(state, now_s):
            continue
        if event_name != "SessionEnd" and is_followed(home, tie.key):
            continue
        if event_name == "Stop" and 0 <= now_s - state.ran_at < EVERY_S:
            database = memory.database(tie.kind, create=False)
            row = database.row(WAITS) if database is not None else None
            if not (row and row[0]):
                continue
        start(memory.settings)
        return


def start(settings: Settings) -> int:
    """Start the exchange detached and return its process id; it outlives the session."""
    return processes.start(
        "sharing.team.sync",
        {
            **environment(),
            "MEMORY_FABRIC_HOME": settings.home,
            "CLAUDE_PROJECT_DIR": settings.project_dir,
            "CLAUDE_PLUGIN_DATA": settings.data_dir,
            "CLAUDE_PLUGIN_ROOT": settings.plugin_root,
        },
    )


def _change_state(home: str, key: str, change: Callable[[Any], Mapping[str, Any] | None]) -> None:
    folder = os.path.join(home, FOLDER)
    lock = os.path.join(folder, "state.lock")
    _change(os.path.join(folder, NAME), lock, key, change, durable=False)


def _change(
    path: str,
    lock: str,
    key: str,
    change: Callable[[Any], Mapping[str, Any] | None],
    *,
    durable: bool = True,
) -> None:
    """Change one value of a JSON file; the file goes with the last one."""
    with files.Locked(lock):
        values = files.read_json(path)
        value = change(values.pop(key, None))
        if value is not None:
            values[key] = value
        if values:
            files.write_atomic(path, files.pretty_json(values), durable=durable)
        elif os.path.exists(path):
            os.unlink(path)


def _fields(kind: type[Tie] | type[State], value: object) -> dict[str, Any]:
    """Return the fields of a tuple that a value from a file has in their types."""
    stated = value if isinstance(value, dict) else {}
    fields: dict[str, Any] = {}
    for name, default in kind._field_defaults.items():
        part = stated.get(name, default)
        if isinstance(default, str):
            # A number in a tie is taken as text; a damaged state says nothing.
            is_text = isinstance(part, str) or kind is Tie
            fields[name] = str(part) if is_text else default
        elif isinstance(default, bool):
            fields[name] = part is True
        elif isinstance(part, int | float) and not isinstance(part, bool):
            fields[name] = part
    return fields
