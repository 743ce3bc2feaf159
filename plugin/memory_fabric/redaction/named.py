"""Detect secrets by their context: names, URLs, headers, command lines, source code."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache

from memory_fabric.redaction import plain
from memory_fabric.redaction.plain import is_hex, is_name, is_placeholder, is_words, says_prose
from memory_fabric.redaction.rules import exact, form, is_option_in, table, words
from memory_fabric.redaction.values import is_known_form
from memory_fabric.text import runs

MARK = "[redacted: secret]"
MIN_CHARS = 4
# Maximum passes over a text for each rule of the sections "places" and "commands" of rules.txt.
MAX_VALUES, MAX_ARGUMENTS = 8, 6
MIN_COOKIE_CHARS, MIN_TOKEN_CHARS = 12, 16
# This many characters after a value are examined, to distinguish a secret from code and prose.
FOLLOWER_CHARS = 40
_SUFFIXES = ("tion", "sion", "ment", "ness", "able", "ible")
_DOING = frozenset(words("doing"))
_LONG_OPTIONS = frozenset(words("long options"))
_OPTION_WORDS = frozenset(words("option words"))
_LINE_SECTIONS = ("name parts", "variable parts", "dumped parts", "calls")
_LINE_PARTS = tuple(part for section in _LINE_SECTIONS for part in words(section))
_PASSWORD_PARTS = words("password parts")
_KEY_PARTS, _NO_SECRET = frozenset(words("key parts")), frozenset(words("no secret"))


def _hidden(match: re.Match[str], group: int, mark: str) -> str:
    whole, at = match.group(), match.start(group) - match.start()
    return f"{whole[:at]}{mark}{whole[at + len(match.group(group)) :]}"


def _replaced(expression: str, hide: Callable[[re.Match[str]], str], text: str, most: int) -> str:
    for _ in range(most):
        text, before = exact(expression).sub(hide, text), text
        if text == before:
            break
    return text


def without_placed(text: str) -> str:
    """Redact values where only a secret can stand (`set_password(…)`), even if they look weak."""
    for rule in table("places").opened_by(text.casefold()):
        text = _replaced(rule.expression, _hide_placed, text, MAX_VALUES)
    return text


def _hide_placed(match: re.Match[str]) -> str:
    group = max(i for i in range(2, match.re.groups + 1) if match.group(i) is not None)
    return _hidden(match, group, MARK) if may_be_secret(match.group(group)) else match.group()


def may_be_secret(value: str) -> bool:
    """Return False if the value is too short, a placeholder, a path, a variable, code or prose."""
    bare = value.strip()
    if len(bare) < MIN_CHARS or "[redacted" in bare or is_placeholder(bare):
        return False
    if bare.startswith(("./", "~/", "../", "@", "$", "{{", "/", "process.", "os.", "var.", "env")):
        return False
    if exact(r"[Tt]est(?:_|[A-Z])\w+|[\w-]+(?:/[\w.-]+)+").fullmatch(bare):
        return False
    if len(bare.split()) > 1:
        return plain.is_passphrase("password", bare)
    is_noun = bare.islower() and bare.endswith(_SUFFIXES)
    return not (is_noun or bare.casefold() in _DOING or says_prose((bare.casefold(),)))


def without_url_secrets(text: str) -> str:
    """Redact the passwords, tokens and signatures in a text's URLs."""
    for url in ("credentials in url", "password with slash"):
        text = form(url).sub(_hide_password_in_url, text)
    text = form("oracle").sub(_hide_signed, text) if "@" in text and "/" in text else text
    text = form("dsn of go").sub(_hide_at_host, text) if "@" in text else text
    text = form("token in url").sub(
        lambda m: f"{m[1]}[redacted: token]@" if sum(map(str.isdigit, m[2])) > 1 else m[0], text
    )
    return form("signature in url").sub(_hide_signature, text)


def without_headers(text: str) -> str:
    """Redact the secrets in a text's HTTP headers."""
    text = form("bearer").sub(_hide_bearer, text)
    text = form("authorization").sub(_hide_bearer, text)
    return form("cookie").sub(_hide_cookies, text)


def without_arguments(text: str) -> str:
    """Redact the secrets in command lines, .pgpass entries, and XML and HTML elements."""
    folded, by_word, rules = text.casefold(), _commands_by_word(), table("commands").rules
    places = {place for word in by_word.keys() & runs(folded) for place in by_word[word]}
    opened = [
        rule
        for rule in (rules[place] for place in sorted(places))
        if rule.note in text
        and (rule.note[:1] != "-" or is_option_in(text, rule.note))
        and any(name in folded for name in rule.keywords)
    ]
    for rule in opened:
        text = _replaced(rule.expression, _hide_argument, text, MAX_ARGUMENTS)
    text = form("long flag").sub(_hide_flag, text)
    if "</" in text or "/>" in text:
        text = form("element beside").sub(_hide_element_beside, text)
        text = _without_cells_of_html(text) if "<th" in folded else text
    return text


@cache
def _commands_by_word() -> dict[str, set[int]]:
    """Map the first word of a program's name to the indexes of the rules for its commands."""
    places: dict[str, set[int]] = {}
    for place, rule in enumerate(table("commands").rules):
        for name in rule.keywords:
            places.setdefault(runs(name)[0], set()).add(place)
    return places


def _hide_at_host(match: re.Match[str]) -> str:
    lead, value, host = match.groups()
    is_told = host[-1] == "(" or plain.is_joined_words(value) or plain.is_strong(value)
    is_none = not is_told or is_placeholder(value) or host.startswith(("sha", "md5"))
    return match.group() if is_none else f"{lead}[redacted: password]"


def _hide_element_beside(match: re.Match[str]) -> str:
    place = next(i for i in (2, 4, 7, 9) if match.group(i) is not None)
    return _hidden(match, place, MARK) if _is_content(match.group(place)) else match.group()


def _is_content(value: str) -> bool:
    bare = value.strip()
    is_one = bool(bare) and not any(c.isspace() for c in bare) and "[redacted" not in bare
    is_label = is_words(bare) and (len(bare) < 6 or not bare.islower() or says_prose((bare,)))
    return is_one and not is_label and not is_placeholder(bare)


def _without_cells_of_html(text: str) -> str:
    """Redact HTML table cells in columns whose heading is the name of a secret."""
    columns: set[int] = set()
    parts: list[str] = []
    at = 0
    for row in form("html row").finditer(text):
        cells = list(form("html cell").finditer(text, row.start(), row.end()))
        if any(cell.group(1).lower() == "h" for cell in cells):
            heads = (form("column head").search(cell.group(2)) for cell in cells)
            columns = {i for i, head in enumerate(heads) if head}
            continue
        for place in columns:
            if place < len(cells) and _is_content(cells[place].group(2)):
                parts += [text[at : cells[place].start(2)], "[redacted: secret]"]
                at = cells[place].end(2)
    return "".join([*parts, text[at:]])


def _hide_bearer(match: re.Match[str]) -> str:
    lead, value = match.group(1), match.group(2)
    bare = value.rstrip(".")
    is_short = len(bare) < plain.MIN_ENTROPY_CHARS and not any(c.isdigit() for c in bare)
    if is_short or is_words(bare) or is_placeholder(bare):
        return match.group()
    return f"{lead}[redacted: token]"


def _hide_cookies(match: re.Match[str]) -> str:
    """Redact the long cookie values that mix letters and digits, such as session ids."""
    cookies = []
    for name, sign, value in (pair.partition("=") for pair in match.group(2).split(";")):
        is_named = any(part in name.casefold() for part in ("sess", "sid", "auth", "token", "jwt"))
        is_long = len(value) >= (8 if is_named else MIN_COOKIE_CHARS)
        is_mixed = any(map(str.isdigit, value)) and any(map(str.isalpha, value))
        cookies.append(name + ("=[redacted: cookie]" if is_long and is_mixed else sign + value))
    return match.group(1) + ";".join(cookies)


def _hide_argument(match: re.Match[str]) -> str:
    lead = match.group(1)
    place = next(i for i in (2, 3, 4) if match.group(i) is not None)
    value, whole = match.group(place), match.group()
    is_option = lead.rstrip(" =\"'")[-2:-1] in ("-", "/") or lead.rstrip()[-1:] in ":%,=/|<"
    if "[redacted" in value or is_placeholder(value) or value.startswith(("./", "~/", "@", "$")):
        return whole
    if value.startswith("/") and value.count("/") > 1:
        return whole
    is_word = not any(c.isdigit() or not c.isalnum() for c in value.rstrip(".,"))
    if is_word and (says_prose((value.lower(),)) or lead[-1:] + value.lower() in _LONG_OPTIONS):
        return whole
    # A line that begins with a program's name is a command: sentences rarely begin with one.
    begins = form("before command").fullmatch(_line(match)) is not None
    if is_word and not (is_option and lead[-1:] not in " |<") and not begins:
        return whole
    return _hidden(match, place, "[redacted: password]")


def _line(match: re.Match[str]) -> str:
    """Return the part of the line before the match."""
    return match.string[match.string.rfind("\n", 0, match.start()) + 1 : match.start()]


def _hide_flag(match: re.Match[str]) -> str:
    lead, value = match.group(1), match.group(2)
    behind = match.string[match.end() : match.end() + 2]
    is_prose = value.isalpha() and behind[:1] == " " and behind[1:].isalpha()
    is_prose = is_prose and (says_prose((value.lower(),)) or " -" not in _line(match))
    if (lead[:3].lower() == "/p:" and "=" in value) or form("file name").fullmatch(value):
        return match.group()
    if "pass" not in lead.lower() and lead[:1] in "-/" and not value.isdigit() and is_name(value):
        return match.group()
    if exact(r"[A-Z][A-Z_]{1,}[][:=|A-Z_.]*|[a-z]{2,12}=.*").fullmatch(value):
        return match.group()  # not a secret: a help text's placeholder, or a reference to a field
    is_path = value.startswith(("/", "./", "~/", "@"))
    if is_placeholder(value) or is_prose or is_path or value.lower() in _OPTION_WORDS:
        return match.group()
    return f"{lead}[redacted: password]"


def _hide_password_in_url(match: re.Match[str]) -> str:
    if is_placeholder(match.group(2)):
        return match.group()
    scheme, _, user = match.group(1)[:-1].partition("://")
    if len(user) >= MIN_TOKEN_CHARS and sum(map(str.isdigit, user)) > 1 and not is_name(user):
        user = "[redacted: token]"
    return f"{scheme}://{user}:[redacted: password]@"


def _hide_signed(match: re.Match[str]) -> str:
    is_none = is_placeholder(match[2]) or "[redacted" in match[2]
    return match[0] if is_none else f"{match[1]}[redacted: password]"


def _hide_signature(match: re.Match[str]) -> str:
    is_secret = plain.looks_random(match[2]) or is_hex(match[2])
    return f"{match[1]}[redacted: secret]" if is_secret else match[0]


def without_names(text: str) -> str:
    """Redact the values that follow the name of a secret, such as `password`."""
    lines = text.split("\n")
    for place, line in enumerate(lines):
        folded = line.casefold()
        is_named = any(part in folded for part in _LINE_PARTS)
        if not is_named or plain.is_style(line) or plain.is_definition(line):
            continue
        line = _without_values(line, folded)
        line = form("variable").sub(_hide_variable, line) if "=" in line or ":" in line else line
        lines[place] = form("dumped").sub(_hide_dumped, line) if "=" in line else line
    return "\n".join(lines)


def _without_values(line: str, folded: str) -> str:
    """Redact each value after a secret's name and a separator; `folded` is the casefolded line."""
    if not line.isascii():
        return form("named secret").sub(_hide_named, line)
    # Like `re.sub`, but faster: try a match only where a secret's name may begin.
    places = sorted(at for head in words("heads") for at in _places(folded, head))
    parts, end_of_last = [], 0
    for place in places:
        match = form("named secret").match(line, place) if place >= end_of_last else None
        if match is not None:
            parts += [line[end_of_last:place], _hide_named(match)]
            end_of_last = match.end()
    return "".join([*parts, line[end_of_last:]])


def _places(folded: str, head: str) -> Iterator[int]:
    at = folded.find(head)
    while at >= 0:
        yield at
        at = folded.find(head, at + 1)


def _hide_named(match: re.Match[str]) -> str:
    lead, quote, quoted, opening, value, tail = match.groups()
    behind = match.string[match.end() : match.end() + FOLLOWER_CHARS]
    if quote is not None:
        if plain.is_plain(lead, quoted, behind, quoted=True):
            inside = form("named secret").sub(_hide_named, quoted)  # recurses into a shorter text
            return f"{lead}{quote}{inside}{quote}"
        return f"{lead}{quote}[redacted: secret]{quote}"
    if form("resource").search(match.string, max(0, match.start() - 120), match.start()):
        return match.group()
    if plain.is_plain(lead, value, (tail + behind)[:FOLLOWER_CHARS], quoted=bool(opening)):
        return match.group()
    return f"{lead}{opening}[redacted: secret]"


def _hide_variable(match: re.Match[str]) -> str:
    lead = match.group(1)
    quote = next((sign for sign, at in (('"', 2), ("'", 3)) if match.group(at)), "")
    value = match.group(2) or match.group(3) or match.group(4)
    if form("public name").search(lead) or form("no key").search(lead):
        return match.group()
    if any(c.isspace() for c in value) or is_placeholder(value):
        return match.group()
    if is_known_form(value) and not form("password variable").search(lead):
        return match.group()
    if is_name(value) and not (form("password variable").search(lead) and "=" in lead):
        return match.group()
    behind = match.string[match.end() : match.end() + 2]
    if behind[:1] in ("(", "[") or value.startswith(("/", "./", "~/", "http", "=")):
        return match.group()
    return f"{lead}{quote}[redacted: secret]{quote}"


def _hide_dumped(match: re.Match[str]) -> str:
    lead, name, value = match.groups()
    parts = name.rstrip("0123456789").split("_")
    if _NO_SECRET & set(parts) or is_placeholder(value) or "[redacted" in value:
        return match.group()
    if name in ("PWD", "OLDPWD") or value.startswith(("/", "./", "~/", "http", "$")):
        return match.group()
    bare = value.lstrip("$!#@")
    is_password = any(part.endswith(_PASSWORD_PARTS) for part in parts)
    if is_password and (plain.is_joined_words(bare) or not is_name(bare)):
        return f"{lead}[redacted: secret]"
    if parts[-1] in ("TOKEN", "SECRET") and value.isalpha() and len(value) > 6:
        is_word = plain.is_identifier(value) or says_prose((value.lower(),))
        return match.group() if is_word else f"{lead}[redacted: secret]"
    is_key = is_hex(value) or plain.looks_random(value) or plain.is_strong(value)
    is_key = len(value) >= 16 and (is_key or form("uuid").fullmatch(value) is not None)
    is_named = bool(_KEY_PARTS & set(parts)) and not is_name(value)
    uuid_of = parts[-1] in _KEY_PARTS and bool(form("uuid").fullmatch(value))
    return f"{lead}[redacted: secret]" if is_key and (is_named or uuid_of) else match.group()
