"""Secrets that are known by a property of name, value or structure, and what only looks so."""

from __future__ import annotations

import pytest

from memory_fabric.redaction.redact import may_hold_secret, redact

STRONG = "Kd93" + "jfQ2" + "xTz8"
GROUPS = "-".join(("aB3d", "Ef9h", "Jk2m"))
SMALL = "u87x4i2bpph8bw14" + "mnvofflz8eu8bk1p" + "eyyjyle6"
UUID = "9a1d4c3e-fdac-8f15-" + "a87c-15ff051bd3c9"
PHRASES = [sign.join(("lantern", "copper", "meadow")) for sign in "._-"]
WORDS = "candle dragon silver island fabric coral pigeon galaxy ginger cactus magnet stone"

TOLD = [
    ("our Logtail key ({})", STRONG),
    ("our key for Scaleway: `{}`", UUID),
    ("{}, that is the pin.", "787498"),
    ("token/prod: {}", SMALL),
    ("csk-{}", SMALL),
    ("passwords: bob has {}", GROUPS),
    ("we changed the password from abcd99x1 to {}", STRONG),
    ("{} が管理者のパスワードです", STRONG),
    ("Uporabi {} kot geslo", STRONG),
    ("seed words: {}\nAfterwards restart the scheduler for them.", WORDS),
    ('variable "admin_password" {{\n  default = "{}"\n}}', STRONG),
    ('@Value("{}") private String apiToken;', STRONG),
    ("jdbc:oracle:thin:app/{}@//db.internal:1521/XE", STRONG),
    ("app:{}@tcp(db:3306)/app", STRONG),
    ("INSERT INTO users (email,password) VALUES ('a@b','{}')", STRONG),
    ("account\tapi_key\tplan\nacme\t{}\tpro", STRONG + STRONG),
    ("rsync --password-file=<(echo {}) a b", STRONG),
    ("echo -n '{}' | docker secret create db -", STRONG),
    ("bundle config gems.example.org bob:{}", STRONG),
    ("host db1 -> qa / {}", STRONG),
    ("10.0.3.7 root/{}", STRONG),
    ("office@example.org: {}", STRONG),
    ("admin:{}@gateway", STRONG),
    ("[mx.example.com]:465 user:{}", STRONG),
    ("WPA2 key: {}", PHRASES[2]),
    ("WIFI:S:Office;T:WPA;P:{};;", PHRASES[2]),
    (': PSK "{}"', PHRASES[2]),
    ("curl -b 'sid={}' https://example.org", STRONG),
    ('password = b"{}"', PHRASES[0]),
    ('req.SetBasicAuth("bob", "{}")', PHRASES[1]),
    ("ROOT_PASS='{}'", "Password" + "4535!"),
    ("login works with bob:{}", "Summer" + "2024"),
    ("log in with {}", "Summer" + "2024"),
    ("the login works with {}", "Tiger" + "99"),
    ("my password now uses {}", "Tiger" + "99"),
    ("cookie-based login bob/{}", "Summer" + "2024"),
    ("password: {}", "LET_ME" + "_IN!"),
    ("DB_PASSWORD={}", "ACME" + "_PASS24"),
    ("token: {}", "A7F3K9" + "_B2M4X8_AUTH"),
    ("password: {}", "WINTER" + "_2024"),
]
STATED = [
    "the password for the staging db is {}",
    "password: {}",
    "DB_PASSWORD={}",
    "пароль от вайфая — {}",
    "veritabanı parolası {} oldu",
    "utente admin, password {}",
    "axios.get(url, {{ auth: {{ username: 'bob', password: '{}' }} }})",
]
HARMLESS = [
    "password.reset.token.ttl is 3600",
    "password: settings.database.password",
    "the secret is in app.auth.password_policy",
    "API_KEY_HEADER=X-Api-Key2",
    "PASSWORD_RESET_TIMEOUT=259200",
    "GET /v1/tokens/" + UUID + " 200 12ms",
    "az acr login --password APP_PASSWORD --secret id=db2",
    'parser.add_argument("--password", help="the one of the user")',
    "Access denied for user 'app'@'10.0.3.7' (using password: YES)",
    'user.set_password(form.cleaned_data["password1"])',
    "anna@web3's password:",
    "login: anna42",
    "| login | last seen |\n|---|---|\n| anna42 | 2026-11-02 |",
    "PASS src/auth/token.test.ts",
    "  -a, --auth USER[:PASS]",
    "GET /login -> 302 / home2",
    "Das Passwort ist falsch, versuche es erneut.",
    "arn:aws:secretsmanager:eu-west-1:015005835290:secret:window-db",
    "CREATE ROLE app LOGIN PASSWORD :'app_password';",
    "$password = Read-Host -AsSecureString",
    "existingSecret: billing-postgres-credentials",
    "var a=function(e,t){return e.key===t.key&&e.p2===t.p2};",
    "The pin on the board is GPIO17, the LED on GPIO27.",
    "i18n key: settings.password.reset.title2",
    "sort key = ORDER#2026-01-01#0042",
    "pod shop-8izg6vll5-vm30t uses secret hazard-tls",
    "image: r.example.org/wisdom@sha256:" + "59fd" * 16,
    "request_id=req_" + STRONG + STRONG,
    "login|credential|expires\nci|none|2027-01-01",
    'token: "DEPLOY_TOKEN2"',
    "Rename the token to DEPLOY_TOKEN2 and call deploy --token K8S_TOKEN.",
    "The api key is MAPS_KEY2.",
    "password-less login uses WebAuthn2",
    "Passwordless sign in with FIDO2Keys",
    "Die passwortlose Anmeldung mit WebAuthn2",
    "token-based login via OAuth2Proxy",
    "token-based: OAuth2Proxy7",
    "The login uses Keycloak24.",
]


@pytest.mark.parametrize(("form", "secret"), TOLD)
def test_a_secret_is_redacted_in_every_notation(form: str, secret: str) -> None:
    text = form.format(secret)

    assert may_hold_secret(text)
    assert secret not in redact(text)


@pytest.mark.parametrize("form", STATED)
@pytest.mark.parametrize("secret", PHRASES)
def test_a_password_of_words_joined_by_punctuation_is_redacted(form: str, secret: str) -> None:
    text = form.format(secret)

    assert may_hold_secret(text)
    assert secret not in redact(text)


def test_a_sentence_after_a_wallet_recovery_phrase_is_not_redacted() -> None:
    text = f"recovery phrase: {WORDS}\nAfterwards restart the scheduler."

    assert redact(text).endswith("\nAfterwards restart the scheduler.")


@pytest.mark.parametrize("text", HARMLESS)
def test_text_that_only_looks_like_a_secret_is_not_redacted(text: str) -> None:
    assert redact(text) == text
