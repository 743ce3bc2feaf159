"""Words that deny, reject or leave something, in all languages that capture reads.

No relation is read from a clause with such a word. Too many words cost a relation, too few make a
false one.
"""

from __future__ import annotations

from memory_fabric.language import negations
from memory_fabric.patterns import pattern

# "Use X, not Y" compares; "No, we use X" denies the previous statement.
_COMPARED = (
    r", (?:and |but )?(?:not|nicht|pas|não) (?!to\b|us(?:e|ing)\b)(?:the |a |an )?"
    r"[`\w.+#@/-]+(?: [`\w.+#@/-]+)?(?=\s*$|[,;.!](?:\s|$)| for\b| in\b)|而不是|"
    r"^\W*(?:no|nope|nah|nein|non|não|不|不对|いいえ|아니\w*)[,，、!.]\s"
)
_DENIED = (
    rf"n['’]t\b|\b(?:{'|'.join(sorted(negations.ALL))}|"
    r"none|nobody|nor|neither|avoid\w*|forbid\w*|prohibit\w*|"
    r"bann?(?:ed|ing|s)?|disallow\w*|against|refus\w+|unable|lacks?|lacking|"
    r"kein\w*|vermeid\w+|verb[io][et]\w+|untersag\w+|"
    r"ne|aucune|évit\w+|interdi\w+|ning[uú]n\w*|tampoco|"
    r"evit(?:ar|amos|e|em|emos)|prohib\w+|proib\w+|nenhum\w*)\b|\bn['’](?=\w)|"
    r"[不没沒無无未别勿]|避免|禁止|ない|ません|避け|않|못|없|금지|\b안 |(?:하지|쓰지) ?(?:마|말)"
)
_LEFT = (
    r"\b(?:reject\w*|declin\w+|rul(?:e|ed|es|ing) out|veto\w*|discard\w*|dismiss\w*|abandon\w*|"
    r"drop(?:s|ped|ping)?|remov\w+|retir\w+|ditch\w*|deprecat\w*|decommission\w*|"
    r"phas(?:e|ed|es|ing) out|rid of|away from|off of|mov(?:e|ed|es|ing) off|"
    r"(?:mov|migrat|switch|port|chang|transition|convert)\w* (?:\S+ ){0,4}?from|"
    r"replac\w+|supersed\w+|swap\w*|quit|stop(?:s|ped|ping)?|(?:we|have|has|team) left|"
    r"disabl\w*|switch\w* off|deshabilit\w*|desactiv\w*|deaktiv\w*|désactiv\w*|"
    r"leav(?:e|es|ing)|sunset\w*|uninstall\w*|delet\w+|scrap(?:ped|s)?|"
    r"discontinu\w+|revert\w*|roll\w* back|g[ia]v\w+ up|"
    r"abgelehnt|verworfen|verwerfen|verzicht\w+|abschaff\w+|abgeschafft|entfern\w+|entfällt|raus|"
    r"weg von|abgelöst|ablös\w+|ersetz\w+|aufgeb\w+|gestrichen|streichen|"
    r"rejet\w+|supprim\w+|arrêt\w+|cess(?:e|er|ons)|quitt\w+|remplac\w+|"
    r"dej(?:ar|amos|aremos|é|ó) de|rechaz\w+|descart\w+|elimin\w+|quit(?:ar|amos|ado)|"
    r"reemplaz\w+|sustitu\w+|deix(?:ar|amos|aremos) de|rejeit\w+|substitu\w+)\b|"
    r"放弃|弃用|移除|删除|去掉|停用|拒绝|否决|换掉|替换|取代|やめ|廃止|撤去|削除|却下|断念|"
    r"폐기|제거|삭제|중단|버리|그만|거부|기각"
)
_CLAUSES = r"[;\n!?。！？]|\.(?:\s|$)|\b(?:because|since|weil|denn|porque|parce que|puisque)\b|因为"


def is_denied(clause: str) -> bool:
    """Return True if the clause says that something is not, or must not be."""
    return bool(pattern(_DENIED).search(pattern(_COMPARED).sub(" ", clause)))


def is_left(clause: str) -> bool:
    """Return True if the clause rejects something or leaves it behind."""
    return bool(pattern(_LEFT).search(clause))


def clause_around(text: str, start: int, end: int) -> str:
    """Return the clause around `start` to `end`; 400 characters on each side are read."""
    before = text[max(0, start - 400) : start]
    after = text[end : end + 400]
    left = [match.end() for match in pattern(_CLAUSES).finditer(before)]
    right = pattern(_CLAUSES).search(after)
    return (
        before[left[-1] if left else 0 :]
        + text[start:end]
        + (after[: right.start()] if right else after)
    )
