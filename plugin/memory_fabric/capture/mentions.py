"""Mentions of things in a text: known words, names in code, proper names; no ordinary words.

One pass over the words. Text between backticks is one name; elsewhere a name is known, has the
shape of one in code, or has a capital inside a sentence.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from memory_fabric.language.vocabulary import (
    ORDINARY,
    PATTERN_HEADS,
    PATTERNS,
    TECHNOLOGIES,
    entity_type,
    is_agent,
)
from memory_fabric.patterns import pattern
from memory_fabric.text import STOPWORDS, name_key

MAX_NAME_BYTES = 512
_MAX_MENTIONS = 2000
_LONGEST_NAME_WORDS = 4

_VERBS_AFTER_NAME = frozenset(
    """is uses requires needs was has and over supports for replaces depends enables does can will
    instead handles runs works cannot should must as""".split()
)

_COMPONENT_HEADS = frozenset(
    """endpoint endpoints api apis service services handler handlers route routes page pages
    component components table tables job jobs worker workers queue queues database
    databases db dbs cache store layer pipeline pipelines module modules form forms
    controller controllers webhook webhooks client clients server servers gateway dashboard
    frontend backend app apps cli sdk library libraries schema cluster boundary
    boundaries""".split()
)
_VERBS_OF_PARTS = frozenset("uses depends requires relies needs".split())
_COMPONENT_STARTS = frozenset(("all", "every", "each", "any"))
_VAGUE = STOPWORDS | frozenset(
    """new old other others whole entire existing following first last next different above below
    remaining various several two three many current main single extra additional specific
    certain given actual real right wrong good bad big small future previous own using use
    cross multi full half non inter sub per pre post semi mid self server client real one""".split()
)
# Capitals that name nothing: emphasis, acronyms of the field, labels of a text's parts.
_SHOUTED = frozenset(
    """not never always must only all any every both no yes ok do don't doesn't won't can't cannot
    can will shall should may might is are was were be been and or but if then else when
    before after without with use using keep make run stop new old very really just also too
    more most less same entire whole important critical warning note mandatory required
    optional default""".split()
)
_TRADE_LETTERS = frozenset(
    """api apis cli clis env envs ssl md ui uis ux url urls uri uris id ids uuid uuids ip ips os db
    dbs pr prs mr mrs ci cd
    qa faq faqs rfc adr adrs todo todos fixme wip tbd mvp poc eol eof utf ascii kb mb gb tb
    ms io cpu gpu ram ssd crud dto orm sdk ide gui i ai ml it hr ceo cto am pm utc gmt usa
    eu us uk""".split()
)
_LABELS = frozenset(
    """phase step option task section part chapter figure table user users admin issue ticket
    version stage level case example appendix page question answer round milestone sprint
    epic story monday tuesday wednesday thursday friday saturday sunday january february
    march april may june july august september october november december english german
    french spanish""".split()
)
OPENERS = frozenset(
    """add adopt allow always apply ask avoid build call change check choose chosen commit configure
    consider copy create decided decision default define delete deploy deprecate document
    drop enable ensure every expose fix follow for from generate handle have hide hire if import
    include instead install integrate keep let limit log make mark meet migrate move must name
    never no note only our pass pin place prefer put raise read reject remove rename replace
    require reuse run save see send set show since skip start stick stop store strip support
    switch tell test treat try update upgrade use using validate when while with wrap write
    your""".split()
)
# German nouns begin with capitals, which therefore name nothing.
_GERMAN = frozenset(
    "und der die das nicht für wir mit ist ein eine einen statt auf auch wird".split()
)
_TOOL_VERBS = frozenset("use uses used using via through adopt adopted run runs running to".split())
_AFTER_TOOL = frozenset(
    """for to as instead over and or in on with not rather everywhere because since at by from
    while when here now only""".split()
)
_MAX_PROPER_WORDS = 4
_MAX_SPAN_WORDS = 5
_MAX_SPAN_CHARS = 60
_LITERALS = frozenset("true false null none nil undefined nan yes no ok todo".split())
_FILE_ENDINGS = frozenset(
    """py pyi js jsx mjs cjs ts tsx go rs java kt kts rb php c h cc cpp hpp cs swift scala sql sh
    md mdx json jsonl yaml yml toml ini cfg conf env lock html css scss vue svelte tf proto
    graphql xml db sqlite csv ipynb ps1 bat gradle ex exs lua zig dart""".split()
)


class _Word(NamedTuple):
    text: str
    start: int
    end: int
    key: str
    first: bool  # opens a sentence
    span: int  # the index of its pair of backticks, -1 outside


class Mention(NamedTuple):
    """A name in a text: in our spelling, with its type and position."""

    name: str
    type: str
    start: int
    end: int


def _word_pattern() -> re.Pattern[str]:
    return pattern(r"[^\s,;:!?\"'“”‘’()\[\]{}<>`|*=…。，、：；！？（）「」]+", 0)


def _shape_pattern() -> re.Pattern[str]:
    """Match CamelCase, snake_case, dotted.call and CONSTANT_CASE names, unlike prose."""
    return pattern(
        r"(?:[A-Z][a-z0-9]+){2,8}|[a-z][a-z0-9]*(?:[A-Z][a-z0-9]*){1,8}"
        r"|[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+){1,8}",
        0,
    )


def _span_pattern() -> re.Pattern[str]:
    """Match a name between backticks: a symbol, a path, an option, a short command."""
    return pattern(r"[\w@./~$%:#*+<>\[\]=-]+(?:\(\))?(?: [\w@./~$%:#*+<>\[\]=-]+)*", 0)


def mentions(text: str, known: Mapping[str, str]) -> list[Mention]:
    """Return the names in a text, in order; `known` maps the `name_key` of entities to names."""
    spans = _spans(text)
    words = _words(text, spans)
    german = len({word.text for word in words} & _GERMAN) > 1
    found: list[Mention] = []
    i = 0
    while i < len(words) and len(found) < _MAX_MENTIONS:
        if words[i].span >= 0:
            mention, used = _span_at(text, words, i, spans, known)
        else:
            mention, used = _prose_at(words, i, known, proper=not german)
        if mention:
            found.append(mention)
        i += used
    return found


def _prose_at(
    words: list[_Word], i: int, known: Mapping[str, str], *, proper: bool
) -> tuple[Mention | None, int]:
    """Return the name that begins at a word of prose, if any, and the words to advance."""
    name, used = _name_at(words, i, known) or _component_at(words, i) or ("", 0)
    if name:
        return _resolved(name, words[i].start, words[i + used - 1].end, known), used
    used = _proper_length(words, i) if proper else 0
    if not used:
        return None, 1
    name = " ".join(word.text for word in words[i : i + used])
    mention = _resolved(name, words[i].start, words[i + used - 1].end, known)
    return mention._replace(type=_proper_type(words, i, used)), used


def _proper_type(words: list[_Word], i: int, used: int) -> str:
    """Return the type of a proper name: people, companies and places are no technologies."""
    from memory_fabric.language.proper_names import kind_of  # late: few texts have such names

    run = [word.text for word in words[i : i + used]]
    known = entity_type(" ".join(run))
    if known or run[-1].lower() in _COMPONENT_HEADS:
        return known or "component"
    before = [] if words[i].first else [word.text.lower() for word in words[max(0, i - 3) : i]]
    after = words[i + used].text.lower() if i + used < len(words) else ""
    return kind_of(run, before[::-1], after) or "technology"


def _span_at(
    text: str,
    words: list[_Word],
    i: int,
    spans: list[tuple[int, int]],
    known: Mapping[str, str],
) -> tuple[Mention | None, int]:
    """Return the name between the backticks around word `i`, and the number of its words."""
    start, end = spans[words[i].span]
    used = sum(1 for word in words[i : i + _MAX_SPAN_WORDS + 1] if word.span == words[i].span)
    inside = text[start:end].strip()
    name = known.get(name_key(inside)) or TECHNOLOGIES.get(name_key(inside))
    if name or _is_span_name(inside, used):
        name = name or inside.removesuffix("()")
        mention = _resolved(name, start, end, known)
        return mention._replace(type="tool") if " " in name else mention, used
    return None, used


def _is_span_name(inside: str, used: int) -> bool:
    """Return True if text between backticks is a name: of code, a file, an option, a command."""
    if not 2 <= len(inside) <= _MAX_SPAN_CHARS or used > _MAX_SPAN_WORDS:
        return False
    if (
        "://" in inside
        or "[redacted" in inside
        or not inside.isascii()
        or inside.lower() in _LITERALS
    ):
        return False
    if not any(c.isalpha() for c in inside) or not _span_pattern().fullmatch(inside):
        return False
    parts = inside.lower().split()
    return len(parts) == 1 or not any(part in STOPWORDS for part in parts[:2])


def _spans(text: str) -> list[tuple[int, int]]:
    """Return the spans between two backticks of one line, in order."""
    found = []
    for line in pattern(r"[^\n]+", 0).finditer(text):
        marks = [line.start() + place for place, c in enumerate(line.group()) if c == "`"]
        found += [(marks[k] + 1, marks[k + 1]) for k in range(0, len(marks) - 1, 2)]
    return found


def _words(text: str, spans: list[tuple[int, int]]) -> list[_Word]:
    """Return the words with their positions, without full stops and slashes at their ends."""
    words: list[_Word] = []
    end = place = 0
    for match in _word_pattern().finditer(text):
        word = match.group().rstrip(".-/&—–")
        gap = text[end : match.start()]
        while place < len(spans) and spans[place][1] <= match.start():
            place += 1
        inside = place < len(spans) and spans[place][0] <= match.start()
        first = not words or text[words[-1].end : words[-1].end + 1] in (".", "!", "?")
        first = first or any(sign in gap for sign in '\n:;(.!?"')
        end = match.end()
        if word and text[match.end() : match.end() + 3] != "://":
            words.append(
                _Word(
                    word, match.start(), match.start() + len(word), name_key(word), first,
                    place if inside else -1,
                )
            )  # fmt: skip
    return words


def _name_at(words: list[_Word], i: int, known: Mapping[str, str]) -> tuple[str, int] | None:
    """Return the longest known name that begins at word `i`, and the number of its words."""
    run = _run(words, i)
    for used in range(len(run), 1, -1):
        if all(word.text.lower() in STOPWORDS for word in run[:used]):
            continue  # "I am" is no IAM
        key = "".join(word.key for word in run[:used])
        name = known.get(key) or TECHNOLOGIES.get(key) or PATTERNS.get(key)
        if name:
            return name, used
    return _based(run) or _single(words, i, known)


def _run(words: list[_Word], i: int) -> list[_Word]:
    """Return up to four neighbouring words from `i`, each separated by one space."""
    run = [words[i]]
    for word in words[i + 1 : i + _LONGEST_NAME_WORDS]:
        if word.start != run[-1].end + 1 or word.first or word.span != run[0].span:
            break
        run.append(word)
    return run


def _proper_length(words: list[_Word], i: int) -> int:
    """Return the number of words from `i` that are one proper name; 0 if none begins here."""
    run = [words[i]] if _is_capital(words[i]) else []
    for word in words[i + 1 : i + _MAX_PROPER_WORDS] if run else ():
        beside = word.start == run[-1].end + 1 and not word.first and word.span < 0
        if not beside or not (_is_capital(word) or word.text in ("ID", "API", "UI", "DB", "CI")):
            break
        run.append(word)
    if not run or (run[0].first and len(run) > 1 and _opens(run)):
        return 0
    if run[0].first and len(run) < 2 and not _is_person(run[0].text):
        return 0
    return 0 if _is_title(words, i) else len(run)


def _is_person(word: str) -> bool:
    from memory_fabric.language.proper_names import GIVEN  # late: few texts have such names

    return word.lower() in GIVEN


def _opens(run: list[_Word]) -> bool:
    """Return True if a capital only begins a sentence: "Use Redis", "Usamos Redis"."""
    word = run[0].text
    return word.lower() in OPENERS or word.endswith("ing") or run[1].key in TECHNOLOGIES


def _is_capital(word: _Word) -> bool:
    """Return True for a word written as a name, unless its capitals are only emphasis."""
    text, lower = word.text, word.text.lower()
    if not text[0].isupper() or not text.isascii() or len(text) < 2 or text[-1] == "'":
        return False
    if (
        lower in STOPWORDS
        or lower in _LABELS
        or lower.removesuffix("s") in _LABELS
        or (text.isupper() and lower in _SHOUTED)
    ):
        return False
    if lower.removesuffix("s") in _TRADE_LETTERS or lower in _TRADE_LETTERS:
        return False
    return text.replace("-", "").replace(".", "").isalnum()


def _is_title(words: list[_Word], i: int) -> bool:
    """Return True if the line is written in capitals as titles are."""
    start = end = i
    while start > 0 and not words[start].first:
        start -= 1
    while end + 1 < len(words) and not words[end + 1].first:
        end += 1
    around = [w for w in words[start : end + 1] if w.span < 0 and w.text[0].isalpha()]
    capitals = sum(1 for w in around if w.text[0].isupper())
    return len(around) > 3 and capitals * 5 > len(around) * 3


def _based(run: list[_Word]) -> tuple[str, int] | None:
    """Return the pattern in words such as `token-based pagination`: token-pagination."""
    if len(run) > 1 and run[0].key.endswith("based") and run[1].key in PATTERN_HEADS:
        stem = run[0].text.lower().removesuffix("based").rstrip("-_")
        if stem and stem.replace("-", "").isalnum():
            return f"{stem}-{run[1].text.lower()}", 2
    return None


def _single(words: list[_Word], i: int, known: Mapping[str, str]) -> tuple[str, int] | None:
    word = words[i]
    text, key = word.text, word.key
    if key in known and (len(key) > 3 or text == known[key]) and key not in STOPWORDS:
        return known[key], 1
    if is_agent(text):
        return text, 1
    name = TECHNOLOGIES.get(key) or PATTERNS.get(key)
    if name:
        return (name, 1) if key not in ORDINARY or _meant_as_name(words, i, name) else None
    if "-" in text and text.islower() and _is_made_name(text):
        return text, 1
    return (text.removesuffix("()"), 1) if _is_identifier(text) else None


def _is_made_name(name: str) -> bool:
    """Return True for a hyphenated pattern or component: `token-caching`, `billing-service`."""
    first, _, rest = name.partition("-")
    head = rest.rpartition("-")[2]
    if head not in PATTERN_HEADS and head not in _COMPONENT_HEADS:
        return False
    return len(first) > 2 and first not in _VAGUE and name.replace("-", "").isalnum()


def _meant_as_name(words: list[_Word], i: int, name: str) -> bool:
    """Return True if an ordinary word is written as a name, not only at the start of a sentence."""
    word = words[i]
    if name.isupper() and word.text == name:
        return True
    follower = words[i + 1].text.lower() if i + 1 < len(words) else "is"
    if word.text.islower() and i and not name.isupper():
        # "Use poetry for dependencies": the object of "use", if no noun follows.
        ends = i + 1 == len(words) or words[i + 1].first or follower in _AFTER_TOOL
        return words[i - 1].text.lower() in _TOOL_VERBS - {"to"} and ends and not word.first
    if name.isupper() or not word.text[0].isupper():
        return False
    return not word.first or follower in _VERBS_AFTER_NAME


def _is_identifier(text: str) -> bool:
    """Return True for a file, a folder, an option, or a word shaped like a name in code."""
    text = text.removesuffix("()")
    if not 2 < len(text) <= 80 or "//" in text or not text.isascii():
        return False
    stem, dot, ending = text.rpartition(".")
    if dot and ending in _FILE_ENDINGS and stem.strip("./") and not stem.endswith("e.g"):
        return True
    if text.startswith("--"):
        return text[2:3].isalpha() and text[2:].replace("-", "").isalnum()
    if text[0] in "./~" and text.lstrip("./~")[:1].isalpha():
        return "/" in text or (text[0] == "." and text[1:].islower() and len(text) > 4)
    return text[0].isalpha() and bool(_shape_pattern().fullmatch(text))


def _component_at(words: list[_Word], i: int) -> tuple[str, int] | None:
    """Return the component in `all list endpoints` or `for the analytics DB`, and its words."""
    opener = words[i].text.lower()
    # The opening word is one before, so that the mention itself begins at its first modifier.
    if i == 0 or opener in _VAGUE or opener in _COMPONENT_HEADS or not opener.isalpha():
        return None
    before = words[i - 1].text.lower()
    prior = words[i - 2].text.lower() if i > 1 else ""
    if before not in _COMPONENT_STARTS and before not in ("the", "our"):
        return None
    run = _run(words, i)
    for used in range(2, min(len(run), 3) + 1):
        parts = [word.text.lower() for word in run[:used]]
        if parts[-1] not in _COMPONENT_HEADS:
            continue
        follower = run[used].text.lower() if used < len(run) else ""
        told = (
            before in _COMPONENT_STARTS
            or prior in ("for", "in", "on", "across")
            or follower in _VERBS_OF_PARTS
        )
        fit = all(part.isalpha() and part not in _VAGUE for part in parts)
        return ("-".join(parts), used) if told and fit else None
    return None


def _resolved(name: str, start: int, end: int, known: Mapping[str, str]) -> Mention:
    kind = entity_type(name) or "component"
    name = known.get(name_key(name), name)
    return Mention(_within_bytes(name), kind, start, end)


def _within_bytes(name: str) -> str:
    return name.encode("utf-8", "replace")[:MAX_NAME_BYTES].decode("utf-8", "ignore")
