"""The values that arguments and options take, for commands to check and a shell to complete."""

from __future__ import annotations

from memory_fabric.models import ENTITY_TYPES, RECORD_TYPES, SCOPES

# `session` records are summaries that hooks write; nobody states one by hand.
STATED_TYPES = sorted(RECORD_TYPES - {"session"})
QUEUE_ACTIONS = ("list", "show", "retry", "drop", "work")
PROJECT_ACTIONS = ("list", "link", "split", "undo", "adopt")
SHELLS = ("bash", "zsh", "fish")


def record_types(incomplete: str) -> list[str]:
    """Types of records that begin so."""
    return _beginning(STATED_TYPES, incomplete)


def types(incomplete: str) -> list[str]:
    """Types of records and entities that begin so."""
    return _beginning(sorted(RECORD_TYPES | ENTITY_TYPES), incomplete)


def scopes(incomplete: str) -> list[str]:
    """Scopes that begin so."""
    return _beginning(SCOPES, incomplete)


def project_actions(incomplete: str) -> list[str]:
    """What `project` can do, that begins so."""
    return _beginning(PROJECT_ACTIONS, incomplete)


def queue_actions(incomplete: str) -> list[str]:
    """What `queue` can do, that begins so."""
    return _beginning(QUEUE_ACTIONS, incomplete)


def shells(incomplete: str) -> list[str]:
    """Shells that a completion is made for, that begin so."""
    return _beginning(SHELLS, incomplete)


def _beginning(words: list[str] | tuple[str, ...], incomplete: str) -> list[str]:
    return [word for word in words if word.startswith(incomplete)]
