"""Detection of statements in the user's prompts, without storing them. `stated` returns explicit
statements, which match a form in `stated_forms.txt`. `heard` returns a sentence that may be a
statement, because the weights of its cues in `cues.txt` add up to at least `ENOUGH`.
"""

from collections.abc import Sequence
from typing import NamedTuple

from memory_fabric.capture.clauses import Parts, parts_of, without_lead_in
from memory_fabric.capture.cues import ENOUGH, Form, cues, forms, may_hear, typed_ends
from memory_fabric.capture.notes.typed import spoken_to_memory
from memory_fabric.capture.segments import Sentence, segments
from memory_fabric.language.word_lists import phrases
from memory_fabric.language.word_lists import words as listed
from memory_fabric.patterns import pattern
from memory_fabric.redaction.redact import REDACTED, without_secrets
from memory_fabric.text import STOPWORDS, cut, one_line, stem, terms, words

MAX_SENTENCE_CHARS, MAX_CHARS = 320, 400
_SPECIFICATION_SENTENCES = 25
_ANSWER_CHARS, _ANSWERS_CHARS = 200, 1200
# If more words than this precede numbered answers, one of _ANSWERING must be among them.
_LEAD_WORDS = 3
_ANSWERING = ("answer", "question", "antwort", "respuesta", "réponse", "resposta", "答", "답")
# Sentences are similar if they share at least this part of their content words.
_SAME_FROM = 0.6
_QUESTION_COSTS = 2.0
_SHORTEST_CLAUSE = 8
# In order: vague words, pronouns, nouns that make a pronoun clear ("this project"), CJK pronouns.
_VAGUE, _PRONOUNS = listed("stated_forms", "vague"), listed("stated_forms", "pronouns")
_WITH_NOUN, _DEICTIC = listed("stated_forms", "with a noun"), listed("stated_forms", "deictic")
_GREETING = (
    r"(?:(?:please|hey|hi|hello|just|bitte|por favor|oye|hola|s'il te plaît|bonjour|hallo|olá|"
    r"oi|claude)[,!.]? ){1,3}|请(?=记住)"
)


class Heard(NamedTuple):
    """A sentence that may state something to remember, and the kind of its strongest cue."""

    kind: str  # "rule", "correction", "choice", "change", "person"
    sentence: str  # one line, at most 320 characters


class Statement(NamedTuple):
    """A statement to store as a record, in the user's own words."""

    type: str  # "decision", "constraint", "preference", "note"
    text: str
    why: str = ""
    instead_of: tuple[str, ...] = ()
    scope: str = "team"  # "user" for statements about the user, which hold in every project
    kind: str = ""  # "identity", "habit", "preference", "goal", "relationship", or ""
    form: str = ""  # the matching words, such as "from now on"


def heard(prompt: str) -> Heard | None:
    """Return the likeliest statement in a prompt; None if there is none or it contains a secret."""
    if not may_hear(prompt) or spoken_to_memory(prompt):
        return None
    weighed = [(*_weighed(s.text.lower(), s.question), s.text) for s in _sentences(prompt)]
    best, kind, strongest = max(weighed, key=lambda row: row[0], default=(0.0, "", ""))
    if best < ENOUGH:
        kind, strongest = "choice", _answers(prompt)
    # If the prompt comes from storage, secrets in it are already replaced by markers (REDACTED).
    if not strongest or REDACTED in strongest or without_secrets(strongest) != strongest:
        return None
    return Heard(kind, cut(strongest, MAX_SENTENCE_CHARS))


def said_again(sentence: str, earlier: Sequence[str]) -> int:
    """Return how many `earlier` prompts have a similar sentence with the same kind of cue."""
    content, kind = _content(sentence), _weighed(sentence.lower())[1]
    if len(content) < 2 or not kind:
        return 0
    count = 0
    for ends in map(typed_ends, earlier):
        lowered = ends.lower()
        # Splitting is slow, so only prompts that contain most words of `sentence` are split.
        is_near = sum(word in lowered for word in content) >= _SAME_FROM * len(content)
        for said in segments(ends) if is_near else ():
            stems = _content(said.text)
            is_same = len(content & stems) >= _SAME_FROM * len(content | stems)
            if is_same and _weighed(said.text.lower())[1] == kind:
                count += 1
                break
    return count


def stated(text: str) -> list[Statement]:
    """Return a text's explicit statements in order, without questions, quotations and pastes."""
    if not may_hear(text):
        return []
    sentences = [(s.text, n == 0) for n, s in enumerate(_sentences(text)) if not s.question]
    statements = (statement_in(sentence, is_first=first) for sentence, first in sentences)
    return list(dict.fromkeys(filter(None, statements)))


def statement_in(sentence: str, *, is_first: bool = True) -> Statement | None:
    """Return the statement in a sentence by the first form that matches, or None."""
    tried = (stated_as(form, sentence) for form in forms() if is_first or not form.first)
    return next(filter(None, tried), None)


def stated_as(form: Form, sentence: str) -> Statement | None:
    """Return the statement if a sentence matches this form and has a clear subject, else None."""
    sentence = without_lead_in(sentence.strip())
    if greeting := pattern(_GREETING).match(sentence):
        sentence = sentence[greeting.end() :]
    lowered = sentence.lower()
    if len(sentence) > MAX_CHARS or not any(word in lowered for word in form.words):
        return None
    matches = (pattern(expression).match(sentence) for expression in form.expressions)
    match = next(filter(None, matches), None)
    if match is None:
        return None
    text = match.groupdict().get("said") or ""
    if text and (inner := statement_in(text)):
        return inner._replace(form=match.group())
    text = text or match.group()
    is_rule = form.first and pattern(phrases("stated_forms", "rule")).search(text)
    is_named = form.kind in ("identity", "relationship")
    if not is_named and not _names_something(text, form.content_words):
        return None
    clause = one_line(text.rstrip(" .!。！"))
    parts = Parts(clause) if is_named else parts_of(clause, len(form.name))
    clause = parts.what if len(parts.what) >= _SHORTEST_CLAUSE else clause
    over = tuple(name.removesuffix(" entschieden") for name in parts.over)
    # A name in code keeps its case, because `Max_uploads` and `max_uploads` are different names.
    is_code = any(sign in clause.partition(" ")[0] for sign in "_./")
    text = clause if is_code else clause[:1].upper() + clause[1:]
    type_ = "constraint" if is_rule else form.type
    return Statement(type_, text, parts.why, over, form.scope, form.kind, match.group())


def _sentences(prompt: str) -> Sequence[Sentence]:
    """Return a prompt's sentences, but not the list items and headings of a specification."""
    sentences = segments(typed_ends(prompt))
    if len(sentences) > _SPECIFICATION_SENTENCES or any(sentence.heading for sentence in sentences):
        return [sentence for sentence in sentences if not sentence.bullet and not sentence.heading]
    return sentences


def _content(text: str) -> frozenset[str]:
    return frozenset(map(stem, terms(text)))


def _weighed(lowered: str, is_question: bool = False) -> tuple[float, str]:
    tables = [table for name, table in cues().items() if name != "against"]
    present = [cue for table in tables for cue in table if cue.is_in(lowered)]
    if not present:
        return 0.0, ""
    kind = max(present, key=lambda cue: cue.weight).kind
    present += [cue for cue in cues()["against"] if cue.is_in(lowered)]
    costs = _QUESTION_COSTS if is_question and not lowered.startswith("why ") else 0.0
    return sum(cue.weight for cue in present) - costs, kind


def _answers(prompt: str) -> str:
    """Return the user's numbered short answers to the assistant's questions as one line, or ''."""
    if len(prompt) > _ANSWERS_CHARS or "\n2" not in prompt:
        return ""
    lines = [line.strip() for line in prompt.splitlines() if line.strip()]
    first = next((n for n, line in enumerate(lines) if _is_numbered(line)), len(lines))
    lead, answers = " ".join(lines[:first]).lower(), lines[first:]
    if len(lead.split()) > _LEAD_WORDS and not any(word in lead for word in _ANSWERING):
        return ""
    if len(answers) < 2 or any(len(line) > _ANSWER_CHARS for line in answers):
        return ""
    numbered = list(filter(_is_numbered, answers))
    return one_line(" ".join(numbered)) if len(numbered) >= len(answers) - 1 else ""


def _is_numbered(line: str) -> bool:
    return pattern(r"\d{1,2}[.)] ?\S").match(line) is not None


def _names_something(said: str, at_least: int) -> bool:
    """Return True if a text has `at_least` content words, and no "it" etc. that needs context."""
    if any(word in said for word in _DEICTIC):
        return False
    naming = set(terms(said)) - STOPWORDS - _VAGUE - _PRONOUNS
    count = 0
    spoken = words(said)
    for word, following in zip(spoken, (*spoken[1:], ""), strict=True):
        if word in _PRONOUNS and count < 2 and following not in _WITH_NOUN:
            return False
        count += word in naming
    return len(naming) >= at_least
