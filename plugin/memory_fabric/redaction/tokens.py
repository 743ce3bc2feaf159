"""Detect keys and tokens by their format: published formats, key blocks, random values of issuers.
A random-looking word is a secret only if it has an issuer's prefix, or if the name of an issuer or
of a secret precedes it on its line or on the line before. Random-looking public or encrypted data
and references are taken out before the rules apply, and restored afterwards.
"""

from __future__ import annotations

import re
from binascii import a2b_base64
from itertools import pairwise

from memory_fabric.redaction import plain, rules
from memory_fabric.redaction.plain import PUBLISHED, is_hex, is_identifier, is_name, is_placeholder
from memory_fabric.redaction.rules import exact, form, is_doubtful, is_uuid, table, words
from memory_fabric.redaction.values import is_known_form, stripped, without

MIN_RANDOM, MIN_TAIL = 20, 16
MAX_WORD, BEFORE_CHARS = 600, 90
MAX_RUNS = 400  # the maximum number of lines in one private key
MARK, MARK_OF_KEY = "[redacted: token]", "[redacted: private key]"
_THINGS, _TELLING = frozenset(words("things")), frozenset(words("telling"))
_PARTED = "_-.:~+"
# The range of private-use characters that replace harmless parts, one character for each part.
_FIRST_PLACE, _LAST_PLACE = 0xF0000, 0xFFFFD


def without_tokens(text: str) -> str:
    """Redact tokens in known formats, and AWS secrets next to their key ids."""
    long = " ".join(word for word in text.split() if len(word) >= rules.MIN_WORD_CHARS)
    opened = [*table("issued").opened_by(long), *table("public issued").opened_by(long.lower())]
    for rule in opened:
        hidden = exact(rule.expression).sub(_hide_token, text)
        if hidden != text and rule.expression.startswith(r"\b(?:AKIA"):
            # An AWS secret is near its key id, often without a name of its own.
            hidden = form("aws secret").sub(
                lambda m: "[redacted: secret]" if plain.looks_random(m[2]) else m[0], hidden
            )
        text = hidden
    return text


def _hide_token(match: re.Match[str]) -> str:
    token = match.group()
    is_stand_in = len(set(token[-16:].lower())) < 3 or any(part in token for part in PUBLISHED)
    return token if is_stand_in or not is_doubtful(token) else MARK


def without_values_of_issuers(text: str) -> str:
    """Redact values that follow an issuer's name and have this issuer's format."""
    folded = text.casefold()
    for section in ("beside", "public beside"):
        for rule in table(section).opened_by(folded):
            text = exact(rule.expression).sub(_hide_value, text)
    return text


def _hide_value(match: re.Match[str]) -> str:
    lead, value = match.groups()
    is_public = form("public lead").search(lead) or not any(c.isdigit() for c in value)
    return match.group() if is_public else f"{lead}{MARK}"


def without_random(text: str) -> str:
    """Redact random values that are assigned to a name or belong to an issuer."""
    text = form("assignment").sub(_hide_random, text) if "=" in text or ":" in text else text
    return without(text, random_words(text), MARK)


def _hide_random(match: re.Match[str]) -> str:
    lead, value = match.groups()
    prefix = value.replace("-", "_").partition("_")[0]
    if not plain.looks_random(value) or prefix in _THINGS or decodes_to_text(value):
        return match.group()
    before = match.string[max(0, match.start() - 300) : match.start()]
    if "://" in before.split(" ")[-1].rpartition("\n")[2]:
        return match.group()
    is_public = "public " in before[-24:].lower().rpartition("\n")[2]
    if is_public or form("public name").search(lead):
        return match.group()
    return f"{lead}[redacted: secret]"


def decodes_to_text(value: str) -> bool:
    """Return True if a value is plain text encoded in base64."""
    try:
        bare = value.rstrip("=")
        decoded = a2b_base64(f"{bare}{'=' * (-len(bare) % 4)}", strict_mode=True).decode("utf-8")
    except ValueError:
        return False
    readable = sum(c.isalpha() or c in ' \n\t,."{}[]<>/' for c in decoded)
    return len(decoded) > 8 and readable >= 0.9 * len(decoded) and " " in decoded


def is_random(core: str, least: int = MIN_RANDOM) -> bool:
    """Return True if at least `least` letters and digits alternate too often for a word or name."""
    if not core.isascii() or is_name(core) or is_identifier(core) or is_placeholder(core):
        return False
    letters = "".join(c for c in core if c.isalnum())
    digits = sum(c.isdigit() for c in letters)
    case_turns = sum(a.isupper() != b.isupper() for a, b in pairwise(letters))
    is_case_mixed = case_turns * 5 >= len(letters) * 2
    if len(letters) < least or digits == len(letters) or (digits < 2 and not is_case_mixed):
        return False
    kinds = ["d" if c.isdigit() else "u" if c.isupper() else "l" for c in letters]
    digit_runs = len(exact(r"\d+").findall(letters))
    turns = sum(a != b for a, b in pairwise(kinds))
    in_words = sum(len(run) for run in exact(r"[A-Za-z][a-z]{3,}|[A-Z]{5,}").findall(letters))
    is_mixed = turns >= plain.MIN_CHANGES * len(letters) or digit_runs * 8 >= len(letters)
    if in_words > 0.45 * len(letters) and not (is_mixed or is_hex(letters.rjust(32, "0"))):
        return False
    return turns * 6 >= len(letters) and len({*letters.lower()}) >= 7


def has_prefix(core: str) -> bool:
    """Return True if a word has an issuer's prefix of secrets (not of ids) and a random rest."""
    if len(core) > 36 and is_uuid(core[-36:]):
        return core[-37] in "_-" and core[:-37].lower() in words("prefixes of uuids")
    match = form("prefixed").fullmatch(core)
    if match is None:
        return False
    prefix, tail = match.groups()
    if prefix.startswith(("pk_live", "pk_test", "pk_sandbox", "did:", "urn:", "arn:")):
        return False
    parts = exact(r"[_.:~+-]").split(prefix.lower().rstrip(_PARTED))
    if exact(r"v\d").match(prefix) or any(
        part.rstrip("0123456789") in _THINGS or part in _THINGS for part in parts
    ):
        return any(part in _TELLING for part in parts)
    if any(part in _TELLING or form("of issuer").fullmatch(part) for part in parts):
        return is_random(tail, MIN_TAIL) and not max(exact(r"[-_.]").split(tail), key=len).isdigit()
    if "/" in tail:
        return False
    cases = {"d" if c.isdigit() else "u" if c.isupper() else "l" for c in tail}
    if is_hex(tail.rjust(32, "0")):
        return (prefix[-1] == "_" and len(tail) >= 32) or (prefix[-1] == "." and len(tail) >= 40)
    return is_random(tail, MIN_RANDOM if len(cases) == 3 else 26)


def random_words(text: str) -> list[tuple[int, int]]:
    """Return the spans of random words that have a token's prefix or follow an issuer's name."""
    spans = []
    for word in form("token word").finditer(text):
        token = word.group()
        if len(token) < rules.MIN_WORD_CHARS or len(token) > MAX_WORD or not is_doubtful(token):
            continue
        begin, core = stripped(token)
        end = begin + len(core)
        at = max(token.rfind("=", begin, end - 8), token.rfind("'", begin, end - 8), -1)
        begin = max(begin, at + 1)
        begin += len(token[begin:end]) - len(token[begin:end].lstrip("\"'`("))
        core = token[begin:end]
        # Skip joined words and numbers, which are not random, unless a part is a token's prefix.
        is_short_name = len(core) < plain.MIN_HEX_CHARS and is_name(core)
        if is_short_name and _TELLING.isdisjoint(exact(r"[_.:~+-]").split(core.lower())):
            continue
        is_path = "/" in core[:-1] and ("://" in token or core.count("/") > 1)
        is_code = any(sign in core for sign in "@\\(")
        if is_path or is_placeholder(core) or is_identifier(core) or is_code or is_known_form(core):
            continue
        is_key = at < 0 and has_prefix(core)
        may_be_key = "://" not in token and not is_key and len(core) >= MIN_RANDOM
        if may_be_key and (is_random(core) or is_uuid(core)):
            start = max(text.rfind("\n", 0, word.start()) + 1, word.start() - BEFORE_CHARS)
            before = text[start : word.start() + begin]
            is_key = bool(form("issuer").search(before)) and not form("of thing").search(before)
        if is_key:
            spans.append((word.start() + begin, word.start() + end))
    return spans


def without_keys(text: str) -> str:
    """Redact private keys, even if the text contains only the beginning or the end of a key."""
    text = form("key block").sub(MARK_OF_KEY, text)
    parts: list[str] = []
    at = 0
    for head in form("key head").finditer(text):
        if head.start() < at:
            continue
        place = head.end()
        runs: list[re.Match[str]] = []
        while len(runs) < MAX_RUNS:
            run = form("key run").match(text, place)
            if run is None or "-----" in text[place : run.start(1)]:
                break
            runs.append(run)
            place = run.end()
        # The last line of a key may be shorter than its other lines.
        last = form("key last").match(text, place) if runs else None
        for run in (*runs, *((last,) if last is not None else ())):
            parts += [text[at : run.start(1)], MARK_OF_KEY]
            at = run.end(1)
    text = "".join([*parts, text[at:]])
    text = form("key tail").sub(_hide_tail, text)
    return form("putty key").sub(rf"\1{MARK_OF_KEY}", text)


def _hide_tail(match: re.Match[str]) -> str:
    is_key = "=" in match.group(1) or any(map(is_doubtful, match.group(1).split()))
    return f"{MARK_OF_KEY}\n{match.group(2)}" if is_key else match.group()


class HarmlessParts:
    """A text whose harmless parts are each temporarily replaced with one private-use character."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._waves: list[dict[int, str]] = []
        self._next = _FIRST_PLACE
        # Nothing is replaced in a text that already contains private-use characters.
        self._is_possible = text.isascii() or ord(max(text)) < _FIRST_PLACE

    def hold_always(self) -> str:
        """Replace parts whose format shows that they are public or encrypted; return the result."""
        folded = self.text.casefold()
        longest = max(map(len, folded.split()), default=0)
        for rule in table("harmless").opened_by(folded):
            if longest >= int(rule.note):
                self._hold(exact(rule.expression))
        return self.text

    def hold_named(self, text: str) -> str:
        """Replace values in a text whose names mark them as ids or checksums; return the result."""
        self.text = text
        self._hold(form("harmless value"))
        return self.text

    def _hold(self, shape: re.Pattern[str]) -> None:
        if not self._is_possible:
            return
        wave: dict[int, str] = {}

        def hold(match: re.Match[str]) -> str:
            whole, part = match.group(), match.group(shape.groups)
            if self._next > _LAST_PLACE or "[redacted" in part:
                return whole
            at = match.start(shape.groups) - match.start()
            wave[self._next] = part
            self._next += 1
            return whole[:at] + chr(self._next - 1) + whole[at + len(part) :]

        self.text = shape.sub(hold, self.text)
        if wave:
            self._waves.append(wave)

    def put_back(self, text: str) -> str:
        """Restore the harmless parts in a text; return the result."""
        for wave in reversed(self._waves):
            text = text.translate(wave)
        return text
