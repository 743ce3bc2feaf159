"""Names in a memory about the user: goals, employers, teams, people and places.

Read only in records of scope user, where "wants to learn Rust" is a goal and "works for Contoso"
names an employer. What a sentence leaves open is not made: after "trabajo en" there may be a town.
"""

# ruff: noqa: E501 - one expression a line

from __future__ import annotations

from collections.abc import Iterator, Sequence

from memory_fabric.language.proper_names import LONG_PLACES, PLACES
from memory_fabric.language.vocabulary import entity_type
from memory_fabric.models import Entity
from memory_fabric.patterns import pattern
from memory_fabric.text import cut, name_key, one_line

MAX_CHARS = 2000
MAX_GOAL_CHARS = 80
_CAPITAL = r"(?-i:[A-Z\u00c0-\u00dd])"
_NAME = rf"(?P<name>{_CAPITAL}[\w&'’-]{{1,30}}(?: (?:of )?{_CAPITAL}[\w&'’-]{{1,30}}){{0,2}})"
_OTHER = _NAME.replace("name", "other")
_SOMEONE = rf"(?:i|(?:the )?user|he|she|who|{_CAPITAL}\w{{1,20}})"
_NUTZER = r"(?:be)?nutzer(?:in)?"
_WHOSE = (
    rf"(?:\b(?:my|his|her|their|user's|user’s)|{_CAPITAL}\w{{1,20}}['’]s)"
    r"(?: (?:main|overall|long-term|short-term|personal|career|big|biggest|next|current|new))?"
)
_KIN = (
    r"(?:wife|husband|son|daughter|brother|sister|mother|father|girlfriend|boyfriend|boss|manager|"
    r"mentor|teammate|coworker|colleague|co-founder|cofounder|best friend|friend)"
)
_BY = (
    r"(?:by|before|until|within|in) (?:the end of )?(?:(?:next|this) )?(?:january|february|march|"
    r"april|may|june|july|august|september|october|november|december|spring|summer|autumn|fall|"
    r"winter|christmas|new year|year|20\d\d|q[1-4]|\w{1,8} (?:weeks|months|years))"
    r"(?:['’]s end| 20\d\d)?|this year|next year"
)
# Verbs of work and of wishes about answers, which open no goal even with a time limit.
_NO_GOAL = (
    r"(?:be|see|know|have|keep|review|use|avoid|hear|get|receive|always|never|not|only|make|move|"
    r"switch|migrate|merge|deploy|fix|test|commit|drop|remove|replace)\b"
)
_LEARNT = r"(?!(?:why|how|what|when|where|which|whether|if|more|about|that|from)\b)"
_AIM = (
    rf"learn (?:to )?{_LEARNT}\S.+|become (?:an? |the )\S.+|run (?:an? |the )(?:\S+ )?(?:half[ -])?(?:ultra)?marathon\b.*|"
    r"(?:write|publish) (?:an? |his |her |their |my )(?:\S+ )?(?:book|novel|thesis|paper)\b.*|"
    r"(?:finish|complete|get) (?:an? |the |his |her |their |my )(?:\S+ ){0,2}(?:degree|thesis|phd|certificate|certification|bachelor|master)\b.*|"
    r"pass (?:the |an? |his |her |their |my )(?:\S+ ){0,3}(?:exam|certification|driving test)\b.*|"
    r"(?:start|found) (?:an? |his |her |their |my )(?:own )?(?:\S+ )?(?:company|business|start-?up)\b.*|lose (?:weight|\d+ \w+)\b.*|"
    rf"(?!{_NO_GOAL})\w+ \S.{{0,60}}? (?:{_BY})\b.*"
)
_WANTS = rf"\b{_SOMEONE} (?:wants?|plans?|hopes?|aims?|intends?|(?:would|['’]d) like|(?:is|am|['’]m) planning) to"
_GOALS = (
    rf"{_WHOSE} (?:goal|aim|ambition|dream)(?: for [^,.;]{{2,30}}?)? is (?!not\b)(?:to )?(?P<name>.+)",
    r"\bgoal of the user is (?!not\b)(?:to )?(?P<name>.+)",
    rf"{_WANTS} (?P<name>{_AIM})",
    rf"(?:\b(?:mein|sein|ihr)(?: \w+es)? ziel|\bziel de[sr] {_NUTZER}s?) ist(?: es)?,? (?!nicht\b)(?P<name>.+)",
    rf"(?:\bich|{_NUTZER}) (?:will|möchte) (?P<name>(?!nicht\b)[^.,;]{{2,60}}? lernen)\b",
    r"(?:\b(?:mi|su) (?:objetivo|meta|sueño)(?: principal)?|\b(?:objetivo|meta) (?:del usuario|de la usuaria)) es (?P<name>.+)",
    r"\b(?:mon|son) objectif(?: principal)? est (?:de |d['’])?(?P<name>.+)|\bobjectif de l['’]utilisat(?:eur|rice) est (?:de |d['’])?(?P<other>.+)",
    r"(?:\b(?:meu|seu) objetivo(?: principal)?|\bobjetivo d[oa] usuári[oa]|\bminha meta) é (?P<name>.+)",
    r"\b(?:quiero|quiere|quero|quer|veux|veut|voudrais) (?P<name>(?:aprender|apprendre) (?:a |à )?\S.+)",
    r"(?:我|用户)的目标是(?P<name>.+)", r"(?:我|用户)(?:想|希望|打算)要?(?P<name>学(?:习|会)?.+)",
    r"(?:私|僕|ユーザー)の目標は(?P<name>.+?)(?:こと)?(?:です|だ|である)?[。]?$",
    r"(?:제|내|나의|사용자의) 목표는 (?P<name>.+?)(?:입니다|이다|이에요|예요|다)?[.]?$",
)  # fmt: skip
_EMPLOYERS = (
    rf"\b(?:{_SOMEONE}|and)(?:['’]s \w+ {_CAPITAL}\w+)? (?:(?:now|currently|also|still) )?(?:works?|worked|(?:is|am|was) working|(?:is|am|was) employed) (?:as an? [^,.;]{{2,40}}? )?(?:at|for|by) (?:the )?{_NAME}(?: and {_OTHER})?",
    rf"\bteam at {_NAME}",
    rf"{_WHOSE} (?:employer|company|team) is (?:called |named )?(?:the )?{_NAME}",
    rf"\barbeitet?n? (?:als [^,.;]{{2,40}}? )?(?:bei|für)(?: de[rmn]| die)? {_NAME}|\barbeitgeber (?:de[sr] {_NUTZER}s? )?ist {_OTHER}",
    rf"\btrabaj[oa] (?:como [^,.;]{{2,40}}? )?para {_NAME}|\btrabalh[oa] (?:como [^,.;]{{2,40}}? )?para (?:[ao] )?{_OTHER}",
    rf"\btravaille (?:comme [^,.;]{{2,40}}? )?(?:chez|pour) {_NAME}",
    rf"\b(?:empresa|compañía|entreprise|société) {_NAME}",
    r"在(?P<name>[\w\u4e00-\u9fff]{2,14}(?:公司|大学|银行|医院|集团))(?:工作|上班|任职)",
    r"(?:^|[は、])(?P<name>[^\sは、。]{2,20})に勤め",
)
_AFTER_TEAM = r"(?=$|[.,;:!)]| (?:at|in|of|and|since|as|with|for|from|before|when|who|which|that|to|is|on|because|until|but|where)\b)"
_TEAMS = (
    rf"\b(?:the|our|his|her|my) (?P<name>(?!(?:same|whole|entire|other|new|old|small|large|big|own|rest|former|previous|current|remote|distributed|international|local|next|best|home|dream|word|term|name)\b)[\w&-]{{2,20}}(?: [\w&-]{{2,20}})? team){_AFTER_TEAM}",
    rf"\b(?:im|dem|das|des|vom|zum) (?P<name>{_CAPITAL}[\w-]{{2,30}}team)s?\b",
    r"\b(?P<name>equip[oe] de (?!trabajo|dos|tres|cuatro|cinco|seis|personas|dois|duas|três|quatro)\w{3,20})",
    r"\b(?P<name>équipe (?:de |des |du |d['’])?(?!(?:de|des|du|est|a|qui|et|où|dans|avec|utilise|préfère)\b)\w{4,20})",
    r"在(?P<name>[\w\u4e00-\u9fff]{2,8}?(?:团队|小组))",
    r"(?P<name>[\u30a0-\u30ff\u4e00-\u9fffA-Za-z]{2,12}チーム)",
    r"(?:^|\s)(?P<name>[\uac00-\ud7a3]{2,6}팀)(?=에서|의|을|에|과|은|이|$)",
)
_PEOPLE = (
    rf"(?:\bmy|\buser['’]s|\bhis|\bher) name is {_NAME}|\b(?:call me|(?:i am|he is|she is|user is|to be) called|goes by) {_OTHER}",
    rf"(?:\b(?:my|his|her|user['’]s)|{_CAPITAL}\w{{1,20}}['’]s) (?:\w+ )?{_KIN}s?(?: is| are| is called| named|,|:)? {_NAME}(?: and {_OTHER})?",
    rf"\b(?:two|three|four) (?:sons|daughters|children|kids)[,:] {_NAME}(?: and {_OTHER})?|\breports? to {_NAME.replace('name', 'third')}",
    rf"\b{_NAME},? (?:is )?(?:my|his|her|the user['’]s) {_KIN}\b",
    rf"\b(?:ich heiße|nenne? mich|heißt|me llamo|se llama|llámame|je m['’]appelle|s['’]appelle|me chamo|se chama) {_NAME}",
)
_HOMES = (
    rf"\b(?:lives?|living|is based|am based|i['’]m based|grew up|was born|works? from home) in {_NAME}",
    rf"\b(?:wohnt?e?|lebt?e?) in {_NAME}|\b(?:vivo|vive|moro|mora) (?:en|em) {_OTHER}",
    rf"\b(?:habite|vit) (?:à|en) {_NAME}",
)
_KINDS = (("place", _HOMES), ("person", _PEOPLE), ("organisation", (*_EMPLOYERS, *_TEAMS)))
# A town as well as a company.
_UNSURE = (rf"\b(?:trabaj[oa] en|trabalh[oa] (?:na|no|em)|work(?:s|ing)? in) {_NAME}",)
# Beside these a name that nobody knows is likely a tool.
_OF_TOOLS = r"\b(?:us(?:e|es|ed|ing)|prefers?|preferred|editor|shell|terminal|browser|runs?|instead|over|nutzt|verwendet|bevorzugt|prefiere|usa|utilise|préfère|prefere)\b"
# The end of a goal: a reason, a further clause, a time limit.
_GOAL_END = rf"[.;!?。；！，]|,? (?:because|since|so that|but|which|porque|weil|denn|parce que)\b|, |(?: and)? (?:he|she|they|i) \w|\s(?:{_BY})\b"
# Words with a capital that name nothing.
_COMMON = r"(?:(?:der|die|das|mein|sein|ihr) )?(?:(?:be)?nutzer(?:in)?s?|ziel|arbeitgeber|entwickler(?:in)?)|user|usuario|usuária?"


def of_person(text: str, found: Sequence[Entity]) -> tuple[Entity, ...]:
    """Return the entities of a text about the user; `found` are those read as in any text.

    A name that is in the vocabulary keeps its type.
    """
    text = one_line(text[:MAX_CHARS])
    made = {name_key(entity.name): entity for entity in (*_names(text), *_goals(text))}
    keys = {key for key, entity in made.items() if entity.type != "goal"}
    keys.update(map(name_key, _matches(text, _UNSURE)))
    has_tools = pattern(_OF_TOOLS).search(text) is not None
    kept = {}
    for entity in found:
        if pattern(_COMMON).fullmatch(entity.name):
            continue
        key = name_key(entity.name)
        if not _is_guess(entity):
            kept[key] = made.get(key, entity) if entity.type == "unknown" else entity
        elif not _is_within(key, keys) and (has_tools or entity.type != "technology"):
            kept[key] = entity
    return (*kept.values(), *(entity for key, entity in made.items() if key not in kept))


def _is_guess(entity: Entity) -> bool:
    """Return True for a name of which no more is known than its capitals."""
    return entity.type in ("technology", "component") and not entity_type(entity.name)


def _names(text: str) -> Iterator[Entity]:
    for kind, expressions in _KINDS:
        for name in _matches(text, expressions):
            if entity_type(name):
                continue
            is_place = name.lower() in PLACES or name.lower() in LONG_PLACES
            yield Entity(name, "place" if is_place and kind != "person" else kind)


def _goals(text: str) -> Iterator[Entity]:
    for whole in _matches(text, _GOALS):
        end = pattern(_GOAL_END).search(whole)
        name = (whole[: end.start()] if end else whole).strip(" ,:")
        if len(name) > 3 and (len(name.split()) > 1 or not name.isascii()):
            yield Entity(cut(name, MAX_GOAL_CHARS), "goal")


def _matches(text: str, expressions: Sequence[str]) -> Iterator[str]:
    for expression in expressions:
        for match in pattern(expression).finditer(text):
            for group in match.groupdict().values():
                name = (group or "").strip(" '’-&").removesuffix("'s").removesuffix("’s")
                if name:
                    yield name


def _is_within(key: str, keys: set[str]) -> bool:
    return any(key in whole or whole in key for whole in keys)
