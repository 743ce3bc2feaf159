"""The gate before capture: whether a text holds any word that could make something memorable.

Substring search only; nothing is compiled, so a prompt without a cue costs microseconds. What the
phrases for a user wait for always contains one of these cues (tested): the gate hides nothing.
"""

from __future__ import annotations

MAX_CHARS = 65536

CUES = (
    " over ", " will ", ", not ", "-character", "-space", "a goal", "across", "actual bug",
    "actual cause", "actual fix", "actual issue", "actual problem", "again", "agreed", "always",
    "anti-pattern", "antipattern", "approach", "architecture", "at all times", "avoid", "banned",
    "because", "best practice", "blocked", "blocker", "bug:", "camelcase", "can not ", "can't ",
    "cannot ", "cause —", "cause:", "caused", "causes", "causing", "chose", "circumstances",
    "code style", "coding style", "committed to", "conclusion is", "conclusion:", "constraint",
    "convention", "core issue", "core problem", "critical", "culprit", "decided", "decision",
    "deprecated", "direction is", "disallowed", "dislike", "do not", "don't", "due to",
    "everywhere", "exclusively", "favor", "favour", "final", "fix -", "fix —", "fix:", "fixed ",
    "for all", "for any", "for each", "for every", "forbidden", "from now on", "going forward",
    "going with", "gone with", "gotcha", "guideline", "hate ", "i want", "important", "instead of",
    "issue:", "just want", "kebab-case", "leads to", "led to", "let's", "lets ", "like it when",
    "like to have", "like to keep", "like to see", "like to use", "limitation", "line length",
    "locked in", "make sure", "mandatory", "migrat", "moved", "moving", "must ",
    "n't scale", "never", "no exception", "non-negotiable", "not allowed", "not an option",
    "not appropriate", "not optional", "not permitted", "not scale", "off the table",
    "only accept", "only allow", "only commit", "only deploy", "only merge", "only run",
    "only store", "only support", "only use", "only want", "only write", "opted", "our choice",
    "our default", "our design", "our stack", "pascalcase", "pattern -", "pattern —", "pattern:",
    "picked", "pitfall", "policy", "ported", "prefer", "principle", "problem —", "problem:",
    "prohibited", "rather than", "real bug", "real cause", "real issue", "real problem",
    "rejected", "replac", "required", "requirement", "resulted in", "results in", "root cause",
    "rule", "scale ", "scales", "selected", "settled", "should be", "should not", "should only",
    "snake_case", "solution", "solved", "source of truth", "standard", "stay ", "staying with",
    "stays ", "stick with", "stopped using", "sticking with", "strategy", "switch", "team will",
    "the bug",
    "the cause", "the fix", "the issue", "the problem", "throughout", "too slow", "turned out",
    "turns out", "underlying", "unsuitable", "verdict", "we are going to", "we are gonna",
    "we can not", "we can't", "we cannot", "we deploy", "we follow", "we host", "we keep",
    "we may not", "we no longer", "we now", "we only", "we rely", "we should", "we store",
    "we support", "we target", "we use", "we want", "we will", "we won't", "we'll",
    "we're going to", "we're gonna", "went with", "workaround", "worked around", "works best",
    "works well", "you add", "you ask", "you check", "you commit", "you create", "you document",
    "you finish", "you follow", "you keep", "you make", "you name", "you only", "you push",
    "you put", "you read", "you run", "you start", "you test", "you touch", "you update",
    "you use", "you write",
)  # fmt: skip

# The same for other languages.
WORLD_CUES = (
    "nur noch", "wir bleiben", "wir wechseln", "wir stellen", "nehmen wir", "fliegt raus",
    "festgelegt", "kein", "nicht mehr", "müssen", "künftig", "lieber", "lag daran", "problem war",
    "nos quedamos con", "vamos a", "cambiamos", "se guarda", "se decidió", "no uses", "deben",
    "prohibido", "el problema era", "on garde", "on reste", "on passe", "on part sur",
    "on utilise", "nous adoptons", "nous gardons", "a été retenu", "pas de", "interdit",
    "doivent", "garder", "le problème", "foi adotado", "foi escolhid", "ficamos com",
    "vamos manter", "mudamos", "ficou decidido", "não use", "devem", "proibido", "o problema era",
    "统一", "以后", "选用", "选择了", "放弃", "换成", "不要用", "不允许", "一律",
    "只能", "不得", "严禁", "问题出在", "原因是",
    "統一", "移行", "やめ", "しないことに", "変更しました", "すべて", "しないでください",
    "提供しない", "しないこと", "問題は", "않기로",
    "통일하자", "통일합니다", "바꾸기로", "전환하기로", "무조건", "앞으로 ", "하지 마",
    "쓰지 마", "문제는", "nie ", "préfèr",
    "a décidé", "a partir de agora", "a partir de ahora", "ab sofort", "allons utiliser",
    "avons décidé", "beschlossen", "bevorzug", "causa raiz", "causa raíz", "cause racine",
    "decidimos", "désormais", "entschieden", "hemos decidido", "immer", "jamais", "lass uns",
    "niemals", "nunca", "preferimos", "prefiero", "prefiro", "préfér", "sempre", "siempre",
    "toujours", "ursache", "usamos", "usaremos", "usemos", "utiliserons", "utilisons",
    "vamos a usar", "vamos usar", "wir nehmen", "wir nutzen", "wir setzen", "wir verwenden",
    "してはいけ", "不要再", "今後は", "从现在起", "优先使用", "使いましょう", "使うことに", "優先",
    "决定", "原因は", "始终", "常に", "必ず", "必须", "总是", "我们使用", "我们用", "採用", "改用",
    "根本原因", "永远不要", "決して", "決め", "決定", "禁止", "采用", "首选", "결정", "금지",
    "반드시", "사용하기로", "사용하자", "사용합시다", "선호", "앞으로는", "원인은", "절대",
    "하기로 했", "항상",
)  # fmt: skip


def has_cue(text: str) -> bool:
    """Whether capture is worth starting on this text; reads 64 KB at most."""
    lowered = text[:MAX_CHARS].lower().replace("’", "'")
    return any(cue in lowered for cue in CUES) or any(cue in lowered for cue in WORLD_CUES)
