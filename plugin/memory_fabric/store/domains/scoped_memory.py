"""A memory of which only some domains can be read, and in which all that is written lies in them;
or one of which some domains cannot be read.

What stands before the tables of its connections is the business of store.confining, what happens to
its changes that of store.walls. It is loaded where somebody is confined.
"""

from __future__ import annotations

from memory_fabric.store.domains import views
from memory_fabric.store.memory import Memory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from memory_fabric.models import Operation, Provenance, Record
    from memory_fabric.store.database import Database


# Confined views of one memory that are kept open; each has connections of its own.
MAX_CONFINED = 8


def within(memory: Memory, domains: Sequence[str]) -> Memory:
    """Return the same memory, of which only these domains can be read, and in which what is written
    lies in one of them.

    What already is confined shows of these no more than it did.
    """
    if isinstance(memory, Confined):
        return _part(memory.whole, memory.visible(domains), hidden=False)
    return _part(memory, domains, hidden=False)


def without(memory: Memory, domains: Sequence[str]) -> Memory:
    """Return the same memory without these domains; what is written lies anywhere."""
    if not isinstance(memory, Confined):
        return _part(memory, domains, hidden=True)
    if memory.domains is None:
        return _part(memory.whole, (*memory.hidden, *domains), hidden=True)
    return within(memory, [one for one in memory.domains if one not in domains])


def _part(whole: Memory, domains: Sequence[str], *, hidden: bool) -> Memory:
    named = tuple(sorted(set(domains)))
    key = (hidden, named)
    found = whole.parts.pop(key, None) or Confined(whole, named, hidden=hidden)
    # Switches and settings may have changed since it was made.
    found.settings = whole.settings
    whole.parts[key] = found
    while len(whole.parts) > MAX_CONFINED:
        whole.parts.pop(next(iter(whole.parts))).close()
    return found


class Confined(Memory):
    """A memory of which only some domains can be read (store.confining); see `within`.

    What is changed goes through the whole memory: no view stands before what is written. It is
    stamped with a domain that can be read here, and takes away nothing that lies in another. Of one
    whose domains are `hidden` (`without`) what is written is not touched.
    """

    def __init__(self, whole: Memory, domains: tuple[str, ...], *, hidden: bool = False) -> None:
        super().__init__(whole.settings, whole.project, repair=whole._repair)
        self.domains, self._whole = None if hidden else domains, whole
        self.hidden = domains if hidden else ()
        self.failures, self.told = whole.failures, whole.told
        self.switched_by = whole.switched_by

    @property
    def whole(self) -> Memory:
        """The memory of which this one shows a part."""
        return self._whole

    def follow_switches(self) -> None:
        """As the whole memory follows them."""
        self._whole.follow_switches()
        self.settings = self._whole.settings

    def follow_settings(self) -> None:
        """As the whole memory follows them."""
        self._whole.follow_settings()
        self.settings = self._whole.settings

    def visible(self, domains: Sequence[str]) -> list[str]:
        """Return those of the domains that can be read here."""
        if self.domains is None:
            return [one for one in domains if one not in self.hidden]
        return [one for one in domains if one in self.domains]

    def database(self, kind: str, *, create: bool) -> Database | None:
        """The open database of a kind, of which only these domains can be read; it is made, where
        that is wanted, by the whole memory.
        """
        if create:
            self._whole.database(kind, create=True)
        return super().database(kind, create=False)

    def write(
        self, kind: str, payload: Mapping[str, Any], provenance: Provenance, *, store: str = ""
    ) -> dict[str, Any]:
        """The result of a change that stays in these domains, without names that cannot be read
        here; see Memory.
        """
        payload, provenance = self._inside(kind, payload, provenance)
        return self._seen(self._whole.write(kind, payload, provenance, store=store))

    def write_now(
        self, kind: str, payload: Mapping[str, Any], provenance: Provenance, *, store: str
    ) -> dict[str, Any]:
        """The same for a change that must not wait."""
        payload, provenance = self._inside(kind, payload, provenance)
        return self._seen(self._whole.write_now(kind, payload, provenance, store=store))

    def remember(
        self, record: Record, by: Provenance, supersedes: Sequence[str] = (), *, echo: bool = False
    ) -> Record | None:
        """The record as stored in one of these domains; see Memory."""
        if not self.hidden:
            _, by = self._inside("remember", {}, by)
            record = record._replace(domain=by.domain)
        return self._whole.remember(record, by, supersedes, echo=echo)

    def apply_now(self, operation: Operation, *, is_new: bool = False) -> dict[str, Any]:
        """Apply an operation to its database; see Memory."""
        return self._whole.apply_now(operation, is_new=is_new)

    def refresh(self) -> None:
        """Take over what others wrote into the mirrored file, into the whole memory."""
        self._whole.refresh()

    def flush(self) -> None:
        """Bring the other tiers up to date, with everything."""
        self._whole.flush()

    def _inside(
        self, kind: str, payload: Mapping[str, Any], by: Provenance
    ) -> tuple[Mapping[str, Any], Provenance]:
        if self.hidden:
            return payload, by
        from memory_fabric.store.domains import write_guard  # whoever only reads never loads it

        return write_guard.inside(self, kind, payload, by)

    def _seen(self, result: dict[str, Any]) -> dict[str, Any]:
        return views.seen_of(result, self.databases())

    def _opened(self, path: str, kind: str, create: bool) -> Database | None:
        opened = super()._opened(path, kind, create)
        if opened is not None:
            hidden = bool(self.hidden)
            views.confine(opened, self.hidden or self.domains or (), hidden=hidden)
        return opened
