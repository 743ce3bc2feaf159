"""Test whether a word near a secret's name is the secret, or prose, code, a version or a file."""

from __future__ import annotations

import re
from itertools import pairwise

from memory_fabric.redaction import plain
from memory_fabric.redaction.plain import is_hex, is_identifier, is_joined_words, is_placeholder
from memory_fabric.redaction.rules import SYMBOLS, exact, form, is_doubtful, words

ANNOUNCING, FILLERS = frozenset(words("announcing")), frozenset(words("fillers"))
_PREDICATES = frozenset(words("predicates"))
MARK = "[redacted: secret]"
MIN_CHARS, MIN_KEY_CHARS, MIN_BARE_KEY_CHARS = 4, 8, 16
MIN_NEAR_KEY_CHARS = 12
# A value without symbols is no secret if words make up more than this share of its characters.
MAX_IN_WORDS = 0.5
_SUFFIXES = words("suffixes")
# Copulas: "the password is wrong". After a copula, a word that ends like an adjective or participle
# is not a password. The endings are `_SUFFIXES` in English and German, `_BENT` in other languages.
_COPULAS = ("is", "was", "ist", "war", "est", "c'est", "era", "è", "é", "jest", "это")
_BENT = words("bent suffixes")
_QUOTES = "\"'`„“”«»「」『』‘’*_"


def without(text: str, spans: list[tuple[int, int]], mark: str = MARK) -> str:
    """Replace each span of the text with the marker."""
    parts: list[str] = []
    at = 0
    for start, end in sorted(spans):
        if start >= at and "[redacted" not in text[start:end]:
            parts += [text[at:start], mark]
            at = end
    return "".join([*parts, text[at:]])


def is_telling(core: str) -> bool:
    """Return True if a value looks like a secret: it has symbols, or mixes letters and digits."""
    if len(core) < MIN_KEY_CHARS or not any(c.isdigit() for c in core):
        return False
    if not any(c.isalpha() for c in core) or not core.isascii():
        return False
    if is_identifier(core) or form("revision").fullmatch(core):
        return False
    symbols = sum(c in SYMBOLS for c in core)
    in_words = sum(len(run) for run in exact(r"[A-Za-z][a-z]{3,}").findall(core))
    if not symbols and in_words > MAX_IN_WORDS * len(core):
        return False
    if symbols and not any(c in "/=:<>(){}[]|," for c in core):
        return True
    groups = core.split("-")
    if len(groups) > 2 and len({*map(len, groups)}) == 1 and len(groups[0]) in range(4, 9):
        bare = "".join(groups)
        if bare.isalnum() and not (bare.islower() or bare.isupper()) and not plain.is_name(core):
            return True
    for part in exact(r"[-_./:,=+]").split(core):
        if len(part) < 6 or not part.isalnum():
            continue
        if len(part) > 7 and part.isalpha() and _is_unlike_words(part):
            return True
        turns = sum(a.isdigit() != b.isdigit() for a, b in pairwise(part))
        cases = sum(a != b for a, b in pairwise([(c.isdigit(), c.isupper()) for c in part]))
        if is_hex(part.removeprefix("g").rjust(32, "0")):
            continue
        is_digit_inside = part[0].isalpha() and part[-1].isalpha() and part.islower()
        if turns >= 3 or (turns == 2 and is_digit_inside and len(core) <= 24):
            return True
        if len(part) >= 10 and turns and cases > 0.4 * len(part):
            return True
    return False


def is_value(core: str, kind: str, linked: str, follower: str, *, quoted: bool, words: int) -> bool:
    """Return True if a word after the name of a secret is the secret. `linked` is the link before
    the word ("is", "=" or ''), `words` the number of words between, and `follower` the text behind.
    """
    if len(core) < MIN_CHARS or "[redacted" in core or "redacted:" in core:
        return False
    if core.isdigit() and kind in ("password", "pair", "pin"):
        # A PIN is close to its name ("pin 481516"); years and amounts are farther away.
        is_last = kind == "pin" and words < 3 and not follower.strip(" .!")
        is_near = bool(linked or not words or is_last)
        return 4 <= len(core) <= 20 and is_near and not _counts(follower)
    if kind == "pin":
        if not linked or form("of device").fullmatch(core):
            return False
        kind = "password"
    if is_placeholder(core) or is_known_form(core) or is_code(core, follower):
        return False
    if core.casefold() in plain.NAMES or (kind != "key" and _is_uuid(core)):
        return False
    has_capitals = core[:-1].isalpha() and sum(map(str.isupper, core)) > 1
    if core[-1] in "!?" and has_capitals and is_identifier(core[:-1]):
        return False  # a type, such as `AuthToken!` in GraphQL
    is_symbolic = linked and sum(c in SYMBOLS for c in core) > 1
    if form("other assignment").match(core) and not is_symbolic:
        return False
    if kind in ("password", "pair") and is_joined_words(core):
        ends = not follower.strip(" .,!)\"'`*")
        return bool(linked) or quoted or not words or (ends and words < 3)
    if kind in ("key", "common"):
        return _is_key(core, kind, linked, quoted=quoted, words=words)
    digits = sum(c.isdigit() for c in core)
    symbols = any(c in SYMBOLS for c in core[:-1]) or core[-1:] in "!$%@#"
    if not linked and not quoted and "/" in core:
        return False
    if digits and is_mixed(core, least=4):
        return bool(linked) or quoted or is_mixed(core, least=7) or (len(core) > 5 and not words)
    if digits and exact(r"[A-Z][a-z]{2,12}[-_.]\d{2,6}").fullmatch(core):
        return bool(linked) or quoted or words < 2
    if symbols and any(c.isalpha() for c in core):
        is_odd = sum(c in SYMBOLS for c in core) > 1 and core != core.lower() and not words
        return len(core) >= 5 and (bool(linked) or quoted or is_odd)
    if kind == "pair" or (not linked and not quoted):
        return False
    return _is_weak_word(core, linked, follower, quoted=quoted)


def is_phrase(phrase: re.Match[str], region: str) -> bool:
    """Return True if words matched in `region` end a sentence and are a passphrase, not prose."""
    behind = region[phrase.end() :].strip(" .!\"'`*)»“”’」』")
    ends = not behind or "-" in phrase.group() or not behind[0].isascii() or not behind[0].isalnum()
    ends = ends or len(behind.split()[0]) < 4
    return ends and is_words_of_phrase(phrase.group())


def is_words_of_phrase(phrase: str) -> bool:
    """Return True if a possible passphrase contains none of the function words of prose."""
    words = exact(r"[ -]").split(phrase)
    return not plain.says_prose(words) and len(set(words)) > 2


def _is_weak_word(core: str, linked: str, follower: str, *, quoted: bool) -> bool:
    """Return True if an ordinary word after a link is a password ("the password is opensesame")."""
    folded = core.casefold()
    parts = exact(r"[-_.]").split(folded)
    if any(part in _PREDICATES or part in FILLERS for part in parts) and len(parts) < 4:
        return False
    if not all(part.isalnum() for part in parts) or is_identifier(core):
        return False
    ends = not follower.strip()[:1].isalnum() or "\u2e80" <= follower[:1] <= "\ud7af"
    ends = ends or follower.lstrip(_QUOTES)[:1] in tuple(".,;)!|\n")
    if quoted:
        return linked != "" and len(core) >= 5
    suffixes = _SUFFIXES if linked in ANNOUNCING or linked in _COPULAS[:4] else _BENT
    is_linked = linked in ANNOUNCING or linked in _COPULAS
    return is_linked and ends and len(core) >= 5 and not folded.endswith(suffixes)


def _is_key(core: str, kind: str, linked: str, *, quoted: bool, words: int) -> bool:
    """Return True if a word is a key: it mixes letters and digits, or is a long hex number."""
    if len(core) < MIN_KEY_CHARS or not any(c.isdigit() for c in core) or is_identifier(core):
        return False
    if not linked and form("revision").fullmatch(core):
        return False
    if kind == "common":
        is_long = len(core) >= MIN_BARE_KEY_CHARS and bool(linked or quoted)
        return is_long and is_doubtful(core) and not is_hex(core) and not _is_uuid(core)
    is_random = _is_uuid(core) or plain.looks_random(core)
    if linked or quoted:
        return is_mixed(core, least=8) or is_doubtful(core) or is_random
    if not words and kind == "key" and is_random:
        return True
    least = MIN_NEAR_KEY_CHARS if not words else MIN_BARE_KEY_CHARS
    return len(core) >= least and is_doubtful(core) and not _is_uuid(core)


def is_mixed(core: str, *, least: int) -> bool:
    """Return True if a word of at least `least` characters has symbols, or a part with both letters
    and digits. The parts of `users_2024` have only letters or only digits.
    """
    if len(core) < least or not any(c.isalpha() for c in core):
        return False
    if any(c in SYMBOLS for c in core):
        return any(c.isdigit() for c in core) or len(core) >= 8
    parts = exact(r"[-_./:,]").split(core)
    unlike = (part for part in parts if len(part) > 5 and part.isalpha() and _is_unlike_words(part))
    if any(c.isdigit() for c in core) and any(unlike):
        return True
    longer = [part for part in parts if len(part) >= 4]
    return any(any(map(str.isdigit, part)) and any(map(str.isalpha, part)) for part in longer)


def _is_unlike_words(part: str) -> bool:
    """Return True if upper and lower case alternate too often for a word or a CamelCase name."""
    turns = sum(a.isupper() != b.isupper() for a, b in pairwise(part))
    return turns >= 2 and not is_identifier(part) and turns * 4 >= len(part)


def _is_uuid(core: str) -> bool:
    return len(core) == 36 and core.count("-") == 4


def _counts(follower: str) -> bool:
    """Return True if a unit ("days", "%") follows a number, which is therefore not a password."""
    return bool(exact(r"\s{0,2}[-\s]?(?:[a-z]{3,}|%)").match(follower)) and not exact(
        r"\s{1,2}(?:and|for|on|to|at|in|as|und|et|y|e|but|or|is|für|auf)\b"
    ).match(follower)


def is_code(core: str, follower: str) -> bool:
    """Return True if a word is a call, a reference, a path or an option."""
    if any(sign in core for sign in ("(", "::", "://")) or exact(r"\w\[[\"']").search(core):
        return True
    if core.startswith(("${", "{{", "<", "./", "../", "~/", "--")) or follower[:1] in ("(", "["):
        return True
    if exact(r"[Tt]est(?:_|[A-Z])\w+").fullmatch(core):
        return True
    if core[0] == "/" and not plain.looks_random(core):
        return True
    if core[0] == "$" and ("->" in core or is_placeholder(core)):
        return True
    if exact(
        r"[;{}](?:var|return|let)\b|\}[;,]|\\[sbwd]|\)\?\||[a-z]\.[a-z]+[<>=]|^return\b|\(\)"
    ).search(core):
        return True
    if core[0] in "&*" and core[1:].partition("<")[0].isalpha():
        return True  # a reference to a type, or a pointer to one
    return bool(form("names or call").fullmatch(core.rstrip("!"))) and not is_joined_words(core)


def is_known_form(core: str) -> bool:
    """Return True for a harmless form: version, date, size, file, algorithm, ticket or address."""
    return bool(form("known forms").fullmatch(core))


def stripped(token: str, start: int = 0) -> tuple[int, str]:
    """Strip quotes, brackets and punctuation from a word; return its new offset and text."""
    begin, end = start, len(token)
    while begin < end and token[begin] in "\"'`*„“”«»‘’([{,;:<_":
        begin += 1
    while begin < end and token[end - 1] in "\"'`*„“”«»‘’)]},;:.?>_":
        end -= 1
    if end - begin > 1 and token[end - 1] == "!" and token[begin : end - 1].isalpha():
        end -= 1
    return begin, token[begin:end]
