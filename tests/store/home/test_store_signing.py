"""The key of a home, and the signatures that only this home can make."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memory_fabric.store.home import signing

KEY = bytes(range(32))


def test_the_key_of_a_home_is_created_once_and_readable_only_by_its_owner(tmp_path: Path) -> None:
    home = str(tmp_path / "home")
    before = signing.known_key(home)

    key = signing.key_of(home)

    path = tmp_path / "home" / signing.KEY
    assert before == b""
    assert len(key) == 32
    assert signing.key_of(home) == signing.known_key(home) == key == path.read_bytes()
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("damaged", [b"", KEY[:-1], KEY + b"x"])
def test_a_key_file_of_another_length_is_replaced(tmp_path: Path, damaged: bytes) -> None:
    (tmp_path / signing.KEY).write_bytes(damaged)

    assert signing.known_key(str(tmp_path)) == b""
    key = signing.key_of(str(tmp_path))

    assert len(key) == 32 and signing.known_key(str(tmp_path)) == key


def test_a_key_file_that_cannot_be_read_gives_no_known_key(tmp_path: Path) -> None:
    (tmp_path / signing.KEY).mkdir()

    assert signing.known_key(str(tmp_path)) == b""


def test_a_signature_does_not_depend_on_the_order_of_the_fields_or_on_an_earlier_signature() -> (
    None
):
    line = {"id": "x", "body": {"b": 1, "a": 2}}
    turned = {"signature": "old", "body": {"a": 2, "b": 1}, "id": "x"}

    assert signing.signature(line, KEY) == signing.signature(turned, KEY)
    assert signing.signature(line, KEY) != signing.signature(line, KEY[::-1])
    assert signing.signature(line, KEY) != signing.signature(line | {"id": "y"}, KEY)


@pytest.mark.parametrize("stated", [None, "", 3, "é", "0" * 64])
def test_only_a_line_with_the_signature_of_this_key_counts_as_ours(stated: object) -> None:
    line = {"id": "x"}

    assert signing.is_ours(line | {"signature": signing.signature(line, KEY)}, KEY)
    assert not signing.is_ours(line | {"signature": stated}, KEY)
    assert not signing.is_ours(line, KEY)


@pytest.mark.parametrize(
    "items", [[], [{"b": 1, "a": [2]}], [{"b": 1, "a": 2}, {"text": "é"}, {"z": 0, "y": 0}]]
)
def test_signing_a_list_item_by_item_gives_the_signature_of_the_whole_line(
    items: list[dict[str, Any]],
) -> None:
    by_items = signing.ListSignature("items", KEY)
    for item in items:
        by_items.add(item)

    assert by_items.close() == signing.signature({"items": items}, KEY)
