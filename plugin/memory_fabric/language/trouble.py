"""Words by which a prompt says that something does not work, in the larger languages.

A fix on record matters to such a prompt; to one that asks for new work it is noise.
"""

from __future__ import annotations

from memory_fabric.text import without_files, words

_ENGLISH = """abort aborted aborts bad blank blocked broke broken bug bugs cannot cant complains
    conflict conflicts corrupt corrupted couldn couldnt crash crashed crashes crashing debug
    denied deprecated diagnose didn didnt doesn doesnt duplicate empty err error errors
    exception exceptions exit fail failed failing fails failure failures fatal fix flaky
    forbidden freeze freezes frozen hang hanging hangs invalid investigate isn isnt issue issues
    lost missing never nothing panic panics problem problems refused refuses rejected rejects
    segfault slow stale stopped stops stuck timeout timeouts trouble unable undefined unexpected
    unreachable warning warnings weird why wont wrong"""
_OTHERS = """anda arreglar avería cae caído carga cargando corregir error errores excepción
    falla fallan fallando fallo fallos falta funciona incorrecto pincha pinchando problema
    problemas roto rompe rompió solucionar soluciona tarda vacía vacío absturz abgestürzt behebe
    beheben fehler fehlern fehlermeldung fehlgeschlagen fehlt funktioniert geht hängt kaputt
    klappt langsam leer problem probleme scheitert stürzt warum weshalb wieso bloqué bogue cassé
    corrige corriger échec échoue erreur erreurs lent manque marche panne plante plantage
    pourquoi problème problèmes résoudre bloccato errore errori fallisce funziona guasto lento
    manca perché problemi risolvere rotto vuoto arrumar consertar corrigir erro erros falha
    falhando falhou quebrado quebrou travou vazio błąd błędy działa nie napraw naprawić pusty
    wolno zepsute fout fouten kapot kapotte langzaam werkt баг баги висит вылетает зависает
    исправить исправь не ошибка ошибки ошибку падает поломка почини починить почему проблема
    проблемы пусто сломалось сломано упал упало bozuk çalışmıyor çöktü hata hatası hatalar sorun
    yavaş"""
_WITHOUT_SPACES = (
    *(
        "错误",
        "報錯",
        "报错",
        "失败",
        "失敗",
        "问题",
        "問題",
        "崩溃",
        "异常",
        "不行",
        "不能",
        "无法",
    ),
    *(
        "修复",
        "坏了",
        "卡住",
        "为什么",
        "為什麼",
        "バグ",
        "エラー",
        "失敗",
        "動かない",
        "動きません",
    ),
    *(
        "できない",
        "できません",
        "落ちる",
        "直し",
        "なぜ",
        "おかしい",
        "오류",
        "에러",
        "버그",
        "실패",
    ),
    *("안돼", "안 돼", "안됨", "작동하지", "고쳐", "왜", "문제"),
)
TROUBLE = frozenset(f"{_ENGLISH} {_OTHERS}".split())


def reports_trouble(text: str) -> bool:
    """Return True if a text says or asks why something does not work."""
    if not TROUBLE.isdisjoint(words(without_files(text))):
        return True
    return not text.isascii() and any(word in text for word in _WITHOUT_SPACES)
