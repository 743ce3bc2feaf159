"""Named tuples with the syntax of typing.NamedTuple, without its start-up time."""

from __future__ import annotations

import pickle

import pytest

from memory_fabric.models import Entity, Filters, Record
from memory_fabric.values import Value


class Point(Value):
    """A point."""

    x: int
    y: int = 2
    tags: tuple[str, ...] = ()

    def moved(self, by: int) -> Point:
        return self._replace(x=self.x + by)


def test_fields_defaults_and_methods_work_as_in_a_named_tuple() -> None:
    assert Point(1) == (1, 2, ())
    assert Point(1, tags=("a",)).tags == ("a",)
    assert Point(1).moved(2) == Point(3)
    assert Point._fields == ("x", "y", "tags")
    assert Point.__doc__ == "A point."


def test_values_are_frozen() -> None:
    point = Point(1)
    with pytest.raises(AttributeError):
        point.x = 2  # type: ignore[misc]
    with pytest.raises(AttributeError):
        point.z = 2  # type: ignore[attr-defined]


def test_a_field_without_a_default_must_be_given() -> None:
    with pytest.raises(TypeError):
        Point()  # type: ignore[call-arg]


def test_values_survive_pickling_and_say_their_module() -> None:
    assert pickle.loads(pickle.dumps(Entity("a", "b"))) == Entity("a", "b")
    assert Point.__module__ == __name__
    assert repr(Entity("a", "b")) == "Entity(name='a', type='b', observations=())"


def test_defaults_of_the_words_are_never_shared_state() -> None:
    assert Record("note", "x").evidence == {}
    assert Filters() == Filters(domains=())
