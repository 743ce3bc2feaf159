"""Extraction of entities and relations from a text (BR-7, BR-11, BR-16), without guesses.

One pass over the words finds mentions; a relation is read only from the words between two
neighbouring mentions of one sentence. An ordinary word never becomes an entity.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import pairwise

from memory_fabric.capture.mentions import Mention, mentions
from memory_fabric.capture.parts import BACKWARD, FORWARD, related_parts
from memory_fabric.capture.polarity import clause_around, is_denied, is_left
from memory_fabric.language.function_words import FUNCTION_WORDS
from memory_fabric.models import Entity, Relation
from memory_fabric.patterns import pattern
from memory_fabric.text import STOPWORDS, name_key, words

MAX_CHARS = 65536
MAX_BESIDE_CHARS = 80

# Sentences with these words count although they leave something behind.
_OF_DEPARTURES = frozenset(("replaces", "chose_over"))
_COMPARED = frozenset((", not", "and not", ", never", ", and not", "not"))
_LIST_WORDS = frozenset(("and", "or", "as well as", "and also", "plus", ""))
_LISTED = frozenset("uses requires depends_on recommends enables prefers chose_over".split())
_FILLERS = frozenset(
    """the a an our its their now also always still already currently then all any every each both
    only just simply mainly primarily""".split()
)
_PREFERRED = frozenset("prefer prefers preferred preferring".split())
_MOVE_WORDS = frozenset(
    """move moved moving moves switch switched switching migrate migrated migrating migrates change
    changed changing port ported went""".split()
)
_REPLACE_WORDS = frozenset("replace replaced replacing replaces swap swapped swapping".split())
# What is only supposed: no comma ends the condition before the name.
_SUPPOSED = (
    r"\b(?:if|unless|whether|maybe|perhaps|suppose|in case|wenn|falls|ob|vielleicht)\b[^,]*$"
)
# What is only considered, or said of others, before a name.
_UNSETTLED = (
    r"\b(?:if|unless|whether|maybe|perhaps|suppose|in case|before|until|when(?:ever)?|once|might|"
    r"may|can|could|would|consider\w*|try|trying|tried|evaluat\w+|compar\w+|ask|who|people|those|"
    r"wenn|falls|ob|bevor|bis|sobald|könnte\w*|würde\w*|si|cuando|antes|podría\w*|quand|avant|"
    r"pourrai\w*|se|quando|poderia\w*|если|когда|пока)\b[^,;:]*$"
)
# Words that end an object; articles and the like may stand between a verb and its object.
_ENDING = (
    STOPWORDS
    | FUNCTION_WORDS
    | frozenset("across everywhere instead per rather since today via without".split())
)
_ARTICLES = frozenset(
    """the a an our its their only just both das den dem der die ein eine einen la las los el un una
    le les une o os um uma""".split()
)
MAX_MODIFIERS = 3
# Behind an object: a noun for its kind is no other thing, as in "the Docker images" one is.
_KINDS = frozenset(
    "framework library database server client engine stack platform language".split()
)
# Verbs that choose the object right behind them.
_CHOOSING = (
    r"\b(?:use|uses|used|using|utili[sz]e[sd]?|adopt(?:ed|s|ing)?|ch(?:oose|ooses|ose|osen)|"
    r"pick(?:ed|s)?|select(?:ed|s)?|takes?|took|keep|keeps|kept|prefer(?:s|red)?|favou?r(?:ed)?|"
    r"(?:go|goes|going|went) (?:with|for)|(?:stay|stays|staying|stayed|stick|sticks|sticking|"
    r"stuck) (?:with|to|on)|settled? (?:on|for)|opt(?:ed)? for|decided? (?:on|for)|"
    r"standardi[sz]e[sd]? on|rel(?:y|ies) on|build (?:on|with)|"
    r"(?:built|written|implemented|stored|kept|saved|held|hosted|deployed|drawn|rendered|served|"
    r"managed|formatted|linted|tested|cached|queued|sent|hashed|encrypted|parsed|validated|tracked|"
    r"logged|handled|done) (?:in|on|with|by|through|via|to)|"
    r"nehmen|nimm|verwende[nt]?|(?:be)?nutz(?:e|en|t)|wähle?n?|setzen auf|bleiben bei|"
    r"us(?:ar|a|amos|aremos|ará|e)|utili[sz](?:ar|amos|aremos|a|ons|er|e|erons)|"
    r"eleg(?:imos|ido|ir)|adopta(?:mos|r)|optamos por|nos quedamos con|"
    r"pren(?:d|ons|drons)|chois(?:i|ir|issons)|adopt(?:ons|er|é)|opt(?:é|ons) pour|gard(?:ons|er)|"
    r"escolh(?:emos|er|ido)|adota(?:mos|r)|ficamos com|"
    r"использу(?:ем|й|йте|ется)|выбра(?:ли|н)|бер[её]м|оста[её]мся на)\s+"
)
_CHOICE = rf"{_CHOOSING}|\b(?:decided|going|recommend\w*)\b"
# Verbs that leave one thing for the object.
_MOVING = (
    r"\b(?:(?:switch|mov|migrat|chang|convert|port|transition|upgrad)\w* (?:\S+ ){0,5}?to|"
    r"(?:replac|swap)\w* (?:\S+ ){1,5}?(?:with|by|for)|wechseln (?:\S+ ){0,4}?zu|"
    r"(?:migr|cambi|mud|pas)(?:amos|aremos|ons|ar|er) (?:\S+ ){0,4}?(?:a|à|para)|"
    r"(?:переходим|перешли) (?:с \S+ )?на)\s+"
)
# Other ways of choosing a name, which stands at the sign: it opens the text before a purpose or a
# service, or is the subject of a passive; in German and scripts without spaces verbs come last.
_AT = "\0"
_AROUND = (
    r"^[`\"“*]*\0(?:\s*$|,? (?:for|instead of|rather than|over|not|statt|für|para|pour|em vez de|"
    r"en vez de)\b| (?:holds|stores|keeps|serves|handles|carries|hosts|powers|caches) "
    r"(?!its\b|up\b))|"
    r"\0 (?:is|was|are|were|has been|will be) (?:now |still )?"
    r"(?:used|chosen|picked|selected|adopted|kept)\b|"
    r"\b(?:für|auf|zu) (?:(?:das|die|den|der|dem) )?[`\"]?\0[^,;.]*"
    r"\b(?:entschieden|entscheiden|umgestellt|umsteigen|gewechselt|gesetzt|geeinigt)\b|"
    r"(?:使用|采用|採用|选择了?|选用|选定|改用|沿用|用|换成|换到|切换到|迁移到|转向)\s?[「『“`]?\0|"
    r"\0[」』”`]?\s?(?:[をにへ]\s?(?:使|利用|採用|選|移行|決|切り替え)|"
    r"(?:을|를|로|으로)\s?(?:\S+\s)?(?:사용|선택|채택|전환|쓰|쓴|결정|도입|이전))"
)


def extract(
    text: str, *, known: Mapping[str, str] = {}
) -> tuple[tuple[Entity, ...], tuple[Relation, ...]]:
    """Return the entities in a text and their relations, in order, each once.

    `known` maps the `name_key` of existing entities to their names, so that a variant resolves to
    the existing entity. Reads 64 KB at most.
    """
    text = text[:MAX_CHARS]
    named = mentions(text, known)
    parts = related_parts(text, named, known)
    found = sorted([*named, *parts], key=lambda mention: mention.start)
    relations = tuple(dict.fromkeys(_relations(text, found)))
    related = {name for relation in relations for name in (relation.source, relation.target)}
    entities: dict[str, Entity] = {}
    for mention in found:
        # A part that nothing relates may be any words.
        if mention not in parts or mention.name in related:
            entities.setdefault(mention.name, Entity(mention.name, mention.type))
    return tuple(entities.values()), relations


def chosen(text: str, names: Collection[str]) -> str:
    """Return the first of these names that a verb of the text chooses; '' for none.

    Most decisions name things that were not chosen in them: "We wait with Kubernetes".
    """
    for mention in mentions(text, {name_key(name): name for name in names}):
        if mention.name in names and _is_chosen(text, mention):
            return mention.name
    return ""


def _is_chosen(text: str, mention: Mention) -> bool:
    before, behind = _before(text, mention), text[mention.end :][:MAX_BESIDE_CHARS]
    clause = clause_around(text, mention.start, mention.end)
    if is_denied(clause) or _is_asked(text, mention.end) or pattern(_UNSETTLED).search(before):
        return False
    if _governs(_MOVING, before, behind):
        return True
    if is_left(clause):
        return False
    is_around = pattern(_AROUND).search(f"{before}{_AT}{behind}")
    return bool(is_around) or _governs(_CHOOSING, before, behind)


def _governs(verbs: str, before: str, behind: str) -> bool:
    """Return True if the last of these verbs has what stands between the two as its object."""
    ends = [match.end() for match in pattern(verbs).finditer(before)]
    between = words(before[ends[-1] :]) if ends else list(_ENDING)
    if len(between) > MAX_MODIFIERS or any(w in _ENDING and w not in _ARTICLES for w in between):
        return False
    following = behind.lstrip('`"”*')
    if following[:1] != " " or following[1:2] in "-–—(":
        return True
    first = [word for word in words(following)[:2] if word not in _KINDS][:1]
    return not first or first[0] in _ENDING or first[0].isdigit()


def _relations(text: str, found: list[Mention]) -> Iterator[Relation]:
    last: Relation | None = None
    for left, right in pairwise(found):
        if left.name == right.name or _is_asked(text, right.end):
            last = None
            continue
        before, last = last, _between(text, left, right, last)
        if not last or not _is_meant(text, left, right, last):
            continue
        yield last
        if last.type == "used_for" and last.source != left.name and before:
            yield Relation(left.name, "rejected_for", last.target)  # "X instead of Y for Z"


def _is_meant(text: str, left: Mention, right: Mention, relation: Relation) -> bool:
    """Return True if the clause states the relation, and not its reverse or a condition."""
    clause = clause_around(text, left.start, right.end)
    if is_denied(clause) or pattern(_SUPPOSED).search(_before(text, left)):
        return False
    return relation.type in _OF_DEPARTURES or not is_left(clause)


def _between(text: str, left: Mention, right: Mention, last: Relation | None) -> Relation | None:
    gap = text[left.end : right.start]
    if len(gap) > 60:
        return None
    gap = gap.replace("`", "").replace("*", "")
    if last and last.target == left.name and last.type in _LISTED and _is_list(gap):
        return Relation(last.source, last.type, right.name) if last.source != right.name else None
    if last and last.type == "chose_over" and gap.startswith(", for"):
        gap = gap[1:]
    if gap.strip().lower() in _COMPARED and pattern(_CHOICE).search(_before(text, left)):
        return Relation(left.name, "chose_over", right.name)
    phrase = _phrase(gap)
    if phrase in BACKWARD:
        return Relation(right.name, BACKWARD[phrase], left.name)
    if phrase in ("with", "to") and _swapped(text, left, phrase):
        return Relation(right.name, "replaces", left.name)
    if phrase == "to" and _PREFERRED & set(_words_before(text, left, 6)):
        return Relation(left.name, "chose_over", right.name)
    kind = FORWARD.get(phrase, "")
    if not kind or not _fits(kind, phrase, text, left, right):
        return None
    # "X instead of Y for Z": Z is about X.
    was_declined = last and last.type == "chose_over" and last.target == left.name
    source = last.source if last and was_declined else left.name
    return Relation(source, kind, right.name) if source != right.name else None


def _phrase(gap: str) -> str:
    """Return the words between two mentions without fillers; '' across a clause."""
    if any(sign in gap for sign in '.,;:!?()\n"|—'):
        return ""
    return " ".join(word for word in gap.lower().split() if word not in _FILLERS)


def _is_list(gap: str) -> bool:
    return " ".join(gap.replace(",", " ").lower().split()) in _LIST_WORDS


def _fits(kind: str, phrase: str, text: str, left: Mention, right: Mention) -> bool:
    if phrase == "for":
        return left.type in ("technology", "pattern") and right.type != "agent"
    if phrase == "over":
        return bool(pattern(_CHOICE).search(_before(text, left)))
    if kind in ("chose", "prefers", "recommends") or phrase == "used":
        return left.type in ("agent", "component", "technology")
    return True


def _swapped(text: str, left: Mention, phrase: str) -> bool:
    """Return True if the words before are "replaced X with" or "moved from X to"."""
    before = [word for word in _words_before(text, left, 6) if word not in _FILLERS]
    if phrase == "with":
        return bool(before) and before[-1] in _REPLACE_WORDS
    return bool(before) and before[-1] == "from" and bool(_MOVE_WORDS & set(before))


def _words_before(text: str, mention: Mention, count: int) -> list[str]:
    """Return the last words before a mention within its sentence, lower case."""
    return [word.strip("`*,:\"'(").lower() for word in _before(text, mention).split()][-count:]


def _before(text: str, mention: Mention) -> str:
    """Return what stands before a mention within its sentence; 80 characters are read."""
    head = text[max(0, mention.start - MAX_BESIDE_CHARS) : mention.start]
    for stop in (". ", "! ", "? ", "\n", "; "):
        head = head.rpartition(stop)[2]
    return head


def _is_asked(text: str, place: int) -> bool:
    """Return True if the sentence at `place` ends with a question mark within 300 characters."""
    for character in text[place : place + 300]:
        if character in "?？":
            return True
        if character in "!\n。！":
            return False
    return False
