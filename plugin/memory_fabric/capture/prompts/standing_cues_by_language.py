"""Cues as in `standing_cues`, for the languages besides English; most need no expression.

Accents are as written; where users often leave them out, both forms are given.
"""

# ruff: noqa: E501 - one cue a line

from __future__ import annotations

from memory_fabric.capture.prompts.standing_cues import Cue

_DE_OPENS = r"(?:^|[,;:.] ?|\b(?:und|aber|also|bitte|dann|jetzt) )"
_ES_OPENS = r"(?:^|[,;:.] ?|\b(?:y|pero|por favor|entonces|ahora|tambien|también|que) )"
_FR_OPENS = r"(?:^|[,;:.] ?|\b(?:et|mais|donc|alors|aussi|stp|svp) )"
_PT_OPENS = r"(?:^|[,;:.] ?|\b(?:e|mas|por favor|então|agora|também) )"

GERMAN: tuple[Cue, ...] = (
    ("rule", 2, "ab sofort|von jetzt an|in zukunft|künftig|grundsätzlich", ""),
    ("rule", 2, "niemals|nie ", r"\b(?:niemals|nie)\b(?! gesehen| gehört)"),
    ("rule", 2, "immer ", _DE_OPENS + r"immer (?!noch|wieder|mehr)\w|\b(?:bitte|soll\w*|muss|müssen|du|wir|ich) immer (?!noch|wieder|mehr)"),
    ("rule", 2, "nicht mehr|nicht anfassen|nicht ändern|nicht verwenden|nicht benutzen|nicht löschen|nicht committen|nicht pushen|finger weg", r"\bnicht (?:mehr (?:verwenden|nutzen|benutzen|machen|ändern|anfassen)|anfassen|ändern|verwenden|benutzen|löschen|committen|pushen)\b|\bfinger weg\b"),
    ("rule", 2, "darf nicht|dürfen nicht|darf nie|darf nur|soll nicht|sollen nicht|sollte nicht|sollten nicht|soll nur|soll immer|muss immer|muss bleiben|ich will nicht|ich möchte nicht|wir wollen kein", ""),
    ("rule", 2, "denk daran|denke daran|merk dir|merke dir|beachte|vergiss nicht|jedes mal|jedesmal|immer wenn|nach jedem|nach jeder|vor jedem|vor jeder|ohne zu fragen", ""),
    ("correction", 2, "nein, |ist falsch|stimmt nicht|nicht richtig|habe gesagt|hab gesagt|hab doch|habe doch|sagte doch|meinte|warum hast du|wieso hast du|warum machst du|gefällt mir nicht", r""),
    ("correction", 2, ", nicht |sondern", r", nicht (?:in|im|auf|an|der|die|das|den|dem|ein|eine|mit|für|von|als)\b|\bsondern\b(?! auch)"),
    ("choice", 2, "statt|anstelle|lieber|bevorzug|wir bleiben|bleiben wir|wir nehmen|nehmen wir|lass uns|wir entscheiden|entschieden|soll standard", r"\b(?:an)?statt\b(?!finden)|\banstelle\b|\blieber\b|\bbevorzug|\bwir bleiben\b|\bbleiben wir\b|\bwir nehmen\b|\bnehmen wir\b|\blass uns .{0,40}(?:nehmen|verwenden|nutzen|bleiben|behalten)|\bentschieden\b"),
    ("change", 2, "doch nicht|doch lieber|mach das rückgängig|rückgängig|vergiss das|war nur spaß|anders überlegt|zurück zu|wieder zurück", ""),
    ("person", 2, "wir verwenden|wir nutzen|wir benutzen|wir setzen|wir haben nur|wir brauchen kein|bei uns|unser team|es gibt nur|es wird nur|ich mache das selbst|starte ich selbst|mache ich selbst|ich bin |ich arbeite|nenn mich|normalerweise|in der regel", r"\bich bin (?:ein|eine|neu|kein|keine|\w*entwickler)|wir (?:verwenden|nutzen|benutzen|setzen|haben nur|brauchen kein)|bei uns|unser team|es (?:gibt|wird) nur|selbst|ich arbeite|nenn mich|normalerweise|in der regel"),
)  # fmt: skip

SPANISH: tuple[Cue, ...] = (
    ("rule", 2, "a partir de ahora|de ahora en adelante|de ahora en más|de ahora en mas|en adelante|en el futuro|en lo sucesivo", ""),
    ("rule", 2, "nunca|jamás|jamas", r"\b(?:nunca|jam[aá]s)\b(?! (?:vi|había|habia|me (?:llega|aparece)))"),
    ("rule", 2, "siempre ", _ES_OPENS + r"siempre (?!que (?:me|da|sale)|me (?:da|sale|aparece))\w|\b(?:debe|deben|debería|deberia|tiene que|tienen que|hay que|quiero) siempre\b|\bsiempre (?:debe|tiene que|hay que|va a|van a|usa|usar|que )"),
    ("rule", 2, "no toques|no toque|no tocar|no cambies|no modifiques|no modificar|no borres|no elimines|no uses|no usar|no crees|no agregues|no hagas|no vuelvas|no quiero|no queremos|no lo toques|no lo cambies|no hace falta", ""),
    ("rule", 2, "no debe|no deberia|no debería|no se debe|solo debe|sólo debe", r"\bno (?:se )?debe\w*\b|\bno deber[ií]a\w*\b|\bs[oó]lo debe\b"),
    ("rule", 1, "tiene que ser|tienen que ser|deben ser|debe ser|deberia ser|debería ser", ""),
    ("rule", 2, "recuerda que|recordá que|recorda que|ten en cuenta|tené en cuenta|tene en cuenta|tener en cuenta|cada vez que|después de cada|despues de cada|antes de cada|sin preguntar|sin consultar", ""),
    ("correction", 2, "eso no|está mal|esta mal|no es correcto|es incorrecto|no era |ya te dije|te dije|te pedí|te pedi|dije que|por qué hiciste|por que hiciste|porque hiciste|no me gusta|te olvidaste|te faltó|te falto|me refiero|me refería|me referia|quise decir", r"\beso no (?:es|va|está|esta|era)\b|\best[aá] mal\b|\bno es correcto\b|\bincorrecto\b|\bte (?:dije|ped[ií]|olvidaste|falt[oó])\b|\bdije que\b|\bpor ?qu[eé] hiciste\b|\bno me gusta\b|\bme refer[ií]a?o?\b|\bquise decir\b|\bno era (?:eso|as[ií]|lo)\b"),
    ("correction", 2, ", no |sino ", r", no (?:en|el|la|los|las|un|una|a|al|de|del|con|por|para)\b|\bsino (?:que |el |la |en |por |con |un|de )"),
    ("choice", 2, "en vez de|en lugar de|prefiero|preferimos|preferiría|preferiria|nos quedamos|quedemos|quedate con|mejor usa|mejor usemos|vamos con|usemos|vamos a usar|usaremos|dejemos|dejalo|dejémoslo|mantengamos|mantener ", r"\ben (?:vez|lugar) de\b|\bprefer\w+|\bnos quedamos\b|\bquedemos\b|\bqu[eé]date con\b|\bmejor us\w+|\bvamos con\b|\busemos\b|\bvamos a usar\b|\busaremos\b|\bdej[eé]mos\w*|\bmantengamos\b|" + _ES_OPENS + r"mantener\b"),
    ("choice", 1.5, "por defecto|por default", ""),
    ("change", 2, "era broma|cambié de idea|cambie de idea|mejor no|pensándolo|pensandolo|olvidate|olvídate|olvidalo|volvamos|volver atrás|volver atras|deshace|deshacé|revertí|revierte|revertir|ya no |al final ", r"\bera broma\b|\bcambi[eé] de idea\b|\bmejor no\b|\bpens[aá]ndolo\b|\bolv[ií]da(?:te|lo)\b|\bvolvamos a (?:usar|lo|como|la versi)|\bvolver atr[aá]s\b|\bdesha[cz]\w*|\breverti\w*|\brevierte\b|\bya no (?:us|quer|quier|necesit|va|se us|hace falta)|^al final \w+"),
    ("person", 2, "usamos|nosotros |no tenemos|tenemos solo|sólo tenemos|solo tenemos|solo hay|sólo hay|va a haber|van a ser|se maneja|se manejan|lo manejo yo|yo mismo|lo corro yo|lo ejecuto yo|yo lo |soy |trabajo |llamame|llámame|normalmente|generalmente|por lo general|en realidad", r"\busamos\b|\bno tenemos\b(?! (?:error|nada))|\bs[oó]lo (?:tenemos|hay)\b|\btenemos s[oó]lo\b|\bva a haber\b|\bse manejan?\b|\byo mismo\b|\blo (?:corro|ejecuto|manejo) yo\b|\byo lo (?:corro|ejecuto|hago|manejo|levanto|pruebo)\b|\bsoy (?:un|una|el|la|desarrollador\w*)\b|\btrabajo (?:en|con|como|para)\b|\bll[aá]mame\b|\bnormalmente\b|\bgeneralmente\b|\bpor lo general\b|^en realidad\b"),
)  # fmt: skip

FRENCH: tuple[Cue, ...] = (
    ("rule", 2, "désormais|à partir de maintenant|dorénavant|à l'avenir", ""),
    ("rule", 2, "jamais", r"\bjamais\b(?! vu)"),
    ("rule", 2, "toujours ", _FR_OPENS + r"toujours (?!pas|rien|le même|aussi)\w|\b(?:doit|doivent|faut|il faut|veux|utilise[rz]?|fai[st]|mets|mettre) toujours\b"),
    ("rule", 2, "ne touche|ne modifie|ne change|ne supprime|n'utilise|ne fais pas|ne pas |n'ajoute|ne crée|arrête de|arrêtez de|évite|je ne veux pas|on ne veut pas|ne doit |ne doivent |interdit|ne devrait ", r"\bne (?:touche|modifie|change|supprime|fais|crée)[rz]?s?\b.{0,10}\b(?:pas|plus|jamais)\b|\bn'(?:utilise|ajoute)[rz]?s? (?:pas|plus|jamais)\b|\bne pas \w+er\b|\barrêtez? de\b|\bévite[rz]?\b|\b(?:je|on) ne veu[xt] pas\b|\bne (?:doit|doivent|devrait) (?:pas|jamais|plus)\b|\binterdit\b"),
    ("rule", 2, "souviens-toi|rappelle-toi|n'oublie pas|garde en tête|tiens compte|chaque fois|après chaque|avant chaque|sans demander", ""),
    ("correction", 2, "non, |c'est faux|pas correct|j'ai dit|je t'ai dit|je voulais dire|pourquoi as-tu|pourquoi tu|je n'aime pas|tu as oublié|ce n'est pas ce", r"^non, |\bc'est faux\b|\bpas correct\b|\bj'ai dit\b|\bje t'ai dit\b|\bvoulais dire\b|\bpourquoi (?:as-tu|tu)\b|\bje n'aime pas\b|\btu as oublié\b|\bce n'est pas ce\b"),
    ("correction", 2, ", pas ", r", (?:et )?pas (?:dans|le|la|les|un|une|sur|à|avec|de|en|par)\b"),
    ("choice", 2, "au lieu de|plutôt que|je préfère|on préfère|on garde|on reste|on part sur|on utilise|gardons|restons|utilisons|prenons|nous utilisons|par défaut", ""),
    ("change", 2, "finalement|je plaisante|j'ai changé d'avis|oublie ça|laisse tomber|reviens à|revenons|annule ", r"\bfinalement\b|\bje plaisante\b|\bchangé d'avis\b|\boublie ça\b|\blaisse tomber\b|\breviens à\b|\brevenons\b|" + _FR_OPENS + r"annule "),
    ("person", 2, "chez nous|notre équipe|il n'y a que|il n'y aura|je suis |je travaille|appelle-moi|moi-même|d'habitude|normalement|on n'a pas|nous n'avons", r"\bchez nous\b|\bnotre équipe\b|\bil n'y a(?:ura)? (?:que|pas)\b|\bje suis (?:un|une|développeu|débutant)|\bje travaille\b|\bappelle-moi\b|\bmoi-même\b|\bd'habitude\b|\bnormalement\b|\bnous n'avons\b"),
)  # fmt: skip

PORTUGUESE: tuple[Cue, ...] = (
    ("rule", 2, "a partir de agora|de agora em diante|daqui para frente|daqui pra frente|no futuro", ""),
    ("rule", 2, "nunca|jamais", r"\b(?:nunca|jamais)\b(?! vi)"),
    ("rule", 2, "sempre ", _PT_OPENS + r"sempre (?!que (?:dá|da)|dá)\w|\b(?:deve|devem|tem que|têm que|quero|use|faça) sempre\b"),
    ("rule", 2, "não mexa|não mexe|não toque|não altere|não mude|não use|não usar|não apague|não remova|não crie|não faça|não adicione|pare de|evite|não quero|não queremos|não deve|não devem|não pode ser|não precisa", ""),
    ("rule", 2, "lembre-se|lembra que|lembre que|tenha em mente|leve em conta|toda vez|cada vez que|depois de cada|antes de cada|sem perguntar", ""),
    ("correction", 2, "não, |está errado|ta errado|tá errado|não é isso|não está certo|eu disse|eu pedi|eu falei|quis dizer|por que você|não gostei|não gosto|você esqueceu", r"^não, |\b(?:est[aá]|t[aá]) errado\b|\bnão é isso\b|\bnão está certo\b|\beu (?:disse|pedi|falei)\b|\bquis dizer\b|\bpor que você\b|\bnão gost(?:ei|o)\b|\bvocê esqueceu\b"),
    ("correction", 2, ", não ", r", (?:e )?não (?:em|no|na|o|a|os|as|um|uma|de|do|da|com|por|para)\b"),
    ("choice", 2, "em vez de|ao invés de|no lugar de|prefiro|preferimos|vamos usar|vamos manter|vamos com|ficamos com|mantenha|por padrão", ""),
    ("change", 2, "brincadeira|mudei de ideia|pensando bem|na verdade|esquece|deixa pra lá|desfaça|desfaz|volte para|não usamos mais|não precisamos mais", r"\bbrincadeira\b|\bmudei de ideia\b|\bpensando bem\b|^na verdade\b|\besquece\b|\bdeixa pra lá\b|\bdesfa[zç]\w*|" + _PT_OPENS + r"volte para\b|\bnão (?:usamos|precisamos) mais\b"),
    ("person", 2, "nós usamos|usamos |a gente usa|não temos|só temos|só há|só vai ter|haverá apenas|eu mesmo|eu mesma|eu sou |sou um|sou uma|trabalho |me chame|normalmente|geralmente|nossa equipe", r"\busamos\b|\ba gente usa\b|\bnão temos\b|\bsó (?:temos|há|vai ter)\b|\bhaverá apenas\b|\beu mesm[oa]\b|\bsou (?:um|uma|desenvolvedor\w*)\b|\btrabalho (?:em|com|como|na|no|para)\b|\bme chame\b|\bnormalmente\b|\bgeralmente\b|\bnossa equipe\b"),
)  # fmt: skip

CHINESE: tuple[Cue, ...] = (
    ("rule", 2, "以后|从现在起|从现在开始|今后|永远不要|永远|始终|总是要|一律|务必|必须|每次|不要再|禁止|不允许|不得|严禁|记住|别忘了|请注意", ""),
    ("rule", 2, "不要动|不要改|不要修改|不要删|不要用|不要使用|不要添加|不要提交|不要创建|别动|别改|别用|别删|别再|不用|不想要|不希望|不应该|不能", r"不要(?:动|改|修改|删|用|使用|添加|提交|创建)|别(?:动|改|用|删|再)|不想要|不希望|不应该"),
    ("correction", 2, "不对|错了|不是这样|我说的是|我说过|我的意思|为什么你|你为什么|不喜欢|你忘了|而不是|应该是", ""),
    ("choice", 2, "改用|换成|选用|采用|优先|我们用|我们使用|就用|保留|默认|还是用|决定", r"改用|换成|选用|采用|优先|我们(?:用|使用)|就用|默认(?:用|使用|为)|还是用|决定"),
    ("change", 2, "算了|开玩笑|改主意|撤销|撤回|恢复原|改回|不再需要|不再使用|不需要了", ""),
    ("person", 2, "我来运行|我自己|我是一|我在|叫我|我习惯|我喜欢|我偏好|我们只|我们没有|只有|只会有|通常|我们团队|我们公司", r"我来运行|我自己(?:来|会|运行|启动|部署|测试)|我是一|我在.{1,12}工作|叫我|我习惯|我喜欢|我偏好|我们只|我们没有|只会有|通常|我们(?:团队|公司)"),
)  # fmt: skip

JAPANESE: tuple[Cue, ...] = (
    ("rule", 2, "今後|これから|これからは|常に|必ず|絶対|決して|毎回|しないで|やめて|使わない|触らない|変更しない|削除しない|禁止|覚えて|忘れないで|べきではない|してはいけ|ないようにして|ことにして", r"今後|これからは|常に|必ず|絶対|決して|毎回|しないで|やめて|使わないで|触らないで|禁止|覚えて(?:おいて|ください)|忘れないで|べきでは|してはいけ|ないようにして|ことにして"),
    ("correction", 2, "違います|違う|ではなく|じゃなくて|間違って|間違い|と言いました|と言った|なぜ|どうして|好きではない|好きじゃない", r"違います|^(?:いや|いいえ|いえ)?[、,]?違う|ではなく|じゃなくて|間違(?:って|い)(?:います|いる|です)|と言(?:いました|った)|(?:なぜ|どうして).{1,40}(?:したの|ました)|好き(?:では|じゃ)な"),
    ("choice", 2, "の代わりに|にしましょう|を使いましょう|使うことに|採用|の方がいい|ほうがいい|優先|のままに|のままで|を使って", r"の代わりに|にしましょう|を使いましょう|使うことに|採用し|(?:の方|ほう)がいい|優先(?:し|的)|のまま(?:に|で)"),
    ("change", 2, "やっぱり|やはり|元に戻して|取り消し|冗談|気が変わ|もう使わ|もう必要|忘れて", r"やっぱり|やはり|元に戻して|取り消し|冗談|気が変わ|もう(?:使わ|使って|必要)|(?:それは?|さっきの.{0,10})忘れて"),
    ("person", 2, "私は|僕は|俺は|自分で|呼んで|我々は|うちでは|私たちは|弊社|普段|通常は|しかありません|だけです", r"(?:私|僕|俺)は.{1,30}(?:です|エンジニア|開発者|働いて|好み)|自分で(?:実行|起動|やり|します|デプロイ)|と呼んで|うちでは|私たちは|弊社|普段|通常は|しかありません"),
)  # fmt: skip

KOREAN: tuple[Cue, ...] = (
    ("rule", 2, "앞으로|지금부터|이제부터|항상|반드시|절대|무조건|매번|하지 마|하지마|쓰지 마|쓰지마|건드리지|바꾸지|수정하지|삭제하지|금지|기억해|잊지 마|안 됩니다|안 돼|하면 안|않도록", r"앞으로(?:는|도)?\s|지금부터|이제부터|항상|반드시|절대|무조건|매번|(?:하|쓰|건드리|바꾸|수정하|삭제하)지 ?(?:마|말|않)|금지|기억해|잊지 ?마|하면 안|않도록"),
    ("correction", 2, "아니라|아니고|아니요|아니,|틀렸|잘못|말했|왜 |마음에 안|제 말은|내 말은", r"(?:이|가)? ?아니(?:라|고)|^아니[요,]|틀렸|잘못(?:됐|했|된|되)|라고 말했|말했잖|왜 .{1,40}(?:했|한 거)|마음에 안|(?:제|내) 말은"),
    ("choice", 2, " 대신|사용하자|쓰자|사용합시다|하기로|로 가자|선호|우선|유지하자|유지해|기본값", r" 대신|사용하자|쓰자|사용합시다|하기로|로 가자|선호|유지하자|기본값(?:은|으로)"),
    ("change", 2, "농담|마음이 바뀌|생각해보니|되돌려|취소|다시 원래|더 이상|됐어", r"농담|마음이 바뀌|생각해 ?보니|되돌려|원래대로|더 이상 .{1,30}(?:않|안)"),
    ("person", 2, "저는|나는|제가 직접|내가 직접|직접 실행|불러|우리는|우리 팀|저희는|보통|밖에 없", r"(?:저|나)는 .{1,30}(?:개발자|엔지니어|입니다|일하|좋아|선호)|(?:제|내)가 직접|직접 (?:실행|돌릴|배포)|라고 불러|우리 팀|(?:우리|저희)는 .{1,40}(?:사용|써|쓰|씁)|보통|밖에 없"),
)  # fmt: skip

WESTERN = (*GERMAN, *SPANISH, *FRENCH, *PORTUGUESE)
EAST_ASIAN = (*CHINESE, *JAPANESE, *KOREAN)
CUES = (*WESTERN, *EAST_ASIAN)
