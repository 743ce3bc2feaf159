"""Values of the held half: passwords, keys and tokens as yet other people and programs make them.

Not to be read by anyone who writes rules.
"""

from __future__ import annotations

import base64
import json
import string
from collections.abc import Mapping

from redaction_samples.credentials import (
    ALNUM,
    BASE64,
    HEX,
    LOWER,
    UPPER,
    URL_SAFE,
    WORDS,
    Chance,
    Make,
    some,
    uuid_text,
)

CITIES = "London Lisboa Madrid Berlin Kyoto Oslo Chicago Napoli Warszawa Izmir Porto Delhi".split()
PETS = "fluffy rex bella luna simba nemo oreo peanut mochi balu felix minka".split()
TEAMS = "arsenal lakers ajax benfica juventus galatasaray schalke giants rangers".split()
SEASONS = "Spring Sommer Autumn Winter Herbst Verano Estate Hiver".split()
SITES = "prod staging intranet backup printer kiosk labor office".split()
# Letters that are hard to confuse, as many generators use them.
CLEAR = "abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789"
BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


def password(chance: Chance) -> str:
    """Return a password as a generator, a browser or an administrator makes it."""
    return chance.choice((_generated, _joined, plain_password))(chance)


def _generated(chance: Chance) -> str:
    """Return 10 to 22 characters with signs, the first and last of them a letter or digit."""
    middle = some(chance, chance.randrange(8, 21), CLEAR + "!@#%^*_+-=.:~")
    return chance.choice(CLEAR) + middle + chance.choice(CLEAR)


def _joined(chance: Chance) -> str:
    """Return three words with capitals, a digit and a sign between them."""
    words = [word.capitalize() for word in chance.sample(WORDS, 3)]
    words[chance.randrange(3)] += str(chance.randrange(10))
    return chance.choice("-_.!").join(words)


def plain_password(chance: Chance) -> str:
    """Return 10 to 32 letters and digits, fit for a URL and a command."""
    alphabet = chance.choice((ALNUM, CLEAR, LOWER))
    return chance.choice(string.ascii_letters) + some(chance, chance.randrange(9, 32), alphabet)


def weak(chance: Chance) -> str:
    """Return a password that people remember: a city, a pet, a team, a season, the place of use."""
    city, pet, team = chance.choice(CITIES), chance.choice(PETS), chance.choice(TEAMS)
    year = chance.randrange(1958, 2027)
    return chance.choice(
        (
            f"{city}{year}{chance.choice('!?#.')}",
            f"{pet}{chance.randrange(10, 9999)}",
            f"{pet}_{year}",
            f"{team.capitalize()}{chance.randrange(1, 99)}!",
            f"{chance.choice(SEASONS)}{chance.randrange(2016, 2027)}{chance.choice('!$*')}",
            f"{chance.choice(SITES)}{chance.randrange(100, 9999)}!",
            f"{pet.capitalize()}&{team.capitalize()}{chance.randrange(2, 99)}",
            f"{city.lower()}-{team}-{chance.randrange(10, 99)}",
            f"W3lc0me{chance.choice('@!_')}{chance.randrange(10, 999)}",
            f"{city.replace('o', '0').replace('i', '1')}{chance.randrange(10, 99)}$",
        )
    )


def short(chance: Chance) -> str:
    """Return a password of six to eight characters."""
    return some(chance, chance.randrange(6, 9), chance.choice((CLEAR, LOWER)))


def key(chance: Chance) -> str:
    """Return a key as a service hands it out."""
    return chance.choice(
        (
            some(chance, 20),
            some(chance, 30, LOWER),
            some(chance, 36),
            some(chance, 44, URL_SAFE.replace("-", "")),
            some(chance, 48),
            some(chance, 32, UPPER),
            some(chance, 51, BASE58),
        )
    )


def token(chance: Chance) -> str:
    """Return a token that no prefix tells."""
    return chance.choice(
        (
            some(chance, 22),
            some(chance, 28, LOWER),
            some(chance, 32, HEX),
            some(chance, 40),
            some(chance, 60),
            some(chance, 64, URL_SAFE.replace("-", "")),
        )
    )


def hexes(chance: Chance) -> str:
    """Return 32, 40, 64 or 128 hexadecimal digits."""
    return some(chance, chance.choice((32, 40, 64, 128)), HEX)


def encoded(chance: Chance) -> str:
    """Return 20, 32, 40 or 64 bytes in base64."""
    return base64.b64encode(chance.randbytes(chance.choice((20, 32, 40, 64)))).decode()


def pin(chance: Chance) -> str:
    """Return four, six or eight digits that are no year."""
    return "".join(chance.choice("3456789") for _ in range(chance.choice((4, 4, 6, 8))))


def passphrase(chance: Chance) -> str:
    """Return four to seven words, with a number among them in half of the cases."""
    words = chance.sample(WORDS, chance.randrange(4, 8))
    if chance.random() < 0.5:
        words[-1] += str(chance.randrange(10, 99))
    return chance.choice((" ", " ", "-", ".")).join(words)


def seed_words(chance: Chance) -> str:
    """Return twelve, eighteen or twenty-four words."""
    return " ".join(_some_words(chance))


def numbered_words(chance: Chance) -> str:
    """Return the same with a number before each, as wallets show them."""
    return " ".join(f"{place}. {word}" for place, word in enumerate(_some_words(chance), 1))


def listed_words(chance: Chance) -> str:
    """Return the same as the items of a list in code."""
    return ", ".join(f'"{word}"' for word in _some_words(chance))


def _some_words(chance: Chance) -> list[str]:
    return chance.sample(WORDS, chance.choice((12, 12, 18, 24)))


def app_password(chance: Chance) -> str:
    """Return four groups of four small letters, as mail services make them for programs."""
    return "-".join(some(chance, 4, string.ascii_lowercase) for _ in range(4))


def basic(chance: Chance) -> str:
    """Return a user and a password in base64."""
    user = f"{chance.choice(PETS)}@example.com"
    return base64.b64encode(f"{user}:{some(chance, 24)}".encode()).decode()


def jwt(chance: Chance) -> str:
    """Return a signed token as identity providers issue it."""
    head = {"typ": "JWT", "alg": chance.choice(("RS256", "ES384", "HS512", "PS256"))}
    if chance.random() < 0.6:
        head["kid"] = some(chance, 27, URL_SAFE)
    issued = chance.randrange(1_700_000_000, 1_800_000_000)
    claims: dict[str, object] = {
        "iss": "https://login.example.com/",
        "aud": chance.choice(("api", "web", "mobile")),
        "sub": uuid_text(chance),
        "iat": issued,
        "exp": issued + 3600,
    }
    if chance.random() < 0.5:
        claims["scope"] = "openid profile email"
    coded = [
        base64.urlsafe_b64encode(json.dumps(part, separators=(",", ":")).encode()).decode()
        for part in (head, claims)
    ]
    signature = some(chance, chance.choice((43, 86, 128, 342)), URL_SAFE)
    return ".".join((*(part.rstrip("=") for part in coded), signature))


VALUES: Mapping[str, Make] = {
    "p": password,
    "q": plain_password,
    "h": weak,
    "s": short,
    "k": key,
    "t": token,
    "x": hexes,
    "b": encoded,
    "n": pin,
    "w": passphrase,
    "m": seed_words,
    "u": uuid_text,
    "j": jwt,
    "N": numbered_words,
    "L": listed_words,
    "APP": app_password,
    "BASIC": basic,
    "KEY": lambda chance: base64.b64encode(chance.randbytes(32)).decode(),
    "OTP": lambda chance: some(chance, 32, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"),
    "JOIN": lambda chance: f"{some(chance, 50, LOWER)}-{some(chance, 25, LOWER)}",
    "AWS": lambda chance: some(chance, 40, BASE64),
    "ID": lambda chance: some(chance, 16, UPPER),
    "AZURE": lambda chance: f"{some(chance, 3)}8Q~{some(chance, 34, URL_SAFE)}",
}
