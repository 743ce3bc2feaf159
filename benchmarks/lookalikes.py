"""Texts that only look as if they held a secret, by kind; made at run time."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping

from credentials import BASE64, HEX, LOWER, WORDS, some, uuid_text


def _words(chance: random.Random) -> str:
    return "".join(word.capitalize() for word in chance.sample(WORDS, 3))


# What no rule may touch, by kind.
HARMLESS: Mapping[str, Callable[[random.Random], str]] = {
    "SHA-1 commit ids": lambda c: f"commit {some(c, 40, HEX)}\nMerge: {some(c, 7, HEX)}",
    "SHA-256 sums": lambda c: f"{some(c, 64, HEX)}  dist/app-{c.randrange(9)}.tar.gz",
    "checksum fields": lambda c: f"checksum: {some(c, 64, HEX)}\netag: {some(c, 32, HEX)}",
    "UUIDs": lambda c: f'"request_id": "{uuid_text(c)}", session: {uuid_text(c)}',
    "base64 images": lambda c: f"url(data:image/png;base64,iVBORw0KGgo{some(c, 300, BASE64)})",
    "base64 fonts": lambda c: (
        f"src: url(data:font/woff2;base64,d09GMgABAAAA{some(c, 300, BASE64)})"
    ),
    "lock-file integrity": lambda c: f'"integrity": "sha512-{some(c, 86, BASE64)}=="',
    "lock-file hashes": lambda c: f"    --hash=sha256:{some(c, 64, HEX)} \\",
    "Go sums": lambda c: f"example.org/x v1.{c.randrange(99)}.0 h1:{some(c, 43, BASE64)}=",
    "minified JS": lambda c: (
        f"var {some(c, 2, LOWER)[::-1].lstrip('0123456789') or 'e'}=function(t,n)"
        "{return t.token===n.password||!t.secretKey&&e(t.apiKey=n.getToken())};"
    ),
    "i18n keys": lambda c: (
        f'"auth.password.{c.choice(WORDS)}": "Enter your password", "login.token.expired": '
        f'"Your token has expired", "secret.hint": "Never share it"'
    ),
    "CSS classes": lambda c: (
        f".token-{c.choice(WORDS)} {{ color: red }} .password-field:focus {{}} "
        '<input class="secret-input password__field--large" type="password">'
    ),
    "file paths": lambda c: f"src/{_words(c)}/{c.choice(WORDS)}{c.randrange(99)}/IndexPage.tsx",
    "paths of secrets": lambda c: f"private_key: /etc/ssl/{c.choice(WORDS)}/server.pem",
    "camelCase names": lambda c: f"handler = {_words(c)}{c.randrange(9)}BasedHandlerV2Factory",
    "snake_case names": lambda c: f"token_count = count_{c.choice(WORDS)}_tokens(password_hint)",
    "code about secrets": lambda c: (
        f"password = form.{c.choice(WORDS)}.data\ntoken = get_token(user)\n"
        "api_key: str | None = None\nsecret = os.environ['APP_SECRET']\n"
        "if not verify(password, user.password_hash): raise BadPassword"
    ),
    "types": lambda c: (
        f"interface {_words(c)} {{ token: string; password?: string; apiKey: SecretString }}"
    ),
    "test placeholders": lambda c: (
        f'password="changeme" token=your-token-here API_KEY=<your key> secret: "xxxxxxxx" '
        f"NPM_TOKEN=${{NPM_TOKEN}} password=test-password {c.choice(WORDS)}"
    ),
    "prose on passwords": lambda c: (
        f"The password policy of {c.choice(WORDS)} is strict: a password must be twelve "
        "characters long. Reset the password to continue. Password: required for admins."
    ),
    "prose on tokens": lambda c: (
        f"We use {c.randrange(2, 90)},000 tokens; the token limit is high, max_tokens=4096. "
        "The secret to success is patience, and refresh tokens expire after 15 minutes."
    ),
    "Kubernetes": lambda c: (
        f"image: r.example.org/{c.choice(WORDS)}@sha256:{some(c, 64, HEX)}\n"
        f"secretKeyRef:\n  name: {c.choice(WORDS)}-secrets\n  key: token\n"
        f"pod: shop-{some(c, 9, LOWER)}-{some(c, 5, LOWER)}\nsecretName: {c.choice(WORDS)}-tls"
    ),
    "Docker": lambda c: (
        f"sha256:{some(c, 64, HEX)}: Pull complete\nDigest: sha256:{some(c, 64, HEX)}"
    ),
    "phone numbers": lambda c: (
        f"Call +49 {c.randrange(100, 999)} {c.randrange(10**6, 10**7)} today"
    ),
    "ISBNs": lambda c: (
        f"ISBN: 978-3-{c.randrange(10, 99)}-{c.randrange(10**5, 10**6)}-{c.randrange(9)}"
    ),
    "URLs": lambda c: f"https://example.org/{c.choice(WORDS)}/a-b_{some(c, 8)}?page=2&sort=asc#top",
    "traces": lambda c: (
        f'File "app/{c.choice(WORDS)}.py", line {c.randrange(999)}, in check_token\n'
        "main.py:12:5: error: Incompatible types [assignment]\nTokenExpiredError: token expired"
    ),
    "versions": lambda c: f"mysql -u root -p shop; python3.{c.randrange(9, 15)} tokenizers==0.2.1",
    "public keys": lambda c: f"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{some(c, 43, BASE64)} ann@host",
    "XML about secrets": lambda c: (
        f'<input name="password" value="{c.choice(WORDS)}"/><password>Required</password>'
        '<xs:element name="token" type="xs:string"/>'
    ),
    "OpenAPI": lambda c: (
        "password:\n  type: string\n  format: password\n  description: Your password\n"
        f"securitySchemes:\n  apiKey:\n    name: X-{c.choice(WORDS)}-Key\n    in: header"
    ),
    "Terraform": lambda c: (
        f"password = var.{c.choice(WORDS)}_password\n"
        f"token = data.vault_secret.{c.choice(WORDS)}.data"
    ),
    "tests": lambda c: (
        f"assert token == expected_token\nwith raises(InvalidToken, match='{c.choice(WORDS)}'): ..."
    ),
    "commit messages": lambda c: (
        f"fix(auth): rotate the {c.choice(WORDS)} token on logout, "
        f"keep password reset (#12{c.randrange(99)})"
    ),
    "snapshots": lambda c: f"snapshot_{some(c, 12, HEX)}: build {_words(c)} {c.randrange(10**9)}",
}
