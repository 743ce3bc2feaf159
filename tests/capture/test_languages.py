"""What is kept and what is left in languages beside English: a dozen sentences of each."""

from __future__ import annotations

import pytest

from memory_fabric.capture.capture import capture
from memory_fabric.capture.cues import has_cue
from memory_fabric.models import STORED_FROM

KEPT = {
    "de": (
        (
            "Wir haben uns für PostgreSQL entschieden, weil wir Fensterfunktionen brauchen.",
            "decision",
        ),
        ("Wir verwenden ab jetzt pnpm statt npm.", "decision"),
        ("Die Rechnungen werden nur noch als PDF gespeichert.", "decision"),
        ("Wir bleiben bei REST für die öffentliche Schnittstelle.", "decision"),
        ("Statt Celery nehmen wir künftig RQ.", "decision"),
        ("Niemals Passwörter ins Log schreiben.", "constraint"),
        ("Alle Zeitstempel müssen in UTC gespeichert werden.", "constraint"),
        ("Kein `--no-verify` beim Commit, auch nicht ausnahmsweise.", "constraint"),
        ("Ich hätte kleine Commits lieber als große.", "preference"),
        ("Das lag daran, dass der Cache nie geleert wurde.", "problem"),
    ),
    "es": (
        ("Decidimos usar PostgreSQL porque necesitamos transacciones.", "decision"),
        ("Nos quedamos con Django para el panel interno.", "decision"),
        ("Vamos a guardar los archivos en S3 en lugar de la base de datos.", "decision"),
        ("Los importes se guardan siempre en céntimos como enteros.", "constraint"),
        ("Nunca subas claves al repositorio.", "constraint"),
        ("Todas las fechas deben guardarse en UTC.", "constraint"),
        ("No uses axios en este proyecto, tenemos nuestro propio cliente.", "constraint"),
        ("Prefiero que los mensajes de commit estén en inglés.", "preference"),
        ("El problema era que la caché nunca se vaciaba.", "problem"),
    ),
    "fr": (
        ("On garde SQLite pour la version locale.", "decision"),
        ("Nous avons décidé d'utiliser Redis pour les sessions.", "decision"),
        ("On passe à pnpm parce que l'installation est plus rapide.", "decision"),
        ("Nous adoptons le trunk-based development.", "decision"),
        ("Ne jamais commiter de fichier secret.", "constraint"),
        ("Toutes les dates doivent être stockées en UTC.", "constraint"),
        ("Pas de requête SQL dans les contrôleurs.", "constraint"),
        ("Je préfère les petites fonctions.", "preference"),
        ("Le problème venait du cache qui n'était jamais vidé.", "problem"),
    ),
    "pt": (
        ("Foi adotado o PostgreSQL como banco de dados principal.", "decision"),
        ("Vamos manter o Django no painel interno.", "decision"),
        ("Mudamos de npm para pnpm por causa do espaço em disco.", "decision"),
        ("Decidimos guardar os arquivos no S3.", "decision"),
        ("Nunca coloque senhas no repositório.", "constraint"),
        ("Todos os valores devem ser guardados em centavos.", "constraint"),
        ("Não use ponto flutuante para dinheiro.", "constraint"),
        ("Prefiro que as mensagens de commit fiquem em português.", "preference"),
        ("O problema era que o cache nunca era limpo.", "problem"),
    ),
    "zh": (
        ("我们决定使用 PostgreSQL，因为需要窗口函数。", "decision"),
        ("以后统一用 pnpm 管理依赖。", "decision"),
        ("我们最终选择了 Redis 作为会话存储。", "decision"),
        ("前端已经从 Vue 换成 React 了。", "decision"),
        ("永远不要把密钥提交到仓库。", "constraint"),
        ("金额一律以分为单位保存。", "constraint"),
        ("不要用浮点数保存金额。", "constraint"),
        ("优先使用组合而不是继承。", "preference"),
        ("根本原因是缓存从来没有清空。", "problem"),
    ),
    "ja": (
        ("データベースは PostgreSQL に決定しました。", "decision"),
        ("パッケージ管理は pnpm に統一します。", "decision"),
        ("バッチ処理は Celery から RQ へ移行しました。", "decision"),
        ("認証にはトークンを採用します。", "decision"),
        ("常に入力を検証すること。", "constraint"),
        ("パスワードをログに出力しないでください。", "constraint"),
        ("すべての日時は UTC で保存すること。", "constraint"),
        ("小さいコミットを優先します。", "preference"),
        ("原因はキャッシュが消されないことでした。", "problem"),
    ),
    "ko": (
        ("데이터베이스는 PostgreSQL을 사용하기로 결정했습니다.", "decision"),
        ("응답 필드는 camelCase로 통일하자.", "decision"),
        ("CDC는 사용하지 않기로 했습니다.", "decision"),
        ("패키지 관리자를 pnpm으로 바꾸기로 했습니다.", "decision"),
        ("항상 입력값을 검증해야 합니다.", "constraint"),
        ("비밀번호를 절대 로그에 남기지 마세요.", "constraint"),
        ("모든 금액은 반드시 정수로 저장한다.", "constraint"),
        ("작은 커밋을 선호합니다.", "preference"),
        ("원인은 캐시가 비워지지 않은 것이었습니다.", "problem"),
    ),
}
LEFT = {
    "de": (
        "Sollen wir PostgreSQL oder MySQL nehmen?",
        "Vielleicht verwenden wir später Redis für die Sessions.",
        "Bitte füge auf der Startseite einen Knopf hinzu.",
        "Das Team von Stripe hat sich noch nicht entschieden.",
    ),
    "es": (
        "¿Deberíamos usar PostgreSQL o MySQL?",
        "Quizás podríamos usar Redis más adelante.",
        "Añade un botón en la página de inicio.",
        "Las pruebas pasan y la rama está lista.",
    ),
    "fr": (
        "Est-ce qu'on utilise PostgreSQL ou MySQL ?",
        "On pourrait peut-être utiliser Redis plus tard.",
        "Ajoute un bouton sur la page d'accueil.",
        "Les tests passent et la branche est prête.",
    ),
    "pt": (
        "Devemos usar PostgreSQL ou MySQL?",
        "Talvez poderíamos usar Redis mais tarde.",
        "Adicione um botão na página inicial.",
        "Os testes passam e o ramo está pronto.",
    ),
    "zh": (
        "我们应该使用 PostgreSQL 还是 MySQL？",
        "也许以后可以用 Redis。",
        "在首页加一个按钮。",
        "测试都通过了。",
    ),
    "ja": (
        "PostgreSQL と MySQL のどちらを使いますか？",
        "たぶん後で Redis を採用するかもしれません。",
        "トップページにボタンを追加してください。",
        "テストはすべて通りました。",
    ),
    "ko": (
        "PostgreSQL과 MySQL 중 무엇을 사용할까요?",
        "아마 나중에 Redis를 사용할 수도 있습니다.",
        "첫 화면에 버튼을 추가해 주세요.",
        "테스트가 모두 통과했습니다.",
    ),
}


@pytest.mark.parametrize(("text", "type_"), [pair for pairs in KEPT.values() for pair in pairs])
def test_what_is_settled_is_kept_with_its_type(text: str, type_: str) -> None:
    assert has_cue(text)
    found = [r.type for r in capture(text, speaker="user") if r.confidence >= STORED_FROM]
    assert found == [type_]


@pytest.mark.parametrize("text", [text for texts in LEFT.values() for text in texts])
def test_what_is_asked_supposed_or_reported_is_left(text: str) -> None:
    assert capture(text, speaker="user") == []


def test_every_language_has_its_dozen() -> None:
    assert min(len(KEPT[language]) + len(LEFT[language]) for language in KEPT) >= 12
