"""A memory of which only some domains can be read, and in which all that is written lies in them;
or one of which some domains cannot be read.

What stands before the tables of its connections is the business of store.confining, what happens to
its changes that of store.walls. It is loaded where somebody is confined.
"""

from __future__ import annotations

from memory_fabric.store import confining
from memory_fabric.store.memory import Memory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from memory_fabric.models import Operation, Provenance, Record
    from memory_fabric.store.database import Database


class Confined(Memory):
    """A memory of which only some domains can be read (store.confining); see `Memory.within`.

    What is changed goes through the whole memory: no view stands before what is written. It is
    stamped with a domain that can be read here, and takes away nothing that lies in another. Of one
    whose domains are `hidden` (`Memory.without`) what is written is not touched.
    """

    def __init__(self, whole: Memory, domains: tuple[str, ...], *, hidden: bool = False) -> None:
        super().__init__(whole.settings, whole.project, repair=whole._repair)
        self.domains, self._whole = None if hidden else domains, whole
        self._hidden = domains if hidden else ()
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

    def within(self, domains: Sequence[str]) -> Memory:
        """Those of the domains that can be read here."""
        if self._hidden:
            return self._whole.within([one for one in domains if one not in self._hidden])
        return self._whole.within([one for one in domains if one in (self.domains or ())])

    def without(self, domains: Sequence[str]) -> Memory:
        """What can be read here but these domains."""
        if self._hidden:
            return self._whole.without([*self._hidden, *domains])
        return self.within([one for one in self.domains or () if one not in domains])

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
        if not self._hidden:
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
        if self._hidden:
            return payload, by
        from memory_fabric.store import walls  # whoever only reads never loads it

        return walls.inside(self, kind, payload, by)

    def _seen(self, result: dict[str, Any]) -> dict[str, Any]:
        return confining.seen_of(result, self.databases())

    def _opened(self, path: str, kind: str, create: bool) -> Database | None:
        opened = super()._opened(path, kind, create)
        if opened is not None:
            hidden = bool(self._hidden)
            confining.confine(opened, self._hidden or self.domains or (), hidden=hidden)
        return opened
