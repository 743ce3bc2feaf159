"""Detect secrets in sentences, tables and lists, in many languages. The search is linear in the
length of the text. For example, it finds the value in a column `password`, on the line after
`Password:`, and in "admin / …", "contraseña: …" and "パスワードは…です".
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from memory_fabric.redaction import plain, tables, values
from memory_fabric.redaction.plain import NAMES, is_hex, is_joined_words, is_placeholder, is_strong
from memory_fabric.redaction.rules import SYMBOLS, exact, form, is_joined, is_uuid, words
from memory_fabric.redaction.values import (
    MIN_KEY_CHARS,
    is_code,
    is_known_form,
    is_telling,
    stripped,
)

LINKS, _TYPES = frozenset(words("links")), frozenset(words("types"))
REACH_CHARS, BACK_CHARS, MAX_WORDS = 120, 160, 9
BEFORE_CHARS = 70
# After one of these words, an account name is expected first, and then its password.
LOGINS = ("login", "logins", "log in", "sign in", "anmeldung", "login:")
_CLOSERS = {'"': '"', "'": "'", "`": "`", "„": "“”", "“": "”", "«": "»", "「": "」", "『": "』"}
MARK, MAX_MARK_CHARS = "[redacted: ", 40
MARK_OF_VALUE = f"{MARK}secret]"


def without_stated(text: str) -> str:
    """Redact the secrets in a text's sentences, tables and lists."""
    text = tables.without_inserted(tables.without_columns(text))
    spans: list[tuple[int, int]] = []
    reached = line_end = 0
    in_code = False
    for name in tables.names_in(text).finditer(text):
        kind = tables.kind_of(name.group().casefold())
        if name.start() >= line_end:
            line_end = text.find("\n", name.end())
            line_end = len(text) if line_end < 0 else line_end
            line = text[max(text.rfind("\n", 0, name.start()) + 1, name.start() - 400) : line_end]
            is_marked = ("<" in line or "{" in line or ":" in line) and plain.is_markup(line[:800])
            in_code = is_marked or plain.is_definition(line[:800])
        if in_code or not tables.is_name(text, name, kind):
            continue
        if name.group() in ("pass", "Pass") and form("passing").match(text, name.end()):
            continue
        if kind == "common" and tables.is_of_issuer(
            text[max(0, name.start() - 28) : name.start()], text[name.end() : name.end() + 40]
        ):
            kind = "key"
        begin = max(text.rfind("\n", 0, name.start()) + 1, name.start() - 48)
        near = form("before value").match(text, name.end())
        is_key = kind in ("key", "common")
        if is_key and near and form("of network").search(text, begin, near.end()):
            kind = "password"
        name_tail = form("rest of name").match(text, name.end())
        bent = exact(r"[^\W\d_\u2e80-\uffff]*").match(text, name.end())
        named_to = name_tail.end() if name_tail is not None else bent.end() if bent else name.end()
        parts = exact(r"[^\W_]+").findall(text[name.end() : named_to].casefold())
        if parts and (parts[0] in tables.ABOUT or parts[-1] in tables.ABOUT):
            continue
        for start, end in _values_behind(text, max(named_to, reached), kind, named_to):
            spans.append((start, end))
            reached = end
        before = _value_before(text, name.start(), kind)
        if before is not None and before[0] >= (spans[-2][1] if len(spans) > 1 else 0):
            spans.append(before)
        spans.extend(_values_near(text, name, kind))
        spans.extend(tables.alone_behind(text, line_end + 1, kind) if line_end < len(text) else ())
    spans.extend(tables.numbers_of_locks(text))
    for pair in ("pair of any", "pair"):
        matches = form(pair).finditer(text)
        spans += [match.span(1) for match in matches if _is_of_account(match, pair == "pair")]
    return values.without(text, [span for span in spans if not _is_in_mark(text, span[0])])


def _is_in_mark(text: str, place: int) -> bool:
    begin = text.rfind(MARK, max(0, place - MAX_MARK_CHARS), place)
    end = text.find("]", begin + len(MARK), begin + MAX_MARK_CHARS) if begin >= 0 else -1
    return begin < place <= end and text[begin + len(MARK) : end].replace(" ", "").isalpha()


def _values_behind(text: str, start: int, kind: str, named_to: int) -> Iterator[tuple[int, int]]:
    region_end = min(len(text), named_to + REACH_CHARS)
    line_end = text.find("\n", named_to, region_end)
    region = text[start : region_end if line_end < 0 else line_end]
    other = ("next field", "of path", *(("by product",) if kind != "password" else ()))
    if any(form(name).match(text, named_to) for name in other):
        return
    region = region[: _end_of_quoted(text, named_to, start + len(region)) - start]
    if line_end >= 0 and not region.strip(" \t:=*_`\"'#|>-.：＝")[:1]:
        yield from _on_next_line(text, line_end + 1, kind)
        return
    linked, words, took, previous = "", 0, 0, 0
    is_login = kind == "pair" and text[max(0, named_to - 8) : named_to].casefold().endswith(LOGINS)
    for token in form("tokens").finditer(region):
        between, previous = region[previous : token.start()], token.end()
        is_marked = MARK in f"{token.group()} "
        if is_marked and region.startswith(MARK_OF_VALUE, region.find(MARK, token.start())):
            return  # the value is already redacted, and is the only one
        linked = "=" if any(link in between for link in "是为為は：＝이가는은が") else linked
        begin, core = stripped(token.group())
        sign = form("sign behind").match(token.group()) if not linked else None
        if sign is not None and sign.group(1) in ("==", "==="):
            return
        if sign is not None and sign.end() < len(token.group()):
            linked = sign.group(1)
            begin, core = stripped(token.group(), sign.end())
        folded, end = core.casefold(), begin + len(core)
        if took and token.group() in ("/", "|", "+"):
            took = 2
            continue
        if kind == "pair" and exact(r"--?[a-z]").match(token.group()):
            return
        if is_login and core and not took and not form("name and value").fullmatch(core):
            took, linked = 1, "=" if _is_pair_ahead(region[token.start() + end :]) else ""
            continue
        if token.group() in LINKS or folded in LINKS:
            link = folded or token.group()
            if link in ("-", "–", "—", "|", "/") and not words:
                linked = linked or "-"
            elif (kind == "common" and folded in ("to", "as", "with")) or (
                folded in ("on", "as", "with") and linked in ("is", "was")
            ):
                return
            else:
                linked = link if link in values.ANNOUNCING or not linked else linked
            continue
        is_type = sign is None and core.rstrip("!?)],") in _TYPES
        if is_type and text[named_to : named_to + 2].lstrip("?")[:1] == ":":
            return
        is_verb = folded in ("type", "use", "enter") and not words
        if is_verb and form("mixed ahead").match(region, token.end()):
            linked = "="
            continue
        if folded in tables.ABOUT and not linked and not words:
            return
        if folded in NAMES and tables.kind_of(folded) == kind:
            return  # stop at the next name of a secret: its value is searched for separately
        if not core:
            continue  # just a quotation mark
        lead = region[: token.start() + begin]
        quoted = lead[-1:] in tuple("\"'`„“”«»「『‘*") or lead.endswith("__")
        quoted = quoted or (lead[-1:] == "(" and not words) or lead[-2:] in ("« ", "«\u00a0")
        if quoted and not words and lead.rstrip()[-1:] in ("«", "„", "「"):
            linked = linked or "="
        follower = region[token.start() + end :]
        phrased = linked or (
            words < 2 and form("names phrase").search(text, max(0, named_to - 24), named_to)
        )
        phrase = form("words of phrase").match(region, token.start() + begin) if phrased else None
        if phrase is not None and kind == "password" and values.is_phrase(phrase, region):
            yield start + phrase.start(), start + phrase.end()
            return
        of_pair = None
        if kind == "pair" and (linked or not words) and core.split("|")[0].casefold() not in NAMES:
            of_pair = form("name and value").fullmatch(core)
        if of_pair is not None and values.is_value(
            of_pair.group(1), "password", "=", follower, quoted=False, words=0
        ):
            yield start + token.start() + begin + of_pair.start(1), start + token.start() + end
            return
        kind_now = "password" if took == 2 and linked and not is_login else kind
        if core and values.is_value(core, kind_now, linked, follower, quoted=quoted, words=words):
            if kind != "pair" and form("of account").search(region, 0, token.start()):
                words, linked = words + 1, ""
                continue
            is_sum = is_hex(core.rjust(32, "0")) or is_uuid(core)
            if is_sum and form("of sum").search(text, max(0, named_to - 32), start + token.start()):
                return
            at = start + token.start()
            if kind == "pair" and not took and _is_pair_ahead(follower):
                took, linked = 1, "="
                continue
            closer = _CLOSERS.get(lead.rstrip("\u00a0 ")[-1:], "") if quoted else ""
            if closer and core[-1:] not in ".,":
                closings = [text.find(c, at + begin, at + begin + 256) for c in closer]
                closing = min((place for place in closings if place > 0), default=-1)
                inner = text[at + begin : closing].rstrip("\u00a0 ") if closing > 0 else ""
                if inner and "\n" not in inner:
                    if len(inner.split()) == 1 or plain.is_passphrase("password", inner):
                        yield at + begin, at + begin + len(inner)
                    return
            yield at + begin, at + end
            if not (linked and form("becomes").match(follower)):
                return
            continue
        if kind == "pair" and linked and not core.isdigit() and _is_pair_ahead(follower):
            took = 1
            continue
        if token.group().endswith((":", "=", "：")):
            linked = "="
        elif folded not in values.FILLERS:
            linked = ""
        words += 1
        if words >= MAX_WORDS or (token.group().endswith((".", "?", "!", ";")) and core):
            return
    if line_end >= 0 and (linked or region.rstrip().endswith((":", "：", "="))):
        yield from _on_next_line(text, line_end + 1, kind)


def _end_of_quoted(text: str, at: int, end: int) -> int:
    """Return the end of the quotation around a name that ends at `at`, or `end` if not quoted."""
    line = text.rfind("\n", 0, at) + 1
    closing = text.find('"', at, end)
    if at - line > 600 or closing <= at or text.count('"', line, at) % 2 == 0:
        return end
    return end if text[closing + 1 : closing + 3].lstrip()[:1] in (":", "=") else closing


def _on_next_line(text: str, start: int, kind: str) -> Iterator[tuple[int, int]]:
    """Yield the span of a value alone on the first non-empty of 3 lines, even in a code block."""
    for _ in range(3):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        bare = text[start:end].strip().strip(">|*`\"' \t-=")
        field = form("value field").match(bare)
        bare = bare[field.end() :].strip().strip("\"'`") if field is not None else bare
        if bare and not bare.isspace():
            if len(bare.split()) == 1 and len(bare) <= 256:
                at = text.find(bare, start)
                begin, core = stripped(bare)
                is_alone = not core.startswith("[") and not bare.endswith(":")
                if is_alone and values.is_value(core, kind, "=", "", quoted=False, words=0):
                    yield at + begin, at + begin + len(core)
            return
        if end == len(text):
            return
        start = end + 1


def _value_before(text: str, end: int, kind: str) -> tuple[int, int] | None:
    """Return the span of the value in "X is the password" or "use X as the key", else None."""
    start = max(0, end - BACK_CHARS)
    region = text[start:end]
    if not any(c.isdigit() or c in SYMBOLS for c in region) and not is_joined(region):
        return None
    match = form("backward").search(text, start, end)
    if match is None and text.startswith(("şifresi", "parolası"), end):
        match = exact(r"(?<!\S)([^\s\"'`]{4,128})\s$").search(text, start, end)
    if match is None:
        return None
    begin, core = stripped(match.group(1))
    span = match.start(1) + begin, match.start(1) + begin + len(core)
    if kind == "pin" and core.isdigit() and 4 <= len(core) <= 8:
        return span
    if len(core) < 6 or is_known_form(core) or is_placeholder(core) or is_code(core, ""):
        return None
    is_long = is_joined_words(core) and kind == "password"
    is_key = values.is_mixed(core, least=6) and (kind in ("password", "pin") or is_strong(core))
    return span if is_long or is_key else None


def _values_near(text: str, name: re.Match[str], kind: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of words on the line of a secret's name that can only be secrets."""
    start = max(text.rfind("\n", 0, name.start()) + 1, name.start() - BEFORE_CHARS)
    end = text.find("\n", name.end(), name.end() + REACH_CHARS)
    end = min(len(text), name.end() + REACH_CHARS) if end < 0 else end
    if not any(c.isdigit() for c in text[start:end]):
        return
    while start and not text[start - 1].isspace():
        start -= 1
        if name.start() - start > BACK_CHARS:
            return
    for token in form("tokens").finditer(text, start, end):
        word = token.group()
        if len(word) < MIN_KEY_CHARS or form("of no secret").search(word):
            continue
        if word.isascii() and token.start() <= name.start() < token.end():
            continue  # skip the word that contains the secret's name
        begin, core = stripped(word)
        around = text[max(0, token.start() - 24) : token.start()]
        is_stated = is_telling(core) and not is_placeholder(core) and not is_known_form(core)
        if not is_stated or is_code(core, word[begin + len(core) :]):
            continue
        if form("public before").search(around):
            continue
        if kind == "password" or len(core) >= (MIN_KEY_CHARS * 2 if kind != "common" else 20):
            yield token.start() + begin, token.start() + begin + len(core)


def _is_of_account(pair: re.Match[str], is_known: bool) -> bool:
    """Return True if the word after an account name is its password, not a number or a name."""
    value = pair.group(1)
    if is_known_form(value) or is_placeholder(value) or is_hex(value.rjust(32, "0")):
        return False
    if set(value) & set("\\()[]{}<>"):
        return False
    if is_joined_words(value) or is_strong(value):
        return True
    is_role = exact(r"[a-z]{3,}\d|\d+\w{0,3}").fullmatch(value)
    return " " in pair.group() and values.is_mixed(value, least=5) and (is_known or not is_role)


def _is_pair_ahead(follower: str) -> bool:
    """Return True if a separator (`/`, `:`, `|`, `,`, `+` or "and") and a word come next."""
    return bool(exact(r"[\"'`*]{0,2}\s?[/:|,+]\s?\S").match(follower)) or bool(
        exact(r"[\"'`*]{0,2} (?:and|und|et|y|e|en|и|with) \S").match(follower)
    )
