"""Secrets out of a text, before any byte of it reaches a disk.

Tokens, keys, passwords and `<private>` blocks are replaced by a visible `[redacted: kind]`.
Every pattern is linear in the text.
"""

from __future__ import annotations

import math
import re
from functools import cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

# Shapes of credentials that vendors publish so that scanners can find them.
_TOKENS = (
    r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b",
    r"\bgh[pousr]_[A-Za-z0-9]{30,255}\b",
    r"\bgithub_pat_[A-Za-z0-9_]{40,255}\b",
    r"\bglpat-[A-Za-z0-9_-]{20,100}",
    # A key has a digit in it; a name of words and hyphens has none.
    r"\bsk-(?=[A-Za-z_-]{0,255}[0-9])[A-Za-z0-9_-]{20,255}",
    r"\b[rs]k_(?:live|test)_[A-Za-z0-9]{16,128}\b",
    r"\bxox[abeoprs]-[A-Za-z0-9-]{10,255}",
    r"\bAIza[A-Za-z0-9_-]{35}",
    r"\bya29\.[A-Za-z0-9_-]{20,512}",
    r"\bnpm_[A-Za-z0-9]{36}\b",
    r"\bpypi-[A-Za-z0-9_-]{40,512}",
    r"\bhf_[A-Za-z0-9]{30,64}\b",
    r"\bSG\.[A-Za-z0-9_-]{16,64}\.[A-Za-z0-9_-]{16,64}",
    r"\bdop_v1_[a-f0-9]{64}\b",
    r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{10,4096}\.eyJ[A-Za-z0-9_-]{10,4096}"
    r"\.[A-Za-z0-9_-]{8,1024}",
)
# Without any of these a text holds none of them: looking is a hundredth of matching.
_TOKEN_HEADS = (
    "AKIA ASIA ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ glpat- sk- k_live_ k_test_ xox AIza ya29. npm_ "
    "pypi- hf_ SG. dop_v1_ eyJ"
).split()
_NAME_PARTS = "pass secret token key credential pwd".split()
_NAMES = (
    r"pass(?:word|wd|phrase)|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|"
    r"client[_-]?secret|auth[_-]?key|credentials?|encryption[_-]?key|signing[_-]?key|pwd|"
    r"(?<=_)pass(?![a-z])"
)
# What may follow in a name: `tokens`, `token_2`, `secretKey`; not `tokenizer`, `secretary`.
_ENDINGS = r"(?:[_-][\w-]{0,20}|(?-i:(?<=[a-z])[A-Z])\w{0,20}|s?\d{0,3})"
# Words that stand where a secret would, and are none: values of settings, and names of types.
_PLACEHOLDERS = frozenset(
    "true false none null undefined required optional changeme example secret password "
    "token your_token your_password redacted hidden placeholder environment string integer number "
    "boolean bytes object secretstr include same-origin".split()
)
# No secrets: checksums with their kind, and how images and archives begin in base64.
_PUBLIC_HEADS = (
    "sha1- sha256- sha384- sha512- iVBORw0KGgo /9j/ R0lGOD UklGR JVBERi PHN2Zy UEsDB H4sI".split()
)
_PLACES = ("http://", "https://", "./", "../", "~/")
MIN_SECRET_CHARS = 6
# A random base64 string of 24 characters has about 4.2 bits a character; English words about 3.
MIN_ENTROPY_BITS = 3.7
MIN_ENTROPY_CHARS = 24
# Letters of either case and digits follow one another at random in a key, in runs in a name:
# 62 of 100 neighbours differ in kind there, fewer than 30 in CamelCase.
MIN_CHANGES = 0.35


def redact(text: str) -> str:
    """The text with every secret replaced by `[redacted: kind]`; other text byte for byte."""
    if len(text) < MIN_SECRET_CHARS:
        return text
    if "<" in text:
        text = _without_private(text)
    if "-----" in text:
        text = _key_block().sub("[redacted: private key]", text)
    if any(head in text for head in _TOKEN_HEADS):
        text = _token().sub("[redacted: token]", text)
    if "://" in text:
        text = _credentials_in_url().sub(r"\1[redacted: password]@", text)
    folded = text.casefold()
    if "bearer" in folded or "basic" in folded:
        text = _bearer().sub(_hide_bearer, text)
    if any(part in folded for part in _NAME_PARTS):
        text = _named_secret().sub(_hide_named, text)
    if ("=" in text or ":" in text) and any(len(w) >= MIN_ENTROPY_CHARS for w in text.split()):
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
    if _secret_name().fullmatch(key) and len(value) >= MIN_SECRET_CHARS and _is_one_word(value):
        return value if value.lower() in _PLACEHOLDERS else "[redacted: secret]"
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
def _token() -> re.Pattern[str]:
    return re.compile("|".join(_TOKENS))


@cache
def _credentials_in_url() -> re.Pattern[str]:
    return re.compile(
        r"((?<![a-z0-9+.-])[a-z][a-z0-9+.-]{1,20}://[^\s:/@'\"]{0,100}:)[^\s'\"/?#]{1,256}@",
        re.IGNORECASE,
    )


@cache
def _bearer() -> re.Pattern[str]:
    return re.compile(r"(\b(?:bearer|basic)\s{1,4})([A-Za-z0-9+/._~=-]{16,4096})", re.IGNORECASE)


@cache
def _secret_name() -> re.Pattern[str]:
    return re.compile(rf"[\w-]{{0,40}}(?:{_NAMES}){_ENDINGS}", re.IGNORECASE)


@cache
def _public_name() -> re.Pattern[str]:
    """Names whose value says what a content is, not who may read it."""
    return re.compile(r"integrity|sha\d|digest|hash|checksum|etag|fingerprint|public", re.I)


@cache
def _path_of_names() -> re.Pattern[str]:
    return re.compile(r"[A-Za-z_]+(?:\.[A-Za-z_]+)+")


@cache
def _named_secret() -> re.Pattern[str]:
    return re.compile(
        rf"((?:{_NAMES}){_ENDINGS}[\"']?\s{{0,4}}(?:=>|=|:|\bis\b|\bto\b)\s{{0,4}}[\"'`]?)"
        r"([^\s\"'`,;<>(){}\[\]]{6,512})",
        re.IGNORECASE,
    )


@cache
def _assignment() -> re.Pattern[str]:
    return re.compile(
        r"((?<![\w.-])[A-Za-z_][\w.-]{1,60}[\"']?\s{0,4}[=:]\s{0,4}[\"'`]?)"
        r"([A-Za-z0-9+/_=-]{24,512})"
    )


def _hide_named(match: re.Match[str]) -> str:
    lead, value = match.group(1), match.group(2)
    return match.group(0) if _is_plain(lead, value, match) else f"{lead}[redacted: secret]"


def _is_plain(lead: str, value: str, match: re.Match[str]) -> bool:
    """Whether what follows the name of a secret is prose, code or a placeholder, and no secret."""
    plain = value.rstrip(".!?:").lower()
    if len(plain) < MIN_SECRET_CHARS or plain in _PLACEHOLDERS or value[0] in "$%":
        return True
    if value.startswith(_PLACES) or (value[0] == "/" and not _looks_random(value)):
        return True  # where a secret lies
    if plain.isdigit() and lead[:5].lower() == "token":
        return True  # how many tokens
    is_quoted = lead.endswith(("'", '"', "`"))
    follower = match.string[match.end() : match.end() + 2]
    if not is_quoted and (follower.startswith(("(", "[")) or _path_of_names().fullmatch(value)):
        return True  # an expression of a programming language
    sign = lead.rstrip("\"'` ")[-1:]
    if sign not in ("=", ":", ">"):
        return _is_word(plain)
    # "Token: expires after 15 minutes", but not "password: opensesame".
    names_password = lead.lower().startswith(("pass", "pwd", "secret"))
    is_prose = sign == ":" and follower[:1] == " " and follower[1:].isalpha()
    return is_prose and not names_password and not is_quoted and _is_word(plain)


def _hide_bearer(match: re.Match[str]) -> str:
    value = match.group(2)
    return match.group(0) if _is_word(value.rstrip(".")) else f"{match.group(1)}[redacted: token]"


def _hide_random(match: re.Match[str]) -> str:
    lead, value = match.group(1), match.group(2)
    if not _looks_random(value) or value.startswith(tuple(_PUBLIC_HEADS)):
        return match.group(0)
    if _public_name().search(lead):
        return match.group(0)
    return f"{lead}[redacted: secret]"


def _is_word(text: str) -> bool:
    """Whether this is a plain word, at most with one hyphen or apostrophe in it."""
    return text.replace("-", "", 1).replace("'", "", 1).isalpha()


def _is_one_word(text: str) -> bool:
    return not any(c.isspace() for c in text.strip())


def _looks_random(value: str) -> bool:
    """Whether mixed classes and entropy speak for a key; hashes, UUIDs, names and paths stay."""
    plain = "".join(c for c in value if c.isalnum())
    if len(plain) < MIN_ENTROPY_CHARS:
        return False
    kinds = ["d" if c.isdigit() else "u" if c.isupper() else "l" for c in plain]
    if len(set(kinds)) < 3:
        return False
    changes = sum(kinds[i] != kinds[i + 1] for i in range(len(kinds) - 1))
    return changes >= MIN_CHANGES * (len(kinds) - 1) and _entropy_bits(value) >= MIN_ENTROPY_BITS


def _entropy_bits(value: str) -> float:
    size = len(value)
    counts = (value.count(c) / size for c in set(value))
    return -sum(share * math.log2(share) for share in counts)
