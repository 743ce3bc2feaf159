"""What speaks for or against keeping a sentence, as names of signs: its words, place and company.

Names of things count as one sign each, so that no subject is learned, only ways of speaking.
"""

from __future__ import annotations

from memory_fabric.capture import sections
from memory_fabric.capture.clauses import without_lead_in
from memory_fabric.capture.mentions import mentions
from memory_fabric.capture.modality import is_status, modality
from memory_fabric.language.patterns import pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Iterable, Sequence

    from memory_fabric.capture.clauses import Parts
    from memory_fabric.capture.segments import Sentence

CODE, NAME, NUMBER = "<code>", "<name>", "<num>"
MAX_TOKENS = 80
HEADING_WORDS, LEAD_WORDS = 6, 10

# Kinds of words, so that a sentence is known by the kind where its word was never met.
_KINDS = {
    "will": "will 'll won't shall gonna",
    "must": "must mustn't required require requires mandatory need needs has have",
    "should": "should shouldn't ought",
    "always": "always never every all any each only everywhere both whenever exclusively strictly",
    "not": "not don't doesn't won't can't cannot no never without neither nor isn't aren't didn't "
    "shouldn't mustn't",
    "doubt": "maybe perhaps might could would think guess wonder probably possibly likely seems "
    "seem appears if whether unless suppose assuming potentially",
    "ask": "please can could you help me show tell give want need let's lets go ahead continue "
    "check look see try again now",
    "done": "added removed changed updated moved renamed fixed implemented created refactored "
    "replaced extracted ran verified tested committed pushed merged deleted done completed "
    "successfully passing passes",
    "choice": "use uses using used adopt adopted choose chose chosen select selected selects "
    "decided decide decision opted prefer prefers preferred favor favour standardize switch "
    "migrate replace replaced instead rather over default defaults keep stick",
    "cause": "because since due caused cause causes root reason reasons why so therefore issue "
    "problem bug culprit error fails failing failed failure breaks broken missing wrong incorrect "
    "mismatch expects returns throws hangs crash crashes undefined null",
    "we": "i we our us my",
    "you": "you your",
    "this": "this these that those it here there above below",
    "now": "now today currently yet later next first then soon already just",
    "look": "button color colour page screen icon modal label font header footer image layout "
    "dashboard sidebar click style",
    "study": "look check review analyze analyse read explain find investigate see verify run test "
    "debug",
    "make": "add create make build write implement fix update change remove delete rename move "
    "refactor generate",
    "be": "is are be being remains stays lives contains holds owns provides supports allows",
    "may": "can may allowed able cannot",
}
_KIND_OF: dict[str, tuple[str, ...]] = {}
for _kind, _listed in _KINDS.items():
    for _word in _listed.split():
        _KIND_OF[_word] = (*_KIND_OF.get(_word, ()), _kind)
_IMPERATIVES = frozenset(
    """use add keep avoid prefer write run make put place follow never always do don't ensure
    include name store import create return set check test document commit handle define
    implement skip update mark treat favor favour leverage utilize structure separate extract
    wrap mock validate log throw raise call pass declare export reuse maintain limit""".split()
)
_STANDING = frozenset("always never must not avoid prefer only".split())


def _token_pattern() -> re.Pattern[str]:
    return pattern(r"`[^`]{1,80}`|[A-Za-z][A-Za-z'_./:@-]*|\d[\d.,]*|[^\sA-Za-z\d]", 0)


def tokens(sentence: str) -> list[str]:
    """The sentence as lower-case words and signs, with names, code and numbers as such."""
    marks = [(mention.start, mention.end) for mention in mentions(sentence, {})]
    found: list[str] = []
    for match in _token_pattern().finditer(sentence):
        word = match.group()
        if word[0] == "`":
            found.append(CODE)
        elif any(start <= match.start() < end for start, end in marks):
            if found[-1:] != [NAME]:
                found.append(NAME)
        elif word[0].isdigit():
            found.append(NUMBER)
        elif bare := word.lower().rstrip(".'-:/"):
            found.append(bare)
        if len(found) >= MAX_TOKENS:
            break
    return found


class Spoken:
    """The `tokens` of each sentence without its lead-in, read when somebody asks for them."""

    def __init__(self, sentences: Sequence[Sentence]) -> None:
        self._sentences = sentences
        self._known: dict[int, list[str]] = {}

    def __getitem__(self, place: int) -> list[str]:
        if place not in self._known:
            self._known[place] = tokens(without_lead_in(self._sentences[place].text))
        return self._known[place]


def signs(
    sentences: Sequence[Sentence],
    spoken: Spoken,
    place: int,
    speaker: str,
    parts: Parts,
    heard: Iterable[str] = (),
) -> list[str]:
    """The signs of one sentence, each once.

    `parts` are the sentence as a whole clause, `heard` the names of the phrases that were found in
    it.
    """
    sentence, own = sentences[place], spoken[place]
    found = [f"by:{speaker}", f"length:{min(len(own) // 6, 6)}", *heard]
    found += _words(own, speaker)
    found += _place(sentences, place, speaker)
    found += _company(sentences, spoken, place)
    found += [f"heading:{w}" for w in _plain_words(sentence.heading)[:HEADING_WORDS]]
    found += [f"lead:{w}" for w in _plain_words(sentence.lead)[:LEAD_WORDS]]
    kinds = _kinds(own[:1])
    found += [f"first kind:{kind}:{sentence.bullet:d}" for kind in kinds]
    found += [name for name, there in _states(sentence, parts) if there]
    if is_status(sentence.text):
        found += ["report", f"report:{speaker}"]
    following = sentences[place + 1].text if place + 1 < len(sentences) else ""
    meant = modality(sentence, sentence.text, following, "decision")
    return list(dict.fromkeys([*found, *([f"meant:{meant}"] if meant else [])]))


def _words(own: Sequence[str], speaker: str) -> list[str]:
    found = [f"word:{word}" for word in own]
    for kind in _kinds(own):
        found += [f"kind:{kind}", f"kind:{kind}:{speaker}"]
    if own:
        found += [f"first:{own[0]}", f"first:{own[0]}:{speaker}"]
        found += [f"first kind:{kind}" for kind in _kinds(own[:1])]
    if len(own) > 1:
        found.append(f"opening:{own[0]} {own[1]}")
    return found


def _place(sentences: Sequence[Sentence], place: int, speaker: str) -> list[str]:
    sentence, count = sentences[place], len(sentences)
    size = 0 if count == 1 else 1 if count < 4 else 2 if count < 9 else 3
    where = "first" if place == 0 else "last" if place == count - 1 else "middle"
    return [
        f"item:{sentence.bullet:d}",
        f"item:{sentence.bullet:d}:{speaker}",
        f"opens:{sentence.opens:d}",
        f"headed:{bool(sentence.heading):d}",
        f"led:{bool(sentence.lead):d}",
        f"of:{size}",
        f"of:{size}:{speaker}",
        f"stands:{where}",
    ]


def _company(sentences: Sequence[Sentence], spoken: Spoken, place: int) -> list[str]:
    found = []
    for step, name in ((1, "next"), (-1, "before")):
        other = place + step
        if 0 <= other < len(sentences):
            found.append(f"{name} asks:{sentences[other].question:d}")
            found += [f"{name}:{word}" for word in spoken[other][:1]]
            found += [f"{name} kind:{kind}" for kind in _kinds(spoken[other][:2])]
    if any(sentence.question for sentence in sentences):
        found.append("somebody asks")
    if sentences[place].bullet:
        found += _list_around(sentences, spoken, sentences[place].heading)
    return found


def _list_around(sentences: Sequence[Sentence], spoken: Spoken, heading: str) -> list[str]:
    """How much the list that a sentence stands in is one of orders, and whether for good."""
    items = [
        spoken[place]
        for place, sentence in enumerate(sentences)
        if sentence.bullet and sentence.opens and sentence.heading == heading
    ]
    if len(items) < 2:
        return []
    orders = sum(1 for own in items if own and own[0] in _IMPERATIVES)
    found = [f"list of orders:{int(orders / len(items) * 3.99)}"]
    return [*found, "list of rules"] if any(_STANDING & set(own) for own in items) else found


def _states(sentence: Sentence, parts: Parts) -> tuple[tuple[str, bool], ...]:
    return (
        ("asks", sentence.question),
        ("open", sections.is_open(sentence)),
        ("among rules", sections.is_in_rules(sentence)),
        ("forbidden", sections.forbids(sentence)),
        ("template", sections.is_template(sentence.text)),
        ("reason", bool(parts.why)),
        ("alternative", bool(parts.over)),
        ("introduces", sentence.text.rstrip().endswith(":")),
    )


def _kinds(words: Iterable[str]) -> list[str]:
    return sorted({kind for word in words for kind in _KIND_OF.get(word, ())})


def _plain_words(text: str) -> list[str]:
    return pattern(r"[a-z]+", 0).findall(text)
