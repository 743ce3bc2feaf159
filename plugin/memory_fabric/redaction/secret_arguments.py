"""Secrets known by the form around them: in URLs, headers, command lines, files of clients."""

from __future__ import annotations

import re
from functools import cache

from memory_fabric.patterns import exact, pattern
from memory_fabric.redaction import secret_signs
from memory_fabric.redaction.secret_commands import PROGRAMS, VALUE
from memory_fabric.redaction.secret_names import (
    ENDINGS,
    MIN_ENTROPY_CHARS,
    NAMES,
    is_hex,
    is_joined_words,
    is_name,
    is_placeholder,
    is_strong,
    is_words,
    looks_random,
    says_prose,
)
from memory_fabric.redaction.secret_places import without_placed

# In tables and settings also in other languages.
_MORE_NAMES = (
    "passwort|kennwort|mot de passe|contraseña|senha|wachtwoord|пароль|şifre|parola|hasło|密码|"
    "パスワード|비밀번호"
)
MIN_COOKIE_CHARS = 12
MIN_TOKEN_CHARS = 16
# Of programs whose long options have one dash.
_LONG_OPTIONS = frozenset(
    "pass passwd password port profile protocol plugin path print publish push pull project "
    "parallel preset platform pattern".split()
)
# One command puts so many values.
MAX_VALUES = 6
# What is said of options in prose.
_OPTION_WORDS = frozenset(
    "option options flag flags argument arguments value values parameter switch is and or to for "
    "in on as with only instead".split()
)


def without_url_secrets(text: str) -> str:
    """The text without passwords, tokens and signatures in its URLs."""
    text = _credentials_in_url().sub(_hide_password_in_url, text)
    text = _oracle().sub(_hide_signed, text) if "@" in text and "/" in text else text
    text = _dsn_of_go().sub(_hide_at_host, text) if "@" in text else text
    text = _token_in_url().sub(_hide_token_in_url, text)
    return _signature_in_url().sub(_hide_signature, text)


def without_headers(text: str) -> str:
    """The text without secrets of HTTP headers."""
    text = _bearer().sub(_hide_bearer, text)
    text = _authorization().sub(_hide_bearer, text)
    return _cookie().sub(_hide_cookies, text)


def without_arguments(text: str) -> str:
    """The text without secrets that programs are given on their command line, or in .pgpass."""
    text = without_placed(text)
    folded = text.casefold()
    for place in secret_signs.programs_in(text, folded):
        for _ in range(MAX_VALUES):
            text, before = _of_program(place).sub(_hide_argument, text), text
            if text == before:
                break
    text = _long_flag().sub(_hide_flag, text)
    if "</" in text or "/>" in text:
        text = _element_beside().sub(_hide_element_beside, text)
        if "<th" in folded:
            text = _without_cells_of_html(text)
    return text


@cache
def _of_program(place: int) -> re.Pattern[str]:
    """Return an expression for a program's secret arguments: lead, and value in three groups."""
    programs, _, lead = PROGRAMS[place]
    names = "|".join(map(re.escape, programs))
    return pattern(rf"((?<![\w.-])(?i:{names}){lead})(?:{VALUE})", re.MULTILINE)


@cache
def _credentials_in_url() -> re.Pattern[str]:
    return pattern(
        r"((?<![a-z0-9+.-])[a-z][a-z0-9+.-]{1,20}://[^\s:/@'\"]{0,100}:)"
        r"(?!\[redacted)([^\s'\"/?]{1,256})@",
        re.IGNORECASE,
    )


@cache
def _oracle() -> re.Pattern[str]:
    """`app/password@//host`, also behind `jdbc:oracle:thin:`."""
    return exact(
        r"((?:(?:oracle:(?:thin|oci):)|(?<![\w./:@-]))[\w$#.-]{1,40}/)"
        r"([^\s/@'\"]{3,128})(?=@(?://|[\w.-]{1,80}:15\d\d\b))"
    )


@cache
def _dsn_of_go() -> re.Pattern[str]:
    return exact(
        r"((?<![\w/:@.-])[\w.-]{1,60}:)(?!\[redacted)([^\s@'\"/]{3,128})(?=@(tcp\(|unix\(|udp\(|[\w-]{2,60}\b))"
    )


@cache
def _token_in_url() -> re.Pattern[str]:
    return exact(r"(://)([A-Za-z0-9_~.-]{16,256})@(?!o\d+\.ingest\.)")


@cache
def _signature_in_url() -> re.Pattern[str]:
    return pattern(
        r"([?&;](?:sig|signature|x-amz-signature|x-amz-security-token|x-goog-signature|code|auth|"
        r"key|sid|hmac|apikey|jwt|state)=)([^&\s\"'<>]{16,2048})",
        re.IGNORECASE,
    )


@cache
def _bearer() -> re.Pattern[str]:
    return pattern(r"(\b(?:bearer|basic)\s{1,4})([A-Za-z0-9+/._~=-]{16,4096})", re.IGNORECASE)


@cache
def _authorization() -> re.Pattern[str]:
    return pattern(
        r"((?:authorization|\"auth)\\?[\"']?[ \t]{0,4}[:=][ \t]{0,4}\\?[\"'`]?"
        r"(?:[A-Za-z][\w-]{1,30} {1,2})?)([A-Za-z0-9+/._~=:@-]{8,4096})",
        re.IGNORECASE,
    )


@cache
def _cookie() -> re.Pattern[str]:
    pair = r"[\w.%-]{1,80}=[^\s;\"'\\]{0,4096}"
    return pattern(
        r"((?:\b(?:set-)?cookie\\?[\"']?: ?|\s(?:-b|--cookie)[ =])\\?[\"']?)"
        rf"({pair}(?:; ?{pair}){{0,50}})",
        re.IGNORECASE,
    )


@cache
def _long_flag() -> re.Pattern[str]:
    return pattern(
        r"((?<![\w/])(?:--?[\w-]{0,30}?(?:pass(?:word|wd|phrase|code)?|pwd?|secret|token|auth|psk|"
        r"pin|cred(?:ential)?s?|(?:api|access|secret|auth|account|private|storage|encryption|"
        r"signing|license|service|client|master)[-_]?key)(?:-(?:string|value|text|data))?"
        r"(?:[ =:]|\\?[\"'],[ ]?)|"
        r"--key[ =]|--?[a-z-]{1,20}-key[ =](?=\S{0,60}\d)|/(?:p|pass|password|token|pwd)[:=])"
        r"(?:\\?[\"'`])?)"
        r"([^\s\"'\\`-][^\s\"'\\`]{3,511})",
        re.IGNORECASE,
    )


@cache
def _element_beside() -> re.Pattern[str]:
    """An element or attribute with the name of a secret, and the value in the one behind it."""
    name = rf"[\w .:-]{{0,40}}(?:{NAMES}|\bpass|\bpw|salt|{_MORE_NAMES}){ENDINGS}"
    return pattern(
        rf"(<{name}\b[^<>\n]{{0,100}}\svalue=[\"'])([^\"'<>\n]{{4,512}})|"
        rf"(\b(?:key|name|id)=[\"']{name}[\"'][^<>\n]{{0,80}}>\s{{0,12}}(?:<\w{{1,20}}>)?)"
        rf"([^<>\n]{{4,512}})(?=</)|"
        rf"(<(key|t[dh]|dt|name|label|b|strong)\b[^<>\n]{{0,80}}>\s{{0,4}}{name}:?\s{{0,4}}</\6>\s{{0,12}}"
        rf"<(?:string|td|dd|value|span|code)\b[^<>\n]{{0,80}}>\s{{0,4}}(?:<code>)?)([^<>\n]{{4,512}})(?=</)|"
        rf"(<{name}>\s{{0,4}}<!\[CDATA\[)([^\]<>\n]{{4,512}})(?=\]\])",
        re.IGNORECASE,
    )


def _hide_at_host(match: re.Match[str]) -> str:
    lead, value, host = match.groups()
    is_told = host[-1] == "(" or is_joined_words(value) or is_strong(value)
    is_none = not is_told or is_placeholder(value) or host.startswith(("sha", "md5"))
    return match.group() if is_none else f"{lead}[redacted: password]"


def _hide_element_beside(match: re.Match[str]) -> str:
    place = next(i for i in (2, 4, 7, 9) if match.group(i) is not None)
    value = match.group(place)
    if not _is_content(value):
        return match.group()
    at = match.start(place) - match.start()
    return f"{match.group()[:at]}[redacted: secret]{match.group()[at + len(value) :]}"


def _is_content(value: str) -> bool:
    bare = value.strip()
    is_one = bool(bare) and not any(c.isspace() for c in bare) and "[redacted" not in bare
    is_label = is_words(bare) and (len(bare) < 6 or not bare.islower() or says_prose((bare,)))
    return is_one and not is_label and not is_placeholder(bare)


def _without_cells_of_html(text: str) -> str:
    """The text without the cells of tables of HTML whose head names a secret."""
    columns: set[int] = set()
    parts: list[str] = []
    at = 0
    for row in _row().finditer(text):
        cells = list(_cell().finditer(text, row.start(), row.end()))
        if any(cell.group(1).lower() == "h" for cell in cells):
            columns = {i for i, cell in enumerate(cells) if _head().search(cell.group(2))}
            continue
        for place in columns:
            if place < len(cells) and _is_content(cells[place].group(2)):
                parts += [text[at : cells[place].start(2)], "[redacted: secret]"]
                at = cells[place].end(2)
    return "".join([*parts, text[at:]])


@cache
def _row() -> re.Pattern[str]:
    return pattern(r"<tr\b[^<>]{0,200}>(?:(?!<tr\b|</tr)[^\x00]){1,4000}", re.IGNORECASE)


@cache
def _cell() -> re.Pattern[str]:
    return pattern(
        r"<t([dh])\b[^<>]{0,200}>\s{0,12}(?:<\w{1,10}>)?([^<>]{1,400}?)\s{0,12}(?=</)",
        re.IGNORECASE,
    )


@cache
def _head() -> re.Pattern[str]:
    return pattern(
        rf"^[\w .-]{{0,30}}(?:{NAMES}|\bpass|\bpw|{_MORE_NAMES}){ENDINGS}\s*$", re.IGNORECASE
    )


def _hide_bearer(match: re.Match[str]) -> str:
    lead, value = match.group(1), match.group(2)
    plain = value.rstrip(".")
    is_short = len(plain) < MIN_ENTROPY_CHARS and not any(c.isdigit() for c in plain)
    if is_short or is_words(plain) or is_placeholder(plain):
        return match.group(0)
    return f"{lead}[redacted: token]"


def _hide_cookies(match: re.Match[str]) -> str:
    pairs = [pair.partition("=") for pair in match.group(2).split(";")]
    return match.group(1) + ";".join(
        f"{name}=[redacted: cookie]" if _is_session(name, value) else name + sign + value
        for name, sign, value in pairs
    )


def _is_session(name: str, value: str) -> bool:
    """Return whether a cookie's value is an identifier, not a word, number or date."""
    is_named = any(part in name.casefold() for part in ("sess", "sid", "auth", "token", "jwt"))
    return (
        len(value) >= (8 if is_named else MIN_COOKIE_CHARS)
        and any(c.isdigit() for c in value)
        and any(c.isalpha() for c in value)
    )


def _hide_argument(match: re.Match[str]) -> str:
    lead = match.group(1)
    place = next(i for i in (2, 3, 4) if match.group(i) is not None)
    value, whole = match.group(place), match.group(0)
    is_option = lead.rstrip(" =\"'")[-2:-1] in ("-", "/") or lead.rstrip()[-1:] in ":%,=/|<"
    if "[redacted" in value or is_placeholder(value) or value.startswith(("./", "~/", "@", "$")):
        return whole
    if value.startswith("/") and value.count("/") > 1:
        return whole
    is_word = not any(c.isdigit() or not c.isalnum() for c in value.rstrip(".,"))
    if is_word and (says_prose((value.lower(),)) or lead[-1:] + value.lower() in _LONG_OPTIONS):
        return whole
    if is_word and not (is_option and lead[-1:] not in " |<") and not _is_command(match):
        return whole
    at = match.start(place) - match.start(0)
    return f"{whole[:at]}[redacted: password]{whole[at + len(value) :]}"


@cache
def _file() -> re.Pattern[str]:
    return exact(r"[\w-]{2,60}\.[a-z][a-z0-9]{1,3}")


def _is_command(match: re.Match[str]) -> bool:
    """Return True if a line begins with this program, as no sentence does."""
    return bool(_before_command().fullmatch(_line(match)))


def _line(match: re.Match[str]) -> str:
    """Return what stands before the match on its line."""
    return match.string[match.string.rfind("\n", 0, match.start()) + 1 : match.start()]


@cache
def _before_command() -> re.Pattern[str]:
    return exact(
        r"(?:.{0,400}?(?:[|;&({`]|\$ |\bsudo|<<<)\s?|\s{0,12}(?:[$#>+*-] )?)"
        r"(?:[A-Z_][A-Z0-9_]{0,40}=\S{0,200} ){0,4}(?:sudo (?:-[\w-]+ ){0,3})?[\w./-]{0,60}"
    )


def _hide_flag(match: re.Match[str]) -> str:
    lead, value = match.group(1), match.group(2)
    behind = match.string[match.end() : match.end() + 2]
    is_prose = value.isalpha() and behind[:1] == " " and behind[1:].isalpha()
    is_prose = is_prose and (says_prose((value.lower(),)) or " -" not in _line(match))
    if (lead[:3].lower() == "/p:" and "=" in value) or _file().fullmatch(value):
        return match.group(0)
    if "pass" not in lead.lower() and lead[:1] in "-/" and not value.isdigit() and is_name(value):
        return match.group(0)
    if exact(r"[A-Z][A-Z_]{1,}[][:=|A-Z_.]*|[a-z]{2,12}=.*").fullmatch(value):
        return match.group(0)  # what the help calls it, or a field
    if is_placeholder(value) or is_prose or value.startswith(("/", "./", "~/", "@")):
        return match.group(0)
    if value.isalpha() and value.lower() in _OPTION_WORDS:
        return match.group(0)
    return f"{lead}[redacted: password]"


def _hide_password_in_url(match: re.Match[str]) -> str:
    if is_placeholder(match.group(2)):
        return match.group()
    scheme, _, user = match.group(1)[:-1].partition("://")
    if len(user) >= MIN_TOKEN_CHARS and sum(map(str.isdigit, user)) > 1 and not is_name(user):
        user = "[redacted: token]"
    return f"{scheme}://{user}:[redacted: password]@"


def _hide_signed(match: re.Match[str]) -> str:
    lead, value = match.groups()
    is_none = is_placeholder(value) or "[redacted" in value
    return match.group() if is_none else f"{lead}[redacted: password]"


def _hide_token_in_url(match: re.Match[str]) -> str:
    value = match.group(2)
    digits = sum(c.isdigit() for c in value)
    return f"{match.group(1)}[redacted: token]@" if digits > 1 else match.group(0)


def _hide_signature(match: re.Match[str]) -> str:
    value = match.group(2)
    is_secret = looks_random(value) or is_hex(value)
    return f"{match.group(1)}[redacted: secret]" if is_secret else match.group(0)
