"""Words of negation in several languages, in lower case, for all modules that compare words. Some
modules add words of their own, such as verbs of rejection, or "don" if they split "don't" in two.
"""

NEVER = frozenset("never nie niemals nunca jamás jamas jamais nooit nigdy никогда asla".split())
NOT = frozenset(
    "not no cannot nicht kein keine keinen keinem pas aucun não nao niet geen не нельзя".split()
)
WITHOUT = frozenset("without ohne sin sans sem без".split())
ALL = NEVER | NOT | WITHOUT
# The parts of contracted negations before the apostrophe ("don't").
CONTRACTED = frozenset("don doesn didn mustn shouldn".split())
