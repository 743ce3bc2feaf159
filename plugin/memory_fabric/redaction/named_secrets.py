"""Secrets known by the name before them: variables, fields, arguments, sentences of code."""

from __future__ import annotations

from memory_fabric.cache import cached
from memory_fabric.patterns import IGNORECASE, MULTILINE, exact, pattern
from memory_fabric.redaction import secret_signs
from memory_fabric.redaction.secret_names import (
    ENDINGS,
    NAMES,
    is_definition,
    is_hex,
    is_identifier,
    is_name,
    is_placeholder,
    is_plain,
    is_strong,
    is_style,
    looks_random,
)
from memory_fabric.redaction.secret_values import is_known_form, is_words_of_phrase

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Iterator

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
    text = _phrase().sub(_hide_phrase, text)
    text = "\n".join(map(_without_named, text.split("\n")))
    text = _name_and_value().sub(_hide_field, text)
    if "default" in text and "variable" in text:
        text = _default_of_variable().sub(_hide_field, text)
    return _value_of_field().sub(_hide_field, text) if "@Value(" in text else text


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
    if '"' in line or "'" in line:
        if "(" in line:
            line = _connected().sub(_hide_connected, line)
        if has_sign or "(" in line or "," in line:
            line = _called().sub(_hide_called, line)
    folded = line.casefold()
    if "pass" in folded or " as " in folded or not line.isascii():
        line = _spoken_secret().sub(_hide_spoken, line)
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


@cached
def _phrase() -> re.Pattern[str]:
    """A passphrase of words behind its name and a sign; it ends where a sentence or clause does."""
    return pattern(
        r"(\b(?:pass[ -]?(?:phrase|word|code)|pwd)\b[\"'`]?\s?(?:[:=]|is\b)\s?[\"'`*‘“]{0,3})"
        r"([a-z]{3,10}(?: [a-z]{3,10}){3,11})(?=[.,;)\"'`*’”]|\s*$)",
        IGNORECASE | MULTILINE,
    )


def _hide_phrase(match: re.Match[str]) -> str:
    lead, phrase = match.groups()
    if phrase != phrase.lower() or not is_words_of_phrase(phrase):
        return match.group()
    return f"{lead}[redacted: secret]"


@cached
def public_name() -> re.Pattern[str]:
    """Names whose value says what a content is, not who may read it."""
    return pattern(
        r"^h1\b|integrity|sha\d|digest|hash|checksum|etag|fingerprint|public|certificate|signature$|"
        r"nonce|font|image|\bsrc|data\b",
        IGNORECASE,
    )


@cached
def _variable() -> re.Pattern[str]:
    """Variables and fields whose names only hint at a secret: `STRIPE_KEY=`, `ADMIN_PW=`."""
    return pattern(
        r"((?<![\w.])[A-Za-z][\w.-]{0,60}?(?:(?<=[_.-])(?:key|pw|pin|sid|pat|dsn|auth|creds?|hmac|"
        r"conn(?:ection)?(?:_?str(?:ing)?)?)|(?<=[a-z])(?-i:Key|Pw|Pin|Auth|Dsn)|salt|seed|hmac|"
        r"mnemonic|creds|\bpw|\bpin)\d{0,3}"
        r"\\?[\"'`]?[ \t]{0,20}(?:=>|:=|=|:)[ \t]{0,20}\\?)"
        r"(?:\"([^\"\n]{4,512})\"|'([^'\n]{4,512})'|([^\s\"'`,;<>(){}\[\]]{4,512}))",
        IGNORECASE,
    )


@cached
def _dumped() -> re.Pattern[str]:
    """A variable of an environment, in capitals."""
    return exact(
        r"((?<![\w.$%{#@!&*^+~-])([A-Z][A-Z0-9_]{1,60})=[\"']?)([^\s\"'`,;()\[\]<>{}\x00]{4,512})"
    )


@cached
def _called() -> re.Pattern[str]:
    """Return spans of arguments of functions named after a secret, or next to a secret's name."""
    return pattern(
        rf"((?:{NAMES}|auth|salt|(?<=_)key){ENDINGS}[\"']?\s{{0,2}}(?:[,(]|=\s?[\[(]|:?=\s?[\w.:&*<>\[\]]{{1,40}}\()\s{{0,2}}"
        r"(?:[\"'][\w.@-]{1,40}[\"'],\s?)?([\"']))([^\"'\s]{6,256})(?=\2)",
        IGNORECASE,
    )


@cached
def _named_secret() -> re.Pattern[str]:
    return pattern(
        rf"((?:{NAMES}){ENDINGS}(?:\\?[\"'`]|\*{{1,2}})?"
        r"(?:[ \t]{1,2}(?:for|of|on|in)[ \t][\w ./@-]{1,40}?)?"
        r"[ \t]{0,20}(?:=>|:=|={1,3}|:|\bis\b|\bto\b|\|)[ \t]{0,20}(?:\*{1,2}[ \t]{0,2})?"
        r"(?:(?:!![a-z]{1,12}|&[\w-]{1,30})[ \t]{1,4}(?=[^\s#]))?)"
        r"(?:(\\?[\"'`])((?:(?!\2)[^\n]){4,512}?)\2|"
        r"([\"'`]?)([^\s\"'`,;<>(){}\[\]][^\s\"'`,;<>(){}\[\]]{3,511})"
        # The rest of a password with brackets; not the next field of a connection string.
        r"((?:(?:[<>(){}\[\]]|[,;](?![\w. -]{1,40}[=:])){1,3}[^\s\"'`,;<>(){}\[\]]{1,100}){0,5}))",
        IGNORECASE,
    )


@cached
def _spoken_secret() -> re.Pattern[str]:
    return pattern(
        r"((?:\b|_)pass(?:word|wd|phrase|code)s?[ \t]{1,2}[\"'`*]{0,2})([^\s\"'`]{8,128})|"
        r"(\b)([^\s\"'`]{8,256})(?=[\"'`]? as (?:the |my |your |our |its |a )?(?:\w{1,20} ){0,2}"
        r"(?:password|passphrase|token|api[ -]key|secret)\b)",
        IGNORECASE,
    )


@cached
def _name_and_value() -> re.Pattern[str]:
    """A name in one field and its value in the next, as Kubernetes and others list variables."""
    return pattern(
        rf"(\b(?:name|key|variable)[\"']?\s{{0,4}}[:=]\s{{0,4}}[\"']?[\w.-]{{0,40}}(?:{NAMES}){ENDINGS}"
        r"[\"']?(?:\s?[,;]\s?[\"']?\w{1,20}[\"']?\s?[:=]\s?[\"']?[\w./-]{0,30}[\"']?){0,2}"
        r"(?:\s{0,4}[,;]\s{0,12}|\s{1,12})[-]?\s{0,4}[\"']?(?:default_?)?value[\"']?\s{0,4}[:=]\s{0,4}[\"']?)"
        r"([^\s\"',;{}]{4,512})",
        IGNORECASE,
    )


@cached
def _default_of_variable() -> re.Pattern[str]:
    """A variable of Terraform that is named after a secret, as far as its default value."""
    return pattern(
        rf"(\bvariable\s{{1,2}}\"?[\w-]{{0,40}}(?:{NAMES}){ENDINGS}\"?\s{{0,4}}\{{[^{{}}]{{0,300}}?"
        r"\bdefault\s{0,12}=\s{0,4}\")([^\"\s]{4,512})",
        IGNORECASE,
    )


@cached
def _value_of_field() -> re.Pattern[str]:
    return pattern(
        rf"(@Value\(\")([^\"\s]{{4,512}})(?=\"\)[^;\n]{{0,60}}(?:{NAMES}){ENDINGS}\s?[;=])",
        IGNORECASE,
    )


@cached
def _resource() -> re.Pattern[str]:
    return exact(r"\barn:aws[\w-]*:[^\s\"']*$")


@cached
def _password_variable() -> re.Pattern[str]:
    return pattern(r"pw\d{0,3}[\"'`]?\s{0,20}:?=", IGNORECASE)


@cached
def _uuid() -> re.Pattern[str]:
    return pattern(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", IGNORECASE)


@cached
def _no_key() -> re.Pattern[str]:
    """Names with `key`, `auth` or `seed` in them whose value is no secret."""
    return pattern(
        r"publishable|primary|foreign|cache|sort|partition|hash|range|idempotency|shortcut|locale|"
        r"translation|i18n|lookup|group|object|bucket|file|row|map|dict|json|query|unique|index|"
        r"random|faker|numpy|torch|np[._]seed|hot[_-]?key|sid[_-]?bar|event|route|react|node",
        IGNORECASE,
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
    if any(part.endswith(_PASSWORD_PARTS) for part in parts) and not is_name(plain):
        return f"{lead}[redacted: secret]"
    is_key = len(value) >= 16 and (
        is_hex(value) or looks_random(value) or _uuid().fullmatch(value) or is_strong(value)
    )
    is_named = bool(_KEY_PARTS & set(parts)) and not is_name(value)
    uuid_of = parts[-1] in _KEY_PARTS and bool(_uuid().fullmatch(value))
    return f"{lead}[redacted: secret]" if is_key and (is_named or uuid_of) else match.group()


def _hide_called(match: re.Match[str]) -> str:
    lead, _, value = match.groups()
    plain = value.strip("$!#@")
    is_none = is_placeholder(value) or is_identifier(plain) or "[redacted" in value
    is_upper = plain.replace("_", "").isalnum() and plain.upper() == plain and "_" in plain
    if is_none or is_upper or "/" in value or ":" in value or is_name(plain) or len(plain) < 6:
        return match.group()
    return f"{lead}[redacted: secret]" if any(c.isdigit() for c in value) else match.group()


@cached
def _connected() -> re.Pattern[str]:
    """Return spans of passwords in calls that connect or log in: last, or before a name."""
    return pattern(
        r"((?:mysqli|connect\w{0,12}|\w{0,20}client|getconnection|login|authenticate|wifi\.begin|credentials?|"
        r"pdo|session|jwt\.(?:sign|verify|encode|decode)|fernet)\((?:[^()\"'\n]{0,60}[\"'][^\"'\n]{0,80}[\"'],\s?){0,3}"
        r"(?:[\w.{} :,\[\]]{0,60},\s?)?b?[\"'])([^\s\"']{8,256})(?=[\"']\s?[,)])",
        IGNORECASE,
    )


def _hide_connected(match: re.Match[str]) -> str:
    lead, value = match.groups()
    is_none = not is_strong(value) or "/" in value or ":" in value or is_name(value)
    if is_none or is_placeholder(value) or is_identifier(value) or is_known_form(value):
        return match.group()
    return f"{lead}[redacted: secret]"


def _hide_field(match: re.Match[str]) -> str:
    lead, value = match.groups()
    is_none = (
        "[redacted" in value or value[0] in "$%<" or is_plain("password=", value, "", quoted=True)
    )
    return match.group(0) if is_none else f"{lead}[redacted: secret]"


def _hide_spoken(match: re.Match[str]) -> str:
    lead, value = match.group(1), match.group(2)
    if lead is None:
        lead, value = match.group(3), match.group(4)
    is_call = value.endswith(")") and value.partition("(")[0].isidentifier()
    if (
        exact(r"[a-z_]{2,20}[=:]").match(value)
        or not is_strong(value)
        or is_placeholder(value)
        or "[redacted" in value
        or is_call
    ):
        return match.group(0)
    return f"{lead}[redacted: secret]"
