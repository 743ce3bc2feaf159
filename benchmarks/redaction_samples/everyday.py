"""Credentials in everyday work of developers: a set apart from both halves, to measure with.

A name in braces is a value: see `VALUES`. No rule was tuned on these forms when they were written.
"""

# ruff: noqa: E501 - a sample is easier to read in one line

from __future__ import annotations

import base64
import random
import string
from collections.abc import Callable, Mapping, Sequence
from urllib.parse import quote

from redaction_samples.credentials import (
    ALNUM,
    BASE64,
    HEX,
    LOWER,
    URL_SAFE,
    Make,
    jwt,
    some,
    uuid_text,
)

NOUNS = (
    "accordion bagel blanket cabbage caravan cathedral chimney compass cupboard dolphin "
    "elephant firefly gravel hammock iceberg jasmine kangaroo lavender mammoth meteor notebook "
    "octopus parachute peacock quarry raspberry sandwich scarecrow teapot thunder umbrella "
    "volcano waterfall xylophone yoghurt zeppelin"
).split()
UMLAUTS = "Käsekuchen Übermut Mähdrescher Größenwahn Tüftler Jürgenß Müßiggang Żółwik Señorita Élévateur".split()


def _strong(chance: random.Random) -> str:
    middle = some(chance, chance.randrange(9, 15), ALNUM + "!@%^*-_.+=?~")
    return some(chance, 1, string.ascii_letters) + middle + some(chance, 2, ALNUM)


def _wild(chance: random.Random) -> str:
    signs = "".join(chance.choice("!$%&()*+,;<=>?[]^{|}~") for _ in range(4))
    mixed = list(some(chance, 10) + signs)
    chance.shuffle(mixed)
    return some(chance, 1, string.ascii_letters) + "".join(mixed) + some(chance, 1)


def _encoded(chance: random.Random) -> str:
    plain = some(chance, 5) + chance.choice("@/:#?&") + some(chance, 6) + chance.choice("%!+")
    return quote(plain, safe="")


def _spaced(chance: random.Random) -> str:
    first, second = (some(chance, chance.randrange(4, 7)) for _ in range(2))
    return f"{first} {second} {chance.choice(NOUNS)}{chance.randrange(10, 99)}"


def _noun_year(chance: random.Random) -> str:
    noun = chance.choice(NOUNS)
    return chance.choice((noun.capitalize(), noun)) + chance.choice(
        (
            str(chance.randrange(1950, 2027)),
            f"{chance.randrange(10, 99)}!",
            f"_{chance.randrange(9)}",
        )
    )


def _words(chance: random.Random) -> str:
    return chance.choice((" ", "-", ".", "_")).join(chance.sample(NOUNS, chance.randrange(4, 6)))


def _umlauts(chance: random.Random) -> str:
    return (
        chance.choice(UMLAUTS)
        + chance.choice(("!", "#", "_", ""))
        + str(chance.randrange(10, 9999))
    )


def _digits(chance: random.Random) -> str:
    return "".join(chance.choice("2345678") for _ in range(chance.choice((4, 6, 6, 8))))


def _basic(chance: random.Random) -> str:
    return base64.b64encode(f"svc-{some(chance, 4, LOWER)}:{some(chance, 14)}".encode()).decode()


VALUES: Mapping[str, Make] = {
    "p": _strong,
    "w": _wild,
    "q": lambda chance: some(chance, chance.randrange(10, 17)),
    "e": _encoded,
    "o": _spaced,
    "y": lambda chance: some(chance, chance.randrange(9, 15), string.ascii_lowercase),
    "n": lambda chance: chance.choice(NOUNS),
    "h": _noun_year,
    "r": _words,
    "g": _umlauts,
    "i": _digits,
    "k": lambda chance: some(chance, chance.randrange(30, 46)),
    "x": lambda chance: some(chance, chance.choice((32, 40, 64)), HEX),
    "b": lambda chance: base64.b64encode(chance.randbytes(chance.choice((24, 32, 48)))).decode(),
    "u": uuid_text,
    "j": jwt,
    "t": lambda chance: some(chance, chance.choice((22, 32, 43)), URL_SAFE),
    "s": lambda chance: some(chance, chance.randrange(6, 8)),
    "AWS": lambda chance: some(chance, 40, BASE64),
    "BASIC": _basic,
    "TOTP": lambda chance: some(chance, 32, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"),
}

STATED: Mapping[str, Sequence[str]] = {
    "English": (
        "Just so you have it, the database password is {p}.",
        "For the demo you can log in with anna and {q} as password.",
        "We rotated the token this morning; the new one is {k}.",
        "Can you put {k} into the vault as the Stripe key?",
        "I changed the root password from {q} to {q} yesterday.",
        "If it asks for a secret, type {p} and hit enter.",
        "remember that the api key for the weather service is {x}",
        "The passcode of the shared calendar is {q}, tell Ravi.",
        "Password for staging? It's {p}.",
        "Use this secret for the webhook: {x}",
        "Our VPN password ({p}) expires in May.",
        "why does {p} not work as my sudo password?",
    ),
    "German": (
        "Das Passwort für die Datenbank lautet {p}.",
        "Melde dich mit anna und dem Kennwort {q} an.",
        "Der neue API-Schlüssel ist {k}, bitte eintragen.",
        "Ich habe das Root-Passwort auf {p} geändert.",
        "Zugangsdaten fürs Staging: qa, Passwort {q}",
        "WLAN-Schlüssel im Büro: {q}",
        "Merk dir: Das Geheimnis für den Webhook ist {x}",
        "Mit welchem Passwort? Mit {p}.",
        "Das Token heißt {k} und gilt bis Mai.",
        "Trag als Passwort bitte {p} ein",
        "Passwort vom Drucker war {q}, oder?",
        "Anmeldung: Benutzer anna, PW {q}",
    ),
    "French": (
        "Le mot de passe de la base est {p}.",
        "Connecte-toi avec anna, mot de passe {q}",
        "La clé d'API est {k}, garde-la pour toi.",
        "J'ai changé le mot de passe root en {p}.",
        "Voici le jeton : {k}",
        "mdp : {q}",
        "Le code secret du webhook, c'est {x}",
        "Identifiants : anna / {p}",
        "Mets {p} comme mot de passe du serveur",
        "la clé wifi du bureau est {q}",
    ),
    "Spanish": (
        "La contraseña de la base de datos es {p}.",
        "Entra con el usuario anna y la clave {q}",
        "La clave de la API es {k}",
        "He cambiado la contraseña de root a {p}",
        "El token nuevo es {k}, caduca en mayo",
        "Contraseña: {q}",
        "usuario anna, contraseña {p}",
        "El secreto del webhook es {x}",
        "pon {p} como contraseña del servidor",
        "la clave del wifi: {q}",
    ),
    "Italian": (
        "La password del database è {p}.",
        "Entra con anna e la password {q}",
        "La chiave API è {k}",
        "Ho cambiato la password di root in {p}",
        "Il token nuovo è {k}",
        "parola d'ordine: {q}",
        "Credenziali: anna / {p}",
        "la chiave segreta del webhook è {x}",
        "metti {p} come password del server",
        "password wifi ufficio {q}",
    ),
    "Portuguese": (
        "A senha do banco de dados é {p}.",
        "Entra com o usuário anna e a senha {q}",
        "A chave da API é {k}",
        "Mudei a senha do root para {p}",
        "O token novo é {k}",
        "senha: {q}",
        "palavra-passe do servidor: {p}",
        "o segredo do webhook é {x}",
        "coloca {p} como senha do servidor",
        "usuário anna, senha {q}",
    ),
    "Dutch": (
        "Het wachtwoord van de database is {p}.",
        "Log in met anna en wachtwoord {q}",
        "De API-sleutel is {k}",
        "Ik heb het rootwachtwoord veranderd in {p}",
        "Het nieuwe token is {k}",
        "wachtwoord: {q}",
        "inloggegevens: anna / {p}",
        "het geheim van de webhook is {x}",
        "zet {p} als wachtwoord van de server",
        "wifi-wachtwoord op kantoor: {q}",
    ),
    "Polish": (
        "Hasło do bazy danych to {p}.",
        "Zaloguj się jako anna, hasło {q}",
        "Klucz API to {k}",
        "Zmieniłem hasło roota na {p}",
        "Nowy token to {k}",
        "hasło: {q}",
        "dane logowania: anna / {p}",
        "sekret webhooka to {x}",
        "hasło do wifi w biurze: {q}",
        "ustaw {p} jako hasło serwera",
    ),
    "Russian": (
        "Пароль от базы данных {p}.",
        "Заходи под anna, пароль {q}",
        "Ключ API: {k}",
        "Я сменил пароль root на {p}",
        "Новый токен — {k}",
        "пароль: {q}",
        "секрет вебхука: {x}",
        "логин anna, пароль {p}",
    ),
    "Japanese": (
        "データベースのパスワードは {p} です。",
        "anna のパスワード: {q}",
        "APIキーは {k} です",
        "rootのパスワードを {p} に変更しました",
        "新しいトークンは {k}",
        "Wi-Fiのパスワードは {q} です",
    ),
}
QUOTES = ("{}", "{}", "{}", "'{}'", '"{}"', "`{}`")
BARE: Mapping[str, Sequence[str]] = {
    "GitHub": ("gh" + "p_[w]{36}", "github" + "_pat_[w]{22}_[w]{59}"),
    "GitLab": ("gl" + "pat-[u]{20}",),
    "Slack": ("xo" + "xb-[0]{11}-[0]{12}-[w]{24}",),
    "Stripe": ("sk" + "_live_[w]{24}", "rk" + "_live_[w]{24}"),
    "OpenAI": ("sk" + "-proj-[u]{48}",),
    "Anthropic": ("sk" + "-ant-api03-[u]{93}AA",),
    "Google": ("AI" + "za[u]{35}",),
    "npm": ("np" + "m_[w]{36}",),
    "PyPI": ("py" + "pi-AgEIcHlwaS5vcmc[u]{80}",),
    "SendGrid": ("S" + "G.[u]{22}.[u]{43}",),
    "DigitalOcean": ("do" + "p_v1_[x]{64}",),
    "Shopify": ("shp" + "at_[x]{32}",),
    "HuggingFace": ("h" + "f_[w]{34}",),
    "Databricks": ("da" + "pi[x]{32}",),
    "Grafana": ("gl" + "sa_[w]{32}_[x]{8}",),
    "Linear": ("lin" + "_api_[w]{40}",),
    "Docker": ("dck" + "r_pat_[u]{27}",),
    "Postman": ("PM" + "AK-[x]{24}-[x]{34}",),
}
BARE_AROUND = ("{}", "it fails with {} here", "> {}", "('{}')", "see {}, thanks")
ISSUED_AROUND = ("{NAME}_TOKEN={}", "the {Name} token is {}", "{name}: {}", "{name}_key = '{}'")
KEYED: Mapping[str, Sequence[str]] = {
    "Mailgun": ("[x]{32}",),
    "Algolia": ("[x]{32}",),
    "Twilio": ("[x]{32}",),
    "Fastly": ("[u]{32}",),
    "Okta": ("00[u]{40}",),
    "Sentry": ("[x]{64}",),
    "Pingdom": ("[u]{86}",),
    "Hetzner": ("[w]{64}",),
}
KEYED_AROUND = (
    "{NAME}_API_KEY={}",
    "{name}_auth_token: {}",
    "the {Name} API key is {}",
    '{name}.apiKey = "{}"',
)
PEMS = ("RSA PRIVATE KEY", "OPENSSH PRIVATE KEY", "EC PRIVATE KEY", "PRIVATE KEY")
CUTS: Sequence[Callable[[list[str]], list[str]]] = (
    lambda lines: lines,
    lambda lines: [f"    {line}" for line in lines],
    lambda lines: ["\\n".join(lines)],
    lambda lines: [f"+{line}" for line in lines],
    lambda lines: lines[:-2],
    lambda lines: [f"> {line}" for line in lines],
    lambda lines: ['key = "' + "\\n".join(lines) + '\\n"'],
)
DUMPS = (
    "HOME=/home/anna\nSHELL=/bin/bash\nSMTP_PASSWORD={q}\nLANG=C.UTF-8\nAWS_SECRET_ACCESS_KEY={AWS}",
    'declare -x EDITOR="vim"\ndeclare -x NPM_TOKEN="{k}"\ndeclare -x PWD="/srv"',
    "Name                           Value\n----                           -----\nAPI_KEY                        {k}\nOS                             Windows_NT",
    '"Env": [\n  "PATH=/usr/bin",\n  "DB_PASSWORD={q}",\n  "TZ=UTC"\n]',
)
LINES = (
    ("", ""),
    ("", "\nThen restart the worker and look at the log.\n"),
    ("Here is what I ran this morning:\n\n", "\n\nIt worked on the second machine.\n"),
    ("# notes of Tuesday\n", "\n- ask Ravi about the firewall\n"),
    ("```\n", "\n```\n"),
)
