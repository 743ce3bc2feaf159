"""Tests of secrets in tables, in SQL and alone on a line, and of whole blocks and objects."""

from __future__ import annotations

import pytest

from made_up_secrets import HEX, PASSWORD, SEEDS, UUID, WEAK
from memory_fabric.redaction import redact, tables


@pytest.mark.parametrize(
    ("text", "is_hidden"),
    [
        (f"user | password\nbob | {PASSWORD}", True),
        (f"user | password\n--- | ---\nbob | {PASSWORD}", True),
        (f"user,password\nbob,{PASSWORD}", True),
        (f'user,password\n"a,b",{PASSWORD}', True),
        (f"user | password | age\nbob | {PASSWORD}", False),
        (f"user | kept in some password file\nbob | {PASSWORD}", False),
        (f"user | the one password in use\nbob | {PASSWORD}", False),
        (f"user | password.\nbob | {PASSWORD}", False),
        (f"user | password = x\nbob | {PASSWORD}", False),
        (f"{'u' * 39} | password\nbob | {PASSWORD}", True),
        (f"{'u' * 40} | password\nbob | {PASSWORD}", False),
        (f"ann | x9\nuser | password\nbob | {PASSWORD}", False),
        (f"user | login_password\nbob | {PASSWORD}", True),
        (f"user | password_hint\nbob | {PASSWORD}", False),
        ("user | password\nbob | none", False),
        (f"user | login\nbob | {PASSWORD}", False),
    ],
)
def test_the_cells_below_the_heading_of_a_secret_are_hidden(text: str, *, is_hidden: bool) -> None:
    assert (tables.without_columns(text) != text) is is_hidden


def test_each_row_of_a_table_is_redacted_until_the_table_ends() -> None:
    text = f"user | password\nann | {PASSWORD}\nbob | {PASSWORD}\n\nthe end\nnone | {PASSWORD}"

    found = tables.without_columns(text)

    assert found == text.replace(PASSWORD, "[redacted: secret]", 2)


@pytest.mark.parametrize(
    ("statement", "is_hidden"),
    [
        (f"INSERT INTO users (name, password) VALUES ('bob', '{PASSWORD}')", True),
        (f"INSERT INTO users (name, password) VALUES ('ann', 'x'), ('bob', '{PASSWORD}')", True),
        (f"INSERT INTO users (password, name) VALUES ('bob', '{PASSWORD}')", False),
        (f"INSERT INTO users (name, notes) VALUES ('bob', '{PASSWORD}')", False),
    ],
)
def test_a_value_that_sql_inserts_into_a_column_of_secrets_is_hidden(
    statement: str, *, is_hidden: bool
) -> None:
    assert (PASSWORD not in tables.without_inserted(statement)) is is_hidden


def test_sql_that_inserts_null_into_a_column_of_secrets_is_unchanged() -> None:
    statement = "INSERT INTO users (name, password) VALUES ('bob', NULL)"

    assert tables.without_inserted(statement) == statement


@pytest.mark.parametrize(("between", "is_hidden"), [(0, True), (3, True), (4, False)])
def test_a_password_alone_on_one_of_the_next_four_lines_is_hidden(
    between: int, *, is_hidden: bool
) -> None:
    lines = ["of the shop", "in the town", "by the sea", "for the crew"][:between]
    text = "\n".join(["Here is the password", *lines, PASSWORD])

    assert (PASSWORD not in redact.redact(text)) is is_hidden


def test_several_words_alone_on_their_lines_are_secrets_until_another_word() -> None:
    lines = [PASSWORD, f"{PASSWORD}1", "thanks", f"{PASSWORD}2"]
    text = "\n".join(lines)

    spans = list(tables.alone_behind(text, 0, "password"))

    assert [text[start:end] for start, end in spans] == lines[:2]


@pytest.mark.parametrize(("chars", "count"), [(256, 1), (257, 0)])
def test_a_word_alone_on_its_line_is_a_secret_up_to_256_characters(chars: int, count: int) -> None:
    text = (PASSWORD * 256)[:chars]

    assert len(list(tables.alone_behind(text, 0, "password"))) == count


@pytest.mark.parametrize(
    ("core", "kind", "is_secret"),
    [
        (PASSWORD, "password", True),
        ("opensesame", "password", False),
        (f"{PASSWORD}:", "password", False),
        (f"/{PASSWORD}", "password", False),
        (f"a,{PASSWORD},b", "password", False),
        (f"name={PASSWORD}", "password", False),
        (UUID, "key", True),
        (UUID, "common", True),
        (HEX, "common", True),
        (PASSWORD, "key", True),
        (PASSWORD[:9], "key", False),
        (PASSWORD, "common", False),
    ],
)
def test_a_word_alone_on_its_line_must_look_like_its_kind_of_secret(
    core: str, kind: str, *, is_secret: bool
) -> None:
    assert tables.is_alone_secret(core, kind) is is_secret


@pytest.mark.parametrize(
    ("text", "count"),
    [("the door code is 4815", 1), ("the door code is 481", 0), ("the zip code is 4815", 0)],
)
def test_the_number_of_a_lock_is_found(text: str, count: int) -> None:
    assert len(tables.numbers_of_locks(text)) == count


@pytest.mark.parametrize(
    ("name", "kind"),
    [("password", "password"), ("token", "key"), ("pin", "pin"), ("login", "pair"), ("x", "key")],
)
def test_each_name_of_a_secret_has_its_kind(name: str, kind: str) -> None:
    assert tables.kind_of(name) == kind


@pytest.mark.parametrize(("count", "is_hidden"), [(11, False), (12, True), (26, True), (27, False)])
def test_twelve_to_twenty_six_words_beside_the_name_of_a_seed_phrase_are_hidden(
    count: int, *, is_hidden: bool
) -> None:
    words = " ".join(SEEDS[:count])
    text = f"{words}\nThat is the mnemonic of the wallet, which one keeps at home."

    assert (words not in redact.redact(text)) is is_hidden


def test_only_the_texts_of_a_block_are_searched_and_not_its_labels() -> None:
    label = f"- [secret · password={WEAK}] "
    block = f"<memory-fabric>\nOn record:\nnext\n{label}It runs.\n{label}password={WEAK}\nend\nlast"

    found = redact.block_without_secrets(block)

    assert found == block.replace(f"] password={WEAK}", "] password=[redacted: secret]")
    assert redact.block_without_secrets("a\nb") == "a\nb"
    hidden = redact.block_without_secrets(f"a\npassword={WEAK}\n- [x] y")
    assert hidden == "a\npassword=[redacted: secret]\n- [x] y"


def test_equal_texts_of_a_value_are_redacted_once_and_their_keys_stay() -> None:
    known: dict[str, str] = {}
    text = f"password={WEAK}"
    value = {"password": [text, 3, None], "b": text}

    found = redact.all_without_secrets(value, known)

    assert found["b"] == found["password"][0] == "password=[redacted: secret]"
    assert found["password"][1:] == [3, None]
    assert known == {text: found["b"]}
