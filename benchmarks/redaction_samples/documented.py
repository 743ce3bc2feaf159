"""Credentials in the forms that the documentation of tools shows, with odd and weak values.

Written before the rules of the day were touched, and measured at first sight: not to be read by
anyone who writes rules. `{p}` and the like are values (`VALUES`).
"""

from __future__ import annotations

import random
from collections.abc import Mapping

from redaction_samples import credentials
from redaction_samples.credentials import WORDS, Make, some

SYLLABLES = "ba ke lo mi nu ra so ti vu wen gar lin pos tal dor fen".split()
COMMON = (
    "sunshine princess football baseball superman trustno letmein butterfly chocolate computer "
    "whatever starwars internet liverpool barcelona elephant strawberry midnight"
).split()


def lowercase(chance: random.Random) -> str:
    """Return small letters only: a word that nobody knows, or two that many do."""
    if chance.random() < 0.5:
        return "".join(chance.choice(SYLLABLES) for _ in range(chance.randrange(4, 6)))
    return "".join(chance.sample(WORDS, 2))


def common(chance: random.Random) -> str:
    """Return one of the words that lists of leaked passwords begin with."""
    return chance.choice(COMMON)


def spaced(chance: random.Random) -> str:
    """Return words with blanks, and a digit and a sign somewhere."""
    first, second, third = chance.sample(WORDS, 3)
    digit, sign = chance.randrange(2, 99), chance.choice("!?#*%")
    return chance.choice(
        (
            f"{first} {second} {digit}{sign}",
            f"{first.capitalize()} {second} {third} {digit}",
            f"{digit} {first}s {second}{sign}",
            f"{first} {sign} {second}{digit}",
        )
    )


def odd(chance: random.Random) -> str:
    """Return a password that begins, ends or goes on as few do; no quotes, blanks or backslash."""
    word, other = chance.sample(WORDS, 2)
    digit = chance.randrange(2, 999)
    return chance.choice(
        (
            f"({word}){digit}x",
            f"!{word}!{digit}!",
            f"{word},{other};{digit}",
            f"~{word}/{other}{digit}",
            f"{word.capitalize()}[{digit}]{other}",
            f"ß{word}Ü{digit}",
            f"{word}@@{other}{digit}",
            f"#{digit}{word}",
            f"{word}.{other}.{digit}.Q",
            f"%{word}{digit}%",
            f"{word}=={digit}+{other}",
            f"{{{word}}}{digit}",
            f"<{word}{digit}>",
            f"{word}|{digit}|{other}",
        )
    )


def robust(chance: random.Random) -> str:
    """Return 9 to 14 letters, digits and signs that no shell and no address takes for its own."""
    return (
        some(chance, 1, "abcdefghkmnp")
        + some(chance, chance.randrange(7, 12))
        + chance.choice("._-+")
        + some(chance, 1, "23456789")
    )


VALUES: Mapping[str, Make] = {
    "r": robust,
    "l": lowercase,
    "c": common,
    "v": spaced,
    "o": odd,
    "q": credentials.plain_password,
    "h": credentials.weak,
    "k": credentials.key,
    "x": credentials.hexes,
    "g": lambda chance: some(chance, 32, credentials.HEX),
    "b": credentials.encoded,
    "u": credentials.uuid_text,
    "w": credentials.passphrase,
    "n": credentials.pin,
    "t": lambda chance: some(chance, chance.randrange(20, 41)),
    "e": lambda chance: "AQAA" + some(chance, 44, credentials.BASE64),
}
LINES = (
    ("", ""),
    ("", ""),
    ("Run this:\n", "\n"),
    ("We tried it on Monday.\n", "\nIt worked."),
    ("```\n", "\n```"),
)
