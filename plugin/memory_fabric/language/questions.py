"""Recognise what a prompt asks for: earlier conversations, help, a person, a number, a time. A
prompt that only mentions a past time ("the deployment of yesterday fails") does not ask for earlier
conversations. In languages with spaces, phrases match only whole words; in others, anywhere. A
prompt can also ask where the last session ended ("where were we") or, as the first of its session,
continue the work ("continue"). A memory is an answer only if it has a word of the requested kind.
"""

from collections.abc import Iterable
from functools import cache

from memory_fabric.language import word_lists
from memory_fabric.language.vocabulary import TECHNOLOGIES
from memory_fabric.patterns import pattern
from memory_fabric.text import cjk_pairs, is_file, name_key, without_files, words

# A prompt longer than HEAD_CHARS + TAIL_CHARS is examined only at its beginning and at its end.
HEAD_CHARS, TAIL_CHARS = 1200, 800
RESUMED_CHARS = 160  # the maximum length of a prompt for continuing earlier work
_LANGUAGES = "english german french spanish italian portuguese dutch polish russian turkish".split()
_SPACELESS = "scripts without spaces"
PERSON, NUMBER, TIME = "person", "number", "time"
MAX_KIND_CHARS = 240  # longer prompts are assumed to ask for several things
_PERSON_WORDS = frozenset("who whom whose".split())
_AMOUNTS = frozenset("many much often long big large old fast".split())
_AUXILIARIES = frozenset("do does did will is are was were should can".split())
# Patterns of questions about the assistant's earlier statements.
_ASSISTANTS = (
    r"\bdid you (?:\w+ )?(?:recommend|suggest|propose|advise|say|tell|list|give|write|mention|"
    r"explain|describe|show|make)\b|\byou(?:['’]ve| have| had)? (?:\w+ly |just )?(?:(?:recommend|"
    r"suggest|propos|advis|list|mention|explain|describ|provid)ed|said|told|gave|given|wrote)\b|"
    r"\byour (?:\w+ )?(?:recommendation|suggestion|proposal|advice|answer|explanation)s?\b|"
    r"\b(?:hast du|haben sie) .{0,60}(?:empfohlen|vorgeschlagen|gesagt|geraten)\b|"
    r"\b(?:recomendaste|sugeriste|dijiste|propusiste|você (?:recomendou|sugeriu|disse))\b|"
    r"\b(?:tu m['’]as|avez-vous|as-tu) (?:recommandé|conseillé|dit|proposé|suggéré)\b|"
    r"\bты (?:советовал|рекомендовал|предлагал|сказал)|你(?:之前|上次)?(?:推荐|建议|说过)|"
    r"(?:あなた|君)が(?:勧め|提案|言っ)|(?:추천|제안)(?:해 ?줬|했)"
)


def asked_by(text: str) -> frozenset[str]:
    """Return the words in a prompt that ask for earlier sessions; empty if there are none."""
    spoken: set[str] = set()
    for phrase in _phrases_in(text, _LANGUAGES, _SPACELESS):
        spoken.update(phrase.split())
        if not phrase.isascii():
            spoken.update(cjk_pairs(phrase))
    return frozenset(spoken)


def resumed(text: str, *, is_first: bool) -> str | None:
    """Return the subject of a prompt that resumes earlier work, '' if the prompt names none, or
    None if it does not resume work. A prompt resumes work if it asks where the work ended or, as
    the first prompt of a session, asks to continue ("continue with the importer").
    """
    ended = "where the work ended"
    if _phrases_in(text, (ended,), f"{ended}, without spaces"):
        return ""
    if not is_first or len(text) > RESUMED_CHARS:
        return None
    lists = word_lists.sections("past_talk")
    courtesies = word_lists.words("past_talk", "courtesies")
    for start in lists["going on, without spaces"]:
        if text.lstrip().startswith(start):
            return text.lstrip()[len(start) :].strip(" 。！!.吧")
    spoken = words(text)
    while spoken and spoken[0] in courtesies:
        spoken = spoken[1:]
    starts = [start.split() for start in lists["going on"]]
    lengths = [len(start) for start in starts if spoken[: len(start)] == start]
    if not lengths:
        return None
    return " ".join(word for word in spoken[max(lengths) :] if word not in courtesies)


@cache
def _phrases(*names: str) -> dict[str, list[str]]:
    phrases: dict[str, list[str]] = {}
    for name in names:
        for phrase in word_lists.sections("past_talk")[name]:
            phrases.setdefault(phrase.partition(" ")[0], []).append(phrase)
    return phrases


def _phrases_in(text: str, names: Iterable[str], without_spaces: str) -> list[str]:
    """Return the phrases of these sections that a prompt contains, outside code and file names."""
    if len(text) > HEAD_CHARS + TAIL_CHARS:
        text = f"{text[:HEAD_CHARS]} {text[-TAIL_CHARS:]}"
    text = " ".join(text.split("`")[::2]) if text.count("`") % 2 == 0 else text
    phrases, spaceless = _phrases(*names), word_lists.sections("past_talk")[without_spaces]
    present = [] if text.isascii() else [phrase for phrase in spaceless if phrase in text]
    if phrases.keys().isdisjoint(words(text)):
        return present
    tokens = [(token, at) for at, token in enumerate(text.split()) if not is_file(token)]
    numbered = [(word, at) for token, at in tokens for word in words(token)]
    for at, (word, number) in enumerate(numbered):
        for phrase in phrases.get(word, ()):
            parts = phrase.split()
            spoken = numbered[at : at + len(parts)]
            # The words must come from several tokens: `prior-chat` is not the phrase "prior chat".
            is_phrase = len(parts) == 1 or spoken[-1][1] > number
            if is_phrase and [word for word, _ in spoken] == parts:
                present.append(phrase)
    return present


def asks_for_the_assistant(text: str) -> bool:
    """Return True if a question is about an assistant's statement: "what did you recommend?"."""
    return len(text) <= HEAD_CHARS and bool(pattern(_ASSISTANTS).search(text))


def reports_trouble(text: str) -> bool:
    """Return True if a text reports a failure or asks for its cause, so that a fix may help."""
    trouble = word_lists.words("trouble", "english", "other languages")
    if not trouble.isdisjoint(words(without_files(text))):
        return True
    phrases = word_lists.sections("trouble")[_SPACELESS]
    return not text.isascii() and any(phrase in text for phrase in phrases)


def asked_kind(text: str) -> str:
    """Return the kind of answer that a short question asks for (person, number, time), or ''."""
    if len(text) > MAX_KIND_CHARS:
        return ""
    first, second = [*words(without_files(text))[:2], "", ""][:2]
    if first in _PERSON_WORDS:
        return PERSON
    is_of_version = first in ("which", "what") and second in ("version", "versions")
    if is_of_version or (first == "how" and second in _AMOUNTS):
        return NUMBER
    return TIME if first == "when" and second in _AUXILIARIES else ""


def holds(kind: str, text: str, names: Iterable[str] = ()) -> bool:
    """Return True if a text contains an answer of this kind. `names` do not count as persons."""
    if not kind:
        return True
    spoken = words(text)
    if kind == PERSON:
        roles = word_lists.words("answers", "roles")
        things = {part for name in names for part in (name_key(name), *words(name))}
        things.update(word for word in spoken if word in TECHNOLOGIES)
        parts = [part.strip("\"'()[],;:.!?*`") for part in text.split()]
        # A capitalised word within a sentence counts as a person, unless it names a thing.
        return not roles.isdisjoint(spoken) or any(
            part[:1].isupper() and part[1:2].islower() and part[1:].islower()
            for part, last in zip(parts, ["", *text.split()], strict=False)
            if last and last[-1] not in ".!?:" and not {name_key(part), part.lower()} & things
        )
    if any(map(str.isdigit, text)) or not word_lists.words("answers", "numbers").isdisjoint(spoken):
        return True
    from memory_fabric.language.times import CUES  # imported late: few prompts ask for a time

    return kind == TIME and not (CUES | word_lists.words("answers", "times")).isdisjoint(spoken)
