"""Values that stand alone on a line, behind one that names a secret; numbers as codes of locks."""

# ruff: noqa: E501 - an expression is easier to read in one line

from __future__ import annotations

from memory_fabric.cache import cached
from memory_fabric.patterns import IGNORECASE, exact, pattern
from memory_fabric.redaction.evidence import is_random
from memory_fabric.redaction.secret_names import is_hex, is_placeholder
from memory_fabric.redaction.secret_signs import is_uuid
from memory_fabric.redaction.secret_values import (
    is_code,
    is_known_form,
    is_mixed,
    is_telling,
    is_words_of_phrase,
    stripped,
    words_of_phrase,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Iterator

MAX_LINES, MAX_CHARS = 4, 256


def alone_behind(text: str, start: int, kind: str) -> Iterator[tuple[int, int]]:
    """The word that is alone on one of the lines from `start` on, if it looks like a secret."""
    seen = found = 0
    is_asked = text[max(0, start - 4) : start].rstrip().endswith("?")
    for _ in range(3 * MAX_LINES):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        line = text[start:end]
        bare = line.strip()
        if bare:
            seen += 1
            lead = _speaker().match(line)
            at = lead.end() if lead is not None else 0
            word = line[at:].strip()
            phrase = words_of_phrase().fullmatch(word.strip("\"'`*"))
            if seen == 1 and phrase and kind == "password" and is_words_of_phrase(phrase.group()):
                place = text.index(phrase.group(), start + at)
                yield place, place + len(phrase.group())
                return
            if seen == 1 and is_asked and len(word.split()) > 1:
                for token in exact(r"[^\s\"'`*]{6,256}").finditer(word):
                    left, right = stripped(token.group())
                    core = token.group()[left:right]
                    if core and is_alone_secret(core, kind):
                        place = text.index(word, start + at) + token.start()
                        yield place + left, place + right
                return
            if word and len(word.split()) == 1 and len(word) <= MAX_CHARS:
                left, right = stripped(word)
                core = word[left:right]
                if core and is_alone_secret(core, kind):
                    place = text.index(word, start + at)
                    yield place + left, place + right
                    found += 1
                elif found:
                    return
        if end == len(text) or (seen >= MAX_LINES and not found):
            return
        start = end + 1


def is_alone_secret(core: str, kind: str) -> bool:
    """True if a word that is all of its line is a password or a key."""
    if "[redacted" in core or is_placeholder(core) or is_known_form(core) or is_code(core, ""):
        return False
    if any(c in core for c in "(){}[]<>;|\\") or core.endswith((":", "=")) or "/" in core[:2]:
        return False
    if exact(r"[A-Za-z_]{2,40}=").match(core) or not any(c.isalnum() for c in core):
        return False
    if kind in ("key", "common"):
        return (
            is_random(core, 16)
            or is_hex(core)
            or (is_telling(core) and len(core) > 9 and kind == "key")
            or (is_uuid(core) and kind == "key")
        )
    return is_telling(core) or is_random(core, 12) or (is_mixed(core, least=8) and "_" not in core)


@cached
def _speaker() -> re.Pattern[str]:
    """Match the start of a line: speaker and time, line number, mark of a quotation or list."""
    return exact(
        r"\s{0,12}(?:\[?\d{1,2}:\d\d(?::\d\d)?(?: [AP]M)?\]?\s?[-–]?\s?)?(?:<?[A-Z@]?\w{1,20}(?: \w{1,20})?>?(?::\s|：))?"
        r"(?:[>*•|#$-]{1,3}\s{1,4}|\d{1,4}[.):→\t]\s?)?"
    )


@cached
def names_phrase() -> re.Pattern[str]:
    """Names of a secret that is several words."""
    return pattern(r"phrase|frase|fraz|фраз|フレーズ|口令|암호문|zin$|fras$|lause", IGNORECASE)


CODES = (
    "code codes código codigo codice codici kod kodu kodem kode koodi код кода коду コード 코드 "
    "kodas koda cod codi"
).split()
_LOCKS = (
    r"alarm|allarme|door|tür|porta\b|porte\b|puerta|deur|drzwi|kapı|двер|dveř|safe\b|tresor|coffre|caja fuerte|cassaforte|"
    r"cofre|kluis|sejf|kasa|сейф|garage|garaje|гараж|gate\b|lock|schloss|cadenas|candado|lucchetto|cadeado|slot\b|"
    r"zamek|kilit|замок|замк|сигнализац|домофон|digicode|interphone|citofono|recovery|2fa|mfa|sim\b|voicemail|"
    r"mailbox|entry|access|acceso|accesso|acesso|accès|toegang|dostęp|доступ|giriş|erişim|zugang|zutritt|unlock|pairing|keypad|"
    r"entrance|eingang|entrée|entrada|ingresso|bike|fahrrad|locker|spind|office|büro|server ?room|building|gebäude|"
    r"disarm|panel|警报|门|报警|金庫|ドア|アラーム|暗証|문|금고|알람|hälytys|larm|riasztó|alarmă|συναγερμ"
)


def numbers_of_locks(text: str) -> list[tuple[int, int]]:
    """Return spans of codes of locks and alarms."""
    return [match.span(1) for match in _number_of_lock().finditer(text)]


@cached
def _number_of_lock() -> re.Pattern[str]:
    codes = "|".join(CODES)
    quoted = r"[\"'`*‘“«„_]{0,3}"
    return pattern(
        rf"(?:(?:{_LOCKS})\w{{0,14}}[ -]?(?:(?:the|is) )?(?:{codes})\b|(?<!\w)(?:{codes})\b[^\n.;]{{0,24}}?(?:{_LOCKS}))"
        rf"[^\n.;\d]{{0,48}}?(?<![\w.-]){quoted}(\d{{4,10}})(?![\w-]|[.,:]\d|\s?(?:ms|px|bytes|lines|times|%|errors?))",
        IGNORECASE,
    )
