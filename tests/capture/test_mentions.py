"""The places in a text that name things."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_fabric.capture.mentions import mentions


def named(text: str) -> list[str]:
    return [mention.name for mention in mentions(text, {})]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("run `uv run pytest` before you push", "uv run pytest"),
        ("pass `-o` to name the file", "-o"),
        ("`/review` asks a colleague", "/review"),
        ("it lies in `pkg/billing/`", "pkg/billing/"),
        ("call `open_ledger()` once", "open_ledger"),
        ("never commit with --no-verify", "--no-verify"),
        ("ignore the folder .terraform", ".terraform"),
        ("the config is ~/.config/ledger", "~/.config/ledger"),
        ("see docs/api/errors.md for all of them", "docs/api/errors.md"),
    ],
)
def test_commands_paths_and_options_are_recognised_as_whole_names(text: str, name: str) -> None:
    assert named(text) == [name]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("the importer talks to Ledger Hub by XYZQ", ["Ledger Hub", "XYZQ"]),
        ("Ledger Hub is the source", ["Ledger Hub"]),
        ("Use Ledgerline for invoices", ["Ledgerline"]),
        ("we use poetry for dependencies", ["Poetry"]),
    ],
)
def test_proper_names_and_known_technologies_are_recognised_as_names(
    text: str, names: list[str]
) -> None:
    assert named(text) == names


@pytest.mark.parametrize(
    "text",
    [
        "NEVER do this, it MUST NOT happen",
        "the API returns an ID for the UI",
        "Implementing it took long. Another day passed.",
        "Phase 2 begins on Monday, see Section 4",
        "Every Word Of This Line Has Capitals",
        "Wir speichern die Rechnung in der Ablage und nicht im Postfach",
        "https://example.org/some/page",
        "`this is a whole sentence of prose` and `true`",
        "she drew from poetry and prose",
        "`[redacted: token]`",
    ],
)
def test_capital_letters_or_backticks_do_not_make_ordinary_words_names(text: str) -> None:
    assert named(text) == []


@given(st.text(alphabet="aB `./-_:()[]<>\n", max_size=200))
def test_every_mention_stands_where_it_says(text: str) -> None:
    places = [(m.start, m.end) for m in mentions(text, {})]
    assert all(0 <= start < end <= len(text) for start, end in places)
    assert all(a[1] <= b[0] for a, b in pairwise(places))
