"""Memory limited to some domains, or one from which some domains are hidden.

store.domains.views limits what its connections read, store.domains.write_guard what it changes.
Loaded only where a session or a caller is limited to domains.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from memory_fabric.models import Operation, Provenance, Record
from memory_fabric.store.database import Database
from memory_fabric.store.domains import views
from memory_fabric.store.memory import Memory

# Scoped views of one memory that are kept open; each has its own connections.
MAX_SCOPED = 8


def within(memory: Memory, domains: Sequence[str]) -> Memory:
    """Return a view of the memory that reads and writes only these domains.

    Of a memory that is scoped already, only domains that it shows can be among them.
    """
    own = memory.limited_to(domains)
    if own is not None:
        return own
    if isinstance(memory, ScopedMemory):
        return _scoped(memory.whole, memory.visible(domains), hidden=False)
    return _scoped(memory, domains, hidden=False)


def without(memory: Memory, domains: Sequence[str]) -> Memory:
    """Return a view of the memory that hides these domains and can write to any."""
    if not isinstance(memory, ScopedMemory):
        return _scoped(memory, domains, hidden=True)
    if memory.domains is None:
        return _scoped(memory.whole, (*memory.hidden, *domains), hidden=True)
    return within(memory, [one for one in memory.domains if one not in domains])


def _scoped(whole: Memory, domains: Sequence[str], *, hidden: bool) -> Memory:
    named = tuple(sorted(set(domains)))
    key = (hidden, named)
    found = whole.scoped.pop(key, None) or ScopedMemory(whole, named, hidden=hidden)
    # Switches and settings may have changed since it was made.
    found.settings = whole.settings
    whole.scoped[key] = found
    while len(whole.scoped) > MAX_SCOPED:
        whole.scoped.pop(next(iter(whole.scoped))).close()
    return found


class ScopedMemory(Memory):
    """A memory that shows only some domains (store.domains.views); see `within`.

    Changes are applied by the whole memory, which has no views. They get a domain that is visible
    here and remove nothing that belongs to another. If domains are `hidden` instead (`without`),
    changes are passed on as they are.
    """

    def __init__(self, whole: Memory, domains: tuple[str, ...], *, hidden: bool = False) -> None:
        super().__init__(whole.settings, whole.project, repair=whole._repair)
        self.domains, self._whole = None if hidden else domains, whole
        self.hidden = domains if hidden else ()
        self.failures, self.messages = whole.failures, whole.messages
        self.switched_by = whole.switched_by

    @property
    def whole(self) -> Memory:
        """The unrestricted memory behind this one."""
        return self._whole

    def follow_switches(self) -> None:
        """Read the switches again, through the whole memory."""
        self._whole.follow_switches()
        self.settings = self._whole.settings

    def follow_settings(self) -> None:
        """Read the settings again, through the whole memory."""
        self._whole.follow_settings()
        self.settings = self._whole.settings

    def visible(self, domains: Sequence[str]) -> list[str]:
        """Return those of the domains that can be read here."""
        if self.domains is None:
            return [one for one in domains if one not in self.hidden]
        return [one for one in domains if one in self.domains]

    def database(self, kind: str, *, create: bool) -> Database | None:
        """Return the open database of a kind, limited to these domains.

        With `create`, the whole memory makes the file if it is missing.
        """
        if create:
            self._whole.database(kind, create=True)
        return super().database(kind, create=False)

    def write(
        self, kind: str, payload: Mapping[str, Any], provenance: Provenance, *, store: str = ""
    ) -> dict[str, Any]:
        """Apply a change within these domains; its result omits names that are not visible here."""
        payload, provenance = self._limited(kind, payload, provenance)
        return self._visible_part(self._whole.write(kind, payload, provenance, store=store))

    def write_now(
        self, kind: str, payload: Mapping[str, Any], provenance: Provenance, *, store: str
    ) -> dict[str, Any]:
        """Apply a change that cannot wait, as `write` does."""
        payload, provenance = self._limited(kind, payload, provenance)
        return self._visible_part(self._whole.write_now(kind, payload, provenance, store=store))

    def remember(
        self,
        record: Record,
        by: Provenance,
        supersedes: Sequence[str] = (),
        *,
        echo: bool = False,
        at: str = "",
    ) -> Record | None:
        """Store the record in one of these domains and return it; see Memory."""
        if not self.hidden:
            _, by = self._limited("remember", {}, by)
            record = record._replace(domain=by.domain)
        return self._whole.remember(record, by, supersedes, echo=echo, at=at)

    def apply_now(self, operation: Operation, *, is_new: bool = False) -> dict[str, Any]:
        """Apply an operation to its database; see Memory."""
        return self._whole.apply_now(operation, is_new=is_new)

    def refresh(self) -> None:
        """Import changes of the graph file into the whole memory."""
        self._whole.refresh()

    def flush(self) -> None:
        """Update the other tiers from the whole memory."""
        self._whole.flush()

    def _limited(
        self, kind: str, payload: Mapping[str, Any], by: Provenance
    ) -> tuple[Mapping[str, Any], Provenance]:
        if self.hidden:
            return payload, by
        from memory_fabric.store.domains import write_guard  # only writers load it

        return write_guard.limited(self, kind, payload, by)

    def _visible_part(self, result: dict[str, Any]) -> dict[str, Any]:
        return views.visible_part(result, self.databases())

    def _opened(self, path: str, kind: str, create: bool) -> Database | None:
        opened = super()._opened(path, kind, create)
        if opened is not None:
            hidden = bool(self.hidden)
            views.create_views(opened, self.hidden or self.domains or (), hidden=hidden)
        return opened
