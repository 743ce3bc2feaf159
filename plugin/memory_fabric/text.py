"""Functions on texts, all pure and linear in time: words, search terms, truncation and others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any

# English stopwords, including question words, which say nothing about the content.
STOPWORDS = frozenset(
    """a about above after again against all also am an and any are aren as at be because been
    before being below between both but by can cannot could couldn did didn do does doesn doing don
    down during each ever few for from further get go got had hadn has hasn have haven having he her
    here hers herself him himself his how i if in into is isn it its itself just let ll me mightn
    more most mustn my myself no nor not now of off on once only or other our ours ourselves out
    over own please re s same shall shan she should shouldn so some still such t than that the their
    theirs them themselves then there these they this those through to too under until up us ve very
    was wasn we were weren what when where which while who whom whose why will with won would
    wouldn you your yours yourself yourselves d m o y yes ok okay hi hello hey thanks thank
    continue""".split()
)


class _Table(dict[int, Any]):
    """A table for str.translate; each character's entry is computed and cached on first use."""

    def __init__(self, value_of: Callable[[str], Any]) -> None:
        self._value_of = value_of

    def __missing__(self, code: int) -> Any:
        self[code] = value = self._value_of(chr(code))
        return value


# Scripts without spaces. unicode61 indexes a whole run as one token, so pairs are indexed too.
_CJK = (("⺀", "鿿"), ("가", "힯"), ("豈", "﫿"), ("\U00020000", "\U0003ffff"))
# Keeps letters and digits, and replaces every other character with a space.
_LETTERS = _Table(lambda c: ord(c) if c.isalnum() else 32)
# A character's kind: `A` for A–Z, `a` for a–z, `0` for 0–9, `.` for any other (no CamelCase).
_KINDS = _Table(
    lambda c: "." if c > "\x7f" or not c.isalnum() else "0" if c.isdigit() else "Aa"[c.islower()]
)
# A character's kind: `C` in scripts without spaces, a space otherwise.
_SCRIPTS = _Table(lambda c: "C" if c.isalnum() and any(a <= c <= z for a, z in _CJK) else " ")
_ASCII_LETTERS = bytes(c if c < 128 and chr(c).isalnum() else 32 for c in range(256))
_ASCII_KINDS = bytes(ord(_KINDS[code]) for code in range(256))
_SMALL = ("a", "0")
_SEPARATORS = str.maketrans("", "", " \t\n\r-_")
_ACCENTS = frozenset(map(chr, range(0x300, 0x370)))
# Nouns that may be followed by a single letter as a name, as in `plan B`.
LETTERED = frozenset(
    """plan step option vitamin variant version phase team class grade type appendix section part
    group tier room gate block building terminal line level drive scenario solution case column
    hepatitis candidate proposal""".split()
)
_AROUND = "\"'`“”‘’()[]{}<>,;:.!?*"
# Final punctuation that does not change a sentence's meaning, unlike a question mark.
_ENDINGS = ".!…。！"
# For `covers`: the share of content words that `text` must have, and how many `other` must have.
COVERED_SHARE, COVERED_WORDS = 0.8, 2
INJECTED_TAGS = ("memory-fabric", "system-reminder")
GUARDED_TAGS = (*INJECTED_TAGS, "private")
# Tags that clients and models put around their own texts; texts in memory must not imitate them.
FENCE_TAGS = frozenset(
    """system function-results function-calls function-result function-call tool-result tool-results
    tool-use tool-call invoke assistant user human""".split()
)
# Invisible characters to remove: word breaks and joins, direction marks that affect other text,
# fillers, annotations, tags. Joiners and variation selectors are exempt: some scripts need them.
HIDDEN = frozenset(map(chr, (
    0xAD, 0x34F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x180E, 0x200B, 0x3164, 0xFEFF, 0xFFA0, 0xFFF9,
    0xFFFA, 0xFFFB, *range(0x202A, 0x202F), *range(0x2060, 0x2070), *range(0xE0000, 0xE0080),
)))  # fmt: skip
_SELECTORS = map(chr, (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)))
_SUSPECT = HIDDEN.union("\u200c\u200d＜﹤˂ᐸ〈〈⟨❮", _SELECTORS)
_FENCES = (*GUARDED_TAGS, *sorted(FENCE_TAGS), "antml")
OPEN_FENCE, CLOSE_FENCE = "<memory-fabric>", "</memory-fabric>"
# NOTED_AS stands between a quotation and the assistant's sentence. If the line above has the same
# quotation, it is cut to MAX_AGAIN_CHARS here, and ABOVE stands in place of NOTED_AS.
NOTED_AS, ABOVE, MAX_AGAIN_CHARS = "” (noted as: ", "…” above (noted as: ", 40


def words(text: str) -> list[str]:
    """Return the words of a text in order and in lower case, split at `_` and punctuation."""
    return runs(composed(text).lower())


def runs(text: str) -> list[str]:
    """Return all runs of letters and digits in a text, with their case preserved."""
    if text.isascii():
        return text.encode().translate(_ASCII_LETTERS).decode().split()
    return text.translate(_LETTERS).split()


def composed(text: str) -> str:
    """Combine letters with separate accents that follow them (NFC), as the full-text index does."""
    if text.isascii() or _ACCENTS.isdisjoint(text):
        return text
    import unicodedata  # imported late: few texts have separate accents, e.g. macOS file names

    return unicodedata.normalize("NFC", text)


def terms(text: str) -> list[str]:
    """Return a text's distinct content words in order; all words if all of them are stopwords.
    Numbers are content words; so are single letters used as names: `plan B`, `in C`, `vitamin D`.
    """
    whole = text
    for mark in ("'s", "’s"):
        if mark in whole:
            # Remove `'s` only at the end of words, because a quotation may begin with it.
            head, *tails = whole.split(mark)
            for part in tails:
                ends = head[-1:].isalnum() and not part[:1].isalnum()
                head += (" " if ends else mark) + part
            whole = head
    parts = words(whole)
    letters = _naming_letters(whole) if any(len(w) == 1 and w.isalpha() for w in parts) else ()
    parts += camel_parts(text)
    parts += cjk_pairs(text)
    content = [
        w
        for w in parts
        if w in letters or (w not in STOPWORDS and (len(w) > 1 or not w.isascii() or w.isdigit()))
    ]
    return list(dict.fromkeys(content or parts))


def _naming_letters(text: str) -> set[str]:
    """Return the single letters, in lower case, that are names (`plan B`) and not words (`a`)."""
    letters: set[str] = set()
    tokens = text.split()
    for before, token, after in zip(["", *tokens], tokens, [*tokens[1:], ""], strict=False):
        bare = token.strip(_AROUND)
        if len(bare) != 1 or not bare.isascii() or not bare.isalpha():
            continue
        ends = not after or not token[-1].isalnum()
        lettered = before.strip(_AROUND).lower() in LETTERED
        is_capital = bare.isupper() and bare not in "AI"
        follows_noun = lettered and (ends or (bare.isupper() and bare != "I"))
        if bare.lower() not in STOPWORDS or is_capital or follows_noun:
            letters.add(bare.lower())
    return letters


def without_files(text: str) -> str:
    """Remove file names and mentions, such as `error-log.txt` and `@when.md`, from a question."""
    if "@" not in text and "." not in text.rstrip("."):
        return text
    return " ".join(token for token in text.split() if not is_file(token))


def is_file(token: str) -> bool:
    """Return True if a token is a mention or a file name: `@notes`, `chat.md`, `a/b.py:12`."""
    if token.startswith("@"):
        return True
    stem, _, ending = token.strip(_AROUND).partition(":")[0].rpartition(".")
    return stem[-1:].isalnum() and ending.isalnum() and len(ending) < 6


def camel_parts(text: str) -> list[str]:
    """Return the parts of a text's CamelCase words, in lower case: `fast`, `api` for `FastAPI`."""
    parts: list[str] = []
    if text.isascii():
        may_be = text.encode().translate(_ASCII_KINDS)
        if b"aA" not in may_be and b"0A" not in may_be and b"AAa" not in may_be:
            return parts
    for word in runs(text):
        # Most words have lower-case letters after the first one, and so only one part.
        if word[1:].islower():
            continue
        kinds = word.translate(_KINDS)
        # A part begins at the capital `A` of `nodeA` and `v2A`, and at the `K` of `APIKey`.
        if "aA" in kinds or "0A" in kinds or "AAa" in kinds:
            parts += _parts(word, kinds)
    return parts


def _parts(word: str, kinds: str) -> list[str]:
    parts, at = list[str](), 0
    while at < len(word):
        end = at
        while kinds[end : end + 1] == "A":
            end += 1
        capitals, before_small = end - at, kinds[end : end + 1] == "a"
        if capitals > 1 and before_small:
            end -= 1  # in `APIKey`, the `K` begins the next part
        elif not capitals or before_small:
            while kinds[end : end + 1] in _SMALL:
                end += 1
        if end > at:
            parts.append(word[at:end].lower())
        at = max(end, at + 1)
    return parts


def cjk_pairs(text: str) -> list[str]:
    """Return all pairs of adjacent characters in scripts without spaces, such as Chinese."""
    if text.isascii():
        return []
    kinds = text.translate(_SCRIPTS)
    pairs, at = [], kinds.find("CC")
    while at >= 0:
        pairs.append(text[at : at + 2])
        at = kinds.find("CC", at + 1)
    return pairs


def index_extra(text: str) -> str:
    """Return words to index that FTS5's tokenizer does not find: CamelCase parts, CJK pairs."""
    return " ".join(dict.fromkeys(camel_parts(text) + cjk_pairs(text)))


@lru_cache(4096)  # many stages stem the same words
def stem(word: str) -> str:
    """Return a light English stem, equal for `cache` and `caching`; not used by FTS5."""
    # A word ending with a digit is a name or a number: `node11` differs from `node1`.
    return word if word[-1:].isdigit() else loose_stem(word)


def content_stems(text: str) -> frozenset[str]:
    """Return the stems of all words in a text that are not stopwords."""
    return frozenset(stem(word) for word in words(text) if word not in STOPWORDS)


def loose_stem(word: str) -> str:
    """Return an English stem for database keys. Unlike `stem`, it cuts `node11` to `node1`."""
    if len(word) < 5 or not word.isascii():
        return word[:-1] if len(word) == 4 and word.endswith("s") and word[2] != "s" else word
    for ending in ("ations", "ation", "ingly", "ings", "ing", "edly", "ies", "ed", "es", "ly", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word[: -len(ending)] + ("y" if ending == "ies" else "")
            break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "aeouls":
        word = word[:-1]
    return word[:-1] if len(word) > 4 and word[-1] == "e" else word


def index_words(text: str) -> list[str]:
    """Return all words by which full-text search finds a text: `words` and `index_extra`."""
    return words(text) + camel_parts(text) + cjk_pairs(text)


def mask_reader(bits: Mapping[str, int]) -> Callable[[str], int]:
    """Return a function that ORs the masks of a text's stems. `bits` maps stems to masks."""
    # A stem keeps a word's first three letters, so only words that begin like a stem are stemmed.
    beginnings = {stem_text[:3] for stem_text in bits}
    of_part, of_text = dict[str, int](), {"": 0}

    def read(text: str) -> int:
        mask = 0
        for word in index_words(text):
            if word[:3] in beginnings:
                mask |= bits.get(stem(word), 0)
        return mask

    def mask_of(text: str) -> int:
        mask = of_text.get(text)
        if mask is not None:
            return mask
        mask, small = 0, text.lower()
        if composed(text) is not text or len(small) != len(text):
            # The search below needs `small` to have the same length, and no accents that join two
            # words when composed. Otherwise, read all words.
            of_text[text] = read(text)
            return of_text[text]
        for beginning in beginnings:
            end = small.find(beginning)
            while end >= 0:
                start = small.rfind(" ", 0, end) + 1
                end = small.find(" ", end)
                part = text[start:end] if end >= 0 else text[start:]
                part_mask = of_part.get(part)
                if part_mask is None:
                    part_mask = of_part[part] = read(part)
                mask |= part_mask
                if end >= 0:
                    end = small.find(beginning, end)
        of_text[text] = mask
        return mask

    return mask_of


def name_key(name: str) -> str:
    """Return a key that is equal for names that differ only in case, `-`, `_` or spaces."""
    return name.casefold().translate(_SEPARATORS) or name


def same_form(text: str) -> str:
    """Return a normal form, equal for texts that differ only in white space, capitals (`Use`,
    `USE`) or a final `.`, `!` or `…`. Other punctuation, digits, and names like `nodeA` are kept.
    """
    parts = composed(text).split()
    if parts:
        parts[-1] = parts[-1].rstrip(_ENDINGS)
    for at, word in enumerate(parts):
        if word.isupper() or not any(map(str.isupper, word[1:])):  # keep names like `nodeA`
            parts[at] = word.lower()
    return " ".join(parts).rstrip()


def covers(text: str, other: str) -> bool:
    """Return True if `text` contains `other`, or COVERED_SHARE of the content words of `other`."""
    if other.lower() in text.lower():
        return True
    own = content_stems(other)
    shared = own.intersection(map(stem, words(text)))
    return len(own) >= COVERED_WORDS and len(shared) >= COVERED_SHARE * len(own)


def cut(text: str, max_chars: int) -> str:
    """Truncate a text to `max_chars`, between words if possible; a truncated text ends with `…`."""
    if len(text) <= max_chars:
        return text
    if max_chars < 1:
        return ""
    head = text[: max_chars - 1]
    space = head.rfind(" ")
    return (head[:space] if space > max_chars // 2 else head).rstrip() + "…"


def many(number: int, what: str) -> str:
    """Return a number with its noun, in the singular or plural: `1 record`, `2 records`."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def first_of(parts: Iterable[str], most: int, by: str = ", ") -> str:
    """Join the first `most` parts with `by`, and append the number of others: `a, b and 3 more`."""
    listed = list(parts)
    number_left = len(listed) - most
    return by.join(listed[:most]) + (f" and {number_left} more" if number_left > 0 else "")


def one_line(text: str) -> str:
    """Replace each run of white space in a text with one space."""
    return " ".join(text.split())


def without_controls(text: str) -> str:
    """Remove a terminal's codes and control characters, but no white space, for text files."""
    if text.isprintable():
        return text
    first, *parts = text.split("\x1b[")  # the beginning of a code, whose end is a letter
    bare = (part.lstrip("0123456789;:?") for part in parts)
    text = first + "".join(part[part[:1] in "ABCDEFGHJKSTfhlmnsu" :] for part in bare)
    return "".join(c for c in text if c.isspace() or not (c < " " or "\x7f" <= c <= "\x9f"))


def without_injected(text: str) -> str:
    """Remove this plugin's blocks and the client's reminders, which must not be stored again."""
    if not _may_hold(text, INJECTED_TAGS):
        return text
    import re  # imported late: few texts contain a tag

    from memory_fabric.patterns import pattern

    # Also match the escaped form in which some clients add these blocks to the user's message.
    block = (
        rf"(?:<|&lt;)({'|'.join(INJECTED_TAGS)})\b[^<>]{{0,200}}?(?:>|&gt;).*?"
        r"(?:(?:<|&lt;)/\1\s{0,8}(?:>|&gt;)|\Z)"
    )
    return pattern(block, re.DOTALL | re.IGNORECASE).sub(" ", text)


def neutralised(text: str) -> str:
    """Make a text safe for models and screens: escape imitated tags, remove hidden characters."""
    if "<" not in text:
        if text.isascii() or _SUSPECT.isdisjoint(text):
            return text
    elif text.isascii() and text.isprintable() and not _may_hold(text.replace("_", "-"), _FENCES):
        return text
    from memory_fabric.imitations import Guarded, without_imitations  # imported late: rarely needed

    return without_imitations(text, Guarded(HIDDEN, FENCE_TAGS, GUARDED_TAGS))


def unfenced(text: str) -> str:
    """Replace the `<` of the tags in GUARDED_TAGS with `‹`, for texts to be stored."""
    if not _may_hold(text, GUARDED_TAGS):
        return text
    from memory_fabric.patterns import pattern  # imported late: rarely needed

    tag = rf"<(\s{{0,8}}/?\s{{0,8}})({'|'.join(GUARDED_TAGS)})\b"
    return pattern(tag).sub(lambda found: f"‹{found[1]}{found[2]}", text)


def _may_hold(text: str, tags: Iterable[str]) -> bool:
    if "<" not in text and "&lt;" not in text:
        return False
    # Treat the Turkish letters `İ` and `ı` as `i`, as case-insensitive regular expressions do.
    folded = text.casefold().replace("\u0307", "").replace("ı", "i")
    return any(tag in folded for tag in tags)


def encodable(text: str) -> str:
    """Replace lone surrogates, which cannot be encoded as UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text


def each_text(value: Any, change: Callable[[str], str], *, keys: bool = False) -> Any:
    """Apply `change` to each text in a JSON value; if `keys`, also to the keys of objects."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {change(k) if keys else k: each_text(v, change, keys=keys) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [each_text(part, change, keys=keys) for part in value]
    return value


def folded(line: str, before: str) -> str:
    """Shorten a line's quotation of the user if the line before it has the same quotation."""
    head, words, caption = _quoting(line)
    if len(words) <= MAX_AGAIN_CHARS or words != _quoting(before)[1]:
        return line
    return f"{head}“{words[:MAX_AGAIN_CHARS].rstrip()}{ABOVE}{caption}"


def unfolded(line: str, before: str) -> str:
    """Undo `folded`: restore a cut quotation from the line before; '' if it is not quoted there."""
    quote, is_folded, caption = line.partition(ABOVE)
    head, _, beginning = quote.partition("“")
    words = _quoting(before)[1]
    if is_folded and not (beginning and words.startswith(beginning)):
        return ""
    return f"{head}“{words}{NOTED_AS}{caption}" if is_folded else line


def _quoting(line: str) -> tuple[str, str, str]:
    head, _, rest = line.partition("“")
    words, is_quoted, caption = rest.partition(NOTED_AS)
    return (head, words, caption) if is_quoted else ("", "", "")
