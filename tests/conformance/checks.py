"""Checks of every store: recall finds, walls hold back, a purge erases, an undo restores."""

from __future__ import annotations

from conformance.stores import Store
from team.postgres import ANN, BOB, EVE

CODE_WORD = "Quillfeather"


def texts(store: Store, member: str, question: str, only: str = "") -> list[str]:
    """Return the texts of the hits, best first."""
    return [hit.text for hit in store.recall(member, question, only=only)]


def other_forms_of_words_are_found(store: Store) -> None:
    store.remember(ANN, "Sessions are cached in the keystore")
    store.remember(ANN, "Lunch is served at noon")

    found = texts(store, BOB, "where is the caching of a session")
    assert found[:1] == ["Sessions are cached in the keystore"]


def a_misspelt_name_is_found(store: Store) -> None:
    store.observe(ANN, "Zephyrion", "It pauses at night")

    assert texts(store, BOB, "zephirion at night")[:1] == ["It pauses at night"]


def an_exact_phrase_is_found(store: Store) -> None:
    store.remember(ANN, "The gate opens at nine")
    store.remember(ANN, "At nine the gate of the garden opens")

    assert texts(store, BOB, '"gate opens"') == ["The gate opens at nine"]


def the_newest_statement_comes_first(store: Store) -> None:
    old = store.remember(ANN, "Billing stores invoices in MySQL")
    store.remember(ANN, "Billing stores invoices in Oracle", instead_of=old)

    for member in (ANN, BOB):
        found = texts(store, member, "where does billing store invoices")
        assert found[:1] == ["Billing stores invoices in Oracle"]


def what_is_taken_back_is_not_found(store: Store) -> None:
    id_ = store.remember(ANN, "The gate opens at nine")
    assert texts(store, BOB, "gate") == ["The gate opens at nine"]

    store.forget(ANN, id_)

    assert texts(store, ANN, "gate") == texts(store, BOB, "gate") == []


def a_domain_shows_nothing_else(store: Store) -> None:
    store.remember(ANN, "The lease of the office ends in May", domain="legal")
    store.remember(ANN, "The lease of the cache ends in May")
    store.observe(ANN, "Cache", "Its lease ends early")

    assert texts(store, ANN, "lease ends", only="legal") == ["The lease of the office ends in May"]
    assert "cache" not in store.readable(ANN, only="legal").lower()
    assert "office" in store.readable(ANN, only="legal")


def a_domain_knows_no_other_words(store: Store) -> None:
    store.remember(ANN, "The lease of the office ends in May", domain="legal")
    store.remember(ANN, "Turbines spin")

    assert store.knows(ANN, "office", only="legal")
    assert not store.knows(ANN, "turbines", only="legal")


def a_domain_is_written_only_to_itself(store: Store) -> None:
    store.remember(ANN, "The lease of the office ends in May", domain="general", only="legal")

    assert "office" in store.readable(ANN, only="legal")
    assert "office" not in store.readable(ANN, only="general")


def local_records_stay_with_their_session(store: Store) -> None:
    store.remember(ANN, "The stapler is jammed", scope="local")

    assert texts(store, ANN, "stapler") == texts(store, BOB, "stapler") == []


def what_others_say_is_marked(store: Store) -> None:
    store.remember(ANN, "The gate opens at nine")

    (mine,), (theirs,) = store.recall(ANN, "gate"), store.recall(BOB, "gate")

    assert mine.trust != "foreign"
    assert theirs.trust == "foreign"


def others_replace_nothing(store: Store) -> None:
    id_ = store.remember(ANN, "The gate opens at nine")
    assert texts(store, BOB, "gate") == ["The gate opens at nine"]

    store.remember(BOB, "The gate opens at ten", instead_of=id_)
    store.forget(BOB, id_)

    assert "The gate opens at nine" in texts(store, ANN, "gate opens")


def a_forged_withdrawal_does_nothing(store: Store) -> None:
    id_ = store.remember(ANN, "The gate opens at nine")
    assert texts(store, BOB, "gate") == ["The gate opens at nine"]

    store.forge(BOB, id_)

    assert texts(store, ANN, "gate") == texts(store, BOB, "gate") == ["The gate opens at nine"]


def a_stranger_reads_nothing(store: Store) -> None:
    store.remember(ANN, "The gate opens at nine")
    assert texts(store, BOB, "gate") == ["The gate opens at nine"]

    assert store.readable(EVE) == ""


def a_purge_leaves_no_word(store: Store) -> None:
    id_ = store.remember(ANN, f"The code word is {CODE_WORD}")
    store.remember(ANN, "The gate opens at nine")
    assert CODE_WORD in " ".join(texts(store, BOB, "code word"))

    store.purge(ANN, id_)

    # Not the whole word: indexes hold stems.
    assert CODE_WORD[:8].lower() not in store.stored(ANN).lower()
    assert texts(store, ANN, "code word") == texts(store, BOB, "code word") == []
    assert texts(store, BOB, "gate") == ["The gate opens at nine"]


def others_purge_nothing(store: Store) -> None:
    id_ = store.remember(ANN, "The gate opens at nine")
    assert texts(store, BOB, "gate") == ["The gate opens at nine"]

    store.purge(BOB, id_)

    assert texts(store, ANN, "gate") == ["The gate opens at nine"]


def undo_withdraws_what_was_new(store: Store) -> None:
    store.remember(ANN, "The gate opens at nine")

    store.undo(ANN)

    assert texts(store, ANN, "gate") == texts(store, BOB, "gate") == []


def undo_restores_what_was_taken_back(store: Store) -> None:
    id_ = store.remember(ANN, "The gate opens at nine")
    store.forget(ANN, id_)
    assert texts(store, BOB, "gate") == []

    store.undo(ANN)

    assert texts(store, ANN, "gate") == texts(store, BOB, "gate") == ["The gate opens at nine"]


def undo_restores_what_was_replaced(store: Store) -> None:
    old = store.remember(ANN, "Billing stores invoices in MySQL")
    store.remember(ANN, "Billing stores invoices in Oracle", instead_of=old)
    assert "Billing stores invoices in Oracle" in texts(store, BOB, "invoices")

    store.undo(ANN)

    expected = ["Billing stores invoices in MySQL"]
    assert texts(store, ANN, "invoices") == texts(store, BOB, "invoices") == expected


def undo_leaves_others_alone(store: Store) -> None:
    store.remember(ANN, "The gate opens at nine")
    store.remember(BOB, "The garden closes at dusk")

    store.undo(BOB)

    assert texts(store, ANN, "gate") == ["The gate opens at nine"]
    assert texts(store, ANN, "garden") == []


CHECKS = (
    other_forms_of_words_are_found,
    a_misspelt_name_is_found,
    an_exact_phrase_is_found,
    the_newest_statement_comes_first,
    what_is_taken_back_is_not_found,
    a_domain_shows_nothing_else,
    a_domain_knows_no_other_words,
    a_domain_is_written_only_to_itself,
    local_records_stay_with_their_session,
    what_others_say_is_marked,
    others_replace_nothing,
    a_forged_withdrawal_does_nothing,
    a_stranger_reads_nothing,
    a_purge_leaves_no_word,
    others_purge_nothing,
    undo_withdraws_what_was_new,
    undo_restores_what_was_taken_back,
    undo_restores_what_was_replaced,
    undo_leaves_others_alone,
)
