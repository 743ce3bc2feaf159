"""Errors carry what a message needs."""

from __future__ import annotations

import pytest

from memory_fabric import errors


def test_an_error_as_text_is_its_message_followed_by_its_remedy() -> None:
    error = errors.StoreUnavailable("/a/graph.db", "The disk is full.", remedy="Free some space.")
    assert str(error) == "The disk is full. Free some space."
    assert (error.path, error.message, error.remedy) == (
        "/a/graph.db",
        "The disk is full.",
        "Free some space.",
    )


def test_an_error_without_a_remedy_is_shown_as_its_message() -> None:
    assert str(errors.NotFound("x", "Entity with name x not found")).endswith("x not found")
    assert errors.NotFound("x", "no").name == "x"
    assert errors.BadInput("prompt", "empty").field == "prompt"


@pytest.mark.parametrize("kind", [errors.StoreCorrupt, errors.StoreNewer, errors.StoreReadOnly])
def test_every_database_error_can_be_caught_as_store_unavailable(
    kind: type[errors.StoreUnavailable],
) -> None:
    assert issubclass(kind, errors.StoreUnavailable)
    assert issubclass(kind, errors.FabricError)
