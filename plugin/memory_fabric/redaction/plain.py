"""Test whether the value after a secret's name is really a secret, or prose, code or a placeholder.
`password=hunter42` is a secret; `password = get_password()` and `token: string` are not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from memory_fabric.redaction.rules import SYMBOLS, exact, form, words

# The sections of words.txt with names of secrets of all kinds, such as "password" and "api key".
_SECTIONS = ("passwords", "short passwords", "pairs", "keys", "common keys")
EVERY_NAME = tuple(name for section in _SECTIONS for name in words(section))
NAMES = frozenset(EVERY_NAME)
_SPELLED = tuple(name for name in EVERY_NAME if not name.isascii())
_ABOUT = frozenset(words("about name"))
_OF_DEFINITIONS = words("definitions")
_COLUMN_TYPES = words("column types")
_PLACEHOLDERS = frozenset(words("placeholders"))
_SUBSTITUTES = frozenset(words("substitutes"))
# Words which show that a sentence continues here, and therefore that no value follows.
_SAYING = NAMES.union(*map(words, ("modal", "prose", "predicates", "fillers", "continuing")))
_PROSE = frozenset(words("continuing"))
PUBLISHED = words("published")
_ROWS = words("rows")
_PLACES = ("http://", "https://", "./", "../", "~/")
_OBJECTS = frozenset(words("objects"))
_OF_PROGRAMS = _ABOUT | _PLACEHOLDERS | _SUBSTITUTES | _OBJECTS
MIN_SECRET_CHARS = 6
# The minimum length of a password that contains a digit or a symbol, and so is not a word.
MIN_PASSWORD_CHARS = 4
# The minimum length of a secret in prose or in a table.
MIN_STRONG_CHARS = 8
# Minimum bits of entropy per character. English has about 3, 24 random base64 characters 4.2.
MIN_ENTROPY_BITS, MIN_ENTROPY_CHARS = 3.7, 24
MIN_HEX_CHARS = 32
# The minimum share of neighbouring characters that differ in kind: capital, other letter or digit.
# In a random key, 62% of such pairs differ. In a CamelCase name, fewer than 30% do.
MIN_CHANGES = 0.35
# Runs of at least this many lower-case letters fill 10% of a random key, most of a CamelCase name.
WORD_CHARS = 4
MAX_IN_WORDS = 0.45


def is_plain(lead: str, value: str, follower: str, *, quoted: bool) -> bool:
    """Return True if the value after the name of a secret is prose, code or a placeholder, and so
    no secret. `lead` is the name with the separator, and `follower` the text after the value.
    """
    plain = value.rstrip(".!?:,;").lower()
    if is_placeholder(value) or value.startswith(_PLACES) or _is_reference(lead, value, quoted):
        return True
    if len(plain) < MIN_SECRET_CHARS and not _is_short_password(lead, value):
        return True
    if value[0] == "/" and not looks_random(value):
        return True  # the path of a file that contains a secret, but not a secret itself
    name, sign = parted(lead)
    if plain.isdigit() and name.startswith("token"):
        return True  # a count of tokens: `tokens: 1200000`
    parts = exact(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])").findall(name)
    is_about = len(parts) > 1 and parts[-1].lower() in _ABOUT  # describes a secret: `token_type`
    if is_about and not (looks_random(value) or is_hex(value)):
        return True
    if sign in ("to", "|"):
        return not is_strong(value)
    if sign == "is":
        return not any(c.isdigit() or c in SYMBOLS for c in plain)
    if any(c.isspace() for c in value):
        return not is_passphrase(name, value)
    if not name.lower().startswith(("pass", "pwd")) and is_identifier(value):
        return True
    if not _names_password(name) and _is_identifier(plain, quoted=quoted):
        return True
    if quoted:
        return False
    if lead.rstrip().endswith("=="):
        return True  # a comparison, not an assignment
    return _is_code(value, follower) or _is_prose(name, sign, plain, follower)


def _is_reference(lead: str, value: str, quoted: bool) -> bool:
    """Return True for a psql variable, cmdlet, mail address or secret's name (`db-credentials`)."""
    if quoted and lead.endswith((" :'", " :")) and value.isidentifier():
        return True
    if form("cmdlet").fullmatch(value) or form("mail address").fullmatch(value):
        return True
    *first, last = exact(r"[-/]").split(value)
    is_joined = len(first) > 0 and all(part.isalpha() and part.islower() for part in first)
    return is_joined and last in ("credentials", "creds", "secret", "secrets", "tls", "tokens")


def _is_example(value: str) -> bool:
    return any(part in value for part in (*PUBLISHED, *_ROWS))


def is_placeholder(value: str) -> bool:
    """Return True if the value is a placeholder: `your-token-here`, `xxxx`, `$TOKEN`."""
    plain = value.strip(".!?:,;`*\"'[]()/").lower()
    if _is_example(value) or value[:1] >= "\U000f0000" or "..." in value:
        return True
    if form("constant").fullmatch(value):
        return True
    if any("\u3040" <= c <= "\u9fff" or "\uac00" <= c <= "\ud7af" for c in value):
        return True  # a label in Chinese, Japanese or Korean, not a secret
    if plain.startswith(("changeme", "change-me", "change_me", "placeholder")):
        return True
    is_spelled = not value.isascii() and plain.startswith(_SPELLED)
    if is_spelled or plain in NAMES or form("type name").fullmatch(value):
        return True  # the name of a secret or of a type
    if form("refers elsewhere").match(value) or form("is masked").search(value.lower()):
        return True
    if plain in _PLACEHOLDERS or len(set(plain)) <= 2 or "[redacted" in plain:
        return True
    if value[0] in "$%<{" and not form("is spelled with dollar").fullmatch(value):
        inner = value.strip("$%<>{}()")
        return value[:2] in ("$(", "${", "{{", "$[", "<%") or inner.replace("_", "").isalnum()
    parts = exact(r"[-_.:|\s]+").split(plain)
    if any(plain[:at] in _SUBSTITUTES and plain[at:] in NAMES for at in range(2, len(plain) - 1)):
        return True  # a placeholder of two joined words, such as `proxypass`
    if parts[0] in ("your", "my", "insert", "enter", "dein") and NAMES.intersection(parts[1:]):
        return True
    # Placeholders like `password` and `token2` are not secrets; `password4535` may be one.
    pairs = ((part, part.strip("0123456789")) for part in parts if not part.isdigit())
    return all(len(p) - len(b) < 3 and (b in NAMES or b in _SUBSTITUTES) for p, b in pairs)


def is_name(value: str) -> bool:
    """Return True if a value is one or more words or numbers, joined by separators: `users_v2`."""
    parts = exact(r"[-_./:,]").split(value.strip(".,;"))
    return all(part.isalpha() or part.isdigit() or len(part) < 4 for part in parts)


def is_style(line: str) -> bool:
    """Return True if a line is CSS: it has a selector before a brace, or a colour or length."""
    return bool(form("rule of style").search(line))


def is_markup(line: str) -> bool:
    """Return True if a line is an HTML element with attributes, or a CSS rule."""
    return bool(form("html element").search(line)) or is_style(line)


def is_definition(line: str) -> bool:
    """Return True for a line of SQL without values, a lock file, git log etc.: it has no secret."""
    return _may_define(line) and bool(form("definition").search(line))


def _may_define(line: str) -> bool:
    """Return False if a line certainly contains no definition; most prose fails this quick test."""
    if not line.isascii():
        return True  # cannot rule it out: `lower` may miss letters that `re.IGNORECASE` matches
    folded = line.lower()
    words = folded.split()
    if "=" in folded or any(piece in folded for piece in _OF_DEFINITIONS):
        return True
    if any(word.startswith(_COLUMN_TYPES) for word in words[1:2]):
        return True
    bare = (word.strip("*|\\/") for word in words if not word.strip("*|\\/0123456789abcdef"))
    return any(7 <= len(word) <= 12 for word in bare)


def is_identifier(value: str) -> bool:
    """Return True for names in code: `CamelCase`, `CONSTANT_CASE`, `four-or-more-parts`."""
    if form("camel").fullmatch(value) or form("constant").fullmatch(value):
        return True
    return len(exact(r"[-_./:]").split(value)) > 3 and value == value.lower() and is_name(value)


def is_words(text: str) -> bool:
    """Return True if a text has only plain words, joined by hyphens, apostrophes or slashes."""
    return all(part.isalpha() for part in exact(r"[-'/]").split(text.strip("*_`")) if part)


def is_strong(value: str) -> bool:
    """Return True if a value mixes letters with digits or symbols, unlike words of prose."""
    plain = value.strip(".,;:!?*`\"'()")
    if len(plain) < MIN_STRONG_CHARS or not any(c.isalpha() for c in plain):
        return False
    digits = sum(c.isdigit() for c in plain)
    if digits > 1 or (any(c in SYMBOLS for c in plain) and "://" not in plain):
        return True
    # With at most one digit, the kind of character changes more often in a key than in CamelCase.
    kinds = _kinds(plain)
    return len(set(kinds)) == 3 and _changes(kinds) > 0.4 * len(kinds)


def is_hex(value: str) -> bool:
    """Return True if a value consists of 32 or more hexadecimal digits, as hashes and keys do."""
    return len(value) >= MIN_HEX_CHARS and all(c in "0123456789abcdefABCDEF" for c in value)


def looks_random(value: str) -> bool:
    """Return True if a value's mix of characters suggests a key, not a hash, UUID, name or path."""
    plain = "".join(c for c in value if c.isalnum())
    if len(plain) < MIN_ENTROPY_CHARS or _is_example(value):
        return False
    kinds = _kinds(plain)
    if len(set(kinds)) < 3:
        return False
    in_words = sum(len(run) for run in exact(rf"[a-z]{{{WORD_CHARS},}}").findall(plain))
    if in_words > MAX_IN_WORDS * len(plain) or _changes(kinds) < MIN_CHANGES * (len(kinds) - 1):
        return False
    shares = (value.count(c) / len(value) for c in set(value))
    return -sum(share * math.log2(share) for share in shares) >= MIN_ENTROPY_BITS


def _kinds(text: str) -> list[str]:
    return ["d" if c.isdigit() else "u" if c.isupper() else "l" for c in text]


def _changes(kinds: list[str]) -> int:
    return sum(kinds[i] != kinds[i + 1] for i in range(len(kinds) - 1))


def parted(lead: str) -> tuple[str, str]:
    """Split `lead` into the secret's name, with its case preserved, and the separator after it."""
    bare = lead.rstrip("\"'` \t\\*")
    for sign in ("is", "to"):
        if bare.endswith((" " + sign, "\t" + sign)):
            return bare[:-2].rstrip("\"'` \t\\*"), sign
    sign = bare[-1:]
    return bare.rstrip("=:>|").rstrip("\"'` \t\\*"), sign


def is_passphrase(name: str, value: str) -> bool:
    """Return True if several words after a password's name are a passphrase, not a sentence."""
    words = value.split()
    if not _names_password(name) or len(words) > 12 or says_prose(words):
        return False
    letters = exact(r"[^\W\d_]{2,}").findall(value.lower())
    if letters and not says_prose(letters) and any(c.isdigit() or c in SYMBOLS for c in value):
        return True
    return len(words) >= 4 and value == value.lower() and value[-1].isalpha()


def is_joined_words(value: str) -> bool:
    """Return True for a passphrase: three joined words, or two and a number, all rare in prose."""
    sign = next((c for c in value if c in "._-"), " ")
    words = value.rstrip("!?").split(sign)
    if len(words) < 3 or len(set(words)) < len(words):
        return False
    words = [word for word in words if not (word.isdigit() and len(word) < 7)]
    if not all(2 < len(w) < 13 and w.isalpha() and w[1:].islower() for w in words):
        return False
    folded = [word.casefold() for word in words]
    is_case = len({word[0].isupper() for word in words}) == 1
    is_common = says_prose(folded) or not _OF_PROGRAMS.isdisjoint(folded)
    return len(words) > 1 and is_case and not is_common


def says_prose(parts: Sequence[str]) -> bool:
    """Return True if one of the lower-case words is typical of prose, such as a function word."""
    return not _SAYING.isdisjoint(parts)


def _is_short_password(lead: str, value: str) -> bool:
    name, sign = parted(lead)
    names = ("password", "passwd", "pwd", "pass", "passphrase", "passcode")
    is_stated = sign in ("=", ":") and name.lower().endswith(names)
    is_long = len(value) >= MIN_PASSWORD_CHARS and not value.startswith(("$", "%"))
    return is_stated and is_long and any(c.isdigit() or c in SYMBOLS for c in value)


def _is_code(value: str, follower: str) -> bool:
    """Return True if a value is an expression in source code; `follower` is the text after it."""
    value = exact(r"\|\||&&|\?\?").split(value, maxsplit=1)[0]
    if not value:
        return True
    if follower.startswith(("(", "[", "<")) or form("path of names").fullmatch(value):
        return follower.startswith(("(", "[", "<")) or not is_joined_words(value)
    bare = value.lstrip("&*!@")
    if exact(r"\.|\?\.|::|->").split(bare, maxsplit=1)[0] in _OBJECTS and bare.isascii():
        return len(exact(r"\.|\?\.|::|->").split(bare)) > 1
    if bare != value and bare.isalpha() and follower[:1] in ("", " ", ",", ")", ";", "\n", "="):
        return True  # a reference, a type, or a YAML tag
    is_name = bare.replace("_", "").replace("?", "").isalpha()
    is_path = "." in bare and all(part.isidentifier() for part in bare.split("."))
    return (is_name or is_path) and any(part in bare.lower() for part in words("name parts"))


def _is_prose(name: str, sign: str, plain: str, follower: str) -> bool:
    """Return True for prose ("Token: expires after 15 minutes"), not for "password: opensesame"."""
    if sign != ":" or not (follower[:1] == " " and follower[1:2].isalpha()):
        return False
    return is_words(plain) and (not _names_password(name) or plain in _PROSE)


def _names_password(name: str) -> bool:
    folded = name.lower().rstrip("0123456789")
    endings = ("secret", "secret_key", "secret-key", "secretkey")
    return folded.startswith(("pass", "pwd", "secret")) or folded.endswith(endings)


def _is_identifier(plain: str, *, quoted: bool) -> bool:
    """Return True if the value is an identifier: `token = Whitespace`, `token: "x-token"`."""
    if not plain.replace("_", "").replace("-", "").isalpha() or len(plain) >= MIN_ENTROPY_CHARS:
        return False
    return not quoted or any(part in plain for part in words("name parts"))
