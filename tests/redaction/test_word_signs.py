"""Signs in the single words of a text: no sign that is true may be missed."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest

from memory_fabric.redaction import secret_signs as signs
from memory_fabric.redaction.secret_commands import PROGRAMS
from memory_fabric.redaction.secret_words import SEEDS
from memory_fabric.redaction.word_signs import possible

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import redaction
from redaction_samples.halves import HALVES
from thorough import examples

NAMES = [
    *signs.IN_TABLES,
    *signs.EVERY_KEY,
    *SEEDS,
    *signs.OPTIONS,
    *signs.CODES,
    *signs.CALLS,
    *signs.VARIABLE_PARTS,
    *signs.DUMPED_PARTS,
    *signs.ACCOUNTS,
    *signs.PORTS,
    *(name for names, _, _ in PROGRAMS for name in names),
    *(sign for _, sign, _ in PROGRAMS),
    *"<private -----BEGIN identified bearer basic Authorization: ://x @ / 4711 is as".split(),
]


def missed(text: str) -> list[str]:
    folded, may_be = text.casefold(), possible(text)
    return [
        sign.__name__
        for place, sign in enumerate(signs.SIGNS)
        if sign(text, folded) and not may_be >> place & 1
    ]


@pytest.mark.parametrize("half", HALVES)
def test_every_true_sign_of_a_sample_is_possible(half: str) -> None:
    texts = [sample.text for sample in redaction.samples(half, 20)]
    words = [word for text in texts for word in text.split()]
    chosen = random.Random(half)
    for _ in range(examples(20_000, 4_000)):
        some = [chosen.choice(chosen.choice((words, NAMES))) for _ in range(chosen.randint(1, 14))]
        some = [word.upper() if chosen.random() < 0.1 else word for word in some]
        texts.append(chosen.choice((" ", " ", " ", "", "\n", "\t", "\u3000")).join(some))

    assert {text: missed(text) for text in texts if missed(text)} == {}


def test_prose_has_no_possible_sign() -> None:
    said = "The cashier posts each transaction to the journal before the batch is closed at noon."

    assert possible(said) == 0
