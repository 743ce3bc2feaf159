"""Values of credentials, made at run time: no source holds one.

A value is made from a source of chance by an alphabet and a length. `made` reads a small notation
for tokens: literal text, and `[alphabet]{n}` or `[alphabet]{n,m}` for so many characters of it.
"""

from __future__ import annotations

import base64
import random
import string
from collections.abc import Callable, Mapping
from typing import NamedTuple

ALNUM = string.ascii_letters + string.digits
LOWER = string.ascii_lowercase + string.digits
UPPER = string.ascii_uppercase + string.digits
HEX = "0123456789abcdef"
URL_SAFE = ALNUM + "_-"
BASE64 = ALNUM + "+/"
# A small word list of our own, for passphrases and seed phrases.
WORDS = (
    "abandon anchor apple arrow autumn basket beacon bridge bronze cactus candle canyon "
    "carbon castle cherry circle clever cloud copper coral cotton cradle crystal desert "
    "dragon eagle ember fabric falcon forest galaxy garden ginger glacier harbor hazard "
    "hollow island ivory jungle kettle ladder lantern lemon magnet maple marble meadow mirror "
    "monkey mosaic needle nephew oasis olive orange oxygen paddle panther pepper pigeon "
    "planet pocket prairie puzzle quartz rabbit raven ribbon river rocket saddle salmon "
    "shadow shield silver sister spider spring stone sunset tiger timber tunnel turtle valley "
    "velvet violin walnut whisper window winter wisdom yellow zebra"
).split()
# What people put together when they choose a password themselves.
FAVOURITES = (
    "summer winter spring dragon monkey soccer banana cookie shadow buster charlie ginger hunter "
    "jordan maggie matrix mustang pepper phoenix purple silver sunshine tigger welcome yankees"
).split()

Chance = random.Random
Make = Callable[[random.Random], str]


class Planted(NamedTuple):
    """A credential in a text: each of `parts` must be gone; `whole` is what stands in the text."""

    parts: tuple[str, ...]
    whole: str


def some(chance: random.Random, size: int, alphabet: str = ALNUM) -> str:
    """Return `size` characters at random, of every class that the alphabet has."""
    classes = [string.ascii_lowercase, string.ascii_uppercase, string.digits]
    sure = [chance.choice(have) for c in classes if (have := [x for x in alphabet if x in c])]
    rest = [chance.choice(alphabet) for _ in range(size - len(sure[:size]))]
    found = sure[:size] + rest
    chance.shuffle(found)
    return "".join(found)


NAMED = {
    "a": string.ascii_lowercase,
    "A": string.ascii_uppercase,
    "0": string.digits,
    "x": HEX,
    "l": LOWER,
    "U": UPPER,
    "w": ALNUM,
    "u": URL_SAFE,
    "b": BASE64,
    "l_": LOWER + "_-",
    "w_": ALNUM + "_",
    "2": "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
    "bech": "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L",
}


def made(chance: random.Random, form: str) -> Planted:
    """Return a token of this form; its part is all behind the literal text it begins with."""
    pieces: list[str] = []
    head = 0
    while form:
        literal, opened, rest = form.partition("[")
        pieces.append(literal)
        if not opened:
            break
        name, _, rest = rest.partition("]{")
        size, _, form = rest.partition("}")
        least, _, most = size.partition(",")
        head = head or len(pieces)
        pieces.append(some(chance, chance.randint(int(least), int(most or least)), NAMED[name]))
    return Planted(("".join(pieces[head:]),), "".join(pieces))


def password(chance: random.Random) -> str:
    """Return what a password manager makes: 10 to 18 characters, some of them signs."""
    middle = some(chance, chance.randrange(8, 16), ALNUM + "!#%^*-_.+?")
    return some(chance, 1, string.ascii_letters) + middle + some(chance, 1, string.digits)


def plain_password(chance: random.Random) -> str:
    """Return letters and digits only: fit for places that would escape a sign."""
    return some(chance, chance.randrange(10, 18))


def weak(chance: random.Random) -> str:
    """Return what people choose: a word, a year or digits, sometimes a sign."""
    word = chance.choice(FAVOURITES)
    word = chance.choice((word, word.capitalize(), word.upper(), word.replace("e", "3")))
    return chance.choice(
        (
            f"{word}{chance.randrange(1960, 2026)}",
            f"{word}{chance.randrange(1, 999)}!",
            f"{word}_{chance.choice(FAVOURITES)}{chance.randrange(10, 99)}",
            f"{word}#{chance.randrange(10, 9999)}",
            f"{word}@{chance.randrange(10, 999)}",
        )
    )


def weaker(chance: random.Random) -> str:
    """Return the same by other habits."""
    first, second = chance.sample(FAVOURITES, 2)
    return chance.choice(
        (
            f"{first}-{second}-{chance.randrange(2, 99)}",
            f"{chance.randrange(10, 99)}{first.capitalize()}{second.capitalize()}",
            f"{first.capitalize()}.{chance.randrange(100, 9999)}",
            f"P{chance.choice('@4a')}ssw{chance.choice('0o')}rd{chance.randrange(10, 9999)}!",
            f"{first.replace('a', '@').replace('o', '0')}${chance.randrange(10, 99)}",
            f"qwe{chance.choice('rR')}ty{chance.randrange(100, 99999)}",
        )
    )


def short(chance: random.Random) -> str:
    """Return a password of six or seven characters."""
    return some(chance, chance.randrange(6, 8))


def key(chance: random.Random) -> str:
    """Return 28 to 44 letters and digits."""
    return some(chance, chance.randrange(28, 45))


def token(chance: random.Random) -> str:
    """Return a token without a shape of its own."""
    return chance.choice(
        (
            some(chance, 40, HEX),
            some(chance, 32, HEX),
            some(chance, 36, URL_SAFE.replace("-", "")),
            some(chance, 24, LOWER),
            some(chance, 48),
        )
    )


def hexes(chance: random.Random) -> str:
    """Return 32, 48 or 64 hexadecimal digits."""
    return some(chance, chance.choice((32, 48, 64)), HEX)


def encoded(chance: random.Random) -> str:
    """Return 32 bytes in base64."""
    return base64.b64encode(chance.randbytes(32)).decode()


def pin(chance: random.Random) -> str:
    """Return four to eight digits that are no year."""
    return "".join(chance.choice("3456789") for _ in range(chance.choice((4, 5, 6, 6, 8))))


def passphrase(chance: random.Random) -> str:
    """Return four to six words."""
    return chance.choice((" ", "-", " ")).join(chance.sample(WORDS, chance.randrange(4, 7)))


def seed_words(chance: random.Random) -> str:
    """Return twelve, fifteen or twenty-four words."""
    return " ".join(chance.sample(WORDS, chance.choice((12, 15, 24))))


def uuid_text(chance: random.Random) -> str:
    """Return five groups of hexadecimal digits."""
    return "-".join(some(chance, n, HEX) for n in (8, 4, 4, 4, 12))


def jwt(chance: random.Random) -> str:
    """Return a signed token of three parts."""
    head = {"alg": chance.choice(("HS256", "RS256", "ES256")), "typ": "JWT"}
    claims = {"sub": some(chance, 12), "iat": chance.randrange(10**9, 2 * 10**9), "r": key(chance)}
    coded = [
        base64.urlsafe_b64encode(str(part).replace("'", '"').encode()).decode().rstrip("=")
        for part in (head, claims)
    ]
    return ".".join((*coded, some(chance, 43, URL_SAFE)))


def block(chance: random.Random, kind: str, lines: int) -> list[str]:
    """Return the lines of a key in PEM, BEGIN and END line included."""
    body = [some(chance, 64, BASE64) for _ in range(lines)]
    body[-1] = some(chance, chance.randrange(20, 60), BASE64) + "=="
    return [f"{'-' * 5}BEGIN {kind}{'-' * 5}", *body, f"{'-' * 5}END {kind}{'-' * 5}"]


# The values that a name in the notation of the templates is replaced by.
VALUES: Mapping[str, Make] = {
    "p": password,
    "q": plain_password,
    "h": weak,
    "H": weaker,
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
    "AWS": lambda chance: some(chance, 40, BASE64),
    "ID": lambda chance: some(chance, 16, UPPER),
    "AZURE": lambda chance: f"{some(chance, 3)}8Q~{some(chance, 34, URL_SAFE)}",
}
