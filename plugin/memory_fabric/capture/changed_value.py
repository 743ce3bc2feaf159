"""Two statements of one subject with another value: "max_retries is 3", then "max_retries is 6".

Few and certain: all else that they say is the same, and the subject has one such value at a time: a
number, a day, what it is, is named, is kept in or is used for a purpose. What adds up is left out:
prohibitions, and the paths, commands, tools, environments and people of a list.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import takewhile
from typing import NamedTuple

from memory_fabric.language import negations
from memory_fabric.language.time_hints import MONTHS, WEEKDAYS
from memory_fabric.language.vocabulary import TECHNOLOGIES
from memory_fabric.patterns import exact, pattern
from memory_fabric.text import name_key, stem

MAX_SENTENCES, MAX_TOKENS, MAX_VALUE_TOKENS = 4, 48, 6
# From so many words in common before the values, any verb has one value that ends the sentence.
LONG_LEAD = 4
# Sentences that share so many words and differ in numbers alone are about one subject.
FRAME = 4
_SENTENCE_END = r"(?<=[.!?;])\s+(?=\S)|(?<=[。！？；])|\n+"
_OPENING = (
    r"^\W*(?:(?:decision|rule|note|decisión|regla|nota|décision|règle|entscheidung|regel|notiz)"
    r" ?:\s*|(?:from now on|as of now|going forward|please|so|and|i(?:['’]d like| would like| want|"
    r" need) you to|let['’]?s|(?:make|be) sure(?: to| that(?: you)?)?|you (?:should|must)|"
    r"remember to|por favor|de ahora en adelante|a partir de ahora|desde ahora|désormais|"
    r"dorénavant|à partir de maintenant|bitte|ab jetzt|ab sofort|von jetzt an)[,:]?\s+)+"
)
_CJK = r"(?![是为為は])[぀-ヿ一-鿿가-힯]"
_TOKEN = (
    r"`[^`]+`|\"[^\"]+\"|“[^”]+”|«[^»]+»|(?<!\w)'[^']+'(?!\w)|[=:,()是为為は]|"
    rf"(?:{_CJK})+|(?:(?!{_CJK})\w)(?:(?!{_CJK})[\w./@#%+*~$-]|:(?=\S))*"
)
_QUOTES = "`\"“”«»'"
_NUMBER = r"v?\d[\d.,:_-]*(?:[a-z%]{1,3})?"
# Words that do not change what is said; modals make a rule of it.
_FILLERS = frozenset(
    """a an the that we our us i now just exactly currently please always must should shall will
    only already still yet today here der die das den dem ein eine einen einem einer wir unser
    unsere jetzt nun immer muss müssen soll sollen sollte bitte nur genau el la los las lo un una
    unos unas nuestro nuestra nosotros ahora siempre debe deben solo sólo se le les l une notre nos
    nous maintenant toujours doit doivent seulement exactement faut il""".split()
)
_EQUALS = frozenset(
    """= : is are was were be equals equal ist sind war sein beträgt lautet es son era ser será est
    sont était être sera 是 为 為 は""".split()
)
_SETTING = frozenset(
    """set change changed raise raised lower lowered bump bumped increase increased reduce reduced
    switch switched default defaults defaulted""".split()
)
_USING = frozenset(
    """use uses using used relies rely nutzen nutzt nutze verwenden verwendet verwende nehmen nimm
    usa usan usar usamos uso utiliza utilizan utilizar utilizamos utilise utilisent utiliser
    utilisons""".split()
)
_PURPOSES = frozenset("for to as für zum zur als para como pour comme".split())
# Prepositions and the like behind which a value stands, if a verb that has one goes before.
_BEFORE_VALUE = frozenset(
    """with to as by in on at via through into under mit auf als nach unter über con en por como a
    bajo avec par dans sur comme sous à""".split()
)
# Signs that a number follows as a measure.
_BEFORE_NUMBER = _BEFORE_VALUE | frozenset(
    """after within of than every under over below above least most up for per by until before um
    am bis nach alle je höchstens mindestens von de tras cada hasta máximo mínimo después dentro
    après chaque jusqu dès maximum minimum exceed""".split()
)
# With these a denied number is a limit.
_LIMITING = frozenset(
    """than exceed exceeds over above below under more less längst mehr als más que plus""".split()
)
# Where what follows limits what was said to a case.
_CASES = frozenset(
    """for in on when if unless during with while where except für im bei wenn falls während mit
    para en cuando si con pour dans quand lors avec""".split()
)
_ENDS = frozenset(
    """, ( ) and or but because since so after before weil da denn und oder nach vor porque y o pero
    tras antes car parce et ou mais après avant""".split()
)
# Beginnings of verbs whose subject has one value: "end with", "stored in", "caused by".
_SINGLE = tuple(
    """end start begin began prefix suffix indent format writ written wrap sort name sign stor sav
    host deploy liv kept keep belong own report point resolv rout go goe map migrat mov render encod
    generat creat produc draw drawn mak made build built ship measur round normaliz pars served
    back handl authenticat cach caus com due lock pin
    beginn lieg speicher gespeicher schreib geschrieb benann nenn heiß sortier geh gehör läuf
    verursach
    termin empiez empez comienz acab llam guard almacen escrib escrit desplieg desplega orden caus
    perten
    commenc finiss fini écri stock hébergé hébergent déploi déploy tri appel nomm trouv
    appart""".split()
)
# Verbs with such a value right behind them.
_TAKING = tuple("called named cost last mean heiß llam appel".split())
_ENDINGS = frozenset(
    """e s es ed d ing n en er t te ten et st a an ar o ado ada ados adas ido ida amos emos imos
    é és ée ées ent ez ons i is it ir""".split()
).union(("",))
# What there is one of.
_SLOTS = frozenset(
    """port limit version owner day timeout deadline branch database host region prefix suffix
    width height length size budget rate interval threshold ttl maximum minimum url endpoint address
    email channel license licence delay quota capacity driver price username name grenze frist zweig
    datenbank breite höhe länge größe schwelle adresse kanal besitzer intervall límite puerto
    versión dueño plazo rama ancho tamaño umbral dirección canal intervalo nombre limite
    propriétaire délai branche largeur taille seuil intervalle nom""".split()
)
# The same, where any word may be the value.
_DESCRIBED = frozenset(
    """default colour color theme language locale timezone format encoding currency window retention
    frequency schedule standard farbe sprache zeitzone währung idioma moneda formato predeterminado
    couleur langue fuseau devise défaut""".split()
)
_CAUSES = frozenset("cause culprit reason ursache grund causa motivo raison".split())
_OF = frozenset("of for de del des du da d von vom für pour para".split())
_EACH = frozenset("anything everything whatever all jede jeder alle todo todos tout tous".split())
_UNITS = frozenset(
    """ms s sec second seconds min minute minutes h hour hours day days week weeks month months year
    years kb mb gb tb % percent sekunde sekunden minuten stunde stunden tag tage tagen woche wochen
    monat monate monaten jahr jahre jahren segundo segundos minuto minutos hora horas día días
    semana semanas mes meses año años seconde secondes heure heures jour jours semaine semaines mois
    an ans""".split()
)
_REQUIRING = tuple("requir need target brauch benötig requier necesit nécessit exig".split())
# Nouns whose number is a name, and beginnings of words with which things add up.
_NUMBERED = frozenset(
    """error code status port line page issue ticket bug step phase level version release exit pr
    task case user node python room sprint week day chapter section row column channel order zone
    server host shard instance replica worker disk rack floor stage gate item question point rule
    part group team tier option plan variant build job test article figure table
    schritt fehler zeile seite raum stufe knoten fall aufgabe frage punkt regel
    paso línea página nivel nodo caso tarea puerto sala étape ligne niveau nœud cas
    tâche salle""".split()
)
_COUNTED_BY = frozenset(
    """keep wait retry send show limit retain store cache fetch load return poll expire sample batch
    split allow behalte halte warte zeige wiederhole guarda espera reintenta muestra envía garde
    attends réessaie affiche envoie""".split()
)
_ADDING = tuple(
    """run execut install check test open clos allow support add includ import see read fix ask tell
    notif invit expos forward block ban avoid edit touch review approv commit merg push log track
    watch publish subscrib emit cover contain consist ha hav translat document
    teste prüf öffn erlaub unterstütz frag bearbeit führ installier
    ejecut instal prueb comprueb abre permit soport pregunt añad revis
    exécut lanc install vérifi ouvr autoris demand ajout""".split()
)
_GENERIC = frozenset(
    """app application project repo repository code codebase service site system team build it this
    backend frontend job thing anwendung projekt dienst proyecto servicio projet""".split()
)
_ENVIRONMENTS = frozenset(
    """staging production prod dev development test testing qa preview local ci sandbox demo linux
    macos windows ios android""".split()
)
_DAYS = frozenset(WEEKDAYS) | frozenset(day + "s" for day in WEEKDAYS)
_DAYS |= frozenset(
    """montag dienstag mittwoch donnerstag freitag samstag sonntag montags dienstags mittwochs
    donnerstags freitags samstags sonntags lunes martes miércoles jueves viernes sábado sábados
    domingo domingos lundi mardi mercredi jeudi vendredi samedi dimanche""".split()
)
_MONTHS = frozenset(MONTHS) | frozenset(
    """januar februar märz mai juni juli oktober dezember enero febrero marzo abril mayo junio julio
    agosto septiembre octubre noviembre diciembre janvier février mars avril juin juillet août
    septembre octobre novembre décembre""".split()
)
_SWITCHES = frozenset(
    """true false on off yes no enabled disabled mandatory optional required public private open
    closed green red an aus pflicht freiwillig activado desactivado obligatorio opcional activé
    désactivé obligatoire facultatif""".split()
)


class Token(NamedTuple):
    """A word of a sentence as it is compared, and as it was written; `place` in the sentence."""

    key: str
    raw: str
    place: int


Sentence = tuple[Token, ...]


def sentences(text: str) -> tuple[Sentence, ...]:
    """Return the sentences of a statement in the form in which `is_changed` compares them."""
    parts = filter(str.strip, pattern(_SENTENCE_END).split(text.strip()))
    found = (_tokens(part) for part, _ in zip(parts, range(MAX_SENTENCES), strict=False))
    return tuple(filter(None, found))


def is_changed(a: Sequence[Sentence], b: Sequence[Sentence]) -> bool:
    """Return True if two statements say another value of one subject; in sentences behind the first
    only if the first ones speak of the same, too.
    """
    if not a or not b:
        return False
    about_one = _count(_common(a[0], b[0])) > 1
    return any(
        _has_other_value(one, other)
        for i, one in enumerate(a)
        for j, other in enumerate(b)
        if (i == j == 0) or about_one
    )


def _tokens(sentence: str) -> Sentence:
    text = pattern(_OPENING).sub("", sentence.strip().rstrip(".!。"))
    found: list[Token] = []
    for place, raw in enumerate(pattern(_TOKEN).findall(text)[:MAX_TOKENS]):
        bare = raw.strip(_QUOTES).rstrip(".-") or raw
        key = bare.casefold()
        if raw[0] not in _QUOTES:
            if key in _FILLERS:
                continue
            key = "=" if key in _EQUALS else key
            found += [Token(key, raw, place)]
        else:
            found += [Token(key, raw, place)]
    return tuple(_settled(found))


def _settled(found: list[Token]) -> list[Token]:
    """Return the words with "set X to", "X was raised from 3 to" and "defaults to" as `X =`."""
    keys = [token.key for token in found]
    at = next((i for i, key in enumerate(keys) if key in _SETTING and "to" in keys[i:]), -1)
    if at < 0:
        return found
    to = keys.index("to", at)
    since = keys.index("from", at, to) if "from" in keys[at:to] else to
    before = found[: at - (at > 0 and keys[at - 1] == "=")]
    return [*before, *found[at + 1 : since], found[to]._replace(key="="), *found[to + 1 :]]


def _has_other_value(a: Sentence, b: Sentence) -> bool:
    """Return True if two sentences differ in the value of what both are about, and in no more."""
    lead = _common(a, b)
    behind = _common(a[len(lead) :][::-1], b[len(lead) :][::-1])[::-1]
    one, other = (s[len(lead) : len(s) - len(behind)] for s in (a, b))
    if not one or not other:
        return False
    if _is_of_cause(lead):
        return not _is_denying((*one, *other, *lead))
    values = _value(one), _value(other)
    rests = one[len(values[0]) :], other[len(values[1]) :]
    if not all(values) or any(rest and rest[0].key in _CASES for rest in rests):
        return _differ_in_numbers(a, b)
    if _has_one_measure(lead, *values, behind) or _has_one_name(lead, *values, behind):
        return True
    return _differ_in_numbers(a, b)


def _common(a: Sequence[Token], b: Sequence[Token]) -> Sentence:
    pairs = takewhile(lambda pair: _same(*pair), zip(a, b, strict=False))
    return tuple(one for one, _ in pairs)


def _same(one: Token, other: Token) -> bool:
    return one.key == other.key or (
        one.key.isalpha() and other.key.isalpha() and stem(one.key) == stem(other.key)
    )


def _value(tokens: Sentence) -> Sentence:
    """Return the value at the beginning, up to what says more about the case or the reason."""
    if len(tokens) > 1 and tokens[0].key in _CASES:
        return ()
    ends = _ENDS | _CASES
    found = (*tokens[:1], *takewhile(lambda token: token.key not in ends, tokens[1:]))
    return found if len(found) <= MAX_VALUE_TOKENS or len(found) == len(tokens) else ()


def _count(tokens: Sequence[Token]) -> int:
    """Return the number of words that say something by themselves."""
    weak = _BEFORE_NUMBER | _CASES | _ENDS | {"="}
    return sum(token.key not in weak for token in tokens)


def _has_one_measure(lead: Sentence, one: Sentence, other: Sentence, behind: Sentence) -> bool:
    """Return True if both values are numbers, days, months or switches, and the words around have
    one of them.
    """
    kind = _kind(one)
    if not kind or kind != _kind(other) or not _count(lead):
        return False
    keys = [token.key for token in lead]
    if _is_denying((*lead, *behind)) and not (kind == "number" and _LIMITING & set(keys)):
        return False
    # What stands before "is" is what is spoken of, not its value.
    if "=" in (token.key for token in behind) and "=" not in keys:
        return False
    if kind != "number":
        return kind != "switch" or keys[-1] == "=" or not behind
    units = [{token.key for token in value[1:]} for value in (one, other)]
    if units[0] != units[1] and not (units[0] | units[1]) <= _UNITS:
        return False
    before = lead[-1]
    if before.key == "=" or before.key in _BEFORE_NUMBER:
        return True
    is_name = (
        before.key in _NUMBERED
        or (before.place and before.raw[:1].isupper())
        or (len(lead) == 1 and before.key not in _COUNTED_BY)
    )
    if not is_name:
        return bool(behind or all(units))
    # "requires Node 18", "listens on port 8080"; but "Open port 80", "Python 3.11 is supported".
    is_led = any(key == "=" or key in _BEFORE_VALUE for key in keys[-2:-1])
    is_led = is_led or (before.raw[:1].isupper() and _has(lead[-2:-1], _REQUIRING))
    is_slot = _is_one_of(before.key, _SLOTS)
    return is_led and not behind and (is_slot or not _is_adding(lead))


def _has_one_name(lead: Sentence, one: Sentence, other: Sentence, behind: Sentence) -> bool:
    """Return True if the words around two values say what takes one of them at a time."""
    keys = [token.key for token in lead]
    are_names = _is_name(one) and _is_name(other)
    if _is_denying((*lead, *behind)) or _has(lead[:1], _ADDING):
        return False
    if not lead:
        # "Ines is the owner of the loyalty service".
        slot = behind[1].key if len(behind) > 2 and behind[0].key == "=" else ""
        return are_names and (_is_one_of(slot, _SLOTS) or slot in ("what", "who"))
    if len(keys) > 2 and keys[-2] in _BEFORE_VALUE and are_names:
        lead, keys = lead[:-1], keys[:-1]  # "go to the bucket acme-raw"
    *before, last = keys
    if "default" in before and _is_one_of(last, _SLOTS):
        return are_names
    if last == "=":
        head = _head(before)
        is_named = _count(lead) and keys[0] not in _GENERIC and not _are_counted(keys)
        is_default = "default" in before or head.startswith("standard")
        return (
            is_default
            or _is_one_of(head, _DESCRIBED)
            or bool(are_names and (_is_one_of(head, _SLOTS) or is_named))
        )
    if _ENVIRONMENTS.intersection(token.key for token in (*one, *other)) or _count(lead) < 2:
        return bool(last in _USING and behind and behind[0].key in _PURPOSES and _count(behind))
    if last in _USING or (last in _BEFORE_VALUE and before[-1] in _USING):
        is_for = _PURPOSES.union(_EACH).intersection(before)
        return bool(is_for or (behind and behind[0].key in _PURPOSES and _count(behind)))
    if _has(lead[-1:], _TAKING):
        return True
    if last not in _BEFORE_VALUE or (_is_adding(lead) and not _has(lead[-2:-1], _SINGLE)):
        return False
    return _has((*lead, *behind), _SINGLE) or (not behind and _count(lead) >= LONG_LEAD)


def _is_of_cause(lead: Sentence) -> bool:
    """Return True for "the root cause of the crash is": any words may follow."""
    *before, last = [token.key for token in lead] or [""]
    is_cause = last == "=" and _is_one_of(_head(before), _CAUSES)
    return is_cause and len(before) > 1 + (before[0] == "root")


def _head(before: Sequence[str]) -> str:
    """Return the word of which "the default branch of the docs" says what it is: branch."""
    at = next((i for i, key in enumerate(before) if i and key in _OF), len(before))
    return before[at - 1] if before else ""


def _differ_in_numbers(a: Sentence, b: Sentence) -> bool:
    """Return True if long sentences differ in several numbers, none of which is a name."""
    if len(a) != len(b):
        return False
    places = [i for i, pair in enumerate(zip(a, b, strict=True)) if not _same(*pair)]
    return (
        bool(places)
        and _count(a) - len(places) >= FRAME
        and not _is_denying(a)
        and all(
            _kind(one[i : i + 1]) == "number"
            and i > 0
            and (one[i - 1].key == "=" or one[i - 1].key in _BEFORE_NUMBER)
            for one in (a, b)
            for i in places
        )
    )


def _kind(value: Sentence) -> str:
    """Return `number`, `day`, `month` or `switch`; '' for a name or other words."""
    first, last = value[0].key, value[-1].key
    if exact(_NUMBER).fullmatch(first) and not any(t.raw[0] in _QUOTES for t in value):
        return "number" if len(value) <= 3 else ""
    if exact(_NUMBER).fullmatch(last) and len(value) == 2 and first in _SLOTS:
        return "number"
    kinds = (("day", _DAYS), ("month", _MONTHS), ("switch", _SWITCHES))
    return next((kind for kind, names in kinds if len(value) == 1 and first in names), "")


def _is_name(value: Sentence) -> bool:
    """Return True for a value that is written like a name, or is the name of a known thing."""
    if len(value) > 3 or any(token.key in _BEFORE_VALUE | _CASES for token in value):
        return False
    return any(
        token.raw[0] in _QUOTES
        or any(sign in token.raw for sign in "./_@#-")
        or any(map(str.isdigit, token.raw))
        or token.raw[:1].isupper()
        or name_key(token.key) in TECHNOLOGIES
        for token in value
    )


def _are_counted(keys: Collection[str]) -> bool:
    """Return True if several may be: "the reviewers are Ana"."""
    return any(len(key) > 4 and key.endswith("s") and key not in _SLOTS for key in keys)


def _is_denying(tokens: Sequence[Token]) -> bool:
    denials = (
        negations.NEVER
        | negations.NOT
        | negations.CONTRACTED
        | {"ne", "n", "don't", "doesn't", "avoid"}
    )
    return any(token.key in denials for token in tokens)


def _is_one_of(key: str, nouns: Collection[str]) -> bool:
    """Return True for one of the nouns, also where it is joined to another word."""
    return key in nouns or any(key.endswith(noun) for noun in nouns if len(noun) > 3)


def _is_adding(lead: Sentence) -> bool:
    """Return True if what is said adds up; a bare verb counts only where it opens the sentence."""
    return _has(lead[:1], _ADDING) or _has([t for t in lead if t.key not in _ADDING], _ADDING)


def _has(tokens: Sequence[Token], beginnings: tuple[str, ...]) -> bool:
    """Return True if a word is a form of one of these verbs."""
    return any(
        token.key.startswith(beginnings)
        and any(
            token.key.startswith(one)
            and {rest := token.key[len(one) :], rest.removeprefix(one[-1])} & _ENDINGS
            for one in beginnings
        )
        for token in tokens
    )
