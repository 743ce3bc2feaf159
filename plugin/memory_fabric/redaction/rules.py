"""The rules of redaction, and the search for their keywords: every match of a rule contains a
keyword. All expressions and word lists are in `rules.txt`, `public_rules.txt` and `words.txt`.
Texts repeat the same words, so the keywords found in each word are cached: prose needs one look-up
per word, and no expression is compiled for it.
"""

import os
import re
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from typing import NamedTuple

from memory_fabric.text import CLOSE_FENCE, runs

FILES = ("rules.txt", "public_rules.txt", "words.txt")
BLANK = "\u2423"  # represents a blank in the files' keywords and names
ANY = "*"  # the keyword of a rule that may match any text


class Rule(NamedTuple):
    """A rule: one line of a section. Its expression matches only texts with one of its keywords."""

    keywords: tuple[str, ...]
    note: str  # commands: text that must occur; beside: issuers' names; harmless: minimum length
    section: str
    end: str  # the line's last field: the source of the expression, built when a keyword is found

    @property
    def source(self) -> str:
        return _defined(self.end)

    @property
    def expression(self) -> str:
        """Return `source`, completed with what this section's rules expect before or after it."""
        return _expression_of(self)


@cache
def _expression_of(rule: Rule) -> str:
    source = rule.source
    if rule.section == "commands":
        names = "|".join(map(re.escape, rule.keywords))
        return rf"(?m)((?<![\w.-])(?i:{names}){source})(?:{expression('option value')})"
    if rule.section == "places":
        return f"(?im){source}"
    if rule.section.endswith("beside"):
        return expression("beside").replace("{names}", rule.note).replace("{value}", source)
    return source + expression("rest of token") if rule.section == "public issued" else source


class Table:
    """The rules of one section, in order and indexed by keyword."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self.rules = tuple(rules)
        self.places: dict[str, list[int]] = {}
        for place, rule in enumerate(self.rules):
            for keyword in rule.keywords:
                self.places.setdefault("" if keyword == ANY else keyword, []).append(place)

    def opened_by(self, text: str) -> list[Rule]:
        """Return the rules with at least one keyword in the text."""
        keywords = [keyword for keyword in self.places if keyword in text]
        return [self.rules[i] for i in sorted({i for word in keywords for i in self.places[word]})]


@cache
def _texts() -> dict[str, str]:
    texts: dict[str, str] = {}
    for name in FILES:
        with open(os.path.join(os.path.dirname(__file__), name), encoding="utf-8") as stream:
            for section in stream.read().split("\n[")[1:]:
                title, _, texts[title] = section.partition("]\n")
    return texts


def _lines(section: str) -> list[str]:
    return [line for line in _texts()[section].split("\n") if line and line[:2] != "# "]


@cache
def _named(section: str, sign: str) -> dict[str, str]:
    """Parse a section's lines (name, then `sign`, then text); return a map from names to texts."""
    return {name: text for name, _, text in (line.partition(sign) for line in _lines(section))}


def _defined(text: str) -> str:
    """Replace the placeholders <<NAME>> in an expression with the parts that they stand for."""
    for name, part in _named("parts", " = ").items() if "<<" in text else ():
        text = text.replace(f"<<{name}>>", part)
    return text


def _split(text: str) -> tuple[str, ...]:
    words = text.split()
    return tuple([word.replace(BLANK, " ") for word in words] if BLANK in text else words)


@cache
def words(section: str) -> tuple[str, ...]:
    """Return the words of a section of the rule files, in order."""
    return _split(" ".join(_lines(section)))


@cache
def table(section: str) -> Table:
    """Return the rules of a section."""
    rules = []
    for line in _lines(section):
        keywords, *note, end = line.split("\t")
        rules.append(Rule(_split(keywords), "".join(note).replace(BLANK, " "), section, end))
    return Table(rules)


@cache
def expression(name: str) -> str:
    """Return the expression with this name; `<words: x>` in it matches any word in section x."""
    text = _defined(_named("expressions", "\t")[name])
    for section in re.findall(r"<words: ([a-z ]+)>", text):
        text = text.replace(f"<words: {section}>", "|".join(map(re.escape, words(section))))
    return text


@cache
def exact(text: str) -> re.Pattern[str]:
    """Compile and cache a regular expression on first use; most texts need few of them."""
    return re.compile(text)


@cache
def form(name: str) -> re.Pattern[str]:
    """Return the compiled expression with this name."""
    return re.compile(expression(name))


# Minima in published token formats: characters of a token, and characters of its random-looking
# parts in total. A part may be letters alone (at least MIN_LETTERS) or digits alone (MIN_DIGITS).
MIN_WORD_CHARS, MIN_MIXED_CHARS, MIN_LETTERS, MIN_DIGITS = 14, 10, 22, 5
MIN_DOUBTED_CHARS, MIN_ODD_CHARS, MIN_KEY_CHARS = 4, 6, 8
MAX_NAME_CHARS = 31
# The cache's maximum number of words, and the length above which a word is not cached.
MAX_REMEMBERED_WORDS, MAX_REMEMBERED_CHARS = 1 << 15, 40
SIGNS_BEHIND = frozenset("=:|>\"'`*„“”«»「」『』：＝→⇒➜—–是为為はが은는이가")
SYMBOLS = frozenset("!#$%^&*?~@+")
AROUND = ".,;:!?()[]{}<>\"'`*"
ARROWS = frozenset(("->", "=>", "→", "⇒"))
MESSAGE_ID = "msg_"  # the prefix of message ids in OpenAI's APIs
_DIGITS = frozenset("0123456789")
_PARTS_OF_NAME = str.maketrans("-_./:,", " " * 6)
# Flags (bits) for a word's keywords and characters; LINES and GAPS apply to a whole text.
(
    PRIVATE, KEY_BLOCK, DOUBTFUL, NAME_LIKE, LONG, LONG_DIGIT, ISSUER, ADDRESS, HEADER, BEARER,
    CURL, DASH_B, OPTION, OPTION_NAME, DASH, DASHES, OPTION_SIGN, COMMAND, PROGRAM,
    DASH_PROGRAM, SIGN_PROGRAM, NAME_PART, PASS, QUOTED_NAME, CALL, DUMPED, VARIABLE, PASSWORD,
    PAIR, KEY, NETWORK, ACCOUNT_END, PAIRING, CODE, NUMBER, SEED, EQUALS, COLON, PAREN, COMMA,
    QUOTE, BAR, SIGN, STRANGE, MIXED, ODD, LINK, CUE, SAID, STATED, ARROW, PAIRED, LOGIN, MARK,
    FOREIGN, LINES, GAPS, WITH_BLANK, BETWEEN_BLANKS,
) = (1 << place for place in range(59))  # fmt: skip
_GIVEN, _LINKED = (EQUALS, COLON, BAR, QUOTE), (SIGN, STRANGE, LINK, LINES)
# For each step of `redact`, alternative masks: it runs if the text has all flags of one mask.
STEPS: dict[str, tuple[int, ...]] = {
    "private": (PRIVATE,),
    "key block": (KEY_BLOCK,),
    "token": (DOUBTFUL, *(NAME_LIKE | other for other in (EQUALS, COLON, MARK))),
    "beside issuer": (ISSUER | LONG_DIGIT,),
    "url": (ADDRESS,),
    "header": (HEADER, BEARER | LONG, CURL | DASH_B),
    "command": (
        COMMAND, PROGRAM, DASH_PROGRAM | DASH, OPTION | DASH, OPTION | OPTION_SIGN, LOGIN | PASS,
        DASHES | OPTION_NAME,
    ),
    "named": (
        *(NAME_PART | other for other in (*_GIVEN, ODD, CUE)), PASS | SAID,
        CALL | PAREN, QUOTED_NAME | PAREN | QUOTE, QUOTED_NAME | COMMA | QUOTE,
        DUMPED | EQUALS, VARIABLE | EQUALS, VARIABLE | COLON,
    ),
    "stated": (
        STATED, *(PASSWORD | other for other in _LINKED), PAIR | STRANGE, KEY | MIXED,
        *(KEY | NETWORK | other for other in _LINKED),
        *(name | LINES | of for name in (PASSWORD, PAIR, KEY) for of in (GAPS, BAR, COMMA)),
        ACCOUNT_END | PAIRING, CODE | NUMBER, CODE | FOREIGN, ARROW | PAIRED,
    ),
    "seeds": (SEED,),
}  # fmt: skip
_OF_STEPS = tuple((1 << at, mask) for at, masks in enumerate(STEPS.values()) for mask in masks)
# Before these steps, `without_placed` removes secrets recognised only by their position.
PLACED = frozenset(("command", "named", "stated"))


class _Keywords:
    """Maps whole words and parts of words to flags. Parts are found by their first 3 characters."""

    def __init__(self) -> None:
        self.by_three: dict[str, list[tuple[str, int]]] = {}
        self.shorter: dict[str, int] = {}
        self.whole: dict[str, int] = {}
        # Keywords with blanks and their flags, by the flag that one of their words sets. They are
        # searched for only in texts with that flag.
        self.with_blanks: dict[int, dict[str, int]] = {WITH_BLANK: {}, BETWEEN_BLANKS: {}}
        for keywords, shown in _parts_of_words():
            for keyword in keywords:
                part, bit = keyword, shown
                if " " in keyword:
                    part, bit = max(keyword.split(), key=len), WITH_BLANK
                    if keyword[0] == " ":
                        part, bit = keyword.split()[0], BETWEEN_BLANKS
                    of_hint = self.with_blanks[bit]
                    of_hint[keyword] = of_hint.get(keyword, 0) | shown
                if bit == BETWEEN_BLANKS:
                    self.whole[part] = bit
                elif len(part) < 3:
                    self.shorter[part] = self.shorter.get(part, 0) | bit
                else:
                    self.by_three.setdefault(part[:3], []).append((part, bit))
        self.shorter_ascii = {part: bit for part, bit in self.shorter.items() if part.isascii()}
        for word in words("links"):
            self.whole[word] = self.whole.get(word, 0) | LINK
        self.whole |= {"*": COMMAND, "/": STATED}
        for word in ARROWS:
            self.whole[word] = self.whole.get(word, 0) | ARROW
        self.alone = tuple((name, PASSWORD) for name in words("short passwords"))
        self.programs: dict[str, list[tuple[str, int]]] = {}
        self.signs = {rule.note for rule in table("commands").rules if rule.note.strip()[:1] != "-"}
        for rule in table("commands").rules:
            with_sign = SIGN_PROGRAM if rule.note in self.signs else DASH_PROGRAM
            for program in rule.keywords:
                bits = with_sign if rule.note else PROGRAM
                self.programs.setdefault(runs(program)[0], []).append((program, bits))
        self.signs.discard("")


@cache
def _issued() -> tuple[str, ...]:
    rules = (*table("issued").rules, *table("public issued").rules)
    return tuple(keyword for rule in rules for keyword in rule.keywords if len(keyword) > 2)


def _parts_of_words() -> list[tuple[Iterable[str], int]]:
    options = words("option names")
    rules = (*table("beside").rules, *table("public beside").rules)
    return [
        (("<private",), PRIVATE),
        (("-----begin", "-----end", "private-lines:"), KEY_BLOCK),
        ({keyword for rule in rules for keyword in rule.keywords}, ISSUER),
        (("authorization", "cookie", '"auth'), HEADER),
        (("bearer", "basic"), BEARER),
        (("curl",), CURL),
        (("-b",), DASH_B),
        ((f"{sign}{name}" for sign in "-/" for name in options), OPTION),
        (options, OPTION_NAME),
        (("--",), DASHES),
        (("/p", "<<<"), OPTION_SIGN),
        (words("command parts"), COMMAND),
        (words("name parts"), NAME_PART),
        (("pass", "pwd"), PASS),
        ((*words("name parts"), "auth", "salt", "key"), QUOTED_NAME),
        (words("calls"), CALL),
        (words("dumped parts"), DUMPED),
        (words("variable parts"), VARIABLE),
        (words("passwords"), PASSWORD),
        (words("pairs"), PAIR),
        ((*words("keys"), *words("common keys")), KEY),
        (words("networks"), NETWORK),
        (words("codes"), CODE),
        (words("seeds"), SEED),
        (("=",), EQUALS), ((":",), COLON), (("(",), PAREN), ((",",), COMMA), ("\"'`", QUOTE),
        ("|;│║┃", BAR), ((*words("cues"), "->"), CUE), ((" is ", " to ", " for "), SAID),
        (("login",), LOGIN), (("[redacted",), MARK),
    ]  # fmt: skip


_keywords = cache(_Keywords)


def opened_steps(text: str) -> int:
    """Return a bit mask of the `redact` steps that may change the text, in the order of STEPS."""
    bits = 0
    for shown in set(map(_SHOWN.__getitem__, text.split())):
        bits |= shown
    if not bits:
        return 0
    if bits & (WITH_BLANK | BETWEEN_BLANKS):
        folded = text.casefold()
        for hint, keywords in _keywords().with_blanks.items():
            for keyword, bit in keywords.items() if bits & hint else ():
                bits |= bit if keyword in folded else 0
    if bits & SIGN_PROGRAM and any(sign in text for sign in _keywords().signs):
        bits |= PROGRAM
    bits |= LINES if "\n" in text else 0
    bits |= GAPS if "\t" in text or "  " in text else 0
    return _steps_of(bits)


@lru_cache(maxsize=MAX_REMEMBERED_WORDS)
def _steps_of(bits: int) -> int:
    steps = 0
    for step, mask in _OF_STEPS:
        if bits & mask == mask:
            steps |= step
    return steps


def _shown_by(word: str) -> int:
    """Return the flags of the keywords and characters in a word that has no white space."""
    if word == CLOSE_FENCE:
        return 0  # this plugin's own marker, which contains no secret
    keywords = _keywords()
    folded = word.casefold()
    # A UUID by itself is not a secret, even as a message id or followed by an offset in a file.
    id_, _, offset = word.strip(AROUND).partition(":")
    if is_uuid(id_.removeprefix(MESSAGE_ID)) and (not offset or offset.isdigit()):
        return _form_of(word, folded) & ~(DOUBTFUL | NAME_LIKE)
    bits = keywords.whole.get(folded, 0)
    by_three = keywords.by_three
    for head in {folded[at : at + 3] for at in range(len(folded) - 2)} & by_three.keys():
        for part, bit in by_three[head]:
            bits |= bit if part in folded else 0
    for part, bit in (keywords.shorter_ascii if folded.isascii() else keywords.shorter).items():
        bits |= bit if part in folded else 0
    for name, bit in keywords.alone:
        if name in folded and any(True for _ in places_alone(folded, name)):
            bits |= bit
    for head in keywords.programs.keys() & runs(folded):
        for program, bit in keywords.programs[head]:
            bits |= bit if program in folded else 0
    return bits | _form_of(word, folded)


def _form_of(word: str, folded: str) -> int:
    """Return the flags of a word that its characters set, such as SIGN, ADDRESS or DOUBTFUL."""
    plain = word.strip(".,;?")
    if len(word) < MIN_WORD_CHARS and plain.isascii() and plain.isalpha():
        return _account_in(folded)  # a plain word; no other flag applies
    bits = SIGN if not SIGNS_BEHIND.isdisjoint(folded) else 0
    if not word.isascii():
        bits |= FOREIGN
    number = folded.strip(AROUND + "‘’“”«»„_")
    if 4 <= len(number) <= 24 and number[:4].isdigit():
        bits |= NUMBER
    if len(word) >= MIN_ODD_CHARS and not word.strip(".,;!?()-").isalpha():
        bits |= ODD
    bare = word.strip(".,;:?()[]{}<>\"'`*")
    has_digit, has_symbol = not _DIGITS.isdisjoint(word), not SYMBOLS.isdisjoint(bare)
    if is_joined(bare) or (len(bare) >= MIN_DOUBTED_CHARS and (has_digit or has_symbol)):
        bits |= STRANGE
    if has_digit and len(word) >= MIN_KEY_CHARS and not (number.isdigit() or _is_label(number)):
        bits |= MIXED
    if is_option_in(word, "-"):
        bits |= DASH
    if "@" in word or ("://" in word and "=" in word):
        bits |= ADDRESS if "://" in word or any(sign in word for sign in "/(:") else 0
        bits |= STATED if ":" in word.partition("@")[2] and "://" not in word else 0
    bits |= _account_in(folded) | (PAIRED if ":" in word[1:-1] else 0)
    if len(word) < MIN_WORD_CHARS:
        return bits
    bits |= LONG | (LONG_DIGIT if has_digit else 0)
    if is_doubtful(word):
        bits |= NAME_LIKE if _is_like_name(word, folded) else DOUBTFUL
    return bits


def _account_in(folded: str) -> int:
    """Return PAIRING for a leading separator, STATED for `admin/`, and ACCOUNT_END for `admin`."""
    bits = PAIRING if folded[:1] in ("/", ":", "|") or folded[1:2] in ("/", ":", "|") else 0
    for name in words("accounts"):
        if name in folded:
            for end in places_alone(folded, name):
                if any(sign in ("/", ":", "|") for sign in folded[end : end + 2]):
                    bits |= STATED
                bits |= ACCOUNT_END if end + 1 >= len(folded) else 0
    return bits


def _is_like_name(word: str, folded: str) -> bool:
    """Return True for joined words and numbers without a token's prefix: `worker-1700000000000`."""
    bare = word.rstrip(",;!?.")
    parts = bare.translate(_PARTS_OF_NAME).split()
    is_joined = bare.replace("-", "").replace("_", "").replace(".", "").isalnum()
    if len(word) > MAX_NAME_CHARS or not is_joined or not word.isascii():
        return False
    if not all(part.isalpha() or part.isdigit() or len(part) < 4 for part in parts):
        return False
    is_telling = any(p in words("telling") for p in folded.translate(_PARTS_OF_NAME).split())
    return not is_telling and not any(k in word or k in folded for k in _issued())


class _Shown(dict[str, int]):
    """A cache that maps each word to its flags (bits); long words are recomputed each time."""

    def __missing__(self, word: str) -> int:
        bits = _shown_by(word)
        if len(word) <= MAX_REMEMBERED_CHARS:
            if len(self) >= MAX_REMEMBERED_WORDS:
                self.clear()
            self[word] = bits
        return bits


_SHOWN = _Shown()


def places_alone(folded: str, name: str) -> Iterator[int]:
    """Yield the end of each occurrence of a name that is not part of a longer Latin word."""
    at = folded.find(name)
    while at >= 0:
        end = at + len(name)
        beside = folded[at - 1 : at] + folded[end : end + 1]
        if not any(c.isalpha() and c.isascii() for c in beside):
            yield end
        at = folded.find(name, end)


def is_option_in(text: str, sign: str) -> bool:
    """Return True if a text has the option `sign`: `-p` in `mysql -p`, but not in `my-project`."""
    at = text.find(sign)
    while at > 0 and (text[at - 1].isalnum() or text[at - 1] in "-_."):
        at = text.find(sign, at + 1)
    return at >= 0


def is_command_line(value: object) -> bool:
    """Return True for a JSON list of a command's words: two or more, at least one is an option."""
    if not isinstance(value, list | tuple) or len(value) < 2:
        return False
    is_line = all(isinstance(word, str) and "\n" not in word for word in value)
    return is_line and any(word[:1] == "-" for word in value)


def is_doubtful(word: str) -> bool:
    """Return True if enough of a word may be a key: parts with letters and digits, or long ones."""
    if "-" in word and any(beginning in word for beginning in words("hyphenated")):
        return True
    parts = runs(word) if word.isascii() else exact(r"[\W_]+").split(word)
    return sum(map(_mixed_chars, parts)) >= MIN_MIXED_CHARS


def _mixed_chars(part: str) -> int:
    """Return the length of `part` if its mix of characters or its length suggests a key, else 0."""
    if part.isdigit():
        return len(part) if len(part) >= MIN_DIGITS else 0
    if not part.isalpha() or len(part) >= MIN_LETTERS:
        return len(part)
    if part[1:].islower():
        return 0
    inner = sum(character.isupper() for character in part[1:])
    # In a CamelCase name, at most a quarter of the letters are capitals; in a CONSTANT, all are.
    return len(part) if inner * 4 > len(part) and inner < len(part) - 1 else 0


def is_joined(word: str) -> bool:
    """Return True if a word contains the same separator twice, as joined passphrases do."""
    return any(word.count(sign) > 1 for sign in "._-")


def is_uuid(word: str) -> bool:
    """Return True for a UUID in its usual form: by itself, it is an id and not a secret."""
    if len(word) != 36 or not word[8] == word[13] == word[18] == word[23] == "-":
        return False
    return word.replace("-", "").isalnum() and set(word) <= set("0123456789abcdefABCDEF-")


def _is_label(bare: str) -> bool:
    """Return True if a word consists of letter and number parts: `billing-user-95`, `v1.20.3`."""
    parts = exact(r"[-_/.]").sub(" ", bare).split()
    return len(parts) > 1 and all(p.isdigit() or (p.isalpha() and len(p) < 16) for p in parts)
