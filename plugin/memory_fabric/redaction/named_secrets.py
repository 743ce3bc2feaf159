"""Secrets known by the name before them: variables, fields, arguments, sentences of code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from memory_fabric.patterns import exact, pattern
from memory_fabric.redaction import secret_signs
from memory_fabric.redaction.secret_names import (
    ENDINGS,
    NAMES,
    is_definition,
    is_hex,
    is_identifier,
    is_joined_words,
    is_name,
    is_placeholder,
    is_plain,
    is_strong,
    is_style,
    looks_random,
    says_prose,
)
from memory_fabric.redaction.secret_places import without_placed
from memory_fabric.redaction.secret_values import is_known_form

_LINE_PARTS = tuple(
    {*secret_signs.NAME_PARTS, *secret_signs.VARIABLE_PARTS, *secret_signs.DUMPED_PARTS}
)


# Parts of the names of variables: what ends so is a password; of these a value is a key; and with
# these a variable only tells about one.
_PASSWORD_PARTS = ("PASS", "PW", "PASSWD", "PASSWORT", "PSK", "PASSWORD", "BINDPW", "KENNWORT")


_KEY_PARTS = frozenset(
    """SECRET TOKEN KEY AUTH CRED CREDS CREDENTIAL DSN COOKIE SESSION SIGN SIGNING SIGNATURE PRIVATE
    WEBHOOK LICENSE TOTP OTP ENCRYPTION ACCESS API OPENAI ANTHROPIC KMS CIPHER HMAC SALT SEED PEPPER
    MNEMONIC JWT BEARER PAT""".split()
)


_NO_SECRET = frozenset(
    """ID URL URI FILE PATH DIR TTL NAME TYPE PUBLIC HOST PORT VERSION ALGORITHM HASH SUM CHECKSUM
    DIGEST SHA COMMIT BUILD IMAGE REF SOCK HEADER FINGERPRINT PUBLISHABLE EXPIRY TIMEOUT REGION
    BUS ADDRESS BRANCH TAG COUNT LIMIT SIZE LENGTH PREFIX ENDPOINT ISSUER DOMAIN REVISION""".split()
)


# One of NAMES begins so, in small letters.
_HEADS = (
    "pass secret token api access private client auth credential encryption signing account shared "
    "storage master license service deploy webhook pwd _auth"
).split()
# What follows a value is looked at to tell code and prose from a secret.
_FOLLOWER_CHARS = 40


def without_names(text: str) -> str:
    """The text without secrets that are known by their name."""
    text = without_placed(text)
    return "\n".join(map(_without_named, text.split("\n")))


def _without_named(line: str) -> str:
    folded = line.casefold()
    if not any(part in folded for part in (*_LINE_PARTS, *secret_signs.CALLS)):
        return line
    if is_style(line) or is_definition(line):
        return line
    line = _without_values(line, folded)
    has_sign = "=" in line or ":" in line
    if has_sign:
        line = _variable().sub(_hide_variable, line)
    if "=" in line:
        line = _dumped().sub(_hide_dumped, line)
    return line


def _without_values(line: str, folded: str) -> str:
    """The line without values that stand behind a name and a sign."""
    if not line.isascii():
        return _named_secret().sub(_hide_named, line)
    # As `sub` does, but only where one of the names begins.
    places = sorted(at for head in _HEADS for at in _places(folded, head))
    parts, done = [], 0
    for place in places:
        match = _named_secret().match(line, place) if place >= done else None
        if match is not None:
            parts += [line[done:place], _hide_named(match)]
            done = match.end()
    return "".join([*parts, line[done:]])


def _places(folded: str, head: str) -> Iterator[int]:
    at = folded.find(head)
    while at >= 0:
        yield at
        at = folded.find(head, at + 1)


@cache
def public_name() -> re.Pattern[str]:
    """Names whose value says what a content is, not who may read it."""
    return pattern(
        r"^h1\b|integrity|sha\d|digest|hash|checksum|etag|fingerprint|public|certificate|signature$|"
        r"nonce|\bpeer\b|font|image|\bsrc|data\b",
        re.IGNORECASE,
    )


@cache
def _variable() -> re.Pattern[str]:
    """Variables and fields whose names only hint at a secret: `STRIPE_KEY=`, `ADMIN_PW=`."""
    return pattern(
        r"((?<![\w.])[A-Za-z][\w.-]{0,60}?(?:(?<=[_.-])(?:key|pw|pin|sid|pat|dsn|auth|creds?|hmac|"
        r"conn(?:ection)?(?:_?str(?:ing)?)?)|(?<=[a-z])(?-i:Key|Pw|Pin|Auth|Dsn)|salt|seed|hmac|"
        r"mnemonic|creds|\bpw|\bpin)\d{0,3}"
        r"\\?[\"'`]?[ \t]{0,20}(?:=>|:=|=|:)[ \t]{0,20}\\?)"
        r"(?:\"([^\"\n]{4,512})\"|'([^'\n]{4,512})'|([^\s\"'`,;<>(){}\[\]]{4,512}))",
        re.IGNORECASE,
    )


@cache
def _dumped() -> re.Pattern[str]:
    """A variable of an environment, in capitals."""
    return exact(
        r"((?<![\w.$%{#@!&*^+~-])([A-Z][A-Z0-9_]{1,60})=[\"']?)([^\s\"'`,;()\[\]<>{}\x00]{4,512})"
    )


@cache
def _named_secret() -> re.Pattern[str]:
    return pattern(
        rf"((?:{NAMES}){ENDINGS}(?:\\?[\"'`]|\*{{1,2}})?"
        r"(?:[ \t]{1,2}(?:for|of|on|in)[ \t][\w ./@-]{1,40}?)?"
        r"[ \t]{0,20}(?:=>|:=|={1,3}|:|\bis\b|\bto\b|\|)[ \t]{0,20}(?:\*{1,2}[ \t]{0,2})?"
        r"(?:(?:!![a-z]{1,12}|&[\w-]{1,30})[ \t]{1,4}(?=[^\s#]))?)"
        r"(?:&?[A-Za-z][\w<>?\[\]]{2,20}\??[ \t]{1,2}=[ \t]{1,2}(?=[\"']))?"
        r"(?:(?:[bBrRuUfFN]{1,2}(?=[\"']))?(\\?[\"'`])((?:(?!\2)[^\n]){4,512}?)\2|"
        r"([\"'`]?)([^\s\"'`,;<>(){}\[\]][^\s\"'`,;<>(){}\[\]]{3,511})"
        # The rest of a password with brackets; not the next field of a connection string.
        r"((?:(?:[<>(){}\[\]]|[,;](?![\w. -]{1,40}[=:])){1,3}[^\s\"'`,;<>(){}\[\]]{1,100}){0,5}))",
        re.IGNORECASE,
    )


@cache
def _resource() -> re.Pattern[str]:
    return exact(r"\barn:aws[\w-]*:[^\s\"']*$")


@cache
def _password_variable() -> re.Pattern[str]:
    return pattern(r"pw\d{0,3}[\"'`]?\s{0,20}:?=", re.IGNORECASE)


@cache
def _uuid() -> re.Pattern[str]:
    return pattern(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


@cache
def _no_key() -> re.Pattern[str]:
    """Names with `key`, `auth` or `seed` in them whose value is no secret."""
    return pattern(
        r"publishable|result|cdata|comment|primary|foreign|cache|sort|partition|hash|range|idempotency|shortcut|locale|"
        r"translation|i18n|lookup|group|object|bucket|file|row|map|dict|json|query|unique|index|"
        r"random|faker|numpy|torch|np[._]seed|hot[_-]?key|sid[_-]?bar|event|route|react|node",
        re.IGNORECASE,
    )


def _hide_named(match: re.Match[str]) -> str:
    lead, quote, quoted, opening, value, rest = match.groups()
    behind = match.string[match.end() : match.end() + _FOLLOWER_CHARS]
    if quote is not None:
        if is_plain(lead, quoted, behind, quoted=True):
            inside = _named_secret().sub(_hide_named, quoted)  # shorter each time
            return f"{lead}{quote}{inside}{quote}"
        return f"{lead}{quote}[redacted: secret]{quote}"
    if _resource().search(match.string, max(0, match.start() - 120), match.start()):
        return match.group(0)
    follower = (rest + behind)[:_FOLLOWER_CHARS]
    if is_plain(lead, value, follower, quoted=bool(opening)):
        return match.group(0)
    return f"{lead}{opening}[redacted: secret]"


def _hide_variable(match: re.Match[str]) -> str:
    lead = match.group(1)
    quote = next((sign for sign, at in (('"', 2), ("'", 3)) if match.group(at)), "")
    value = match.group(2) or match.group(3) or match.group(4)
    if public_name().search(lead) or _no_key().search(lead):
        return match.group(0)
    if any(c.isspace() for c in value) or is_placeholder(value):
        return match.group(0)
    if is_known_form(value) and not _password_variable().search(lead):
        return match.group(0)
    if is_name(value) and not (_password_variable().search(lead) and "=" in lead):
        return match.group(0)
    behind = match.string[match.end() : match.end() + 2]
    if behind[:1] in ("(", "[") or value.startswith(("/", "./", "~/", "http", "=")):
        return match.group(0)
    return f"{lead}{quote}[redacted: secret]{quote}"


def _hide_dumped(match: re.Match[str]) -> str:
    lead, name, value = match.groups()
    parts = name.rstrip("0123456789").split("_")
    if _NO_SECRET & set(parts) or is_placeholder(value) or "[redacted" in value:
        return match.group()
    if name in ("PWD", "OLDPWD") or value.startswith(("/", "./", "~/", "http", "$")):
        return match.group()
    plain = value.lstrip("$!#@")
    if any(part.endswith(_PASSWORD_PARTS) for part in parts) and (
        is_joined_words(plain) or not is_name(plain)
    ):
        return f"{lead}[redacted: secret]"
    if parts[-1] in ("TOKEN", "SECRET") and value.isalpha() and len(value) > 6:
        is_word = is_identifier(value) or says_prose((value.lower(),))
        return match.group() if is_word else f"{lead}[redacted: secret]"
    is_key = len(value) >= 16 and (
        is_hex(value) or looks_random(value) or _uuid().fullmatch(value) or is_strong(value)
    )
    is_named = bool(_KEY_PARTS & set(parts)) and not is_name(value)
    uuid_of = parts[-1] in _KEY_PARTS and bool(_uuid().fullmatch(value))
    return f"{lead}[redacted: secret]" if is_key and (is_named or uuid_of) else match.group()
