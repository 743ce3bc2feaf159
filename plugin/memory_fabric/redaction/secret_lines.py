"""Values that stand alone on a line or in a column of a table, and numbers as codes of locks.

Tables are in Markdown, drawn with boxes, CSV, aligned by blanks.
"""

# ruff: noqa: E501 - an expression is easier to read in one line

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from memory_fabric.patterns import exact, pattern
from memory_fabric.redaction.evidence import is_random
from memory_fabric.redaction.secret_kinds import ABOUT, kind_of, names_in
from memory_fabric.redaction.secret_names import (
    is_hex,
    is_identifier,
    is_placeholder,
    looks_random,
)
from memory_fabric.redaction.secret_signs import is_uuid
from memory_fabric.redaction.secret_values import (
    is_code,
    is_known_form,
    is_mixed,
    is_telling,
    is_value,
    is_words_of_phrase,
    stripped,
    without,
    words_of_phrase,
)

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
    if (
        core.count(",") > 1
        or any(c in core for c in "(){}[]<>;|\\")
        or core.endswith((":", "="))
        or "/" in core[:2]
    ):
        return False
    if (
        is_identifier(core)
        or exact(r"\w+=\w*&|[#@]?[A-Za-z_]{2,40}(?:=|$)").match(core)
        or not any(c.isalnum() for c in core)
    ):
        return False
    if kind in ("key", "common"):
        return (
            is_random(core, 16)
            or is_hex(core)
            or (is_telling(core) and len(core) > 9 and kind == "key")
            or (is_uuid(core) and kind == "key")
        )
    return is_telling(core) or is_random(core, 12) or (is_mixed(core, least=8) and "_" not in core)


@cache
def _speaker() -> re.Pattern[str]:
    """Match the start of a line: speaker and time, line number, mark of a quotation or list."""
    return exact(
        r"\s{0,12}(?:\[?\d{1,2}:\d\d(?::\d\d)?(?: [AP]M)?\]?\s?[-–]?\s?)?(?:<?[A-Z@]?\w{1,20}(?: \w{1,20})?>?(?::\s|：))?"
        r"(?:[>*•|#$-]{1,3}\s{1,4}|\d{1,4}[.):→\t]\s?)?"
    )


@cache
def names_phrase() -> re.Pattern[str]:
    """Names of a secret that is several words."""
    return pattern(r"phrase|frase|fraz|фраз|フレーズ|口令|암호문|zin$|fras$|lause", re.IGNORECASE)


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


@cache
def _number_of_lock() -> re.Pattern[str]:
    codes = "|".join(CODES)
    quoted = r"[\"'`*‘“«„_]{0,3}"
    return pattern(
        rf"(?:(?:{_LOCKS})\w{{0,14}}[ -]?(?:(?:the|is) )?(?:{codes})\b|(?<!\w)(?:{codes})\b[^\n.;]{{0,24}}?(?:{_LOCKS}))"
        rf"[^\n.;\d]{{0,48}}?(?<![\w.-]){quoted}(\d{{4,10}})(?![\w-]|[.,:]\d|\s?(?:ms|px|bytes|lines|times|%|errors?))",
        re.IGNORECASE,
    )


MAX_CELLS = 64
# Of these the rules between rows are drawn.
_RULES = " +-=|:\r─━═│║├┤┼╬╠╣╪┝┿┥┣╋┫┌┬┐"


def without_columns(text: str) -> str:
    """The text without the cells of columns that are named as secrets are."""
    lines = text.split("\n")
    columns: dict[int, str] = {}
    separator = ""
    width = 0
    for place, line in enumerate(lines):
        if columns:
            if not line.strip(_RULES):
                continue  # a rule between the head and its rows
            cells = _cells(line, separator)
            if len(cells) == width:
                lines[place] = _hidden_cells(line, cells, columns)
                continue
            columns = {}
        separator = next(
            (sign for sign in ("│", "║", "┃", "|", "\t", ";", ",", "  ") if sign in line), ""
        )
        if not separator or place + 1 == len(lines):
            continue
        cells = _cells(line, separator)
        named = {i: _column_kind(line[a:b]) for i, (a, b) in enumerate(cells)}
        is_head = 1 < len(cells) <= MAX_CELLS and line.strip()[-1:] != ","
        is_head = is_head and all(_is_title(line[a:b]) for a, b in cells)
        # A row of another table is no head; the line before a head has other cells, or none.
        above = lines[place - 1].strip(_RULES) if place else ""
        if is_head and len(_cells(above, separator)) != len(cells):
            columns = {i: kind for i, kind in named.items() if kind}
            width = len(cells)
    return "\n".join(lines)


def without_inserted(text: str) -> str:
    """The text without what SQL inserts into columns that are named as secrets are."""
    spans = []
    for statement in _insert().finditer(text):
        names = [_column_kind(name) for name in statement.group(1).split(",")]
        for row in _inserted_row().finditer(text, statement.end(), statement.end() + 4000):
            values = list(_inserted_value().finditer(text, *row.span(1)))
            for kind, value in zip(names, values, strict=False):
                if kind and value.group(1) and _is_cell_value(value.group(1), kind):
                    spans.append(value.span(1))
    return without(text, spans)


@cache
def _insert() -> re.Pattern[str]:
    return pattern(
        r"\b(?:insert|replace)\s{1,4}into\s{1,4}[\w.\"`\[\]]{1,80}\s{0,4}\(([^()]{1,400})\)\s{0,4}values",
        re.IGNORECASE,
    )


@cache
def _inserted_row() -> re.Pattern[str]:
    # Possessive: what is between two quotes can be divided in many ways, which all fail alike.
    return exact(r"\(((?:'[^'\n]{0,400}+'|[^()';]{1,400}+){1,64}+)\)")


@cache
def _inserted_value() -> re.Pattern[str]:
    return exact(r"'([^'\n]{0,400})'|[^',\s][^',]{0,200}")


def _is_title(cell: str) -> bool:
    """Return True for a few words without the signs of code, as heads of columns are."""
    bare = cell.strip(" \t\r*`\"'_")
    return len(cell) <= 40 and len(bare.split()) <= 4 and not set(bare) & set('=:;{}[]<>@&+\\$,"')


def _column_kind(cell: str) -> str:
    bare = cell.strip(" \t*`\"'_")
    if not bare or len(bare.split()) > 4:
        return ""
    matches = list(names_in(bare).finditer(bare))
    match = matches[-1] if matches else None  # `login_password`
    if match is None or bare.endswith((".", ":", "?")):
        return ""
    rest = bare[match.end() :].strip(" _-s").casefold()
    if rest and (" " not in bare or rest.split("_")[0].split(" ")[0] in ABOUT):
        return ""
    kind = kind_of(match.group().casefold())
    if kind == "pair":
        return "" if match.group().casefold().startswith(("log", "sign")) else "password"
    return kind


def _cells(line: str, separator: str) -> list[tuple[int, int]]:
    """Return the spans of a line's cells, up to a limit; quoted CSV included."""
    if separator == "  ":  # aligned by blanks: a cell is what stands between two or more
        return [match.span() for match in exact(r"\S+(?: \S+){0,8}").finditer(line)][:MAX_CELLS]
    spans, start, quoted = [], 0, False
    for place, character in enumerate(line):
        if character == '"':
            quoted = not quoted
        elif character == separator and not quoted:
            spans.append((start, place))
            start = place + 1
            if len(spans) > MAX_CELLS:
                break
    return [*spans, (start, len(line))]


def _hidden_cells(line: str, cells: list[tuple[int, int]], columns: dict[int, str]) -> str:
    spans = []
    for place, kind in columns.items():
        start, end = cells[place]
        cell = line[start:end]
        bare = cell.strip(" \t\r")
        left, right = stripped(bare)
        core = bare[left:right]
        is_one = core and len(core.split()) == 1 and set(core) - set("-:=")
        if is_one and _is_cell_value(core, kind):
            at = start + cell.find(bare)
            spans.append((at + left, at + right))
    return without(line, spans)


def _is_cell_value(core: str, kind: str) -> bool:
    if kind == "common":
        kind = "key"
    if kind == "key" and looks_random(core):
        return True
    return is_value(core, kind, "=", "", quoted=False, words=0)
