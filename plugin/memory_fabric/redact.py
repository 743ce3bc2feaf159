"""Secrets out of a text, before any byte of it reaches a disk.

Tokens, keys, passwords and `<private>` blocks are replaced by a visible `[redacted: kind]`.
Every pattern is linear in the text; one that is rarely needed is compiled when it is.
"""

from __future__ import annotations

import re
from functools import cache

from memory_fabric.credentials import shapes_in
from memory_fabric.secret_arguments import without_arguments, without_headers, without_url_secrets
from memory_fabric.secret_names import (
    ENDINGS,
    MIN_SECRET_CHARS,
    NAME_PARTS,
    NAMES,
    is_placeholder,
    is_plain,
    is_strong,
    looks_random,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

# No secrets: checksums with their kind, and how images, fonts and archives begin in base64.
_PUBLIC_HEADS = (
    "sha1- sha256- sha384- sha512- iVBORw0KGgo /9j/ R0lGOD UklGR JVBERi PHN2Zy UEsDB H4sI d09GR "
    "AAEAAAA T1RUTw AAABAA SUkq Qk0 AAAAI".split()
)
# The shortest published shape has as many characters; a text of shorter words holds none.
MIN_TOKEN_CHARS = 20
# What follows a value is looked at to tell code and prose from a secret.
_FOLLOWER_CHARS = 40


def redact(text: str) -> str:
    """The text with every secret replaced by `[redacted: kind]`; other text byte for byte."""
    if len(text) < MIN_SECRET_CHARS:
        return text
    if "<" in text:
        text = _without_private(text)
    if "-----" in text:
        text = _key_block().sub("[redacted: private key]", text)
    if "Private-Lines:" in text:
        text = _putty_key().sub(r"\1[redacted: private key]", text)
    long_words = [word for word in text.split() if len(word) >= MIN_TOKEN_CHARS]
    if long_words:
        text = _without_tokens(text, " ".join(long_words))
    if "://" in text:
        text = without_url_secrets(text)
    folded = text.casefold()
    text = without_headers(text, folded)
    text = without_arguments(text, folded)
    if any(part in folded for part in NAME_PARTS):
        text = "\n".join(map(_without_named, text.split("\n")))
    if "phrase" in folded or "mnemonic" in folded or "seed words" in folded:
        text = _seed_phrase().sub(r"\1[redacted: seed phrase]", text)
    if long_words and ("=" in text or ":" in text):
        text = _assignment().sub(_hide_random, text)
    return text


def redacted(value: Any) -> Any:
    """The same JSON value with every string redacted, keys included."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        return redacted_object(value)
    if isinstance(value, list | tuple):
        return [redacted(part) for part in value]
    return value


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


def _without_tokens(text: str, long_words: str) -> str:
    """The text without credentials of a published shape, and without what goes with them."""
    for shape in shapes_in(long_words):
        hidden = shape.sub("[redacted: token]", text)
        if hidden != text and shape.pattern.startswith(r"\b(?:AKIA"):
            # The secret half of the pair stands beside its id, often without a name.
            hidden = _aws_secret().sub(_hide_if_random, hidden)
        text = hidden
    return text


def _without_named(line: str) -> str:
    """The line without secrets that are known by their name."""
    folded = line.casefold()
    if not any(part in folded for part in NAME_PARTS):
        return line
    return _spoken_secret().sub(_hide_spoken, _named_secret().sub(_hide_named, line))


@cache
def _private_tag() -> re.Pattern[str]:
    return re.compile(r"</?private\b[^<>]*>", re.IGNORECASE)


@cache
def _key_block() -> re.Pattern[str]:
    return re.compile(
        r"-{5}BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-{5}.*?(?:-{5}END [A-Z0-9 ]{0,40}-{5}|\Z)",
        re.DOTALL,
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
def _named_secret() -> re.Pattern[str]:
    return re.compile(
        rf"((?:{NAMES}){ENDINGS}(?:\\?[\"'`]|\*{{1,2}})?"
        r"(?:[ \t]{1,2}(?:for|of|on|in)[ \t][\w ./@-]{1,40}?)?"
        r"[ \t]{0,20}(?:=>|:=|={1,3}|:|\bis\b|\bto\b|\|)[ \t]{0,20}(?:\*{1,2}[ \t]{0,2})?)"
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
    return re.compile(
        r"(\b(?:(?:seed|recovery|mnemonic|backup|secret)[ _-]?(?:phrase|words?)?|mnemonic)"
        r"[\"']?[ \t]{0,4}(?:is|[:=])[ \t\n]{0,4}[\"'`]?)"
        r"(?:[a-z]{3,8}[ ,]{1,2}){11,23}[a-z]{3,8}\b",
        re.IGNORECASE,
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
    follower = (rest + behind)[:_FOLLOWER_CHARS]
    if is_plain(lead, value, follower, quoted=bool(opening)):
        return match.group(0)
    return f"{lead}{opening}[redacted: secret]"


def _hide_spoken(match: re.Match[str]) -> str:
    lead, value = match.group(1), match.group(2)
    if lead is None:
        lead, value = match.group(3), match.group(4)
    if not is_strong(value) or is_placeholder(value) or "[redacted" in value:
        return match.group(0)
    return f"{lead}[redacted: secret]"


def _hide_if_random(match: re.Match[str]) -> str:
    return "[redacted: secret]" if looks_random(match.group(2)) else match.group(0)


def _hide_random(match: re.Match[str]) -> str:
    lead, value = match.group(1), match.group(2)
    if not looks_random(value) or value.startswith(tuple(_PUBLIC_HEADS)):
        return match.group(0)
    if _public_name().search(lead):
        return match.group(0)
    return f"{lead}[redacted: secret]"
