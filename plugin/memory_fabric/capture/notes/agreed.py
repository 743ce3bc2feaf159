"""The one proposal of the assistant to which a short answer of the user agrees."""

from __future__ import annotations

from memory_fabric.capture.notes.assents import ASSENTS, is_assent
from memory_fabric.capture.notes.typed_text import tokens_of
from memory_fabric.language import negations
from memory_fabric.patterns import pattern
from memory_fabric.text import STOPWORDS, cut, one_line

MAX_PROPOSAL_CHARS, MAX_ANSWER_CHARS = 300, 120
# Labels of options: `A)`, `2.`, `(b)`, `**C:**`.
_LABEL = r"(?:^|(?<=\s))[*_(\[]{0,3}([A-Ha-h]|\d{1,2})[.):\]](?=[\s*_])"
_LABELLED = r"[^\w]{0,4}(?:option|plan|variante?|opción|вариант|方案|選択肢)?[\s:]{0,2}(\w{1,2})\b"
_ORDINALS = tuple(
    tuple(line.split())
    for line in """first 1st erste ersten premier première primera primero primeira первый
    second 2nd zweite zweiten deuxième segunda segundo второй
    third 3rd dritte dritten troisième tercera tercero terceira третий""".splitlines()
)
_NAMING = frozenset(word for words in _ORDINALS for word in words).union(
    """option plan variante opción вариант one der die das la le el il num number nummer numéro
    """.split()
)
# Words between two things that one question offers.
_OR = r"\b(?:or|oder|ou|or else|o|или|lub)\b|还是|還是|それとも|아니면"
_SENTENCE = r"[^.!?。！？]{1,600}[.!?。！？]{0,3}"


def agreement(said: str, answer: str) -> str:
    """Return "proposal — “answer”" if the answer is to one proposal of the assistant's; else ''.

    `said` is the end of the assistant's message before the answer. Where it has several options or
    questions, the answer must name one of them.
    """
    proposal = _proposal(one_line(said), answer)
    if not proposal:
        return ""
    return f"{cut(proposal, MAX_PROPOSAL_CHARS)} — “{cut(one_line(answer), MAX_ANSWER_CHARS)}”"


def _proposal(said: str, answer: str) -> str:
    options = _options(said)
    if len(options) > 1:
        chosen = _chosen(answer, list(options))
        return options.get(chosen, "")
    sentences = [found[0].strip() for found in pattern(_SENTENCE).finditer(said)]
    questions = [one for one in sentences if one.endswith(("?", "？"))]
    if len(questions) > 1 or not sentences:
        return ""
    proposal = questions[0] if questions else sentences[-1]
    offers = pattern(_OR).search(proposal) is not None
    if not is_assent(answer):
        named = set(tokens_of(answer)) - ASSENTS
        is_one = named <= set(tokens_of(proposal)) and negations.ALL.isdisjoint(named)
        return proposal if is_one and named - STOPWORDS else ""
    return "" if offers else proposal


def _options(said: str) -> dict[str, str]:
    """Return the options of a message by their labels."""
    labels = list(pattern(_LABEL).finditer(said))
    ends = [*(label.start() for label in labels[1:]), len(said)][: len(labels)]
    return {
        label[1].lower(): said[label.end() : end].strip(" *_—-")
        for label, end in zip(labels, ends, strict=True)
    }


def _chosen(answer: str, labels: list[str]) -> str:
    """Return the label that an answer names: "B", "3.", "the second", "option a please".

    An answer with other words than these may reject it: "not B", "B is wrong".
    """
    found = pattern(_LABELLED).match(answer)
    named = {found[1].lower()} & set(labels) if found else set()
    tokens = set(tokens_of(answer))
    if tokens - ASSENTS - named - _NAMING:
        return ""
    named |= {
        label
        for label, words in zip(labels, _ORDINALS, strict=False)
        if not tokens.isdisjoint(words)
    }
    return named.pop() if len(named) == 1 else ""
