"""The effect of a bound rule on a matching call. TELL refuses such a call once per session. ASK
asks the user. DENY refuses every such call. CONTEXT only adds the rule to the context. The user can
set the effect of a rule (`evidence.effect`). Otherwise, a rule with the user's trust has the effect
ASK if the user's recorded words forbid exactly the bound command, path or activity, and else TELL.
Rules that a team's owner set have the effect ASK. CONTEXT is the effect of all other rules, of
parts of `When:` that the user neither typed nor confirmed, and of all rules in unattended sessions.
"""

from __future__ import annotations

from collections.abc import Iterable

from memory_fabric import models
from memory_fabric.config import SDK, Settings
from memory_fabric.errors import BadInput
from memory_fabric.ids import short_id
from memory_fabric.language import negations
from memory_fabric.models import CONFIRMED, EFFECT, OTHERS, RULE_TYPES, UNSAID, WHEN, Record
from memory_fabric.rules import bindings, programs
from memory_fabric.rules.bindings import ACTIVITY, PATH, Binding, bindings_of, required_by
from memory_fabric.text import words as words_of

TELL, ASK, DENY, CONTEXT = "tell", "ask", "deny", "context"
EFFECTS = (TELL, ASK, DENY)
LIFT = "lift"
DOES = {
    TELL: "holds the first such call of a session back",
    ASK: "asks before the first such call of a session, or each that cannot be taken back",
    DENY: "refuses each such call",
    CONTEXT: "is only told with the result",
    LIFT: "binds nothing any more",
}
# Words and phrases that forbid what follows them in a clause.
_BANS = negations.NEVER | frozenset("dont mustnt shouldnt cant cannot forbidden".split())
_PHRASES = programs.commands_named(
    "do not, must not, may not, should not, can not, is not, are not, no longer, stop, avoid"
)
_SPACELESS = ("不要", "禁止", "不准", "不得", "勿", "しない", "してはいけない", "하지 마", "금지")
# Words that make a ban conditional, so that the rule applies only to some of the calls.
_CONDITIONS = negations.WITHOUT | programs.words_of("conditions")
_CHANGES = programs.words_of("changes")
_MAX_BANNED_WORDS = 7
_COMMON = frozenset("npm pnpm yarn bun npx run the git sudo".split())


def effect_of(record: Record, binding: Binding, settings: Settings) -> str:
    """Return TELL, ASK, DENY or CONTEXT for a rule whose `binding` matches a call."""
    # Nobody can answer in unattended and SDK sessions: only CONTEXT unless `unattended = "full"`.
    has_person = settings.attended and not settings.entrypoint.startswith(SDK)
    if not has_person and settings.capture_unattended != "full":
        return CONTEXT
    effect = stated_effect(record, binding)
    if effect == ASK and not settings.client.asks:
        return CONTEXT if record.source == OTHERS else TELL
    return effect


def stated_effect(record: Record, binding: Binding) -> str:
    """Return the rule's effect in a session whose user can be asked: TELL, ASK, DENY or CONTEXT."""
    if record.source == OTHERS:  # another member's rule can ask, but not refuse
        return ASK if record.evidence.get(models.FOR_TEAM) else CONTEXT
    chosen = record.evidence.get(EFFECT)
    if chosen in EFFECTS:
        return str(chosen)
    if record.trust != "user":
        return CONTEXT
    if binding.text in record.evidence.get(UNSAID, ()) and not record.evidence.get(CONFIRMED):
        return CONTEXT
    typed = models.users_words(record) or (record.what if record.source in models.TYPED else "")
    return ASK if typed and forbids(typed, binding) else TELL


def does(record: Record, action: str) -> str:
    """Describe the effect `action` of a rule as the end of a sentence: "refuses each such call"."""
    required = required_by(str(record.evidence.get(WHEN) or "")) if action in EFFECTS else ()
    passed = " and ".join(map(bindings.name_of, required))
    return DOES[action] + (f", unless {passed} passed before" if passed else "")


def binds(record: Record) -> bool:
    """Return True if a rule may stop a call in an attended session."""
    bound = bindings_of(str(record.evidence.get(WHEN) or ""))
    is_rule = record.type in RULE_TYPES
    return is_rule and any(stated_effect(record, binding) != CONTEXT for binding in bound)


def is_named(binding: Binding, typed: Iterable[str]) -> bool:
    """Return True if a text that the user `typed` mentions the bound command, path or activity."""
    names = _names_of(binding)
    if binding.kind == PATH:
        parts = [part for part in binding.text.split("/") if any(map(str.isalnum, part))]
        literal = [part for part in parts if not any(c in part for c in "*?[{")] or parts
        names = frozenset(words_of(literal[-1].lower()) if literal else ())
    for text in typed:
        text_words = [_plain(word) for word in words_of(text.lower())]
        matches = {w for w in names if any(_is_form(said, _plain(w)) for said in text_words)}
        if matches and (matches == names or binding.kind == ACTIVITY):
            return True
    return False


def _is_form(said: str, word: str) -> bool:
    """Return True if `said` is a form of `word`: "deploying" or "déployer" for "deploy"."""
    is_longer = len(word) > 3 and said.startswith(word) and len(said) - len(word) < 4
    return said == word or is_longer or (len(said) > 5 < len(word) and said[:5] == word[:5])


def _plain(word: str) -> str:
    if word.isascii():
        return word
    import unicodedata  # imported late: most prompts are ASCII

    return "".join(c for c in unicodedata.normalize("NFD", word) if not unicodedata.combining(c))


def set_by_user(record: Record, action: str, now: str) -> Record:
    """Return the rule with the effect `action`, confirmed at `now`, or without its binding if
    `action` is LIFT. Raises BadInput if it has no binding.
    """
    evidence = dict(record.evidence)
    if action == LIFT:
        evidence.pop(EFFECT, "")
        if when := evidence.pop(WHEN, ""):
            evidence[models.LIFTED] = when
        is_bound = bool(evidence.get(models.LIFTED))
    else:
        evidence[WHEN] = evidence.get(WHEN) or evidence.pop(models.LIFTED, "")
        evidence[EFFECT] = action
        is_bound = bool(bindings_of(str(evidence[WHEN] or "")))
    if not is_bound:
        id_, stated = short_id(record.id), record.evidence.get(WHEN)
        unbound = f"its When: {stated!r} names no command, path or activity"
        raise BadInput(
            "rules",
            f"{id_} is bound to nothing: {unbound if stated else 'it has no When:'}.",
            remedy=f"memory-fabric edit {id_} --when '`npm run dev`' binds it: a command in code "
            "marks, a path, or commit, push, deploy, test, migration.",
        )
    if evidence == record.evidence:
        return record
    return record._replace(evidence={**evidence, CONFIRMED: now})


def forbids(text: str, binding: Binding) -> bool:
    """Return True if a clause of the text unconditionally forbids exactly the bound item."""
    names = _names_of(binding)
    names = names - {"run"} or names  # "never run migrations" is not about `npm run`
    for sign in (". ", "; ", "! ", "? ", ", ", " - ", " — ", "\n", "。", "；", "，", "！"):
        text = text.replace(sign, "\0")
    for clause in text.split("\0"):
        lowered = clause.lower().replace("’", "'").replace("'", "")
        clause_words = [word for word in words_of(lowered) if word]
        ends = [at + 1 for at, word in enumerate(clause_words) if word in _BANS]
        for phrase in _PHRASES:
            runs = zip(*(clause_words[at:] for at in range(len(phrase))), strict=False)
            ends += [at + len(phrase) for at, run in enumerate(runs) if run == phrase]
        if not ends:
            if any(sign in clause for sign in _SPACELESS) and not names.isdisjoint(clause_words):
                return True
            continue
        after = clause_words[min(ends) :]
        if len(after) > _MAX_BANNED_WORDS or not _CONDITIONS.isdisjoint(after):
            continue
        # In "src/api must not be changed", the path comes before the words that forbid its change.
        is_change = binding.kind == PATH and not _CHANGES.isdisjoint(after)
        if not names.isdisjoint(clause_words if is_change else after):
            return True
    return False


def _names_of(binding: Binding) -> frozenset[str]:
    if binding.kind == ACTIVITY:
        return bindings.ACTIVITIES[binding.text].words
    words = binding.words or (binding.text,)
    names = {part for word in words if not word.startswith("-") for part in words_of(word.lower())}
    return frozenset({part for part in names - _COMMON if len(part) > 1} or names)
