"""Statements of the assistant about a failure: its cause, and whether it still fails.

Plans and guesses state nothing. A cause is a sentence with a subject: "the discount was subtracted
twice in applyDiscount".
"""

from __future__ import annotations

from collections.abc import Iterator

from memory_fabric.patterns import pattern
from memory_fabric.text import STOPWORDS, one_line, words

MAX_READ_CHARS = 16 << 10
MIN_CAUSE_CHARS, MIN_CJK_CHARS, MAX_CAUSE_CHARS = 15, 8, 240
# A cause has so many content words besides those that only say that there is one.
MIN_OWN_WORDS = 2
MIN_SHARED_CHARS = 4
_ASKING = ("?", ":", "？", "：")
_END = r"(?<=[.!?])\s+|(?<=[。！？])"
_NOTE_LINE = r"[\s>*_`#-]{0,12}(?:noted[ *_]{1,4}\w{1,24}|dropped)[ *_]{0,4}[:：]"
_FAILURE = (
    r"fail|error|\bbr(?:eaks?|oken?)\b|crash|throw|threw|reject|miss|wrong|undefined|\bnull\b|hang|"
    r"hung|time[sd]?[ -]?out|raise|exception|invalid|block"
)
# Statements of a cause, surest first.
_CAUSES = (
    r"\broot cause\b|\bcausa raíz\b|\bcause racine\b|\bcausa raiz\b|根本原因",
    r"\b(?:was|were|is|are) (?:caused|triggered) by\b|\b\w+ (?:caused|broke) (?:the|a|an|all|"
    r"\w+s)\b|"
    r"\bthe (?:real |actual |underlying |core )?(?:problem|issue|bug|error|failure|cause|culprit|"
    r"reason)\b[^.]{0,60}? (?:was|is|were|came from|comes from)\b|\bturn(?:s|ed) out\b|"
    rf"(?:{_FAILURE})[^.]{{0,80}}? (?:because|due to|since)\b|"
    r"\b(?:lag|liegt) daran, dass\b|\bursache (?:war|ist)\b|\b(?:problem|fehler) war\b|"
    r"\bla causa (?:era|fue|es)\b|\bel (?:problema|error) (?:era|es|fue)\b|\bse deb[ií]a a\b|"
    r"\bla cause (?:était|est)\b|\ble problème (?:était|venait)\b|\ba causa (?:era|foi|é)\b|"
    r"\bo (?:problema|erro) (?:era|foi|é)\b|原因(?:是|在于|は)|问题(?:是|在于)|是因为|원인은",
)
_PAST = (
    r"\b(?:was|were|did|had|called|used|returned|ran|expected|needed|required|lacked|forgot|"
    r"(?:was|were|did|had|could)n't)\b"
)
_DEFECT = (
    r"\b(?:missing|twice|wrong(?:ly)?|incorrect(?:ly)?|never|not|no|longer|instead of|before|stale|"
    r"undefined|null|without|mismatch\w*|outdated|forgot\w*|off by one|unescaped|rather than|"
    r"too (?:early|late|long|short|small|large|many|few))\b|n't\b"
)
_FIXED = r"\b(?:fixed|resolved|solved) (?:it |this |that )?by \w+ing\b|\bthe fix (?:was|is) to\b"
# "I see the issue - the tag is missing": only what follows is the statement.
_FOUND = (
    r"^.{0,12}?\b(?:i (?:can |now )?(?:see|found|understand|know)|found|here's|there's|that's)"
    r" (?:the|what)(?: \w+){0,2} (?:issue|problem|bug|cause|error|culprit)\b[^-–—:]{0,20}"
    r"[-–—:]\s(?P<rest>.+)"
)
_UNSURE = (
    r"\b(?:might|maybe|perhaps|probabl[ey]|possibl[ey]|could (?:be|have)|likely|seems?|appears?|"
    r"looks? like|not sure|unclear|whether|if|let me|let's|let us|i'll|i will|we'll|we will|going "
    r"to|i need|we need|need to|i should|we should|should|would|try|trying|want|next|suspect|think|"
    r"guess|assum\w+|hypothes\w+|unrelated|pre-?existing|vielleicht|wahrscheinlich|könnte|quizás?|"
    r"tal vez|probablemente|déjame|voy a|vamos a|peut-être|sans doute|talvez|provavelmente)\b|"
    r"\b(?:not|n't|isn't|wasn't) (?:caused|because|due)\b|可能|也许|或许|かもしれ|おそらく|아마|"
    r"\b(?:is|was|are|were|been|now|all) (?:now |all |fully )?(?:fixed|resolved|solved|"
    r"gone)\b(?! by)"
)
_FIRST_PERSON = r"^(?:i|we|now|all|everything|great|good|perfect|done)\b"
_GENERIC = frozenset(
    """root cause causes caused problem issue bug error errors failure fails failed fix fixed
    resolved solved turned turns because due reason culprit broke broken real actual""".split()
)
# What the assistant's account says is still wrong; sentences that take it back.
_STILL_WRONG = (
    r"\b(?:still|remains?|keeps?|continues? to) (?:\w+ ){0,2}(?:fail\w*|broken|red|error\w*|"
    r"crash\w*|"
    r"hang\w*|unresolved|not)\b|\b(?:fails|failing|is broken|unresolved|(?:does|do|did|could|"
    r"can)(?:"
    r"n't| not) (?:\w+ ){0,2}(?:work|pass|build|compile|fix|resolve|get|run|start)|cannot|"
    r"unable to|"
    r"gave up|blocked by)\b|\bsigue(?:n)? fallando\b|\bno (?:funciona|pasa)\b|"
    r"\bschlägt (?:\w+ )?fehl\b|"
    r"\bfunktioniert (?:\w+ )?nicht\b|\béchoue\b|\bne (?:marche|fonctionne) pas\b|\bnão funciona\b|"
    r"仍然|失败|まだ失敗|실패"
)
_TAKEN_BACK = (
    r"\b(?:fixed|resolved|solved|no longer|now (?:works?|pass\w*|builds?)|was|were|used to|"
    r"unrelated|"
    r"pre-?existing|instead of|so (?:that|it)|when|if)\b"
)
_PLAN = r"\b(?:let me|let's|i'll|i will|now i|i'm going|going to|déjame|voy a|ich werde|je vais)\b"


def cause_in(said: str, about: str = "") -> str:
    """Return the sentence in which the assistant states the cause; '' unless that is certain.

    A sentence that states a past defect without calling it the cause counts if it shares a word
    with `about`: the error, the files that were changed.
    """
    sentences = [sentence for sentence in sentences_in(said) if not sentence.endswith(_ASKING)]
    for sentence in sentences:
        introduced = pattern(_FOUND).match(sentence)
        if introduced and (statement := _statement(introduced["rest"])):
            return statement
    statements = [found for sentence in sentences if (found := _statement(sentence))]
    for expression in _CAUSES:
        for statement in statements:
            if pattern(expression).search(statement):
                return statement
    subjects = _subjects(about)
    for statement in statements:
        if subjects & _subjects(statement) and _states_defect(statement):
            return statement
    return next((s for s in statements if about and pattern(_FIXED).search(s)), "")


def admits_failure(said: str) -> bool | None:
    """Return True if an answer says that something still fails, False if not; None for a plan."""
    sentences = list(sentences_in(said))
    for sentence in sentences:
        if pattern(_STILL_WRONG).search(sentence) and not pattern(_TAKEN_BACK).search(sentence):
            return True
    last = sentences[-1] if sentences else ""
    return None if not last or last.endswith(":") or pattern(_PLAN).search(last) else False


def account(said: str) -> str:
    """Return an answer without fenced code and lines of notes ("Noted fix: …", "Dropped: …")."""
    lines, is_code = [], False
    for line in said.splitlines():
        if line.lstrip().startswith(("```", "~~~")):
            is_code = not is_code
        elif not is_code and not pattern(_NOTE_LINE).match(line):
            lines.append(line)
    return "\n".join(lines)


def sentences_in(said: str) -> Iterator[str]:
    """Yield the sentences of an answer, each on one line, without markdown around them."""
    for line in account(said[-MAX_READ_CHARS:]).splitlines():
        if line.lstrip().startswith("|"):
            continue
        for part in pattern(_END).split(one_line(line).replace("**", "")):
            sentence = part.strip("*_#->•✅✓🎉🔧 ")
            if sentence:
                yield sentence


def _statement(sentence: str) -> str:
    """Return a sentence that is long enough and certain enough for a cause; '' for others."""
    text = sentence.strip().rstrip(".!。")
    least = MIN_CAUSE_CHARS if text.isascii() else MIN_CJK_CHARS
    if not least <= len(text) <= MAX_CAUSE_CHARS or pattern(_UNSURE).search(text):
        return ""
    own = {word for word in words(text) if word not in STOPWORDS and word not in _GENERIC}
    is_spaceless = not text.isascii() and " " not in text
    return text if len(own) >= MIN_OWN_WORDS or is_spaceless else ""


def _states_defect(sentence: str) -> bool:
    return (
        pattern(_PAST).search(sentence) is not None
        and pattern(_DEFECT).search(sentence) is not None
        and pattern(_FIRST_PERSON).search(sentence) is None
        and ": " not in sentence
    )


def _subjects(text: str) -> set[str]:
    return {
        word
        for word in words(text)
        if len(word) >= MIN_SHARED_CHARS and word not in STOPWORDS and word not in _GENERIC
    }
