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


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("use `x`", []), ("use `xy`", ["xy"]),
        (f"`{'a' * 60}` is", ["a" * 60]), (f"`{'a' * 61}` is", []),
        ("`123` is", []), ("see `http://x.y`", []), ("`in the box` x", []),
        ("`--flag` x", ["--flag"]), ("`Redis` is", ["Redis"]),
        ("run `make one two three four`", ["make one two three four"]),
        ("run `make one two three four five`", []),
        ("run token-based pagination", ["token-pagination"]), ("the based pagination", []),
        ("edge-caching works", ["edge-caching"]), ("my-caching works", []),
        ("a-caching works", []), ("Edge-caching works", []),
        ("see .abc now", []), ("see .abcd now", [".abcd"]),
        ("./run", ["./run"]), ("--9 now", []), ("a.b.c", ["a.b.c"]), ("e.g. x", []),
        ("all list endpoints", ["list-endpoints"]), ("the list endpoints", []),
        ("for the list endpoints", ["list-endpoints"]), ("every queue", []),
        ("in our billing service", ["billing-service"]), ("all billing42 services", []),
        ("the billing service uses it", ["billing-service"]), ("the billing service is", []),
        ("the Ledger API works", ["Ledger API"]), ("talk to Ann Smith's team", ["Ann Smith"]),
        ("we use go for it", ["Go"]), ("we go home", []), ("we like Go", ["Go"]),
        ("Go is fast", ["Go"]), ("Go home", []),
        ("use poetry", ["Poetry"]), ("use poetry daily", []),
    ],
)  # fmt: skip
def test_a_name_is_recognised_by_its_form_its_length_and_the_words_around_it(
    text: str, names: list[str]
) -> None:
    assert named(text) == names


@pytest.mark.parametrize(
    ("known", "names"),
    [
        ({"api": "api"}, ["api"]), ({"api": "API"}, []),
        ({"orderledger": "Order Ledger"}, ["Order Ledger"]), ({"order": "Order"}, ["Order"]),
        ({"the": "the"}, []),
    ],
)  # fmt: skip
def test_a_short_known_name_counts_only_in_its_own_spelling(
    known: dict[str, str], names: list[str]
) -> None:
    found = mentions("see api and order ledger or the", known)

    assert [mention.name for mention in found] == names
