"""Weak passwords leave where only a secret stands; markers and texts that name them stay."""

from __future__ import annotations

import re

import pytest

from memory_fabric.redaction.redact import may_hold_secret, redact
from memory_fabric.redaction.rules import table

SMALL = "river" + "stone"
MIXED = "Tig3" + "R28"
SPACED = "two words" + " 9!"
HEXES = "3fa94c07" * 4

PLACES = [
    ("curl -u bob:{}", SMALL),
    ("curl -su bob:{} https://example.org", SMALL),
    ("curl --proxy-user 'bob:{}' https://example.org", SPACED),
    ('curl -u "bob:{}" https://example.org', "blue horse runs " + "fast"),
    ("curl -u 'bob:{}' https://example.org", "blue horse runs " + "fast"),
    ("PRIVATE-TOKEN: {}", "Xk3" * 7),
    ("X-Webhook-Token: {}", SMALL),
    ("vault kv put a/b user=c value={} other=c", SMALL),
    ("vault kv put a/b first=riverbed value={}", SMALL),
    ('"password": "{}"', SPACED),
    ("prod:bob|{}", HEXES),
    ("mysql -u root -p{} shop", SMALL),
    ("sshpass -p{} rsync -a a b:", SMALL),
    ("rabbitmqctl change_password bob {}", SMALL),
    ("kubectl create secret generic a --from-literal=api='{}'", SPACED),
    ("aws ssm put-parameter --type SecureString --value '{}'", SPACED),
    ("gh secret set A_B -b '{}'", SPACED),
    ("openssl x509 -passin 'pass:{}' -in a.pem", SPACED),
    ("Server=a;User ID=b;Password={};Encrypt=True", SPACED),
    ("jwt.encode(claims, '{}', algorithm='HS256')", SMALL),
    ("imap.login('bob@example.org', '{}')", SMALL),
    ('account.setPassword("{}");', SMALL),
    ("os.getenv('DB_PASS', '{}')", SMALL),
    ("${{SMTP_PASS:-{}}}", SMALL),
    ("await page.type('#password', '{}')", SPACED),
    ("<password>{}</password>", SMALL),
    ("- name: SMTP_PASS\n  value: '{}'", SPACED),
    ("TOKEN_SECRET={}", SMALL),
    ("requirepass {}", SMALL),
    ("use {} as the password for samba", SMALL),
    ("I set the password to {} today", SMALL),
    ("credentials are bob:{}", SMALL),
    ("password -> {}", SMALL),
    ("users:\n  ann: admin\n  bob: {}\n  carol: x", MIXED),
    ("> staging users:\n> - bob: '{}'", "Summer" + "!2024"),
    ("passwords:\n  ann: " + MIXED + "\n  bob: {}", SMALL + "7"),
    ("passwords:\n  ann: password1\n  bob: changeme2\n  carol: {}", SMALL + "7"),
    ("  users:\r\n    ann:\r\n      role: x\r\n    bob: {}\r\n", MIXED),
    ("admin/{} works on staging", MIXED),
    ("credentials bob/{} work", SMALL),
]
HARMLESS = [
    "  --password PASSWORD  the password of the user",
    "usage: login [-u USER] [-p PASSWORD] [--token TOKEN] server",
    "curl -u user:pass https://example.org",
    "mysql -p shop; docker run -p 8080:80 nginx; mkdir -p a/b",
    "influx -profile small",
    'user.setPassword("newPassword")',
    '"input_token": "Marker", "output_token": "Shards[-1].ShardId"',
    "def visit_pass_stmt(self, o: PassStmt) -> None: ...",
    "pass\n\n@staticmethod",
    "from a import (\n    PassStmt,\n    BasicBlock,\n    CallC,\n    Return,\n)",
    "64030 | vpopmail | vpopmail\n64031 | slurm | slurm-llnl",
    'password_label: "Your password (8+ characters)"',
    "msbuild a.vcxproj /p:OutDir=lib",
    "Login works with password authentication.",
    "set the password to expire after 90 days",
    "users:\n  ann: admin2\n  id: usr_9fK2lmQ8xZ\n  mail: ann@corp2.example\n  bob: U02ABCD9EF",
    "users:\n  image: r.example.org/users:v1.2.3\n  api: v1alpha12\n  commit: 9f3c2d1e4a5b",
    "passwords:\n  min_length: 12\n  algorithm: argon2id\n  policy: strict",
    "passwords:\n  encoder: pbkdf2\n  max_age: 90days\n  file: passwords2.yml",
    "passwords:\n  policy: strict\nsessions:\n  kept_in: redis7",
    "app:\n  users:\n    role: admin\n  build: es2020x1\nfor: es2022x1",
    "users:\n  host: db1prod2\n  logging: *log1x",
    "mysql://host:port/db?user=me@corp",
    "Credentials: LDAP/Kerberos works, SAML does not",
    "The route admin/report2024 works, and test/e2e works, too.",
    "credentials read/write works",
]


@pytest.mark.parametrize(("form", "secret"), PLACES)
def test_even_a_weak_password_is_redacted_in_a_password_field(form: str, secret: str) -> None:
    text = form.format(secret)
    clean = redact(text)

    assert may_hold_secret(text)
    assert not [word for word in secret.split() if word in clean]
    assert redact(clean) == clean


@pytest.mark.parametrize("text", HARMLESS)
def test_a_text_that_only_mentions_secrets_is_not_redacted(text: str) -> None:
    assert redact(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "Wrap it in `<private>`, and it is gone. The rest stays.",
        "Write `<private>…</private>` around it.\nNext: the build.",
        "The <private> tag hides what follows.",
        'The marker "<private>" is documented.',
    ],
)
def test_a_mention_of_the_private_tag_redacts_nothing(text: str) -> None:
    assert redact(text) == text


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("a <private>b c", "a [redacted: private]"),
        ("`<private>b</private>` c", "`[redacted: private]` c"),
        ("`<private>` hides; <private>b</private> c", "`<private>` hides; [redacted: private] c"),
        ("<private>uses `code`</private> c", "[redacted: private] c"),
        ("<private> tag of mine</private> c", "[redacted: private] c"),
    ],
)
def test_redaction_extends_from_a_private_tag_to_its_end_tag_or_the_text_end(
    text: str, left: str
) -> None:
    assert redact(text) == left


@pytest.mark.parametrize(
    "chain", ["password password a1b2c3d4 e5f6g7h8 i9j1k2l3", "seed phrase: " + "apple " * 120]
)
def test_redacting_an_already_redacted_text_changes_nothing(chain: str) -> None:
    once = redact(chain)

    assert redact(once) == once


def test_every_redaction_pattern_captures_the_text_before_the_secret() -> None:
    for rule in table("places").rules:
        assert rule.expression.removeprefix("(?im)").startswith("("), rule.expression
        assert re.compile(rule.expression).groups > 1, rule.expression
