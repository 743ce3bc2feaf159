"""The assistant's statements about a failure: its cause ("the discount was subtracted twice in
applyDiscount"), and whether the failure remains. Plans and guesses are ignored.
"""

from collections.abc import Iterator

from memory_fabric.language.word_lists import phrases
from memory_fabric.language.word_lists import words as listed
from memory_fabric.patterns import pattern
from memory_fabric.text import STOPWORDS, one_line, words

MAX_READ_CHARS = 16 << 10
MIN_CAUSE_CHARS, MIN_CJK_CHARS, MAX_CAUSE_CHARS = 15, 8, 240
# The minimum number of content words in a cause, apart from phrases such as "the cause was".
MIN_OWN_WORDS = 2
MIN_SHARED_CHARS = 4
_ASKING = ("?", ":", "？", "：")
_END = r"(?<=[.!?])\s+|(?<=[。！？])"
_NOTE_LINE = r"[\s>*_`#-]{0,12}(?:noted[ *_]{1,4}\w{1,24}|dropped)[ *_]{0,4}[:：]"
# In "I see the issue - the tag is missing", only the text after the dash is the statement.
_FOUND = (
    r"^.{0,12}?\b(?:i (?:can |now )?(?:see|found|understand|know)|found|here's|there's|that's)"
    r" (?:the|what)(?: \w+){0,2} (?:issue|problem|bug|cause|error|culprit)\b[^-–—:]{0,20}"
    r"[-–—:]\s(?P<rest>.+)"
)
_FIRST_PERSON = r"^(?:i|we|now|all|everything|great|good|perfect|done)\b"


def cause_in(said: str, about: str = "") -> str:
    """Return the sentence that names the cause, or else explains the error `about`; else ''."""
    sentences = [sentence for sentence in sentences_in(said) if not sentence.endswith(_ASKING)]
    for sentence in sentences:
        introduced = pattern(_FOUND).match(sentence)
        if introduced and (statement := _statement(introduced["rest"])):
            return statement
    statements = [text for sentence in sentences if (text := _statement(sentence))]
    if causes := [s for name in ("root cause", "cause") for s in statements if _states(name, s)]:
        return causes[0]
    subjects = _subjects(about)
    for s in statements:
        is_past_defect = _states("past", s) and _states("defect", s)
        is_report = pattern(_FIRST_PERSON).search(s) or ": " in s
        if subjects & _subjects(s) and is_past_defect and not is_report:
            return s
    return next((s for s in statements if about and _states("fixed", s)), "")


def admits_failure(said: str) -> bool | None:
    """Return True if an answer reports a remaining failure; None if empty or ending in a plan."""
    sentences = list(sentences_in(said))
    if any(_states("still wrong", s) and not _states("taken back", s) for s in sentences):
        return True
    last = sentences[-1] if sentences else ""
    return None if not last or last.endswith(":") or _states("plan", last) else False


def account(said: str) -> str:
    """Return the prose of an answer, without code blocks and lines such as "Noted fix: …"."""
    lines, is_code = [], False
    for line in said.splitlines():
        if line.lstrip().startswith(("```", "~~~")):
            is_code = not is_code
        elif not is_code and not pattern(_NOTE_LINE).match(line):
            lines.append(line)
    return "\n".join(lines)


def sentences_in(said: str) -> Iterator[str]:
    """Yield the sentences of an answer, each on one line and without surrounding markdown."""
    for line in account(said[-MAX_READ_CHARS:]).splitlines():
        if line.lstrip().startswith("|"):
            continue
        for part in pattern(_END).split(one_line(line).replace("**", "")):
            if sentence := part.strip("*_#->•✅✓🎉🔧 "):
                yield sentence


def _statement(sentence: str) -> str:
    """Return the sentence without full stop; '' if it is too short, too long, unsure or vague."""
    text = sentence.strip().rstrip(".!。")
    least = MIN_CAUSE_CHARS if text.isascii() else MIN_CJK_CHARS
    if not least <= len(text) <= MAX_CAUSE_CHARS or _states("unsure", text):
        return ""
    is_spaceless = not text.isascii() and " " not in text
    return text if len(_own_words(text)) >= MIN_OWN_WORDS or is_spaceless else ""


def _states(name: str, sentence: str) -> bool:
    return pattern(phrases("stated_causes", name)).search(sentence) is not None


def _own_words(text: str) -> set[str]:
    return set(words(text)) - STOPWORDS - listed("stated_causes", "generic")


def _subjects(text: str) -> set[str]:
    return {word for word in _own_words(text) if len(word) >= MIN_SHARED_CHARS}
