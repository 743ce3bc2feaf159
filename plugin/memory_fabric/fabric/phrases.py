"""What people say when something is worth keeping: one table of phrases, language by language.

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

    `explicit` is a first-person decision or a standing rule; `speakers` are those it counts for.
    """

    triggers: tuple[str, ...]
    type: str
    pattern: str
    needs: str = NOTHING
    explicit: bool = True
    speakers: str = "user assistant subagent summary"
    outcome: str = "neutral"


_HEDGELESS = r"(?: (?:just|now|already|finally|also|both|all|therefore|instead|then)){0,2}"
_HAVE = r"(?:'ve| have| had)?"
# Verbs after "we will" that announce the next step of a conversation and settle nothing.
_STEPS = (
    r"(?:see|need|look|check|discuss|decide|consider|get|come|talk|find|audit|review|plan|revisit|"
    r"know|try|proceed|wait|figure|think|ask|be able|test|tackle|address|work|do|go|explore|"
    r"investigate|continue|start with|want|have to|circle|verify|iterate|cover|walk|learn|evaluate|"
    r"like|be (?:doing|looking|working|testing|adding|discussing|evaluating))"
)
_FAILURE = (
    r"(?:time[- ]?outs?|crash\w*|errors?|deadlocks?|leaks?|fail\w*|hangs?|corrupt\w*|slow\w*|"
    r"outages?|duplicat\w*|races?|regressions?|lock-?ups?|oom|stalls?|data loss|memory|bugs?|"
    r"latency|conflicts?|overload\w*|flak\w*|broken|wrong|stale)"
)

_ENGLISH = (
    # --- decisions -------------------------------------------------------------------------
    Phrase(
        ("decided", "settled", "final", "agreed", "locked in"), "decision",
        r"^(?P<what>.{8,200}?)(?:,|;|:| —| -) (?:so )?(?:that's|this is|that is|it's) "
        r"(?:decided|settled|final|agreed|locked in)\b",
    ),
    Phrase(
        ("decided", "agreed", "opted", "chose", "settled", "standardi", "committed to"), "decision",
        rf"\b(?:we|i|the team){_HAVE}{_HEDGELESS} (?:decided|agreed|opted|chose|chosen|settled|"
        r"standardi[sz]ed|committed)\b",
    ),
    Phrase(
        ("picked", "selected", "went with", "gone with", "rejected", "ruled out"), "decision",
        rf"\b(?:we|the team){_HAVE}{_HEDGELESS} (?:picked (?!up)|selected|went with|gone with|"
        r"rejected|ruled out)",
    ),
    Phrase(
        ("decision", "decided", "chosen", "resolution", "conclusion:", "conclusion is", "verdict"),
        "decision",
        r"^(?:(?:the |our |final |key ){0,2}(?:decision|decided|resolution|conclusion|verdict)"
        r"(?: (?:is|was)(?: to| that)?\b|\s?[:—-])\s?(?P<what>.{8,})|"
        r"chosen(?: option)?\s?[:—-].{3,})",
    ),
    Phrase(
        ("was decided", "was chosen", "were chosen", "been decided", "been chosen",
         "was selected", "is decided", "been agreed", "was agreed", "been selected"), "decision",
        r"\b(?:was|were|been|is) (?:also |now |already )?(?:decided|chosen|agreed|selected)\b"
        r"(?:\s?[:—-] (?P<what>[A-Z].{12,}))?",
    ),
    Phrase(
        ("let's", "lets "), "decision",
        r"\blet'?s (?:(?:also|just|always|only|definitely|instead) ){0,2}(?:use|go with|"
        r"stick (?:with|to)|standardi[sz]e|adopt|switch|move to|prefer|default|keep|make|call|"
        r"name|store|put|treat|require|ban|pin|align|have|enforce|drop)\b",
        SUPPORT, speakers="user",
    ),
    Phrase(
        ("let's not", "lets not", "let's never", "let's avoid"), "decision",
        r"\blet'?s (?:also |just )?(?:not|never|avoid) \w+(?: \S+){2,}", speakers="user",
    ),
    Phrase(
        ("we will", "we'll", "we won't", "we are going to", "we're going to", "we are gonna",
         "we're gonna", "team will"), "decision",
        r"\b(?:we|the team)(?:'ll| will| won't|(?:'re| are)(?: \w+)? (?:going to|gonna))"
        rf"(?: (?:now|also|only|always|never|not|still|instead|just|all|therefore|continue to))"
        rf"{{0,3}} (?!{_STEPS}\b)\w+\b(?! (?:this|that|those|these|it|them)\b)",
    ),
    Phrase(
        (" will ",), "decision",
        r"^(?!(?:it|this|that|you|they|he|she|i|there|here|if|when|once|then|now|what|and|or|as|"
        r"we|which|who)\b)[^,;:]{3,120}? will (?:(?:not|only|always|never|still|also|"
        r"continue to) )?(?:be (?:\w+(?:ed|en|t|ne|d)\b|the\b|a\b|in\b|our\b)|remain|stay|use|"
        r"hold|have|live|support|default|own|become|require|replace|serve|act as|contain|follow)\b",
        speakers="assistant user summary",
    ),
    Phrase(
        ("we use", "we rely", "we now", "we host", "we deploy", "we store", "we only", "we keep",
         "we follow", "we target", "we support", "we no longer", "we always", "we don't"),
        "decision",
        r"(?:^|[,;:.—-] |\b(?:and|so|but|because|here) )we"
        r"(?: (?:now|only|mainly|generally|don't|do not|no longer|also)){0,2} (?:use|rely on|"
        r"host|deploy|store|keep|follow|target|support|write|run|pin|require|treat)\b",
        SUPPORT,
    ),
    Phrase(
        ("our approach", "approach", "strategy", "our choice", "architecture", "our design",
         "our stack",
         "direction is"), "decision",
        r"\bour (?:\w+ ){0,2}?(?:approach|strategy|choice|architecture|design|stack|direction)\b"
        r"(?: (?:for|to|on|in|here)[^.;:,]{0,60}?)? (?:is|are|will be|remains)\b(?! (?:to be|not|"
        r"that))",
    ),
    Phrase(
        ("convention", "policy", "our rule", "our standard", "our default", "our requirement",
         "rule ", "standard "), "constraint",
        r"\b(?:our|the (?:project|team|house|repo)(?:'s)?) (?:\w+ ){0,2}?(?:policy|convention|rule|"
        r"standard|default|requirement)\b(?: (?:for|to|on|in|here)[^.;:,]{0,60}?)? (?:is|are|"
        r"says)\b",
    ),
    Phrase(
        ("switch", "moved", "moving", "migrat", "ported"), "decision",
        rf"(?:\b(?:we|i){_HAVE}(?:'re| are| will|'ll)?{_HEDGELESS} |^)(?:switch(?:ed|ing)?|"
        rf"mov(?:ed|ing)|migrat(?:ed?|ing)|ported)(?: \S+){{0,4}}? (?:from .{{2,60}}? (?:to|onto|"
        rf"over to)|away from|off(?: of)?|(?:over )?to)\b",
        REASON,
    ),
    Phrase(
        ("in favor of", "in favour of"), "decision",
        rf"(?:\b(?:we|i|the team){_HAVE}{_HEDGELESS} |^)(?:dropped|ditched|retired|abandoned|"
        r"removed) .{2,60}? in favou?r of \S",
        REASON, speakers="user assistant summary",
    ),
    Phrase(
        ("stopped using",), "decision",
        rf"\b(?:we|the team){_HAVE}{_HEDGELESS} stopped using \S", REASON,
        speakers="user assistant summary",
    ),
    Phrase(
        ("instead of",), "decision",
        r"^instead of [^,]{2,60}?,? we(?: (?:now|just|only)){0,2} (?:use|run|rely on|deploy|store|"
        r"host|write|go with)\b",
        REASON, speakers="user assistant summary",
    ),
    Phrase(
        ("replac",), "decision",
        rf"\b(?:we|i){_HAVE}(?:'re| are| will|'ll)?{_HEDGELESS} replac(?:e|ed|"
        rf"ing) .{{2,60}}? (?:with|by)\b",
        speakers="user summary",
    ),
    Phrase(
        ("going with", "stick with", "sticking with", "staying with"), "decision",
        r"\b(?:going|stick(?:ing)?|staying) with (?!(?:me|you|him|her|them)\b)\w+",
        speakers="user summary",
    ),
    Phrase(
        ("rather than", "instead of", " over "), "decision",
        r"\b(?:i|we) (?:used|picked|chose|kept|made|put|implemented|named|use|keep) .{2,80}? "
        r"(?:rather than|instead of|over) ",
        REASON,
    ),
    Phrase(
        ("source of truth",), "decision",
        r"\b(?:is|are|remains?|stays?)(?: now| still)? (?:the |our |a )?(?:single |only |sole )?"
        r"source of truth\b",
    ),
    Phrase(
        ("stays ", "stay "), "decision",
        r"\b(?:\w+|`[^`]{1,60}`) stays? (?:on its own|as is|where it is|separate|private|public|"
        r"the same|in |on |out of |behind )",
        speakers="user",
    ),
    Phrase(
        ("not appropriate", "unsuitable", "ruled out", "rejected", "off the table", "deprecated",
         "not an option"), "decision",
        r"\b(?:is|are|was|were) (?:now |therefore |explicitly )?(?:not appropriate|unsuitable|"
        r"ruled out|rejected|off the table|not an option|deprecated (?:in favou?r|and))\b",
    ),
    Phrase(
        ("we should",), "decision",
        r"^(?:(?:instead|therefore|so),? )?we should (?!(?:be able|probably|see|check|also|"
        r"consider|discuss|talk|look|add|ask|test|start|plan|review|try|wait|think|have a|get|"
        r"first)\b)(?:\S+ ){3,}",
        SUPPORT,
    ),
    Phrase(
        ("should always", "should never", "should not", "should only"), "constraint",
        r"^(?!(?:you|i|it|this|that|there)\b)[^,;:?]{2,100}? should (?:always|never|not|only)\b",
    ),
    Phrase(
        ("we want", "don't want", "do not want", "only want", "just want", "i want"), "decision",
        r"\b(?:we|i) (?:(?:do not|don't|only|always|really|just|never|still) ){0,2}want\b"
        r"(?! (?:you|to (?:see|know|check|understand|ask|discuss|look|try|make sure))\b)",
        REASON, speakers="user summary",
    ),
    Phrase(
        ("we add", "we adopt", "we introduce", "we build", "we split", "we expose", "we serve",
         "we separate", "we move", "we drop", "we remove", "we make", "we define", "we model",
         "we generate", "we publish", "we pass", "we wrap", "we now"), "decision",
        r"^(?:(?:instead|therefore|here|hence),? )?we (?:now )?(?:add|adopt|introduce|build|split|"
        r"expose|serve|separate|move|drop|remove|make|define|model|generate|publish|pass|wrap)\b",
        REASON, speakers="assistant",
    ),
    Phrase(
        ("should be",), "constraint",
        r"^(?!(?:it|this|that|there|they)\b)[^,;:?]{2,100}? should (?:\w+ )?be \w+(?:ed|en|t|pt)\b",
        SUPPORT, speakers="user assistant summary",
    ),
    Phrase(
        ("for all", "for every", "for any", "for each", "everywhere", "across", "throughout"),
        "decision",
        r"^(?:use|adopt|standardi[sz]e on) (?!(?:this|that|it|these|those|the same|them)\b)"
        r".{2,80}? (?:for (?:all|every|any|each)|everywhere|across|throughout)\b",
        speakers="user summary",
    ),
    Phrase(
        ("instead of", "rather than", " over ", ", not ", ", never "), "constraint",
        r"^use (?!(?:this|that|it|these|those|the same|them)\b).{2,80}?(?: (?:instead of|rather "
        r"than|over)|, (?:not|never)) ",
        RULE, speakers="user",
    ),
    # --- constraints -----------------------------------------------------------------------
    Phrase(
        ("again",), "constraint",
        r"\b(?:don't|do not|never|stop)(?: ever)? .{2,160}?\bagain\b", speakers="user summary",
    ),
    Phrase(
        ("from now on", "going forward", "no exception", "as a rule", "at all times",
         "circumstances", "by convention"), "constraint",
        r"\b(?:from now on|going forward|no exceptions?|as a rule|by convention|at all times|under "
        r"no circumstances)\b",
        speakers="user summary",
    ),
    Phrase(
        ("always", "never"), "constraint",
        r"(?:^|; |: |, (?:and |but )?| and | but )(?:you (?:should|must) )?(?:always|never) "
        r"(?!(?:been|be able|mind|had|was|were|seen|got|gets|know|knew|said|did|ends|returns|has|"
        r"sees|runs|fires|reach\w*|happen\w*|true|false|wanted|worked|works|a |the |an |"
        r"in )\b)[a-z`]",
        speakers="user summary",
    ),
    Phrase(
        ("always", "never"), "constraint",
        r"(?:(?:^|[,;:.—-] |\b(?:and|so|but|because) )(?:we|you) (?:should |must )?|\bmust |"
        r"\bshall |\bshould )(?:always|never) (?!(?:\w+ed|wrote|had|got|saw|did|was|were|been|"
        r"made|went|said|knew|really|quite|seem|want|need)\b)\w+",
        speakers="user summary assistant",
    ),
    Phrase(
        ("you only", "you do not", "you don't", "you write", "you use", "you run", "you follow",
         "you keep", "you commit", "you ask", "you check", "you update", "you add", "you put",
         "you name", "you test", "you document", "you prefer", "you avoid", "you make", "you push",
         "you touch", "you create", "you start", "you finish", "you read"), "constraint",
        r"^you (?:only |do not |don't )?(?:write|use|run|follow|keep|commit|ask|check|update|add|"
        r"put|name|test|document|prefer|avoid|make sure|push|touch|create|start|finish|"
        r"read)\b(?! (?:into|up with|the wrong|wrong|it like|that|this|these|those)\b)",
        RULE, speakers="user",
    ),
    Phrase(
        ("no ",), "constraint",
        r"^no \w+(?: \S+){0,6} (?:in|without|outside|on|before|unless|after|for) \S+", RULES,
        speakers="user",
    ),
    Phrase(
        ("use ", "keep ", "write ", "name ", "put ", "place ", "follow ", "run ", "store "),
        "constraint",
        r"^(?:use|keep|write|name|put|place|follow|run|store) \S+(?: \S+)+", RULES, speakers="user",
    ),
    Phrase(
        ("mandatory", "required", "forbidden", "rule", "constraint", "requirement", "important",
         "critical", "policy", "convention"), "constraint",
        r"^(?:mandatory|forbidden|(?:hard |house |project |team )?(?:rule|constraint|policy|"
        r"convention)|critical|important)\s?(?::|—|!| -)\s?(?P<what>.{8,})",
        speakers="user",
    ),
    Phrase(
        ("mandatory", "forbidden", "prohibited", "not allowed", "disallowed", "not permitted",
         "banned", "non-negotiable", "not optional", "required"), "constraint",
        r"\b(?:is|are) (?:strictly |always |absolutely )?(?:mandatory|forbidden|prohibited|"
        r"not allowed|disallowed|not permitted|banned|non-negotiable|not optional|never allowed|"
        r"required (?:for|on|in|before|to)\b)",
        speakers="user summary",
    ),
    Phrase(
        ("must ",), "constraint",
        r"^(?!(?:it|this|that|you|there|i|they|he|she)\b)[^,;:?]{2,110}?\bmust (?!(?:have been|"
        r"be a|be some|be that|be because|mean)\b)",
        speakers="user summary",
    ),
    Phrase(
        ("do not", "don't"), "constraint",
        r"^(?:do not|don't)(?: ever)? (?!(?:need|worry|know|think|see|forget|want|have|like|mind|"
        r"understand|care|get|believe|remember|really)\b)\w+(?: \S+){2,}", RULE, speakers="user",
    ),
    Phrase(
        ("we can't", "we cannot", "we can not", "we may not"), "constraint",
        r"\bwe (?:can't|cannot|can not|may not|aren't allowed to|are not allowed to) \w+",
        REASON, speakers="user summary",
    ),
    Phrase(
        ("make sure",), "constraint",
        r"^make sure (?:to |that |you |we |the )?.{0,60}?\b(?:always|never|every)\b",
        speakers="user",
    ),
    Phrase(
        ("only use", "only allow", "only accept", "only support", "only run", "only commit",
         "only deploy", "only merge", "only write", "only store", "exclusively"), "constraint",
        r"^(?:only|exclusively) (?:use|allow|accept|support|run|commit|deploy|merge|write|store)\b",
        RULE, speakers="user",
    ),
    Phrase(
        ("camelcase", "snake_case", "kebab-case", "pascalcase", "-space", "line length",
         "-character"), "constraint",
        r"\b(?:use|uses|in|with|is|are|follows?|name\w*|max(?:imum)?) .{0,60}?(?:camelcase|"
        r"snake_case|kebab-case|pascalcase|\d-space|line length|\d-character)\b",
        speakers="user",
    ),
    # --- preferences -----------------------------------------------------------------------
    Phrase(
        ("prefer", "favor", "favour"), "preference",
        r"\b(?:i|we)(?:'d| would)?(?: (?:strongly|really|generally|usually|much|always|still|"
        r"personally)){0,2} (?:prefer|favou?r)\b",
    ),
    Phrase(
        ("prefer", "favor", "favour"), "preference",
        r"(?:^|[;:] )(?:(?:strongly|generally) )?(?:prefer|favou?r) ", speakers="user summary",
    ),
    Phrase(
        ("preferred", "preference"), "preference",
        r"\b(?:my|our) (?:preference|preferred \w+)(?: for [^.;:,]{0,40})? is\b",
    ),
    Phrase(
        ("avoid",), "preference",
        r"^avoid \w+.{0,120}?\b(?:where|when|whenever|if|unless|possible|can)\b", speakers="user",
    ),
    Phrase(
        ("avoid",), "constraint", r"^avoid \w+(?: \S+){1,}", RULE, speakers="user",
    ),
    Phrase(
        ("like to keep", "like to use", "like to have", "like to see", "like it when", "hate ",
         "dislike"),
        "preference",
        r"\b(?:i|we) (?:(?:really|generally|usually|always) )?(?:like to (?:keep|use|have|see)|"
        r"like it when|hate (?:it )?when|dislike)\b",
        speakers="user summary",
    ),
    Phrase(
        ("a goal",), "preference", r"\bis (?:not|never|explicitly not) a goal\b", speakers="user",
    ),
    # --- problems --------------------------------------------------------------------------
    Phrase(
        ("anti-pattern", "antipattern"), "antipattern",
        r"^anti-?pattern\s?[:—-]\s?(?P<what>.{8,})",
        explicit=False, outcome="failed",
    ),
    Phrase(
        ("caused", "causes", "causing", "led to", "leads to", "resulted in", "results in"),
        "antipattern",
        rf"^(?!(?:this|that|it|which|what)\b)[^,;:]{{3,100}}? (?:caused|causes|was causing|led to|"
        rf"leads to|resulted in|results in) (?:\S+ ){{0,5}}?{_FAILURE}\b",
        explicit=False, outcome="failed",
    ),
    Phrase(
        ("n't scale", "not scale", "too slow"), "antipattern",
        r"^(?!(?:this|that|it|which|what)\b)[^,;:]{3,80}? (?:(?:doesn't|does not|didn't|did not|"
        r"won't) scale|(?:is|was|proved|turned out) (?:far |way |much )?too slow (?:for|at|on|"
        r"with))\b",
        explicit=False, outcome="failed",
    ),
    Phrase(
        ("root cause", "the problem", "the issue", "the bug", "culprit", "the cause", "underlying",
         "real problem", "real issue", "real bug", "real cause", "actual problem",
         "actual issue", "actual bug", "actual cause", "core problem", "core issue"), "problem",
        r"\b(?:root cause|(?:the )?(?:real|underlying|actual|core) (?:problem|issue|bug|cause|"
        r"culprit)|the (?:culprit|bug|problem|issue|cause))(?: (?:here|"
        r"with [^:,]{1,60}?|in [^:,]{1,60}?|of [^:,]{1,60}?|for [^:,]{1,60}?)|"
        r", .{1,50}?,)?(?: (?:was|is|were|turned out to be)(?: that| because)?,? |: |"
        r" — )(?P<what>(?!(?:fixed|resolved|gone|now|still|not (?:that|with|in|the)|solved|likely|"
        r"probably|whether|closed|unclear|unknown)\b).{8,})",
        explicit=False,
    ),
    Phrase(
        ("cause:", "bug:", "problem:", "issue:", "root cause", "the problem", "the issue",
         "the bug",
         "the cause", "gotcha", "pitfall", "limitation", "problem —", "cause —"),
        "problem",
        r"^(?:(?:the|here's the|known|real) )?(?:root cause|cause|bug|problem|issue|gotcha|pitfall|"
        r"limitation)(?: for [^:,]{1,40}?)?(?:\s?[:—]| -) ?(?P<what>.{12,})",
        explicit=False,
    ),
    Phrase(
        ("root cause", "culprit", "the cause", "real cause", "actual cause", "the bug"), "problem",
        r"^(?P<what>.{12,300}?)[.,;:—] ?(?:that is|that's|this is|which is) (?:the )?(?:real |"
        r"actual |root )?(?:cause|culprit|bug)\b",
        explicit=False,
    ),
    Phrase(
        ("caused by", "due to", "because of"), "problem",
        rf"^(?!(?:this|that|it)\b)[^,;:]{{0,80}}?{_FAILURE}\b[^,;:]{{0,60}}? (?:was|is|were|are|"
        r"came|comes) (?:\w+ )?(?:caused by|due to|because of|from)\b",
        explicit=False,
    ),
    Phrase(
        ("turns out", "turned out"), "problem",
        rf"\bturn(?:s|ed) out(?: that)?,? (?P<what>.{{4,160}}?\b(?:{_FAILURE}|doesn't|does not|"
        rf"can't|didn't|never|ignores?|overwrites?|drops?)\b.*)",
        explicit=False,
    ),
    Phrase(
        ("because",), "problem",
        r"^(?!(?:this|that|it)\b)[^,;:?]{0,90}?\b(?:fails?|failed|crash(?:es|ed)|hangs?|hung|"
        r"deadlock(?:s|ed)|leaks?|times out|timed out|breaks?|broke)\b.{0,60}? because ",
        explicit=False,
    ),
    # --- solutions, blockers, patterns -----------------------------------------------------
    Phrase(
        ("fix:", "the fix", "actual fix", "fix —", "fix -", "solution", "workaround", "resolution"),
        "solution",
        r"^(?:the )?(?:actual |real |right )?(?:fix|solution|workaround|resolution)"
        r"(?:\s?[:—]| -| (?:was|is)(?: to| that)?\b)\s?(?P<what>.{12,})",
        PAIR, explicit=False,
    ),
    Phrase(
        ("fixed ", "solved", "resolved", "worked around"), "solution",
        r"\b(?:fixed|solved|resolved|worked around)(?: (?:it|this|that|the \w+))? (?:by|with) "
        r"(?P<what>.{12,})",
        PAIR, explicit=False,
    ),
    Phrase(
        ("blocked", "blocker"), "blocker",
        r"^blocker\s?[:—-] (?P<what>.{8,})|(?:^|\b(?:is|are|we're|i'm|am|been|still|was) )blocked "
        r"(?:by|on|until|because) \w+",
        explicit=False,
    ),
    Phrase(
        ("can't ", "cannot ", "can not "), "blocker",
        r"\b(?:can't|cannot|can not) (?:start|proceed|continue|ship|merge|deploy|release|move on|"
        r"begin|go live|finish)\b.{0,80}?\b(?:until|before|unless)\b",
        explicit=False,
    ),
    Phrase(
        ("pattern:", "pattern —", "pattern -", "best practice"), "pattern",
        r"^(?:pattern|best practice|recommended pattern)\s?[:—-]\s?(?P<what>.{8,})", explicit=False,
    ),
    Phrase(
        ("scales", "scale ", "works well", "works best"), "pattern",
        r"^(?!(?:this|that|it|which|what)\b)[^,;:]{3,80}? (?:scales? (?:for|to|well|fine)|works "
        r"(?:well|best) (?:for|with|when|at))\b",
        explicit=False, outcome="success",
    ),
    # --- what the user said, told in a summary ----------------------------------------------
    Phrase(
        ("user ",), "decision",
        r"\buser (?:(?:has|explicitly|also|then|later|clearly) ){0,2}(?:decided|chose|confirmed|"
        r"clarified|insisted|stated|pointed out|specified)(?: that| to| on)? (?P<what>.{8,})",
        speakers="summary",
    ),
    Phrase(
        ("user ",), "preference",
        r"\buser (?:(?:has|explicitly|also|strongly|clearly) ){0,2}(?:prefers|preferred)(?: that| "
        r"to)? (?P<what>.{4,})",
        speakers="summary",
    ),
)  # fmt: skip


def _rows(language_type: str, *rows: tuple[str, str]) -> tuple[Phrase, ...]:
    return tuple(
        Phrase((trigger,), language_type, pattern, speakers="user assistant summary")
        for trigger, pattern in rows
    )


_GERMAN = (
    *_rows(
        "decision",
        ("entschieden", r"\bwir haben (?:uns )?.{0,120}?\bentschieden\b"),
        ("entschieden", r"\bentschieden, .{4,}"),
        ("beschlossen", r"\b(?:wir haben|es wurde) .{0,120}?\bbeschlossen\b"),
        ("wir verwenden", r"\bwir verwenden (?:ab jetzt |künftig |nur )?\w+.{0,80}?\b(?:für|"
        r"statt|als)\b"),
        ("wir nutzen", r"\bwir nutzen (?:ab jetzt |künftig |nur )?\w+.{0,80}?\b(?:für|statt|"
        r"als)\b"),
        ("wir nehmen", r"\bwir nehmen \w+.{0,80}?\b(?:für|statt|weil|als)\b"),
        ("wir setzen", r"\bwir setzen (?:\w+ )?auf \w+"),
        ("lass uns", r"\blass uns \S+.{0,80}?\b(?:für|statt|weil)\b.{0,80}?(?:verwenden|nutzen|"
        r"nehmen)?"),
    ),
    *_rows(
        "constraint",
        ("immer", r"^(?:bitte )?(?:immer|\w+en immer|\w+e immer) \w+"),
        ("niemals", r"^(?:bitte )?niemals \w+|\b(?:darf|dürfen) niemals\b"),
        ("ab sofort", r"\bab sofort\b"),
    ),
    *_rows("preference", ("bevorzug", r"\b(?:ich|wir) bevorzugen? \w+")),
    *_rows("problem", ("ursache", r"\bursache (?:war|ist)(?:,? dass)? (?P<what>.{8,})")),
)  # fmt: skip
_SPANISH = (
    *_rows(
        "decision",
        ("decidimos", r"\bdecidimos \w+"),
        ("hemos decidido", r"\bhemos decidido \w+"),
        ("usaremos", r"\busaremos \w+"),
        ("vamos a usar", r"\bvamos a usar \w+"),
        ("usemos", r"\busemos \w+.{0,80}?\b(?:para|en lugar de|porque)\b"),
    ),
    *_rows(
        "constraint",
        ("siempre", r"^siempre \w+|\b(?:deben?|hay que) .{0,40}?siempre\b|\bsiempre (?:debe|usar|"
        r"valid)\w*"),
        ("nunca", r"^nunca \w+"),
        ("a partir de ahora", r"\ba partir de ahora\b"),
    ),
    *_rows(
        "preference",
        ("preferimos", r"\bpreferimos \w+"),
        ("prefiero", r"\bprefiero \w+.{0,80}?\b(?:a|en lugar de|sobre|antes que)\b"),
    ),
    *_rows("problem", ("causa raíz", r"\bcausa raíz (?:era|fue|es) (?:que )?(?P<what>.{8,})")),
)  # fmt: skip
_FRENCH = (
    *_rows(
        "decision",
        ("avons décidé", r"\b(?:nous )?avons décidé \w+"),
        ("a décidé", r"\bon a décidé \w+"),
        ("utiliserons", r"\bnous utiliserons \w+"),
        ("allons utiliser", r"\bnous allons utiliser \w+"),
        ("utilisons", r"^(?:nous )?utilisons \w+.{0,80}?\b(?:pour|au lieu de|plutôt que|car)\b"),
    ),
    *_rows(
        "constraint",
        ("toujours", r"^toujours \w+|\b(?:doit|doivent|faut) toujours\b|^\w+ez toujours\b"),
        ("jamais", r"^(?:ne )?jamais \w+|\bne (?:\w+ )?jamais \w+er\b|^ne \w+ez jamais\b"),
        ("désormais", r"\bdésormais\b"),
    ),
    *_rows("preference", ("préfér", r"\b(?:je préfère|nous préférons|on préfère) \w+")),
    *_rows("problem", ("cause racine", r"\bcause racine (?:était|est) (?:que )?(?P<what>.{8,})")),
)  # fmt: skip
_PORTUGUESE = (
    *_rows(
        "decision",
        ("decidimos", r"\bdecidimos \w+"),
        ("vamos usar", r"\bvamos usar \w+"),
        ("usaremos", r"\busaremos \w+"),
        ("usamos", r"\busamos \w+.{0,80}?\b(?:em vez de|porque)\b"),
    ),
    *_rows(
        "constraint",
        ("sempre", r"^sempre \w+|\b(?:deve|devem|devemos) sempre\b"),
        ("nunca", r"^nunca \w+"),
        ("a partir de agora", r"\ba partir de agora\b"),
    ),
    *_rows(
        "preference",
        ("preferimos", r"\bpreferimos \w+"),
        ("prefiro", r"\bprefiro \w+.{0,80}?\b(?:a|em vez de)\b"),
    ),
    *_rows("problem", ("causa raiz", r"\bcausa raiz (?:era|foi|é) (?:que )?(?P<what>.{8,})")),
)  # fmt: skip
_CHINESE = (
    *_rows(
        "decision",
        ("决定", r"(?:我们|团队|已经?|我)(?:已经?)?决定.{2,}|^决定.{2,}"),
        ("采用", r"(?:我们|统一|将)(?:将)?采用.{2,}"),
        ("改用", r"(?:我们|已|现在|统一)改用.{2,}|从.{1,30}改用.{1,30}"),
        ("我们使用", r"我们使用.{1,40}(?:而不是|作为|来|因为).{1,}"),
        ("我们用", r"我们用.{1,40}(?:而不是|作为|来|因为).{1,}"),
    ),
    *_rows(
        "constraint",
        ("始终", r"始终.{2,}"), ("总是", r"^(?:请)?总是.{2,}"), ("永远不要", r"永远不要.{2,}"),
        ("禁止", r"禁止.{2,}"), ("必须", r"必须.{2,}"), ("从现在起", r"从现在起.{2,}"),
        ("不要再", r"不要再.{2,}"),
    ),
    *_rows("preference", ("首选", r"首选.{1,}"), ("优先使用", r"优先使用.{1,}")),
    *_rows("problem", ("根本原因", r"根本原因(?:是|在于)(?P<what>.{3,})")),
)  # fmt: skip
_JAPANESE = (
    *_rows(
        "decision",
        ("決定", r".{2,}(?:を決定しました|に決定しました|と決定しました|ことに決定)"),
        ("決め", r".{2,}(?:に決めました|ことに決めた|に決めた)"),
        ("採用", r".{2,}を採用(?:します|しました|する|した)"),
        ("使うことに", r".{2,}を使うことに(?:しました|します|した)"),
        ("使いましょう", r".{2,}を使いましょう"),
    ),
    *_rows(
        "constraint",
        ("常に", r"常に.{2,}(?:する|します|ください|こと)"),
        ("必ず", r"必ず.{2,}(?:する|します|ください|こと)"),
        ("決して", r"決して.{2,}(?:ない|ません)"),
        ("してはいけ", r".{2,}してはいけ(?:ない|ません)"),
        ("今後は", r"今後は.{2,}"), ("禁止", r".{2,}(?:は|を)禁止"),
    ),
    *_rows("preference", ("優先", r".{2,}を優先(?:します|する)")),
    *_rows("problem", ("原因は", r"原因は(?P<what>.{3,})")),
)  # fmt: skip
_KOREAN = (
    *_rows(
        "decision",
        ("결정", r".{2,}(?:기로|로|을|를) 결정(?:했|하였|됐)"),
        ("하기로 했", r".{2,}하기로 했"),
        ("사용하기로", r".{2,}사용하기로"),
        ("사용하자", r".{2,}사용하자"),
        ("사용합시다", r".{2,}사용합시다"),
    ),
    *_rows(
        "constraint",
        ("항상", r"항상 .{2,}(?:하세요|한다|합니다|할 것|해야|해 주세요)"),
        ("절대", r"절대(?:로)? .{2,}(?:마세요|말 것|않는다|안 된다|안 됩니다|금지)"),
        ("반드시", r"반드시 .{2,}"), ("앞으로는", r"앞으로는 .{2,}"), ("금지", r".{2,}금지"),
    ),
    *_rows("preference", ("선호", r".{2,}선호(?:합니다|한다|해)")),
    *_rows("problem", ("원인은", r"원인은 (?P<what>.{3,})")),
)  # fmt: skip

LANGUAGES = {
    "en": _ENGLISH, "de": _GERMAN, "es": _SPANISH, "fr": _FRENCH, "pt": _PORTUGUESE,
    "zh": _CHINESE, "ja": _JAPANESE, "ko": _KOREAN,
}  # fmt: skip
PHRASES = tuple(phrase for phrases in LANGUAGES.values() for phrase in phrases)
