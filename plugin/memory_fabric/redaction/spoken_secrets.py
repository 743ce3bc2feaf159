"""Secrets that sentences, tables and lists state, in the languages in which people write.

"Das Passwort für die Datenbank lautet …", "contraseña: …", "パスワードは…です", a column `password`
of a table, `Password:` with the value on the next line, "admin / …". All is linear in the text.
"""

# ruff: noqa: E501 - an expression is easier to read in one line

from __future__ import annotations

from memory_fabric.cache import cached
from memory_fabric.patterns import IGNORECASE, exact, pattern
from memory_fabric.redaction.secret_kinds import (
    ABOUT,
    EVERY,
    is_name,
    is_of_issuer,
    kind_of,
    names_in,
    rest_of_name,
)
from memory_fabric.redaction.secret_lines import alone_behind, names_phrase, numbers_of_locks
from memory_fabric.redaction.secret_names import (
    is_definition,
    is_markup,
    is_passphrase,
    is_placeholder,
    is_strong,
)
from memory_fabric.redaction.secret_signs import ACCOUNTS, is_table, may_state_code
from memory_fabric.redaction.secret_tables import without_columns, without_inserted
from memory_fabric.redaction.secret_values import (
    FILLERS,
    MIN_KEY_CHARS,
    SYMBOLS,
    is_code,
    is_known_form,
    is_mixed,
    is_phrase,
    is_telling,
    is_value,
    stripped,
    tokens,
    without,
    words_of_phrase,
)
from memory_fabric.redaction.secret_words import ANNOUNCING, LINKS

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Iterator

REACH_CHARS, BACK_CHARS, MAX_WORDS = 120, 160, 9
BEFORE_CHARS = 70
MARK, MAX_MARK_CHARS = "[redacted: ", 40
MARK_OF_VALUE = f"{MARK}secret]"


def without_stated(text: str) -> str:
    """The text without the secrets that its sentences, tables and lists state."""
    if is_table(text.casefold()):
        text = without_columns(text)
    if "values" in text.casefold():
        text = without_inserted(text)
    spans: list[tuple[int, int]] = []
    reached = line_end = 0
    is_code = False
    for name in names_in(text).finditer(text):
        kind = kind_of(name.group().casefold())
        if name.start() >= line_end:
            line_end = text.find("\n", name.end())
            line_end = len(text) if line_end < 0 else line_end
            line = text[max(text.rfind("\n", 0, name.start()) + 1, name.start() - 400) : line_end]
            is_marked = ("<" in line or "{" in line or ":" in line) and is_markup(line[:800])
            is_code = is_marked or is_definition(line[:800])
        if is_code or not is_name(text, name, kind):
            continue
        if kind == "common" and is_of_issuer(
            text[max(0, name.start() - 28) : name.start()], text[name.end() : name.end() + 40]
        ):
            kind = "key"
        rest = rest_of_name().match(text, name.end())
        named_to = name.end() if rest is None else rest.end()
        if text[name.end() : named_to].strip("_-").split("_")[0].split("-")[0] in ABOUT:
            continue
        for start, end in _values_behind(text, max(named_to, reached), kind, named_to):
            spans.append((start, end))
            reached = end
        before = _value_before(text, name.start(), kind)
        if before is not None and before[0] >= (spans[-2][1] if len(spans) > 1 else 0):
            spans.append(before)
        spans.extend(_values_near(text, name, kind))
        spans.extend(alone_behind(text, line_end + 1, kind) if line_end < len(text) else ())
    spans.extend(numbers_of_locks(text) if may_state_code(text.casefold()) else ())
    spans += [
        match.span(1)
        for match in _pair_of_any().finditer(text)
        if is_mixed(match.group(1), least=6) and not is_known_form(match.group(1))
    ]
    for match in _pair().finditer(text):
        value = match.group(2)
        is_secret = is_strong(value) or (" " in match.group() and _is_word_of_account(value))
        if is_secret and not is_known_form(value):
            spans.append(match.span(2))
    return without(text, [span for span in spans if not _is_in_mark(text, span[0])])


def _is_in_mark(text: str, place: int) -> bool:
    """Return True inside a mark that an earlier step or pass left, such as `[redacted: secret]`."""
    begin = text.rfind(MARK, max(0, place - MAX_MARK_CHARS), place)
    end = text.find("]", begin + len(MARK), begin + MAX_MARK_CHARS) if begin >= 0 else -1
    return begin < place <= end and text[begin + len(MARK) : end].replace(" ", "").isalpha()


def _is_mark_of_value(region: str, start: int) -> bool:
    """Return True if the word that begins there holds the mark of a value."""
    return region.startswith(MARK_OF_VALUE, region.find(MARK, start))


def _values_behind(text: str, start: int, kind: str, named_to: int) -> Iterator[tuple[int, int]]:
    """Return the spans of values that follow the name ending at `named_to`."""
    region_end = min(len(text), named_to + REACH_CHARS)
    line_end = text.find("\n", named_to, region_end)
    region = text[start : region_end if line_end < 0 else line_end]
    if _next_field().match(text, named_to) or _of_path().match(text, named_to):
        return
    region = region[: _end_of_quoted(text, named_to, start + len(region)) - start]
    if line_end >= 0 and not region.strip(" \t:=*_`\"'#|>-.：＝")[:1]:
        yield from _on_next_line(text, line_end + 1, kind)
        return
    linked, words, took = "", 0, 0
    previous = 0
    for token in tokens().finditer(region):
        between = region[previous : token.start()]
        previous = token.end()
        if MARK in f"{token.group()} " and _is_mark_of_value(region, token.start()):
            return  # an earlier pass found the value: what follows it is none
        if any(link in between for link in "是为為は：＝이가는은が"):
            linked = "="
        left, right = stripped(token.group())
        core = token.group()[left:right]
        folded = core.casefold()
        sign = _sign().match(token.group()) if not linked else None
        if sign is not None and sign.group(1) in ("==", "==="):
            return
        if sign is not None and sign.end() < len(token.group()):
            linked = sign.group(1)
            left, right = stripped(token.group(), sign.end())
            core = token.group()[left:right]
            folded = core.casefold()
        if token.group() in LINKS or folded in LINKS:
            link = folded or token.group()
            if link in ("-", "–", "—", "|", "/") and not words:
                linked = linked or "-"
            elif kind == "common" and folded in ("to", "as", "with"):
                return
            else:
                linked = link if link in ANNOUNCING or not linked else linked
            continue
        if (
            sign is None
            and core.rstrip("!?)],") in _TYPES
            and text[named_to : named_to + 2].lstrip("?")[:1] == ":"
        ):
            return
        if (
            folded in ("type", "use", "enter")
            and not words
            and _mixed_ahead().match(region, token.end())
        ):
            linked = "="
            continue
        if folded in ABOUT and not linked and not words:
            return
        if folded in EVERY and kind_of(folded) == kind:
            return  # it is looked behind on its own
        if not core:
            continue  # a quote that stands alone
        lead = region[: token.start() + left]
        quoted = lead[-1:] in tuple("\"'`„“”«»「『‘*") or lead.endswith("__")
        quoted = quoted or (lead[-1:] == "(" and not words)
        follower = region[token.start() + right :]
        is_phrased = linked or (
            words < 2 and names_phrase().search(text, max(0, named_to - 24), named_to)
        )
        phrase = words_of_phrase().match(region, token.start() + left) if is_phrased else None
        if phrase is not None and kind == "password" and is_phrase(phrase, region):
            yield start + phrase.start(), start + phrase.end()
            return
        of_pair = None
        if kind == "pair" and (linked or not words) and core.split("|")[0].casefold() not in EVERY:
            of_pair = _name_and_value().fullmatch(core)
        if of_pair is not None and is_value(
            of_pair.group(1), "password", "=", follower, quoted=False, words=0
        ):
            yield start + token.start() + left + of_pair.start(1), start + token.start() + right
            return
        if core and is_value(core, kind, linked, follower, quoted=quoted, words=words):
            at = start + token.start()
            if kind == "pair" and not took and _is_pair_ahead(follower):
                took, linked = 1, "="
                continue
            if quoted and lead[-1] in "\"'`" and core[-1:] not in ".,":
                closing = text.find(lead[-1], at + left, at + left + 256)
                inner = text[at + left : closing] if closing > 0 else ""
                if inner and "\n" not in inner:
                    if len(inner.split()) == 1 or is_passphrase("password", inner):
                        yield at + left, closing
                    return
            yield at + left, at + right
            if not (linked and _becomes().match(follower)):
                return
            continue
        if kind == "pair" and linked and core and _is_pair_ahead(follower):
            took = 1
            continue
        if token.group().endswith((":", "=", "：")):
            linked = "="
        elif folded not in FILLERS:
            linked = ""
        words += 1
        if words >= MAX_WORDS or (token.group().endswith((".", "?", "!", ";")) and core):
            return
    if line_end >= 0 and (linked or region.rstrip().endswith((":", "：", "="))):
        yield from _on_next_line(text, line_end + 1, kind)


def _end_of_quoted(text: str, at: int, end: int) -> int:
    """Return the end of the quotation around the name that ends at `at`; else `end`."""
    line = text.rfind("\n", 0, at) + 1
    closing = text.find('"', at, end)
    if at - line > 600 or closing <= at or text.count('"', line, at) % 2 == 0:
        return end
    return end if text[closing + 1 : closing + 3].lstrip()[:1] in (":", "=") else closing


_TYPES = frozenset(
    "String string str Str int Int bool Boolean boolean number bytes Bytes any unknown Text text ID".split()
)


@cached
def _mixed_ahead() -> re.Pattern[str]:
    return exact(r"\s[\"'`*]{0,2}(?=[a-zA-Z]{0,20}\d)[\w!@#$%-]{6,}")


@cached
def _next_field() -> re.Pattern[str]:
    """Behind the name as a value of a field: the next field, unless it is for the value."""
    return exact(
        r"[\"'],\s{0,12}[\"']?(?!value|val\b|default|secret|pass|token)[a-z_]\w{0,30}[\"']?\s?:"
    )


@cached
def _of_path() -> re.Pattern[str]:
    """Behind a name that is one of several alternatives, or a part of a path of names."""
    return exact(r"[\"']\s?\|\s?[\"']|\.[A-Z][a-z]|[\"'],\s?[\"'][a-z_]{3,20}[\"']\s?[,\])]")


def _on_next_line(text: str, start: int, kind: str) -> Iterator[tuple[int, int]]:
    """The value that stands alone on one of the next two lines, in a fence or quotes or not."""
    for _ in range(3):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        line = text[start:end]
        bare = line.strip().strip(">|*`\"' \t-=")
        field = _value_field().match(bare)
        if field is not None:
            bare = bare[field.end() :].strip().strip("\"'`")
        if bare and not bare.isspace():
            if len(bare.split()) == 1 and len(bare) <= 256:
                at = text.find(bare, start)
                left, right = stripped(bare)
                core = bare[left:right]
                is_alone = not core.startswith("[") and not bare.endswith(":")
                if is_alone and is_value(core, kind, "=", "", quoted=False, words=0):
                    yield at + left, at + right
            return
        if end == len(text):
            return
        start = end + 1


def _value_before(text: str, end: int, kind: str) -> tuple[int, int] | None:
    """Return the value's span in "X is the password", "use X as the key"."""
    start = max(0, end - BACK_CHARS)
    if not any(c.isdigit() or c in SYMBOLS for c in text[start:end]):
        return None
    match = _backward().search(text, start, end)
    if match is None:
        return None
    left, right = stripped(match.group(1))
    core = match.group(1)[left:right]
    if kind == "pin" and core.isdigit() and 4 <= len(core) <= 8:
        return match.start(1) + left, match.start(1) + right
    if len(core) < 6 or is_known_form(core) or is_placeholder(core):
        return None
    if not is_mixed(core, least=6) or (kind not in ("password", "pin") and not is_strong(core)):
        return None
    return match.start(1) + left, match.start(1) + right


def _values_near(text: str, name: re.Match[str], kind: str) -> Iterator[tuple[int, int]]:
    """Return spans of words in a name's line that can only be secrets."""
    start = max(text.rfind("\n", 0, name.start()) + 1, name.start() - BEFORE_CHARS)
    end = text.find("\n", name.end(), name.end() + REACH_CHARS)
    end = min(len(text), name.end() + REACH_CHARS) if end < 0 else end
    if not any(c.isdigit() for c in text[start:end]):
        return
    while start and not text[start - 1].isspace():
        start -= 1
        if name.start() - start > BACK_CHARS:
            return
    for token in tokens().finditer(text, start, end):
        word = token.group()
        if len(word) < MIN_KEY_CHARS or _of_no_secret().search(word):
            continue
        if word.isascii() and token.start() <= name.start() < token.end():
            continue  # its own name is in it
        left, right = stripped(word)
        core = word[left:right]
        around = text[max(0, token.start() - 24) : token.start()]
        is_stated = is_telling(core) and not is_placeholder(core) and not is_known_form(core)
        if not is_stated or is_code(core, word[right:]) or _public_before().search(around):
            continue
        if kind == "password" or len(core) >= (MIN_KEY_CHARS * 2 if kind != "common" else 20):
            yield token.start() + left, token.start() + right


def _is_word_of_account(value: str) -> bool:
    return len(value) >= 5 and is_mixed(value, least=5)


def _is_pair_ahead(follower: str) -> bool:
    """True if a slash, colon or comma and another word follow."""
    return bool(exact(r"[\"'`*]{0,2}\s?[/:|,+]\s?\S").match(follower)) or bool(
        exact(r"[\"'`*]{0,2} (?:and|und|et|y|e|en|и|with) \S").match(follower)
    )


@cached
def _of_no_secret() -> re.Pattern[str]:
    """Addresses, paths, sums, selectors, calls and versions of packages."""
    return pattern(
        r"://|^[\"'`(]?(?:sha\d+[-:]|h1:|md5:|/|\.{0,2}/|~/|--?[a-z]|[#.][a-z][\w-]*[{:]|@[\w-]+/)|"
        r"[({<]\S*[)}>=]|\\|@(?:npm\b|[\^~v]{0,2}\d+\.\d)|\.[a-z]{2,5}(?:[:#]\d+)*[\"'`,;.)]*$|=[\"'{$]|::|"
        r"^<|%[sd]|^[\w.-]+==?\d",
        IGNORECASE,
    )


@cached
def _public_before() -> re.Pattern[str]:
    return pattern(
        r"(?:integrity|checksum|digest|sha\d*|resolution|commit|hash|reference|version|image|etag|"
        r"class|branch|named?|called|function|method|id|public)\W{0,4}$",
        IGNORECASE,
    )


@cached
def _sign() -> re.Pattern[str]:
    return exact(r"[\"'`*_)\]]{0,3}(=>|->|:=|={1,3}|:|→|⇒|\|)")


@cached
def _value_field() -> re.Pattern[str]:
    return pattern(
        r"(?:value|plain|plaintext|val|default|data|content|text)[\"']?\s{0,4}[:=]|<(?:dd|td|string|"
        r"value)>(?=[^<>]{4,256}</)",
        IGNORECASE,
    )


@cached
def _backward() -> re.Pattern[str]:
    return pattern(
        r"(?:^|(?<=[\s\"'`*]))([^\s\"'`]{4,128})[\"'`*”」』]{0,2},?\s?"
        r"(?:(?<=\s)(?:(?:that|which|this|it) (?:is|was)|das ist|for|für|voor|"
        r"para|pour|is|was|as|are|als|ist|war|comme|как|est|como|es|come|è|é|como|jako|to|som|"
        r"является|это|като|kot|kao|kaip|kui|kā|як|ως|sebagai|làm|mint|ca|com a|ako|bilang|kama|"
        r"—|-|=)\s|を|를|을|作为|作為|是|설정된|olarak|(?<=\s)ك|(?:が|は|가|이|은|는)\s?[^\s\x00-\x7f]{0,8})"
        r"\s?(?:(?:the|my|our|your|its|a|an|new|current|das|mein|unser|le|la|mon|notre|el|mi|il|a|"
        r"o|het|mijn|de|für|for|of|production|prod|staging|dev|test|root|admin|db|database|redis|"
        r"api|wifi|\w{2,14})\s?){0,3}$",
        IGNORECASE,
    )


@cached
def _becomes() -> re.Pattern[str]:
    """Before the value that follows another: "from X to Y"."""
    return exact(r"[\"'`*]{0,2} (?:to|auf|into|->|→|à|para|na|на) \S")


@cached
def _pair() -> re.Pattern[str]:
    accounts = "|".join(ACCOUNTS)
    return pattern(
        rf"(?<![\w/.@:-])({accounts})[\"'`*]{{0,2}}(?: [/:|] |:|/)[\"'`*]{{0,2}}"
        r"([^\s\"'`/:,;|@]{5,64})(?![\w/.@:(-]| [A-Za-z])",
        IGNORECASE,
    )


@cached
def _pair_of_any() -> re.Pattern[str]:
    """A user and a password with a slash between, where the line is about accounts."""
    return pattern(
        r"\b(?:log ?in|sign(?:ed)? ?in|account|auth|user|credential|compte|konto|benutzer|logowania|ssh|s?ftp|"
        r"vpn|admin|usuario|usuário|utente|cuenta|conta|zugang|gebruiker|логин|учёт|учет|kullanıcı)[^\n]{0,60}?"
        r"[\w.@+-]{2,40}[\"'`*]{0,2} / [\"'`*]{0,2}([^\s\"'`/,;|]{6,64})(?![\w/])",
        IGNORECASE,
    )


@cached
def _name_and_value() -> re.Pattern[str]:
    return exact(r"[\w.@+-]{1,64}[:/|]([^\s:/|]{4,128})")
