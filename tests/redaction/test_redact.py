"""Secrets leave the text, everything else stays byte for byte, and no text takes long."""

from __future__ import annotations

import base64
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawn import ALNUM, chance
from linear import LIMIT, growth
from memory_fabric import text
from memory_fabric.redaction.redact import (
    redact,
    redacted,
    redacted_object,
    says_only_secrets,
    without_secrets,
)
from memory_fabric.store.tiers import anonymise
from thorough import IS_THOROUGH

COMMIT_UUID = "4acdb746-a39b-4d13-9b2f-6462bd60b935"


def random_text(size: int, alphabet: str = ALNUM) -> str:
    """Characters as a generator of keys picks them: some of every kind, and of so many characters
    hardly ever a single digit.
    """
    kinds = [string.ascii_lowercase, string.ascii_uppercase, string.digits, string.digits]
    sure = [chance.choice([c for c in kind if c in alphabet] or alphabet) for kind in kinds]
    return "".join([*sure, *(chance.choice(alphabet) for _ in range(size - len(sure)))])


def made_secrets() -> dict[str, str]:
    """One of each shape, made when the test runs: no source holds anything that looks like one."""
    url_safe = ALNUM + "_-"
    return {
        "aws id": "AK" + "IA" + random_text(16, string.ascii_uppercase + string.digits),
        "github": "gh" + "p_" + random_text(36),
        "github fine": "github" + "_pat_" + random_text(60),
        "gitlab": "gl" + "pat-" + random_text(20, url_safe),
        "openai": "s" + "k-" + random_text(48),
        "anthropic": "s" + "k-ant-api03-" + random_text(80, url_safe),
        "stripe": "s" + "k_live_" + random_text(24),
        "slack": "xo" + "xb-" + random_text(11, string.digits) + "-" + random_text(24),
        "google": "AI" + "za" + random_text(35, url_safe),
        "google oauth": "ya" + "29." + random_text(60, url_safe),
        "npm": "np" + "m_" + random_text(36),
        "pypi": "py" + "pi-" + random_text(90, url_safe),
        "hugging face": "h" + "f_" + random_text(34),
        "sendgrid": "S" + "G." + random_text(22) + "." + random_text(43),
        "digital ocean": "dop" + "_v1_" + chance.randbytes(32).hex(),
        "jwt": ".".join(
            ["ey" + "J" + random_text(20), "ey" + "J" + random_text(40), random_text(43)]
        ),
    }


SHAPES = sorted(made_secrets())


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("around", ["{}", "the key is {}.", '"{}"', "a={}&b", "({})\n", "x {}"])
def test_a_credential_is_redacted_in_any_surrounding_text(shape: str, around: str) -> None:
    secret = made_secrets()[shape]
    found = redact(around.format(secret))
    assert secret not in found
    assert secret[8:20] not in found
    assert "[redacted: " in found


@pytest.mark.parametrize("value", ["EGL6N--LK-ADwsvvolEh", "ABCDEF-ghijkl-mnopqr"])
def test_a_token_with_hyphens_and_few_digits_is_redacted(value: str) -> None:
    secret = "gl" + "pat-" + value
    assert redact(f"x {secret}") == "x [redacted: token]"


def test_a_secret_that_is_split_by_colours_of_a_terminal_is_redacted_without_them() -> None:
    token = made_secrets()["github"]
    coloured = (
        f"\x1b[32m{token[:7]}\x1b[01;31m\x1b[K{token[7:]}\x1b[m\x1b[K of pass\x1b[1mword={token}"
    )

    assert without_secrets(coloured) == "[redacted: token] of password=[redacted: token]"
    assert without_secrets("\x1b[31mthe token\x1b[0m") == "\x1b[31mthe token\x1b[0m"


@pytest.mark.parametrize(
    "template",
    [
        "password={}",
        "PASSWORD: {}",
        'password = "{}"',
        "DB_PASS={}",
        "export API_KEY='{}'",
        '{{"client_secret": "{}"}}',
        "aws_secret_access_key = {}",
        "the password is {}",
        "secretKey: {}",
        "set the token to {}",
        "--token={}",
        "Authorization: Bearer {}",
        "authorization: Basic {}",
        "MYSQL_PWD={}",
        "passphrase => {}",
        "https://ann:{}@example.org/x",
        "postgres://ann:{}@db:5432/billing",
        "redis://:{}@cache",
        "SESSION_ID={}",
        "cookie: sid={}",
    ],
)
def test_a_value_in_the_place_of_a_password_or_token_is_redacted(template: str) -> None:
    secret = random_text(32)
    found = redact(f"Note: {template.format(secret)} and more.")
    assert secret not in found
    assert found.startswith("Note: ") and found.endswith(" and more.")


@pytest.mark.parametrize(
    "text", ["password=hunter42", "password: opensesame", "pwd = letmein!", "secret=correcthorse"]
)
def test_a_weak_password_is_redacted(text: str) -> None:
    assert redact(text).endswith("[redacted: secret]")


def test_a_url_password_that_contains_an_at_sign_is_redacted_completely() -> None:
    assert redact("mysql://ann:p4ss@word@db/x") == "mysql://ann:[redacted: password]@db/x"


@pytest.mark.parametrize("password", ["Kd/9x", "x?7/k", "a//b9"])
def test_a_password_with_a_slash_in_the_address_of_a_database_is_redacted(password: str) -> None:
    address = f"postgresql+psycopg2://ann:{password}@db.internal:5432/billing"
    assert redact(address) == address.replace(password, "[redacted: password]")


@pytest.mark.parametrize(
    "text",
    [
        "the token budget is 20,000 and the token limit is high",
        "password to reset: ask the user first",
        "Reset the password to continue.",
        "The secret is well-known.",
        "The secret to success is patience.",
        "Token: expires after 15 minutes",
        "max_tokens=1000000",
        "tokens: 128000",
        "tokenizer=porter unicode61",
        "TOKENIZER = porter",
        "secretary: Johnson",
        "passenger_name=Johnson",
        "db_passenger=Johnson",
        "credentials: include",
        "token: string; password?: string",
        "api_key: Optional[str] = None",
        "password = get_password()",
        "token = request.headers.get('Authorization')",
        'api_key=os.environ["API_KEY"]',
        "api_key=settings.api_key",
        "token=$TOKEN password=${PASSWORD}",
        "password: required",
        "private_key: /etc/ssl/private/server.pem",
        "token_url=https://example.org/oauth/token",
        "We use basic authentication and bearer tokens everywhere.",
        "basic internationalization of messages",
        "http://localhost:8080/users/@me",
        "http://localhost:8080?user=a@b",
        "postgres://localhost:5432/billing?user=ann@example.org",
        "mongodb://db1:27017,db2:27017/?appName=a@b",
        "redis://{host}:{port}/0@x",
        "git@github.com:acme/billing.git",
        "ssh://git@example.org:22/acme/billing",
        "the sk-learn-compatible-estimator-checks pass",
        "risk-of-a-very-long-hyphenated-name",
        "handler=CursorBasedPaginationV2Handler",
        "path: src/components/UserProfile2/IndexPage",
        'integrity="sha512-{random}"',
        "etag: {random}",
        "image: iVBORw0KGgoAAAANSUhEUgAA{random}",
        "src=data:image/jpeg;base64,/9j/4AAQSkZJRgABAQ{random}",
        "commit=9fceb02d0ae598e95dc970b74767f19372d61af8",
        "id: 01a1fc36-f640-7ceb-bdf0-ea0d2a2f8b36",
        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "see https://example.org/a/b?page=2#part and mail a@example.org",
        "if a < b: c = d",
        "def f(x: int) -> list[str]: ...",
    ],
)
def test_text_without_a_secret_is_returned_unchanged(text: str) -> None:
    text = text.replace("{random}", random_text(40))
    assert redact(text) == text


def test_a_password_with_one_digit_is_redacted_but_a_camel_case_name_is_not() -> None:
    secret = "cZ" + "9LOHjgaOGpNrjbTXSX"

    assert redact(f"use {secret} as the password") == "use [redacted: secret] as the password"
    for name in ("CursorPaginationV2", "OAuth2BearerToken", "PasswordHasherV3"):
        assert redact(f"use {name} as the token") == f"use {name} as the token"


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("mysql -u app -p{} shop", "mysql -u app -p[redacted: password] shop"),
        ("curl -u app:{} https://a.example", "curl -u app:[redacted: password] https://a.example"),
        ("deploy --password {} --now", "deploy --password [redacted: password] --now"),
        ("db.internal:5432:shop:app:{}", "db.internal:5432:shop:app:[redacted: secret]"),
        ("Cookie: theme=dark; sid={}", "Cookie: theme=dark; sid=[redacted: cookie]"),
        ("Server=db;Password={};Encrypt=yes", "Server=db;Password=[redacted: secret];Encrypt=yes"),
        ("<password>{}</password>", "<password>[redacted: secret]</password>"),
        ("password={})x]y and", "password=[redacted: secret] and"),
        ('{"Authorization": "Token {}"}', '{"Authorization": "Token [redacted: token]"}'),
        ("the password for the staging db is {}.", None),
        ("log in with password {} on staging", None),
        ("use {} as the password", "use [redacted: secret] as the password"),
    ],
)
def test_only_the_secret_is_redacted_and_the_surrounding_text_stays_unchanged(
    text: str, kept: str | None
) -> None:
    secret = random_text(20)
    found = redact(text.replace("{}", secret))
    if kept is None:
        assert secret not in found and found.startswith(text.partition("{}")[0])
    else:
        assert found == kept.replace("{}", secret)


def test_an_aws_secret_key_is_redacted_if_it_follows_its_key_id() -> None:
    half = random_text(40, ALNUM + "+/")
    assert half not in redact(f"{made_secrets()['aws id']} {half}")


def test_a_jwt_beside_an_aws_key_id_is_redacted_completely() -> None:
    """The first part of a JWT with 40 characters looks like the secret of a key id."""
    jwt = ".".join(["ey" + "J" + random_text(size) for size in (37, 40)] + [random_text(43)])
    assert redact(f"{made_secrets()['aws id']} {jwt}") == "[redacted: token] [redacted: token]"


def test_uuids_and_hashes_are_redacted_only_if_they_are_labelled_as_secrets() -> None:
    for value in (COMMIT_UUID, COMMIT_UUID.replace("-", ""), chance.randbytes(20).hex()):
        assert redact(f"commit: {value}") == f"commit: {value}"
        assert value not in redact(f"token: {value}")


def test_private_keys_are_redacted_completely_even_if_the_end_line_is_missing() -> None:
    body = base64.b64encode(chance.randbytes(96)).decode()
    begin, end = ("-" * 5 + f"{word} RSA PRIVATE KEY" + "-" * 5 for word in ("BEGIN", "END"))
    assert redact(f"a\n{begin}\n{body}\n{end}\nb") == "a\n[redacted: private key]\nb"
    assert redact(f"a {begin}\n{body}") == "a [redacted: private key]"


@pytest.mark.parametrize("lead", ["", "> ", "│ ", "    12  "])
@pytest.mark.parametrize("width", [64, 60, 50, 40])
@pytest.mark.parametrize("end", ["", "END"])
def test_a_wrapped_private_key_is_redacted_up_to_its_last_short_line(
    lead: str, width: int, end: str
) -> None:
    body = base64.b64encode(chance.randbytes(250)).decode()  # ends in a line of 16 characters
    lines = [body[at : at + 64] for at in range(0, len(body), 64)]
    parts = [line[at : at + width] for line in lines for at in range(0, len(line), width)]
    begin, last = ("-" * 5 + f"{word} RSA PRIVATE KEY" + "-" * 5 for word in ("BEGIN", "END"))
    text = "\n".join(lead + line for line in [begin, *parts, *([last] if end else [])])

    found = redact(f"Look:\n{text}\n\nThen restart it.")

    assert found.startswith("Look:\n") and found.endswith("\n\nThen restart it.")
    assert [part for part in parts if part in found] == []


def test_the_end_of_a_wrapped_private_key_is_redacted_without_its_begin_line() -> None:
    line, end = random_text(60), "-" * 5 + "END RSA PRIVATE KEY" + "-" * 5
    assert redact(f"{line}\nuZnR\n{line}\nB2cd\n{end}") == f"[redacted: private key]\n{end}"


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("a <private>b</private> c", "a [redacted: private] c"),
        ("a <PRIVATE reason='x'>b\nc</Private > d", "a [redacted: private] d"),
        ("<private>a<private>b</private>c</private>d", "[redacted: private]d"),
        ("a <private>b", "a [redacted: private]"),
        ("<private>a</private>b<private>c</private>", "[redacted: private]b[redacted: private]"),
        ("a</private> b <private>c</private>d", "a</private> b [redacted: private]d"),
        ("<privateer>a</privateer>", "<privateer>a</privateer>"),
        ("vector<int> a", "vector<int> a"),
    ],
)
def test_text_inside_private_tags_is_redacted(text: str, rest: str) -> None:
    assert redact(text) == rest


def test_objects_are_redacted_recursively_and_by_their_keys() -> None:
    secret = random_text(24)
    value = {
        "password": secret,
        "list": [f"token={secret}", {"api_key": secret, "n": 3}],
        "name": "Cursor2Based3Pagination4Handler5Class",
        "note": "a password policy",
        f"token={secret}": True,
        "token": "required",
    }
    found = redacted_object(value)
    assert secret not in repr(found)
    assert found["name"] == value["name"] and found["note"] == value["note"]
    assert found["list"][1]["n"] == 3 and found["token"] == "required"
    assert redacted((1, None, True, 2.5)) == [1, None, True, 2.5]


@given(st.text())
def test_redacting_twice_is_redacting_once(text: str) -> None:
    once = redact(text)
    assert redact(once) == once


@given(
    st.lists(
        st.sampled_from(
            "password token secret = : is to ' \" <private> </private> -----BEGIN https:// @ a1 "
            "Bearer hunter42 [redacted: ] \n".split(" ")
        ),
        max_size=30,
    )
)
def test_redacting_is_stable_on_texts_about_secrets(parts: list[str]) -> None:
    for glue in ("", " "):
        once = redact(glue.join(parts))
        assert redact(once) == once


@given(st.text(alphabet=string.ascii_lowercase + " .,\n", max_size=300))
def test_plain_prose_without_the_names_of_secrets_stays(text: str) -> None:
    told = ("pass", "pwd", "secret", "token", "key", "credential", "bearer", "basic")
    if not any(word in text for word in told):
        assert redact(text) == text


ADVERSARIES = [
    "'mysql ' * (n // 6)",
    "'mysql -p' * (n // 8)",
    "'curl -u ' * (n // 8)",
    "'docker login ' * (n // 13)",
    "'--password ' * (n // 11)",
    "'password for a ' * (n // 15)",
    "'password=(' * (n // 10)",
    "'token=\"' * (n // 7)",
    "('token=' + '(a' * 250) * (n // 506)",
    "'<password>' * (n // 10)",
    "'cookie: a=' * (n // 10)",
    "'cookie: ' + 'a=b; ' * (n // 5)",
    "'authorization: ' * (n // 15)",
    "'login a password ' * (n // 17)",
    "'seed phrase: ' + 'apple ' * (n // 6)",
    "'db:5432:a:b:' * (n // 12)",
    "'redis://b:' * (n // 10)",
    "'redis://b:c/' + 'd/' * (n // 2)",
    "'1//0' * (n // 4)",
    "'AK' 'IA' * (n // 4)",
    "('.atl' 'asv1.') * (n // 9)",
    "'M' * 24 + '.' * n",
    "'a' * 30 + ' as the' * (n // 7)",
    "'LS0tLS1CRUdJTi' 'BQUklWQVRF' * (n // 24)",
    "'a' * n",
    "'-' * n",
    "'<private' * (n // 8)",
    "'<private>' * (n // 9)",
    "'</private ' * (n // 10)",
    "'-----BEGIN ' * (n // 11)",
    "('-----BEGIN ' + 'A' * 40) * (n // 51)",
    "'-----BEGIN RSA PRIVATE KEY-----' * (n // 31)",
    "'token' * (n // 5)",
    "'token_' * (n // 6)",
    "'passwordpassword ' * (n // 17)",
    "'password is ' * (n // 12)",
    "'token    ' * (n // 9)",
    "('-----BEGIN PRIVATE KEY-----\\n' + ('A1' * 20 + '\\nB2\\n') * 40) * (n // 1788)",
    "'-----BEGIN PRIVATE KEY-----' + ('│ ' + 'A1' * 20 + '\\n│ B2\\n') * (n // 48)",
    "('A1' * 20 + '\\nB2\\n') * (n // 44)",
    "'a://' * (n // 4)",
    "'a://b:' * (n // 6)",
    "('a://b:' + 'c' * 255) * (n // 261)",
    "'eyJ' * (n // 3)",
    "'-eyJ' * (n // 4)",
    "('eyJ' + 'a' * 4000 + '.') * (n // 4004)",
    "'sk-' * (n // 3)",
    "'-sk-a' * (n // 5)",
    "'bearer ' * (n // 7)",
    "'bearer' + ' ' * n",
    "'a.' * (n // 2)",
    "'a=' * (n // 2)",
    "('aA1' * 170 + '=') * (n // 511)",
    "'a = ' + 'aB1' * (n // 3)",
    "'<memory-fabric ' * (n // 15)",
    "'<' * n",
    "'< ' * (n // 2)",
    "'é' * n",
    "'数据' * (n // 2)",
    "'aB' * (n // 2)",
    "' ' * n",
    "'\\x1b[' * (n // 2)",
    "'\\x1b[0mpassword=' * (n // 13)",
]


@pytest.mark.parametrize("adversary", ADVERSARIES)
def test_a_long_adversarial_text_is_processed_in_linear_time(adversary: str) -> None:
    def read(n: int) -> None:
        value = eval(adversary, {"n": n})
        redact(value)
        text.without_injected(value), text.neutralised(value)
        text.terms(value), text.index_extra(value)
        anonymise.cleaned(value, {"billing": "the project"})

    # One grows faster up to 32 KB, where a rule stops looking for the end of a key: a factor of 8
    # from 4 to 16 KB, 4.6 from 64 to 256 KB.
    few = 1 << 11 if "BEGIN ' + 'A'" in adversary else 1 << 12
    assert growth(read, 1 << 16 if IS_THOROUGH else few) < LIMIT


@pytest.mark.parametrize(
    ("words", "kept"),
    [
        (["mysql", "-p{}", "shop"], ["mysql", "-p[redacted: password]", "shop"]),
        (["curl", "-u", "bob:{}", "/x"], ["curl", "-u", "bob:[redacted: password]", "/x"]),
        (["deploy", "--token", "{}"], ["deploy", "--token", "[redacted: password]"]),
        (["a password", "{} is no option"], ["a password", "{} is no option"]),
        (["--now", "a  b", ""], ["--now", "a  b", ""]),
    ],
)
def test_a_secret_in_a_list_of_command_arguments_is_redacted(
    words: list[str], kept: list[str]
) -> None:
    secret = "swo" + "rdfish7"
    given = [word.replace("{}", secret) for word in words]

    assert redacted(given) == [word.replace("{}", secret) for word in kept]


@pytest.mark.parametrize(
    ("text", "is_empty"),
    [
        ("password={}", True),
        ("my password is {}", True),
        ("the db password: {}", False),
        ("API key: {}", True),
        ("das Passwort lautet {}", True),
        ("パスワードは{}です", True),
        ("password={} for the staging cluster", False),
        ("The password lies in the vault", False),
    ],
)
def test_a_text_that_consists_only_of_a_secret_is_detected(text: str, is_empty: bool) -> None:
    assert says_only_secrets(text.replace("{}", "a8" + "Kd93jfQ2x")) is is_empty
