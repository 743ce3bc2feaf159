"""The gate before corrections: whether a text holds any word with which people correct.

Imports nothing and compiles nothing: every prompt passes here.
"""

from __future__ import annotations

MAX_CHARS = 65536
# What tells corrections from other rules, for people who sort.
CATEGORY = "correction"

# Lower case. Each form that `corrections` reads holds one of these (tested).
CUES = (
    "again", "as i said", "as i told", "as i've", "incorrect", "in future", "in the future",
    "like i said", "like i told", "from now on", "going forward", "i already", "i keep", "i said",
    "i told", "i've told", "i have told", "i don't want you", "how many times", "how often",
    "last time", "nah,", "nah.", "next time", "no!", "no,", "no.", "no:", "nope",
    "not correct", "not how we", "not right", "not true",
    "once more", "remember", "second time", "third time", "stop ", "that's wrong", "quit ",
    "we don't", "we do not", "we never", "we only", "we always", "wrong", "you always", "you keep",
    "you constantly", "you forgot",
)  # fmt: skip
# Far too common to tell anything but where a sentence begins.
FIRST_WORDS = ("no ", "not ")
WORLD_CUES = (
    "nein", "hör auf", "hört auf", "nie wieder", "gesagt",
    "no,", "vuelvas a", "deja de", "dejes de", "te dije", "te he dicho",
    "non,", "arrête", "plus jamais", "t'ai dit", "t’ai dit",
    "não", "pare de", "para de", "nunca mais", "disse",
    "不对", "不,", "不，", "不是", "错了", "不要再", "别再", "说过",
    "いいえ", "いや", "違い", "違う", "二度と",
    "아니", "아뇨", "틀렸", "다시는",
)  # fmt: skip


def may_correct(text: str) -> bool:
    """Whether it is worth reading this text for corrections; reads 64 KB at most."""
    lowered = "\n" + text[:MAX_CHARS].lower().replace("’", "'")
    if any(cue in lowered for cue in CUES) or any(cue in lowered for cue in WORLD_CUES):
        return True
    return any(end + word in lowered for word in FIRST_WORDS for end in ("\n", ". ", "! "))
