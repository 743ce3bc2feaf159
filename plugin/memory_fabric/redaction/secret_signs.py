"""Signs without which no rule of redaction can match: what the cheap look and each rule ask.

There is one function for each step of `redact`, which takes the step only where its sign is seen.
So the look, which asks them all, opens wherever redaction could change a text. No expressions.
"""

from __future__ import annotations

from collections.abc import Iterator

from memory_fabric.redaction.secret_commands import OPTION_NAMES, PROGRAMS
from memory_fabric.redaction.secret_words import (
    COMMON_KEYS,
    KEYS,
    LINKS,
    NAMED,
    NETWORKS,
    PAIRS,
    PASSWORDS,
    SEEDS,
)
from memory_fabric.redaction.secret_words import SHORT_PASSWORDS as SHORT
from memory_fabric.text import runs

MIN_DOUBTED_CHARS = 4
# Parts of names of secrets, also of the keys of a JSON object ("author" has none).
NAME_PARTS = tuple("pass secret token key credential pwd _auth".split())
# Parts of the names of variables that the rules know beside those.
VARIABLE_PARTS = "pw salt seed mnemonic hmac pin dsn creds pat auth sid connection".split()
DUMPED_PARTS = (
    "key psk pepper cookie session sign private webhook license otp encryption access api openai "
    "anthropic kms cipher jwt bearer kennwort"
).split()
# No issuer's shape has fewer characters that are letters beside digits, or so many of one kind.
MIN_WORD_CHARS, MIN_MIXED_CHARS, MIN_LETTERS, MIN_DIGITS = 14, 10, 22, 5
# Except for those whose values are short and may have hyphens between words.
HYPHENATED = "glpat- gldt- glrt- glcbt- glptt- glft- glsoat- glimt- glagent- gloas-".split()
# So far behind its name a value begins, and so far before it.
REACH_CHARS, BACK_CHARS = 120, 80
MIN_SEED_WORDS = 12
SIGNS_BEHIND = frozenset("=:|>\"'`*„“”«»「」『』：＝→⇒➜—–是为為はが은는이가")
SYMBOLS = frozenset("!#$%^&*?~@+")
IN_TABLES = (*PASSWORDS, *SHORT, *PAIRS, *KEYS)
_DIGITS = frozenset("0123456789")
# The names of issuers, and the places of programs by the first word of their name, once they were
# asked for.
_PIECES: list[str] = []
_BY_FIRST_WORD: dict[str, list[int]] = {}
EVERY_KEY = (*KEYS, *COMMON_KEYS)
# Options as they stand behind their dash or slash.
OPTIONS = tuple(f"{lead}{name}" for lead in ("-", "/") for name in OPTION_NAMES)
# Of these at least one stands in any twelve words of prose, and none among the words of a wallet.
PROSE = frozenset(
    """the and for are was not but from with has our should because were after been their which
    while these those would could than took der die das und ist mit nicht auf für den ein eine les
    des est pour avec que los las con una por per che não com het een что как это для""".split()
)
# Functions that are given a password.
CALLS = (
    "mysqli(", "connect", "client(", "getconnection", "login(", "wifi.begin", "pdo(", "fernet",
    "jwt.", "hmac", "hash", "sequelize(", "aes.new(",
)  # fmt: skip
# Beside the name of a secret these bring even a weak one.
CUES = (
    " as ",
    "with password ",
    "with the password ",
    " is the ",
    " is my ",
    " is our ",
    "setx ",
    ", pass",
    "->",
)
# In quotes between or behind other arguments a value of these may stand.
QUOTED_NAMES = (*NAME_PARTS, "auth", "salt", "key")
# Of databases, where a line of a file of passwords names them.
PORTS = (":54", ":64", ":*:", ":26257:", "]:", ":587", ":465")
# In files of networks, and of those who may use them.
OF_FILES = tuple(
    "wifi: xauth eap psk wpa luks authtok community ascii-text isakmp rootpw message-digest-key "
    "preshared keymaterial ~*".split()
)
# What a number that opens something is called.
ARROWS = ("->", "=>", "→", "⇒")
CODES = ("cod", "cód", "kod", "koodi", "код", "コード", "코드")
_AROUND = ".,;:!?()[]{}<>\"'`*"


def private(text: str, folded: str) -> bool:
    """True if a block may be marked as private."""
    return "<private" in folded


def key_block(text: str, folded: str) -> bool:
    """True if there is a key in lines, or an end of one."""
    return "-----begin" in folded or "-----end" in folded or "private-lines:" in folded


def token(text: str, folded: str) -> bool:
    """True if a word could be what an issuer gives out, or a random value."""
    return any(is_doubtful(word) and not is_uuid(word.strip(_AROUND)) for word in _long_words(text))


def beside_issuer(text: str, folded: str) -> bool:
    """True if the name of an issuer stands in the text, and something that could be its value."""
    if not any(_DIGITS.intersection(word) for word in _long_words(text)):
        return False
    if not _PIECES:
        # late: hundreds of names, only needed for a possible value
        from memory_fabric.redaction.secret_rules import BESIDE

        _PIECES.extend(dict.fromkeys(p for _, said, _ in (*NAMED, *BESIDE) for p in said.split()))
    return any(map(folded.__contains__, _PIECES))


def url(text: str, folded: str) -> bool:
    """True if an address has a name, a password or parameters in it."""
    if "://" not in text and "@" not in text:
        return False
    return any(
        ("://" in word and ("@" in word or "=" in word))
        or ("@" in word and any(sign in word for sign in "/(:"))
        for word in text.split()
    )


def header(text: str, folded: str) -> bool:
    """True if a header of HTTP is named that holds a secret."""
    if "curl" in folded and "-b" in folded:
        return True
    if "authorization" in folded or "cookie" in folded or '"auth' in folded:
        return True
    names = "bearer" in folded or "basic" in folded
    return names and any(len(word) >= MIN_WORD_CHARS for word in text.split())


def command(text: str, folded: str) -> bool:
    """True if a program stands with one of its options that take a secret."""
    if any(sign in text for sign in ("--", " -", "/p", "pass:", "<<<")) and any(
        option in folded for option in OPTIONS
    ):
        return True
    if "--" in text and any(name in folded for name in OPTION_NAMES):
        return True
    if any(
        sign in folded
        for sign in ("identified ", "password '", "password('", "password for ", "pass:")
    ):
        return True
    if ("login" in folded and "password" in folded) or "</" in text or "/>" in text:
        return True
    if any(port in text for port in PORTS) or any(name in folded for name in OF_FILES):
        return True
    if " *" in text and any(line[-2:] == " *" and line[2:-2].strip() for line in text.split("\n")):
        return True
    return any(True for _ in programs_in(text, folded))


def programs_in(text: str, folded: str) -> Iterator[int]:
    """The places in PROGRAMS of those that could be given a secret in this text."""
    if not _BY_FIRST_WORD:
        _index_programs()
    said = _BY_FIRST_WORD.keys() & runs(folded)
    if not said:
        return
    opens: dict[str, bool] = {}  # most programs share their options
    for place in sorted({place for word in said for place in _BY_FIRST_WORD[word]}):
        names, sign, _ = PROGRAMS[place]
        if sign not in opens:
            opens[sign] = sign in text and _opens(text, sign)
        if opens[sign] and any(_has_word(folded, name) for name in names):
            yield place


def _index_programs() -> None:
    for place, (names, _, _) in enumerate(PROGRAMS):
        for name in names:
            _BY_FIRST_WORD.setdefault(runs(name)[0], []).append(place)


def _opens(text: str, sign: str) -> bool:
    """True if an option begins a word somewhere: `-p` does not in `billing-project`."""
    if sign[:1] != "-":
        return True
    at = text.find(sign)
    while at > 0 and (text[at - 1].isalnum() or text[at - 1] in "-_."):
        at = text.find(sign, at + 1)
    return at >= 0


def named(text: str, folded: str) -> bool:
    """True if the name of a secret stands before something that could be its value."""
    if any(cue in folded for cue in CUES) and any(part in folded for part in NAME_PARTS):
        return True  # "use hunter42x as the password"
    if any(_is_given(folded, part) for part in _names_in(folded, NAME_PARTS)):
        return True
    if "(" in text and any(call in folded for call in CALLS):
        return True
    if (
        ("(" in text or "," in text)
        and any(quote in text for quote in "\"'")
        and any(name in folded for name in QUOTED_NAMES)
    ):
        return True
    if "=" not in text and ":" not in text:
        return False
    if "=" in text and any(_is_assigned(folded, part) for part in DUMPED_PARTS):
        return True
    return any(_has_sign_near(folded, part) for part in VARIABLE_PARTS)


def may_state_secret(text: str, folded: str) -> bool:
    """True if a sentence, a table or a list may say a secret, in any language."""
    for name in _names_in(folded, PAIRS):
        for start, end in places(folded, name):
            near = folded[max(0, start - BACK_CHARS) : end + REACH_CHARS]
            if any(map(_is_strange, near.split())):
                return True
    for name in _names_in(folded, PASSWORDS):
        if any(_may_state(folded, start, end) for start, end in places(folded, name)):
            return True
    for name in _names_in(folded, SHORT):
        for start, end in places(folded, name, alone=True):
            if _may_state(folded, start, end):
                return True
    keys = _names_in(folded, EVERY_KEY)
    of_network = keys and any(map(folded.__contains__, NETWORKS))
    for name in keys:
        if of_network and any(_may_state(folded, *place) for place in places(folded, name)):
            return True
        for start, end in places(folded, name):
            near = folded[max(0, start - BACK_CHARS) : end + REACH_CHARS]
            if any(
                len(word) >= 8 and _is_mixed(word) and not _is_label(word) for word in near.split()
            ):
                return True
    if " / " in folded or is_table(folded) or _may_state_pair(folded) or may_state_code(folded):
        return True
    words = folded.split() if "@" in folded or any(map(folded.__contains__, ARROWS)) else ()
    return any(
        is_mail_with_more(word) or (word in ARROWS and ":" in "".join(words[at + 1 : at + 2])[1:-1])
        for at, word in enumerate(words)
    )


def is_mail_with_more(word: str) -> bool:
    """True if a colon stands behind an address of mail."""
    return "@" in word and ":" in word.partition("@")[2] and "://" not in word


def may_state_code(folded: str) -> bool:
    """True if a code is named, and a number stands in the text that could be it."""
    if not any(code in folded for code in CODES):
        return False
    bare = (word.strip(_AROUND + "‘’“”«»„_") for word in folded.split())
    return any(4 <= len(w) <= 24 and w[:4].isdigit() for w in bare) or not folded.isascii()


def is_table(folded: str) -> bool:
    """True if a line with the name of a secret has columns, and lines behind it."""
    if "\n" not in folded:
        return False
    names = [name for name in IN_TABLES if name in folded]
    return any(
        any(name in line for name in names)
        and any(sign in line for sign in ("|", ",", ";", "\t", "  ", "│", "║", "┃"))
        for line in (folded.split("\n") if names else ())
    )


def seeds(text: str, folded: str) -> bool:
    """True if the words of a wallet may stand behind one of their names."""
    if not _names_in(folded, SEEDS):
        return False
    run = 0
    for word in folded.replace("=", " ").replace(":", " ").replace("：", " ").split():
        bare = word.strip("0123456789.,;:)(\"'`[]#*-")
        if not bare:
            continue  # its number
        for part in bare.split(",") if "," in bare else (bare,):
            least = 1 if part >= "\u3041" else 3
            fits = least <= len(part) <= 8 and part.isalpha() and part not in PROSE
            run = run + 1 if fits else 0
            if run >= MIN_SEED_WORDS:
                return True
    return False


def is_command_line(value: object) -> bool:
    """True if a value of JSON is the words of a command: texts, of which one is an option."""
    return (
        isinstance(value, list | tuple)
        and len(value) > 1
        and all(isinstance(word, str) and "\n" not in word for word in value)
        and any(word[:1] == "-" for word in value)
    )


def is_doubtful(word: str) -> bool:
    """True if a word holds letters beside digits, or long runs, as a key and hardly a name does.

    What stands around a doubtful part makes it no less so.
    """
    if "-" in word and any(beginning in word for beginning in HYPHENATED):
        return True
    if word.isascii():
        parts = runs(word)
    else:
        parts = "".join([c if c.isalnum() else " " for c in word]).split()
    return sum(map(_mixed_chars, parts)) >= MIN_MIXED_CHARS


def _mixed_chars(part: str) -> int:
    """Count the characters of a run of letters and digits that may belong to a key."""
    if part.isdigit():
        return len(part) if len(part) >= MIN_DIGITS else 0
    if not part.isalpha():
        return len(part)
    if len(part) >= MIN_LETTERS:
        return len(part)
    if part[1:].islower():
        return 0
    inner = sum(character.isupper() for character in part[1:])
    # A name in CamelCase has a capital in four letters, a constant has nothing else.
    return len(part) if inner * 4 > len(part) and inner < len(part) - 1 else 0


def is_joined(word: str) -> bool:
    """True if a sign stands twice in a word, as between the words of a passphrase."""
    return any(word.count(sign) > 1 for sign in "._-")


def is_uuid(word: str) -> bool:
    """True for a UUID in its usual form: an id, which alone is no secret."""
    return (
        len(word) == 36
        and word[8] == word[13] == word[18] == word[23] == "-"
        and word.replace("-", "").isalnum()
        and all(c in "0123456789abcdefABCDEF-" for c in word)
    )


def _is_label(word: str) -> bool:
    """True if a word joins parts of letters or of digits alone: `billing-user-95`, `v1.20.3`."""
    plain = word.strip(_AROUND)
    for joint in "-_/.":
        plain = plain.replace(joint, " ")
    parts = plain.split()
    return len(parts) > 1 and all(p.isdigit() or (p.isalpha() and len(p) < 16) for p in parts)


def _is_mixed(word: str) -> bool:
    digits = sum(character in _DIGITS for character in word)
    return digits > 0 and any(c.isalpha() or c in SYMBOLS for c in word.strip(_AROUND))


def _long_words(text: str) -> list[str]:
    return [word for word in text.split() if len(word) >= MIN_WORD_CHARS]


def _has_word(folded: str, word: str) -> bool:
    at = folded.find(word)
    while at >= 0:
        end = at + len(word)
        before, behind = folded[at - 1 : at], folded[end : end + 1]
        if not (before.isalnum() or behind.isalnum()):
            return True
        at = folded.find(word, end)
    return False


def _names_in(folded: str, names: tuple[str, ...]) -> list[str]:
    return [name for name in names if name in folded]


def places(folded: str, name: str, *, alone: bool = False) -> Iterator[tuple[int, int]]:
    at = folded.find(name)
    while at >= 0:
        end = at + len(name)
        around = folded[at - 1 : at] + folded[end : end + 1] if alone else ""
        if not any(c.isalpha() and c.isascii() for c in around):
            yield at, end
        at = folded.find(name, end)


def _may_state(folded: str, start: int, end: int) -> bool:
    """True if a sign, a link, or a word with digits or symbols near a name may bring a password."""
    behind = folded[end : end + REACH_CHARS]
    if any(c in SIGNS_BEHIND for c in behind):
        return True
    if "\n" in behind and not behind.partition("\n")[0].strip(" \t\r#-.*_"):
        return True  # the value may stand on the next line
    words = behind.split()
    if any(word in LINKS for word in words):
        return True
    near = (*words, *folded[max(0, start - BACK_CHARS) : start].split())
    return any(map(_is_strange, near))


def _is_strange(word: str) -> bool:
    """True if digits or symbols are in a word as in a password, or signs between its parts."""
    bare = word.strip(".,;:?()[]{}<>\"'`*")
    if is_joined(bare):
        return True
    if len(bare) < MIN_DOUBTED_CHARS:
        return False
    digits = sum(c in _DIGITS for c in bare)
    is_number = not any(c.isalpha() or c in SYMBOLS for c in bare)
    if is_number and digits < MIN_DOUBTED_CHARS:
        return False
    return digits > 0 or any(c in SYMBOLS for c in bare)


def _may_state_pair(folded: str) -> bool:
    """True if a usual name of an account stands before a slash or colon."""
    if not ("/" in folded or ":" in folded or "|" in folded):
        return False
    return any(
        any(sign in ("/", ":", "|") for sign in folded[end : end + 2])
        for name in _names_in(folded, ACCOUNTS)
        for _, end in places(folded, name, alone=True)
    )


ACCOUNTS = tuple(
    (
        "admin administrator root user guest test demo postgres mysql ubuntu oracle sysadmin "
        "operator superuser sa"
    ).split()
)
# In a sentence only a password is a plain word; "requires tokens for all" tells nothing.
_PASSWORD_PARTS = frozenset(("pass", "pwd"))
_GIVEN = ("=", ":", "|", '"', "'", "`")
_SAID = (" is ", " to ", " for ")
_NEAR_CHARS, _FAR_CHARS, _WORDS_BEHIND, _MIN_CHARS = 24, 400, 5, 6


def _is_given(folded: str, part: str) -> bool:
    """True if the name of a secret stands before something that could be its value."""
    for _, end in places(folded, part):
        behind = folded[end : end + _NEAR_CHARS]
        if any(sign in behind for sign in _GIVEN):
            return True
        if part in _PASSWORD_PARTS and any(sign in behind for sign in _SAID):
            return True
        near = folded[end : end + _FAR_CHARS].split()[:_WORDS_BEHIND]
        if any(len(word) >= _MIN_CHARS and not word.strip(".,;!?()-").isalpha() for word in near):
            return True
    return False


def _is_assigned(folded: str, part: str) -> bool:
    """True if a variable with this part in its name is given a value."""
    for _, end in places(folded, part):
        name, sign, _ = folded[end : end + 64].partition("=")
        if sign and not any(c.isspace() for c in name):
            return True
    return False


def _has_sign_near(folded: str, part: str) -> bool:
    return any(
        "=" in folded[end : end + 40] or ":" in folded[end : end + 40]
        for _, end in places(folded, part)
    )


SIGNS = (
    private, key_block, token, beside_issuer, url, header, command, named, may_state_secret, seeds,
)  # fmt: skip
