"""Search for the user's words that a note quotes, in the typed text of prompts. Context that may
change the meaning of these words is added to them. For a short answer such as "yes", `agreement`
returns the proposal that the answer accepts. The words are shown before the note, for comparison.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from memory_fabric.capture.notes import typed
from memory_fabric.language import negations
from memory_fabric.language.word_lists import phrases, sections, words
from memory_fabric.patterns import pattern
from memory_fabric.store.conversations.prompts import CHOSEN, Prompt
from memory_fabric.text import STOPWORDS, cut, one_line

# The minimum number of words in a quotation; in scripts without spaces, twice as many characters.
MIN_WORDS = 4
# Minimum words in a part between ellipses (fewer match almost any text); maximum number of parts.
MIN_PART_WORDS, MAX_PARTS = 2, 4
# The maximum number of characters that are searched in the session's newest prompts.
MAX_TYPED_CHARS = 256 << 10
# Up to MAX_WHOLE_CHARS, a prompt is stored whole; else up to MAX_BLOCK_CHARS of quoted paragraphs.
MAX_WHOLE_CHARS, MAX_BLOCK_CHARS = 400, 600
# Context on each side: sentences of up to BESIDE_CHARS in all, or one of up to MAX_BESIDE_CHARS.
BESIDE_CHARS, MAX_BESIDE_CHARS = 160, 600
MAX_SENTENCE_CHARS = 1000  # longer sentences would have to be cut, so they are not stored
# A quotation found in more places than this is not stored: one of them may mean the opposite.
MAX_PLACES = 32
SAME_BEGINNING = 5
# Separators of parts of a quotation: an ellipsis, or `" and "` in `"use pnpm" and "never npm"`.
_ELISION = r"[\[(]\s?(?:…|\.{3})\s?[\])]|…|\.{3,5}|[\"”»]\s?(?:[,;&/+]|and|und|y|et)?\s?[\"“«„]"
_SENTENCE_END = r"[.!?…]{1,20}[\"'”’»)\]*_`]{0,9}(?=\s|\Z)|[。！？]{1,20}[」』”）]{0,9}"
# List items: symbols and pictographs count as bullets, quoted lines (`>`) as items.
_ITEM = (
    r"\s*(?:(?:[-*+]|\(?(?:\d{1,3}|[a-zA-Z]|[ivx]{2,4})[.)\]])\s+\S|\d{1,2}[、．]"
    r"|[>•‣–—·・\u2190-\u2bff\U0001f300-\U0001faff])"
)
_FENCES = ("```", "~~~")
_HEADING = r"\s{0,3}#{1,6}\s|\s*(\*\*|__)[^*_]{1,80}\1:?\s*\Z|\s*(?-i:[A-Z][A-Z '’&-]{2,60})\Z"
MAX_PROPOSAL_CHARS, MAX_ANSWER_CHARS = 300, 120
# Labels of options: `A)`, `2.`, `(b)`, `**C:**`.
_LABEL = r"(?:^|(?<=\s))[*_(\[]{0,3}([A-Ha-h]|\d{1,2})[.):\]](?=[\s*_])"
_LABELLED = r"[^\w]{0,4}(?:option|plan|variante?|opción|вариант|方案|選択肢)?[\s:]{0,2}(\w{1,2})\b"
_ORDINALS = tuple(line.split() for line in sections("quotation")["ordinals"])
_NAMING = words("quotation", "ordinals", "naming")
# Words that separate two alternatives in one question.
_OR = r"\b(?:or|oder|ou|or else|o|или|lub)\b|还是|還是|それとも|아니면"
_PROPOSED = r"[^.!?。！？]{1,600}[.!?。！？]{0,3}"


class Found(NamedTuple):
    """The user's words around a quotation, and the prompt with these words; empty if not found."""

    words: str = ""
    quoted: str = ""  # the sentences with the quotation, without context
    prompt: Prompt | None = None
    answer: str = ""  # the quotation, if it is only a reply to the assistant


class _Sentence(NamedTuple):
    text: str
    line: int


class _Block(NamedTuple):
    """A paragraph, list item or heading: the sentences from index `first` to `end` (exclusive)."""

    kind: str
    first: int
    end: int
    level: int  # an item's indentation, or a heading's number of `#` characters


class _Said(NamedTuple):
    """A parsed prompt: its sentences and blocks, and its tokens as one string to be searched."""

    sentences: tuple[_Sentence, ...]
    blocks: tuple[_Block, ...]
    joined: str
    borders: frozenset[int]  # offsets of token ends in `joined`
    starts: tuple[int, ...]  # offsets of sentences in `joined`


def find(quotation: str, sentence: str, prompts: Sequence[Prompt]) -> Found:
    """Return the user's words around a quotation, from the newest prompt that contains it (prompts
    are newest first). A quotation of too few words counts only if it is a whole prompt and shares a
    word with the note's `sentence`; any other short prompt is a reply, returned as `answer`.
    """
    pieces = list(filter(_joined, pattern(_ELISION).split(quotation)))
    parts, lengths = list(map(_joined, pieces)), list(map(_length, pieces))
    is_short = sum(lengths) < MIN_WORDS or (len(parts) > 1 and min(lengths) < MIN_PART_WORDS)
    chars_left = MAX_TYPED_CHARS
    for prompt in prompts if 0 < len(parts) <= MAX_PARTS else ():
        chars_left -= len(prompt.text)
        if chars_left < 0:
            break
        text = _read(typed.typed_words(prompt.text))
        places = list(_places(parts, text))
        if not places:
            continue
        is_whole = text.joined == "".join(parts)
        is_enough = not is_short or (is_whole and _shares_a_word(quotation, sentence))
        if prompt.origin == CHOSEN or typed.is_assent(quotation) or (is_whole and not is_enough):
            return Found(prompt=prompt, answer=quotation)
        if is_enough:
            words = _widened(text, places) if len(places) <= MAX_PLACES else ""
            numbers = sorted({n for first, last in places for n in range(first, last + 1)})
            quoted = "\n".join(text.sentences[n].text for n in numbers)
            return Found(words, quoted, prompt) if words else Found()
    return Found()


def around(sentence: str, prompt: str) -> str:
    """Return a sentence of a prompt with its context; '' if the prompt does not contain it."""
    text = _read(prompt)
    parts = list(filter(None, map(_joined, pattern(_ELISION).split(sentence))))
    places = list(_places(parts, text)) if parts else []
    return _widened(text, places) if 0 < len(places) <= MAX_PLACES else ""


def says_everywhere(words: str) -> bool:
    """Return True if a text claims to apply to all projects: "always", "immer", "总是"."""
    text = " ".join(typed.plain(words).split())
    places = pattern(phrases("quotation", "everywhere")).finditer(text)
    before = (typed.tokens_of(text[: place.start()])[-1:] for place in places)
    return any(map(negations.ALL.isdisjoint, before))


def _joined(text: str) -> str:
    return "".join(typed.tokens_of(text))


def _shares_a_word(quotation: str, sentence: str) -> bool:
    """Return True if both share the start of a word, or two characters of a spaceless script."""
    tokens, joined = typed.tokens_of(quotation), _joined(sentence)
    parts = [a + b for a, b in pairwise(tokens) if all(map(typed.is_spaceless, (a[0], b[0])))]
    parts += [t[:SAME_BEGINNING] for t in tokens if len(t) > 2 and t not in STOPWORDS]
    return any(part in joined for part in parts)


def _length(quotation: str) -> float:
    """Return the number of words; each character of a spaceless script counts as half a word."""
    length = 0.0
    for word in quotation.split():
        tokens = typed.tokens_of(word)
        spaceless = sum(typed.is_spaceless(token[0]) for token in tokens)
        length += spaceless / 2 + (len(tokens) > spaceless)
    return length


@lru_cache(64)  # all notes of a turn are compared with the same prompts
def _read(text: str) -> _Said:
    sentences: list[_Sentence] = []
    blocks: list[_Block] = []
    is_open = in_fence = False
    for number, line in enumerate(text.splitlines()):
        if not line.strip():
            is_open = is_open and in_fence
            continue
        first, is_quoted = len(sentences), line.lstrip().startswith(">")
        ends = [end.end() for end in pattern(_SENTENCE_END).finditer(line)]
        parts = (line[start:end] for start, end in pairwise((0, *ends, len(line))))
        sentences += [_Sentence(part, number) for part in parts if part.strip()]
        in_fence = not in_fence if line.lstrip().startswith(_FENCES) else in_fence
        if is_open and in_fence:
            blocks[-1] = blocks[-1]._replace(end=len(sentences))
        elif pattern(_HEADING).match(line):
            signs = len(line.strip()) - len(line.strip().lstrip("#"))
            blocks.append(_Block("heading", first, len(sentences), signs or 7))
            is_open = False
        elif is_open and not line.strip("= "):
            blocks[-1] = blocks[-1]._replace(kind="heading", end=len(sentences), level=1)
        elif pattern(_ITEM).match(line) and not (is_open and is_quoted):
            indent = len(line.expandtabs(4)) - len(line.expandtabs(4).lstrip())
            blocks.append(_Block("item", first, len(sentences), indent))
            is_open = True
        elif is_open:
            blocks[-1] = blocks[-1]._replace(end=len(sentences))
        else:
            blocks.append(_Block("text", first, len(sentences), 0))
            is_open = True
    joined, borders, starts = "", {0}, []
    for sentence in sentences:
        starts.append(len(joined))
        for token in typed.tokens_of(sentence.text):
            joined += token
            borders.add(len(joined))
    return _Said(tuple(sentences), tuple(blocks), joined, frozenset(borders), tuple(starts))


def _places(parts: Sequence[str], said: _Said) -> Iterator[tuple[int, int]]:
    """If all parts occur in order, yield each occurrence as (first, last) sentence index."""
    at = 0
    for part in parts:
        at = _find(part, said, at)
        if at < 0:
            return
        at += len(part)
    at = 0
    for part in parts:
        start = at = _find(part, said, at)
        while start >= 0:
            last = start + len(part) - 1
            yield bisect_right(said.starts, start) - 1, bisect_right(said.starts, last) - 1
            start = _find(part, said, start + 1)
        at += len(part)


def _find(part: str, said: _Said, at: int) -> int:
    at = said.joined.find(part, at)
    while at >= 0 and not (at in said.borders and at + len(part) in said.borders):
        at = said.joined.find(part, at + 1)
    return at


def _widened(said: _Said, places: Sequence[tuple[int, int]]) -> str:
    """Return the sentences of all `places` with context; '' if one of them is too long to store."""
    every = range(len(said.sentences))
    if sum(len(said.sentences[n].text) + 1 for n in every) <= MAX_WHOLE_CHARS:
        return _text(said, every)
    wanted: set[int] = set()
    for first, last in places:
        around = set(range(first, last + 1))
        if any(len(said.sentences[n].text) > MAX_SENTENCE_CHARS for n in around):
            return ""
        inside = [n for n, b in enumerate(said.blocks) if b.end > first and b.first <= last]
        for number in inside:
            block = said.blocks[number]
            _grow(said, around, block.first, block.end)
            wanted.update(_ends_of(said, block), _ends_of(said, block, -1))
        wanted |= around
        wanted.update(_before(said, inside[0]), _after(said, inside[-1]))
    return _text(said, sorted(wanted))


def _grow(said: _Said, around: set[int], first: int, end: int) -> None:
    """Widen `around` within `first:end`: one sentence per side, and more up to MAX_BLOCK_CHARS."""
    low, high = min(around) - 1, max(around) + 1
    room = MAX_BLOCK_CHARS - sum(len(said.sentences[n].text) for n in around)
    steps = 0
    while low >= first or high < end:
        for number in (high, low):
            if not first <= number < end:
                continue
            room -= len(said.sentences[number].text)
            if room >= 0 or steps == 0:
                around.add(number)
        if room < 0:
            return
        low, high, steps = low - 1, high + 1, steps + 1


def _before(said: _Said, number: int) -> Iterator[int]:
    """Yield indices of sentences before block `number`: headings, parent items, lead-in text."""
    block = said.blocks[number]
    level = block.level if block.kind == "item" else -1
    depth = block.level if block.kind == "heading" else 8
    is_led = False
    for place in range(number - 1, -1, -1):
        earlier = said.blocks[place]
        if place == number - 1:
            yield from _ends_of(said, earlier, -1)
        if earlier.kind == "heading":
            if earlier.level < depth:
                yield from range(earlier.first, earlier.end)
            depth, is_led, level = min(depth, earlier.level), True, -1
        elif depth < 8:
            continue  # a block of another section
        elif (earlier.kind == "item" and earlier.level < level) or (
            earlier.kind == "text" and level >= 0
        ):
            yield from _ends_of(said, earlier, -1)
            level = earlier.level if earlier.kind == "item" else -1
        ending = said.sentences[earlier.end - 1].text.rstrip("*_ 	")
        if not is_led and ending.endswith((":", "：")):
            yield from _ends_of(said, earlier, -1)
            is_led = True


def _after(said: _Said, number: int) -> Iterator[int]:
    """Yield indices of first sentences of the next block, sub-items and text after the list."""
    block, is_next = said.blocks[number], True
    for following in said.blocks[number + 1 :]:
        under = block.kind == following.kind == "item" and following.level > block.level
        if is_next or under or following.kind == "text":
            yield from _ends_of(said, following)
        is_next = is_next and under
        if block.kind != "item" or following.kind != "item":
            return


def _ends_of(said: _Said, block: _Block, step: int = 1) -> Iterator[int]:
    """Yield indices of a block's first (`step` 1) or last (-1) sentences, BESIDE_CHARS at most."""
    numbers, chars_left = range(block.first, block.end)[::step], BESIDE_CHARS
    for number in numbers:
        chars_left -= len(said.sentences[number].text)
        is_first = number == numbers[0]
        if chars_left < 0 and not (is_first and chars_left + MAX_BESIDE_CHARS >= BESIDE_CHARS):
            return
        yield number


def _text(said: _Said, numbers: Sequence[int]) -> str:
    """Return the sentences as one line, with an ellipsis for each gap."""
    text, before = "", -1
    for number in numbers:
        sentence = said.sentences[number]
        if number > before + 1:
            text += " … "
        elif number and sentence.line != said.sentences[before].line:
            text += " "
        text += sentence.text
        before = number
    return one_line(text) + (" …" if before + 1 < len(said.sentences) else "")


def agreement(said: str, answer: str) -> str:
    """Return `proposal — “answer”` if the answer accepts the only proposal at the end of `said`,
    the assistant's last message, or selects one of its labelled options; else ''.
    """
    said = one_line(said)
    labels = list(pattern(_LABEL).finditer(said))
    ends = [*(label.start() for label in labels[1:]), len(said)][: len(labels)]
    pairs = zip(labels, ends, strict=True)
    options = {label[1].lower(): said[label.end() : end].strip(" *_—-") for label, end in pairs}
    sentences = [match[0].strip() for match in pattern(_PROPOSED).finditer(said)]
    questions = [sentence for sentence in sentences if sentence.endswith(("?", "？"))]
    proposal = (questions or sentences or [""])[-1]
    content = set(typed.tokens_of(answer)) - typed.assents()
    if len(options) > 1:
        proposal = options.get(_chosen(answer, list(options)), "")
    elif typed.is_assent(answer):
        proposal = "" if pattern(_OR).search(proposal) else proposal
    elif not content - STOPWORDS or not content <= set(typed.tokens_of(proposal)) - negations.ALL:
        return ""
    if not proposal or (len(questions) > 1 and len(options) < 2):
        return ""
    return f"{cut(proposal, MAX_PROPOSAL_CHARS)} — “{cut(one_line(answer), MAX_ANSWER_CHARS)}”"


def _chosen(answer: str, labels: list[str]) -> str:
    """Return the label that an answer selects ("B", "3.", "the second"); '' if it says more."""
    label = pattern(_LABELLED).match(answer)
    labels_named = {label[1].lower()} & set(labels) if label else set()
    tokens = set(typed.tokens_of(answer))
    if tokens - typed.assents() - labels_named - _NAMING:
        return ""
    ordinals = zip(labels, _ORDINALS, strict=False)
    labels_named |= {label for label, words in ordinals if not tokens.isdisjoint(words)}
    return labels_named.pop() if len(labels_named) == 1 else ""
