"""Words of negation in the languages of the users, in lower case. All modules that compare words
share these lists. Each module adds words of its own, such as verbs of rejecting, or the parts into
which it splits "don't".
"""

NEVER = frozenset("never nie niemals nunca jamás jamas jamais nooit nigdy никогда asla".split())
NOT = frozenset(
    "not no cannot nicht kein keine keinen keinem pas aucun não nao niet geen не нельзя".split()
)
WITHOUT = frozenset("without ohne sin sans sem без".split())
ALL = NEVER | NOT | WITHOUT
# Contracted negations, up to the apostrophe ("don't").
CONTRACTED = frozenset("don doesn didn mustn shouldn".split())
