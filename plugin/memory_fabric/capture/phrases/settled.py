"""English: what was decided, and what the user said, told in a summary."""

from __future__ import annotations

from memory_fabric.capture.phrases.phrase import HAVE, HEDGELESS, REASON, RULE, SUPPORT, Phrase

# Verbs after "we will" that announce the next step of a conversation and settle nothing.
_STEPS = (
    r"(?:see|need|look|check|discuss|decide|consider|get|come|talk|find|audit|review|plan|revisit|"
    r"know|try|proceed|wait|figure|think|ask|be able|test|tackle|address|work|do|go|explore|"
    r"investigate|continue|start with|want|have to|circle|verify|iterate|cover|walk|learn|evaluate|"
    r"like|lose|get|gain|become|end up|run into|break|fail|"
    r"have (?:a |an |no |some |more |less |to |the )|"
    r"be (?:doing|looking|working|testing|adding|discussing|evaluating))"
)
SETTLED = (
    # --- decisions -------------------------------------------------------------------------
    Phrase(
        ("decided", "settled", "final", "agreed", "locked in"), "decision",
        r"^(?P<what>.{8,200}?)(?:,|;|:| —| -) (?:so )?(?:that's|this is|that is|it's) "
        r"(?:decided|settled|final|agreed|locked in)\b",
    ),
    Phrase(
        ("decided", "agreed", "opted", "chose", "settled", "standardi", "committed to"), "decision",
        rf"\b(?:we|i|the team){HAVE}{HEDGELESS} (?:decided|agreed|opted|chose|chosen|settled|"
        r"standardi[sz]ed|committed)\b", sure=True,
    ),
    Phrase(
        ("picked", "selected", "went with", "gone with", "rejected", "ruled out"), "decision",
        rf"\b(?:we|the team){HAVE}{HEDGELESS} (?:picked (?!up)|selected|went with|gone with|"
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
        r"name|store|put|treat|require|ban|pin|align|have|enforce|drop|allow|offer|assume|ensure|"
        r"support|limit|restrict|exclude|include|replace)\b",
        SUPPORT, speakers="user",
    ),
    Phrase(
        ("let's", "lets "), "decision",
        r"^let'?s (?:just )?go (?:with|for) (?!(?:it|that|this|both|your|what|whatever|the "
        r"(?:first|second|third|last|recommended|suggested))\b)\S+",
        speakers="user",
    ),
    Phrase(
        (" should ", "should be", "should have", "should use"), "decision",
        r"^(?:the|all|every|each|any|both|our) (?:[\w`'./@-]+ ){1,6}?should (?:(?:not|only|always|"
        r"never|also|just|really|simply|default(?:ly)?) ){0,2}(?!(?:be (?:fixed|able|done|working|"
        r"something|good|fine|ok|okay|like|easy|updated|changed|removed|added|possible|there)|"
        r"work|look|now|already|see|we|you|i)\b)\w+(?: \S+){1,}",
        RULE, speakers="user summary", late=True,
    ),
    Phrase(
        ("all ", "every ", "each ", "any "), "decision",
        r"^(?:all|every|each|any) (?:[\w`'./@-]+ ){1,5}?(?:will|must|shall|has to|have to|needs to|"
        r"need to|goes|go|lives?|belongs?|gets?|stays?) (?!(?:see|know|probably|likely)\b)\w+",
        speakers="user summary", late=True,
    ),
    Phrase(
        ("default",), "decision",
        r"^(?:default to|(?:the )?default(?: \w+)?(?: is|:| should be| will be| stays| remains)) "
        r"(?!(?:what|not|the same|a |an )\b)\S+",
        speakers="user", late=True,
    ),
    Phrase(
        ("goes in", "goes to", "goes into", "go in", "go into", "belongs in", "belong in",
         "belongs to", "lives in", "live in", "lives on", "live under", "lives under"), "decision",
        r"^(?!(?:it|this|that|these|those|they|where|what|which|if|when)\b)[^,;:?]{2,80}? (?:goes? "
        r"(?:in|to|into|under)|belongs? (?:in|to|under)|lives? (?:in|on|under|at)) \S+",
        speakers="user", late=True,
    ),
    Phrase(
        ("what we use", "what we're", "what we are"), "decision",
        r"\bis what we(?:'re| are)? (?:use|using|(?:going|go) with|standardi[sz]ing on)\b",
        speakers="user summary", late=True,
    ),
    Phrase(
        (" it is",), "decision",
        r"(?:^|[,;:.…—-] |\bso )(?P<what>(?!(?:what|how|that|where|who|when|why|as|if|so|because|"
        r"sure|yes|and|but|or|than)\b)[\w./+#-]+(?: [\w./+#-]+){0,3} it is)[.!]?$",
        speakers="user", late=True,
    ),
    Phrase(
        ("let's use", "lets use"), "decision",
        r"^let'?s use (?!(?:this|that|it|these|those|your|what|both|the (?:first|second|third|last|"
        r"other|same|existing))\b)[\w'./+#-]+(?: [\w'./+#-]+)?[.!]?$",
        speakers="user",
    ),
    Phrase(
        ("we go with", "we're going with", "we are going with", "we went for"), "decision",
        r"\bwe(?:'re| are)? (?:go|going|went) (?:with|for) (?!(?:it|that|this|the (?:first|second|"
        r"third|last))\b)\S+",
        speakers="user summary", late=True,
    ),
    Phrase(
        ("instead of", "rather than", " over "), "decision",
        r"^(?!(?:prefer|use|choose|pick|take|favou?r|put|run|do|i|we|you|it|they|this|that)\b)(?:(?-i:[A-Z`])[\w.+`#-]*|"
        r"\w+[.+#-]\w+)(?: [\w.-]+){0,2} (?:instead of|rather than|over) \S+",
        REASON, speakers="user", late=True,
    ),
    Phrase(
        ("use ",), "decision",
        r"^use (?:the )?(?:(?:[\w-]+ ){1,2}(?:pattern|strategy|convention|style)\b|(?!(?:this|that|"
        r"it|the|a|an|these|those)\b)\S+ for (?!(?:this|that|it|now|these|me)\b)\S+)",
        SUPPORT, speakers="user", late=True,
    ),
    Phrase(
        (", not ",), "decision",
        r"^(?P<what>[\w /-]{2,30}: [^,;:]{2,40}, not [^,;:]{2,40})[.!]?$",
        speakers="user", late=True,
    ),
    Phrase(
        ("keep ",), "decision",
        r"^keep (?:it|them|that|this|everything|\S+) (?:in|as|on|inside|out of) \S+", REASON,
        speakers="user", late=True,
    ),
    Phrase(
        ("no need", "don't need", "do not need"), "decision",
        r"^(?:we (?:really )?(?:don't|do not) need|(?:there is |there's )?no need (?:for|to have)) "
        r"(?!(?:to (?:see|check|run|do|worry|go|change|touch|look)|that|this|it|more|any more)\b)"
        r"\S+",
        REASON, speakers="user", late=True,
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
        r"hold|have|live|support|default|own|require|replace|serve|act as|contain|follow)\b",
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
        rf"(?:\b(?:we|i){HAVE}(?:'re| are| will|'ll)?{HEDGELESS} |^)(?:switch(?:ed|ing)?|"
        rf"mov(?:ed|ing)|migrat(?:ed?|ing)|ported)(?: \S+){{0,4}}? (?:from .{{2,60}}? (?:to|onto|"
        rf"over to)|away from|off(?: of)?|(?:over )?to)\b",
        REASON,
    ),
    Phrase(
        ("in favor of", "in favour of"), "decision",
        rf"(?:\b(?:we|i|the team){HAVE}{HEDGELESS} |^)(?:dropped|ditched|retired|abandoned|"
        r"removed) .{2,60}? in favou?r of \S",
        REASON, speakers="user assistant summary",
    ),
    Phrase(
        ("stopped using",), "decision",
        rf"\b(?:we|the team){HAVE}{HEDGELESS} stopped using \S", REASON,
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
        rf"\b(?:we|i){HAVE}(?:'re| are| will|'ll)?{HEDGELESS} replac(?:e|ed|"
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
        r"^(?:(?:instead|therefore|so),? )?we should (?!(?:(?:never|not|always) have|"
        r"be able|probably|see|check|also|"
        r"consider|discuss|talk|look|add|ask|test|start|plan|review|try|wait|think|have a|get|"
        r"first)\b)(?:\S+ ){3,}",
        SUPPORT,
    ),
    Phrase(
        ("should always", "should never", "should not", "should only"), "constraint",
        r"^(?!(?:you|i|it|this|that|there)\b)[^,;:?]{2,100}? should (?:always|never|not|only)\b"
        r"(?! have\b)",
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
