"""Words of denial in the languages of the users.

One lower-case table for all modules that compare words. Each adds its own further words, such as
verbs of rejecting, or the parts into which it splits "don't".
"""

NEVER = frozenset("never nie niemals nunca jamás jamas jamais nooit nigdy никогда asla".split())
NOT = frozenset(
    "not no cannot nicht kein keine keinen keinem pas aucun não nao niet geen не нельзя".split()
)
WITHOUT = frozenset("without ohne sin sans sem без".split())
ALL = NEVER | NOT | WITHOUT
# "don't" and the like, up to the apostrophe.
CONTRACTED = frozenset("don doesn didn mustn shouldn".split())
