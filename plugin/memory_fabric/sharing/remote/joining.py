"""Link this machine's databases to logs in a git repository, and open the log of a link."""

import os
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import NamedTuple

from memory_fabric.errors import BadInput
from memory_fabric.sharing.remote.clone import Clone, checked
from memory_fabric.sharing.remote.log import ME, GitLog
from memory_fabric.sharing.team import driver, exchange, keys, ties
from memory_fabric.sharing.team.ties import GIT, USER, Tie
from memory_fabric.store import files
from memory_fabric.store.home import log as home_log
from memory_fabric.store.memory import Memory
from memory_fabric.store.projects import identity

# Seconds to wait for the lock, longer than any process holds it.
LOCK_WAIT_S = 30.0
# The name of the log (space) of the user's own memories, and of its branch. A project's branch is
# named by an HMAC of the project's space, computed with the user's key.
OWN = "own"
NAME_CHARS = 16


class Joined(NamedTuple):
    """Result of `join`: `made[0]` is the user's link; `is_first` is True on the first machine."""

    made: tuple[Tie, ...]
    key: keys.Key
    is_first: bool


def log_of(memory: Memory, tie: Tie, key: keys.Key) -> GitLog:
    """Return the log of a link to a git repository. Raises OSError."""
    home = memory.settings.home
    branch = OWN if tie.space == OWN else key.sealed_key(tie.space)[2:][:NAME_CHARS]
    clone = Clone(home, tie.key, tie.dsn, branch)
    return GitLog(clone, tie.space, key, ties.origin(home), partial(home_log.add, home))


def join(memory: Memory, url: str, space: str, words: Callable[[], str]) -> Joined:
    """Link the user's database to a git repository, and the project's too unless it uses a team's
    log. `space` names the project on all machines (default: its git remote, else its folder).
    `words` asks for the key's 24 words. Raises TeamError, BadInput, StoreUnavailable, OSError.
    """
    driver.reach(memory.settings, kind=driver.SYNC)
    home, url = memory.settings.home, checked(url)
    folder = driver.folder_in_use(memory.settings, driver.SYNC)
    own = Tie(USER, url, OWN, ME, me=True, via=GIT, packages=folder)
    _expect_free(ties.of(home, USER), own)
    made = [own]
    project = memory.project if memory.mirror is None else None
    before = ties.of(home, project.id) if project else None
    if project and (before is None or before.via == GIT or not before.member):
        made.append(own._replace(key=project.id, space=space or name_of(project.root)))
        _expect_free(before, made[-1])
    with ExitStack() as locks:
        for tie in made:
            path = ties.lock_path(home, tie.key, ties.SYNC)
            locks.enter_context(files.Locked(path, LOCK_WAIT_S))
        clone = Clone(home, own.key, url, OWN)
        clone.remove()
        lines = _sample(clone)
        is_first = not lines

        def fits(key: keys.Key) -> bool:
            return any(key.shown(line, OWN) for line in lines)

        key = keys.agreed(home, words, fits if lines else None, "sync git")
        for tie in made:
            log = log_of(memory, tie, key)
            log.state()
            log.push([key.announcement(tie.space, ties.origin(home))])
        lines = _sample(Clone(home, own.key, url, OWN)) if is_first else []
        if not all(key.shown(line, OWN) for line in lines):
            path = os.path.join(home, keys.NAME)
            text = "Another machine of yours made a key at the same moment."
            remedy = f"Move {path} away and run this again with its words."
            raise BadInput("--words", text, remedy=remedy)
        for tie in made:
            exchange.tied_database(memory, tie)
            ties.save(home, tie)
    return Joined(tuple(made), key, is_first)


def name_of(root: str) -> str:
    """Return a project's name on all machines: HOST/PATH of its git remote, else its folder."""
    known = identity.identify(os.path.realpath(root))
    remotes = (claim.removeprefix("remote:") for claim in known.claims)
    return next((name for name in remotes if ":" not in name), known.name)


def _sample(clone: Clone) -> list[str]:
    blobs = clone.files(clone.fetch()).values()
    firsts = (content.partition(b"\n")[0] for content in clone.contents(blobs))
    return [line.decode("ascii", "replace") for line in firsts]


def _expect_free(before: Tie | None, tie: Tie) -> None:
    if before is None or not before.member:
        return
    if (before.via, before.dsn, before.space) != (tie.via, tie.dsn, tie.space):
        leave = "sync git leave" if before.via == GIT else "team leave --me"
        subject = "Your own memories are" if tie.key == USER else "This project is"
        name = f" as {before.space}" if before.via == GIT and tie.key != USER else ""
        place = before.dsn if before.via == GIT else before.space
        remedy = f"Run memory-fabric {leave} first; what was said here stays."
        raise BadInput("sync", f"{subject} exchanged through {place} already{name}.", remedy=remedy)
