"""Names of secrets in a text, and the kind of each: password, key or pair."""

from __future__ import annotations

import re
from functools import cache

from memory_fabric.patterns import exact, pattern
from memory_fabric.redaction.secret_rules import BESIDE
from memory_fabric.redaction.secret_words import (
    COMMON_KEYS,
    KEYS,
    NETWORKS,
    PAIRS,
    PASSWORDS,
    SHORT_PASSWORDS,
    UNBENT,
)

# Directly behind its name these say that a sentence is about secrets and states none.
ABOUT = frozenset(
    """length policy policies field fields hash hashes hashing hashed reset resets strength expiry
    expires expired expire rotation manager managers prompt hint column input inputs box form page
    min max minimum maximum requirement requirements rule rules validation validator needs need
    requires require required having contains contain cannot can't won't doesn't
    does don't isn't wasn't encryption handling storage
    stored protected less protection generator reuse change changes file files store bucket budget
    buckets limit limits count counts counter usage type types name names id ids header headers
    refresh expiration auth authentication based flow grant endpoint url path env variable
    variables var vars attempts attempt login logins failed fails when if while because before
    after until without via mismatch exchange management mgmt lifetime ttl timeout helper""".split()
)
# Endings of "token" in other languages.
_BENT = frozenset("em en et a u i ul ului im imiz".split())
# Before "key" and "code": whose, or of what kind.
_OPENING = frozenset(
    """api access secret private signing encryption hmac license licence deploy master admin root
    service account live prod production staging sandbox test stripe openai anthropic claude gemini
    google aws azure gcp github gitlab sendgrid slack vercel pinecone tavily supabase firebase
    cloudflare deepl mistral groq cohere maps shopify paypal server client openrouter deepseek
    vault door gate alarm entry backup recovery unlock wifi wlan wpa wpa2 psk shared aes""".split()
)
# Before "key" these say that it opens nothing.
_OPENING_NOTHING = tuple(
    """public publishable primary foreign sort partition cache idempotency object routing lookup
    index dedup group unique i18n translation locale""".split()
)
_PASSWORDS = frozenset((*PASSWORDS, *SHORT_PASSWORDS))
_PINS = frozenset(
    name.replace("_", " ")
    for name in """pin pin-code пин-код pincode pinnummer geheimzahl 暗証番号 핀번호 pin_kodu
    pin_code pin_kod kod_pin 핀_번호""".split()
)
_PAIRS = frozenset(PAIRS)
_BY_LENGTH = sorted(
    {*PASSWORDS, *SHORT_PASSWORDS, *PAIRS, *KEYS, *COMMON_KEYS}, key=lambda name: (-len(name), name)
)
EVERY = frozenset((*PASSWORDS, *SHORT_PASSWORDS, *PAIRS, *KEYS, *COMMON_KEYS))


def kind_of(name: str) -> str:
    """The kind of a name in small letters: password, pin, pair, common or key."""
    if name in _PINS:
        return "pin"
    if name in _PASSWORDS:
        return "password"
    if name in _PAIRS:
        return "pair"
    return "common" if name in COMMON_KEYS else "key"


def is_of_issuer(before: str, behind: str) -> bool:
    """True if a word around `key` says what it opens: "the Stripe key", "key for Scaleway"."""
    if _whose().search(before) or _for_whom().match(behind):
        return True
    words = before.casefold().replace("-", " ").replace("_", " ").split()
    return bool(words) and (
        words[-1] in _OPENING
        or any(words[-1].startswith(piece) for _, pieces, _ in BESIDE for piece in pieces.split())
    )


def is_name(text: str, name: re.Match[str], kind: str) -> bool:
    """True if the match is the name itself, not a part of another word."""
    before, behind = text[name.start() - 1 : name.start()], text[name.end() : name.end() + 1]
    word = name.group()
    is_path = (
        text[name.end() : name.end() + 2].lstrip("sS")[:1] == "/"
        and rest_of_name().match(text, name.end()) is None
    )
    if before == "/" and behind == "-":
        return False  # `docker/login-action`
    if is_path or _is_in_address(text, name.start()):
        return False
    if before == "." and text[max(0, name.start() - 2) : name.start() - 1] == "/":
        return False
    if (
        word.isascii()
        and len(word) < 6
        and (before.isdigit() or text[name.end() : name.end() + 2].isalnum())
    ):
        is_plural = behind in ("s", "S") and not text[name.end() + 1 : name.end() + 2].isalnum()
        if before.isdigit() or (behind.isdigit() and not is_plural):
            return False
    if kind in ("key", "common") and text[max(0, name.start() - 13) : name.start()].rstrip(
        " _-"
    ).lower().endswith(_OPENING_NOTHING):
        return False
    mark = text.rfind("[redacted: ", max(0, name.start() - 24), name.start())
    if mark >= 0 and "]" not in text[mark : name.start()]:
        return False
    if not word.isascii():
        return not before.isalpha() or len(word) > 4 or not word[0].isascii()
    if behind.isalpha() and behind.isascii():
        if word.casefold() not in UNBENT and " " not in word and len(word) > 4 and kind != "common":
            ending = text[name.end() : name.end() + 8].split(maxsplit=1)[0]
            return len(ending.rstrip(":=.,")) < 6
        ending = text[name.end() : name.end() + 3]
        is_plural = ending[:1] == "s" and not ending[1:2].isalpha()
        bent = text[name.end() : name.end() + 5].split(maxsplit=1)[0].strip(":=.,")
        return (is_plural or (word.casefold() == "token" and bent in _BENT)) and len(word) > 3
    if before.isalpha() and before.isascii() and (len(word) < 6 or kind in ("key", "common")):
        if word.casefold() in ("token", "sleutel"):
            return True  # "Zugriffstoken"
        return before.islower() and word[0].isupper()  # dbPass, apiToken
    return True


def _is_in_address(text: str, start: int) -> bool:
    """True if the word that holds this place is an address."""
    before = text[max(0, start - 200) : start]
    if not before or before[-1].isspace():
        return False
    word = before.split()[-1]
    return "://" in word or word.lstrip("\"'(`").startswith("arn:")


def names_in(text: str) -> re.Pattern[str]:
    """An expression for the names that are in the text, the longest first; or for none."""
    folded = text.casefold()
    return _any_of(tuple(name for name in _BY_LENGTH if name in folded))


@cache
def _any_of(names: tuple[str, ...]) -> re.Pattern[str]:
    return pattern("|".join(map(re.escape, names)) or r"(?!)", re.IGNORECASE)


@cache
def _whose() -> re.Pattern[str]:
    """A name of its own behind another word: "our Logtail "."""
    return exact(r"[a-z]{2} [A-Z][A-Za-z0-9.]{2,20} $")


@cache
def _for_whom() -> re.Pattern[str]:
    return exact(r"s? (?:for|of|von|für|de|para|per|voor|do) (?:the |our )?[A-Z][a-z]{2}")


@cache
def of_network() -> re.Pattern[str]:
    """Beside `key` and `secret` these say that it is what people type to join a network."""
    return pattern("|".join(map(re.escape, NETWORKS)), re.IGNORECASE)


@cache
def rest_of_name() -> re.Pattern[str]:
    """The parts of a name behind the one that tells: `_prod` of `password_prod`."""
    return exact(
        r"[_-][A-Za-z][A-Za-z0-9_-]{0,40}(?![\w@#!$%^&*])|"
        r"(?:\.[a-z][a-z0-9_]{0,30}){1,4}(?=[\s:=\"'\]]|$)|/[a-z][a-z0-9_-]{0,20}(?=\s?[:=])"
    )
