"""Made-up secrets and a table of words for the tests of redaction."""

from __future__ import annotations

import pytest

# Made at run time, so that no source holds anything that looks like one.
KEY = "".join(("aB3d", "E6gH", "1jK4", "mN7p", "Q2sT", "5vW8"))
GROUPS = "-".join(("aB3d", "Ef9h", "Jk2m"))
HEX = "ab12" * 8
WEAK = "hun" + "ter42"
PASSWORD = "qW7" + "rT9zLk2"
UUID = "9a1d4c3e-fdac-8f15-" + "a87c-15ff051bd3c9"
SEEDS = (
    "hazard garden spider crystal abandon river turtle hollow panther shadow salmon falcon candle "
    "dragon silver island fabric coral pigeon galaxy ginger cactus magnet stone jungle velvet "
    "ribbon"
).split()


def words(*, yes: str, no: str) -> pytest.MarkDecorator:
    """Run a test on each of these words, with `expected` True for the first ones."""
    rows = [
        (word, expected) for text, expected in ((yes, True), (no, False)) for word in text.split()
    ]
    return pytest.mark.parametrize(("word", "expected"), rows)
