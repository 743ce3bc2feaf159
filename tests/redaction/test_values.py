"""Tests of single values: how long and how mixed they are, and what stands beside them."""

from __future__ import annotations

import base64

import pytest

from memory_fabric.redaction import plain, redact, rules, tables, tokens, values

# Made at run time, so that no source holds anything that looks like one.
KEY = "".join(("aB3d", "E6gH", "1jK4", "mN7p", "Q2sT", "5vW8"))
GROUPS = "-".join(("aB3d", "Ef9h", "Jk2m"))
HEX = "ab12" * 8
WEAK = "hun" + "ter42"
UUID = "9a1d4c3e-fdac-8f15-" + "a87c-15ff051bd3c9"
SEEDS = (
    "hazard garden spider crystal abandon river turtle hollow panther shadow salmon falcon candle "
    "dragon silver island fabric coral pigeon galaxy ginger cactus magnet stone jungle velvet "
    "ribbon"
).split()


@pytest.mark.parametrize(
    ("value", "is_hex"),
    [(HEX, True), (HEX[:31], False), (HEX.upper(), True), (f"{HEX}g", False), ("", False)],
)
def test_a_hash_or_key_in_hexadecimal_digits_has_at_least_32(value: str, *, is_hex: bool) -> None:
    assert plain.is_hex(value) is is_hex


@pytest.mark.parametrize(
    ("value", "is_name"),
    [
        ("users_v2", True),
        ("eu-west-1", True),
        ("users/a1b.", True),
        ("users/a1b2", False),
        ("worker-170000", True),
        (KEY, False),
    ],
)
def test_a_name_consists_of_words_and_numbers_and_short_parts(value: str, *, is_name: bool) -> None:
    assert plain.is_name(value) is is_name


@pytest.mark.parametrize(
    ("value", "is_identifier"),
    [
        ("CursorBasedPagination", True),
        ("MAX_RETRY_COUNT", True),
        ("the-order-import-job", True),
        ("the-order-import", False),
        ("The-order-import-job", False),
        ("opensesame", False),
    ],
)
def test_an_identifier_is_known_by_its_capitals_or_its_many_parts(
    value: str, *, is_identifier: bool
) -> None:
    assert plain.is_identifier(value) is is_identifier


@pytest.mark.parametrize(
    ("text", "is_words"),
    [("well-known", True), ("it's", True), ("*bold*", True), ("well-k2", False), ("a b", False)],
)
def test_plain_words_may_be_joined_but_hold_no_digits(text: str, *, is_words: bool) -> None:
    assert plain.is_words(text) is is_words


@pytest.mark.parametrize(
    ("value", "is_strong"),
    [
        ("abcd" + "ef12", True),
        ("abc" + "de12", False),
        ("abcd" + "efg1", False),
        ("abc!" + "defg", True),
        ("abcdefg!", False),
        ("http://abc!defg", False),
        ("1234" + "5678", False),
        ("aB3c" + "DeFgH", True),
        ("Password3", False),
        ("(abcd" + "ef12).", True),
    ],
)
def test_a_strong_value_of_eight_characters_mixes_letters_with_digits_or_symbols(
    value: str, *, is_strong: bool
) -> None:
    assert plain.is_strong(value) is is_strong


@pytest.mark.parametrize(
    ("value", "is_random"),
    [
        (KEY, True),
        (KEY[:-1], False),
        (f"{KEY[:12]}-{KEY[12:]}", True),
        (KEY.lower(), False),
        ("CursorBasedPaginationHandler2", False),
        ("abcD1" * 6, False),
        ("aB3" * 8, False),
    ],
)
def test_a_random_value_has_24_characters_of_all_kinds_that_change_often(
    value: str, *, is_random: bool
) -> None:
    assert plain.looks_random(value) is is_random


@pytest.mark.parametrize(
    ("lead", "name", "sign"),
    [
        ('password = "', "password", "="),
        ("apiToken: '", "apiToken", ":"),
        ("the password is ", "the password", "is"),
        ("token to ", "token", "to"),
        ("password\tis ", "password", "is"),
        ("| password | ", "| password", "|"),
        ("key => ", "key", ">"),
    ],
)
def test_the_name_of_a_secret_is_separated_from_the_sign_behind_it(
    lead: str, name: str, sign: str
) -> None:
    assert plain.parted(lead) == (name, sign)


@pytest.mark.parametrize(
    ("name", "value", "is_phrase"),
    [
        ("password", "lantern copper meadow river", True),
        ("password", "lantern copper meadow", False),
        ("password", "Lantern copper meadow river", False),
        ("password", "lantern copper meadow river.", False),
        ("password", "lantern copper 9!", True),
        ("password", "the copper of your 9!", False),
        ("token", "lantern copper meadow river", False),
        ("db_secret", "lantern copper meadow river", True),
        ("password", " ".join(SEEDS[:12]), True),
        ("password", " ".join(SEEDS[:13]), False),
    ],
)
def test_a_passphrase_has_four_to_twelve_words_or_a_number_and_is_no_sentence(
    name: str, value: str, *, is_phrase: bool
) -> None:
    assert plain.is_passphrase(name, value) is is_phrase


@pytest.mark.parametrize(
    ("value", "is_joined"),
    [
        ("lantern-copper-meadow", True),
        ("Lantern.Copper.Meadow!", True),
        ("lantern-copper", False),
        ("lantern-copper-123456", True),
        ("lantern-copper-1234567", False),
        ("lantern-123-456", False),
        ("lantern-lantern-copper", False),
        ("Lantern-copper-meadow", False),
        ("lantern-copper-meaDow", False),
        ("lantern-copper-the", False),
        ("lantern-copper-" + "m" * 12, True),
        ("lantern-copper-" + "m" * 13, False),
        ("lantern-copper-cow", True),
        ("lantern-copper-ox", False),
        ("lantern copper meadow", True),
    ],
)
def test_joined_words_are_three_rare_ones_or_two_and_a_number(
    value: str, *, is_joined: bool
) -> None:
    assert plain.is_joined_words(value) is is_joined


@pytest.mark.parametrize(
    ("value", "is_placeholder"),
    [
        ("your-token-here", True),
        ("your-" + WEAK, False),
        ("xxxx", True),
        ("abab" + "abab", True),
        ("$TOKEN", True),
        ("${TOKEN}", True),
        ("{{token}}", True),
        ("<token>", True),
        ("changeme" + "42", True),
        ("password2", True),
        ("password12", True),
        ("password" + "4535", False),
        ("pass...word", True),
        ("パスワード", True),
        (WEAK, False),
        ("[redacted: token]", True),
        ("proxypass", True),
    ],
)
def test_placeholders_are_not_taken_for_secrets(value: str, *, is_placeholder: bool) -> None:
    assert plain.is_placeholder(value) is is_placeholder


@pytest.mark.parametrize(
    ("text", "is_hidden"),
    [
        ("password=" + "ab1!", True),
        ("password=" + "a1!", False),
        ("password=" + "abcd", False),
        ("password=" + "$ab1", False),
        ("token=" + "ab1!", False),
        ("password: " + "abcdef", True),
        ("password == " + "abcdef", False),
        ("password is " + "abcdef1", True),
        ("tokens: " + "1200000", False),
        ("token_type=" + WEAK, False),
        ("token_type=" + KEY, True),
        ("password=/etc/" + WEAK, False),
        ("password=/" + KEY, True),
        ("Authorization: Bearer " + "kqxw" + "zmvrtplnbdghj", False),
        ("Authorization: Bearer " + "kqxw" + "zmvr7tplnbdgh", True),
        ("Authorization: Bearer " + "pqrs" * 6, False),
        ("Cookie: sid=" + "a1b2c3d4", True),
        ("Cookie: sid=" + "a1b2c3d", False),
        ("Cookie: theme=" + "a1b2c3d4e5f6", True),
        ("Cookie: theme=" + "a1b2c3d4e5f", False),
        ("Cookie: sid=" + "abcdefghijkl", False),
        ("Cookie: sid=" + "123456789012", False),
        ("deploy --password " + WEAK, True),
        ("deploy --password ./" + WEAK, False),
        ("https://" + "ab12" * 4 + ":" + WEAK + "@example.org", True),
    ],
)
def test_a_value_is_hidden_only_if_its_length_and_its_characters_are_those_of_a_secret(
    text: str, *, is_hidden: bool
) -> None:
    assert (redact.redact(text) != text) is is_hidden


def test_a_long_user_name_with_digits_in_an_address_is_hidden_too() -> None:
    token = "".join(("ab1c", "d2ef", "g3hi", "j4kl"))

    long, short = (redact.redact(f"https://{user}:{WEAK}@x.org") for user in (token, token[:15]))

    assert long == "https://[redacted: token]:[redacted: password]@x.org"
    assert short == f"https://{token[:15]}:[redacted: password]@x.org"


@pytest.mark.parametrize(
    ("core", "is_telling"),
    [
        ("k9x2" + "m4p7", True),
        ("k9x2" + "m4p", False),
        ("kqxw" + "mzpr", False),
        ("4815" + "1623", False),
        ("abcd" + "!ef1", True),
        (GROUPS, True),
        (GROUPS.lower(), False),
        ("billing2server", False),
        ("users_2024", False),
        ("é9x2" + "m4p7", False),
        ("release-2024-11", False),
    ],
)
def test_a_telling_value_of_eight_characters_is_unlike_words_and_numbers(
    core: str, *, is_telling: bool
) -> None:
    assert values.is_telling(core) is is_telling


@pytest.mark.parametrize(
    ("core", "least", "is_mixed"),
    [
        ("ab1c", 4, True),
        ("ab1c", 5, False),
        ("users_2024", 4, False),
        ("ab!1", 4, True),
        ("abcdef!", 4, False),
        ("abcdefg!", 4, True),
        ("4815", 4, False),
        ("a1b-c2d", 4, False),
    ],
)
def test_a_mixed_value_has_symbols_or_letters_and_digits_in_one_part(
    core: str, least: int, *, is_mixed: bool
) -> None:
    assert values.is_mixed(core, least=least) is is_mixed


@pytest.mark.parametrize(
    ("core", "linked", "follower", "words", "is_pin"),
    [
        ("4815", "=", "", 5, True),
        ("481", "=", "", 0, False),
        ("4" * 20, "=", "", 0, True),
        ("4" * 21, "=", "", 0, False),
        ("4815", "", "", 2, True),
        ("4815", "", "", 3, False),
        ("4815", "", " more", 2, False),
        ("4815", "", " and more", 0, True),
        ("4815", "", " minutes", 0, False),
        ("4815", "", "%", 0, False),
        ("48a5", "", "", 0, False),
    ],
)
def test_a_pin_is_a_number_beside_its_name_that_counts_nothing(
    core: str, linked: str, follower: str, words: int, *, is_pin: bool
) -> None:
    found = values.is_value(core, "pin", linked, follower, quoted=False, words=words)

    assert found is is_pin


@pytest.mark.parametrize(
    ("core", "kind", "linked", "words", "is_secret"),
    [
        ("ab1c", "password", "is", 0, True),
        ("ab1" + "cdef", "password", "", 4, True),
        ("ab1" + "cde", "password", "", 4, False),
        ("ab1" + "cde", "password", "", 0, True),
        ("ab1cd", "password", "", 0, False),
        ("Som" + "mer_2024", "password", "", 1, True),
        ("Som" + "mer_2024", "password", "", 2, False),
        ("open" + "sesame", "password", "is", 0, True),
        ("open" + "sesame", "pair", "is", 0, False),
        ("open" + "sesame", "password", "", 0, False),
        ("sesam", "password", "=", 0, True),
        ("sesa", "password", "=", 0, False),
        ("wrong", "password", "is", 0, False),
        (UUID, "password", "is", 0, False),
        (UUID, "key", "is", 0, True),
        ("ab12" * 2, "key", "is", 0, True),
        ("ab12" * 2, "key", "", 0, False),
        ("ab12" * 3, "key", "", 0, True),
        ("ab12" * 3, "key", "", 1, False),
        ("ab12" * 4, "key", "", 1, True),
        ("ab1d", "key", "is", 0, False),
        ("wq12" * 4, "common", "is", 0, True),
        ("wq12" * 4, "common", "", 0, False),
        ("wq12" * 3, "common", "is", 0, False),
        (HEX, "common", "is", 0, False),
    ],
)
def test_a_value_behind_a_name_needs_more_to_be_a_secret_the_less_they_are_linked(
    core: str, kind: str, linked: str, words: int, *, is_secret: bool
) -> None:
    found = values.is_value(core, kind, linked, "", quoted=False, words=words)

    assert found is is_secret


@pytest.mark.parametrize(
    ("token", "begin", "core"),
    [
        ('"abc",', 1, "abc"),
        ("(`abc`).", 2, "abc"),
        ("abc", 0, "abc"),
        ("hello!", 0, "hello"),
        ("p4ss!", 0, "p4ss!"),
        ("...", 0, ""),
        ("!", 0, "!"),
    ],
)
def test_quotes_and_punctuation_around_a_word_are_stripped(
    token: str, begin: int, core: str
) -> None:
    at, found = values.stripped(token)

    assert found == core
    assert token[at : at + len(found)] == core
    assert at == begin or not core


def test_each_span_is_hidden_once_and_a_marker_never() -> None:
    text = "one two three [redacted: token] four"
    spans = [(4, 7), (0, 3), (5, 9), (14, 31)]

    assert values.without(text, spans, "X") == "X X three [redacted: token] four"
    assert values.without(text, []) == text


@pytest.mark.parametrize(
    ("core", "follower", "is_code"),
    [
        ("get(", "", True),
        ("get", "(x)", True),
        ("a::b", "", True),
        ("${TOKEN}", "", True),
        ("--token", "", True),
        ("/etc/passwd", "", True),
        ("/" + KEY, "", False),
        ("&Secret<T>", "", True),
        ("*" + WEAK, "", False),
        ("testPassword", "", True),
        ("test_word", "", True),
        (WEAK, "", False),
        ("self.config.token", "", True),
    ],
)
def test_code_is_not_taken_for_a_secret(core: str, follower: str, *, is_code: bool) -> None:
    assert values.is_code(core, follower) is is_code


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode().rstrip("=")


@pytest.mark.parametrize(
    ("value", "is_text"),
    [
        (encoded("the quick fox"), True),
        (encoded("ab cd efg"), True),
        (encoded("ab cd ef"), False),
        (encoded("thequickfox"), False),
        (encoded("the 12345 678 90"), False),
        ("no base64!", False),
    ],
)
def test_text_in_base64_is_not_random(value: str, *, is_text: bool) -> None:
    assert tokens.decodes_to_text(value) is is_text


@pytest.mark.parametrize(
    ("core", "is_random"),
    [
        (KEY, True),
        (KEY[:20], True),
        (KEY[:19], False),
        ("4815" * 6, False),
        ("CursorBasedPaginationHandler", False),
        ("aB1c" * 6, False),
        ("é" + KEY, False),
        ("worker-1700000000000-eu-west", False),
    ],
)
def test_a_random_word_has_twenty_letters_and_digits_that_alternate(
    core: str, *, is_random: bool
) -> None:
    assert tokens.is_random(core) is is_random


@pytest.mark.parametrize(
    ("core", "has_prefix"),
    [
        ("acme_token_" + KEY, True),
        ("token_" + KEY[:16], True),
        ("token_" + KEY[:15], False),
        ("commit_" + KEY, False),
        ("pk_" + "live_" + KEY, False),
        ("arn:" + KEY, False),
        (KEY, False),
        ("acme_" + HEX, True),
        ("acme-" + HEX, False),
    ],
)
def test_a_token_with_an_issuers_prefix_has_a_random_tail(core: str, *, has_prefix: bool) -> None:
    assert tokens.has_prefix(core) is has_prefix


@pytest.mark.parametrize(
    ("text", "is_option"),
    [
        ("mysql -p x", True),
        ("-p", True),
        ("my-project", False),
        ("my-project -p", True),
        ("--p", False),
        ("a.-p", False),
        ("none", False),
    ],
)
def test_an_option_is_not_part_of_a_word(text: str, *, is_option: bool) -> None:
    assert rules.is_option_in(text, "-p") is is_option


@pytest.mark.parametrize(
    ("value", "is_command"),
    [
        (["ls", "-l"], True),
        (("ls", "-l"), True),
        (["-l"], False),
        (["ls", "l"], False),
        (["ls", "-l\n"], False),
        (["-l", 3], False),
        ("ls -l", False),
    ],
)
def test_a_command_line_is_a_list_of_two_or_more_words_with_an_option(
    value: object, *, is_command: bool
) -> None:
    assert rules.is_command_line(value) is is_command


@pytest.mark.parametrize(
    ("word", "is_doubtful"),
    [
        ("a1b2c3d4e5", True),
        ("a1b2c3d4e", False),
        ("a1b2c-d4e5f", True),
        ("q" * 22, True),
        ("q" * 21, False),
        ("ab-4815162342", True),
        ("abcd-1234-5678", False),
        ("abcde-12345-67890", True),
        ("CursorPaginationV", False),
        ("aBcDeFgHiJ", True),
        ("CONSTANTNAME", False),
    ],
)
def test_a_doubtful_word_has_ten_characters_in_random_looking_parts(
    word: str, *, is_doubtful: bool
) -> None:
    assert rules.is_doubtful(word) is is_doubtful


@pytest.mark.parametrize(
    ("word", "is_uuid"),
    [
        (UUID, True),
        (UUID.upper(), True),
        (UUID[:-1], False),
        (UUID[:-1] + "g", False),
        (UUID.replace("-", "_"), False),
        ("-" * 36, False),
    ],
)
def test_a_uuid_is_known_by_its_form(word: str, *, is_uuid: bool) -> None:
    assert rules.is_uuid(word) is is_uuid


def test_a_word_is_found_alone_and_not_within_another_word() -> None:
    assert list(rules.places_alone("pin, pins, spin pin", "pin")) == [3, 19]
    assert list(rules.places_alone("4pin4 é-pin", "pin")) == [4, 11]


@pytest.mark.parametrize(("count", "is_hidden"), [(11, False), (12, True), (26, True), (27, False)])
def test_twelve_to_twenty_six_words_beside_the_name_of_a_seed_phrase_are_hidden(
    count: int, *, is_hidden: bool
) -> None:
    words = " ".join(SEEDS[:count])
    text = f"{words}\nThat is the mnemonic of the wallet, which one keeps at home."

    assert (words not in redact.redact(text)) is is_hidden


def test_only_the_texts_of_a_block_are_searched_and_not_its_labels() -> None:
    label = f"- [secret · password={WEAK}] "
    block = f"<memory-fabric>\nOn record:\nnext\n{label}It runs.\n{label}password={WEAK}\nend"

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


V = "qW7" + "rT9zLk2"


@pytest.mark.parametrize(
    ("text", "is_hidden"),
    [
        (f"user | password\nbob | {V}", True),
        (f"user | password\n--- | ---\nbob | {V}", True),
        (f"user,password\nbob,{V}", True),
        (f'user,password\n"a,b",{V}', True),
        (f"user | password | age\nbob | {V}", False),
        (f"user | kept in some password file\nbob | {V}", False),
        (f"user | the one password in use\nbob | {V}", False),
        (f"user | password.\nbob | {V}", False),
        (f"user | password = x\nbob | {V}", False),
        (f"{'u' * 39} | password\nbob | {V}", True),
        (f"{'u' * 40} | password\nbob | {V}", False),
        (f"ann | x9\nuser | password\nbob | {V}", False),
        (f"user | login_password\nbob | {V}", True),
        (f"user | password_hint\nbob | {V}", False),
        ("user | password\nbob | none", False),
        (f"user | login\nbob | {V}", False),
    ],
)
def test_the_cells_below_the_heading_of_a_secret_are_hidden(text: str, *, is_hidden: bool) -> None:
    assert (tables.without_columns(text) != text) is is_hidden


def test_each_row_of_a_table_is_redacted_until_the_table_ends() -> None:
    text = f"user | password\nann | {V}\nbob | {V}\n\nthe end\nnone | {V}"

    found = tables.without_columns(text)

    assert found == text.replace(V, "[redacted: secret]", 2)


@pytest.mark.parametrize(
    ("statement", "is_hidden"),
    [
        (f"INSERT INTO users (name, password) VALUES ('bob', '{V}')", True),
        (f"INSERT INTO users (name, password) VALUES ('ann', 'x'), ('bob', '{V}')", True),
        (f"INSERT INTO users (password, name) VALUES ('bob', '{V}')", False),
        (f"INSERT INTO users (name, notes) VALUES ('bob', '{V}')", False),
        ("INSERT INTO users (name, password) VALUES ('bob', NULL)", False),
    ],
)
def test_a_value_that_sql_inserts_into_a_column_of_secrets_is_hidden(
    statement: str, *, is_hidden: bool
) -> None:
    assert (V not in tables.without_inserted(statement) and V in statement) is is_hidden


@pytest.mark.parametrize(("between", "is_hidden"), [(0, True), (3, True), (4, False)])
def test_a_password_alone_on_one_of_the_next_four_lines_is_hidden(
    between: int, *, is_hidden: bool
) -> None:
    lines = ["of the shop", "in the town", "by the sea", "for the crew"][:between]
    text = "\n".join(["Here is the password", *lines, V])

    assert (V not in redact.redact(text)) is is_hidden


def test_several_words_alone_on_their_lines_are_secrets_until_another_word() -> None:
    lines = [V, f"{V}1", "thanks", f"{V}2"]
    text = "\n".join(lines)

    spans = list(tables.alone_behind(text, 0, "password"))

    assert [text[start:end] for start, end in spans] == lines[:2]


@pytest.mark.parametrize(("chars", "count"), [(256, 1), (257, 0)])
def test_a_word_alone_on_its_line_is_a_secret_up_to_256_characters(chars: int, count: int) -> None:
    text = (V * 256)[:chars]

    assert len(list(tables.alone_behind(text, 0, "password"))) == count


@pytest.mark.parametrize(
    ("core", "kind", "is_secret"),
    [
        (V, "password", True),
        ("opensesame", "password", False),
        (f"{V}:", "password", False),
        (f"/{V}", "password", False),
        (f"a,{V},b", "password", False),
        (f"name={V}", "password", False),
        (UUID, "key", True),
        (UUID, "common", True),
        (HEX, "common", True),
        (V, "key", True),
        (V[:9], "key", False),
        (V, "common", False),
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


def test_harmless_parts_are_replaced_for_a_while_and_put_back() -> None:
    text = f"integrity sha512-{KEY * 4} and commit {UUID}"

    parts = tokens.HarmlessParts(text)
    held = parts.hold_always()

    assert KEY not in held and len(held) < len(text)
    assert parts.put_back(held) == text
    strange = tokens.HarmlessParts(text + chr(0xF0000))
    assert strange.hold_always() == text + chr(0xF0000)
