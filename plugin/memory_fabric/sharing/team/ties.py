"""Ties of projects, and of the user, to the spaces of shared logs: `team.json` in home.

    {"<project id>" or "user": {"dsn": …, "space": …, "member": …, "insecure": …, "me": …,
                                "owner": …, "packages": …}}

It holds no passwords: these are in the places of libpq. Hooks read it, and use no network.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from memory_fabric.config import TIES
from memory_fabric.store import files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

# The key of the tie of the user's own memories, next to the ids of projects.
USER = "user"


class Tie(NamedTuple):
    """A tie of one database to one space of a shared log.

    `key` is a project's id or USER. `me`: operations are proved to be this user's own with the key
    of the user's machines. `owner` is the DSN by which `team init` made the space, `packages` the
    folder in which the driver was when the tie was made. Without a `member` nothing is exchanged:
    the space was made here, and not joined.
    """

    key: str
    dsn: str = ""
    space: str = ""
    member: str = ""
    insecure: bool = False
    me: bool = False
    owner: str = ""
    packages: str = ""

    @property
    def kind(self) -> str:
        """The kind of the database that it ties: "user" or "project"."""
        return "user" if self.key == USER else "project"


def path_of(home: str) -> str:
    """Return the path of the file with the ties."""
    return os.path.join(home, TIES)


def exist(home: str) -> bool:
    """True if this home may have ties; costs one stat."""
    return os.path.exists(path_of(home))


def read(home: str) -> tuple[Tie, ...]:
    """Return all ties of a home, those of projects that were not joined, too."""
    found = files.read_json(path_of(home))
    return tuple(_tie(key, value) for key, value in found.items() if isinstance(value, dict))


def of(home: str, key: str) -> Tie | None:
    """Return the tie of a project or of USER, joined or not; None if there is none."""
    return next((tie for tie in read(home) if tie.key == key), None)


def joined(home: str, project_id: str) -> tuple[Tie, ...]:
    """Return the ties of this project and of the user by which operations are exchanged."""
    wanted = (project_id, USER) if project_id else (USER,)
    return tuple(t for t in read(home) if t.key in wanted and t.member and t.dsn)


def save(home: str, tie: Tie) -> None:
    """Add or replace a tie. Raises OSError, TimeoutError."""
    _change(home, tie.key, {k: v for k, v in tie._asdict().items() if v and k != "key"})


def remove(home: str, key: str) -> None:
    """Remove a tie; the file goes with the last one. Raises OSError, TimeoutError."""
    _change(home, key, None)


def _change(home: str, key: str, value: Mapping[str, Any] | None) -> None:
    path = path_of(home)
    with files.Locked(path + ".lock"):
        known = files.read_json(path)
        known.pop(key, None)
        if value is not None:
            known[key] = value
        if known:
            files.write_atomic(path, files.pretty_json(known))
        elif os.path.exists(path):
            os.unlink(path)


def _tie(key: str, value: Mapping[str, Any]) -> Tie:
    texts = {name: str(value.get(name, "")) for name in ("dsn", "space", "member", "owner")}
    return Tie(
        key,
        **texts,
        insecure=value.get("insecure") is True,
        me=value.get("me") is True,
        packages=str(value.get("packages", "")),
    )
