"""The values that options of several commands take, for a shell to complete."""

from __future__ import annotations

from memory_fabric.models import ENTITY_TYPES, RECORD_TYPES, SCOPES


def record_types(incomplete: str) -> list[str]:
    """Types of records that begin so."""
    return _beginning(sorted(RECORD_TYPES - {"session"}), incomplete)


def types(incomplete: str) -> list[str]:
    """Types of records and entities that begin so."""
    return _beginning(sorted(RECORD_TYPES | ENTITY_TYPES), incomplete)


def scopes(incomplete: str) -> list[str]:
    """Scopes that begin so."""
    return _beginning(SCOPES, incomplete)


def project_actions(incomplete: str) -> list[str]:
    """What `project` can do, that begins so."""
    return _beginning(("list", "link", "split", "undo"), incomplete)


def shells(incomplete: str) -> list[str]:
    """Shells that a completion is made for, that begin so."""
    return _beginning(("bash", "zsh", "fish"), incomplete)


def _beginning(words: list[str] | tuple[str, ...], incomplete: str) -> list[str]:
    return [word for word in words if word.startswith(incomplete)]
