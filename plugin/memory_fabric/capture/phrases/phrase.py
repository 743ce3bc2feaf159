"""One way of saying that something is worth keeping.

A phrase is tried only where one of its triggers stands in the sentence, and compiled only then.
Expressions run on single sentences of bounded length; every gap in them is bounded.

Named groups: `what` where the record is not the whole clause, `why` and `over` where the phrase
itself tells them apart.
"""

from __future__ import annotations

from memory_fabric.values import Value

# What a phrase needs beside itself before it counts.
NOTHING = ""
SUPPORT = "support"  # a reason, a rejected alternative, a general scope, or a known technology
REASON = "reason"  # a reason or a rejected alternative
RULE = "rule"  # a list item, a general scope, or a reason
RULES = "rules"  # a heading or lead that announces rules
PAIR = "pair"  # a problem captured in the same text


class Phrase(Value):
    """One way of saying: its triggers (lower case), its type, its expression, what it needs.

    `explicit` is a first-person decision or a standing rule; `speakers` are those it counts for;
    `sure` ones need no second opinion; `late` ones are too common to be looked for in every prompt
    while the user waits, and are found when the turn is over.
    """

    triggers: tuple[str, ...]
    type: str
    pattern: str
    needs: str = NOTHING
    explicit: bool = True
    speakers: str = "user assistant subagent summary"
    outcome: str = "neutral"
    sure: bool = False
    late: bool = False


# Words that may stand between "we" and what it did, and forms of "have".
HEDGELESS = r"(?: (?:just|now|already|finally|also|both|all|therefore|instead|then)){0,2}"
HAVE = r"(?:'ve| have| had)?"
