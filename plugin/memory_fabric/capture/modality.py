"""How a sentence is meant: said as settled, or asked, supposed, requested, reported, only for now.

Only what is said as settled is remembered. English is judged word by word; for other languages a
question mark and a short list of hedges must do.
"""

from __future__ import annotations

from memory_fabric.language.patterns import pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory_fabric.capture.segments import Sentence

STATED = ""

# Sentences that ask for agreement: what stands before them is a proposal, not a decision.
_ASKS_AGREEMENT = (
    "thoughts", "agree", "agreed", "ok", "okay", "sound good", "sounds good", "seem good",
    "seems good", "make sense", "makes sense", "does that make sense", "does this make sense",
    "right", "what do you think", "wdyt", "is that ok", "is that okay", "any objections", "good",
    "all good", "yes", "no", "yeah", "does that work", "shall i", "should i", "want me to",
    "would you like",
)  # fmt: skip

_MODALITIES = {
    "supposed": r"\b(?:maybe|perhaps|might|i think|i guess|i suppose|i believe|i wonder|wondering|"
    r"presumably|probably|possibly|potentially|likely|my (?:instinct|hunch|guess|gut)|leaning|"
    r"not (?:sure|certain|ready|convinced)|unsure|unclear|dunno|what if|suppose|supposing|"
    r"hypothetical\w*|strawman|brainstorm\w*|could (?:also |just |be|use|go|try|have|do)|"
    r"would be (?:nice|good|great|better|cool|useful|interesting|worth)|it would|we would|"
    r"we'd (?:need|have|want)|worth (?:considering|trying|exploring)|consider(?:ing)?|evaluat\w+|"
    r"some ?day|eventually|at some point|later on|in theory|ideally|tbd|to be (?:decided|"
    r"determined|discussed)|undecided|open question|proposal|propos(?:e|ed|ing)|suggest\w*|"
    r"i(?:'d| would) recommend|i recommend|whether|either|should we|seems?|appears? to|assuming|"
    r"in case we|unless we decide|hopefully|i hope|i wish|options? (?:\d|[a-c]\b|are|is)|"
    r"vielleicht|eventuell|könnten|quizás?|tal vez|podríamos|peut-être|pourrait|pourrions|talvez|"
    r"poderíamos)\b|也许|可能|或许|大概|かもしれ|たぶん|おそらく|아마|수도 있",
    "negated": r"\b(?:haven't|have not|hasn't|not yet|didn't|did not|never|don't|do not|yet to) "
    r"(?:been )?(?:decided?|cho(?:ose|sen)|settled?|agreed?|picked)\b|\bno decision\b|"
    r"\bnoch nicht entschieden\b|还没决定|尚未决定|まだ決め|아직 결정",
    "requested": r"\b(?:can|could|would|will) you\b|\bi(?:'d| would)? (?:want|need|like|"
    r"ask) you to\b|\bi need (?:a|an|to|the)\b|\bgo ahead\b|^(?:i|we) (?:want|need) (?:a|an|the|"
    r"some) \w+ (?:that|which|to)\b|\bhelp me\b|\bshow me\b|\btell me\b|\bgive me\b|"
    r"\blet me know\b",
    "reported": r"\b(?:they|he|she|the (?:customer|client|vendor|article|author|docs?|"
    r"documentation|post|blog|paper|book|upstream|maintainers?|competitors?|other team|reviewer|"
    r"library|spec)(?:'s)?|customers?|upstream|google|microsoft|amazon|apple|facebook|netflix|"
    r"uber|their \w+|the (?-i:[A-Z])\w+(?:'s)? (?:team|engineers|devs|developers|people|folks|"
    r"guys)) (?:have |has |also |has also |had |all )?(?:decided|chose|chosen|use[sd]?|prefers?|"
    r"preferred|will|went with|switched|moved|recommends?|says?|said|claims?|suggests?|always|"
    r"never|wants?|must|should)\b|\baccording to\b|\b(?:as|like) (?:they|he|she|the docs?) (?:say|"
    r"said)\b",
    "scoped": r"\b(?:yet|for now|right now|for the moment|just this once|this (?:time|turn|once|"
    r"session|pr|commit|branch|round|ticket|task|response|reply|message|conversation)|today|"
    r"tonight|tomorrow|until i|until we|before you (?:start|begin|write|continue|proceed|do)|"
    r"before i|no code changes|in (?:this|your) (?:response|answer|reply)|when you're done|"
    r"next step|in the meantime|temporarily|while (?:we|i)(?:'re| are|'m| am))\b",
}
_STATUS = (
    r"^(?:(?:i|i've|i have|we've|now|also|then|just|both|all|this|that|these|the changes?|"
    r"it)\b[ ,]*){0,3}(?:added|removed|changed|updated|moved|renamed|fixed|implemented|created|"
    r"refactored|replaced|extracted|wrote|written|ran|verified|tested|committed|pushed|merged|"
    r"deleted|introduced|extended|expanded|cleaned|converted|rewrote|documented|wired|built|"
    r"bumped|done|restructured|now)\b"
)
# A rule for good is no request for this turn, whatever politeness stands around it.
_FOR_GOOD = r"\b(?:always|never|from now on|going forward|every time|again|as a rule)\b"


def modality(sentence: Sentence, clause: str, following: str, record_type: str) -> str:
    """How the clause is meant: empty when it is stated, else the reason not to remember it."""
    if sentence.question:
        return "asked"
    if record_type not in ("problem", "solution") and asks_agreement(following):
        return "supposed"
    for name, expression in _MODALITIES.items():
        if name == "requested" and pattern(_FOR_GOOD).search(clause):
            continue
        if name == "scoped" and record_type in ("problem", "solution", "blocker", "antipattern"):
            continue
        if pattern(expression).search(clause):
            return name
    return STATED


def is_status(sentence: str) -> bool:
    """Whether the sentence reports work that was done, as an assistant does at the end."""
    return bool(pattern(_STATUS).match(sentence))


def asks_agreement(sentence: str) -> bool:
    """Whether the sentence only asks whether what was said before it is right."""
    bare = sentence.lower().strip()
    if not bare.endswith(("?", "？")):
        return False
    return bare.rstrip("? ").startswith(_ASKS_AGREEMENT) and len(bare) <= 60
