"""The parts of a record that a person asks to change, checked and without secrets."""

from collections.abc import Sequence

from memory_fabric.capture.edit import Edit
from memory_fabric.errors import BadInput
from memory_fabric.models import LASTING_SCOPES, STATED_TYPES, record_type
from memory_fabric.redaction.redact import redact, says_only_secrets
from memory_fabric.text import one_line, without_controls

MAX_TEXT_CHARS = 16 << 10


def request(
    *,
    text: str | None = None,
    kind: str | None = None,
    scope: str | None = None,
    why: str | None = None,
    when: str | None = None,
    prefix: str = "",
) -> Edit:
    """Return the change that is asked for; `prefix` begins the names of the fields in errors.

    Raises BadInput.
    """
    return Edit(
        _words(text, f"{prefix}text", required=True),
        _one_of(kind and record_type(kind), f"{prefix}type", STATED_TYPES),
        _one_of(scope, f"{prefix}scope", LASTING_SCOPES),
        _words(why, f"{prefix}why"),
        _words(when, f"{prefix}when"),
    )


def _words(text: str | None, field: str, *, required: bool = False) -> str | None:
    """Return the text as it may be stored; None if it was not given. Raises BadInput."""
    if text is None:
        return None
    text = one_line(without_controls(text))
    if required and not any(map(str.isalnum, text)):
        raise BadInput(
            field, f"{field} is empty.", remedy="Give a sentence; forget removes a memory."
        )
    if len(text) > MAX_TEXT_CHARS:
        raise BadInput(
            field,
            f"{field} has {len(text)} characters; the limit is {MAX_TEXT_CHARS}.",
            remedy="Shorten it.",
        )
    if text and says_only_secrets(text):
        raise BadInput(
            field,
            f"{field} is only a secret, and secrets are not stored.",
            remedy="State where the secret is kept instead.",
        )
    return redact(text)


def _one_of(value: str | None, field: str, known: Sequence[str]) -> str | None:
    if value is not None and value not in known:
        local = " A memory of scope local ends with its session." if value == "local" else ""
        raise BadInput(
            field, f"{field} cannot be {value!r}.{local}", remedy=f"Use {', '.join(known)}."
        )
    return value
