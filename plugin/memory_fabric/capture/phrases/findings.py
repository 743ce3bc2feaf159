"""English: what was found out: problems and their solutions, blockers, patterns."""

from __future__ import annotations

from memory_fabric.capture.phrases.phrase import PAIR, Phrase

_FAILURE = (
    r"(?:time[- ]?outs?|crash\w*|errors?|deadlocks?|leaks?|fail\w*|hangs?|corrupt\w*|slow\w*|"
    r"outages?|duplicat\w*|races?|regressions?|lock-?ups?|oom|stalls?|data loss|memory|bugs?|"
    r"latency|conflicts?|overload\w*|flak\w*|broken|wrong|stale)"
)

FINDINGS = (
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
        r" — )(?P<what>(?!(?:in|with|inside|within|at|here|there|fixed|resolved|gone|now|"
        r"still|not (?:that|with|in|the)|solved|likely|"
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
        r"^blocker\s?[:—-] (?P<what>.{8,})|(?:^|\b(?:is|are|we're|i'm|am|been|still|was) )blocked"
        r"(?: (?:by|on|until|because)|:) \w+",
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
)  # fmt: skip
