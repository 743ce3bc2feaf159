"""Texts that only look as if they held a secret, by kind; made at run time.

In a form `{x40}` is so many hexadecimal digits, `l` small
letters and digits, `w` letters and digits, `b` base64, `u` its URL-safe form, `U` capitals and
digits, `d` digits; `{UUID}`, `{W}` a word and `{Ww}` a name in camel case. `changeme`, `your-…-here`,
`xxxxxxxx` and the like count as placeholders: who writes them documents, and a warning that is
always wrong teaches people to ignore it.
"""

# ruff: noqa: E501 - a sample is easier to read in one line

from __future__ import annotations

import random

from redaction_samples.credentials import NAMED, WORDS, some, uuid_text
from redaction_samples.phrasings import SPOKEN

HARMLESS: dict[str, tuple[str, ...]] = {
    "git": (
        "commit {x40}\nMerge: {x7} {x7}\nAuthor: Ann <ann@example.org>",
        "fixed in {x7}, see {x40}",
        "git cherry-pick {x12}",
        "{x7} (HEAD -> main, origin/main) Rotate the token on logout",
        "index {x10}..{x10} 100644",
        "bisect: first bad commit is {x40}",
        "https://github.com/acme/shop/commit/{x40}",
        'Co-authored-by: Bob\nFixes: {x12} ("auth: check the password twice")',
    ),
    "checksums": (
        "{x64}  dist/app-1.2.tar.gz",
        "checksum: {x64}\netag: {x32}",
        "sha256:{x64}: Pull complete",
        "md5sum {x32}  a.iso",
        "SHA512 (app.tgz) = {x64}{x64}",
        'ETag: W/"{x32}"',
        "Digest: sha256:{x64}",
        "Content-MD5: {b22}==",
        "cache key {x64} was a hit",
        "blake2b {x64} model.bin",
    ),
    "UUIDs": (
        '"request_id": "{UUID}", "session": "{UUID}"',
        "trace {UUID} took 12 ms",
        "order_id={UUID}",
        "correlationId: {UUID}",
        "/api/users/{UUID}/orders",
        "urn:uuid:{UUID}",
        "INSERT INTO orders (id) VALUES ('{UUID}');",
        "tenant {UUID}, subscription {UUID}",
    ),
    "lock files": (
        '"integrity": "sha512-{b86}=="',
        "    --hash=sha256:{x64} \\",
        "example.org/x v1.4.0 h1:{b43}=",
        'checksum = "{x64}"',
        '  resolved "https://registry.yarnpkg.com/a/-/a-1.0.0.tgz#{x40}"\n  integrity sha1-{b27}=',
        '{file = "a-1.0-py3-none-any.whl", hash = "sha256:{x64}"}',
        "a@1.0.0:\n    resolution: {integrity: sha512-{b86}==}",
        'narHash = "sha256-{b43}=";',
        '"content-hash": "{x32}"',
        'source = "registry+https://github.com/rust-lang/crates.io-index"\nchecksum = "{x64}"',
    ),
    "base64 images": (
        "url(data:image/png;base64,iVBORw0KGgo{b300})",
        "src: url(data:font/woff2;base64,d09GMgABAAAA{b300})",
        '<img src="data:image/jpeg;base64,/9j/4AAQSkZJRg{b400}"/>',
        "data:image/svg+xml;base64,PHN2Zy{b200}",
        '"image/png": "iVBORw0KGgo{b300}"',
        "![logo](data:image/gif;base64,R0lGODlh{b120})",
    ),
    "minified code": (
        "var e=function(t,n){return t.token===n.password||!t.secretKey&&e(t.apiKey=n.getToken())};",
        "!function(e){e.password=e.password||t.pwd;var n=e.token}(window);",
        "const{token:a,apiKey:b}=c;d({headers:{Authorization:`Bearer ${a}`}});",
        "a.exports={getSecret:function(b){return b.secret},key:function(c){return c.keyCode}}",
        ".{W}-token{color:#{x6}}.pw{margin:0}/*# sourceMappingURL=a.{x8}.css.map */",
        'n.createElement("input",{type:"password",name:"password",autoComplete:"off"})',
    ),
    "placeholders": (
        "API_KEY=your-api-key-here",
        "token: <token>",
        "password=${DB_PASSWORD}",
        "password: ********",
        "secret: xxxxxxxx",
        "DB_PASSWORD=changeme",
        "NPM_TOKEN=${NPM_TOKEN}",
        'api_key: "<your key>"',
        "postgres://user:password@localhost/db",
        "OPENAI_API_KEY=sk-...",
        "password = [redacted: secret]",
        "STRIPE_KEY={{ vault_stripe_key }}",
        "password: REPLACE_ME",
        "GITHUB_TOKEN=ghp_xxxxxxxxxxxxxxxxxxxx",
        'token = "INSERT_TOKEN_HERE"',
        "secret=%SECRET%",
        "Authorization: Bearer <access-token>",
        "password: (hidden)",
        "https://user:pass@example.com/path",
        "api-key: TODO",
        "mysql://USER:PASSWORD@HOST:3306/DB",
        "curl -u username:password https://example.com",
        "DB_PASS=…",
        "SECRET_KEY=dummy",
        "password: null",
        'token: ""',
        "API_KEY=abc123...",
    ),
    "environment": (
        "token = os.environ['APP_TOKEN']",
        "const key = process.env.API_KEY;",
        'mysql -u app -p"$DB_PASS" shop',
        'curl -H "Authorization: Bearer $TOKEN" https://api.example.org',
        "password: ${{ secrets.DB_PASSWORD }}",
        'docker login -u app -p "$REGISTRY_PASSWORD"',
        'let secret = std::env::var("APP_SECRET")?;',
        'api_key := os.Getenv("API_KEY")',
        'curl -u "$USER:$PASS" https://example.org',
        "PGPASSWORD=$(pass show db) psql -h db",
        "password = var.{W}_password",
        "sshpass -e ssh app@host",
        'token = data.vault_generic_secret.{W}.data["token"]',
        "--token=$(gcloud auth print-access-token)",
        "redis-cli -a $REDIS_AUTH ping",
        'ENV["SECRET_KEY_BASE"]',
        "password: !vault |",
        "api_key = settings.API_KEY",
        "helm install x --set db.password=$DB_PW",
        "$env:API_KEY | az login --service-principal -p $env:SP_SECRET",
    ),
    "type signatures": (
        "def login(user: str, password: str) -> Token: ...",
        "token: Optional[str] = None",
        "interface {Ww} { token: string; password?: string; apiKey: SecretString }",
        "api_key: str | None = None",
        "fn verify(secret: &[u8], token: &str) -> Result<Claims>",
        "func NewClient(apiKey string, opts ...Option) *Client",
        "private readonly password: string;",
        "public void setPassword(char[] password) {",
        "password: SecretStr = Field(min_length=12)",
        "type Secret = { key: Uint8Array; token: Token }",
        "passphrase: Callable[[], bytes] | None = None",
        "val token: String? = null",
    ),
    "SQL": (
        "CREATE TABLE users (id INT PRIMARY KEY, password_hash TEXT NOT NULL, token VARCHAR(64));",
        "ALTER TABLE users ADD COLUMN api_key TEXT;",
        "SELECT password FROM users WHERE id = ?;",
        "UPDATE users SET password = $1 WHERE token = $2 RETURNING id;",
        "FOREIGN KEY (token_id) REFERENCES tokens(id)",
        "INSERT INTO secrets (name, key) VALUES (?, ?);",
        "CREATE UNIQUE INDEX idx_token ON sessions (token, {W});",
        "password character varying(255) DEFAULT ''::character varying",
        "CREATE ROLE app LOGIN PASSWORD :'app_password';",
    ),
    "regular expressions": (
        r"password_re = re.compile(r'^(?=.*[A-Z])(?=.*\d).{12,}$')",
        r"token: /^[a-f0-9]{64}$/i",
        r"(?i)api[_-]?key\s*[:=]\s*\S+",
        r"pattern: '^[A-Za-z0-9+/]{43}=$' # secret key",
        r"grep -E 'password=[^&]+' access.log",
        r"sed 's/token=[^ ]*/token=***/'",
        r"const KEY = /\bsk-[a-zA-Z0-9]{20,}\b/g",
        r"passwd ~ '[^[:alnum:]]'",
    ),
    "translations": (
        '"auth.password.{W}": "Enter your password", "login.token.expired": "Your token has expired"',
        "password: Passwort\nlogin: Anmelden\ntoken: Token",
        'msgid "Password"\nmsgstr "Mot de passe"',
        "forgot_password=Passwort vergessen?\nnew_password=Neues Passwort",
        '<string name="password_hint">Contraseña nueva</string>',
        '"password": "Mot de passe", "secret": "Secret", "token": "Jeton"',
        "password_label: 'パスワード'",
        '"apiKey": { "label": "API-Schlüssel", "help": "Im Profil zu finden" }',
    ),
    "test names": (
        "def test_password_is_hashed_before_it_is_stored() -> None:",
        "it('rejects a token that has expired', async () => {",
        "tests/test_token_{W}.py::test_secret_{W}_is_hidden PASSED",
        "describe('PasswordResetToken', () => {",
        "func TestTokenRefresh_{Ww}(t *testing.T) {",
        "FAILED tests/auth/test_login.py::test_wrong_password[{W}-2] - AssertionError",
        "@Test void passwordMustNotBeEmpty{Ww}() {",
        "Scenario: a user with an expired password of {W} logs in",
    ),
    "CSS and HTML": (
        ".token-{W} { color: red } .password-field:focus {}",
        '<input class="secret-input" type="password" name="password">',
        '<label for="password">Password</label><input id="password" type="password" required>',
        ".hljs-token.keyword { font-weight: 600 }",
        "--{W}-token-color: #{x6};",
        '<input name="password" value="{{ form.password }}"/>',
        "grid-template-areas: 'key value' 'token {W}'",
    ),
    "versions": (
        "tokenizers==0.2{d1}.1, passlib==1.7.{d1}",
        "python3.{d2} -m secrets",
        "upgraded jsonwebtoken from 8.5.{d1} to 9.0.{d1}",
        '"@types/jsonwebtoken": "^9.0.{d1}"',
        "keyring 25.{d1}.0 requires secretstorage>=3.2",
        "token-service v2.{d2}.0-rc.1+build.{d4}",
        "image: vault:1.15.{d1}",
        "passport-jwt@4.0.{d1}",
    ),
    "URLs": (
        "https://example.org/{W}/a-b_{w8}?page=2&sort=asc#top",
        "https://docs.example.org/auth/api-keys/rotate-{W}",
        "git clone git@github.com:acme/{W}.git",
        "http://localhost:80{d2}/reset-password?lang=de",
        "https://docs.google.com/document/d/{W}-{W}/edit",
        "https://example.org/oauth/token?grant_type=client_credentials",
        "postgres://db.internal:5432/shop",
        "redis://cache:6379/{d1}",
        "https://bob@git.example.org/acme/{W}.git",
        "ssh://git@gitlab.example.org:22{d2}/acme/{W}.git",
        "https://youtu.be/{u11}",
    ),
    "numbers": (
        "port 54{d2}, issue #{d4}, PR 1{d4}",
        "Call +49 {d3} {d7} today",
        "max_tokens=40{d2}, temperature 0.7",
        "the key takes 12{d2} ms on port 80{d2}",
        "ticket ABC-{d4}: password reset mail is late",
        "ISBN 978-3-{d2}-{d6}-{d1}",
        "we count {d2},000 tokens a day; the limit is {d3},000",
        "2026-0{d1}-1{d1}T10:{d2}:00Z token refreshed in 0.{d3} s",
        "IBAN field, pin count {d2}, key length 2048",
    ),
    "paths": (
        "src/{Ww}/{W}{d2}/IndexPage.tsx",
        "private_key: /etc/ssl/{W}/server.pem",
        "password_file = /run/secrets/db_password",
        "--cacert ~/.certs/{W}/ca.crt --key ./tls/{W}.key",
        "token_path: C:\\Users\\Public\\tokens\\{W}.json",
        "GOOGLE_APPLICATION_CREDENTIALS=/etc/gcp/{W}.json",
        "node_modules/.pnpm/@babel+core@7.2{d1}.0_{l12}/node_modules",
        "secret: app/config/secrets/{W}.enc.yaml",
        "ssh -i ~/.ssh/id_ed25519_{W} app@host",
    ),
    "public keys": (
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{b43} ann@host",
        "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABgQ{b360}= bob@host",
        "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0B{b44}\n{b64}\n-----END PUBLIC KEY-----",
        "SHA256:{b43} ann@host (ED25519)",
        "known_hosts: github.com ecdsa-sha2-nistp256 AAAAE2VjZHNh{b100}=",
        'public_key = "{b43}="',
        "age1{l58}",
    ),
    "certificates": (
        "-----BEGIN CERTIFICATE-----\nMIID{b60}\n{b64}\n{b64}\n{b40}==\n-----END CERTIFICATE-----",
        "-----BEGIN CERTIFICATE REQUEST-----\nMIIC{b60}\n{b64}\n-----END CERTIFICATE REQUEST-----",
        "subject=CN={W}.example.org serial={x16} SHA1 Fingerprint={x2}:{x2}:{x2}:{x2}",
        "certificate-authority-data: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t{b160}",
    ),
    "code about secrets": (
        "if password == expected:\n    return token",
        "password = form.{W}.data\ntoken = get_token(user)",
        "if not verify(password, user.password_hash): raise BadPassword",
        "secret = secrets.token_urlsafe(32)",
        'assert response.json()["token"] == expected_token',
        "user.set_password(new_password)",
        "const { password, ...rest } = user;",
        "token = request.headers.get('Authorization', '').removeprefix('Bearer ')",
        "apiKey: config.get<string>('{W}.apiKey'),",
        "password=getpass.getpass('Password: ')",
        "cipher = Fernet(key)",
        "for token in tokens: counts[token] += 1",
        "return key in cache and cache[key].token is not None",
        "@RequirePassword({W}Controller.class)",
        "private_key = ec.generate_private_key(ec.SECP256R1())",
        "password?.length >= MIN_PASSWORD_LENGTH",
    ),
    "long identifiers": (
        "handler = {Ww}{d1}BasedHandlerV2Factory",
        "token_count = count_{W}_tokens(password_hint)",
        "snapshot_{x12}: build {Ww}",
        "org.springframework.security.authentication.UsernamePasswordAuthenticationToken",
        "AbstractSingletonProxy{Ww}FactoryBeanWithSecretKeyResolver",
        "aws_secretsmanager_secret_version.{W}_database_credentials",
        "arn:aws:secretsmanager:eu-west-1:{d12}:secret:{W}-db",
        "KEY_{U4}_PASSWORD_POLICY_MINIMUM_LENGTH",
        "pod shop-{l9}-{l5} uses secret {W}-tls",
        "com.acme.{W}.token.RefreshTokenRepositoryImpl#findByToken",
    ),
    "Kubernetes and Terraform": (
        "secretKeyRef:\n  name: {W}-secrets\n  key: token",
        "image: r.example.org/{W}@sha256:{x64}",
        "secretName: {W}-tls",
        "valueFrom:\n  secretKeyRef:\n    name: db\n    key: password",
        'resource "random_password" "{W}" {\n  length = 24\n  special = true\n}',
        "kind: SealedSecret\nmetadata:\n  name: {W}",
        "automountServiceAccountToken: false",
        "kms_key_id = aws_kms_key.{W}.arn",
        "imagePullSecrets:\n- name: {W}-registry",
    ),
    "schemas": (
        "password:\n  type: string\n  format: password\n  description: Your password",
        "securitySchemes:\n  apiKey:\n    type: apiKey\n    name: X-{W}-Key\n    in: header",
        '{"properties": {"token": {"type": "string", "minLength": 20}}, "required": ["password"]}',
        '<xs:element name="password" type="xs:string"/>',
        "message Login { string user = 1; string password = 2; bytes token = 3; }",
        "input LoginInput { password: String! token: ID }",
        "password: z.string().min(12), token: z.uuid()",
    ),
    "logs and errors": (
        'File "app/{W}.py", line {d3}, in check_token',
        "TokenExpiredError: token expired",
        "ERROR invalid password for user {W}",
        'psql: error: FATAL: password authentication failed for user "{W}"',
        "remote: Invalid username or password.",
        "401 Unauthorized: missing API key",
        "npm ERR! code EOTP This operation requires a one-time password",
        "SyntaxError: Unexpected token < in JSON at position {d2}",
        "error: unexpected token: {W}",
        "[{d2}:{d2}] parse error near token 'key'",
        "Permission denied (publickey,password).",
    ),
    "commit messages": (
        "fix(auth): rotate the {W} token on logout (#12{d2})",
        "Add password reset for {W}",
        "refactor: move secret handling to {W}, drop the api key cache",
        "chore(deps): bump jsonwebtoken from 8.5.1 to 9.0.{d1}",
        'Revert "Store the passphrase of {W} in the keychain"',
        "docs: tell how to get a token for {W}",
    ),
    "tables without values": (
        "| Name | Type | Meaning |\n|---|---|---|\n| password | string | of the {W} |",
        "user,password_hash_algorithm,role\napp,argon2id,admin",
        "| Setting | Default | About |\n|:--|:--|:--|\n| token | none | from the environment |\n| key | {W} | |",
        "FLAG          MEANING\n--password    asks for the password\n--token       reads a token",
        "| password | required | min 12 |",
        "feature;secret;owner\n{W};no;platform",
        "Password   : required\nToken      : optional",
    ),
    "commands without values": (
        "mysql -u root -p shop",
        "docker login -u app --password-stdin < ~/token",
        "mkdir -p {W}/tokens && cp -u a b",
        "ssh -p 22{d2} app@host",
        "psql -h db -p 54{d2} -U app -W shop",
        "docker run -p 80{d2}:80 -u 1000 nginx",
        "gh auth token | docker login ghcr.io -u {W} --password-stdin",
        "openssl rand -hex 32",
        "pass insert {W}/db",
        "kubectl get secret {W} -o yaml",
        "vault kv get -field=password secret/{W}",
        "passwd {W}",
        "tar -xzf {W}.tgz -C /opt && rsync -a -u a/ b/",
        "ssh-keygen -t ed25519 -C {W}@example.org",
        "npm token list; npm run test -- -p {W}",
        "cp -p {W}.txt /tmp && unzip -P",
    ),
}
CJK = (
    "我们把会话从内存改到数据库，因为重启以后用户会掉线。",
    "リポジトリの構成を見直し、キャッシュのキーを短くしました。",
    "배포 스크립트를 정리하고 토큰 갱신 로직을 옮겼습니다.",
    "构建失败的原因是Node版本太低，升级到二十以后恢复正常。",
    "トークン数が上限を超えたので、要約を短くすることにした。",
    "테스트가 느려서 데이터베이스를 메모리로 바꾸었고 키 길이는 그대로입니다.",
    "這個函式會檢查密碼長度，並在失敗時丟出例外。",
)
HARMLESS["CJK prose"] = CJK
for _language, _forms in SPOKEN.items():
    HARMLESS[f"prose: {_language}"] = _forms


def filled(chance: random.Random, form: str) -> str:
    """Return the form with everything made that it names."""
    pieces: list[str] = []
    while form:
        literal, opened, form = form.partition("{")
        pieces.append(literal)
        if not opened:
            break
        name, closed, rest = form.partition("}")
        value = _value(chance, name) if closed else None
        pieces.append("{" if value is None else value)
        form = form if value is None else rest
    return "".join(pieces)


def _value(chance: random.Random, name: str) -> str | None:
    if name == "UUID":
        return uuid_text(chance)
    if name == "W":
        return chance.choice(WORDS)
    if name == "Ww":
        return "".join(word.capitalize() for word in chance.sample(WORDS, 3))
    alphabet = {"d": "0"}.get(name[:1], name[:1])
    if alphabet in NAMED and name[1:].isdigit() and name[:1] in "xlwbuUd":
        return some(chance, int(name[1:]), NAMED[alphabet])
    return None
