"""Words of negation in several languages, in lower case, for all modules that compare words.
Modules add further words of their own, such as verbs of rejection, or the parts into which they
split "don't".
"""

NEVER = frozenset("never nie niemals nunca jamás jamas jamais nooit nigdy никогда asla".split())
NOT = frozenset(
    "not no cannot nicht kein keine keinen keinem pas aucun não nao niet geen не нельзя".split()
)
WITHOUT = frozenset("without ohne sin sans sem без".split())
ALL = NEVER | NOT | WITHOUT
# The parts of contracted negations before the apostrophe ("don't").
CONTRACTED = frozenset("don doesn didn mustn shouldn".split())
