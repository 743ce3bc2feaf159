"""Words that the page's scripts know besides the memory: the same as in Python."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from memory_fabric import models, text
from memory_fabric.health import tiers as status
from memory_fabric.recall import explain, rank
from memory_fabric.viewer import page, picture
from viewer.conftest import Opener
from viewer.pictures import Pictured

ASSETS = Path(str(page.ASSETS))


def script(name: str) -> str:
    """A script of the page."""
    return (ASSETS / name).read_text("utf-8")


def number(name: str) -> float:
    """A number that the search of the page is made of."""
    (found,) = re.findall(rf"\b{name} = ([\d.]+)", script("local_search.js"))
    return float(found)


def rows(file: str, name: str) -> dict[str, str]:
    """A table of a script: keys as they are written, and the text of their values."""
    (inside,) = re.findall(rf"const {name} = table\(\{{(.*?)\}}\)", script(file), re.DOTALL)
    return dict(re.findall(r'(?:^|[\s,])"?(\w*)"?: ([^\n]*?)(?:,\n|,? *$)', inside.strip() + "\n"))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("RECENCY", rank.RECENCY_WEIGHT),
        ("RELEVANCE", rank.RELEVANCE_WEIGHT),
        ("AUTHORITY", rank.AUTHORITY_WEIGHT),
        ("IN_GRAPH", rank.IN_GRAPH),
        ("MOST_AUTHORITY", rank.MOST_AUTHORITY),
        ("RECENT_DAYS", rank.RECENCY_DAYS),
        ("LEAST_RECENCY", rank.LEAST_RECENCY),
        ("SUPERSEDED", rank.SUPERSEDED_FACTOR),
    ],
)
def test_a_saved_page_ranks_search_hits_with_the_same_weights_as_recall(
    name: str, value: float
) -> None:
    assert number(name) == value


def test_a_page_without_a_server_uses_the_same_trust_factors_as_recall() -> None:
    (inside,) = re.findall(r"TRUST_FACTORS = table\(\{ (.*?) \}\)", script("local_search.js"))

    found = {name: float(factor) for name, factor in re.findall(r"(\w+): ([\d.]+)", inside)}

    assert found == rank.TRUST_FACTORS


def test_every_stop_word_of_the_page_is_also_a_stop_word_of_recall() -> None:
    (inside,) = re.findall(r"COMMON = new Set\((.*?)\.split", script("local_search.js"), re.DOTALL)

    words = set(" ".join(re.findall(r'"(.*?)"', inside)).split())

    assert len(words) > 40
    assert words <= text.STOPWORDS


def test_every_entity_type_has_a_style_in_light_and_dark() -> None:
    known = models.RECORD_TYPES.keys() | models.ENTITY_TYPES
    colours = re.findall(r"--t-([a-z]+):", script("styles/base.css"))

    of_records = rows("looks.js", "RECORD_LOOKS").keys()
    assert of_records == models.RECORD_TYPES.keys()
    assert {*of_records, *rows("looks.js", "LOOKS")} == known
    assert {name for name in known if colours.count(name) != 2} == set()


@pytest.mark.parametrize(
    ("file", "name", "known"),
    [
        ("model.js", "TRUSTS", {*models.TRUST_ORDER, ""}),
        ("status.js", "STATES", {status.HEALTHY, status.DEGRADED, status.UNAVAILABLE}),
        ("status.js", "TIER_WORDS", {"graph", "local", "native"}),
        ("entity.js", "SCOPES", {*picture.PAGE_SCOPES.values(), picture.BOTH}),
    ],
)
def test_every_trust_level_state_tier_and_scope_has_a_label_on_the_page(
    file: str, name: str, known: set[str]
) -> None:
    assert set(rows(file, name)) == known


def test_the_page_and_the_recall_command_label_injected_hits_with_the_same_phrase() -> None:
    assert f'GIVEN = "{explain.GIVEN}"' in script("server_search.js")


@pytest.mark.parametrize("spelled", ["PostgreSQL", "postgre-sql", "Postgre_SQL", "postgre sql"])
def test_the_page_finds_an_entity_by_every_spelling_of_its_name(
    open_page: Opener, spelled: str
) -> None:
    made = Pictured()
    made.entity("PostgreSQL", "technology", "holds the orders", days=1)
    assert text.name_key(spelled) == text.name_key("PostgreSQL")

    shown = open_page(made.made(), f"#/entity/{spelled}")

    expect(shown.locator("h1")).to_contain_text("PostgreSQL")


def test_the_page_and_python_recognise_the_same_words_at_the_start_of_a_reason() -> None:
    beginnings = "|".join(models._LED_IN)
    assert f"const LED_IN = /^({beginnings})/i;" in script("model.js")
