"""The measure of redaction: its halves differ by form, it sees what is left and lost."""

from __future__ import annotations

import re
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"
sys.path.insert(0, str(FOLDER))

import redaction  # noqa: E402 - the benchmark's own folder is where its modules are found
from redaction_samples import ordinary  # noqa: E402
from redaction_samples.halves import HALVES, SETS, Half  # noqa: E402

TUNE, HELD, EVERYDAY = "tune", "held", "everyday"
LEAST = {TUNE: 1500, HELD: 1500, "documented": 600}
LONG, SHORT = "abcdefghij", "k3y7"
# With some documentation, code and configuration; what is installed may change while tests run.
OWN_FOLDERS = tuple(
    str(FOLDER.parent / name) for name in ("docs", "benchmarks", "evals", "tests/replay")
)

samples = cache(redaction.samples)  # two tests look at the held ones


@pytest.mark.parametrize("half", HALVES)
def test_each_kind_of_secret_and_of_harmless_text_has_at_least_sixty_samples(half: str) -> None:
    planted, plain = samples(half), redaction.harmless(half)

    assert min(Counter(sample.kind for sample in planted).values()) >= 60
    assert min(Counter(kind for kind, _ in plain).values()) >= 60
    assert LEAST[half] <= len(planted)
    assert len(plain) >= min(len(planted), 400)


def test_tuning_samples_and_held_out_samples_share_no_template() -> None:
    tune, held = HALVES[TUNE], HALVES[HELD]

    assert redaction.kinds(TUNE).keys() == redaction.kinds(HELD).keys()
    # A count, so that a failure prints no form.
    assert len(_forms(tune) & _forms(held)) == 0
    assert not tune.keyed.keys() & held.keyed.keys()


def test_each_sample_contains_its_credentials_and_no_unfilled_placeholder() -> None:
    planted = samples(HELD)

    assert all(s.parts and all(part in s.text for part in s.parts) for s in planted)
    assert len([s for s in planted if re.search(r"\{([a-z]|[A-Z]+)\}", s.text)]) == 0


def test_everyday_samples_share_few_templates_with_the_other_samples() -> None:
    planted, plain = redaction.samples(EVERYDAY, 2), redaction.harmless(EVERYDAY, 2)
    ours, others = _forms(SETS[EVERYDAY]), _forms(HALVES[TUNE]) | _forms(HALVES[HELD])

    assert len(planted) >= 600
    assert len(plain) >= 300
    assert all(s.parts and all(part in s.text for part in s.parts) for s in planted)
    assert len(ours & others) < len(ours) / 10


def _forms(half: Half) -> set[str]:
    tables = [half.stated, half.written, half.bare, half.harmless]
    around = {*half.bare_around, *half.issued_around, *half.keyed_around, *half.dumps}
    return around.union(*(forms for table in tables for forms in table.values()))


def test_the_samples_of_secrets_are_deterministic() -> None:
    assert redaction.samples(TUNE, 1) == redaction.samples(TUNE, 1)
    assert redaction.harmless(HELD, 1) == redaction.harmless(HELD, 1)


def test_redacting_nothing_or_everything_fails_the_redaction_benchmark() -> None:
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
def test_a_credential_counts_as_missed_if_eight_of_its_characters_remain(
    part: str, cleaned: str, found: bool
) -> None:
    assert redaction.is_found(redaction.Sample("a", (part,), ""), cleaned) is found


def test_removing_words_next_to_a_credential_counts_as_over_redaction() -> None:
    sample = redaction.Sample("a", (LONG,), f"The word is {LONG}, and the build is green.")

    assert not redaction.is_over(sample, "The word is [redacted] and the build is green.")
    assert redaction.is_over(sample, "The word is [redacted]")


def test_samples_of_the_held_out_half_are_never_shown(capsys: pytest.CaptureFixture[str]) -> None:
    for half in (HELD, "documented", "all"):
        with pytest.raises(SystemExit):
            redaction.main(["--half", half, "--show", "1"])
    assert capsys.readouterr().out == ""


def test_the_printed_tables_list_every_kind_of_secret(capsys: pytest.CaptureFixture[str]) -> None:
    assert redaction.main(["--half", EVERYDAY, "--each", "1"]) == 0

    printed = capsys.readouterr().out
    assert all(kind in printed for kind in redaction.kinds(EVERYDAY))


def test_the_choice_of_ordinary_texts_is_deterministic_and_their_number_is_reported(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ordinary, "FOLDERS", OWN_FOLDERS)

    assert ordinary.texts(30) == ordinary.texts(30)
    assert redaction.main(["--ordinary", "30"]) == 0
    assert "of   30" in capsys.readouterr().out


def test_confidence_intervals_use_the_wilson_score_formula() -> None:
    low, high = redaction.wilson(9, 10)

    assert (round(low, 3), round(high, 3)) == (0.596, 0.982)
