"""Secrets that sentences, tables and lists state, in the languages in which people write.

"Das Passwort für die Datenbank lautet …", "contraseña: …", "パスワードは…です", a column `password`
of a table, `Password:` with the value on the next line, "admin / …". All is linear in the text.
"""

from __future__ import annotations

import re
from functools import cache
from itertools import pairwise

from memory_fabric.secret_names import (
    is_definition,
    is_hex,
    is_identifier,
    is_markup,
    is_passphrase,
    is_placeholder,
    is_strong,
    looks_random,
)
from memory_fabric.secret_rules import BESIDE
from memory_fabric.secret_signs import ACCOUNTS, PROSE, is_doubtful, is_table
from memory_fabric.secret_words import (
    ANNOUNCING,
    COMMON_KEYS,
    KEYS,
    LINKS,
    PAIRS,
    PASSWORDS,
    SHORT_PASSWORDS,
    UNBENT,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

MARK = "[redacted: secret]"
REACH_CHARS, BACK_CHARS, MAX_WORDS = 120, 160, 9
MIN_CHARS, MIN_KEY_CHARS, MIN_BARE_KEY_CHARS = 4, 8, 16
MIN_NEAR_KEY_CHARS = 12
BEFORE_CHARS = 70
# More of it in words, and it is a name.
MAX_IN_WORDS = 0.5
MAX_CELLS = 64
# Directly behind its name these say that a sentence is about secrets and states none.
_ABOUT = frozenset(
    """length policy policies field fields hash hashes hashing hashed reset resets strength expiry
    expires expired expire rotation manager managers prompt hint column input inputs box form page
    min max minimum maximum requirement requirements rule rules validation validator needs need
    requires require required has have had having contains contain cannot can't won't doesn't
    does don't isn't wasn't encryption handling storage
    stored protected less protection generator reuse change changes file files store bucket budget
    buckets limit limits count counts counter usage type types name names id ids header headers
    refresh expiration auth authentication based flow grant endpoint url path env variable
    variables var vars attempts attempt login logins failed fails when if while because before
    after until without via""".split()
)
# Behind a link these go on without saying anything yet.
_FILLERS = frozenset(
    """now currently still just always again the my our your its a an new old same following
    simply literally actually really set called changed only both one: this jetzt noch immer neu
    neue der die das mein unser le la les mon notre actuellement maintenant toujours el los mi
    nuestra ahora siempre il lo mio ora o meu nossa agora de het mijn nu теперь сейчас moje teraz
    value user username""".split()
)
# No password, though it stands where one would.
_PREDICATES = frozenset(
    """required optional missing wrong correct incorrect invalid valid empty blank null none nil
    true false weak strong short long secure insecure safe unsafe public private hidden visible
    plain plaintext cleartext hashed encrypted salted stored saved kept sent shown leaked exposed
    compromised expired stale outdated unknown known set unset reset rotated changed different
    identical same shared unique random generated temporary permanent static dynamic fine okay good
    bad great easy hard simple complex sensitive case-sensitive here there below above inside
    outside elsewhere somewhere everywhere never always only also still already again not too very
    quite more less than then when where what which who how why because since until unless while if
    and but or nor for from with without within into onto over under about after before between
    case string text number boolean integer object array bytes token password secret key value
    field column header cookie session user users username login email account server database file
    files vault config environment variable settings manager bcrypt argon scrypt pbkdf sha base
    base64 utf hex hexadecimal ascii unicode json yaml xml html http https jwt oauth saml ldap
    totp rsa ecdsa ed25519 aes hmac md5 uuid opaque signed unsigned bearer basic digest being been
    done used reused unused needed necessary enough allowed forbidden accepted rejected denied
    checked verified validated masked redacted obfuscated truncated logged printed ignored deleted
    removed gone lost forgotten found available unavailable supported unsupported deprecated
    mandatory provided given passed read written loaded injected mounted managed handled important
    critical obvious irrelevant relevant possible impossible wertlos falsch richtig korrekt leer
    abgelaufen ungültig erforderlich nötig geheim sicher unsicher gespeichert verschlüsselt
    geändert incorrecte correcte obligatoire requis expiré invalide vide incorrecta correcta
    obligatoria requerida caducada vacía sbagliata corretta obbligatoria scaduta vuota incorreta
    correta obrigatória expirada vazia verplicht onjuist verlopen leeg nieprawidłowe wymagane
    gerekli yanlış""".split()
)
_SUFFIXES = ("able", "ible", "ing", "ed", "ly", "ent", "ous", "ful", "less", "ive", "tion", "ung")
_SYMBOLS = frozenset("!#$%^&*?~@+")
# Endings of "token" in other languages.
_BENT = frozenset("em en et a u i ul ului im imiz".split())
_QUOTES = "\"'`„“”«»「」『』‘’*_"
_CJK = "\u3000-\u30ff\u3400-\u9fff\uac00-\ud7af\uff00-\uffef\u0e00-\u0e7f"


def without_told(text: str) -> str:
    """The text without the secrets that its sentences, tables and lists state."""
    if is_table(text.casefold()):
        text = _without_columns(text)
    spans: list[tuple[int, int]] = []
    reached = line_end = 0
    is_code = False
    for name in _names(text).finditer(text):
        kind = _kind(name.group().casefold())
        if name.start() >= line_end:
            line_end = text.find("\n", name.end())
            line_end = len(text) if line_end < 0 else line_end
            line = text[max(text.rfind("\n", 0, name.start()) + 1, name.start() - 400) : line_end]
            is_marked = ("<" in line or "{" in line or ":" in line) and is_markup(line[:800])
            is_code = is_marked or is_definition(line[:800])
        if is_code or not _is_name(text, name, kind):
            continue
        if kind == "common" and _is_of_issuer(text[max(0, name.start() - 24) : name.start()]):
            kind = "key"
        rest = _rest_of_name().match(text, name.end())
        named_to = name.end() if rest is None else rest.end()
        if text[name.end() : named_to].strip("_-").split("_")[0].split("-")[0] in _ABOUT:
            continue
        for start, end in _values_behind(text, max(named_to, reached), kind, named_to):
            spans.append((start, end))
            reached = end
        before = _value_before(text, name.start(), kind)
        if before is not None and before[0] >= (spans[-2][1] if len(spans) > 1 else 0):
            spans.append(before)
        spans.extend(_telling_near(text, name, kind))
    for match in _pair().finditer(text):
        value = match.group(2)
        is_secret = is_strong(value) or (" " in match.group() and _is_word_of_account(value))
        if is_secret and not _is_known_form(value):
            spans.append(match.span(2))
    return _without(text, spans)


def _without(text: str, spans: list[tuple[int, int]]) -> str:
    parts: list[str] = []
    at = 0
    for start, end in sorted(spans):
        if start >= at and "[redacted" not in text[start:end]:
            parts += [text[at:start], MARK]
            at = end
    return "".join([*parts, text[at:]])


def _kind(name: str) -> str:
    if name in _PASSWORDS:
        return "password"
    if name in _PAIRS:
        return "pair"
    return "common" if name in COMMON_KEYS else "key"


def _is_of_issuer(before: str) -> bool:
    """True if the word before `key` says that it opens something: "the Stripe key"."""
    words = before.casefold().replace("-", " ").replace("_", " ").split()
    return bool(words) and (
        words[-1] in _OPENING
        or any(words[-1].startswith(piece) for _, pieces, _ in BESIDE for piece in pieces.split())
    )


def _is_name(text: str, name: re.Match[str], kind: str) -> bool:
    """True if the match is the name itself, not a part of another word."""
    before, behind = text[name.start() - 1 : name.start()], text[name.end() : name.end() + 1]
    word = name.group()
    if behind == "/" or _is_in_address(text, name.start()):
        return False
    if len(word) < 6 and (before.isdigit() or text[name.end() : name.end() + 2].isalnum()):
        is_plural = behind in ("s", "S") and not text[name.end() + 1 : name.end() + 2].isalnum()
        if before.isdigit() or (behind.isdigit() and not is_plural):
            return False
    if kind in ("key", "common") and text[: name.start()][-13:].rstrip(" _-").lower().endswith(
        ("public", "publishable")
    ):
        return False
    mark = text.rfind("[redacted: ", max(0, name.start() - 24), name.start())
    if mark >= 0 and "]" not in text[mark : name.start()]:
        return False
    if not word.isascii():
        return not before.isalpha() or len(word) > 4 or not word[0].isascii()
    if behind.isalpha() and behind.isascii():
        if word.casefold() not in UNBENT and " " not in word and len(word) > 4 and kind != "common":
            ending = text[name.end() : name.end() + 8].split(maxsplit=1)[0]
            return len(ending.rstrip(":=.,")) < 6
        ending = text[name.end() : name.end() + 3]
        is_plural = ending[:1] == "s" and not ending[1:2].isalpha()
        bent = text[name.end() : name.end() + 5].split(maxsplit=1)[0].strip(":=.,")
        return (is_plural or (word.casefold() == "token" and bent in _BENT)) and len(word) > 3
    if before.isalpha() and before.isascii() and (len(word) < 6 or kind in ("key", "common")):
        if word.casefold() in ("token", "sleutel"):
            return True  # "Zugriffstoken"
        return before.islower() and word[0].isupper()  # dbPass, apiToken
    return True


def _is_in_address(text: str, start: int) -> bool:
    """True if the word that holds this place is an address."""
    before = text[max(0, start - 200) : start]
    if not before or before[-1].isspace():
        return False
    word = before.split()[-1]
    return "://" in word or word.lstrip("\"'(`").startswith("arn:")


def _values_behind(text: str, start: int, kind: str, named_to: int) -> Iterator[tuple[int, int]]:
    """Where the values stand that follow the name which ends at `named_to`."""
    region_end = min(len(text), named_to + REACH_CHARS)
    line_end = text.find("\n", named_to, region_end)
    region = text[start : region_end if line_end < 0 else line_end]
    if line_end >= 0 and not region.strip(" \t:=*_`\"'#|>-.：＝")[:1]:
        yield from _on_next_line(text, line_end + 1, kind)
        return
    linked, words, took = "", 0, 0
    previous = 0
    for token in _tokens().finditer(region):
        between = region[previous : token.start()]
        previous = token.end()
        if any(link in between for link in "是为為は：＝이가는은が"):
            linked = "="
        left, right = _stripped(token.group())
        core = token.group()[left:right]
        folded = core.casefold()
        sign = _sign().match(token.group()) if not linked else None
        if sign is not None and sign.group(1) in ("==", "==="):
            return
        if sign is not None and sign.end() < len(token.group()):
            linked = sign.group(1)
            left, right = _stripped(token.group(), sign.end())
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
        if folded in _ABOUT and not linked and not words:
            return
        if folded in _EVERY and _kind(folded) == kind:
            return  # it is looked behind on its own
        lead = region[: token.start() + left]
        quoted = lead[-1:] in tuple("\"'`„“”«»「『‘*") or lead.endswith("__")
        follower = region[token.start() + right :]
        phrase = _phrase().match(region, token.start() + left) if linked else None
        if phrase is not None and kind == "password" and _is_phrase(phrase, region):
            yield start + phrase.start(), start + phrase.end()
            return
        of_pair = _name_and_value().fullmatch(core) if kind == "pair" and linked else None
        if of_pair is not None and _is_value(
            of_pair.group(1), "password", "=", follower, quoted=False, words=0
        ):
            yield start + token.start() + left + of_pair.start(1), start + token.start() + right
            return
        if core and _is_value(core, kind, linked, follower, quoted=quoted, words=words):
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
            return
        if kind == "pair" and linked and core and _is_pair_ahead(follower):
            took = 1
            continue
        if token.group().endswith((":", "=", "：")):
            linked = "="
        elif folded not in _FILLERS:
            linked = ""
        words += 1
        if words >= MAX_WORDS or (token.group().endswith((".", "?", "!", ";")) and core):
            return
    if line_end >= 0 and (linked or region.rstrip().endswith((":", "：", "="))):
        yield from _on_next_line(text, line_end + 1, kind)


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
                left, right = _stripped(bare)
                core = bare[left:right]
                is_alone = not core.startswith("[") and not bare.endswith(":")
                if is_alone and _is_value(core, kind, "=", "", quoted=False, words=0):
                    yield at + left, at + right
            return
        if end == len(text):
            return
        start = end + 1


def _value_before(text: str, end: int, kind: str) -> tuple[int, int] | None:
    """Where the value stands in "X is the password", "use X as the key"."""
    start = max(0, end - BACK_CHARS)
    if not any(c.isdigit() or c in _SYMBOLS for c in text[start:end]):
        return None
    match = _backward().search(text, start, end)
    if match is None:
        return None
    left, right = _stripped(match.group(1))
    core = match.group(1)[left:right]
    if len(core) < 6 or _is_known_form(core) or is_placeholder(core):
        return None
    if not _is_mixed(core, least=6) or (kind != "password" and not is_strong(core)):
        return None
    return match.start(1) + left, match.start(1) + right


def _telling_near(text: str, name: re.Match[str], kind: str) -> Iterator[tuple[int, int]]:
    """Where words stand in the line of a name that look like nothing but a secret."""
    start = max(text.rfind("\n", 0, name.start()) + 1, name.start() - BEFORE_CHARS)
    end = text.find("\n", name.end(), name.end() + REACH_CHARS)
    end = min(len(text), name.end() + REACH_CHARS) if end < 0 else end
    if not any(c.isdigit() for c in text[start:end]):
        return
    while start and not text[start - 1].isspace():
        start -= 1
        if name.start() - start > BACK_CHARS:
            return
    for token in _tokens().finditer(text, start, end):
        word = token.group()
        if len(word) < MIN_KEY_CHARS or _of_no_secret().search(word):
            continue
        if word.isascii() and token.start() <= name.start() < token.end():
            continue  # its own name is in it
        left, right = _stripped(word)
        core = word[left:right]
        around = text[max(0, token.start() - 24) : token.start()]
        is_told = is_telling(core) and not is_placeholder(core) and not _is_known_form(core)
        if not is_told or _is_code(core, word[right:]) or _public_before().search(around):
            continue
        if kind == "password" or len(core) >= (MIN_KEY_CHARS * 2 if kind != "common" else 20):
            yield token.start() + left, token.start() + right


def is_telling(core: str) -> bool:
    """True if neither a word nor an identifier looks like this: letters and digits in turn, or
    with symbols between them.
    """
    if len(core) < MIN_KEY_CHARS or not any(c.isdigit() for c in core):
        return False
    if not any(c.isalpha() for c in core) or not core.isascii():
        return False
    if is_identifier(core) or _revision().fullmatch(core):
        return False
    symbols = sum(c in "!#$%^&*?~@+" for c in core)
    in_words = sum(len(run) for run in re.findall(r"[A-Za-z][a-z]{3,}", core))
    if not symbols and in_words > MAX_IN_WORDS * len(core):
        return False
    if symbols and not any(c in "/=:<>(){}[]|," for c in core):
        return True
    for part in re.split(r"[-_./:,=+]", core):
        if len(part) < 6 or not part.isalnum():
            continue
        turns = sum(a.isdigit() != b.isdigit() for a, b in pairwise(part))
        cases = sum(
            (a.isdigit(), a.isupper()) != (b.isdigit(), b.isupper()) for a, b in pairwise(part)
        )
        if is_hex(part.removeprefix("g").rjust(32, "0")):
            continue
        if turns >= 3 or (
            turns == 2
            and part[0].isalpha()
            and part[-1].isalpha()
            and part.islower()
            and len(core) <= 24
        ):
            return True
        if len(part) >= 10 and turns and cases > 0.4 * len(part):
            return True
    return False


def _is_value(
    core: str, kind: str, linked: str, follower: str, *, quoted: bool, words: int
) -> bool:
    """True if a word behind the name of a secret is one."""
    if len(core) < MIN_CHARS or "[redacted" in core or "redacted:" in core:
        return False
    if core.isdigit() and kind in ("password", "pair"):
        # "pin 481516"; years and amounts stand farther off.
        return 4 <= len(core) <= 20 and bool(linked or not words) and not _counts(follower)
    if is_placeholder(core) or _is_known_form(core) or _is_code(core, follower):
        return False
    if core.casefold() in _EVERY:
        return False
    if _other_assignment().match(core) and not (linked and sum(c in _SYMBOLS for c in core) > 1):
        return False
    if kind in ("key", "common"):
        return _is_key(core, kind, linked, quoted=quoted, words=words)
    digits = sum(c.isdigit() for c in core)
    symbols = any(c in _SYMBOLS for c in core[:-1]) or core[-1:] in "!$%@#"
    if not linked and not quoted and "/" in core:
        return False
    if digits and _is_mixed(core, least=4):
        return bool(linked) or quoted or _is_mixed(core, least=7) or (len(core) > 5 and not words)
    if digits and _is_joined(core):
        return bool(linked) or quoted or not words
    if symbols and any(c.isalpha() for c in core):
        return len(core) >= 5 and (bool(linked) or quoted)
    if kind == "pair" or (not linked and not quoted):
        return False
    return _is_weak_word(core, linked, follower, quoted=quoted)


def _is_phrase(phrase: re.Match[str], region: str) -> bool:
    """True if words up to the end of the sentence are a passphrase: none of them is prose."""
    words = re.split(r"[ -]", phrase.group())
    ends = not region[phrase.end() :].strip(" .!\"'`*)»“”")
    is_prose = any(word in PROSE or word in _PREDICATES or word in _FILLERS for word in words)
    return ends and not is_prose and len(set(words)) > 2


def _is_weak_word(core: str, linked: str, follower: str, *, quoted: bool) -> bool:
    """True if a plain word is a password, where its name and a link stand before it."""
    folded = core.casefold()
    parts = re.split(r"[-_.]", folded)
    if any(part in _PREDICATES or part in _FILLERS for part in parts) and len(parts) < 4:
        return False
    if not all(part.isalnum() for part in parts):
        return False
    ends = (
        not follower.strip()
        or follower.lstrip(_QUOTES)[:1] in tuple(".,;)!|\n")
        or (len(follower.split()) > 0 and not follower.split()[0][:1].isalnum())
        or "\u2e80" <= follower[:1] <= "\ud7af"
    )
    if quoted:
        return linked != "" and len(core) >= 5
    if linked in ANNOUNCING:
        return ends and len(core) >= 5 and not folded.endswith(_SUFFIXES)
    return (
        linked in ("is", "was", "ist", "war")
        and ends
        and len(core) >= 5
        and not folded.endswith(_SUFFIXES)
    )


def _is_key(core: str, kind: str, linked: str, *, quoted: bool, words: int) -> bool:
    """True if a word is a key or token: letters and digits, or a long hexadecimal number."""
    if len(core) < MIN_KEY_CHARS or not any(c.isdigit() for c in core) or is_identifier(core):
        return False
    if kind == "common":
        is_long = len(core) >= MIN_BARE_KEY_CHARS and bool(linked or quoted)
        return is_long and is_doubtful(core) and not is_hex(core) and not _is_uuid(core)
    if linked or quoted:
        return _is_mixed(core, least=8) or is_doubtful(core) or _is_uuid(core) or looks_random(core)
    if not words and kind == "key" and (_is_uuid(core) or looks_random(core)):
        return True
    least = MIN_NEAR_KEY_CHARS if not words else MIN_BARE_KEY_CHARS
    return len(core) >= least and is_doubtful(core) and not _is_uuid(core)


def _is_mixed(core: str, *, least: int) -> bool:
    """True if letters stand beside digits in one part, or symbols do; no `users_2024`."""
    if len(core) < least or not any(c.isalpha() for c in core):
        return False
    if any(c in _SYMBOLS for c in core):
        return any(c.isdigit() for c in core) or len(core) >= 8
    parts = re.split(r"[-_./:,]", core)
    return any(
        any(c.isdigit() for c in part) and any(c.isalpha() for c in part) and len(part) >= 4
        for part in parts
    )


def _is_joined(core: str) -> bool:
    """True if these are words in capitals and a number, as generators of passwords join them."""
    return bool(_joined().fullmatch(core))


def _is_uuid(core: str) -> bool:
    return len(core) == 36 and core.count("-") == 4


def _is_word_of_account(value: str) -> bool:
    return len(value) >= 5 and _is_mixed(value, least=5)


def _counts(follower: str) -> bool:
    """True if what follows a number says of what: characters, days, attempts."""
    return bool(re.match(r"\s{0,2}[-\s]?(?:[a-z]{3,}|%)", follower)) and not re.match(
        r"\s{1,2}(?:and|for|on|to|at|in|as|und|et|y|e|but|or|is|für|auf)\b", follower
    )


def _is_code(core: str, follower: str) -> bool:
    if core[:2] in ("$(", "${", "{{", "<%") or core[0] in "<(" or "(" in core or "://" in core:
        return True
    if follower[:1] in ("(", "[") or core.startswith(("./", "../", "~/", "--")):
        return True
    if (core[0] == "/" and not looks_random(core)) or (core[0] == "$" and is_placeholder(core)):
        return True
    if core[0] in "&*" and core[1:].partition("<")[0].isalpha():
        return True  # a reference, a pointer
    return bool(_path_of_names().fullmatch(core.rstrip("!")))


def _is_pair_ahead(follower: str) -> bool:
    """True if a slash, colon or comma and another word follow."""
    return bool(re.match(r"[\"'`*]{0,2}\s?[/:|,+]\s?\S", follower)) or bool(
        re.match(r"[\"'`*]{0,2} (?:and|und|et|y|e|en|и|with) \S", follower)
    )


def _is_known_form(core: str) -> bool:
    """True if the word is a version, date, size, file, algorithm, ticket or address."""
    return bool(_known_forms().fullmatch(core))


def _stripped(token: str, start: int = 0) -> tuple[int, int]:
    """Where the word begins and ends within quotes, brackets and the marks of a sentence."""
    left, right = start, len(token)
    while left < right and token[left] in "\"'`*„“”«»‘’([{,;:<_":
        left += 1
    while left < right and token[right - 1] in "\"'`*„“”«»‘’)]},;:.?>_":
        right -= 1
    if right - left > 1 and token[right - 1] == "!" and token[left : right - 1].isalpha():
        right -= 1
    return left, right


def _without_columns(text: str) -> str:
    """The text without the cells of columns that are named as secrets are."""
    lines = text.split("\n")
    columns: dict[int, str] = {}
    separator = ""
    for place, line in enumerate(lines):
        if columns:
            if not line.strip(" +-=|:\r─━═│║├┤┼╬╠╣╪┝┿┥┣╋┫"):
                continue  # a rule between the head and its rows
            cells = _cells(line, separator)
            if len(cells) > max(columns) and len(cells) > 1:
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
        if 1 < len(cells) <= MAX_CELLS and all(b - a <= 40 for a, b in cells):
            columns = {i: kind for i, kind in named.items() if kind}
    return "\n".join(lines)


def _column_kind(cell: str) -> str:
    bare = cell.strip(" \t*`\"'_")
    if not bare or len(bare.split()) > 4:
        return ""
    match = _names(bare).search(bare)
    if match is None or bare.endswith((".", ":", "?")):
        return ""
    rest = bare[match.end() :].strip(" _-s").casefold()
    if rest.split("_")[0].split(" ")[0] in _ABOUT or rest in _ABOUT:
        return ""
    kind = _kind(match.group().casefold())
    return "password" if kind == "pair" else kind


def _cells(line: str, separator: str) -> list[tuple[int, int]]:
    """Where the cells of a line begin and end, at most so many; of quoted CSV, too."""
    if separator == "  ":  # aligned by blanks: a cell is what stands between two or more
        return [match.span() for match in re.finditer(r"\S+(?: \S+){0,8}", line)][:MAX_CELLS]
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
        left, right = _stripped(bare)
        core = bare[left:right]
        is_one = core and len(core.split()) == 1 and set(core) - set("-:=")
        if is_one and _is_cell_value(core, kind):
            at = start + cell.find(bare)
            spans.append((at + left, at + right))
    return _without(line, spans)


def _is_cell_value(core: str, kind: str) -> bool:
    if kind == "common":
        kind = "key"
    if kind == "key" and looks_random(core):
        return True
    return _is_value(core, kind, "=", "", quoted=False, words=0)


# Before "key" and "code": whose, or of what kind.
_OPENING = frozenset(
    """api access secret private signing encryption hmac license licence deploy master admin root
    service account live prod production staging sandbox test stripe openai anthropic claude gemini
    google aws azure gcp github gitlab sendgrid slack vercel pinecone tavily supabase firebase
    cloudflare deepl mistral groq cohere maps shopify paypal server client openrouter deepseek
    vault door gate alarm entry backup recovery unlock wifi wlan wpa wpa2 psk shared aes""".split()
)
_PASSWORDS = frozenset((*PASSWORDS, *SHORT_PASSWORDS))
_PAIRS = frozenset(PAIRS)
_BY_LENGTH = sorted(
    {*PASSWORDS, *SHORT_PASSWORDS, *PAIRS, *KEYS, *COMMON_KEYS}, key=lambda name: (-len(name), name)
)
_EVERY = frozenset((*PASSWORDS, *SHORT_PASSWORDS, *PAIRS, *KEYS, *COMMON_KEYS))


def _names(text: str) -> re.Pattern[str]:
    """An expression for the names that are in the text, the longest first; or for none."""
    folded = text.casefold()
    return _any_of(tuple(name for name in _BY_LENGTH if name in folded))


@cache
def _any_of(names: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(map(re.escape, names)) or r"(?!)", re.IGNORECASE)


@cache
def _tokens() -> re.Pattern[str]:
    return re.compile(rf"[^\s{_CJK}]{{1,256}}")


@cache
def _revision() -> re.Pattern[str]:
    """A place in a history of git, a user of a host, a build, a standard of C++."""
    return re.compile(
        r"(?:[a-z]{2,}\d?-){2,}[a-z0-9]{1,10}(?:-[a-z0-9]{5})?|[\w./-]+[~^]\d{0,4}|[a-z][\w.-]*@[a-z][\w.-]*|[a-z]\+\+\S{0,8}|"
        r"(?:py|cp|h|np)\d{2,3}h?\w{0,12}(?:[-_][\w.]{1,24}){0,4}|[\w.-]+@\{\S{1,12}|v?[\d.]+\+\w+",
        re.IGNORECASE,
    )


@cache
def _joined() -> re.Pattern[str]:
    return re.compile(r"(?:[A-Z][a-z]{2,12}[-_.]){2,4}\d{1,6}")


@cache
def _of_no_secret() -> re.Pattern[str]:
    """Addresses, paths, sums, selectors, calls and versions of packages."""
    return re.compile(
        r"://|^[\"'`(]?(?:sha\d+[-:]|h1:|md5:|/|\.{0,2}/|~/|--?[a-z]|[#.][a-z][\w-]*[{:]|@[\w-]+/)|"
        r"[({<]\S*[)}>=]|\\|@(?:npm\b|[\^~v]{0,2}\d+\.\d)|\.[a-z]{2,5}(?:[:#]\d+)*[\"'`,;.)]*$|=[\"'{$]|::|"
        r"^<|%[sd]|^[\w.-]+==?\d",
        re.IGNORECASE,
    )


@cache
def _public_before() -> re.Pattern[str]:
    return re.compile(
        r"(?:integrity|checksum|digest|sha\d*|resolution|commit|hash|reference|version|image|etag|"
        r"class|branch|named?|called|function|method|id|public)\W{0,4}$",
        re.IGNORECASE,
    )


@cache
def _sign() -> re.Pattern[str]:
    return re.compile(r"[\"'`*_)\]]{0,3}(=>|->|:=|={1,3}|:|→|⇒|\|)")


@cache
def _value_field() -> re.Pattern[str]:
    return re.compile(
        r"(?:value|plain|plaintext|val|default|data|content|text)[\"']?\s{0,4}[:=]|<(?:dd|td|string|"
        r"value)>(?=[^<>]{4,256}</)",
        re.IGNORECASE,
    )


@cache
def _backward() -> re.Pattern[str]:
    return re.compile(
        r"(?:^|(?<=[\s\"'`*]))([^\s\"'`]{4,128})[\"'`*]{0,2}\s?"
        r"(?:(?<=\s)(?:is|was|as|are|als|ist|war|comme|как|est|como|es|come|è|é|como|jako|to|som|"
        r"является|это|—|-|=)\s|を|를|을|作为|作為|是|설정된|olarak)"
        r"\s?(?:(?:the|my|our|your|its|a|an|new|current|das|mein|unser|le|la|mon|notre|el|mi|il|a|"
        r"o|het|mijn|de|für|for|of|production|prod|staging|dev|test|root|admin|db|database|redis|"
        r"api|wifi|\w{2,14})\s?){0,3}$",
        re.IGNORECASE,
    )


@cache
def _pair() -> re.Pattern[str]:
    accounts = "|".join(ACCOUNTS)
    return re.compile(
        rf"(?<![\w/.@:-])({accounts})[\"'`*]{{0,2}}(?: [/:|] |:|/)[\"'`*]{{0,2}}"
        r"([^\s\"'`/:,;|@]{5,64})(?![\w/.@:(-]| [A-Za-z])",
        re.IGNORECASE,
    )


@cache
def _name_and_value() -> re.Pattern[str]:
    return re.compile(r"[\w.@+-]{1,64}[:/|]([^\s:/|]{4,128})")


@cache
def _rest_of_name() -> re.Pattern[str]:
    return re.compile(r"[_-][A-Za-z][A-Za-z0-9_-]{0,40}(?![\w@#!$%^&*])")


@cache
def _phrase() -> re.Pattern[str]:
    return re.compile(r"[a-z]{3,10}(?:[ -][a-z]{3,10}){3,11}(?![\w-])")


@cache
def _path_of_names() -> re.Pattern[str]:
    return re.compile(r"[A-Za-z_]+(?:(?:\.|\?\.|::|->)[A-Za-z_]+)+(?:\(\))?|[A-Z][A-Z_]+")


@cache
def _other_assignment() -> re.Pattern[str]:
    return re.compile(r"[A-Za-z_][\w.-]{1,40}[=:](?!$)")


@cache
def _known_forms() -> re.Pattern[str]:
    return re.compile(
        r"v?\d+(?:\.\d+)+\S{0,12}|v\d+(?:(?:alpha|beta|rc|p)\d{1,3})?|\d{4}-\d\d(?:-\d\d\S{0,20})?|\d{1,2}[:.]\d\d(?:[:.]\d\d)?|"
        r"\d+(?:\.\d+)?-?(?:ms|s|sec|secs|m|min|mins|h|hrs?|d|days?|w|weeks?|months?|years?|x|k|kb|"
        r"mb|gb|tb|b|bits?|bytes?|chars?|characters?|digits?|st|nd|rd|th|rounds?|times|am|pm|px|"
        r"em|rem|%)|"
        r"[\w./-]{0,80}\.(?:py|js|mjs|ts|tsx|jsx|go|rs|rb|java|kt|c|h|cpp|cs|php|sh|md|txt|json|"
        r"ya?ml|toml|ini|cfg|conf|env|lock|sql|csv|html?|css|xml|pem|key|crt|log|local|sock|tf|"
        r"db|sqlite|example|sample|org|com|net|io|dev)|"
        r"(?:[A-Za-z]{2,12}[-_])?(?:sha|md|base|utf|aes|rsa|hs|rs|es|ps|ed|argon|pbkdf|oauth|http|"
        r"ipv|log4j|node|python|py|php|java|go|rfc|iso|cve|fips|tls|ssl|ssh|totp|fido|pkcs|secp|"
        r"curve|xchacha|chacha|blake|ripemd|crc|hmac|bcrypt|scrypt)[-_]?\d{1,5}(?:id|b|r1|k1)?"
        r"(?:[-_./][a-z0-9]{1,12}){0,3}|s3|k8s|k3s|ec2|i18n|l10n|a11y|x509|h2|o365|m365|2fa|mfa|"
        r"[A-Z]{2,10}-\d{1,6}|#\d+|#[0-9a-f]{3,8}|[^\s@]{1,64}@[\w-]{1,60}(?:\.[\w-]{1,60}){1,4}|"
        r"\d+(?:[-–/x*+.,]\d+)+|[0-9]{1,3}",
        re.IGNORECASE,
    )
