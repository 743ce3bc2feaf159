"""What the heading or the line above a list says about its items: rules, options, reasons."""

from __future__ import annotations

from memory_fabric.language.patterns import pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Sequence

    from memory_fabric.capture.segments import Sentence

NEGATIVE_LEADS = (
    "do not", "don't", "never", "avoid", "not allowed", "forbidden", "prohibited", "must not",
    "anti-pattern", "antipattern",
)  # fmt: skip
_RULE_LEADS = (
    "rule", "convention", "guideline", "constraint", "standard", "requirement", "code style",
    "coding style", "always", "must", "principle", "do's", "best practice",
)  # fmt: skip
_OPEN_LEADS = (
    "option", "alternative", "considered", "open question", "todo", "next step", "to do",
    "question", "proposal", "proposed", "future", "pending", "ideas", "example", "template",
    "pros", "cons", "recommended", "recommendation", "out of scope", "summary of changes",
)  # fmt: skip
_DECISION_LEADS = ("decision outcome", "decision", "the decision", "our decision", "resolution")
_ABOUT_DECISIONS = ("driver", "record", "log", "criteria", "process", "maker", "date", "matrix")
_RULE_STARTS = (
    "always", "never", "do not", "don't", "avoid", "prefer", "only", "no ", "use ", "must", "keep ",
    "ensure", "make sure", "when ", "follow", "every ", "all ", "each ", "write ", "run ", "add ",
)  # fmt: skip
_RULE_WORDS = (
    " must ",
    " should ",
    " never ",
    " always ",
    " must not ",
    " do not ",
    " instead of ",
)
_REQUEST_WORDS = (
    "please", "can you", "could you", "i want", "i need", "i'd like", "let's", "lets ", "we need",
    "i think", "for now",
)  # fmt: skip
_REASON_LEADS = ("because", "reason", "rationale", "advantage", "benefit", "justification", "why")
_TEMPLATE = (
    r"\[[^\]]{0,40}(?:option|justification|name|title|describe|insert|your|e\.g)|"
    r"(?-i:\[[A-Z][A-Z _/-]{2,40}\])|\{\{|<your|\bxxx\b"
)

_TEMPLATE_MARKS = ("[", "{{", "<your", "xxx")


def _template_pattern() -> re.Pattern[str]:
    return pattern(_TEMPLATE)


def is_open(sentence: Sentence) -> bool:
    """Whether the sentence stands among options, examples or things still to be done."""
    return any(
        word in lead
        for lead in (sentence.lead, sentence.heading)
        if lead and len(lead) <= 60
        for word in _OPEN_LEADS
    )


def is_in_rules(sentence: Sentence) -> bool:
    """Whether it stands in a list that announces rules."""
    return any(word in lead for lead in (sentence.lead, sentence.heading) for word in _RULE_LEADS)


def forbids(sentence: Sentence) -> bool:
    """Whether the list the sentence stands in says what not to do: "## Do NOT"."""
    return any(lead.startswith(NEGATIVE_LEADS) for lead in (sentence.lead, sentence.heading))


def decides(sentence: Sentence) -> bool:
    """Whether it stands under a heading that announces what was decided."""
    heading = sentence.heading
    about = any(word in heading for word in _ABOUT_DECISIONS)
    return heading.startswith(_DECISION_LEADS) and not about and not is_open(sentence)


def are_rules(sentences: Sequence[Sentence]) -> bool:
    """Whether a text is mostly one of rules for good, and asks for nothing."""
    said = [sentence.text.lower() for sentence in sentences]
    if len(said) < 2 or any(s.question for s in sentences):
        return False
    if any(word in text for text in said for word in _REQUEST_WORDS):
        return False
    standing = sum(
        text.startswith(_RULE_STARTS) or any(word in text for word in _RULE_WORDS) for text in said
    )
    return standing >= 2 and standing * 2 >= len(said)


def gives_reasons(sentence: Sentence) -> bool:
    """Whether it stands where reasons are given."""
    return any(word in lead for lead in (sentence.lead, sentence.heading) for word in _REASON_LEADS)


def is_template(sentence: str) -> bool:
    """Whether the sentence waits to be filled in: "Chosen option: [option 1]"."""
    if not any(mark in sentence.lower() for mark in _TEMPLATE_MARKS):
        return False
    return bool(_template_pattern().search(sentence))
