"""Which records the words that a user typed are about."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memory_fabric.capture.notes.replaced import Shared
from memory_fabric.models import Provenance, Record
from simulated_client import SimulatedClient

THINGS = (
    ("invoice PDFs", "WeasyPrint", "wkhtmltopdf"),
    ("order emails", "Postmark", "SendGrid"),
    ("session tokens", "Redis", "Memcached"),
    ("database migrations", "Alembic", "Flyway"),
    ("browser tests", "Playwright", "Cypress"),
    ("feature flags", "Unleash", "LaunchDarkly"),
    ("shipping labels", "EasyPost", "Shippo"),
    ("access logs", "Loki", "Splunk"),
)
SAYS = ("The shop makes {0} with {1}", "All {0} go through {1}", "For {0} the team relies on {1}")


@pytest.fixture
def stored(tmp_path: Path) -> tuple[Shared, dict[str, Record]]:
    """The old way of each thing on record, and the scoring over them."""
    memory = SimulatedClient(Path(os.path.realpath(tmp_path))).memory()
    records = {}
    for number, (thing, _, old) in enumerate(THINGS):
        what = SAYS[number % len(SAYS)].format(thing, old)
        by = Provenance("cli", trust="user")
        made = memory.remember(Record("decision", what, confidence=0.9), by)
        assert made is not None
        records[thing] = made
    return Shared(memory), records


def test_a_new_value_replaces_only_the_record_about_the_same_subject(
    stored: tuple[Shared, dict[str, Record]],
) -> None:
    shared, records = stored
    meant = {
        (thing, other)
        for number, (thing, new, _) in enumerate(THINGS)
        for other, record in records.items()
        if shared.is_about(SAYS[number % len(SAYS)].format(thing, new), record)
    }

    assert meant == {(thing, thing) for thing, *_ in THINGS}


@pytest.mark.parametrize(
    ("said", "old"),
    [
        (
            "Die Rechnungen bleiben ab jetzt nur sieben Jahre im Archiv",
            "Rechnungen bleiben im Archiv",
        ),
        ("Désormais les factures sont conservées sept ans", "Les factures sont conservées dix ans"),
        ("Bundan sonra faturalar yedi yıl saklanır", "Faturalar on yıl saklanır"),
        ("Теперь счета хранятся семь лет", "Счета хранятся десять лет"),
    ],
)
def test_a_new_value_replaces_a_record_in_other_languages_too(
    stored: tuple[Shared, dict[str, Record]], said: str, old: str
) -> None:
    shared, records = stored

    assert shared.is_about(said, Record("decision", old))
    assert not any(shared.is_about(said, record) for record in records.values())


@pytest.mark.parametrize(
    ("said", "old"),
    [
        (
            "Prices on the label sheet are printed without cents, since the small font smeared.",
            "Prices on the label sheet are printed with two digits after a comma, in grey, as the "
            "wholesale customers asked for last winter.",
        ),
        (
            "Broken rows in carrier manifests: skip them and write their numbers to a report.",
            "Broken rows in carrier manifests: the whole import stops, because half a manifest "
            "led to lost parcels.",
        ),
    ],
)
def test_a_sentence_matches_a_record_if_it_starts_with_the_same_subject(
    stored: tuple[Shared, dict[str, Record]], said: str, old: str
) -> None:
    shared, records = stored

    assert shared.is_about(said, Record("decision", old))
    assert not any(shared.is_about(said, record) for record in records.values())


def test_a_sentence_that_shares_only_common_words_is_not_about_the_record(
    stored: tuple[Shared, dict[str, Record]],
) -> None:
    shared, _ = stored

    said = "The shop makes gift cards by hand"

    assert not shared.is_about(said, Record("decision", "The shop makes coffee on Mondays"))
