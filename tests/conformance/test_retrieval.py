"""One table of what retrieval must answer: SQL of SQLite and functions of PostgreSQL are apart."""

from __future__ import annotations

import pytest

from conformance.stores import Store
from team.postgres import ANN, BOB

SAID = (
    "FastAPIRouter handles the webhooks of the shop",
    "Sessions are caching in Redis for an hour",
    "The Café opens at nine o'clock",
    "我们使用数据库连接池",
    "The limit of shards is in spec.shards",
    "Invoices are numbered by year and branch",
    "Deploys of the gateway happen on Tuesdays",
    "The gateway retries three times before it gives up",
)
# A question, and the statement that it must find first; None if it must find nothing.
CASES = (
    ("what about routers", SAID[0]),
    ("cached sessions", SAID[1]),
    ("which cafe", SAID[2]),
    ("数据库", SAID[3]),
    ("file spec.shards", SAID[4]),
    ('"opens at nine"', SAID[2]),
    ("how are invoices numbered?", SAID[5]),
    ("When do deploys of the gateway happen?", SAID[6]),
    ("How often does the gateway retry?", SAID[7]),
    ("gateway deploys tuesday", SAID[6]),
    ("INVOICES BY YEAR", SAID[5]),
    ("zeppelin moorings", None),
    # A phrase that stands nowhere is searched by its words.
    ('"nine opens"', SAID[2]),
)


@pytest.fixture
def filled(store: Store) -> Store:
    """A store in which one member said all, since one's own words rank first."""
    for text in SAID:
        store.remember(ANN, text)
    return store


@pytest.mark.parametrize(("question", "first"), CASES)
def test_recall_finds_the_same_first_result_in_the_local_and_the_server_store(
    filled: Store, question: str, first: str | None
) -> None:
    for member in (ANN, BOB):
        texts = [found.text for found in filled.recall(member, question)]
        assert (texts[0] if texts else None) == first


def test_recall_finds_an_observation_by_its_entity_name_or_its_text(filled: Store) -> None:
    filled.observe(ANN, "Zephyrion", "It is restarted at night")

    for question in ("restart zephyrion", "restarted at night"):
        assert filled.recall(BOB, question)[0].text == "It is restarted at night"
