"""What a sentence says is over, in whichever words, and for what: for older ones that describe.

`leavings` knows the plain forms; here are those that say it in passing ("Valet is gone"), in a
later clause, or without a name ("icons are no longer inlined").
"""

from __future__ import annotations

from memory_fabric.capture.closing.leavings import COMPARED, DENIED, LEAVINGS, LEFT, MOVED, WHOLLY
from memory_fabric.capture.closing.wording import GENERIC, NAME, clauses, content_stems, keys_of
from memory_fabric.language.patterns import pattern
from memory_fabric.language.vocabulary import TECHNOLOGIES
from memory_fabric.text import STOPWORDS, name_key, stem, words
from memory_fabric.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re

# Behind whose match alone it is said what for: what stands before is not the subject.
_GONE = (
    (MOVED, ("way",),
     rf"(?:^|[,;.] )(?:the |our )?(?P<left>{NAME}) (?:has |have )?(?:given|gave|gives|give|made|"
     r"makes) way (?:to|for)\b"),
    (MOVED, ("over from", "place of"),
     rf"\b(?:tak(?:es?|en|ing)|took) (?:over from|the place of) {LEFT}"),
    (WHOLLY, (" is ", " are ", " was ", " were ", " been ", " got "),
     rf"(?:^|[,;.] (?:and |so )?)(?:the |our |all )?(?P<left>{NAME}) (?:is|are|was|were|has been|"
     r"have been|got)(?: now| finally| all| since){0,2} (?:\w+ and )?(?:gone|history|retired|"
     r"dropped|removed|abandoned|decommissioned|discontinued|cancell?ed|deleted|uninstalled|"
     r"phased out|switched off|turned off|shut down|scrapped|no longer (?:used|in use|needed)|"
     r"(?:not used|unused) any ?more|out of use)\b(?! (?:of|to|by|again)\b)"),
    (WHOLLY, ("no more", "goodbye", "nothing", "nobody", "no one"),
     r"(?:^no more|\bgoodbye to|\b(?:nothing|nobody|no one|no code) (?:uses?|needs?|runs? on|"
     rf"depends on|relies on)) {LEFT}"),
    (WHOLLY, ("left ",),
     rf"(?:^|\b(?:we|i|have|has|'ve|just|finally|team) )left {LEFT}"
     r"(?=$|[,;.]| for (?-i:[A-Z])| (?:in favou?r|behind|entirely|completely)\b)"),
    (WHOLLY, ("removed", "deleted", "uninstalled", "turned off", "switched off", "shut down",
              "threw out", "kicked out", "scrapped", "cancel"),
     r"(?:^|\b(?:we|i|have|has|'ve|just|finally|then|and|team) )(?:removed|deleted|uninstalled|"
     r"turned off|switched off|shut down|threw out|kicked out|scrapped|cancell?ed) "
     rf"{LEFT}"),
)  # fmt: skip
_IN_PASSING = (
    (MOVED, ("no longer",),
     r"\bno longer (?!(?:fail|load|look|show|work|happen|wait)\w* )(?:(?P<verb>\w+) )?"
     r"(?:with|on|in|through|via|by|from|using|to|at) "
     rf"(?!us\b|hand\b){LEFT}"),
    (MOVED, (" replacing", " retiring", " dropping", " ditching", " removing", " leaving"),
     rf"(?: and|,) (?:replacing|retiring|dropping|ditching|removing|leaving) {LEFT}"),
)  # fmt: skip
_ENDED = (
    r"^(?:the |our |all )*(?P<subject>[^,;:.]{3,60}?) (?:is|are) no longer "
    r"(?P<verb>\w+)(?: by (?:us|hand|ourselves))?(?=$|[,;:]|\.(?:\s|$))"
)
# Said anywhere in a text: something of it is not left.
_STAYING = (
    r"\b(?:stays?|stayed|keeps?|(?<!is )(?<!are )(?<!now )kept|remains?|still|except|apart from|"
    r"at least|only (?:for|in|on)|only$|but not)\b"
)
_HEADS = frozenset(
    """repository repo package library dependency crate framework server cluster instance account
    service""".split()
)
_REPLACEMENT_FIRST = (
    r"^(?:the |our |a )?(?:(?!(?:we|i|on|in|at|for) )\S+ ){1,3}?(?:"
    r"(?:was|is|were|are|has been|have been) (?:introduced|added|adopted|here|in|live)|came|"
    r"(?:has |have )?(?:tak\w+|took) (?:over|the place)|replac\w+|supersed\w+)\b"
)
# Behind the name: what it is left for, with what means, and why.
_RUN = (
    r" (?:and )?(?:to|with|by|onto|into|through|via|using|in favou?r of|on top of)\b[^,;:()]*?"
    r"(?=$|[,;:()]| (?:for|in|on|across|at|everywhere|from|only)\b)"
)
_FOR_NAME = (
    r"\A(?: out)? for\b[^,;:()]*?"
    r"(?=$|[,;:()]| (?:for|in|on|across|at|through|with|via|using)\b)"
)
_FOR_REASON = (
    r" for (?:(?:better|less|more|fewer|faster|quicker|smaller|simpler|lighter|leaner|cheaper|"
    r"easier|cleaner|safer|shorter|lower|higher)(?! than)\b[^,;:()]*|"
    r"(?:speed|performance|simplicity|consistency|stability|type safety|good|(?:\w+ )?reasons)"
    r"(?=$|[,;:]))"
)
_REPLACEMENT_LAST = (
    r"\b(?:with|by|through|via|using|to|onto|into|uses?|chose|adopted|picked)"
    r" (?:the |our |a |an )?(?:(?!(?:with|by|via|to|in|on|for|of|using) )[^\s,;:]+ ){0,2}?"
    r"[^\s,;:]+(?: now)?,?(?: and)?\s*$"
)
_PLACED_LAST = r"\b(?:in|on|at|from) (?:the |our )?(?P<name>[^\s,;:]+)(?: now)?,?\s*$"
_LINKS = r"(?:\b(?:from|off|instead of|rather than|as opposed to|in place of|over|not|no longer)|,)"
_VAGUE_HERE = frozenset(
    """gone give given taken take place way goodbye introduce introduced rewritten hand legacy
    codebase base stack dependencies entire behind turned shut deleted left nothing nobody
    now rid produced handled""".split()
)
_VAGUE_STEMS = frozenset(map(stem, _VAGUE_HERE))


class Departure(Value):
    """What is over. `left` are sets of name keys, one set a name; `how` as in `leavings`;
    `use` are stems of what it is over for, empty for everything. Or, without a name, of what it is
    no longer done (`subject`) and what (`verb`), as stems.
    """

    left: tuple[frozenset[str], ...] = ()
    how: str = ""
    use: frozenset[str] = frozenset()
    subject: frozenset[str] = frozenset()
    verb: str = ""


def something_stays(text: str) -> bool:
    """Whether a text says of something that it is not left, in whichever clause."""
    return any(pattern(_STAYING).search(clause) for clause in clauses(text))


def departure(clause: str) -> Departure | None:
    """What one clause says is over; nothing where none is said."""
    lowered = clause.lower()
    for forms, place in ((_GONE, None), (LEAVINGS, "left"), (_IN_PASSING, 0)):
        for how, triggers, expression in forms:
            if not any(trigger in lowered for trigger in triggers):
                continue
            match = pattern(expression).search(clause)
            if not match or pattern(DENIED).search(clause[: match.start()]):
                continue
            left = [_keys(name) for name in pattern(r",? (?:and|or) |, ", 0).split(match["left"])]
            if any(left):
                now = how is COMPARED and pattern(r"\bnow\b").search(clause)
                front = "" if place is None else clause[: match.start(place)]
                use = _use(front, clause, match)
                return Departure(tuple(filter(None, left)), MOVED if now else how, use)
    ended = pattern(_ENDED).match(clause)
    if ended and ended["verb"].lower() not in STOPWORDS:
        subject = content_stems(ended["subject"])
        return Departure(subject=subject, verb=stem(ended["verb"].lower())) if subject else None
    return None


def _keys(name: str) -> frozenset[str]:
    """Keys of a name, also without a noun that says only what it is: "the x repository"."""
    bare, _, last = name.rpartition(" ")
    return keys_of(name) | (keys_of(bare) if bare and last.lower() in _HEADS else frozenset())


def _use(front: str, clause: str, match: re.Match[str]) -> frozenset[str]:
    """Stems of what something is left for: the thing moved, in front, and the place behind."""
    before = pattern(r"(?:\b(?:the|our|a|an|plain|just|using) )+$", 0).sub("", front)
    before = pattern(_LINKS + r"\s*$").sub("", before)
    before = pattern(r" to [^,;:]*? from\s*$").sub("", before)
    tail = clause[match.end("left") :]
    if pattern(_REPLACEMENT_FIRST).match(before) and not tail.startswith((" with ", " by ")):
        before = ""
    if match.re is not pattern(LEAVINGS[0][2]):
        before = _without_replacement(before)
    # What "no longer fails on X" is about is the failing, not X.
    before += " " + (match.groupdict().get("verb") or "")
    stems = content_stems(before) | _behind(tail, match[0].lower())
    return frozenset(s for s in stems if s not in _VAGUE_STEMS)


def _without_replacement(before: str) -> str:
    placed = pattern(_PLACED_LAST).search(before)
    if placed and (name_key(placed["name"]) in TECHNOLOGIES or placed["name"][:1].isupper()):
        return before[: placed.start()]
    return before if placed else pattern(_REPLACEMENT_LAST).sub("", before)


def _behind(tail: str, matched: str) -> frozenset[str]:
    """Stems of "for sessions", "in the new service"; weak words count, for they say: not all."""
    tail = pattern(r"^ (?:any ?more|any longer|entirely|completely)\b", 0).sub("", tail)
    if pattern(r"(?:.* )?(?:left|ditch\w*|swapp?\w*(?: out)?) ", 0).match(matched):
        tail = pattern(_FOR_NAME).sub("", tail)
    shorter = pattern(_RUN).sub("", tail)
    if shorter != tail:
        placed = pattern(r" (?:in|on|at) (\S+)$", 0).match(shorter)
        shorter = "" if placed and name_key(placed[1]) in TECHNOLOGIES else shorter
    shorter = pattern(_FOR_REASON).sub("", shorter)
    shorter = pattern(r"[,;:.](?:$|\s(?!(?:for|in|on|at|only) ))", 0).split(shorter)[0]
    phrase = pattern(r"(?:\(| (?:for|in|on|from|at|across|during|over(?! to)|only)\b).*", 0).search(
        shorter
    )
    if not phrase:
        return frozenset()
    found = [w for w in words(phrase[0]) if w not in STOPWORDS and w not in GENERIC]
    return frozenset(stem(w) for w in found if not w.isdigit())
