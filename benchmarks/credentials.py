"""Credentials, made at run time: no source holds one.

A kind makes a text from a source of chance: the part that must be gone (`core`), and the whole that
stands in a surrounding (for a connection string, the string). Half of the surroundings and of the
names are held out: rules were never tried on them.
"""

from __future__ import annotations

import base64
import random
import string
from collections.abc import Callable, Mapping
from typing import NamedTuple

ALNUM = string.ascii_letters + string.digits
LOWER = string.ascii_lowercase + string.digits
HEX = "0123456789abcdef"
URL_SAFE = ALNUM + "_-"
BASE64 = ALNUM + "+/"
WORDS = (
    "apple river stone cloud winter garden silver candle forest bridge copper meadow lemon anchor "
    "violin marble rocket saddle tiger velvet window yellow basket circle".split()
)


class Planted(NamedTuple):
    """A credential: `core` must not be found again; `whole` is the text that holds it."""

    core: str
    whole: str


Kind = Callable[[random.Random], Planted]


def some(chance: random.Random, size: int, alphabet: str = ALNUM) -> str:
    """Characters at random, of every class that the alphabet has."""
    classes = [string.ascii_lowercase, string.ascii_uppercase, string.digits]
    sure = [chance.choice(have) for c in classes if (have := [x for x in alphabet if x in c])][
        :size
    ]
    rest = [chance.choice(alphabet) for _ in range(size - len(sure))]
    found = sure + rest
    chance.shuffle(found)
    return "".join(found)


def _shape(head: str, size: int, alphabet: str = ALNUM, tail: str = "") -> Kind:
    def make(chance: random.Random) -> Planted:
        core = some(chance, size, alphabet)
        return Planted(core, head + core + tail)

    return make


def _jwt(chance: random.Random) -> Planted:
    head, claims, seal = (some(chance, n, URL_SAFE) for n in (24, 80, 43))
    return Planted(claims, f"ey{'J'}{head}.ey{'J'}{claims}.{seal}")


def _aws_pair(chance: random.Random) -> Planted:
    core = some(chance, 40, BASE64)
    id_ = some(chance, 16, string.ascii_uppercase + string.digits)
    return Planted(core, f"AK{'IA'}{id_} {core}")


def _discord(chance: random.Random) -> Planted:
    core = some(chance, 32, URL_SAFE)
    return Planted(core, f"M{some(chance, 23)}.{some(chance, 6)}.{core}")


def _sendgrid(chance: random.Random) -> Planted:
    core = some(chance, 43, URL_SAFE)
    return Planted(core, f"S{'G.'}{some(chance, 22, URL_SAFE)}.{core}")


def _telegram(chance: random.Random) -> Planted:
    core = some(chance, 33, URL_SAFE)
    return Planted(core, f"{chance.randrange(10**8, 10**10)}:A{'A'}{core}")


def _slack_hook(chance: random.Random) -> Planted:
    core = some(chance, 24)
    ids = "/".join(c + some(chance, 10, string.ascii_uppercase + string.digits) for c in "TB")
    return Planted(core, f"https://hooks.slack.com/{'services'}/{ids}/{core}")


def _key_block(kind: str, lines: int, newline: str) -> Kind:
    def make(chance: random.Random) -> Planted:
        body = [some(chance, 64, BASE64) for _ in range(lines)]
        begin, end = (f"{'-' * 5}{word} {kind}{'-' * 5}" for word in ("BEGIN", "END"))
        return Planted(body[lines // 2], newline.join([begin, *body, end]))

    return make


def _base64_key(chance: random.Random) -> Planted:
    block = _key_block("PRIVATE KEY", 6, "\n")(chance).whole
    whole = base64.b64encode(block.encode()).decode()
    return Planted(whole[60:200], whole)


def _password(chance: random.Random) -> str:
    return some(chance, chance.randrange(10, 20), ALNUM + "!#%^*-_.")


def _in(template: str, make: Callable[[random.Random], str] = _password) -> Kind:
    def planted(chance: random.Random) -> Planted:
        core = make(chance).strip("-.!_%^*#") + "7q"
        return Planted(core, template.replace("{}", core))

    return planted


def _account_key(chance: random.Random) -> str:
    return some(chance, 86, BASE64)


# Shapes that issuers publish: known wherever they stand.
SHAPES: Mapping[str, Kind] = {
    "AWS access key id": _shape("AK" + "IA", 16, string.ascii_uppercase + string.digits),
    "GitHub token": _shape("gh" + "p_", 36),
    "GitHub fine-grained": _shape("github" + "_pat_", 82, ALNUM + "_"),
    "GitLab token": _shape("gl" + "pat-", 20, URL_SAFE),
    "GitLab runner token": _shape("gl" + "rt-", 20, URL_SAFE),
    "OpenAI project key": _shape("s" + "k-proj-", 120, URL_SAFE),
    "Anthropic key": _shape("s" + "k-ant-api03-", 95, URL_SAFE),
    "Stripe key": _shape("s" + "k_live_", 24),
    "Stripe webhook secret": _shape("wh" + "sec_", 32),
    "Slack bot token": _shape("xo" + "xb-", 40, ALNUM),
    "Slack app token": _shape("xa" + "pp-1-A01-", 60, LOWER),
    "Slack webhook": _slack_hook,
    "Google API key": _shape("AI" + "za", 35, URL_SAFE),
    "Google OAuth token": _shape("ya" + "29.", 80, URL_SAFE),
    "Google client secret": _shape("GOC" + "SPX-", 28, URL_SAFE),
    "npm token": _shape("np" + "m_", 36),
    "PyPI token": _shape("py" + "pi-", 150, URL_SAFE),
    "RubyGems key": _shape("ruby" + "gems_", 48, HEX),
    "Hugging Face token": _shape("h" + "f_", 34),
    "Replicate token": _shape("r" + "8_", 37),
    "Groq key": _shape("gs" + "k_", 52),
    "SendGrid key": _sendgrid,
    "Mailgun key": _shape("ke" + "y-", 32, HEX),
    "Twilio key": _shape("S" + "K", 32, HEX),
    "Telegram bot token": _telegram,
    "Discord bot token": _discord,
    "Shopify token": _shape("shp" + "at_", 32, HEX),
    "Square token": _shape("sq0" + "atp-", 22, URL_SAFE),
    "Atlassian token": _shape("ATA" + "TT3xFfGF0", 180, URL_SAFE, "=A1B2C3D4"),
    "Linear key": _shape("lin" + "_api_", 40),
    "Notion token": _shape("nt" + "n_", 46),
    "Figma token": _shape("fig" + "d_", 40, URL_SAFE),
    "Postman key": lambda c: Planted(
        tail := some(c, 34, HEX), f"PM{'AK-'}{some(c, 24, HEX)}-{tail}"
    ),
    "DigitalOcean token": _shape("dop" + "_v1_", 64, HEX),
    "Databricks token": _shape("da" + "pi", 32, HEX),
    "Docker token": _shape("dckr" + "_pat_", 27, URL_SAFE),
    "Doppler token": _shape("dp" + ".pt.", 43),
    "Vault token": _shape("hv" + "s.", 90, URL_SAFE),
    "Terraform token": lambda c: Planted(
        tail := some(c, 67, URL_SAFE), f"{some(c, 14)}.atl{'asv1'}.{tail}"
    ),
    "New Relic key": _shape("NR" + "AK-", 27, string.ascii_uppercase + string.digits),
    "Grafana token": _shape("gl" + "sa_", 41, ALNUM + "_"),
    "Sentry token": _shape("sn" + "tryu_", 64, HEX),
    "Supabase token": _shape("sb" + "p_", 40, HEX),
    "PlanetScale token": _shape("pscale" + "_tkn_", 43, URL_SAFE),
    "Tailscale key": _shape("ts" + "key-auth-", 30, ALNUM),
    "Azure client secret": lambda c: Planted(
        tail := some(c, 34, ALNUM + "_~."), f"{some(c, 3)}8Q{'~'}{tail}"
    ),
    "age key": _shape("AGE-SECRET" + "-KEY-1", 58, string.ascii_uppercase + string.digits),
    "JWT": _jwt,
    "AWS id and secret": _aws_pair,
    "private key": _key_block("PRIVATE KEY", 12, "\n"),
    "OpenSSH key": _key_block("OPENSSH PRIVATE KEY", 8, "\n"),
    "PGP key": _key_block("PGP PRIVATE KEY BLOCK", 12, "\n"),
    "key in one line": _key_block("RSA PRIVATE KEY", 6, "\\n"),
    "key in base64": _base64_key,
}
# Known by how they are written: connection strings, commands, headers, files of clients.
WRITTEN: Mapping[str, Kind] = {
    "URL with password": _in("postgres://app:{}@db.example.org:5432/shop"),
    "URL without user": _in("redis://:{}@cache.internal:6379/0"),
    "URL with token": _in("https://{}@git.example.org/acme/shop.git", lambda c: some(c, 40)),
    "JDBC": _in("jdbc:postgresql://db.internal/shop?user=app&password={}&ssl=true"),
    "ADO.NET": _in("Server=tcp:db.internal,1433;Database=shop;User Id=app;Password={};Encrypt=yes"),
    "ODBC": _in("Driver={ODBC Driver 18};Server=db;Uid=app;Pwd={}"),
    "Azure storage": _in(
        "DefaultEndpointsProtocol=https;AccountName=shop;AccountKey={}==;EndpointSuffix=x",
        _account_key,
    ),
    "Azure service bus": _in(
        "Endpoint=sb://shop.example.net/;SharedAccessKeyName=root;SharedAccessKey={}=",
        lambda c: some(c, 43, BASE64),
    ),
    "SAS signature": _in(
        "https://shop.blob.example.net/c/b?sv=2024-01-01&se=2026-01-01&sig={}%3D",
        lambda c: some(c, 43),
    ),
    "libpq words": _in("host=db.internal port=5432 dbname=shop user=app password={}"),
    "PGPASSWORD": _in("PGPASSWORD={} psql -h db.internal -U app shop"),
    "mysql -p": _in("mysql -h db.internal -u app -p{} shop"),
    "mysqldump --password": _in("mysqldump -u app --password={} shop > shop.sql"),
    "--password x": _in("deploy --user app --password {} --region eu"),
    "--token x": _in("helm-push --token {} chart", lambda c: some(c, 24, LOWER)),
    "docker login -p": _in("docker login registry.example.org -u app -p {}"),
    "curl -u": _in("curl -u app:{} https://api.example.org/v1/orders"),
    "redis-cli -a": _in("redis-cli -h cache -a {} ping"),
    "sshpass": _in("sshpass -p {} ssh app@host"),
    "SQL": _in("ALTER USER app WITH PASSWORD '{}';"),
    "SQL identified by": _in("CREATE USER 'app'@'%' IDENTIFIED BY '{}';"),
    ".netrc": _in("machine api.example.org login app password {}"),
    ".pgpass": _in("db.internal:5432:shop:app:{}"),
    ".npmrc": _in("//registry.example.org/:_authToken={}", lambda c: some(c, 40)),
    "docker config": _in('{"auths":{"r.example.org":{"auth":"{}"}}}', lambda c: some(c, 32)),
    "bearer header": _in("Authorization: Bearer {}", lambda c: some(c, 40)),
    "basic header": _in("Authorization: Basic {}", lambda c: some(c, 28)),
    "token header": _in("Authorization: Token {}", lambda c: some(c, 40, HEX)),
    "bare header": _in("Authorization: {}", lambda c: some(c, 32, HEX)),
    "key header": _in("X-Api-Key: {}", lambda c: some(c, 32, LOWER)),
    "cookie": _in("Cookie: theme=dark; sessionid={}; lang=en", lambda c: some(c, 32, LOWER)),
    "set-cookie": _in("Set-Cookie: sid={}; Path=/; HttpOnly", lambda c: some(c, 40)),
    "openssl": _in("openssl enc -aes-256-cbc -pass pass:{} -in a -out b"),
    "said in prose": _in("the database password is {}, please keep it"),
    "said for": _in("the password for the staging database is {}"),
    "said bare": _in("log in with password {} on staging"),
    "said behind": _in("use {} as the password"),
    "Markdown": _in("- **Password:** {}"),
    "table": _in("| password | {} |"),
    "XML": _in("<password>{}</password>"),
    "XML attribute": _in('<add key="DbPassword" value="{}"/>'),
    "Dockerfile": _in("ENV DB_PASSWORD {}"),
    "keytool": _in("keytool -list -keystore app.jks -storepass {}"),
    "passphrase": lambda c: Planted(
        words := " ".join(c.sample(WORDS, 5)), f'passphrase = "{words}"'
    ),
    "seed phrase": lambda c: Planted(
        words := " ".join(c.sample(WORDS, 12)), f"seed phrase: {words}"
    ),
}
# Forms that no rule was written for: what is missed here stays missed, and is printed.
WRITTEN_HELD: Mapping[str, Kind] = {
    "MongoDB URL": _in("mongodb+srv://app:{}@cluster0.example.net/shop?retryWrites=true"),
    "AMQP URL": _in("amqps://guest:{}@mq.internal//"),
    "clone URL": _in("git clone https://oauth2:{}@git.example.org/acme/shop.git"),
    "JDBC SQL Server": _in("jdbc:sqlserver://db:1433;user=app;password={};encrypt=true"),
    "quoted libpq": _in('psql "host=db user=app password={} sslmode=require"'),
    "mariadb -p": _in("mariadb --user=app -p'{}' shop"),
    "wget": _in("wget --user=app --http-password={} https://files.example.org/a.zip"),
    "curl --user": _in("curl --user 'app:{}' https://api.example.org"),
    "curl -H": _in("curl -H 'X-Auth-Token: {}' https://api.example.org", lambda c: some(c, 32)),
    "docker run -e": _in("docker run -e MYSQL_ROOT_PASSWORD={} mysql:8"),
    "az login": _in("az login --service-principal -u app -p {} --tenant acme"),
    "htpasswd": _in("htpasswd -b .htpasswd app {}"),
    "SET PASSWORD": _in("SET PASSWORD FOR 'app'@'%' = '{}';"),
    ".netrc over lines": _in("machine api.example.org\n  login app\n  password {}"),
    "proxy header": _in("Proxy-Authorization: Basic {}", lambda c: some(c, 28)),
    "header in code": _in('headers={"Authorization": "Bearer {}"}', lambda c: some(c, 36)),
    "express cookie": _in("Set-Cookie: connect.sid=s%3A{}; Path=/", lambda c: some(c, 32)),
    "form body": _in("grant_type=password&username=app&password={}&scope=all"),
    "properties": _in("spring.datasource.password={}"),
    "Ansible": _in("ansible_become_pass: {}"),
    "said with a comma": _in("Login: admin, Password: {}"),
    "said with an arrow": _in("the password -> {}"),
    "said with a slash": _in("creds: app / {}"),
    "said in German": _in("Das Passwort lautet {}"),
    "stdin": _in("echo '{}' | docker login -u app --password-stdin"),
    "YAML block": _in("password: |\n  {}"),
    "Kubernetes secret": _in(
        "kind: Secret\ndata:\n  db-password: {}", lambda c: some(c, 28, BASE64)
    ),
}
# Values without a shape: only the name beside them tells.
VALUES: Mapping[str, Kind] = {
    "password": lambda c: Planted(p := _password(c).strip("-.!_%^*#") + "7q", p),
    "weak password": lambda c: Planted(p := f"{c.choice(WORDS)}{c.randrange(10, 9999)}", p),
    "hex secret": lambda c: Planted(p := some(c, 40, HEX), p),
    "UUID as key": lambda c: Planted(p := uuid_text(c), p),
    "base64 secret": lambda c: Planted(p := some(c, 44, BASE64), p),
    "random letters": lambda c: Planted(p := some(c, 24), p),
}


def uuid_text(chance: random.Random) -> str:
    """Five groups of hexadecimal digits."""
    return "-".join(some(chance, n, HEX) for n in (8, 4, 4, 4, 12))


# Where a credential stands; NAME is the name of a secret, {} the credential.
AROUND: Mapping[str, Mapping[str, str]] = {
    "tune": {
        "prose": "Note to self: we rotate {} tomorrow and then deploy.",
        "env file": "DEBUG=1\nNAME={}\nPORT=80",
        "YAML": "app:\n  NAME: {}\n  port: 80",
        "JSON": '{"NAME": "{}", "port": 80}',
        "code": 'client = Client(NAME="{}", retries=3)',
        "shell": "export NAME={}\nmake deploy",
        "header": "X-NAME: {}\nAccept: */*",
        "log line": "2026-03-01 10:00:00 ERROR auth failed NAME={} user=app",
        "URL": "https://api.example.org/v1?page=2&NAME={}&x=1",
    },
    "held": {
        "prose": "He pasted {}, which must never reach the wiki!",
        "env file": "# staging\nNAME='{}'\n",
        "YAML": 'env:\n- NAME: "{}" # rotate\n',
        "JSON": '{"a":[{"NAME":"{}"}],"b":null}',
        "code": "const NAME = `{}`;\nfetch(url);",
        "shell": "NAME={} ./run.sh --verbose",
        "header": "< x-NAME: {}\r\n< date: today",
        "log line": '[warn] config dump: {NAME: "{}", retries: 3}',
        "URL": "wss://stream.example.org/feed?NAME={}",
    },
}
NAMES = {
    "tune": ("password", "API_KEY", "client_secret", "accessToken", "DB_PASS", "secretKey"),
    "held": ("PASSWD", "apikey", "signing_key", "refresh_token", "ADMIN_PWD", "private-key"),
}
