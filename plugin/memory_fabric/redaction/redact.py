"""Secrets out of a text, before any byte of it reaches a disk.

Tokens, keys, passwords and `<private>` blocks are replaced by a visible `[redacted: kind]`.
Every pattern is linear in the text; one that is rarely needed is compiled when it is.
"""

from __future__ import annotations

import re
from functools import cache

from memory_fabric.redaction import secret_signs as signs
from memory_fabric.redaction.credentials import is_object_id, shapes_in, without_values_of_issuers
from memory_fabric.redaction.secret_arguments import (
    without_arguments,
    without_headers,
    without_url_secrets,
)
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
from memory_fabric.redaction.secret_words import NAMES as EVERY_NAME
from memory_fabric.redaction.secret_words import SEEDS
from memory_fabric.redaction.spoken_secrets import without_told

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

_LINE_PARTS = tuple({*signs.NAME_PARTS, *signs.VARIABLE_PARTS, *signs.DUMPED_PARTS})
# Around a secret that is alone these are no content.
_SAYING_NOTHING = frozenset(
    " ".join(EVERY_NAME).replace("_", " ").replace("-", " ").split()
    + """the a an my our your its this that is are was to of for as and in on with use remember note
    please be here new following das der die mein unser ist lautet le la mon est el mi es il mio o
    meu de het mijn to jest это value user username""".split()
)
# No secrets: checksums with their kind, and how images, fonts and archives begin in base64.
_PUBLIC_HEADS = (
    "sha1- sha256- sha384- sha512- iVBORw0KGgo /9j/ R0lGOD UklGR JVBERi PHN2Zy UEsDB H4sI d09GR "
    "AAEAAAA T1RUTw AAABAA SUkq Qk0 AAAAI".split()
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
    BRANCH TAG COUNT LIMIT SIZE LENGTH PREFIX ENDPOINT ISSUER DOMAIN REVISION""".split()
)
# What follows a value is looked at to tell code and prose from a secret.
_FOLLOWER_CHARS = 40


def redact(text: str) -> str:
    """The text with every secret replaced by `[redacted: kind]`; other text byte for byte."""
    folded = text.casefold()
    for sign, step in STEPS:
        if sign(text, folded):
            text = step(text)
            folded = text.casefold()
    return text


def says_only_secrets(text: str) -> bool:
    """True if nothing is left to remember of a text once its secrets are out.

    The names of secrets, and the words that join them to a value, say nothing of their own.
    """
    cleaned = redact(text)
    rest = _mark().sub(" ", cleaned)
    if rest == cleaned:
        return False
    rest = rest.casefold()
    for name in EVERY_NAME:  # which stands in one with its particle: "パスワードは…です"
        rest = rest if name.isascii() else rest.replace(name, " ")
    words = _word().findall(rest)
    return all(w in _SAYING_NOTHING or (not w.isascii() and len(w) < 4) for w in words)


def redacted(value: Any) -> Any:
    """The same JSON value with every string redacted, keys included."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        return redacted_object(value)
    if signs.is_command_line(value):
        return _redacted_words(value)
    if isinstance(value, list | tuple):
        return [redacted(part) for part in value]
    return value


def _redacted_words(words: Sequence[str]) -> list[str]:
    """The words of a command, redacted as the line that they make."""
    line = redact(" ".join(words))
    found, at = [], 0
    for word in words:
        if line.startswith(word, at) and line[at + len(word) : at + len(word) + 1] in ("", " "):
            found.append(redact(word))
            at += len(word) + 1
            continue
        end = line.find("]", at)
        end = len(line) if end < 0 else end + 1
        behind = line.find(" ", end)
        end = len(line) if behind < 0 else behind
        found.append(line[at:end] if "[redacted" in line[at:end] else "[redacted: secret]")
        at = end + 1
    return found


def redacted_object(value: Mapping[str, Any]) -> dict[str, Any]:
    """The same JSON object with every string redacted, also where only its key tells the secret."""
    return {redact(str(key)): _field(str(key), part) for key, part in value.items()}


def _field(key: str, value: Any) -> Any:
    if not isinstance(value, str):
        return redacted(value)
    if _secret_name().fullmatch(key) and not any(c.isspace() for c in value.strip()):
        is_none = is_plain(f"{key}=", value, "", quoted=True) if value else True
        return redact(value) if is_none else "[redacted: secret]"
    return redact(value)


def _without_private(text: str) -> str:
    """The text without what stands between `<private>` and its end; blocks may lie in blocks."""
    parts: list[str] = []
    depth = kept_from = 0
    for tag in _private_tag().finditer(text):
        if not tag.group().startswith("</"):
            if not depth:
                parts += [text[kept_from : tag.start()], "[redacted: private]"]
            depth += 1
        elif depth:
            depth -= 1
            kept_from = tag.end()
    return "".join(parts) + ("" if depth else text[kept_from:])


def _without_keys(text: str) -> str:
    """The text without private keys in lines, also where only their head or tail is there."""
    text = _key_block().sub("[redacted: private key]", text)
    text = _key_tail().sub(_hide_tail, text)
    return _putty_key().sub(r"\1[redacted: private key]", text)


def _without_tokens(text: str) -> str:
    """The text without credentials of a published shape, and without what goes with them."""
    long_words = [word for word in text.split() if len(word) >= signs.MIN_WORD_CHARS]
    for shape in shapes_in(" ".join(long_words)):
        hidden = shape.sub(_hide_token, text)
        if hidden != text and shape.pattern.startswith(r"\b(?:AKIA"):
            # The secret half of the pair stands beside its id, often without a name.
            hidden = _aws_secret().sub(_hide_if_random, hidden)
        text = hidden
    if "=" in text or ":" in text:
        text = _assignment().sub(_hide_random, text)
    return text


def _without_names(text: str) -> str:
    """The text without secrets that are known by their name."""
    text = "\n".join(map(_without_named, text.split("\n")))
    text = _name_and_value().sub(_hide_field, text)
    if "default" in text and "variable" in text:
        text = _default_of_variable().sub(_hide_field, text)
    return _value_of_field().sub(_hide_field, text) if "@Value(" in text else text


def _without_named(line: str) -> str:
    folded = line.casefold()
    if not any(part in folded for part in _LINE_PARTS):
        return line
    if is_style(line) or is_definition(line):
        return line
    line = _named_secret().sub(_hide_named, line)
    line = _variable().sub(_hide_variable, line)
    if "=" in line:
        line = _dumped().sub(_hide_dumped, line)
    if '"' in line or "'" in line:
        line = _called().sub(_hide_called, line)
    return _spoken_secret().sub(_hide_spoken, line)


def _without_seeds(text: str) -> str:
    return _seed_phrase().sub(_hide_seeds, text)


@cache
def _mark() -> re.Pattern[str]:
    return re.compile(r"\[redacted: [^\]\n]{1,20}\]")


@cache
def _word() -> re.Pattern[str]:
    return re.compile(r"[^\W_]+")


@cache
def _private_tag() -> re.Pattern[str]:
    return re.compile(r"</?private\b[^<>]*>", re.IGNORECASE)


@cache
def _key_block() -> re.Pattern[str]:
    # To its end, or as far as lines of base64 and headers go; quoted, indented, or in one line
    # with a backslash for each of its ends. Text that only names the mark stays.
    around = r"[ \t>|+#\"'*]{0,12}"
    end = r"(?:[\"',]{0,2}[ \t]{0,4}(?:\\r)?(?:\\n|\r?\n)| (?=[A-Za-z0-9+/=]{40}))"
    header = (
        r"(?:Proc-Type|DEK-Info|Version|Comment|Hash|Charset|Key-Info|X-[\w-]{1,20}): "
        r"[^\n\\]{1,100}"
    )
    line = rf"{around}(?:[A-Za-z0-9+/=]{{16,200}}|{header})"
    last = (
        rf"{around}(?:[A-Za-z0-9+/]{{1,63}}={{1,2}}|=[A-Za-z0-9+/]{{4}}|"
        r"(?=[A-Za-z+/]{0,15}[0-9])[A-Za-z0-9+/]{4,15})(?![^\s\\\"',])"
    )
    return re.compile(
        r"-{5}BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-{5}"
        r"(?=(?:\\[rn]|[\s>|+#\"'*\\]){0,40}(?:[A-Za-z0-9+/=]{16}|[A-Z][A-Za-z-]{2,20}:\s))(?:"
        r"[^\-]{0,20000}?(?:-(?!-)[^\-]{0,200}?){0,6}?-{5}END [A-Z0-9 ]{0,40}-{5}|"
        rf"(?:{end}){{0,4}}{line}(?:(?:{end}){{1,4}}{line}){{0,400}}(?:(?:{end}){{1,2}}{last})?)",
    )


@cache
def _key_tail() -> re.Pattern[str]:
    end = r"[\"'\\]?(?:\\[rn]|\s)[ \t>|+#\"'*]{0,12}"
    return re.compile(
        rf"(?<![A-Za-z0-9+/=])((?:[A-Za-z0-9+/]{{20,200}}={{0,2}}{end}){{0,400}}"
        rf"[A-Za-z0-9+/]{{4,200}}={{0,2}}{end}(?:=[A-Za-z0-9+/]{{4}}{end})?)"
        r"(-{5}END [A-Z0-9 ]{0,40}PRIVATE KEY)"
    )


@cache
def _putty_key() -> re.Pattern[str]:
    return re.compile(r"(Private-Lines: \d{1,4}\s{1,4})[A-Za-z0-9+/=\s]{16,20000}")


@cache
def _aws_secret() -> re.Pattern[str]:
    return re.compile(r"(?<![A-Za-z0-9/+=_-])()([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=_-])")


@cache
def _secret_name() -> re.Pattern[str]:
    return re.compile(rf"[\w.-]{{0,40}}(?:{NAMES}){ENDINGS}", re.IGNORECASE)


@cache
def _public_name() -> re.Pattern[str]:
    """Names whose value says what a content is, not who may read it."""
    return re.compile(
        r"^h1\b|integrity|sha\d|digest|hash|checksum|etag|fingerprint|public|certificate|signature$|"
        r"nonce|font|image|\bsrc|data\b",
        re.I,
    )


@cache
def _variable() -> re.Pattern[str]:
    """Variables and fields whose names only hint at a secret: `STRIPE_KEY=`, `ADMIN_PW=`."""
    return re.compile(
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
    return re.compile(
        r"((?<![\w.$%{])([A-Z][A-Z0-9_]{1,60})=[\"']?)([^\s\"'`,;()\[\]<>{}\x00]{4,512})"
    )


@cache
def _called() -> re.Pattern[str]:
    """What is given to a function that a secret is named after, or beside a name of one."""
    return re.compile(
        rf"((?:{NAMES}|auth|salt|(?<=_)key){ENDINGS}[\"']?\s{{0,2}}(?:[,(]|=\s?[\[(])\s{{0,2}}"
        r"(?:[\"'][\w.@-]{1,40}[\"'],\s?)?([\"']))([^\"'\s]{6,256})(?=\2)",
        re.IGNORECASE,
    )


@cache
def _named_secret() -> re.Pattern[str]:
    return re.compile(
        rf"((?:{NAMES}){ENDINGS}(?:\\?[\"'`]|\*{{1,2}})?"
        r"(?:[ \t]{1,2}(?:for|of|on|in)[ \t][\w ./@-]{1,40}?)?"
        r"[ \t]{0,20}(?:=>|:=|={1,3}|:|\bis\b|\bto\b|\|)[ \t]{0,20}(?:\*{1,2}[ \t]{0,2})?"
        r"(?:(?:!![a-z]{1,12}|&[\w-]{1,30})[ \t]{1,4}(?=[^\s#]))?)"
        r"(?:(\\?[\"'`])((?:(?!\2)[^\n]){4,512}?)\2|"
        r"([\"'`]?)([^\s\"'`,;<>(){}\[\]][^\s\"'`,;<>(){}\[\]]{3,511})"
        # The rest of a password with brackets; not the next field of a connection string.
        r"((?:(?:[<>(){}\[\]]|[,;](?![\w. -]{1,40}[=:])){1,3}[^\s\"'`,;<>(){}\[\]]{1,100}){0,5}))",
        re.IGNORECASE,
    )


@cache
def _spoken_secret() -> re.Pattern[str]:
    return re.compile(
        r"((?:\b|_)pass(?:word|wd|phrase|code)s?[ \t]{1,2}[\"'`*]{0,2})([^\s\"'`]{8,128})|"
        r"(\b)([^\s\"'`]{8,256})(?=[\"'`]? as (?:the |my |your |our |its |a )?(?:\w{1,20} ){0,2}"
        r"(?:password|passphrase|token|api[ -]key|secret)\b)",
        re.IGNORECASE,
    )


@cache
def _seed_phrase() -> re.Pattern[str]:
    names = "|".join(map(re.escape, SEEDS))
    word = r"(?:[^\W\d_]{3,8}|[\u3041-\u9fff\uac00-\ud7af]{1,6})"
    gap = r"(?:[ \t\u3000]{1,4}|, {0,2}|\s{0,3}\n\s{0,8})(?:[-*] )?(?:\d{1,2}[.):] {0,2})?"
    return re.compile(
        rf"((?:{names})[^\n]{{0,80}}?(?:\n[^\n]{{0,8}}?){{0,2}}?[^a-z\n]?)"
        r"(?<![^\W\d_])(?!(?:words?|phrase|seed|backup|wallet|are|is|lautet|lauten)\b)"
        rf"((?:\d{{1,2}}[.):] {{0,2}})?(?:{word}{gap}){{11,23}}{word})\b",
        re.IGNORECASE,
    )


@cache
def _name_and_value() -> re.Pattern[str]:
    """A name in one field and its value in the next, as Kubernetes and others list variables."""
    return re.compile(
        rf"(\b(?:name|key|variable)[\"']?\s{{0,4}}[:=]\s{{0,4}}[\"']?[\w.-]{{0,40}}(?:{NAMES}){ENDINGS}"
        r"[\"']?(?:\s?[,;]\s?[\"']?\w{1,20}[\"']?\s?[:=]\s?[\"']?[\w./-]{0,30}[\"']?){0,2}"
        r"(?:\s{0,4}[,;]\s{0,12}|\s{1,12})[-]?\s{0,4}[\"']?(?:default_?)?value[\"']?\s{0,4}[:=]\s{0,4}[\"']?)"
        r"([^\s\"',;{}]{4,512})",
        re.IGNORECASE,
    )


@cache
def _default_of_variable() -> re.Pattern[str]:
    """A variable of Terraform that is named after a secret, as far as its default value."""
    return re.compile(
        rf"(\bvariable\s{{1,2}}\"?[\w-]{{0,40}}(?:{NAMES}){ENDINGS}\"?\s{{0,4}}\{{[^{{}}]{{0,300}}?"
        r"\bdefault\s{0,12}=\s{0,4}\")([^\"\s]{4,512})",
        re.IGNORECASE,
    )


@cache
def _value_of_field() -> re.Pattern[str]:
    return re.compile(
        rf"(@Value\(\")([^\"\s]{{4,512}})(?=\"\)[^;\n]{{0,60}}(?:{NAMES}){ENDINGS}\s?[;=])", re.I
    )


@cache
def _resource() -> re.Pattern[str]:
    return re.compile(r"\barn:aws[\w-]*:[^\s\"']*$")


@cache
def _password_variable() -> re.Pattern[str]:
    return re.compile(r"pw\d{0,3}[\"'`]?\s{0,20}:?=", re.IGNORECASE)


@cache
def _uuid() -> re.Pattern[str]:
    return re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


@cache
def _no_key() -> re.Pattern[str]:
    """Names with `key`, `auth` or `seed` in them whose value is no secret."""
    return re.compile(
        r"publishable|primary|foreign|cache|sort|partition|hash|range|idempotency|shortcut|locale|"
        r"translation|i18n|lookup|group|object|bucket|file|row|map|dict|json|query|unique|index|"
        r"random|faker|numpy|torch|np[._]seed|hot[_-]?key|sid[_-]?bar|event|route|react|node",
        re.I,
    )


@cache
def _assignment() -> re.Pattern[str]:
    return re.compile(
        r"((?<![\w.-])[A-Za-z_][\w.-]{0,60}\\?[\"']?[ \t]{0,4}[=:][ \t]{0,4}\\?[\"'`]?)"
        r"([A-Za-z0-9+/_=-]{24,512})"
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
    if _public_name().search(lead) or _no_key().search(lead):
        return match.group(0)
    if any(c.isspace() for c in value) or is_placeholder(value):
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


def _hide_field(match: re.Match[str]) -> str:
    lead, value = match.groups()
    is_none = (
        "[redacted" in value or value[0] in "$%<" or is_plain("password=", value, "", quoted=True)
    )
    return match.group(0) if is_none else f"{lead}[redacted: secret]"


def _hide_seeds(match: re.Match[str]) -> str:
    lead, value = match.groups()
    first = value.partition("\n")[0]  # the sentence on the next line is none of them
    value = first if len(first.split()) >= signs.MIN_SEED_WORDS else value
    words = {word.strip("0123456789.,):;-*").lower() for word in value.split()}
    in_forms = sum(word.endswith(("ing", "ed", "ers", "ts", "ces", "ns")) for word in words)
    if words & signs.PROSE or in_forms > 2:
        return match.group(0)
    return f"{lead}[redacted: seed phrase]{match.group(2)[len(value) :]}"


def _hide_tail(match: re.Match[str]) -> str:
    is_key = "=" in match.group(1) or any(map(signs.is_doubtful, match.group(1).split()))
    return f"[redacted: private key]\n{match.group(2)}" if is_key else match.group()


def _hide_token(match: re.Match[str]) -> str:
    token = match.group()
    is_stand_in = len(set(token[-16:].lower())) < 3 or token.endswith(("EXAMPLE", "EXAMPLEKEY"))
    return token if is_stand_in or not signs.is_doubtful(token) else "[redacted: token]"


def _hide_spoken(match: re.Match[str]) -> str:
    lead, value = match.group(1), match.group(2)
    if lead is None:
        lead, value = match.group(3), match.group(4)
    is_call = value.endswith(")") and value.partition("(")[0].isidentifier()
    if not is_strong(value) or is_placeholder(value) or "[redacted" in value or is_call:
        return match.group(0)
    return f"{lead}[redacted: secret]"


def _hide_if_random(match: re.Match[str]) -> str:
    return "[redacted: secret]" if looks_random(match.group(2)) else match.group(0)


def _hide_random(match: re.Match[str]) -> str:
    lead, value = match.group(1), match.group(2)
    if not looks_random(value) or value.startswith(tuple(_PUBLIC_HEADS)) or is_object_id(value):
        return match.group(0)
    before = match.string[max(0, match.start() - 24) : match.start()].lower()
    if _public_name().search(lead) or "public " in before.rpartition("\n")[2]:
        return match.group(0)
    return f"{lead}[redacted: secret]"


# Each step with the sign without which it changes nothing.
STEPS: tuple[tuple[Callable[[str, str], bool], Callable[[str], str]], ...] = (
    (signs.private, _without_private),
    (signs.key_block, _without_keys),
    (signs.token, _without_tokens),
    (signs.beside_issuer, without_values_of_issuers),
    (signs.url, without_url_secrets),
    (signs.header, without_headers),
    (signs.command, without_arguments),
    (signs.named, _without_names),
    (signs.told, without_told),
    (signs.seeds, _without_seeds),
)
