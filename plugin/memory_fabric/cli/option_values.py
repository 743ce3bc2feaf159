"""The values of arguments and options, for validation and shell completion."""

from __future__ import annotations

from memory_fabric.models import (
    ENTITY_TYPES,
    LASTING_SCOPES,
    RECORD_TYPES,
    SCOPES,
    STATED_TYPES,
    TYPE_ALIASES,
)

QUEUE_ACTIONS = ("list", "show", "retry", "drop", "work")
RULE_ACTIONS = ("list", "test", "tell", "ask", "deny", "lift")
PROJECT_ACTIONS = ("list", "link", "split", "undo", "adopt")
SHELLS = ("bash", "zsh", "fish")


def record_types(incomplete: str) -> list[str]:
    """Complete a type of record."""
    return _starting_with([*STATED_TYPES, *TYPE_ALIASES], incomplete)


def types(incomplete: str) -> list[str]:
    """Complete a type of record or entity."""
    return _starting_with(sorted(RECORD_TYPES | ENTITY_TYPES | TYPE_ALIASES.keys()), incomplete)


def scopes(incomplete: str) -> list[str]:
    """Complete a scope."""
    return _starting_with(SCOPES, incomplete)


def lasting_scopes(incomplete: str) -> list[str]:
    """Complete a scope that outlives the session."""
    return _starting_with(LASTING_SCOPES, incomplete)


def project_actions(incomplete: str) -> list[str]:
    """Complete an action of `project`."""
    return _starting_with(PROJECT_ACTIONS, incomplete)


def queue_actions(incomplete: str) -> list[str]:
    """Complete an action of `queue`."""
    return _starting_with(QUEUE_ACTIONS, incomplete)


def rule_actions(incomplete: str) -> list[str]:
    """Complete an action of `rules`."""
    return _starting_with(RULE_ACTIONS, incomplete)


def shells(incomplete: str) -> list[str]:
    """Complete the name of a shell."""
    return _starting_with(SHELLS, incomplete)


def _starting_with(words: list[str] | tuple[str, ...], incomplete: str) -> list[str]:
    return [word for word in words if word.startswith(incomplete)]
