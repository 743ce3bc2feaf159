"""Results of readers: statements of another program's memory, and what was left out and why."""

from __future__ import annotations

import os
from typing import NamedTuple

from memory_fabric.capture.confidence import NOTE
from memory_fabric.models import Entity, Relation
from memory_fabric.redaction.prefilter import without_secrets
from memory_fabric.store.projects.identity import worktree_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory_fabric.store.memory import Memory

# Reasons for which a statement is left out; the command counts them.
EMPTY = "empty"
NOISE = "machine noise: tags, paths or commands only"
SECRET = "nothing but a secret"
ELSEWHERE = "another project's"
UNSTATED = "no project stated (--all takes them into this one)"
TWICE = "said twice in the source"
KNOWN = "in memory already"
FORGOTTEN = "forgotten earlier"
UNREADABLE = "cannot be read"
MAX_EXAMPLES, MAX_EXAMPLE_CHARS = 3, 100
MAX_WHAT_CHARS = 2000


class Item(NamedTuple):
    """One statement. `key` is its identity in the source, so that it is imported once.

    `at` is its time (ISO 8601; '' if the source has none). `project` is what the source names, a
    name or a folder; '' if it names none. `also` are other words to find it by. `line` is its line
    in the file `place`, from 1; 0 if the source has no lines.
    """

    what: str
    key: str
    type: str = "note"
    why: str = ""
    at: str = ""
    project: str = ""
    category: str = ""
    scope: str = "team"
    also: str = ""
    place: str = ""
    line: int = 0
    confidence: float = NOTE
    entities: tuple[Entity, ...] = ()


class LeftOut(NamedTuple):
    """Statements that are left out for one reason: their number, and the first few."""

    reason: str
    number: int = 0
    examples: tuple[str, ...] = ()


class Reading(NamedTuple):
    """The content of a source: statements in the order of the source, and relations of its own.

    `files` are the files that it was read from; `notes` are sentences for the person.
    """

    items: tuple[Item, ...] = ()
    relations: tuple[Relation, ...] = ()
    left: tuple[LeftOut, ...] = ()
    files: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class Left:
    """A counter of what is left out, by reason, with a few examples of each."""

    def __init__(self) -> None:
        self._found: dict[str, LeftOut] = {}

    def add(self, reason: str, example: str = "", number: int = 1) -> None:
        """Count one or several statements that are left out."""
        known = self._found.get(reason) or LeftOut(reason)
        examples = known.examples
        if example and len(examples) < MAX_EXAMPLES:
            # Before it is cut: half a secret has no sign by which it is known.
            shown = " ".join(without_secrets(example).split())[:MAX_EXAMPLE_CHARS]
            examples = tuple(dict.fromkeys((*examples, *filter(None, [shown]))))
        self._found[reason] = LeftOut(reason, known.number + number, examples)

    def extend(self, others: tuple[LeftOut, ...]) -> None:
        """Count what another step left out."""
        for one in others:
            known = self._found.get(one.reason) or LeftOut(one.reason)
            examples = (*known.examples, *one.examples)[:MAX_EXAMPLES]
            self._found[one.reason] = LeftOut(one.reason, known.number + one.number, examples)

    @property
    def all(self) -> tuple[LeftOut, ...]:
        """All that was left out, in the order in which the reasons were met."""
        return tuple(self._found.values())


class Here(NamedTuple):
    """The project into which is imported, and where the user's programs have their files.

    `roots` are the real paths of its folders; `whole` takes statements of every project.
    """

    name: str = ""
    roots: tuple[str, ...] = ()
    user_home: str = ""
    config_dir: str = ""
    codex_home: str = ""
    whole: bool = False

    def is_stated(self, project: str) -> bool:
        """Return True if a source's name or folder of a project means this one."""
        if not project:
            return False
        if os.path.isabs(project):
            real = os.path.realpath(project)
            # A folder with a repository of its own, or of a project without one, is another's.
            is_known = real in self.roots or os.path.isdir(real)
            return is_known and worktree_of(real) in {worktree_of(root) for root in self.roots}
        names = {self.name.casefold(), *(os.path.basename(root).casefold() for root in self.roots)}
        # A worktree is named `project/worktree`.
        return bool({project.casefold(), project.casefold().split("/")[0]} & (names - {""}))


def here_of(memory: Memory, codex_home: str = "") -> Here:
    """Return what readers must know of this folder's project and its user."""
    settings, project = memory.settings, memory.project
    roots = (project.root, settings.project_dir) if project else (settings.project_dir,)
    return Here(
        project.name if project else "",
        tuple(dict.fromkeys(os.path.realpath(root) for root in roots if root)),
        settings.user_home,
        settings.config_dir,
        codex_home,
    )
