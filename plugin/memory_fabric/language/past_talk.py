"""Phrases by which a prompt asks for what was said in earlier sessions, in the larger languages.

A prompt that only names a past time ("the deployment of yesterday fails") asks for nothing that was
said. Phrases of languages with spaces are matched as whole words, others as parts of the text.
Code spans, files and names such as `prior-chat` ask for nothing.

Some ask where the last session ended ("where were we"); a first prompt of a session does so, too,
if it goes on with something ("continue").
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from memory_fabric.text import cjk_pairs, is_file, words

# A longer prompt states its request at its ends.
HEAD_CHARS, TAIL_CHARS = 1200, 800

_SAID = "say discuss decide agree talk settle conclude plan do try".split()
_TALK = "session sessions conversation conversations chat chats discussion discussions".split()
_ENGLISH = (
    *(f"did {who} {verb}" for who in ("we", "i") for verb in _SAID),
    *(f"{which} {talk}" for which in ("last", "previous", "earlier", "prior") for talk in _TALK),
    *("we discussed", "we talked about", "last time", "the other day we", "the other day i"),
    *("did i tell you", "have i told you", "did you tell me", "do you remember", "do you recall"),
    *("remember when", "remember what", "where did we leave off", "where we left off"),
    *("where were we", "as discussed"),
)
_GERMAN = (
    "letztes mal", "letzten mal", "beim letzten mal", "das letzte mal", "letzte sitzung",
    "letzten sitzung", "letztes gespräch", "letzten gespräch", "vorigen sitzung",
    "früheren sitzung", "haben wir gesagt", "hatten wir gesagt", "wir gesagt haben",
    "haben wir besprochen", "wir besprochen haben", "haben wir beschlossen",
    "haben wir entschieden", "haben wir vereinbart", "haben wir ausgemacht", "habe ich gesagt",
    "hatte ich gesagt", "hast du gesagt", "wie besprochen", "erinnerst du dich",
    "weißt du noch", "wo waren wir",
)  # fmt: skip
_FRENCH = (
    "dernière fois", "dernière session", "session précédente", "dernière conversation",
    "conversation précédente", "avons nous dit", "avions nous dit", "on avait dit",
    "qu on a dit", "avons nous décidé", "on avait décidé", "qu on a décidé", "on en avait parlé",
    "nous avons discuté", "avons nous discuté", "je t avais dit", "je t ai dit", "tu te souviens",
    "te souviens tu", "vous souvenez vous", "où en étions nous", "où on en était",
)  # fmt: skip
_SPANISH = (
    "última vez", "la vez pasada", "sesión anterior", "última sesión", "sesión pasada",
    "conversación anterior", "última conversación", "qué dijimos", "que dijimos", "qué decidimos",
    "que decidimos", "qué acordamos", "que acordamos", "qué hablamos", "que hablamos",
    "habíamos dicho", "habíamos decidido", "habíamos hablado", "habíamos quedado", "te había dicho",
    "te dije", "te acordás", "te acuerdas", "recuerdas", "dónde quedamos", "donde quedamos",
    "en qué quedamos", "en que quedamos",
)  # fmt: skip
_ITALIAN = (
    "ultima volta", "volta scorsa", "sessione precedente", "ultima sessione", "sessione scorsa",
    "conversazione precedente", "ultima conversazione", "avevamo detto", "abbiamo detto",
    "avevamo deciso", "abbiamo deciso", "avevamo parlato", "abbiamo parlato", "ti avevo detto",
    "ti ho detto", "ti ricordi", "dove eravamo rimasti",
)  # fmt: skip
_PORTUGUESE = (
    "última vez", "vez passada", "sessão anterior", "última sessão", "sessão passada",
    "conversa anterior", "última conversa", "o que dissemos", "o que decidimos",
    "o que combinamos", "o que falamos", "tínhamos dito", "tínhamos decidido",
    "tínhamos combinado", "tínhamos falado", "eu te disse", "você lembra", "lembra quando",
    "onde paramos",
)  # fmt: skip
_DUTCH = (
    "vorige keer", "laatste keer", "vorige sessie", "laatste sessie", "vorig gesprek",
    "wat zeiden we", "hadden we gezegd", "hebben we besproken", "hebben we afgesproken",
    "hebben we besloten", "weet je nog", "waar waren we",
)  # fmt: skip
_POLISH = (
    "ostatnim razem", "poprzednim razem", "poprzedniej sesji", "ostatniej sesji",
    "poprzedniej rozmowie", "ostatniej rozmowie", "co mówiliśmy", "co ustaliliśmy",
    "o czym rozmawialiśmy", "co zdecydowaliśmy", "pamiętasz",
)  # fmt: skip
_RUSSIAN = (
    "в прошлый раз", "прошлый раз", "в последний раз", "прошлой сессии", "прошлую сессию",
    "предыдущей сессии", "последней сессии", "прошлом разговоре", "прошлого разговора",
    "мы говорили", "мы обсуждали", "мы решили", "мы договорились", "мы договаривались",
    "я говорил", "я говорила", "ты говорил", "помнишь", "на чём мы остановились",
    "на чем мы остановились",
)  # fmt: skip
_TURKISH = ("geçen sefer", "son sefer", "önceki oturumda", "geçen oturumda", "ne demiştik",
            "ne konuşmuştuk", "neye karar vermiştik", "hatırlıyor musun")  # fmt: skip
_WITHOUT_SPACES = (
    "上次", "上一次", "上回", "之前说", "之前讨论", "之前聊", "之前决定", "之前提到", "我们说过",
    "我们讨论过", "我们决定过", "我说过", "你说过", "还记得", "之前的对话", "上个会话",
    "之前說", "之前討論", "我們說過", "我們討論過", "我說過", "還記得",
    "前回", "この前", "以前話", "前に話", "前に言", "話しました", "話したこと", "決めましたか",
    "覚えて", "前のセッション",
    "지난번", "저번에", "지난 세션", "이전 세션", "지난 대화", "이전 대화", "기억나", "기억해",
    "말했었", "얘기했었", "결정했었",
)  # fmt: skip

# A prompt that goes on with something is short.
RESUMED_CHARS = 160
_STOOD = (
    *(f"where {did}" for did in ("were we", "was i", "did we stop", "did i stop", "we stopped")),
    *("where did we leave off", "where we left off", "where i left off", "where did i leave off"),
    *(f"what {did} last" for did in ("did we do", "did i do", "were we doing", "was i doing")),
    *(f"what {did} working on" for did in ("were we", "was i", "have we been", "did we finish")),
    *("what did we do in the last", "what did we do in the previous", "what did we do yesterday"),
    *("what happened last time", "what happened last session", "what happened in the last session"),
    "wo waren wir", "wo sind wir stehen geblieben", "wo sind wir stehengeblieben",
    "wo haben wir aufgehört", "was haben wir letztes mal", "was haben wir zuletzt",
    "was haben wir das letzte mal", "was haben wir beim letzten mal",
    "où en étions nous", "où on en était", "où nous en étions", "où en était on",
    "qu avons nous fait la dernière fois", "qu est ce qu on a fait la dernière fois",
    "dónde quedamos", "donde quedamos", "en qué quedamos", "en que quedamos", "dónde nos quedamos",
    "donde nos quedamos", "qué hicimos la última vez", "que hicimos la ultima vez",
    "dove eravamo rimasti", "dove siamo rimasti", "cosa abbiamo fatto l ultima volta",
    "onde paramos", "o que fizemos da última vez", "o que fizemos na última",
    "waar waren we", "waar zijn we gebleven", "wat hebben we de vorige keer gedaan",
    "na czym skończyliśmy", "na czym stanęliśmy", "co robiliśmy ostatnio",
    "на чём мы остановились", "на чем мы остановились", "где мы остановились",
    "что мы делали в прошлый раз", "nerede kalmıştık", "geçen sefer ne yaptık",
)  # fmt: skip
_STOOD_WITHOUT_SPACES = (
    "上次做到哪", "做到哪了", "做到哪里了", "上次做了什么", "上次进行到", "上次做到", "進行到哪",
    "前回の続き", "どこまで", "前回何をし", "어디까지", "지난번에 뭐", "지난번에 무엇",
)  # fmt: skip
_RESUMES = (
    "continue", "resume", "proceed", "go on", "keep going", "carry on", "pick up", "continuing",
    "weiter", "mach weiter", "machen wir weiter", "weitermachen", "fahre fort", "setze fort",
    "continuons", "continuez", "on continue", "reprends", "reprenons", "reprenez", "on reprend",
    "poursuis", "poursuivons",
    "continúa", "continua", "continuar", "continuemos", "continuamos", "sigue", "sigamos",
    "seguimos", "seguí", "seguir", "retoma", "retomemos",
    "continuiamo", "prosegui", "proseguiamo", "vai avanti", "andiamo avanti", "riprendi",
    "riprendiamo",
    "prossiga", "prossiga com", "vamos continuar", "segue", "siga", "retome", "retomemos",
    "ga verder", "ga door", "doorgaan", "verder", "kontynuuj", "kontynuujmy",
    "продолжай", "продолжи", "продолжим", "продолжаем", "продолжить", "дальше", "давай дальше",
    "devam", "devam et", "devam edelim",
)  # fmt: skip
_RESUMES_WITHOUT_SPACES = (
    "请继续", "继续", "接着", "請繼續", "繼續", "続けて", "続きから", "続き", "再開", "계속",
    "이어서",
)  # fmt: skip
# Words before and after, which say nothing.
_COURTESIES = frozenset(
    """and also bitte com con dale de et from gracias hello hey hi i is it just let lets merci
    now obrigado ok okay on our per please plaît por favor s si so thank thanks the then to us
    vale vamos vous we where with work working you your""".split()
)
# Questions for what the assistant said itself.
_ASSISTANTS = (
    r"\bdid you (?:\w+ )?(?:recommend|suggest|propose|advise|say|tell|list|give|write|mention|"
    r"explain|describe|show|make)\b|\byou(?:['’]ve| have| had)? (?:\w+ly |just )?(?:(?:recommend|"
    r"suggest|propos|advis|list|mention|explain|describ|provid)ed|said|told|gave|given|wrote)\b|"
    r"\byour (?:\w+ )?(?:recommendation|suggestion|proposal|advice|answer|explanation)s?\b|"
    r"\b(?:hast du|haben sie) .{0,60}(?:empfohlen|vorgeschlagen|gesagt|geraten)\b|"
    r"\b(?:recomendaste|sugeriste|dijiste|propusiste|você (?:recomendou|sugeriu|disse))\b|"
    r"\b(?:tu m['’]as|avez-vous|as-tu) (?:recommandé|conseillé|dit|proposé|suggéré)\b|"
    r"\bты (?:советовал|рекомендовал|предлагал|сказал)|你(?:之前|上次)?(?:推荐|建议|说过)|"
    r"(?:あなた|君)が(?:勧め|提案|言っ)|(?:추천|제안)(?:해 ?줬|했)"
)


def _by_first_word(phrases: Iterable[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for phrase in phrases:
        found.setdefault(phrase.partition(" ")[0], []).append(phrase)
    return found


_PHRASES = _by_first_word(
    (
        *_ENGLISH,
        *_GERMAN,
        *_FRENCH,
        *_SPANISH,
        *_ITALIAN,
        *_PORTUGUESE,
        *_DUTCH,
        *_POLISH,
        *_RUSSIAN,
        *_TURKISH,
    )
)
_PHRASES_OF_ENDS = _by_first_word(_STOOD)


def asked_by(text: str) -> frozenset[str]:
    """Return the words by which a prompt asks for what was said or done in an earlier session.

    Empty if it does not ask for it. They do not say which of the earlier turns is meant.
    """
    said: set[str] = set()
    for phrase in _phrases_in(text, _PHRASES, _WITHOUT_SPACES):
        said.update(phrase.split())
        if not phrase.isascii():
            said.update(cjk_pairs(phrase))
    return frozenset(said)


def resumed(text: str, *, is_first: bool) -> str | None:
    """Return what a prompt goes on with from an earlier session, '' if it does not say, and None if
    it asks for nothing of it.

    It asks where the work ended, or is a short first prompt of a session that begins with such a
    word: "continue with the importer" gives "importer".
    """
    if _phrases_in(text, _PHRASES_OF_ENDS, _STOOD_WITHOUT_SPACES):
        return ""
    if not is_first or len(text) > RESUMED_CHARS:
        return None
    for start in _RESUMES_WITHOUT_SPACES:
        if text.lstrip().startswith(start):
            return text.lstrip()[len(start) :].strip(" 。！!.吧")
    spoken = words(text)
    while spoken and spoken[0] in _COURTESIES:
        spoken = spoken[1:]
    starts = [phrase for phrase in _RESUMES if spoken[: phrase.count(" ") + 1] == phrase.split()]
    if not starts:
        return None
    rest = spoken[max(start.count(" ") for start in starts) + 1 :]
    return " ".join(word for word in rest if word not in _COURTESIES)


def _phrases_in(
    text: str, phrases: Mapping[str, Sequence[str]], without_spaces: Iterable[str]
) -> list[str]:
    """Return the phrases in a prompt, outside of its code spans and names of files."""
    if len(text) > HEAD_CHARS + TAIL_CHARS:
        text = f"{text[:HEAD_CHARS]} {text[-TAIL_CHARS:]}"
    if text.count("`") % 2 == 0:
        text = " ".join(text.split("`")[::2])
    said = [] if text.isascii() else [phrase for phrase in without_spaces if phrase in text]
    if phrases.keys().isdisjoint(words(text)):
        return said
    found = [
        (word, number)
        for number, token in enumerate(text.split())
        if not is_file(token)
        for word in words(token)
    ]
    for at, (word, number) in enumerate(found):
        for phrase in phrases.get(word, ()):
            parts = phrase.split()
            here = found[at : at + len(parts)]
            # A name of one piece is no phrase, whatever words it is made of.
            spoken = len(parts) == 1 or here[-1][1] > number
            if spoken and [word for word, _ in here] == parts:
                said.append(phrase)
    return said


def asks_for_the_assistant(text: str) -> bool:
    """Return True if a question is about what the assistant said: "what did you recommend?"."""
    from memory_fabric.patterns import pattern  # late: no prompt's hook asks this

    return len(text) <= HEAD_CHARS and bool(pattern(_ASSISTANTS).search(text))
