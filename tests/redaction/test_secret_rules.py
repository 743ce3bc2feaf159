"""Every rule takes out what it matches, in linear time, and the cheap look opens for it."""

from __future__ import annotations

import random
import re
import string
from collections.abc import Iterator
from functools import cache
from itertools import islice
from re import _constants as codes
from re import _parser as parser
from typing import Any

import pytest

from linear import LIMIT, growth
from memory_fabric.redaction.redact import may_hold_secret, redact
from memory_fabric.redaction.rules import exact, table
from thorough import IS_THOROUGH, examples

EACH = examples(8, 4)
ISSUED, SHAPES = table("public issued").rules, table("issued").rules
BESIDE = (*table("public beside").rules, *table("beside").rules)
PRINTABLE = string.ascii_letters + string.digits + "-_.~!"


def example(expression: str, chance: random.Random) -> str:
    """A text that the expression matches, made along its parse tree."""
    return "".join(_parts(parser.parse(expression), chance))


def _parts(tree: Any, chance: random.Random) -> Iterator[str]:
    for code, value in tree:
        if code is codes.LITERAL:
            yield chr(value)
        elif code in (codes.ANY, codes.NOT_LITERAL):
            yield chance.choice(string.ascii_lowercase)
        elif code is codes.IN:
            yield chance.choice(_members("[" + "".join(_class(value)) + "]"))
        elif code in (codes.MAX_REPEAT, codes.MIN_REPEAT):
            least, most, inner = value
            for _ in range(chance.randint(least, min(most, least + 6))):
                yield from _parts(inner, chance)
        elif code is codes.SUBPATTERN:
            yield from _parts(value[-1], chance)
        elif code is codes.BRANCH:
            yield from _parts(chance.choice(value[1]), chance)


@cache
def _members(characters: str) -> str:
    """The characters of a class, without blanks where it has others."""
    fits = re.compile(characters)
    found = "".join(c for c in map(chr, range(33, 127)) if fits.fullmatch(c))
    return "".join(c for c in found if c in PRINTABLE) or found or " "


def _class(items: Any) -> Iterator[str]:
    names = {
        codes.CATEGORY_DIGIT: r"\d",
        codes.CATEGORY_WORD: r"\w",
        codes.CATEGORY_SPACE: r"\s",
        codes.CATEGORY_NOT_SPACE: r"\S",
    }
    for code, value in items:
        if code is codes.NEGATE:
            yield "^"
        elif code is codes.LITERAL:
            yield re.escape(chr(value))
        elif code is codes.RANGE:
            yield f"{re.escape(chr(value[0]))}-{re.escape(chr(value[1]))}"
        elif code is codes.CATEGORY:
            yield names[value]


def telling(expression: str, chance: random.Random) -> list[str]:
    """Some texts that the expression really matches: look-arounds refuse a few of those made."""
    pattern = re.compile(expression)  # of a run without an upper end one that is not too short
    made = (example(expression, chance) for _ in range(40 * EACH))
    return list(islice((text for text in made if len(text) > 13 and pattern.search(text)), EACH))


@pytest.mark.parametrize("place", range(0, len(ISSUED), 16))
def test_keys_of_known_issuers_are_flagged_by_the_prefilter_and_redacted(place: int) -> None:
    chance = random.Random(place)
    for rule in ISSUED[place : place + 16]:
        texts = telling(rule.source, chance)
        assert texts, rule
        for text in texts:
            if text.startswith("x") and len(text) < 32:
                continue  # the public rule has no least length; what Slack gives out has
            assert any(keyword in text.lower() for keyword in rule.keywords), (rule, text)
            sentence = f"It is {text} since May."
            assert may_hold_secret(sentence), sentence
            assert "[redacted" in redact(sentence), sentence


@pytest.mark.parametrize("place", range(0, len(SHAPES), 16))
def test_the_prefilter_and_redaction_agree_on_every_known_secret_format(place: int) -> None:
    chance = random.Random(place)
    for rule in SHAPES[place : place + 16]:
        for text in telling(rule.expression, chance):
            assert any(keyword in text for keyword in rule.keywords), (rule, text)
            sentence = f"It is {text} since May."
            assert may_hold_secret(sentence) == (redact(sentence) != sentence), sentence


@pytest.mark.parametrize("link", ["={}", ": '{}'", " = {}", "_API_KEY={}", ' => "{}"'])
def test_a_key_next_to_the_name_of_its_issuer_is_redacted(link: str) -> None:
    chance = random.Random(link)
    for rule in BESIDE:
        for secret in telling(rule.source, chance):
            name = example(rule.note, chance)
            text = f"{name}{link.replace('{}', secret)}"
            assert any(keyword in text.casefold() for keyword in rule.keywords), text
            if any(c.isdigit() for c in secret):
                assert may_hold_secret(text), text
                assert secret not in redact(text), text


def test_the_prefilter_flags_passwords_in_the_arguments_of_known_programs() -> None:
    chance = random.Random(7)
    for rule in table("commands").rules:
        programs, lead = rule.keywords, rule.source
        made = (f"{chance.choice(programs)} {example(lead, chance)}a8Kd93jfQ2x" for _ in range(40))
        texts = [text for text in made if re.search(rule.expression, text)]
        assert [text for text in texts if rule.note not in text or not may_hold_secret(text)] == []


def test_every_redaction_rule_takes_linear_time_on_repeated_near_matches() -> None:
    """A rule's keyword, and beginnings of what it matches, repeated."""
    chance = random.Random(3)
    repeated: list[tuple[str, tuple[str, ...]]] = []
    for source in dict.fromkeys(rule.source for rule in (*SHAPES, *ISSUED)):
        whole = example(source, chance)
        begun = (whole[:4], whole[: len(whole) // 2], whole[:-1], "a", "A1", "-")
        repeated.append((source, begun))
    for rule in reversed(BESIDE):
        word, value = example(rule.note, chance), example(rule.source, chance)
        named = (word, word + " ", word + "=", word + "=" + value[:-1])
        repeated.append((rule.expression, named))
    for expression, parts in repeated:
        pattern = exact(expression)

        def replace(n: int, pattern: re.Pattern[str] = pattern, parts: Any = parts) -> None:
            for part in parts:
                pattern.sub("", (part * (n // len(part) + 1))[:n])

        assert growth(replace, 1 << 14 if IS_THOROUGH else 1 << 11) < LIMIT, expression
