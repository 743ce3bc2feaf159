"""The user's words behind a note: is the quotation of `From:` theirs, and does it say the note?

Only prompts count, never the transcript, without the parts that were marked as not typed. Short
pastes cannot be told from typing. This stops carelessness and most injected text, not a forger who
finds a fitting quotation.
"""

from __future__ import annotations

from itertools import pairwise

from memory_fabric.notes import word_tables
from memory_fabric.notes.typed_names import MAX_PROMPTS, STRIPPED, untyped_name
from memory_fabric.notes.typed_text import is_spaceless, plain, tokens_of, typed_words
from memory_fabric.patterns import pattern
from memory_fabric.text import STOPWORDS, stem
from memory_fabric.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from memory_fabric.notes.grammar import Note

# A quotation has so many words, or twice as many letters in scripts without spaces.
MIN_WORDS = 4
# Shorter parts around an ellipsis could be found in any text.
MIN_PART_WORDS = 2
MAX_PARTS = 4
# A denial counts if it is at most so many words before the quotation, or left out in so few.
DENIED_WITHIN, LEFT_OUT_WITHIN = 3, 8
# Words that begin with so many equal letters are the same in another form or language.
SAME_BEGINNING = 5
# One content word of the sentence in so many must be the user's.
MIN_SHARE, MIN_SHARE_OF_ONE = 5, 3
MAX_ASSENT_WORDS = 10
MAX_PLACES = 20

# Also between quotations: `"use pnpm" and "never npm"`.
_ELISION = r"[\[(]\s?(?:…|\.{3})\s?[\])]|…|\.{3,5}|[\"”»]\s?(?:[,;&/+]|and|und|y|et)?\s?[\"“«„]"
# Ends of sentences; "no," answers what was said before, and denies nothing behind it.
_SENTENCE_END = r"[.!?](?=\s|\Z)|[。！？;；\n]|\b(?:no|nope|nah|nein|non|não|нет)\s?[,:–—-]"
_CLAUSE_END = (
    r"[,;:!?()—–。，；：！？、…\n]|\.(?=\s|\Z)|\s-\s|\b(?:but|aber|sondern|pero|mais|mas)\b"
)
_SCRIPTS = (
    ("greek", "\u0370", "\u03ff"), ("cyrillic", "\u0400", "\u052f"), ("hebrew", "\u0590", "\u05ff"),
    ("arabic", "\u0600", "\u06ff"), ("indic", "\u0900", "\u0dff"), ("thai", "\u0e00", "\u0eff"),
    ("kana", "\u3040", "\u30ff"), ("han", "\u3400", "\u9fff"), ("hangul", "\uac00", "\ud7af"),
)  # fmt: skip
_CYRILLIC = dict(zip("абвгдеёзийклмнопрстуфхцыэ", "abvgdeezijklmnoprstufhcye", strict=True))


class _Said(Value):
    """The tokens of a prompt, and the numbers of those with which a sentence begins.

    `asked` are the numbers behind sentences with a question mark.
    """

    tokens: tuple[str, ...]
    starts: frozenset[int]
    asked: frozenset[int]


def check(
    note: Note, prompts: Sequence[str], typed: Sequence[str], known: Sequence[str] = ()
) -> str:
    """Return "" if the quotation earns the note the user's trust, else the reason why not.

    `prompts` are those of this turn and of the one before it, newest first; `typed` are all of the
    session, oldest first. An answer to a question of the assistant may be given as a prompt, and
    the stored words of a candidate, too. `known` are names that need not be typed: of the project,
    of the user's records.
    """
    parts = [part for part in map(tokens_of, pattern(_ELISION).split(note.quotation)) if part]
    if not parts:
        return "no words of the user"
    if is_assent(note.quotation):
        return "the words only agree"
    if _length(note.quotation) < MIN_WORDS:
        return "the words are too few"
    if len(parts) > MAX_PARTS or (len(parts) > 1 and min(map(_weight, parts)) < MIN_PART_WORDS):
        return "the words are picked too freely"
    reason = "the words are not in this prompt or the one before"
    for prompt in prompts[:MAX_PROMPTS]:
        found = _in_prompt(parts, _sentences(typed_words(prompt)))
        if not found:
            break
        reason = found if reason.startswith("the words are not") else reason
    else:
        return reason
    missing = untyped_name(note, (*prompts[:MAX_PROMPTS], *reversed(typed)), known)
    if missing:
        return f"never typed: {missing}"
    if _permits(note.text) and not _permits(note.quotation, word_tables.FREEDOMS):
        return "the words give no permission"
    named = {token for name in known for token in tokens_of(name)}
    return "" if _is_about(note.text, note.quotation, named) else "the words say something else"


def is_assent(prompt: str) -> bool:
    """Return True for a prompt that only agrees: "yes", "ok do it", "sí", "mach das", "好的"."""
    words = plain(prompt).split()
    if len(words) > MAX_ASSENT_WORDS:
        return False
    left, agrees = "", "👍" in prompt
    for word in words:
        bare = word.strip(STRIPPED + "-–—~`^")
        agrees = agrees or any(map(str.isalnum, bare))
        left += "" if bare in word_tables.ASSENTS else f" {bare}"
    if any(map(is_spaceless, left)):
        for phrase in word_tables.SPACELESS_ASSENTS:
            left = left.replace(phrase, " ")
    return agrees and not any(map(str.isalnum, left))


def says_everywhere(quotation: str) -> bool:
    """Return True if the words say that they hold in every project: "always", "immer", "总是"."""
    text = " ".join(plain(quotation).split())
    for found in pattern(word_tables.EVERYWHERE).finditer(text):
        if word_tables.NEGATIONS.isdisjoint(tokens_of(text[: found.start()])[-1:]):
            return True
    return False


def _weight(tokens: Sequence[str]) -> float:
    return sum(0.5 if is_spaceless(token[0]) else 1 for token in tokens)


def _length(quotation: str) -> float:
    """Return the number of words; a letter of a script without spaces is half a word."""
    words = (tokens_of(word) for word in pattern(_ELISION).sub(" ", quotation).split())
    # A word with a sign inside, as `don't` or `a/b`, is one.
    return sum(
        _weight(word) if any(is_spaceless(token[0]) for token in word) else 1
        for word in words
        if word
    )


def _sentences(text: str) -> _Said:
    tokens: list[str] = []
    starts, asked = set(), set()
    at = 0
    whole = plain(text)
    for end in pattern(_SENTENCE_END).finditer(whole):
        tokens += tokens_of(whole[at : end.end()])
        starts.add(len(tokens))
        if end[0] in "?？":
            asked.add(len(tokens))
        at = end.end()
    tokens += tokens_of(whole[at:])
    return _Said(tuple(tokens), frozenset(starts), frozenset(asked))


def _in_prompt(parts: Sequence[Sequence[str]], said: _Said) -> str:
    """Return "" if the prompt has the parts in order, else the reason why not."""
    text = f" {' '.join(said.tokens)} "
    reason = "the words are not in the prompt"
    at = text.find(f" {' '.join(parts[0])} ")
    for _ in range(MAX_PLACES):
        if at < 0:
            break
        spans = _spans(parts, text, at)
        if not spans:
            break
        if _is_denied(spans, said):
            reason = "a denial around the words is left out"
        elif _is_asked(spans[-1][1], said):
            reason = "the words only ask"
        else:
            return ""
        at = text.find(f" {' '.join(parts[0])} ", at + 1)
    return reason


def _spans(parts: Sequence[Sequence[str]], text: str, at: int) -> list[tuple[int, int]]:
    """Return the numbers of first and last token of each part from there on, or nothing."""
    spans = []
    for part in parts:
        at = text.find(f" {' '.join(part)} ", at)
        if at < 0:
            return []
        first = text.count(" ", 0, at)
        spans.append((first, first + len(part)))
        at += sum(map(len, part)) + len(part)
    return spans


def _is_denied(spans: Sequence[tuple[int, int]], said: _Said) -> bool:
    """Return True if the sentence denies the words, and the quotation leaves this out."""
    first, end = spans[0][0], spans[-1][1]
    before = said.tokens[_back(first, said) : first]
    behind = said.tokens[end : _forth(end, said)]
    if _denies(before) or not word_tables.DENYING_BEHIND.isdisjoint(behind[:2]):
        return True
    if behind and behind[0] >= "\u0e00" and _has_any(behind, word_tables.NEGATED_BEHIND):
        return True
    for (_, left), (right, _) in pairwise(spans):
        gap = said.tokens[left:right]
        whole = said.starts.isdisjoint(range(left, right))
        if whole and len(gap) <= LEFT_OUT_WITHIN and _denies(gap):
            return True
    return False


def _is_asked(end: int, said: _Said) -> bool:
    """Return True if the sentence in which the words end asks if something should be done."""
    stop = next((n for n in sorted(said.starts) if n >= end), -1)
    if stop not in said.asked:
        return False
    start = max((n for n in said.starts if n < stop), default=0)
    sentence = " ".join(said.tokens[start:stop])
    return bool(pattern(word_tables.ASKING).search(sentence))


def _denies(tokens: Sequence[str]) -> bool:
    return not word_tables.NEGATIONS.isdisjoint(tokens) or _has_any(
        tokens, word_tables.SPACELESS_NEGATIONS
    )


def _has_any(tokens: Sequence[str], parts: Sequence[str]) -> bool:
    text = "".join(tokens)
    return any(part in text for part in parts)


def _back(at: int, said: _Said) -> int:
    lowest = max(0, at - DENIED_WITHIN)
    return next((n for n in range(at, lowest, -1) if n in said.starts), lowest)


def _forth(at: int, said: _Said) -> int:
    highest = min(len(said.tokens), at + 2 * DENIED_WITHIN)
    return next((n for n in range(at, highest) if n in said.starts), highest)


def _is_about(sentence: str, quotation: str, named: set[str]) -> bool:
    """Return True if the words say what the sentence says, as far as words in common show it.

    A fifth of its content words must be among them, or a third if that is only one, names of the
    project apart; some of them in clauses that both deny or both do not deny. In another language,
    a concept or a name in common is enough.
    """
    ours, theirs = _content(sentence), _content(quotation)
    ours = {word for word in ours if word in theirs or word not in set(map(stem, named))}
    shared = sum(any(_is_same(a, b) for b in theirs) for a in ours)
    same_language = _language(sentence) == _language(quotation)
    if same_language and any(map(is_spaceless, quotation)):
        enough = shared > 0
    elif same_language:
        enough = shared * (MIN_SHARE if shared > 1 else MIN_SHARE_OF_ONE) >= len(ours)
    else:
        enough = shared > 0 or not _concepts(sentence).isdisjoint(_concepts(quotation))
    return enough and shared + (not same_language) > 0 and _agree(sentence, quotation)


def _agree(sentence: str, quotation: str) -> bool:
    """Return True if a clause of each is about the same, and both deny it or both do not."""
    both = set(tokens_of(sentence)) | set(tokens_of(quotation))
    if not word_tables.EXCLUSIVES.isdisjoint(both):
        return True  # "I do it myself" denies that others do it
    same_language = _language(sentence) == _language(quotation)
    theirs = list(_clauses(quotation))
    return any(
        (denied == other_denied or None in (denied, other_denied))
        and (not same_language or any(_is_same(a, b) for a in content for b in other))
        for content, denied in _clauses(sentence)
        for other, other_denied in theirs
    )


def _permits(text: str, more: frozenset[str] = frozenset()) -> bool:
    """Return True if the text allows something: such a note would widen what may be done."""
    tokens = tokens_of(text)
    words = (*word_tables.PERMISSIONS, *more)
    return _has_any(tokens, word_tables.SPACELESS_PERMISSIONS) or any(
        _begins(token, word) for token in tokens for word in words
    )


def _clauses(text: str) -> Iterator[tuple[set[str], bool | None]]:
    """Yield the content words of each clause, and if it denies something.

    None is both: "never commit without asking".
    """
    for clause in pattern(_CLAUSE_END).split(text):
        tokens = tokens_of(clause)
        if tokens:
            denies = _denies(tokens) or _has_any(tokens, word_tables.NEGATED_BEHIND)
            denials = word_tables.NEGATIONS.intersection(tokens)
            both = len(denials) > 1 and not denials.isdisjoint(word_tables.WITHOUT)
            yield _content(clause), None if both else denies


def _content(text: str) -> set[str]:
    """Return the content words, stemmed, and pairs of letters in scripts without spaces."""
    tokens = tokens_of(text)
    found = {
        stem(token)
        for token in tokens
        if not is_spaceless(token[0])
        and token not in STOPWORDS
        and not any(token in words for words in word_tables.STOPWORDS.values())
        and (len(token) > 1 or token.isdigit())
    }
    pairs = pairwise(tokens)
    return found | {a + b for a, b in pairs if is_spaceless(a[0]) and is_spaceless(b[0])}


def _is_same(a: str, b: str) -> bool:
    if a == b:
        return True
    a, b = _latin(a), _latin(b)
    return len(a) >= SAME_BEGINNING <= len(b) and a[:SAME_BEGINNING] == b[:SAME_BEGINNING]


def _latin(word: str) -> str:
    """Return a Cyrillic word in Latin letters, as loanwords are compared; others unchanged."""
    if "\u0400" <= word[0] <= "\u04ff":
        word = "".join(_CYRILLIC.get(c, "") for c in word)
    return word.replace("c", "k") if word.isascii() else word


def _language(text: str) -> str:
    """Return the script of most letters, and for Latin letters the language, as far as it shows."""
    counts: dict[str, int] = {}
    for c in text:
        if c.isalpha():
            script = next((name for name, low, high in _SCRIPTS if low <= c <= high), "latin")
            counts[script] = counts.get(script, 0) + (1 if script == "latin" else 3)
    script = max(counts, key=lambda name: counts[name], default="latin")
    if script == "han" and "kana" in counts:
        return "kana"
    if script != "latin":
        return script
    words = [word.strip(STRIPPED) for word in plain(text).split()]
    hits = {
        language: sum(word in table for word in words)
        for language, table in word_tables.STOPWORDS.items()
    }
    return max(hits, key=lambda language: hits[language])


def _concepts(text: str) -> set[int]:
    tokens, joined = set(tokens_of(text)), "".join(tokens_of(text))
    return {
        number
        for number, words in enumerate(word_tables.CONCEPTS)
        if any(
            word in joined
            if is_spaceless(word[0])
            else any(_begins(token, word) for token in tokens)
            for word in words
        )
    }


def _begins(token: str, word: str) -> bool:
    """Return True if the token is a form of a word; short beginnings have short endings."""
    if not token.startswith(word):
        return False
    return len(word) > 4 or len(token) - len(word) <= (1 if len(word) < 4 else 3)
