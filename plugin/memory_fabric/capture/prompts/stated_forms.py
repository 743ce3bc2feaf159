"""Forms in which a user says something to memory on purpose, by language.

A form matches at the beginning of a sentence. Its group `said` is the text that is kept; without
one the whole sentence is. To drop a form, delete its row.
"""

# ruff: noqa: E501 - one expression a line

from __future__ import annotations

from typing import NamedTuple


class Form(NamedTuple):
    """One form: its name, the words of the gate, its expressions, and the record it makes."""

    name: str
    words: str
    expressions: tuple[str, ...]
    type: str = "constraint"
    scope: str = "team"
    kind: str = ""  # of a fact about the person
    content_words: int = 1  # it needs at least as many words that name something
    first: bool = False  # it counts only in the first sentence: later it gives general advice


_NAME = r"(?-i:[A-Z\u00c0-\u00dd\u3040-\u9fff\uac00-\ud7a3])[\w'’-]{0,30}"
_ROLE = (
    r"(?:\w+[ -]){0,4}(?:developer|engineer|designer|programmer|scientist|student|teacher|architect|researcher|"
    r"analyst|administrator|admin|manager|consultant|freelancer|founder|writer|devops|sysadmin|lawyer|doctor)\b"
)
_ROLE_DE = r"(?:\w+[ -]){0,3}\w*(?:entwickler|ingenieur|designer|programmierer|wissenschaftler|student|lehrer|architekt|forscher|berater|administrator)(?:in)?\b"
_ROLE_ES = r"(?:desarrollador|ingenier|diseñador|programador|científic|estudiante|profesor|arquitect|investigador|analista|consultor|administrador)\w*\b"
_ROLE_FR = r"(?:développeu|ingénieur|designer|programmeu|scientifique|étudiant|professeur|architecte|chercheu|analyste|consultant|administrateur)\w*\b"
_ROLE_PT = r"(?:desenvolvedor|engenheir|designer|programador|cientista|estudante|professor|arquitet|pesquisador|analista|consultor|administrador)\w*\b"
_EVERYWHERE = (
    "prefer|in all my projects|in all of my projects|across all my projects|in every project of mine|"
    "in allen meinen projekten|in all meinen projekten|en todos mis proyectos|"
    "dans tous mes projets|em todos os meus projetos|所有项目|すべてのプロジェクト|"
    "全てのプロジェクト|모든 프로젝트"
)

_DECIDED = (
    r"(?:we|the team|i)(?:'ve| have)? (?:all |now |finally )?(?:decided (?:on|to (?:use|go with|keep|stay|switch|move (?:to|from|away|off)|"
    r"drop|stick|adopt|store|replace)|against)|agreed (?:on|to (?:use|keep|switch|drop))|settled on)"
)

FORMS: tuple[Form, ...] = (
    Form("everywhere", _EVERYWHERE, (
        r"(?:in|across) all (?:of )?my projects,? (?:i |please )?(?:always|never|use|prefer|want|like|don't|do not|write|keep|call|run)\b.+",
        r"(?:i |please )?(?:always|never|use|prefer|want|like|don't|do not|write|keep)\b.{3,200}\b(?:in|across) all (?:of )?my projects\b.*",
        r"i (?:always |generally |usually |strongly |much )?prefer (?!the\b|this\b|that\b|it\b)[^?]{3,200} everywhere[.!]?$",
        r"in all?en? meinen projekten .+|(?:ich |bitte )?(?:immer|nie|verwende|nutze|bevorzuge)\b.{3,200} in all?en? meinen projekten\b.*",
        r"en todos mis proyectos,? .+|(?:siempre|nunca|us[aáo]|prefiero|quiero)\b.{3,200} en todos mis proyectos\b.*",
        r"dans tous mes projets,? .+|(?:toujours|jamais|j'utilise|utilise|je préfère|je veux)\b.{3,200} dans tous mes projets\b.*",
        r"em todos os meus projetos,? .+|(?:sempre|nunca|us[eo]|prefiro|quero)\b.{3,200} em todos os meus projetos\b.*",
        r"在?我的?所有(?:的)?项目(?:中|里|都).+",
        r"(?:私の)?(?:すべて|全て)のプロジェクト(?:で|に).+",
        r"(?:내 |나의 )?모든 프로젝트에서 .+",
    ), "preference", "user", "preference"),
    Form("name", "call me|my name is|nenn mich|nenne mich|ich heiße|llámame|llamame|me llamo|mi nombre es|appelle-moi|appelez-moi|je m'appelle|me chame de|meu nome é|叫我|我的名字|私の名前は|と呼んで|라고 불러|제 이름은|내 이름은", (
        rf"(?:(?:you can|just) )?call me {_NAME}(?: {_NAME})?(?=[.,!]?$| (?:from now on|please)\b)",
        rf"my name is {_NAME}(?: {_NAME})?\b.*",
        rf"nenne? mich (?:bitte )?{_NAME}[.!]?$|ich heiße {_NAME}\b.*",
        rf"ll[aá]mame {_NAME}[.!]?$|(?:me llamo|mi nombre es) {_NAME}\b.*",
        rf"appel(?:le|ez)-moi {_NAME}[.!]?$|je m'appelle {_NAME}\b.*",
        rf"me chame de {_NAME}[.!]?$|(?:o )?meu nome é {_NAME}\b.*",
        r"(?:请|你可以|以后)?叫我[\w·]{1,12}(?:吧|就好|就行)?[。!！]?$|我的名字(?:是|叫)[\w·]{1,12}[。!！]?$",
        r"私の名前は[\w・]{1,20}です[。!！]?$|[\w・]{1,20}と呼んで(?:ください)?[。!！]?$",
        r"(?:저를|나를)? ?\w{1,12}(?:이)?라고 불러.{0,6}$|(?:제|내) 이름은 \w{1,12}.{0,6}$",
    ), "note", "user", "identity"),
    Form("age", "years old|and work as|and i work|and live in|and i live", (
        r"i(?:'m| am) \d{1,3}(?: years old)?(?:,? and (?:i )?(?:work|live)\b[^?]*)?$",
    ), "note", "user", "identity"),
    Form("close", "my manager|my boss|my wife|my husband|my partner|my mentor|my team lead|mein chef|meine chefin|mi jef|mon chef|ma cheffe", (
        rf"my (?:manager|boss|wife|husband|partner|mentor|team lead)(?:'s name)? is (?:called |named )?{_NAME}(?: {_NAME})?[.!]?$",
        rf"(?:meine? chef(?:in)?|mein manager) (?:ist|heißt) {_NAME}(?: {_NAME})?[.!]?$|mi jef[ea] (?:es|se llama) {_NAME}(?: {_NAME})?[.!]?$",
        rf"m(?:on|a) cheff?e? (?:est|s'appelle) {_NAME}(?: {_NAME})?[.!]?$",
    ), "note", "user", "relationship"),
    Form("role", "i am a|i'm a|ich bin |soy |je suis |sou |我是|私は|僕は|저는|나는", (
        rf"i(?:'m| am) an? {_ROLE}(?! (?:for|of) (?:this|today))[^,;]*",
        rf"ich bin (?:ein |eine )?{_ROLE_DE}[^,;]*",
        rf"(?:yo )?soy (?:un |una )?{_ROLE_ES}[^,;]*",
        rf"je suis (?:un |une )?{_ROLE_FR}[^,;]*",
        rf"(?:eu )?sou (?:um |uma )?{_ROLE_PT}[^,;]*",
        r"我是(?:一[名个位])?[^，。,]{0,12}(?:工程师|开发者|开发人员|程序员|设计师|学生|老师|科学家|架构师)[。]?$",
        r"(?:私|僕|俺)は[^、。]{0,16}(?:エンジニア|開発者|プログラマー|デザイナー|学生|教師|研究者)です[。]?$",
        r"(?:저|나)는 .{0,16}(?:개발자|엔지니어|프로그래머|디자이너|학생|교사|연구원)(?:입니다|이다|야|예요|이에요)?[.]?$",
    ), "note", "user", "identity"),
    Form("work", "i work |ich arbeite |trabajo |je travaille |trabalho |我在|働いて|勤めて|일하|일해|일합|근무", (
        rf"i work (?:(?:as an? .{{0,40}} )?(?:at|for) {_NAME}|with {_NAME}|as an? {_ROLE})[^?]*",
        rf"ich arbeite (?:bei|für|mit) {_NAME}[^?]*|ich arbeite als {_ROLE_DE}[^?]*",
        rf"(?:yo )?trabajo (?:en|para|con) {_NAME}[^?]*|(?:yo )?trabajo como {_ROLE_ES}[^?]*",
        rf"je travaille (?:chez|pour|avec) {_NAME}[^?]*|je travaille comme {_ROLE_FR}[^?]*",
        rf"(?:eu )?trabalho (?:na|no|para a|para o|com|para) {_NAME}[^?]*|(?:eu )?trabalho como {_ROLE_PT}[^?]*",
        r"我在[^，。,]{2,20}(?:公司|大学|团队|银行|医院|学校)?(?:工作|上班)[。]?$",
        r"(?:私|僕|俺)は[^、。]{2,20}(?:で働いて|に勤めて)い(?:ます|る)[。]?$",
        r"(?:저|나)는 .{2,20}에서 (?:일합니다|일해요|일해|근무합니다|근무해요)[.]?$",
    ), "note", "user", "relationship"),
    Form("goal", "my goal is|my main goal is|my long-term goal|mein ziel ist|mi objetivo es|mi meta es|mon objectif est|meu objetivo é|minha meta é|我的目标是|私の目標は|제 목표는|내 목표는", (
        r"my (?:main |long-term |overall )?goal is (?:to )?.+",
        r"mein ziel ist (?:es,? )?.+",
        r"mi (?:objetivo|meta) (?:principal )?es .+",
        r"mon objectif (?:principal )?est .+",
        r"(?:o )?meu objetivo (?:principal )?é .+|(?:a )?minha meta é .+",
        r"我的目标是.+", r"私の目標は.+", r"(?:제|내) 목표는 .+",
    ), "note", "user", "goal", 2),
    Form("from_now_on", "from now on|going forward|ab sofort|von jetzt an|a partir de ahora|de ahora en adelante|à partir de maintenant|désormais|dorénavant|a partir de agora|de agora em diante|从现在起|从现在开始|以后|今后|今後|これからは|앞으로|지금부터|이제부터", (
        r"(?:from now on|going forward),? (?!i'll try|let me see).+",
        r"(?:please )?(?:always|never|use|don't|do not|write|keep|run|answer|reply|name|put|commit|ask|call)\b.{3,200} from now on[.!]?$",
        r"(?:ab sofort|von jetzt an),? .+",
        r"(?:a partir de ahora|de ahora en adelante),? .+",
        r"(?:à partir de maintenant|désormais|dorénavant),? .+",
        r"(?:a partir de agora|de agora em diante),? .+",
        r"(?:从现在起|从现在开始|今后|以后)[，,]?(?:请|都|要|不要|别|一律|统一|所有|提交|回答|代码|始终|务必|只).+",
        r"(?:今後は?|これからは)[、,]?.+(?:ください|こと|しない|する|使う|します|しましょう)[。]?$",
        r"(?:앞으로(?:는)?|지금부터(?:는)?|이제부터(?:는)?) .+(?:세요|줘|마|하자|해|합니다|말 것|할 것|하지 않는다)[.!]?$",
    )),
    Form("in_this_project", "in this project|in this repo|in this codebase|for this project|in diesem projekt|in diesem repo|en este proyecto|en este repo|dans ce projet|dans ce dépôt|neste projeto|在这个项目|在本项目|本项目|このプロジェクト|이 프로젝트", (
        r"(?:in|for) this (?:project|repo|repository|codebase),? (?:please )?(?:we |you (?:must )?|i )?(?:always|never|only|don't|do not)\b.+",
        r"(?:please )?(?:always|never)\b.{3,200} in this (?:project|repo|repository|codebase)[.!]?$",
        r"in diesem (?:projekt|repo(?:sitory)?),? (?:\w+ ){0,3}(?:immer|nie|niemals|nur|grundsätzlich|kein\w*)\b.+",
        r"en este (?:proyecto|repo(?:sitorio)?),? (?:\w+ ){0,3}(?:siempre|nunca|jamás|solo|sólo|no)\b.+",
        r"dans ce (?:projet|dépôt),? (?:[\w']+ ){0,4}(?:toujours|jamais|uniquement|seulement)\b.+",
        r"neste (?:projeto|repositório),? (?:\w+ ){0,3}(?:sempre|nunca|jamais|só|não)\b.+",
        r"(?:在(?:这个|本)项目(?:中|里)?|本项目(?:中|里)?)[，,]?.{0,8}(?:始终|总是|一律|永远|必须|不要|禁止|只能|只用|统一).+",
        r"このプロジェクトでは[、,]?.*(?:必ず|常に|絶対|決して|のみ|だけ|しない|禁止).+",
        r"이 프로젝트에서(?:는)?,? .*(?:항상|반드시|절대|무조건|만 |금지).+",
    )),
    Form("decision", "decision:|entscheidung:|decisión:|décision :|décision:", (
        r"(?:decision|entscheidung|decisión|décision) ?: (?P<said>.+)",
    ), "decision", "team", "", 2),
    Form("decided", "decided|agreed|settled on|entschieden|beschlossen|decidimos|hemos decidido|decidido|décidé|decidiu|我们决定|决定|ことに|결정했|하기로", (
        rf"{_DECIDED} .+",
        r"wir haben (?:uns|beschlossen).{0,160}(?:entschieden|beschlossen).*|wir haben beschlossen,? .+",
        r"(?:hemos decidido|decidimos|se decidió) (?:usar|quedarnos|mantener|no usar|cambiar|pasar|dejar|por|adoptar)\b.+",
        r"(?:nous avons|on a) décidé (?:d'|de )(?:utiliser|garder|rester|passer|ne |prendre|adopter|abandonner).+",
        r"(?:nós )?decidimos (?:usar|manter|não usar|mudar|ficar|adotar|por)\b.+|foi decidido .+",
        r"我们(?:已经)?决定(?:使用|采用|用|改用|不用|保留|放弃|换成|选).+",
        r"(?:私たちは)?.{2,80}(?:使う|採用する|移行する|しない|やめる|する)ことに(?:決めました|しました|決めた|した)[。]?$",
        r"(?:우리는 )?.{2,80}(?:사용|쓰|전환|유지|도입)하?기로 (?:결정)?했(?:습니다|어요|어|다)[.]?$",
    ), "decision"),
    Form("prefer", "i prefer|i always prefer|i generally prefer|ich bevorzuge|prefiero|je préfère|prefiro|我更喜欢|我偏好|私は|を好み|선호", (
        r"i (?:always |generally |usually |strongly |much )?prefer (?!the\b|this\b|that\b|it\b|not to\b|your\b|option\b|to (?:wait|do|leave|see|go|skip|start|first)\b|a \b|an \b|if\b|#?\d).+",
        r"ich bevorzuge (?!(?:die|den|das|diese\w*|deine\w*|option|eine?\w*)\b).+",
        r"(?:yo )?prefiero (?!(?:el|la|los|las|lo|esa?|es[oe]|esta|este|que|no|tu|la opción|opción|un|una|hacer|esperar|dejar\w*)\b).+",
        r"je préfère (?!(?:le|la|les|ce|cette|ça|que|ne|ta|ton|un|une|option|attendre)\b).+",
        r"(?:eu )?prefiro (?!(?:o|a|os|as|esse|essa|este|esta|isso|que|não|um|uma|opção|esperar)\b).+",
        r"我(?:更喜欢|偏好|更倾向于?)(?!这|那|第|你|方案|选项).+",
        r"(?:私|僕)は(?!これ|それ|この|その).{2,80}(?:を好みます|の方が好きです|を好む)[。]?$",
        r"(?:저|나)는 (?!이|그|저 ).{2,80}(?:선호합니다|선호해요|선호해)[.]?$",
    ), "preference"),
    Form("remember_rule", "remember|merk dir|merke dir", (
        r"remember(?: to|[:,]| that you (?:should|must))? (?P<said>(?:always|never)\b.+)",
        r"merke? dir: (?P<said>.*\b(?:immer|nie|niemals)\b.+)",
    )),
    Form("remember_decided", "remember|merk dir|merke dir|souviens-toi|rappelle-toi|retiens", (
        rf"remember(?: this)?[:,]? (?:that )?(?P<said>{_DECIDED} [^?]{{2,200}})$",
        r"remember(?: this)?[:,]? that (?P<said>we chose [^?]{2,100} (?:over|instead of|rather than|for) [^?]{2,100})$",
        r"merke? dir,?(?: bitte)?,? dass (?P<said>wir [^?]{2,200}(?:entschieden|beschlossen) haben|wir beschlossen haben,? [^?]{2,200})[.!]?$",
        r"(?:souviens-toi|rappelle-toi|retiens) qu(?:e |')(?P<said>(?:nous avons|on a) (?:décidé|choisi) (?:d'|de )?[^?]{2,200})$",
    ), "decision", first=True),
    Form("remember", "remember|merk dir|merke dir|denk daran|recuerda|recordá|recorda |souviens-toi|rappelle-toi|retiens|lembre-se|lembra |lembre |记住|请记得|覚えて|기억해", (
        r"remember(?: this:?)? that (?!you (?:need|have|should|can|also)|i (?:need|want|\w+ed|said|told)|we (?:need|want|have) to|we (?:\w+ed|did|had|were|just|already|talked)|time|when)(?P<said>(?=.*(?:\b(?:we|our|my|i|the|this)\b|[`\d/_]|(?-i:[a-z] [A-Z]))).{8,160}$)",
        r"merke? dir,?(?: bitte)?,? dass (?!du\b|wir noch|ich noch)(?P<said>.+)",
        r"(?:recuerda|recordá|recorda|ten en cuenta) que (?!tien|ten[eé]|hay que|te\b|ya\b|lo\b|deb|ante)(?P<said>.+)",
        r"(?:souviens-toi|rappelle-toi|retiens) qu(?:e |')(?!tu\b|on a\b|il faut)(?P<said>.+)",
        r"(?:lembre-se|lembra|lembre)(?: de)? que (?!você|precisa|tem que|já)(?P<said>.+)",
        r"请?记住[：:，,]\s?(?P<said>(?!我们上次|上次|之前|刚才).+)",
        r"(?P<said>.+?)(?:という)?ことを覚えておいて(?:ください|ね)?[。]?$",
        r".+(?:다|라)는 (?:것을|걸) 기억해(?: ?줘| ?주세요| ?두세요)?[.]?$",
    ), "note", "team", "", 2, True),
)  # fmt: skip
