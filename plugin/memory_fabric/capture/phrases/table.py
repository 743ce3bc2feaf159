"""All phrases, in the order in which they are tried."""

from __future__ import annotations

from memory_fabric.capture.phrases import others
from memory_fabric.capture.phrases.findings import FINDINGS
from memory_fabric.capture.phrases.rules import RULES_AND_TASTES
from memory_fabric.capture.phrases.settled import SETTLED

LANGUAGES = {
    "en": (*SETTLED, *RULES_AND_TASTES, *FINDINGS),
    "de": others.GERMAN,
    "es": others.SPANISH,
    "fr": others.FRENCH,
    "pt": others.PORTUGUESE,
    "zh": others.CHINESE,
    "ja": others.JAPANESE,
    "ko": others.KOREAN,
}
PHRASES = tuple(phrase for phrases in LANGUAGES.values() for phrase in phrases)
