"""English: what must hold, and what somebody prefers."""

from __future__ import annotations

from memory_fabric.capture.phrases.phrase import REASON, RULE, RULES, SUPPORT, Phrase

RULES_AND_TASTES = (
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
        speakers="user summary", sure=True,
    ),
    Phrase(
        ("always", "never"), "constraint",
        r"(?:^|; |: |, (?:and |but )?| and | but )(?:you (?:should|must) )?(?:always|never) "
        r"(?!(?:been|be able|mind|had|was|were|seen|got|gets|know|knew|said|did|ends|returns|has|"
        r"sees|runs|fires|"
        r"read|set|used|called|shown|shows|sent|declared|written|reach\w*|happen\w*|true|false|"
        r"wanted|worked|works|locally|a |the |an |crash\w*|fail\w*|break\w*|hits?|see|los[et]s?|"
        r"hang\w*|times?|throw\w*|error\w*|"
        r"in )\b)[a-z`]",
        speakers="user summary",
    ),
    Phrase(
        ("always", "never"), "constraint",
        r"(?:(?:^|[,;:.—-] |\b(?:and|so|but|because) )(?:we|you) (?:should |must )?|\bmust |"
        r"\bshall |\bshould )(?:always|never) (?!(?:\w+ed|wrote|had|got|saw|did|was|were|been|"
        r"made|went|said|knew|really|quite|seem|want|need|have|get|hit|see|lose|crash|fail|break|"
        r"hang|throw|time)\b)\w+",
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
        r"have \w+(?:ed|en|wn|lt|ft|nt)|be a|be some|be that|be because|mean)\b)",
        speakers="user summary",
    ),
    Phrase(
        ("do not", "don't"), "constraint",
        r"^(?:do not|don't)(?: ever)? (?!(?:need|worry|know|think|see|forget|want|have|like|mind|"
        r"understand|care|get|believe|remember|really)\b)\w+(?: \S+){2,}", RULE, speakers="user",
    ),
    Phrase(
        ("we can't", "we cannot", "we can not", "we may not"), "constraint",
        r"\bwe (?:can't|cannot|can not|may not|aren't allowed to|are not allowed to) "
        r"(?!(?:reproduce|find|see|tell|figure|connect|log|open|know|get|reach|seem|really)\b)\w+",
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
    Phrase(
        ("remember", "forget", "til "), "constraint",
        r"^(?:(?:please )?remember(?: that|:|,)|(?:please )?remember (?=(?:to|the|we|our|all|every|"
        r"never|always)\b)|(?:don't|do not|never) forget (?:that|to)|til:?(?: that)?)\s+"
        r"(?P<what>(?!(?:when|how|what|where|why|the (?:time|last|bug|issue|error|problem))\b)"
        r".{10,})",
        speakers="user", late=True,
    ),
    Phrase(
        ("we're on ", "we are on "), "constraint",
        r"^we(?:'re| are) (?:still |currently )?on (?!(?:it|the same|track|time|hold|this|that)\b)"
        r"\S+",
        SUPPORT, speakers="user", late=True,
    ),
    Phrase(
        (" only ",), "constraint",
        r"^(?!(?:it|this|that|i|you|there|he|she|we|they|which|and|but|if|the (?:only|error|bug|"
        r"issue)|when)\b)[^,;:?]{3,50} only (?:happens?|runs?|goes?|ships?|via|through|from|by) "
        r"\S+",
        speakers="user", late=True,
    ),
    Phrase(
        ("no more ",), "constraint", r"^no more (?!(?:than|questions?|of (?:this|that))\b)\S+",
        speakers="user", late=True,
    ),
    Phrase(
        ("make sure", "ensure"), "constraint",
        r"^(?:make sure|ensure) .{3,100}?\b(?:before (?:you|we|any|every|each|committing|pushing|"
        r"merging|deploying)|after (?:every|each)|on every|each time|every time|whenever)\b",
        speakers="user", late=True,
    ),
    # --- preferences -----------------------------------------------------------------------
    Phrase(
        ("prefer", "favor", "favour"), "preference",
        r"\b(?:i|we)(?:'d| would)?(?: (?:strongly|really|generally|usually|much|always|still|"
        r"personally)){0,2} (?:prefer|favou?r)\b(?! (?:the|your) (?:first|second|third|last|other|"
        r"previous|old|new|\w+ (?:version|option|one))\b)",
        speakers="user summary", sure=True,
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
        ("rather have", "rather use", "rather keep", "rather see"), "preference",
        r"\bi(?:'d| would) rather (?:have|use|keep|see)\b", speakers="user summary", late=True,
    ),
    Phrase(
        ("i use ",), "preference", r"^i (?:only |mainly |always )?use [^,;:]{2,40}, not \S+",
        speakers="user", late=True,
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
)  # fmt: skip
