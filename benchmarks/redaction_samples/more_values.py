"""More values: passwords of other habits, keys of other lengths and alphabets."""

from __future__ import annotations

import base64
import json
import string
from collections.abc import Mapping

from redaction_samples import credentials
from redaction_samples.credentials import (
    ALNUM,
    HEX,
    LOWER,
    URL_SAFE,
    Chance,
    Make,
    some,
)

NAMES = "anna bruno carla dieter elena felix greta hugo irina jonas marlene nina oskar pia".split()
THINGS = "horse tractor pizza lasagne guitar kitten rooster biscuit thunder ocean".split()
COLOURS = "blue green golden lucky crazy little happy rusty".split()
MONTHS = "January March April June August October November".split()
WALKS = ("1qaz2wsx", "zaq12wsx", "asdf1234", "1q2w3e4r", "qazwsx123", "poiu0987")
SYLLABLES = "ba ce du fi go ha ju ke lo mi nu pa ro se ti vu wa xe yo zu".split()


def password(chance: Chance) -> str:
    """Return a password as a manager, a phone or a provider makes it."""
    return chance.choice((_signs, _syllables, plain_password))(chance)


def _signs(chance: Chance) -> str:
    middle = some(chance, chance.randrange(8, 19), ALNUM + "!@#%&*=+-_?")
    return chance.choice(ALNUM) + middle + chance.choice(ALNUM + "!")


def _syllables(chance: Chance) -> str:
    """Three groups of six, one capital and one digit, as phones propose it."""
    groups = ["".join(chance.sample(SYLLABLES, 3)) for _ in range(3)]
    groups[1] = groups[1][:-1] + chance.choice("23456789")
    groups[2] = groups[2].capitalize()
    return "-".join(groups)


def plain_password(chance: Chance) -> str:
    """Return 12 to 24 characters that need no escape in a URL or a command."""
    middle = some(chance, chance.randrange(10, 23), ALNUM + chance.choice(("", "", "_", "-.")))
    return chance.choice(string.ascii_letters) + middle + chance.choice(ALNUM)


def weak(chance: Chance) -> str:
    """Return what people choose: names and years, walks over the keyboard, two words."""
    name, thing = chance.choice(NAMES), chance.choice(THINGS)
    return chance.choice(
        (
            f"{name}{chance.randrange(1, 31):02}{chance.randrange(1, 13):02}",
            f"{name.capitalize()}{chance.randrange(1970, 2012)}!",
            f"Acme{chance.randrange(100, 9999)}{chance.choice('!?$')}",
            f"{chance.choice(WALKS)}{chance.choice(('', '!', '$'))}",
            f"{chance.choice(COLOURS)}{thing}{chance.choice(('', '7', '99', '!'))}",
            f"{chance.choice(MONTHS)}{chance.randrange(2015, 2027)}{chance.choice('!$*')}",
            f"Admin@{chance.randrange(100, 99999)}",
            f"ilove{name}{chance.randrange(1, 99)}",
            f"{name[:3].upper()}{thing.capitalize()}{chance.randrange(10, 999)}",
        )
    )


def short(chance: Chance) -> str:
    """Return a password of six to eight characters."""
    return some(chance, chance.randrange(6, 9), chance.choice((ALNUM, LOWER)))


def key(chance: Chance) -> str:
    """Return a key as a dashboard shows it."""
    return chance.choice(
        (
            some(chance, 24),
            some(chance, 32, LOWER),
            some(chance, 40),
            some(chance, 43, URL_SAFE),
            some(chance, 64, HEX),
            some(chance, 56),
        )
    )


def token(chance: Chance) -> str:
    """Return a token without a shape of its own."""
    return chance.choice(
        (
            some(chance, 20),
            some(chance, 26, LOWER),
            some(chance, 40, HEX),
            some(chance, 64, HEX),
            some(chance, 43, URL_SAFE),
            some(chance, 52, LOWER),
        )
    )


def hexes(chance: Chance) -> str:
    """Return 32, 40 or 64 hexadecimal digits."""
    return some(chance, chance.choice((32, 40, 64)), HEX)


def encoded(chance: Chance) -> str:
    """Return 24, 48 or 64 bytes in base64."""
    return base64.b64encode(chance.randbytes(chance.choice((24, 48, 64)))).decode()


def user_pair(chance: Chance) -> str:
    """Return a user and a password in base64, as basic authentication sends them."""
    return base64.b64encode(f"svc-{chance.choice(NAMES)}:{some(chance, 20)}".encode()).decode()


def jwt(chance: Chance) -> str:
    """Return a signed token as libraries write it: compact, sometimes with the key's name."""
    head = {"alg": chance.choice(("HS256", "RS256", "EdDSA")), "typ": "JWT"}
    claims = {"sub": some(chance, 8, LOWER), "name": chance.choice(NAMES), "exp": 1893456000}
    if chance.random() < 0.5:
        head["kid"] = some(chance, 20)
        claims["iss"] = "https://sso.example.org/realms/shop"
    coded = [
        base64.urlsafe_b64encode(json.dumps(part, separators=(",", ":")).encode()).decode()
        for part in (head, claims)
    ]
    signature = some(chance, chance.choice((43, 86, 342)), URL_SAFE)
    return ".".join((*(part.rstrip("=") for part in coded), signature))


OWN: Mapping[str, Make] = {
    "j": jwt,
    "p": password,
    "q": plain_password,
    "h": weak,
    "s": short,
    "k": key,
    "t": token,
    "x": hexes,
    "b": encoded,
    "U": user_pair,
    "l": lambda chance: some(chance, 16, LOWER),
    "B": lambda chance: base64.b64encode(chance.randbytes(32)).decode(),
}


def _either(name: str) -> Make:
    makes = [table[name] for table in (credentials.VALUES, OWN) if name in table]
    return lambda chance: chance.choice(makes)(chance)


# By the habits of `credentials` or by these.
VALUES: Mapping[str, Make] = {name: _either(name) for name in {**credentials.VALUES, **OWN}}
