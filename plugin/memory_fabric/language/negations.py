"""Words of denial in the languages of the users.

All modules that compare words share this lower-case table. Each module adds words of its own, such
as verbs of rejecting, or the parts into which it splits "don't".
"""

NEVER = frozenset("never nie niemals nunca jamás jamas jamais nooit nigdy никогда asla".split())
NOT = frozenset(
    "not no cannot nicht kein keine keinen keinem pas aucun não nao niet geen не нельзя".split()
)
WITHOUT = frozenset("without ohne sin sans sem без".split())
ALL = NEVER | NOT | WITHOUT
# Contracted forms up to the apostrophe, such as "don't".
CONTRACTED = frozenset("don doesn didn mustn shouldn".split())
