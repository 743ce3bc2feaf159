"""The key of a user's machines: what it proves, what it hides, and how it is carried."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from memory_fabric.errors import BadInput
from memory_fabric.sharing.replica.wire import OBSERVATION, RECORD, SEALED, TeamOperation
from memory_fabric.sharing.team import keys
from memory_fabric.sharing.team.keys import Key

SPACE = "shop"
OTHER_SPACE = "other"
VALUE = {"what": "Use Redis for the queue", "confidence": 0.9, "own": {"pinned": True}}
OPERATION = TeamOperation(
    op_id="01980000-0000-7000-8000-000000000001",
    origin="machine1",
    kind=RECORD,
    key="r:01980000-0000-7000-8000-000000000002",
    value=VALUE,
    base=("01980000-0000-7000-8000-000000000003",),
    clock="0198000000000000abcdefgh",
    made_at="2026-11-20T10:00:00.000Z",
)
CHANGES: list[dict[str, Any]] = [
    {"op_id": "01980000-0000-7000-8000-00000000000f"},
    {"origin": "machine2"},
    {"kind": OBSERVATION},
    {"key": "r:01980000-0000-7000-8000-00000000000f"},
    {"base": ()},
    {"clock": "0198000000000001abcdefgh"},
    {"form": 2},
    {"value": None},
    {"value": {**VALUE, "what": "Use Redis for the queues"}},
    {"value": {**VALUE, "own": {"pinned": False}}},
]


@pytest.fixture
def key() -> Key:
    return Key(bytes(range(32)))


@pytest.fixture
def other() -> Key:
    return Key(bytes(range(1, 33)))


def through_jsonb(operation: TeamOperation) -> TeamOperation:
    """The operation with its value's fields in another order, as jsonb gives them back."""
    return operation._replace(value=json.loads(json.dumps(operation.value, sort_keys=True)))


def test_a_proof_of_origin_is_verified_only_by_the_same_key(key: Key, other: Key) -> None:
    proved = key.prove(OPERATION, SPACE)

    assert key.verified(proved, SPACE) == proved
    assert Key(bytes(range(32))).verified(through_jsonb(proved), SPACE) is not None
    assert other.verified(proved, SPACE) is None
    assert key.verified(OPERATION, SPACE) is None
    assert key.verified(proved, OTHER_SPACE) is None


@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_changing_any_field_except_author_or_time_invalidates_the_proof_of_origin(
    key: Key, change: dict[str, Any]
) -> None:
    proved = key.prove(OPERATION, SPACE)

    assert key.verified(proved._replace(**change), SPACE) is None
    stamped = proved._replace(author="ann", made_at="2026-11-20 10:00:00+00")
    assert key.verified(stamped, SPACE) == stamped


def test_a_proof_of_origin_stays_valid_if_the_server_reformats_the_json(
    key: Key,
) -> None:
    proved = key.prove(OPERATION._replace(value={"confidence": 1.0, "n": [1e22]}), SPACE)

    read = proved._replace(value={"n": [10**22], "confidence": 1})
    assert key.verified(read, SPACE) == read


def test_the_withdrawal_of_a_record_can_be_encrypted_and_gets_a_valid_proof_of_origin(
    key: Key,
) -> None:
    gone = OPERATION._replace(value=None)

    assert key.verified(key.prove(gone, SPACE), SPACE) is not None
    assert key.verified(key.seal(gone, SPACE), SPACE) == gone


def test_an_encrypted_operation_reveals_nothing_and_can_be_decrypted(key: Key, other: Key) -> None:
    sealed = key.seal(OPERATION, SPACE)

    assert sealed.kind == SEALED and sealed.value is None
    assert "Redis" not in repr(sealed) and OPERATION.key not in repr(sealed)
    assert "Redis" not in base64.b64decode(sealed.sealed).decode("latin-1")
    assert key.verified(sealed, SPACE) == OPERATION
    assert other.verified(sealed, SPACE) is None
    assert key.verified(sealed, OTHER_SPACE) is None


def test_a_record_encrypted_twice_has_the_same_identifier_but_different_ciphertexts(
    key: Key,
) -> None:
    first, second = (key.seal(OPERATION, SPACE) for _ in range(2))

    assert first.key == second.key and first.sealed != second.sealed


@pytest.mark.parametrize(
    "change",
    [
        change
        for change in CHANGES
        if "value" not in change and change != {"kind": OBSERVATION}  # both are inside
    ],
    ids=str,
)
def test_an_encrypted_operation_is_rejected_if_any_of_its_fields_was_changed(
    key: Key, change: dict[str, Any]
) -> None:
    sealed = key.seal(OPERATION, SPACE)

    assert key.verified(sealed._replace(**change), SPACE) is None


def test_an_encrypted_operation_with_any_flipped_bit_is_rejected(key: Key) -> None:
    sealed = key.seal(OPERATION._replace(value={"what": "x"}), SPACE)
    raw = base64.b64decode(sealed.sealed)

    for place in range(len(raw)):
        flipped = raw[:place] + bytes([raw[place] ^ 1]) + raw[place + 1 :]
        broken = sealed._replace(sealed=base64.b64encode(flipped).decode())
        assert key.verified(broken, SPACE) is None


@pytest.mark.parametrize("text", ["", "%%%", "AAAA", "é", base64.b64encode(b"x" * 11).decode()])
def test_a_malformed_proof_of_origin_or_ciphertext_fails_verification(key: Key, text: str) -> None:
    assert key.verified(OPERATION._replace(kind=SEALED, sealed=text), SPACE) is None
    assert key.verified(OPERATION._replace(proof=text), SPACE) is None


def test_a_new_key_is_readable_only_by_its_owner_and_created_once(tmp_path: Path) -> None:
    home = str(tmp_path)
    assert keys.read(home) is None

    first, second = keys.create(home), keys.create(home)

    assert first.words == second.words and len(first.words.split()) == 24
    assert (tmp_path / "team-key").stat().st_mode & 0o777 == 0o600
    assert first.words not in (tmp_path / "team-key").read_text()


def test_the_words_of_a_key_recreate_the_same_key_on_another_machine(tmp_path: Path) -> None:
    there, here = str(tmp_path / "a"), str(tmp_path / "b")
    key = keys.create(there)

    taken = keys.take(here, f"  {key.words.upper()}\n")

    assert taken.mark == key.mark
    assert taken.verified(key.seal(OPERATION, SPACE), SPACE) == OPERATION
    assert keys.take(here, key.words).mark == key.mark  # twice is once


def test_wrong_key_words_are_reported_and_change_nothing(tmp_path: Path) -> None:
    words = Key(bytes(range(32))).words.split()
    cases = {
        " ".join([*words[:4], "abscond", *words[5:]]): "'abscond' (number 5)",
        " ".join(words[:-1]): "24 words, these are 23",
        " ".join([words[1], words[0], *words[2:]]): "checksum",
        "": "24 words, these are 0",
    }
    for stated, said in cases.items():
        with pytest.raises(BadInput, match=said.replace("(", r"\(").replace(")", r"\)")) as error:
            keys.take(str(tmp_path), stated)
        assert "team join" in str(error.value)
    assert keys.read(str(tmp_path)) is None


def test_entering_the_words_of_another_key_is_refused_if_a_key_exists(tmp_path: Path) -> None:
    own = keys.create(str(tmp_path))

    with pytest.raises(BadInput, match="another key") as error:
        keys.take(str(tmp_path), Key(bytes(range(32))).words)

    assert own.mark in str(error.value)
    kept = keys.read(str(tmp_path))
    assert kept is not None and kept.mark == own.mark


@pytest.mark.parametrize("content", ["", "zz" * 32, "00" * 31])
def test_reading_a_damaged_key_file_raises_an_error(tmp_path: Path, content: str) -> None:
    (tmp_path / "team-key").write_text(content)

    with pytest.raises(BadInput, match="holds no key"):
        keys.read(str(tmp_path))


def test_a_number_with_a_fraction_is_part_of_the_proof_of_origin(key: Key) -> None:
    proved = key.prove(OPERATION._replace(value={"n": [1.5], "deep": {"m": 2.0}}), SPACE)

    assert key.verified(proved._replace(value={"n": [1.5], "deep": {"m": 2}}), SPACE) is not None
    assert key.verified(proved._replace(value={"n": [1], "deep": {"m": 2}}), SPACE) is None
    assert key.verified(proved._replace(value={"n": [1.5], "deep": {"m": 3}}), SPACE) is None


def test_the_announcement_of_a_machine_shows_which_key_it_has(key: Key, other: Key) -> None:
    first, again = (key.announcement(SPACE, "desk") for _ in range(2))

    assert (first.key, first.origin, first.kind) == ("machine:desk", "desk", SEALED)
    assert first.op_id == again.op_id != key.announcement(SPACE, "laptop").op_id
    assert other.announcement(SPACE, "desk").op_id != first.op_id
    assert key.mark not in repr(first)
    assert key.fits(first, SPACE) and not other.fits(first, SPACE)
    assert not key.fits(first, OTHER_SPACE)
    sealed = key.seal(OPERATION, SPACE)
    assert key.fits(sealed, SPACE) and not other.fits(sealed, SPACE)


def test_a_hidden_line_is_shown_only_with_its_key_and_for_its_space(key: Key, other: Key) -> None:
    hidden = key.hide("Grüße", SPACE)

    assert key.shown(hidden, SPACE) == "Grüße"
    assert hidden != key.hide("Grüße", SPACE)
    assert other.shown(hidden, SPACE) is key.shown(hidden, OTHER_SPACE) is None
    for bad in ("", "é", hidden[:-4], hidden + "!", key.seal(OPERATION, SPACE).sealed):
        assert key.shown(bad, SPACE) is None


def test_the_first_machine_makes_a_key_and_others_ask_for_its_words(
    tmp_path: Path, key: Key, other: Key
) -> None:
    asked: list[str] = []

    def words(answer: Key) -> str:
        asked.append(answer.mark)
        return answer.words

    def fits(one: Key) -> bool:
        return one.mark == key.mark

    homes = [str(tmp_path / name) for name in ("first", "second", "third")]
    first = keys.agreed(homes[0], lambda: words(other), None, "sync git")
    assert asked == [] and keys.agreed(homes[0], lambda: words(other), None, "x").mark == first.mark
    with pytest.raises(BadInput, match=first.mark):
        keys.agreed(homes[0], lambda: words(key), fits, "sync git")
    assert keys.agreed(homes[1], lambda: words(key), fits, "sync git").mark == key.mark
    assert keys.agreed(homes[1], lambda: words(other), fits, "sync git").mark == key.mark
    with pytest.raises(BadInput, match="is not the one") as refused:
        keys.agreed(homes[2], lambda: words(other), fits, "sync git")

    assert asked == [key.mark, other.mark]
    assert "memory-fabric sync git printed" in refused.value.remedy
    assert [keys.read(home) is None for home in homes] == [False, False, True]
    assert len(key.mark) == 8 and key.mark != other.mark
