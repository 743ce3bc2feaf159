"""The entity that is meant by a name."""

from __future__ import annotations

import pytest

from memory_fabric.errors import NotFound
from memory_fabric.viewer.page import number_of
from viewer.graphs import picture_of


def test_an_entity_is_looked_up_by_exact_name_before_alias_and_other_spellings() -> None:
    picture = picture_of(["Order API", "order-api", "shop"])
    picture["entities"][2]["aliases"] = ["orders", "Order API"]

    found = [number_of(picture, name) for name in ("order-api", "Order API", "orders", "ORDERS")]

    assert found == [1, 0, 2, 2]
    assert number_of(picture, "ORDER_API") == 0


def test_an_unknown_entity_name_is_refused_with_similar_names() -> None:
    picture = picture_of(["PostgreSQL", "Redis", "postgres-exporter", "\x1b[31mpostgres"])

    with pytest.raises(NotFound) as caught:
        number_of(picture, "postgres")

    assert "'PostgreSQL'" in str(caught.value)
    assert "Redis" not in str(caught.value)
    assert "\x1b" not in str(caught.value)


def test_no_entity_name_is_suggested_if_none_is_similar() -> None:
    with pytest.raises(NotFound) as caught:
        number_of(picture_of(["Redis"]), "zzz")

    assert str(caught.value) == "There is no entity 'zzz'. memory-fabric recall finds names."


@pytest.mark.parametrize(
    ("asked", "near"),
    [
        # Of names that contain it the shortest, and at most five.
        ("box", ["box-1", "box-no-2", "box-no-33", "box-no-444", "box-no-5555"]),
        ("no", []),  # too short to be searched for in other names
        ("BOX-NO", ["box-no-2", "box-no-33", "box-no-444", "box-no-5555", "box-no-66666"]),
    ],
)
def test_the_shortest_names_that_contain_an_unknown_name_are_suggested(
    asked: str, near: list[str]
) -> None:
    names = ["box-no-66666", "box-no-5555", "box-no-444", "box-no-33", "box-no-2", "box-1"]

    with pytest.raises(NotFound) as caught:
        number_of(picture_of(names), asked)

    told = f" Near to it: {', '.join(map(repr, near))}." if near else ""
    assert caught.value.message == f"There is no entity {asked!r}.{told}"
