"""The kept keys of the server: made once, kept as hashes, dropped."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from memory_fabric.errors import BadInput, NotFound, StoreUnavailable
from memory_fabric.servers.http import keys as kept_keys


def test_an_access_key_is_stored_only_as_a_hash_in_a_file_private_to_the_owner(
    tmp_path: Path,
) -> None:
    key = kept_keys.make(str(tmp_path), "laptop")

    path = Path(kept_keys.path_in(str(tmp_path)))
    (kept,) = kept_keys.kept(str(tmp_path))
    assert (kept.name, kept.digest) == ("laptop", kept_keys.digest_of(key))
    assert key not in path.read_text("utf-8")
    assert path.stat().st_mode & 0o777 == 0o600
    assert len(key) > 40


def test_an_access_key_without_a_name_gets_the_lowest_free_number(tmp_path: Path) -> None:
    for _ in range(3):
        kept_keys.make(str(tmp_path), "")
    kept_keys.drop(str(tmp_path), "key-2")
    kept_keys.make(str(tmp_path), "")

    names = [one.name for one in kept_keys.kept(str(tmp_path))]

    assert names == ["key-1", "key-3", "key-2"]


def test_a_second_key_with_the_same_name_is_refused(tmp_path: Path) -> None:
    kept_keys.make(str(tmp_path), "laptop")

    with pytest.raises(BadInput, match="The key 'laptop' exists already"):
        kept_keys.make(str(tmp_path), "laptop")


@pytest.mark.parametrize("name", ["a" * 65, " a", "a\n", "\x1b[31m"])
def test_an_unprintable_name_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(BadInput):
        kept_keys.make(str(tmp_path), name)


def test_dropping_a_missing_key_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no key 'laptop'"):
        kept_keys.drop(str(tmp_path), "laptop")


def test_keys_created_concurrently_are_all_kept(tmp_path: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda n: kept_keys.make(str(tmp_path), f"key {n}"), range(12)))

    assert len(kept_keys.kept(str(tmp_path))) == 12


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"keys": 5}', '{"keys": {}}', '{"keys": [{"name": "a"}]}']
)
def test_a_damaged_file_of_access_keys_raises_an_error(tmp_path: Path, text: str) -> None:
    Path(kept_keys.path_in(str(tmp_path))).write_text(text, "utf-8")

    with pytest.raises(StoreUnavailable, match="is damaged"):
        kept_keys.kept(str(tmp_path))


@pytest.mark.parametrize("digest", [5, "", "ä" * 64, "a" * 63, "a" * 65, "g" * 64, "A" * 64])
def test_a_key_file_with_an_invalid_hash_is_refused_as_damaged(
    tmp_path: Path, digest: object
) -> None:
    key = {"name": "a", "sha256": digest, "created_at": "now"}
    Path(kept_keys.path_in(str(tmp_path))).write_text(json.dumps({"keys": [key]}), "utf-8")

    with pytest.raises(StoreUnavailable):
        kept_keys.kept(str(tmp_path))
