"""Digests without OpenSSL: those of `hashlib` and `hmac`."""

from __future__ import annotations

import hashlib
import hmac

from hypothesis import given
from hypothesis import strategies as st

from memory_fabric import digests


@given(st.binary(max_size=200), st.binary(max_size=200))
def test_a_signature_is_the_one_that_the_library_makes(key: bytes, message: bytes) -> None:
    assert digests.signature(key, message) == hmac.new(key, message, "sha256").hexdigest()


@given(st.binary(max_size=200))
def test_a_digest_is_the_one_that_the_library_makes(message: bytes) -> None:
    assert digests.sha256(message) == hashlib.sha256(message).hexdigest()
