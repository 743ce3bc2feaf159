"""Secrets out of a text, before any byte of it reaches a disk.

Tokens, keys, passwords and `<private>` blocks are replaced by a visible `[redacted: kind]`.
Every pattern is linear in the text; one that is rarely needed is compiled when it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from memory_fabric.patterns import exact, pattern
from memory_fabric.redaction import secret_signs
from memory_fabric.redaction.credentials import shapes_in, without_values_of_issuers
from memory_fabric.redaction.evidence import THINGS, decodes_to_text, random_words
from memory_fabric.redaction.harmless import HarmlessParts
from memory_fabric.redaction.key_blocks import without_keys
from memory_fabric.redaction.named_secrets import public_name, without_names
from memory_fabric.redaction.secret_arguments import (
    without_arguments,
    without_headers,
    without_url_secrets,
)
from memory_fabric.redaction.secret_names import (
    ENDINGS,
    NAMES,
    PUBLISHED,
    is_plain,
    looks_random,
)
from memory_fabric.redaction.secret_values import without
from memory_fabric.redaction.secret_words import NAMES as EVERY_NAME
from memory_fabric.redaction.secret_words import SEEDS
from memory_fabric.redaction.spoken_secrets import without_stated
from memory_fabric.redaction.word_signs import possible

# Around a secret that is alone these are no content.
_SAYING_NOTHING = frozenset(
    " ".join(EVERY_NAME).replace("_", " ").replace("-", " ").split()
    + """the a an my our your its this that is are was to of for as and in on with use remember note
    please be here new following das der die mein unser ist lautet le la mon est el mi es il mio o
    meu de het mijn to jest это value user username""".split()
)


# A mark changes what stands around it, so a text with a new one is read again, at most this often.
MAX_PASSES = 12
# Code marks are looked for so far from a marker on its line.
MAX_LINE_CHARS = 2_000


def redact(text: str) -> str:
    """The text with every secret replaced by `[redacted: kind]`; other text byte for byte.

    A text that was redacted stays as it is.
    """
    for _ in range(MAX_PASSES):
        before, text = text, _redacted_once(text)
        if text == before:
            break
    return text


def _redacted_once(text: str) -> str:
    """The text after one pass; a second one may find what the marks of the first make plain."""
    before, folded, signs = text, text.casefold(), possible(text)
    harmless: HarmlessParts | None = None
    for place, (sign, step) in enumerate(STEPS):
        if text is not before:
            before, folded, signs = text, text.casefold(), possible(text)
        if not (signs >> place & 1 and sign(text, folded)):
            continue
        if harmless is None and step not in (_without_private, without_keys):
            harmless = HarmlessParts(text)
            text = harmless.hold_always()
        text = step(text)
        if step is _without_tokens and harmless is not None:
            text = _without_random(harmless.hold_named(text))
    if "[redacted: " in text:
        text = _rest().sub(lambda match: match[1], text)
    return text if harmless is None else harmless.put_back(text)


def says_only_secrets(text: str) -> bool:
    """True if nothing is left to remember of a text once its secrets are out.

    The names of secrets, and the words that join them to a value, say nothing of their own.
    """
    cleaned = redact(text)
    rest = _mark().sub(" ", cleaned)
    if rest == cleaned:
        return False
    rest = rest.casefold()
    for name in EVERY_NAME:  # which stands in one with its particle: "パスワードは…です"
        rest = rest if name.isascii() else rest.replace(name, " ")
    words = _word().findall(rest)
    return all(w in _SAYING_NOTHING or (not w.isascii() and len(w) < 4) for w in words)


def redacted(value: Any, clean: Callable[[str], str] = redact) -> Any:
    """The same JSON value with every string redacted, keys included; `clean` redacts a string."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return redacted_object(value, clean)
    if secret_signs.is_command_line(value):
        return _redacted_words(value)
    if isinstance(value, list | tuple):
        return [redacted(part, clean) for part in value]
    return value


def _redacted_words(words: Sequence[str]) -> list[str]:
    """The words of a command, redacted as the line that they make."""
    line = redact(" ".join(words))
    found, at = [], 0
    for word in words:
        if line.startswith(word, at) and line[at + len(word) : at + len(word) + 1] in ("", " "):
            found.append(redact(word))
            at += len(word) + 1
            continue
        end = line.find("]", at)
        end = len(line) if end < 0 else end + 1
        behind = line.find(" ", end)
        end = len(line) if behind < 0 else behind
        found.append(line[at:end] if "[redacted" in line[at:end] else "[redacted: secret]")
        at = end + 1
    return found


def redacted_object(
    value: Mapping[str, Any], clean: Callable[[str], str] = redact
) -> dict[str, Any]:
    """The same JSON object with every string redacted, also where only its key tells the secret.

    `clean` redacts a string: `redact`, or what does the same with less work.
    """
    return {clean(str(key)): _field(str(key), part, clean) for key, part in value.items()}


def _field(key: str, value: Any, clean: Callable[[str], str]) -> Any:
    if not isinstance(value, str):
        return redacted(value, clean)
    if _secret_name().fullmatch(key) and not any(c.isspace() for c in value.strip()):
        is_none = is_plain(f"{key}=", value, "", quoted=True) if value else True
        return clean(value) if is_none else "[redacted: secret]"
    return clean(value)


def _without_private(text: str) -> str:
    """The text without what stands between `<private>` and its end; blocks may lie in blocks."""
    parts: list[str] = []
    depth = kept_from = 0
    tags = [tag for tag in _private_tag().finditer(text) if not _is_mention(text, tag)]
    last_end = max((t.start() for t in tags if t.group()[1] == "/"), default=0)
    for tag in tags:
        if tag.start() > last_end and _named().match(text, max(0, tag.start() - 1)):
            continue  # the only one, and named in prose
        if not tag.group().startswith("</"):
            if not depth:
                parts += [text[kept_from : tag.start()], "[redacted: private]"]
            depth += 1
        elif depth:
            depth -= 1
            kept_from = tag.end()
    return "".join(parts) + ("" if depth else text[kept_from:])


def _is_mention(text: str, tag: re.Match[str]) -> bool:
    """Return True for a marker in code marks, unless they hold a pair with text between."""
    before = text[text.rfind("\n", 0, tag.start()) + 1 : tag.start()][-MAX_LINE_CHARS:]
    behind = text[tag.end() : tag.end() + MAX_LINE_CHARS].partition("\n")[0]
    if before.count("`") % 2 == 0 or "`" not in behind:
        return False
    span = before.rpartition("`")[2] + tag.group() + behind.partition("`")[0]
    is_pair = len({found.group()[1] == "/" for found in _private_tag().finditer(span)}) == 2
    return not (is_pair and any(map(str.isalnum, _private_tag().sub("", span))))


@cache
def _named() -> re.Pattern[str]:
    return pattern(
        r".?<private\b[^<>]*>(?: (?:tag|marker|mark|block|element|section)s?\b|"
        r"(?<=\"<private>)\"|(?<='<private>)')",
        re.IGNORECASE,
    )


def _without_tokens(text: str) -> str:
    """The text without credentials of a published shape, and without what goes with them."""
    long_words = [word for word in text.split() if len(word) >= secret_signs.MIN_WORD_CHARS]
    for shape in shapes_in(" ".join(long_words)):
        hidden = shape.sub(_hide_token, text)
        if hidden != text and shape.pattern.startswith(r"\b(?:AKIA"):
            # The secret half of the pair stands beside its id, often without a name.
            hidden = _aws_secret().sub(_hide_if_random, hidden)
        text = hidden
    return text


def _without_random(text: str) -> str:
    """The text without random values of no known shape, where their place tells."""
    if "=" in text or ":" in text:
        text = _assignment().sub(_hide_random, text)
    return without(text, random_words(text), "[redacted: token]")


def _without_seeds(text: str) -> str:
    text = _seed_phrase().sub(_hide_seeds, text)
    return without(text, list(_runs_of_words(text)), "[redacted: seed phrase]")


def _runs_of_words(text: str) -> Iterator[tuple[int, int]]:
    """Return spans of twelve or more words in a row without a word that prose needs."""
    start = end = count = 0
    for word in exact(r"[^\s\"'`()\[\]:.;]+").finditer(text):
        bare = word.group().strip(",")
        is_one = 3 <= len(bare) <= 8 and bare.isascii() and bare.isalpha() and bare.islower()
        is_near = not text[end : word.start()].strip() and "\n" not in text[end : word.start()]
        if is_one and bare not in secret_signs.PROSE and (is_near or not count):
            start, count = (start if count else word.start()), count + 1
            end = word.end()
            continue
        if count in range(secret_signs.MIN_SEED_WORDS, 27):
            yield start, end
        count = int(is_one and bare not in secret_signs.PROSE)
        start, end = word.start(), word.end()
    if count in range(secret_signs.MIN_SEED_WORDS, 27):
        yield start, end


@cache
def _rest() -> re.Pattern[str]:
    """Return the span of a secret's remainder directly after its mark."""
    return exact(
        r"(\[redacted: (?:secret|token|password)\])(?:%[0-9A-F]{2}|[A-Za-z0-9+/=])"
        r"(?=[^\s\"'`<>,;|&\\]{0,80}[0-9%])[^\s\"'`<>,;|&\\)\]}]{2,4000}"
    )


@cache
def _mark() -> re.Pattern[str]:
    return exact(r"\[redacted: [^\]\n]{1,20}\]")


@cache
def _word() -> re.Pattern[str]:
    return exact(r"[^\W_]+")


@cache
def _private_tag() -> re.Pattern[str]:
    return pattern(r"</?private\b[^<>]*>", re.IGNORECASE)


@cache
def _aws_secret() -> re.Pattern[str]:
    return exact(r"(?<![A-Za-z0-9/+=_-])()([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=_-])")


@cache
def _secret_name() -> re.Pattern[str]:
    return pattern(rf"[\w.-]{{0,40}}(?:{NAMES}){ENDINGS}", re.IGNORECASE)


@cache
def _seed_phrase() -> re.Pattern[str]:
    names = "|".join(map(re.escape, SEEDS))
    word = r"(?:[^\W\d_]{3,8}|[\u3041-\u9fff\uac00-\ud7af]{1,6})"
    gap = r"(?:[ \t\u3000]{1,4}|, {0,2}|\s{0,3}\n\s{0,8})(?:[-*] )?(?:\d{1,2}[.):] {0,2})?"
    return pattern(
        rf"((?:{names})[^\n\[]{{0,80}}?(?:\n[^\n]{{0,8}}?){{0,2}}?[^a-z\n]?)"
        r"(?<![^\W\d_])(?!(?:words?|phrase|seed|backup|wallet|are|is|lautet|lauten)\b)"
        rf"((?:\d{{1,2}}[.):] {{0,2}})?(?:{word}{gap}){{11,23}}{word})\b",
        re.IGNORECASE,
    )


@cache
def _assignment() -> re.Pattern[str]:
    return exact(
        r"((?<![\w.-])[A-Za-z_][\w.-]{0,60}\\?[\"']?[ \t]{0,4}[=:][ \t]{0,4}\\?[\"'`]?)"
        r"([A-Za-z0-9+/_-]{22,512}={0,2})"
    )


def _hide_seeds(match: re.Match[str]) -> str:
    lead, value = match.groups()
    first = value.partition("\n")[0]  # the sentence on the next line is none of them
    value = first if len(first.split()) >= secret_signs.MIN_SEED_WORDS else value
    words = {word.strip("0123456789.,):;-*").lower() for word in value.split()}
    in_forms = sum(word.endswith(("ing", "ed", "ers", "ts", "ces", "ns")) for word in words)
    if words & secret_signs.PROSE or in_forms > 2:
        return match.group(0)
    return f"{lead}[redacted: seed phrase]{match.group(2)[len(value) :]}"


def _hide_token(match: re.Match[str]) -> str:
    token = match.group()
    is_stand_in = len(set(token[-16:].lower())) < 3 or any(part in token for part in PUBLISHED)
    return token if is_stand_in or not secret_signs.is_doubtful(token) else "[redacted: token]"


def _hide_if_random(match: re.Match[str]) -> str:
    return "[redacted: secret]" if looks_random(match.group(2)) else match.group(0)


def _hide_random(match: re.Match[str]) -> str:
    lead, value = match.group(1), match.group(2)
    if (
        not looks_random(value)
        or value.replace("-", "_").partition("_")[0] in THINGS
        or decodes_to_text(value)
    ):
        return match.group(0)
    if (
        "://"
        in match.string[max(0, match.start() - 300) : match.start()]
        .split(" ")[-1]
        .rpartition("\n")[2]
    ):
        return match.group(0)
    before = match.string[max(0, match.start() - 24) : match.start()].lower()
    if public_name().search(lead) or "public " in before.rpartition("\n")[2]:
        return match.group(0)
    return f"{lead}[redacted: secret]"


# Each step with the sign without which it changes nothing, in the order of `secret_signs.SIGNS`.
STEPS: tuple[tuple[Callable[[str, str], bool], Callable[[str], str]], ...] = (
    (secret_signs.private, _without_private),
    (secret_signs.key_block, without_keys),
    (secret_signs.token, _without_tokens),
    (secret_signs.beside_issuer, without_values_of_issuers),
    (secret_signs.url, without_url_secrets),
    (secret_signs.header, without_headers),
    (secret_signs.command, without_arguments),
    (secret_signs.named, without_names),
    (secret_signs.may_state_secret, without_stated),
    (secret_signs.seeds, _without_seeds),
)
