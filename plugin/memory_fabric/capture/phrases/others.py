"""German, Spanish, French, Portuguese, Chinese, Japanese and Korean."""

from __future__ import annotations

from memory_fabric.capture.phrases.phrase import Phrase


def _rows(language_type: str, *rows: tuple[str, str]) -> tuple[Phrase, ...]:
    return tuple(
        Phrase((trigger,), language_type, pattern, speakers="user assistant summary")
        for trigger, pattern in rows
    )


GERMAN = (
    *_rows(
        "decision",
        ("entschieden", r"\bwir haben (?:uns )?.{0,120}?\bentschieden\b"),
        ("entschieden", r"\bentschieden, .{4,}"),
        ("beschlossen", r"\b(?:wir haben|es wurde) .{0,120}?\bbeschlossen\b"),
        ("wir verwenden", r"\bwir verwenden (?:ab jetzt |künftig |nur )?\w+.{0,80}?\b(?:für|"
        r"statt|als)\b"),
        ("wir nutzen", r"\bwir nutzen (?:ab jetzt |künftig |nur )?\w+.{0,80}?\b(?:für|statt|"
        r"als|weil|nicht)\b"),
        ("wir nehmen", r"\bwir nehmen \w+.{0,80}?\b(?:für|statt|weil|als)\b"),
        ("wir setzen", r"\bwir setzen (?:\w+ )?auf \w+"),
        ("lass uns", r"\blass uns \S+.{0,80}?\b(?:für|statt|weil)\b.{0,80}?(?:verwenden|nutzen|"
        r"nehmen)?"),
    ),
    *_rows(
        "constraint",
        ("immer", r"^(?:bitte )?(?:immer|\w+en immer|\w+e immer) \w+"),
        ("nie ", r"\b(?:soll|sollen|sollst|sollt|darf|dürfen|darfst|dürft) (?:\w+ ){0,3}?nie \w+"),
        ("niemals", r"^(?:bitte )?niemals \w+|\b(?:darf|dürfen) niemals\b"),
        ("ab sofort", r"\bab sofort\b"),
    ),
    *_rows("preference", ("bevorzug", r"\b(?:ich|wir) bevorzugen? \w+")),
    *_rows("problem", ("ursache", r"\bursache (?:war|ist)(?:,? dass)? (?P<what>.{8,})")),
    *_rows(
        "decision",
        ("nur noch", r"\b(?:wird|werden|nutzen|verwenden|nehmen|speichern) .{0,60}?nur noch .{3,}"),
        ("wir bleiben", r"\bwir bleiben bei \S+"),
        ("wir wechseln", r"\bwir wechseln .{0,60}?\b(?:auf|zu|von)\b"),
        ("wir stellen", r"\bwir stellen .{2,60}? (?:auf \S+ )?um\b"),
        ("nehmen wir", r"\b(?:statt|anstelle|anstatt) .{2,40}? nehmen wir \S+"),
        ("fliegt raus", r"\S+ fliegt raus\b"),
        ("festgelegt", r"\b(?:wir haben|es wurde|wurde|haben wir) .{0,80}?\bfestgelegt\b.*"),
    ),
    *_rows(
        "constraint",
        ("kein", r"^keine?[nr]? \S+.{8,}"),
        ("nicht mehr", r"^(?:bitte )?(?!ich\b|es\b|das\b)\S+ .{0,60}?\bnicht mehr "
            r"(?:verwenden|nutzen|benutzen|einbauen|committen|pushen)\b"),
        ("müssen", r"^(?:alle|jede[rns]?|sämtliche) .{3,80}?\b(?:muss|müssen)\b.*"),
        ("künftig", r"^künftig \S+.{8,}"),
    ),
    *_rows(
        "preference",
        ("lieber", r"\b(?:ich|wir) (?:hätten?|haben|habe|mag|mögen|nehmen|nehme|nutzen|nutze) "
            r".{0,60}?\blieber\b.*"),
    ),
    *_rows(
        "problem",
        ("lag daran", r"\blag daran,? dass (?P<what>.{8,})"),
        ("problem war", r"\bproblem war(?:,? dass)? (?P<what>.{8,})"),
    ),
)  # fmt: skip
SPANISH = (
    *_rows(
        "decision",
        ("decidimos", r"\bdecidimos \w+"),
        ("hemos decidido", r"\bhemos decidido \w+"),
        ("usaremos", r"\busaremos \w+"),
        ("vamos a usar", r"\bvamos a usar \w+"),
        ("usemos", r"\busemos \w+.{0,80}?\b(?:para|en lugar de|porque)\b"),
    ),
    *_rows(
        "constraint",
        ("siempre", r"^siempre \w+|\b(?:deben?|hay que) .{0,40}?siempre\b|\bsiempre (?:debe|usar|"
        r"valid)\w*"),
        ("nunca", r"^nunca \w+"),
        ("a partir de ahora", r"\ba partir de ahora\b"),
    ),
    *_rows(
        "preference",
        ("preferimos", r"\bpreferimos \w+"),
        ("prefiero", r"\bprefiero \w+.{0,80}?\b(?:a|en lugar de|sobre|antes que)\b"),
    ),
    *_rows("problem", ("causa raíz", r"\bcausa raíz (?:era|fue|es) (?:que )?(?P<what>.{8,})")),
    *_rows(
        "decision",
        ("nos quedamos con", r"\bnos quedamos con \S+"),
        ("vamos a", r"\bvamos a (?:guardar|dejar|mantener|migrar|cambiar) \S+"),
        ("cambiamos", r"\bcambiamos (?:de|a) \S+"),
        ("se guarda", r"\bse guardan? (?:solo|sólo|en) \S+"),
        ("se decidió", r"\bse (?:decidió|acordó) \S+"),
    ),
    *_rows(
        "constraint",
        ("siempre", r"\b(?:se|los|las|todos?|todas?) .{2,60}?\bsiempre \S+"),
        ("no uses", r"^no uses (?:nunca |más )?\S+.{6,}"),
        ("deben", r"^(?:todos?|todas?|cada|los|las|el|la) .{3,80}?\bdeben?\b .{4,}"),
        ("prohibido", r"\b(?:está |queda )?prohibido \S+"),
    ),
    *_rows(
        "preference",
        ("prefiero que", r"\bprefiero que \S+.*"),
    ),
    *_rows(
        "problem",
        ("el problema era", r"\bel problema (?:era|fue) que (?P<what>.{8,})"),
    ),
)  # fmt: skip
FRENCH = (
    *_rows(
        "decision",
        ("avons décidé", r"\b(?:nous )?avons décidé \w+"),
        ("a décidé", r"\bon a décidé \w+"),
        ("utiliserons", r"\bnous utiliserons \w+"),
        ("allons utiliser", r"\bnous allons utiliser \w+"),
        ("utilisons", r"^(?:nous )?utilisons \w+.{0,80}?\b(?:pour|au lieu de|plutôt que|car)\b"),
    ),
    *_rows(
        "constraint",
        ("toujours", r"^toujours \w+|\b(?:doit|doivent|faut) toujours\b|^\w+ez toujours\b"),
        ("jamais", r"^(?:ne )?jamais \w+|\bne (?:\w+ )?jamais \w+er\b|^ne \w+ez jamais\b"),
        ("désormais", r"\bdésormais\b"),
    ),
    *_rows("preference", ("préfèr", r"\b(?:je préfère|on préfère) \w+"),
        ("préfér", r"\b(?:je préfère|nous préférons|on préfère) \w+")),
    *_rows("problem", ("cause racine", r"\bcause racine (?:était|est) (?:que )?(?P<what>.{8,})")),
    *_rows(
        "decision",
        ("on garde", r"\bon garde \S+"),
        ("on reste", r"\bon reste (?:sur|avec) \S+"),
        ("on passe", r"\bon passe (?:à|sur) \S+"),
        ("on part sur", r"\bon part sur \S+"),
        ("on utilise", r"\bon utilise(?:ra)? \S+.{0,80}?\b(?:pour|au lieu de|plutôt que|"
            r"parce que|car)\b"),
        ("nous adoptons", r"\bnous adoptons \S+"),
        ("nous gardons", r"\bnous gardons \S+"),
        ("a été retenu", r"\S+.{0,80}? a été retenue?\b"),
    ),
    *_rows(
        "constraint",
        ("ne jamais", r"^ne jamais \S+"),
        ("pas de", r"^pas de \S+.{6,}"),
        ("interdit", r"\b(?:est|sont) interdite?s?\b|^interdit (?:de|d\")"),
        ("doivent", r"^(?:tous|toutes|chaque|les|le|la) .{3,80}?\b(?:doit|doivent)\b .{4,}"),
        ("garder", r"^garder \S+.{10,}"),
    ),
    *_rows(
        "problem",
        ("le problème", r"\ble problème (?:venait|était|vient) (?:de |du |que )?(?P<what>.{8,})"),
    ),
)  # fmt: skip
PORTUGUESE = (
    *_rows(
        "decision",
        ("decidimos", r"\bdecidimos \w+"),
        ("vamos usar", r"\bvamos usar \w+"),
        ("usaremos", r"\busaremos \w+"),
        ("usamos", r"\busamos \w+.{0,80}?\b(?:em vez de|porque)\b"),
    ),
    *_rows(
        "constraint",
        ("sempre", r"^sempre \w+|\b(?:deve|devem|devemos) sempre\b"),
        ("nunca", r"^nunca \w+"),
        ("a partir de agora", r"\ba partir de agora\b"),
    ),
    *_rows(
        "preference",
        ("preferimos", r"\bpreferimos \w+"),
        ("prefiro", r"\bprefiro \w+.{0,80}?\b(?:a|em vez de)\b"),
    ),
    *_rows("problem", ("causa raiz", r"\bcausa raiz (?:era|foi|é) (?:que )?(?P<what>.{8,})")),
    *_rows(
        "decision",
        ("foi adotado", r"\bfoi adotad[oa] \S+"),
        ("foi escolhid", r"\bfoi escolhid[oa] \S+"),
        ("ficamos com", r"\bficamos com \S+"),
        ("vamos manter", r"\bvamos manter \S+"),
        ("mudamos", r"\bmudamos (?:de|para|do|da) \S+"),
        ("ficou decidido", r"\bficou decidido \S+"),
    ),
    *_rows(
        "constraint",
        ("não use", r"^não use (?:nunca |mais )?\S+.{6,}"),
        ("devem", r"^(?:todos?|todas?|cada|os|as) .{3,80}?\bdevem?\b .{4,}"),
        ("proibido", r"\b(?:é |está )?proibido \S+"),
        ("nunca mais", r"\bnunca mais \S+"),
    ),
    *_rows(
        "preference",
        ("prefiro que", r"\bprefiro que \S+.*"),
    ),
    *_rows(
        "problem",
        ("o problema era", r"\bo problema (?:era|foi) que (?P<what>.{8,})"),
    ),
)  # fmt: skip
CHINESE = (
    *_rows(
        "decision",
        ("决定", r"(?:我们|团队|已经?|我)(?:已经?)?决定.{2,}|^决定.{2,}"),
        ("采用", r"(?:我们|统一|将)(?:将)?采用.{2,}"),
        ("改用", r"(?:我们|已|现在|统一)改用.{2,}|从.{1,30}改用.{1,30}"),
        ("我们使用", r"我们使用.{1,40}(?:而不是|作为|来|因为).{1,}"),
        ("我们用", r"我们用.{1,40}(?:而不是|作为|来|因为).{1,}"),
    ),
    *_rows(
        "constraint",
        ("始终", r"始终.{2,}"), ("总是", r"^(?:请)?总是.{2,}"), ("永远不要", r"永远不要.{2,}"),
        ("禁止", r"禁止.{2,}"), ("必须", r"必须.{2,}"), ("从现在起", r"从现在起.{2,}"),
        ("不要再", r"不要再.{2,}"),
    ),
    *_rows("preference", ("首选", r"首选.{1,}"), ("优先使用", r"优先使用.{1,}")),
    *_rows("problem", ("根本原因", r"根本原因(?:是|在于)(?P<what>.{3,})")),
    *_rows(
        "decision",
        ("统一", r"统一(?:用|使用|走|改为|改成).{1,}"),
        ("以后", r"以后(?:都|统一)?(?:用|使用|走).{1,}"),
        ("选用", r"选用.{1,}"),
        ("选择了", r"(?:我们|最终)?选择了.{1,}"),
        ("放弃", r"(?:我们|已经?|决定)?放弃.{1,30}(?:改|用|转).{1,}"),
        ("换成", r".{1,20}换成.{1,}"),
    ),
    *_rows(
        "constraint",
        ("不要用", r"不要用.{1,}"),
        ("不允许", r"不允许.{2,}"),
        ("一律", r"一律.{2,}"),
        ("只能", r"只能(?:用|使用|通过|在|由).{1,}"),
        ("不得", r"不得.{2,}"),
        ("严禁", r"严禁.{2,}"),
    ),
    *_rows(
        "problem",
        ("问题出在", r"问题出在(?P<what>.{3,})"),
        ("原因是", r"原因是(?P<what>.{3,})"),
    ),
)  # fmt: skip
JAPANESE = (
    *_rows(
        "decision",
        ("決定", r".{2,}(?:を決定しました|に決定しました|と決定しました|ことに決定)"),
        ("決め", r".{2,}(?:に決めました|ことに決めた|に決めた)"),
        ("採用", r".{2,}を採用(?:します|しました|する|した)"),
        ("使うことに", r".{2,}を使うことに(?:しました|します|した)"),
        ("使いましょう", r".{2,}を使いましょう"),
    ),
    *_rows(
        "constraint",
        ("常に", r"常に.{2,}(?:する|します|ください|こと)"),
        ("必ず", r"必ず.{2,}(?:する|します|ください|こと)"),
        ("決して", r"決して.{2,}(?:ない|ません)"),
        ("してはいけ", r".{2,}してはいけ(?:ない|ません)"),
        ("今後は", r"今後は.{2,}"), ("禁止", r".{2,}(?:は|を)禁止"),
    ),
    *_rows("preference", ("優先", r".{2,}を優先(?:します|する)")),
    *_rows("problem", ("原因は", r"原因は(?P<what>.{3,})")),
    *_rows(
        "decision",
        ("統一", r".{2,}に統一(?:する|します|しました|した)"),
        ("移行", r".{2,}(?:に|へ)移行(?:する|します|しました|した)"),
        ("やめ", r".{2,}(?:は|を)やめ(?:る|ます|ました|た)"),
        ("しないことに", r".{2,}しないことに(?:する|します|しました|した)"),
        ("変更しました", r".{2,}(?:から|に).{1,}変更しました"),
    ),
    *_rows(
        "constraint",
        ("すべて", r"すべて.{2,}(?:する|します|ください|こと)"),
        ("しないでください", r".{2,}しないでください"),
        ("提供しない", r".{2,}は.{1,}提供しない"),
        ("しないこと", r".{2,}しないこと"),
    ),
    *_rows(
        "problem",
        ("問題は", r"問題は(?P<what>.{3,})"),
    ),
)  # fmt: skip
KOREAN = (
    *_rows(
        "decision",
        ("결정", r".{2,}(?:기로|로|을|를) 결정(?:했|하였|됐)"),
        ("하기로 했", r".{2,}하기로 했"),
        ("사용하기로", r".{2,}사용하기로"),
        ("사용하자", r".{2,}사용하자"),
        ("사용합시다", r".{2,}사용합시다"),
    ),
    *_rows(
        "constraint",
        ("항상", r"항상 .{2,}(?:하세요|한다|합니다|할 것|해야|해 주세요)"),
        ("절대", r"절대(?:로)? .{2,}(?:마세요|말 것|않는다|안 된다|안 됩니다|금지)"),
        ("반드시", r"반드시 .{2,}"), ("앞으로는", r"앞으로는 .{2,}"), ("금지", r".{2,}금지"),
    ),
    *_rows("preference", ("선호", r".{2,}선호(?:합니다|한다|해)")),
    *_rows("problem", ("원인은", r"원인은 (?P<what>.{3,})")),
    *_rows(
        "decision",
        ("않기로", r".{2,}않기로 (?:함|했|하였|결정)"),
        ("통일하자", r".{2,}통일하자"),
        ("통일합니다", r".{2,}통일합니다"),
        ("바꾸기로", r".{2,}바꾸기로 (?:함|했|결정)"),
        ("전환하기로", r".{2,}전환하기로 (?:함|했|결정)"),
    ),
    *_rows(
        "constraint",
        ("무조건", r"무조건 .{2,}"),
        ("앞으로 ", r"^앞으로 .{4,}"),
        ("하지 마", r".{2,}하지 (?:마|말)"),
        ("쓰지 마", r".{2,}쓰지 (?:마|말)"),
        ("사용하지 마", r".{2,}사용하지 (?:마|말)"),
    ),
    *_rows(
        "problem",
        ("문제는", r"문제는 (?P<what>.{3,})"),
    ),
)  # fmt: skip
