"""Links of projects, and of the user, to spaces of shared logs; the state of each link's exchange,
and the start of the exchange by a hook.

`team.json` in home contains the links without passwords; libpq reads the passwords elsewhere:
    {"<project id>" or "user": {"dsn": …, "space": …, "member": …, "insecure": …, "me": …,
                                "owner": …, "packages": …}}
`team/state.json` contains the result of each link's last exchange (`State`), but no memories.

    hook ── start_when_due() ──▶ team.sync, detached ──▶ PostgreSQL

This module neither uses the network nor imports packages of the extra; the detached process does.
"""

import os
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from memory_fabric import config, ids, processes
from memory_fabric.store import files
from memory_fabric.store.memory import Memory

# The key of the link for the user's own memories. Other links have a project's id as their key.
USER = "user"
# The value of `via` for a log in a git repository instead of PostgreSQL.
GIT = "git"
FOLDER, NAME, ORIGIN = "team", "state.json", "origin"
# Locks of a link: SYNC during one exchange, FOLLOW while an MCP server exchanges continuously.
SYNC, FOLLOW = "sync", "follow"
# The length of a machine's id, which is part of each clock reading (sharing.replica.wire).
ORIGIN_CHARS = 8
# After each failure, the delay doubles up to LAST_DELAY_S; up to half of it is randomly subtracted.
FIRST_DELAY_S, LAST_DELAY_S = 5.0, 900.0
# Longer waits until `next_at` are ignored: if the clock was set back, they would block exchanges.
MAX_WAIT_S = 24 * 3600
# The minimum seconds between exchanges at Stop without changes; each costs half a second of CPU.
EVERY_S = 30.0
# Selects 1 if a linked database has changes that were not sent yet, else 0.
WAITS = (
    "SELECT EXISTS (SELECT 1 FROM team_due) "
    "OR EXISTS (SELECT 1 FROM team_heads WHERE state = 'waiting')"
)


class Tie(NamedTuple):
    """A link of one database to one space of a shared log. `key` is a project's id or USER. `dsn`
    is the server's address or, if `via` is GIT, a repository's URL. `insecure` permits unencrypted
    connections. `member` is '' if the space was created here but not joined. If `me`, the user's
    machines share a secret key, which proves operations to be the user's own. `owner` is the
    address with which `team init` created the space; `packages` is where pip put the packages.
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
        """Return the name of the log, as used in messages."""
        if not self.via:
            return f"the shared log of {self.space}"
        return f"the sync of {'your own memories' if self.key == USER else self.space} by git"

    @property
    def place(self) -> str:
        """Return the link's target for messages: a repository's URL, or a space and a member."""
        return self.dsn if self.via else f"{self.space} as {self.member}"

    @property
    def is_sealed(self) -> bool:
        """Return True if operations are encrypted; False for git, where lines are encrypted."""
        return self.key == USER and not self.via

    @property
    def command(self) -> str:
        """Return the command, without its subcommand, that manages the link (for messages)."""
        return "memory-fabric sync git" if self.via else "memory-fabric team"

    @property
    def kind(self) -> str:
        """Return the kind of the linked database: "user" or "project"."""
        return "user" if self.key == USER else "project"


class State(NamedTuple):
    """The state of one link's exchange. Times are ISO 8601 ('' for never), but `next_at`, `ran_at`
    and `asked_at` are seconds since 1970. `cause` is the class of the last error, '' after a
    success. `since` is the time of the first failure after the last success. `told` is the cause
    last reported to the user, plus the remedy if permanent. `removed` (former members) and `silent`
    (members who had not read the log for a week) are comma-separated names as of `asked_at`.
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
    """Counts of one exchange. Operations: `sent`, permanently `refused` by the log, `read`,
    `applied` to the memory, and `unread` because they need an update or a key. `conflicts` counts
    keys that two of this user's machines changed independently; `asked` counts demands to erase
    this user's statements. `again` is the reason why everything was sent and read again, or "".
    """

    sent: int = 0
    refused: int = 0
    read: int = 0
    applied: int = 0
    conflicts: int = 0
    asked: int = 0
    unread: int = 0
    again: str = ""

    def plus(self, other: "Outcome") -> "Outcome":
        sums = {name: getattr(self, name) + getattr(other, name) for name in self._fields[:-1]}
        return Outcome(**sums, again=self.again or other.again)


def exist(home: str) -> bool:
    """Return True if this home contains a file of links; needs a single stat call."""
    return os.path.exists(os.path.join(home, config.TIES))


def read(home: str) -> tuple[Tie, ...]:
    """Return all links in a home, including links to spaces that were created but not joined."""
    stored = files.read_json(os.path.join(home, config.TIES))
    return tuple(Tie(key, **_fields(Tie, v)) for key, v in stored.items() if isinstance(v, dict))


def of(home: str, key: str) -> Tie | None:
    """Return the link with this key (a project's id or USER), joined or not; None if missing."""
    return next((tie for tie in read(home) if tie.key == key), None)


def joined(home: str, project_id: str) -> tuple[Tie, ...]:
    """Return the links of a project and of the user to spaces that were joined."""
    keys = (project_id, USER) if project_id else (USER,)
    return tuple(tie for tie in read(home) if tie.key in keys and tie.member and tie.dsn)


def joined_by(memory: Memory) -> tuple[Tie, ...]:
    """Return the links of this memory's project and user to spaces that were joined."""
    return joined(memory.settings.home, memory.project.id if memory.project else "")


def save(home: str, tie: Tie) -> None:
    """Add a link, or replace the link with the same key. Raises OSError, TimeoutError."""
    value = {name: part for name, part in tie._asdict().items() if part and name != "key"}
    _change(os.path.join(home, config.TIES), tie.key, lambda _: value)


def remove(home: str, key: str) -> None:
    """Remove a link and the saved state of its exchange. Raises OSError, TimeoutError."""
    for path in (os.path.join(home, config.TIES), os.path.join(home, FOLDER, NAME)):
        if key in files.read_json(path):
            _change(path, key, lambda _: None)


def lock_path(home: str, key: str, use: str) -> str:
    """Return the path of a link's lock file; `use` is SYNC or FOLLOW."""
    return os.path.join(home, FOLDER, f"{key}.{use}.lock")


def state_of(home: str, key: str) -> State:
    """Return the saved state of a link, or an empty state."""
    return State(**_fields(State, files.read_json(os.path.join(home, FOLDER, NAME)).get(key)))


def update_state(home: str, key: str, **changes: Any) -> None:
    """Change fields of a link's saved state. Raises OSError, TimeoutError."""

    def changed(before: object) -> dict[str, Any]:
        new = State(**_fields(State, before))._replace(**changes)
        return {name: value for name, value in new._asdict().items() if value}

    _change(os.path.join(home, FOLDER, NAME), key, changed, durable=False)


def is_held_off(state: State, now_s: float) -> bool:
    """Return True if the delay after a failed exchange has not passed yet."""
    return 0 < state.next_at - now_s <= MAX_WAIT_S


def is_followed(home: str, key: str) -> bool:
    """Return True if an MCP server continuously exchanges operations through this link."""
    path = lock_path(home, key, FOLLOW)
    if not os.path.exists(path):
        return False
    try:
        with files.Locked(path, 0):
            return False
    except TimeoutError:
        return True


def delay_after(failures: int, chance: float) -> float:
    """Return the delay in seconds after this many failures, randomised by `chance` (0 to 1)."""
    grown = min(LAST_DELAY_S, FIRST_DELAY_S * 2.0 ** min(max(failures, 1) - 1, 30))
    return grown * (0.5 + chance / 2)


def origin(home: str) -> str:
    """Return the id of this machine, created on first use. Raises OSError."""
    path = os.path.join(home, FOLDER, ORIGIN)
    with files.Locked(path + ".lock"):
        id_ = (files.read_text(path) or "").strip()
        if not id_:
            id_ = ids.new_id()[-ORIGIN_CHARS:]
            files.write_atomic(path, id_.encode())
    return id_


def receipts(memory: Memory, event_name: str) -> tuple[Callable[[], None], ...]:
    """Return what to call after the hook's reply: `start_when_due`, or nothing without links."""
    settings = memory.settings
    if not settings.writes or settings.ci or not exist(settings.home):
        return ()
    return (lambda: start_when_due(memory, event_name),)


def start_when_due(memory: Memory, event_name: str) -> None:
    """Start the exchange process if a link of this project or user is due. At Stop, a link is due
    if it has changes to send, or its last exchange was at least EVERY_S ago; at other events, it is
    always due. A link that an MCP server uses continuously is due only at SessionEnd, when the
    server ends. None is due during its delay after a failure. Raises StoreUnavailable, OSError.
    """
    home, now_s = memory.settings.home, time.time()
    for tie in joined_by(memory):
        state = state_of(home, tie.key)
        is_left_to_server = event_name != "SessionEnd" and is_followed(home, tie.key)
        if is_held_off(state, now_s) or is_left_to_server:
            continue
        if event_name == "Stop" and 0 <= now_s - state.ran_at < EVERY_S:
            database = memory.database(tie.kind, create=False)
            if database is None or database.row(WAITS) != (1,):
                continue
        start(memory.settings)
        return


def start(settings: config.Settings) -> int:
    """Start the exchange in a detached process that outlives the session; return its process id."""
    folders = {"MEMORY_FABRIC_HOME": settings.home, "CLAUDE_PROJECT_DIR": settings.project_dir}
    folders["CLAUDE_PLUGIN_DATA"] = settings.data_dir
    folders["CLAUDE_PLUGIN_ROOT"] = settings.plugin_root
    return processes.start("sharing.team.sync", {**config.environment(), **folders})


def _change(
    path: str, key: str, change: Callable[[Any], Mapping[str, Any] | None], *, durable: bool = True
) -> None:
    """Set `key` in a JSON file to `change(old)`; None removes it. Delete the file once empty."""
    with files.Locked(path + ".lock"):
        values = files.read_json(path)
        value = change(values.pop(key, None))
        if value is not None:
            values[key] = value
        if values:
            files.write_atomic(path, files.pretty_json(values), durable=durable)
        elif os.path.exists(path):
            os.unlink(path)


def _fields(kind: type[Tie] | type[State], value: object) -> dict[str, Any]:
    """Return the fields of a Tie or State from a JSON value, without fields of a wrong type."""
    stated = value if isinstance(value, dict) else {}
    fields: dict[str, Any] = {}
    for name, default in kind._field_defaults.items():
        part, is_flag = stated.get(name), isinstance(default, bool)
        wanted = str if isinstance(default, str) else (int, float)
        if isinstance(part, wanted) and isinstance(part, bool) == is_flag:
            fields[name] = part
    return fields
