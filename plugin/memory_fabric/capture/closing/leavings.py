"""What a sentence leaves behind, and how far: moved away, given up wholly, only compared."""

from __future__ import annotations

from memory_fabric.capture.closing.wording import END, NAME, keys_of
from memory_fabric.language.patterns import pattern

# How far something is left behind.
WHOLLY, MOVED, COMPARED = "wholly", "moved", "compared"

LEFT = rf"(?:the |our |a |an |plain |just |using )?(?P<left>{NAME}){END}"
# How far, words without one of which it is not tried (and not compiled), the expression.
LEAVINGS = (
    (MOVED, (" from ", " off "),
     # "The move from X" is spoken of, "reverted the move from X" takes it back.
     r"(?<!the )(?<!a )(?<!our )(?<!this )(?<!that )\b(?:mov(?:e|ed|ing)|switch(?:ed|ing)?|migrat"
     r"(?:e|ed|ing)|port(?:ed|ing)?|transition(?:ed|ing)?|convert(?:ed|ing)?|chang(?:e|ed|ing)|"
     r"went|revert(?:ed|ing)?(?! (?:the|our|this|that)\b))"
     rf"(?: (?!not\b|to\b)[^\s,;:]+){{0,7}}? (?:away from|off of|off|from) {LEFT}"),
    (MOVED, ("replac", "swap"),
     rf"\b(?:replac(?:e|ed|ing)|swap(?:ped|ping)?(?: out)?) {LEFT}(?: out)? (?:with|by|for)\b"),
    (MOVED, ("replac", "supersed"),
     rf"\b(?:replac(?:es|ed)|supersed(?:es|ed)) (?!by\b|with\b){LEFT}"),
    (MOVED, ("replaced", "superseded", "swapped"),
     rf"^(?:the |our )?(?P<left>{NAME}) (?:was|is|were|are|has been|have been|got)(?: now)?"
     r" (?:replaced|superseded|swapped out) (?:by|with)\b"),
    (MOVED, (" from ",),
     r"\b(?:went|gone|going|go|mov(?:ed|ing)|switch(?:ed|ing)?|migrated)(?: back)? to "
     rf".{{2,40}}? from {LEFT}"),
    (MOVED, (" in favo",),
     rf"\b(?:dropp(?:ed|ing)|drop|ditch(?:ed|ing)?|retir(?:ed|ing)|abandon(?:ed|ing)?|"
     rf"remov(?:ed|ing)|swapp(?:ed|ing)) {LEFT} in favou?r of\b"),
    (MOVED, (" for ",),
     rf"\bditch(?:ed|ing) {LEFT} for\b"),
    (WHOLLY, ("no longer", "stop"),
     rf"\b(?:no longer|stopp?(?:ed|ing)?) (?:us(?:e|es|ing)|rely(?:ing)? on|run(?:ning)? "
     rf"on|deploy(?:ing)? (?:on|to|with)|host(?:ing)? on) {LEFT}"),
    (WHOLLY, ("more", "longer"),
     rf"(?:\bnot|n't|\bnever) (?:us(?:e|ing)|rely(?:ing)? on|run(?:ning)? on) {LEFT}"
     r"[^,;]{0,60}? (?:any ?more|any longer)\b"),
    (WHOLLY, ("dropped", "ditched", "retired", "abandoned", "decommissioned", "phased", "got rid"),
     rf"\b(?:dropped|ditched|retired|abandoned|decommissioned|phased out|got rid of) "
     rf"{LEFT}"),
    (WHOLLY, ("retired", "dropped", "abandoned", "decommissioned", "phased"),
     rf"^(?:the |our )?(?P<left>{NAME}) (?:was|is|were|are|has been|have been)(?: now)? "
     r"(?:retired|dropped|abandoned|decommissioned|phased out)\b"),
    (WHOLLY, ("decision", "choice", "rule"),
     r"\b(?:revers(?:ed|ing)|revok(?:ed|ing)|overturn(?:ed|ing)|undid|scrapped|withdrew|"
     r"cancell?ed|took back) (?:the |our |that )?(?:earlier |previous |old )?(?:decision|choice|"
     rf"rule) (?:to (?:use|adopt|go with|move to|switch to)|for|about|of) {LEFT}"),
    (COMPARED, ("instead", "rather", "opposed", "in place"),
     rf"\b(?:instead of|rather than|as opposed to|in place of) {LEFT}"),
    (COMPARED, (" over ", " not "),
     r"\b(?:cho(?:se|sen|ose)|prefer(?:s|red)?|picked|selected|go(?:ing)? with|went with|"
     r"us(?:e[ds]?|ing)|opted for|adopt(?:ed)?|settled on|favou?r)\b[^.;:]{1,80}?,? (?:over|not) "
     rf"{LEFT}"),
)  # fmt: skip
DENIED = r"(?:\bnot|n't|\bnever|\bwithout|\bagainst|\brejected|\bdeclined|\bavoid)(?: \w+){0,3} ?$"

_DENIED_CHOICE = r"(?:\bnever|\bnot|n't) \w+"


def left_behind(text: str) -> tuple[str, list[frozenset[str]], list[tuple[int, int]]]:
    """How far something is left behind, what, and where it is named; the surest form counts."""
    lowered = text.lower()
    for how, triggers, expression in LEAVINGS:
        if not any(trigger in lowered for trigger in triggers):
            continue
        match = pattern(expression).search(text)
        if not match:
            continue
        before = text[: match.start()]
        if how is not COMPARED and pattern(DENIED).search(before):
            continue
        if how is COMPARED and pattern(_DENIED_CHOICE).search(before):
            continue
        span = match.span("left")
        left = [
            keys
            for keys in map(keys_of, pattern(r",? (?:and|or) |, ", 0).split(match["left"]))
            if keys
        ]
        also = pattern(r"\A(?: and|,) (?:the )?([\w.+#-]+)(?= (?:to|onto|with|by|for)\b|$)")
        more = also.search(text[span[1] :])
        if more:
            left.append(keys_of(more[1]))
        if left:
            since_now = how is COMPARED and pattern(r"\bnow\b").search(text)
            return MOVED if since_now else how, left, [span]
    return "", [], []
