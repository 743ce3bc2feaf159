"""Words of several languages by which a quotation is compared with a note's sentence."""

from __future__ import annotations

from memory_fabric.language import negations

# Frequent words that tell the languages in Latin letters apart; none says anything by itself.
STOPWORDS = {
    "en": frozenset(
        """the a an and or but of to in on at by for with from into is are was were be been it its
        this that these those there i you he she we they my your his her our their me him us them
        not no do does did don't have has had will would shall should can could may must as if than
        then so just only when which who what where how please let's i'm i'll it's we're you're
        about all any each every some such also too very up out over after before never always
        myself yourself himself itself ourselves themselves now here again still yet""".split()
    ),
    "de": frozenset(
        """der die das den dem des ein eine einen einem einer eines und oder aber nicht kein keine
        keinen ist sind war waren wird werden sein hat haben habe ich du er sie es wir ihr mich mir
        dich dir uns mein meine dein deine zu zum zur mit von vom für auf aus bei nach im in an am
        als wenn dann so nur noch schon auch bitte immer nie mal doch dass wie was wer wo soll
        sollen sollte muss müssen kann können darf will wollen""".split()
    ),
    "es": frozenset(
        """el la los las un una unos unas y o pero no es son era está están ser sea ha han he yo tú
        él ella nosotros ellos me te se nos lo le les mi mis tu tus su sus de del al a en con por
        para que qué como cómo cuando cuándo si sí sin más muy ya solo sólo también siempre nunca
        este esta esto ese esa eso hay hace hacer favor debe deben puede""".split()
    ),
    "fr": frozenset(
        """le la les l un une des du de d et ou mais ne pas n est sont était être ai as a avons ont
        je j tu il elle on nous vous ils elles me m te se s ce cette ces c mon ma mes ton ta tes son
        sa ses notre votre leur à au aux en dans avec pour par sur que qu qui quoi quand si comme
        plus très déjà aussi toujours jamais y il faut doit peut""".split()
    ),
    "pt": frozenset(
        """o a os as um uma uns umas e ou mas não é são era está estão ser seja tem têm eu tu você
        ele ela nós vocês eles me te se nos lhe meu minha meus teu seu sua seus de do da dos das no
        na nos nas ao à em com por para que quê como quando se sim sem mais muito já só também
        sempre nunca este esta isto esse essa isso há fazer favor deve pode""".split()
    ),
}  # fmt: skip

# Words that agree or are polite, by language: a prompt of nothing else settles nothing by itself.
ASSENTS = frozenset(
    """
    yes yeah yep yup sure ok okay okey k kk fine right correct exactly agreed agree perfect great
    good nice cool awesome excellent thanks thank you thx please pls go ahead do it that this so
    continue proceed approved lgtm looks sounds seems works to me make let's lets just then now all
    the for us fire away absolutely definitely of course ship confirmed confirm i with keep going
    carry on and is it's that's start begin next accept accepted yea aye alright

    ja jo jawohl klar genau gerne gern bitte danke gut super passt mach machen das es so weiter los
    einverstanden richtig stimmt perfekt prima in ordnung ist leg tu mal doch ruhig dann alles jetzt
    hört sich an klingt

    sí si vale dale claro bueno bien perfecto genial gracias por favor hazlo házlo adelante de
    acuerdo correcto exacto está continua continúa sigue listo eso asi así me parece procede

    oui ouais d'accord daccord vas-y vas y allez-y allez bien sûr parfait super merci s'il te vous
    plaît plait fais-le fais le ça ca va marche continue exactement c'est bon très d accord je suis

    sim claro certo beleza ótimo otimo perfeito obrigado obrigada por favor pode fazer faça faca
    isso mesmo vá va em frente continue tá ta bom concordo ok segue

    да ага хорошо ладно давай делай так конечно отлично согласен продолжай спасибо пожалуйста верно

    네 예 응 좋아요 좋아 좋습니다 그래 그래요 그렇게 해 해줘 해주세요 하세요 진행해 진행해줘
    진행해주세요     진행하세요 부탁해요 부탁합니다
    감사합니다 계속 계속해 알겠습니다 맞아요 맞아 맞습니다
    """.split()
)
# The same in scripts without spaces, the longest first.
SPACELESS_ASSENTS = tuple(
    sorted(
        """好的 好 可以 可以的 行 没问题 没有问题
        同意 对 对的 是 是的 就这样 就这样做 这样做 请继续 继续
        继续吧 请 谢谢 吧 了 啊 嗯 当然 当然可以 很好 太好了 开始 开始吧 做吧 没错 就这么办 确认
        はい ええ うん いいです いいですね いいよ お願いします お願い それで
        そうして そうしてください 続けて 続けてください 続行 進めて 進めてください
        了解 了解です 了解しました 大丈夫 大丈夫です わかりました
        分かりました その通り その通りです どうぞ ください
        ありがとう ありがとうございます 問題ありません 問題ない 承知しました ね よ です""".split(),
        key=len,
        reverse=True,
    )
)  # fmt: skip

# Words that deny: not to be lost where a quotation is cut or leaves something out.
NEGATIONS = negations.ALL | frozenset(
    """none neither nor dont doesnt didnt isnt arent wasnt wont wouldnt shouldnt mustnt cant couldnt
    stop avoid keiner nichts ningún ninguna ni tampoco evita evitar ne n aucune non nem nenhum
    nenhuma нет""".split()
)
# Before a word that it denies, and behind it, in languages that do so.
SPACELESS_NEGATIONS = ("不", "别", "勿", "没", "禁止")
DENYING_BEHIND = frozenset(("nicht", "pas", "jamais", "nie", "niemals", "kein", "keine"))
NEGATED_BEHIND = ("ない", "ません", "禁止", "지마", "지말", "지않", "금지")

# Words by which one clause denies what others might do.
EXCLUSIVES = frozenset(
    """only myself himself herself yourself ourselves themselves alone instead
    nur selbst selber allein stattdessen
    solo sólo solamente mismo misma
    seulement uniquement moimême même
    só somente apenas mesmo
    только сам сама сами""".split()
)
# Beginnings before a hyphen, which make an ordinary word of another one.
PREFIXES = frozenset(
    """re pre un non co sub multi anti inter post self semi over under cross full well so all in on
    off up down long short one two""".split()
)

# With another denial in the clause they demand something: "never commit without asking".
WITHOUT = frozenset("without unless ohne sin sans sem без".split())
# Beginnings of words by which a sentence allows something, and of others that do in a prompt.
PERMISSIONS = tuple(
    """allow permit permission authoris authoriz approv entitled trusted
    erlaub darf dürf genehmig berechtigt autoriz permite permiti autoris permis
    разреш можно 허용 허락 승인""".split()
)
FREEDOMS = frozenset(
    """can may could free ok okay fine kannst könnt puede puedes podés peux pouvez pode podem libre
    livre можешь можете 괜찮 되""".split()
)
SPACELESS_PERMISSIONS = ("允许", "可以", "授权", "許可", "てもよい", "てもいい", "構いません")
# Beginnings of questions that leave open if something is wanted.
ASKING = (
    r"^(?:(?:and|so|or|but|hmm|ok|then|also) )?(?:should|shall|do we|do i|does|is|are|was|were|"
    r"would it|could it|can it|what (?!about)|which|who|where|when|how (?!about)|"
    r"soll(?:en|ten)? (?:wir|ich)|deber[ií]amos|debo|devrait on|devrions nous|faut il|dois je|"
    r"dever[ií]amos|devo)\b|要 不 要|是 否|该 不 该|べ き で す か"
)

# Words for every project, as expressions; a denial before them is looked for apart.
EVERYWHERE = (
    r"\b(?:always|everywhere|every ?time|whenever|generally|in general|globally|"
    r"in (?:all|any|every)(?: of)?(?: my| our| the)? (?:project|repo|session|chat|"
    r"conversation)\w*|(?:all|any|every) (?:of )?(?:my )?(?:project|repo|session)\w*|across "
    r"(?:all |my |every )?\w{0,12} ?(?:project|repo)\w*|wherever i|"
    r"immer|überall|jedes mal|jedesmal|generell|grundsätzlich|in allen (?:meinen )?projekten|"
    r"in jedem projekt|stets|"
    r"siempre|en todas? partes|cada vez|en general|en todos (?:mis |los )?(?:\w+ )?proyectos|"
    r"en cada proyecto|"
    r"toujours|partout|à chaque fois|chaque fois|en général|dans tous (?:mes|les) (?:\w+ )?projets|"
    r"dans chaque projet|"
    r"sempre|em todo lugar|toda vez|em geral|em todos (?:os )?(?:meus )?projetos|em cada projeto|"
    r"всегда|везде|каждый раз|во всех (?:моих )?проектах)\b|"
    r"总是|始终|一直|永远|每次|所有项目|所有的项目|每个项目|到处|"
    r"いつも|常に|毎回|どこでも|すべてのプロジェクト|全プロジェクト|全てのプロジェクト|"
    r"항상|언제나|매번|어디서나|모든 프로젝트"
)

# One concept a line, as beginnings of words in several languages: for a sentence that is not in the
# language of the words it quotes.
CONCEPTS = tuple(
    tuple(line.split())
    for line in """
    test teste testen prueba prueb тест 测试 測試 テスト 테스트
    commit confirm коммит 提交 コミット 커밋
    push empuj пуш 推送 プッシュ 푸시
    branch zweig rama branche ветк ветв 分支 ブランチ 브랜치
    deploy releas ausroll despleg desplieg déploi implant публик депло 部署 发布 デプロイ 배포
    staging стейдж стейж 预发 预发布 ステージング 스테이징
    production produktion produc продакш прод 生产 生產 本番 프로덕션 운영
    server serv сервер 服务器 伺服器 サーバ 서버
    database datenbank базы базу база данных bases base banco bd db 数据库 データベース 데이터베이스
    file datei archiv fichier arquiv файл 文件 ファイル 파일
    folder director ordner carpeta dossier pasta папк каталог 目录 文件夹 フォルダ 폴더
    delete remov lösch borr elimin supprim apag exclu удал 删除 削除 삭제
    change modif änder ander cambi altera mudar изменя измени меня 修改 改动 更改 変更 변경 수정
    touch anfass berühr toc трога 碰 动 触
    run start launch ausführ starte ejecut inici lanc exécut démarr запуск 运行 启动 実行 起動 실행
    install instal установ 安装 インストール 설치
    answer repl respon antwort répon respond отвеч ответ 回答 回复 答え 答えて 返事 返答 답변 대답
    ask question frag pregunt demand pergunt спраш спрос вопрос 问 询问 質問 聞 질문 물어
    german deutsch alem allemand немец 德语 ドイツ語 독일어
    english englisch inglés ingles inglês anglais англий 英语 英文 英語 영어
    spanish spanisch español espagnol espanhol испан 西班牙 スペイン語 스페인어
    french französisch francés français francês француз 法语 フランス語 프랑스어
    portuguese portugiesisch portugu португал 葡萄牙 ポルトガル語 포르투갈
    russian russisch ruso russe russo русск 俄语 ロシア語 러시아
    chinese chinesisch chino chinois chinês китай 中文 汉语 中国語 중국어
    japanese japanisch japon японс 日语 日文 日本語 일본어
    korean koreanisch coreano coréen корейс 韩语 韓国語 한국어 한글
    comment kommentar coment комментар 注释 评论 コメント 주석
    document doku docs документ 文档 ドキュメント 文書 문서
    code quelltext código codigo код 代码 コード 코드
    name benenn nombr nomm nome назв имя имен 名称 命名 名字 名前 이름
    user benutzer nutzer usuari utilisateur usuár пользоват 用户 ユーザ 사용자
    customer client kunde клиент 客户 顧客 고객
    invoice bill rechnung factur fatur счет счёт 发票 账单 請求 송장 청구
    pay zahl pag pai оплат плат 付款 支付 支払 결제
    order bestell pedid command заказ 订单 注文 주문
    price preis preci prix preç цен 价格 値段 価格 가격
    password passwort contraseñ mot senha парол 密码 パスワード 비밀번호
    key schlüssel clave llave clé chave ключ 密钥 キー 키
    page seite página pagina 页面 страниц ページ 페이지
    button knopf schaltfl botón boton bouton botão кнопк 按钮 ボタン 버튼
    color colour farb couleur cor цвет 颜色 色 색
    table tabell tabla tabel таблиц 表 テーブル 테이블
    migration migrac migraç миграц 迁移 マイグレーション 마이그레이션
    dependency abhängig dependenc dépendanc dependênc зависим 依赖 依存 의존
    version versión versão верси 版本 バージョン 버전
    message nachricht mensaj mensag сообщен 消息 信息 メッセージ 메시지
    error fehler erreur erro ошибк 错误 エラー 오류 에러
    log protokoll registr journal лог 日志 ログ 로그
    plan план 计划 計画 계획
    review prüf revis relect ревью провер 审查 评审 レビュー 리뷰 검토
    merge zusammenführ fusion mescl слия мерж 合并 マージ 병합
    short kurz corto breve court curto кратк корот 简短 简洁 短 짧
    simple einfach sencill простo прост 简单 シンプル 간단
    library bibliothek bibliotec bibliothèq библиотек 库 ライブラリ 라이브러리
    format formatier formato формат 格式 フォーマット 形式 형식
    style stil estilo стил 样式 风格 スタイル 스타일
    type typ tipo тип 类型 型 타입
    port puerto porta порт 端口 ポート 포트
    cache caché zwischenspeich кэш кеш 缓存 キャッシュ 캐시
    config einstell konfig ajust réglag parâm настрой конфиг 配置 设置 設定 설정
    approv genehmig freigab aprob approuv aprov одобр 批准 同意 承認 승인
    wait wart esper attend aguard жди жда 等 等待 待 기다
    team equipo équip equipe команд 团队 チーム 팀
    guest gast gäste huésped invité hóspede гост 客人 ゲスト 손님
    room zimmer raum habitac chambre quarto комнат 房间 部屋 방
    month monat mes mois mês месяц 月 月 월
    week woche semana semaine недел 周 星期 週 주
    day tag tage día jour dia день дня дней
    friday freitag viernes vendredi sexta пятниц 周五 星期五 金曜 금요일
    """.strip().splitlines()
)  # fmt: skip

# Numbers that are often written as words.
NUMBERS = {
    "1": "one once ein eine einen einmal uno una un une um uma один одну 一 하나 한",
    "2": "two twice second zwei zweimal dos deux dois duas два две 二 两 둘 두",
    "3": "three third drei tres trois três три 三 세 셋",
    "4": "four vier cuatro quatre quatro четыре 四 네",
    "5": "five fünf cinco cinq пять 五 다섯",
    "6": "six sechs seis шесть 六 여섯",
    "7": "seven sieben siete sept sete семь 七 일곱",
    "8": "eight acht ocho huit oito восемь 八 여덟",
    "9": "nine neun nueve neuf nove девять 九 아홉",
    "10": "ten zehn diez dix dez десять 十 열",
    "11": "eleven elf once onze одиннадцать 十一 열하나",
    "12": "twelve dozen zwölf doce douze doze двенадцать 十二 열둘",
    "20": "twenty zwanzig veinte vingt vinte двадцать 二十 스물",
    "100": "hundred hundert cien cent cem сто 百 백",
}
# Commands that are short or ordinary words, beyond the technologies of the vocabulary.
COMMANDS = frozenset(
    """curl wget sudo rm chmod chown ssh scp bash zsh eval npx uvx pipx brew apt apt-get pnpm npm
    yarn pip git docker kubectl terraform crontab systemctl psql sed awk xargs powershell""".split()
)
# Words next to which a word is the name of a package.
PACKAGE_BEFORE = frozenset(
    """install installs package packages library libraries dependency registry npm pip pnpm yarn uv
    cargo gem brew apt module plugin crate sdk named called import""".split()
)
PACKAGE_BEHIND = frozenset(
    """package packages library dependency registry module plugin crate sdk framework
    mirror""".split()
)
