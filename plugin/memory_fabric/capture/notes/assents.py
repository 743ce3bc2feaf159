"""Words that agree or are polite: a prompt of nothing else settles nothing by itself."""

from __future__ import annotations

from memory_fabric.capture.notes.typed_text import is_spaceless, plain

MAX_ASSENT_WORDS = 10
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
_STRIPPED = ".,;:!?()[]{}<>\"'“”‘’„«»「」『』…。，、；：！？*-–—~`^"


def is_assent(prompt: str) -> bool:
    """Return True for a prompt that only agrees: "yes", "ok do it", "sí", "mach das", "好的"."""
    words = plain(prompt).split()
    if len(words) > MAX_ASSENT_WORDS or prompt.rstrip().endswith(("?", "？")):
        return False
    left, agrees = "", "👍" in prompt
    for word in words:
        bare = word.strip(_STRIPPED)
        agrees = agrees or any(map(str.isalnum, bare))
        left += "" if bare in ASSENTS else f" {bare}"
    if any(map(is_spaceless, left)):
        for phrase in SPACELESS_ASSENTS:
            left = left.replace(phrase, " ")
    return agrees and not any(map(str.isalnum, left))
