"""Detection of changed values: "limit is 3", then "limit is 6". To avoid false reports, the rules
may miss a change. Two statements must differ only in the value, and the subject must have one value
at a time: a number, day, name, format, place, or tool for a purpose. Prohibitions must state a
numeric limit. Paths, commands, tools, environments or people do not conflict if several may apply.
"""

from collections.abc import Collection, Sequence
from functools import partial
from itertools import islice, product, takewhile
from typing import NamedTuple

from memory_fabric.language import negations
from memory_fabric.language.vocabulary import TECHNOLOGIES
from memory_fabric.language.word_lists import words
from memory_fabric.patterns import exact, pattern
from memory_fabric.text import name_key, stem

MAX_SENTENCES, MAX_TOKENS, MAX_VALUE_TOKENS = 4, 48, 6
# If two sentences begin with this many equal content words, their different ends are values.
LONG_LEAD = 4
# Sentences that differ only in numbers must share this many content words to have the same subject.
FRAME = 4
_SENTENCE_END = r"(?<=[.!?;])\s+(?=\S)|(?<=[。！？；])|\n+"
_OPENING = (
    r"^\W*(?:(?:decision|rule|note|decisión|regla|nota|décision|règle|entscheidung|regel|notiz)"
    r" ?:\s*|(?:from now on|as of now|going forward|please|so|and|i(?:['’]d like| would like| want|"
    r" need) you to|let['’]?s|(?:make|be) sure(?: to| that(?: you)?)?|you (?:should|must)|"
    r"remember to|por favor|de ahora en adelante|a partir de ahora|desde ahora|désormais|"
    r"dorénavant|à partir de maintenant|bitte|ab jetzt|ab sofort|von jetzt an)[,:]?\s+)+"
)
_CJK = r"(?![是为為は])[぀-ヿ一-鿿가-힯]"
_TOKEN = (
    r"`[^`]+`|\"[^\"]+\"|“[^”]+”|«[^»]+»|(?<!\w)'[^']+'(?!\w)|[=:,()是为為は]|"
    rf"(?:{_CJK})+|(?:(?!{_CJK})\w)(?:(?!{_CJK})[\w./@#%+*~$-]|:(?=\S))*"
)
_QUOTES = "`\"“”«»'"
_NUMBER = r"v?\d[\d.,:_-]*(?:[a-z%]{1,3})?"
_listed = partial(words, "changed_value")
# Verb stems from four lists in `changed_value.txt`, sorted so that every run uses the same order.
_SINGLE, _TAKING, _REQUIRING, _ADDING = (
    tuple(sorted(_listed(name))) for name in ("single", "taking", "requiring", "adding")
)
_BEFORE_VALUE, _CASES, _ENDS = _listed("before value"), _listed("cases"), _listed("ends")
_BEFORE_NUMBER = _listed("before value", "before number")  # after these words, a number is a value
_SLOTS, _USING, _PURPOSES = _listed("slots"), _listed("using"), _listed("purposes")
_WEAK = _BEFORE_NUMBER | _CASES | _ENDS | {"="}
_DENIALS = negations.NEVER | negations.NOT | negations.CONTRACTED
_DENIALS |= {"ne", "n", "don't", "doesn't", "avoid"}


class Token(NamedTuple):
    """A word of a sentence: its form for comparisons, its original form, and its position."""

    key: str
    raw: str
    place: int


Sentence = tuple[Token, ...]


def sentences(text: str) -> tuple[Sentence, ...]:
    """Return the sentences of a statement as tokens, which `is_changed` compares."""
    parts = filter(str.strip, pattern(_SENTENCE_END).split(text.strip()))
    return tuple(filter(None, map(_tokens, islice(parts, MAX_SENTENCES))))


def is_changed(a: Sequence[Sentence], b: Sequence[Sentence]) -> bool:
    """Return True if two statements assign different values to the same subject."""
    if not a or not b:
        return False
    pairs = product(a, b) if _count(_common(a[0], b[0])) > 1 else [(a[0], b[0])]
    return any(_has_other_value(first, second) for first, second in pairs)


def _tokens(sentence: str) -> Sentence:
    """Return the tokens of a sentence; phrases like "X was raised from 2 to 3" become `X = 3`."""
    text = pattern(_OPENING).sub("", sentence.strip().rstrip(".!。"))
    tokens: list[Token] = []
    for place, raw in enumerate(pattern(_TOKEN).findall(text)[:MAX_TOKENS]):
        key = (raw.strip(_QUOTES).rstrip(".-") or raw).casefold()
        if raw[0] not in _QUOTES:
            if key in _listed("fillers"):
                continue
            key = "=" if key in _listed("equals") else key
        tokens.append(Token(key, raw, place))
    keys, setting = [token.key for token in tokens], _listed("setting")
    at = next((i for i, key in enumerate(keys) if key in setting and "to" in keys[i:]), -1)
    if at < 0:
        return tuple(tokens)
    to = keys.index("to", at)
    since = keys.index("from", at, to) if "from" in keys[at:to] else to
    before = tokens[: at - (at > 0 and keys[at - 1] == "=")]
    return (*before, *tokens[at + 1 : since], tokens[to]._replace(key="="), *tokens[to + 1 :])


def _has_other_value(a: Sentence, b: Sentence) -> bool:
    """Return True if two sentences assign different values to a subject and are otherwise equal."""
    lead = _common(a, b)
    behind = _common(a[len(lead) :][::-1], b[len(lead) :][::-1])[::-1]
    one, other = (s[len(lead) : len(s) - len(behind)] for s in (a, b))
    if not one or not other:
        return False
    keys = [token.key for token in lead] or [""]
    is_cause = keys[-1] == "=" and _is_one_of(_head(keys[:-1]), _listed("causes"))
    if is_cause and len(keys) > 2 + (keys[0] == "root"):
        # Any text is a value if it follows words like "the root cause of the crash is".
        return not _is_denying((*one, *other, *lead))
    values = _value(one), _value(other)
    rests = one[len(values[0]) :], other[len(values[1]) :]
    if not all(values) or any(rest and rest[0].key in _CASES for rest in rests):
        return _differ_in_numbers(a, b)
    if _has_one_measure(lead, *values, behind) or _has_one_name(lead, *values, behind):
        return True
    return _differ_in_numbers(a, b)


def _common(a: Sequence[Token], b: Sequence[Token]) -> Sentence:
    pairs = takewhile(lambda pair: _same(*pair), zip(a, b, strict=False))
    return tuple(token for token, _ in pairs)


def _same(one: Token, other: Token) -> bool:
    return one.key == other.key or (
        one.key.isalpha() and other.key.isalpha() and stem(one.key) == stem(other.key)
    )


def _value(tokens: Sentence) -> Sentence:
    """Return the value: the tokens before "for", "if" etc.; () if none or too many precede it."""
    if len(tokens) > 1 and tokens[0].key in _CASES:
        return ()
    ends = _ENDS | _CASES
    value = (*tokens[:1], *takewhile(lambda token: token.key not in ends, tokens[1:]))
    return value if len(value) <= MAX_VALUE_TOKENS or len(value) == len(tokens) else ()


def _count(tokens: Sequence[Token]) -> int:
    return sum(token.key not in _WEAK for token in tokens)


def _has_one_measure(lead: Sentence, one: Sentence, other: Sentence, behind: Sentence) -> bool:
    """Return True if `one` and `other` (numbers, days, months, or states such as "on" and "off")
    exclude each other. `lead` and `behind` are the equal words before and after them.
    """
    kind = _kind(one)
    if not kind or kind != _kind(other) or not _count(lead):
        return False
    keys = [token.key for token in lead]
    if _is_denying((*lead, *behind)) and not (kind == "number" and _listed("limiting") & set(keys)):
        return False
    # Differing words before "is" belong to the subject, so they are not values.
    if "=" in (token.key for token in behind) and "=" not in keys:
        return False
    if kind != "number":
        return kind != "switch" or keys[-1] == "=" or not behind
    units = [{token.key for token in value[1:]} for value in (one, other)]
    if units[0] != units[1] and not (units[0] | units[1]) <= _listed("units"):
        return False
    before = lead[-1]
    if before.key == "=" or before.key in _BEFORE_NUMBER:
        return True
    is_name = before.key in _listed("numbered") or (before.place and before.raw[:1].isupper())
    is_name = is_name or (len(lead) == 1 and before.key not in _listed("counted by"))
    if not is_name:
        return bool(behind or all(units))
    # The number is a value in "requires Node 18" and "listens on port 8080", not in "open port 80".
    is_led = any(key == "=" or key in _BEFORE_VALUE for key in keys[-2:-1])
    is_led = is_led or (before.raw[:1].isupper() and _has(lead[-2:-1], _REQUIRING))
    return is_led and not behind and (_is_one_of(before.key, _SLOTS) or not _is_adding(lead))


def _has_one_name(lead: Sentence, one: Sentence, other: Sentence, behind: Sentence) -> bool:
    """Return True if `one` and `other`, names or words, exclude each other, such as two owners."""
    keys = [token.key for token in lead]
    are_names = _is_name(one) and _is_name(other)
    if _is_denying((*lead, *behind)) or _has(lead[:1], _ADDING):
        return False
    if not lead:
        # The value may come first, as in "Ines is the owner of the loyalty service".
        slot = behind[1].key if len(behind) > 2 and behind[0].key == "=" else ""
        return are_names and (_is_one_of(slot, _SLOTS) or slot in ("what", "who"))
    if len(keys) > 2 and keys[-2] in _BEFORE_VALUE and are_names:
        lead, keys = lead[:-1], keys[:-1]  # skip the noun "bucket" in "go to the bucket acme-raw"
    *before, last = keys
    if "default" in before and _is_one_of(last, _SLOTS):
        return are_names
    if last == "=":
        head = _head(before)
        # A plural subject may have several values, as in "the reviewers are Ana".
        are_many = any(len(key) > 4 and key.endswith("s") and key not in _SLOTS for key in keys)
        is_named = _count(lead) and keys[0] not in _listed("generic") and not are_many
        is_default = "default" in before or head.startswith("standard")
        is_slot = are_names and bool(_is_one_of(head, _SLOTS) or is_named)
        return is_default or _is_one_of(head, _listed("described")) or is_slot
    of_places = _listed("environments").intersection(token.key for token in (*one, *other))
    if of_places or _count(lead) < 2:
        return bool(last in _USING and behind and behind[0].key in _PURPOSES and _count(behind))
    if last in _USING or (last in _BEFORE_VALUE and before[-1] in _USING):
        is_for = _PURPOSES.union(_listed("each")).intersection(before)
        return bool(is_for or (behind and behind[0].key in _PURPOSES and _count(behind)))
    if _has(lead[-1:], _TAKING):
        return True
    if last not in _BEFORE_VALUE or (_is_adding(lead) and not _has(lead[-2:-1], _SINGLE)):
        return False
    return _has((*lead, *behind), _SINGLE) or (not behind and _count(lead) >= LONG_LEAD)


def _head(before: Sequence[str]) -> str:
    """Return the head noun of a phrase: "branch" for "the default branch of the docs"."""
    at = next((i for i, key in enumerate(before) if i and key in _listed("of")), len(before))
    return before[at - 1] if before else ""


def _differ_in_numbers(a: Sentence, b: Sentence) -> bool:
    """Return True if two long sentences differ only in numbers outside names like "Node 18"."""
    if len(a) != len(b):
        return False
    places = [i for i, pair in enumerate(zip(a, b, strict=True)) if not _same(*pair)]
    if not places or 0 in places or _count(a) - len(places) < FRAME or _is_denying(a):
        return False
    pairs = [(s[i - 1].key, _kind(s[i : i + 1])) for s in (a, b) for i in places]
    before = _BEFORE_NUMBER | {"="}
    return all(key in before and kind == "number" for key, kind in pairs)


def _kind(value: Sentence) -> str:
    """Return the kind of a value: `number`, `day`, `month`, `switch` ("on"), or '' for others."""
    first, last = value[0].key, value[-1].key
    if exact(_NUMBER).fullmatch(first) and not any(t.raw[0] in _QUOTES for t in value):
        return "number" if len(value) <= 3 else ""
    if exact(_NUMBER).fullmatch(last) and len(value) == 2 and first in _SLOTS:
        return "number"
    kinds = ("day", "days"), ("month", "months"), ("switch", "switches")
    return next((kind for kind, name in kinds if len(value) == 1 and first in _listed(name)), "")


def _is_name(value: Sentence) -> bool:
    if len(value) > 3 or any(token.key in _BEFORE_VALUE | _CASES for token in value):
        return False
    return any(
        token.raw[0] in _QUOTES
        or any(sign in token.raw for sign in "./_@#-")
        or any(map(str.isdigit, token.raw))
        or token.raw[:1].isupper()
        or name_key(token.key) in TECHNOLOGIES
        for token in value
    )


def _is_denying(tokens: Sequence[Token]) -> bool:
    return any(token.key in _DENIALS for token in tokens)


def _is_one_of(key: str, nouns: Collection[str]) -> bool:
    """Return True if a word is one of the nouns, or a compound that ends with such a noun."""
    return key in nouns or any(key.endswith(noun) for noun in nouns if len(noun) > 3)


def _is_adding(lead: Sentence) -> bool:
    """Return True if a verb in `lead` allows several objects: "runs", or "run" at the start."""
    return _has(lead[:1], _ADDING) or _has([t for t in lead if t.key not in _ADDING], _ADDING)


def _has(tokens: Sequence[Token], beginnings: tuple[str, ...]) -> bool:
    """Return True if a token ("stored") is an inflected form of a stem in `beginnings` ("stor")."""
    endings = _listed("endings") | {""}
    for key in (token.key for token in tokens if token.key.startswith(beginnings)):
        for one in filter(key.startswith, beginnings):
            if {key[len(one) :], key[len(one) :].removeprefix(one[-1])} & endings:
                return True
    return False
