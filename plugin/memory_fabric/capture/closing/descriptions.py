"""What an older sentence describes as chosen: "arguments are parsed with argparse".

Asked for one name only, the one that a newer sentence leaves behind: where it stands tells whether
it is what the sentence chose, or only something that it speaks of ("is blocked by Redis").
"""

from __future__ import annotations

from memory_fabric.capture.closing.wording import KINDS, content_stems, key_of
from memory_fabric.capture.extract import extract
from memory_fabric.language.patterns import pattern
from memory_fabric.language.vocabulary import TECHNOLOGIES
from memory_fabric.text import name_key
from memory_fabric.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_LONGEST_NAME = 4
_DENIED = r"\b(?:not|never|without|no|cannot)\b|n't\b"
_TROUBLE = (
    r"\b(?:block\w*|caus\w+|broken?|break\w*|fail\w*|crash\w*|conflict\w*|slow\w*|problems?|issues?|"
    r"errors?|bugs?|leak\w*|hang\w*|wrong|flaky|missing|incompatible|limit\w*|affected|reject\w*|"
    r"deprecat\w+|removed|dropped|replaced|forbidden|banned|disabled|avoid\w*|confus\w+|reported|"
    r"trouble|considered|evaluated|compared|inspired|differ\w*|question|reason|alternative|"
    r"migrat\w+ from|instead of|rather than|unlike)\b"
)
_PARTICIPLE = (
    r"(?:\w+ed|\w+en|\w+wn|kept|built|run|held|sent|done|made|set|put|read|bound|fed|found|cut|"
    r"split|bought|taught|shot|lit|typeset|kept|stored)"
)
_VERB = (
    r"(?:li(?:ve|e)|run|go|com|sit|flow|build|bundle|write|test|render|ship|deploy|log|parse|format|"
    r"store|keep|cache|serve|send|lint|compile|sign|publish|monitor|trace|track|manage|generate|"
    r"draw|talk|authenticate|host|happen|work|cut|handle|schedule|queue|search|index|load|fetch|"
    r"check|validate|map|mock|migrate|depend|rel(?:y|ie)|pass|us|stream|post|push|pull|plot|draft|"
    r"speak|connect|style|translate|animate|paginate|localize|encrypt|hash|measure|report|alert|"
    r"release|package|provision|orchestrate|scrape|crawl|model|type|document)e?s?"
)
_BY = (
    r"(?:with|by|in|on|through|via|using|from|to|as|at|inside|into|onto|over|under|against|behind)"
)
_MIDDLE = r"(?: [\w'’-]+){0,6}?"
_ARTICLES = r"(?:\b(?:the|our|a|an|plain|managed|self-hosted|hosted|local|standard|one|own) )+$"
# What may stand before the name, in one clause, so that the name is what was chosen.
_CHOSEN_AFTER = (
    rf"(?P<subject>.*?)\b(?:is|are|be|gets?|being|was|were)(?: \w+ly| all| now| still| always| "
    rf"only){{0,2}} (?:{_PARTICIPLE}|done){_MIDDLE} {_BY} $",
    rf"(?P<subject>.*?)\b{_VERB}\b{_MIDDLE} {_BY} $",
    r"(?P<subject>[^,;:]{2,60}?) (?:is|are|stays?|remains?|uses?)(?: now| still| always| just| "
    r"only)? $",
    r"(?P<subject>[\w /-]{2,40}): $",
)  # fmt: skip
_DOES = (
    r"\A (?:serve|handle|manage|render|hold|store|keep|run|build|parse|generate|format|do|bundle|"
    r"provide|power|drive|host|deliver|send|cache|indexe?|back|sign|check|lint|test|translate|"
    r"route|track|collect|lock|map|queue|schedule|compile|deploy|publish)(?:s|es)?"
    r" (?!out\b|in\b|on\b|into\b|up\b|slow\b|well\b|\w+ly\b|\w+ing\b)(?P<object>[^,;:.]+)"
)
_ROLE = r"\A(?: \d\S*)? as (?:the |our |a |an )?(?P<role>[\w-]+(?: [\w-]+)?)"
_HEADS = (
    r"(?: (?:databases?|db|server|cluster|store|instance|library|framework|package|service|files?|"
    r"format|syntax|workflows?|pipelines?|charts|templates|mappings|modules?))?"
)
_AFTER = (
    rf"\A(?: v?\d[\w.]*)?{_HEADS}(?=$|[,;:!?()]|\.(?:\s|$)| (?:for|in|on|as|with|at|to|from|of|by|"
    r"through|via|since|because|when|where|behind|under|inside|over|so|now|only|until|during|per|"
    r"everywhere|today|plus|and (?:is|are|has|have)|—|-)\b| — | - )"
)
_LISTED = r"\A(?: \S+)?(?: and| or| &|,) (?P<next>[\w.+#-]+)"
_FOR = r"\bfor (?P<purpose>[^,;:.]+)"


class Description(Value):
    """What a name was chosen for: stems of all that is said, of the thing itself, and whether that
    is many things, of which a part may be moved; `role` where it is beside another ("with X as Y").
    """

    use: frozenset[str]
    thing: frozenset[str] = frozenset()
    many: bool = False
    role: bool = False


def described(
    text: str, gone: Sequence[frozenset[str]], entities: Sequence[str] = ()
) -> Description | None:
    """What a sentence (one line) chose one of the names for; nothing where it did not choose it.

    `entities` are names of the technologies and tools that the record was stored with, in order.
    """
    if pattern(_DENIED).search(text) or pattern(_TROUBLE).search(text):
        return None
    keys = frozenset(key for one in gone for key in one)
    strong = bool(entities) and key_of(entities[0]) in keys
    for start, end in _places(text, keys):
        found = _at(text, start, end, strong=strong)
        if found:
            return found
    return None


def _places(text: str, keys: frozenset[str]) -> list[tuple[int, int]]:
    """Where one of the names stands, the longest first at each place."""
    tokens = [m.span() for m in pattern(r"(?:[^\s,;:!?().]|\.(?=\w))+").finditer(text)]
    found = []
    for i, (start, _) in enumerate(tokens):
        for last in range(min(len(tokens), i + _LONGEST_NAME) - 1, i - 1, -1):
            if key_of(text[start : tokens[last][1]]) in keys:
                found.append((start, tokens[last][1]))
                break
    return found


def _at(text: str, start: int, end: int, *, strong: bool) -> Description | None:
    behind = text[end:]
    before = pattern(_ARTICLES).sub("", text[:start])
    role = pattern(_ROLE).match(behind)
    if role and pattern(r"(?:with|on|has|have|uses?|,|and) $").search(before):
        stems = content_stems(role["role"])
        return Description(stems, stems, role=True) if stems else None
    if not before:
        return _first(behind)
    if not (pattern(_AFTER).match(behind) or strong) or _is_one_of_several(before, behind):
        return None
    for expression in _CHOSEN_AFTER:
        match = pattern(expression).match(before)
        if match and not _names(before[match.end("subject") :]):
            return _description(match["subject"], before, behind)
    return None


def _first(behind: str) -> Description | None:
    """The name opens the sentence: what it does is what it was chosen for."""
    does = pattern(_DOES).match(behind)
    return _description(does["object"], behind, "") if does else None


def _is_one_of_several(before: str, behind: str) -> bool:
    after = pattern(_LISTED).match(behind)
    listed = after and (name_key(after["next"]) in TECHNOLOGIES or after["next"][:1].isupper())
    return bool(listed) or bool(pattern(r"(?: and| or| &|,) $").search(before))


def _names(text: str) -> bool:
    return any(entity.type in KINDS for entity in extract(text)[0])


def _description(subject: str, before: str, behind: str) -> Description:
    purpose = pattern(_FOR).search(behind)
    told = f" {purpose['purpose']}" if purpose else ""
    thing = content_stems(subject + told)
    heads = subject.split()
    last = heads[-1].lower() if heads else ""
    many = last.endswith("s") and not last.endswith(("ss", "is", "us"))
    return Description(content_stems(before + told), thing, many)
