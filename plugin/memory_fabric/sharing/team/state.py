"""The outcome of the last exchange of each tie: `team/state.json` in home, without any content.

{"<project id>" or "user": {"last_success": …, "failures": …, "next_at": …, "last_error": …,
                            "remedy": …, "cause": …, "since": …, "told": …, "ran_at": …,
                                "silent": …}}
"""

from __future__ import annotations

import os
from typing import NamedTuple

from memory_fabric import ids
from memory_fabric.store import files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

FOLDER, NAME, ORIGIN = "team", "state.json", "origin"
# Uses of a tie that exclude each other: the exchange, and following it all the time.
SYNC, FOLLOW = "sync", "follow"
# Asks a tied database if something of it has not been sent.
WAITS = (
    "SELECT EXISTS (SELECT 1 FROM team_due) "
    "OR EXISTS (SELECT 1 FROM team_heads WHERE state = 'waiting')"
)
# As long as a clock of operations holds (sharing.replica.clock).
ORIGIN_CHARS = 8
LOCK_S = 2.0
# The back-off doubles from the first to the last delay, less a random part of up to half.
FIRST_DELAY_S, LAST_DELAY_S = 5.0, 900.0
# A clock that was set back must not stop the exchange for longer.
MAX_WAIT_S = 24 * 3600


class State(NamedTuple):
    """The state of one tie. Times are ISO 8601, empty for never; `next_at`, `ran_at` and `asked_at`
    are seconds since 1970.

    `cause` is the kind of the last failure, empty after a success, and `since` the time of the
    first of those in a row; `told` is the cause that the user has been told of. `silent` are the
    members, separated by commas, who had not read the log for a week at `asked_at`.
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
    asked_at: float = 0.0


def folder_of(home: str) -> str:
    """Return the folder of the exchange's own files."""
    return os.path.join(home, FOLDER)


def lock_path(home: str, key: str, use: str) -> str:
    """Return the lock file of one tie for one use."""
    return os.path.join(folder_of(home), f"{key}.{use}.lock")


def read(home: str, key: str) -> State:
    """Return the state of a tie; an empty one if nothing is known."""
    return _state(_all(home).get(key))


def update(home: str, key: str, **changes: Any) -> State:
    """Change the state of a tie and return it. Raises OSError, TimeoutError."""
    with files.Locked(os.path.join(folder_of(home), "state.lock"), LOCK_S):
        known = _all(home)
        new = _state(known.get(key))._replace(**changes)
        known[key] = {k: v for k, v in new._asdict().items() if v}
        files.write_atomic(_path(home), files.pretty_json(known), durable=False)
    return new


def forget(home: str, key: str) -> None:
    """Drop the state of a tie. Raises OSError, TimeoutError."""
    if not os.path.exists(_path(home)):
        return
    with files.Locked(os.path.join(folder_of(home), "state.lock"), LOCK_S):
        known = _all(home)
        if known.pop(key, None) is not None:
            files.write_atomic(_path(home), files.pretty_json(known), durable=False)


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


def failed(
    home: str, key: str, now_s: float, chance: float, *, cause: str, error: str, remedy: str
) -> State:
    """Note a failure and hold the next attempt off. Raises OSError, TimeoutError."""
    before = read(home, key)
    failures = before.failures + 1
    return update(
        home,
        key,
        failures=failures,
        next_at=now_s + delay_after(failures, chance),
        ran_at=now_s,
        last_error=error,
        remedy=remedy,
        cause=cause,
        since=before.since or ids.timestamp(now_s),
    )


def origin(home: str) -> str:
    """Return the id of this machine among those of its user; made once. Raises OSError."""
    path = os.path.join(folder_of(home), ORIGIN)
    with files.Locked(path + ".lock", LOCK_S):
        known = (files.read_text(path) or "").strip()
        if not known:
            known = ids.new_id()[-ORIGIN_CHARS:]
            files.write_atomic(path, known.encode())
    return known


def succeeded(home: str, key: str, now_s: float) -> None:
    """Note a success. Raises OSError, TimeoutError."""
    at = ids.timestamp(now_s)
    cleared = dict.fromkeys(("last_error", "remedy", "cause", "since", "told"), "")
    update(home, key, last_success=at, failures=0, next_at=0.0, ran_at=now_s, **cleared)


def _path(home: str) -> str:
    return os.path.join(folder_of(home), NAME)


def _all(home: str) -> dict[str, Any]:
    return files.read_json(_path(home))


def _state(value: Mapping[str, Any] | None) -> State:
    if not isinstance(value, dict):
        return State()
    fitting = {
        name: value[name]
        for name, default in State._field_defaults.items()
        if name in value and _fits(value[name], default)
    }
    return State(**fitting)


def _fits(value: object, default: object) -> bool:
    if isinstance(default, str):
        return isinstance(value, str)
    return isinstance(value, int | float) and not isinstance(value, bool)
