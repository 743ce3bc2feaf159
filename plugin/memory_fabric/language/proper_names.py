"""Names of people, companies and places, words that reveal a name's kind, and ordinary words."""

from collections.abc import Sequence

from memory_fabric.language.word_lists import sections, words

_FILE = "proper_names"
# Company name endings such as "Inc", in their usual capitalisation.
SUFFIXES = words(_FILE, "company endings")
COMPANY_CUES, PERSON_CUES = words(_FILE, "company cues"), words(_FILE, "person cues")
SAYING = words(_FILE, "saying")
GIVEN = words(_FILE, "given names")
# Given names that are also ordinary words: they count as names only in a fitting context.
AMBIGUOUS = words(_FILE, "given names that are words")
PLACES = words(_FILE, "places")
LONG_PLACES = frozenset(sections(_FILE)["places of several words"])


def kind_of(name: Sequence[str], before: Sequence[str], after: str) -> str:
    """Return a name's kind, judging by nearby words: `person`, `organisation`, `place` or ''."""
    lower = [word.lower() for word in name]
    cue = before[0] if before else ""
    if lower[0] in PLACES or " ".join(lower[:2]) in LONG_PLACES:
        return "place"
    if len(name) > 1 and name[-1].rstrip(".") in SUFFIXES:
        return "organisation"
    if lower[0].split("-")[0] in GIVEN:
        return "person"
    if cue in COMPANY_CUES or cue == "at":
        return "organisation"
    is_called = cue in PERSON_CUES - {"by"} or (after in SAYING and not name[0].isupper())
    return "person" if is_called else ""


def is_ordinary(word: str) -> bool:
    """Return True if a word is ordinary, or is a plural or verb form of an ordinary word."""
    return any(
        word.endswith(ending) and word[: len(word) - len(ending)] in words("ordinary_words")
        for ending in ("", "s", "es", "d", "ed", "ing")
    )
