"""Function words of the larger languages besides English: they say how, hardly what about.

Words that mean a thing in English are left out ("die", "come", "todo"), as most prompts about code
mix languages. For scripts without spaces these are pairs of characters, as the index has them.
"""

from __future__ import annotations

_SPANISH = """algo alguna algún ahora al allí ante antes aquella aquello aquí así aunque bien
    cada casi como con contra cosa cosas cual cualquier cuando cuál cuándo cómo de deben debe
    deberia debería debemos deberíamos decir del desde donde dos dónde el ella ellos en entonces
    entre era eran eres es esa ese eso esos esta estaba estado estamos estan estar estas este
    esto estos está están estás fue fueron ha haber habia había hace hacer haciendo hacia han
    hasta hay haz he hemos hola igual la las le les lo los luego mas me menos mi mis misma mismo
    mucho muy más nada necesito ni nos nosotros nuestro nunca otra otro para pero poco podemos
    poder podes podrías porque porqué por puede pueden puedes puedo pues que queremos quiero
    quien qué se sea ser será si sido siempre sigue siguen sino sobre solo somos son su sus sí
    sólo tal también tambien tan tanto te tendría tenemos tener tengo ti tiene tienen tienes tu
    tus tú un una unas uno unos usted va vamos veo ver vez vos voy ya yo él esté"""
_PORTUGUESE = """agora ao aos aquele aquilo as assim até cada coisa com da das depois do dos e
    ela ele eles em então está estão estou eu foi fazer faz há isso isto já lhe mais mas mesmo
    meu minha muito na nas não nem nos nossa nosso num numa o ou outra outro para pela pelo
    podemos pode por porque precisa preciso qual quando que quem queremos quero sem ser seu sua
    são só também tem temos ter teu tudo um uma umas vai vamos você vou à às é"""
_FRENCH = """alors après au aucun aussi autre aux avec avoir avons c ce cela ces cet cette
    chaque chez comme d dans de depuis des deux devoir doit donc du dès elle elles en encore
    entre es est et être étaient était eu eux fait faire faut il ils j je juste jusqu l la là le
    les leur leurs lui mais me mes moi mon même n ne nos notre nous on ont ou où par parce pas
    peu peut peux pourquoi pouvez près qu quand que quel quelle quels qui quoi sa sans se sera
    ses si sont suis sur t ta te tes toi ton toujours tout toute toutes tous très tu un une va
    vers veux voici voilà vos votre voudrais vous y ça à"""
_ITALIAN = """abbiamo adesso al alla alle allora anche ancora avere che chi ciò con cosa così
    cui da dal dalla dei del della delle deve devo di dopo dobbiamo e ed era essere fa fare
    fatto gli ha hai hanno ho i il in invece la le lei lo loro lui ma mi mia mio molto ne nei
    nel nella no noi non nostro o ogni ora per perché però più poi possiamo posso può qua quale
    quando quello questa questo qui se sei senza si sia siamo solo sono sta stato su sua sul
    sulla suo tra tu tutti tutto un una uno va voglio vorrei voi è"""
_GERMAN = """ab aber alle allem allen aller alles als also am an ander andere anderen auch auf
    aus bei beim bereits bitte bis da dabei dafür damit dann daran das dass davon dazu dem denn
    der des dein deine dich dies diese diesem diesen dieser dieses doch dort du durch ein eine
    einem einen einer eines er es etwas euch eure für ganz gegen gerade gibt habe haben hatte
    hier ich ihm ihn ihnen ihr ihre im immer in ist ja jede jeden jeder jedes jetzt kann kannst
    kein keine können könnte lass mach machen mal mehr mein meine mich mir mit muss musst müssen
    nach nicht nichts noch nun nur ob oder ohne schon sehr sein seine seit sich sie sind so soll
    sollen sollte sollten um und uns unser unsere unter viel vom von vor wann warum weil wenn
    wer werden wie wieder will wir wird wo wurde während wäre würde zu zum zur zwischen über"""
_DUTCH = """aan al alle als bij dan dat de deze dit doen dus een en er gaan geen haar heb hebben
    heeft het hier hij hoe hun ik ja je jij jullie kan kunnen maar mag meer mij mijn moet moeten
    na naar niet nog nu of om omdat ons onze ook op over te tot uit voor waar waarom wat we wel
    welke wij wil worden wordt zal ze zich zij zijn zo zonder zou"""
_POLISH = """aby ale bez bo był była było być chcę co czy dla do gdy gdzie i ich jak jako jestem
    już ja każdy które który która ma mam mamy mi mnie może można musi muszę na nad nam nas nie
    nich niż o od on ona oni oraz po proszę przed przez przy się są ta tak tam te tego tej teraz
    to tu tutaj ty tylko tym u w we więc wszystko z za ze że żeby"""
_RUSSIAN = """а без более бы был была были было быть в вам вас весь во вот все всё всегда всех
    вы где да даже два делать для до его ее её если есть еще ещё же за здесь и из или им их к
    как какой когда который которые кто ли либо мне может можно мой мы на надо нам нас наш не
    него нее неё нельзя нет ни них но ну нужно о об один он она они оно от очень по под пока
    после потом потому почему при про раз с сам себя сделай сделать со так также такой там твой
    тебе тебя теперь то тогда того тоже только том ты у уже хочу чего чем через что чтобы эта
    эти это этого этой этом этот я пожалуйста"""
_UKRAINIAN = """але або будь в вже від він вона вони все всі де для до дуже є з за зараз і її їх
    й його коли ми мені може на не нам немає ні та так також там ти то тут у хто це цей ця чи
    чому що щоб я як який якщо"""
_TURKISH = """ama bana ben bir biz bu bunu çok da daha de değil diye en gibi hala hem her için
    ile ise kadar ki mi mı ne neden nasıl o olan olarak olsun olur onu sen şey şimdi şu ve veya
    ya yani yok"""
_PAIRS = """我们 你们 他们 这个 那个 这些 那些 一个 什么 怎么 为什 可以 需要 应该 没有 不是 就是
    还是 如果 因为 所以 但是 现在 已经 一下 一些 这样 那样 的话 是否 是不 不能 不要 请问 帮我
    我想 我要 是一 个是 的是 也是 我們 這個 這些 什麼 怎麼 應該 沒有 還是 現在 已經 這樣 して
    する した です ます ない てい いる いま って とい いう から ので には では こと よう れる
    くだ てく ださ さい この その あの これ それ どう なぜ ませ せん でき きま 하는 하고 해서
    있는 있어 있다 없는 없어 그리 리고 에서 으로 이다 입니 니다 해줘 해주 주세 세요 어떻 떻게
    이거 그거 것은 것을 하면 되는 합니"""

FUNCTION_WORDS = frozenset(
    " ".join(
        (
            *(_SPANISH, _PORTUGUESE, _FRENCH, _ITALIAN, _GERMAN, _DUTCH, _POLISH),
            *(_RUSSIAN, _UKRAINIAN, _TURKISH, _PAIRS),
        )
    ).split()
)
