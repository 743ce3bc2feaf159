"""The measure of redaction: its halves differ by form, it sees what is left and lost."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "benchmarks"
sys.path.insert(0, str(FOLDER))

import phrasings  # noqa: E402 - the benchmark's own folder is where its modules are found
import redaction  # noqa: E402
import written  # noqa: E402
from issuers import BARE, KEYED, half_of  # noqa: E402
from lookalikes import HARMLESS  # noqa: E402

TUNE, HELD = "tune", "held"
LONG, SHORT = "abcdefghij", "k3y7"


@pytest.mark.parametrize("half", redaction.HALVES)
def test_every_kind_has_sixty_samples_and_there_are_more_harmless_texts(half: str) -> None:
    planted, plain = redaction.samples(half), redaction.harmless(half)

    assert min(Counter(sample.kind for sample in planted).values()) >= 60
    assert min(Counter(kind for kind, _ in plain).values()) >= 60
    assert 1500 <= len(planted) <= len(plain)


def test_the_halves_share_no_form() -> None:
    tables: list[Sequence[Sequence[str]]] = [*phrasings.STATED.values(), *HARMLESS.values()]
    tables += [phrasings.WEAK, phrasings.SEED, phrasings.TABLES, phrasings.NEXT_LINE]
    tables += [phrasings.BETWEEN, written.CONNECTIONS, written.COMMANDS, written.ENVIRONMENT]
    tables += [written.CONFIGURATION, written.HEADERS, written.TOKENS, written.CLOUD]

    assert all(not set(tuned) & set(held) for tuned, held in tables)
    for issuers in (BARE, KEYED):
        names = [{name for name, _ in half_of(issuers, half)} for half in redaction.HALVES]
        assert not names[0] & names[1] and names[0] | names[1] == set(issuers)


def test_the_samples_are_the_same_every_time() -> None:
    assert redaction.samples(TUNE, 1) == redaction.samples(TUNE, 1)
    assert redaction.harmless(HELD, 1) == redaction.harmless(HELD, 1)


def test_no_change_finds_nothing_and_an_empty_text_finds_all_and_loses_all() -> None:
    nothing = redaction.measured(list, HELD, 1)
    everything = redaction.measured(lambda texts: ["" for _ in texts], HELD, 1)

    assert nothing["found"].hits == nothing["over"].hits == nothing["alarms"].hits == 0
    assert everything["found"].hits == everything["found"].of
    assert everything["alarms"].hits == everything["alarms"].of
    assert everything["over"].hits > 0
    assert redaction.passes(everything) is redaction.passes(nothing) is False


@pytest.mark.parametrize(
    ("part", "cleaned", "found"),
    [
        (LONG, "rest abcdefg defghij", True),
        (LONG, "xxbcdefghix", False),
        (LONG, "abcdefgh", False),
        (SHORT, "rest k3y", True),
        (SHORT, "rest k3y7", False),
    ],
)
def test_eight_characters_of_a_credential_are_too_many(
    part: str, cleaned: str, found: bool
) -> None:
    assert redaction.is_found(redaction.Sample("a", (part,), ""), cleaned) is found


def test_words_that_are_lost_with_the_credential_are_counted() -> None:
    sample = redaction.Sample("a", (LONG,), f"The word is {LONG}, and the build is green.")

    assert not redaction.is_over(sample, "The word is [redacted] and the build is green.")
    assert redaction.is_over(sample, "The word is [redacted]")


def test_the_held_half_is_never_shown(capsys: pytest.CaptureFixture[str]) -> None:
    for half in (HELD, "both"):
        with pytest.raises(SystemExit):
            redaction.main(["--half", half, "--show", "1"])
    assert capsys.readouterr().out == ""


def test_the_tables_name_every_kind(capsys: pytest.CaptureFixture[str]) -> None:
    assert redaction.main(["--half", TUNE, "--each", "1"]) == 0

    printed = capsys.readouterr().out
    assert all(kind in printed for kind in redaction.kinds(TUNE))


def test_an_interval_is_wilsons() -> None:
    low, high = redaction.wilson(9, 10)

    assert (round(low, 3), round(high, 3)) == (0.596, 0.982)
