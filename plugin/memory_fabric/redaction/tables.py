"""Find and classify names of secrets; find secrets that are alone on a line or in a table cell. A
table may be Markdown, CSV, drawn with box characters, or aligned by blanks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from memory_fabric.redaction import values
from memory_fabric.redaction.plain import NAMES, is_hex, is_identifier, is_placeholder, looks_random
from memory_fabric.redaction.rules import AROUND, exact, form, is_uuid, table, words
from memory_fabric.redaction.tokens import is_random
from memory_fabric.redaction.values import is_code, is_known_form, is_mixed, is_telling, stripped

ABOUT = frozenset(words("about"))
MAX_LINES, MAX_CHARS, MAX_CELLS = 4, 256, 64
_SEPARATORS = ("│", "║", "┃", "|", "\t", ";", ",", "  ")
# The characters of horizontal lines in tables.
_RULES = " +-=|:\r─━═│║├┤┼╬╠╣╪┝┿┥┣╋┫┌┬┐"
_BENT = frozenset(words("bent token"))
_OPENING = frozenset(words("opening"))
_OPENING_NOTHING, _NO_PASSWORD = words("opening nothing"), words("no password")
_NOT_BEHIND = {"key": _OPENING_NOTHING, "common": _OPENING_NOTHING, "pair": _NO_PASSWORD}
_UNBENT = frozenset(words("unbent"))
# The kind of the names in each section of words.txt; a name in two gets that of the later one.
_SECTIONS = {
    "keys": "key", "common keys": "common", "pairs": "pair", "short passwords": "password",
    "passwords": "password", "pins": "pin",
}  # fmt: skip
_KINDS = {name: kind for section, kind in _SECTIONS.items() for name in words(section)}
_BY_LENGTH = sorted(NAMES, key=lambda name: (-len(name), name))


def kind_of(name: str) -> str:
    """Return a name's kind: password, pin, pair (account and password), key, or common ("code")."""
    return _KINDS.get(name, "key")


def is_of_issuer(before: str, behind: str) -> bool:
    """Return True if a word next to `key` names a service: "Stripe key", "key for Scaleway"."""
    if form("whose").search(before) or form("for whom").match(behind):
        return True
    *_, last = ["", *before.casefold().replace("-", " ").replace("_", " ").split()]
    return last in _OPENING or last.startswith(_issuers())


@cache
def _issuers() -> tuple[str, ...]:
    return tuple(keyword for rule in table("public beside").rules for keyword in rule.keywords)


def is_name(text: str, name: re.Match[str], kind: str) -> bool:
    """Return True if a secret's name is not just part of another word, a path or an address."""
    before, behind = text[name.start() - 1 : name.start()], text[name.end() : name.end() + 1]
    word = name.group()
    has_slash = text[name.end() : name.end() + 2].lstrip("sS")[:1] == "/"
    is_path = has_slash and form("rest of name").match(text, name.end()) is None
    if before == "/" and behind == "-":
        return False  # part of a path: `docker/login-action`
    if is_path or _is_in_address(text, name.start()):
        return False
    if before == "." and text[max(0, name.start() - 2) : name.start() - 1] == "/":
        return False
    is_joined = before.isdigit() or text[name.end() : name.end() + 2].isalnum()
    if word.isascii() and len(word) < 6 and is_joined:
        is_plural = behind in ("s", "S") and not text[name.end() + 1 : name.end() + 2].isalnum()
        if before.isdigit() or (behind.isdigit() and not is_plural):
            return False
    lead = text[max(0, name.start() - 20) : name.start()].rstrip(" _-").lower()
    if lead.endswith(_NOT_BEHIND.get(kind, ())):
        return False
    mark = text.rfind("[redacted: ", max(0, name.start() - 24), name.start())
    if mark >= 0 and "]" not in text[mark : name.start()]:
        return False
    if not word.isascii():
        return not before.isalpha() or len(word) > 4 or not word[0].isascii()
    if behind.isalpha() and behind.isascii():
        may_bend = word.casefold() not in _UNBENT and " " not in word
        if may_bend and len(word) > 4 and kind != "common":
            ending = text[name.end() : name.end() + 8].split(maxsplit=1)[0]
            return len(ending.rstrip(":=.,")) < 6
        ending = text[name.end() : name.end() + 3]
        is_plural = ending[:1] == "s" and not ending[1:2].isalpha()
        bent = text[name.end() : name.end() + 5].split(maxsplit=1)[0].strip(":=.,")
        return (is_plural or (word.casefold() == "token" and bent in _BENT)) and len(word) > 3
    if before.isalpha() and before.isascii() and (len(word) < 6 or kind in ("key", "common")):
        if word.casefold() in ("token", "sleutel"):
            return True  # the end of a compound, as in "Zugriffstoken"
        return before.islower() and word[0].isupper()  # CamelCase: `dbPass`, `apiToken`
    return True


def _is_in_address(text: str, start: int) -> bool:
    before = text[max(0, start - 200) : start]
    if not before or before[-1].isspace():
        return False
    word = before.split()[-1]
    return "://" in word or word.lstrip("\"'(`").startswith("arn:")


def names_in(text: str) -> re.Pattern[str]:
    """Return an expression that matches all secrets' names in the text, longest name first."""
    folded = text.casefold()
    names = [re.escape(name) for name in _BY_LENGTH if name in folded]
    return exact("(?i)" + ("|".join(names) or r"(?!)"))


def alone_behind(text: str, start: int, kind: str) -> Iterator[tuple[int, int]]:
    """Yield spans of words that look like secrets, each alone on one of 12 lines after `start`."""
    full_lines = hits = 0
    is_asked = text[max(0, start - 4) : start].rstrip().endswith("?")
    for _ in range(3 * MAX_LINES):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        line = text[start:end]
        if line.strip():
            full_lines += 1
            lead = form("speaker").match(line)
            at = lead.end() if lead is not None else 0
            word = line[at:].strip()
            phrase = form("words of phrase").fullmatch(word.strip("\"'`*"))
            may_be_phrase = full_lines == 1 and kind == "password"
            if may_be_phrase and phrase and values.is_words_of_phrase(phrase.group()):
                place = text.index(phrase.group(), start + at)
                yield place, place + len(phrase.group())
                return
            if full_lines == 1 and is_asked and len(word.split()) > 1:
                for token in exact(r"[^\s\"'`*]{6,256}").finditer(word):
                    begin, core = stripped(token.group())
                    if core and is_alone_secret(core, kind):
                        place = text.index(word, start + at) + token.start() + begin
                        yield place, place + len(core)
                return
            if word and len(word.split()) == 1 and len(word) <= MAX_CHARS:
                begin, core = stripped(word)
                if core and is_alone_secret(core, kind):
                    place = text.index(word, start + at) + begin
                    yield place, place + len(core)
                    hits += 1
                elif hits:
                    return
        if end == len(text) or (full_lines >= MAX_LINES and not hits):
            return
        start = end + 1


def is_alone_secret(core: str, kind: str) -> bool:
    """Return True if a word that is alone on its line is a password or a key."""
    if "[redacted" in core or is_placeholder(core) or is_known_form(core) or is_code(core, ""):
        return False
    if core.count(",") > 1 or any(c in core for c in "(){}[]<>;|\\"):
        return False
    if core.endswith((":", "=")) or "/" in core[:2] or not any(map(str.isalnum, core)):
        return False
    is_field = exact(r"\w+=\w*&|[#@]?[A-Za-z_]{2,40}(?:=|$)").match(core)
    if is_field or is_identifier(core):
        return False
    if kind in ("key", "common"):
        is_named_key = kind == "key" and (is_uuid(core) or (is_telling(core) and len(core) > 9))
        return is_random(core, 16) or is_hex(core) or is_named_key
    return is_telling(core) or is_random(core, 12) or (is_mixed(core, least=8) and "_" not in core)


def numbers_of_locks(text: str) -> list[tuple[int, int]]:
    """Return the spans of numbers that follow words such as "door code" or "alarm code"."""
    folded = text.casefold()
    if not any(code in folded for code in words("codes")):
        return []
    bare = (word.strip(AROUND + "‘’“”«»„_") for word in folded.split())
    if folded.isascii() and not any(4 <= len(w) <= 24 and w[:4].isdigit() for w in bare):
        return []
    return [match.span(1) for match in form("number of lock").finditer(text)]


def without_columns(text: str) -> str:
    """Redact the table cells in columns whose heading is the name of a secret."""
    if not _is_table(text.casefold()):
        return text
    lines = text.split("\n")
    columns: dict[int, str] = {}
    separator, width = "", 0
    for place, line in enumerate(lines):
        if columns:
            if not line.strip(_RULES):
                continue  # a line drawn between the heading and the first row
            cells = _cells(line, separator)
            if len(cells) == width:
                lines[place] = _hidden_cells(line, cells, columns)
                continue
            columns = {}
        separator = next((sign for sign in _SEPARATORS if sign in line), "")
        if not separator or place + 1 == len(lines):
            continue
        cells = _cells(line, separator)
        kinds = {i: _column_kind(line[a:b]) for i, (a, b) in enumerate(cells)}
        is_head = 1 < len(cells) <= MAX_CELLS and line.strip()[-1:] != ","
        is_head = is_head and all(_is_title(line[a:b]) for a, b in cells)
        # A row is not a heading if the line above it has as many columns: both belong to one table.
        above = lines[place - 1].strip(_RULES) if place else ""
        if is_head and len(_cells(above, separator)) != len(cells):
            columns = {i: kind for i, kind in kinds.items() if kind}
            width = len(cells)
    return "\n".join(lines)


def _is_table(folded: str) -> bool:
    """Return True if one of at least two lines has both a secret's name and a column separator."""
    names = [name for name in NAMES if name in folded and name not in words("common keys")]
    lines = [line for line in folded.split("\n") if any(name in line for name in names)]
    return "\n" in folded and any(sign in line for line in lines for sign in _SEPARATORS)


def without_inserted(text: str) -> str:
    """Redact the values that SQL statements insert into columns with the name of a secret."""
    if "values" not in text.casefold():
        return text
    spans = []
    for statement in form("sql insert").finditer(text):
        names = [_column_kind(name) for name in statement.group(1).split(",")]
        for row in form("inserted row").finditer(text, statement.end(), statement.end() + 4000):
            cells = list(form("inserted value").finditer(text, *row.span(1)))
            for kind, value in zip(names, cells, strict=False):
                if kind and value.group(1) and _is_cell_value(value.group(1), kind):
                    spans.append(value.span(1))
    return values.without(text, spans)


def _is_title(cell: str) -> bool:
    """Return True if a cell could be a column heading: at most four words and no code."""
    bare = cell.strip(" \t\r*`\"'_")
    return len(cell) <= 40 and len(bare.split()) <= 4 and not set(bare) & set('=:;{}[]<>@&+\\$,"')


def _column_kind(cell: str) -> str:
    bare = cell.strip(" \t*`\"'_")
    if not bare or len(bare.split()) > 4:
        return ""
    matches = list(names_in(bare).finditer(bare))
    match = matches[-1] if matches else None  # the last name counts, as in `login_password`
    if match is None or bare.endswith((".", ":", "?")):
        return ""
    ending = bare[match.end() :].strip(" _-s").casefold()
    if ending and (" " not in bare or ending.split("_")[0].split(" ")[0] in ABOUT):
        return ""
    kind = kind_of(match.group().casefold())
    if kind == "pair":
        return "" if match.group().casefold().startswith(("log", "sign")) else "password"
    return kind


def _cells(line: str, separator: str) -> list[tuple[int, int]]:
    """Return the spans of a line's cells, at most MAX_CELLS; a CSV cell may be quoted."""
    if separator == "  ":  # columns aligned by two or more blanks between cells
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
        bare = line[start:end].strip(" \t\r")
        begin, core = stripped(bare)
        is_one = core and len(core.split()) == 1 and set(core) - set("-:=")
        if is_one and _is_cell_value(core, kind):
            at = line.find(bare, start) + begin
            spans.append((at, at + len(core)))
    return values.without(line, spans)


def _is_cell_value(core: str, kind: str) -> bool:
    kind = "key" if kind == "common" else kind
    is_random_key = kind == "key" and looks_random(core)
    return is_random_key or values.is_value(core, kind, "=", "", quoted=False, words=0)
