"""Extraction of entities and relations from a text (BR-7, BR-11, BR-16). Nothing is guessed: one
pass over the words finds the names of entities, and a relation is read only from the words between
two neighbouring names in a sentence. An unknown phrase of one to three words, such as "checkout",
becomes an entity only if it is the whole subject or object of a verb.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise

from memory_fabric.capture.clauses import NO_NAME, clause_around, is_denied, is_left
from memory_fabric.capture.mentions import OPENERS, Mention, mentions
from memory_fabric.language.concepts import FUNCTION_WORDS, WEAK
from memory_fabric.language.word_lists import either, sections
from memory_fabric.models import Entity, Relation
from memory_fabric.patterns import pattern
from memory_fabric.text import STOPWORDS, name_key, words

MAX_CHARS, MAX_BESIDE_CHARS = 65536, 80
# The only relations that are read even if the clause rejects or abandons something.
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
# A relation is hypothetical if "if", "maybe" etc. precede its first name with no comma in between.
_SUPPOSED = (
    r"\b(?:if|unless|whether|maybe|perhaps|suppose|in case|wenn|falls|ob|vielleicht)\b[^,]*$"
)
# A name after one of these words is not chosen: it is only considered, or used by other people.
_UNSETTLED = rf"\b(?:{either('extract', 'unsettled')})\b[^,;:]*$"
# An object ends before these words, but may begin with one of `_ARTICLES`: "use the cache for …".
_ENDING = (STOPWORDS | FUNCTION_WORDS).union(
    "across everywhere instead per rather since today via without".split()
)
_ARTICLES = frozenset(
    """the a an our its their only just both das den dem der die ein eine einen la las los el un una
    le les une o os um uma""".split()
)
MAX_MODIFIERS = 3
# Nouns that only classify: "server" in "the Redis server", unlike "images" in "Docker images".
_KINDS = frozenset(
    "framework library database server client engine stack platform language".split()
)
# Verbs that are directly followed by the chosen option, their object: "use X", "pick X".
_CHOOSING = rf"\b(?:{either('extract', 'choosing')})\s+"
_DECIDING = rf"{_CHOOSING}|\b(?:decided|going|recommend\w*)\b"
# Verbs of changing to a technology, which is their object: "switch to X".
_MOVING = rf"\b(?:{either('extract', 'moving')})\s+"
# `_AROUND`: other phrases that choose a name, with `_AT` in place of the name: "Redis for
# sessions", "Redis was chosen". In German, Japanese or Korean, the verb may follow the name.
_AT = "\0"
_AROUND = either("extract", "around").replace("<NAME>", _AT)
# Relations by the words between two names: FORWARD from the first name to the second, or BACKWARD.
FORWARD, BACKWARD = (
    {words: relation for relation, words in (row.split(" = ") for row in sections("extract")[name])}
    for name in ("forwards", "backwards")
)
# Excluded from `_VERB`: prepositions, adjectives ("used"), verbs mostly about people ("we need").
_NO_VERB = frozenset(
    "for over used using required enabled recommended allows need instead rather".split()
)
_VERBAL = [w for w in (*FORWARD, *BACKWARD) if w.split()[0] not in _NO_VERB]
_VERB = "|".join(sorted(_VERBAL, key=len, reverse=True))
# "used for", "used by" and "required by" also count without "is", because notes often omit it.
_VERBS = rf" (?P<verb>(?:(?:now|also|still|only) )?(?:{_VERB}|used for|used by|required by)) "
# Plural verbs: if the word before does not end in "s", they may be imperatives ("please use").
_PLURAL = frozenset("use require need enable prefer depend rely are were".split())
_NAME = r"(?:[A-Za-z][\w-]*)(?: [A-Za-z][\w-]*){0,2}?"
_ARTICLE = r"(?:(?:the|our|a|an|its|their|all|every|each) )?"
_SUBJECT = (
    rf"(?:(?:^|[.;:!?] |, )(?P<article>(?:the|our|a|an|all|every|each) )?|"
    rf"\b(?P<opener>the|our|that|because|since|and) )(?P<name>{_NAME}){_VERBS}"
)
# An object ends at the end of its clause or before a preposition.
_END = (
    r"(?=$|[.,;:!?)]|\n| (?:for|in|on|to|with|by|from|at|as|when|where|because|since|so|and|or|but|"
    r"instead|rather|over|until|unless|if|which|that)\b)"
)
_OBJECT = rf"{_VERBS}{_ARTICLE}(?P<name>{_NAME}){_END}"
_PURPOSE = rf",? for {_ARTICLE}(?P<name>{_NAME}){_END}"
# A choice between unknown names, as in "use spaces instead of tabs".
_CHOICE = (
    r"\b(?:us(?:e|es|ed|ing)|with|to|cho(?:ose|se|sen)|prefers?|pick(?:ed)?|adopt(?:ed)?|take|took)"
    rf" {_ARTICLE}(?P<name>{_NAME}) (?:instead of|rather than|over) "
    rf"{_ARTICLE}(?P<other>{_NAME}){_END}"
)
# Common words that are treated as components if they are the subject or object of a verb.
_PARTS = frozenset("app build client code page repo repository test tests".split())
_ADVISING = frozenset("recommends suggests prefers prefer".split())
# Words in "-ly" that are adjectives; other words in "-ly" are taken for adverbs.
_RHYTHMS = frozenset("hourly daily nightly weekly monthly quarterly yearly".split())


def extract(
    text: str, *, known: Mapping[str, str] = {}
) -> tuple[tuple[Entity, ...], tuple[Relation, ...]]:
    """Return the entities in a text and their relations, in order and without duplicates. `known`
    maps the `name_key` of each existing entity to its name, which replaces other spellings.
    """
    text = text[:MAX_CHARS]
    names = mentions(text, known)
    parts: list[Mention] = []  # subjects and objects that are not known names
    for start, end in _spans(text, names):
        part = text[start:end]
        is_free = all(end <= m.start or m.end <= start for m in (*names, *parts))
        if is_free and _is_name(part):
            name = known.get(name_key(part)) or "-".join(part.lower().split())
            parts.append(Mention(name, "component", start, end))
    in_order = sorted([*names, *parts], key=lambda mention: mention.start)
    relations = tuple(dict.fromkeys(_relations(text, in_order)))
    related = {name for relation in relations for name in (relation.source, relation.target)}
    entities: dict[str, Entity] = {}
    for mention in in_order:
        # Parts may be any phrase, so only those that occur in a relation become entities.
        if mention not in parts or mention.name in related:
            entities.setdefault(mention.name, Entity(mention.name, mention.type))
    return tuple(entities.values()), relations


def chosen(text: str, names: Collection[str]) -> str:
    """Return the first of `names` that the text says was chosen, or ''."""
    mentioned = mentions(text, {name_key(name): name for name in names})
    for mention in (mention for mention in mentioned if mention.name in names):
        before, behind = _before(text, mention), text[mention.end :][:MAX_BESIDE_CHARS]
        clause = clause_around(text, mention.start, mention.end)
        is_open = _is_asked(text, mention.end) or pattern(_UNSETTLED).search(before)
        if is_open or is_denied(clause):
            continue
        if _governs(_MOVING, before, behind):
            return mention.name
        is_around = pattern(_AROUND).search(f"{before}{_AT}{behind}")
        if not is_left(clause) and (is_around or _governs(_CHOOSING, before, behind)):
            return mention.name
    return ""


def _governs(verbs: str, before: str, behind: str) -> bool:
    """Return True if the name between `before` and `behind` is the object of one of the `verbs`."""
    ends = [match.end() for match in pattern(verbs).finditer(before)]
    between = words(before[ends[-1] :]) if ends else list(_ENDING)
    if len(between) > MAX_MODIFIERS or any(w in _ENDING and w not in _ARTICLES for w in between):
        return False
    following = behind.lstrip('`"”*')
    if following[:1] != " " or following[1:2] in "-–—(":
        return True
    first = [word for word in words(following)[:2] if word not in _KINDS][:1]
    return not first or first[0] in _ENDING or first[0].isdigit()


def _relations(text: str, named: list[Mention]) -> Iterator[Relation]:
    last: Relation | None = None
    for left, right in pairwise(named):
        if left.name == right.name or _is_asked(text, right.end):
            last = None
            continue
        before, last = last, _between(text, left, right, last)
        clause = clause_around(text, left.start, right.end)
        is_supposed = is_denied(clause) or pattern(_SUPPOSED).search(_before(text, left))
        if not last or is_supposed or (last.type not in _OF_DEPARTURES and is_left(clause)):
            continue
        yield last
        if last.type == "used_for" and last.source != left.name and before:
            yield Relation(left.name, "rejected_for", last.target)  # Y in "X instead of Y for Z"


def _between(text: str, left: Mention, right: Mention, last: Relation | None) -> Relation | None:
    gap = text[left.end : right.start]
    if len(gap) > 60:
        return None
    gap = gap.replace("`", "").replace("*", "")
    is_list = " ".join(gap.replace(",", " ").lower().split()) in _LIST_WORDS
    if last and last.target == left.name and last.type in _LISTED and is_list:
        return Relation(last.source, last.type, right.name) if last.source != right.name else None
    gap = gap[1:] if last and last.type == "chose_over" and gap.startswith(", for") else gap
    if gap.strip().lower() in _COMPARED and pattern(_DECIDING).search(_before(text, left)):
        return Relation(left.name, "chose_over", right.name)
    phrase = " ".join(word for word in gap.lower().split() if word not in _FILLERS)
    if any(sign in gap for sign in '.,;:!?()\n"|—'):
        phrase = ""  # the two names are in different clauses
    if phrase in BACKWARD:
        return Relation(right.name, BACKWARD[phrase], left.name)
    before = [word for word in _words_before(text, left, 6) if word not in _FILLERS] or [""]
    is_moved = phrase == "to" and before[-1] == "from" and not _MOVE_WORDS.isdisjoint(before)
    if is_moved or (phrase == "with" and before[-1] in _REPLACE_WORDS):
        return Relation(right.name, "replaces", left.name)
    if phrase == "to" and _PREFERRED & set(_words_before(text, left, 6)):
        return Relation(left.name, "chose_over", right.name)
    kind = FORWARD.get(phrase, "")
    fits = kind not in ("chose", "prefers", "recommends") and phrase != "used"
    fits = fits or left.type in ("agent", "component", "technology")
    if phrase == "for":
        fits = left.type in ("technology", "pattern") and right.type != "agent"
    elif phrase == "over":
        fits = bool(pattern(_DECIDING).search(_before(text, left)))
    if not kind or not fits:
        return None
    # In "X instead of Y for Z", Z is the purpose of X, not of Y.
    was_declined = last and last.type == "chose_over" and last.target == left.name
    source = last.source if last and was_declined else left.name
    return Relation(source, kind, right.name) if source != right.name else None


def _words_before(text: str, mention: Mention, count: int) -> list[str]:
    return [word.strip("`*,:\"'(").lower() for word in _before(text, mention).split()][-count:]


def _before(text: str, mention: Mention) -> str:
    """Return the text before a mention in the same sentence, at most 80 characters."""
    head = text[max(0, mention.start - MAX_BESIDE_CHARS) : mention.start]
    for stop in (". ", "! ", "? ", "\n", "; "):
        head = head.rpartition(stop)[2]
    return head


def _is_asked(text: str, place: int) -> bool:
    """Return True if the sentence at `place` ends with a question mark within 300 characters."""
    ends = (character for character in text[place : place + 300] if character in "?？!\n。！")
    return next(ends, "") in ("?", "？")


def _spans(text: str, named: Sequence[Mention]) -> Iterator[tuple[int, int]]:
    for match in pattern(_SUBJECT).finditer(text):
        parts, verb = match["name"].lower().split(), match["verb"].split()[0]
        # Without an article, the verb may be an imperative, as in "please use".
        is_subject = parts[0] not in OPENERS and (verb not in _PLURAL or parts[-1].endswith("s"))
        if match["article"] or match["opener"] or is_subject:
            yield match.span("name")
    for match in pattern(_OBJECT).finditer(text):
        name, verb = match["name"], match["verb"].split()
        # An -ing form may be an action, as in "recommends waiting" or "used for keeping state".
        is_action = verb[-1] in _ADVISING and name.endswith("ing")
        is_purpose = verb[-1] == "for" and " " in name and name.split()[0].endswith("ing")
        has_subject = verb[0] not in _PLURAL or text[: match.start()].endswith("s")
        if has_subject and not (is_action or is_purpose):
            yield match.span("name")
    for match in pattern(_CHOICE).finditer(text):
        if _is_name(match["name"]) and _is_name(match["other"]):
            yield match.span("name")
            yield match.span("other")
    for mention in named:
        # The purpose may directly follow a technology, pattern or tool: "Redis for sessions".
        is_used = mention.type in ("technology", "pattern", "tool")
        if is_used and (purpose := pattern(_PURPOSE).match(text, mention.end)):
            yield purpose.span("name")


def _is_name(text: str) -> bool:
    parts = text.lower().split()
    is_manner = any(part.endswith("ly") and part not in _RHYTHMS for part in parts)
    if parts[-1].endswith("ly") or is_manner or not NO_NAME.isdisjoint(parts):
        return False
    return any((part not in WEAK or part in _PARTS) and len(part) > 2 for part in parts)
