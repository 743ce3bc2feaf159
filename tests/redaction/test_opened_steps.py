"""The look at the words of a text opens each step of redaction that may change the text."""

from __future__ import annotations

import random
import re
import sys
from pathlib import Path

import pytest

from memory_fabric.redaction.redact import redact
from memory_fabric.redaction.rules import STEPS, opened_steps, words

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import redaction
from redaction_samples.halves import HALVES
from thorough import IS_THOROUGH, examples

NAMES = [
    name
    for section in (
        "passwords", "short passwords", "pairs", "keys", "common keys", "seeds", "option names",
        "codes", "calls", "variable parts", "dumped parts", "accounts", "command parts", "cues",
    )
    for name in words(section)
] + "<private identified bearer basic Authorization: ://x @ / 4711 is as".split()  # fmt: skip
# Behind this every step is open; nothing in it is a secret.
OPENING = (
    "<privateer -----begin ://www.example.org/?a=b -b curl -pass --token password: the words of a "
    "mnemonic for heroku in build 0x1234567890abcdef1 are gone."
)
# Every sample in a thorough run, else one in so many.
STEP = 1 if IS_THOROUGH else 10
# The words that are mixed are those of so many samples.
STEP_OF_WORDS = 1 if IS_THOROUGH else 5
# So many texts are looked at together, each apart from the next.
TOGETHER = 8
# Longer than any rule looks back or ahead: what stands before it is not near what is behind it.
APART = "\n" + "Cashiers post each transaction before noon, and nothing else.\n" * 5
# A text alone is only in a thorough run followed by that, too: it is most of what is read.
FOLLOWED = APART if IS_THOROUGH else ""


def hidden(text: str) -> str:
    """Return the text with one mark for all kinds: several steps could hide a value."""
    return re.sub(r"\[redacted: [a-z ]+\]", "[redacted]", text)


def test_a_text_without_secrets_is_unchanged_even_if_every_redaction_step_runs() -> None:
    assert opened_steps(OPENING) == (1 << len(STEPS)) - 1
    assert redact(OPENING) == OPENING


@pytest.mark.parametrize("half", HALVES)
def test_every_redaction_step_that_can_change_a_text_is_run(half: str) -> None:
    samples = redaction.samples(half, 2)
    texts = [sample.text for sample in samples[::STEP]]
    said = [word for sample in samples[::STEP_OF_WORDS] for word in sample.text.split()]
    chosen = random.Random(half)
    for _ in range(examples(8_000, 100)):
        some = [chosen.choice(chosen.choice((said, NAMES))) for _ in range(chosen.randint(1, 14))]
        some = [word.upper() if chosen.random() < 0.1 else word for word in some]
        texts.append(chosen.choice((" ", " ", " ", "", "\n", "\t", "\u3000")).join(some))

    groups = [texts[n : n + TOGETHER] for n in range(0, len(texts), TOGETHER)]
    rest = APART.removeprefix(FOLLOWED)
    alone = ["".join(hidden(redact(text + FOLLOWED)) + rest for text in g) for g in groups]
    behind = [hidden(redact("".join(f"{text}{APART}" for text in g) + OPENING)) for g in groups]

    # Their number, not texts: those of the held half are not to be seen.
    # Some rules look across lines: the opening text may itself be what makes a mix of words one.
    assert sum(a + OPENING != b for a, b in zip(alone, behind, strict=True)) <= 1


def test_plain_prose_triggers_no_redaction_step() -> None:
    said = "The cashier posts each transaction to the journal before the batch is closed at noon."

    assert opened_steps(said) == 0
