"""The one table of confidence."""

from __future__ import annotations

from itertools import pairwise

import pytest

from memory_fabric.capture.statement import (
    BASE,
    CANDIDATE,
    NOTE,
    PURPOSE,
    STATED,
    USER_NOTE,
    with_reason,
)
from memory_fabric.models import CANDIDATE_FROM, PROMOTED_FROM, STORED_FROM

CLASSES = (CANDIDATE, NOTE, STATED, USER_NOTE, PURPOSE)


def test_only_statements_by_the_user_have_enough_confidence_to_enter_memory_md() -> None:
    assert CANDIDATE_FROM <= CANDIDATE < STORED_FROM <= BASE < NOTE < PROMOTED_FROM <= STATED


@pytest.mark.parametrize(("lower", "higher"), [*pairwise(CLASSES), (0.58, NOTE)])
def test_a_reason_raises_confidence_but_never_to_the_next_level(
    lower: float, higher: float
) -> None:
    assert lower == with_reason(lower, False) < with_reason(lower, True) < higher


def test_a_candidate_with_a_reason_stays_below_the_confidence_of_a_record() -> None:
    assert with_reason(CANDIDATE, True) < STORED_FROM


def test_confidence_never_exceeds_95_percent() -> None:
    assert with_reason(PURPOSE, True) == 0.95
