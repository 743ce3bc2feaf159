"""Values that look random and are the same in every run."""

from __future__ import annotations

import random
import string
from collections.abc import Callable
from typing import Any, TypeVar

from hypothesis import strategies as st

Made = TypeVar("Made")
ALNUM = string.ascii_letters + string.digits
# Begins anew with each test (conftest.py).
chance = random.Random(1)


def token() -> str:
    """Return a credential that no file may ever hold, and that is in no source."""
    return "gh" + "p_" + "".join(chance.choices(ALNUM, k=36))


def built(
    kind: Callable[..., Made], *given: st.SearchStrategy[Any], **named: Any
) -> st.SearchStrategy[Made]:
    """Values of a kind with these fields drawn; the others keep their defaults.

    `st.builds` would draw every field of a named tuple by its type.
    """
    return st.builds(lambda *parts, **fields: kind(*parts, **fields), *given, **named)
